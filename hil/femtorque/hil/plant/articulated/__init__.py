"""Dynamics of articulated systems of rigid and deformable bodies by point masses and Lagrange multipliers.

After Lepareux, Bung, Jamet, Barraco, Cuny, "Dynamic behaviour of deformable and rigid articulated systems" (PLEXUS).
Every body is a set of point masses, every mechanism a set of kinematic rows between two of them; what a board drives
is simulated here without joint coordinates, and so without anything in common with the inverse model on the board.
"""
