"""The step of trees with flexible links, as a graph: the recursions of reference/discrete_flexible.py in body frames.

Every piece of the tree has a frame that rotates with its joint. The frame's z is the axis of the joint. The root of a
flexible link has the link's axes. The tip has these axes, rotated by the slopes. Units are those of nodal.py: the unit
of time is half a tick, so velocities are u - du and accelerations du. Inertias are multiplied by 4 / dt^2, and forces
are in N m (N). Modal coordinates are multiplied by 2 / dt, which makes their inertia 1.

The C of ft_flexible.c (emit/flexible.py) computes the modes of a flexible link. In each tick, the step calls this C
five times: for the tip's motion, the link's shortening, the tip's motion without a load, the correction of this motion,
and the load on the hub."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from femtorque.codegen.common import product, solve, square
from femtorque.codegen.mechanism import Joint
from femtorque.codegen.model import (
    GROUND, FlexibleTree, Model, flexible_tree, frame_to_axis, joint_stiffness, rotation_axis, skew)
from femtorque.codegen.step.graph import Call, Expr, Function, Graph, Place, Result
from femtorque.codegen.step.spatial_algebra import (
    ArticulatedInertia, FrameMotion, Mat3, Pair, SpatialForce, Vec3, times)

FLEXIBLE = Place("flexible")  # the state of all flexible links and springs

TURN = Function("ft_turn_on", "ft_pair", ("c", "s"))
TURN_BY = Function("ft_cos_sin_slope", "ft_pair", ("c", "s"))
PREDICT_SPRING = Function("ft_spring_predict", "ft_spring_state", ("at", "velocity", "d", "force"), acts=True)
DEFLECT = Function("ft_spring_deflect", "ft_deflection", ("d", "compliance"), acts=True)
ADVANCE_SPRING = Function("ft_spring_advance", "ft_real", acts=True)
PREDICT = Function("ft_modal_predict", "ft_bend", ("at", "slope", "velocity", "slope_velocity", "d", "slope_d"),
                   acts=True)
SHORTEN = Function("ft_modal_shorten", "ft_shortening",
                   ("tip", "tip_velocity", "tip_d", "first", "first_velocity", "first_d", "second", "second_velocity"),
                   acts=True)
FREE = Function("ft_modal_free", "ft_tip", ("at", "slope"), acts=True)
RESPONSE = {2: Function("ft_modal_response2", "ft_tip", ("at", "slope")),
            4: Function("ft_modal_response4", "ft_tips", ("y.at", "y.slope", "z.at", "z.slope"))}
ADVANCE = Function("ft_modal_advance", "ft_moments",
                   ("first", "second", "velocity", "d", "d_x", "square", "swing", "velocity_x"), acts=True)
COUPLING = Function("ft_modal_coupling", "ft_coupling", ("spin", "product", "zdy", "ydz"))
ROLL = Function("ft_modal_roll", "ft_roll", ("shape", "x_shape", "square", "at", "slope"))
CORRECT = Function("ft_modal_correct", "void", acts=True)

TINY = 1e-12  # smaller entries of rotations are rounding errors

INTRO = """
Newton-Euler at the sample s_k. The half increments u on both sides give
velocity and acceleration of every driven joint, du = (u_k - u_k-1) / 2:

    qd = 2 (u_k - du) / tick,   qdd = 4 du / tick^2.

The modes of flexible links and the joints that springs hold have the same
equations without a torque. The solution is their own du, d (ft_flexible.c),
which is first predicted and then corrected. H is the inertia of the load of
a link's tip, F the force on the tip's own coordinates.

Outwards: angular velocity w and acceleration e, acceleration a of each
origin. Gravity is an acceleration of the ground. Inwards, of the load: force
f, moment n, first moment C, beyond flexible links also the inertia I, and L
and N of parts that deflect. cf and cn are the parts of f and n by which
springs deflect. Vectors are in the frame of their body, with z along the
joint's axis. _b1 is the root of flexible link 1, _tip1 its tip. y and z are
its planes of bending, ys and zs the slopes at the tip, x is the twist about
the link. Values in other frames have an ending:

    _j    before the joint turns it
    _r    in axes of a flexible link's root
    _o    about the old origin
    _t    a sum on its way to the parent
    _d    corrected by bending parts
    _at   of the tip's deflection
    _neg  with the opposite sign

Bent links keep their length. _s is a value for straight links and constant
velocities of springs, p a force f of this kind. Along a link p is the
tension, which stiffens or softens the link. tip, first and second are the
displacements of a link's tip, its mass and x times its mass towards its
root, with their _velocity and acceleration. lf and ln are the loads of
driven joints due to these displacements. by is a tip's displacement towards
the root per deflection. inward, drawn and fling are accelerations along a
tip, of its load beside its axis and of the tip itself. around and bent are y
z' - z y' + w_x (y^2 + z^2) and y^2 + z^2 of a tip. spin, change, led, pulled
and back depend on both. roll is the twist of a tip per coordinate. k is a
value that is used twice.

Units: time is in half ticks. Inertias are multiplied by 4 / tick^2, so that
f and n are in N m (N).
""".strip()


@dataclass(frozen=True)
class Load:
    """Load that a piece and all pieces on it exert, about its origin, in its body frame."""

    force: SpatialForce  # force of the predicted motion
    inertia: ArticulatedInertia
    given: SpatialForce  # force that is added because springs farther out deflect under `force`
    straight: Vec3  # force with straight links
    led: SpatialForce  # force that results from the constant length of links

    @staticmethod
    def of(force: SpatialForce, inertia: ArticulatedInertia) -> Load:
        """Return the load as it would be with straight links and without springs."""
        none = SpatialForce.zero(force.f.x.graph)
        return Load(force, inertia, none, force.f, none)

    @property
    def final(self) -> SpatialForce:
        """Return the force after the deflection of springs."""
        return self.force + self.given

    def __add__(self, other: Load) -> Load:
        return Load(self.force + other.force, self.inertia + other.inertia, self.given + other.given,
                    self.straight + other.straight, self.led + other.led)

    def map(self, rotation: Callable[[Vec3], Vec3], symmetric: Callable[[Mat3], Mat3]) -> Load:
        return Load(self.force.map(rotation), self.inertia.map(rotation, symmetric), self.given.map(rotation),
                    rotation(self.straight), self.led.map(rotation))

    def turned(self, E: np.ndarray) -> Load:
        """Return the load in the axes whose components are E."""
        return self.map(lambda v: times(E, v), lambda A: A.map(lambda v: times(E, v)).symmetric())

    def shift(self, d: Vec3) -> Load:
        """Return the load about a different point. d: vector from this point to the old origin."""
        return Load(self.force.shift(d), self.inertia.shift(d), self.given.shift(d), self.straight, self.led.shift(d))

    def bind(self, name: str) -> Load:
        inertia = self.inertia.bind(name)
        force = self.force.bind(f"f{name}", f"n{name}")
        return Load(force, replace(inertia, C=inertia.C.bind(f"C{name}")), self.given.bind(f"cf{name}", f"cn{name}"),
                    self.straight.bind(f"p{name}"), self.led.bind(f"lf{name}", f"ln{name}"))

    def about_parent(self, d: Vec3, name: str) -> Load:
        """Return this load about the parent's origin. d: vector from that origin to the old origin."""
        force, C = self.force.bind(f"f{name}_t", f"n{name}_o"), self.inertia.C.bind(f"C{name}_o")
        moved = replace(self, force=force, inertia=replace(self.inertia, C=C)).shift(d)
        force = SpatialForce(moved.force.f, moved.force.n.bind(f"n{name}_t"))
        return replace(moved, force=force, inertia=replace(moved.inertia, C=moved.inertia.C.bind(f"C{name}_t")))


