"""Feetech's STS3215, in its PWM mode: registers as LeRobot has them (src/lerobot/motors/feetech/tables.py), values as a
servo comes (Feetech's memory table as ROAR-QUTRC and python-st3215 give it; LeRobot says 250 for the return delay).
Its packets are in C (sts_packets.c), and its motor (sts_motor.c), with the numbers of this module.

Its protections are those of that table: register 19 selects which of them switch the motor off or down (44:
temperature, current, overload); a duty of 80 % (36) for 2 s (35) leaves 20 % (34); 500 x 6.5 mA (28) for 2 s (38) and
more than 70 deg C (13) leave nothing; a voltage outside of 14 and 15 is reported only.

Not published, and chosen: it reads its encoder and its registers once a millisecond (the STS3250's sheet says that a
position update takes 1 ms at most); a duty below the least starting force (register 24) turns nothing; a duty of zero
shorts the motor; in PWM mode it has the protections of its position mode; a latched error ends when its motor is
switched off. The backlash of its gear is in the plant (femtorque.hil.plant.backlash).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import cffi

from femtorque.hil.clock import EventClock, Member
from femtorque.hil.drives.families.feetech.maker import MAKER
from femtorque.hil.drives.servo import ServoInC, built

HEADER, BEFORE_IDS = 4, 7  # bytes before what the length counts; before ids, behind a register and a size
SYNC_READ, SYNC_WRITE = 0x82, 0x83
AROUND = 6  # bytes of an answer beside the registers
TURN = 4096
TURNAROUND = MAKER.answers.number  # s in addition to its return delay
MODEL, ID, BAUD, DELAY, LEAST, MOST, HOTTEST, HIGHEST, LOWEST, TORQUE = 3, 5, 6, 7, 9, 11, 13, 14, 15, 16
SWITCH, START, CURRENT, FACTOR, OFFSET, MODE, PROTECTIVE, PATIENCE, OVERLOAD, LONGEST = (
    19, 24, 28, 30, 31, 33, 34, 35, 36, 38)
ENABLE, DUTY, LIMIT, LOCK, POSITION, SPEED, LOAD, VOLTAGE, WARMTH, STATUS, AMPERES = (
    40, 44, 48, 55, 56, 58, 60, 62, 63, 65, 69)
STORED, REGISTERS = 40, 87  # registers below the first are stored without power
BY_DUTY, BACKWARDS = 2, 0x400  # value of its mode; bit of a duty
ERRORS = {"voltage": 1, "encoder": 2, "over temperature": 4, "over current": 8, "angle": 16, "overload": 32}
AMPERE, TENTH = 6.5e-3, 0.1  # A, a step of its current; V, of its voltage
# At rest six servos reported 25 to 33 deg C (a published dump of their registers). 1.5 kg at 10 cm warmed one by 15 K
# in 10 min (TheRobotStudio/SO-ARM100, issue 134): at 1.44 N m/A and 2 ohm, 2.1 W. Chosen: 0.5 J/(g K) for its 55 g.
AMBIENT, CAPACITY, PER_WATT = 30.0, 27.5, 7.5  # deg C, J/K, K/W


@cache
def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib) of C."""
    return built(Path(__file__).parent, "STS", globals(), BAD_VOLTAGE=ERRORS["voltage"], OVERLOADED=ERRORS["overload"],
                 TOO_HOT=ERRORS["over temperature"], OVER_CURRENT=ERRORS["over current"])


class Sts3215(ServoInC):
    """volts: nominal. latched: errors that have switched it off."""

    NAME, library = "sts", staticmethod(library)
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
    def id(self) -> int:
        return self.registers[ID]

    @property
    def errors(self) -> int:
        """Reported errors: latched ones, and limits that are exceeded now."""
        self.volts = self.supply()
        return int(self._lib.sts_errors(self.state))

    @property
    def turning(self) -> bool:
        """True if it gives its motor a voltage."""
        return bool(self._lib.sts_share(self.state))

    def twin(self) -> Sts3215:
        """Another servo of its number, as one for 12 V comes, with a supply of its own."""
        return Sts3215(self.clock, self.id, 12.0, 0.0, lambda: 12.0)

    @property
    def hot_code(self) -> int:
        return ERRORS["over temperature"]
