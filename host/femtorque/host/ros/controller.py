"""One ROS 2 controller: some joints of the arm, their topic and actions, and their motion."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from femtorque.codegen.common import Array, BadInput, Refused
from femtorque.codegen.mechanism import Joint
from femtorque.host.ros import interfaces
from femtorque.host.ros.goals import (
    ABORTED, CANCELED, GOAL_TOLERANCE, PATH_TOLERANCE, SUCCEEDED, AnyNode, Goal, Goals, stamp, time_tolerance,
    tolerances)
from femtorque.host.ros.interfaces import message
from femtorque.host.ros.motion import INVALID_GOAL, LONGEST, OLD_STAMP, Invalid, Motion, read, seconds

LIVE = 0.1  # time within which a single point counts as a live target, s
FEEDBACK = 0.05  # time between two messages, s
GRACE = 2.0  # time after a goal's end in which the arm must reach a goal without a time tolerance, s
SETTLED = 0.1  # time from the last target until the joints are at rest, s
GRIPPED, STALL, STALLED = 0.01, 1e-3, 1.0  # position, velocity and time of ros2_control's gripper by default
TRAJECTORY, POINT = "trajectory_msgs/msg/JointTrajectory", "trajectory_msgs/msg/JointTrajectoryPoint"


@dataclass(frozen=True)
class Seen:
    """The board's report on the K joints of a controller. positions, velocities, torques (K,): measured values."""

    positions: Array
    velocities: Array
    torques: Array
    position_error: Array  # (K,): target minus position, rad or m
    velocity_error: Array  # (K,): target minus velocity, rad/s or m/s
    limited: Array  # (K,): 1 for a joint whose velocity the board has limited in this motion

    def of(self, columns: list[int]) -> Seen:
        """Return the report on some of the joints."""
        return Seen(*(one[columns] for one in vars(self).values()))


class Mover(Protocol):
    """Interface of the arm for its controllers: plays the motions of all controllers."""

    def ready(self) -> None:
        """Raise Invalid if the arm is not held."""

    def here(self, controller: Controller) -> tuple[Array, Array]:
        """Return the present target positions and velocities (K,) of a controller's joints."""

    def play(self, controller: Controller, motion: Motion, began: float | None) -> None:
        """Start a motion of a controller's joints. began: its time 0, None: now. Raises Invalid."""

    def stop(self) -> None:
        """Brake each joint immediately, and hold the joint."""

    def now(self) -> float:
        """Return the time, s."""


