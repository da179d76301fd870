"""Warnings about a PC as the board: missing hardware, the end of the PC, and adapters without measured times."""

import math

import numpy as np

from femtorque.codegen.board import LOST, fieldbus, on_pc
from femtorque.codegen.common import square
from femtorque.codegen.control import sample_poses, watchdog_s
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model, mass_matrix


def pc_words(mechanism: Mechanism) -> list[str]:
    """Return lines on the limits of a PC as the board. Return no lines for another board."""
    if not on_pc(mechanism):
        return []
    endless, own = fieldbus.endless(mechanism), [joint.name for _, joint, _ in fieldbus.drives(mechanism)]
    held = [joint.name for joint in mechanism.streamed if fieldbus.held(joint)]
    limited = [name for name in own if name not in endless and name not in held]
    said = [f"{mechanism.name} on a PC at {mechanism.control.rate_hz} Hz: {LOST}"]
    if limited:
        said.append(f"{', '.join(limited)}: when the PC dies, their own time limit lets them go, "
                    f"{1e3 * watchdog_s(mechanism):.3g} ms after the last command")
    if endless:
        said.append(f"{', '.join(endless)}: no time limit of theirs is sure: when the PC dies they go on with the last "
                    "command until their supply is cut, which [board] accept says")
    onwards = run_on(mechanism) if held else {}
    said += [f"{joint.name}: when the PC dies it moves on by up to {onwards[joint.name] * joint.limits.velocity:.2g} "
             f"rad from full velocity ({onwards[joint.name]:.2g} s times the velocity); its servo holds it there, and "
             "stays warm" for joint in mechanism.streamed if joint.name in held]
    unknown = [bus.name for bus in fieldbus.used_buses(mechanism).values() if bus.delay is None or bus.jitter is None]
    if unknown:
        said.append(f"{', '.join(unknown)}: delay and jitter of the adapter are the board file's, not measured: "
                    "`femtorque bus latency --write`")
    return said


def run_on(mechanism: Mechanism) -> dict[str, float]:
    """Return how far each joint on a servo's position loop moves on after the PC's end, divided by its velocity, s.

    All joints move at the same constant velocity. The goal leads by L, which makes the torque against back-EMF and
    friction. After the end the loop is a spring with the stiffness k, and the joint has the inertia J. The energy of
    both does not grow. So the joint overshoots the goal by at most sqrt(L^2 + J/k)."""
    model = Model.of(mechanism)
    inertia = np.max(np.abs(mass_matrix(model, sample_poses(model))).sum(axis=-1), axis=0)
    found = {}
    for body, J in zip(model.bodies, inertia, strict=True):
        joint = body.joint
        if fieldbus.held(joint) and joint.motor is not None:
            damping = square(joint.motor.gear * joint.motor.K) / joint.motor.R + joint.friction.viscous
            lead = damping / joint.gains.ku
            found[joint.name] = lead + math.sqrt(square(lead) + J / joint.gains.ku)
    return found
