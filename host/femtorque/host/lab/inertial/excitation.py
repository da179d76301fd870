"""Finds a motion for the identification of an arm's masses: a Fourier series within limits. A search maximises the
information.

    q_j(t) = c_j + s(t) sum_k [ a_jk sin(k w t) + b_jk cos(k w t) ],   w = 2 pi / duration     (Swevers et al., 1997)

s(t) brings both ends to rest. The search starts from the best of many random motions, and improves this motion by many
small changes. The score is the log-determinant of the information matrix of the base parameters (T-RA 13(5)).

Friction that falls with velocity shows only in long slow motions. In `sweep` each joint goes through its range and back
at constant velocities. Each velocity is half of the next higher velocity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from femtorque.codegen.common import Array, BadInput, Refused, hint
from femtorque.codegen.control import Motors
from femtorque.codegen.mechanism import Joint
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.host.lab.inertial.regressor import Moves, Unknowns
from femtorque.host.plan import Plan, effort, shares

HARMONICS = 5
SECONDS = 10.0  # of a motion
RAMP = 1.0  # time of the ramps at both ends, s
SLOW = (1.0, 0.5, 0.25, 0.125, 0.0625)  # fractions of the fastest constant velocity
EVEN, TURN = 1.5, 0.4  # time at each velocity in one direction, s; time of each change of velocity, s
REACH, SLIDE = 1.0, 0.15  # default range on each side of the start: rad for a revolute joint, m for a prismatic joint
MARGIN = 0.05  # fraction of a position range that is kept free at both ends
# fractions of the limits of velocity and acceleration, and of the effort; not 1, since the file may be wrong
FAST, HARD = 0.5, 0.6
DRAWN, CHANGED = 60, 120  # number of random motions, and number of changes to the best motion
OF_CLOSED = 5  # divisor of DRAWN and CHANGED for closed mechanisms, since solving the loop equations takes time
SAMPLES = 80  # number of instants of a motion at which torques are computed
SMALLER, SMALLEST = 0.85, 0.02  # if motors are too weak: factor on the speed between two tries, and the smallest factor
RANK = 1e-7  # fraction of the largest pivot: a column with a smaller pivot depends linearly on other columns
QUIET = 0.02  # fraction of the effort: assumed standard deviation of the measured torques


@dataclass(frozen=True)
class Excitation(Plan):
    """A plan of an exciting motion, without waypoints."""

    information: float  # log-determinant; higher is better

    def words(self) -> str:
        """Return the duration in words."""
        return f"{self.trajectory.duration:.3f} s, to find masses, inertias and friction; every limit kept"


@dataclass(frozen=True)
class _Series:
    """A Fourier series about centre (f,), rad or m, with coefficients (f, HARMONICS, 2)."""

    centre: Array
    coefficients: Array
    seconds: float

    def at(self, t: Array) -> Moves:
        k = 2.0 * np.pi / self.seconds * np.arange(1, HARMONICS + 1)
        waves = np.exp(1j * np.outer(t, k))  # sin is its imaginary part
        amplitude = self.coefficients[:, :, 1] - 1j * self.coefficients[:, :, 0]  # Re(amplitude e^ikt)
        f, df, ddf = (np.real((waves * (1j * k) ** n) @ amplitude.T) for n in range(3))
        s, ds, dds = (x[:, None] for x in _ramp(t, self.seconds))
        return self.centre + s * f, ds * f + s * df, dds * f + 2.0 * ds * df + s * ddf

    def scaled(self, share: float) -> _Series:
        return _Series(self.centre, share * self.coefficients, self.seconds)


@dataclass(frozen=True)
class _Steps:
    """Motion about centre (f,), rad or m, at velocities (f, K) for EVEN s each, and back at the same velocities.
    Quintics of TURN s join the velocities."""

    centre: Array
    velocities: Array

    @property
    def seconds(self) -> float:
        return 2.0 * EVEN * self.velocities.shape[1] + TURN

    def at(self, t: Array) -> Moves:
        still = np.zeros((len(self.velocities), 1))
        levels = np.hstack([still, self.velocities, -self.velocities[:, ::-1], still])
        way = EVEN * self.velocities.sum(axis=1)
        q, qd, qdd = (np.zeros((len(t), len(levels))) for _ in range(3))
        for k, (before, after) in enumerate(pairwise(levels.T)):
            x, change = (t - k * EVEN) / TURN, after - before
            y = np.clip(x, 0.0, 1.0)
            qdd += np.outer(30 * y**2 * (1 - y) ** 2 / TURN, change)
            qd += np.outer(y**3 * (10 - 15 * y + 6 * y * y), change)
            q += np.outer(TURN * (y**4 * (2.5 - 3 * y + y * y) + np.maximum(x - 1.0, 0.0)), change)
        return self.centre - 0.5 * way + q, qd, qdd

    def scaled(self, share: float) -> _Steps:
        return _Steps(self.centre, share * self.velocities)


def _ramp(t: Array, seconds: float) -> Moves:
    """Return a ramp from 0 to 1 and back, with derivatives: quintics of RAMP s at both ends."""
    x = np.clip(np.minimum(t, seconds - t) / RAMP, 0.0, 1.0)
    side = np.where(t < 0.5 * seconds, 1.0, -1.0) / RAMP
    return (x**3 * (10 - 15 * x + 6 * x * x), 30 * x**2 * (1 - x) ** 2 * side,
            60 * x * (1 - x) * (1 - 2 * x) / RAMP**2)


def ranges(joints: tuple[Joint, ...], given: Mapping[str, tuple[float, float]]) -> Array:
    """Return the joints' position ranges (f, 2). A joint without a given range gets the start pose plus and minus
    REACH. Each range ends MARGIN before the limits. Raises BadInput for an unknown joint, or for a range that exceeds
    the joint's limits."""
    names = [joint.name for joint in joints]
    for name, (low, high) in given.items():
        if name not in names:
            raise BadInput("identify", "--range", name, "no such joint moves by itself", hint(name, names, "joints"))
        joint = joints[names.index(name)]
        if not joint.limits.lower <= low < high <= joint.limits.upper:
            raise BadInput("identify", "--range", f"{name}={low:g}:{high:g}",
                           f"must be within {joint.limits.lower:g} .. {joint.limits.upper:g}, the lower end first")
    rows = []
    for joint in joints:
        reach = SLIDE if joint.type == "prismatic" else REACH
        low, high = given.get(joint.name, (joint.start - reach, joint.start + reach))
        low, high = max(low, joint.limits.lower), min(high, joint.limits.upper)
        rows.append((low + MARGIN * (high - low), high - MARGIN * (high - low)))
    return np.array(rows)


