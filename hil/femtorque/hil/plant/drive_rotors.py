"""Inertia of a drive's rotor, reflected to the joint. This inertia equals the rotor's inertia at the drive's output
times the square of the gear ratio between output and joint. The first factor contains the square of the gear ratio
inside the drive. If the mechanism file contains no measured value, the published value is used. The firmware does not
know the published value (femtorque.codegen.drive.catalogue, with its sources). If the inertia is in neither source, the
virtual rotor has no inertia, and `unknown` contains a message.
"""

from collections.abc import Sequence

from femtorque.codegen.mechanism import Drive, Joint


def reflected(joints: Sequence[Joint]) -> list[float]:
    """Return the inertia of each joint's CAN drive, kg m^2; 0 for a joint without a drive, or with an unknown rotor."""
    return [joint.drive.gear**2 * _rotor(joint.drive) if joint.drive else 0.0 for joint in joints]


def unknown(joints: Sequence[Joint]) -> list[str]:
    """Return a line for each drive model whose rotor inertia is in neither the mechanism file nor the catalogue."""
    kinds: dict[str, list[str]] = {}
    for joint in joints:
        if joint.drive is not None and joint.drive.servo is None and not _rotor(joint.drive):
            kinds.setdefault(joint.drive.type.name, []).append(joint.name)
    return [f"{', '.join(names)}: no rotor of {kind} is published, and drive.inertia is missing: the virtual one has "
            "no mass, and a real one may oscillate where this does not" for kind, names in kinds.items()]


def _rotor(drive: Drive) -> float:
    """Return the rotor's inertia at the drive's output, kg m^2."""
    return drive.inertia or drive.type.inertia
