"""Joint torques as a matrix times the unknown numbers of a mechanism: the regressor.

The numbers of a body about a point of the body are phi = [m, h_x, h_y, h_z, I_xx, I_yy, I_zz, I_xy, I_xz, I_yz]: its
mass, first moments h = m c, and inertia about the point. The body's forces are linear in phi (Atkeson, An and
Hollerbach, Int. J. Robotics Research 5(3), 1986). a is the acceleration of the body's frame minus gravity. w and alpha
are the frame's angular velocity and acceleration.

    F = m a + alpha x h + w x (w x h),    Phi = h x a + I alpha + w x I w          (about the frame's origin)

A joint has three more columns (THEORY.md, Eq. 19): rotor inertia, viscous and Coulomb friction. Friction that falls
with velocity and friction that rises with load have one column each (`FrictionTerm`). In a closed mechanism,
`Assembly.allocate` maps the columns of the open tree as it maps torques.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from femtorque.codegen.common import Array, BadInput
from femtorque.codegen.mechanism import Link, Mechanism, Payload
from femtorque.codegen.model import GROUND, levers, placed_links, pose, skew
from femtorque.codegen.reference import accelerations
from femtorque.host.plan import Space, effort

PARTS = ("mass", "hx", "hy", "hz", "ixx", "iyy", "izz", "ixy", "ixz", "iyz")
OF_JOINT = ("rotor", "viscous", "coulomb")
PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # indices in the inertia matrix of its six numbers
_UNIT = np.zeros((6, 3, 3))  # inertia matrices in which one of the six numbers is 1 and all others are 0
for _k, (_a, _b) in enumerate(PLACES):
    _UNIT[_k, _a, _b] = _UNIT[_k, _b, _a] = 1.0
# multiplied by a vector, gives the cross-product matrix of the vector
_CROSS = np.stack([skew(unit) for unit in np.eye(3)])

Solids = TypeVar("Solids", Link, Payload)
Moves = tuple[Array, Array, Array]  # positions, velocities, accelerations (N, n) of all joints


def phi_of(solid: Link | Payload) -> Array:
    """Return phi (10,) of a link or payload about its link's frame."""
    d = skew(np.asarray(solid.com, float))
    inertia = solid.inertia - solid.mass * d @ d
    return np.array([solid.mass, *(solid.mass * solid.com), *(inertia[a, b] for a, b in PLACES)])


def solid_of(phi: Array) -> tuple[float, Array, Array]:
    """Return mass, centre of gravity (3,) and inertia about it (3, 3) from phi (10,)."""
    mass, com = float(phi[0]), phi[1:4] / phi[0]
    d = skew(com)
    return mass, com, np.tensordot(phi[4:], _UNIT, 1) + mass * d @ d


def moved(R: Array, p: Array) -> Array:
    """Return the matrix (10, 10) that takes phi from a frame to its parent frame. R (3, 3), p (3,): the frame in its
    parent."""
    result = np.zeros((10, 10))
    for k, unit in enumerate(np.eye(10)):
        m, h, inertia = unit[0], R @ unit[1:4], R @ np.tensordot(unit[4:], _UNIT, 1) @ R.T
        d, s = skew(p), skew(h)
        inertia = inertia - m * d @ d - s @ d - d @ s
        result[:, k] = [m, *(m * p + h), *(inertia[a, b] for a, b in PLACES)]
    return result


@dataclass(frozen=True)
class Solid:
    """A link or payload with unknown numbers: its body, and its frame R, p in the body's frame."""

    source: Link | Payload
    body: int
    R: Array
    p: Array

    @property
    def name(self) -> str:
        return self.source.name


@dataclass(frozen=True)
class FrictionTerm:
    """Friction of a joint other than viscous and Coulomb friction. slow: velocity at which friction that falls with
    velocity has halved, rad/s or m/s. 0: friction that rises with load."""

    joint: int  # number of the streamed joint
    slow: float = 0.0

    @property
    def part(self) -> str:
        """Key in a file's `friction`."""
        return "stribeck" if self.slow else "load"

    def shape(self, v: Array, load: Array) -> Array:
        """Return the torque (N,) per unit of this term's number at velocities v (N,). load (N,): torque of the links, N
        m or N."""
        return np.sign(v) * (1.0 / (1.0 + (v / self.slow) ** 2) if self.slow else np.abs(load))


