"""Vectors, forces and matrices of expressions, for the recursions in all forms of the step.

The components are nodes of one graph. Operations with zeros and ones are removed when the expression is formed
(graph.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from femtorque.codegen.common import Array
from femtorque.codegen.step.graph import Expr, Graph, Number

Pair = tuple[Expr, Expr]  # cosine and sine


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

    def __getitem__(self, i: int) -> Expr:
        return (self.x, self.y, self.z)[i]

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
        """Return the z component of the cross product."""
        return self.x * other.y - self.y * other.x

    def z_cross(self, w: Number = 1.0) -> Vec3:
        """Return w z x this."""
        return Vec3(-(w * self.y), w * self.x, self.x * 0.0)

    @property
    def is_along_z(self) -> bool:
        return self.x.is_zero and self.y.is_zero

    def turn(self, pair: Pair) -> Vec3:
        """Return the components in a frame that is rotated about z."""
        c, s = pair
        return Vec3(c * self.x + s * self.y, c * self.y - s * self.x, self.z)

    def turn_back(self, pair: Pair) -> Vec3:
        c, s = pair
        return Vec3(c * self.x - s * self.y, s * self.x + c * self.y, self.z)

    def bind(self, name: str) -> Vec3:
        bind = self.x.graph.bind
        return Vec3(bind(self.x, f"{name}_x"), bind(self.y, f"{name}_y"), bind(self.z, f"{name}_z"))


@dataclass(frozen=True, slots=True)
class Mat3:
    """Matrix by rows."""

    x: Vec3
    y: Vec3
    z: Vec3

    @staticmethod
    def of(entry: Callable[[int, int], Expr]) -> Mat3:
        """Return the matrix with entries entry(row, column)."""
        return Mat3(*(Vec3(*(entry(r, c) for c in range(3))) for r in range(3)))

    @staticmethod
    def fixed(graph: Graph, A: Array, unit: float = 1.0) -> Mat3:
        return Mat3(*(Vec3.of(graph, row, unit) for row in A))

    def __getitem__(self, r: int) -> Vec3:
        return (self.x, self.y, self.z)[r]

    def __iter__(self) -> Iterator[Vec3]:
        return iter((self.x, self.y, self.z))

    def __add__(self, other: Mat3) -> Mat3:
        return Mat3(*(a + b for a, b in zip(self, other, strict=True)))

    def __matmul__(self, v: Vec3) -> Vec3:
        return Vec3(self.x @ v, self.y @ v, self.z @ v)

    @property
    def T(self) -> Mat3:
        return Mat3.of(lambda r, c: self[c][r])

    def symmetric(self) -> Mat3:
        """Return the symmetric matrix that has this upper triangle."""
        return Mat3.of(lambda r, c: self[min(r, c)][max(r, c)])

    def map(self, rotation: Callable[[Vec3], Vec3]) -> Mat3:
        """Return R A R' for a rotation R of vectors."""
        return Mat3(*map(rotation, Mat3(*map(rotation, self.T)).T))

    def turn_back(self, pair: Pair) -> Mat3:
        """Return R A R' for a symmetric A. R rotates about z by the angle of this cosine and sine."""
        c, s = pair
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = self
        cc, ss, cs = c * c, s * s, c * s
        new_xy = cs * (xx - yy) + (cc - ss) * xy
        return Mat3(Vec3(cc * xx - 2.0 * (cs * xy) + ss * yy, new_xy, c * xz - s * yz),
                    Vec3(new_xy, ss * xx + 2.0 * (cs * xy) + cc * yy, s * xz + c * yz),
                    Vec3(xz, yz, zz)).symmetric()

    def pitch_back(self, pair: Pair) -> Mat3:
        """Return R A R' for a symmetric A, where R x = (c x - s z, y, s x + c z)."""
        c, s = pair
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = self
        cc, ss, cs = c * c, s * s, c * s
        new_xz = cs * (xx - zz) + (cc - ss) * xz
        return Mat3(Vec3(cc * xx - 2.0 * (cs * xz) + ss * zz, c * xy - s * yz, new_xz),
                    Vec3(xy, yy, s * xy + c * yz),
                    Vec3(new_xz, yz, ss * xx + 2.0 * (cs * xz) + cc * zz)).symmetric()

    def roll_back(self, pair: Pair) -> Mat3:
        """Return R A R' for a symmetric A. R rotates about x by the angle of this cosine and sine."""
        c, s = pair
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = self
        cc, ss, cs = c * c, s * s, c * s
        new_yz = cs * (yy - zz) + (cc - ss) * yz
        return Mat3(Vec3(xx, c * xy - s * xz, s * xy + c * xz),
                    Vec3(xy, cc * yy - 2.0 * (cs * yz) + ss * zz, new_yz),
                    Vec3(xz, new_yz, ss * yy + 2.0 * (cs * yz) + cc * zz)).symmetric()

    def bind(self, name: str) -> Mat3:
        return Mat3.of(lambda r, c: self.x.x.graph.bind(self[r][c], f"{name}_{'xyz'[r]}{'xyz'[c]}"))

    def bind_symmetric(self, name: str) -> Mat3:
        bind = self.x.x.graph.bind
        bound = {(r, c): bind(self[r][c], f"{name}_{'xyz'[r]}{'xyz'[c]}") for r in range(3) for c in range(r, 3)}
        return Mat3.of(lambda r, c: bound[min(r, c), max(r, c)])


