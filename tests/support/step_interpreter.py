"""An interpreter of a step's graph in float64, statement by statement: the recursions without C."""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.step import NewtonEulerStep, PlanarStep
from femtorque.codegen.step.graph import Const, Expr, Input, Place, Result, State, Store, Values
from femtorque.codegen.step.spatial import SpatialStep


class Interpreter:
    """A step's graph in float64. The rotations of frames are exact."""

    def __init__(self, step: SpatialStep | PlanarStep | NewtonEulerStep) -> None:
        self.graph_step, self.tree, self.graph = step, step.tree, step.graph
        self.planar = isinstance(step, PlanarStep)
        self.stores = [s for s in self.graph.statements if isinstance(s, Store)]

    def start(self, q: ArrayLike) -> None:
        self.q = np.asarray(q, float)
        self.X = np.zeros(len(self.tree.bodies))
        self.moved = np.zeros((len(self.tree.bodies), 2))
        self.u = 0.0 * self.q
        self.step(self.q, 0.0 * self.q)

    def torque(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return torques (N, J) at all positions (N+2, J) but the first and the last."""
        self.start(positions[0])
        return np.array([self.step(b, 0.5 * (b - a)) for a, b in pairwise(positions)])[1:]

    def step(self, q_next: ArrayLike, u: ArrayLike) -> NDArray[np.float64]:
        self.u_before, self.q_next, self.u = self.u, np.asarray(q_next, float), np.asarray(u, float)
        values = Values(self._leaf)
        tau, X = np.zeros_like(self.u), self.X.copy()
        moved = self.moved.copy()
        for s in self.stores:
            {"tau": tau, "X": X}[s.place.array][s.place.index] = values.of(s.expr)
        for j in range(len(self.tree.bodies)):
            if self.planar:
                moved[j] = self._link(j)[1]
        self.X, self.moved = X, moved
        return tau

    def _theta(self, j: int, q: NDArray[np.float64]) -> float:
        return sum(self.tree.bodies[i].sign * q[i] for i in self.tree.members(j)) + self.tree.bodies[j].turn

    def _link(self, j: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the link vector of body j at s_k, and its increment in this tick."""
        step = self.graph_step
        assert isinstance(step, PlanarStep)
        a, b = self._theta(j, self.q_next - 2.0 * self.u), self._theta(j, self.q_next)
        length = step.reach[j] * step.length_unit
        at = length * np.array([math.cos(a), math.sin(a)])
        half, middle = math.sin(0.5 * (b - a)), 0.5 * (a + b)
        return at, 2.0 * length * half * np.array([-math.sin(middle), math.cos(middle)])

    def _leaf(self, e: Expr) -> float:
        if isinstance(e, Const):
            return e.value
        if isinstance(e, State):
            return float(self.X[e.place.index])
        if isinstance(e, Input):
            given = {"u": self.u, "du": 0.5 * (self.u - self.u_before), "q": self.q_next}
            return float(given[e.place.array][e.place.index])
        assert isinstance(e, Result) and isinstance(e.call.arguments[0], Place)
        j = e.call.arguments[0].index
        if self.planar:
            at, increment = self._link(j)
            change = increment - self.moved[j]
            return float({"x": at[0], "y": at[1], "ax": change[0], "ay": change[1]}[e.part])
        step = self.graph_step
        assert isinstance(step, SpatialStep | NewtonEulerStep)
        back = 1.0 if isinstance(step, SpatialStep) else 2.0  # half-way, or the body's previous place
        angle = self._theta(j, self.q_next - back * self.u)
        return step.reach[j] * (math.cos(angle) if e.part == "c" else math.sin(angle))
