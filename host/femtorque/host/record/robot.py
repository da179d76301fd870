"""The arm in a log, for Foxglove, Rerun and RViz: /robot_description and /tf, next to /joint_states. A URDF file is
copied. Other mechanisms get a description with rods, cut at one joint of each loop."""

import io
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from mcap_ros2.writer import Writer

from femtorque.codegen.common import Array, Refused, rotation_rpy
from femtorque.codegen.mechanism import BASE, MOMENTS, Joint, Link, Mechanism, links_here
from femtorque.codegen.model import Model, assemble, in_mode
from femtorque.host.record.definitions import definition

DESCRIPTION, TRANSFORMS, FIXED = "/robot_description", "/tf", "/tf_static"
UNLIMITED = {"velocity": 1e3, "effort": 1e3}  # URDF requires limits
THICK = 0.02  # radius of a link's rod, m
_TF = definition(
    "geometry_msgs/TransformStamped[] transforms\n",
    "geometry_msgs/TransformStamped", "std_msgs/Header", "builtin_interfaces/Time", "geometry_msgs/Transform",
    "geometry_msgs/Vector3", "geometry_msgs/Quaternion")


def animation(mechanism: Mechanism, stamps: Sequence[int], positions: Array) -> BinaryIO | None:
    """Return an MCAP of these messages. Return None if there are no measurements or if the loop equations cannot be
    solved. stamps: times, ns. positions (T, streamed): joint positions, rad or m."""
    if not len(stamps):
        return None
    try:
        q = _all_positions(mechanism, positions)
    except Refused:
        return None
    kept, names = io.BytesIO(), frames(mechanism)
    writer = Writer(kept)
    text = writer.register_msgdef("std_msgs/msg/String", "string data\n")
    tf = writer.register_msgdef("tf2_msgs/msg/TFMessage", _TF)
    writer.write_message(DESCRIPTION, text, {"data": robot_description(mechanism)}, stamps[0], stamps[0])
    moving = [joint for joint in mechanism.joints if joint.name in q]
    still = [joint for joint in mechanism.joints if joint.name not in q]
    if still:
        at = {joint.name: np.array([mechanism.lock.get(joint.name, 0.0)]) for joint in still}
        writer.write_message(FIXED, tf, _message(still, [_placed(j, at[j.name]) for j in still], 0, stamps[0], names),
                             stamps[0], stamps[0])
    places = [_placed(joint, q[joint.name]) for joint in moving]
    for k, stamp in enumerate(stamps):
        writer.write_message(TRANSFORMS, tf, _message(moving, places, k, stamp, names), stamp, stamp, k)
    writer.finish()
    kept.seek(0)
    return kept


def _all_positions(mechanism: Mechanism, positions: Array) -> dict[str, Array]:
    """Return all moving joints' positions by name, from the loop equations. Other passive joints are at rest."""
    streamed = {joint.name: positions[:, k] for k, joint in enumerate(mechanism.streamed)}
    alone = in_mode(mechanism)
    if alone.constrained:
        assembly = assemble(Model.of(alone))
        whole = assembly.follow(positions[:, [mechanism.streamed.index(j) for j in _actuated(mechanism, alone)]])
        return {body.joint.name: whole[:, k] for k, body in enumerate(assembly.model.bodies)}
    still = np.zeros(len(positions))
    return {joint.name: streamed.get(joint.name, still + joint.rest) for joint in mechanism.moving}


def _actuated(mechanism: Mechanism, alone: Mechanism) -> list[Joint]:
    names = {joint.name for joint in alone.streamed}
    return [joint for joint in mechanism.streamed if joint.name in names]


def _placed(joint: Joint, q: Array) -> tuple[Array, Array]:
    """Return quaternions (T, 4), x y z w, and translations (T, 3) of the child's frame in the parent's."""
    still, slides = np.zeros_like(q), joint.type == "prismatic"
    turn = still if slides or joint.type == "fixed" else q
    along = np.outer(q if slides else still, rotation_rpy(joint.rpy) @ joint.axis)
    turns = [_about(axis, np.full_like(q, angle)) for axis, angle in zip(np.eye(3), joint.rpy, strict=True)]
    return _after(_after(_after(turns[2], turns[1]), turns[0]), _about(joint.axis, turn)), joint.xyz + along


def _about(axis: Array, angle: Array) -> Array:
    """Return quaternions (T, 4) of rotations (T,) rad about a unit axis."""
    return np.column_stack([np.outer(np.sin(0.5 * angle), axis), np.cos(0.5 * angle)])


