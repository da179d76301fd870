"""Finds the fastest motion along a path that velocities, accelerations and efforts allow.

The path has a parameter s from 0 to 1. The acceleration u = s'' is constant between two points of a grid, so the
squared speed x = s'^2 is linear in s. Every limit is then linear in x at two neighbouring points. The torques of
back-EMF and of viscous friction are linear in s' instead. Tangents at the previous solution replace these torques. A
backward pass finds the largest x at each point from which the arm can still stop. A forward pass then takes the
largest x at each point (Pham and Pham, A new approach to time-optimal path parameterization based on reachability
analysis, IEEE T-RO 2018).

The fastest motion has jumps of acceleration. The average of the motion over a window of time follows the same path and
has a limited jerk. The average starts and ends at rest.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.control import Motors
from femtorque.host.plan import effort
from femtorque.host.plan.plan_coordinates import Space

# maps path parameters s (N,) to q, dq/ds and d2q/ds2, each (N, J)
Curve = Callable[[Array], tuple[Array, Array, Array]]

INTERVALS = 50  # of the grid
PASSES = 2  # number of solutions with efforts, whose tangents are at the previous solution
NUDGE = 1e-3  # fraction of a speed and of an acceleration, for the derivatives of efforts
STILL = 1e-6  # fraction of the largest x below which the motion nearly stops


@dataclass(frozen=True)
class _Rows:
    """Limits c + a u + b x <= 0 at the points of the grid, each (N, K)."""

    a: Array
    b: Array
    c: Array

    def __add__(self, other: "_Rows") -> "_Rows":
        return _Rows(*(np.hstack(pair) for pair in
                       ((self.a, other.a), (self.b, other.b), (self.c, other.c))))


@dataclass(frozen=True)
class Path:
    """A path in one mode."""

    space: Space
    begin: Array  # the pose at s = 0, (n,)
    curve: Curve  # path of the coordinates
    share: Callable[[Array], Array]  # function from s (N,) to the fraction of full speed
    accelerations: Array  # limits of all joints at full speed (n,)


def fastest(path: Path, reserve: float) -> tuple[Array, Array] | None:
    """Return the grid s (N,) and the speeds s' (N,) of the fastest motion. None if no motion keeps all limits."""
    space, s = path.space, 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, INTERVALS + 1))
    x, slope, bend = path.curve(s)
    q = space.follow(path.begin, x)
    first = space.assembly.velocities(q, slope)
    second = space.assembly.accelerations(q, first, bend)
    share = path.share(s)[:, None]
    velocities = np.array([body.joint.limits.velocity for body in space.assembly.model.bodies])
    top = np.min((share * velocities / np.maximum(np.abs(first), 1e-12)) ** 2, axis=1)
    bounded = np.isfinite(path.accelerations)
    G, H, limit = first[:, bounded], second[:, bounded], share**2 * path.accelerations[bounded]
    rows = _Rows(np.hstack([G, -G]), np.hstack([H, -H]), -np.hstack([limit, limit]))
    found = _passes(s, top, rows)
    if found is None or not np.isfinite(Motors.of(space.whole).effort).any():
        return None if found is None else (s, np.sqrt(found))
    needs = _Needs.of(space, q, first, second, found)
    for _ in range(PASSES):
        found = _passes(s, top, rows + _efforts(needs, s, found, reserve))
        if found is None:
            return None
    return s, np.sqrt(found)


@dataclass(frozen=True)
class _Needs:
    """Efforts (N, J) along a path. The bodies need the torque `weight` + `of_x` x + `of_u` u."""

    space: Space
    weight: Array
    of_x: Array
    of_u: Array
    first: Array  # of the streamed joints
    second: Array

    @staticmethod
    def of(space: Space, q: Array, first: Array, second: Array, x: Array) -> "_Needs":
        """Return the efforts near squared speeds x (N,). A passive joint's friction counts at these speeds."""
        x = np.maximum(x, STILL * x.max())[:, None]
        still = np.zeros_like(q)
        moves = (np.vstack(part) for part in ((q, q, q), (still, first * np.sqrt(x), still),
                                              (still, second * x, first)))
        weight, moving, pushed = np.split(space.torque(*moves), 3)
        return _Needs(space, weight, (moving - weight) / x, pushed - weight, space.streamed(first),
                      space.streamed(second))

    def rates(self, x: Array) -> Array:
        """Return the velocities (N, J) at squared speeds x (N, 1)."""
        return self.first * np.sqrt(x)

    def at(self, x: Array, u: Array) -> Array:
        """Return the efforts (N, J) at squared speeds x and accelerations u, each (N, 1)."""
        tau = self.weight + self.of_x * x + self.of_u * u
        return effort.with_motors(self.space, self.rates(x), self.second * x + self.first * u, tau)


