"""Replies of drives in the MIT mode, for each drive family."""

from femtorque.codegen.drive import DriveType, mit
from femtorque.codegen.drive.fields import Field, Layout

_STATE = (Field("position", 16), Field("velocity", 12), Field("torque", 12))
REPLIES = {  # openarm_can, dm_motor_control.cpp; AK driver manual, 5.3; bgkatz/motorcontrol, Core/Src/can.c
    "damiao": Layout((Field("error", 4), Field("id", 4), *_STATE, Field("temperature", 8), Field("rotor", 8))),
    "cubemars": Layout((Field("id", 8), *_STATE, Field("temperature", 8), Field("error", 8))),
    "mini-cheetah": Layout((Field("id", 8), *_STATE, Field("supply", 8), Field("unused", 8)))}


def answer(drive: DriveType, id: int, position: float = 0.0, velocity: float = 0.0, torque: float = 0.0,
           **beside: int) -> bytes:
    """Pack a reply. beside: raw values of the other fields, by default 0."""
    layout, scales = REPLIES[drive.family], mit.ranges(drive)
    counts = {f.name: beside.get(f.name, 0) for f in layout.fields}
    counts |= {name: scales[name].encode(value)
               for name, value in (("position", position), ("velocity", velocity), ("torque", torque))}
    counts["id"] = id & (1 << next(f.bits for f in layout.fields if f.name == "id")) - 1
    return layout.pack(counts)
