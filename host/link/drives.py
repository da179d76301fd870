"""Drives on buses in words: how they are, what ails them, which setting is not the file's."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from codegen.drive import damiao, feetech, mit, robstride
from codegen.mechanism.description import Drive, Joint
from codegen.wire import messages

BY_MOTION = 0xFFFF  # no drive's own number: FT_DIALECT_VELOCITY
_STATE = {number: name.lower() for name, (number, _) in messages.DRIVE_STATES.items()}


def state(told: Any, joint: int) -> str:
    """Of a joint's drive, from DRIVES."""
    return _STATE.get(told.state[joint], f"state {told.state[joint]}")


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
        value = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
        return (f"by how it moves, its velocities have a range of about {value:.3g} rad/s, and it must be "
                f"{t.velocity:g}")
    if drive.servo is not None:
        return servo_setting(drive, number, bits)
    if t.family == "robstride":
        found = next(((p.name, p.format) for p in robstride.PARAMETERS.values() if p.index == number), ("", "I"))
        wanted = {"run_mode": "0", "mech_pos": "where its states have it: position range"}.get(found[0], "the file's")
    else:
        found = next(((r.name, r.format) for r in damiao.REGISTERS.values() if r.number == number), ("", "I"))
        wanted = {"PMAX": f"{t.position:g}", "VMAX": f"{t.velocity:g}", "TMAX": f"{t.torque:g}", "CTRL_MODE": "1"}.get(
            found[0], "the file's")
    name, form = found
    value = struct.unpack("<f", bits.to_bytes(4, "little"))[0] if form == "f" else bits & (0xFF if form == "B" else ~0)
    return f"its {name or f'setting {number}'} is {value:.6g}, and must be {wanted}"


def servo_setting(drive: Drive, number: int, bits: int) -> str:
    """The same of a servo's register."""
    setting, servo = drive.servo, drive.type.servo
    assert setting is not None and servo is not None
    wanted = {"model": str(servo.model), "lock": "1", "return delay": "0", "mode": str(feetech.PWM_MODE),
              "least position": "no more than the joint's lower end", "position offset": str(setting.offset),
              "largest position": "no less than the joint's upper end",
              "torque limit": f"{feetech.FULL * setting.limit:g}"}
    name = next((r.name for r in feetech.REGISTERS.values() if r.number == number), "")
    if name == "position offset" and bits & feetech.OFFSET_SIGN:
        bits = -(bits & ~feetech.OFFSET_SIGN)
    return f"its {name or f'register {number}'} is {bits}, and must be {wanted.get(name, 'another')}"


def words(told: Any, joints: Sequence[Joint], joint: int) -> str:
    """What is wrong with a joint's drive; empty where nothing is, or nothing was told."""
    if told is None or joint >= len(joints):
        return ""
    drive = joints[joint].drive
    if drive is None:
        return ""
    found = (error(drive, told.error[joint]), setting(drive, told.setting[joint], told.value[joint]))
    return "; ".join(part for part in found if part)
