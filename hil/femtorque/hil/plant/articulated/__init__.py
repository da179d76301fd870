"""Dynamics of articulated systems of rigid and deformable bodies, with point masses and Lagrange multipliers.

After Lepareux, Bung, Jamet, Barraco, Cuny, "Dynamic behaviour of deformable and rigid articulated systems" (PLEXUS).
Each body is represented by a set of point masses. Each mechanism is a set of kinematic rows between two bodies.
Therefore this plant has no joint coordinates and shares no equation with the inverse model on the board.
"""
