"""Reads a JointTrajectory as a motion. Each point has positions, or also velocities, or also accelerations. The
conventions are those of ROS 2's joint_trajectory_controller (validate_trajectory_msg, fill_partial_goal,
wraparound_joint): cubics through positions and velocities, quintics with accelerations. Joints may be omitted.
Continuous joints move the shorter way. Points without velocities get a spline's (Catmull and Rom), 0 at both ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Joint

INVALID_GOAL, INVALID_JOINTS, OLD_STAMP = -1, -2, -3  # control_msgs/action/FollowJointTrajectory
POINTS, LONGEST = 100_000, 3600.0  # of a trajectory, s
MOST = 1e9  # size of a number; a float still distinguishes turns of this size
SLACK = 1e-6  # tolerated excess over a limit, for rounding errors, rad or m
EPSILON = 2.0**-23  # largest difference that joint_trajectory_controller ignores in numbers of a goal
TURN = 2.0 * np.pi


class Invalid(Exception):
    """A trajectory that cannot be executed."""

    def __init__(self, code: int, line: str) -> None:
        super().__init__(line)
        self.code = code  # the error code in the action's result


@dataclass(frozen=True)
class Motion:
    """times (N,): times from 0, s, or from a negative time if the motion begins later. positions, velocities (N, J).
    accelerations (N, J), or None. added: number of points that the sender did not give."""

    times: Array
    positions: Array
    velocities: Array
    accelerations: Array | None
    added: int = 0

    @staticmethod
    def still(place: Array) -> Motion:
        """Return a motion that stays at one pose (J,)."""
        return Motion(np.zeros(1), place[None], np.zeros((1, len(place))), None)

    def next_point(self, t: float) -> int:
        """Return the index, in the message, of the next point after time t."""
        k = int(np.searchsorted(self.times, t, side="right")) - self.added
        return min(max(k, 0), len(self.times) - 1 - self.added)

    @property
    def duration(self) -> float:
        return float(self.times[-1])

    def at(self, t: float) -> tuple[Array, Array]:
        """Return positions and velocities (J,). After the end, the joints rest at the last point."""
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
    """Return a polynomial's coefficients (2n,) on 0 .. 1 from the value and n - 1 derivatives at 0 and at 1."""
    rows = np.zeros((2 * n, 2 * n))
    for d in range(n):
        for k in range(d, 2 * n):
            factor = float(np.prod(np.arange(k - d + 1, k + 1)))
            rows[d, k], rows[n + d, k] = factor * (k == d), factor
    return np.array(np.linalg.inv(rows))


_INVERSE = {n: _hermite(n) for n in (2, 3)}


def seconds(stamp: Any) -> float:
    """Return a Time or Duration in s."""
    return float(stamp.sec) + 1e-9 * float(stamp.nanosec)


def read(message: Any, joints: Sequence[Joint], here: tuple[Array, Array], wait: float = 0.0,
         rest: bool = True) -> Motion:
    """Return the motion of a trajectory_msgs/JointTrajectory, in any order of joints. Joints not listed stay.

    here: positions and velocities (J,), from which the motion starts if the first point is later. wait: time until the
    beginning, s. rest: refuse a last point with a velocity. Raises Invalid."""
    names = [joint.called for joint in joints]
    given = list(message.joint_names)
    if not given or not set(given) <= set(names) or len(set(given)) < len(given):
        raise Invalid(INVALID_JOINTS, f"the joints are {', '.join(names)}, not {', '.join(given) or 'none'}")
    if not 1 <= len(message.points) <= POINTS:
        raise Invalid(INVALID_GOAL, f"{len(message.points)} points: there must be 1 to {POINTS}")
    columns = [names.index(name) for name in given]
    q = np.tile(here[0], (len(message.points), 1))
    q[:, columns] = _rows(message.points, "positions", len(given), False)
    v, a = np.zeros((2, *q.shape))
    v[:, columns], a[:, columns] = (_rows(message.points, field, len(given), True)
                                    for field in ("velocities", "accelerations"))
    if any(len(point.effort) for point in message.points):
        raise Invalid(INVALID_GOAL, "effort cannot be asked for: the board computes it")
    if rest and np.any(np.abs(v[-1]) > EPSILON):
        raise Invalid(INVALID_GOAL, f"the last point, {len(q) - 1}, must be at rest")
    _turn(q, joints, here[0])
    _within(q, joints)
    times = np.array([seconds(point.time_from_start) for point in message.points])
    keep = _kept(times, q)
    times, q, v, a = times[keep], q[keep], v[keep], a[keep]
    if added := int(times[0] > -wait):
        times, q, v = np.append(-wait, times), np.vstack([here[0], q]), np.vstack([here[1], v])
        a = np.vstack([np.zeros(len(names)), a])
    whole = not (np.any(np.isnan(v)) or np.any(np.isnan(a)))
    return Motion(times, q, np.where(np.isnan(v), _spline(times, q), v), a if whole else None, added)


