"""Drives on buses in words: how they are, what ails them, which setting is not the file's."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from femtorque.codegen.drive import damiao, feetech, mit, robstride
from femtorque.codegen.mechanism.description import Drive, Joint
from femtorque.codegen.wire import messages
from femtorque.codegen.wire.messages import Drives

BY_MOTION = 0xFFFF  # no drive's own number: FT_DIALECT_VELOCITY
PASSIVE = 127  # errors in receiving beyond which a controller takes itself for the cause (ISO 11898-1)
UNREAD = 0xFFFFFFFF  # a RobStride's parameter that could not be read
KEPT = 11  # of DRIVES, ten of which come in a second: the basis of a rate
_STATE = {number: name.lower() for name, (number, _) in messages.DRIVE_STATES.items()}


def state(report: Drives, joint: int) -> str:
    """State of a joint's drive, from DRIVES."""
    return _STATE.get(report.state[joint], f"state {report.state[joint]}")


def rates(kept: Sequence[Drives], rate_hz: float) -> list[float] | None:
    """States a second that each joint's drive has sent, from the first to the last DRIVES kept; None of fewer than two.
    rate_hz: of the ticks."""
    if len(kept) < 2:
        return None
    first, last = kept[0], kept[-1]
    seconds = (last.tick - first.tick & 0xFFFFFFFF) / rate_hz
    return [(b - a & 0xFFFFFFFF) / seconds for a, b in zip(first.answers, last.answers, strict=True)]


def error(drive: Drive, code: int) -> str:
    """Its own error in words; empty for none."""
    if drive.type.family == "robstride":
        return ", ".join(name for k, name in enumerate(robstride.FAULTS) if code >> k & 1)
    if drive.type.family == "feetech":
        return ", ".join(name for k, name in enumerate(feetech.ERRORS) if code >> k & 1) or (
            f"error {code}" if code else "")
    return mit.ERRORS[drive.type.family].get(code, f"error {code}") if code else ""


def setting(drive: Drive, number: int, bits: int) -> str:
    """Both values of a setting that is not the file's; empty where there is none."""
    if not number:
        return ""
    t = drive.type
    if number == BY_MOTION:
        value = struct.unpack("<f", bits.to_bytes(4, "little"))[0] * drive.gear  # the board reports it at the joint
        return (f"by how it moves, its velocities have a range of about {value:.3g} rad/s, and it must be "
                f"{t.velocity:g}")
    if drive.servo is not None:
        return servo_setting(drive, number, bits)
    if t.family == "robstride":
        found = next(((p.name, p.format) for p in robstride.PARAMETERS.values() if p.index == number), ("", "I"))
        if bits == UNREAD:
            return f"it cannot read its {found[0] or f'setting {number}'}: its firmware may be too old to have it"
        wanted = {"run_mode": "0", "mech_pos": "where its states have it: position range"}.get(found[0], "the file's")
    else:
        found = next(((r.name, r.format) for r in damiao.REGISTERS.values() if r.number == number), ("", "I"))
        wanted = {"PMAX": f"{t.position:g}", "VMAX": f"{t.velocity:g}", "TMAX": f"{t.torque:g}", "CTRL_MODE": "1",
                  "sw_ver": drive.firmware}.get(
            found[0], "the file's")
    name, form = found
    value = struct.unpack("<f", bits.to_bytes(4, "little"))[0] if form == "f" else bits & (0xFF if form == "B" else ~0)
    return f"its {name or f'setting {number}'} is {value:.6g}, and must be {wanted}"


def servo_setting(drive: Drive, number: int, bits: int) -> str:
    """Describe a setting of a servo's register."""
    setting, servo = drive.servo, drive.type.servo
    assert setting is not None and servo is not None
    wanted = {"model": str(servo.model), "lock": "1", "return delay": "0", "mode": str(feetech.PWM_MODE),
              "angular resolution": "1",
              "least position": "no more than the joint's lower end", "position offset": str(setting.offset),
              "largest position": "no less than the joint's upper end",
              "torque limit": f"{feetech.FULL * setting.limit:g}", "firmware": drive.firmware}
    name = next((r.name for r in feetech.REGISTERS.values() if r.number == number), "")
    report = offset(bits) if name == "position offset" else feetech.firmware_text(bits) if name == "firmware" else bits
    return f"its {name or f'register {number}'} is {report}, and must be {wanted.get(name, 'another')}"


