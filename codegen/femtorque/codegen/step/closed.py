"""The closed loops' part of a tick, as a graph: loop residual at s_k, velocity matrix, velocities and accelerations.

The recursion moves every anchor and its columns of J_c inwards, from the anchor's link to the body that carries both
sides of the cut. The sines of the frames are exact, computed from integer positions. The previous tick has predicted
the dependent joints' positions, and the residual corrects these positions. Single precision gives the residual to 1e-7
of the mechanism's size. Positions affect the equations only through sines and cosines.

Plane rotations (Givens) make [J_d | J_i | r] upper triangular. The rotations need no search for pivots, so the code
does not depend on the pose. A diagonal entry is the distance of a column from the span of the columns before it, and is
zero only at singular poses. Back-substitution gives the correction x = -J_d^-1 r and G = -J_d^-1 J_i. G gives the
dependent joints' velocities. G' maps the dependent joints' torques to the independent joints: tau_i + G' tau_d equals
tau_i + J_ci' lambda, where lambda makes every dependent row zero.

With the velocities, a second inward recursion over the anchors follows. The result of the second recursion is the
anchors' acceleration at constant joint velocities, b = dJ_c/dt qd. These rotations and this back-substitution also give
qdd_d = G qdd_i - J_d^-1 b. All velocities and accelerations are therefore sums of products of the independent joints'
velocities and accelerations. Differences of rounded positions would have errors of 1e-7 / dt^2, differences of rounded
increments 1e-7 qd / dt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from femtorque.codegen.common import Array, norm, product
from femtorque.codegen.model import ALONG, AXES, PARALLEL, SINGULAR, Assembly, Cut, PassiveFriction, Side, frame_to_axis
from femtorque.codegen.step.frames import tidy
from femtorque.codegen.step.graph import Expr, Function, Graph
from femtorque.codegen.step.spatial_algebra import Vec3, times

ROTATION = Function("ft_rotation", "ft_pair", ("c", "s"), cost=25)
DRY = Function("ft_dry", "ft_real", cost=8)


@dataclass(frozen=True)
class Angle:
    """The angle of a rotating frame: the sum of sign * q over some joints."""

    members: tuple[tuple[int, int], ...]  # (joint, sign)


@dataclass
class Carried:
    """A vector of the inward recursion, with its derivatives with respect to the joints' positions. path: maps from the
    tip to the present frame, which later transform the vector's velocity."""

    now: Vec3
    columns: dict[int, Vec3]
    path: list[Callable[[Moving], Moving]] = field(default_factory=list)


@dataclass(frozen=True)
class Moving:
    """Velocity of a vector, and its acceleration at constant joint velocities. The unit of time is half a tick."""

    velocity: Vec3
    bias: Vec3

    def __add__(self, other: Moving) -> Moving:
        return Moving(self.velocity + other.velocity, self.bias + other.bias)


@dataclass
class Row:
    """An equation: coefficients per joint, residual `left`, and the number by which a `Rotation` refers to it."""

    entries: dict[int, Expr]
    left: Expr
    number: int


@dataclass(frozen=True)
class Rotation:
    """Rotation of two rows, given by number, into a pivot row and a row without the pivot's joint."""

    rows: tuple[int, int]
    into: tuple[int, int]
    c: Expr
    s: Expr


@dataclass(frozen=True)
class Member:
    """A revolute joint in a group of parallel joints on a path: its sign, and its axes in the group's at angle 0."""

    joint: int
    sign: int
    axes: Array


@dataclass(frozen=True)
class Group:
    """Consecutive joints of a path that share one frame: revolute joints with parallel axes, or one prismatic joint."""

    members: tuple[Member, ...]
    slides: bool
    R: Array  # (3, 3): group frame (z along the axis) in the axes of the body that carries it


@dataclass
class Eliminated:
    """A row that has become the pivot row of a joint: pivot x_joint + sum of entries x = right-hand sides."""

    joint: int
    pivot: Expr
    entries: dict[int, Expr]
    left: Expr
    number: int
    inverse: Expr


