"""The mini-cheetah's frames, which CubeMars and Damiao speak too: one command, one reply, four special commands.

bgkatz/motorcontrol, Core/Src/can.c; Damiao's and CubeMars' dialects differ in ids and in the reply's ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.catalogue import DriveType
from femtorque.codegen.drive.fields import Field, Layout, Range

COMMAND = Layout((Field("position", 16), Field("velocity", 12), Field("kp", 12), Field("kd", 12), Field("torque", 12)))
_STATE = (Field("position", 16), Field("velocity", 12), Field("torque", 12))
REPLIES = {
    "mini-cheetah": Layout((Field("id", 8), *_STATE, Field("supply", 8), Field("unused", 8))),
    "cubemars": Layout((Field("id", 8), *_STATE, Field("temperature", 8), Field("error", 8))),
    "damiao": Layout((Field("error", 4), Field("id", 4), *_STATE, Field("temperature", 8), Field("rotor", 8))),
}
COLDEST = 40  # deg C below zero, which CubeMars' drives report as 0: "-40 to 215", AK driver manual, 5.3
ENTER, EXIT, ZERO, CLEAR = (bytes([0xFF] * 7 + [last]) for last in (0xFC, 0xFD, 0xFE, 0xFB))

# what a reply's error means; 0 and, with Damiao, 1 (enabled) are none
ERRORS: Mapping[str, Mapping[int, str]] = {
    "mini-cheetah": {},
    # by the manual V1.0.8; other firmware is said to count as VESC does (1 over-voltage, 2 under-voltage, 3 gate
    # driver, 4 over-current, 5 driver hot, 6 motor hot: mc_fault_code of vedderb/bldc), and no reply says which it is
    "cubemars": {1: "over-temperature", 2: "over-current", 3: "over-voltage", 4: "under-voltage", 5: "encoder",
                 6: "phase unbalance"},
    "damiao": {8: "over-voltage", 9: "under-voltage", 10: "over-current", 11: "driver too hot", 12: "rotor too hot",
               13: "lost communication", 14: "overload"},
}


@dataclass(frozen=True)
class Target:
    """Target of a drive, at its output: rad, rad/s, N m/rad, N m s/rad, N m."""

    position: float = 0.0
    velocity: float = 0.0
    kp: float = 0.0
    kd: float = 0.0
    torque: float = 0.0


@dataclass(frozen=True)
class State:
    """State that a drive reports: rad, rad/s, N m, °C where it has a sensor, a fault's name or none."""

    id: int
    position: float
    velocity: float
    torque: float
    temperature: float | None = None
    fault: str = ""


def ranges(drive: DriveType, fine: bool = False) -> dict[str, Range]:
    """By field; fine: 16 bits for all, as RobStride has them."""
    narrow = 16 if fine else 12
    return {
        "position": Range(-drive.position, drive.position, 16),
        "velocity": Range(-drive.velocity, drive.velocity, narrow),
        "kp": Range(0.0, drive.kp, narrow),
        "kd": Range(0.0, drive.kd, narrow),
        "torque": Range(-drive.torque, drive.torque, narrow),
    }


def command(drive: DriveType, id: int, target: Target, fd: bool = False) -> Frame:
    """Every field clamped into its range. All ones would be no command: then the position is a step less."""
    scales = ranges(drive)
    counts = {name: scale.encode(getattr(target, name)) for name, scale in scales.items()}
    counts["position"] -= all(counts[name] == scales[name].top for name in ("position", "velocity", "kp"))
    return Frame(id, COMMAND.pack(counts), fd=fd)


def reply(drive: DriveType, data: bytes) -> State:
    """ValueError for data that is no reply of such a drive."""
    counts = REPLIES[drive.family].unpack(data)
    scales = ranges(drive)
    error = counts.get("error", 0)
    named = ERRORS[drive.family].get(error, "" if error <= (drive.family == "damiao") else f"error {error}")
    position, velocity, torque = (scales[n].decode(counts[n]) for n in ("position", "velocity", "torque"))
    warmth = counts.get("temperature")
    if warmth is not None and drive.family == "cubemars":
        warmth -= COLDEST
    return State(counts["id"], position, velocity, torque, warmth, named)


def answer(drive: DriveType, id: int, state: State, **beside: int) -> bytes:
    """The other way round, as a drive packs it; `beside`: counts of fields that are not of the state."""
    scales, layout = ranges(drive), REPLIES[drive.family]
    counts = {f.name: beside.get(f.name, 0) for f in layout.fields}
    counts |= {n: scales[n].encode(getattr(state, n)) for n in ("position", "velocity", "torque")}
    counts["id"] = id & (1 << layout.fields[1 if drive.family == "damiao" else 0].bits) - 1
    return layout.pack(counts)
