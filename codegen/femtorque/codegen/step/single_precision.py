"""A step's graph in single precision over a whole motion: its rounding errors without a compiler.

Every operation of the graph is done on all ticks at once, in float32. Only the turning pairs advance tick by tick
(templates/ft_trig.h.j2). tests/codegen/step/test_scheme.py compares it with the compiled C.
"""

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import sin_cos
from femtorque.codegen.model import Model
from femtorque.codegen.motion import DURATION, random_motion
from femtorque.codegen.reference import newton_euler, planar_torque, spatial_torque
from femtorque.codegen.step.graph import Call, Const, Expr, Input, Place, Result, State, Store, Values
from femtorque.codegen.step.newton_euler import NewtonEulerStep
from femtorque.codegen.step.planar import PlanarStep
from femtorque.codegen.step.spatial import SpatialStep

Single = NDArray[np.float32]
PROMISE = 1e-4  # of peak torque: allowed error of single precision on a motion of a second
SEED = 0  # of the random motions, as `verify` has it
TICKS = 1000  # ticks of each motion, about its middle, where it is fastest
PEAK_SAMPLES = 101
EXACT_BELOW_HZ = 400  # with longer ticks the leapfrog's error would show: half the square of half a tick's turn


class SinglePrecision:
    """One run of a step over positions (N+1, J), rad or m, tick after tick; the first tick primes the state."""

    def __init__(self, model: Model, step: PlanarStep | SpatialStep | NewtonEulerStep,
                 positions: NDArray[np.float64]) -> None:
        self.model, self.step, self.tree, self.q = model, step, step.tree, positions
        u = 0.5 * np.diff(positions, axis=0)
        self.u, self.du = u.astype(np.float32), (0.5 * np.diff(u, axis=0, prepend=u[:1])).astype(np.float32)
        _, live = step.graph.live()
        self.calls = [s for s in step.graph.statements if isinstance(s, Call) and s in live]
        self.stored = {s.place: s.expr for s in live if isinstance(s, Store)}
        self.values = Values(self._leaf)
        self.returned: dict[Call, dict[str, Single]] = {}
        self.returned = self._turned()

    def torque(self) -> Single:
        """Return the torque (N-1, J), N m or N, of all ticks but the first."""
        return np.stack([self._series(self.stored[Place("tau", j)])[1:] for j in range(self.model.n)], axis=-1)

    # ---- turning pairs
    def _turned(self) -> dict[Call, dict[str, Single]]:
        """Return the results of the calls of all ticks, by their parts."""
        if not self.calls:
            return {}
        bodies = [place.index for s in self.calls if isinstance(place := s.arguments[0], Place)]
        w = np.stack([self._series(s.needs[0]) for s in self.calls], axis=-1)
        unit = self.step.length_unit if isinstance(self.step, PlanarStep) else 1.0
        radius = unit * np.array([self.step.reach[j] for j in bodies])
        theta = np.stack([self.tree.bodies[j].turn + sum(self.tree.bodies[i].sign * self.q[:, i]
                                                         for i in self.tree.members(j)) for j in bodies], axis=-1)
        sine, cosine = sin_cos(theta)
        exact = np.stack([radius * cosine, radius * sine]).astype(np.float32)  # (2, N+1, calls)
        swing = self._swing if isinstance(self.step, PlanarStep) else self._advance
        results = swing(w, exact)
        return {call: dict(zip(call.function.parts, results[:, :, k], strict=True)) for k,
                call in enumerate(self.calls)}

    @staticmethod
    def _make_exact(k: int, pair: Single, exact: Single) -> None:
        """Make one component exact after tick k, in rotation."""
        component, i = k % 2, k // 2 % pair.shape[1]
        pair[component, i] = exact[component, k + 1, i]

    def _leaps(self) -> bool:
        return self.model.mechanism.control.rate_hz >= EXACT_BELOW_HZ

    def _advance(self, w: Single, exact: Single) -> Single:
        """Return pairs half-way through every tick, or before it for Newton-Euler: (2, N, calls)."""
        before = isinstance(self.step, NewtonEulerStep)
        results, pair = np.empty((2, *w.shape), np.float32), exact[:, 0].copy()
        for k, by in enumerate(w):
            x, y = pair
            if self._leaps():
                s = y + by * x
                c = x - by * s
                x_next = c - by * s
                y_next = s + by * x_next
            else:
                sin, cos = _sin_cos(by)
                c, s = cos * x - sin * y, cos * y + sin * x
                x_next, y_next = cos * c - sin * s, cos * s + sin * c
            results[:, k] = pair if before else (c, s)
            pair[0], pair[1] = x_next, y_next
            self._make_exact(k, pair, exact)
        return results

    def _swing(self, w: Single, exact: Single) -> Single:
        """Return link vectors at every sample and the differences of the increments on its sides: (4, N, calls)."""
        results, pair = np.empty((4, *w.shape), np.float32), exact[:, 0].copy()
        increment = np.zeros_like(pair)
        for k, by in enumerate(w):
            x, y = pair
            if self._leaps():
                fall = -(by * (y + by * x))
                dx = fall + fall
                dy = by * x + by * (x + dx)
            else:
                sin, cos = _sin_cos(by)
                fall = -np.float32(2.0) * sin
                dx, dy = fall * (cos * y + sin * x), -fall * (cos * x - sin * y)
            step = np.stack([dx, dy])
            results[:2, k], results[2:, k] = pair, step - increment
            pair, increment = pair + step, step
            self._make_exact(k, pair, exact)
        return results

    # ---- expressions
    def _leaf(self, e: Expr) -> Single:
        """Return the values of an expression that is not computed from other nodes."""
        if isinstance(e, Const):
            return np.asarray(e.value, np.float32)
        if isinstance(e, Result):
            return self.returned[e.call][e.part]
        if isinstance(e, State):
            before = np.zeros(len(self.u), np.float32)
            before[1:] = self._series(self.stored[e.place])[:-1]
            return before
        assert isinstance(e, Input)
        given: dict[str, NDArray[np.floating]] = {"u": self.u, "du": self.du, "q": self.q[1:]}
        return given[e.place.array][:, e.place.index].astype(np.float32)

    def _series(self, e: Expr) -> Single:
        """Return the values of an expression in every tick; a constant is repeated."""
        return np.broadcast_to(self.values.of(e), (len(self.u),))


def _sin_cos(angle: Single) -> tuple[Single, Single]:
    sine, cosine = sin_cos(angle)
    return sine.astype(np.float32), cosine.astype(np.float32)


def error_of_peak(model: Model, step: PlanarStep | SpatialStep | NewtonEulerStep, number: int) -> float:
    """Return the worst error of the midpoint rule in single precision on one random motion, in units of its peak
    torque."""
    motion = random_motion(model.mechanism, np.random.default_rng([SEED, number]))
    ticks = round(DURATION / model.dt)
    first = max(0, (ticks - TICKS) // 2)
    positions = motion.middles(ticks, model.dt)[first : first + TICKS + 2]
    form = planar_torque if isinstance(step, PlanarStep) else spatial_torque
    plain = form(model, positions, 0.5 * np.diff(positions, axis=0))
    peak = np.abs(newton_euler(model, *motion.at(np.linspace(0.0, DURATION, PEAK_SAMPLES)))).max()
    error = np.abs(SinglePrecision(model, step, positions).torque() - plain).max()
    return float(error / peak) if error else 0.0
