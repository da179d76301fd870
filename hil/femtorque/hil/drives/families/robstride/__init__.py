"""RobStride's drives. Ranges: from the tables of LeRobot and kscalelabs."""

from femtorque.hil.drives.families.robstride.drive import RobStride
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.virtual import Virtual

_RANGES = {"00": (33, 14, 500, 5), "01": (44, 17, 500, 5), "02": (44, 17, 500, 5), "03": (20, 60, 5000, 100),
           "04": (15, 120, 5000, 100), "05": (50, 5.5, 500, 5), "06": (50, 36, 5000, 100)}  # ranges: rad/s, N m, kp, kd
FAMILY = Virtual(ranges=lambda model: Ranges(12.57, *_RANGES[model]),
                 make=lambda p: RobStride(p.wire, p.number, p.ranges))
