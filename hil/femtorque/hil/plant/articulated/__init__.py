"""Dynamics of articulated systems of rigid and deformable bodies by point masses and Lagrange multipliers.

After Lepareux, Bung, Jamet, Barraco, Cuny, "Dynamic behaviour of deformable and rigid articulated systems" (PLEXUS).
Every body is a set of point masses. Every mechanism is a set of kinematic rows between two bodies. So this plant has no
joint coordinates and shares nothing with the inverse model on the board.
"""
