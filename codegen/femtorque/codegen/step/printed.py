"""The step of any tree by nodal forces, as a graph: the paper's step of reference/printed.py, in link axes.

Every link has its original axes: z along the joint, the origin at the joint, the node at its centre of gravity. A table
in the emitted C contains the links' masses, inertias and lever arms, except for zeros.

The rotation of a link over a tick is e = sin(angle / 2) axis, together with its cosine. A joint's half increment u is
half of its rotation. e belongs to the tick after s_k, b to the tick before s_k, and d = e - b. Products of the parent's
d and of the joint's du give d without this subtraction. The second differences of all nodes, and the increments of
their momenta, are then no differences of large numbers. Apart from factors of cosines,

    A = d x + sum of e (e x, over both ticks,   a_child = a + A l,   F = M (a + A c),   Phi = J d + sum of e x J e.

a and A are half of second differences. M and J are multiplied by 2 / dt^2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import square
from femtorque.codegen.mechanism import Vector
from femtorque.codegen.model import GROUND, Model
from femtorque.codegen.step.base_parameters import Choice, ReducedBody, Tree
from femtorque.codegen.step.frames import FrameStep, Members, tidy
from femtorque.codegen.step.graph import Expr, Function
from femtorque.codegen.step.links import Link, links
from femtorque.codegen.step.spatial_algebra import Mat3, Pair, Vec3

TABLE, GROUNDS = "ft_link", "ft_ground"
SAME = 1e-9  # fraction of a principal inertia; inertias with a smaller difference count as equal

INTRO = """
The paper's step. The node of a link is at its centre of gravity, where its
mass and inertia are lumped. {P} has the forces F and the moments Phi of the
nodes: the gain of their momenta from the tick before s_k to the tick after
s_k, with weight. {P} is updated, and converted to torques:

    {P} <- {P} + {dp} (Eqs 17, 18),   {tau} = [L][T]{P} (Eqs 5 to 15).

Each link has its own axes, z along its joint. Outwards, of the link:

    turn  half of its joint's turn after s_k: cosine _c and sine _s, and
          their gains over the tick before, _dc _ds
    e ew  axis times sine, and cosine, of half of the link's own turn
    b     e of the tick before,   d dw  gains of e and ew over b
    o     gain of the turn,       q     sum of e e' and b b'
    a     half the second difference of the place of its joint; the ground's
          second difference replaces weight
    A     half the second difference of its axes; the node has a + A c

Inwards: f and n are the F and Phi of this tick. S and N are force and moment
of the joint's load. [Lambda] has the levers c and l. The turn T between two
links is the pair r of the joint and the rows X, Y, Z. Endings:

    _s    at the joint, in the parent's axes
    _f    in the link's axes at joint zero
    _p    in the link's axes, of the parent
    _t    in the parent's axes
    _half half of the frame's turn
    _b    in the tick before
    _neg  with the opposite sign

v is the velocity of a slide. k is a value that is used twice.
""".strip()


def as_tree(model: Model, found: Sequence[Link]) -> Tree:
    """Return the links' original axes as a Tree, without groups and without regrouping."""
    bodies = tuple(ReducedBody(
        joint=j, parent=link.parent, children=body.children, prismatic=link.slides, sign=1.0, first=j,
        gamma=(1.0, 0.0), alpha=(1.0, 0.0), offset=link.l, turn=0.0, mass=link.mass, moment=link.mass * link.c,
        inertia=link.inertia) for j, (link, body) in enumerate(zip(found, model.bodies, strict=True)))
    return Tree(bodies, (Choice(),) * model.n, 1.0, (np.zeros(3),) * model.n)


@dataclass(frozen=True)
class Turn:
    """The rotation of a link over the two ticks around s_k: e with its cosine w in the tick after s_k, and their
    changes d and dw since the tick before."""

    e: Vec3
    w: Expr
    d: Vec3
    dw: Expr

    @property
    def b(self) -> Vec3:
        """Return e of the tick before s_k."""
        return self.e - self.d

    @property
    def bw(self) -> Expr:
        return self.w - self.dw

    def bind(self, name: str) -> Turn:
        bind = self.w.graph.bind
        return Turn(self.e.bind(f"e{name}"), bind(self.w, f"ew{name}"), self.d.bind(f"d{name}"),
                    bind(self.dw, f"dw{name}"))