def base_columns(unknowns: Unknowns, within: Array) -> tuple[NDArray[np.int64], Array]:
    """Return independent columns (B,) for motions in a range, and the matrix (B, P) from all unknowns to base
    parameters: Y x = Y[:, columns] (matrix x). Method: QR decomposition with pivoting (Gautier, ICRA 1990)."""
    rng = np.random.default_rng(7)
    space = unknowns.space
    middle = space.coordinates(space.start)
    share = 1.0 if not space.mechanism.constrained else 0.3
    low, high = middle + share * (within[:, 0] - middle), middle + share * (within[:, 1] - middle)
    x = low + (high - low) * rng.random((4 * len(unknowns.names) + 40, len(middle)))
    moves = space.motion(space.start, x[_way(x)], *rng.normal(size=(2, *x.shape)))
    Y = unknowns.matrix(moves)
    Y = Y.reshape(-1, Y.shape[2])
    size = np.linalg.norm(Y, axis=0)
    seen = np.flatnonzero(size > RANK * size.max())
    R, pivots = qr(Y[:, seen] / size[seen], mode="r", pivoting=True)
    rank = int(np.sum(np.abs(np.diag(R)) > RANK * abs(R[0, 0])))
    columns = seen[pivots[:rank]]
    others = seen[pivots[rank:]]
    matrix = np.zeros((rank, len(unknowns.names)))
    matrix[np.arange(rank), columns] = 1.0
    if len(others):
        lean = np.linalg.solve(R[:rank, :rank], R[:rank, rank:])
        matrix[:, others] = lean * size[others] / size[columns][:, None]
    matrix[np.abs(matrix) < 1e-9] = 0.0
    return columns, matrix


def _way(x: Array) -> NDArray[np.int64]:
    """Return an order of the poses in which neighbours are close together. For a closed mechanism, the loop equations
    are solved for the poses in this order."""
    return np.lexsort(x.T[:1])


