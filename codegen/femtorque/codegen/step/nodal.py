"""The step of any tree, as a graph: increments of nodal momenta update {P}, and {tau} = [L][T]{P}. base_parameters.py
computes frames and base parameters. The half increments u on both sides of s_k have the mean m = u - du, and du is half
of their change. In the outward recursion, every link gets the mean w of its half turns, and half of their change, e.
Then

    A = e x + w x (w x,     a_child = a + A l,     {p} = M a + A (M c),  M c x a + J e + w x J w,

are half of the gains of axes, joint's place and momenta over the ticks beside s_k, to second order in the tick. Masses
are regrouped. The regrouping is exact for rotations of any size. The momenta then belong to base parameters, and {P} of
a joint is not the load of its bearing. du comes from the motion. The input du is not the difference of two rounded
increments. All values in the step are smaller than the forces, so the noise of single precision is small at any tick
rate.

Inertias are divided by dt^2 / 4, so results are torques. The unit of length is one of the mechanism's offsets, because
products with this offset then disappear."""

from collections.abc import Sequence

import numpy as np

from femtorque.codegen.common import norm, square
from femtorque.codegen.model import GROUND, Model
from femtorque.codegen.step.base_parameters import ReducedBody, Scales, Tree
from femtorque.codegen.step.frames import FrameStep, Members, tilt, untilt
from femtorque.codegen.step.graph import Expr
from femtorque.codegen.step.spatial_algebra import Mat3, SpatialForce, Vec3, swing, times

ROUNDED = 1e-13  # tolerance for a mass that equals the unit of mass

INTRO = """
The step on increments at the sample s_k. A joint moves by 2 u_k in the tick
after s_k and by 2 (u_k - 2 du_k) in the tick before; m = u - du is the mean
of both halves, du half of their gain. Outwards, of each link:

    w  mean of its half turns in both ticks,   e  half of their gain
    A  half the gain of its axes: the matrix of e x and w x (w x
    a  half the gain of its joint's shift; the ground gains in place of weight

f and n are the gains of the link's momentum and moment of momentum over the
ticks, with weight. These gains are the nodal force F and moment Phi, and
their increments update {{P}}. Inwards, [T] turns {{P}} by the pairs r. With the
levers l, [L] sums S and N, force and moment of everything that a joint
carries:

    {{P}} <- {{P}} + {{dp}} (Eqs 17, 18),   {{tau}} = [L][T]{{P}} (Eqs 5 to 15).

Masses are regrouped: mass on a joint's axis belongs to the parent link.
{{tau}} is unchanged, but S and N of a joint are not the load of its bearing.

Vectors are in the frame of their joint, with z along its axis. Joints with
parallel axes share one frame, which does not turn with these joints.
Endings:

    _s    at the joint's origin, in the parent body's frame
    _f    in the joint's frame, before the joint's own motion
    _b    in the body's own frame, turned by the pair r
    _o    about the beginning of a slide
    _t    about the joint's origin, in the parent body's frame
    _neg  with the opposite sign

r is cosine and sine of a frame. If r only turns a lever, r is multiplied by
the lever's length (ft_radius). turn_half is half of the frame's turn in the
tick, l the vector to an origin, l_m a link's first moment, h its inertia J
times w, G the sums of m p p' over its points, and k a value that is used
twice.

Units: time is in half ticks, inertias are base parameters times 4 / tick^2,
so that {{P}} is in N m (N). Lengths are in units of {length:.9g} m.
""".strip()


