"""Friction of joints that motors turn (Eq. 19, extended):

    tau_f = D q' + sgn(q') (f_c + f_s / (1 + (q'/v_s)^2) + mu |tau_ID|)

Friction at rest exceeds friction in motion by f_s (Stribeck). At the velocity v_s half of f_s is left (Hess and Soom,
J. Tribology 112(1), 1990; their curve needs no exponential function). mu is the fraction of the links' torque that the
gear adds as friction, because its teeth press on each other. A file contains f_s and mu only if they have been
measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Joint


@dataclass(frozen=True)
class DrivenFriction:
    """Friction constants of n joints, (n,) each: viscous N m s/rad; coulomb, stribeck N m; slow rad/s; load N m per N
    m. For prismatic joints: N s/m, N, m/s, N per N."""

    viscous: Array
    coulomb: Array
    stribeck: Array
    slow: Array
    load: Array

    @staticmethod
    def of(joints: Sequence[Joint]) -> DrivenFriction:
        """Return the constants that the file gives for these joints."""
        rows = np.array([(f.viscous, f.coulomb, f.stribeck, f.stribeck_velocity or 1.0, f.load)
                         for f in (joint.friction for joint in joints)], float).reshape(-1, 5)
        return DrivenFriction(*rows.T)

    def dry(self, qd: Array, tau: Array) -> Array:
        """Return the magnitude (..., n) of the dry friction, N m or N, at qd and link torques tau, both (..., n)."""
        return self.coulomb + self.stribeck / (1.0 + (qd / self.slow) ** 2) + self.load * np.abs(tau)

    def at_rest(self, tau: Array) -> Array:
        """Return the dry friction (..., n), N m or N, that holds a joint at rest. tau (..., n): link torques."""
        return self.dry(np.zeros_like(tau), tau)

    def torque(self, qd: Array, tau: Array) -> Array:
        """Return the torque (..., n) that overcomes friction.

        At rest friction is undetermined, and the function returns 0."""
        return self.viscous * qd + np.sign(qd) * self.dry(qd, tau)

    def slopes(self, qd: Array, tau: Array) -> tuple[Array, Array]:
        """Return the derivatives (..., n) of `torque` by link torque and by velocity. Jumps of friction at rest and at
        zero torque are left out."""
        fading = 1.0 + (qd / self.slow) ** 2
        falling = -2.0 * self.stribeck * np.abs(qd) / (self.slow * fading) ** 2
        return self.load * np.sign(qd) * np.sign(tau), self.viscous + falling


def beyond_coulomb(joint: Joint) -> bool:
    """Return True if a joint's friction depends on velocity or load in addition to viscous and Coulomb friction."""
    return joint.friction.stribeck > 0.0 or joint.friction.load > 0.0
