"""Virtual Dynamixel X servos on one half-duplex bus."""

import math

from femtorque.hil.bus import Framing
from femtorque.hil.drives.families.dynamixel.servo import CURRENT_LIMIT, HOMING, MODELS, PWM_LIMIT, TURN, Dynamixel
from femtorque.hil.drives.virtual import ServoPlug, VirtualServos


def _made(p: ServoPlug) -> Dynamixel:
    """Return a servo with factory and owner's settings, which reports its zero position at the joint's zero."""
    model, offset = MODELS[p.model], p.setting.offset
    away = (p.setting.zero - offset - TURN // 2) * math.tau / TURN
    servo = Dynamixel(p.clock, p.number, model, p.bitrate, -away, p.supply, p.ohm)
    register, full = (CURRENT_LIMIT, model.most) if model.step else (PWM_LIMIT, 885)
    servo.store((HOMING, offset, 4), (register, round(full * p.setting.limit), 2))
    return servo


FAMILY = VirtualServos(framing=Framing(in_c=Dynamixel.framing), make=_made)