@dataclass
class LoopStep:
    """The graph that solves the loop equations.

    Inputs by name: r[i] (cosine and sine of angle i), p[j] (integer position), velocity[j], acceleration[j] (of
    independent joints, with half a tick as the unit of time). Outputs: x[d], G[e], velocity[d], acceleration[d],
    margin[d] (positive in regular poses)."""

    assembly: Assembly
    graph: Graph = field(default_factory=Graph)
    angles: list[Angle] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)  # joints whose integer position is needed
    entries: list[tuple[int, int]] = field(default_factory=list)  # entries of G: (dependent joint, independent joint)

    def __post_init__(self) -> None:
        self.rows = 0  # ever numbered
        self.rotations: list[Rotation] = []
        self.pivots: list[Eliminated] = []
        self.velocities: dict[int, Expr] = {}  # velocities of all joints in the loops
        self.spins: dict[Angle, Expr] = {}
        self.moving: dict[int, tuple[Carried, Carried, str]] = {}  # the two factors of each equation
        rows = [row for c, cut in enumerate(self.assembly.cuts) for row in self._cut(c, cut)]
        rows += self._couplings()
        self._move(self._solve(rows))

    # ---- constants and small algebra
    def _const(self, value: float) -> Expr:
        return self.graph.const(tidy(float(value)))

    def _fixed(self, v: Array) -> Vec3:
        return Vec3(*map(self._const, v))

    def _zero(self) -> Vec3:
        return Vec3.zero(self.graph)

    def _times(self, R: Array, v: Vec3) -> Vec3:
        return times(np.vectorize(tidy)(R), v)

    # ---- one cut
    def _cut(self, c: int, cut: Cut) -> list[Row]:
        """Return the independent equations of a cut."""
        kept = [row for number, row in self.assembly.kept if number == c]
        name, along = f"c{c + 1}", cut.loop.type in ALONG
        rows: list[Row] = []
        for side, label in ((cut.a, "a"), (cut.b, "b")):
            self.graph.block(f'Loop {c + 1}, "{cut.loop.name}": anchor {label}')
            point = self._inwards(side, side.p / self.assembly.length, f"{name}{label}", True)
            directions = {k: self._inwards(side, side.R[:, "xyz".index(k)], f"{name}{label}{k}", False)
                          for k in self._directions(cut, kept, label)}
            if label == "a":
                a, A = point, directions
            else:
                b, B = point, directions
        self.graph.block(f'Loop {c + 1}, "{cut.loop.name}": the residual and its derivatives')
        apart = _difference(b, a)
        for row in kept:
            if row >= (2 if along else 3):
                x, y = AXES[cut.loop.type][row - (2 if along else 3)]
                rows.append(self._dot(A[x], B[y], f"{name}_{x}{y}"))
            elif along and cut.plane is None:
                rows.append(self._dot(A["xy"[row]], apart, f"{name}_{'xy'[row]}"))
            else:
                direction = np.eye(3)[row] if cut.plane is None else cut.plane[:, row]
                rows.append(self._dot(self._still(direction), apart, f"{name}_{'xyz'[row]}"))
        return rows

    def _couplings(self) -> list[Row]:
        """Return the equations of mimic joints, in the units of the cuts' equations.

        Only the residual of these equations depends on integer positions. The rounding error of this residual is
        harmless, because it affects only sines and cosines."""
        equations, rows = self.assembly.equations, list[Row]()
        for number, c in enumerate(equations.couplings):
            place = (len(equations.cuts) + number, 0)
            self.graph.block(f'"{self.assembly.model.bodies[c.follower].joint.name}" and its leader')
            unit = 1.0 if equations.is_angle(place) else 1.0 / self.assembly.length
            p, led = (self.graph.input("p", self._position(j)) for j in (c.follower, c.leader))
            left = self._const(unit) * p - self._const(unit * c.ratio) * led - self._const(unit * c.offset)
            rows.append(self._row({c.follower: self._const(unit), c.leader: self._const(-unit * c.ratio)},
                                  self.graph.bind(left, f"m{number + 1}_left")))
        return rows

    def _position(self, joint: int) -> int:
        """Return the input that is the integer position of a joint."""
        if joint not in self.positions:
            self.positions.append(joint)
        return self.positions.index(joint)

    def _directions(self, cut: Cut, kept: list[int], label: str) -> list[str]:
        along = cut.loop.type in ALONG
        wanted = {pair[label == "b"] for r, pair in enumerate(AXES[cut.loop.type], 2 if along else 3) if r in kept}
        if along and label == "a" and cut.plane is None:
            wanted |= {"xy"[r] for r in kept if r < 2}
        return sorted(wanted)

    def _still(self, direction: Array) -> Carried:
        return Carried(self._fixed(direction), {})

    def _dot(self, u: Carried, v: Carried, name: str) -> Row:
        """Return the row of u . v and its derivatives."""
        entries: dict[int, Expr] = {}
        for j in sorted({*u.columns, *v.columns}):
            entry = self.graph.const(0.0)
            if j in v.columns:
                entry = entry + u.now @ v.columns[j]
            if j in u.columns:
                entry = entry + u.columns[j] @ v.now
            if not entry.is_zero:
                entries[j] = self.graph.bind(entry, f"{name}_by{j + 1}")
        row = self._row(entries, self.graph.bind(u.now @ v.now, f"{name}_left"))
        self.moving[row.number] = u, v, name
        return row

    def _row(self, entries: dict[int, Expr], left: Expr) -> Row:
        self.rows += 1
        return Row(entries, left, self.rows - 1)

    # ---- along a path
    def _inwards(self, side: Side, start: Array, name: str, is_point: bool) -> Carried:
        """Return a point (in units of length) or a direction of the side's link, in axes of the common body."""
        y = self._still(start)
        for number, group in reversed(list(enumerate(self._groups(side)))):
            label = f"{name}{number + 1}"
            if group.slides:
                y = self._slid(group, y, is_point)
            else:
                y = self._turned(group, y, is_point, label)
            first = self.assembly.model.bodies[group.members[0].joint]
            y = self._mapped(group.R, y)
            if is_point:
                y.now = y.now + self._fixed(first.p0 / self.assembly.length)
        return y

    def _groups(self, side: Side) -> list[Group]:
        bodies, groups = self.assembly.model.bodies, []
        members: list[Member] = []
        R = np.eye(3)
        for j in side.path:
            body = bodies[j]
            if members and not body.prismatic:
                axes = product(members[-1].axes, body.R0)
                axis = product(axes, body.axis)
                if norm(axis[:2]) < PARALLEL:
                    members.append(Member(j, 1 if axis[2] > 0.0 else -1, axes))
                    continue
            if members:
                groups.append(Group(tuple(members), False, R))
                members = []
            if body.prismatic:
                groups.append(Group((Member(j, 1, np.eye(3)),), True, body.R0))
                continue
            E = frame_to_axis(body.axis)
            R, members = product(body.R0, E), [Member(j, 1, E.T)]
        if members:
            groups.append(Group(tuple(members), False, R))
        return groups

    def _slid(self, group: Group, y: Carried, is_point: bool) -> Carried:
        """Return y, shifted along the axis of a prismatic joint."""
        if not is_point:
            return y
        j = group.members[0].joint
        axis = self.assembly.model.bodies[j].axis / self.assembly.length
        now = y.now + self.graph.input("p", self._position(j)) * self._fixed(axis)

        def on(m: Moving) -> Moving:
            return Moving(m.velocity + self.velocities[j] * self._fixed(axis), m.bias)

        return Carried(now, {**y.columns, j: self._fixed(axis)}, [*y.path, on])

    def _turned(self, group: Group, y: Carried, is_point: bool, name: str) -> Carried:
        """Return y in the group's frame. Add the sum of the members' link vectors, each rotated by its angle."""
        tip, last = self._zero(), len(group.members) - 1
        columns: dict[int, Vec3] = {}
        parts: list[tuple[Angle, Vec3]] = []  # link vectors, beginning with the last member
        path = y.path
        for place, member in reversed(list(enumerate(group.members))):
            angle = Angle(tuple((m.joint, m.sign) for m in group.members[: place + 1]))
            if place == last:
                outer = self._turn(angle, self._mapped(member.axes, y), f"{name}_{place + 1}")
                columns |= outer.columns
                path = outer.path
                tip = outer.now
            elif is_point:
                after = self.assembly.model.bodies[group.members[place + 1].joint]
                link = self._still(product(member.axes, after.p0) / self.assembly.length)
                part = self._turn(angle, link, f"{name}_{place + 1}").now
                parts.append((angle, part))
                tip = (tip + part).bind(f"{name}_arm{place + 1}")
            columns[member.joint] = tip.z_cross() if member.sign > 0 else -tip.z_cross()

        def on(m: Moving) -> Moving:
            for angle, part in parts:
                m = m + self._spun(angle, part)
            return m

        return Carried(tip, columns, [*path, on])

    def _spin(self, angle: Angle) -> Expr:
        """Return the angular velocity of a frame."""
        if angle not in self.spins:
            total = self.graph.const(0.0)
            for j, sign in angle.members:
                total = total + self.velocities[j] if sign > 0 else total - self.velocities[j]
            self.spins[angle] = self.graph.bind(total, f"spin{self.angles.index(angle)}")
        return self.spins[angle]

    def _spun(self, angle: Angle, v: Vec3) -> Moving:
        """Return w z x v and -w^2 v (perpendicular to z), velocity and acceleration of v in a rotating frame."""
        velocity = v.z_cross(self._spin(angle))
        return Moving(velocity, velocity.z_cross(self._spin(angle)))

    def _turn(self, angle: Angle, y: Carried, name: str) -> Carried:
        """Return y, rotated about z by an angle."""
        if angle not in self.angles:
            self.angles.append(angle)
        i = self.angles.index(angle)
        pair = self.graph.input("r", i, "c"), self.graph.input("r", i, "s")
        columns = {j: column.turn_back(pair).bind(f"{name}_d{j + 1}") for j, column in y.columns.items()}
        now = y.now.turn_back(pair).bind(name)

        def on(m: Moving) -> Moving:
            velocity, bias = m.velocity.turn_back(pair).bind(f"{name}_own"), m.bias.turn_back(pair)
            spun, w = self._spun(angle, now), self._spin(angle)
            swept = velocity.z_cross(w + w)
            return Moving((velocity + spun.velocity).bind(f"{name}_velocity"),
                          (bias + (swept + spun.bias)).bind(f"{name}_bias"))

        return Carried(now, columns, [*y.path, on])

    def _mapped(self, R: Array, y: Carried) -> Carried:
        """Return y in different axes that are fixed to the same body."""
        columns = {j: self._times(R, column) for j, column in y.columns.items()}

        def on(m: Moving) -> Moving:
            return Moving(self._times(R, m.velocity), self._times(R, m.bias))

        return Carried(self._times(R, y.now), columns, [*y.path, on])

    # ---- elimination
    def _solve(self, rows: list[Row]) -> dict[int, dict[int, Expr]]:
        """Compute the correction, and return the velocity matrix by dependent and independent joint."""
        a, graph = self.assembly, self.graph
        for number, joint in enumerate(a.dependent):
            graph.block(f'"{a.model.bodies[joint].joint.name}" out of all equations but one')
            touched = [row for row in rows if joint in row.entries]
            rows = [row for row in rows if joint not in row.entries]
            rows += self._rotate(number, joint, touched)
        graph.block("Velocity of each dependent joint per velocity of each independent one, and the correction")
        G: dict[int, dict[int, Expr]] = {}
        for i in a.independent:
            entries = [p.entries.get(i, graph.const(0.0)) for p in self.pivots]
            sides = self._back(entries, lambda j: f"G{j + 1}_{i + 1}")  # noqa: B023
            for joint, value in sides.items():
                G.setdefault(joint, {})[i] = value
        x = self._back([p.left for p in self.pivots], lambda j: f"x{j + 1}")
        for d, joint in enumerate(a.dependent):
            for k, i in enumerate(a.independent):
                if not G[joint][i].is_zero:
                    graph.output("G", len(self.entries), G[joint][i])
                    self.entries.append((d, k))
            graph.output("x", d, x[joint])
        return G

    def _back(self, right: list[Expr], name: Callable[[int], str]) -> dict[int, Expr]:
        """Return -J_d^-1 times a rotated right-hand side with an entry per pivot, by dependent joint."""
        found: dict[int, Expr] = {}
        for p, side in reversed(list(zip(self.pivots, right, strict=True))):
            for j, entry in p.entries.items():
                if j in found:
                    side = side + entry * found[j]
            found[p.joint] = side if side.is_zero else self.graph.bind(-(p.inverse * side), name(p.joint))
        return found

    def _move(self, G: dict[int, dict[int, Expr]]) -> None:
        """Compute velocities and accelerations of the dependent joints."""
        a, graph = self.assembly, self.graph
        graph.block("Velocities of the dependent joints")
        self.velocities = {i: graph.input("velocity", i) for i in a.independent}
        for d, joint in enumerate(a.dependent):
            led = _sum(graph, [G[joint][i] * graph.input("velocity", i) for i in a.independent])
            self.velocities[joint] = graph.bind(led, f"qd{joint + 1}")
            graph.output("velocity", d, led)
        graph.block("Acceleration of the anchors at constant velocities of all joints")
        still = Moving(self._zero(), self._zero())
        sides = dict.fromkeys(range(self.rows), self.graph.const(0.0))  # stays 0 for couplings
        for number, (u, v, name) in self.moving.items():
            m, n = still, still
            for on in u.path:
                m = on(m)
            for on in v.path:
                n = on(n)
            across = m.velocity @ n.velocity
            sides[number] = graph.bind(m.bias @ v.now + u.now @ n.bias + (across + across), f"{name}_bias")
        for r in self.rotations:
            x, y = (sides[row] for row in r.rows)
            sides[r.into[0]] = graph.bind(r.c * x + r.s * y, f"bias{r.into[0]}")
            sides[r.into[1]] = graph.bind(r.c * y - r.s * x, f"bias{r.into[1]}")
        graph.block("Accelerations of the dependent joints")
        own = self._back([sides[p.number] for p in self.pivots], lambda j: f"qdd{j + 1}")
        for d, joint in enumerate(a.dependent):
            led = _sum(graph, [G[joint][i] * graph.input("acceleration", i) for i in a.independent])
            graph.output("acceleration", d, led + own[joint])

    def _rotate(self, number: int, joint: int, touched: list[Row]) -> list[Row]:
        """Choose a joint's pivot row, eliminate the joint from the remaining rows, and store the pivot's margin."""
        graph, zero, name = self.graph, self.graph.const(0.0), f"e{number + 1}"
        columns = sorted({j for row in touched for j in row.entries} - {joint})
        kept, left = touched[0], list[Row]()
        for place, row in enumerate(touched[1:], 1):
            a, b = kept.entries[joint], row.entries[joint]
            c, s = graph.call(ROTATION, f"{name}_turn{place}", a, b)

            def turned(x: Expr, y: Expr, c: Expr = c, s: Expr = s) -> tuple[Expr, Expr]:
                return c * x + s * y, c * y - s * x

            entries: tuple[dict[int, Expr], dict[int, Expr]] = ({}, {})
            for j in columns:
                for e, into, which in zip(turned(kept.entries.get(j, zero), row.entries.get(j, zero)), entries, "pr",
                                          strict=True):
                    if not e.is_zero:
                        into[j] = graph.bind(e, f"{name}_{which}{place}_by{j + 1}")
            p_left, r_left = turned(kept.left, row.left)
            before = kept.number, row.number
            left.append(self._row(entries[1], graph.bind(r_left, f"{name}_r{place}_left")))
            entries[0][joint] = graph.bind(c * a + s * b, f"{name}_pivot{place}")
            kept = self._row(entries[0], graph.bind(p_left, f"{name}_p{place}_left"))
            self.rotations.append(Rotation(before, (kept.number, left[-1].number), c, s))
        pivot = kept.entries[joint]
        least = SINGULAR * float(self.assembly.scale[number])
        graph.output("margin", number, pivot * pivot - graph.const(least * least))
        inverse = graph.bind(graph.inverse(pivot), f"inverse{number + 1}")
        entries_left = {j: e for j, e in kept.entries.items() if j != joint}
        self.pivots.append(Eliminated(joint, pivot, entries_left, kept.left, kept.number, inverse))
        return left


