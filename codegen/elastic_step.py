"""The step of mechanisms with flexible links, as a graph: the recursions of elastic_discretisation.py in body frames.

Every piece of the tree has a frame whose z is its joint's axis, turned with the joint; a flexible link's root has the
link's own axes, its tip these turned by the slopes there. Units are those of spatial_step.py: rates are half increments
u, inertias are multiplied by 2 / dt^2, gravity is counted as dt^2 / 4 times an acceleration, so that P and D are in N m
(N). Modal coordinates are multiplied by sqrt(2) / dt, which makes their inertia 1.

What a flexible link does itself is the C of ft_elastic.c (elastic_source.py), asked for four times a tick: where its tip
will be; where it would be without anything at the tip; by how much that is to be corrected; what the link has for its
hub.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from codegen.beam import joint_stiffness
from codegen.flexible_tree import FlexibleTree, flexible_tree
from codegen.frame_step import Vec, add, cross, cross_z, turn, turn_back
from codegen.mechanism import Joint
from codegen.model import GROUND, Model, rotation_axis, skew
from codegen.newmark_source import frame_to_axis
from codegen.step_graph import Expr, Graph

Matrix = tuple[Vec, Vec, Vec]  # rows; symmetric where it is an inertia

TINY = 1e-12  # rotations: below this an entry is a rounding error

INTRO = """
Variational midpoint rule: in each tick the mechanism sits at its mean
position and moves at its mean rate. With P the generalised momentum of a
joint and D half a tick's force of motion and gravity on it,

    tau = (P - D) - X,   X <- P + D.

The modes of flexible links have the same equation without tau: it is solved
for their half increments (ft_elastic.c), with the motion of their tips first
as predicted from the last ticks and then corrected. H is the inertia of what a
tip carries, f = P - D of the tip's own coordinates.

Outwards: angular velocity w and velocity v of each origin, gravity g. Inwards:
momentum p, angular momentum h, first moment C, beyond flexible links also the
inertia I, of all that hangs there. Vectors are in the frame of their body,
whose z is the joint's axis; _j is before the joint turns it, _r a flexible
link's root, _t a sum on its way to the parent, d the correction.

