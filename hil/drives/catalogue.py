"""What the drives are set to when they come, by the names that mechanism files have for them.

Damiao: openarm_can, dm_motor_constants.hpp, which damiao-motor 1.0.6 confirms (core/motor.py, _MOTOR_LIMIT_PARAM).
CubeMars: manual V1.0.8. RobStride: LeRobot's and kscalelabs' tables. The mini-cheetah: bgkatz's CAN_com.cpp.
"""

from __future__ import annotations

from femtorque.hil.bus.wire import Wire
from femtorque.hil.drives.damiao import Damiao
from femtorque.hil.drives.drive import Drive
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.mini_cheetah import CubeMars, MiniCheetah
from femtorque.hil.drives.robstride import RobStride

_DAMIAO = {  # rad, rad/s, N m
    "3507": (12.566, 50, 5), "4310": (12.5, 30, 10), "4310-48v": (12.5, 50, 10), "4340": (12.5, 10, 28),
    "4340-48v": (12.5, 10, 28), "6006": (12.5, 45, 20), "8006": (12.5, 45, 40), "8009": (12.5, 45, 54),
    "10010l": (12.5, 25, 200), "10010": (12.5, 20, 200), "h3510": (12.5, 280, 1), "g6215": (12.5, 45, 10),
    "g6220": (12.5, 45, 10)}
_CUBEMARS = {"ak10-9": (50, 65), "ak60-6": (45, 15), "ak70-10": (50, 25), "ak80-6": (76, 12), "ak80-9": (50, 18),
             "ak80-64": (8, 144), "ak80-8": (37.5, 32), "ak45-36": (6, 34), "ak45-10": (20, 8), "ak40-10": (45.5, 5)}
_ROBSTRIDE = {"00": (33, 14, 500, 5), "01": (44, 17, 500, 5), "02": (44, 17, 500, 5), "03": (20, 60, 5000, 100),
              "04": (15, 120, 5000, 100), "05": (50, 5.5, 500, 5), "06": (50, 36, 5000, 100)}


def ranges(name: str) -> Ranges:
    """As the drive comes."""
    family, _, model = name.partition("-")
    if family == "damiao":
        return Ranges(*_DAMIAO[model])
    if family == "cubemars":
        return Ranges(12.5, *_CUBEMARS[model])
    if family == "robstride":
        velocity, torque, kp, kd = _ROBSTRIDE[model]
        return Ranges(12.57, velocity, torque, kp, kd)
    return Ranges(12.5, 65.0, 18.0)


def make(name: str, wire: Wire, number: int, reply: int | None, own: Ranges, bitrate: float,
         data_bitrate: float | None) -> Drive:
    """A drive on a wire. reply: identifier of what it sends, where it has one of its own. own: as it is set."""
    family = name.partition("-")[0]
    if family == "damiao":
        return Damiao(wire, number, reply if reply is not None else number | 0x10, own, bitrate=bitrate,
                      data_bitrate=data_bitrate)
    if family == "robstride":
        return RobStride(wire, number, own)
    if family == "cubemars":
        return CubeMars(wire, number, own, number if reply is None else reply)
    return MiniCheetah(wire, number, own, reply or 0)