def _efforts(needs: _Needs, s: Array, x: Array, reserve: float) -> _Rows:
    """Return the limits of all efforts, linear about the squared speeds x (N,)."""
    motors = Motors.of(needs.space.whole)
    x = np.maximum(x, STILL * x.max())[:, None]
    u = np.gradient(x[:, 0], s)[:, None] / 2.0
    h = NUDGE * (np.abs(u) + np.abs(u).max())
    tau, rate, more = needs.at(x, u), needs.rates(x), x * (1.0 + NUDGE)
    of_u = (needs.at(x, u + h) - tau) / h
    of_x, fall = (needs.at(more, u) - tau) / (NUDGE * x), motors.fall * (needs.rates(more) - rate) / (NUDGE * x)
    rows = []
    for sign in (1.0, -1.0):
        line = motors.stall - sign * motors.fall * rate
        for there, slope in ((np.broadcast_to(motors.effort, tau.shape), 0.0 * fall), (line, -sign * fall)):
            use, kept = np.isfinite(there).all(axis=0), 1.0 - reserve
            b = sign * of_x - kept * slope
            c = sign * tau - kept * there - sign * of_u * u - b * x
            rows.append(_Rows(*(value[:, use] for value in (sign * of_u, b, c))))
    return rows[0] + rows[1] + rows[2] + rows[3]


def _passes(s: Array, top: Array, rows: _Rows) -> Array | None:
    """Return the largest squared speeds (N,) at most `top`, with zero at both ends. None if no speeds keep the rows,
    or if the motion nearly stops.

    In an interval, a row is p x + r y <= l with the squared speeds x and y of both ends. So a row is an upper or a
    lower bound of y, or a bound of x. A lower bound of y may not exceed an upper bound (Fourier-Motzkin)."""
    half = 0.5 / np.diff(s)[:, None]
    p = np.hstack([rows.b[:-1] - rows.a[:-1] * half, -rows.a[1:] * half])
    r = np.hstack([rows.a[:-1] * half, rows.b[1:] + rows.a[1:] * half])
    l = -np.hstack([rows.c[:-1], rows.c[1:]])
    up, down = _bounds(p, r, l), _bounds(p, -r, l)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = up[1][:, :, None] + down[1][:, None]
        both = np.where(slope > 0.0, (up[0][:, :, None] + down[0][:, None]) / slope, np.inf).min(axis=(1, 2))
        alone = np.where((r >= 0.0) & (p > 0.0), l / p, np.inf).min(axis=1)
        back, gain = (np.where(down[1] > 0.0, x / down[1], limit) for x, limit in ((down[0], np.inf), (1.0, 0.0)))
    most = np.append(np.minimum(np.minimum(both, alone), top[:-1]), 0.0)
    for i in range(len(p) - 1, -1, -1):
        most[i] = min(most[i], np.min(back[i] + gain[i] * most[i + 1], initial=np.inf))
    x = np.zeros_like(top)
    for i in range(len(p)):
        x[i + 1] = min(most[i + 1], np.min(up[0][i] - up[1][i] * x[i], initial=np.inf))
    return x if most[0] >= 0.0 and np.all(x[1:-1] > STILL * x.max()) else None


def _bounds(p: Array, r: Array, l: Array) -> tuple[Array, Array]:
    """Return the bounds y <= a - b x of all rows with r > 0, as a and b (N, K). An infinite a is no bound."""
    order = np.argsort(-r, axis=1)[:, :int(np.max(np.sum(r > 0.0, axis=1), initial=0))]
    p, r, l = (np.take_along_axis(x, order, axis=1) for x in (p, r, l))
    use = r > 0.0
    r = np.where(use, r, 1.0)
    return np.where(use, l / r, np.inf), np.where(use, p / r, 0.0)


def averaged(s: Array, rate: Array, window: float) -> tuple[Curve, float]:
    """Return the average of a motion along the path over `window` s. The result is a function from times (N,) to s, s'
    and s'', each (N,), and its duration, s. rate (N,): s' at the grid s."""
    from scipy.interpolate import PPoly  # noqa: PLC0415 (an extra)

    steps = 2.0 * np.diff(s) / (rate[1:] + rate[:-1])
    t = np.cumsum([0.0, window, *steps, window])
    slopes = [0.0, *np.diff(rate) / steps, 0.0]
    speed = PPoly(np.array([slopes, [0.0, *rate[:-1], 0.0]]), t)
    place = speed.antiderivative()
    area = place.antiderivative()

    def at(when: Array) -> tuple[Array, Array, Array]:
        first, last = when, when + window
        along = (area(last) - area(first)) / window
        return np.clip(along, 0.0, 1.0), (place(last) - place(first)) / window, (speed(last) - speed(first)) / window

    return at, float(t[-1] - window)
