"""The constraints of closed loops: cuts in the tree, with their equations, Jacobian and forces.

The spanning tree is the Model that contains all moving joints. A loop cuts the tree between two anchors. An anchor is a
frame that is fixed to a link. The constraint is expressed in axes of the body that carries both sides. A rotation of
this body then does not change which equations are independent:

    ball      p_b - p_a                                                     3
    planar    the same along x and y of anchor a                            2
    revolute  ball, and z_b across x_a and across y_a                       5
    rigid     revolute, and y_b across x_a                                  6

The constraint forces lambda are opposite at the two anchors. As nodal forces, the constraint forces belong to the
blocks of their links in {P}. [L][T] converts them to joint torques J_c' lambda. For unit forces the same code gives the
Jacobian J_c."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, cross, dot, norm, product, rotation_rpy
from femtorque.codegen.mechanism import Anchor, Loop
from femtorque.codegen.model.bodies import GROUND, Body, Model, placed_links, rotation_axis
from femtorque.codegen.model.kinematics import Levers, Pose, joint_torque, levers, pose, rotate, rotate_back

PARALLEL = 1e-9  # sine of the angle below which two axes count as parallel

AXES: dict[str, tuple[tuple[str, str], ...]] = {
    "ball": (), "planar": (), "revolute": (("x", "z"), ("y", "z")), "rigid": (("x", "z"), ("y", "z"), ("x", "y"))}
ALONG = {"planar": "xy"}


@dataclass(frozen=True)
class Side:
    """An anchor of a loop: its frame R (3, 3), p (3,) in its body (GROUND: global), and joints up to `common`."""

    body: int
    R: Array
    p: Array
    path: tuple[int, ...]


@dataclass(frozen=True)
class Cut:
    """The cut of a loop in the tree. plane (3, 2): two directions in axes of the common body that replace x and y of
    anchor a, for a planar loop whose anchor a rotates only about its z axis. In other loops these two directions rotate
    with the anchor, and plane is None."""

    loop: Loop
    common: int  # the body that carries both sides
    a: Side
    b: Side
    rows: tuple[str, ...]  # names of the cut's equations
    plane: Array | None = None


@dataclass(frozen=True)
class Coupling:
    """A mimic joint: q_follower - ratio q_leader - offset = 0, in rad or m. Joints are indices."""

    follower: int
    leader: int
    ratio: float
    offset: float


def couplings(model: Model) -> tuple[Coupling, ...]:
    """Return the couplings of all mimic joints of the model's mechanism."""
    places = {body.joint.name: i for i, body in enumerate(model.bodies)}
    return tuple(Coupling(i, places[mimic.joint], mimic.ratio, mimic.offset)
                 for i, body in enumerate(model.bodies) if (mimic := body.joint.mimic))


def cuts(model: Model) -> tuple[Cut, ...]:
    """Return the cuts of all loops of the model's mechanism."""
    places = placed_links(model.mechanism)

    def ancestry(body: int) -> list[int]:
        path = []
        while body != GROUND:
            path.append(body)
            body = model.bodies[body].parent
        return path[::-1]

    def side(anchor: Anchor, shared: int) -> Side:
        body, R, p = places[anchor.link]
        turned = product(R, rotation_rpy(anchor.rpy))
        return Side(body, turned, p + product(R, anchor.xyz), tuple(ancestry(body)[shared:]))

    found = []
    for loop in model.mechanism.loops:
        up, down = (ancestry(places[x.link][0]) for x in (loop.a, loop.b))
        shared = sum(1 for x, y in zip(up, down, strict=False) if x == y)
        rows = tuple(ALONG.get(loop.type, "xyz")) + tuple(f"{r[0]}.{r[1]}" for r in AXES[loop.type])
        a, b = side(loop.a, shared), side(loop.b, shared)
        plane = _plane(model, a) if loop.type in ALONG else None
        found.append(Cut(loop, up[shared - 1] if shared else GROUND, a, b, rows, plane))
    return tuple(found)


def _plane(model: Model, side: Side) -> Array | None:
    """Return the axes x and y of an anchor, if all joints between the anchor and the common body are at zero.

    Return None if a joint on this path tilts the anchor's z axis."""
    R = side.R
    for j in reversed(side.path):
        body = model.bodies[j]
        if not body.prismatic and norm(cross(body.axis, R[:, 2])) > PARALLEL:
            return None
        R = product(body.R0, R)
    return R[:, :2]


@dataclass(frozen=True)
class Frames:
    """The two anchors of a cut in axes of its common body: directions A, B (..., 3, 3), points a, b (..., 3)."""

    A: Array
    B: Array
    a: Array
    b: Array
    back: Array  # (..., 3, 3), from global axes


