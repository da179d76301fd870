"""Drives with the firmware of the mini-cheetah. Ranges: from bgkatz's CAN_com.cpp."""

from femtorque.hil.drives.families.mini_cheetah.drive import MiniCheetah
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.virtual import Virtual

FAMILY = Virtual(ranges=lambda model: Ranges(12.5, 65.0, 18.0),
                 make=lambda p: MiniCheetah(p.wire, p.number, p.ranges, p.reply or 0))
