"""One line that refuses what a mechanism file says."""

import math
from typing import NoReturn, Protocol

from femtorque.codegen.common import BadInput, shown
from femtorque.codegen.mechanism.description import Mechanism


class Fail(Protocol):
    """Function that raises BadInput about a key of the file being read."""

    def __call__(self, key: str, value: object, rule: str, hint: str = "") -> NoReturn: ...


def in_radians(value: float, lower: float, upper: float) -> str:
    """The hint where an angle of more than a turn is outside limits and would be inside as degrees."""
    if abs(value) < math.tau or lower <= value <= upper or not lower <= math.radians(value) <= upper:
        return ""
    return f"angles are in rad: {value:g} degrees are {math.radians(value):.4g}"


def refuse(mechanism: Mechanism, key: str, value: object, rule: str, hint: str = "") -> None:
    raise BadInput(mechanism.source or mechanism.name, key, shown(value), rule, hint)
