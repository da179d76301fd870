"""Refuses mechanisms whose friction model the plant does not have: only viscous and Coulomb friction."""

from collections.abc import Iterable

from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Joint


def plain(joints: Iterable[Joint], what: str) -> None:
    """Raise Refused if friction falls with velocity or grows with load. what: name of the plant, in words."""
    for joint in joints:
        if joint.friction.stribeck or joint.friction.load:
            raise Refused(f"joint {joint.name}: its friction.stribeck and load are not in the virtual plant of {what}, "
                          "only in that of rigid trees: try the file without them")
