"""Dynamixel X servos on one half-duplex bus, in current mode, PWM mode or position mode.

Servos without a current sensor have no current mode. XL330 and XC330 run in position mode only. In current mode their
bus watchdog latches, but does not stop the motor. ROBOTIS has reproduced this fault with all its servos of that size
(forum.robotis.com, thread 4814, XC330, firmware 51). XL330 and XC330 report the supply current, not the motor current
(e-manual, XC330; Rhoban/bam #14).

The e-manual divides P by 128. Owners measured other divisors from the reported duty: 256 with an XL330 (Rhoban/bam
dynamixel/actuator.py), 141 with an MX-64(2.0) and 147 with an MX-106(2.0) (a fork of bam, by configure_kp_divisor.py).
Menagerie's aloha.xml identified 43 N m/rad at an XM540 with P 800, which is a divisor of 146.

Stall torque and current, no-load speed, gear, model number, current limit and current step are from ROBOTIS' e-manual,
at the voltage of the row. The torque constant at the output is the stall torque divided by the stall current. R is the
voltage divided by the stall current."""

import math
from dataclasses import replace

from femtorque.codegen.drive.families.dynamixel.frames import (
    BITRATES, CURRENT_MODE, ERRORS, FULL, GOAL_DUTY, MODEL, OLDEST, POSITION_MODE, PWM_MODE, TURN, offset, packets,
    wire_out)
from femtorque.codegen.drive.family import (
    AT_LEAST, AT_MOST, HOLDS, DriveType, Errors, Family, Firmware, Fitted, HalfDuplex, Loop, Places, Register, Servo,
    Setting)

PLAY = math.radians(0.25)  # backlash of the output, rad: 15 arcmin of the XM540, from the e-manual
DAMPING = 1e3  # largest damping gain, N m s/rad; the board computes the damping, so any gain is possible
REVERSED, SWITCHED_ON = 1, 8  # bits of the drive mode; with the second bit, a goal switches the motor on
PROTECTED = 0x34  # overload, electrical shock and overheating switch the motor off
WATCHDOG_S = 0.02  # step of the time without a packet after which a servo stops
ROTOR_430 = 0.045 / 353.5**2  # inertia at the XM430-W350's output, kg m^2: mujoco_menagerie robotis_op3/op3.xml
ROTOR_540 = 0.14 / 272.5**2  # inertia at the output of an XM540-W270, kg m^2: mujoco_menagerie aloha/aloha.xml
SUPPLY, LESS = (9.5, 16.0), (6.0, 14.0)  # factory values of registers 34 and 32, V
T330, M330 = (5.5, 14.0), (3.5, 7.0)
DRY = 0.03  # Coulomb friction divided by the stall torque; 0.035 for bam's XL330
SHARED = "rotor: an XM430's; dry friction: an estimate"
MEASURED = "dry friction: an estimate; viscous friction: from the speed without load"


ROTOR_330 = 1.81e-3 / 288.4**2  # inertia at the output of an XL330-M288, kg m^2: bam params/xl330/m1.json
OF_330 = ("keeps its last current when the board dies: its bus watchdog latches and does not stop it (ROBOTIS' forum, "
          "thread 4814); and its current is the supply's, not the motor's")
BAM = "rotor: an XL330-M288's; dry friction: an estimate"


def _loop(divisor: float, usual: int) -> Loop:
    """Return the position loop. LeRobot writes a P of 1500 (koch_follower.py). 144 / 128 is the largest ratio of a
    divisor that was measured and the e-manual's."""
    return Loop(TURN / (math.tau * FULL * divisor), usual, 1500, doubt=144.0 / 128.0 - 1.0)


LOOP, SMALL = _loop(144.0, 800), _loop(256.0, 900)


def _servo(name: str, model: int, volts: float, stall: float, ampere: float, rpm: float, gear: float, rotor: float,
           note: str, step: float = 0.0, steps: int = 0, supply: tuple[float, float] | None = None) -> DriveType:
    """Return a servo. stall N m and ampere A: stall torque and stall current at volts. rpm: no-load speed. step:
    resolution of the current, A, 0 for a servo in PWM mode. steps: the maximum number of steps. The Coulomb friction is
    DRY times the stall torque. The viscous friction is computed from the no-load speed."""
    constant, R, velocity = stall / ampere, volts / ampere, rpm * math.tau / 60.0
    coulomb = DRY * stall
    viscous = max((constant * (volts - constant * velocity) / R - coulomb) / velocity, 0.0)
    servo = Servo(model, volts, R, constant / gear, rotor, gear, viscous, coulomb, step, steps, 5.0, supply, LOOP)
    torque = min(stall, constant * step * steps) if step else stall
    return DriveType(f"dynamixel-{name}", "dynamixel", math.pi, velocity, torque, 0.0, DAMPING, note=note, servo=servo)


def _small(name: str, model: int, volts: float, stall: float, ampere: float, rpm: float, gear: float) -> DriveType:
    """Return an XL330 or XC330."""
    kind = _servo(name, model, volts, stall, ampere, rpm, gear, ROTOR_330, BAM, supply=M330 if volts < 9.0 else T330)
    assert kind.servo is not None
    return replace(kind, servo=replace(kind.servo, loop=SMALL, unsafe=OF_330, logic=3.3 if volts < 9.0 else 5.0))


def _current(fitted: Fitted) -> bool:
    """Return True for a servo in current mode."""
    return bool(_own(fitted).ampere) and not fitted.gain


def _mode(fitted: Fitted) -> int:
    return POSITION_MODE if fitted.gain else CURRENT_MODE if _current(fitted) else PWM_MODE


