"""Conversion of a recording to a motion, for teach and repeat: the smoothed log of a run, from rest to rest, within
limits.

If the arm was guided by hand (state FLOAT), the new motion is the measured position in the longest period of FLOAT.
If the arm was not guided by hand, the new motion is the desired position of the log's last motion. The standstill at
both ends is removed. A Gaussian kernel of width WIDTH smooths the positions. The kernel's derivatives give velocities
and accelerations. If a recording exceeds the limits, the whole motion is slowed down. The smoothing removes movements
faster than WIDTH, and the motion stays within the joints' limits.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femtorque.codegen.common import Array, BadInput
from femtorque.codegen.mechanism import Joint

LED, PLAYED = "FLOAT", ("TRACK", "JOG")
WIDTH = 0.06  # standard deviation of the Gaussian, s
REACH = 4.0  # half-width of the kernel, in multiples of WIDTH
STEP = 0.01  # time between rows of the motion, s
MOVED = 2e-3  # displacement above which a joint has moved, rad or m
INSIDE = 1e-3  # least distance between the motion and a joint's limits, rad or m
SPARE = 1.02  # margin on the slow-down factor, for peaks between the rows


@dataclass(frozen=True)
class Recording:
    """The content of a log: t (S,) s; measured, desired (S, J) rad or m; states: the name of the state at every
    sample."""

    t: Array
    measured: Array
    desired: Array
    states: tuple[str, ...]


def motion(path: Path, record: Recording, joints: tuple[Joint, ...]) -> tuple[Array, Array, Array, Array]:
    """Return t (R,), and positions, velocities, accelerations (R, J) at the rows. Raise BadInput if the log contains no
    motion.
    """
    begin, end, led = _stretch(path, record.states)
    q = (record.measured if led else record.desired)[begin:end]
    t, q = _moving(path, record.t[begin:end], q)
    lower, upper = _inside(joints)
    grid = np.arange(int(np.ceil((t[-1] - t[0]) / STEP)) + 1) * STEP
    even = np.stack([np.interp(grid, t - t[0], column) for column in np.clip(q, lower, upper).T], axis=1)
    position, rate, acceleration = _smooth(even)
    slower = max(1.0, _excess(joints, rate, acceleration))
    t = STEP * slower * np.arange(len(position), dtype=np.float64)
    return t, position, rate / slower, acceleration / slower**2


def _stretch(path: Path, states: tuple[str, ...]) -> tuple[int, int, bool]:
    """Return the first sample, the sample after the last one, and True if the arm was guided by hand between them."""
    by_hand = _runs([state == LED for state in states])
    if by_hand:
        return *max(by_hand, key=lambda run: run[1] - run[0]), True
    played = _runs([state in PLAYED for state in states])
    if not played:
        raise BadInput(path, "log", None, "holds no motion: the arm was neither led by hand nor did it play one",
                       "record one with `femtorque float --log` or `femtorque stream --log`")
    return *played[-1], False


def _runs(where: list[bool]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.array([False, *where, False]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _moving(path: Path, t: Array, q: Array) -> tuple[Array, Array]:
    """Return t and q without the standstill at both ends."""
    away, left = (np.flatnonzero(np.any(np.abs(q - q[k]) > MOVED, axis=1)) for k in (0, -1))
    if not len(away) or not len(left):
        raise BadInput(path, "log", None, f"holds no motion: no joint went further than {MOVED:g} from where it stood",
                       "lead the arm further")
    begin, end = max(int(away[0]) - 1, 0), min(int(left[-1]) + 2, len(t))
    return t[begin:end], q[begin:end]


def _inside(joints: tuple[Joint, ...]) -> tuple[Array, Array]:
    lower, upper = (np.array([getattr(joint.limits, side) for joint in joints]) for side in ("lower", "upper"))
    keep = np.minimum(INSIDE, 0.01 * (upper - lower))
    return lower + keep, upper - keep


def _smooth(q: Array) -> tuple[Array, Array, Array]:
    """Return positions, velocities and accelerations at rows that are STEP apart, with standstill before and after
    them."""
    half = int(np.ceil(REACH * WIDTH / STEP))
    x = np.arange(-half, half + 1) * STEP / WIDTH
    bell = np.exp(-0.5 * x**2)
    bell /= bell.sum()
    kernels = bell, bell * -x / WIDTH, bell * (x**2 - 1.0) / WIDTH**2
    kernels = kernels[0], kernels[1], kernels[2] - kernels[2].mean()  # zero for an arm at rest
    padded = np.pad(q, ((2 * half, 2 * half), (0, 0)), mode="edge")
    position, rate, acceleration = (np.stack([np.convolve(column, kernel, "valid") for column in padded.T], axis=1)
                                    for kernel in kernels)
    rate[[0, -1]] = acceleration[[0, -1]] = 0.0  # the exact values are zero; the differences come from rounding
    return position, rate, acceleration


def _excess(joints: tuple[Joint, ...], rate: Array, acceleration: Array) -> float:
    """Return the factor by which the motion must be slowed down to satisfy every joint's limits."""
    jerk = np.gradient(acceleration, STEP, axis=0)
    worst = 0.0
    for j, joint in enumerate(joints):
        limits = joint.limits
        for values, limit, power in ((rate, limits.velocity, 1), (acceleration, limits.acceleration, 2),
                                     (jerk, limits.jerk, 3)):
            if np.isfinite(limit):
                worst = max(worst, (float(np.abs(values[:, j]).max()) / limit) ** (1.0 / power))
    return SPARE * worst
