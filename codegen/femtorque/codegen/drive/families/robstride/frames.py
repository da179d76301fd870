"""The command of RobStride's factory protocol, with an extended id and 16-bit fields. id = type << 24 | data << 8 |
receiver. Sources: RobStride/SampleProgram Robstride01.cpp, kscalelabs/robstride protocol.rs."""

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.family import DriveType, Target
from femtorque.codegen.drive.fields import Field, Layout
from femtorque.codegen.drive.mit import ranges

TIMEOUT_UNIT = 1.0 / 20_000.0  # unit of canTimeout, s: time without a frame until the drive stops; 0: never
OPERATE = 0x01
BODY = Layout((Field("position", 16), Field("velocity", 16), Field("kp", 16), Field("kd", 16)))
FAULTS = ("under-voltage", "over-current", "over-temperature", "encoder", "overload", "not calibrated")  # bits 16 to 21


def identifier(kind: int, data: int, receiver: int) -> int:
    return kind << 24 | data << 8 | receiver


def command(drive: DriveType, id: int, target: Target, fd: bool = False) -> Frame:
    """Return a command whose values are clamped to the ranges.

    The identifier holds the torque. fd: unused, because no RobStride drive has CAN FD."""
    scales = ranges(drive, fine=True)
    counts = {name: scale.encode(getattr(target, name)) for name, scale in scales.items()}
    return Frame(identifier(OPERATE, counts.pop("torque"), id), BODY.pack(counts), extended=True)
