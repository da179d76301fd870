"""Damiao's replies and registers. Sources: openarm_can dm_motor_control.cpp, DM_CAN.py."""

import struct

from femtorque.codegen.drive import mit
from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.family import Errors, Register
from femtorque.codegen.drive.fields import Field, Layout

BROADCAST = 0x7FF
READ, WRITE = 0x33, 0x55
TIMEOUT_UNIT = 50e-6  # s
ENABLED = 1  # larger codes are errors
DIALECT = mit.Dialect(
    Layout((Field("error", 4), Field("id", 4), *mit.STATE, Field("temperature", 8), Field("rotor", 8))),
    Errors({8: "over-voltage", 9: "under-voltage", 10: "over-current", 11: "driver too hot", 12: "rotor too hot",
            13: "lost communication", 14: "overload"}), well=ENABLED)

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


def read(id: int, name: str) -> Frame:
    return Frame(BROADCAST, struct.pack("<HBB4x", id, READ, REGISTERS[name].number))


def write(id: int, name: str, value: float) -> Frame:
    r = REGISTERS[name]
    whole = struct.pack("<" + r.format, value if r.format == "f" else int(value))
    return Frame(BROADCAST, struct.pack("<HBB", id, WRITE, r.number) + whole)


def value(data: bytes) -> tuple[int, str, float]:
    """Return the drive's id, the register's name and the value that a register reply contains. Raise ValueError if the
    data are no state."""
    if len(data) != 8 or data[2] not in (READ, WRITE):
        raise ValueError(f"{data.hex()} is no register reply")
    found = next((r for r in REGISTERS.values() if r.number == data[3]), None)
    if found is None:
        raise ValueError(f"register {data[3]} is unknown")
    return int.from_bytes(data[:2], "little"), found.name, struct.unpack("<" + found.format, data[4:])[0]
