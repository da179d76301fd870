"""Inertia that a drive's rotor has at the joint: the rotor's at the drive's output, the square of the gear inside in
it, times the square of the gear between output and joint.

The mechanism file's number, which somebody has measured; without it the published one, which the firmware never sees
(femtorque.codegen.drive.catalogue, with its sources). If neither is known, the virtual rotor has no mass, and `unknown`
says so.
"""

from collections.abc import Sequence

from femtorque.codegen.mechanism import Drive, Joint


def reflected(joints: Sequence[Joint]) -> list[float]:
    """Inertia of every joint's drive on CAN, kg m^2; 0 where there is none, or nothing is known of it."""
    return [joint.drive.gear**2 * _rotor(joint.drive) if joint.drive else 0.0 for joint in joints]


def unknown(joints: Sequence[Joint]) -> list[str]:
    """A line for each kind of drive whose rotor neither the mechanism file nor the catalogue knows."""
    kinds: dict[str, list[str]] = {}
    for joint in joints:
        if joint.drive is not None and joint.drive.servo is None and not _rotor(joint.drive):
            kinds.setdefault(joint.drive.type.name, []).append(joint.name)
    return [f"{', '.join(names)}: no rotor of {kind} is published, and drive.inertia is missing: the virtual one has "
            "no mass, and a real one may oscillate where this does not" for kind, names in kinds.items()]


def _rotor(drive: Drive) -> float:
    """At its output, kg m^2."""
    return drive.inertia or drive.type.inertia