class PrintedStep(FrameStep):
    """The graph of one step of a tree."""

    halves = Function("ft_halves", "ft_half_turns", ("c", "s", "s_b", "dc", "ds"), cost=16)

    def __init__(self, model: Model, shared: Sequence[Members] = ()) -> None:
        self.links = links(model)
        super().__init__(model, as_tree(model, self.links), shared)
        n = model.n
        self.unit = 2.0 / square(model.dt)
        self.ground = -0.5 * square(model.dt) * model.gravity
        one, zero = self.graph.const(1.0), self.graph.const(0.0)
        self.still = Turn(self._zero(), one, self._zero(), zero)
        self.turns: list[Turn] = [self.still] * n
        self.a: list[Vec3] = [self._zero()] * n
        self.gained: dict[int, tuple[Vec3, Mat3]] = {}  # o and q of a link
        self.sent: dict[int, list[tuple[Vec3, Vec3, Vec3]]] = {j: [] for j in range(n)}  # S, N and lever, by parent
        self._walk()

    # ---- the table's numbers
    def _entry(self, j: int, part: str, value: float) -> Expr:
        return self.graph.fixed(TABLE, j, part, tidy(float(value)))

    def _vector(self, j: int, part: str, v: Vector) -> Vec3:
        return Vec3(*(self._entry(j, f"{part}[{k}]", x) for k, x in enumerate(v)))

    def _inertia(self, j: int) -> Mat3:
        """Return [J] by rows, from its six independent entries."""
        places = {(0, 0): "xx", (1, 1): "yy", (2, 2): "zz", (0, 1): "xy", (0, 2): "xz", (1, 2): "yz"}
        J = self.links[j].inertia * self.unit
        return Mat3.of(lambda r, c: self._entry(j, f"J.{places[min(r, c), max(r, c)]}", J[min(r, c), max(r, c)]))

    def _rows(self, j: int) -> Mat3:
        """Return R', the rows X, Y, Z of the link's axes at joint zero in the parent's axes. The table has no ones."""
        def entry(r: int, c: int) -> Expr:
            value = float(self.links[j].R[c, r])
            return self.graph.const(value) if abs(value) in (0.0, 1.0) else self._entry(j, f"{'XYZ'[r]}[{c}]", value)

        return Mat3.of(entry)

    def _lever(self, j: int) -> Vec3:
        """Return l, from the parent's joint to joint j in the parent's axes, including the position of a prismatic
        joint."""
        l = self._vector(j, "l", self.links[j].l)
        if self.links[j].slides:
            l = (l + self._position(j) * self._rows(j).z).bind(f"l{j + 1}")
        return l

    # ---- outwards
    def _outwards(self, j: int) -> None:
        graph, link, name = self.graph, self.links[j], str(j + 1)
        title = self.model.bodies[j].joint.child
        self.outward_block[j] = graph.block(f'Link {name}, "{title}": increments over the ticks beside s_k')
        rows = self._rows(j)
        if link.parent == GROUND:
            turn = self.still
            a = Vec3(*(graph.fixed(GROUNDS, k, "", tidy(float(x))) for k, x in enumerate(self.ground)))
        else:
            turn = self.turns[link.parent]
            a = (self.a[link.parent] + self._A(link.parent) @ self._lever(j)).bind(f"a{name}_s")
        a = (rows @ a).bind(f"a{name}_f")
        turn = Turn((rows @ turn.e).bind(f"e{name}_f"), turn.w, (rows @ turn.d).bind(f"d{name}_f"), turn.dw)
        if link.slides:
            self.turns[j], self.a[j] = turn, (a + self._slid(j, turn)).bind(f"a{name}")
            return
        e, d = (self._turn(j, v, f"{s}{name}_p") for v, s in ((turn.e, "e"), (turn.d, "d")))
        self.turns[j] = self._turned_on(j, Turn(e, turn.w, d, turn.dw)).bind(name)
        self.a[j] = self._turn(j, a, f"a{name}")

    def _turn(self, j: int, v: Vec3, name: str) -> Vec3:
        return v if v.is_along_z else v.turn(self._pair(j)).bind(name)

    def _turned_on(self, j: int, on: Turn) -> Turn:
        """Return the parent's rotation in link axes, followed by the joint's rotation about z."""
        c, s, s_b, dc, ds = self.graph.call(
            self.halves, f"turn{j + 1}", self.graph.input("u", j), self.graph.input("du", j))
        e, d, b = on.e, on.d, on.b.bind(f"b{j + 1}_p")
        bw = on.bw
        return Turn(Vec3(c * e.x + s * e.y, c * e.y - s * e.x, c * e.z + s * on.w), c * on.w - s * e.z,
                    Vec3(c * d.x + dc * b.x + (s * e.y + s_b * b.y), c * d.y + dc * b.y - (s * e.x + s_b * b.x),
                         c * d.z + dc * b.z + (s * on.dw + ds * bw)),
                    c * on.dw + dc * bw - (s * d.z + ds * b.z))

    def _slid(self, j: int, turn: Turn) -> Vec3:
        """Return half of the second difference that a displacement along z causes."""
        graph = self.graph
        u, du = graph.input("u", j), graph.input("du", j)
        e, w, b, bw = turn.e, turn.w, turn.b, turn.bw
        before = u - 2.0 * du
        fast, fast_b = graph.bind(u + u, f"v{j + 1}"), graph.bind(before + before, f"v{j + 1}_b")
        x, y = (w * e.x, w * e.y)
        x_b, y_b = (bw * b.x, bw * b.y)
        return Vec3(fast * (y + e.x * e.z) + fast_b * (y_b - b.x * b.z),
                    fast * (e.y * e.z - x) - fast_b * (x_b + b.y * b.z),
                    (du + du) - (fast * (e.x * e.x + e.y * e.y) - fast_b * (b.x * b.x + b.y * b.y)))

    def _shared(self, j: int) -> Pair | None:
        """Return cosine and sine of the joint's angle, from a shared angle or from the difference of two."""
        wanted, pairs = {j: 1}, []
        for k, angle in enumerate(self.shared):
            for direction in (1, -1):
                signed = {i: direction * sign for i, sign in angle.items()}
                pair = self.graph.input("r", k, "c"), direction * self.graph.input("r", k, "s")
                if signed == wanted:
                    return pair
                pairs.append((signed, pair))
        for more, (c, s) in pairs:
            for less, (c_l, s_l) in pairs:
                if more == {**less, **wanted} and j not in less:
                    back = self.graph.enter(self.outward_block[j])
                    found = (self.graph.bind(c * c_l + s * s_l, f"r{j + 1}_c"),
                             self.graph.bind(s * c_l - c * s_l, f"r{j + 1}_s"))
                    self.graph.enter(back)
                    return found
        return None

    def _gain(self, j: int) -> tuple[Vec3, Mat3]:
        """Return o, the change of the rotation, and q, the sum of e e' over both ticks."""
        if j not in self.gained:
            turn = self.turns[j]
            back = self.graph.enter(self.outward_block[j])
            e, b = turn.e, turn.b.bind(f"b{j + 1}")
            o = (turn.w * turn.d + turn.dw * b).bind(f"o{j + 1}")
            q = Mat3.of(lambda r, c: e[r] * e[c] + b[r] * b[c]).bind_symmetric(f"q{j + 1}")
            self.gained[j] = o, q
            self.graph.enter(back)
        return self.gained[j]

    def _A(self, j: int) -> Mat3:
        o, q = self._gain(j)
        back = self.graph.enter(self.outward_block[j])
        A = Mat3(Vec3(-(q[1][1] + q[2][2]), q[0][1] - o.z, q[0][2] + o.y),
                 Vec3(q[0][1] + o.z, -(q[0][0] + q[2][2]), q[1][2] - o.x),
                 Vec3(q[0][2] - o.y, q[1][2] + o.x, -(q[0][0] + q[1][1]))).bind(f"A{j + 1}")
        self.graph.enter(back)
        return A

    # ---- inwards
    def _inwards(self, j: int) -> None:
        graph, link, name = self.graph, self.links[j], str(j + 1)
        graph.block(f'Link {name}, "{self.model.bodies[j].joint.child}": {{P}} (Eqs 17, 18), then [L][T]{{P}} (Eq. 6)')
        c = self._vector(j, "c", link.c)
        mass = self._entry(j, "M", link.mass * self.unit)
        F = self._carry(j, "F", (mass * (self.a[j] + self._A(j) @ c)).bind(f"f{name}"))
        Phi = self._carry(j, "Phi", self._moment(j).bind(f"n{name}"))
        S, N = F, Phi + c.cross(F)
        for force, moment, lever in self.sent[j]:
            S, N = S + force, N + (moment + lever.cross(force))
        S, N = S.bind(f"S{name}"), N.bind(f"N{name}")
        tau = S.z if link.slides else N.z
        graph.output("tau", j, tau + self._spring(j))
        if link.parent == GROUND:
            return
        if not link.slides:
            S, N = self._back(j, S), self._back(j, N)
        columns = self._rows(j).T
        S, N = (columns @ S).bind(f"S{name}_t"), (columns @ N).bind(f"N{name}_t")
        self.sent[link.parent].append((S, N, self._lever(j)))

    def _moment(self, j: int) -> Vec3:
        """Return J o + sum of e x J e. The sum is the antisymmetric part of q J."""
        J, (o, q) = self._inertia(j), self._gain(j)
        own = self.links[j].inertia

        def apart(r: int, c: int) -> Expr:
            """Return J_rr - J_cc."""
            same = abs(own[r, r] - own[c, c]) <= SAME * max(own[r, r], own[c, c])
            return self.graph.const(0.0) if same else J[r][r] - J[c][c]

        def lopsided(r: int, c: int, k: int) -> Expr:
            """Return (q J)_rc - (q J)_cr. k is the third axis."""
            return (q[r][c] * apart(c, r) + J[r][c] * (q[r][r] - q[c][c])
                    + (q[r][k] * J[k][c] - q[c][k] * J[k][r]))

        return J @ o + Vec3(lopsided(1, 2, 0), lopsided(2, 0, 1), lopsided(0, 1, 2))

    # ---- what is to be emitted
    @property
    def intro(self) -> list[str]:
        return INTRO.splitlines()
