"""The tree of moving bodies of a Mechanism, computed once.

Links that are fixed to each other (by fixed joints, locked joints, payloads) form one body, so each moving joint has
one body. Joint j moves body j. The index j is the index in `Mechanism.moving`. Links fixed to the ground take no part
in the dynamics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import product, remembered, rotation_rpy, sin_cos
from femtorque.codegen.mechanism import BASE, Joint, Matrix, Mechanism, Vector
from femtorque.codegen.model.torsion import with_torsion

GROUND = -1  # parent index of bodies whose joint is on the ground


@dataclass(frozen=True)
class Body:
    """One moving body and the joint that moves it. R0 (3, 3), p0 (3,): joint frame at position zero, in the parent
    body's frame (on the ground: global). The body frame is the joint frame, rotated by q about `axis` (revolute) or
    shifted by q along `axis` (prismatic). inertia (3, 3): inertia of the body about com. com and inertia are in the
    body frame."""

    joint: Joint
    parent: int
    children: tuple[int, ...]
    R0: Matrix
    p0: Vector
    axis: Vector
    mass: float
    com: Vector  # (3,): centre of gravity of the body
    inertia: Matrix

    @property
    def prismatic(self) -> bool:
        return self.joint.type == "prismatic"


@dataclass(frozen=True)
class Model:
    """The moving bodies in tree order."""

    mechanism: Mechanism
    bodies: tuple[Body, ...]
    gravity: Vector
    dt: float  # control tick, s

    @staticmethod
    @remembered
    def of(mechanism: Mechanism) -> Model:
        """Return the model of a mechanism."""
        mechanism = with_torsion(mechanism)
        return Model(
            mechanism=mechanism,
            bodies=_bodies(mechanism),
            gravity=np.asarray(mechanism.gravity, float),
            dt=1.0 / mechanism.control.rate_hz,
        )

    @property
    def n(self) -> int:
        return len(self.bodies)

    @property
    def scheme(self) -> str:
        """Return nodal or printed."""
        return self.mechanism.control.scheme


def rotation_axis(axis: ArrayLike, angle: ArrayLike) -> NDArray[np.float64]:
    """Return the rotations (..., 3, 3) by the angles (...) rad about one unit axis (Rodrigues)."""
    return turned(axis, *sin_cos(angle))


def turned(axis: ArrayLike, sine: ArrayLike, cosine: ArrayLike) -> NDArray[np.float64]:
    """Return the rotations about an axis from sines and cosines (...) of the angles."""
    k, k2 = _skew_and_square(np.asarray(axis, float).tobytes())
    s, c = (np.asarray(x)[..., None, None] for x in (sine, cosine))
    return np.eye(3) + s * k + (1.0 - c) * k2


@lru_cache(maxsize=1024)
def _skew_and_square(axis: bytes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    k = skew(np.frombuffer(axis))
    return k, product(k, k)


def beyond(R: Matrix, p: Vector, joint: Joint, q: float) -> tuple[Matrix, Vector]:
    """Return the frame R (3, 3), p (3,) of a joint's child in the parent's frame, with the joint at q, rad or m."""
    R, p = product(R, rotation_rpy(joint.rpy)), p + product(R, joint.xyz)
    if joint.type == "prismatic":
        return R, p + product(R, joint.axis) * q
    return (R if joint.type == "fixed" else product(R, rotation_axis(joint.axis, q))), p


def skew(v: Vector) -> Matrix:
    """Return the matrix of the cross product: skew(a) b = a x b."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def combine(parts: list[tuple[float, Vector, Matrix]]) -> tuple[float, Vector, Matrix]:
    """Return mass, centre of gravity and inertia about it of several bodies, in one frame (parallel-axis theorem)."""
    mass = math.fsum(m for m, _, _ in parts)
    if mass > 0.0:
        com = sum((m * c for m, c, _ in parts), np.zeros(3)) / mass
    else:
        com = np.zeros(3)
    inertia = np.zeros((3, 3))
    for m, c, J in parts:
        d = skew(c - com)
        inertia += J - product(m * d, d)
    return mass, com, inertia


def placed_links(mechanism: Mechanism) -> dict[str, tuple[int, Matrix, Vector]]:
    """Return {link's name: (body, R, p)}.

    The body carries the link (GROUND: the base), and R, p are the link's frame in the body frame."""
    return _place(mechanism)[0]


def _place(mechanism: Mechanism) -> tuple[
        dict[str, tuple[int, Matrix, Vector]], dict[int, tuple[int, Matrix, Vector, Joint]]]:
    """Return the positions of the links, and data of the moving joints: parent body, R0, p0, joint."""
    moving = {j.name: i for i, j in enumerate(mechanism.moving)}
    place: dict[str, tuple[int, Matrix, Vector]] = {BASE: (GROUND, np.eye(3), np.zeros(3))}
    joint_at: dict[int, tuple[int, Matrix, Vector, Joint]] = {}
    for joint in mechanism.joints:
        body, R, p = place[joint.parent]
        if joint.name in moving:
            i = moving[joint.name]
            joint_at[i] = (body, *beyond(R, p, joint, 0.0), joint)
            place[joint.child] = (i, np.eye(3), np.zeros(3))
        else:
            place[joint.child] = (body, *beyond(R, p, joint, mechanism.lock.get(joint.name, 0.0)))
    return place, joint_at


def _bodies(mechanism: Mechanism) -> tuple[Body, ...]:
    place, joint_at = _place(mechanism)
    parts: dict[int, list[tuple[float, Vector, Matrix]]] = {i: [] for i in joint_at}
    solids = [(link.name, link.mass, link.com, link.inertia) for link in mechanism.links]
    solids += [(p.link, p.mass, p.com, p.inertia) for p in mechanism.payloads]
    for name, mass, com, inertia in solids:
        body, R, p = place[name]
        if body != GROUND:
            parts[body].append((mass, p + product(R, com), product(R, inertia, R.T)))

    bodies = []
    for i in range(len(joint_at)):
        parent, R0, p0, joint = joint_at[i]
        children = tuple(k for k in joint_at if joint_at[k][0] == i)
        mass, com, inertia = combine(parts[i])
        bodies.append(Body(joint, parent, children, R0, p0, joint.axis, mass, com, inertia))
    return tuple(bodies)
