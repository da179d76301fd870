"""The step of any tree by Newton-Euler on differences of positions, as a graph: discretisation.NewtonEuler.

Recursions of Luh, Walker and Paul in the frames and base parameters of base_parameters.py. Units inside: time is
counted in half ticks, so the rate of a joint is u - du and its acceleration du; inertias are divided by dt^2 / 4, so
forces come out as torques. The unit of length is one of the mechanism's own offsets, whose products then vanish.

du comes from the motion, not from the difference of two increments that are rounded already: nothing in the step is
then larger than the forces themselves, and single precision costs no more than that.

Executed instructions on a Cortex-M4F without exact sines, beside the midpoint rule's: planar-3 115 (102), planar-8
319 (291), UR5 407 (259), PUMA560 495 (324), Panda 862 (626). Error in single precision, of peak: 2e-7 to 4e-6 at 1 kHz
and hardly more at 10 kHz (midpoint 1e-5 to 2e-4 and 1e-4 to 1e-3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from codegen.beam import joint_stiffness
from codegen.model import GROUND, Model
from codegen.step.base_parameters import Body, Tree
from codegen.step.frames import FrameStep, Members, Vec, add, cross, scale, tilt, turn, turn_back, untilt
from codegen.step.graph import Expr, Function

Rows = tuple[Vec, Vec, Vec]

INTRO = """
Newton-Euler at the sample s_k, where the half increments u on both sides give
the rate and the acceleration of every joint, with du = (u_k - u_k-1) / 2:

    qd = 2 (u_k - du) / tick,   qdd = 4 du / tick^2.

