"""The planar two-link arm in closed form, as textbooks derive it with Lagrange's equations.

    tau_1 = H11 q1'' + H12 q2'' - h q2'^2 - 2 h q1' q2' + G1
    tau_2 = H12 q1'' + H22 q2'' + h q1'^2              + G2

    H11 = m1 c1^2 + I1 + m2 (l1^2 + c2^2 + 2 l1 c2 cos q2) + I2
    H22 = m2 c2^2 + I2,   H12 = m2 (c2^2 + l1 c2 cos q2) + I2,   h = m2 l1 c2 sin q2
    G1 = m1 c1 g cos q1 + m2 g (c2 cos(q1 + q2) + l1 cos q1),   G2 = m2 c2 g cos(q1 + q2)

m: masses. c: distances from a link's joint to its centre of gravity. I: inertias about this centre. l1: distance
between the joints. g acts along -y. The file shares no code with the project's dynamics, because tests compare their
results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, BadInput
from femtorque.codegen.mechanism import Mechanism


@dataclass(frozen=True)
class TwoLink:
    """kg, m, kg m^2, m/s^2."""

    m1: float
    m2: float
    l1: float
    c1: float
    c2: float
    I1: float
    I2: float
    g: float

    @staticmethod
    def of(mechanism: Mechanism) -> TwoLink:
        """Return the arm of a mechanism. Raises BadInput if the mechanism is not a planar two-link arm."""
        joints, links = mechanism.moving, mechanism.links
        planar = len(joints) == len(links) == 2 and not mechanism.payloads and all(
            np.allclose(j.axis, [0.0, 0.0, 1.0]) and not np.any(j.rpy) and not np.any(j.xyz[1:]) for j in joints)
        if not planar or any(np.any(link.com[1:]) for link in links) or np.any(mechanism.gravity[[0, 2]]):
            raise BadInput(mechanism.source or mechanism.name, "mechanism", None,
                           "is not two links along x that turn about z, gravity along y")
        one, two = links
        return TwoLink(one.mass, two.mass, float(joints[1].xyz[0]), float(one.com[0]), float(two.com[0]),
                       float(one.inertia[2, 2]), float(two.inertia[2, 2]), -float(mechanism.gravity[1]))

    def H(self, q: ArrayLike) -> Array:
        """(..., 2, 2)"""
        cosine = np.cos(np.asarray(q, float)[..., 1])
        H12 = self.m2 * (self.c2**2 + self.l1 * self.c2 * cosine) + self.I2
        H11 = (self.m1 * self.c1**2 + self.I1 + self.I2
               + self.m2 * (self.l1**2 + self.c2**2 + 2.0 * self.l1 * self.c2 * cosine))
        H22 = np.full_like(H12, self.m2 * self.c2**2 + self.I2)
        return np.stack([np.stack([H11, H12], -1), np.stack([H12, H22], -1)], -2)

    def h(self, q: ArrayLike) -> Array:
        """(...,)"""
        return self.m2 * self.l1 * self.c2 * np.sin(np.asarray(q, float)[..., 1])

    def G(self, q: ArrayLike) -> Array:
        """(..., 2)"""
        q1, both = np.asarray(q, float)[..., 0], np.sum(q, axis=-1)
        G2 = self.m2 * self.c2 * self.g * np.cos(both)
        return np.stack([(self.m1 * self.c1 + self.m2 * self.l1) * self.g * np.cos(q1) + G2, G2], -1)

    def torque(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """(..., 2) N m"""
        v1, v2 = np.moveaxis(np.asarray(qd, float), -1, 0)
        h = self.h(q)
        inertial = (self.H(q) @ np.asarray(qdd, float)[..., None])[..., 0]
        return inertial + np.stack([-h * v2**2 - 2.0 * h * v1 * v2, h * v1**2], -1) + self.G(q)
