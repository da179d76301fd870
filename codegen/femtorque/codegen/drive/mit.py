"""Frames of the MIT mode, which drives of several makers have: one command, one reply, four special commands.

Source: bgkatz/motorcontrol, Core/Src/can.c. The makers' variants differ in their ids and in the last bytes of the
reply.
"""

from dataclasses import dataclass

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.family import DriveType, Errors, State, Target
from femtorque.codegen.drive.fields import Field, Layout, Range

COMMAND = Layout((Field("position", 16), Field("velocity", 12), Field("kp", 12), Field("kd", 12), Field("torque", 12)))
STATE = (Field("position", 16), Field("velocity", 12), Field("torque", 12))
ENTER, EXIT, ZERO, CLEAR = (bytes([0xFF] * 7 + [last]) for last in (0xFC, 0xFD, 0xFE, 0xFB))


@dataclass(frozen=True)
class Dialect:
    """The reply format of a family."""

    reply: Layout
    errors: Errors = Errors()  # names of error numbers
    well: int = 0  # the largest number that means no error
    coldest: int = 0  # the temperature's offset, deg C: the number 0 means minus this offset

    def read(self, drive: DriveType, data: bytes) -> State:
        """Return the state that a reply reports. Raise ValueError if the data are no heartbeat."""
        counts, scales = self.reply.unpack(data), ranges(drive)
        error = counts.get("error", 0)
        position, velocity, torque = (scales[n].decode(counts[n]) for n in ("position", "velocity", "torque"))
        warmth = counts.get("temperature")
        return State(counts["id"], position, velocity, torque, None if warmth is None else warmth - self.coldest,
                     self.errors.words(error) if error > self.well else "")

    def answer(self, drive: DriveType, id: int, state: State, **beside: int) -> bytes:
        """Pack a drive's reply. beside: raw values of the fields that State does not have."""
        scales = ranges(drive)
        counts = {f.name: beside.get(f.name, 0) for f in self.reply.fields}
        counts |= {n: scales[n].encode(getattr(state, n)) for n in ("position", "velocity", "torque")}
        counts["id"] = id & (1 << next(f.bits for f in self.reply.fields if f.name == "id")) - 1
        return self.reply.pack(counts)


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
    therefore subtracts one step from the position.
    """
    scales = ranges(drive)
    counts = {name: scale.encode(getattr(target, name)) for name, scale in scales.items()}
    counts["position"] -= all(counts[name] == scales[name].top for name in ("position", "velocity", "kp"))
    return Frame(id, COMMAND.pack(counts), fd=fd)