def _own(fitted: Fitted) -> Servo:
    assert fitted.type.servo is not None
    return fitted.type.servo


def _oldest(fitted: Fitted) -> int:
    return max(int(fitted.firmware or 0), OLDEST)


FAMILY = Family(
    name="dynamixel",
    title="Dynamixel",
    types=(
        _servo("xm430-w350", 1020, 12.0, 4.1, 2.3, 46.0, 353.5, ROTOR_430, MEASURED, 2.69e-3, 1193, SUPPLY),
        _servo("xm430-w210", 1030, 12.0, 3.0, 2.3, 77.0, 212.6, ROTOR_430, MEASURED, 2.69e-3, 1193, SUPPLY),
        _servo("xm540-w270", 1120, 12.0, 10.6, 4.4, 30.0, 272.5, ROTOR_540, MEASURED, 2.69e-3, 2047, SUPPLY),
        _servo("xm540-w150", 1130, 12.0, 7.3, 4.4, 53.0, 152.3, ROTOR_540, MEASURED, 2.69e-3, 2047, SUPPLY),
        _servo("xh430-w350", 1000, 12.0, 3.4, 1.3, 30.0, 353.5, ROTOR_430, SHARED, 2.69e-3, 648, SUPPLY),
        _servo("xl430-w250", 1060, 11.1, 1.4, 1.3, 57.0, 258.5, ROTOR_430, SHARED, supply=LESS),
        _servo("xc430-w150", 1070, 12.0, 1.6, 1.4, 106.0, 159.59, ROTOR_430, SHARED, supply=LESS),
        _servo("xc430-w240", 1080, 12.0, 1.9, 1.4, 70.0, 245.22, ROTOR_430, SHARED, supply=LESS),
        _small("xl330-m077", 1190, 5.0, 0.215, 1.47, 383.0, 77.5),
        _small("xl330-m288", 1200, 5.0, 0.52, 1.47, 103.0, 288.4),
        _small("xc330-m288", 1240, 5.0, 0.93, 1.80, 81.0, 288.35),
        _small("xc330-t288", 1220, 11.1, 0.92, 0.80, 65.0, 288.35),
    ),
    ids=(1, 252),
    places=Places(turn=TURN, wraps=True),
    wire=HalfDuplex("dynamixel", BITRATES, packets, wire_out, "ft_dxl", PLAY),
    settings=(  # order matters: a power loss erases the first written setting; the last answer also goes to the host
        Setting(Register("model", MODEL, "H"), lambda d: _own(d).model),
        Setting(Register("bus watchdog", 98, "B"),
                lambda d: 0 if d.gain else min(math.ceil(d.watchdog / WATCHDOG_S) + 1, 127),
                writes=True, words=lambda d: "set by the board"),
        Setting(Register("status return level", 68, "B"), lambda d: 1, writes=True),  # 1: it answers questions alone
        Setting(Register("drive mode", 10, "B"), lambda d: 0, mask=REVERSED | SWITCHED_ON,
                words=lambda d: "without bits 0 and 3"),
        Setting(Register("shutdown", 63, "B"), lambda d: PROTECTED, mask=PROTECTED,
                words=lambda d: "with bits 2, 4 and 5"),
        Setting(Register("homing offset", 20, "I"), lambda d: d.offset, words=lambda d: str(d.offset),
                shows=lambda bits: str(offset(bits)), key=("offset", offset)),
        Setting(Register("PWM limit", 36, "H"), lambda d: FULL * (1.0 if _own(d).ampere else d.limit)),
        # steps of its current
        Setting(Register("current limit", 38, "H"), lambda d: d.limit * _own(d).steps if _current(d) else None),
        Setting(Register("operating mode", 11, "B"), _mode, writes=True),  # stored
        Setting(Register("goal PWM", GOAL_DUTY, "H"),
                lambda d: FULL * d.limit if d.gain else FULL if _current(d) else None, writes=True),
        # a change of mode sets the gains; a power loss erases them
        Setting(Register("P gain", 84, "H"), lambda d: d.gain, writes=True, fades=True, loop=True),
        Setting(Register("I and D gains", 80, "I"), lambda d: 0, writes=True, loop=True),
        Setting(Register("feed-forward gains", 88, "I"), lambda d: 0, writes=True, loop=True),
        Setting(Register("profile acceleration", 108, "I"), lambda d: 0, writes=True, loop=True),  # no profile
        Setting(Register("profile velocity", 112, "I"), lambda d: 0, writes=True, loop=True),
        Setting(Register("startup configuration", 60, "B"), lambda d: 0, loop=True),  # after a dip the motor is off
        Setting(Register("largest position", 48, "I"), lambda d: d.most, AT_LEAST, loop=True,
                words=lambda d: "no less than the joint's upper end"),
        Setting(Register("least position", 52, "I"), lambda d: d.least, AT_MOST, loop=True,
                words=lambda d: "no more than the joint's lower end"),
        Setting(Register("return delay", 9, "B"), lambda d: 0, writes=True),  # 2 us each before it answers; stored
        Setting(Register("firmware", 6, "B"), _oldest, AT_LEAST, words=lambda d: f"{_oldest(d)} or later", shows=str),
    ),
    errors=Errors(ERRORS, bits=True),
    velocity_known=True,
    torque_known=True,
    firmware=Firmware(r"\d+", "46", int, str, most=255),
    hooks=("wake", "look"),
    parts=("ft_goal.c",),
    notes=("needs none", "in some ticks", "yes",
           "stops after its bus watchdog, set by the board, and the arm falls; " + HOLDS),
)