def frames(at: Pose, cut: Cut) -> Frames:
    """Return both anchors in one pose or a stack of poses."""
    if cut.common == GROUND:
        back, origin = np.eye(3), np.zeros(3)
    else:
        back, origin = np.swapaxes(at.R[..., cut.common, :, :], -1, -2), at.origin[..., cut.common, :]

    def placed(side: Side) -> tuple[Array, Array]:
        if side.body == GROUND:
            return product(back, side.R), rotate(back, side.p - origin)
        R = at.R[..., side.body, :, :]
        return product(back, R, side.R), rotate(back, at.origin[..., side.body, :] + rotate(R, side.p) - origin)

    (A, a), (B, b) = placed(cut.a), placed(cut.b)
    return Frames(A, B, a, b, back)


def residual(model: Model, cut: Cut, at: Pose) -> Array:
    """Return the cut's residual (..., rows), in m for points and without unit for directions.

    A closed cut has the residual 0."""
    f = frames(at, cut)
    apart = f.b - f.a
    if cut.loop.type in ALONG:
        apart = rotate_back(f.A[..., :2] if cut.plane is None else cut.plane, apart)
    angles = [dot(f.A[..., "xyz".index(x)], f.B[..., "xyz".index(y)]) for x, y in AXES[cut.loop.type]]
    return np.concatenate([apart, *(x[..., None] for x in np.broadcast_arrays(*angles))], axis=-1) if angles else apart


def bias(model: Model, cut: Cut, q: Array, velocities: Array) -> Array:
    """Return the second time derivative of `residual` (..., rows) at constant joint velocities (..., n): J_c'
    velocities. A joint of velocity w turns a vector y about the axis e: y' = R y' + w e x R y. The second derivative is
    y'' = R y'' + 2 w e x R y' + w^2 e x (e x R y)."""
    def carried(side: Side, y: Array, is_point: bool) -> tuple[Array, Array, Array]:
        y = np.broadcast_to(y, (*q.shape[:-1], 3))
        v, b = np.zeros_like(y), np.zeros_like(y)
        for j in reversed(side.path):
            body, velocity = model.bodies[j], velocities[..., j, None]
            if body.prismatic and is_point:
                y, v = y + body.axis * q[..., j, None], v + body.axis * velocity
            elif not body.prismatic:
                R = rotation_axis(body.axis, q[..., j])
                y, v, b = rotate(R, y), rotate(R, v), rotate(R, b)
                across = velocity * cross(body.axis, y)
                b = b + 2.0 * velocity * cross(body.axis, v) + velocity * cross(body.axis, across)
                v = v + across
            y, v, b = product(y, body.R0.T) + body.p0 * is_point, product(v, body.R0.T), product(b, body.R0.T)
        return y, v, b

    def multiplied(u: tuple[Array, Array, Array], v: tuple[Array, Array, Array]) -> Array:
        return np.asarray(dot(u[2], v[0]) + 2.0 * dot(u[1], v[1]) + dot(u[0], v[2]))

    def direction(side: Side, name: str) -> tuple[Array, Array, Array]:
        return carried(side, side.R[:, "xyz".index(name)], False)

    a, b = carried(cut.a, cut.a.p, True), carried(cut.b, cut.b.p, True)
    apart = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    rows = [apart[2][..., k] for k in range(3)]
    if cut.plane is not None:
        rows = [product(apart[2], cut.plane[:, k]) for k in range(2)]
    elif cut.loop.type in ALONG:
        rows = [multiplied(direction(cut.a, k), apart) for k in "xy"]
    rows += [multiplied(direction(cut.a, x), direction(cut.b, y)) for x, y in AXES[cut.loop.type]]
    return np.stack(rows, axis=-1)


def unit_loads(model: Model, cut: Cut, R: Array, apart: ArrayLike = 0.0) -> tuple[Array, Array]:
    """Return nodal forces F and moments Phi (..., rows, n, 3), global axes, for unit multipliers of a cut.

    R (..., n, 3, 3). The force of a row acts on anchor b, and the opposite force on anchor a. A force that does not act
    at the centre of gravity has a moment about it. apart (..., 3): vector from anchor a to anchor b in axes of the
    common body, zero for a closed cut."""
    back = np.swapaxes(R[..., cut.common, :, :], -1, -2) if cut.common != GROUND else np.eye(3)
    A, B = (side.R if side.body == GROUND else product(R[..., side.body, :, :], side.R) for side in (cut.a, cut.b))
    F = np.zeros((*R.shape[:-3], len(cut.rows), model.n, 3))
    Phi = np.zeros_like(F)

    def act(row: int, sign: float, side: Side, force: Array, moment: Array) -> None:
        if side.body != GROUND:
            arm = rotate(R[..., side.body, :, :], side.p - model.bodies[side.body].com)
            F[..., row, side.body, :] += sign * force
            Phi[..., row, side.body, :] += sign * (cross(arm, force) + moment)

    none, along = np.zeros(3), cut.loop.type in ALONG
    for row in range(2 if along else 3):
        moving = along and cut.plane is None
        if along and cut.plane is not None:
            force = rotate_back(back, cut.plane[:, row])
        else:
            force = A[..., row] if along else back[..., row, :]
        turned = cross(force, rotate_back(back, np.asarray(apart) + none)) if moving else none
        act(row, 1.0, cut.b, force, none)
        act(row, -1.0, cut.a, force, -turned)
    for row, (x, y) in enumerate(AXES[cut.loop.type], 2 if along else 3):
        moment = cross(B[..., "xyz".index(y)], A[..., "xyz".index(x)])
        act(row, 1.0, cut.b, none, moment)
        act(row, -1.0, cut.a, none, moment)
    return F, Phi