class Controller:
    """Some joints with their topic and actions. columns: the joints' columns in the arm's arrays. grips: true if the
    controller also offers gripper_cmd."""

    def __init__(self, arm: Mover, node: AnyNode, name: str, joints: Sequence[Joint], columns: list[int],
                 grips: bool, say: Callable[[str], None]) -> None:
        self._arm, self.name, self.joints, self.columns, self._say = arm, name, joints, columns, say
        self.names = [joint.called for joint in joints]
        self.motion: Motion | None = None
        self.began = 0.0  # start in the arm's clock, s
        self._fed = self._moved = -math.inf
        self._gripped: dict[str, Any] = {}
        node.subscribe(f"/{name}/joint_trajectory", TRAJECTORY, self._heard)
        self._follows = Goals(node, f"/{name}/follow_joint_trajectory", interfaces.FOLLOW, self._goal, self._follow,
                              arm.stop, lambda code, line: {"error_code": code, "error_string": line}, say)
        self._grips = Goals(node, f"/{name}/gripper_cmd", interfaces.GRIP, self._goal, self._grip, arm.stop,
                            lambda code, _: self._gripped | {"reached_goal": code == 0,
                                                             "stalled": code == GOAL_TOLERANCE}, say) if grips else None

    # ---- motions
    def moving(self, now: float) -> bool:
        return self.motion is not None and now < self.began + self.motion.duration

    def asked(self, t: float) -> tuple[Array, Array] | None:
        """Return the motion's positions and velocities (K,) at a time of the arm's clock; None without a motion."""
        return None if self.motion is None else self.motion.at(t - self.began)

    def live(self, names: Any, positions: Any) -> None:
        """Start a motion to positions that are due immediately. Raises Invalid."""
        self._arm.ready()
        alone = message(TRAJECTORY, joint_names=list(names),
                        points=[message(POINT, positions=np.asarray(positions, float))])
        place = read(alone, self.joints, self._arm.here(self)).positions[-1]
        self.end(CANCELED, INVALID_GOAL, "a live target came")
        self._arm.play(self, Motion.still(place), None)

    def end(self, status: int, code: int, line: str) -> None:
        for goals in self._actions():
            goals.end(status, code, line)

    def _actions(self) -> list[Goals]:
        return [goals for goals in (self._follows, self._grips) if goals is not None]

    @property
    def active(self) -> bool:
        return any(goals.active is not None for goals in self._actions())

    def _begin(self, trajectory: Any, rest: bool = True) -> None:
        """Replace the current motion by a new motion. rest: as in `read`. Raises Invalid."""
        self._arm.ready()
        wait = _wait(trajectory)
        motion = read(trajectory, self.joints, self._arm.here(self), max(wait, 0.0), rest)
        if wait + motion.duration < 0.0:
            raise Invalid(OLD_STAMP, f"the trajectory ended {-wait - motion.duration:.4g} s before it came")
        self.end(CANCELED, INVALID_GOAL, "another trajectory came")
        self._arm.play(self, motion, self._arm.now() + wait if wait else None)

    def _heard(self, trajectory: Any) -> None:
        """Play a trajectory from the topic. If it cannot be executed, report this and do not move."""
        try:
            points = trajectory.points
            if len(points) == 1 and abs(_wait(trajectory) + seconds(points[0].time_from_start)) <= LIVE:
                self.live(trajectory.joint_names, points[0].positions)
            else:
                self._begin(trajectory, rest=False)
        except Invalid as error:
            self._say(f"/{self.name}/joint_trajectory: {error}")
        except (BadInput, Refused) as error:
            self._say(str(error))

    # ---- goals
    def _goal(self, uuid: bytes, accepted: Any) -> Goal:
        none = np.full((2, len(self.names)), np.inf)
        return Goal(uuid, accepted, none, none, GRACE)

    def _follow(self, asked: Any, goal: Goal) -> None:
        goal.path = tolerances(asked.path_tolerance, self.names)
        goal.place = tolerances(asked.goal_tolerance, self.names)
        goal.grace = time_tolerance(asked.goal_time_tolerance, GRACE)
        self._begin(asked.trajectory)

    def _grip(self, asked: Any, goal: Goal) -> None:
        self._moved = self._arm.now()
        self.live(self.names, [asked.command.position])

    def watch(self, now: float, seen: Seen) -> str:
        """Watch the active goal: feedback, tolerances, end. Returns the reason why the arm must stop, or ''."""
        if not self.active:
            return ""
        if self.motion is None:
            self.end(ABORTED, INVALID_GOAL, "the arm was stopped")
            return ""
        if self._follows.active is not None:
            return self._watch_follow(self._follows.active, self.motion, now - self.began, seen)
        self._watch_grip(now, self.motion, seen)
        return ""

    def _watch_follow(self, goal: Goal, motion: Motion, t: float, seen: Seen) -> str:
        if t >= 0.0 and t - self._fed >= FEEDBACK or t < self._fed:
            self._fed = t
            self._feed(motion, t, seen)
        if not goal.arrived:
            # the board's report is late for a short path: at the end, what counts is how far the joints are from there
            off = seen.position_error if t < motion.duration + 0.5 * SETTLED else motion.positions[-1] - seen.positions
            line = _beyond(self.names, (off, seen.velocity_error), goal.path, "path", seen.limited)
            if line:
                self.end(ABORTED, PATH_TOLERANCE, line)
            goal.arrived = t >= motion.duration + SETTLED
            if line or not goal.arrived:
                return line
        line = _beyond(self.names, (motion.positions[-1] - seen.positions, seen.velocities), goal.place, "goal",
                       seen.limited)
        if not line:
            self.end(SUCCEEDED, 0, "")
        elif t > motion.duration + goal.grace:
            line += f", {goal.grace:g} s after its end"
            self.end(ABORTED, GOAL_TOLERANCE, line)
            return line
        return ""

    def _feed(self, motion: Motion, t: float, seen: Seen) -> None:
        at = message("builtin_interfaces/msg/Duration", sec=math.floor(t), nanosec=int(1e9 * (t % 1.0)))
        rows = {"desired": motion.at(t), "actual": (seen.positions, seen.velocities),
                "error": (seen.position_error, seen.velocity_error)}
        points = {name: message(POINT, positions=q, velocities=v, time_from_start=at) for name, (q, v) in rows.items()}
        self._follows.feedback(header=message("std_msgs/msg/Header", stamp=stamp()), joint_names=self.names,
                               index=motion.next_point(t), **points)

    def _watch_grip(self, now: float, motion: Motion, seen: Seen) -> None:
        assert self._grips is not None
        off = float(abs(motion.positions[-1] - seen.positions)[0])
        self._gripped = {"position": float(seen.positions[0]), "effort": float(seen.torques[0])}
        if abs(seen.velocities[0]) > STALL:
            self._moved = now
        if now - self._fed >= FEEDBACK or now < self._fed:
            self._fed = now
            self._grips.feedback(**self._gripped, reached_goal=off < GRIPPED)
        if off < GRIPPED:
            self.end(SUCCEEDED, 0, "")
        elif now - self._moved > STALLED:
            self.end(ABORTED, GOAL_TOLERANCE, "it stalled")


def _wait(trajectory: Any) -> float:
    """Return the time until a trajectory begins, s, negative if the trajectory has begun. Raises Invalid."""
    wait = at - time.time() if (at := seconds(trajectory.header.stamp)) else 0.0
    if wait > LONGEST:
        raise Invalid(INVALID_GOAL, f"the trajectory begins in {wait:.4g} s, more than {LONGEST:g} s: do the clocks "
                                    "agree?")
    return wait


def _beyond(names: list[str], off: tuple[Array, Array], most: Array, what: str, limited: Array) -> str:
    """Return a sentence on the joint farthest beyond its tolerance, or ''. off (K,): errors. most: tolerances."""
    share = np.abs(off) / most
    if not np.any(share > 1.0):
        return ""
    row, k = np.unravel_index(int(np.argmax(share)), share.shape)
    how = "" if row == 0 else " in velocity"
    why = ", as the board keeps its velocity limit" if limited[k] else ""
    return f"{names[k]} is {abs(off[row][k]):.4g} off its {what}{how}, more than {most[row, k]:.4g}{why}"