def allocation(assembly: Assembly, entries: list[tuple[int, int]], half: float, partition: bool = False) -> Graph:
    """Return the graph of the torques tau[k] of the actuated joints.

    Inputs: the tree's torques open[j], and G[e] and velocity[d] of the loops. half: half a tick, s, the unit of time in
    velocities. Friction of passive joints is added to their torques. Independent and redundant joints together must
    produce Q = tau_i + G' tau_d. The redundant joints' torques solve (W_r + G_r W_i G_r') tau_r = G_r W_i Q, with tau_i
    = Q - G_r' tau_r. The solution minimises tau_a' W tau_a, while every passive row is zero. partition: return the open
    tree's torques unchanged."""
    graph = Graph()
    free, bound, places = assembly.independent, assembly.dependent, {i: k for k, i in enumerate(assembly.actuated)}
    names = [body.joint.name for body in assembly.model.bodies]
    if partition:
        graph.block("As if there were no loops")
        for i, k in places.items():
            graph.output("tau", k, graph.input("open", i))
        return graph
    G = {(d, k): graph.input("G", e) for e, (d, k) in enumerate(entries)}
    none = graph.const(0.0)
    rubbed = {}
    friction = PassiveFriction.of(assembly.model)
    for j in friction.joints:
        graph.block(f"Friction of {names[j]}", j)
        velocity, rubbed[j] = graph.input("velocity", bound.index(j)), graph.input("open", j)
        if viscous := float(friction.viscous[j]):
            rubbed[j] = rubbed[j] + graph.const(viscous / half) * velocity
        if coulomb := float(friction.coulomb[j]):
            (share,) = graph.call(DRY, f"dry{j + 1}", graph.const(1.0 / (half * float(friction.width[j]))) * velocity)
            rubbed[j] = rubbed[j] + graph.const(coulomb) * share
        rubbed[j] = graph.bind(rubbed[j], f"rubbed{j + 1}")
    graph.block("Torques of the dependent joints, carried by the independent ones")
    Q = []
    for k, i in enumerate(free):
        total = graph.input("open", i)
        for d, j in enumerate(bound):
            total = total + G.get((d, k), none) * rubbed.get(j, graph.input("open", j))
        Q.append(graph.bind(total, f"Q{k + 1}"))
    weights = assembly.weights()
    weight = {i: float(w / weights.max()) for i, w in zip(assembly.actuated, weights, strict=True)}
    shared: list[Expr] = []
    if assembly.redundant:
        graph.block("Shared with the redundantly actuated joints " + ", ".join(names[i] for i in assembly.redundant))
        at = [bound.index(i) for i in assembly.redundant]
        rows = [[G.get((d, k), none) for k in range(len(free))] for d in at]
        heavy = [[graph.const(weight[i]) * g for g, i in zip(row, free, strict=True)] for row in rows]
        A = [[graph.bind(_sum(graph, [x * y for x, y in zip(heavy[r], rows[c], strict=True)])
                         + graph.const(weight[assembly.redundant[r]] if r == c else 0.0), f"A{r + 1}{c + 1}")
              for c in range(r + 1)] for r in range(len(at))]
        right = [graph.bind(_sum(graph, [x * q for x, q in zip(row, Q, strict=True)]), f"b{r + 1}")
                 for r, row in enumerate(heavy)]
        shared = _positive_solve(graph, A, right)
        for k in range(len(free)):
            for r in range(len(at)):
                Q[k] = Q[k] - rows[r][k] * shared[r]
    graph.block("Actuated joints")
    for k, i in enumerate(free):
        graph.output("tau", places[i], Q[k])
    for r, i in enumerate(assembly.redundant):
        graph.output("tau", places[i], shared[r])
    return graph


