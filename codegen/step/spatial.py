"""The step of any tree, as a graph: the recursions of discretisation.Spatial in the frames of base_parameters.py.

Units inside: inertias are multiplied by 2 / dt^2 and first moments, for gravity, by |g| / 2, so that with half
increments u for rates every momentum and force comes out as a torque and no other factor is left. The unit of length
is one of the mechanism's own offsets, whose products then vanish.
"""

from __future__ import annotations

import numpy as np

from codegen.beam import joint_stiffness
from codegen.model import GROUND, Model
from codegen.step.base_parameters import Body, Tree
from codegen.step.frames import FrameStep, Vec, add, cross, cross_z, scale, tilt, turn, turn_back, untilt
from codegen.step.graph import Expr, Function

INTRO = """
Variational midpoint rule: in each tick the mechanism sits at its mean
position and moves at its mean rate. With P the generalised momentum of a
joint and D half a tick's force of motion and gravity on it,

    tau = (P - D) - X,   X <- P + D.

Outwards: angular velocity w and velocity v of each joint's origin, direction
of gravity g. Inwards: momentum p, angular momentum h, first moment C of all
that hangs on the joint. Vectors are in the frame of their joint, whose z is
its axis; joints with parallel axes share one frame, which turns with none of
them. _b is in the body's own frame, turned by the pair r; _s at the joint's
origin, but in the parent body's frame; _t a sum on its way to that frame.

Units: inertias are base parameters times 2 / tick^2, first moments are times
half of gravity, velocities are per half tick, so that P and D are in N m (N).
Lengths are in units of {length:.9g} m.
""".strip()


