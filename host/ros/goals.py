"""Goals of the action FollowJointTrajectory: their states, tolerances, results, feedback."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from femtorque.host.ros import interfaces
from femtorque.host.ros.interfaces import message
from femtorque.host.ros.motion import INVALID_JOINTS, Invalid, seconds

if TYPE_CHECKING:
    from femtorque.host.ros.node import Node
    from femtorque.host.ros.rclpy_node import RclpyNode

Array = NDArray[np.float64]

EXECUTING, CANCELING, SUCCEEDED, CANCELED, ABORTED = 2, 3, 4, 5, 6  # action_msgs/msg/GoalStatus
PATH_TOLERANCE, GOAL_TOLERANCE = -4, -5
REJECTED, UNKNOWN, TERMINATED = 1, 2, 3  # action_msgs/srv/CancelGoal
KEPT = 100  # goals whose results can still be asked for
ACTION = "/follow_joint_trajectory/_action/"


@dataclass
class Goal:
    """path, place (J,): rad or m that a joint may be off on the way and at the end; infinite: no matter. grace: s after
    the end in which it must be at its place."""

    uuid: bytes
    accepted: Any
    path: Array
    place: Array
    grace: float
    status: int = EXECUTING
    code: int = 0
    line: str = ""
    waiting: list[Callable[[Any], None]] = field(default_factory=list)


def stamp(ns: int | None = None) -> Any:
    """A time of ROS: since 1970, now by default."""
    ns = time.time_ns() if ns is None else ns
    return message("builtin_interfaces/msg/Time", sec=ns // 10**9, nanosec=ns % 10**9)


def tolerances(rows: list[Any], names: list[str]) -> Array:
    """(J,) rad or m: 0 means the default, none; negative: none. Raises Invalid for a joint that is not there."""
    found = np.full(len(names), np.inf)
    for row in rows:
        if row.name not in names:
            raise Invalid(INVALID_JOINTS, f"a tolerance names {row.name}; the joints are {', '.join(names)}")
        if row.position > 0.0:
            found[names.index(row.name)] = row.position
    return found


class Goals:
    """The action server. begin: starts a goal's trajectory, raises Invalid; stop: ends the motion."""

    def __init__(self, node: Node | RclpyNode, controller: str, names: list[str], begin: Callable[[Any, Goal], None],
                 stop: Callable[[], None], grace: float) -> None:
        self._names, self._begin, self._stop, self._grace = names, begin, stop, grace
        self._goals: dict[bytes, Goal] = {}
        self.active: Goal | None = None
        action = f"/{controller}{ACTION}"
        node.serve(action + "send_goal", interfaces.SEND_GOAL, self._asked)
        node.serve(action + "get_result", interfaces.GET_RESULT, self._result)
        node.serve(action + "cancel_goal", interfaces.CANCEL, self._cancel)
        self._feedback = node.publisher(action + "feedback", interfaces.FEEDBACK_MESSAGE)
        self._statuses = node.publisher(action + "status", interfaces.STATUSES, latched=True)

    def end(self, status: int, code: int, line: str) -> None:
        """End the active goal."""
        goal, self.active = self.active, None
        if goal is None:
            return
        goal.status, goal.code, goal.line = status, code, line
        for reply in goal.waiting:
            reply(self._answer(goal))
        goal.waiting.clear()
        self._publish()

    def feedback(self, desired: tuple[Array, Array], actual: tuple[Array, Array], error: Array, t: float) -> None:
        """desired, actual: positions and velocities (J,); error (J,): desired minus actual; t: s since it began."""
        assert self.active is not None
        at = message("builtin_interfaces/msg/Duration", sec=int(t), nanosec=int(1e9 * (t % 1.0)))
        point = {name: message("trajectory_msgs/msg/JointTrajectoryPoint", positions=q, velocities=v,
                               time_from_start=at)
                 for name, (q, v) in {"desired": desired, "actual": actual,
                                      "error": (error, desired[1] - actual[1])}.items()}
        header = message("std_msgs/msg/Header", stamp=stamp())
        told = message(interfaces.FEEDBACK, header=header, joint_names=self._names, **point)
        self._feedback.publish(message(interfaces.FEEDBACK_MESSAGE, goal_id=_uuid(self.active.uuid), feedback=told))

    def _asked(self, request: Any, reply: Callable[[Any], None]) -> None:
        """A goal: every one is taken, and aborted with its reason where it cannot be executed."""
        uuid, accepted = bytes(request.goal_id.uuid), stamp()
        if uuid in self._goals:
            reply(message(f"{interfaces.SEND_GOAL}_Response", accepted=False, stamp=accepted))
            return
        reply(message(f"{interfaces.SEND_GOAL}_Response", accepted=True, stamp=accepted))
        none = np.full(len(self._names), np.inf)
        goal = self._goals[uuid] = Goal(uuid, accepted, none, none, self._grace)
        while len(self._goals) > KEPT:
            del self._goals[next(iter(self._goals))]
        try:
            goal.path = tolerances(request.goal.path_tolerance, self._names)
            goal.place = tolerances(request.goal.goal_tolerance, self._names)
            goal.grace = seconds(request.goal.goal_time_tolerance) or self._grace
            self._begin(request.goal.trajectory, goal)
        except Invalid as error:
            before, self.active = self.active, goal
            self.end(ABORTED, error.code, str(error))
            self.active = before
            return
        self.active = goal
        self._publish()

    def _result(self, request: Any, reply: Callable[[Any], None]) -> None:
        goal = self._goals.get(bytes(request.goal_id.uuid))
        if goal is None:
            reply(message(f"{interfaces.GET_RESULT}_Response"))
        elif goal.status in (EXECUTING, CANCELING):
            goal.waiting.append(reply)
        else:
            reply(self._answer(goal))

    def _cancel(self, request: Any, reply: Callable[[Any], None]) -> None:
        """The goal that is named; without a name the active one."""
        uuid, response = bytes(request.goal_info.goal_id.uuid), f"{interfaces.CANCEL}_Response"
        goal = self.active
        if any(uuid) and uuid not in self._goals:
            reply(message(response, return_code=UNKNOWN))
        elif any(uuid) and (goal is None or goal.uuid != uuid):
            reply(message(response, return_code=TERMINATED))
        elif goal is None:
            reply(message(response, return_code=REJECTED))
        else:
            reply(message(response, goals_canceling=[_info(goal)]))
            self._stop()
            self.end(CANCELED, 0, "cancelled: each joint braked, and is held")

    def _answer(self, goal: Goal) -> Any:
        result = message(interfaces.RESULT, error_code=goal.code, error_string=goal.line)
        return message(f"{interfaces.GET_RESULT}_Response", status=goal.status, result=result)

    def _publish(self) -> None:
        rows = [message("action_msgs/msg/GoalStatus", goal_info=_info(goal), status=goal.status)
                for goal in self._goals.values()]
        self._statuses.publish(message(interfaces.STATUSES, status_list=rows))


def _uuid(uuid: bytes) -> Any:
    return message("unique_identifier_msgs/msg/UUID", uuid=np.frombuffer(uuid, np.uint8))


def _info(goal: Goal) -> Any:
    return message("action_msgs/msg/GoalInfo", goal_id=_uuid(goal.uuid), stamp=goal.accepted)
