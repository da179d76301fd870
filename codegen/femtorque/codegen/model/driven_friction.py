"""Friction of joints that motors turn, beyond which a motion has its torque (Eq. 19, extended):

    tau_f = D q' + sgn(q') (f_c + f_s / (1 + (q'/v_s)^2) + mu |tau_ID|)

f_s is what friction has more at rest than in motion (Stribeck), and v_s the velocity at which half of it is left (Hess
and Soom, J. Tribology 112(1), 1990: their curve needs no exponential function). mu is the share of the links' torque
that the gear adds, as its teeth press on each other. Files have f_s and mu where somebody has measured them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.mechanism import Friction, Joint

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DrivenFriction:
    """Numbers of n joints, (n,) each: viscous N m s/rad; coulomb, stribeck N m; slow rad/s; load N m per N m. Slides
    have N s/m, N, m/s, N per N."""

    viscous: Array
    coulomb: Array
    stribeck: Array
    slow: Array
    load: Array

    @staticmethod
    def of(joints: Sequence[Joint]) -> DrivenFriction:
        """As the file has it."""
        rows = np.array([_row(joint.friction) for joint in joints], float).reshape(-1, 5)
        return DrivenFriction(*rows.T)

    def dry(self, qd: Array, tau: Array) -> Array:
        """Size (..., n) of what does not grow with the velocity, at velocities qd (..., n) and torques of the links
        tau (..., n), N m or N."""
        return self.coulomb + self.stribeck / (1.0 + (qd / self.slow) ** 2) + self.load * np.abs(tau)

    def at_rest(self, tau: Array) -> Array:
        """Dry friction that a joint at rest overcomes first (..., n), N m or N, whose links take tau (..., n)."""
        return self.dry(np.zeros_like(tau), tau)

    def torque(self, qd: Array, tau: Array) -> Array:
        """Torque (..., n) to overcome it; none of a joint at rest, whose friction may be anything."""
        return self.viscous * qd + np.sign(qd) * self.dry(qd, tau)


def _row(f: Friction) -> tuple[float, ...]:
    return f.viscous, f.coulomb, f.stribeck, f.stribeck_velocity or 1.0, f.load


def beyond_coulomb(joint: Joint) -> bool:
    """True if a joint's friction falls with the velocity or rises with the load."""
    return joint.friction.stribeck > 0.0 or joint.friction.load > 0.0
