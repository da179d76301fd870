"""Friction of joints that have no motor.

In closed loops and at mimic joints, the driven joints must overcome this friction. Like a spring, friction is a load in
{P}: equal and opposite moments on a joint's two links. For joints with motors, the control law compensates friction by
feed-forward from the streamed velocities (Eq. 19)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import COULOMB_VELOCITY, Joint
from femtorque.codegen.model.bodies import Model


@dataclass(frozen=True)
class PassiveFriction:
    """Friction constants of all joints, zero at joints with motors."""

    viscous: Array  # (n,), N m s/rad; N s/m for prismatic joints
    coulomb: Array  # (n,), N m or N
    width: Array  # (n,): velocity below which Coulomb friction decreases linearly to zero, rad/s or m/s

    @staticmethod
    def of(model: Model) -> PassiveFriction:
        """Return the friction of a rigid mechanism.

        The model of a flexible mechanism has the damping of its springs."""
        closed = model.mechanism.constrained
        given = [body.joint.friction if closed and is_passive(body.joint) else None for body in model.bodies]
        return PassiveFriction(np.array([f.viscous if f else 0.0 for f in given]),
                               np.array([f.coulomb if f else 0.0 for f in given]),
                               np.array([COULOMB_VELOCITY[body.prismatic] for body in model.bodies]))

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the indices of the joints with friction."""
        return tuple(np.flatnonzero((self.viscous != 0.0) | (self.coulomb != 0.0)).tolist())

    def torque(self, qd: ArrayLike) -> Array:
        """Return the torque (..., n), N m or N, that overcomes friction at velocities (..., n), rad/s or m/s."""
        qd = np.asarray(qd, float)
        return self.viscous * qd + self.coulomb * np.clip(qd / self.width, -1.0, 1.0)


def is_passive(joint: Joint) -> bool:
    """Return True if a joint has no motor.

    If a mode makes a joint passive, the joint keeps its motor, and the control law compensates its friction."""
    return not joint.actuated and joint.motor is None and joint.drive is None
