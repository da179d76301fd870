"""Frames and base parameters: the description of a model for which the step needs the fewest instructions.

Every body has a Denavit-Hartenberg frame, whose z is the axis of its joint. The joint's frame results from the parent's
body frame by an offset, a rotation gamma about the parent's z and a rotation alpha about the new x. The joint rotates
the body frame about z by theta. theta includes constant angles about z, so gamma is 0 for one child of each body.

Consecutive joints with parallel axes form a *group*. The joints of a group share the frame of the group's first joint,
which does not rotate with these joints. theta is then measured from this frame (theta_3 = q_2 + q_3), and vectors need
no rotation between the bodies of a group.

A needle is a fictitious body on the axis of a revolute joint: mass mu, first moment nu along the axis, and inertia
kappa about the two axes perpendicular to it. The needle moves equally whether it belongs to the body or to the parent.
The mass mu, first moment nu and inertia kappa can therefore be shifted from each body to its parent until three of the
body's inertial parameters are zero. At the ground the quantities disappear (Khalil, Bennis and Gautier's regrouping,
computed numerically). A prismatic joint does not rotate its body, so the whole inertia of its body is shifted to the
parent."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import arctan2, norm, product
from femtorque.codegen.mechanism import Matrix, Vector
from femtorque.codegen.model import GROUND, PARALLEL, Model, Pose, joint_axes, pose, skew

SAME_ANGLE = 1e-10  # largest difference of two equal angles, rad; mechanism files give pi with ten or twelve digits
TINY = 1e-12  # fraction of a body's size; smaller coordinates and inertias are rounding errors

# The shift of an origin is at most this multiple of the longest offset. The common normal of nearly parallel axes is
# far away, and moments about a distant point are differences of large numbers.
FARTHEST = 1.5

# The shifted mass is at most this multiple of the mass of all bodies. A larger mass would come from a first moment over
# a short offset, and forces would be differences of large numbers.
HEAVIEST = 2.0


@dataclass(frozen=True)
class Choice:
    """Choices for one joint. step/search.py selects the choices with the fewest instructions."""

    origin: str = "parent"  # foot of the common normal with the "parent" or the "child" axis, or unchanged ("given")
    mass: str = "own"  # "own": mu makes the body's mass zero; "parent": the parent's first moment along x
    # which number the shift of kappa makes zero: J_yy ("yy") or J_xx ("xx"), for a moment that is computed from J, or
    # G_zz ("zz"), for a moment that is computed from A and the second moments of mass G
    kappa: str = "zz"
    axes: str = "body"  # axes of the link's contribution to {P}: the joint's "frame" or the "body"


@dataclass(frozen=True)
class ReducedBody:
    """A body in its frame (z along the joint). theta = turn + sum of sign * q over the group, up to this body."""

    joint: int
    parent: int
    children: tuple[int, ...]
    prismatic: bool
    sign: float  # sign of the joint's position along z
    first: int  # index of the first member of the group; the joint's index if it does not continue a group
    gamma: tuple[float, float]  # cosine, sine
    alpha: tuple[float, float]
    offset: Vector  # position from the parent's origin, in the parent's body frame, m
    turn: float  # theta at joint zero, rad
    mass: float
    moment: Vector  # mass times centre of gravity, body frame, kg m
    inertia: Matrix  # about the origin, body frame, kg m^2
    mass_of: frozenset[int] = frozenset()  # bodies whose masses contribute to `mass` after regrouping
    moment_of: frozenset[int] = frozenset()
    inertia_of: frozenset[int] = frozenset()

    @property
    def second_moments(self) -> Matrix:
        """Return G, the sum of m p p' over the body's points, kg m^2."""
        G = 0.5 * np.trace(self.inertia) * np.eye(3) - self.inertia
        return _tidy(G, float(np.abs(self.inertia).max()))

    @property
    def continues(self) -> bool:
        """Return True if the body shares the frame of its parent's group."""
        return self.first != self.joint


