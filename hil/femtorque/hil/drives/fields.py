"""Numbers that drives encode in a few bits: code 0 is lo, all ones is hi, and fractions are truncated (fields.c)."""

from dataclasses import dataclass

from femtorque.hil.drives.library import library


def encode(value: float, lo: float, hi: float, bits: int) -> int:
    """Return the code of a value. A value outside the range gets the code of the nearer limit."""
    return int(library()[1].field_code(value, lo, hi, bits))


def decode(code: int, lo: float, hi: float, bits: int) -> float:
    return float(library()[1].field_value(code, lo, hi, bits))


@dataclass
class Ranges:
    """Ranges of a drive: +-position rad, +-velocity rad/s, +-torque N m; kp N m/rad and kd N m s/rad from 0."""

    position: float
    velocity: float
    torque: float
    kp: float = 500.0
    kd: float = 5.0
