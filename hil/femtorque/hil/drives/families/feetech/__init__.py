"""Virtual Feetech STS servos on one half-duplex bus."""

import math

from femtorque.hil.bus import Framing
from femtorque.hil.drives.families.feetech.servo import OFFSET, TORQUE, TURN, Sts3215
from femtorque.hil.drives.virtual import ServoPlug, VirtualServos

_VOLTS = {"sts3215-7v4": 7.4, "sts3215-12v": 12.0}  # nominal voltage, V: data sheets of C001 and C018


def _made(p: ServoPlug) -> Sts3215:
    """Return a servo with factory and owner's settings, which reports its zero position at the joint's zero."""
    away = (p.setting.zero + p.setting.offset - TURN // 2) * math.tau / TURN
    servo = Sts3215(p.clock, p.number, _VOLTS[p.model], -away, p.supply, p.ohm)
    offset = abs(p.setting.offset) | (0x800 if p.setting.offset < 0 else 0)
    servo.store((OFFSET, offset, 2), (TORQUE, round(1000 * p.setting.limit), 2))
    return servo


FAMILY = VirtualServos(framing=Framing(in_c=Sts3215.framing), make=_made)
