"""The step of any tree, as a graph: the recursions of discrete.spatial_torque in the frames of base_parameters.py.

Units inside: inertias are multiplied by 2 / dt^2 and first moments, for gravity, by |g| / 2, so that with half
increments u for velocities every momentum and force comes out as a torque and no other factor is left. The unit of
length is one of the mechanism's own offsets, whose products then vanish.
"""

import numpy as np

from femtorque.codegen.common import norm, square
from femtorque.codegen.model import GROUND, Model, joint_stiffness
from femtorque.codegen.step.base_parameters import ReducedBody, Scales, Tree
from femtorque.codegen.step.frames import FrameStep, tilt, untilt
from femtorque.codegen.step.graph import Expr, Function
from femtorque.codegen.step.spatial_algebra import SpatialForce, Vec3, times

INTRO = """
Variational midpoint rule: in each tick the mechanism sits at its mean
position and moves at its mean rate. With P the generalised momentum of a
joint and D half a tick's force of motion and gravity on it,

    tau = (P - D) - X,   X <- P + D.

Outwards: angular velocity w and velocity v of each joint's origin, direction
of gravity g. Inwards: momentum p, angular momentum h, first moment C of all
that hangs on the joint. Vectors are in the frame of their joint, whose z is its
axis; joints with parallel axes share one frame, which turns with none of
them. Other places have an ending:

    _s    at the joint's origin, in the parent body's frame
    _f    in the joint's frame, without the joint's own motion yet
    _b    in the body's own frame, turned by the pair r
    _own  the same, of the body alone
    _o    about where a slide begins
    _t    about the joint's origin, in the parent body's frame
    _neg  with the other sign

r is cosine and sine of a frame, l the vector to an origin, k what is used
twice; _again is loaded from memory once more.

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
        self.inertia_unit = 2.0 / square(model.dt)
        self.moment_unit = 0.5 * float(norm(model.gravity))
        self.reach = [self._reach(b) for b in tree.bodies]
        self.w: list[Vec3] = [self._zero()] * n  # in the joint's frame
        self.v: list[Vec3] = [self._zero()] * n
        self.g: list[Vec3] = [self._zero()] * n
        self.wb: dict[int, Vec3] = {}  # in the body's own frame
        self.vb: dict[int, Vec3] = {}
        self.gb: dict[int, Vec3] = {}
        self.mass = [b.mass for b in tree.bodies]
        for b in reversed(tree.bodies):
            if b.parent != GROUND:
                self.mass[b.parent] += self.mass[b.joint]
        self.from_group: dict[int, list[tuple[SpatialForce, Vec3]]] = {j: [] for j in range(n)}
        self.from_body: dict[int, list[tuple[SpatialForce, Vec3]]] = {j: [] for j in range(n)}
        self._walk()

    def _reach(self, b: ReducedBody) -> float:
        """Return the length that multiplies the turning pair of a body: the pair is then the link vector."""
        group = [c for c in b.children if self.tree.bodies[c].continues]
        if not group or len(group) < len(b.children):
            return 1.0
        return float(norm(self.tree.bodies[group[0]].offset[:2])) / self.length or 1.0

    # ---- outwards
    def _outwards(self, j: int) -> None:
        graph, b = self.graph, self.tree.bodies[j]
        link = self.model.bodies[j].joint.child
        self.outward_block[j] = graph.block(f'Link {j + 1}, "{link}": velocities')
        name = str(j + 1)
        if b.parent == GROUND:
            w, v, g = self._zero(), self._zero(), Vec3.of(graph, self.tree.gravity[j])
        elif b.continues:
            p = b.parent
            w, g = self.w[p], self.g[p]
            v = (self.v[p] + w.cross(self._offset(j))).bind(f"v{name}")
        else:
            wb, vb, gb = self._body_frame(b.parent)
            v = (vb + wb.cross(self._offset(j))).bind(f"v{name}_s")
            w, v, g = (untilt(a, b) for a in (wb, v, gb))
            w, v, g = w.bind(f"w{name}_f"), v.bind(f"v{name}_f"), g.bind(f"g{name}")
        u = graph.input("u", j)
        if b.prismatic:
            v = v + w.cross(self._slide(j))
            v = Vec3(v.x, v.y, v.z + u).bind(f"v{name}")
        else:
            w = Vec3(w.x, w.y, graph.bind(w.z + b.sign * u, f"w{name}_z"))
        self.w[j], self.v[j], self.g[j] = w, v, g

    def _offset(self, j: int) -> Vec3:
        """Return the offset from the parent's origin: in the group's frame if j continues a group, else in the
        body's."""
        b = self.tree.bodies[j]
        if b.continues:
            fixed = Vec3.of(self.graph, b.offset / (self.length * self.reach[b.parent]))
            return fixed.turn_back(self._pair(b.parent)).bind(f"l{j + 1}")
        return Vec3.of(self.graph, b.offset / self.length)

    def _position(self, j: int) -> Expr:
        """Return the mid-tick position of joint j, rad or m."""
        return self.graph.bind(self.graph.input("q", j) - self.graph.input("u", j), f"q{j + 1}")

    def _body_frame(self, j: int) -> tuple[Vec3, Vec3, Vec3]:
        """Return w, v, g of body j in its own, turned frame."""
        if self.tree.bodies[j].prismatic:
            return self.w[j], self.v[j], self.g[j]
        return self._turned(j, "w"), self._turned(j, "v"), self._turned(j, "g")

    def _turned(self, j: int, which: str) -> Vec3:
        if self.tree.bodies[j].prismatic:
            return {"w": self.w, "v": self.v, "g": self.g}[which][j]
        made = {"w": self.wb, "v": self.vb, "g": self.gb}[which]
        if j not in made:
            v = {"w": self.w, "v": self.v, "g": self.g}[which][j]
            back = self.graph.enter(self.outward_block[j])
            made[j] = v if v.is_along_z else v.turn(self._pair(j)).bind(f"{which}{j + 1}_b")
            self.graph.enter(back)
        return made[j]

    # ---- inwards
    def _inwards(self, j: int) -> None:
        graph, b = self.graph, self.tree.bodies[j]
        graph.block(f'Link {j + 1}, "{self.model.bodies[j].joint.child}": momenta and torque', of=j)
        name = str(j + 1)
        C = Vec3.of(graph, self._first_moment(b) / [self.reach[j], self.reach[j], 1.0], self.moment_unit)
        momentum = self._own(b).bind(f"p{name}_own", f"h{name}_own")
        for sent, Cc in self.from_body[j]:
            momentum, C = momentum + sent, C + Cc
        D_body: Expr | None = None
        if not b.prismatic:
            momentum, C = momentum.bind(f"p{name}_b", f"h{name}_b"), C.bind(f"C{name}_b")
            if self.tree.choices[j].D == "body" and not self.from_group[j] and not b.mass:
                wb, vb, gb = self._body_frame(j)
                D_body = momentum.n.cross_z(wb) + momentum.f.cross_z(vb) + C.cross_z(gb)
            momentum, C = momentum.map(lambda a: self._back(j, a)), self._back(j, C)
        p = momentum.f + graph.const(b.mass * square(self.length) * self.inertia_unit) * self.v[j]
        momentum = SpatialForce(p, momentum.n)
        for sent, Cc in self.from_group[j]:
            momentum, C = momentum + sent, C + Cc
        momentum, C = momentum.bind(f"p{name}", f"h{name}"), C.bind(f"C{name}")
        p, h = momentum.f, momentum.n
        w, v, g = self.w[j], self.v[j], self.g[j]
        if b.prismatic:
            P = p.z
            D = p.cross_z(w) + graph.const(self.mass[j] * self.moment_unit) * g.z
        else:
            P = h.z * b.sign
            D = (D_body if D_body is not None else h.cross_z(w) + p.cross_z(v) + C.cross_z(g)) * b.sign
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
            self.from_group[b.parent].append((momentum.shift(self._offset(j)), C))
            return
        if b.prismatic:
            slide = self._slide(j)
            momentum = SpatialForce(p, momentum.shift(slide).n.bind(f"h{name}_o"))
            C = Vec3(C.x, C.y, C.z + graph.const(self.mass[j] * self.moment_unit) * slide.z).bind(f"C{name}_o")
        momentum = momentum.map(lambda a: tilt(a, b)).bind(f"p{name}_t", f"h{name}_t")
        C = tilt(C, b).bind(f"C{name}_t")
        self.from_body[b.parent].append((momentum.shift(self._offset(j)), C))

    def _first_moment(self, b: ReducedBody) -> np.ndarray:
        """Return the body's first moment, kg m, with the masses of its load at their joints, body frame."""
        hung = [self.mass[c] * self.tree.bodies[c].offset for c in b.children]
        return b.moment + sum(hung, np.zeros(3))

    def _own(self, b: ReducedBody) -> SpatialForce:
        """Return momentum and angular momentum of body j alone, in its own frame."""
        unit, j, r = self.inertia_unit, b.joint, self.reach[b.joint]
        shrink = np.array([1.0 / r, 1.0 / r, 1.0])
        L = b.inertia * np.outer(shrink, shrink) * unit
        l = Vec3.of(self.graph, b.moment * shrink[[1, 2, 0]] * shrink[[2, 0, 1]] * self.length, unit)
        w = self._turned(j, "w") if np.any(b.inertia) or np.any(b.moment) else self._zero()
        v = self._turned(j, "v") if np.any(b.moment) else self._zero()
        return SpatialForce(w.cross(l), times(L, w) + l.cross(v))

    # ---- what is to be emitted
    def scales(self, j: int) -> Scales:
        """Return the factors of a body's base parameters in the C."""
        b, r, unit, length = self.tree.bodies[j], self.reach[j], self.inertia_unit, self.length
        shrink = np.array([1.0 / r, 1.0 / r, 1.0])
        first = np.array([1.0, 1.0 / r, 1.0 / r, 1.0]) * self.moment_unit
        return Scales(square(length) * unit, shrink[[1, 2, 0]] * shrink[[2, 0, 1]] * length * unit,
                      np.outer(shrink, shrink) * unit,
                      1.0 / (length * (self.reach[b.parent] if b.continues else 1.0)), spring=0.5,
                      weight=1.0 / (float(norm(self.model.gravity)) or 1.0),
                      hung=(self.mass[j], self._first_moment(b), first))

    @property
    def intro(self) -> list[str]:
        return INTRO.format(length=self.length).splitlines()
