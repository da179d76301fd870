"""The step of any tree by Newton-Euler on differences of positions, as a graph: discrete.central_torque.

These are the recursions of Luh, Walker and Paul in the frames and base parameters of base_parameters.py. Time is
counted in half ticks inside: the velocity of a joint is u - du and its acceleration du. Inertias are divided by dt^2 /
4, so forces come out as torques. The unit of length is one of the mechanism's own offsets, whose products then vanish.

du comes from the motion, and is not the difference of two rounded increments. No value in the step is then larger than
the forces, and the noise of single precision has their size.

Executed instructions on a Cortex-M4F, and those of the midpoint rule: planar-3 161 (153), planar-8 379 (355), UR5 453
(309), PUMA560 541 (374), Panda 906 (670). Error in single precision, of peak: 2e-7 to 4e-6 at 1 kHz and hardly more at
10 kHz (midpoint 1e-5 to 2e-4 and 1e-4 to 1e-3).
"""

from collections.abc import Sequence

import numpy as np

from femtorque.codegen.common import norm, square
from femtorque.codegen.model import GROUND, Model, joint_stiffness
from femtorque.codegen.step.base_parameters import ReducedBody, Scales, Tree
from femtorque.codegen.step.frames import FrameStep, Members, tilt, untilt
from femtorque.codegen.step.graph import Expr, Function
from femtorque.codegen.step.spatial_algebra import Mat3, SpatialForce, Vec3, swing, times

INTRO = """
Newton-Euler at the sample s_k. The half increments u on both sides give
velocity and acceleration of every joint, with du = (u_k - u_k-1) / 2:

    qd = 2 (u_k - du) / tick,   qdd = 4 du / tick^2.

Outwards: angular velocity w and acceleration e of each link, acceleration a
of its joint's origin. Gravity is an acceleration of the ground. S is the
matrix of e x and w x (w x. Inwards: force f and moment n of the joint's load;
m is a link's first moment, h its angular momentum. Vectors are in the frame of
their joint, with z along its axis. Joints with parallel axes share one frame,
which turns with none of them. Values in other frames have an ending:

    _s    at the joint's origin, in the parent body's frame
    _f    in the joint's frame, without the joint's own motion yet
    _b    in the body's own frame, turned by the pair r
    _o    about where a slide begins
    _t    about the joint's origin, in the parent body's frame
    _neg  with the other sign

r is cosine and sine of a frame, turn_half half of its turn in the tick, l the
vector to an origin, k a value that is used twice. A value that ends in _again
is loaded from memory again.

Units: time is in half ticks, inertias are base parameters times 4 / tick^2, so
that f and n are in N m (N). Lengths are in units of {length:.9g} m.
""".strip()


