"""The step of mechanisms with flexible links, as a graph: the recursions of reference/discrete_flexible.py in body
frames.

Every piece of the tree has a frame whose z is its joint's axis, turned with the joint; a flexible link's root has the
link's own axes, its tip these turned by the slopes there. Units are those of newton_euler.py: time is in half
ticks, so that rates are u - du and accelerations du, inertias are multiplied by 4 / dt^2, and forces come out in N m
(N). Modal coordinates are multiplied by 2 / dt, which makes their inertia 1.

What a flexible link does itself is the C of ft_elastic.c (emit/flexible.py), asked for five times a tick: how its tip
moves; how the link is drawn towards its root; how its tip would move without anything on it; by how much that is to be
corrected; what the link has for its hub.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from codegen.mechanism.description import Joint
from codegen.model.beam_element import joint_stiffness
from codegen.model.bodies import GROUND, Model, rotation_axis, skew
from codegen.model.flexible_tree import FlexibleTree, flexible_tree
from codegen.model.kinematics import frame_to_axis
from codegen.step.graph import Call, Expr, Function, Graph, Place, Result

Vec = tuple[Expr, Expr, Expr]
Matrix = tuple[Vec, Vec, Vec]  # rows; symmetric where it is an inertia

DRAWN = ("tip", "tip_rate", "tip_d", "first", "first_rate", "first_d", "second", "second_rate")  # of ft_drawn

TINY = 1e-12  # rotations: below this an entry is a rounding error

INTRO = """
Newton-Euler at the sample s_k, where the half increments u on both sides give
the rate and the acceleration of every driven joint, du = (u_k - u_k-1) / 2:

    qd = 2 (u_k - du) / tick,   qdd = 4 du / tick^2.

The modes of flexible links and the joints that springs hold have the same
equations without a torque: they are solved for their own du (ft_elastic.c),
d, first as in the last tick and then corrected. H is the inertia of what a
link's tip carries, F the force on the tip's own coordinates.

Outwards: angular velocity w and acceleration e, acceleration a of each
origin, gravity included as that of the ground. Inwards: force f, moment n,
first moment C, beyond flexible links also the inertia I, of all that hangs
there. Vectors are in the frame of their body, whose z is the joint's axis; _j
is before the joint turns it, _r a flexible link's root, _t a sum on its way to
the parent.

Bent links keep their length. _s is what would be were all links straight and
springs at constant rates, p the force f: along a link it is its tension, which
stiffens or softens it. lf and ln are what
links and their loads add for being drawn towards their roots: to the driven
joints, not to what bends.