class FlexibleStep:
    """The graph of one step of a tree with flexible links."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tree: FlexibleTree = flexible_tree(model.mechanism)
        self.graph = Graph()
        self.unit = 4.0 / square(model.dt)
        self.number = {j: k for k, j in enumerate(self.tree.driven)}  # number of joints in q, u and tau
        pieces = self.tree.pieces
        self.axes = [np.eye(3) if piece.link else frame_to_axis(piece.axis) for piece in pieces]
        self.springs = [i for i, piece in enumerate(pieces) if piece.joint in self.tree.springs]
        counts = [pieces[i].tip.modes * len(pieces[i].tip.planes) for i in self.tree.beams]
        self.first_modes: list[int] = np.cumsum([0, *counts]).tolist()
        self.two_planes = any(len(pieces[i].tip.planes) == 2 for i in self.tree.beams)
        self.nodes = [self._node(i) for i in range(len(pieces))]
        for node in self.nodes:
            if node.piece.parent == GROUND:
                node.branch(beyond=False)

    def _node(self, i: int) -> Node:
        if self.tree.pieces[i].link is not None:
            return FlexibleLink(self, i)
        return SpringJoint(self, i) if i in self.springs else RigidBody(self, i)

    def vec(self, v: np.ndarray, unit: float = 1.0) -> Vec3:
        return Vec3.of(self.graph, v, unit)

    def zero(self) -> Vec3:
        return Vec3.zero(self.graph)

    def solved(self, name: str, S: Sequence[Expr], b: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return x of S x = b. S: lower triangle of a symmetric matrix, row by row."""
        return self.graph.call(RESPONSE[len(b)], name, FLEXIBLE, *S, *b)

    def settle(self, i: int) -> None:
        """Store the torques of the driven joints that piece i carries."""
        for k in self.tree.beyond(i):
            if k != i and self.tree.pieces[k].joint in self.number:
                self.joint(k).settle()

    def joint(self, i: int) -> RigidBody:
        node = self.nodes[i]
        assert isinstance(node, RigidBody)
        return node

    # ---- what is to be emitted
    @property
    def rolls(self) -> bool:
        """Return True if a flexible link rotates about its axis."""
        return any(isinstance(node, FlexibleLink) and node.rolls for node in self.nodes)

    @property
    def nested(self) -> bool:
        """Return True if a flexible link is on a component that bends."""
        return any(isinstance(s, Call) and s.function is CORRECT for s in self.graph.statements)

    @property
    def intro(self) -> list[str]:
        return INTRO.splitlines()

    @property
    def turning(self) -> list[int]:
        """Return the pieces of driven joints whose rotating frames the step needs."""
        _, live = self.graph.live()
        pairs = {node.i: node.pair[0] for node in self.nodes
                 if isinstance(node, RigidBody) and node.i not in self.springs and not node.piece.prismatic}
        return [i for i, c in pairs.items() if isinstance(c, Result) and c.call in live]


