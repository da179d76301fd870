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
PASSES = 2  # number of solutions; each one takes its tangents from the previous solution
NUDGE = 1e-3  # fraction of a speed and of an acceleration, for the derivatives of efforts
STILL = 1e-6  # fraction of the largest x, for tangents at rest


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
    for _ in range(PASSES if np.isfinite(Motors.of(space.whole).effort).any() else 0):
        if found is None:
            return None
        found = _passes(s, top, rows + _efforts(space, q, first, second, s, found, reserve))
    return None if found is None else (s, np.sqrt(found))


def _efforts(space: Space, q: Array, first: Array, second: Array, s: Array, x: Array, reserve: float) -> _Rows:
    """Return the limits of all efforts, linear about the squared speeds x (N,)."""
    motors = Motors.of(space.whole)
    x = np.maximum(x, STILL * x.max())[:, None]
    u = np.gradient(x[:, 0], s)[:, None] / 2.0
    h = NUDGE * (np.abs(u) + np.abs(u).max())

    xs, us = np.stack([x, x, x * (1.0 + NUDGE)]), np.stack([u, u + h, u])
    moves = np.broadcast_to(q, (3, *q.shape)), first * np.sqrt(xs), second * xs + first * us
    rates = space.streamed(moves[1])
    each = effort.of_space(space, *(move.reshape(-1, q.shape[1]) for move in moves)).reshape(rates.shape)
    tau, rate = each[0], rates[0]
    of_u = (each[1] - tau) / h
    of_x, fall = (each[2] - tau) / (NUDGE * x), motors.fall * (rates[2] - rate) / (NUDGE * x)
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
    """Return the largest squared speeds (N,) at most `top`, with zero at both ends. None if no speeds keep the rows."""
    half = 0.5 / np.diff(s)[:, None]
    # rows of both ends of an interval, with its u: p x_i + r x_(i+1) <= l
    p = np.hstack([rows.b[:-1] - rows.a[:-1] * half, -rows.a[1:] * half])
    r = np.hstack([rows.a[:-1] * half, rows.b[1:] + rows.a[1:] * half])
    l = -np.hstack([rows.c[:-1], rows.c[1:]])
    least, most = np.zeros_like(top), top.copy()
    least[-1] = most[-1] = 0.0
    for i in range(len(p) - 1, -1, -1):
        low, high = _span(p[i], r[i], l[i], least[i + 1], most[i + 1])
        least[i], most[i] = max(low, 0.0), min(high, top[i])
        if not least[i] <= most[i]:
            return None
    if least[0] > 0.0:
        return None
    x = np.zeros_like(top)
    for i in range(len(p)):
        up = r[i] > 0.0
        x[i + 1] = min(most[i + 1], float(np.min((l[i][up] - p[i][up] * x[i]) / r[i][up], initial=np.inf)))
    return x if np.all(x[1:-1] > 0.0) else None


def _span(p: Array, r: Array, l: Array, least: float, most: float) -> tuple[float, float]:
    """Return the range of x for which a y between `least` and `most` keeps p x + r y <= l."""
    up, down = r > 0.0, r < 0.0
    over = np.append(l[up] / r[up], most), np.append(-p[up] / r[up], 0.0)
    under = np.append(l[down] / r[down], least), np.append(-p[down] / r[down], 0.0)
    # a lower bound of y may not exceed an upper one
    slopes = np.append((under[1][:, None] - over[1]).ravel(), p[r == 0.0])
    room = np.append((over[0] - under[0][:, None]).ravel(), l[r == 0.0])
    if np.any(room[slopes == 0.0] < 0.0):
        return np.inf, -np.inf
    above, below = slopes > 0.0, slopes < 0.0
    return (float(np.max(room[below] / slopes[below], initial=-np.inf)),
            float(np.min(room[above] / slopes[above], initial=np.inf)))


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
