"""Goals of a ROS 2 action: states, results, feedback, and the tolerances of FollowJointTrajectory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from femtorque.codegen.common import Array
from femtorque.host.ros import interfaces
from femtorque.host.ros.interfaces import message
from femtorque.host.ros.motion import EPSILON, INVALID_GOAL, INVALID_JOINTS, Invalid, seconds

if TYPE_CHECKING:
    from femtorque.host.ros.node import Node
    from femtorque.host.ros.rclpy_node import RclpyNode

AnyNode: TypeAlias = "Node | RclpyNode"
EXECUTING, SUCCEEDED, CANCELED, ABORTED = 2, 4, 5, 6  # action_msgs/msg/GoalStatus
PATH_TOLERANCE, GOAL_TOLERANCE = -4, -5
UNKNOWN, TERMINATED = 2, 3  # action_msgs/srv/CancelGoal
KEPT = 100  # number of ended goals whose results stay available
ERASED = -1.0  # value that removes the default tolerance (control_msgs/msg/JointTolerance)


@dataclass
class Goal:
    """path, place (2, K): tolerances of position, rad or m, and velocity, during and after the motion; infinity for no
    tolerance. grace: time after the motion to reach the goal, s. arrived: true after the path, whose tolerances then no
    longer count. result: the goal's result; None until the goal's end."""

    uuid: bytes
    accepted: Any
    path: Array
    place: Array
    grace: float
    status: int = EXECUTING
    arrived: bool = False
    result: Any = None
    waiting: list[Callable[[Any], None]] = field(default_factory=list)


def stamp(ns: int | None = None) -> Any:
    """Return a ROS time since 1970, by default the present."""
    ns = time.time_ns() if ns is None else ns
    return message("builtin_interfaces/msg/Time", sec=ns // 10**9, nanosec=ns % 10**9)


def tolerances(rows: list[Any], names: list[str]) -> Array:
    """Return tolerances (2, K); 0 and ERASED: none. Raises Invalid for an unknown joint or a negative number."""
    found = np.full((2, len(names)), np.inf)
    for row in rows:
        if row.name not in names:
            raise Invalid(INVALID_JOINTS, f"a tolerance names {row.name}; the joints are {', '.join(names)}")
        for k, value in enumerate((row.position, row.velocity)):
            if not (value >= 0.0 or abs(value - ERASED) < EPSILON):
                raise Invalid(INVALID_GOAL, f"a tolerance of {row.name} is {value:g}: it must be above 0, 0 or -1")
            if value > 0.0:
                found[k, names.index(row.name)] = value
    return found


def time_tolerance(given: Any, default: float) -> float:
    """Return by how much a goal may be late, s; 0: the default, ERASED: infinity. Raises Invalid if negative."""
    value = seconds(given)
    if value < 0.0 and abs(value - ERASED) >= EPSILON:
        raise Invalid(INVALID_GOAL, f"goal_time_tolerance is {value:g} s: it must be above 0, 0 or -1")
    return value or default if value >= 0.0 else np.inf


class Goals:
    """Server of one action. begin: starts a goal or raises Invalid. stop: ends it. outcome: makes a result. say: prints
    why a goal cannot be executed."""

    def __init__(self, node: AnyNode, name: str, kind: str, blank: Callable[[bytes, Any], Goal],
                 begin: Callable[[Any, Goal], None], stop: Callable[[], None],
                 outcome: Callable[[int, str], dict[str, Any]], say: Callable[[str], None]) -> None:
        self._kind, self._blank, self._begin, self._stop, self._outcome = kind, blank, begin, stop, outcome
        self._name, self._say = name, say
        self._goals: dict[bytes, Goal] = {}
        self.active: Goal | None = None
        node.serve(f"{name}/_action/send_goal", f"{kind}_SendGoal", self._asked)
        node.serve(f"{name}/_action/get_result", f"{kind}_GetResult", self._result)
        node.serve(f"{name}/_action/cancel_goal", interfaces.CANCEL, self._cancel)
        self._feedback = node.publisher(f"{name}/_action/feedback", f"{kind}_FeedbackMessage")
        self._statuses = node.publisher(f"{name}/_action/status", interfaces.STATUSES, latched=True)

    def end(self, status: int, code: int, line: str) -> None:
        goal, self.active = self.active, None
        if goal is not None:
            self._close(goal, status, code, line)

    def _close(self, goal: Goal, status: int, code: int, line: str) -> None:
        goal.status, goal.result = status, message(f"{self._kind}_Result", **self._outcome(code, line))
        for reply in goal.waiting:
            reply(self._answer(goal))
        goal.waiting.clear()
        self._publish()

    def feedback(self, **fields: Any) -> None:
        assert self.active is not None
        told = message(f"{self._kind}_Feedback", **fields)
        self._feedback.publish(message(f"{self._kind}_FeedbackMessage", goal_id=_uuid(self.active.uuid), feedback=told))

    def _asked(self, request: Any, reply: Callable[[Any], None]) -> None:
        """Accept a goal. Abort a goal that cannot be executed, and send the reason."""
        uuid, accepted = bytes(request.goal_id.uuid), stamp()
        new = uuid not in self._goals
        reply(message(f"{self._kind}_SendGoal_Response", accepted=new, stamp=accepted))
        if not new:
            return
        goal = self._goals[uuid] = self._blank(uuid, accepted)
        for old in [one.uuid for one in self._goals.values() if one.result is not None][:-KEPT]:
            del self._goals[old]
        try:
            self._begin(request.goal, goal)
        except Invalid as error:
            self._say(f"{self._name}: {error}")
            self._close(goal, ABORTED, error.code, str(error))
        except Exception as error:
            self._close(goal, ABORTED, INVALID_GOAL, f"it cannot be read: {error!r}")
            raise
        else:
            self.active = goal
            self._publish()

    def _result(self, request: Any, reply: Callable[[Any], None]) -> None:
        goal = self._goals.get(bytes(request.goal_id.uuid))
        if goal is None:
            reply(message(f"{self._kind}_GetResult_Response"))
        elif goal.result is None:
            goal.waiting.append(reply)
        else:
            reply(self._answer(goal))

    def _cancel(self, request: Any, reply: Callable[[Any], None]) -> None:
        """Cancel the active goal if it has the request's identifier, if it was accepted before the request's stamp, or
        if the request has neither. Other goals have ended."""
        info, response = request.goal_info, f"{interfaces.CANCEL}_Response"
        uuid, goal, before = bytes(info.goal_id.uuid), self.active, seconds(info.stamp)
        if goal is not None and (goal.uuid == uuid or (
                seconds(goal.accepted) <= before if before else not any(uuid))):
            reply(message(response, goals_canceling=[_info(goal)]))
            self._stop()
            self.end(CANCELED, 0, "cancelled: each joint braked, and is held")
        elif any(uuid) and not before:
            reply(message(response, return_code=TERMINATED if uuid in self._goals else UNKNOWN))
        else:
            reply(message(response))

    def _answer(self, goal: Goal) -> Any:
        return message(f"{self._kind}_GetResult_Response", status=goal.status, result=goal.result)

    def _publish(self) -> None:
        rows = [message("action_msgs/msg/GoalStatus", goal_info=_info(goal), status=goal.status)
                for goal in self._goals.values()]
        self._statuses.publish(message(interfaces.STATUSES, status_list=rows))


def _uuid(uuid: bytes) -> Any:
    return message("unique_identifier_msgs/msg/UUID", uuid=np.frombuffer(uuid, np.uint8))


def _info(goal: Goal) -> Any:
    return message("action_msgs/msg/GoalInfo", goal_id=_uuid(goal.uuid), stamp=goal.accepted)
