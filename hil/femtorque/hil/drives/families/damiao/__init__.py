"""Damiao's drives, with the ranges of openarm_can, dm_motor_constants.hpp, and damiao-motor 1.0.6 (core/motor.py)."""

from femtorque.hil.drives.families.damiao.drive import Damiao
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.virtual import Virtual

_RANGES = {  # ranges: rad, rad/s, N m
    "3507": (12.566, 50, 5), "4310": (12.5, 30, 10), "4310-48v": (12.5, 50, 10), "4340": (12.5, 10, 28),
    "4340-48v": (12.5, 10, 28), "6006": (12.5, 45, 20), "8006": (12.5, 45, 40), "8009": (12.5, 45, 54),
    "10010l": (12.5, 25, 200), "10010": (12.5, 20, 200), "h3510": (12.5, 280, 1), "g6215": (12.5, 45, 10),
    "g6220": (12.5, 45, 10)}
FAMILY = Virtual(
    ranges=lambda model: Ranges(*_RANGES[model]),
    make=lambda p: Damiao(p.wire, p.number, p.reply if p.reply is not None else p.number | 0x10, p.ranges,
                          bitrate=p.bitrate, data_bitrate=p.data_bitrate))
