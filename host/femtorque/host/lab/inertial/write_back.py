"""Writes identified numbers into the mechanism file. All other keys of the file and the URDF are not changed."""

from dataclasses import asdict
from pathlib import Path

from femtorque.codegen.mechanism import Joint, Payload, set_joint, set_solid
from femtorque.host.lab.inertial.experiment import BEYOND, Result
from femtorque.host.lab.inertial.payload import Weighed
from femtorque.host.lab.inertial.regressor import PLACES
from femtorque.host.lab.inertial.touches import MARGIN
from femtorque.host.lab.joint_identification import beside

FRICTION = ("viscous", "coulomb", *BEYOND)


def write_inertias(path: Path, result: Result) -> None:
    """Write touch thresholds. If the new numbers explain the test motion better, also write masses, centres of gravity
    and inertias of links or payload, and friction and rotor inertias of joints. Raises the same BadInput as
    femtorque.codegen.mechanism.edit."""
    if result.better:
        _numbers(path, result)
    for touch in result.touches:
        set_joint(path, touch.joint, {"contact": asdict(touch.contact)},
                  f"twice its dry friction plus {MARGIN:g} times the rest; at most {touch.after:.2g} was felt")


def write_motors(path: Path, weighed: Weighed) -> None:
    """Write the corrected R or K of each motor whose torque was measured with a weight. Raises the same BadInput as
    `write_inertias`."""
    for j, joint in enumerate(weighed.mechanism.streamed):
        if keys := weighed.keys(j):
            within = weighed.half[j] / weighed.scale[j]
            set_joint(path, joint.name, {"motor": keys}, f"by a weight: torque +- {within:.1%} (95 %)",
                      beside(weighed.mechanism, joint.name))


def _numbers(path: Path, result: Result) -> None:
    unknowns = result.found.unknowns
    for solid, row in zip(unknowns.solids, result.solids(), strict=True):
        inertia = row["inertia"]["after"]
        values = {"mass": row["mass"]["after"], "com": row["com"]["after"],
                  "inertia": [inertia[a][b] for a, b in PLACES]}
        on = solid.source.link if isinstance(solid.source, Payload) else None
        set_solid(path, solid.name, values, on)
    joints = {joint.name: joint for joint in unknowns.space.whole.streamed}
    for row in result.joints():
        joint = joints[row["name"]]
        key, inertia = _rotor(joint, row["rotor"]["after"])
        parts = [part for part in FRICTION if part in row]
        halves = (f"{part} +- {row[part]['interval']:.1g}" for part in parts)
        set_joint(path, joint.name, {
            "friction": {part: row[part]["after"] for part in parts},
            key: {"inertia": inertia}}, f"identified: {', '.join(halves)} (95 %)", beside(unknowns.space.whole,
                                                                                        joint.name))


def _rotor(joint: Joint, at_joint: float) -> tuple[str, float]:
    """Return the name of the file's table with the rotor's inertia, and the inertia for this table."""
    if joint.drive is not None and joint.drive.servo is None:
        return "drive", at_joint / joint.drive.gear**2
    assert joint.motor is not None
    return "motor", at_joint / joint.motor.gear**2
