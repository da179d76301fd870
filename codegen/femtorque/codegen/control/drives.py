"""Constants of drives on buses, for ft_config: a row per drive, in the order of joints. Comments at the constants below
give the default values of keys that the mechanism file omits."""

import math
from dataclasses import dataclass, replace

from femtorque.codegen.board import drives, families, used_buses
from femtorque.codegen.control.table import FLOAT, INT32, UINT32, Kind, member
from femtorque.codegen.drive import ALIKE, AT_LEAST, AT_MOST, EQUAL, PLACE, Family, Fitted, Setting, family_of
from femtorque.codegen.mechanism import Drive, Joint, Mechanism

SILENT_S = 5e-3  # time without an answer after which the board reports a drive as silent, s
HALF_TURN = 2**23  # position steps in half a turn of the joint, as the C code counts turns
SILENT_TICKS = 5  # minimum of SILENT_S in ticks
BEATS = 5  # number of missed heartbeats after which the board reports a drive as silent
WATCHDOG_S = 20e-3  # time without a command after which a drive's watchdog stops the drive, s
WATCHDOG_TICKS = 10  # minimum of WATCHDOG_S in ticks


RULES = (EQUAL, ALIKE, PLACE, AT_MOST, AT_LEAST)  # in the order of FT_RULE_
RULE = Kind("uint32_t", lambda number: f"FT_RULE_{RULES[number]}", ("I", "I"))


@dataclass(frozen=True)
class DriveConstants:
    """The row of one drive in ft_drive. Ranges and damping refer to the joint, on the output side of the gear."""

    joint: int = member(UINT32, "its number")
    bus: int = member(UINT32, "its number")
    family: int = member(UINT32, "FT_FAMILY_")
    id: int = member(UINT32, "id of its commands")
    reply: int = member(UINT32, "id of its answers")
    closes: int = member(UINT32, "1: kp and kd are in the drive")
    placed: int = member(UINT32, "1: the joint's turn is known at power-up")
    zero: int = member(INT32, "drive's position at the joint's zero, half steps")
    top: int = member(UINT32, "last number of a position; 0: positions are counts")
    wraps: int = member(INT32, "counts after which positions wrap; 0: never")
    step: float = member(FLOAT, "rad of the joint per position number")
    sign: float = member(FLOAT, "-1: drive and joint have opposite signs")
    gear: float = member(FLOAT, "turns of the drive per turn of the joint")
    turn: int = member(INT32, "a turn of the drive, 2^-24 turn of the joint")
    position: float = member(FLOAT, "rad of the joint: range of the field")
    velocity: float = member(FLOAT, "rad/s")
    torque: float = member(FLOAT, "N m")
    kp: float = member(FLOAT, "N m/rad")
    kd: float = member(FLOAT, "N m s/rad")
    share: float = member(FLOAT, "largest share of a servo's supply, or steps")
    scale: float = member(FLOAT, "a servo's steps of current per N m, or counts of goal per duty")
    damping: float = member(FLOAT, "N m s/rad, while the motors brake")
    settings: int = member(UINT32, "its first row in ft_setting")
    steps: int = member(UINT32, "number of its rows in ft_setting")
    again: int = member(UINT32, "setting that gives its position, or steps")
    forgets: int = member(UINT32, "setting that it forgets without power, or steps")


@dataclass(frozen=True)
class SettingConstants:
    """A row of ft_setting: a register of one drive and the value that it must have."""

    number: int = member(UINT32, "number of the setting in the drive")
    size: int = member(UINT32, "bytes")
    rule: int = member(RULE, "rule for a right value")
    mask: int = member(UINT32, "bits that count")
    value: int = member(UINT32, "right value: bits of a float, or an integer")
    writes: int = member(UINT32, "1: a wrong value is overwritten")


def fitted(joint: Joint, drive: Drive, watchdog: float = 0.0) -> Fitted:
    """Return the data that the check of a drive's settings needs. watchdog: time-out of the drive's watchdog, s.

    A servo's position limits are encoder counts within one turn."""
    own, setting = drive.type, drive.servo
    if setting is None:
        ends = sorted(drive.zero + drive.sign * at * drive.gear for at in (joint.limits.lower, joint.limits.upper))
        known = placed(joint, drive)
        sure = known and max(-ends[0], ends[1]) < math.pi  # the drive then powers up in the turn of its limits
        return Fitted(own, drive.firmware, watchdog, placed=known, closes=drive.pd == "drive",
                      speed=min(joint.limits.velocity * drive.gear, own.velocity),
                      reach=(ends[0], ends[1]) if sure else None)
    turn = family_of(own).places.turn
    ends = [setting.zero + drive.sign * at * drive.gear * turn / math.tau
            for at in (joint.limits.lower, joint.limits.upper)]
    return Fitted(own, drive.firmware, watchdog, setting.offset, setting.limit, max(math.floor(min(ends)), 0),
                  min(math.ceil(max(ends)), turn - 1), loop_gain(joint))


def loop_gain(joint: Joint) -> int:
    """Return the P with which a servo's own loop has the stiffness of the joint's gains; 0 without this loop."""
    drive, motor = joint.drive, joint.motor
    own = drive.type.servo if drive is not None else None
    if drive is None or own is None or motor is None or not own.holds:
        return 0
    own = replace(own, R=motor.R, K=motor.K, gear=motor.gear / drive.gear)
    return max(1, round(joint.gains.ku / own.stiffness(drive.gear)))


