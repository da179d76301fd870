"""Numbers in a few bits, as drives pack them: lo is 0, hi is all ones, truncated (bgkatz/motorcontrol Core/Src/
math_ops.c and can.c; damiao-motor 1.0.6, float_to_uint and uint_to_float)."""

from __future__ import annotations

from dataclasses import dataclass

from femtorque.hil.drives.motor import Command


def encode(value: float, lo: float, hi: float, bits: int) -> int:
    """Code of a value; beyond the range, that of the range's end."""
    return int((min(max(value, lo), hi) - lo) * ((1 << bits) - 1) / (hi - lo))


def decode(code: int, lo: float, hi: float, bits: int) -> float:
    return code * (hi - lo) / ((1 << bits) - 1) + lo


@dataclass
class Ranges:
    """Ranges as a drive is set: position rad, velocity rad/s, torque N m from - to + that; kp, kd from 0."""

    position: float
    velocity: float
    torque: float
    kp: float = 500.0
    kd: float = 5.0


def mit_command(data: bytes, r: Ranges) -> Command:
    """Fields of the mini-cheetah's command of eight bytes, most significant bits first: 16, 12, 12, 12, 12."""
    word = int.from_bytes(data, "big")
    return Command(decode(word >> 48, -r.position, r.position, 16),
                   decode(word >> 36 & 0xFFF, -r.velocity, r.velocity, 12), decode(word >> 24 & 0xFFF, 0.0, r.kp, 12),
                   decode(word >> 12 & 0xFFF, 0.0, r.kd, 12), decode(word & 0xFFF, -r.torque, r.torque, 12))


def mit_state(position: float, velocity: float, torque: float, r: Ranges) -> bytes:
    """Bytes 1 to 5 of the mini-cheetah's reply: 16, 12, 12 bits."""
    word = (encode(position, -r.position, r.position, 16) << 24 | encode(velocity, -r.velocity, r.velocity, 12) << 12
            | encode(torque, -r.torque, r.torque, 12))
    return word.to_bytes(5, "big")
