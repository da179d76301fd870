"""Error messages about values in a mechanism file."""

import math
from typing import NoReturn, Protocol

from femtorque.codegen.common import BadInput, shown
from femtorque.codegen.mechanism.description import Joint, Mechanism


class Fail(Protocol):
    """A function that raises BadInput about a key of the present file."""

    def __call__(self, key: str, value: object, rule: str, hint: str = "") -> NoReturn: ...


def in_radians(value: float, lower: float, upper: float) -> str:
    """Return a hint if a value is probably in degrees, else ''.

    The hint applies to a value larger than a turn. As rad, the value must be outside the limits; as degrees, inside."""
    if abs(value) < math.tau or lower <= value <= upper or not lower <= math.radians(value) <= upper:
        return ""
    return f"angles are in rad: {value:g} degrees are {math.radians(value):.4g}"


def unmoved(mechanism: Mechanism, joint: Joint) -> bool:
    """Return True for an actuated joint without motor in a mechanism with loops, where a loop probably moves it."""
    return bool(mechanism.loops) and joint.actuated and joint.motor is None and joint.drive is None


def refuse(mechanism: Mechanism, key: str, value: object, rule: str, hint: str = "") -> NoReturn:
    raise BadInput(mechanism.source or mechanism.name, key, shown(value), rule, hint)