def _after(a: Array, b: Array) -> Array:
    """Return quaternions (T, 4) of rotation b followed by rotation a."""
    (u, c), (v, d) = (a[:, :3], a[:, 3:]), (b[:, :3], b[:, 3:])
    return np.column_stack([c * v + d * u + np.cross(u, v), c * d - np.sum(u * v, axis=1, keepdims=True)])


def _message(joints: Sequence[Joint], places: Sequence[tuple[Array, Array]], k: int, stamp: int,
             names: dict[str, str]) -> dict[str, Any]:
    header = {"sec": stamp // 10**9, "nanosec": stamp % 10**9}
    return {"transforms": [
        {"header": {"stamp": header, "frame_id": names[joint.parent]}, "child_frame_id": names[joint.child],
         "transform": {"translation": dict(zip("xyz", p[k].tolist(), strict=True)),
                       "rotation": dict(zip("xyzw", turn[k].tolist(), strict=True))}}
        for joint, (turn, p) in zip(joints, places, strict=True)]}


def frames(mechanism: Mechanism) -> dict[str, str]:
    """Return the name of each link's frame in the robot description. A URDF keeps its names."""
    own = {link.name: link.name for link in mechanism.links} | {BASE: BASE}
    path = mechanism.urdf
    return own if path is None else own | {here: there for there, here in links_here(path).items()}


def robot_description(mechanism: Mechanism) -> str:
    """Return the URDF, with the mesh names of the mechanism's URDF."""
    if mechanism.urdf is not None:
        return mechanism.urdf.read_text(encoding="utf-8")
    robot = ET.Element("robot", name=mechanism.name)
    ET.SubElement(robot, "link", name=BASE)
    for link in mechanism.links:
        robot.append(_link(mechanism, link))
    for joint in mechanism.joints:
        robot.append(_joint(mechanism, joint))
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode")


def _link(mechanism: Mechanism, link: Link) -> ET.Element:
    element = ET.Element("link", name=link.name)
    if link.mass > 0.0:
        inertial = ET.SubElement(element, "inertial")
        ET.SubElement(inertial, "origin", xyz=_text(link.com))
        ET.SubElement(inertial, "mass", value=_text([link.mass]))
        I = link.inertia
        values = (*np.diag(I), I[0, 1], I[0, 2], I[1, 2])
        ET.SubElement(inertial, "inertia", {name: _text([x]) for name, x in zip(MOMENTS, values, strict=True)})
    for end in _ends(mechanism, link):
        visual, length = ET.SubElement(element, "visual"), float(np.linalg.norm(end))
        turn = [0.0, np.arctan2(np.hypot(end[0], end[1]), end[2]), np.arctan2(end[1], end[0])]
        ET.SubElement(visual, "origin", xyz=_text(0.5 * end), rpy=_text(turn))
        ET.SubElement(ET.SubElement(visual, "geometry"), "cylinder", radius=_text([min(THICK, 0.2 * length)]),
                      length=_text([length]))
    return element


def _ends(mechanism: Mechanism, link: Link) -> list[Array]:
    """Return the positions of the rods' ends in the link's frame."""
    ends = [joint.xyz for joint in mechanism.joints if joint.parent == link.name]
    if link.beam is not None:
        ends.append(np.array([link.beam.length, 0.0, 0.0]))
    return [end for end in ends or [2.0 * link.com] if np.linalg.norm(end) > 0.0]


def _joint(mechanism: Mechanism, joint: Joint) -> ET.Element:
    kind = "fixed" if joint.name in mechanism.lock else joint.type
    endless = kind == "revolute" and not np.isfinite(joint.limits.upper - joint.limits.lower)
    element = ET.Element("joint", name=joint.name, type="continuous" if endless else kind)
    ET.SubElement(element, "origin", xyz=_text(joint.xyz), rpy=_text(joint.rpy))
    ET.SubElement(element, "parent", link=joint.parent)
    ET.SubElement(element, "child", link=joint.child)
    if kind != "fixed":
        ET.SubElement(element, "axis", xyz=_text(joint.axis))
        limits = {name: value for name in ("lower", "upper", "velocity", "effort")
                  if np.isfinite(value := getattr(joint.limits, name))}
        ET.SubElement(element, "limit", {name: _text([value]) for name, value in (UNLIMITED | limits).items()})
    return element


def _text(values: Any) -> str:
    return " ".join(f"{float(x) + 0.0:.10g}" for x in values)
