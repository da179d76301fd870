"""The verb that makes a board a node of ROS 2."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from femtorque.codegen.common import BadInput, hint, need
from femtorque.commands.answer import Answer
from femtorque.commands.options import Force, Json, MaybePort, Mech, load_mechanism

if TYPE_CHECKING:
    from femtorque.codegen.mechanism import Mechanism
    from femtorque.host.ros import Node, RclpyNode

NAME = r"[A-Za-z][A-Za-z0-9_]*"
DOMAINS = 232  # the largest ROS_DOMAIN_ID


def ros(
    mech: Mech,
    port: MaybePort = None,
    controller: Annotated[str, typer.Option("--controller", metavar="NAME",
                                            help="name before its topic and its action")] = "arm_controller",
    node: Annotated[str, typer.Option("--node", metavar="NAME", help="name of the node, before its services"
                                      )] = "femtorque",
    gripper: Annotated[str | None, typer.Option("--gripper", metavar="JOINT", help="joint with a second controller",
                                                show_default="gripper, if the arm has this joint")] = None,
    over: Annotated[Literal["rclpy", "zenoh"] | None, typer.Option(
        "--over", show_default="rclpy where it can be imported", help="ROS 2's own rclpy, or zenoh alone")] = None,
    router: Annotated[str, typer.Option("--router", metavar="ENDPOINT", help="zenoh: where rmw_zenohd listens"
                                        )] = "tcp/localhost:7447",
    domain: Annotated[int | None, typer.Option("--domain", metavar="N", min=0, max=DOMAINS,
                                               show_default="ROS_DOMAIN_ID, or 0", help="of ROS 2")] = None,
    write: Annotated[Path | None, typer.Option("--write", metavar="FOLDER", show_default=False,
                                               help="write moveit_controllers.yaml, joint_limits.yaml and a "
                                               "ros2_control tag there, and end")] = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Make a board a node of ROS 2, with ROS or without it, until Ctrl-C.

    The node runs over rclpy, or over zenoh as rmw_zenoh does. The node has the action follow_joint_trajectory, the
    topics joint_trajectory, /joint_states, /robot_description and /diagnostics, and the services home, arm, disarm and
    clear. Ctrl-C stops and disarms the arm."""
    for option, name in (("--controller", controller), ("--node", node)):
        if not re.fullmatch(NAME, name):
            raise BadInput("command line", option, name, "must be a name: letters, digits, _")
    if write is not None:
        from femtorque.host.ros import ros_files, write_ros_files

        known = load_mechanism(mech)
        made_of = ros_files(known, controller, node, _gripper(known, gripper))
        write_ros_files(write, made_of, force)
        return Answer({"files": [str(write / name) for name in made_of]}, "\n".join(str(write / n) for n in made_of))
    if port is None:
        raise BadInput("command line", "--port", None, "is missing", "--port auto; or --write FOLDER, without a board")
    over = over or ("rclpy" if find_spec("rclpy") else "zenoh")
    need("rosbags")
    from femtorque.host.board import Board
    from femtorque.host.link import PERIOD
    from femtorque.host.ros import Arm
    from femtorque.host.stream import Interrupts

    said = partial(print, file=sys.stderr, flush=True)
    known = load_mechanism(mech)
    joint = _gripper(known, gripper)
    with (Board.connect(port, known) as board, Interrupts().on_ctrl_c() as interrupts,
          _node(over, node, _domain(domain), router) as made):
        arm = Arm(board, made, controller, said, joint)
        moved = ", ".join(f"/{one.name}/{what}" for one in arm.controllers
                          for what in ("follow_joint_trajectory", "joint_trajectory"))
        said(f"node {node} over {over} at {board.session.link.port}: {moved}; "
             f"services /{node}/home, arm, disarm, clear")
        if made.alone:
            said(made.alone)
        rounds = 0
        try:
            while not interrupts.count:
                arm.step()
                rounds += 1
                board.session.clock.sleep(PERIOD)
        finally:
            arm.close()
    return Answer({"rounds": rounds, "unreadable": made.refused}, "ended")


def _gripper(arm: Mechanism, given: str | None) -> str:
    """Return the joint of the second controller. Raises BadInput for a given joint that the arm lacks."""
    names = {name: None for joint in arm.streamed for name in (joint.called, joint.name)}
    if given is not None and given not in names:
        raise BadInput("command line", "--gripper", given, "no such joint", hint(given, names, "joints"))
    return given or "gripper"


def _node(over: str, name: str, domain: int, router: str) -> Node | RclpyNode:
    if over == "rclpy":
        from femtorque.host.ros import RclpyNode

        return RclpyNode(name, domain)
    need("zenoh")
    from femtorque.host.ros import Node

    return Node(name, domain, router)


def _domain(given: int | None) -> int:
    """Return the domain of ROS 2. Raises BadInput for an invalid ROS_DOMAIN_ID."""
    if given is not None:
        return given
    text = os.environ.get("ROS_DOMAIN_ID", "").strip() or "0"
    if not text.isdecimal() or int(text) > DOMAINS:
        raise BadInput("environment", "ROS_DOMAIN_ID", text, f"must be 0 to {DOMAINS}")
    return int(text)
