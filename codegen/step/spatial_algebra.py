"""Vectors, forces and matrices of expressions, as the recursions of all forms of the step use them.

Components are nodes of one graph; what is zero or one in them vanishes while they are formed (graph.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codegen.step.graph import Expr, Graph, Number

Pair = tuple[Expr, Expr]  # cosine and sine
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Vec2:
    """In the plane of a mechanism whose axes are all parallel."""

    x: Expr
    y: Expr

    def __add__(self, other: Vec2) -> Vec2:
        return Vec2(self.x + other.x, self.y + other.y)

    def __sub__(self, other: Vec2) -> Vec2:
        return Vec2(self.x - other.x, self.y - other.y)

    def __rmul__(self, k: Number) -> Vec2:
        return Vec2(k * self.x, k * self.y)

    def cross(self, other: Vec2) -> Expr:
        return self.x * other.y - self.y * other.x

    def along(self, d: Array) -> Vec2:
        """d, as it is fixed in a body of which this is the unit vector."""
        return Vec2(self.x * float(d[0]) - self.y * float(d[1]), self.x * float(d[1]) + self.y * float(d[0]))

    def against(self, d: Array) -> Vec2:
        """This, turned against d: (d turned by r) x v = r x (v turned against d)."""
        return Vec2(self.x * float(d[0]) + self.y * float(d[1]), self.y * float(d[0]) - self.x * float(d[1]))

    def bind(self, name: str) -> Vec2:
        return Vec2(_bind(self.x, f"{name}_x"), _bind(self.y, f"{name}_y"))


@dataclass(frozen=True, slots=True)
class Vec3:
    x: Expr
    y: Expr
    z: Expr

    @staticmethod
    def of(graph: Graph, v: Array, unit: float = 1.0) -> Vec3:
        return Vec3(*(graph.const(float(a) * unit) for a in v))

    @staticmethod
    def zero(graph: Graph) -> Vec3:
        return Vec3(*[graph.const(0.0)] * 3)

    def __iter__(self) -> Iterator[Expr]:
        return iter((self.x, self.y, self.z))

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __rmul__(self, k: Number) -> Vec3:
        return Vec3(k * self.x, k * self.y, k * self.z)

    def __matmul__(self, other: Vec3) -> Expr:
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        return Vec3(self.y * other.z - self.z * other.y, self.z * other.x - self.x * other.z, self.cross_z(other))

    def cross_z(self, other: Vec3) -> Expr:
        """The component of the cross product along z."""
        return self.x * other.y - self.y * other.x

    def z_cross(self, w: Number = 1.0) -> Vec3:
        """w z x this."""
        return Vec3(-(w * self.y), w * self.x, self.x * 0.0)

    @property
    def is_along_z(self) -> bool:
        return self.x.is_zero and self.y.is_zero

    def turn(self, pair: Pair) -> Vec3:
        """Components in a frame turned about z."""
        c, s = pair
        return Vec3(c * self.x + s * self.y, c * self.y - s * self.x, self.z)

    def turn_back(self, pair: Pair) -> Vec3:
        c, s = pair
        return Vec3(c * self.x - s * self.y, s * self.x + c * self.y, self.z)

    def bind(self, name: str) -> Vec3:
        return Vec3(*(_bind(a, f"{name}_{axis}") for a, axis in zip(self, "xyz", strict=True)))


@dataclass(frozen=True, slots=True)
class Mat3:
    """By rows."""

    x: Vec3
    y: Vec3
    z: Vec3

    def __matmul__(self, v: Vec3) -> Vec3:
        return Vec3(self.x @ v, self.y @ v, self.z @ v)

    def bind(self, name: str) -> Mat3:
        return Mat3(*(Vec3(*(_bind(a, f"{name}_{r}{c}") for a, c in zip(row, "xyz", strict=True)))
                      for row, r in zip((self.x, self.y, self.z), "xyz", strict=True)))


def times(M: Array, v: Vec3) -> Vec3:
    """A constant matrix times a vector."""
    return Vec3(*(float(row[0]) * v.x + float(row[1]) * v.y + float(row[2]) * v.z for row in M))


def swing(w: Vec3, e: Vec3) -> Mat3:
    """The matrix of e x + w x (w x: the acceleration of points that turn with w, e."""
    xx, yy, zz = (a * a for a in w)
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    return Mat3(Vec3(-(yy + zz), xy - e.z, xz + e.y), Vec3(xy + e.z, -(xx + zz), yz - e.x),
                Vec3(xz - e.y, yz + e.x, -(xx + yy)))


@dataclass(frozen=True, slots=True)
class SpatialForce:
    """Force f and moment n about an origin; or momentum and angular momentum."""

    f: Vec3
    n: Vec3

    @staticmethod
    def zero(graph: Graph) -> SpatialForce:
        return SpatialForce(Vec3.zero(graph), Vec3.zero(graph))

    def __add__(self, other: SpatialForce) -> SpatialForce:
        return SpatialForce(self.f + other.f, self.n + other.n)

    def shift(self, d: Vec3) -> SpatialForce:
        """About a point from which the old one is d away."""
        return SpatialForce(self.f, self.n + d.cross(self.f))

    def rotate(self, rotation: Callable[[Vec3], Vec3]) -> SpatialForce:
        return SpatialForce(rotation(self.f), rotation(self.n))

    def bind(self, f: str, n: str) -> SpatialForce:
        return SpatialForce(self.f.bind(f), self.n.bind(n))


def _bind(e: Expr, name: str) -> Expr:
    return e.graph.bind(e, name)