class Node(ABC):
    """A piece of the tree. The outward pass of a piece begins from its parent, and the inward pass from its load."""

    motion: FrameMotion  # as predicted
    calm: FrameMotion  # motion with straight links and constant spring velocities
    sent: Load  # load of this piece and of all pieces that it carries, acting on the parent

    def __init__(self, step: FlexibleStep, i: int, name: str) -> None:
        self.step, self.graph, self.i, self.piece, self.name = step, step.graph, i, step.tree.pieces[i], name
        self.E, self.d = self._frame()

    def _frame(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rotation and origin of the piece's frame in its parent's body frame, with the joint at zero."""
        axes = self.step.axes
        parent = np.eye(3) if self.piece.parent == GROUND else axes[self.piece.parent]
        return _tidy(product(parent.T, self.piece.R0, axes[self.i])), product(parent.T, self.piece.p0)

    @property
    def children(self) -> list[Node]:
        return [node for node in self.step.nodes if node.piece.parent == self.i]

    @abstractmethod
    def branch(self, beyond: bool) -> None:
        """Process the branch to the tips and back. beyond: the piece is on a component that bends or deflects."""

    @abstractmethod
    def correct(self, de: Vec3, da: Vec3) -> None:
        """Correct this piece and all pieces that it carries for a change de, da of the parent's accelerations."""

    @abstractmethod
    def lead(self, da: Vec3, by: str) -> None:
        """Add the effect of da, the parent's acceleration by link `by`, to the forces of all driven joints."""

    def carried(self, calm: bool = False) -> FrameMotion:
        """Return the motion at the origin of the piece, in its frame at position zero."""
        if self.piece.parent == GROUND:
            gravity = _tidy(product(self.E.T, self.step.tree.gravity))
            falling = self.step.vec(gravity, -square(self.step.tree.dt) / 4.0)
            return FrameMotion(self.step.zero(), self.step.zero(), falling)
        parent = self.step.nodes[self.piece.parent]
        motion = parent.calm if calm else parent.motion
        return FrameMotion(*(times(self.E.T, v) for v in (motion.w, motion.e, motion.at(self.step.vec(self.d)))))

    def gathered(self, beyond: bool) -> Load:
        """Return the load of the piece and of its children."""
        total = self._own(beyond)
        for child in self.children:
            total = total + child.sent
        return total.bind(self.name)

    def _own(self, beyond: bool) -> Load:
        """Return the load of this piece alone."""
        piece, Q, unit, motion = self.piece, self.step.axes[self.i], self.step.unit, self.motion
        com = _small(product(Q.T, piece.com))
        J = _small(product(Q.T, piece.inertia, Q) - product(piece.mass * skew(com), skew(com)))
        I, C = Mat3.fixed(self.graph, J, unit), self.step.vec(piece.mass * com, unit)
        inertia = ArticulatedInertia(piece.mass, unit, C, I if beyond else None)
        f = inertia.m * motion.a + motion.swung(C)
        n = C.cross(motion.a) + I @ motion.e + motion.w.cross(I @ motion.w)
        return replace(Load.of(SpatialForce(f, n), inertia), straight=inertia.m * self.calm.a + self.calm.swung(C))


class RigidBody(Node):
    """A body that a driven joint moves."""

    pair: Pair
    force: Expr  # torque of the joint before it is stored
    about: Load  # load of this piece and of all pieces that it carries, about the piece's origin

    def __init__(self, step: FlexibleStep, i: int) -> None:
        super().__init__(step, i, str(step.tree.pieces[i].mover + 1))

    @property
    def joint(self) -> Joint:
        return self.step.model.mechanism.moving[self.piece.mover]

    @property
    def stiffness(self) -> float:
        """Return the stiffness of the spring at the joint, N m/rad or N/m."""
        return joint_stiffness(self.step.model, self.piece.mover)

    @property
    def _j(self) -> int:
        return self.step.number[self.piece.mover]

    def _position(self) -> Expr:
        """Return the position at s_k, rad or m."""
        u = self.graph.input("u", self._j)
        return self.graph.bind(self.graph.input("q", self._j) - (u + u), f"q{self.name}")

    def slide(self) -> Vec3:
        """Return the position of a prismatic joint along z, m."""
        zero = self.graph.const(0.0)
        return Vec3(zero, zero, self._position())

    def turned(self, v: Vec3) -> Vec3:
        return v if self.piece.prismatic else v.turn(self.pair)

    # ---- outwards
    def branch(self, beyond: bool) -> None:
        self.outward()
        for child in self.children:
            child.branch(beyond)
        self.inward(beyond)
        if not beyond:
            self.settle()

    def outward(self) -> None:
        self.graph.block(f'Link {self.name}, "{self.piece.name}": velocities and accelerations')
        velocity, change, quiet = self._velocities()
        if not self.piece.prismatic:
            self.pair = self._turning()
        self.motion = self._moved(self.carried(), velocity, change, self.name)
        self.calm = self._moved(self.carried(calm=True), velocity, quiet, f"{self.name}_s")

    def _velocities(self) -> tuple[Expr, Expr, Expr]:
        """Return velocity and acceleration of the joint, and its acceleration without bending and deflection."""
        change = self.graph.input("du", self._j)
        return self.graph.bind(self.graph.input("u", self._j) - change, f"qd{self.name}"), change, change

    def _turning(self) -> Pair:
        c, s = self.graph.call(TURN, f"r{self.name}", Place("turn", self.i), self.graph.input("u", self._j))
        return c, s

    def _moved(self, at: FrameMotion, velocity: Expr, change: Expr, name: str) -> FrameMotion:
        """Return the motion of the body frame, computed from the motion at position zero."""
        if self.piece.prismatic:
            w, e, a = at.w, at.e, at.at(self.slide())
            coriolis = velocity + velocity
            a = Vec3(a.x + w.y * coriolis, a.y - w.x * coriolis, a.z + change)
        else:
            at = FrameMotion(at.w.bind(f"w{name}_j").turn(self.pair), at.e.bind(f"e{name}_j").turn(self.pair),
                        at.a.bind(f"a{name}_j").turn(self.pair))
            w, e, a = at.w, at.e, at.a
            e = Vec3(e.x + w.y * velocity, e.y - w.x * velocity, e.z + change)
            w = Vec3(w.x, w.y, w.z + velocity)
        return FrameMotion(w, e, a).bind(name)

    # ---- inwards
    def inward(self, beyond: bool) -> None:
        self.graph.block(f'Link {self.name}, "{self.piece.name}": force and moment', of=self.i)
        total = self.about = self._gathered(beyond)
        force = self._along(total.final)
        self.force = self.graph.bind(self._held(force, total), f"F{self.name}")
        total = self._given(total, beyond)
        if self.piece.parent != GROUND:
            self.sent = self._sent(total)

    def _gathered(self, beyond: bool) -> Load:
        return self.gathered(beyond)

    def _along(self, force: SpatialForce) -> Expr:
        """Return the component of a force and moment along the joint axis."""
        return force.f.z if self.piece.prismatic else force.n.z

    def _held(self, force: Expr, total: Load) -> Expr:
        """Return the torque and its components from the links' constant length and from a spring at the drive."""
        force = force + self._along(total.led)
        if not self.stiffness:
            return force
        return force + self.stiffness * self.graph.bind(self._position() - self.joint.rest, f"stretch{self.name}")

    def _given(self, total: Load, beyond: bool) -> Load:
        """Return the load that the joint transmits to its parent."""
        return total

    def _sent(self, total: Load) -> Load:
        """Return the load, expressed in the parent's frame."""
        if self.piece.prismatic:
            total = total.shift(self.slide())
        else:
            total = total.map(lambda v: v.turn_back(self.pair), lambda A: A.turn_back(self.pair))
        return total.turned(self.E).about_parent(self.step.vec(self.d), self.name)

    def settle(self) -> None:
        self.graph.output("tau", self._j, self.force)

    # ---- corrections
    def correct(self, de: Vec3, da: Vec3) -> None:
        da = times(self.E.T, da + de.cross(self.step.vec(self.d)))
        de = times(self.E.T, de)
        if self.piece.prismatic:
            da = da + de.cross(self.slide())
        self._corrected(self.turned(de), self.turned(da))

    def _corrected(self, de: Vec3, da: Vec3) -> None:
        """Return the changes de, da of the body frame's accelerations. The joint's own acceleration stays."""
        de, da = de.bind(f"de{self.name}"), da.bind(f"da{self.name}")
        more = self._along(self.about.inertia.answer(de, da))
        self.force = self.graph.bind(self.force + more, f"F{self.name}_d")
        for child in self.children:
            child.correct(de, da)

    def lead(self, da: Vec3, by: str) -> None:
        da = self.turned(times(self.E.T, da)).bind(f"da{self.name}{by}")
        self._led(da, by)
        for child in self.children:
            child.lead(da, by)

    def _led(self, da: Vec3, by: str) -> None:
        inertia = self.about.inertia
        more = inertia.m * da.z if self.piece.prismatic else inertia.C.cross_z(da)
        self.force = self.graph.bind(self.force + more, f"F{self.name}{by}")


class SpringJoint(RigidBody):
    """A body on a joint with a spring alone, which deflects under its load and its parent's motion."""

    def __init__(self, step: FlexibleStep, i: int) -> None:
        super().__init__(step, i)
        self.k = step.springs.index(i)

    def _frame(self) -> tuple[np.ndarray, np.ndarray]:
        E, d = super()._frame()
        if not self.piece.prismatic:
            E = _tidy(product(E, rotation_axis(np.array([0.0, 0.0, 1.0]), self.joint.rest)))
        return E, d

    def branch(self, beyond: bool) -> None:
        self.outward()
        for child in self.children:
            child.branch(beyond=True)
        self.inward(beyond)
        if not beyond:
            self._corrected(self.step.zero(), self.step.zero())
            self.step.settle(self.i)

    def slide(self) -> Vec3:
        zero = self.graph.const(0.0)
        return Vec3(zero, zero, self.at + self.joint.rest)

    def _velocities(self) -> tuple[Expr, Expr, Expr]:
        self.at, velocity, change, self.pull = self.graph.call(PREDICT_SPRING, f"spring{self.name}", FLEXIBLE, self.k)
        return velocity, change, self.graph.const(0.0)

    def _turning(self) -> Pair:
        c, s = self.graph.call(TURN_BY, f"r{self.name}", self.at)
        return c, s

    def _gathered(self, beyond: bool) -> Load:
        return self.gathered(beyond=True)

    def _held(self, force: Expr, total: Load) -> Expr:
        return force

    def _given(self, total: Load, beyond: bool) -> Load:
        graph, name, one, none = self.graph, self.name, self.graph.const(1.0), self.step.zero()
        axis = Vec3(none.x, none.y, one)
        unit = total.inertia.answer(none, axis) if self.piece.prismatic else total.inertia.answer(axis, none)
        own = self.stiffness + 2.0 * self.joint.friction.viscous / self.step.tree.dt
        S = graph.bind(self._along(unit) + own, f"S{name}")
        b = graph.bind(self.pull - self.force, f"b{name}")
        self.moved, self.compliance = graph.call(DEFLECT, f"deflection{name}", FLEXIBLE, self.k, S, b)
        self.of_one = unit.bind(f"Ff{name}", f"Fn{name}")
        given = total.given + self.of_one.map(lambda v: self.moved * v)
        if not beyond:
            rigid = ArticulatedInertia(total.inertia.kg, total.inertia.unit, total.inertia.C)
            return replace(Load.of(total.force + given, rigid), led=total.led)
        response = self.of_one.map(lambda v: self.compliance * v).bind(f"gf{name}", f"gn{name}")
        return replace(total, given=given, inertia=total.inertia.reduce(response, self.of_one))

    def _corrected(self, de: Vec3, da: Vec3) -> None:
        """Move the spring joint, and correct all pieces that it carries."""
        graph, name = self.graph, self.name
        pushed = graph.bind(self.of_one.f @ da + self.of_one.n @ de, f"push{name}")
        d = graph.bind(self.moved - self.compliance * pushed, f"d{name}")
        graph.call(ADVANCE_SPRING, f"moved{name}", FLEXIBLE, self.k, d)
        if self.piece.prismatic:
            da = Vec3(da.x, da.y, da.z + d)
        else:
            de = Vec3(de.x, de.y, de.z + d)
        de, da = de.bind(f"de{name}"), da.bind(f"da{name}")
        for child in self.children:
            child.correct(de, da)

    def _led(self, da: Vec3, by: str) -> None:
        """Do nothing, because a spring joint has no drive."""


class Bend(NamedTuple):
    """Bending of a tip in one plane: deflection and slope, with their velocities and predicted accelerations."""

    at: Expr
    slope: Expr
    velocity: Expr
    slope_velocity: Expr
    d: Expr
    slope_d: Expr


class Plane(NamedTuple):
    """A bending plane: number of the first mode, and number of modes."""

    first: int
    modes: int


@dataclass(frozen=True)
class Drawn:
    """Shortening of a bent link: displacement u, velocity, acceleration of its tip, first and second moment."""

    tip: tuple[Expr, Expr, Expr]
    first: tuple[Expr, Expr, Expr]
    second: tuple[Expr, Expr]


class Vec4(NamedTuple):
    """Coefficients of a tip's deflection and slope in y, then in z."""

    y: Expr
    ys: Expr
    z: Expr
    zs: Expr

    def of(self, plane: str, kind: str) -> Expr:
        return self["yz".index(plane) * 2 + (kind == "s")]

    def __matmul__(self, other: Vec4) -> Expr:
        return _sum(a * b for a, b in zip(self, other, strict=True))


class Twist(NamedTuple):
    """The rotation of the tip about x: cosine, sine, and derivatives by deflection and slope in y, then in z."""

    pair: Pair
    by: Vec4


@dataclass(frozen=True)
class Roll:
    """The rotation of a tip about its x axis that its coordinates cause, in the root frame."""

    axis: Vec3
    by: list[Expr]
    answer: SpatialForce  # response of the load to an angular acceleration of 1 about x
    moments: list[Expr]  # moments about x of the coordinates without this rotation
    inertia: Expr

    @staticmethod
    def of(axis: Vec3, by: list[Expr], carried: ArticulatedInertia, answers: list[SpatialForce], name: str) -> Roll:
        graph = axis.x.graph
        answer = carried.answer(axis, Vec3.zero(graph)).bind(f"f{name}_x", f"n{name}_x")
        inertia = graph.bind(axis @ answer.n, f"I{name}_x")
        moments = [graph.bind(axis @ a.n + 0.5 * (k * inertia), f"m{name}_{r + 1}")
                   for r, (a, k) in enumerate(zip(answers, by, strict=True))]
        return Roll(axis, by, answer, moments, inertia)

    def between(self, r: int, c: int) -> Expr:
        """Return the entry (r, c) that the load adds to H."""
        return self.by[r] * self.moments[c] + self.by[c] * self.moments[r]

    def with_it(self, answers: list[SpatialForce]) -> list[SpatialForce]:
        """Return the load's responses to the coordinates, including this twist."""
        return [a + self.answer.map(lambda v, k=k: k * v) for a, k in zip(answers, self.by, strict=True)]  # type: ignore[misc]


@dataclass(frozen=True)
class Tip:
    """Effect of a tip's coordinates, alternately deflections and slopes, on the tip's load. d: present corrections of
    their accelerations. S: lower triangle of G^-1 + H. H: inertia of the load."""

    axes: list[Vec3]  # axes of the coordinates
    roll: Roll | None  # twist of the tip that the coordinates cause
    d: tuple[Expr, ...]
    S: list[Expr]
    H: dict[tuple[int, int], Expr]
    forces: list[SpatialForce]  # R, at the root, for an acceleration of 1 of each coordinate

    def answer(self, r: int, d: Sequence[Expr]) -> Expr:
        """Return row r of H d."""
        return _sum(self.H[max(r, c), min(r, c)] * d[c] for c in range(len(d)))

    def change(self, d: Sequence[Expr]) -> tuple[Vec3, Vec3]:
        """Return the tip's angular acceleration and acceleration, in the root frame, from the accelerations of its
        coordinates."""
        de = da = Vec3.zero(d[0].graph)
        for r, axis in enumerate(self.axes):
            de, da = (de + d[r] * axis, da) if r % 2 else (de, da + d[r] * axis)
        if self.roll is not None:
            de = de + _sum(x * by for x, by in zip(d, self.roll.by, strict=True)) * self.roll.axis
        return de, da


class FlexibleLink(Node):
    """The piece at a flexible link's tip. The piece includes the link from its root on the hub to the tip."""

    tip: Tip | None = None  # only if the link is on a component that bends
    turns: tuple[Pair, Pair] | None = None  # rotation of the tip by the slopes
    twist: Twist | None = None
    carried_kg = 0.0  # by the tip
    moment: Vec3  # first moment of the tip's load, in the tip's frame
    straight: Vec3  # force of the tip on its load, computed as if all links were straight
    response: list[list[Expr]]  # response of the tip to its root, phi A^-1 c, for a link on a component that bends

    def __init__(self, step: FlexibleStep, i: int) -> None:
        k = step.tree.beams.index(i)
        super().__init__(step, i, f"_tip{k + 1}")
        self.k, self.n, self.link = k, f"_b{k + 1}", self.piece.tip
        self.planes = {plane: Plane(step.first_modes[k] + self.link.modes * p, self.link.modes)
                       for p, plane in enumerate(self.link.planes)}
        self.coordinates = [(plane, kind) for plane in self.planes for kind in ("", "s")]

    @property
    def rolls(self) -> bool:
        return not self.root.w.x.is_zero

    def _other(self, plane: str) -> int:
        """Return the first mode of the second plane. With one plane, return the first mode of this plane."""
        return self.planes.get("z" if plane == "y" else "y", self.planes[plane]).first

    # ---- outwards
    def branch(self, beyond: bool) -> None:
        graph, n, zero = self.graph, self.n, self.graph.const(0.0)
        graph.block(f'Flexible link "{self.link.name}": root', of=self.i)
        self.root = self.carried().bind(f"{n}_r")
        self.calm_root = self.carried(calm=True).bind(f"{n}_s")
        self.bend = {plane: Bend(*graph.call(PREDICT, f"bend{n}{plane}", FLEXIBLE, *modes))
                     for plane, modes in self.planes.items()}
        none = Bend(*[zero] * 6)
        y, z = self.bend.get("y", none), self.bend.get("z", none)
        self.arm = Vec3(graph.const(self.link.length), y.at, z.at)
        self.straight = self.moment = self.step.zero()
        w = self.calm_root.w
        self.whirl = graph.bind(w.y * w.y + w.z * w.z, f"whirl{n}")
        total = self._beyond(y, z) if self.piece.mass > 0.0 or self.children else None
        drawn = self._drawn()
        graph.block(f'Flexible link "{self.link.name}": march')
        free = {plane: self._free(plane) for plane in self.planes}
        led = self._led(drawn, total)
        F: dict[str, tuple[Expr, ...]]
        if total is None:
            curved = self._curved()
            F = {plane: (curved.of(plane, ""), zero) for plane in self.planes}
        else:
            F, total = self._marched(free, total, beyond)
        load = replace(self._advanced(F, total, beyond), led=led)
        if beyond:
            load = replace(load, inertia=self._reduced(load.inertia))
        self.sent = load.turned(self.E).about_parent(self.step.vec(self.d), n)
        if not beyond:
            self.step.settle(self.i)

    def _beyond(self, y: Bend, z: Bend) -> Load:
        """Return the predicted load of the tip, about the tip, in the root's frame."""
        graph, name, zero = self.graph, self.name, self.graph.const(0.0)
        turn_y, turn_z = self.turns = self._turning("y", y.slope), self._turning("z", z.slope)
        w, e, _ = root = self.root.w, self.root.e, self.root.a
        coriolis = w.cross(Vec3(zero, y.velocity + y.velocity, z.velocity + z.velocity))
        at_tip = FrameMotion(*root).at(self.arm) + coriolis + Vec3(zero, y.d, z.d)
        between = Vec3(w.x, w.y, w.z + y.slope_velocity)
        turned = Vec3(e.x + w.y * y.slope_velocity, e.y - w.x * y.slope_velocity, e.z + y.slope_d)
        axis = self._slope_axis()
        pitch = z.slope_velocity * axis
        swing = between + pitch
        turned = turned + (between.cross(pitch) + z.slope_d * axis)
        w, e, a = (self._sloped(v.bind(f"{letter}{name}_r"))
                   for letter, v in zip("wea", (swing, turned, at_tip), strict=True))
        if self.step.tree.twists(self.i):
            w, e = self._twisted(y, z, w, e)
        self.motion = FrameMotion(*map(self._rolled, (w, e, a))).bind(name)
        lever = Vec3(graph.const(self.link.length), zero, zero)
        calm = self.calm_root
        self.calm = FrameMotion(calm.w, calm.e, calm.at(lever).bind(f"a{name}_s"))
        for child in self.children:
            child.branch(beyond=True)
        graph.block(f'Flexible link "{self.link.name}": what the tip carries')
        s = self.gathered(beyond=True)
        self.straight = s.straight

        self.moment, self.carried_kg = s.inertia.C, s.inertia.kg

        def symmetric(A: Mat3) -> Mat3:
            A = A if self.twist is None else A.roll_back(self.twist.pair)
            A = A if z.slope.is_zero else A.pitch_back(turn_z)
            return A if y.slope.is_zero else A.turn_back(turn_y)

        s = s.map(self._from_tip, symmetric)
        I = s.inertia.I
        inertia = replace(s.inertia, C=s.inertia.C.bind(f"C{name}_r"), I=I and I.bind_symmetric(f"I{name}_r"))
        return replace(s, force=s.force.bind(f"f{name}_r", f"n{name}_r"), inertia=inertia)

    def _turning(self, plane: str, slope: Expr) -> Pair:
        if slope.is_zero:
            return self.graph.const(1.0), self.graph.const(0.0)
        c, s = self.graph.call(TURN_BY, f"r{self.name}{plane}", slope)
        return c, s

    def _twisted(self, y: Bend, z: Bend, w: Vec3, e: Vec3) -> tuple[Vec3, Vec3]:
        """Return w, e of the tip in axes rotated by the slopes, with the rotation about x that avoids torsion."""
        graph, name, by = self.graph, self.name, 1.0 / self.link.length
        rolls = (by * z.slope, -(by * z.at + 0.5 * z.slope), -(by * y.slope), by * y.at - 0.5 * y.slope)
        r = Vec4(*(graph.bind(x, f"roll{name}_{k + 1}") for k, x in enumerate(rolls)))
        angle = graph.bind(y.at * r[0] + y.slope * r[1], f"twist{name}")
        velocity = graph.bind(r @ Vec4(y.velocity, y.slope_velocity, z.velocity, z.slope_velocity), f"qd{name}")
        change = (r @ Vec4(y.d, y.slope_d, z.d, z.slope_d)
                  + (2.0 * by * (y.velocity * z.slope_velocity - z.velocity * y.slope_velocity)
                     - y.slope_velocity * z.slope_velocity))
        cosine, sine = graph.call(TURN_BY, f"r{name}x", angle)
        self.twist = Twist((cosine, sine), r)
        return (Vec3(w.x + velocity, w.y, w.z),
                Vec3(e.x + change, e.y + w.z * velocity, e.z - w.y * velocity).bind(f"e{name}_x"))

    def _axis(self) -> Vec3:
        """Return the tip's x axis in the root frame."""
        assert self.turns is not None
        (cy, sy), (cz, sz) = self.turns
        return Vec3(self.graph.bind(cy * cz, f"x{self.name}_x"), self.graph.bind(sy * cz, f"x{self.name}_y"), sz)

    def _slope_axis(self) -> Vec3:
        """Return the axis of a slope in z, in the root frame: -y of the frame rotated by the slope in y."""
        assert self.turns is not None
        c, s = self.turns[0]
        return Vec3(s, -c, self.graph.const(0.0))

    def _to_tip(self, v: Vec3) -> Vec3:
        return self._rolled(self._sloped(v))

    def _sloped(self, v: Vec3) -> Vec3:
        """Return a vector, expressed in the axes rotated by the slopes."""
        assert self.turns is not None
        v, (c, s) = v.turn(self.turns[0]), self.turns[1]
        return Vec3(c * v.x + s * v.z, v.y, c * v.z - s * v.x)

    def _rolled(self, v: Vec3) -> Vec3:
        """Return a vector of the axes rotated by the slopes, expressed in the tip's axes."""
        if self.twist is None:
            return v
        c, s = self.twist.pair
        return Vec3(v.x, c * v.y + s * v.z, c * v.z - s * v.y)

    def _from_tip(self, v: Vec3) -> Vec3:
        assert self.turns is not None
        if self.twist is not None:
            c, s = self.twist.pair
            v = Vec3(v.x, c * v.y - s * v.z, s * v.y + c * v.z)
        c, s = self.turns[1]
        return Vec3(c * v.x - s * v.z, v.y, s * v.x + c * v.z).turn_back(self.turns[0])

    # ---- the length that a bent link keeps
    def _drawn(self) -> Drawn:
        """Compute the link's shortening. The state keeps the force of the tension on the modes."""
        graph, n = self.graph, self.n
        graph.block(f'Flexible link "{self.link.name}": tension')
        sums = [graph.const(0.0)] * 8
        for plane, modes in self.planes.items():
            found = graph.call(SHORTEN, f"draw{n}{plane}", FLEXIBLE, self.k, modes.first,
                               self.whirl, self.calm_root.a.x, self.straight.x)
            sums = [x + y for x, y in zip(sums, found, strict=True)]
        u = [graph.bind(x, f"{part}{n}") for part, x in zip(SHORTEN.parts, sums, strict=True)]
        return Drawn((u[0], u[1], u[2]), (u[3], u[4], u[5]), (u[6], u[7]))

    def _led(self, drawn: Drawn, tip: Load | None) -> SpatialForce:
        """Compute the force at the link's root that results from the link's constant length, for driven joints.

        Increase the forces of the driven joints that the link carries too."""
        n, zero, calm = self.n, self.graph.const(0.0), self.calm_root
        x = Vec3(self.graph.const(1.0), zero, zero)
        by, velocity = drawn.second
        across, turned = Vec3(zero, calm.w.y, calm.w.z), Vec3(zero, calm.e.y, calm.e.z)
        f = self._led_by(drawn.first)
        moment = -drawn.first[0] * x.cross(calm.a) - (velocity + velocity) * across
        moment = moment - (by + by) * (turned + calm.w.cross(across))
        if tip is not None:
            change = self._led_by(drawn.tip).bind(f"led{n}")
            led = tip.inertia.m * change
            lever = self.link.length * x
            f = f + (tip.led.f + led)
            moment = moment + (tip.led.shift(self.arm).n + (tip.inertia.C.cross(change) + lever.cross(led)))
            moment = moment - drawn.tip[0] * x.cross(self.straight)
            change = self._to_tip(change)
            for child in self.children:
                child.lead(change, n)
        return SpatialForce(f, moment).bind(f"lf{n}_r", f"ln{n}_r")

    def _led_by(self, u: tuple[Expr, Expr, Expr]) -> Vec3:
        """Return the additional acceleration of a point, or of a first moment, that shortening moves by u along x."""
        at, velocity, change = u
        w, e, swing = self.calm_root.w, self.calm_root.e, velocity + velocity
        return Vec3(at * (w.y * w.y + w.z * w.z) - change, -(swing * w.z + at * (e.z + w.x * w.y)),
                    swing * w.y + at * (e.y - w.x * w.z))

    def lead(self, da: Vec3, by: str) -> None:
        da = times(self.E.T, da)
        for child in self.children:
            child.lead(self._to_tip(da), by)

    # ---- the march
    def _free(self, plane: str) -> tuple[Expr, ...]:
        """Return the accelerations of a tip without a load, in one plane."""
        graph, modes, w, e, a = self.graph, self.planes[plane], self.root.w, self.root.e, self.root.a
        if plane == "y":
            pull, pull_x, fling = a.y, e.z + w.x * w.y, w.z * w.z + w.x * w.x
            across, spin = w.y * w.z - e.x, -(w.x + w.x)
        else:
            pull, pull_x, fling = a.z, w.x * w.z - e.y, w.y * w.y + w.x * w.x
            across, spin = w.y * w.z + e.x, w.x + w.x
        needs = {"pull": pull, "pull_x": pull_x, "fling": fling}
        bound = [graph.bind(x, f"{name}{self.n}{plane}") for name, x in needs.items()]
        if not self.step.two_planes:
            return graph.call(FREE, f"free{self.n}{plane}", FLEXIBLE, *modes, *bound)
        other = {"across": across, "spin": spin}
        bound += [graph.bind(x, f"{name}{self.n}{plane}") if len(self.planes) == 2 else graph.const(0.0)
                  for name, x in other.items()]
        return graph.call(FREE, f"free{self.n}{plane}", FLEXIBLE, self._other(plane), *modes, *bound)

    def _marched(self, free: dict[str, tuple[Expr, ...]], s: Load,
                 beyond: bool) -> tuple[dict[str, tuple[Expr, ...]], Load]:
        """Solve for the coupled motion of the tip and the carried links. Return the forces on the tip's coordinates,
        and the load including the effect of this motion. beyond: true if the link is on a component that bends. The
        function then also corrects the pieces that the tip carries."""
        graph, n, name, none, one = self.graph, self.n, self.name, self.step.zero(), self.graph.const(1.0)
        zero, places = graph.const(0.0), range(len(self.coordinates))
        y, z = Vec3(zero, one, zero), Vec3(zero, zero, one)
        axis_of = {"y": y, "z": z, "ys": z, "zs": self._slope_axis()}
        axes = [axis_of[plane + kind] for plane, kind in self.coordinates]
        curved, by, beside = self._curved(), self._drawn_by("at"), self._beside()
        F0, answers = [], []
        for at, axis in zip(self.coordinates, axes, strict=True):
            force = axis @ (s.final.n if at[1] else s.final.f)
            if self.twist is not None:
                force = force + self.twist.by.of(*at) * graph.bind(self._axis() @ s.final.n, f"F{name}x")
            F0.append(graph.bind(force + curved.of(*at), f"F{name}{''.join(at)}"))
            answers.append(s.inertia.answer(axis, none) if at[1] else s.inertia.answer(none, axis))
        roll = None if self.twist is None else Roll.of(self._axis(), [self.twist.by.of(*at) for at in self.coordinates],
                                                       s.inertia, answers, name)
        H = {}
        for r, row in enumerate(self.coordinates):
            for c, column in enumerate(self.coordinates[:r + 1]):
                both = axes[r] @ (answers[c].n if row[1] else answers[c].f)
                both = both - (by.of(*row) * beside.of(*column) + by.of(*column) * beside.of(*row))
                both = both + self.link.farther(self.moment.x) * (by.of(*row) * by.of(*column))
                H[r, c] = graph.bind(both if roll is None else both + roll.between(r, c), f"H{n}_{r + 1}{c + 1}")
        if roll is not None:
            answers = roll.with_it(answers)
        G_inverse = self._stiffness()
        change = [graph.bind(free[plane][k] - self.bend[plane][4 + k], f"change{n}{plane}{kind}")
                  for plane, kind in self.coordinates for k in (1 if kind else 0,)]
        right = []
        for r in places:
            total = -F0[r]
            for c in places:
                if G_inverse[r, c]:
                    total = total + float(G_inverse[r, c]) * change[c]
            right.append(graph.bind(total, f"b{n}_{r + 1}"))
        S = [graph.bind(H[r, c] + float(G_inverse[r, c]), f"S{n}_{r + 1}{c + 1}") for r in places for c in range(r + 1)]
        d = self.step.solved(f"d{n}", S, right)
        tip = Tip(axes, roll, d, S, H, [])
        forces = [F0[r] + tip.answer(r, d) for r in places]
        F = {plane: tuple(forces[2 * k:2 * k + 2]) for k, plane in enumerate(self.planes)}
        de, da = tip.change(d)
        load = (s.final + s.inertia.answer(de, da)).bind(f"f{name}_d", f"n{name}_d")
        if beyond:
            at_root = [SpatialForce(R.f, R.shift(self.arm).n.bind(f"R{n}_{r + 1}")) for r, R in enumerate(answers)]
            self.tip = replace(tip, forces=at_root)
            return F, replace(s, force=load, given=SpatialForce.zero(graph))
        for child in self.children:
            child.correct(self._to_tip(de), self._to_tip(da))
        return F, Load.of(load, ArticulatedInertia(s.inertia.kg, s.inertia.unit, s.inertia.C))

    def _bends(self) -> tuple[Bend, Bend]:
        """Return the bends in y and in z."""
        none = Bend(*[self.graph.const(0.0)] * 6)
        return self.bend.get("y", none), self.bend.get("z", none)

    def _drawn_by(self, part: str) -> Vec4:
        """Return the derivatives of the tip's shortening by deflection and slope, for values or velocities of these."""
        by, none = 1.2 / self.link.length, self.graph.const(0.0)
        y, z = (self.graph.bind(by * getattr(bend, part), f"by{self.n}{plane}_{part}")
                for plane, bend in zip("yz", self._bends(), strict=True))
        return Vec4(y, none, z, none)

    def _beside(self) -> Vec4:
        """Return how far each deflection or slope moves the load's first moment along the axis.

        The value is zero if a component beyond the tip bends."""
        none = self.graph.const(0.0)
        stiff = self.step.tree.stiff_beyond(self.i)
        return Vec4(none, -self.moment.y if stiff else none, none, -self.moment.z if stiff else none)

    def _curved(self) -> Vec4:
        """Return the forces on the tip's coordinates by third-order terms of the Lagrangian, for predicted motion."""
        return Vec4(*(a + b for a, b in zip(self._round(), self._off_the_end(), strict=True)))

    def _round(self) -> Vec4:
        """Return the forces of a deflection that rotates about the link, and of one under transverse acceleration."""
        graph, n, unit, none, (y, z) = self.graph, self.n, self.step.unit, self.graph.const(0.0), self._bends()
        w, e, a = self.calm_root.w, self.calm_root.e, self.calm_root.a
        linear, square, shorter = (unit * part for part in self.link.curved(self.carried_kg))
        along = linear + 1.2 / (self.link.length * self.link.length) * self.moment.x
        bent, swing = graph.bind(y.at * y.at + z.at * z.at, f"bent{n}"), y.at * y.velocity + z.at * z.velocity
        around = graph.bind(y.at * z.velocity - z.at * y.velocity + w.x * bent, f"around{n}")
        spin = graph.bind(along * (w.y * y.at + w.z * z.at) - square * around, f"spin{n}")
        spin = graph.bind(spin + spin, f"spin{n}_2")
        change = graph.bind(along * (e.y * y.at + e.z * z.at + (w.y * y.velocity + w.z * z.velocity))
                            - square * (e.x * bent + 2.0 * (w.x * swing)), f"change{n}")
        pulled = graph.bind(2.0 * shorter * (a.y * y.at + a.z * z.at), f"pulled{n}")
        back, led = graph.bind(shorter * bent, f"back{n}"), graph.bind(along * around, f"led{n}")
        of_y = change * z.at + spin * (z.velocity + w.x * y.at) + led * w.y + pulled * y.at + back * a.y
        of_z = change * y.at + spin * (y.velocity - w.x * z.at) - (led * w.z + pulled * z.at + back * a.z)
        return Vec4(-of_y, none, of_z, none)

    def _off_the_end(self) -> Vec4:
        """Return the forces of a load beside the tip's axis or beyond its end.

        Two effects move this load along the link."""
        graph, n, bends, whirl = self.graph, self.n, self._bends(), self.whirl
        by, by_velocity, beside = self._drawn_by("at"), self._drawn_by("velocity"), self._beside()
        at, velocity, d = (Vec4(*(getattr(bend, name) for bend in bends for name in names))
                           for names in (("at", "slope"), ("velocity", "slope_velocity"), ("d", "slope_d")))
        drawn = graph.bind(by_velocity @ velocity + by @ d, f"drawn{n}")
        inward = whirl * (beside @ at) - beside @ d + self.link.farther(self.moment.x) * drawn
        inward = graph.bind(inward, f"inward{n}")
        fling = graph.bind(drawn - 0.5 * (whirl * (by @ at)), f"fling{n}")
        return Vec4(*(k * inward - c * fling for k, c in zip(by, beside, strict=True)))

    def _advanced(self, F: dict[str, tuple[Expr, ...]], tip: Load | None, beyond: bool) -> Load:
        """Apply the tip's forces to the link, and return the load of link and tip on the hub, in the root's frame."""
        graph, n, unit, link, zero = self.graph, self.n, self.step.unit, self.link, self.graph.const(0.0)
        w, e, a = self.root.w, self.root.e, self.root.a
        sums = {plane: graph.call(ADVANCE, f"link{n}{plane}", FLEXIBLE, *modes,
                                  *(graph.bind(x, f"load{n}{plane}_{k + 1}") for k, x in enumerate(F[plane])))
                for plane, modes in self.planes.items()}
        self.moved = tuple(found[0] for found in sums.values())
        Sy, Gy, dSy, ddSy, ddGy, yy, ydy, dGy = sums.get("y", (zero,) * 8)
        Sz, Gz, dSz, ddSz, ddGz, zz, zdz, dGz = sums.get("z", (zero,) * 8)
        spin, yz, zdy, ydz = zero, zero, zero, zero
        if len(sums) == 2:
            y, z = self.planes["y"], self.planes["z"]
            spin, yz, zdy, ydz = graph.call(COUPLING, f"across{n}", FLEXIBLE, y.first, z.first, y.modes,
                                               after=(Sy, Sz))
        m, along = link.mass * unit, link.mass * unit * square(link.length) / 3.0
        S = Vec3(graph.const(0.5 * m * link.length), Sy, Sz)
        thick = link.section * unit
        I = Mat3(Vec3(yy + zz + float(thick[0]), -Gy, -Gz),
                 Vec3(-Gy, along + float(thick[1]) + zz, -yz),
                 Vec3(-Gz, -yz, along + float(thick[2]) + yy))
        swung = w.cross(S) + Vec3(zero, dSy + dSy, dSz + dSz)
        f = m * a + e.cross(S) + (w.cross(swung) + Vec3(zero, ddSy, ddSz))
        half = Vec3(w.x * (ydy + zdz), w.y * zdz - w.x * dGy - w.z * zdy, w.z * ydy - w.x * dGz - w.y * ydz)
        relative = half + half + Vec3(spin, -ddGz, ddGy)
        moment = S.cross(a) + I @ e + (w.cross(I @ w) + relative)
        inertia = ArticulatedInertia(link.mass, unit, S, I if beyond else None)
        total = Load.of(SpatialForce(f, moment).bind(f"f{n}_r", f"n{n}_r"), inertia)
        if tip is not None:
            total = total + tip.shift(self.arm)
        calm = self.calm_root
        return replace(total, straight=self.straight + (m * calm.a + calm.swung(Vec3(S.x, zero, zero))))

    def _reduced(self, inertia: ArticulatedInertia) -> ArticulatedInertia:
        """Return the inertia at the root of a link that bends when its hub's motion changes. c: effect of the root's
        motion r on the modes. R: forces on the tip's coordinates that result from r. B = phi A^-1 c. The inertia is M -
        c'A^-1 c + B'G^-1 B - Q'(G^-1 + H)^-1 Q, with Q = R + G^-1 B."""
        inertia = inertia.general()
        L, N, I = inertia.full
        full = [[*L[r], *N[r]] for r in range(3)] + [[*(N[c][r] for c in range(3)), *I[r]] for r in range(3)]
        A, B = self._root_response()
        self.response = B
        if self.tip is not None:
            G_inverse, size = self._stiffness(), len(self.coordinates)
            GB = [[_sum(float(G_inverse[r, k]) * B[k][c] for k in range(size)) for c in range(6)] for r in range(size)]
            Q = [[x + y for x, y in zip((*R.f, *R.n), GB[r], strict=True)] for r, R in enumerate(self.tip.forces)]
            zero, one = self.graph.const(0.0), self.graph.const(1.0)
            unit = [[one if r == c else zero for r in range(size)] for c in range(size)]
            inverse = [self.step.solved(f"response{self.name}_{c + 1}", self.tip.S, unit[c]) for c in range(size)]
            X = [[_sum(inverse[k][r] * Q[k][c] for k in range(size)) for c in range(6)] for r in range(size)]
            A = [[A[r][c] - _sum(B[k][r] * GB[k][c] - Q[k][r] * X[k][c] for k in range(size)) for c in range(6)]
                 for r in range(6)]
        full = [[full[r][c] - A[r][c] for c in range(6)] for r in range(6)]
        return replace(inertia, L=Mat3.of(lambda r, c: full[r][c]).symmetric(), N=Mat3.of(lambda r, c: full[r][3 + c]),
                       I=Mat3.of(lambda r, c: full[3 + r][3 + c]).symmetric())

    def _root_response(self) -> tuple[list[list[Expr]], list[list[Expr]]]:
        """Return c'A^-1 c (6, 6) and phi A^-1 c (T, 6) for the root's accelerations (a, e).

        If the link bends in one plane, e about its axis moves the modes of the second plane."""
        graph, link, unit, zero = self.graph, self.link, self.step.unit, self.graph.const(0.0)
        A = [[zero] * 6 for _ in range(6)]
        B: list[list[Expr]] = []

        def put(r: int, c: int, value: Expr) -> None:
            A[r][c] = A[r][c] + value
            if r != c:
                A[c][r] = A[c][r] + value

        for plane, modes in self.planes.items():
            march = 1.0 / self._resistance(plane)
            pull, turn, sign = (1, 5, 1.0) if plane == "y" else (2, 4, -1.0)
            beta, gamma = unit * link.beta, sign * unit * link.gamma
            put(pull, pull, graph.const(float(product(beta, march * beta))))
            put(pull, turn, graph.const(float(product(beta, march * gamma))))
            put(turn, turn, graph.const(float(product(gamma, march * gamma))))
            rows = [[zero] * 6 for _ in range(2)]
            for row, shape in zip(rows, (link.tip, link.slope), strict=True):
                row[pull] = graph.const(float(product(shape, march * beta)))
                row[turn] = graph.const(float(product(shape, march * gamma)))
            if len(self.planes) == 2:
                by_shape, by_x, square, at, slope = graph.call(
                    ROLL, f"roll{self.n}{plane}", FLEXIBLE, self._other(plane), *modes, after=self.moved)
                put(pull, 3, -sign * by_shape)
                put(turn, 3, -by_x)
                put(3, 3, square)
                rows[0][3], rows[1][3] = -sign * at, -sign * slope
            B += rows
        return A, B

    def _resistance(self, plane: str) -> np.ndarray:
        """Return each mode's force for an acceleration of 1, including stiffness and damping over a tick."""
        K, dt = self.link.stiffness[plane], self.step.tree.dt
        return 4.0 / square(dt) + K + 2.0 * self.link.damping * K / dt

    def _stiffness(self) -> np.ndarray:
        """Return G^-1 for the tip's coordinates: deflection and slope of each plane."""
        phi, size = np.array([self.link.tip, self.link.slope]), len(self.coordinates)
        result = np.zeros((size, size))
        for k, plane in enumerate(self.planes):
            result[2 * k:2 * k + 2, 2 * k:2 * k + 2] = solve(product(phi, (phi / self._resistance(plane)).T), np.eye(2))
        return result

    # ---- corrections
    def correct(self, de: Vec3, da: Vec3) -> None:
        """Move the link with the changed accelerations of its hub, and correct all pieces that it carries."""
        graph, n, zero, places = self.graph, self.n, self.graph.const(0.0), range(len(self.coordinates))
        da = times(self.E.T, da + de.cross(self.step.vec(self.d))).bind(f"da{n}_r")
        de = times(self.E.T, de).bind(f"de{n}_r")
        F: list[Expr] = [zero] * len(places)
        if self.tip is not None:
            tip, G_inverse, motion = self.tip, self._stiffness(), (*da, *de)
            led = [_sum(self.response[k][c] * motion[c] for c in range(6)) for k in places]
            pushed = [graph.bind(R.f @ da + R.n @ de, f"push{n}_{r + 1}") for r, R in enumerate(tip.forces)]
            asked = [graph.bind(-(pushed[r] + _sum(float(G_inverse[r, k]) * led[k] for k in places)), f"ask{n}_{r + 1}")
                     for r in places]
            d = self.step.solved(f"more{n}", tip.S, asked)
            F = [pushed[r] + tip.answer(r, d) for r in places]
            de_tip, da_tip = tip.change([graph.bind(tip.d[r] + d[r], f"d{n}_{r + 1}") for r in places])
            da_tip, de_tip = da_tip + (da + de.cross(self.arm)), de_tip + de
            for child in self.children:
                child.correct(self._to_tip(de_tip), self._to_tip(da_tip))
        for k, (plane, modes) in enumerate(self.planes.items()):
            pull = (da.y, de.z) if plane == "y" else (da.z, -de.y)
            needs = [graph.bind(x, f"change{n}{plane}_{j + 1}") for j, x in enumerate((*pull, *F[2 * k:2 * k + 2]))]
            if not self.step.two_planes:
                graph.call(CORRECT, "", FLEXIBLE, *modes, *needs)
                continue
            roll = graph.bind(-de.x if plane == "y" else de.x, f"change{n}{plane}_5") if len(self.planes) == 2 else zero
            graph.call(CORRECT, "", FLEXIBLE, self._other(plane), *modes, *needs, roll)


def _sum(terms: Iterable[Expr]) -> Expr:
    first, *others = terms
    for term in others:
        first = first + term
    return first


def _tidy(A: np.ndarray) -> np.ndarray:
    """Return the matrix with entries that differ from 0 or 1 only by rounding made exact."""
    A = np.where(np.abs(A) < TINY, 0.0, A)
    return np.where(np.abs(np.abs(A) - 1.0) < TINY, np.sign(A), A)


def _small(A: np.ndarray) -> np.ndarray:
    """Return A without entries that are only rounding errors of larger entries."""
    return np.where(np.abs(A) < TINY * max(float(np.abs(A).max()), 1e-30), 0.0, A)
