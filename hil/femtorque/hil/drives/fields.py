"""Numbers in a few bits, as drives pack them: lo is 0, hi is all ones, truncated (fields.c)."""

from dataclasses import dataclass

from femtorque.hil.drives.library import library


def encode(value: float, lo: float, hi: float, bits: int) -> int:
    """Code of a value; beyond the range, that of the range's end."""
    return int(library()[1].field_code(value, lo, hi, bits))


def decode(code: int, lo: float, hi: float, bits: int) -> float:
    return float(library()[1].field_value(code, lo, hi, bits))


@dataclass
class Ranges:
    """Ranges as a drive is set: position rad, velocity rad/s, torque N m from - to + that; kp, kd from 0."""

    position: float
    velocity: float
    torque: float
    kp: float = 500.0
    kd: float = 5.0
