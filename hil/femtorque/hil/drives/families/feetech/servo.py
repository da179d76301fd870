"""Feetech's STS3215 in its PWM mode and its position mode. The servo has the registers of LeRobot's table
(src/lerobot/motors/feetech/tables.py). The values are the factory settings, from Feetech's memory table as ROAR-QUTRC
and python-st3215 print it. LeRobot states 250 for the return delay. The packets (sts_packets.c) and the motor
(sts_motor.c) are in C. This C uses the constants of this module.

The protections are from that table. Register 19 selects the protections that switch the motor off (44: temperature,
current, overload). If the duty is 80 % (36) for 2 s (35), the servo reduces the duty to 20 % (34). The motor is
switched off by a current of 500 x 6.5 mA (28) for 2 s (38), or by more than 70 deg C (13). If the voltage is outside of
the limits in registers 14 and 15, the servo reports an error and has no other reaction.

Position mode has the law of K-Scale's oscilloscope table (kscalelabs/sysid, feetech/sts3215-12v/README.md: P 32, I and
D 0). A line through its points is a duty of 0.25 permille per count and unit of P, and 9.5 permille in the direction of
the error. A goal speed of 0 stops the servo (lerobot issue 2188). The model has no D, no I and no acceleration profile,
because their units are not published.

Five parameters are not published; their values are chosen. The servo reads its encoder and its registers once a
millisecond (according to the STS3250's data sheet a position update takes 1 ms at most). If the duty is below the
minimum starting force (register 24), the motor does not turn. A duty of zero shorts the motor terminals. PWM mode has
the protections of position mode. A latched error is cleared when the motor is switched off. The plant models the
backlash of the servo's gear (femtorque.hil.plant.backlash).
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

HEADER, BEFORE_IDS = 4, 7  # number of bytes before the counted bytes; number of bytes before the ids
SYNC_READ, SYNC_WRITE = 0x82, 0x83
AROUND = 6  # bytes of an answer in addition to the registers
TURN = 4096
TURNAROUND = MAKER.answers.number  # time in addition to its return delay, s
MODEL, ID, BAUD, DELAY, LEAST, MOST, HOTTEST, HIGHEST, LOWEST, TORQUE = 3, 5, 6, 7, 9, 11, 13, 14, 15, 16
SWITCH, START, CURRENT, FACTOR, OFFSET, MODE, PROTECTIVE, PATIENCE, OVERLOAD, LONGEST = (
    19, 24, 28, 30, 31, 33, 34, 35, 36, 38)
ENABLE, GOAL, DUTY, PACE, LIMIT, LOCK, POSITION, SPEED, LOAD, VOLTAGE, WARMTH, STATUS, AMPERES = (
    40, 42, 44, 46, 48, 55, 56, 58, 60, 62, 63, 65, 69)
STORED, REGISTERS = 40, 87  # STORED: registers with lower numbers keep their values when the power is off
P, D = 21, 22
BY_POSITION, BY_DUTY, BACKWARDS = 0, 2, 0x400  # values of the register MODE; sign bit of a duty
PER_COUNT, DRAG = 0.25, 9.5  # permille of duty per count and unit of P, and in the direction of the error
ERRORS = {"voltage": 1, "encoder": 2, "over temperature": 4, "over current": 8, "angle": 16, "overload": 32}
AMPERE, TENTH = 6.5e-3, 0.1  # step of the current, A; step of the voltage, V
# At rest six servos reported 25 to 33 deg C (a published dump of their registers). Lifting 1.5 kg at 10 cm warmed a
# servo by 15 K in 10 min (TheRobotStudio/SO-ARM100, issue 134): at 1.44 N m/A and 2 ohm, 2.1 W. Chosen: 0.5 J/(g K) for
# the servo's 55 g.
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
    least_supply = 4.0  # lowest supply of the data sheet, V
    latched = Member(int)

    def __init__(self, clock: EventClock, number: int, volts: float, centre: float, supply: Callable[[], float],
                 ohm: float = 2.0) -> None:
        super().__init__(clock, number, supply, ohm, centre)
        self.temperature = AMBIENT
        self.store((0, 3, 1), (1, 10, 1), (MODEL, 777, 2), (ID, number, 1), (DELAY, 250, 1), (8, 1, 1), (P, 32, 1),
                   (D, 32, 1), (MOST, 4095, 2), (HOTTEST, 70, 1), (HIGHEST, round(volts * 12), 1), (LOWEST, 40, 1),
                   (TORQUE, 1000, 2), (SWITCH, 44, 1), (START, 16, 2), (CURRENT, 500, 2), (FACTOR, 1, 1),
                   (MODE, int(MAKER.mode.number), 1), (PROTECTIVE, 20, 1), (PATIENCE, 200, 1), (OVERLOAD, 80, 1),
                   (LONGEST, 200, 1))
        self.power_up(centre)

    @property
    def errors(self) -> int:
        """Reported errors: the latched errors, and the errors for limits that are exceeded now."""
        self.volts = self.supply()
        return int(self._lib.sts_errors(self.state))

    @property
    def turning(self) -> bool:
        """True if the servo applies a voltage to its motor."""
        return bool(self._lib.sts_share(self.state))

    def twin(self) -> Sts3215:
        """Return another servo for 12 V with this number, the factory settings and another supply."""
        return Sts3215(self.clock, self.id, 12.0, 0.0, lambda: 12.0)
