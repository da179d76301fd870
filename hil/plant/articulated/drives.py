"""What acts along coordinates within a step: actuators, motors, viscous and dry friction.

These torques may jump from one step to the next, so they are no part of the accelerations that the cycle carries on;
they enter each half step through the compliance of the joined system: the velocities along all coordinates that unit
torques along them cause. Viscous terms (friction, back-EMF) are explicit in the first half and implicit in the
second, together the trapezoidal rule, stable whatever the coefficient; dry friction is a clamped multiplier in each
half, so a stuck coordinate stays where it is and sign(velocity) is never asked near zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from femtorque.hil.plant.articulated.equations import Equations
from femtorque.hil.plant.dry_friction_in_c import clamped

Array = NDArray[np.float64]


class Drives:
    """active: (n,) torques of this step along the coordinates. viscous, coulomb: (n,) coefficients of this step.

    total: (n,) torque at the end of the last step, friction included; friction: (n,) its mean over that step.
    """

    def __init__(self, n: int) -> None:
        self.active, self.viscous, self.coulomb = np.zeros(n), np.zeros(n), np.zeros(n)
        self.total, self.dry = np.zeros(n), np.zeros(n)

    def first_half(self, along: Along, v: Array, half: Array, t: float) -> Array:
        """What drives add to the velocities of the middle; half: the middle's without them, v: the start's. (size,)"""
        torque = self.active - self.viscous * (along.rows @ v)
        self.dry = np.zeros_like(torque)
        if self.coulomb.any():
            compliance = 0.5 * t * along.compliance
            velocity = along.rows @ half + compliance @ torque
            if np.any(np.abs(velocity) < 2.0 * np.abs(compliance) @ self.coulomb):
                # what may stick comes to rest in the middle of the step: the rows themselves turn until then
                velocity = velocity + 0.5 * t * along.equations.turning(v)
            self.dry = clamped(compliance, velocity, self.coulomb)
        return 0.5 * t * (along.responses @ (torque + self.dry))

    def second_half(self, along: Along, v: Array, t: float) -> Array:
        """What drives add to the velocities of the end; v: the end's without them. (size,)"""
        velocity = along.rows @ v + 0.5 * t * (along.compliance @ self.active)
        compliance = 0.5 * t * along.compliance
        if self.viscous.any():
            damped = np.eye(len(velocity)) + compliance * self.viscous
            solution = np.linalg.solve(damped, np.column_stack([compliance, velocity]))
            compliance, velocity = solution[:, :-1], solution[:, -1]
        dry = np.zeros_like(velocity)
        if self.coulomb.any():
            dry = clamped(compliance, velocity, self.coulomb)
            velocity = velocity + compliance @ dry
        self.total = self.active + dry - self.viscous * velocity
        self.dry = 0.5 * (self.dry + dry)
        return 0.5 * t * (along.responses @ self.total)


@dataclass(frozen=True)
class Along:
    """The system seen along its coordinates at one configuration.

    rows: (n, size) gradients. responses: (size, n) accelerations of everything under unit torques. multipliers:
    (K, n) of the rows under them. compliance: (n, n) = rows responses, the inverse of the joint-space inertia.
    """

    equations: Equations
    rows: Array
    responses: Array
    multipliers: Array
    compliance: Array

    @staticmethod
    def of(equations: Equations) -> Along:
        rows = equations.G
        free = equations.free.mobility(rows)
        multipliers = -equations.back(equations.C @ free)
        responses = free + equations.Y @ multipliers
        return Along(equations, rows, responses, multipliers, rows @ responses)