def mending(report: Drives, drive: Drive, joint: int) -> dict[str, float]:
    """Keys of the file's `drive` that make a setting the one that the drive has, where that is the owner's to choose:
    a servo's offset and torque limit."""
    names = {r.number: r.name for r in feetech.REGISTERS.values()}
    name, bits = names.get(report.setting[joint], ""), report.value[joint]
    if drive.servo is None or name not in ("position offset", "torque limit"):
        return {}
    return {"offset": offset(bits)} if name == "position offset" else {"limit": bits / feetech.FULL}


def offset(bits: int) -> int:
    """A servo's position offset, signed."""
    return -(bits & ~feetech.OFFSET_SIGN) if bits & feetech.OFFSET_SIGN else bits


def ready(report: Drives | None, joints: Sequence[Joint], joint: int) -> bool:
    """True if nothing known of a joint's drive forbids arming it."""
    return joints[joint].drive is None or report is None or (state(report, joint) not in ("silent", "faulted")
                                                           and not report.setting[joint])


def silence(report: Drives, joints: Sequence[Joint], joint: int) -> str:
    """Reasons known to the board for a drive's silence; empty where there are none."""
    drive = joints[joint].drive
    assert drive is not None
    if drive.servo is not None:
        return ""
    named = list(dict.fromkeys(j.drive.bus for j in joints if j.drive is not None and j.drive.servo is None))
    bus, found = named.index(drive.bus), []
    if report.receiving[bus] > PASSIVE:
        found.append(f"the board hears nothing but errors on {drive.bus}: something may hold it dominant, or be of "
                     "another bit rate")
    if report.foreign:
        what = "MST_ID (register 7), 0 as it comes," if drive.type.family == "damiao" else "master id"
        found.append(f"{report.foreign} frames of no drive of the file have come: its {what} may be another than "
                     f"reply = {drive.reply}" if drive.reply is not None else
                     f"{report.foreign} frames of no drive of the file have come: its id may be another than "
                     f"{drive.id}")
    return "; ".join(found)


def silent_words(report: Drives, joints: Sequence[Joint], joint: int) -> str:
    """Why one may not answer."""
    drive = joints[joint].drive
    assert drive is not None
    other = " (two of one id spoil each other's answers)" if drive.servo is not None else ""
    known = silence(report, joints, joint)
    return (f"nothing answers as id {drive.id} on bus {drive.bus!r}: check its id{other}, its bit rate, its supply and "
            f"its cable{known and '; '}{known}")


def firmware(report: Drives | None, joints: Sequence[Joint], joint: int) -> str:
    """Firmware of a drive that reports it and is set as it must be, once it has reported all; empty for others."""
    drive = joints[joint].drive
    if report is None or drive is None or report.setting[joint] or state(report, joint) == "silent":
        return ""
    written = {"feetech": feetech.firmware_text, "damiao": damiao.firmware_text}.get(drive.type.family)
    return written(report.value[joint]) if written else ""


def words(report: Drives | None, joints: Sequence[Joint], joint: int) -> str:
    """Fault of a joint's drive in words; empty where there is none, or nothing was reported."""
    if report is None or joint >= len(joints):
        return ""
    drive = joints[joint].drive
    if drive is None:
        return ""
    if state(report, joint) == "silent":
        return silence(report, joints, joint)
    found = (ailing(report, drive, joint), setting(drive, report.setting[joint], report.value[joint]))
    return "; ".join(part for part in found if part)


def ailing(report: Drives, drive: Drive, joint: int) -> str:
    """Error of a drive in words, present or since it was last enabled."""
    what = error(drive, report.error[joint])
    return what if not what or state(report, joint) == "faulted" else f"{what}, which is over"