def _positive_solve(graph: Graph, A: list[list[Expr]], b: list[Expr]) -> list[Expr]:
    """Return x of A x = b for a positive definite A by L D L' of its lower triangle, without pivoting."""
    n = len(b)
    L: list[list[Expr]] = [[graph.const(0.0)] * n for _ in range(n)]
    D: list[Expr] = []
    inverse: list[Expr] = []
    for i in range(n):
        for j in range(i):
            total = A[i][j]
            for k in range(j):
                total = total - L[i][k] * D[k] * L[j][k]
            L[i][j] = graph.bind(total * inverse[j], f"L{i + 1}{j + 1}")
        d = A[i][i]
        for k in range(i):
            d = d - L[i][k] * L[i][k] * D[k]
        D.append(graph.bind(d, f"D{i + 1}"))
        inverse.append(graph.bind(graph.inverse(D[i]), f"share{i + 1}"))
    y = list(b)
    for i in range(n):
        for k in range(i):
            y[i] = y[i] - L[i][k] * y[k]
    x = [y[i] * inverse[i] for i in range(n)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k][i] * x[k]
        x[i] = graph.bind(x[i], f"t{i + 1}")
    return x


def _sum(graph: Graph, terms: list[Expr]) -> Expr:
    total = graph.const(0.0)
    for term in terms:
        total = total + term
    return total


def _difference(b: Carried, a: Carried) -> Carried:
    """Return b - a."""
    columns = dict(b.columns)
    for j, column in a.columns.items():
        columns[j] = columns[j] + -column if j in columns else -column
    return Carried(b.now - a.now, columns, [lambda still: _apart(b, a, still)])


def _apart(b: Carried, a: Carried, still: Moving) -> Moving:
    m, n = still, still
    for on in b.path:
        m = on(m)
    for on in a.path:
        n = on(n)
    return Moving(m.velocity - n.velocity, m.bias - n.bias)
