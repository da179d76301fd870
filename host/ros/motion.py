"""A JointTrajectory as a motion: positions alone, with velocities, or with accelerations too.

Between points it is a cubic through positions and velocities, or a quintic through accelerations too, as ROS 2's
joint_trajectory_controller has it. Positions alone get the velocities of a spline through neighbours (Catmull and Rom),
zero at both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.mechanism.description import Joint

Array = NDArray[np.float64]

INVALID_GOAL, INVALID_JOINTS, OLD_STAMP = -1, -2, -3  # control_msgs/action/FollowJointTrajectory
POINTS, LONGEST = 100_000, 3600.0  # of a trajectory, s
SLACK = 1e-6  # rad or m that a point may be beyond a limit: rounding


class Invalid(Exception):
    """A trajectory that cannot be executed. code: of the action's result."""

    def __init__(self, code: int, line: str) -> None:
        super().__init__(line)
        self.code = code


@dataclass(frozen=True)
class Motion:
    """times (N,) s from the beginning, the first 0; positions, velocities (N, J); accelerations (N, J) or None."""

    times: Array
    positions: Array
    velocities: Array
    accelerations: Array | None

    @property
    def duration(self) -> float:
        return float(self.times[-1])

    def at(self, t: float) -> tuple[Array, Array]:
        """Positions and velocities (J,), at rest in the last point after the end."""
        if t >= self.duration:
            return self.positions[-1], np.zeros(self.positions.shape[1])
        k = max(int(np.searchsorted(self.times, t, side="right")) - 1, 0)
        span = self.times[k + 1] - self.times[k]
        ends = [self.positions[k:k + 2], span * self.velocities[k:k + 2]]
        if self.accelerations is not None:
            ends.append(span**2 * self.accelerations[k:k + 2])
        c = np.tensordot(_INVERSE[len(ends)], np.concatenate([np.array(ends)[:, 0], np.array(ends)[:, 1]]), 1)
        s = (max(t, self.times[0]) - self.times[k]) / span
        powers = s ** np.arange(len(c))
        slopes = np.arange(1, len(c)) * powers[:-1]
        return powers @ c, slopes @ c[1:] / span


def _hermite(n: int) -> Array:
    """Coefficients (2n,) of a polynomial on 0 .. 1 from its value and n - 1 derivatives at 0, and then at 1."""
    rows = np.zeros((2 * n, 2 * n))
    for d in range(n):
        for k in range(d, 2 * n):
            factor = float(np.prod(np.arange(k - d + 1, k + 1)))
            rows[d, k], rows[n + d, k] = factor * (k == d), factor
    return np.array(np.linalg.inv(rows))


_INVERSE = {n: _hermite(n) for n in (2, 3)}


def seconds(stamp: Any) -> float:
    """A Time or a Duration, s."""
    return float(stamp.sec) + 1e-9 * float(stamp.nanosec)


def read(message: Any, joints: Sequence[Joint], here: tuple[Array, Array]) -> Motion:
    """A motion from a trajectory_msgs/JointTrajectory, which names all joints, in any order.

    here: positions and velocities (J,) now, from which it starts if its first point is later. Raises Invalid.
    """
    names = [joint.name for joint in joints]
    given = list(message.joint_names)
    if sorted(given) != sorted(names):
        raise Invalid(INVALID_JOINTS, f"the joints are {', '.join(names)}, not {', '.join(given) or 'none'}")
    if not 1 <= len(message.points) <= POINTS:
        raise Invalid(INVALID_GOAL, f"{len(message.points)} points: there must be 1 to {POINTS}")
    order = [given.index(name) for name in names]
    times = np.array([seconds(point.time_from_start) for point in message.points])
    if not (times[0] >= 0.0 and np.all(np.diff(times) > 0.0) and times[-1] <= LONGEST):
        raise Invalid(INVALID_GOAL, f"time_from_start must increase from 0 s or later, to {LONGEST:g} s at most")
    q = _rows(message, "positions", order)
    if q is None:
        raise Invalid(INVALID_GOAL, "every point must have a position for each joint")
    v, a = _rows(message, "velocities", order), _rows(message, "accelerations", order)
    for j, joint in enumerate(joints):
        low, high = joint.limits.lower - SLACK, joint.limits.upper + SLACK
        if not np.all((q[:, j] >= low) & (q[:, j] <= high)):
            k = int(np.flatnonzero(~((q[:, j] >= low) & (q[:, j] <= high)))[0])
            raise Invalid(INVALID_GOAL, f"point {k}: {joint.name} at {q[k, j]:.6g} is beyond its range, "
                                        f"{joint.limits.lower:g} to {joint.limits.upper:g}")
    if times[0] > 0.0:
        times, q = np.append(0.0, times), np.vstack([here[0], q])
        v = None if v is None else np.vstack([here[1], v])
        a = None if a is None else np.vstack([np.zeros(len(names)), a])
    if v is None:
        v, a = _spline(times, q, here[1] if len(times) > len(message.points) else np.zeros(len(names))), None
    if np.any(v[-1] != 0.0):
        raise Invalid(INVALID_GOAL, "the last point must be at rest")
    return Motion(times, q, v, a)


def _rows(message: Any, field: str, order: list[int]) -> Array | None:
    """(N, J) of a field, in the order of the joints; None where no point has it. Raises Invalid."""
    rows = [np.asarray(getattr(point, field), float) for point in message.points]
    if all(len(row) == 0 for row in rows):
        return None
    if any(len(row) != len(order) for row in rows):
        raise Invalid(INVALID_GOAL, f"{field}: either every point has one for each joint, or none has any")
    found = np.array(rows)[:, order]
    if not np.all(np.isfinite(found)):
        raise Invalid(INVALID_GOAL, f"{field} must be finite")
    return found


def _spline(times: Array, q: Array, first: Array) -> Array:
    """Velocities (N, J) of a smooth curve through positions; first: at its beginning."""
    v = np.zeros_like(q)
    v[0] = first
    if len(times) > 2:
        v[1:-1] = (q[2:] - q[:-2]) / (times[2:] - times[:-2])[:, None]
    return v