def excite(unknowns: Unknowns, within: Array, columns: NDArray[np.int64], seed: int = 1) -> Excitation:
    """Return the exciting motion. within (f, 2): ranges of the coordinates. columns: result of `base_columns`. Raises
    Refused if the motors cannot move the arm in these ranges."""
    rng = np.random.default_rng(seed)
    best, score = None, -np.inf
    fewer = OF_CLOSED if unknowns.space.mechanism.constrained else 1
    for number in range((DRAWN + CHANGED) // fewer):
        if number < DRAWN // fewer or best is None:
            drawn = rng.normal(size=(len(within), HARMONICS, 2))
            series = _scaled(unknowns, within, _Series(within.mean(axis=1), drawn, SECONDS), rng)
        else:
            change = 0.25 * rng.normal(size=best.coefficients.shape) * np.abs(best.coefficients).max((1, 2),
                                                                                                     keepdims=True)
            series = _scaled(unknowns, within, _Series(best.centre, best.coefficients + change, SECONDS), rng)
        found = _information(unknowns, columns, series)
        if found > score:
            best, score = series, found
    if best is None:
        raise Refused(f"{unknowns.space.whole.name}: the loops cannot be followed in these ranges; give smaller ones")
    return _within_efforts(unknowns, best, score)


def _scaled(unknowns: Unknowns, within: Array, series: _Series, rng: np.random.Generator) -> _Series:
    """Scale each joint's motion to its limits of range and velocity. Draw a random centre for which the motion stays
    within the range."""
    t = np.linspace(0.0, series.seconds, 4 * SAMPLES)
    centred = _Series(np.zeros(len(within)), series.coefficients, series.seconds)
    q, qd, qdd = centred.at(t)
    low, high = q.min(axis=0), q.max(axis=0)
    limits = [joint.limits for joint in unknowns.space.joints]
    room = within[:, 1] - within[:, 0]
    factor = np.minimum(room / (high - low), FAST * np.array([x.velocity for x in limits]) / np.abs(qd).max(axis=0))
    factor = np.minimum(factor, FAST * np.array([x.acceleration for x in limits]) / np.abs(qdd).max(axis=0))
    centre = np.clip(series.centre, within[:, 0] - factor * low, within[:, 1] - factor * high)
    return _Series(centre, series.coefficients * factor[:, None, None], series.seconds)


def _information(unknowns: Unknowns, columns: NDArray[np.int64], series: _Series | _Steps) -> float:
    """Return the log-determinant; minus infinity if the loop equations cannot be solved."""
    space = unknowns.space
    try:
        moves = space.motion(space.start, *series.at(np.linspace(0.0, series.seconds, SAMPLES)))
    except Refused:
        return -np.inf
    limits = Motors.of(space.whole).effort
    noise = QUIET * np.where(np.isfinite(limits), limits, 1.0)
    Y = (unknowns.matrix(moves)[:, :, columns] / noise[:, None]).reshape(-1, len(columns))
    sign, value = np.linalg.slogdet(Y.T @ Y + 1e-12 * np.eye(len(columns)))
    return float(value) if sign > 0.0 else -np.inf


def sweep(unknowns: Unknowns, within: Array, columns: NDArray[np.int64], seed: int = 1) -> Excitation:
    """Return a motion of each joint through its range and back, at the velocities of SLOW. The velocities come in a
    different order for each joint. Raises the same Refused as `excite`."""
    rng = np.random.default_rng(seed)
    shares = np.array([rng.permutation(SLOW) * rng.choice([-1.0, 1.0]) for _ in within])
    limits = [joint.limits for joint in unknowns.space.joints]
    fastest = (within[:, 1] - within[:, 0]) / (EVEN * sum(SLOW))
    fastest = np.minimum(fastest, [FAST * x.velocity for x in limits])
    turning = 2.0 * 1.875 / TURN  # peak acceleration of a quintic from velocity -1 to 1
    fastest = np.minimum(fastest, [FAST * x.acceleration / turning for x in limits])
    motion = _Steps(within.mean(axis=1), shares * fastest[:, None])
    return _within_efforts(unknowns, motion, _information(unknowns, columns, motion))


def _within_efforts(unknowns: Unknowns, series: _Series | _Steps, score: float) -> Excitation:
    """Return the motion with the largest amplitude that the motors can follow."""
    space, share = unknowns.space, 1.0
    while share > SMALLEST:
        try:
            motion = _trajectory(unknowns, series.scaled(share))
            worst = effort.heaviest(space.whole, motion)
            if worst is None or worst.share <= HARD:
                return Excitation(motion, (), (), shares(space.whole, motion), None, (), score)
        except Refused:
            pass
        share *= SMALLER
    raise Refused(f"{space.whole.name}: the motors cannot move the arm in these ranges with {HARD:.0%} of their "
                  "effort; give ranges nearer to the hanging pose")


def _trajectory(unknowns: Unknowns, series: _Series | _Steps) -> Trajectory:
    space = unknowns.space
    count = round(series.seconds * space.whole.control.knot_hz) + 1
    t = np.linspace(0.0, series.seconds, count)
    q, qd, qdd = (space.streamed(x) for x in space.motion(space.start, *series.at(t)))
    return from_rows([joint.name for joint in space.whole.streamed], t, q, qd, qdd)
