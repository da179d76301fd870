"""Torques at one instant, from positions, velocities and accelerations, as a graph without ticks. The recursion is that
of nodal.py, with a half tick of one second. Increments then equal velocities and accelerations, and base parameters
need no factor. There is no state between two calls. Every rotating frame has its exact sine and cosine. Sine and cosine
are the caller's `turn`, or in closed mechanisms the shared values of the loops."""

from collections.abc import Sequence
from dataclasses import replace

from femtorque.codegen.model import Model
from femtorque.codegen.step.base_parameters import Tree
from femtorque.codegen.step.frames import Members
from femtorque.codegen.step.graph import Expr, Input
from femtorque.codegen.step.nodal import NodalStep
from femtorque.codegen.step.spatial_algebra import Pair, SpatialForce

HALF_TICK_OF_A_SECOND = 2.0  # s, of a tick


class InstantTorque(NodalStep):
    """The graph of torques at one instant.

    Inputs by name: q[j] of prismatic joints and springs (rad or m), qd[j], qdd[j], turn[j] (cosine and sine of
    theta_j)."""

    at_rest = incremental = False
    outwards, last, inwards = "w, e, a, f and n", "w, e, a, f, n, S, N and the torque", "S, N and the torque"

    def __init__(self, model: Model, tree: Tree, shared: Sequence[Members] = ()) -> None:
        super().__init__(replace(model, dt=HALF_TICK_OF_A_SECOND), tree, shared)

    def _increments(self, j: int) -> tuple[Expr, Expr]:
        if self.at_rest:
            return self.graph.const(0.0), self.graph.const(0.0)
        return self.graph.input("qd", j), self.graph.input("qdd", j)

    def _position(self, j: int) -> Expr:
        return self.graph.input("q", j)

    def _carried(self, j: int, now: SpatialForce) -> SpatialForce:
        return now

    def _pair(self, j: int) -> Pair:
        if j not in self.pairs:
            self.pairs[j] = self._shared(j) or (self.graph.input("turn", j, "c"), self.graph.input("turn", j, "s"))
        return self.pairs[j]

    @property
    def turning(self) -> list[int]:
        """Return the bodies for which the graph needs a separate rotating frame."""
        live = (self.graph.nodes[i] for i in self.graph.live()[0])
        return sorted({e.place.index for e in live if isinstance(e, Input) and e.place.array == "turn"})


class InstantWeight(InstantTorque):
    """Torques at rest, which balance weight and springs."""

    at_rest = True
