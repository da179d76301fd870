"""ODrive drives with motors, configured as docs/drives.md recommends. The motor's maximum torque is chosen."""

from femtorque.hil.drives.families.odrive_can.drive import ODrive
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.virtual import Virtual

TORQUES = {"s1": 10.0, "pro": 20.0, "micro": 1.0}  # N m

FAMILY = Virtual(ranges=lambda model: Ranges(100.0, 100.0, TORQUES[model], 0.0, 5.0),
                 make=lambda p: ODrive(p.wire, p.number, p.ranges, p.bitrate), prefix="odrive")
