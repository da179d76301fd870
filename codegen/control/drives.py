"""Constants of drives on buses, for ft_config: a row a drive, in the order of joints.

Constants without a key in the mechanism file follow from it by a rule stated at each constant below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from femtorque.codegen.board.fieldbus import FAMILIES, drives, used_buses
from femtorque.codegen.control.table import FLOAT, INT32, UINT32, member
from femtorque.codegen.drive.damiao import TIMEOUT_UNIT
from femtorque.codegen.drive.feetech import FULL, OFFSET_SIGN, TURN, firmware_word
from femtorque.codegen.mechanism.description import Drive, Joint, Mechanism

SILENT_S = 5e-3  # without an answer a drive is silent
HALF_TURN = 2**23  # steps of half a turn of a joint, as C counts turns
SILENT_TICKS = 5  # and never fewer ticks than this
WATCHDOG_S = 20e-3  # without a command a drive stops by itself
WATCHDOG_TICKS = 10  # and never fewer ticks than this
FIELD = 65535.0  # steps of a position's field
ROBSTRIDE_UNIT = 1.0 / 20_000.0  # s, of its canTimeout


@dataclass(frozen=True)
class DriveConstants:
    """One drive's row of ft_drive. Ranges and damping are the joint's, behind the gear between the two."""

    joint: int = member(UINT32, "its number")
    bus: int = member(UINT32, "its number")
    family: int = member(UINT32, "FT_FAMILY_")
    id: int = member(UINT32, "of its commands")
    reply: int = member(UINT32, "of what it sends")
    watchdog: int = member(UINT32, "without a command it stops; its units")
    closes: int = member(UINT32, "1: kp and kd are in the drive")
    placed: int = member(UINT32, "1: its position is known at power-up")
    zero: int = member(INT32, "its own position at the joint's zero, half steps")
    sign: float = member(FLOAT, "-1: it turns the other way")
    gear: float = member(FLOAT, "its turns per turn of the joint")
    turn: int = member(INT32, "its own, 2^-24 turn of the joint")
    position: float = member(FLOAT, "rad of the joint: its field's range")
    velocity: float = member(FLOAT, "rad/s")
    torque: float = member(FLOAT, "N m")
    kp: float = member(FLOAT, "N m/rad")
    kd: float = member(FLOAT, "N m s/rad")
    damping: float = member(FLOAT, "N m s/rad, while the motors brake")


@dataclass(frozen=True)
class ServoConstants:
    """A servo's row of ft_servo, beside that of ft_drive; of another drive all zeros."""

    zero: int = member(UINT32, "count at the joint's zero")
    model: int = member(UINT32, "as its register tells it")
    offset: int = member(UINT32, "that it is to have stored")
    least: int = member(UINT32, "its own limits must leave from here")
    most: int = member(UINT32, "to here")
    steps: int = member(UINT32, "0.1 %: its torque limit")
    firmware: int = member(UINT32, "as registers 0 and 1 tell it; 0: any")
    limit: float = member(FLOAT, "the same as steps, of its supply")


@dataclass(frozen=True)
class DamiaoConstants:
    """A Damiao's row of ft_damiao, beside that of ft_drive; of another drive all zeros."""

    firmware: int = member(UINT32, "as its register tells it")
    matters: int = member(UINT32, "bits of it: all, or none where any will do")


def damiao_rows(mechanism: Mechanism) -> list[DamiaoConstants]:
    """One a drive, as drive_rows."""
    return [DamiaoConstants(int(drive.firmware), 0xFFFFFFFF) if drive.type.family == "damiao" and drive.firmware
            else DamiaoConstants(0, 0) for _, _, drive in drives(mechanism)]


def servo_rows(mechanism: Mechanism) -> list[ServoConstants]:
    """One a drive, as drive_rows."""
    return [_servo_row(joint, drive) for _, joint, drive in drives(mechanism)]


def _servo_row(joint: Joint, drive: Drive) -> ServoConstants:
    """Its limits are its own counts, which end where its turn does."""
    setting, servo = drive.servo, drive.type.servo
    if setting is None or servo is None:
        return ServoConstants(0, 0, 0, 0, 0, 0, 0, 0.0)
    ends = [setting.zero + drive.sign * at * drive.gear * TURN / math.tau
            for at in (joint.limits.lower, joint.limits.upper)]
    return ServoConstants(
        zero=setting.zero, model=servo.model,
        offset=abs(setting.offset) | (OFFSET_SIGN if setting.offset < 0 else 0),
        least=max(math.floor(min(ends)), 0), most=min(math.ceil(max(ends)), TURN - 1),
        steps=round(setting.limit * FULL), firmware=firmware_word(drive.firmware), limit=setting.limit)


def drive_rows(mechanism: Mechanism) -> list[DriveConstants]:
    """One a drive, in the order of joints."""
    used = list(used_buses(mechanism))
    return [_row(mechanism, i, used.index(drive.bus), joint, drive) for i, joint, drive in drives(mechanism)]


def silent_ticks(mechanism: Mechanism) -> int:
    """Ticks without an answer until a drive is silent."""
    return max(SILENT_TICKS, math.ceil(SILENT_S * mechanism.control.rate_hz))


def watchdog_s(mechanism: Mechanism) -> float:
    """s without a command after which a drive stops by itself."""
    return max(WATCHDOG_S, WATCHDOG_TICKS / mechanism.control.rate_hz)


def placed(joint: Joint, drive: Drive) -> bool:
    """True if a joint's position is known at power-up. Turns are lost without power: the drive then reads within half a
    turn of its zero."""
    return max(-joint.limits.lower, joint.limits.upper) < drive.half_turn


def count(drive: Drive) -> float:
    """rad of the joint that one step of the drive's position field stands for, signed."""
    if drive.servo is not None:
        return drive.sign * math.tau / TURN / drive.gear
    return drive.sign * 2.0 * drive.at_joint.position / FIELD


def _row(mechanism: Mechanism, index: int, bus: int, joint: Joint, drive: Drive) -> DriveConstants:
    unit = ROBSTRIDE_UNIT if drive.type.family == "robstride" else TIMEOUT_UNIT
    own, kind = drive.type, drive.at_joint
    return DriveConstants(
        joint=index, bus=bus, family=FAMILIES.index(kind.family), id=drive.id,
        reply=drive.reply if drive.reply is not None else 0,
        watchdog=round(watchdog_s(mechanism) / unit),
        closes=int(drive.pd == "drive"),
        placed=int(placed(joint, drive)),
        zero=0 if drive.servo is not None else round(drive.zero / own.position * FIELD),
        sign=float(drive.sign), gear=drive.gear, turn=2 * round(HALF_TURN / drive.gear), position=kind.position,
        velocity=kind.velocity, torque=kind.torque, kp=kind.kp, kd=kind.kd, damping=min(joint.gains.kv, kind.kd))


def family_flags(mechanism: Mechanism) -> dict[str, int]:
    """FT_DRIVE_<family>: whether one of the drives is of it."""
    own = {drive.type.family for _, _, drive in drives(mechanism)}
    return {family.replace("-", "_"): int(family in own) for family in FAMILIES}