class NewtonEulerStep(FrameStep):
    """The graph of one step of a tree."""

    turn = Function("ft_turn_on", "ft_pair", ("c", "s"), cost=11)

    def __init__(self, model: Model, tree: Tree, shared: Sequence[Members] = ()) -> None:
        super().__init__(model, tree, shared)
        n = model.n
        self.reach = [1.0] * n
        self.inertia_unit = 4.0 / square(model.dt)
        self.w: list[Vec3] = [self._zero()] * n  # in the joint's frame
        self.e: list[Vec3] = [self._zero()] * n
        self.a: list[Vec3] = [self._zero()] * n
        self.turned: dict[tuple[str, int], Vec3] = {}
        self.from_group: dict[int, list[SpatialForce]] = {j: [] for j in range(n)}
        self.from_body: dict[int, list[SpatialForce]] = {j: [] for j in range(n)}
        self._walk()

    # ---- outwards
    def _outwards(self, j: int) -> None:
        graph, b, name = self.graph, self.tree.bodies[j], str(j + 1)
        link = self.model.bodies[j].joint.child
        self.outward_block[j] = graph.block(f'Link {name}, "{link}": velocities and accelerations')
        velocity, acceleration = self._velocities(j)
        if b.parent == GROUND:
            weight = -0.25 * float(norm(self.model.gravity)) * square(self.model.dt) / self.length
            w, e, a = self._zero(), self._zero(), Vec3.of(graph, self.tree.gravity[j], weight)
        elif b.continues:
            p = b.parent
            w, e = self.w[p], self.e[p]
            a = (self.a[p] + self._S("", p) @ self._offset(j)).bind(f"a{name}")
        else:
            p = b.parent
            wb, eb = self._in_body("w", p), self._in_body("e", p)
            a = (self._in_body("a", p) + self._S("_b", p) @ self._offset(j)).bind(f"a{name}_s")
            w, e, a = (untilt(v, b).bind(f"{s}{name}_f") for v, s in ((wb, "w"), (eb, "e"), (a, "a")))
        if b.prismatic:
            self.w[j], self.e[j] = w, e
            a = a + self._S("", j) @ self._slide(j)
            a = Vec3(a.x + w.y * velocity * 2.0, a.y - w.x * velocity * 2.0, a.z + acceleration)
        else:
            velocity, acceleration = velocity * b.sign, acceleration * b.sign
            self.w[j] = Vec3(w.x, w.y, graph.bind(w.z + velocity, f"w{name}_z"))
            self.e[j] = Vec3(e.x + w.y * velocity, e.y - w.x * velocity, e.z + acceleration).bind(f"e{name}")
        self.a[j] = a.bind(f"a{name}")

    def _velocities(self, j: int) -> tuple[Expr, Expr]:
        """Return velocity and acceleration of joint j, per half tick and per its square."""
        graph = self.graph
        acceleration = graph.input("du", j)
        return graph.bind(graph.input("u", j) - acceleration, f"qd{j + 1}"), acceleration

    def _offset(self, j: int) -> Vec3:
        """Return the offset from the parent's origin: in the group's frame if j continues a group, else in the
        body's."""
        b = self.tree.bodies[j]
        if b.continues:
            return Vec3.of(self.graph, b.offset / self.length).turn_back(self._pair(b.parent)).bind(f"l{j + 1}")
        return Vec3.of(self.graph, b.offset / self.length)

    def _position(self, j: int) -> Expr:
        """Return the position of joint j at s_k, rad or m."""
        w = self.graph.input(self.increment, j)
        return self.graph.bind(self.graph.input("q", j) - (w + w), f"q{j + 1}")

    def _in_body(self, which: str, j: int) -> Vec3:
        """Return w, e or a of body j in its own, turned frame."""
        v = {"w": self.w, "e": self.e, "a": self.a}[which][j]
        if self.tree.bodies[j].prismatic or v.is_along_z:
            return v
        if (which, j) not in self.turned:
            back = self.graph.enter(self.outward_block[j])
            self.turned[which, j] = v.turn(self._pair(j)).bind(f"{which}{j + 1}_b")
            self.graph.enter(back)
        return self.turned[which, j]

    def _S(self, frame: str, j: int) -> Mat3:
        """Return the matrix of e x + w x (w x of body j, in the joint's frame or in the body's ("_b")."""
        w, e = (self._in_body("w", j), self._in_body("e", j)) if frame else (self.w[j], self.e[j])
        back = self.graph.enter(self.outward_block[j])
        S = swing(w, e).bind(f"S{j + 1}{frame}")
        self.graph.enter(back)
        return S

    # ---- inwards
    def _inwards(self, j: int) -> None:
        graph, b, name = self.graph, self.tree.bodies[j], str(j + 1)
        graph.block(f'Link {name}, "{self.model.bodies[j].joint.child}": force, moment and torque', of=j)
        in_body, force = self._own(b)
        for sent in self.from_body[j]:
            in_body = in_body + sent
        if not b.prismatic:
            in_body = in_body.bind(f"f{name}_b", f"n{name}_b").map(lambda v: self._back(j, v))
        force = force + in_body
        mass = graph.const(b.mass * square(self.length) * self.inertia_unit)
        force = SpatialForce(force.f + mass * self.a[j], force.n)
        for sent in self.from_group[j]:
            force = force + sent
        force = force.bind(f"f{name}", f"n{name}")
        tau = force.f.z if b.prismatic else force.n.z * b.sign
        stiffness = joint_stiffness(self.model, j)
        if stiffness:
            away = graph.bind(self._position(j) - self.model.bodies[j].joint.rest, f"stretch{name}")
            tau = tau + graph.const(stiffness) * away
        graph.output("tau", j, tau)
        if b.parent == GROUND:
            return
        if b.continues:
            self.from_group[b.parent].append(force.shift(self._offset(j)))
            return
        if b.prismatic:
            force = SpatialForce(force.f, force.shift(self._slide(j)).n.bind(f"n{name}_o"))
        force = force.map(lambda v: tilt(v, b)).bind(f"f{name}_t", f"n{name}_t")
        self.from_body[b.parent].append(force.shift(self._offset(j)))

    def _own(self, b: ReducedBody) -> tuple[SpatialForce, SpatialForce]:
        """Return the momentum of the body alone, in two parts: in its own frame, and in its joint's."""
        j, unit, name = b.joint, self.inertia_unit, str(b.joint + 1)
        in_body, in_frame = SpatialForce.zero(self.graph), SpatialForce.zero(self.graph)
        if np.any(b.moment):
            l = Vec3.of(self.graph, b.moment * self.length, unit)
            if b.prismatic:
                in_frame = SpatialForce(self._S("", j) @ l, l.cross(self.a[j]))
            elif self.tree.choices[j].D == "frame":  # that of gravity costs no more there
                l = l.turn_back(self._pair(j)).bind(f"m{name}")
                in_frame = SpatialForce(self._S("", j) @ l, l.cross(self.a[j]))
            else:
                in_body = SpatialForce(self._S("_b", j) @ l, l.cross(self._in_body("a", j)))
        if np.any(b.inertia):
            L = b.inertia * unit
            about_z = np.array_equal(L, np.diag(np.diag(L))) and L[0, 0] == L[1, 1]
            w, e = (self.w[j], self.e[j]) if about_z else (self._in_body("w", j), self._in_body("e", j))
            h = times(L, w).bind(f"h{name}")
            moment = SpatialForce(self._zero(), times(L, e) + w.cross(h))
            if about_z:
                in_frame = in_frame + moment
            else:
                in_body = in_body + moment
        return in_body, in_frame

    # ---- what is to be emitted
    def scales(self, j: int) -> Scales:
        """Return the factors of a body's base parameters in the C."""
        unit, length = self.inertia_unit, self.length
        return Scales(square(length) * unit, np.full(3, length * unit), np.full((3, 3), unit), 1.0 / length,
                      weight=0.25 * square(self.model.dt) / length)

    @property
    def intro(self) -> list[str]:
        return INTRO.format(length=self.length).splitlines()
