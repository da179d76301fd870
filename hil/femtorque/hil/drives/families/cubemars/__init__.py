"""CubeMars AK drives in MIT mode. Ranges: manual V1.0.8."""

from femtorque.hil.drives.families.cubemars.drive import CubeMars
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.virtual import Virtual

_RANGES = {"ak10-9": (50, 65), "ak60-6": (45, 15), "ak70-10": (50, 25), "ak80-6": (76, 12), "ak80-9": (50, 18),
           "ak80-64": (8, 144), "ak80-8": (37.5, 32), "ak45-36": (6, 34), "ak45-10": (20, 8),
           "ak40-10": (45.5, 5)}  # ranges: rad/s, N m
FAMILY = Virtual(ranges=lambda model: Ranges(12.5, *_RANGES[model]),
                 make=lambda p: CubeMars(p.wire, p.number, p.ranges, p.number if p.reply is None else p.reply))