Units: time is in half ticks, inertias are times 4 / tick^2, so that f and n
are in N m (N).
""".strip()


@dataclass
class Sums:
    """Of all that hangs on a piece, about its origin, in its body frame. I only where something bends on the way in.

    f and n are of the motion as predicted; cf and cn are to be added for what springs beyond give way to that motion.
    A change da, de of its accelerations changes f by m da + de x C and n by C x da + I de; or, where springs give way,
    by L da + N de and N' da + I de. p: f were all links straight; lf and ln: of links that keep their length.
    """

    f: Vec
    n: Vec
    C: Vec
    m: float
    I: Matrix | None
    L: Matrix | None
    N: Matrix | None
    cf: Vec
    cn: Vec
    p: Vec
    lf: Vec
    ln: Vec

    @property
    def final(self) -> tuple[Vec, Vec]:
        """f and n with what springs have given way."""
        return add(self.f, self.cf), add(self.n, self.cn)


@dataclass(frozen=True)
class Carried:
    """What the tip of a flexible link carries that hangs on something that bends itself.

    turns, arm: of the tip; axes: of its coordinates, deflections and slopes in turn; d: their accelerations'
    corrections so far; S: lower triangle of G^-1 + H; H; forces: R, force and moment at the root for an acceleration of
    one of each.
    """

    turns: list[tuple[Expr, Expr]]
    arm: Vec
    axes: list[Vec]
    d: tuple[Expr, ...]
    S: list[Expr]
    H: dict[tuple[int, int], Expr]
    forces: list[tuple[Vec, Vec]]


@dataclass(frozen=True)
class Drawn:
    """By how much a bent link's tip, its first moment and its second are drawn: u, rate and acceleration of each.

    straight: the force, root frame, with which the tip would push what it carries were the link straight.
    """

    tip: tuple[Expr, Expr, Expr]
    first: tuple[Expr, Expr, Expr]
    second: tuple[Expr, Expr]
    straight: Vec


@dataclass
class TextGraph(Graph):
    """Takes calls and places as the C they are to be."""

    results: dict[str, Expr] = field(default_factory=dict)

    def load(self, text: str) -> Expr:
        if text in self.results:
            return self.results[text]
        array, _, index = text.removeprefix("(ft_real)").replace("q_next", "q").partition("[")
        return self.input(array, int(index.split("]")[0]))

    def store(self, target: str, expr: Expr) -> None:
        array, index = target.removesuffix("]").split("[")
        self.output(array, int(index), expr)

    def call(self,  # type: ignore[override]
             text: str, results: tuple[str, ...], needs: tuple[Expr, ...], cost: int,
                  acts: bool = False) -> tuple[Expr, ...]:
        head, _, tail = text.rpartition(" = ")
        function, inside = tail.removesuffix(");").split("(")
        arguments = [needs[int(a[1:-1])] if a[0] == "{" else int(a[:-1]) if a[0].isdigit() else
                     Place("turn", int(a.split("@")[1][:-1])) if "@" in a else Place(a.removeprefix("&s->"))
                     for a in inside.split(", ")]
        returns, name = head.split()[1:] if head else ("void", "")
        parts = tuple(result.removeprefix(name).removeprefix(".") for result in results) if head else ()
        found = super().call(Function(function, returns, parts, cost, acts), name, *arguments)
        self.results |= dict(zip(results, found, strict=True))
        return found


class ElasticStep:
    """The graph of one step of a tree with flexible links."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tree: FlexibleTree = flexible_tree(model.mechanism)
        self.graph = TextGraph()
        self.unit = 4.0 / model.dt**2
        self.pairs: dict[int, tuple[Expr, Expr]] = {}  # of joints
        self.w: dict[int, Vec] = {}
        self.e: dict[int, Vec] = {}
        self.a: dict[int, Vec] = {}
        self.calm: dict[int, tuple[Vec, Vec, Vec]] = {}  # w, e, a were all links straight and springs at constant rates
        self.about: dict[int, Sums] = {}  # of all that hangs on a joint's piece, about its own origin
        self.sent: dict[int, Sums] = {}  # the same as its parent takes it
        self.force: dict[int, Expr] = {}  # of joints, not stored yet
        pieces = self.tree.pieces
        self.axes = [np.eye(3) if piece.link else frame_to_axis(piece.axis) for piece in pieces]
        self.children: dict[int, list[int]] = {i: [] for i in (GROUND, *range(len(pieces)))}
        for i, piece in enumerate(pieces):
            self.children[piece.parent].append(i)
        self.modes: dict[int, dict[str, tuple[int, int]]] = {}  # of a flexible link's planes: first mode, count
        first = 0
        for i in self.tree.beams:
            self.modes[i] = {}
            for plane in pieces[i].tip.planes:
                self.modes[i][plane] = first, pieces[i].tip.modes
                first += pieces[i].tip.modes
        self.carried: dict[int, Carried] = {}
        self.roots: dict[int, tuple[Vec, Vec, Vec]] = {}  # calm w, e, a of flexible links' roots
        self.straight: dict[int, Vec] = {}  # force of a tip on what it carries, were all links straight
        self.turns: dict[int, list[tuple[Expr, Expr]]] = {}  # of tips
        self.response: dict[int, list[list[Expr]]] = {}  # of the tips of such links to their roots, phi A^-1 c
        self.rolls = False  # whether a flexible link turns about its own axis
        self.number = {j: k for k, j in enumerate(self.tree.driven)}  # of joints in q, u and tau
        self.springs = [i for i, piece in enumerate(pieces) if piece.joint in self.tree.springs]
        self.stretch: dict[int, tuple[Expr, ...]] = {}  # of springs: stretch, rate, acceleration, force as predicted
        # d without motion of the parent, 1 / S, f and n of d = 1
        self.give: dict[int, tuple[Expr, Expr, Vec, Vec]] = {}
        for i in self.children[GROUND]:
            self._branch(i, beyond=False)

    # ---- small algebra
    def _vec(self, v: np.ndarray, unit: float = 1.0) -> Vec:
        x, y, z = (self.graph.const(float(a) * unit) for a in v)
        return (x, y, z)

    def _zero(self) -> Vec:
        return self._vec(np.zeros(3))

    def _bind(self, v: Vec, name: str) -> Vec:
        x, y, z = (self.graph.bind(a, f"{name}_{axis}") for a, axis in zip(v, "xyz", strict=True))
        return (x, y, z)

    def _bind_inertia(self, I: Matrix, name: str) -> Matrix:
        b = {(r, c): self.graph.bind(I[r][c], f"{name}_{'xyz'[r]}{'xyz'[c]}") for r in range(3) for c in range(r, 3)}
        full = [[b[min(r, c), max(r, c)] for c in range(3)] for r in range(3)]
        return _rows(full)

    def _constant(self, A: np.ndarray, unit: float = 1.0) -> Matrix:
        return _rows([[self.graph.const(float(a) * unit) for a in row] for row in A])

    def _frame(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Rotation and origin of piece i's frame at position zero, in its parent's body frame."""
        piece = self.tree.pieces[i]
        parent = np.eye(3) if piece.parent == GROUND else self.axes[piece.parent]
        turned = piece.R0 @ self.axes[i]
        if i in self.springs and not piece.prismatic:
            turned = turned @ rotation_axis(np.array([0.0, 0.0, 1.0]), self._joint(i).rest)
        return _tidy(parent.T @ turned), parent.T @ piece.p0

    def _joint(self, i: int) -> Joint:
        j = self.tree.pieces[i].joint
        assert j is not None
        return self.model.mechanism.moving[j]

    def _slide(self, i: int) -> Vec:
        """Position of a sliding piece along its z, m."""
        zero = self.graph.const(0.0)
        if i in self.springs:
            return (zero, zero, self.stretch[i][0] + self._joint(i).rest)
        return (zero, zero, self._position(i, "FT_METRE_UNIT"))

    def _name(self, i: int) -> str:
        piece = self.tree.pieces[i]
        return str(piece.joint + 1) if piece.joint is not None else f"tip{self.tree.beams.index(i) + 1}"

    # ---- the walk
    def _branch(self, i: int, beyond: bool) -> None:
        """A piece out to its tips and back. beyond: a flexible link carries it."""
        piece = self.tree.pieces[i]
        if piece.link is not None:
            self._link(i, beyond)
            return
        spring = i in self.springs
        self._outwards(i)
        for c in self.children[i]:
            self._branch(c, beyond or spring)
        self._inwards(i, beyond)
        if spring and not beyond:
            self._settled(i)
        elif not beyond:
            self._torque(i)

    def _settled(self, i: int) -> None:
        """All that is beyond a spring on rigid pieces is corrected by what the spring gives way."""
        zero = self._zero()
        self._correct_spring(i, zero, zero)
        self._torques(i)

    def _torques(self, i: int) -> None:
        """Of the driven joints beyond piece i."""
        for k in self.tree.beyond(i):
            if k != i and self.tree.pieces[k].joint in self.number:
                self._torque(k)

    def _carried(self, i: int, calm: bool = False) -> tuple[Vec, Vec, Vec]:
        """w, e, a at the origin of piece i, in its frame at position zero."""
        piece = self.tree.pieces[i]
        E, d = self._frame(i)
        if piece.parent == GROUND:
            return self._zero(), self._zero(), self._vec(_tidy(E.T @ self.tree.gravity), -self.tree.dt**2 / 4.0)
        u = piece.parent
        w, e, a = self.calm[u] if calm else (self.w[u], self.e[u], self.a[u])
        return _times(E.T, w), _times(E.T, e), _times(E.T, _carried(w, e, a, self._vec(d)))

    def _position(self, i: int, unit: str) -> Expr:
        """Position of the driven joint of piece i at s_k, rad or m."""
        j = self.number[self.tree.pieces[i].mover]
        u = self.graph.load(f"u[{j}]")
        return self.graph.bind(self.graph.load(f"(ft_real)q_next[{j}] * {unit}") - (u + u), f"q{self._name(i)}")

    def _outwards(self, i: int) -> None:
        graph, piece, name = self.graph, self.tree.pieces[i], self._name(i)
        graph.block(f'Link {name}, "{piece.name}": velocities and accelerations')
        if i in self.springs:
            k, label = self.springs.index(i), f"spring{name}"
            self.stretch[i] = graph.call(f"const ft_stretch {label} = ft_elastic_stretch(&s->elastic, {k}u);",
                                         tuple(f"{label}.{m}" for m in ("at", "rate", "d", "force")), (), 12, acts=True)
            _, rate, change, _ = self.stretch[i]
        else:
            j = self.number[piece.mover]
            change = graph.load(f"du[{j}]")
            rate = graph.bind(graph.load(f"u[{j}]") - change, f"qd{name}")
        if not piece.prismatic:
            if i in self.springs:
                call, needs = f"const ft_pair r{name} = ft_elastic_turn({{0}});", (self.stretch[i][0],)
            else:
                call, needs = f"const ft_pair r{name} = ft_turn_on(&s->turn[@{i}], {{0}});", (graph.load(f"u[{j}]"),)
            c, s = graph.call(call, (f"r{name}.c", f"r{name}.s"), needs, 11)
            self.pairs[i] = (c, s)
        self.w[i], self.e[i], self.a[i] = self._moved(i, self._carried(i), rate, change, name)
        quiet = graph.const(0.0) if i in self.springs else change
        self.calm[i] = self._moved(i, self._carried(i, calm=True), rate, quiet, f"{name}_s")

    def _moved(self, i: int, at: tuple[Vec, Vec, Vec], rate: Expr, change: Expr, name: str) -> tuple[Vec, Vec, Vec]:
        """w, e, a of the body frame of a joint's piece, from those at position zero."""
        w, e, a = at
        if self.tree.pieces[i].prismatic:
            a = _carried(w, e, a, self._slide(i))
            coriolis = rate + rate
            a = (a[0] + w[1] * coriolis, a[1] - w[0] * coriolis, a[2] + change)
        else:
            w, e, a = (turn(self._bind(v, f"{letter}{name}_j"), self.pairs[i])
                       for letter, v in zip("wea", (w, e, a), strict=True))
            e = (e[0] + w[1] * rate, e[1] - w[0] * rate, e[2] + change)
            w = (w[0], w[1], w[2] + rate)
        w, e, a = (self._bind(v, f"{letter}{name}") for letter, v in zip("wea", (w, e, a), strict=True))
        return w, e, a

    def _sums(self, f: Vec, n: Vec, C: Vec, m: float, I: Matrix | None = None) -> Sums:
        """Without springs."""
        zero = self._zero()
        return Sums(f, n, C, m, I, None, None, zero, zero, f, zero, zero)

    def _own(self, i: int, beyond: bool) -> Sums:
        """Of the piece alone."""
        piece, Q = self.tree.pieces[i], self.axes[i]
        com = _small(Q.T @ piece.com)
        J = _small(Q.T @ piece.inertia @ Q - piece.mass * skew(com) @ skew(com))
        I, C = self._constant(J, self.unit), self._vec(piece.mass * com, self.unit)
        w, e, a = self.w[i], self.e[i], self.a[i]
        f = add(scale(piece.mass * self.unit, a), _swung(w, e, C))
        n = add(add(cross(C, a), _apply(I, e)), cross(w, _apply(I, w)))
        w, e, a = self.calm[i]
        return replace(self._sums(f, n, C, piece.mass, I if beyond else None),
                       p=add(scale(piece.mass * self.unit, a), _swung(w, e, C)))

    def _gathered(self, i: int, beyond: bool) -> Sums:
        """Of the piece and of what its children have sent."""
        name, total = self._name(i), self._own(i, beyond)
        for c in self.children[i]:
            total = self._added(total, self.sent[c])
        I = None if total.I is None else self._bind_inertia(total.I, f"I{name}")
        L = None if total.L is None else self._bind_inertia(total.L, f"L{name}")
        N = None if total.N is None else _rows([[self.graph.bind(total.N[r][c], f"N{name}_{'xyz'[r]}{'xyz'[c]}")
                                                 for c in range(3)] for r in range(3)])
        return Sums(self._bind(total.f, f"f{name}"), self._bind(total.n, f"n{name}"), self._bind(total.C, f"C{name}"),
                    total.m, I, L, N, self._bind(total.cf, f"cf{name}"), self._bind(total.cn, f"cn{name}"),
                    self._bind(total.p, f"p{name}"), self._bind(total.lf, f"lf{name}"),
                    self._bind(total.ln, f"ln{name}"))

    def _general(self, s: Sums) -> Sums:
        """With L and N, which a rigid body has too."""
        if s.L is not None:
            return s
        mass, zero = self.graph.const(s.m * self.unit), self.graph.const(0.0)
        x, y, z = s.C
        return replace(s, L=_rows([[mass if r == c else zero for c in range(3)] for r in range(3)]),
                       N=_rows([[zero, z, -y], [-z, zero, x], [y, -x, zero]]))

    def _added(self, a: Sums, b: Sums) -> Sums:
        if a.L is not None or b.L is not None:
            a, b = self._general(a), self._general(b)
        I, L, N = (None if x is None or y is None else _rows([[x[r][c] + y[r][c] for c in range(3)] for r in range(3)])
                   for x, y in ((a.I, b.I), (a.L, b.L), (a.N, b.N)))
        return Sums(add(a.f, b.f), add(a.n, b.n), add(a.C, b.C), a.m + b.m, I, L, N, add(a.cf, b.cf), add(a.cn, b.cn),
                    add(a.p, b.p), add(a.lf, b.lf), add(a.ln, b.ln))

    def _answer(self, s: Sums, de: Vec, da: Vec) -> tuple[Vec, Vec]:
        """Change of f and n if the accelerations change by de, da."""
        assert s.I is not None
        if s.L is None or s.N is None:
            df = add(scale(s.m * self.unit, da), cross(de, s.C))
            return df, add(cross(s.C, da), _apply(s.I, de))
        transposed = _rows([[s.N[c][r] for c in range(3)] for r in range(3)])
        return add(_apply(s.L, da), _apply(s.N, de)), add(_apply(transposed, da), _apply(s.I, de))

    def _inwards(self, i: int, beyond: bool) -> None:
        graph, piece, name = self.graph, self.tree.pieces[i], self._name(i)
        spring = i in self.springs
        graph.block(f'Link {name}, "{piece.name}": force and moment')
        total = self._gathered(i, beyond or spring)
        f, n = total.final
        force = f[2] if piece.prismatic else n[2]
        if not spring:
            force = force + (total.lf if piece.prismatic else total.ln)[2]
        stiffness = 0.0 if spring else self.stiffness(i)
        if stiffness:
            unit = "FT_METRE_UNIT" if piece.prismatic else "FT_TURN_UNIT"
            force = force + stiffness * graph.bind(self._position(i, unit) - self._joint(i).rest, f"stretch{name}")
        self.force[i] = graph.bind(force, f"F{name}")
        self.about[i] = total
        if spring:
            total = self._yielding(i, total, beyond)
        if piece.parent != GROUND:
            self.sent[i] = self._sent(i, total)

    def _yielding(self, i: int, s: Sums, beyond: bool) -> Sums:
        """What a spring makes of the sums beyond it: it gives way to them, and to changes of its parent's motion."""
        graph, name, piece = self.graph, self._name(i), self.tree.pieces[i]
        zero, one = graph.const(0.0), graph.const(1.0)
        axis, none = (zero, zero, one), self._zero()
        Ff, Fn = self._answer(s, none, axis) if piece.prismatic else self._answer(s, axis, none)
        own = self.stiffness(i) + 2.0 * self._joint(i).friction.viscous / self.tree.dt
        S = graph.bind((Ff if piece.prismatic else Fn)[2] + own, f"S{name}")
        b = graph.bind(self.stretch[i][3] - self.force[i], f"b{name}")
        k = self.springs.index(i)
        d0, give = graph.call(f"const ft_way way{name} = ft_elastic_give(&s->elastic, {k}u, {{0}}, {{1}});",
                              (f"way{name}.d", f"way{name}.give"), (S, b), 20, acts=True)
        Ff, Fn = self._bind(Ff, f"Ff{name}"), self._bind(Fn, f"Fn{name}")
        self.give[i] = d0, give, Ff, Fn
        cf = add(s.cf, scale(d0, Ff))
        cn = add(s.cn, scale(d0, Fn))
        if not beyond:
            return replace(self._sums(add(s.f, cf), add(s.n, cn), s.C, s.m), lf=s.lf, ln=s.ln)
        s = self._general(s)
        assert s.L is not None and s.N is not None and s.I is not None
        gf = self._bind(scale(give, Ff), f"gf{name}")
        gn = self._bind(scale(give, Fn), f"gn{name}")
        L, N, I = (_rows([[A[r][c] - x[r] * y[c] for c in range(3)] for r in range(3)])
                   for A, x, y in ((s.L, gf, Ff), (s.N, gf, Fn), (s.I, gn, Fn)))
        return Sums(s.f, s.n, s.C, s.m, _symmetric([list(row) for row in I]), _symmetric([list(row) for row in L]), N,
                    cf, cn, s.p, s.lf, s.ln)

    def _correct_spring(self, i: int, de: Vec, da: Vec) -> None:
        """Move a spring on, its parent's accelerations changed by de, da (body frame), and correct what is beyond
        it."""
        graph, name, piece = self.graph, self._name(i), self.tree.pieces[i]
        d0, give, Ff, Fn = self.give[i]
        pushed = graph.bind(_dot(Ff, da) + _dot(Fn, de), f"push{name}")
        d = graph.bind(d0 - give * pushed, f"d{name}")
        graph.call(f"const ft_real taken{name} = ft_elastic_take(&s->elastic, {self.springs.index(i)}u, {{0}});",
                   (f"taken{name}",), (d,), 15, acts=True)
        if piece.prismatic:
            da = (da[0], da[1], da[2] + d)
        else:
            de = (de[0], de[1], de[2] + d)
        de, da = self._bind(de, f"de{name}"), self._bind(da, f"da{name}")
        for c in self.children[i]:
            self._correct(c, de, da)

    def _sent(self, i: int, s: Sums) -> Sums:
        """From the body frame of a joint's piece to its parent's."""
        piece, name = self.tree.pieces[i], self._name(i)
        E, d = self._frame(i)
        if piece.prismatic:
            s = self._shifted(s, self._slide(i))
        else:
            pair = self.pairs[i]
            s = self._rotated(s, lambda a: turn_back(a, pair), lambda A: _turned_back_z(A, pair))
        s = self._rotated(s, lambda a: _times(E, a), lambda A: _conjugate(E, A))
        s = replace(s, f=self._bind(s.f, f"f{name}_t"), n=self._bind(s.n, f"n{name}_o"),
                    C=self._bind(s.C, f"C{name}_o"))
        s = self._shifted(s, self._vec(d))
        return replace(s, n=self._bind(s.n, f"n{name}_t"), C=self._bind(s.C, f"C{name}_t"))

    @staticmethod
    def _rotated(s: Sums, vector: Callable[[Vec], Vec], symmetric: Callable[[Matrix], Matrix]) -> Sums:
        """In other axes."""
        N = s.N
        if N is not None:
            columns = [vector(column) for column in zip(*N, strict=True)]
            x, y, z = (vector((columns[0][r], columns[1][r], columns[2][r])) for r in range(3))
            N = (x, y, z)
        return Sums(vector(s.f), vector(s.n), vector(s.C), s.m, None if s.I is None else symmetric(s.I),
                    None if s.L is None else symmetric(s.L), N, vector(s.cf), vector(s.cn), vector(s.p), vector(s.lf),
                    vector(s.ln))

    def _shifted(self, s: Sums, d: Vec) -> Sums:
        """About a point from which the old one is d away."""
        mass = s.m * self.unit
        moved = add(s.C, scale(mass, d))
        I, N = s.I, s.N
        if I is not None and s.L is not None and N is not None:
            new = (add(N[0], cross(d, s.L[0])), add(N[1], cross(d, s.L[1])), add(N[2], cross(d, s.L[2])))
            before = [cross(d, column) for column in zip(*N, strict=True)]
            after = [cross(d, column) for column in zip(*new, strict=True)]
            I = _symmetric([[I[r][c] + before[r][c] + after[c][r] for c in range(3)] for r in range(3)])
            N = new
        elif I is not None:  # I - [d]([C] + m[d]) - [C][d]
            more = add(s.C, moved)
            dot = _dot(d, more)
            I = _symmetric([[I[r][c] - 0.5 * (d[r] * more[c] + d[c] * more[r]) + (dot if r == c else 0.0)
                             for c in range(3)] for r in range(3)])
        return Sums(s.f, add(s.n, cross(d, s.f)), moved, s.m, I, s.L, N, s.cf, add(s.cn, cross(d, s.cf)), s.p, s.lf,
                    add(s.ln, cross(d, s.lf)))

    def _torque(self, i: int) -> None:
        j = self.number[self.tree.pieces[i].mover]
        self.graph.store(f"tau[{j}]", self.force[i])

    # ---- flexible links
    def _link(self, i: int, beyond: bool) -> None:
        """A flexible link from its hub out to the tip and all beyond, its march, and back to the hub."""
        graph, piece = self.graph, self.tree.pieces[i]
        link, n = piece.tip, f"b{self.tree.beams.index(i) + 1}"
        bears = piece.mass > 0.0 or bool(self.children[i])
        graph.block(f'Flexible link "{link.name}": root')
        w, e, a = (self._bind(v, f"{letter}{n}_r") for letter, v in zip("wea", self._carried(i), strict=True))
        calm = [self._bind(v, f"{letter}{n}_s") for letter, v in zip("wea", self._carried(i, calm=True), strict=True)]
        self.roots[i] = calm[0], calm[1], calm[2]
        zero = graph.const(0.0)
        bend: dict[str, tuple[Expr, ...]] = {}
        for plane, (first, count) in self.modes[i].items():
            name = f"bend{n}{plane}"
            bend[plane] = graph.call(f"const ft_bend {name} = ft_elastic_predict(&s->elastic, {first}u, {count}u);",
                                     tuple(f"{name}.{m}"
                                           for m in ("at", "slope", "rate", "slope_rate", "d", "slope_d")),
                                     (), 12 * count, acts=True)
        self.rolls |= not w[0].is_zero
        none = (zero,) * 6
        arm = (graph.const(link.length), bend.get("y", none)[0], bend.get("z", none)[0])
        total: Sums | None = None
        if bears:
            total = self._beyond(i, w, e, a, arm, bend.get("y", none), bend.get("z", none))
        drawn = self._drawn(i, n, total)
        # the link alone, with nothing at its tip
        graph.block(f'Flexible link "{link.name}": march')
        free = {plane: self._free(i, plane, n, w, e, a) for plane in self.modes[i]}
        F: dict[str, tuple[Expr, ...]] = {plane: (zero, zero) for plane in self.modes[i]}
        added = self._led(i, n, drawn, total, arm)
        if total is not None:
            F, total = self._corrected(i, n, bend, free, total, None if not beyond else arm)
        total = replace(self._borne(i, n, w, e, a, F, total, arm, beyond), lf=added[0], ln=added[1])
        self.sent[i] = self._to_hub(i, n, self._giving(i, total) if beyond else total)
        if not beyond:
            self._torques(i)

    def _beyond(self, i: int, w: Vec, e: Vec, a: Vec, arm: Vec, y: tuple[Expr, ...], z: tuple[Expr, ...]) -> Sums:
        """What the tip carries, as predicted: about the tip, in the root's frame. y, z: as ft_elastic_predict has
        them."""
        graph, tip = self.graph, self._name(i)
        zero = graph.const(0.0)
        turns: list[tuple[Expr, Expr]] = []
        for plane, angle in (("y", y[1]), ("z", z[1])):
            name = f"r{tip}{plane}"
            if angle.is_zero:
                turns.append((graph.const(1.0), zero))
            else:
                cosine, sine = graph.call(f"const ft_pair {name} = ft_elastic_turn({{0}});", (f"{name}.c", f"{name}.s"),
                                          (angle,), 14)
                turns.append((cosine, sine))
        self.tip_turns = self.turns[i] = turns
        coriolis = cross(w, (zero, y[2] + y[2], z[2] + z[2]))
        at_tip = add(add(_carried(w, e, a, arm), coriolis), (zero, y[4], z[4]))
        between = (w[0], w[1], w[2] + y[3])
        turned = (e[0] + w[1] * y[3], e[1] - w[0] * y[3], e[2] + y[5])
        axis = self._slope_axis(turns[0])
        turn_z = scale(z[3], axis)
        swing = add(between, turn_z)
        turned = add(turned, add(cross(between, turn_z), scale(z[5], axis)))
        self.w[i], self.e[i], self.a[i] = (
            self._bind(self._to_tip(self._bind(v, f"{letter}{tip}_r"), turns), f"{letter}{tip}")
            for letter, v in zip("wea", (swing, turned, at_tip), strict=True))
        ws, es, as_ = self.roots[i]
        lever = (graph.const(self.tree.pieces[i].tip.length), zero, zero)
        self.calm[i] = ws, es, self._bind(_carried(ws, es, as_, lever), f"a{tip}_s")
        for c in self.children[i]:
            self._branch(c, beyond=True)
        self.tip_turns = turns
        graph.block(f'Flexible link "{self.tree.pieces[i].tip.name}": what the tip carries')
        s = self._gathered(i, beyond=True)
        assert s.I is not None
        self.straight[i] = s.p

        def symmetric(A: Matrix) -> Matrix:
            A = A if z[1].is_zero else _turned_back_y(A, turns[1])
            return A if y[1].is_zero else _turned_back_z(A, turns[0])

        s = self._rotated(s, lambda v: self._from_tip(v, turns), symmetric)
        assert s.I is not None
        f, n, C = (self._bind(v, f"{letter}{tip}_r") for letter, v in zip("fnC", (s.f, s.n, s.C), strict=True))
        return replace(s, f=f, n=n, C=C, I=self._bind_inertia(s.I, f"I{tip}_r"))

    def _drawn(self, i: int, n: str, tip: Sums | None) -> Drawn:
        """How the link is drawn towards its root; what tension does to its modes is left with them."""
        graph, zero = self.graph, self.graph.const(0.0)
        straight = self._zero() if tip is None else self.straight[i]
        w, _, a = self.roots[i]
        graph.block(f'Flexible link "{self.tree.pieces[i].tip.name}": tension')
        needs = (graph.bind(w[1] * w[1] + w[2] * w[2], f"whirl{n}"), a[0], straight[0])
        sums = [zero] * 8
        for plane, (first, _) in self.modes[i].items():
            name = f"draw{n}{plane}"
            found = graph.call(f"const ft_drawn {name} = ft_elastic_draw(&s->elastic, {self.tree.beams.index(i)}u, "
                               f"{first}u, {{0}}, {{1}}, {{2}});", tuple(f"{name}.{m}" for m in DRAWN), needs, 120,
                               acts=True)
            sums = [x + y for x, y in zip(sums, found, strict=True)]
        u = [graph.bind(x, f"{m}{n}") for m, x in zip(DRAWN, sums, strict=True)]
        return Drawn((u[0], u[1], u[2]), (u[3], u[4], u[5]), (u[6], u[7]), straight)

    def _led(self, i: int, n: str, drawn: Drawn, tip: Sums | None, arm: Vec) -> tuple[Vec, Vec]:
        """Force and moment at a link's root, to be added for driven joints, as it keeps its length; and to the forces
        of the driven joints that it carries."""
        zero, (w, e, a) = self.graph.const(0.0), self.roots[i]
        x = (self.graph.const(1.0), zero, zero)
        by, rate = drawn.second
        across, turned = (zero, w[1], w[2]), (zero, e[1], e[2])
        f = self._led_by(drawn.first, w, e)
        n_ = _minus(scale(-drawn.first[0], cross(x, a)), scale(rate + rate, across))
        n_ = _minus(n_, scale(by + by, add(turned, cross(w, across))))
        if tip is not None:
            change = self._bind(self._led_by(drawn.tip, w, e), f"led{n}")
            led = scale(tip.m * self.unit, change)
            lever = scale(self.tree.pieces[i].tip.length, x)
            f = add(f, add(tip.lf, led))
            n_ = add(n_, add(add(tip.ln, cross(arm, tip.lf)), add(cross(tip.C, change), cross(lever, led))))
            n_ = _minus(n_, scale(drawn.tip[0], cross(x, drawn.straight)))
            change = self._to_tip(change, self.turns[i])
            for c in self.children[i]:
                self._lead(c, change, n)
        return self._bind(f, f"lf{n}_r"), self._bind(n_, f"ln{n}_r")

    @staticmethod
    def _led_by(u: tuple[Expr, Expr, Expr], w: Vec, e: Vec) -> Vec:
        """Acceleration of a point, or a first moment, drawn by u along x, beyond what it has where it was."""
        at, rate, change = u
        swing = rate + rate
        return (at * (w[1] * w[1] + w[2] * w[2]) - change, -(swing * w[2] + at * (e[2] + w[0] * w[1])),
                swing * w[1] + at * (e[1] - w[0] * w[2]))

    def _lead(self, i: int, da: Vec, by: str) -> None:
        """Add to the forces of the driven joints from piece i on: an acceleration da of its parent, from link `by`."""
        piece, name = self.tree.pieces[i], self._name(i)
        da = _times(self._frame(i)[0].T, da)
        if piece.link is not None:
            da = self._to_tip(da, self.turns[i]) if i in self.turns else da
        else:
            da = da if piece.prismatic else turn(da, self.pairs[i])
            da = self._bind(da, f"da{name}_{by}")
            if i not in self.springs:
                s = self.about[i]
                more = s.m * self.unit * da[2] if piece.prismatic else cross(s.C, da)[2]
                self.force[i] = self.graph.bind(self.force[i] + more, f"F{name}_{by}")
        for c in self.children[i]:
            self._lead(c, da, by)

    def _slope_axis(self, pair: tuple[Expr, Expr]) -> Vec:
        """About which a slope in z turns: -y of the frame that the slope in y has turned; root frame."""
        c, s = pair
        return (s, -c, self.graph.const(0.0))

    @staticmethod
    def _to_tip(a: Vec, turns: list[tuple[Expr, Expr]]) -> Vec:
        a = turn(a, turns[0])
        c, s = turns[1]
        return (c * a[0] + s * a[2], a[1], c * a[2] - s * a[0])

    @staticmethod
    def _from_tip(a: Vec, turns: list[tuple[Expr, Expr]]) -> Vec:
        c, s = turns[1]
        return turn_back((c * a[0] - s * a[2], a[1], s * a[0] + c * a[2]), turns[0])

    def _free(self, i: int, plane: str, n: str, w: Vec, e: Vec, a: Vec) -> tuple[Expr, ...]:
        """Accelerations of the tip in one plane if it carried nothing."""
        graph, planes = self.graph, self.modes[i]
        first, count = planes[plane]
        if plane == "y":
            pull, pull_x, fling = a[1], e[2] + w[0] * w[1], w[2] * w[2] + w[0] * w[0]
            across, spin = w[1] * w[2] - e[0], -(w[0] + w[0])
        else:
            pull, pull_x, fling = a[2], w[0] * w[2] - e[1], w[1] * w[1] + w[0] * w[0]
            across, spin = w[1] * w[2] + e[0], w[0] + w[0]
        needs = [graph.bind(x, f"{name}{n}{plane}") for x,
                 name in ((pull, "pull"), (pull_x, "pull_x"), (fling, "fling"))]
        text = "{0}, {1}, {2}"
        if self.two_planes:
            both = len(planes) == 2
            other = planes["z" if plane == "y" else "y"][0] if both else first
            needs += [graph.bind(x, f"{name}{n}{plane}") if both else graph.const(0.0)
                      for x, name in ((across, "across"), (spin, "spin"))]
            text += ", {3}, {4}"
        name = f"free{n}{plane}"
        ahead = f"{other}u, " if self.two_planes else ""
        call = f"const ft_nod {name} = ft_elastic_free(&s->elastic, {ahead}{first}u, {count}u, {text});"
        return graph.call(call, (f"{name}.at", f"{name}.slope"), tuple(needs), 12 * count, acts=True)

    @property
    def nested(self) -> bool:
        """Whether a flexible link hangs on something that bends."""
        return any(isinstance(s, Call) and s.function.name == "ft_elastic_adjust" for s in self.graph.statements)

    @property
    def two_planes(self) -> bool:
        return any(len(planes) == 2 for planes in self.modes.values())

    def _corrected(self, i: int, n: str, bend: dict[str, tuple[Expr, ...]], free: dict[str, tuple[Expr, ...]],
                   s: Sums, arm: Vec | None) -> tuple[dict[str, tuple[Expr, ...]], Sums]:
        """The tip's motion made one with what it carries. Forces on the tip's coordinates, corrected sums.

        arm: to the tip, where the link hangs on something that bends: what is beyond is then corrected with that.
        """
        graph, tip = self.graph, self._name(i)
        assert s.I is not None
        zero, one = graph.const(0.0), graph.const(1.0)
        slides = {"y": (zero, one, zero), "z": (zero, zero, one)}
        turns = {"y": (zero, zero, one), "z": self._slope_axis(self.tip_turns[0])}
        coordinates = [(plane, kind) for plane in self.modes[i] for kind in ("", "s")]
        axes = [turns[plane] if kind else slides[plane] for plane, kind in coordinates]
        size = len(coordinates)
        F0, answers = [], []
        for (plane, kind), axis in zip(coordinates, axes, strict=True):
            F0.append(graph.bind(_dot(axis, s.final[1 if kind else 0]), f"F{tip}{plane}{kind}"))
            answers.append(self._answer(s, axis, self._zero()) if kind else self._answer(s, self._zero(), axis))
        H = {}
        for r, (_, kind) in enumerate(coordinates):
            for c in range(r + 1):
                H[r, c] = graph.bind(_dot(axes[r], answers[c][1 if kind else 0]), f"H{n}_{r + 1}{c + 1}")
        G_inverse = self.tip_stiffness(i)
        change = []
        for plane, kind in coordinates:
            k = 1 if kind else 0
            change.append(graph.bind(free[plane][k] - bend[plane][4 + k], f"change{n}{plane}{kind}"))
        right = []
        for r in range(size):
            total = -F0[r]
            for c in range(size):
                if G_inverse[r, c]:
                    total = total + float(G_inverse[r, c]) * change[c]
            right.append(graph.bind(total, f"b{n}_{r + 1}"))
        S = [graph.bind(H[r, c] + float(G_inverse[r, c]), f"S{n}_{r + 1}{c + 1}") for r in range(size)
             for c in range(r + 1)]
        d = self._yield(f"d{n}", S, right)
        F: dict[str, tuple[Expr, ...]] = {}
        for k, plane in enumerate(self.modes[i]):
            forces = []
            for r in (2 * k, 2 * k + 1):
                more: Expr = zero
                for c in range(size):
                    more = more + H[max(r, c), min(r, c)] * d[c]
                forces.append(F0[r] + more)
            F[plane] = tuple(forces)
        da, de = self._tip_change(axes, d)
        df, dn = self._answer(s, de, da)
        f, moment = self._bind(add(s.final[0], df), f"f{tip}_d"), self._bind(add(s.final[1], dn), f"n{tip}_d")
        if arm is not None:
            at_root = [(f_c, self._bind(add(n_c, cross(arm, f_c)), f"R{n}_{r + 1}")) for r,
                       (f_c, n_c) in enumerate(answers)]
            self.carried[i] = Carried(self.tip_turns, arm, axes, d, S, H, at_root)
            return F, replace(s, f=f, n=moment, cf=self._zero(), cn=self._zero())
        de_tip, da_tip = self._to_tip(de, self.tip_turns), self._to_tip(da, self.tip_turns)
        for c in self.children[i]:
            self._correct(c, de_tip, da_tip)
        return F, self._sums(f, moment, s.C, s.m)

    def _yield(self, name: str, S: list[Expr], b: list[Expr]) -> tuple[Expr, ...]:
        """x of S x = b; S: lower triangle of a symmetric matrix, row by row."""
        size = len(b)
        slots = ", ".join(f"{{{k}}}" for k in range(len(S) + size))
        members = ("at", "slope") if size == 2 else ("y.at", "y.slope", "z.at", "z.slope")
        kind = "ft_nod" if size == 2 else "ft_nods"
        return self.graph.call(f"const {kind} {name} = ft_elastic_yield{size}(&s->elastic, {slots});",
                               tuple(f"{name}.{m}" for m in members), (*S, *b), 30 if size == 2 else 110)

    def _tip_change(self, axes: list[Vec], d: Sequence[Expr]) -> tuple[Vec, Vec]:
        """Of a tip's acceleration and angular acceleration, root frame; d of its coordinates, deflection and slope in
        turn."""
        da, de = self._zero(), self._zero()
        for r, axis in enumerate(axes):
            moved: Vec = scale(d[r], axis)
            if r % 2:
                de = add(de, moved)
            else:
                da = add(da, moved)
        return da, de

    def _correct(self, i: int, de: Vec, da: Vec) -> None:
        """What a change de, da of the parent's accelerations is to the force of joint i and of those beyond."""
        graph, piece, name = self.graph, self.tree.pieces[i], self._name(i)
        if piece.link is not None:
            self._correct_link(i, de, da)
            return
        E, d = self._frame(i)
        da = _times(E.T, add(da, cross(de, self._vec(d))))
        de = _times(E.T, de)
        if piece.prismatic:
            da = add(da, cross(de, self._slide(i)))
        else:
            de, da = turn(de, self.pairs[i]), turn(da, self.pairs[i])
        if i in self.springs:
            self._correct_spring(i, de, da)
            return
        de, da = self._bind(de, f"de{name}"), self._bind(da, f"da{name}")
        more = self._answer(self.about[i], de, da)[0 if piece.prismatic else 1][2]
        self.force[i] = graph.bind(self.force[i] + more, f"F{name}_d")
        for c in self.children[i]:
            self._correct(c, de, da)

    def _borne(self, i: int, n: str, w: Vec, e: Vec, a: Vec, F: dict[str, tuple[Expr, ...]],
               tip: Sums | None, arm: Vec, beyond: bool) -> Sums:
        """Let the link take the forces of its tip; what it and its tip have for the hub, about and in the root's
        frame."""
        graph, piece, unit = self.graph, self.tree.pieces[i], self.unit
        link, zero = piece.tip, graph.const(0.0)
        sums: dict[str, tuple[Expr, ...]] = {}
        for plane, (first, count) in self.modes[i].items():
            name = f"link{n}{plane}"
            sums[plane] = graph.call(
                f"const ft_bent {name} = ft_elastic_bear(&s->elastic, {first}u, {count}u, {{0}}, {{1}});",
                tuple(f"{name}.{m}" for m in ("first", "second", "rate", "d", "d_x", "square", "swing", "rate_x")),
                tuple(graph.bind(x, f"bear{n}{plane}_{k + 1}") for k, x in enumerate(F[plane])), 25 * count, acts=True)
        Sy, Gy, dSy, ddSy, ddGy, yy, ydy, dGy = sums.get("y", (zero,) * 8)
        Sz, Gz, dSz, ddSz, ddGz, zz, zdz, dGz = sums.get("z", (zero,) * 8)
        spin, yz, zdy, ydz = zero, zero, zero, zero
        if len(sums) == 2:
            (fy, count), (fz, _) = self.modes[i]["y"], self.modes[i]["z"]
            spin, yz, zdy, ydz = graph.call(
                f"const ft_cross across{n} = ft_elastic_across(&s->elastic, {fy}u, {fz}u, {count}u);",
                tuple(f"across{n}.{m}" for m in ("spin", "product", "zdy", "ydz")), (Sy, Sz), 16 * count)
        m, along = link.mass * unit, link.mass * unit * link.length**2 / 3.0
        S = (graph.const(0.5 * m * link.length), Sy, Sz)
        thick = link.section * unit
        I = _rows([[yy + zz + float(thick[0]), -Gy, -Gz],
                   [-Gy, along + float(thick[1]) + zz, -yz],
                   [-Gz, -yz, along + float(thick[2]) + yy]])
        swung = add(cross(w, S), (zero, dSy + dSy, dSz + dSz))
        f = add(add(scale(m, a), cross(e, S)), add(cross(w, swung), (zero, ddSy, ddSz)))
        half = (w[0] * (ydy + zdz), w[1] * zdz - w[0] * dGy - w[2] * zdy, w[2] * ydy - w[0] * dGz - w[1] * ydz)
        relative = add(add(half, half), (spin, -ddGz, ddGy))
        moment = add(add(cross(S, a), _apply(I, e)), add(cross(w, _apply(I, w)), relative))
        total = self._sums(self._bind(f, f"f{n}_r"), self._bind(moment, f"n{n}_r"), S, link.mass, I if beyond else None)
        straight = self._zero()
        if tip is not None:
            total, straight = self._added(total, self._shifted(tip, arm)), self.straight[i]
        w, e, a = self.roots[i]
        return replace(total, p=add(straight, add(scale(m, a), _swung(w, e, (S[0], zero, zero)))))

    def _giving(self, i: int, s: Sums) -> Sums:
        """What a flexible link makes of the sums about its root, I, L and N: it gives way to changes of its hub's
        motion.

        With c the modes' part in the motion of the root r, R the forces on the tip's coordinates that r makes, and B =
        phi A^-1 c, the inertia is M - c'A^-1 c + B'G^-1 B - Q'(G^-1 + H)^-1 Q, Q = R + G^-1 B.
        """
        s = self._general(s)
        assert s.I is not None and s.L is not None and s.N is not None
        full = [[*s.L[r], *s.N[r]] for r in range(3)] + [[s.N[c][r] for c in range(3)] + list(s.I[r]) for r in range(3)]
        A, B = self._root_response(i)
        self.response[i] = B
        if i in self.carried:
            G_inverse, carried = self.tip_stiffness(i), self.carried[i]
            size = len(carried.axes)
            GB = [[_sum(float(G_inverse[r, k]) * B[k][c] for k in range(size)) for c in range(6)] for r in range(size)]
            Q = [[x + y for x, y in zip((*f, *n), GB[r], strict=True)] for r, (f, n) in enumerate(carried.forces)]
            zero, one = self.graph.const(0.0), self.graph.const(1.0)
            name = f"give{self._name(i)}"
            inverse = [self._yield(f"{name}_{c + 1}", carried.S, [one if r == c else zero for r in range(size)])
                       for c in range(size)]
            X = [[_sum(inverse[k][r] * Q[k][c] for k in range(size)) for c in range(6)] for r in range(size)]
            A = [[A[r][c] - _sum(B[k][r] * GB[k][c] - Q[k][r] * X[k][c] for k in range(size)) for c in range(6)]
                 for r in range(6)]
        full = [[full[r][c] - A[r][c] for c in range(6)] for r in range(6)]
        return replace(s, L=_symmetric([row[:3] for row in full[:3]]), N=_rows([row[3:] for row in full[:3]]),
                       I=_symmetric([row[3:] for row in full[3:]]))

    def _root_response(self, i: int) -> tuple[list[list[Expr]], list[list[Expr]]]:
        """c'A^-1 c (6, 6) and phi A^-1 c (T, 6) of the root's accelerations (a, e). Bent one way, modes of the other
        are moved by e about the link's own axis."""
        graph, link, dt = self.graph, self.tree.pieces[i].tip, self.tree.dt
        n, zero = f"b{self.tree.beams.index(i) + 1}", graph.const(0.0)
        A = [[zero] * 6 for _ in range(6)]
        B: list[list[Expr]] = []

        def put(r: int, c: int, value: Expr) -> None:
            A[r][c] = A[r][c] + value
            if r != c:
                A[c][r] = A[c][r] + value

        for plane, (first, count) in self.modes[i].items():
            K = link.stiffness[plane]
            march = 1.0 / (4.0 / dt**2 + K + 2.0 * link.damping * K / dt)
            pull, turn, sign = (1, 5, 1.0) if plane == "y" else (2, 4, -1.0)
            beta, gamma = self.unit * link.beta, sign * self.unit * link.gamma
            put(pull, pull, graph.const(float(beta @ (march * beta))))
            put(pull, turn, graph.const(float(beta @ (march * gamma))))
            put(turn, turn, graph.const(float(gamma @ (march * gamma))))
            rows = [[zero] * 6 for _ in range(2)]
            for row, shape in zip(rows, (link.tip, link.slope), strict=True):
                row[pull], row[turn] = graph.const(float(shape @ (march * beta))), graph.const(float(shape
                                                                                                     @ (march * gamma)))
            if len(self.modes[i]) == 2:
                other = self.modes[i]["z" if plane == "y" else "y"][0]
                name = f"roll{n}{plane}"
                by_shape, by_x, square, at, slope = graph.call(
                    f"const ft_roll {name} = ft_elastic_roll(&s->elastic, {other}u, {first}u, {count}u);",
                    tuple(f"{name}.{m}" for m in ("shape", "x_shape", "square", "at", "slope")),
                    (graph.load(f"link{n}y.first"), graph.load(f"link{n}z.first")), 14 * count)
                put(pull, 3, -sign * by_shape)
                put(turn, 3, -by_x)
                put(3, 3, square)
                rows[0][3], rows[1][3] = -sign * at, -sign * slope
            B += rows
        return A, B

    def _to_hub(self, i: int, n: str, s: Sums) -> Sums:
        """From a flexible link's root to its parent's frame."""
        E, d = self._frame(i)
        s = self._rotated(s, lambda v: _times(E, v), lambda A: _conjugate(E, A))
        s = replace(s, f=self._bind(s.f, f"f{n}_t"), n=self._bind(s.n, f"n{n}_o"), C=self._bind(s.C, f"C{n}_o"))
        s = self._shifted(s, self._vec(d))
        return replace(s, n=self._bind(s.n, f"n{n}_t"), C=self._bind(s.C, f"C{n}_t"))

    def _correct_link(self, i: int, de: Vec, da: Vec) -> None:
        """Move a flexible link on, its parent's accelerations changed by de, da (body frame), and correct what is
        beyond."""
        graph, n = self.graph, f"b{self.tree.beams.index(i) + 1}"
        E, offset = self._frame(i)
        da = self._bind(_times(E.T, add(da, cross(de, self._vec(offset)))), f"da{n}_r")
        de = self._bind(_times(E.T, de), f"de{n}_r")
        zero, count = graph.const(0.0), 2 * len(self.modes[i])
        F = [zero] * count
        if i in self.carried:
            carried = self.carried[i]
            G_inverse, B = self.tip_stiffness(i), self.response[i]
            motion = (*da, *de)
            led = [_sum(B[k][c] * motion[c] for c in range(6)) for k in range(count)]
            pushed = [graph.bind(_dot(f, da) + _dot(m, de), f"push{n}_{r + 1}") for r,
                      (f, m) in enumerate(carried.forces)]
            asked = [graph.bind(-(pushed[r] + _sum(float(G_inverse[r, k]) * led[k] for k in range(count))),
                                f"ask{n}_{r + 1}")
                     for r in range(count)]
            d = self._yield(f"more{n}", carried.S, asked)
            F = [pushed[r] + _sum(carried.H[max(r, c), min(r, c)] * d[c] for c in range(count)) for r in range(count)]
            whole = [graph.bind(carried.d[r] + d[r], f"d{n}_{r + 1}") for r in range(count)]
            da_tip, de_tip = self._tip_change(carried.axes, whole)
            da_tip, de_tip = add(da_tip, add(da, cross(de, carried.arm))), add(de_tip, de)
            da_tip, de_tip = self._to_tip(da_tip, carried.turns), self._to_tip(de_tip, carried.turns)
            for c in self.children[i]:
                self._correct(c, de_tip, da_tip)
        for k, (plane, (first, modes)) in enumerate(self.modes[i].items()):
            pull = (da[1], de[2]) if plane == "y" else (da[2], -de[1])
            needs = [graph.bind(x, f"adjust{n}{plane}_{j + 1}") for j, x in enumerate((*pull, *F[2 * k:2 * k + 2]))]
            ahead, text = "", "{0}, {1}, {2}, {3}"
            if self.two_planes:
                both = len(self.modes[i]) == 2
                ahead = f"{self.modes[i]['z' if plane == 'y' else 'y'][0] if both else first}u, "
                roll = -de[0] if plane == "y" else de[0]
                needs.append(graph.bind(roll, f"adjust{n}{plane}_5") if both else zero)
                text += ", {4}"
            graph.call(f"ft_elastic_adjust(&s->elastic, {ahead}{first}u, {modes}u, {text});",
                       (f"adjusted{n}{plane}",), tuple(needs), 16 * modes, acts=True)

    def stiffness(self, i: int) -> float:
        """Of the spring at the joint of piece i, N m/rad or N/m."""
        j = self.tree.pieces[i].joint
        assert j is not None
        return joint_stiffness(self.model, j)

    def tip_stiffness(self, i: int) -> np.ndarray:
        """G^-1 of the tip's coordinates: deflection and slope of each plane."""
        link, dt = self.tree.pieces[i].tip, self.tree.dt
        blocks = []
        for plane in link.planes:
            K = link.stiffness[plane]
            march = 4.0 / dt**2 + K + 2.0 * link.damping * K / dt
            phi = np.array([link.tip, link.slope])
            blocks.append(np.linalg.inv(phi @ (phi / march).T))
        size = 2 * len(blocks)
        result = np.zeros((size, size))
        for k, block in enumerate(blocks):
            result[2 * k:2 * k + 2, 2 * k:2 * k + 2] = block
        return result

    # ---- what is to be emitted
    @property
    def intro(self) -> list[str]:
        """The comment at the head of the C."""
        return INTRO.splitlines()

    @property
    def turning(self) -> list[int]:
        """The pieces of driven joints whose turning frames something depends on."""
        _, live = self.graph.live()
        return [i for i, (c, _) in self.pairs.items() if i not in self.springs and isinstance(c, Result)
                and c.call in live]


def _carried(w: Vec, e: Vec, a: Vec, d: Vec) -> Vec:
    """Acceleration of a point that is d from the origin and fixed in the frame."""
    return add(a, _swung(w, e, d))


def _swung(w: Vec, e: Vec, d: Vec) -> Vec:
    """e x d + w x (w x d), by the components that the others leave over."""
    return add(cross(e, d), cross(w, cross(w, d)))


def _minus(a: Vec, b: Vec) -> Vec:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def _rows(a: list[list[Expr]]) -> Matrix:
    x, y, z = ((p, q, r) for p, q, r in a)
    return x, y, z


def _sum(terms: Iterable[Expr]) -> Expr:
    first, *others = terms
    for term in others:
        first = first + term
    return first


def _dot(a: Vec, b: Vec) -> Expr:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _apply(A: Matrix, x: Vec) -> Vec:
    return (_dot(A[0], x), _dot(A[1], x), _dot(A[2], x))


def _times(A: np.ndarray, x: Vec) -> Vec:
    """A constant matrix times a vector."""
    rows = [float(row[0]) * x[0] + float(row[1]) * x[1] + float(row[2]) * x[2] for row in A]
    return (rows[0], rows[1], rows[2])


def _conjugate(E: np.ndarray, I: Matrix) -> Matrix:
    """E I E' of a constant rotation."""
    half = [_times(E, column) for column in zip(*I, strict=True)]  # columns of E I
    rows = [[half[c][r] for c in range(3)] for r in range(3)]
    full = [_times(E, (row[0], row[1], row[2])) for row in rows]
    return _symmetric([list(row) for row in full])


def _symmetric(a: list[list[Expr]]) -> Matrix:
    return _rows([[a[min(r, c)][max(r, c)] for c in range(3)] for r in range(3)])


def _turned_back_z(I: Matrix, pair: tuple[Expr, Expr]) -> Matrix:
    """R I R' with R about z by the pair's angle."""
    c, s = pair
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = I
    cc, ss, cs = c * c, s * s, c * s
    new_xy = cs * (xx - yy) + (cc - ss) * xy
    return _symmetric([[cc * xx - 2.0 * (cs * xy) + ss * yy, new_xy, c * xz - s * yz],
                       [new_xy, ss * xx + 2.0 * (cs * xy) + cc * yy, s * xz + c * yz],
                       [xz, yz, zz]])


def _turned_back_y(I: Matrix, pair: tuple[Expr, Expr]) -> Matrix:
    """R I R' with R x = (c x - s z, y, s x + c z)."""
    c, s = pair
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = I
    cc, ss, cs = c * c, s * s, c * s
    new_xz = cs * (xx - zz) + (cc - ss) * xz
    return _symmetric([[cc * xx - 2.0 * (cs * xz) + ss * zz, c * xy - s * yz, new_xz],
                       [xy, yy, s * xy + c * yz],
                       [new_xz, yz, ss * xx + 2.0 * (cs * xz) + cc * zz]])


def _tidy(A: np.ndarray) -> np.ndarray:
    """Exact zeros and ones where an entry is one to rounding."""
    A = np.where(np.abs(A) < TINY, 0.0, A)
    return np.where(np.abs(np.abs(A) - 1.0) < TINY, np.sign(A), A)


def _small(A: np.ndarray) -> np.ndarray:
    """Without entries that are rounding errors of the others."""
    return np.where(np.abs(A) < TINY * max(float(np.abs(A).max()), 1e-30), 0.0, A)


def add(a: Vec, b: Vec) -> Vec:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def scale(k: Expr | float, a: Vec) -> Vec:
    return (k * a[0], k * a[1], k * a[2])


def cross(a: Vec, b: Vec) -> Vec:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def turn(a: Vec, pair: tuple[Expr, Expr]) -> Vec:
    """Components in a frame turned about z."""
    c, s = pair
    return (c * a[0] + s * a[1], c * a[1] - s * a[0], a[2])


def turn_back(a: Vec, pair: tuple[Expr, Expr]) -> Vec:
    c, s = pair
    return (c * a[0] - s * a[1], s * a[0] + c * a[1], a[2])
