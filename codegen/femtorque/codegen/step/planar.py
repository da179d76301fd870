"""The step of trees whose joints all turn about parallel axes, as a graph: discrete.planar_torque in few operations.

Every body is represented by its link vector, from its joint to its (first) child's joint, and by its base parameters:
mass m at the joint, first moment and moment of inertia about it. Lengths inside are multiplied by sqrt(M) / dt and
masses divided by M, so that products of lengths are torques and no other factor is left; M is the most frequent mass.

This form pays: the worst control tick of three_link on board `compute` has 742 instructions with it, 813 in
the spatial form, which errs by 1.1e-4 of peak torque instead of 5e-5, and 807 with newton-euler.
"""

from collections import Counter

import numpy as np

from femtorque.codegen.common import norm, square
from femtorque.codegen.model import GROUND, Model
from femtorque.codegen.step.base_parameters import ReducedBody, Scales, Tree
from femtorque.codegen.step.graph import Expr, Function, Graph, Number, Place, Result
from femtorque.codegen.step.spatial_algebra import Vec2

# With so many links the registers run out: on the way in, A is found again from its neighbour by two subtractions,
# which is cheaper than storing and loading it (planar-8: 293 instructions instead of 308).
RECOVER = 6

SWING = Function("ft_swing", "ft_swung", ("x", "y", "ax", "ay"), cost=18)

INTRO = """
Planar form: all axes are parallel. Link vector r_i goes from joint i to the
next one. Its second difference over the ticks (ax, ay) adds up to the second
difference A of the joints' positions, on top of gravity as initial value;
masses at the joints give the forces F of all that hangs on a joint, and the
lever arms at s_k the torques; G is F as it pulls on the link vector, and
A_again A, found once more on the way in. Masses are base parameters in units
of the most frequent one, M; lengths are times sqrt(M) / tick: products are in
N m.
""".strip()


class PlanarStep:
    """The graph of one step of a planar tree."""

    def __init__(self, model: Model, tree: Tree) -> None:
        self.model, self.tree = model, tree
        self.graph = Graph()
        n = model.n
        self.mass_unit = self._most_frequent_mass()
        self.length_unit = float(np.sqrt(self.mass_unit)) / model.dt
        self.reach = [self._reach(b) for b in tree.bodies]
        self.A: list[Vec2] = []
        self.r: list[tuple[Expr, ...]] = []
        for j in range(n):
            self._outwards(j)
        self.F: list[Vec2] = [Vec2(self.graph.const(0.0), self.graph.const(0.0))] * n
        self.T: list[Expr] = [self.graph.const(0.0)] * n
        for j in reversed(range(n)):
            self._inwards(j)

    def _most_frequent_mass(self) -> float:
        masses = Counter(float(f"{abs(b.mass):.9g}") for b in self.tree.bodies if b.mass and b.parent != GROUND)
        return masses.most_common(1)[0][0] if masses else 1.0

    def _ratio(self, mass: float) -> float:
        """Return a mass in units of the most frequent one."""
        ratio = mass / self.mass_unit
        return float(np.round(ratio)) if abs(ratio - np.round(ratio)) < 1e-12 else ratio

    def _reach(self, b: ReducedBody) -> float:
        """Return the length of a body's carried vector, m: to its child, or such that a factor becomes 1."""
        for c in b.children:
            across = float(norm(self.tree.bodies[c].offset[:2]))
            if across > 0.0:
                return across
        moment = float(norm(b.moment[:2]))
        if moment > 0.0:
            return moment / self.mass_unit
        return float(np.sqrt(abs(b.inertia[2, 2]) / self.mass_unit)) or 1.0

    # ---- outwards
    def _outwards(self, j: int) -> None:
        graph, b, name = self.graph, self.tree.bodies[j], str(j + 1)
        graph.block(f'Link {name}, "{self.model.bodies[j].joint.child}": it turns by 2 w in this tick')
        if b.parent == GROUND:
            unit = -float(norm(self.model.gravity)) * square(self.model.dt) * self.length_unit
            A = Vec2(graph.const(self.tree.gravity[j][0] * unit), graph.const(self.tree.gravity[j][1] * unit))
        else:
            p = b.parent
            A = (self.A[p] + Vec2(*self.r[p][2:]).along(b.offset / self.reach[p])).bind(f"A{name}")
        self.A.append(A)
        w: Number = 0.0
        for i in self.tree.members(j):
            w = w + graph.input("u", i) * self.tree.bodies[i].sign
            w = graph.bind(w, f"w{i + 1}")
        assert isinstance(w, Expr)
        self.r.append(graph.call(SWING, f"r{name}", Place("link", j), w))

    # ---- inwards
    def _inwards(self, j: int) -> None:
        graph, b, name, reach = self.graph, self.tree.bodies[j], str(j + 1), self.reach[j]
        graph.block(f'Link {name}, "{self.model.bodies[j].joint.child}": forces and torque', of=j)
        m, kappa = self._ratio(b.mass), b.inertia[2, 2] / (self.mass_unit * square(reach))
        moment = b.moment / (self.mass_unit * reach)
        x, y, ax, ay = self.r[j]
        r, a = Vec2(x, y), Vec2(ax, ay)
        if self.model.n >= RECOVER and b.children and b.parent != GROUND:
            c = b.children[0]
            self.A[j] = (self.A[c] - a.along(self.tree.bodies[c].offset / reach)).bind(f"A{name}_again")
        # everything that pulls on the link vector: its lever arm turns these into torque
        G = graph.const(kappa) * a + self.A[j].against(moment)
        F = graph.const(m) * self.A[j] + a.along(moment)
        T = graph.const(0.0)
        for c in b.children:
            G = G + self.F[c].against(self.tree.bodies[c].offset / reach)
            F, T = F + self.F[c], T + self.T[c]
        F, G = F.bind(f"F{name}"), G.bind(f"G{name}")
        T = graph.bind(T + r.cross(G), f"T{name}")
        graph.output("tau", j, T * b.sign)
        self.F[j], self.T[j] = F, T

    # ---- what is to be emitted
    def scales(self, j: int) -> Scales:
        """Return the factors of a body's base parameters in the C."""
        reach, parent = self.reach[j], self.tree.bodies[j].parent
        unit = 1.0 / (self.mass_unit * reach)
        return Scales(1.0 / self.mass_unit, np.array([unit, unit, 0.0]), np.diag([0.0, 0.0, unit / reach]),
                      1.0 / self.reach[parent] if parent != GROUND else 0.0,
                      weight=square(self.model.dt) * self.length_unit)

    @property
    def intro(self) -> list[str]:
        return INTRO.splitlines()

    @property
    def turning(self) -> list[int]:
        """Return the bodies whose link vectors something depends on."""
        _, live = self.graph.live()
        return [j for j, (x, *_) in enumerate(self.r) if isinstance(x, Result) and x.call in live]
