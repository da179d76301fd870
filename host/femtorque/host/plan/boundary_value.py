"""Solves linear motions M w'' + C w' + K(t) w = F(t) as boundary-value problems.

The inverse of a flexible arm has stable and unstable roots. An integration forwards in time amplifies the unstable
roots without bound. An integration backwards amplifies the stable roots. The problem is well posed over the whole
motion, with one condition at the start per stable root and one condition at the end per unstable root (Tsujita et al.,
Eqs 15-16). `ends` chooses the conditions:

- "free": the motion contains no stable solutions at the start, and no unstable solutions at the end. So the elastic
  motion starts at the static sag
  before the tip moves, and returns to the sag after the tip stops. The rows are the left invariant subspaces of the
  system at the two ends, for any count of roots. `lead_in` and `lead_out` give the elastic motion beyond the ends
  (pre-actuation, post-actuation).
- "static": w is the static sag at both ends. The paper instead sets w = 0 at both ends and neglects the sag. The number
  of stable roots must equal the number of unstable roots. The velocities of the elastic coordinates at the ends are not
  prescribed.

Time is divided into equal steps. The box scheme (midpoint rule, second order) couples neighbouring time steps. One
banded factorisation solves the problem without iteration.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import expm, null_space, schur, solve, solve_banded

from femtorque.codegen.common import Array, Refused

Ends = Literal["free", "static"]

# fraction of the largest root's magnitude: roots with smaller real parts count as neither stable nor unstable
ON_AXIS = 1e-9
SINGULAR = 1e12  # condition number at which rounding causes errors of 1e-4
LARGEST = 40_000_000  # maximum number of entries of the banded matrix: about 1 GB in the solver


@dataclass(frozen=True)
class Problem:
    """Coefficients of the equation. M, C (n, n): constant. K (T, n, n), F (T, n): at times 0, dt, ... (T - 1) dt, s."""

    M: Array
    C: Array
    K: Array
    F: Array
    dt: float

    @property
    def n(self) -> int:
        return len(self.M)


@dataclass(frozen=True)
class Solution:
    """Elastic coordinates w, their velocities and their accelerations, each (T, n), at the problem's times."""

    w: Array
    rate: Array
    acceleration: Array


def most_steps(n: int) -> int:
    """Return the maximum number of time steps for n coordinates."""
    return LARGEST // (2 * n * _bands(2 * n))


def roots(M: Array, C: Array, K: Array) -> Array:
    """Return the 2 n roots s of det(M s^2 + C s + K) = 0, 1/s."""
    return np.linalg.eigvals(first_order(M, C, K))


def first_order(M: Array, C: Array, K: Array) -> Array:
    """Return A (2n, 2n) of y' = A y, y = (w, w')."""
    n = len(M)
    return np.block([[np.zeros((n, n)), np.eye(n)], [-solve(M, K), -solve(M, C)]])


def count(problem: Problem) -> tuple[int, int]:
    """Return the number of conditions at the start (stable roots) and at the end (unstable roots). Raises Refused
    unless the sum is 2 n. Raises Refused if rounding errors make the roots unreliable."""
    condition = float(np.linalg.cond(problem.M))
    if not condition < SINGULAR:
        raise Refused(f"the flexible motion's {problem.n} elastic coordinates are too many for double precision "
                      f"(condition {condition:.1g} of their mass matrix): fewer elements; five are enough")
    stable = _side(problem, 0, "stable")
    unstable = _side(problem, -1, "unstable")
    if len(stable) + len(unstable) != 2 * problem.n:
        raise Refused(
            f"the flexible motion is ill-posed: {len(stable)} stable roots at its start and {len(unstable)} unstable "
            f"at its end make {len(stable) + len(unstable)} conditions for {2 * problem.n} unknowns; a root on the "
            "imaginary axis wants damping, or the two poses differ in kind")
    return len(stable), len(unstable)


def static(problem: Problem, at: int) -> Array:
    """Return the static sag (n,) under the load at the first time (at = 0) or the last time (at = -1)."""
    return solve(problem.K[at], problem.F[at])


def solved(problem: Problem, ends: Ends = "free") -> Solution:
    """Return the solution of the boundary-value problem. Raises Refused, with the count, if the ends do not determine
    the motion."""
    n, T = problem.n, len(problem.F)
    first, last = count(problem)
    if T > most_steps(n):
        raise Refused(f"the flexible motion has {T} time steps of {problem.dt:g} s, and {most_steps(n)} are solved at "
                      f"once")
    if ends == "static" and first != last:
        raise Refused(f"static ends are ill-posed: {first} stable roots and {last} unstable ones, and each end gives "
                      f'{n} conditions; ends = "free" serves any count')
    if ends == "static":
        start = end = np.hstack([np.eye(n), np.zeros((n, n))])
    else:
        start, end = _side(problem, 0, "stable"), _side(problem, -1, "unstable")
    rest = [np.concatenate([static(problem, at), np.zeros(n)]) for at in (0, -1)]
    y = _banded(problem, start, start @ rest[0], end, end @ rest[1]).reshape(T, 2 * n)
    w, rate = y[:, :n], y[:, n:]
    force = problem.F - rate @ problem.C.T - np.einsum("tij,tj->ti", problem.K, w)
    return Solution(w, rate, solve(problem.M, force.T).T)


