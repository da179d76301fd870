"""Feetech's STS servos on one half-duplex wire, in their PWM mode: open-loop motors with a bridge and an encoder.

Packets FF FF id length instruction parameters checksum, little endian. FTServo_stm32HAL, feetech-servo-sdk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HEAD, EVERYBODY = b"\xff\xff", 0xFE
PING, READ, WRITE, SYNC_READ, SYNC_WRITE = 0x01, 0x02, 0x03, 0x82, 0x83
MODE, TORQUE_ENABLE, DUTY, LOCK, POSITION = 33, 40, 44, 55, 56  # registers
PWM_MODE = 2
FULL, BACKWARDS = 1000, 1 << 10  # of the duty
TURN = 4096  # counts
BITS_A_BYTE = 10  # start, eight, stop


def packet(id: int, instruction: int, parameters: bytes = b"") -> bytes:
    body = bytes([id, len(parameters) + 2, instruction]) + parameters
    return HEAD + body + bytes([~sum(body) & 0xFF])


@dataclass(frozen=True)
class Status:
    """What a servo answers: its error bits and the bytes asked for."""

    id: int
    error: int
    parameters: bytes


def status(data: bytes) -> Status:
    """ValueError for what is no whole packet with a right check sum."""
    if len(data) < 6 or data[:2] != HEAD or data[3] != len(data) - 4:
        raise ValueError(f"{data.hex()} is no packet")
    if ~sum(data[2:-1]) & 0xFF != data[-1]:
        raise ValueError(f"{data.hex()}: wrong check sum")
    return Status(data[2], data[4], data[5:-1])


def duty(share: float) -> bytes:
    """-1 .. 1 of the supply, clamped, as register 44 wants it: magnitude and a direction bit."""
    share = 0.0 if share != share else min(max(share, -1.0), 1.0)
    count = round(abs(share) * FULL)
    return (count | (BACKWARDS if share < 0.0 and count else 0)).to_bytes(2, "little")


def duties(shares: Mapping[int, float]) -> bytes:
    """One packet that all servos obey together."""
    each = b"".join(bytes([id]) + duty(share) for id, share in shares.items())
    return packet(EVERYBODY, SYNC_WRITE, bytes([DUTY, 2]) + each)


def ask(ids: Sequence[int], register: int = POSITION, size: int = 4) -> bytes:
    """All of them answer in turn: position and velocity."""
    return packet(EVERYBODY, SYNC_READ, bytes([register, size]) + bytes(ids))


def seconds(count: int, bitrate: float = 1e6) -> float:
    return count * BITS_A_BYTE / bitrate