@dataclass(frozen=True)
class Unknowns:
    """Layout of a mechanism's unknown numbers: ten per solid, then `OF_JOINT` for each joint in `joints`, then one per
    term. carried (10 S,): numbers of the solids from which the joints' loads are computed; None: the file's numbers."""

    space: Space
    solids: tuple[Solid, ...]
    joints: tuple[int, ...]
    terms: tuple[FrictionTerm, ...] = ()
    carried: Array | None = None

    @staticmethod
    def of(mechanism: Mechanism) -> Unknowns:
        """Return the unknowns of all bodies and all driven joints. A body has the name of its heaviest link. Raises
        BadInput for mechanisms with flexible links or several modes."""
        space = _space(mechanism)
        solids, places = [], placed_links(space.assembly.model.mechanism)
        for body in range(space.assembly.model.n):
            links = [link for link in mechanism.links if places[link.name][0] == body and link.mass > 0.0]
            if links:
                heaviest = max(links, key=lambda link: link.mass)
                solids.append(Solid(heaviest, *places[heaviest.name]))
        return Unknowns(space, tuple(solids), tuple(int(j) for j in np.flatnonzero(space.driven)))

    @staticmethod
    def of_payload(mechanism: Mechanism, payload: Payload) -> Unknowns:
        """Return one payload. Raises the same BadInput as `of`, and if the payload's link does not move."""
        space = _space(mechanism)
        body, R, p = placed_links(space.assembly.model.mechanism)[payload.link]
        if body == GROUND:
            raise BadInput("payload", "link", payload.link, "does not move", "name a link that carries something")
        return Unknowns(space, (Solid(payload, body, R, p),), ())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        streamed = self.space.whole.streamed
        return (*(f"{solid.name}.{part}" for solid in self.solids for part in PARTS),
                *(f"{streamed[j].name}.{part}" for j in self.joints for part in OF_JOINT),
                *(f"{streamed[term.joint].name}.{term.part}" for term in self.terms))

    @property
    def plain(self) -> int:
        """Number of unknowns except `terms`."""
        return 10 * len(self.solids) + len(OF_JOINT) * len(self.joints)

    @cached_property
    def prior(self) -> Array:
        """Values (P,) in the file."""
        streamed = self.space.whole.streamed
        ends = [(streamed[j].rotor, streamed[j].friction.viscous, streamed[j].friction.coulomb) for j in self.joints]
        more = [getattr(streamed[term.joint].friction, term.part) for term in self.terms]
        return np.concatenate([*(phi_of(s.source) for s in self.solids), np.ravel(ends), more])

    def matrix(self, moves: Moves) -> Array:
        """Return Y (N, J, P) of the streamed joints, N m or N per unit of each unknown. moves: (N, n) of all joints."""
        q, qd, qdd = moves
        tree = self._tree(*moves)
        if self.space.mechanism.constrained:
            allocate = self.space.assembly.allocate
            closed = np.stack([allocate(q, np.broadcast_to(unit, q.shape)) for unit in np.eye(q.shape[1])], axis=2)
            tree = closed @ tree
        columns = np.moveaxis(self.space.streamed(np.moveaxis(tree, 1, 2)), 1, 2) * self.space.driven[:, None]
        own = np.zeros((len(q), len(self.space.whole.streamed), len(OF_JOINT) * len(self.joints)))
        v, a = self.space.streamed(qd), self.space.streamed(qdd)
        for k, j in enumerate(self.joints):
            own[:, j, len(OF_JOINT) * k:len(OF_JOINT) * (k + 1)] = np.stack([a[:, j], v[:, j], np.sign(v[:, j])], -1)
        more = np.zeros((*v.shape, len(self.terms)))
        if self.terms:
            loads = self.loads(moves, columns)
            for k, term in enumerate(self.terms):
                more[:, term.joint, k] = term.shape(v[:, term.joint], loads[:, term.joint])
        return np.concatenate([columns, own, more], axis=2)

    def loads(self, moves: Moves, columns: Array) -> Array:
        """Return torques (N, J) of the links, springs included. columns (N, J, 10 S): the solids' columns."""
        size = 10 * len(self.solids)
        changed = np.zeros(size) if self.carried is None else self.carried - self.prior[:size]
        return self.space.torque(*moves) + columns @ changed

    def _tree(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return torques (N, n, 10 S) of the open tree, per unit of every number of every solid."""
        model = self.space.assembly.model
        bare = replace(model, bodies=tuple(replace(b, mass=0.0, com=np.zeros(3), inertia=np.zeros((3, 3)))
                                           for b in model.bodies))
        state, at = accelerations(bare, q, qd, qdd), pose(bare, q)
        arms = levers(bare, at)
        axes = np.stack([at.R[:, i] @ b.axis for i, b in enumerate(bare.bodies)], axis=1)
        result = np.zeros((len(q), bare.n, 10 * len(self.solids)))
        for s, solid in enumerate(self.solids):
            F, Phi = _unit_loads(at.R[:, solid.body], state.a[:, solid.body] - model.gravity, state.w[:, solid.body],
                                 state.alpha[:, solid.body])
            inside = moved(solid.R, solid.p)
            joint, away = solid.body, np.zeros((len(q), 3))  # vector from this joint to the origin of the body's frame
            while joint != GROUND:
                body = bare.bodies[joint]
                load = F if body.prismatic else Phi + np.cross(away[:, :, None], F, axis=1)
                result[:, joint, 10 * s:10 * s + 10] = np.einsum("ni,nik->nk", axes[:, joint], load) @ inside
                away = away + arms.joint[:, joint]
                joint = body.parent
        return result

    def known(self, moves: Moves) -> Array:
        """Return the torques (N, J) of everything that is known: springs, friction of passive joints, and solids and
        joints whose numbers are not fitted. The result includes the file's friction beyond viscous and Coulomb
        friction, unless `terms` has the friction as an unknown."""
        least = replace(self, terms=(), space=replace(self.space, whole=self._without_terms()))
        return effort.of_space(least.space, *moves) - least.matrix(moves) @ least.prior

    def _without_terms(self) -> Mechanism:
        streamed, gone = self.space.whole.streamed, dict[str, dict[str, float]]()
        for term in self.terms:
            gone.setdefault(streamed[term.joint].name, {})[term.part] = 0.0
        return replace(self.space.whole, joints=tuple(
            replace(joint, friction=replace(joint.friction, **gone.get(joint.name, {})))
            for joint in self.space.whole.joints))

    def mechanism(self, found: Array) -> Mechanism:
        """Return the mechanism with the identified numbers `found` (P,)."""
        whole, ends = self.space.whole, found[10 * len(self.solids):self.plain].reshape(-1, len(OF_JOINT))
        more = dict[str, dict[str, float]]()
        for term, value in zip(self.terms, found[self.plain:].tolist(), strict=True):
            of = more.setdefault(whole.streamed[term.joint].name, {})
            of |= {term.part: value} | ({"stribeck_velocity": term.slow} if term.slow else {})
        solids = {(type(s.source), s.name): solid_of(found[10 * k:10 * k + 10]) for k, s in enumerate(self.solids)}
        joints = {whole.streamed[j].name: row for j, row in zip(self.joints, ends, strict=True)}

        def changed(x: Solids) -> Solids:
            mass, com, inertia = solids.get((type(x), x.name), (x.mass, x.com, x.inertia))
            return replace(x, mass=mass, com=com, inertia=inertia)

        new = []
        for joint in whole.joints:
            if joint.name in joints:
                rotor, viscous, coulomb = map(float, joints[joint.name])
                joint = replace(joint, friction=replace(joint.friction, viscous=viscous, coulomb=coulomb,
                                                        **more.get(joint.name, {})))
                if joint.drive is not None and joint.drive.servo is None:
                    joint = replace(joint, drive=replace(joint.drive, inertia=rotor / joint.drive.gear**2))
                elif joint.motor is not None:
                    joint = replace(joint, motor=replace(joint.motor, inertia=rotor / joint.motor.gear**2))
            new.append(joint)
        return replace(whole, joints=tuple(new), links=tuple(map(changed, whole.links)),
                       payloads=tuple(map(changed, whole.payloads)))


def _unit_loads(R: Array, a: Array, w: Array, alpha: Array) -> tuple[Array, Array]:
    """Return force and moment about the frame's origin, each (N, 3, 10), in global axes, per unit of each number of
    phi. R (N, 3, 3) and a (N, 3) are in global axes. w and alpha (N, 3) are in the body's axes."""
    F, Phi = np.zeros((len(R), 3, 10)), np.zeros((len(R), 3, 10))
    W, A = np.tensordot(w, _CROSS, 1), np.tensordot(alpha, _CROSS, 1)
    F[:, :, 0] = a
    F[:, :, 1:4] = R @ (A + W @ W)
    Phi[:, :, 1:4] = -np.tensordot(a, _CROSS, 1) @ R
    about = np.tensordot(alpha, _UNIT, (1, 1)) + np.einsum("nij,nkj->nki", W, np.tensordot(w, _UNIT, (1, 1)))
    Phi[:, :, 4:] = R @ about.transpose(0, 2, 1)
    return F, Phi


def _space(mechanism: Mechanism) -> Space:
    for wrong, what in ((mechanism.flexible, "has links that bend, or passive springs"),
                        (bool(mechanism.modes), "has modes")):
        if wrong:
            raise BadInput(mechanism.source or mechanism.name, "mechanism", None,
                           f"{what}: a whole arm is identified with rigid links, in one mode", "take them apart")
    return Space.of(mechanism)