def lead_in(problem: Problem, found: Solution, duration: float) -> Solution:
    """Return the `duration` s before the motion, up to one step before its start."""
    return _beyond(problem, found, 0, duration)


def lead_out(problem: Problem, found: Solution, duration: float) -> Solution:
    """Return the `duration` s after the motion, from one step after its end."""
    return _beyond(problem, found, -1, duration)


def settling(problem: Problem, small: float = 1e-4) -> tuple[float, float]:
    """Return two durations, s. The elastic motion before the start decays (backwards in time) during the first
    duration, and the motion after the end during the second duration. After these durations, a fraction `small` is
    left."""
    slowest = []
    for at, sign in ((0, 1.0), (-1, -1.0)):
        real = sign * roots(problem.M, problem.C, problem.K[at]).real
        slowest.append(-np.log(small) / np.min(real[real > 0.0], initial=np.inf))
    return slowest[0], slowest[1]


def _side(problem: Problem, at: int, which: Literal["stable", "unstable"]) -> Array:
    """Return rows (k, 2n) that span the left invariant subspace of the stable or unstable roots. `at`: the end of the
    motion at which the roots are computed."""
    A = first_order(problem.M, problem.C, problem.K[at])
    edge = ON_AXIS * np.abs(np.linalg.eigvals(A)).max()
    if which == "stable":
        _, Z, k = schur(A.T, output="real", sort=lambda re, im: re < -edge)
    else:
        _, Z, k = schur(A.T, output="real", sort=lambda re, im: re > edge)
    return Z[:, :k].T


def _banded(problem: Problem, start: Array, at_start: Array, end: Array, at_end: Array) -> Array:
    """Return the solution y (T 2n,) of the box scheme with the given rows at the start and at the end. Unknowns and
    equations are ordered by time."""
    n, T, h = problem.n, len(problem.F), problem.dt
    two, first = 2 * n, len(start)
    K, F = 0.5 * (problem.K[1:] + problem.K[:-1]), 0.5 * (problem.F[1:] + problem.F[:-1])
    left, right = np.zeros((T - 1, two, two)), np.zeros((T - 1, two, two))
    eye = np.eye(n)
    left[:, :n, :n], right[:, :n, :n] = -eye / h, eye / h
    left[:, :n, n:], right[:, :n, n:] = -eye / 2, -eye / 2
    left[:, n:, :n] = right[:, n:, :n] = 0.5 * K
    left[:, n:, n:], right[:, n:, n:] = -problem.M / h + problem.C / 2, problem.M / h + problem.C / 2
    # the rows have similar sizes, so that the solver can pivot without further scaling
    size = np.abs(np.concatenate([left, right], axis=2)).max(axis=2)[..., None]
    left, right = left / size, right / size

    # equation e of interval t is row first + 2n t + e; its unknowns are those of instants t and t + 1
    below, above = first + two - 1, 2 * two - first - 1
    bands = np.zeros((_bands(two), T * two))
    value = np.zeros(T * two)
    t, e, c = np.ogrid[: T - 1, :two, :two]
    row = first + t * two + e
    for columns, block in ((t * two + c, left), ((t + 1) * two + c, right)):
        bands[above + row - columns, columns] = block
    value[first : first + (T - 1) * two] = np.hstack([np.zeros((T - 1, n)), F]).ravel() / size.ravel()
    r, c = np.ogrid[:first, :two]
    bands[above + r - c, c] = start
    value[:first] = at_start
    r, c = np.ogrid[T * two - len(end) : T * two, (T - 1) * two : T * two]
    bands[above + r - c, c] = end
    value[T * two - len(end) :] = at_end
    return solve_banded((below, above), bands, value)


def _bands(two: int) -> int:
    """Return the number of diagonals of the banded matrix. two: number of unknowns per instant. The number of diagonals
    does not depend on the number of end rows."""
    return 3 * two - 1


def _beyond(problem: Problem, found: Solution, at: int, duration: float) -> Solution:
    """Return free motion about the sag beyond one end, in steps of dt, in the order of time."""
    n, sag = problem.n, static(problem, at)
    A = first_order(problem.M, problem.C, problem.K[at])
    back = at == 0
    # the end rows span a left invariant subspace, so the motion has no component in this subspace
    within = null_space(_side(problem, at, "stable" if back else "unstable"))
    step = expm((-problem.dt if back else problem.dt) * (within.T @ A @ within))
    x = within.T @ np.concatenate([found.w[at] - sag, found.rate[at]])
    rows = []
    for _ in range(int(np.ceil(duration / problem.dt))):
        x = step @ x
        rows.append(within @ x)
    states = np.array(rows[::-1] if back else rows).reshape(-1, 2 * n)
    change = states @ A.T
    return Solution(sag + states[:, :n], states[:, n:], change[:, n:])