Units: inertias are times 2 / tick^2, velocities per half tick, gravity times
tick^2 / 4, so that P and D are in N m (N).
""".strip()


@dataclass
class Sums:
    """Of all that hangs on a piece, about its origin, in its body frame. I only where something bends on the way in.

    p and h are of the motion as predicted; cp and ch are to be added for what springs beyond give way to that motion.
    A change dv, dw of it changes p by m dv + dw x C and h by C x dv + I dw; or, where springs give way, by L dv + N dw
    and N' dv + I dw.
    """

    p: Vec
    h: Vec
    C: Vec
    m: float
    I: Matrix | None
    L: Matrix | None
    N: Matrix | None
    cp: Vec
    ch: Vec

    @property
    def final(self) -> tuple[Vec, Vec]:
        """p and h with what springs have given way."""
        return add(self.p, self.cp), add(self.h, self.ch)


class ElasticStep:
    """The graph of one step of a tree with flexible links."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tree: FlexibleTree = flexible_tree(model.mechanism)
        self.graph = Graph()
        self.unit = 2.0 / model.dt**2
        self.pairs: dict[int, tuple[Expr, Expr]] = {}  # of joints
        self.w: dict[int, Vec] = {}
        self.v: dict[int, Vec] = {}
        self.g: dict[int, Vec] = {}
        self.about: dict[int, Sums] = {}  # of all that hangs on a joint's piece, about its own origin
        self.sent: dict[int, Sums] = {}  # the same as its parent takes it
        self.momentum: dict[int, tuple[Expr, Expr]] = {}  # P and D of joints, not stored yet
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
        self.mode_count = first
        self.number = {j: k for k, j in enumerate(self.tree.driven)}  # of joints in q, u and tau
        self.springs = [i for i, piece in enumerate(pieces) if piece.joint in self.tree.springs]
        self.stretch: dict[int, tuple[Expr, ...]] = {}  # of springs: stretch, half increment, force as predicted
        self.give: dict[int, tuple[Expr, Expr, Vec, Vec]] = {}  # d without motion of the parent, 1 / S, p and h of d = 1
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
            self._link(i)
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

    def _carried(self, i: int) -> tuple[Vec, Vec, Vec]:
        """w, v, g at the origin of piece i, in its frame at position zero."""
        piece = self.tree.pieces[i]
        E, d = self._frame(i)
        if piece.parent == GROUND:
            return self._zero(), self._zero(), self._vec(_tidy(E.T @ self.tree.gravity), self.tree.dt**2 / 4.0)
        w, v, g = self.w[piece.parent], self.v[piece.parent], self.g[piece.parent]
        v = add(v, cross(w, self._vec(d)))
        return _times(E.T, w), _times(E.T, v), _times(E.T, g)

    def _position(self, i: int, unit: str) -> Expr:
        """Mid-tick position of the driven joint of piece i, rad or m."""
        j = self.number[self.tree.pieces[i].joint]  # type: ignore[index]
        at_end = self.graph.load(f"(ft_real)q_next[{j}] * {unit}")
        return self.graph.bind(at_end - self.graph.load(f"u[{j}]"), f"q{self._name(i)}")

    def _outwards(self, i: int) -> None:
        graph, piece, name = self.graph, self.tree.pieces[i], self._name(i)
        graph.block(f'Link {name}, "{piece.name}": velocities')
        if i in self.springs:
            k, label = self.springs.index(i), f"spring{name}"
            self.stretch[i] = graph.call(f"const ft_stretch {label} = ft_elastic_stretch(&s->elastic, {k}u);",
                                         tuple(f"{label}.{m}" for m in ("at", "u", "force")), (), 12, acts=True)
            u = self.stretch[i][1]
        else:
            u = graph.load(f"u[{self.number[piece.joint]}]")  # type: ignore[index]
        w, v, g = self._carried(i)
        if piece.prismatic:
            v = add(v, cross(w, self._slide(i)))
            v = (v[0], v[1], v[2] + u)
        else:
            if i in self.springs:
                call, needs = f"const ft_pair r{name} = ft_elastic_turn({{0}});", (self.stretch[i][0],)
            else:
                call, needs = f"const ft_pair r{name} = ft_advance(&s->turn[@{i}], {{0}});", (u,)
            c, s = graph.call(call, (f"r{name}.c", f"r{name}.s"), needs, 11)
            self.pairs[i] = (c, s)
            w, v, g = (turn(self._bind(a, f"{letter}{name}_j"), self.pairs[i]) for letter, a in zip("wvg", (w, v, g), strict=True))
            w = (w[0], w[1], w[2] + u)
        self.w[i], self.v[i], self.g[i] = (self._bind(a, f"{letter}{name}") for letter, a in zip("wvg", (w, v, g), strict=True))

    def _sums(self, p: Vec, h: Vec, C: Vec, m: float, I: Matrix | None = None) -> Sums:
        """Without springs."""
        return Sums(p, h, C, m, I, None, None, self._zero(), self._zero())

    def _own(self, i: int, beyond: bool) -> Sums:
        """Of the piece alone."""
        piece, Q = self.tree.pieces[i], self.axes[i]
        com = _small(Q.T @ piece.com)
        J = _small(Q.T @ piece.inertia @ Q - piece.mass * skew(com) @ skew(com))
        I, C = self._constant(J, self.unit), self._vec(piece.mass * com, self.unit)
        w, v = self.w[i], self.v[i]
        p = add(tuple(piece.mass * self.unit * a for a in v), cross(w, C))  # type: ignore[arg-type]
        h = add(_apply(I, w), cross(C, v))
        return self._sums(p, h, C, piece.mass, I if beyond else None)

    def _gathered(self, i: int, beyond: bool) -> Sums:
        """Of the piece and of what its children have sent."""
        name, total = self._name(i), self._own(i, beyond)
        for c in self.children[i]:
            total = self._added(total, self.sent[c])
        I = None if total.I is None else self._bind_inertia(total.I, f"I{name}")
        L = None if total.L is None else self._bind_inertia(total.L, f"L{name}")
        N = None if total.N is None else _rows([[self.graph.bind(total.N[r][c], f"N{name}_{'xyz'[r]}{'xyz'[c]}")
                                                 for c in range(3)] for r in range(3)])
        return Sums(self._bind(total.p, f"p{name}"), self._bind(total.h, f"h{name}"), self._bind(total.C, f"C{name}"),
                    total.m, I, L, N, self._bind(total.cp, f"cp{name}"), self._bind(total.ch, f"ch{name}"))

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
        matrices = [None if x is None or y is None else _rows([[x[r][c] + y[r][c] for c in range(3)] for r in range(3)])
                    for x, y in ((a.I, b.I), (a.L, b.L), (a.N, b.N))]
        return Sums(add(a.p, b.p), add(a.h, b.h), add(a.C, b.C), a.m + b.m, *matrices, add(a.cp, b.cp), add(a.ch, b.ch))

    def _answer(self, s: Sums, dw: Vec, dv: Vec) -> tuple[Vec, Vec]:
        """Change of p and h if the motion changes by dw, dv."""
        assert s.I is not None
        if s.L is None or s.N is None:
            dp = add(tuple(s.m * self.unit * x for x in dv), cross(dw, s.C))  # type: ignore[arg-type]
            return dp, add(cross(s.C, dv), _apply(s.I, dw))
        transposed = _rows([[s.N[c][r] for c in range(3)] for r in range(3)])
        return add(_apply(s.L, dv), _apply(s.N, dw)), add(_apply(transposed, dv), _apply(s.I, dw))

    def _inwards(self, i: int, beyond: bool) -> None:
        graph, piece, name = self.graph, self.tree.pieces[i], self._name(i)
        spring = i in self.springs
        graph.block(f'Link {name}, "{piece.name}": momenta')
        total = self._gathered(i, beyond or spring)
        w, v, g = self.w[i], self.v[i], self.g[i]
        p, h = (total.p, total.h) if beyond or spring else total.final
        if piece.prismatic:
            P, D = total.final[0][2], cross_z(p, w) + total.m * self.unit * g[2]
        else:
            P, D = total.final[1][2], cross_z(h, w) + cross_z(p, v) + cross_z(total.C, g)
        stiffness = 0.0 if spring else self.stiffness(i)
        if stiffness:
            unit = "FT_METRE_UNIT" if piece.prismatic else "FT_TURN_UNIT"
            D = D - 0.5 * stiffness * graph.bind(self._position(i, unit) - self._joint(i).rest, f"stretch{name}")
        self.momentum[i] = graph.bind(P, f"P{name}"), graph.bind(D, f"D{name}")
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
        Fp, Fh = self._answer(s, none, axis) if piece.prismatic else self._answer(s, axis, none)
        joint = self._joint(i)
        own = 0.5 * self.stiffness(i) + joint.friction.viscous / self.tree.dt
        P, D = self.momentum[i]
        S = graph.bind((Fp if piece.prismatic else Fh)[2] + own, f"S{name}")
        b = graph.bind(self.stretch[i][2] - (P - D), f"b{name}")
        k = self.springs.index(i)
        d0, give = graph.call(f"const ft_way way{name} = ft_elastic_give(&s->elastic, {k}u, {{0}}, {{1}});",
                              (f"way{name}.d", f"way{name}.give"), (S, b), 20, acts=True)
        Fp, Fh = self._bind(Fp, f"Fp{name}"), self._bind(Fh, f"Fh{name}")
        self.give[i] = d0, give, Fp, Fh
        cp = add(s.cp, tuple(d0 * x for x in Fp))  # type: ignore[arg-type]
        ch = add(s.ch, tuple(d0 * x for x in Fh))  # type: ignore[arg-type]
        if not beyond:
            return self._sums(add(s.p, cp), add(s.h, ch), s.C, s.m)
        s = self._general(s)
        assert s.L is not None and s.N is not None and s.I is not None
        gp = self._bind(tuple(give * x for x in Fp), f"gp{name}")  # type: ignore[arg-type]
        gh = self._bind(tuple(give * x for x in Fh), f"gh{name}")  # type: ignore[arg-type]
        L, N, I = (_rows([[A[r][c] - a[r] * e[c] for c in range(3)] for r in range(3)])
                   for A, a, e in ((s.L, gp, Fp), (s.N, gp, Fh), (s.I, gh, Fh)))
        return Sums(s.p, s.h, s.C, s.m, _symmetric([list(row) for row in I]), _symmetric([list(row) for row in L]), N,
                    cp, ch)

    def _correct_spring(self, i: int, dw: Vec, dv: Vec) -> None:
        """Move a spring on, its parent's motion changed by dw, dv (body frame), and correct what is beyond it."""
        graph, name, piece = self.graph, self._name(i), self.tree.pieces[i]
        d0, give, Fp, Fh = self.give[i]
        pushed = graph.bind(_dot(Fp, dv) + _dot(Fh, dw), f"push{name}")
        d = graph.bind(d0 - give * pushed, f"d{name}")
        P, D = self.momentum[i]
        on = graph.bind(P + D + pushed + (Fp if piece.prismatic else Fh)[2] * d, f"on{name}")
        graph.call(f"const ft_real taken{name} = ft_elastic_take(&s->elastic, {self.springs.index(i)}u, {{0}}, {{1}});",
                   (f"taken{name}",), (d, on), 15, acts=True)
        if piece.prismatic:
            dv = (dv[0], dv[1], dv[2] + d)
        else:
            dw = (dw[0], dw[1], dw[2] + d)
        dw, dv = self._bind(dw, f"dw{name}"), self._bind(dv, f"dv{name}")
        for c in self.children[i]:
            self._correct(c, dw, dv)

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
        s = replace(s, p=self._bind(s.p, f"p{name}_t"), h=self._bind(s.h, f"h{name}_o"), C=self._bind(s.C, f"C{name}_o"))
        s = self._shifted(s, self._vec(d))
        return replace(s, h=self._bind(s.h, f"h{name}_t"), C=self._bind(s.C, f"C{name}_t"))

    @staticmethod
    def _rotated(s: Sums, vector: Callable[[Vec], Vec], symmetric: Callable[[Matrix], Matrix]) -> Sums:
        """In other axes."""
        N = s.N
        if N is not None:
            columns = [vector(column) for column in zip(*N, strict=True)]
            N = tuple(vector((columns[0][r], columns[1][r], columns[2][r])) for r in range(3))  # type: ignore[assignment]
        return Sums(vector(s.p), vector(s.h), vector(s.C), s.m, None if s.I is None else symmetric(s.I),
                    None if s.L is None else symmetric(s.L), N, vector(s.cp), vector(s.ch))

    def _shifted(self, s: Sums, d: Vec) -> Sums:
        """About a point from which the old one is d away."""
        mass = s.m * self.unit
        moved = add(s.C, tuple(mass * a for a in d))  # type: ignore[arg-type]
        I, N = s.I, s.N
        if I is not None and s.L is not None and N is not None:
            new = tuple(add(N[r], cross(d, s.L[r])) for r in range(3))
            before = [cross(d, column) for column in zip(*N, strict=True)]
            after = [cross(d, column) for column in zip(*new, strict=True)]
            I = _symmetric([[I[r][c] + before[r][c] + after[c][r] for c in range(3)] for r in range(3)])
            N = new  # type: ignore[assignment]
        elif I is not None:  # I - [d]([C] + m[d]) - [C][d]
            more = add(s.C, moved)
            dot = _dot(d, more)
            I = _symmetric([[I[r][c] - 0.5 * (d[r] * more[c] + d[c] * more[r]) + (dot if r == c else 0.0)
                             for c in range(3)] for r in range(3)])
        return Sums(s.p, add(s.h, cross(d, s.p)), moved, s.m, I, s.L, N, s.cp, add(s.ch, cross(d, s.cp)))

    def _torque(self, i: int) -> None:
        graph, j = self.graph, self.number[self.tree.pieces[i].joint]  # type: ignore[index]
        P, D = self.momentum[i]
        graph.store(f"tau[{j}]", P - D - graph.load(f"s->X[{j}]"))
        graph.store(f"s->X[{j}]", P + D)

    # ---- flexible links
    def _link(self, i: int) -> None:
        """A flexible link from its hub out to the tip and all beyond, its march, and back to the hub."""
        graph, piece = self.graph, self.tree.pieces[i]
        link, n = piece.tip, str(self.tree.beams.index(i) + 1)
        bears = piece.mass > 0.0 or bool(self.children[i])
        graph.block(f'Flexible link "{link.name}": root')
        w, v, g = self._carried(i)
        w, v, g = self._bind(w, f"w{n}_r"), self._bind(v, f"v{n}_r"), self._bind(g, f"g{n}_r")
        zero = graph.const(0.0)
        bend: dict[str, tuple[Expr, ...]] = {}
        for plane, (first, count) in self.modes[i].items():
            name = f"bend{n}{plane}"
            bend[plane] = graph.call(f"const ft_bend {name} = ft_elastic_predict(&s->elastic, {first}u, {count}u);",
                                     tuple(f"{name}.{m}" for m in ("at", "slope", "u", "slope_u")), (), 10 * count,
                                     acts=True)
        y, sy, uy, suy = bend.get("y", (zero,) * 4)
        z, sz, uz, suz = bend.get("z", (zero,) * 4)
        arm = (graph.const(link.length), y, z)
        total: Sums | None = None
        if bears:
            total = self._beyond(i, w, v, g, arm, (uy, uz), (sy, sz), (suy, suz))
        # the link alone, with nothing at its tip
        graph.block(f'Flexible link "{link.name}": march')
        free = {}
        for plane in self.modes[i]:
            free[plane] = self._free(i, plane, n, w, v, g)
        f: dict[str, tuple[Expr, ...]] = {plane: (zero,) * 4 for plane in self.modes[i]}
        if total is not None:
            f, total = self._corrected(i, n, w, v, g, arm, bend, free, total)
        self.sent[i] = self._borne(i, n, w, v, f, total, arm)
        self._torques(i)

    def _beyond(self, i: int, w: Vec, v: Vec, g: Vec, arm: Vec, u: tuple[Expr, Expr], slope: tuple[Expr, Expr],
                slope_u: tuple[Expr, Expr]) -> Sums:
        """What the tip carries, as predicted: about the tip, in the root's frame."""
        graph, tip = self.graph, self._name(i)
        turns = []
        for plane, angle in zip("yz", slope, strict=True):
            name = f"r{tip}{plane}"
            if angle.is_zero:
                turns.append((graph.const(1.0), graph.const(0.0)))
            else:
                turns.append(graph.call(f"const ft_pair {name} = ft_elastic_turn({{0}});", (f"{name}.c", f"{name}.s"),
                                        (angle,), 14))
        self.tip_turns = turns
        at_tip = add(add(v, cross(w, arm)), (graph.const(0.0), *u))
        at_tip = self._bind(at_tip, f"v{tip}_r")
        between = (w[0], w[1], w[2] + slope_u[0])
        a_z = self._slope_axis(turns[0])
        turning = add(between, tuple(slope_u[1] * a for a in a_z))  # type: ignore[arg-type]
        self.at_tip, self.between = at_tip, between
        self.w[i], self.v[i], self.g[i] = (
            self._bind(self._to_tip(self._bind(a, f"{letter}{tip}_r"), turns), f"{letter}{tip}")
            for letter, a in zip("wvg", (turning, at_tip, g), strict=True))
        kept = (self.tip_turns, self.at_tip, self.between)
        for c in self.children[i]:
            self._branch(c, beyond=True)
        self.tip_turns, self.at_tip, self.between = kept
        graph.block(f'Flexible link "{self.tree.pieces[i].tip.name}": what the tip carries')
        s = self._gathered(i, beyond=True)
        assert s.I is not None

        def symmetric(A: Matrix) -> Matrix:
            A = A if slope[1].is_zero else _turned_back_y(A, turns[1])
            return A if slope[0].is_zero else _turned_back_z(A, turns[0])

        s = self._rotated(s, lambda a: self._from_tip(a, turns), symmetric)
        assert s.I is not None
        p, h, C = (self._bind(a, f"{letter}{tip}_r") for letter, a in zip("phC", (s.p, s.h, s.C), strict=True))
        return replace(s, p=p, h=h, C=C, I=self._bind_inertia(s.I, f"I{tip}_r"))

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

    def _free(self, i: int, plane: str, n: str, w: Vec, v: Vec, g: Vec) -> tuple[Expr, ...]:
        """Half increments of the tip in one plane if it carried nothing."""
        graph, planes = self.graph, self.modes[i]
        first, count = planes[plane]
        if plane == "y":
            P, P_x = v[1], w[2]
            D, D_x, D_at = w[0] * v[2] - w[2] * v[0] + g[1], -(w[0] * w[1]), w[2] * w[2] + w[0] * w[0]
            across = w[0]
        else:
            P, P_x = v[2], -w[1]
            D, D_x, D_at = w[1] * v[0] - w[0] * v[1] + g[2], -(w[0] * w[2]), w[1] * w[1] + w[0] * w[0]
            across = -w[0]
        needs = [graph.bind(e, f"{name}{n}{plane}") for e, name in
                 ((P, "lag"), (P_x, "lag_x"), (D, "pull"), (D_x, "pull_x"), (D_at, "fling"))]
        text = "{0}, {1}, {2}, {3}, {4}"
        if self.two_planes:
            other = planes["z" if plane == "y" else "y"][0] if len(planes) == 2 else first
            product = w[1] * w[2] if len(planes) == 2 else graph.const(0.0)
            needs += [across if len(planes) == 2 else graph.const(0.0), graph.bind(product, f"fling_across{n}")]
            text += ", {5}, {6}"
        name = f"free{n}{plane}"
        ahead = f"{other}u, " if self.two_planes else ""
        call = f"const ft_nod {name} = ft_elastic_free(&s->elastic, {ahead}{first}u, {count}u, {text});"
        return graph.call(call, (f"{name}.at", f"{name}.slope"), tuple(needs), 15 * count, acts=True)

    @property
    def two_planes(self) -> bool:
        return any(len(planes) == 2 for planes in self.modes.values())

    def _corrected(self, i: int, n: str, w: Vec, v: Vec, g: Vec, arm: Vec, bend: dict[str, tuple[Expr, ...]],
                   free: dict[str, tuple[Expr, ...]], s: Sums) -> tuple[dict[str, tuple[Expr, ...]], Sums]:
        """The tip's motion made one with what it carries. Forces on the tip (f of both sides of s_k), corrected sums."""
        graph, tip, unit = self.graph, self._name(i), self.unit
        assert s.I is not None
        zero, one = graph.const(0.0), graph.const(1.0)
        e = {"y": (zero, one, zero), "z": (zero, zero, one)}
        a = {"y": (zero, zero, one), "z": self._slope_axis(self.tip_turns[0])}
        at = {"y": w, "z": self.between}
        slide = add(cross(s.p, w), tuple(s.m * unit * x for x in g))  # type: ignore[arg-type]
        rest = add(cross(s.p, self.at_tip), cross(s.C, g))
        coordinates: list[tuple[str, str]] = [(plane, kind) for plane in self.modes[i] for kind in ("", "s")]
        P, D, lin, ang = {}, {}, {}, {}
        for plane, kind in coordinates:
            key = (plane, kind)
            label = f"{tip}{plane}{kind}"
            if kind:
                P[key] = _dot(a[plane], s.final[1])
                D[key] = _dot(a[plane], add(cross(s.h, at[plane]), rest))
                lin[key], ang[key] = self._answer(s, a[plane], self._zero())
            else:
                P[key], D[key] = _dot(e[plane], s.final[0]), _dot(e[plane], slide)
                lin[key], ang[key] = self._answer(s, self._zero(), e[plane])
            P[key], D[key] = graph.bind(P[key], f"P{label}"), graph.bind(D[key], f"D{label}")
        size = len(coordinates)
        H = {}
        for r, (plane, kind) in enumerate(coordinates):
            for c in range(r + 1):
                value = _dot(a[plane], ang[coordinates[c]]) if kind else _dot(e[plane], lin[coordinates[c]])
                H[r, c] = graph.bind(value, f"H{n}_{r + 1}{c + 1}")
        G_inverse = self.tip_stiffness(i)
        change = []
        for plane, kind in coordinates:
            index = 1 if kind else 0
            change.append(graph.bind(free[plane][index] - bend[plane][3 if kind else 2], f"change{n}{plane}{kind}"))
        f0 = [graph.bind(P[key] - D[key], f"f{n}{plane}{kind}") for key in coordinates for plane, kind in [key]]
        right = []
        for r in range(size):
            total = -f0[r]
            for c in range(size):
                if G_inverse[r, c]:
                    total = total + float(G_inverse[r, c]) * change[c]
            right.append(graph.bind(total, f"b{n}_{r + 1}"))
        needs = [graph.bind(H[r, c] + float(G_inverse[r, c]), f"S{n}_{r + 1}{c + 1}") for r in range(size) for c in range(r + 1)]
        needs += right
        slots = ", ".join(f"{{{k}}}" for k in range(len(needs)))
        members = ("at", "slope") if size == 2 else ("y.at", "y.slope", "z.at", "z.slope")
        kind_of = "ft_nod" if size == 2 else "ft_nods"
        d = graph.call(f"const {kind_of} d{n} = ft_elastic_yield{size}(&s->elastic, {slots});", tuple(f"d{n}.{m}" for m in members),
                       tuple(needs), 30 if size == 2 else 110)
        f: dict[str, tuple[Expr, ...]] = {}
        for k, plane in enumerate(self.modes[i]):
            both = []
            for kind in (0, 1):
                r = 2 * k + kind
                more: Expr = zero
                for c in range(size):
                    more = more + H[max(r, c), min(r, c)] * d[c]
                both.append(graph.bind(more, f"more{n}_{r + 1}"))
            keys = [(plane, ""), (plane, "s")]
            f[plane] = (f0[2 * k] + both[0], f0[2 * k + 1] + both[1],
                        P[keys[0]] + D[keys[0]] + both[0], P[keys[1]] + D[keys[1]] + both[1])
        dv, dw = self._zero(), self._zero()
        for r, (plane, kind) in enumerate(coordinates):
            axis = tuple(d[r] * x for x in (a[plane] if kind else e[plane]))
            if kind:
                dw = add(dw, axis)  # type: ignore[arg-type]
            else:
                dv = add(dv, axis)  # type: ignore[arg-type]
        dp, dh = self._answer(s, dw, dv)
        p, h = self._bind(add(s.final[0], dp), f"p{tip}_d"), self._bind(add(s.final[1], dh), f"h{tip}_d")
        turns = self.tip_turns
        dw_tip, dv_tip = self._to_tip(dw, turns), self._to_tip(dv, turns)
        for c in self.children[i]:
            self._correct(c, dw_tip, dv_tip)
        return f, self._sums(p, h, s.C, s.m)

    def _correct(self, i: int, dw: Vec, dv: Vec) -> None:
        """What a change dw, dv of the parent's motion is to the momentum of joint i and of those beyond."""
        graph, piece, name = self.graph, self.tree.pieces[i], self._name(i)
        E, d = self._frame(i)
        dv = _times(E.T, add(dv, cross(dw, self._vec(d))))
        dw = _times(E.T, dw)
        if piece.prismatic:
            dv = add(dv, cross(dw, self._slide(i)))
        else:
            dw, dv = turn(dw, self.pairs[i]), turn(dv, self.pairs[i])
        if i in self.springs:
            self._correct_spring(i, dw, dv)
            return
        dw, dv = self._bind(dw, f"dw{name}"), self._bind(dv, f"dv{name}")
        P, D = self.momentum[i]
        more = self._answer(self.about[i], dw, dv)[0 if piece.prismatic else 1][2]
        self.momentum[i] = graph.bind(P + more, f"P{name}_d"), D
        for c in self.children[i]:
            self._correct(c, dw, dv)

    def _borne(self, i: int, n: str, w: Vec, v: Vec, f: dict[str, tuple[Expr, ...]],
               tip: Sums | None, arm: Vec) -> Sums:
        """Let the link take the forces of its tip; what it and its tip have for the hub, in the hub's frame."""
        graph, piece, unit = self.graph, self.tree.pieces[i], self.unit
        link, zero = piece.tip, graph.const(0.0)
        sums: dict[str, tuple[Expr, ...]] = {}
        for plane, (first, count) in self.modes[i].items():
            name = f"link{n}{plane}"
            sums[plane] = graph.call(
                f"const ft_bent {name} = ft_elastic_bear(&s->elastic, {first}u, {count}u, {{0}}, {{1}}, {{2}}, {{3}});",
                tuple(f"{name}.{m}" for m in ("first", "second", "p", "h", "square")),
                tuple(graph.bind(x, f"bear{n}{plane}_{k + 1}") for k, x in enumerate(f[plane])), 25 * count, acts=True)
        Sy, Gy, py, hy, yy = sums.get("y", (zero,) * 5)
        Sz, Gz, pz, hz, zz = sums.get("z", (zero,) * 5)
        spin, yz = zero, zero
        if len(sums) == 2:
            (fy, count), (fz, _) = self.modes[i]["y"], self.modes[i]["z"]
            spin, yz = graph.call(f"const ft_cross across{n} = ft_elastic_across(&s->elastic, {fy}u, {fz}u, {count}u);",
                                  (f"across{n}.spin", f"across{n}.product"), (Sy, Sz), 8 * count)
        m, along = link.mass * unit, link.mass * unit * link.length**2 / 3.0
        S = (graph.const(0.5 * m * link.length), Sy, Sz)
        thick = link.section * unit
        I = _rows([[yy + zz + float(thick[0]), -Gy, -Gz],
                   [-Gy, along + float(thick[1]) + zz, -yz],
                   [-Gz, -yz, along + float(thick[2]) + yy]])
        p = add(add(tuple(m * x for x in v), cross(w, S)), (zero, py, pz))  # type: ignore[arg-type]
        h = add(add(cross(S, v), _apply(I, w)), (spin, -hz, hy))
        p, h = self._bind(p, f"p{n}_r"), self._bind(h, f"h{n}_r")
        total = self._sums(p, h, S, link.mass)
        if tip is not None:
            total = self._added(total, self._shifted(tip, arm))
        E, d = self._frame(i)
        p, h, C = (_times(E, x) for x in (total.p, total.h, total.C))
        p, h, C = self._bind(p, f"p{n}_t"), self._bind(h, f"h{n}_o"), self._bind(C, f"C{n}_o")
        moved = self._shifted(self._sums(p, h, C, total.m), self._vec(d))
        return replace(moved, h=self._bind(moved.h, f"h{n}_t"), C=self._bind(moved.C, f"C{n}_t"))

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
            march = 2.0 / dt**2 + 0.5 * K + link.damping * K / dt
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
        _, kept = self.graph.live()
        return [i for i in self.pairs if i not in self.springs and self.graph.calls[f"r{self._name(i)}.c"] in kept]

    @property
    def uses_positions(self) -> bool:
        seen, _ = self.graph.live()
        return any("q_next" in self.graph.nodes[i].text for i in seen)


def _rows(a: list[list[Expr]]) -> Matrix:
    return tuple(tuple(row) for row in a)  # type: ignore[return-value]


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
