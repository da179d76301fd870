"""Frames of RobStride's factory protocol, with extended ids and 16-bit fields. id = type << 24 | data << 8 | receiver.
Sources: RobStride/SampleProgram Robstride01.cpp, kscalelabs/robstride protocol.rs.
"""

import struct

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.family import DriveType, Register, State, Target
from femtorque.codegen.drive.fields import Field, Layout
from femtorque.codegen.drive.mit import ranges

TIMEOUT_UNIT = 1.0 / 20_000.0  # unit of the drive's canTimeout, s
HOST = 0xFD  # the id that the maker's tools use for themselves
OPERATE, STATE, ENABLE, STOP, SET_ZERO, READ, WRITE = 0x01, 0x02, 0x03, 0x04, 0x06, 0x11, 0x12
BODY = Layout((Field("position", 16), Field("velocity", 16), Field("kp", 16), Field("kd", 16)))
ANSWER = Layout((Field("position", 16), Field("velocity", 16), Field("torque", 16), Field("temperature", 16)))
FAULTS = ("under-voltage", "over-current", "over-temperature", "encoder", "overload", "not calibrated")  # bits 16 to 21


PARAMETERS = {p.name: p for p in (
    Register("run_mode", 0x7005, "B", "0: operation control"),
    Register("limit_torque", 0x700B, "f", "N m"),
    Register("mech_pos", 0x7019, "f", "rad, unscaled"),
    Register("mech_vel", 0x701B, "f", "rad/s, unscaled"),
    Register("vbus", 0x701C, "f", "V"),
    Register("can_timeout", 0x7028, "I", "20000 = 1 s without a frame until it stops; 0: never"),
)}


def identifier(kind: int, data: int, receiver: int) -> int:
    return kind << 24 | data << 8 | receiver


def command(drive: DriveType, id: int, target: Target, fd: bool = False) -> Frame:
    """Return a command whose values are clamped to the ranges.

    The identifier holds the torque. fd: unused, because no RobStride drive has CAN FD.
    """
    scales = ranges(drive, fine=True)
    counts = {name: scale.encode(getattr(target, name)) for name, scale in scales.items()}
    return Frame(identifier(OPERATE, counts.pop("torque"), id), BODY.pack(counts), extended=True)


def reply(drive: DriveType, frame: Frame) -> State:
    """Return the state that a frame reports. Raise ValueError if the frame is no state."""
    kind, told = frame.id >> 24, frame.id >> 8 & 0xFFFF
    if kind != STATE or not frame.extended:
        raise ValueError(f"id {frame.id:#010x} is no state")
    counts, scales = ANSWER.unpack(frame.data), ranges(drive, fine=True)
    faults = [name for k, name in enumerate(FAULTS) if told >> 8 + k & 1]
    position, velocity, torque = (scales[n].decode(counts[n]) for n in ("position", "velocity", "torque"))
    return State(told & 0xFF, position, velocity, torque, counts["temperature"] / 10.0, ", ".join(faults))


def enable(id: int, host: int = HOST) -> Frame:
    return Frame(identifier(ENABLE, host, id), bytes(8), extended=True)


def stop(id: int, clear: bool = False, host: int = HOST) -> Frame:
    """Return the frame that stops a drive. clear: also clear faults."""
    return Frame(identifier(STOP, host, id), bytes([clear]) + bytes(7), extended=True)


def set_zero(id: int, host: int = HOST) -> Frame:
    return Frame(identifier(SET_ZERO, host, id), bytes([1]) + bytes(7), extended=True)


def read(id: int, name: str, host: int = HOST) -> Frame:
    return Frame(identifier(READ, host, id), struct.pack("<HHI", PARAMETERS[name].number, 0, 0), extended=True)


def write(id: int, name: str, value: float, host: int = HOST) -> Frame:
    p = PARAMETERS[name]
    whole = struct.pack("<" + p.format, value if p.format == "f" else int(value)).ljust(4, b"\0")
    return Frame(identifier(WRITE, host, id), struct.pack("<HH", p.number, 0) + whole, extended=True)