@dataclass(frozen=True)
class Tree:
    bodies: tuple[ReducedBody, ...]
    choices: tuple[Choice, ...]
    length: float  # unit of length inside the step, m
    gravity: tuple[Vector, ...]  # direction of gravity in the frame of each joint on the ground, else zero

    def is_upright(self, j: int) -> bool:
        """Return True if a body rotates only about the z axis of its frame."""
        first = self.bodies[self.bodies[j].first]
        return first.parent == GROUND and not first.prismatic

    def members(self, j: int) -> tuple[int, ...]:
        """Return the joints whose positions form theta_j, in tree order."""
        path = [j]
        while self.bodies[path[-1]].continues:
            path.append(self.bodies[path[-1]].parent)
        return tuple(reversed(path))


@dataclass(frozen=True)
class Scales:
    """Factors on a body's base parameters in a step: mass, moment, inertia, offset and, on the ground, weight."""

    mass: float
    moment: float
    inertia: float
    offset: float
    weight: float


def arrange(model: Model, choices: tuple[Choice, ...] | None = None, length: float = 1.0) -> Tree:
    """Return a model's frames and regrouped parameters for choices (one per joint) and a unit of length (m)."""
    n = model.n
    choices = choices or (Choice(),) * n
    placed = pose(model, np.zeros(n))
    z = joint_axes(model, placed)
    size = max([1e-3, *(float(norm(b.p0)) for b in model.bodies)])

    # signs and groups: an axis opposite to the parent's axis is reversed
    sign, first = np.ones(n), list(range(n))
    for j, b in enumerate(model.bodies):
        p = b.parent
        if p == GROUND or b.prismatic or model.bodies[p].prismatic:
            continue
        if norm(_cross(z[p], z[j])) < PARALLEL:
            if product(z[p], z[j]) < 0.0:
                sign[j], z[j] = -1.0, -z[j]
            z[j], first[j] = z[p], first[p]

    origin = _origins(model, placed, z, first, choices, size)
    x_frame, x_body = _directions(model, placed, z, origin, first, size)

    bodies: list[ReducedBody] = []
    gravity: list[Vector] = []
    for j, b in enumerate(model.bodies):
        p = b.parent
        axes = np.column_stack([x_body[j], _cross(z[j], x_body[j]), z[j]])
        R, o = placed.frame(j)
        com = product(axes.T, product(R, b.com) + o - origin[j])
        inertia = product(axes.T, R, b.inertia, R.T, axes) - product(b.mass * skew(com), skew(com))
        turn = _angle(x_frame[j], x_body[j], z[j])
        frame = np.column_stack([x_frame[j], _cross(z[j], x_frame[j]), z[j]])
        if p == GROUND:
            gamma, alpha, offset = (1.0, 0.0), (1.0, 0.0), np.zeros(3)
        else:
            parent = np.column_stack([x_body[p], _cross(z[p], x_body[p]), z[p]])
            offset = product(parent.T, origin[j] - origin[p])
            if first[j] != j:
                gamma, alpha = (1.0, 0.0), (1.0, 0.0)
            else:
                E = product(parent.T, frame)  # = Rz(gamma) Rx(alpha)
                gamma, alpha = (E[0, 0], E[1, 0]), (E[2, 2], E[2, 1])
        bodies.append(
            ReducedBody(
                joint=j,
                parent=p,
                children=b.children,
                prismatic=b.prismatic,
                sign=float(sign[j]),
                first=first[j],
                gamma=_tidy_turn(gamma),
                alpha=_tidy_turn(alpha),
                offset=_tidy(offset, size),
                turn=turn,
                mass=b.mass,
                moment=b.mass * com,
                inertia=inertia,
            )
        )
        gravity.append(_direction(product(frame.T, model.gravity)) if p == GROUND else np.zeros(3))
    return Tree(_regroup(bodies, choices, size), choices, length, tuple(gravity))


