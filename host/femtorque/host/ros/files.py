"""Files for ROS 2: MoveIt's controllers and limits, and the tag that lets ros2_control command the node. Formats:
moveit_simple_controller_manager and joint_limits.yaml of MoveIt 2's tutorials; JointStateTopicSystem of
joint_state_topic_hardware_interface (Jazzy and later)."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import yaml

from femtorque.codegen.common import claim, marked, write_text
from femtorque.codegen.control import follow_limits
from femtorque.codegen.mechanism import Mechanism

MADE = "made by femtorque ros"
KIND = marked("of `femtorque ros`", MADE.encode())
COMMANDS = "joint_commands"  # topic name, appended to the node's name


def split(mechanism: Mechanism, controller: str, gripper: str) -> list[tuple[str, list[int], bool]]:
    """Return the controllers: name, joints' columns, True for the gripper, whose controller has its joint's name."""
    every = list(range(len(mechanism.streamed)))
    grips = [k for k, joint in enumerate(mechanism.streamed) if gripper in (joint.name, joint.called)]
    if not grips or len(every) == 1:
        return [(controller, every, False)]
    return [(controller, [k for k in every if k not in grips], False),
            (f"{mechanism.streamed[grips[0]].name}_controller", grips, True)]


def ros_files(mechanism: Mechanism, controller: str, node: str, gripper: str) -> dict[str, str]:
    """Return names and contents of all files. Raises Refused for an arm that cannot follow live targets."""
    return {"moveit_controllers.yaml": _yaml(_controllers(mechanism, controller, gripper)),
            "joint_limits.yaml": _yaml(_limits(mechanism)),
            "ros2_control.xml": _control(mechanism, node)}


def write_ros_files(folder: Path, files: dict[str, str], force: bool = False) -> None:
    """Write all files. Raises BadInput and writes no file if another kind of file exists."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        claim(folder / name, KIND, force)
    for name, text in files.items():
        write_text(folder / name, text)


def _yaml(table: dict[str, Any]) -> str:
    return f"# {MADE}\n" + yaml.safe_dump(table, sort_keys=False)


def _controllers(mechanism: Mechanism, controller: str, gripper: str) -> dict[str, Any]:
    known = split(mechanism, controller, gripper)
    return {"moveit_controller_manager": "moveit_simple_controller_manager/MoveItSimpleControllerManager",
            "moveit_simple_controller_manager": {
                "controller_names": [name for name, _, _ in known],
                **{name: {"type": "GripperCommand" if grips else "FollowJointTrajectory",
                          "action_ns": "gripper_cmd" if grips else "follow_joint_trajectory", "default": True,
                          "joints": [mechanism.streamed[k].called for k in columns]}
                   for name, columns, grips in known}}}


def _limits(mechanism: Mechanism) -> dict[str, Any]:
    """Return the limits that the board enforces in FOLLOW. The board does not change a plan that keeps these limits."""
    rows = zip(mechanism.streamed, follow_limits(mechanism), strict=True)
    return {"joint_limits": {joint.called: {
        "has_velocity_limits": True, "max_velocity": float(limits.velocity),
        "has_acceleration_limits": True, "max_acceleration": float(limits.acceleration),
        "has_jerk_limits": True, "max_jerk": float(limits.jerk)} for joint, limits in rows}}


def _control(mechanism: Mechanism, node: str) -> str:
    tag = ET.Element("ros2_control", name=mechanism.name, type="system")
    hardware = ET.SubElement(tag, "hardware")
    ET.SubElement(hardware, "plugin").text = "joint_state_topic_hardware_interface/JointStateTopicSystem"
    for name, value in (("joint_commands_topic", f"/{node}/{COMMANDS}"), ("joint_states_topic", "/joint_states"),
                        # -1: commands do not expire; the board brings the arm to rest if commands stop
                        ("trigger_joint_command_threshold", "-1")):
        ET.SubElement(hardware, "param", name=name).text = value
    for joint in mechanism.streamed:
        one = ET.SubElement(tag, "joint", name=joint.called)
        ET.SubElement(one, "command_interface", name="position")
        for state in ("position", "velocity", "effort"):
            ET.SubElement(one, "state_interface", name=state)
    ET.indent(tag)
    return f"<!-- {MADE} -->\n{ET.tostring(tag, encoding='unicode')}\n"