def jacobian(model: Model, cut: Cut, at: Pose, arms: Levers) -> Array:
    """Return the derivative of `residual` with respect to the joints' positions, (..., rows, n): [L][T]{P} of unit
    loads at the cut.

    If the anchors are apart, opposite forces on them have a moment. This moment would also load the joints from the
    ground to `common`, which move both sides and the axes together. The function therefore sets the columns of these
    joints to zero."""
    f = frames(at, cut)
    J = load_torques(model, at.R, arms, *unit_loads(model, cut, at.R, f.b - f.a))
    J[..., [i for i in range(model.n) if i not in (*cut.a.path, *cut.b.path)]] = 0.0
    return J


def load_torques(model: Model, R: Array, arms: Levers, F: Array, Phi: Array) -> Array:
    """Return torques (..., rows, n) of loads (..., rows, n, 3) in one pose."""
    return joint_torque(model, R[..., None, :, :, :], Levers(arms.com[..., None, :, :], arms.joint[..., None, :, :]),
                        F, Phi)


@dataclass(frozen=True)
class Equations:
    """All equations between a model's joints: first the equations of the cuts, then one equation per coupling."""

    model: Model
    cuts: tuple[Cut, ...]
    couplings: tuple[Coupling, ...]

    @staticmethod
    def of(model: Model) -> Equations:
        return Equations(model, cuts(model), couplings(model))

    @cached_property
    def rows(self) -> list[tuple[int, int]]:
        """Return (number, row) of every equation. Couplings are numbered after the cuts, and each has one row."""
        sizes = [len(cut.rows) for cut in self.cuts] + [1] * len(self.couplings)
        return [(number, row) for number, size in enumerate(sizes) for row in range(size)]

    def name(self, row: tuple[int, int]) -> str:
        if row[0] < len(self.cuts):
            cut = self.cuts[row[0]]
            return f"{cut.loop.name}.{cut.rows[row[1]]}"
        return f"{self._follower(row).joint.name}.mimic"

    def is_angle(self, row: tuple[int, int]) -> bool:
        """Return True if the residual of this equation is in rad or a sine, and False if it is in m."""
        if row[0] < len(self.cuts):
            return "." in self.cuts[row[0]].rows[row[1]]
        return not self._follower(row).prismatic

    def _follower(self, row: tuple[int, int]) -> Body:
        return self.model.bodies[self.couplings[row[0] - len(self.cuts)].follower]

    def residual(self, q: ArrayLike, at: Pose | None = None) -> Array:
        """Return the residual (..., m) at positions q (..., n), rad or m. at: the frames at q, if known."""
        q = np.asarray(q, float)
        parts = [np.zeros((*q.shape[:-1], 0))]
        if self.cuts:
            at = at or pose(self.model, q)
            parts += [residual(self.model, cut, at) for cut in self.cuts]
        parts += [(q[..., c.follower] - c.ratio * q[..., c.leader] - c.offset)[..., None] for c in self.couplings]
        return np.concatenate(parts, axis=-1)

    def jacobian(self, q: ArrayLike, at: Pose | None = None) -> Array:
        """Return the derivative of the residual with respect to q, (..., m, n)."""
        q = np.asarray(q, float)
        parts = [np.zeros((*q.shape[:-1], 0, self.model.n))]
        if self.cuts:
            at = at or pose(self.model, q)
            arms = levers(self.model, at)
            parts += [jacobian(self.model, cut, at, arms) for cut in self.cuts]
        parts.append(np.broadcast_to(self.coupled, (*q.shape[:-1], *self.coupled.shape)))
        return np.concatenate(parts, axis=-2)

    @cached_property
    def coupled(self) -> Array:
        """Return the Jacobian's rows for the couplings (couplings, n), which are constant."""
        J = np.zeros((len(self.couplings), self.model.n))
        for row, c in enumerate(self.couplings):
            J[row, c.follower], J[row, c.leader] = 1.0, -c.ratio
        return J

    def bias(self, q: Array, velocities: Array) -> Array:
        """Return dJ/dt qd (..., m), with velocities qd (..., n)."""
        parts = [bias(self.model, cut, q, velocities) for cut in self.cuts]
        return np.concatenate([*parts, np.zeros((*q.shape[:-1], len(self.couplings)))], axis=-1)