def setting_rows(mechanism: Mechanism) -> list[SettingConstants]:
    """Return the rows of all settings, drive by drive. Without settings there is one empty row."""
    rows = []
    for _, joint, drive in drives(mechanism):
        own = fitted(joint, drive, watchdog_s(mechanism))
        for s in settings_of(drive, own):
            (value, mask), r = s.bits(own), s.register
            rows.append(SettingConstants(r.number, r.size, RULES.index(s.rule), mask, value, int(s.writes)))
    return rows or [SettingConstants(0, 0, 0, 0, 0, 0)]


def drive_rows(mechanism: Mechanism) -> list[DriveConstants]:
    """Return one row per drive, in the order of the joints."""
    used, own, rows, settings = list(used_buses(mechanism)), families(mechanism), [], 0
    for i, joint, drive in drives(mechanism):
        rows.append(_row(i, used.index(drive.bus), joint, drive, own, settings))
        settings += rows[-1].steps
    return rows


def silent_ticks(mechanism: Mechanism) -> int:
    """Return the number of ticks without an answer after which the board reports a drive as silent."""
    return max(SILENT_TICKS, math.ceil(SILENT_S * mechanism.control.rate_hz))


def beat_ticks(mechanism: Mechanism) -> int:
    """Return the ticks without a heartbeat after which a drive counts as silent; 0 if no drive sends heartbeats."""
    return math.ceil(BEATS * max((f.beat for f in families(mechanism)), default=0.0) * mechanism.control.rate_hz)


def watchdog_s(mechanism: Mechanism) -> float:
    """Return the time without a command after which a drive's watchdog stops the drive, s."""
    return max(WATCHDOG_S, WATCHDOG_TICKS / mechanism.control.rate_hz)


def placed(joint: Joint, drive: Drive) -> bool:
    """Return True if the joint's position is known at power-up. A drive without power loses its turn count, so the
    limits must leave one turn."""
    return family_of(drive.type).keeps and drive.leaves_one_turn(joint.limits)


def count(drive: Drive) -> float:
    """Return the joint's travel per step of the drive's position reading, rad, signed."""
    places = family_of(drive.type).places
    if places.turn:
        return drive.sign * math.tau / places.turn / drive.gear
    return drive.sign * 2.0 * drive.at_joint.position / places.top


def _zero(drive: Drive, family: Family) -> int:
    """Return the drive's position reading at the joint's zero, half steps."""
    if drive.servo is not None:
        return 2 * drive.servo.zero
    if family.places.turn:
        return round(2.0 * drive.zero * family.places.turn / math.tau)
    return round(drive.zero / drive.type.position * family.places.top)


def _most(drive: Drive) -> float:
    """Return the largest command of a servo, as a fraction of its supply voltage or in steps of its current."""
    own = drive.type.servo
    if drive.servo is None or own is None:
        return 0.0
    return drive.servo.limit * (1 if own.holds else own.steps or 1)


def _scale(joint: Joint) -> float:
    """Return the current setpoint steps per N m at the joint for a servo with current setpoints, and the counts of a
    goal's offset per duty for a servo with its own loop; else 0."""
    own = joint.drive.type.servo if joint.drive is not None else None
    if joint.drive is not None and own is not None and (gain := loop_gain(joint)):
        return family_of(joint.drive.type).places.turn / (math.tau * own.loop.duty * gain)
    if own is None or not own.ampere or joint.motor is None:
        return 0.0
    return 1.0 / (own.ampere * abs(joint.motor.K * joint.motor.gear))


def _row(index: int, bus: int, joint: Joint, drive: Drive, own: list[Family], settings: int) -> DriveConstants:
    kind, family = drive.at_joint, family_of(drive.type)
    own_settings = settings_of(drive, fitted(joint, drive))
    steps = len(own_settings)
    return DriveConstants(
        joint=index, bus=bus, family=own.index(family), id=drive.id,
        reply=drive.reply if drive.reply is not None else 0, closes=int(drive.pd == "drive"),
        placed=int(placed(joint, drive)), zero=_zero(drive, family), top=family.places.top,
        wraps=family.places.turn if family.places.wraps else 0, step=abs(count(drive)), sign=float(drive.sign),
        gear=drive.gear, turn=2 * round(HALF_TURN / drive.gear), position=kind.position, velocity=kind.velocity,
        torque=kind.torque,
        kp=kind.kp, kd=kind.kd, share=_most(drive), scale=_scale(joint),
        damping=min(joint.gains.kv, kind.kd), settings=settings, steps=steps,
        again=next((n for n, s in enumerate(own_settings) if s.rule == PLACE), steps),
        forgets=_forgets(own_settings))


def settings_of(drive: Drive, own: Fitted) -> tuple[Setting, ...]:
    """Return the settings that the board reads from a drive."""
    return tuple(s for s in family_of(drive.type).settings if own.gain or not s.loop)


def _forgets(settings: tuple[Setting, ...]) -> int:
    """Return the index of the setting that shows a power loss."""
    written = [n for n, s in enumerate(settings) if s.writes]
    return next((n for n in written if settings[n].fades), next(iter(written), len(settings)))