def times(M: Array, v: Vec3) -> Vec3:
    """Return a constant matrix times a vector."""
    return Vec3(*(float(row[0]) * v.x + float(row[1]) * v.y + float(row[2]) * v.z for row in M))


def swing(w: Vec3, e: Vec3) -> Mat3:
    """Return the matrix of e x + w x (w x. The matrix gives the acceleration of points that rotate with w and e."""
    xx, yy, zz = (a * a for a in w)
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    return Mat3(Vec3(-(yy + zz), xy - e.z, xz + e.y), Vec3(xy + e.z, -(xx + zz), yz - e.x),
                Vec3(xz - e.y, yz + e.x, -(xx + yy)))


@dataclass(frozen=True, slots=True)
class SpatialForce:
    """Force f and moment n about an origin, or momentum and angular momentum."""

    f: Vec3
    n: Vec3

    @staticmethod
    def zero(graph: Graph) -> SpatialForce:
        return SpatialForce(Vec3.zero(graph), Vec3.zero(graph))

    def __add__(self, other: SpatialForce) -> SpatialForce:
        return SpatialForce(self.f + other.f, self.n + other.n)

    def shift(self, d: Vec3) -> SpatialForce:
        """Return the force about a different point. d: vector from this point to the old origin."""
        return SpatialForce(self.f, self.n + d.cross(self.f))

    def map(self, rotation: Callable[[Vec3], Vec3]) -> SpatialForce:
        return SpatialForce(rotation(self.f), rotation(self.n))

    def bind(self, f: str, n: str) -> SpatialForce:
        return SpatialForce(self.f.bind(f), self.n.bind(n))


@dataclass(frozen=True, slots=True)
class FrameMotion:
    """Motion of a frame: angular velocity w and acceleration e, acceleration a of its origin."""

    w: Vec3
    e: Vec3
    a: Vec3

    def swung(self, d: Vec3) -> Vec3:
        """Return e x d + w x (w x d) with few operations."""
        return self.e.cross(d) + self.w.cross(self.w.cross(d))

    def at(self, d: Vec3) -> Vec3:
        """Return the acceleration of a point that is fixed in the frame at d from the origin."""
        return self.a + self.swung(d)

    def map(self, rotation: Callable[[Vec3], Vec3]) -> FrameMotion:
        return FrameMotion(rotation(self.w), rotation(self.e), rotation(self.a))

    def bind(self, name: str) -> FrameMotion:
        return FrameMotion(self.w.bind(f"w{name}"), self.e.bind(f"e{name}"), self.a.bind(f"a{name}"))