def _kept(times: Array, q: Array) -> list[int]:
    """Return the indices of the points without repeated points. Raises Invalid if time does not increase."""
    if not 0.0 <= times[0]:
        raise Invalid(INVALID_GOAL, f"point 0: time_from_start is {times[0]:g} s, below 0")
    if not times[-1] <= LONGEST:
        raise Invalid(INVALID_GOAL, f"time_from_start is {times[-1]:g} s in the end, more than {LONGEST:g} s")
    again = (np.diff(times) == 0.0) & np.all(np.diff(q, axis=0) == 0.0, axis=1)
    for k in np.flatnonzero(~(np.diff(times) > 0.0) & ~again)[:1].tolist():
        raise Invalid(INVALID_GOAL, f"point {k + 1}: time_from_start must increase; it is {times[k + 1]:g} s after "
                                    f"{times[k]:g} s")
    return [*np.flatnonzero(~again).tolist(), len(q) - 1]


def _rows(points: Sequence[Any], field: str, width: int, may_lack: bool) -> Array:
    """Return a field of all points (N, width). A point without the field gets NaN. Raises Invalid."""
    found = np.full((len(points), width), np.nan)
    for k, point in enumerate(points):
        row = np.asarray(getattr(point, field), float)
        if len(row) != width and (len(row) or not may_lack):
            raise Invalid(INVALID_GOAL, f"point {k} has {len(row)} {field} for {width} joints")
        if not np.all(np.abs(row) <= MOST):
            raise Invalid(INVALID_GOAL, f"point {k}: {field} must be finite, and at most {MOST:g}")
        if len(row):
            found[k] = row
    return found


def _turn(q: Array, joints: Sequence[Joint], here: Array) -> None:
    """Shift continuous joints by whole turns to the present position, unless it is half a turn away."""
    for j, joint in enumerate(joints):
        if joint.type == "continuous":
            way = q[0, j] - here[j]
            short = way - TURN * np.round(way / TURN)
            if abs(abs(short) - np.pi) < 1e-9:
                short = np.copysign(short, way)
            q[:, j] += short - way


def _within(q: Array, joints: Sequence[Joint]) -> None:
    """Raise Invalid if a point of q (N, J) is outside a joint's range."""
    for j, joint in enumerate(joints):
        beyond = (q[:, j] < joint.limits.lower - SLACK) | (q[:, j] > joint.limits.upper + SLACK)
        if np.any(beyond):
            k = int(np.flatnonzero(beyond)[0])
            raise Invalid(INVALID_GOAL, f"point {k}: {joint.called} at {q[k, j]:.6g} is beyond its range, "
                                        f"{joint.limits.lower:g} to {joint.limits.upper:g}")


def _spline(times: Array, q: Array) -> Array:
    """Return velocities (N, J) for a smooth curve through the positions. The curve is at rest at both ends."""
    v = np.zeros_like(q)
    if len(times) > 2:
        v[1:-1] = (q[2:] - q[:-2]) / (times[2:] - times[:-2])[:, None]
    return v
