"""The command of the MIT mode, which drives of several makers have. Source: bgkatz/motorcontrol, Core/Src/can.c."""

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.family import DriveType, Target
from femtorque.codegen.drive.fields import Field, Layout, Range

COMMAND = Layout((Field("position", 16), Field("velocity", 12), Field("kp", 12), Field("kd", 12), Field("torque", 12)))


def ranges(drive: DriveType, fine: bool = False) -> dict[str, Range]:
    """Return the range of each field. fine: all fields have 16 bits."""
    narrow = 16 if fine else 12
    return {
        "position": Range(-drive.position, drive.position, 16),
        "velocity": Range(-drive.velocity, drive.velocity, narrow),
        "kp": Range(0.0, drive.kp, narrow),
        "kd": Range(0.0, drive.kd, narrow),
        "torque": Range(-drive.torque, drive.torque, narrow),
    }


def command(drive: DriveType, id: int, target: Target, fd: bool = False) -> Frame:
    """Return a command whose values are clamped to the ranges.

    A command whose position, velocity and kp fields have all bits set would be a special command. The function
    therefore subtracts one step from the position."""
    scales = ranges(drive)
    counts = {name: scale.encode(getattr(target, name)) for name, scale in scales.items()}
    counts["position"] -= all(counts[name] == scales[name].top for name in ("position", "velocity", "kp"))
    return Frame(id, COMMAND.pack(counts), fd=fd)