@dataclass(frozen=True, slots=True)
class ArticulatedInertia:
    """The change of the force and moment that a load exerts at an origin, when the origin's accelerations change by da
    and de. Rigid bodies: f += m da + de x C, n += C x da + I de. If a component deflects: f += L da + N de and n += N'
    da + I de. m: mass in kg times `unit`. C: first moment. I: None if no function needs the change of the moment."""

    kg: float
    unit: float
    C: Vec3
    I: Mat3 | None = None
    L: Mat3 | None = None
    N: Mat3 | None = None

    @property
    def m(self) -> float:
        return self.kg * self.unit

    @property
    def full(self) -> tuple[Mat3, Mat3, Mat3]:
        """Return L, N, I."""
        assert self.L is not None and self.N is not None and self.I is not None
        return self.L, self.N, self.I

    def general(self) -> ArticulatedInertia:
        """Return the inertia in the general form, with L and N."""
        if self.L is not None:
            return self
        graph = self.C.x.graph
        x, y, z = self.C
        mass, zero = graph.const(self.m), graph.const(0.0)
        return replace(self, L=Mat3.of(lambda r, c: mass if r == c else zero),
                       N=Mat3(Vec3(zero, z, -y), Vec3(-z, zero, x), Vec3(y, -x, zero)))

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        a, b = self, other
        if a.L is not None or b.L is not None:
            a, b = a.general(), b.general()
        I, L, N = (None if x is None or y is None else x + y for x, y in ((a.I, b.I), (a.L, b.L), (a.N, b.N)))
        return ArticulatedInertia(a.kg + b.kg, a.unit, a.C + b.C, I, L, N)

    def answer(self, de: Vec3, da: Vec3) -> SpatialForce:
        """Return the change of force and moment."""
        if self.L is None or self.N is None:
            assert self.I is not None
            return SpatialForce(self.m * da + de.cross(self.C), self.C.cross(da) + self.I @ de)
        L, N, I = self.full
        return SpatialForce(L @ da + N @ de, N.T @ da + I @ de)

    def shift(self, d: Vec3) -> ArticulatedInertia:
        """Return the inertia about a different point. d: vector from this point to the old origin."""
        moved = self.C + self.m * d
        if self.I is None:
            return replace(self, C=moved)
        if self.L is None:  # I - [d]([C] + m[d]) - [C][d]
            more = self.C + moved
            dot, I = d @ more, self.I
            return replace(self, C=moved, I=Mat3.of(
                lambda r, c: I[r][c] - 0.5 * (d[r] * more[c] + d[c] * more[r]) + (dot if r == c else 0.0)).symmetric())
        L, N, I = self.full
        new = Mat3(*(n + d.cross(l) for n, l in zip(N, L, strict=True)))
        before, after = (Mat3(*map(d.cross, M.T)) for M in (N, new))
        return replace(self, C=moved, I=(Mat3.of(lambda r, c: I[r][c] + before[r][c] + after[c][r])).symmetric(), N=new)

    def map(self, rotation: Callable[[Vec3], Vec3], symmetric: Callable[[Mat3], Mat3]) -> ArticulatedInertia:
        """Return the inertia in different axes. symmetric: the same rotation, applied to a symmetric matrix."""
        return replace(self, C=rotation(self.C), I=self.I and symmetric(self.I), L=self.L and symmetric(self.L),
                       N=self.N and self.N.map(rotation))

    def reduce(self, response: SpatialForce, of: SpatialForce) -> ArticulatedInertia:
        """Return the inertia of a load with a coordinate that deflects. of: force and moment per unit of the
        coordinate. response: `of` divided by the coordinate's effective inertia."""
        L, N, I = self.general().full
        L, N, I = (Mat3.of(lambda r, c, A=A, x=x, y=y: A[r][c] - x[r] * y[c])  # type: ignore[misc]
                   for A, x, y in ((L, response.f, of.f), (N, response.f, of.n), (I, response.n, of.n)))
        return replace(self, L=L.symmetric(), N=N, I=I.symmetric())

    def bind(self, name: str) -> ArticulatedInertia:
        return replace(self, I=self.I and self.I.bind_symmetric(f"I{name}"),
                       L=self.L and self.L.bind_symmetric(f"L{name}"),
                       N=self.N and self.N.bind(f"N{name}"))
