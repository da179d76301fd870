"""Messages, services and actions that the node speaks: definitions, CDR, type hashes.

Common ones are rosbags'; those of control_msgs and the services are written here as their packages of ROS 2 Jazzy have
them. The hash of a type is RIHS01 of REP 2016: SHA-256 of a description of its fields. tests/host/ros hold it against
the hashes that rosidl generated.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

GOAL, FEEDBACK = "control_msgs/action/FollowJointTrajectory_Goal", "control_msgs/action/FollowJointTrajectory_Feedback"
RESULT = "control_msgs/action/FollowJointTrajectory_Result"
TRIGGER, CANCEL = "std_srvs/srv/Trigger", "action_msgs/srv/CancelGoal"
SEND_GOAL = "control_msgs/action/FollowJointTrajectory_SendGoal"
GET_RESULT = "control_msgs/action/FollowJointTrajectory_GetResult"
FEEDBACK_MESSAGE = "control_msgs/action/FollowJointTrajectory_FeedbackMessage"
STATUSES = "action_msgs/msg/GoalStatusArray"

_MESSAGES = {
    "control_msgs/msg/JointTolerance": "string name\nfloat64 position\nfloat64 velocity\nfloat64 acceleration\n",
    "control_msgs/msg/JointComponentTolerance": (
        "string joint_name\nuint16 component\nfloat64 position\nfloat64 velocity\nfloat64 acceleration\n"),
    GOAL: (
        "trajectory_msgs/JointTrajectory trajectory\n"
        "trajectory_msgs/MultiDOFJointTrajectory multi_dof_trajectory\n"
        "control_msgs/JointTolerance[] path_tolerance\n"
        "control_msgs/JointComponentTolerance[] component_path_tolerance\n"
        "control_msgs/JointTolerance[] goal_tolerance\n"
        "control_msgs/JointComponentTolerance[] component_goal_tolerance\n"
        "builtin_interfaces/Duration goal_time_tolerance\n"),
    RESULT: "int32 error_code\nstring error_string\n",
    FEEDBACK: (
        "std_msgs/Header header\nstring[] joint_names\n"
        "trajectory_msgs/JointTrajectoryPoint desired\ntrajectory_msgs/JointTrajectoryPoint actual\n"
        "trajectory_msgs/JointTrajectoryPoint error\nstring[] multi_dof_joint_names\n"
        "trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_desired\n"
        "trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_actual\n"
        "trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_error\n"),
    FEEDBACK_MESSAGE: f"unique_identifier_msgs/UUID goal_id\n{FEEDBACK} feedback\n",
}
_SERVICES = {
    TRIGGER: ("", "bool success\nstring message\n"),
    CANCEL: ("action_msgs/GoalInfo goal_info\n", "int8 return_code\naction_msgs/GoalInfo[] goals_canceling\n"),
    SEND_GOAL: (f"unique_identifier_msgs/UUID goal_id\n{GOAL} goal\n",
                "bool accepted\nbuiltin_interfaces/Time stamp\n"),
    GET_RESULT: ("unique_identifier_msgs/UUID goal_id\n", f"int8 status\n{RESULT} result\n"),
}


@cache
def store() -> Typestore:
    """All of them, with request, response and event of services as messages of their own."""
    made = get_typestore(Stores.ROS2_JAZZY)
    # rosbags has an array of char here; ROS 2 has uint8, and every service's hash is made of it
    event = "service_msgs/msg/ServiceEventInfo"
    made.fielddefs[event] = _types("uint8 event_type\nbuiltin_interfaces/Time stamp\nuint8[16] client_gid\n"
                                   "int64 sequence_number\n", event)[event]
    for name, text in _MESSAGES.items():
        made.register(_types(text, name))
    for name, (request, response) in _SERVICES.items():
        made.register(_types(request, f"{name}_Request"))
        made.register(_types(response, f"{name}_Response"))
        made.register(_types(f"{event} info\n{name}_Request[<=1] request\n{name}_Response[<=1] response\n",
                             f"{name}_Event"))
        made.register(_types(f"{name}_Request request_message\n{name}_Response response_message\n"
                             f"{name}_Event event_message\n", name))
    return made


def _types(text: str, name: str) -> dict[str, Any]:
    """Definitions by name; rosbags puts a msg into the names of services, which ROS 2 does not."""
    def plain(part: Any) -> Any:
        if isinstance(part, str):
            return part.replace("/srv/msg/", "/srv/").replace("/action/msg/", "/action/")
        return type(part)(plain(one) for one in part) if isinstance(part, (list, tuple)) else part

    return {plain(key): plain(value) for key, value in get_types_from_msg(text, name).items()}


def is_service(name: str) -> bool:
    return name in _SERVICES


@cache
def type_hash(name: str) -> str:
    """RIHS01_ and 64 digits, of a message or of a whole service."""
    return str(store().hash_rihs01(name))


def dds_name(name: str) -> str:
    """sensor_msgs/msg/JointState as keys have it."""
    package, kind, last = name.split("/")
    return f"{package}::{kind}::dds_::{last}_"


def message(name: str, /, **fields: Any) -> Any:
    """A message with these fields; the others are zero, empty or made the same way."""
    kind = store().types[name]
    blank = {field: _blank(desc) for field, desc in store().fielddefs[name][1]}
    whole = {field: np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
             for field, value in fields.items()}  # rosbags takes no views
    return kind(**(blank | whole))


def _blank(desc: Any) -> Any:
    kind, of = desc
    if kind == Nodetype.NAME:
        return message(of)
    if kind == Nodetype.BASE:
        return {"string": "", "bool": False}.get(of[0], 0)
    (inner, base), count = of[0], of[1] if kind == Nodetype.ARRAY else 0
    if inner == Nodetype.BASE and (base := base[0]) != "string":
        return np.zeros(count, np.dtype({"char": "uint8", "byte": "uint8"}.get(base, base)))
    return []


def packed(name: str, value: Any) -> bytes:
    """CDR, with its header."""
    return bytes(store().serialize_cdr(value, name))


def unpacked(name: str, data: bytes) -> Any:
    """Raises ValueError for what is no such message."""
    try:
        return store().deserialize_cdr(data, name)
    except Exception as error:  # rosbags raises whatever its generated code meets
        raise ValueError(f"no {name}: {error!r}") from None
