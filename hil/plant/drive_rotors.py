"""Inertia that a drive's rotor has at the joint: the rotor's times the square of the gear inside, which is told at the
output, times the square of the gear between output and joint.

By the maker of OpenArm (enactic/openarm_mujoco, v2/openarm_bimanual.xml, armature): 1e-4 kg m^2 behind gears of 10, 40
and 9. Of the other drives nothing is published that was found: their rotors have none here.
"""

from __future__ import annotations

from collections.abc import Sequence

from femtorque.codegen.mechanism.description import Joint

REFLECTED = {"damiao-4310": 0.01, "damiao-4310-48v": 0.01, "damiao-4340": 0.16, "damiao-4340-48v": 0.16,
             "damiao-8009": 0.0081}  # kg m^2


def reflected(joints: Sequence[Joint]) -> list[float]:
    """Of every joint's drive on a bus, kg m^2, as the mechanism file has it, or the table; 0 where there is none."""
    return [joint.drive.gear**2 * (joint.drive.inertia or REFLECTED.get(joint.drive.type.name, 0.0))
            if joint.drive else 0.0 for joint in joints]