def _origins(model: Model, placed: Pose, z: NDArray[np.float64], first: list[int], choices: tuple[Choice, ...],
             size: float) -> list[Vector]:
    """Return origins that are shifted along their joint axes."""
    n = model.n
    origin, at = list(placed.origin.copy()), placed.origin
    feet: list[tuple[Vector | None, Vector | None]] = [(None, None)] * n
    for j, b in enumerate(model.bodies):
        onto_parent = _foot(at[j], z[j], at[b.parent], z[b.parent]) if b.parent != GROUND else None
        child = _primary(model, j, first)
        onto_child = None if child is None else _foot(at[j], z[j], at[child], z[child])
        feet[j] = (onto_parent, onto_child)
    for j, b in enumerate(model.bodies):
        if b.prismatic:
            continue
        parent_foot, child_foot = feet[j]
        if first[j] != j:  # the members of a group are in one plane, so they have no offset along z
            origin[j] = origin[j] + z[j] * product(z[j], origin[b.parent] - origin[j])
            continue
        group = [i for i in range(n) if first[i] == j]
        last_foot = next((feet[i][1] for i in reversed(group) if feet[i][1] is not None), None)
        order = (last_foot, parent_foot) if choices[j].origin == "child" else (parent_foot, last_foot)
        if choices[j].origin == "given":
            order = (None, None)
        slides = [float(product(z[j], foot - origin[j])) for foot in order if foot is not None]
        slide = next((d for d in slides if abs(d) <= FARTHEST * size), 0.0)
        origin[j] = origin[j] + z[j] * slide
    return origin


def _primary(model: Model, j: int, first: list[int]) -> int | None:
    """Return the child towards which a body's x axis points: a child in the body's group, else the first child."""
    children = model.bodies[j].children
    return next((c for c in children if first[c] != c), children[0] if children else None)


def _foot(o: Vector, z: Vector, other_o: Vector, other_z: Vector) -> Vector | None:
    """Return the point on axis (o, z) that is nearest to a second axis, or None for parallel axes."""
    normal = _normal(z, other_z)
    sine2 = float(product(normal, normal))
    if sine2 < PARALLEL**2:
        return None
    return o + z * float(product(_cross(other_o - o, other_z), normal)) / sine2


def _directions(model: Model, placed: Pose, z: NDArray[np.float64], origin: list[Vector], first: list[int],
                size: float) -> tuple[list[Vector], list[Vector]]:
    """Return x axes of the joint frames and of the body frames, at joint zero, in global axes."""
    n = model.n
    x_frame: list[Vector] = [np.zeros(3)] * n
    x_body: list[Vector] = [np.zeros(3)] * n
    for j, b in enumerate(model.bodies):
        p = b.parent
        if first[j] != j:
            x_frame[j] = x_frame[first[j]]
        elif p == GROUND:
            x_frame[j] = _across(z[j], model.gravity, np.eye(3), 1e-9)
        else:
            normal = _normal(z[p], z[j])
            if norm(normal) > PARALLEL:
                x_frame[j] = _towards(normal, x_body[p]) / norm(normal)
            else:
                x_frame[j] = _across(z[j], x_body[p], np.eye(3), 1e-9)
        if b.prismatic:
            x_body[j] = x_frame[j]
            continue
        child = _primary(model, j, first)
        if child is None:
            R, o = placed.frame(j)
            towards = product(R, b.com) + o - origin[j]
        elif norm(_cross(z[j], z[child])) > PARALLEL:
            towards = _towards(_normal(z[j], z[child]), x_frame[j])
        else:
            towards = origin[child] - origin[j]
        x_body[j] = _across(z[j], towards, x_frame[j][None, :], TINY * size)
    return x_frame, x_body