Outwards: angular velocity w and acceleration e of each link, acceleration a
of its joint's origin, gravity included as that of the ground. S is the matrix
of e x and w x (w x. Inwards: force f and moment n of all that hangs on the
joint. Vectors are in the frame of their joint, whose z is its axis; joints
with parallel axes share one frame, which turns with none of them. _b is in
the body's own frame, turned by the pair r; _s at the joint's origin, but in
the parent body's frame; _t a sum on its way to that frame.

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
        self.inertia_unit = 4.0 / model.dt**2
        self.w: list[Vec] = [self._zero()] * n  # in the joint's frame
        self.e: list[Vec] = [self._zero()] * n
        self.a: list[Vec] = [self._zero()] * n
        self.turned: dict[tuple[str, int], Vec] = {}
        self.from_group: dict[int, list[tuple[Vec, Vec]]] = {j: [] for j in range(n)}
        self.from_body: dict[int, list[tuple[Vec, Vec]]] = {j: [] for j in range(n)}
        self._walk()

    # ---- outwards
    def _outwards(self, j: int) -> None:
        graph, b, name = self.graph, self.tree.bodies[j], str(j + 1)
        link = self.model.bodies[j].joint.child
        self.outward_block[j] = graph.block(f'Link {name}, "{link}": velocities and accelerations')
        rate, acceleration = self._rates(j)
        if b.parent == GROUND:
            weight = -0.25 * float(np.linalg.norm(self.model.gravity)) * self.model.dt**2 / self.length
            w, e, a = self._zero(), self._zero(), self._vec(self.tree.gravity[j], weight)
        elif b.continues:
            p = b.parent
            w, e = self.w[p], self.e[p]
            a = self._bind(add(self.a[p], times(self._S("", p), self._offset(j))), f"a{name}")
        else:
            p = b.parent
            wb, eb = self._in_body("w", p), self._in_body("e", p)
            a = self._bind(add(self._in_body("a", p), times(self._S("_b", p), self._offset(j))), f"a{name}_s")
            w, e, a = (self._bind(untilt(v, b), f"{s}{name}_f") for v, s in ((wb, "w"), (eb, "e"), (a, "a")))
        if b.prismatic:
            self.w[j], self.e[j] = w, e
            coriolis = (w[1] * rate, -(w[0] * rate))
            a = add(a, times(self._S("", j), self._slide(j)))
            a = (a[0] + coriolis[0] * 2.0, a[1] + coriolis[1] * 2.0, a[2] + acceleration)
        else:
            rate, acceleration = rate * b.sign, acceleration * b.sign
            e = (e[0] + w[1] * rate, e[1] - w[0] * rate, e[2] + acceleration)
            self.w[j] = (w[0], w[1], graph.bind(w[2] + rate, f"w{name}_z"))
            self.e[j] = self._bind(e, f"e{name}")
        self.a[j] = self._bind(a, f"a{name}")

    def _rates(self, j: int) -> tuple[Expr, Expr]:
        """Rate and acceleration of joint j, per half tick and per its square."""
        graph = self.graph
        acceleration = graph.input("du", j)
        return graph.bind(graph.input("u", j) - acceleration, f"qd{j + 1}"), acceleration

    def _offset(self, j: int) -> Vec:
        """From the parent's origin to this one's: in the group's frame if it continues one, else in the body's."""
        b = self.tree.bodies[j]
        if b.continues:
            return self._bind(turn_back(self._vec(b.offset / self.length), self._pair(b.parent)), f"l{j + 1}")
        return self._vec(b.offset / self.length)

    def _position(self, j: int) -> Expr:
        """Position of joint j at s_k, rad or m."""
        w = self.graph.input(self.way, j)
        return self.graph.bind(self.graph.input("q", j) - (w + w), f"q{j + 1}")

    def _in_body(self, which: str, j: int) -> Vec:
        """w, e or a of body j in its own, turned frame."""
        v: Vec = {"w": self.w, "e": self.e, "a": self.a}[which][j]
        if self.tree.bodies[j].prismatic or (v[0].is_zero and v[1].is_zero):
            return v
        if (which, j) not in self.turned:
            back = self.graph.enter(self.outward_block[j])
            self.turned[which, j] = self._bind(turn(v, self._pair(j)), f"{which}{j + 1}_b")
            self.graph.enter(back)
        return self.turned[which, j]

    def _S(self, frame: str, j: int) -> Rows:
        """The matrix of e x + w x (w x of body j, in the joint's frame or in the body's ("_b")."""
        graph, name = self.graph, f"S{j + 1}{frame}"
        w, e = (self._in_body("w", j), self._in_body("e", j)) if frame else (self.w[j], self.e[j])
        back = graph.enter(self.outward_block[j])
        xx, yy, zz = (a * a for a in w)
        xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
        rows = (
            (-(yy + zz), xy - e[2], xz + e[1]),
            (xy + e[2], -(xx + zz), yz - e[0]),
            (xz - e[1], yz + e[0], -(xx + yy)),
        )
        x, y, z = (
            (graph.bind(a, f"{name}{r}x"), graph.bind(b, f"{name}{r}y"), graph.bind(c, f"{name}{r}z"))
            for (a, b, c), r in zip(rows, "xyz", strict=True)
        )
        graph.enter(back)
        return x, y, z

    # ---- inwards
    def _inwards(self, j: int) -> None:
        graph, b, name = self.graph, self.tree.bodies[j], str(j + 1)
        graph.block(f'Link {name}, "{self.model.bodies[j].joint.child}": force, moment and torque')
        f_body, n_body, f, n = self._own(b)
        for fc, nc in self.from_body[j]:
            f_body, n_body = add(f_body, fc), add(n_body, nc)
        if not b.prismatic:
            f_body, n_body = self._bind(f_body, f"f{name}_b"), self._bind(n_body, f"n{name}_b")
            f_body, n_body = self._back(j, f_body), self._back(j, n_body)
        f, n = add(f, f_body), add(n, n_body)
        f = add(f, scale(graph.const(b.mass * self.length**2 * self.inertia_unit), self.a[j]))
        for fc, nc in self.from_group[j]:
            f, n = add(f, fc), add(n, nc)
        f, n = self._bind(f, f"f{name}"), self._bind(n, f"n{name}")
        tau = f[2] if b.prismatic else n[2] * b.sign
        stiffness = joint_stiffness(self.model, j)
        if stiffness:
            away = graph.bind(self._position(j) - self.model.bodies[j].joint.rest, f"stretch{name}")
            tau = tau + graph.const(stiffness) * away
        graph.output("tau", j, tau)
        if b.parent == GROUND:
            return
        if b.continues:
            self.from_group[b.parent].append((f, add(n, cross(self._offset(j), f))))
            return
        if b.prismatic:
            n = self._bind(add(n, cross(self._slide(j), f)), f"n{name}_o")
        f, n = self._bind(tilt(f, b), f"f{name}_t"), self._bind(tilt(n, b), f"n{name}_t")
        self.from_body[b.parent].append((f, add(n, cross(self._offset(j), f))))

    def _own(self, b: Body) -> tuple[Vec, Vec, Vec, Vec]:
        """Force and moment that the body alone needs, each in two parts: in its own frame, and in its joint's."""
        j, unit, zero = b.joint, self.inertia_unit, self._zero()
        name = str(j + 1)
        L = b.inertia * unit
        in_frame = self.tree.choices[j].D == "frame"  # the part of the first moment; that of gravity costs no more there
        f_body, n_body, f, n = zero, zero, zero, zero
        if np.any(b.moment):
            l = self._vec(b.moment * self.length, unit)
            if in_frame or b.prismatic:
                if not b.prismatic:
                    l = self._bind(turn_back(l, self._pair(j)), f"m{name}")
                f, n = times(self._S("", j), l), cross(l, self.a[j])
            else:
                f_body, n_body = times(self._S("_b", j), l), cross(l, self._in_body("a", j))
        if np.any(b.inertia):
            about_z = np.array_equal(L, np.diag(np.diag(L))) and L[0, 0] == L[1, 1]
            w, e = (self.w[j], self.e[j]) if about_z else (self._in_body("w", j), self._in_body("e", j))
            h = self._bind(matrix(L, w), f"h{name}")
            moment = add(matrix(L, e), cross(w, h))
            if about_z:
                n = add(n, moment)
            else:
                n_body = add(n_body, moment)
        return f_body, n_body, f, n

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


def matrix(M: np.ndarray, v: Vec) -> Vec:
    x, y, z = (float(row[0]) * v[0] + float(row[1]) * v[1] + float(row[2]) * v[2] for row in M)
    return (x, y, z)


def times(rows: Rows, v: Vec) -> Vec:
    x, y, z = (row[0] * v[0] + row[1] * v[1] + row[2] * v[2] for row in rows)
    return (x, y, z)