class SpatialStep(FrameStep):
    """The graph of one step of a tree."""

    turn = Function("ft_advance", "ft_pair", ("c", "s"), cost=11)

    def __init__(self, model: Model, tree: Tree) -> None:
        super().__init__(model, tree)
        n = model.n
        self.inertia_unit = 2.0 / model.dt**2
        self.moment_unit = 0.5 * float(np.linalg.norm(model.gravity))
        self.reach = [self._reach(b) for b in tree.bodies]
        self.w: list[Vec] = [self._zero()] * n  # in the joint's frame
        self.v: list[Vec] = [self._zero()] * n
        self.g: list[Vec] = [self._zero()] * n
        self.wb: dict[int, Vec] = {}  # in the body's own frame
        self.vb: dict[int, Vec] = {}
        self.gb: dict[int, Vec] = {}
        self.mass = [b.mass for b in tree.bodies]
        for b in reversed(tree.bodies):
            if b.parent != GROUND:
                self.mass[b.parent] += self.mass[b.joint]
        self.p_group: dict[int, list[tuple[Vec, Vec, Vec]]] = {j: [] for j in range(n)}
        self.p_body: dict[int, list[tuple[Vec, Vec, Vec]]] = {j: [] for j in range(n)}
        self._walk()

    def _reach(self, b: Body) -> float:
        """Length that the turning pair of a body is multiplied by: with it, the pair is the link vector."""
        group = [c for c in b.children if self.tree.bodies[c].continues]
        if not group or len(group) < len(b.children):
            return 1.0
        return float(np.hypot(*self.tree.bodies[group[0]].offset[:2])) / self.length or 1.0

    # ---- outwards
    def _outwards(self, j: int) -> None:
        graph, b = self.graph, self.tree.bodies[j]
        link = self.model.bodies[j].joint.child
        self.outward_block[j] = graph.block(f'Link {j + 1}, "{link}": velocities')
        name = str(j + 1)
        if b.parent == GROUND:
            w, v, g = self._zero(), self._zero(), self._vec(self.tree.gravity[j])
        elif b.continues:
            p = b.parent
            w, g = self.w[p], self.g[p]
            v = self._bind(add(self.v[p], cross(w, self._offset(j))), f"v{name}")
        else:
            wb, vb, gb = self._body_frame(b.parent)
            v = self._bind(add(vb, cross(wb, self._offset(j))), f"v{name}_s")
            w, v, g = (untilt(a, b) for a in (wb, v, gb))
            w, v, g = self._bind(w, f"w{name}_f"), self._bind(v, f"v{name}_f"), self._bind(g, f"g{name}")
        u = graph.input("u", j)
        if b.prismatic:
            v = add(v, cross(w, self._slide(j)))
            v = self._bind((v[0], v[1], v[2] + u), f"v{name}")
        else:
            w = (w[0], w[1], graph.bind(w[2] + b.sign * u, f"w{name}_z"))
        self.w[j], self.v[j], self.g[j] = w, v, g

    def _offset(self, j: int) -> Vec:
        """From the parent's origin to this one's: in the group's frame if it continues one, else in the body's."""
        b = self.tree.bodies[j]
        if b.continues:
            return self._bind(
                turn_back(self._vec(b.offset / (self.length * self.reach[b.parent])), self._pair(b.parent)), f"l{j + 1}"
            )
        return self._vec(b.offset / self.length)

    def _position(self, j: int) -> Expr:
        """Mid-tick position of joint j, rad or m."""
        return self.graph.bind(self.graph.input("q", j) - self.graph.input("u", j), f"q{j + 1}")

    def _body_frame(self, j: int) -> tuple[Vec, Vec, Vec]:
        """w, v, g of body j in its own, turned frame."""
        if self.tree.bodies[j].prismatic:
            return self.w[j], self.v[j], self.g[j]
        return self._turned(j, "w"), self._turned(j, "v"), self._turned(j, "g")

    def _turned(self, j: int, which: str) -> Vec:
        if self.tree.bodies[j].prismatic:
            return {"w": self.w, "v": self.v, "g": self.g}[which][j]
        made = {"w": self.wb, "v": self.vb, "g": self.gb}[which]
        if j not in made:
            v = {"w": self.w, "v": self.v, "g": self.g}[which][j]
            back = self.graph.enter(self.outward_block[j])
            made[j] = v if v[0].is_zero and v[1].is_zero else self._bind(turn(v, self._pair(j)), f"{which}{j + 1}_b")
            self.graph.enter(back)
        return made[j]

    # ---- inwards
    def _inwards(self, j: int) -> None:
        graph, b = self.graph, self.tree.bodies[j]
        graph.block(f'Link {j + 1}, "{self.model.bodies[j].joint.child}": momenta and torque')
        name = str(j + 1)
        p, h = self._own(b)
        C = self._vec(self._first_moment(b) / [self.reach[j], self.reach[j], 1.0], self.moment_unit)
        p, h = self._bind(p, f"p{name}_own"), self._bind(h, f"h{name}_own")
        for pc, hc, Cc in self.p_body[j]:
            p, h, C = add(p, pc), add(h, hc), add(C, Cc)
        D_body: Expr | None = None
        if not b.prismatic:
            p, h, C = self._bind(p, f"p{name}_b"), self._bind(h, f"h{name}_b"), self._bind(C, f"C{name}_b")
            if self.tree.choices[j].D == "body" and not self.p_group[j] and not b.mass:
                wb, vb, gb = self._body_frame(j)
                D_body = cross_z(h, wb) + cross_z(p, vb) + cross_z(C, gb)
            p, h, C = (self._back(j, a) for a in (p, h, C))
        p = add(p, scale(graph.const(b.mass * self.length**2 * self.inertia_unit), self.v[j]))
        for pc, hc, Cc in self.p_group[j]:
            p, h, C = add(p, pc), add(h, hc), add(C, Cc)
        p, h, C = self._bind(p, f"p{name}"), self._bind(h, f"h{name}"), self._bind(C, f"C{name}")
        w, v, g = self.w[j], self.v[j], self.g[j]
        if b.prismatic:
            P = p[2]
            D = cross_z(p, w) + graph.const(self.mass[j] * self.moment_unit) * g[2]
        else:
            P = h[2] * b.sign
            D = (D_body if D_body is not None else cross_z(h, w) + cross_z(p, v) + cross_z(C, g)) * b.sign
        joint = self.model.bodies[j].joint
        stiffness = joint_stiffness(self.model, j)
        if stiffness:
            away = graph.bind(self._position(j) - joint.rest, f"stretch{name}")
            D = D - graph.const(0.5 * stiffness) * away
        P, D = graph.bind(P, f"P{name}"), graph.bind(D, f"D{name}")
        graph.output("tau", j, P - D - graph.state("X", j))
        graph.keep("X", j, P + D)
        if b.parent == GROUND:
            return
        if b.continues:
            d = self._offset(j)
            self.p_group[b.parent].append((p, add(h, cross(d, p)), C))
            return
        if b.prismatic:
            slide = self._slide(j)
            h = self._bind(add(h, cross(slide, p)), f"h{name}_o")
            C = self._bind((C[0], C[1], C[2] + graph.const(self.mass[j] * self.moment_unit) * slide[2]), f"C{name}_o")
        p, h, C = (tilt(a, b) for a in (p, h, C))
        p, h, C = self._bind(p, f"p{name}_t"), self._bind(h, f"h{name}_t"), self._bind(C, f"C{name}_t")
        self.p_body[b.parent].append((p, add(h, cross(self._offset(j), p)), C))

    def _first_moment(self, b: Body) -> np.ndarray:
        """First moment of the body with the masses of all that hangs on it put where they hang, body frame, kg m."""
        hung = [self.mass[c] * self.tree.bodies[c].offset for c in b.children]
        return b.moment + sum(hung, np.zeros(3))

    def _own(self, b: Body) -> tuple[Vec, Vec]:
        """Momentum and angular momentum of body j alone, in its own frame."""
        unit, j, r = self.inertia_unit, b.joint, self.reach[b.joint]
        shrink = np.array([1.0 / r, 1.0 / r, 1.0])
        L = b.inertia * np.outer(shrink, shrink) * unit
        l = self._vec(b.moment * shrink[[1, 2, 0]] * shrink[[2, 0, 1]] * self.length, unit)
        w = self._turned(j, "w") if np.any(b.inertia) or np.any(b.moment) else self._zero()
        v = self._turned(j, "v") if np.any(b.moment) else self._zero()
        rows = tuple(float(a[0]) * w[0] + float(a[1]) * w[1] + float(a[2]) * w[2] for a in L)
        return cross(w, l), add((rows[0], rows[1], rows[2]), cross(l, v))

    def _back(self, j: int, v: Vec) -> Vec:
        """From the body's own frame to the joint's."""
        if v[0].is_zero and v[1].is_zero:
            return v
        return turn_back(v, self._pair(j))

    # ---- what is to be emitted
    @property
    def intro(self) -> list[str]:
        """The comment at the head of the C."""
        return INTRO.format(length=self.length).splitlines()
