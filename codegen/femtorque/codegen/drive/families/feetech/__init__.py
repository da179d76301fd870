"""Feetech's STS servos on one half-duplex bus, in PWM mode or in position mode.

Sources: Rhoban/bam params/feetech_sts3215_7_4V/m1.json, K-Scale's sysid params/id006-params/m1.json for 12 V, and data
sheets from the maker and from sellers. bam's numbers for 12 V give 75 rpm without load, where the sheet has 45 and a
servo ran at 46 (TheRobotStudio/SO-ARM100 issue 134). K-Scale's give 44. C001 variant:
19.5 kg cm, 52 rpm at 7.4 V. C018 variant: 30 kg cm, 45 rpm at 12 V. The gear of both servos is 1:345."""

import math

from femtorque.codegen.common import square
from femtorque.codegen.drive.families.feetech.frames import (
    BITRATES, ERRORS, FIRMWARE, FULL, OFFSET_SIGN, POSITION_MODE, PWM_MODE, TURN, firmware_text, firmware_word, offset,
    packets, wire_out)
from femtorque.codegen.drive.family import (
    AT_LEAST, AT_MOST, HOLDS, DriveType, Errors, Family, Firmware, HalfDuplex, Loop, Places, Register, Servo, Setting)

STS3215 = 777  # model number, from LeRobot's table
KGF_CM = 0.0980665  # N m
DUTY_STEP = 0.25e-3  # duty per count of error at P = 1: K-Scale's oscilloscope, kscalelabs/sysid feetech/sts3215-12v
LOOP = Loop(DUTY_STEP * TURN / math.tau, 16, 64)  # usual: as LeRobot; 112 made a limit cycle on 1 degree of play
FASTEST = 3400  # goal speed that no STS3215 reaches, counts/s
PLAY = math.radians(1.0)  # backlash of the output of an STS3215, from SO-ARM100 issue 134, rad


def _sts3215(name: str, volts: float, gear: float, kt: float, R: float, armature: float, friction: tuple[float, float],
             rpm: float, stall: float, supply: tuple[float, float] | None = None) -> DriveType:
    """Return an STS3215. kt N m/A, R ohm, armature kg m^2, friction (N m s/rad, N m): at the output, identified with
    model m1. rpm, stall kg cm: no-load speed and stall torque from the data sheet."""
    servo = Servo(STS3215, volts, R, kt / gear, armature / square(gear), gear, *friction, range_v=supply,
                  loop=LOOP)
    return DriveType(f"feetech-sts3215-{name}", "feetech", math.pi, rpm * math.tau / 60.0, stall * KGF_CM, 0.0, 0.0,
                     note="at stall the identified motor gives "
                     f"{kt * volts / R:.1f} N m, the data sheet {stall * KGF_CM:.1f}", servo=servo)


FAMILY = Family(
    name="feetech",
    title="Feetech",
    types=(
        _sts3215("7v4", 7.4, 345.0, 1.2116, 2.6762, 0.028403, (0.059085, 0.052393), 52.0, 19.5),
        _sts3215("12v", 12.0, 345.0, 2.565, 5.269, 0.0262, (0.048, 0.091), 45.0, 30.0,
                 (4.0, 14.0)),  # limits of the supply voltage, V: data sheet in TheRobotStudio/SO-ARM100 issue 134
    ),
    ids=(1, 253),
    places=Places(turn=TURN, wraps=True),
    wire=HalfDuplex("sts", BITRATES, packets, wire_out, "ft_sts", PLAY),
    settings=(  # a power loss after the lock erases settings; the last answer also goes to the host
        Setting(Register("lock", 55, "B"), lambda d: 1, writes=True),
        Setting(Register("model", 3, "H"), lambda d: d.type.servo.model if d.type.servo else None),
        Setting(Register("mode", 33, "B"), lambda d: POSITION_MODE if d.gain else PWM_MODE, writes=True),
        # P and D in one word. The lock keeps the EEPROM unchanged. After a power loss the servo has its stored D
        Setting(Register("P and D", 21, "H"), lambda d: d.gain, writes=True, fades=True, loop=True),
        Setting(Register("I", 23, "B"), lambda d: 0, writes=True, loop=True),
        Setting(Register("acceleration", 41, "B"), lambda d: 0, writes=True, loop=True),  # no profile
        Setting(Register("goal speed", 46, "H"), lambda d: FASTEST, writes=True, loop=True),
        Setting(Register("return delay", 7, "B"), lambda d: 0, writes=True),  # 2 us each before it answers
        Setting(Register("least position", 9, "H"), lambda d: d.least, AT_MOST,
                words=lambda d: "no more than the joint's lower end"),
        Setting(Register("largest position", 11, "H"), lambda d: d.most, AT_LEAST,
                words=lambda d: "no less than the joint's upper end"),
        # 1; more: a count is that many of the encoder's steps
        Setting(Register("angular resolution", 30, "B"), lambda d: 1),
        Setting(Register("position offset", 31, "H"), lambda d: abs(d.offset) | (OFFSET_SIGN if d.offset < 0 else 0),
                words=lambda d: str(d.offset), shows=lambda bits: str(offset(bits)), key=("offset", offset)),
        Setting(Register("torque limit", 48, "H"), lambda d: FULL * d.limit, key=("limit", lambda bits: bits / FULL)),
        Setting(Register("firmware", FIRMWARE, "H"), lambda d: firmware_word(d.firmware) if d.firmware else None,
                words=lambda d: d.firmware, shows=firmware_text),
    ),
    errors=Errors({1 << bit: name for bit, name in enumerate(ERRORS)}, bits=True),
    velocity_known=True,
    torque_known=True,
    alone="Feetech's servos have no time limit: when the board dies they keep their duty until its watchdog has reset "
          "it, when their wire is cut until their own protection lets go, so the e-stop must cut their supply by "
          "a relay (docs/boards.md, Wiring)",
    cut="Feetech's servos have no time limit: the board's output [cutoff] cuts their supply where they do not say "
        "within {within:g} s that they are off, with the e-stop, and while the board is in reset",
    firmware=Firmware(r"\d+\.\d+", "3.10", firmware_word, firmware_text, most=255),
    hooks=("wake", "look"),
    parts=("ft_goal.c",),
    notes=("needs none", "in some ticks", "yes",
           "keeps its last duty for ever, and the arm runs into its stops; " + HOLDS),
)