class NodalStep(FrameStep):
    """The graph of one step of a tree. incremental: true for a step over a tick with a state, false for one instant."""

    incremental = True
    outwards, last, inwards = "increments, and {P} (Eqs 17, 18)", "{P}, then [L][T]{P} (Eq. 6)", "[L][T]{P} (Eq. 6)"

    def __init__(self, model: Model, tree: Tree, shared: Sequence[Members] = ()) -> None:
        super().__init__(model, tree, shared)
        n = model.n
        self.inertia_unit = 4.0 / square(model.dt)
        self.reach = [self._reach(b) for b in tree.bodies]
        self.w: list[Vec3] = [self._zero()] * n  # in the joint's frame
        self.e: list[Vec3] = [self._zero()] * n
        self.a: list[Vec3] = [self._zero()] * n
        self.turned: dict[tuple[str, int], Vec3] = {}
        self.own: dict[int, tuple[SpatialForce, bool]] = {}
        self.from_group: dict[int, list[SpatialForce]] = {j: [] for j in range(n)}
        self.from_body: dict[int, list[SpatialForce]] = {j: [] for j in range(n)}
        self._walk()

    # ---- outwards
    def _outwards(self, j: int) -> None:
        graph, b, name = self.graph, self.tree.bodies[j], str(j + 1)
        link = self.model.bodies[j].joint.child
        does = self.outwards if b.children else self.last
        self.outward_block[j] = graph.block(f'Link {name}, "{link}": {does}', of=j)
        if b.parent == GROUND:
            weight = -0.25 * float(norm(self.model.gravity)) * square(self.model.dt) / self.length
            w, e, a = self._zero(), self._zero(), Vec3.of(graph, self.tree.gravity[j], weight)
        elif b.continues:
            p = b.parent
            w, e = self.w[p], self.e[p]
            a = (self.a[p] + self._A("", p) @ self._offset(j)).bind(f"a{name}")
        else:
            p = b.parent
            wb, eb = self._in_body("w", p), self._in_body("e", p)
            a = (self._in_body("a", p) + self._A("_b", p) @ self._offset(j)).bind(f"a{name}_s")
            w, e, a = (untilt(v, b).bind(f"{s}{name}_f") for v, s in ((wb, "w"), (eb, "e"), (a, "a")))
        if b.prismatic:
            mean, gain = self._increments(j)
            self.w[j], self.e[j] = w, e
            a = a + self._A("", j) @ self._slide(j)
            a = Vec3(a.x + w.y * mean * 2.0, a.y - w.x * mean * 2.0, a.z + gain)
        else:
            self.w[j], self.e[j] = self._turned_on(j, w, e)
        self.a[j] = a.bind(f"a{name}")
        force, in_body = self._own(b)
        ending = "_b" if in_body else ""
        self.own[j] = self._carried(j, force.bind(f"f{name}{ending}", f"n{name}{ending}")), in_body

    def _increments(self, j: int) -> tuple[Expr, Expr]:
        """Return the mean half increment of joint j, and half of its change."""
        gain = self.graph.input("du", j)
        return self.graph.bind(self.graph.input("u", j) - gain, f"m{j + 1}"), gain

    def _turned_on(self, j: int, w: Vec3, e: Vec3) -> tuple[Vec3, Vec3]:
        """Return w and e of a link from w and e of its parent."""
        b, name = self.tree.bodies[j], str(j + 1)
        mean, gain = (x * b.sign for x in self._increments(j))
        e = Vec3(e.x + w.y * mean, e.y - w.x * mean, e.z + gain).bind(f"e{name}")
        summed = b.continues and self.tree.is_upright(b.joint) and self.increment == "u" and self.incremental
        w_z = self._turn_half(j) - e.z if summed else w.z + mean
        return Vec3(w.x, w.y, self.graph.bind(w_z, f"w{name}_z")), e

    def _offset(self, j: int) -> Vec3:
        """Return the offset from the parent's origin.

        If j continues a group, the offset is in the group's frame. If j begins a group, the offset is in the body
        frame."""
        b = self.tree.bodies[j]
        if b.continues:
            fixed = Vec3.of(self.graph, b.offset / (self.length * self.reach[b.parent]))
            return fixed.turn_back(self._pair(b.parent)).bind(f"l{j + 1}")
        return Vec3.of(self.graph, b.offset / self.length)

    def _in_body(self, which: str, j: int) -> Vec3:
        """Return w, e or a of body j, expressed in the body frame."""
        v = self._in("", which, j)
        if self.tree.bodies[j].prismatic or v.is_along_z:
            return v
        if (which, j) not in self.turned:
            back = self.graph.enter(self.outward_block[j])
            self.turned[which, j] = v.turn(self._pair(j)).bind(f"{which}{j + 1}_b")
            self.graph.enter(back)
        return self.turned[which, j]

    def _A(self, frame: str, j: int) -> Mat3:
        """Return the matrix of e x + w x (w x of body j, in the joint's frame or in the body frame ("_b")."""
        w, e = (self._in(frame, s, j) for s in "we")
        back = self.graph.enter(self.outward_block[j])
        A = swing(w, e).bind(f"A{j + 1}{frame}")
        self.graph.enter(back)
        return A

    # ---- inwards
    def _inwards(self, j: int) -> None:
        graph, b, name = self.graph, self.tree.bodies[j], str(j + 1)
        if b.children:  # otherwise the block of the link continues
            graph.block(f'Link {name}, "{self.model.bodies[j].joint.child}": {self.inwards}')
        (own, own_in_body), in_body, force = self.own[j], SpatialForce.zero(graph), SpatialForce.zero(graph)
        for sent in self.from_body[j]:
            in_body = in_body + sent
        if own_in_body:
            in_body = in_body + own
        else:
            force = own
        if not b.prismatic:
            in_body = in_body.bind(f"S{name}_b", f"N{name}_b").map(lambda v: self._back(j, v))
        force = force + in_body
        for sent in self.from_group[j]:
            force = force + sent
        force = force.bind(f"S{name}", f"N{name}")
        tau = force.f.z if b.prismatic else force.n.z * b.sign
        graph.output("tau", j, tau + self._spring(j))
        if b.parent == GROUND:
            return
        if b.continues:
            self.from_group[b.parent].append(force.shift(self._offset(j)))
            return
        if b.prismatic:
            force = SpatialForce(force.f, force.shift(self._slide(j)).n.bind(f"N{name}_o"))
        force = force.map(lambda v: tilt(v, b)).bind(f"S{name}_t", f"N{name}_t")
        self.from_body[b.parent].append(force.shift(self._offset(j)))

    def _carried(self, j: int, now: SpatialForce) -> SpatialForce:
        """Return the link's contribution to {P}, updated to this tick."""
        return SpatialForce(self._carry(j, "F", now.f), self._carry(j, "Phi", now.n))

    def _own(self, b: ReducedBody) -> tuple[SpatialForce, bool]:
        """Return the link's own change of momentum, and True if it is in body axes, False if in the joint's frame."""
        j, unit, name, in_body = b.joint, self.inertia_unit, str(b.joint + 1), self._in_own_axes(b)
        force = SpatialForce.zero(self.graph)
        frame = "_b" if in_body else ""
        a = self._in(frame, "a", j)
        if b.mass:
            mass = b.mass * square(self.length) * unit
            force = SpatialForce((mass if abs(mass - 1.0) > ROUNDED else 1.0) * a, force.n)
        if np.any(b.moment):
            l = Vec3.of(self.graph, b.moment * self.length / self.reach[j], unit)
            if not in_body and not b.prismatic:
                l = l.turn_back(self._pair(j)).bind(f"l{name}_m")
            force = force + SpatialForce(self._A(frame, j) @ l, l.cross(a))
        if np.any(b.inertia):
            moment = self._moment(b, "" if self._is_about_z(b) else "_b")
            if not self._is_about_z(b) and not in_body:
                moment = self._back(j, moment.bind(f"n{name}_b"))
            force = SpatialForce(force.f, force.n + moment)
        return force, in_body

    def _in_own_axes(self, b: ReducedBody) -> bool:
        """Return True if the link's contribution to {P} is in body axes, False if it is in the joint's frame."""
        if b.prismatic:
            return False
        if self.tree.is_upright(b.joint):
            return bool(np.any(b.inertia[:2, 2]))
        if b.mass or np.any(b.moment):
            return self.tree.choices[b.joint].axes == "body"
        return bool(np.any(b.inertia)) and not self._is_about_z(b)

    def _is_about_z(self, b: ReducedBody) -> bool:
        """Return True if the link's rotation does not change its moments in the joint's frame."""
        if self.tree.is_upright(b.joint) and not np.any(b.inertia[:2, 2]):
            return True
        return np.array_equal(b.inertia, np.diag(np.diag(b.inertia))) and b.inertia[0, 0] == b.inertia[1, 1]

    def _reach(self, b: ReducedBody) -> float:
        """Return the length by which the cosine and sine of a link's frame are multiplied. If the frame only rotates a
        lever arm, this length is the lever arm."""
        of_body = self._in_own_axes(b) or np.any(b.inertia) and not self._is_about_z(b)
        others = [c for c in b.children if not self.tree.bodies[c].continues]
        if not self.incremental or self.shared or b.prismatic or of_body or others:
            return 1.0
        lever = self.tree.bodies[b.children[0]].offset / self.length if b.children else (
            b.moment * self.length * self.inertia_unit)
        return float(norm(lever[:2])) or 1.0

    def _moment(self, b: ReducedBody, frame: str) -> Vec3:
        """Return the sum of m p x A p over the points p of a link.

        The sum equals J e + w x J w, or an expression in G, the sum of m p p'."""
        j, unit = b.joint, self.inertia_unit
        if self.tree.choices[j].kappa != "zz" or self.tree.is_upright(j):
            J, (w, e) = b.inertia * unit, (self._in(frame, s, j) for s in "we")
            return times(J, e) + w.cross(times(J, w).bind(f"h{j + 1}"))
        A, G = self._A(frame, j), Mat3.fixed(self.graph, b.second_moments, unit).symmetric()

        def lopsided(r: int, c: int, k: int) -> Expr:
            """Return (A G)_rc - (A G)_cr. k is the third axis."""
            return A[r][k] * G[c][k] - A[c][k] * G[r][k] + (A[r][c] * G[c][c] - A[c][r] * G[r][r]) + (
                A[r][r] - A[c][c]) * G[r][c]

        return Vec3(lopsided(2, 1, 0), lopsided(0, 2, 1), lopsided(1, 0, 2))

    def _in(self, frame: str, which: str, j: int) -> Vec3:
        """Return w, e or a of link j, expressed in the joint's frame, or in the body frame ("_b")."""
        return self._in_body(which, j) if frame else {"w": self.w, "e": self.e, "a": self.a}[which][j]

    # ---- what is to be emitted
    def scales(self, j: int) -> Scales:
        """Return the factors on a body's base parameters in the C."""
        b, unit, length = self.tree.bodies[j], self.inertia_unit, self.length
        reach = self.reach[b.parent] if b.continues else 1.0
        return Scales(square(length) * unit, length * unit / self.reach[j], unit, 1.0 / (length * reach),
                      0.25 * square(self.model.dt) / length)

    @property
    def intro(self) -> list[str]:
        return INTRO.format(length=self.length).splitlines()
