"""Inertia of a drive's rotor at the joint. This inertia is the rotor's inertia at the drive's output times the square
of the gear between output and joint. The first factor contains the square of the gear inside the drive. The mechanism
file has the number if somebody has measured it. Otherwise the published number counts, which the firmware never sees
(femtorque.codegen.drive.catalogue, with its sources). If neither is known, the virtual rotor has no mass, and `unknown`
says so.
"""

from collections.abc import Sequence

from femtorque.codegen.mechanism import Drive, Joint


def reflected(joints: Sequence[Joint]) -> list[float]:
    """Return the inertia of every joint's drive on CAN, kg m^2; 0 for a joint without a drive, or with an unknown
    rotor."""
    return [joint.drive.gear**2 * _rotor(joint.drive) if joint.drive else 0.0 for joint in joints]


def unknown(joints: Sequence[Joint]) -> list[str]:
    """Return a line for each kind of drive whose rotor neither the mechanism file nor the catalogue knows."""
    kinds: dict[str, list[str]] = {}
    for joint in joints:
        if joint.drive is not None and joint.drive.servo is None and not _rotor(joint.drive):
            kinds.setdefault(joint.drive.type.name, []).append(joint.name)
    return [f"{', '.join(names)}: no rotor of {kind} is published, and drive.inertia is missing: the virtual one has "
            "no mass, and a real one may oscillate where this does not" for kind, names in kinds.items()]


def _rotor(drive: Drive) -> float:
    """Return the rotor's inertia at the drive's output, kg m^2."""
    return drive.inertia or drive.type.inertia
