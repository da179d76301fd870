"""Feetech's STS3215 in its PWM mode. The servo has the registers of LeRobot's table
(src/lerobot/motors/feetech/tables.py). The values are the factory's, by Feetech's memory table as ROAR-QUTRC and
python-st3215 print it. LeRobot says 250 for the return delay. Packets (sts_packets.c) and motor (sts_motor.c) are in C,
with the numbers of this module.

The protections are from that table. Register 19 selects the protections that act on the motor (44: temperature,
current, overload). A duty of 80 % (36) for 2 s (35) reduces the duty to 20 % (34). A current of 500 x 6.5 mA (28) for
2 s (38) switches the motor off, and so do more than 70 deg C (13). A voltage outside of registers 14 and 15 is only
reported.

Five facts are not published, and are chosen. The servo reads its encoder and its registers once a millisecond (the
STS3250's sheet says that a position update takes 1 ms at most). A duty below the least starting force (register 24)
does not turn the motor. A duty of zero shorts the motor. PWM mode has the protections of position mode. A latched error
ends when the motor is switched off. The backlash of its gear is in the plant (femtorque.hil.plant.backlash).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import cffi

from femtorque.hil.clock import EventClock, Member
from femtorque.hil.drives.families.feetech.maker import MAKER
from femtorque.hil.drives.servo import Servo, built

HEADER, BEFORE_IDS = 4, 7  # bytes before the counted bytes; bytes before the ids
SYNC_READ, SYNC_WRITE = 0x82, 0x83
AROUND = 6  # bytes of an answer around the registers
TURN = 4096
TURNAROUND = MAKER.answers.number  # s in addition to its return delay
MODEL, ID, BAUD, DELAY, LEAST, MOST, HOTTEST, HIGHEST, LOWEST, TORQUE = 3, 5, 6, 7, 9, 11, 13, 14, 15, 16
SWITCH, START, CURRENT, FACTOR, OFFSET, MODE, PROTECTIVE, PATIENCE, OVERLOAD, LONGEST = (
    19, 24, 28, 30, 31, 33, 34, 35, 36, 38)
ENABLE, DUTY, LIMIT, LOCK, POSITION, SPEED, LOAD, VOLTAGE, WARMTH, STATUS, AMPERES = (
    40, 44, 48, 55, 56, 58, 60, 62, 63, 65, 69)
STORED, REGISTERS = 40, 87  # STORED: registers with lower numbers keep their values without power
BY_DUTY, BACKWARDS = 2, 0x400  # value of the register MODE; sign bit of a duty
ERRORS = {"voltage": 1, "encoder": 2, "over temperature": 4, "over current": 8, "angle": 16, "overload": 32}
AMPERE, TENTH = 6.5e-3, 0.1  # step of the current, A; step of the voltage, V
# At rest six servos reported 25 to 33 deg C (a published dump of their registers). 1.5 kg at 10 cm warmed a servo by 15
# K in 10 min (TheRobotStudio/SO-ARM100, issue 134): at 1.44 N m/A and 2 ohm, 2.1 W. Chosen: 0.5 J/(g K) for its 55 g.
AMBIENT, CAPACITY, PER_WATT = 30.0, 27.5, 7.5  # deg C, J/K, K/W


@cache
def library() -> tuple[cffi.FFI, Any]:
    """Return (ffi, lib) of the C."""
    return built(Path(__file__).parent, "STS", globals(), BAD_VOLTAGE=ERRORS["voltage"], OVERLOADED=ERRORS["overload"],
                 TOO_HOT=ERRORS["over temperature"], OVER_CURRENT=ERRORS["over current"])


class Sts3215(Servo):
    """An STS3215. volts: nominal supply, V. latched: errors that have switched the motor off."""

    NAME, ID, library = "sts", ID, staticmethod(library)
    hot_code = ERRORS["over temperature"]
    least_supply = 4.0  # V: of its sheet
    latched = Member(int)

    def __init__(self, clock: EventClock, number: int, volts: float, centre: float, supply: Callable[[], float],
                 ohm: float = 2.0) -> None:
        super().__init__(clock, number, supply, ohm, centre)
        self.temperature = AMBIENT
        self.store((0, 3, 1), (1, 10, 1), (MODEL, 777, 2), (ID, number, 1), (DELAY, 250, 1), (8, 1, 1), (MOST, 4095, 2),
                   (HOTTEST, 70, 1), (HIGHEST, round(volts * 12), 1), (LOWEST, 40, 1), (TORQUE, 1000, 2),
                   (SWITCH, 44, 1), (START, 16, 2), (CURRENT, 500, 2), (FACTOR, 1, 1),
                   (MODE, int(MAKER.mode.number), 1), (PROTECTIVE, 20, 1), (PATIENCE, 200, 1), (OVERLOAD, 80, 1),
                   (LONGEST, 200, 1))
        self.power_up(centre)

    @property
    def errors(self) -> int:
        """Reported errors: the latched errors, and errors for presently exceeded limits."""
        self.volts = self.supply()
        return int(self._lib.sts_errors(self.state))

    @property
    def turning(self) -> bool:
        """True if the servo gives its motor a voltage."""
        return bool(self._lib.sts_share(self.state))

    def twin(self) -> Sts3215:
        """Return another servo for 12 V with this number, the factory settings and another supply."""
        return Sts3215(self.clock, self.id, 12.0, 0.0, lambda: 12.0)