def _cross(a: Vector, b: Vector) -> Vector:
    """Return the cross product of two numeric vectors, many times faster than numpy.cross."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _normal(a: Vector, b: Vector) -> Vector:
    """Return a x b of unit vectors.

    The result is perpendicular to both vectors up to rounding, even if they are nearly parallel."""
    return _cross(a - b if product(a, b) > 0.0 else a + b, b)


def _towards(v: Vector, other: Vector) -> Vector:
    """Return v or -v: the vector that has the smaller angle to `other`."""
    return v if product(v, other) >= 0.0 else -v


def _across(z: Vector, towards: Vector, others: Matrix, tiny: float) -> Vector:
    """Return the unit vector perpendicular to z that is nearest to `towards`, or any if `towards` is along z."""
    for candidate in (towards, *others):
        across = candidate - z * product(z, candidate)
        length = float(norm(across))
        if length > max(tiny, 1e-9 * float(norm(candidate))):
            across = across / length
            across = across - z * product(z, across)  # a second time, against rounding errors
            return across / norm(across)
    raise AssertionError("three axes cannot all lie along z")


def _angle(a: Vector, b: Vector, z: Vector) -> float:
    """Return the angle from a to b about z, rad. Angles within rounding of quarter turns become exact."""
    angle = float(arctan2(product(_cross(a, b), z), product(a, b)))
    quarters = round(angle / (0.5 * np.pi))
    return 0.5 * np.pi * quarters if abs(angle - 0.5 * np.pi * quarters) < SAME_ANGLE else angle


def _tidy(v: Vector, size: float) -> Vector:
    return np.where(np.abs(v) < TINY * size, 0.0, v)


def _direction(v: Vector) -> Vector:
    """Return the unit vector; for a zero vector return zero."""
    length = float(norm(v))
    v = _tidy(v / length, 1.0) if length else v
    return np.where(np.abs(np.abs(v) - 1.0) < TINY, np.sign(v), v)


def _tidy_turn(pair: tuple[float, float]) -> tuple[float, float]:
    """Return cosine and sine. Values that differ from 0 or 1 only by rounding become exact."""
    c, s = (0.0 if abs(x) < PARALLEL else float(np.sign(x)) if abs(abs(x) - 1.0) < TINY else float(x) for x in pair)
    return c, s


def _regroup(bodies: list[ReducedBody], choices: tuple[Choice, ...], size: float) -> tuple[ReducedBody, ...]:
    """Regroup the bodies by shifting needles from the tips to the ground."""
    mass = np.array([b.mass for b in bodies])
    moment = np.array([b.moment for b in bodies])
    inertia = np.array([b.inertia for b in bodies])
    scale = np.array([max(1e-12, b.mass) for b in bodies])
    heaviest = HEAVIEST * float(np.sum(scale))
    mass_of, moment_of, inertia_of = ([{b.joint} for b in bodies] for _ in range(3))  # bodies in each parameter
    for b in reversed(bodies):
        j, p = b.joint, b.parent
        (cg, sg), (ca, sa) = b.gamma, b.alpha
        E = np.array([[cg, -sg * ca, sg * sa], [sg, cg * ca, -cg * sa], [0.0, sa, ca]])
        d = b.offset
        if b.prismatic:
            if p != GROUND:
                inertia[p] += product(E, inertia[j], E.T)
                inertia_of[p] |= inertia_of[j]
            inertia[j] = 0.0
            continue
        mu, nu, mu_of = mass[j], moment[j, 2], set(mass_of[j])
        if choices[j].mass == "parent" and p != GROUND and not bodies[p].prismatic and abs(d[0]) > TINY * size:
            shifted = -(moment[p, 0] + nu * E[0, 2]) / d[0]
            if abs(shifted) <= heaviest:
                mu, mu_of = shifted, moment_of[p] | moment_of[j]
        x, y, z = np.diag(inertia[j])
        kappa = {"xx": x, "yy": y, "zz": 0.5 * (x + y - z)}[choices[j].kappa]
        mass[j] -= mu
        moment[j, 2] -= nu
        inertia[j] -= kappa * np.diag([1.0, 1.0, 0.0])
        mass_of[j] |= mu_of
        if p != GROUND:
            shifted_of = (mu_of if mu else set()) | (moment_of[j] if nu else set())
            mass_of[p] |= mu_of if mu else set()
            moment_of[p] |= shifted_of
            inertia_of[p] |= shifted_of | (inertia_of[j] if kappa else set())
            axis = E[:, 2]
            mass[p] += mu
            scale[p] += abs(mu) * 1e-3
            moment[p] += mu * d + nu * axis
            inertia[p] += kappa * (np.eye(3) - np.outer(axis, axis)) - product(mu * skew(d), skew(d))
            inertia[p] += nu * (2.0 * product(d, axis) * np.eye(3) - np.outer(d, axis) - np.outer(axis, d))
    result = []
    for b in bodies:
        j = b.joint
        result.append(
            replace(
                b,
                mass=float(mass[j]) if abs(mass[j]) > TINY * scale[j] else 0.0,
                moment=_tidy(moment[j], max(size * scale[j], float(np.abs(moment[j]).max()))),
                inertia=_tidy(inertia[j], float(np.abs(inertia[j]).max()) + TINY * size**2 * scale[j]),
                mass_of=frozenset(mass_of[j]), moment_of=frozenset(moment_of[j]), inertia_of=frozenset(inertia_of[j]),
            )
        )
    return tuple(result)
