"""Runs the graph of a step in float64, statement by statement: the recursions without any C."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codegen.step.graph import Expr
from codegen.step.newton_euler import NewtonEulerStep
from codegen.step.planar import PlanarStep
from codegen.step.spatial import SpatialStep


class Interpreter:
    """start(q), step(q_next, u) of a step's graph; frames are turned exactly."""

    def __init__(self, step: SpatialStep | PlanarStep | NewtonEulerStep) -> None:
        self.graph_step, self.tree, self.graph = step, step.tree, step.graph
        self.planar = isinstance(step, PlanarStep)
        _, kept = self.graph.live()
        self.statements = [s for i, s in enumerate(self.graph.statements) if i in kept]
        self.defined_by = {name: self.graph.statements[i] for name, i in self.graph.calls.items()}

    def start(self, q: ArrayLike) -> None:
        self.q = np.asarray(q, float)
        self.X = np.zeros(len(self.tree.bodies))
        self.moved = np.zeros((len(self.tree.bodies), 2))
        self.u = 0.0 * self.q
        self.step(self.q, 0.0 * self.q)

    def step(self, q_next: ArrayLike, u: ArrayLike) -> NDArray[np.float64]:
        self.u_before, self.q_next, self.u = self.u, np.asarray(q_next, float), np.asarray(u, float)
        self.values: dict[int, float] = {}
        self.loads: dict[str, float] = {}
        tau, X = np.zeros_like(self.u), self.X.copy()
        moved = self.moved.copy()
        for s in self.statements:
            if s.kind == "store":
                assert s.expr is not None
                target, j = re.fullmatch(r"(tau|s->X)\[(\d+)\]", s.target).groups()  # type: ignore[union-attr]
                (tau if target == "tau" else X)[int(j)] = self._value(s.expr)
        for j in range(len(self.tree.bodies)):
            if self.planar:
                moved[j] = self._link(j)[1]
        self.X, self.moved = X, moved
        return tau

    def _theta(self, j: int, q: NDArray[np.float64]) -> float:
        return sum(self.tree.bodies[i].sign * q[i] for i in self.tree.members(j)) + self.tree.bodies[j].turn

    def _link(self, j: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Link vector of body j at s_k, and its increment in this tick."""
        step = self.graph_step
        assert isinstance(step, PlanarStep)
        a, b = self._theta(j, self.q_next - 2.0 * self.u), self._theta(j, self.q_next)
        length = step.reach[j] * step.length_unit
        at = length * np.array([math.cos(a), math.sin(a)])
        half, middle = math.sin(0.5 * (b - a)), 0.5 * (a + b)
        return at, 2.0 * length * half * np.array([-math.sin(middle), math.cos(middle)])

    def _load(self, text: str) -> float:
        if found := re.fullmatch(r"u\[(\d+)\]", text):
            return float(self.u[int(found[1])])
        if found := re.fullmatch(r"s->X\[(\d+)\]", text):
            return float(self.X[int(found[1])])
        if found := re.fullmatch(r"du\[(\d+)\]", text):
            return float(0.5 * (self.u - self.u_before)[int(found[1])])
        if found := re.fullmatch(r"\(ft_real\)q_next\[(\d+)\] \* FT_\w+_UNIT", text):
            return float(self.q_next[int(found[1])])
        name, member = re.fullmatch(r"r(\d+)\.(\w+)", text).groups()  # type: ignore[union-attr]
        j = int(name) - 1
        if self.planar:
            at, increment = self._link(j)
            change = increment - self.moved[j]
            return float({"x": at[0], "y": at[1], "ax": change[0], "ay": change[1]}[member])
        step = self.graph_step
        assert isinstance(step, SpatialStep | NewtonEulerStep)
        back = 1.0 if isinstance(step, SpatialStep) else 2.0  # half-way, or where it was before
        angle = self._theta(j, self.q_next - back * self.u)
        return step.reach[j] * (math.cos(angle) if member == "c" else math.sin(angle))

    def _value(self, e: Expr) -> float:
        if e.index not in self.values:
            a = [self._value(x) for x in e.args]
            match e.op:
                case "const":
                    value = e.value
                case "load":
                    value = self._load(e.text)
                case "add":
                    value = a[0] + a[1]
                case "sub":
                    value = a[0] - a[1]
                case "mul":
                    value = a[0] * a[1]
                case _:
                    value = -a[0]
            self.values[e.index] = value
        return self.values[e.index]
