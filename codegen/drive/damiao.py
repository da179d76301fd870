"""Damiao's registers: what a drive says of its own scales and guards. openarm_can dm_motor_control.cpp; DM_CAN.py."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from femtorque.codegen.drive.can import Frame

BROADCAST = 0x7FF
READ, WRITE = 0x33, 0x55
TIMEOUT_UNIT = 50e-6  # s


@dataclass(frozen=True)
class Register:
    name: str
    number: int
    format: str  # of struct: "f" or "I"
    meaning: str


REGISTERS = {r.name: r for r in (
    Register("MST_ID", 7, "I", "id of its replies"),
    Register("ESC_ID", 8, "I", "id of its commands"),
    Register("TIMEOUT", 9, "I", "50 us each without a frame until it stops; 0: never"),
    Register("CTRL_MODE", 10, "I", "1: kp, kd and torque"),
    Register("sw_ver", 14, "I", "its firmware"),
    Register("Gr", 20, "f", "gear"),
    Register("PMAX", 21, "f", "rad, of the position field"),
    Register("VMAX", 22, "f", "rad/s, of the velocity field"),
    Register("TMAX", 23, "f", "N m, of the torque field"),
)}


def firmware_text(word: int) -> str:
    """Firmware in the register sw_ver, as a mechanism file has it; empty for 0."""
    return str(word) if word else ""


def read(id: int, name: str) -> Frame:
    return Frame(BROADCAST, struct.pack("<HBB4x", id, READ, REGISTERS[name].number))


def write(id: int, name: str, value: float) -> Frame:
    r = REGISTERS[name]
    whole = struct.pack("<" + r.format, value if r.format == "f" else int(value))
    return Frame(BROADCAST, struct.pack("<HBB", id, WRITE, r.number) + whole)


def value(data: bytes) -> tuple[int, str, float]:
    """Id, register's name and value out of a register reply. ValueError for other data."""
    if len(data) != 8 or data[2] not in (READ, WRITE):
        raise ValueError(f"{data.hex()} is no register reply")
    found = next((r for r in REGISTERS.values() if r.number == data[3]), None)
    if found is None:
        raise ValueError(f"register {data[3]} is unknown")
    return int.from_bytes(data[:2], "little"), found.name, struct.unpack("<" + found.format, data[4:])[0]
