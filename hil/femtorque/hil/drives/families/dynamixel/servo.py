"""ROBOTIS' Dynamixel X: protocol 2.0, control table and rules of the e-manual (github.com/ROBOTIS-GIT/emanual,
docs/en/dxl/protocol2.md, docs/en/dxl/x/*.md, _includes/en/dxl/control_table_*.md). The answer to a fast sync read
follows pull request 122 of pollen-robotics/rustypot. The answer to a fast sync read has no stuffed bytes. The bytes of
each servo end with the CRC of all bytes before. The packets (dxl_packets.c) and the motor (dxl_motor.c) are in C. This
C uses the constants of this module.

Seven parameters are not published; their values are chosen. The servo reads its encoder and its goals once a
millisecond. The measured current lags behind by half a millisecond. When the watchdog expires, the servo sets the
current or the duty to zero. A duty of zero shorts the motor terminals. The servo is overloaded after 2 s at 0.9 of its
stall current. The thermal model of the servo uses 0.5 J/(g K) and 7.5 K/W. A servo that is switched on in position mode
holds its present position. Reg write, bulk read and indirect addresses are not modelled. The servo answers these
packets with instruction errors and access errors. Profiles, feed-forward gains and the PWM slope of XL330 and XC330 are
also not modelled. In position mode (3) with an I or D gain, the motor floats in this model.

The loop divides a P gain by 128 (e-manual). In this model the result is in steps of duty per count, which the e-manual
does not state. With these values an XM540 has 49 N m/rad at 12 V. Menagerie's aloha.xml has 43 N m/rad at ALOHA's
waist, found by identification. For an XL330, Rhoban/bam measured a divisor of 256 (bam/dynamixel/actuator.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cffi

from femtorque.hil.clock import EventClock, Member
from femtorque.hil.drives.families.dynamixel.maker import MAKER
from femtorque.hil.drives.servo import Servo, built

PING, READ, WRITE, REBOOT, STATUS, SYNC_READ, SYNC_WRITE, FAST_SYNC_READ = 1, 2, 3, 8, 0x55, 0x82, 0x83, 0x8A
EVERYBODY = 0xFE
INSTRUCTION_ERROR, RANGE_ERROR, LENGTH_ERROR, LIMIT_ERROR, ACCESS_ERROR, ALERT = 2, 4, 5, 6, 7, 0x80
MODEL, FIRMWARE, ID, BAUD, DELAY, DRIVE_MODE, MODE, HOMING, HOTTEST, HIGHEST, LOWEST, PWM_LIMIT, CURRENT_LIMIT = (
    0, 6, 7, 8, 9, 10, 11, 20, 31, 32, 34, 36, 38)
MOST, LEAST, D_GAIN, I_GAIN = 48, 52, 80, 82
SHUTDOWN, ENABLE, LEVEL, HARDWARE, P_GAIN, WATCHDOG, GOAL_PWM, GOAL_CURRENT, GOAL_VELOCITY, GOAL_POSITION = (
    63, 64, 68, 70, 84, 98, 100, 102, 104, 116)
TICK, PWM, CURRENT, VELOCITY, POSITION, VOLTAGE, WARMTH = 120, 124, 126, 128, 132, 144, 146
STORED, REGISTERS = 64, 148  # registers below STORED keep their values when the power is off
FIRST_FAST = 45  # first firmware version that answers FAST_SYNC_READ
RATES = (9_600, 57_600, 115_200, 1_000_000, 2_000_000, 3_000_000, 4_000_000, 4_500_000)
ERRORS = {"voltage": 1, "over temperature": 4, "encoder": 8, "electrical shock": 16, "overload": 32}
BY_CURRENT, BY_POSITION, BY_DUTY = 0, 3, 16  # modes
TURN, FULL, RPM = 4096, 885, 0.229  # resolutions of a turn (counts), of the duty, and of the velocity
EXPIRED, LONGEST_WATCH, UNIT = 255, 127, 0.02  # watchdog register: value after expiry, maximum setting, s per step
TURNAROUND, GAP = MAKER.answers.number, 3e-6  # addition to the return delay, s; pause between parts of one answer, s
LAG, ELECTRICAL = 0.5e-3, 1e-3  # time constants, s: of the measured current, and L/R of the motor
OVERLOADED, PATIENCE = 0.9, 2.0  # of the stall current; s
BOOT = MAKER.boot.number  # s
AMBIENT, PER_WATT, PER_GRAM = 25.0, 7.5, 0.5  # deg C, K/W, J/(g K)
SMOOTH = 5e-3  # time over which the servo averages its velocity, s


@dataclass(frozen=True)
class Model:
    """Parameters of a model. volts: recommended supply, V; stall N m and ampere A at this supply. highest, lowest:
    factory limits of the supply, 0.1 V. step: step of the measured current, A, 0 without a sensor; most: the maximum
    number of steps. p_gain, d_gain: factory gains. divisor: counts per step of duty, at a P gain of 1."""

    number: int  # value of register 0
    volts: float
    stall: float
    ampere: float
    step: float
    most: int
    grams: float  # mass of the servo
    highest: int
    lowest: int
    hottest: int = 80  # highest temperature, deg C
    shutdown: int = 52
    p_gain: int = 800
    d_gain: int = 0
    divisor: float = 128.0


MODELS = {
    "xm430-w350": Model(1020, 12.0, 4.1, 2.3, 2.69e-3, 1193, 82.0, 160, 95),
    "xm430-w210": Model(1030, 12.0, 3.0, 2.3, 2.69e-3, 1193, 82.0, 160, 95),
    "xm540-w270": Model(1120, 12.0, 10.6, 4.4, 2.69e-3, 2047, 165.0, 160, 95),
    "xm540-w150": Model(1130, 12.0, 7.3, 4.4, 2.69e-3, 2047, 165.0, 160, 95),
    "xh430-w350": Model(1000, 12.0, 3.4, 1.3, 2.69e-3, 648, 82.0, 160, 95),
    "xl430-w250": Model(1060, 11.1, 1.4, 1.3, 0.0, 0, 57.0, 140, 60, 72, p_gain=640, d_gain=4000),
    "xc430-w150": Model(1070, 12.0, 1.6, 1.4, 0.0, 0, 65.0, 140, 60, p_gain=460),
    "xc430-w240": Model(1080, 12.0, 1.9, 1.4, 0.0, 0, 65.0, 140, 60, p_gain=700),
    # the current of these servos is the supply's; the model reports a load in its place
    "xl330-m077": Model(1190, 5.0, 0.215, 1.47, 0.0, 0, 18.0, 70, 35, 70, 53, 400, divisor=256.0),
    "xl330-m288": Model(1200, 5.0, 0.52, 1.47, 0.0, 0, 18.0, 70, 35, 70, 53, 400, divisor=256.0),
    "xc330-m288": Model(1240, 5.0, 0.93, 1.80, 0.0, 0, 23.0, 70, 35, 70, 52, 1100, 500, 256.0),
    "xc330-t288": Model(1220, 11.1, 0.92, 0.80, 0.0, 0, 23.0, 140, 55, 70, 52, 900, divisor=256.0),
}


@cache
def library() -> tuple[cffi.FFI, Any]:
    """Return (ffi, lib) of the C."""
    return built(Path(__file__).parent, "DXL", globals(), BAD_VOLTAGE=ERRORS["voltage"], OVERLOAD=ERRORS["overload"],
                 TOO_HOT=ERRORS["over temperature"])


class Dynamixel(Servo):
    """A Dynamixel X servo. bitrate: its setting, and the bit rate of its bus. ready: time from which the servo is on
    the bus, s. angle, current, seen: angle of the output, rad, current, A, and reported velocity, rad/s."""

    NAME, ID, library = "dxl", ID, staticmethod(library)
    hot_code = ERRORS["over temperature"]
    angle, current, seen, ready = Member(float), Member(float), Member(float), Member(float)

    def __init__(self, clock: EventClock, number: int, model: Model, bitrate: float, centre: float,
                 supply: Callable[[], float], ohm: float = 5.0) -> None:
        super().__init__(clock, number, supply, ohm, centre)
        self.model, self.bitrate = model, bitrate
        self.least_supply = 0.06 * model.lowest  # lowest supply, V: chosen as 0.6 of the factory's minimum voltage
        self.temperature, self.state.rate = AMBIENT, RATES.index(int(bitrate))
        for name in ("step", "ampere", "grams", "most", "p_gain", "d_gain", "divisor"):
            setattr(self.state, name, getattr(model, name))
        self.store((MODEL, model.number, 2), (FIRMWARE, 47, 1), (ID, number, 1), (BAUD, self.state.rate, 1),
                   (DELAY, 250, 1), (MODE, int(MAKER.mode.number), 1), (12, 255, 1), (13, 2, 1),
                   (HOTTEST, model.hottest, 1), (HIGHEST, model.highest, 2), (LOWEST, model.lowest, 2), (PWM_LIMIT,
                   FULL, 2), (CURRENT_LIMIT, model.most, 2), (SHUTDOWN, model.shutdown, 1), (MOST, TURN - 1, 4))
        self.power_up(centre)

    @property
    def turning(self) -> bool:
        """True if the servo applies a voltage to its motor."""
        return self.driving and self.driven == self.state.at

    def twin(self) -> Dynamixel:
        """Return another servo with this number and the factory settings."""
        return Dynamixel(self.clock, self.id, self.model, self.bitrate, 0.0, lambda: self.model.volts)
