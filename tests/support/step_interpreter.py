"""An interpreter that evaluates a step's graph in float64, statement by statement, without C."""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.step import NodalStep
from femtorque.codegen.step.graph import Const, Expr, Input, Place, Result, Store, Values


class Interpreter:
    """A step's graph in float64. The interpreter rotates frames by exact sines and cosines."""

    def __init__(self, step: NodalStep) -> None:
        self.graph_step, self.tree = step, step.tree
        self.stores = [s for s in step.graph.statements if isinstance(s, Store)]

    def torque(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return torques (N, J) at all positions (N+2, J) except the first and the last."""
        self.u = np.zeros(len(self.tree.bodies))
        return np.array([self.step(b, 0.5 * (b - a)) for a, b in pairwise(positions)])[1:]

    def step(self, q_next: ArrayLike, u: ArrayLike) -> NDArray[np.float64]:
        self.u_before, self.q_next, self.u = self.u, np.asarray(q_next, float), np.asarray(u, float)
        self.values = Values(self._leaf)
        tau = np.zeros_like(self.u)
        for s in self.stores:
            tau[s.place.index] = self.values.of(s.expr)
        return tau

    def _leaf(self, e: Expr) -> float:
        if isinstance(e, Const):
            return e.value
        if isinstance(e, Input):
            given = {"u": self.u, "du": 0.5 * (self.u - self.u_before), "q": self.q_next}
            return float(given[e.place.array][e.place.index])
        assert isinstance(e, Result) and isinstance(e.call.arguments[0], Place)
        if e.in_state:  # {P} + {dp}
            assert isinstance(e.call.arguments[1], Expr)
            return float(self.values.of(e.call.arguments[1]))
        j, q = e.call.arguments[0].index, self.q_next - 2.0 * self.u
        angle = sum(self.tree.bodies[i].sign * q[i] for i in self.tree.members(j)) + self.tree.bodies[j].turn
        return self.graph_step.reach[j] * (math.cos(angle) if e.part == "c" else math.sin(angle))
