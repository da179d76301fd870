"""Messages, services and actions of the node: definitions, CDR, type hashes.

Common definitions are from rosbags. The definitions of control_msgs and services are copied. A type's hash is RIHS01 of
REP 2016, SHA-256 of its fields' description, which tests/host/ros compare with rosidl's."""

from functools import cache
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

FOLLOW, GRIP = "control_msgs/action/FollowJointTrajectory", "control_msgs/action/GripperCommand"
GOAL, SEND_GOAL, GET_RESULT, FEEDBACK_MESSAGE = (
    f"{FOLLOW}_{part}" for part in ("Goal", "SendGoal", "GetResult", "FeedbackMessage"))
TRIGGER, CANCEL = "std_srvs/srv/Trigger", "action_msgs/srv/CancelGoal"
STATUSES = "action_msgs/msg/GoalStatusArray"

OLDER = " before 6.3"  # suffix of message types in the definition of control_msgs before 6.3.0

_MESSAGES = {
    "control_msgs/msg/JointTolerance": "string name\nfloat64 position\nfloat64 velocity\nfloat64 acceleration\n",
    "control_msgs/msg/JointComponentTolerance": (
        "string joint_name\nuint16 component\nfloat64 position\nfloat64 velocity\nfloat64 acceleration\n"),
    "control_msgs/msg/GripperCommand": "float64 position\nfloat64 max_effort\n",
}
_SERVICES = {
    TRIGGER: ("", "bool success\nstring message\n"),
    CANCEL: ("action_msgs/GoalInfo goal_info\n", "int8 return_code\naction_msgs/GoalInfo[] goals_canceling\n"),
}
_GRIPPED = "float64 position\nfloat64 effort\nbool stalled\nbool reached_goal\n"
_ACTIONS = {  # goal, result, feedback
    FOLLOW: (
        "trajectory_msgs/JointTrajectory trajectory\ntrajectory_msgs/MultiDOFJointTrajectory "
        "multi_dof_trajectory\ncontrol_msgs/JointTolerance[] path_tolerance\ncontrol_msgs/JointComponentTolerance[] "
        "component_path_tolerance\ncontrol_msgs/JointTolerance[] "
        "goal_tolerance\ncontrol_msgs/JointComponentTolerance[] component_goal_tolerance\nbuiltin_interfaces/Duration "
        "goal_time_tolerance\n",
        "int32 error_code\nstring error_string\n",
        "std_msgs/Header header\nstring[] joint_names\ntrajectory_msgs/JointTrajectoryPoint "
        "desired\ntrajectory_msgs/JointTrajectoryPoint actual\ntrajectory_msgs/JointTrajectoryPoint error\nint32 "
        "index\nstring[] multi_dof_joint_names\ntrajectory_msgs/MultiDOFJointTrajectoryPoint "
        "multi_dof_desired\ntrajectory_msgs/MultiDOFJointTrajectoryPoint "
        "multi_dof_actual\ntrajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_error\nint32 multi_dof_index\n"),
    GRIP: ("control_msgs/GripperCommand command\n", _GRIPPED, _GRIPPED),
}
_ADDED = "int32 index\n", "int32 multi_dof_index\n"  # in 6.3.0


@cache
def store(older: bool = False) -> Typestore:
    """Return all definitions; services as requests, responses and events. older: control_msgs before 6.3.0."""
    made = get_typestore(Stores.ROS2_JAZZY)
    # rosbags has char[] and ROS 2 has uint8[], which enters every service's hash
    event = "service_msgs/msg/ServiceEventInfo"
    made.fielddefs[event] = _types("uint8 event_type\nbuiltin_interfaces/Time stamp\nuint8[16] client_gid\n"
                                   "int64 sequence_number\n", event)[event]
    for name, text in (_MESSAGES | {f"{action}_{part}": text for action in _ACTIONS
                                    for part, text in _parts(action, older).items()}).items():
        made.register(_types(text, name))
    for name, (request, response) in _services().items():
        made.register(_types(request, f"{name}_Request"))
        made.register(_types(response, f"{name}_Response"))
        made.register(_types(f"{event} info\n{name}_Request[<=1] request\n{name}_Response[<=1] response\n",
                             f"{name}_Event"))
        made.register(_types(f"{name}_Request request_message\n{name}_Response response_message\n"
                             f"{name}_Event event_message\n", name))
    return made


def _parts(action: str, older: bool) -> dict[str, str]:
    """Return the definitions of an action's messages, by suffix of their names."""
    goal, result, feedback = _ACTIONS[action]
    for line in _ADDED if older else ():
        feedback = feedback.replace(line, "")
    return {"Goal": goal, "Result": result, "Feedback": feedback,
            "FeedbackMessage": f"unique_identifier_msgs/UUID goal_id\n{action}_Feedback feedback\n"}


@cache
def _services() -> dict[str, tuple[str, str]]:
    """Return requests and responses of services and actions."""
    made = dict(_SERVICES)
    for action in _ACTIONS:
        made[f"{action}_SendGoal"] = (f"unique_identifier_msgs/UUID goal_id\n{action}_Goal goal\n",
                                      "bool accepted\nbuiltin_interfaces/Time stamp\n")
        made[f"{action}_GetResult"] = ("unique_identifier_msgs/UUID goal_id\n",
                                       f"int8 status\n{action}_Result result\n")
    return made


def kinds(name: str) -> list[str]:
    """Return the types under which a topic is offered: nodes before and after control_msgs 6.3.0 differ."""
    return [name, name + OLDER] if name == FEEDBACK_MESSAGE else [name]


def _types(text: str, name: str) -> dict[str, Any]:
    """Return definitions by name. rosbags puts `msg` into the names of services, and ROS 2 does not."""
    def plain(part: Any) -> Any:
        if isinstance(part, str):
            return part.replace("/srv/msg/", "/srv/").replace("/action/msg/", "/action/")
        return type(part)(plain(one) for one in part) if isinstance(part, (list, tuple)) else part

    return {plain(key): plain(value) for key, value in get_types_from_msg(text, name).items()}


@cache
def type_hash(name: str) -> str:
    """Return the hash of a message or service type: RIHS01_ and 64 hexadecimal digits."""
    plain, older, _ = name.partition(OLDER)
    return str(store(bool(older)).hash_rihs01(plain))


def dds_name(name: str) -> str:
    """Return the DDS name of e.g. sensor_msgs/msg/JointState, for keys."""
    package, kind, last = name.removesuffix(OLDER).split("/")
    return f"{package}::{kind}::dds_::{last}_"


def message(name: str, /, **fields: Any) -> Any:
    """Return a message with these fields. All other fields are zero or empty, or are messages of zeros."""
    kind = store().types[name]
    blank = {field: _blank(desc) for field, desc in store().fielddefs[name][1]}
    whole = {field: np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
             for field, value in fields.items()}  # rosbags accepts only contiguous arrays
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
    """Return the message as CDR bytes with the CDR header."""
    plain, older, _ = name.partition(OLDER)
    return bytes(store(bool(older)).serialize_cdr(value, plain))


def unpacked(name: str, data: bytes) -> Any:
    """Read CDR bytes. Raises ValueError if the bytes are not this message."""
    try:
        return store().deserialize_cdr(data, name)
    except Exception as error:  # rosbags's generated code may raise any exception for invalid data
        raise ValueError(f"no {name}: {error!r}") from None
