"""moteus controllers with motors, configured by calibration, servo.pid_position and limits. The range of velocity is
that of int16 in docs/protocol/registers.md, and gains are the firmware's defaults (fw/bldc_servo_structs.h). The
torque, for a motor with a gear, is chosen."""

import math

from femtorque.hil.drives.families.moteus.drive import Moteus
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.virtual import Virtual

FAMILY = Virtual(
    ranges=lambda model: Ranges(100.0, 51.4, 4.0 if model == "c1" else 20.0, 4.0 / math.tau, 0.05 / math.tau),
    make=lambda p: Moteus(p.wire, p.number, p.ranges, p.bitrate, p.data_bitrate))
