"""Dynamixel X servos on one half-duplex bus, in current mode, or in PWM mode if they have no current sensor.

The list omits XL330 and XC330. In current mode the bus watchdog of these servos latches, but does not stop the motor.
ROBOTIS has reproduced this fault with all its servos of that size (forum.robotis.com, thread 4814, XC330, firmware 51).
XL330 and XC330 report the supply current, not the motor current (Rhoban/bam #14).

Stall torque and current, no-load speed, gear, model number, current limit and current step are from ROBOTIS' e-manual,
at the voltage of the row. The torque constant at the output is the stall torque divided by the stall current. R is the
voltage divided by the stall current."""

import math

from femtorque.codegen.drive.families.dynamixel.frames import (
    BITRATES, CURRENT_MODE, ERRORS, FULL, GOAL_DUTY, MODEL, OLDEST, PWM_MODE, TURN, offset, packets, wire_out)
from femtorque.codegen.drive.family import (
    AT_LEAST, DriveType, Errors, Family, Firmware, Fitted, HalfDuplex, Places, Register, Servo, Setting)

PLAY = math.radians(0.25)  # backlash of the output, rad: 15 arcmin of the XM540, from the e-manual
DAMPING = 1e3  # largest damping gain, N m s/rad; the board computes the damping, so any gain is possible
REVERSED, SWITCHED_ON = 1, 8  # bits of the drive mode; with the second bit, a goal switches the motor on
PROTECTED = 0x34  # overload, electrical shock and overheating switch the motor off
WATCHDOG_S = 0.02  # step of the time without a packet after which a servo stops
ROTOR_430 = 0.045 / 353.5**2  # inertia at the XM430-W350's output, kg m^2: mujoco_menagerie robotis_op3/op3.xml
ROTOR_540 = 0.14 / 272.5**2  # inertia at the output of an XM540-W270, kg m^2: mujoco_menagerie aloha/aloha.xml
SUPPLY, LESS = (9.5, 16.0), (6.0, 14.0)  # factory values of registers 34 and 32, V: e-manual
DRY = 0.03  # Coulomb friction divided by the stall torque; 0.035 for bam's XL330
SHARED = "rotor: an XM430's; dry friction: an estimate"
MEASURED = "dry friction: an estimate; viscous friction: from the speed without load"


OF_330 = ("keeps its last current when the board dies: its bus watchdog latches and does not stop it (ROBOTIS' forum, "
          "thread 4814); and its current is the supply's, not the motor's")


def _servo(name: str, model: int, volts: float, stall: float, ampere: float, rpm: float, gear: float, rotor: float,
           note: str, step: float = 0.0, steps: int = 0, supply: tuple[float, float] | None = None) -> DriveType:
    """Return a servo. stall N m and ampere A: stall torque and stall current at volts. rpm: no-load speed. step:
    resolution of the current, A. steps: the maximum number of steps. The Coulomb friction is DRY times the stall
    torque. The viscous friction is computed from the no-load speed."""
    constant, R, velocity = stall / ampere, volts / ampere, rpm * math.tau / 60.0
    coulomb = DRY * stall
    viscous = max((constant * (volts - constant * velocity) / R - coulomb) / velocity, 0.0)
    servo = Servo(model, volts, R, constant / gear, rotor, gear, viscous, coulomb, step, steps, 5.0, supply)
    torque = min(stall, constant * step * steps) if step else stall
    return DriveType(f"dynamixel-{name}", "dynamixel", math.pi, velocity, torque, 0.0, DAMPING, note=note, servo=servo)


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
    ),
    left_out={"dynamixel-xl330": OF_330, "dynamixel-xc330": OF_330},
    ids=(1, 252),
    places=Places(turn=TURN, wraps=True),
    wire=HalfDuplex("dynamixel", BITRATES, packets, wire_out, "ft_dxl", PLAY),
    settings=(  # order matters: a power loss erases the first setting; the last answer also goes to the host
        Setting(Register("model", MODEL, "H"), lambda d: _own(d).model),
        Setting(Register("bus watchdog", 98, "B"), lambda d: min(math.ceil(d.watchdog / WATCHDOG_S) + 1, 127),
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
        Setting(Register("current limit", 38, "H"), lambda d: d.limit * _own(d).steps if _own(d).ampere else None),
        # 0 for currents, 16 for duties; stored
        Setting(Register("operating mode", 11, "B"), lambda d: CURRENT_MODE if _own(d).ampere else PWM_MODE,
                writes=True),
        Setting(Register("goal PWM", GOAL_DUTY, "H"), lambda d: FULL if _own(d).ampere else None, writes=True),
        Setting(Register("return delay", 9, "B"), lambda d: 0, writes=True),  # 2 us each before it answers; stored
        Setting(Register("firmware", 6, "B"), _oldest, AT_LEAST, words=lambda d: f"{_oldest(d)} or later", shows=str),
    ),
    errors=Errors(ERRORS, bits=True),
    velocity_known=True,
    torque_known=True,
    firmware=Firmware(r"\d+", "46", int, str, most=255),
    hooks=("wake", "look"),
)
