"""Describes drives on buses in words: states, errors, and settings that differ from the mechanism file."""

import struct
from collections.abc import Sequence

from femtorque.codegen.control import fitted
from femtorque.codegen.drive import Setting, family_of
from femtorque.codegen.mechanism import Drive, Joint
from femtorque.codegen.wire import Drives, messages

BY_MOTION = 0xFFFF  # FT_BUS_VELOCITY
PASSIVE = 127  # receive errors above which a controller is error-passive (ISO 11898-1)
UNREAD = 0xFFFFFFFF  # value of a setting that the board could not read
UNTOLD = 50  # number of answers during which the board asks for the settings about twenty times
KEPT = 11  # number of DRIVES from which a rate is computed; ten arrive per second
_STATE = {number: name.lower() for name, (number, _) in messages.DRIVE_STATES.items()}


def state(report: Drives, joint: int) -> str:
    return _STATE.get(report.state[joint], f"state {report.state[joint]}")


def rates(kept: Sequence[Drives], rate_hz: float) -> list[float] | None:
    """Return each drive's states per second over all stored DRIVES; None with fewer than two DRIVES. rate_hz: ticks per
    second."""
    if len(kept) < 2:
        return None
    first, last = kept[0], kept[-1]
    seconds = (last.tick - first.tick & 0xFFFFFFFF) / rate_hz
    return [(b - a & 0xFFFFFFFF) / seconds for a, b in zip(first.answers, last.answers, strict=True)]


def error(drive: Drive, code: int) -> str:
    """Return the error that a drive reports in words; empty if there is no error."""
    return family_of(drive.type).errors.words(code)


def _setting(drive: Drive, number: int) -> Setting | None:
    return next((s for s in family_of(drive.type).settings if s.register.number == number), None)


def setting(joint: Joint, number: int, bits: int) -> str:
    """Return a sentence with both values of a setting that differs from the file. Empty if the values agree."""
    drive = joint.drive
    if not number or drive is None:
        return ""
    if number == BY_MOTION:
        value = struct.unpack("<f", bits.to_bytes(4, "little"))[0] * drive.gear  # reported at the joint
        return (f"its motion shows a range of velocity of about {value:.3g} rad/s, and it must be "
                f"{drive.type.velocity:g}")
    found = _setting(drive, number)
    name = found.register.name if found else f"setting {number}"
    if bits == UNREAD:
        return f"it cannot read its {name}: its firmware may be too old to have it"
    value = found.number(bits) if found else f"{bits:.6g}"
    return f"its {name} is {value}, and must be {found.must(fitted(joint, drive)) if found else 'another'}"


def mending(report: Drives, drive: Drive, joint: int) -> dict[str, float]:
    """Return the keys of `drive` that adopt a drive's setting: only a servo's offset and torque limit."""
    found = _setting(drive, report.setting[joint])
    if found is None or found.key is None:
        return {}
    name, value = found.key
    return {name: value(report.value[joint])}


def ready(report: Drives | None, joints: Sequence[Joint], joint: int) -> bool:
    drive = joints[joint].drive
    return drive is None or report is None or (state(report, joint) not in ("silent", "faulted")
                                               and not report.setting[joint] and not untold(report, drive, joint))


def silence(report: Drives, joints: Sequence[Joint], joint: int) -> str:
    """Return the board's reasons why a drive sends no answer; empty if there is no reason."""
    drive = joints[joint].drive
    assert drive is not None
    if drive.servo is not None:
        return ""
    named = list(dict.fromkeys(j.drive.bus for j in joints if j.drive is not None and j.drive.servo is None))
    bus, found = named.index(drive.bus), []
    if report.receiving[bus] > PASSIVE:
        found.append(f"the board receives only errors on {drive.bus}: a node may hold it dominant, or have "
                     "another bit rate")
    if report.foreign:
        what = family_of(drive.type).master
        found.append(f"{report.foreign} frames came from no drive of the file: its {what} may differ from "
                     f"reply = {drive.reply}" if drive.reply is not None else
                     f"{report.foreign} frames came from no drive of the file: its id may differ from "
                     f"{drive.id}")
    return "; ".join(found)


def silent_words(report: Drives, joints: Sequence[Joint], joint: int) -> str:
    """Return possible reasons why a drive does not answer."""
    drive = joints[joint].drive
    assert drive is not None
    other = " (two servos with the same id corrupt each other's answers)" if drive.servo is not None else ""
    known = silence(report, joints, joint)
    return (f"nothing answers as id {drive.id} on bus {drive.bus!r}: check its id{other}, its bit rate, its supply and "
            f"its cable{known and '; '}{known}")


def firmware(report: Drives | None, joints: Sequence[Joint], joint: int) -> str:
    """Return a drive's firmware version. Empty if the drive has not reported its version or has wrong settings."""
    drive = joints[joint].drive
    if report is None or drive is None or report.setting[joint] or state(report, joint) == "silent":
        return ""
    written = family_of(drive.type).firmware
    return written.text(report.value[joint]) if written else ""


def words(report: Drives | None, joints: Sequence[Joint], joint: int) -> str:
    """Return the fault of a joint's drive in words. Empty if there is no fault or no report."""
    if report is None or joint >= len(joints):
        return ""
    drive = joints[joint].drive
    if drive is None:
        return ""
    if state(report, joint) == "silent":
        return silence(report, joints, joint)
    found = (ailing(report, drive, joint), setting(joints[joint], report.setting[joint], report.value[joint]))
    return "; ".join(part for part in found if part)


def unarmed(report: Drives | None, joints: Sequence[Joint], joint: int) -> str:
    """Return why a drive is not armed: its fault, or settings that it has not reported (yet, just after power-up)."""
    drive = joints[joint].drive if joint < len(joints) else None
    found = words(report, joints, joint)
    return found if found or report is None or drive is None else untold(report, drive, joint)


def untold(report: Drives, drive: Drive, joint: int) -> str:
    """Return why a drive that answers has not reported its settings. Empty if it has, or still may."""
    tells = report.setting[joint] or report.value[joint] or report.answers[joint] < UNTOLD
    return "" if tells or state(report, joint) == "silent" else family_of(drive.type).untold


def ailing(report: Drives, drive: Drive, joint: int) -> str:
    """Return the drive's present error in words, otherwise the last error since the drive was enabled."""
    what = error(drive, report.error[joint])
    return what if not what or state(report, joint) == "faulted" else f"{what}, which is over"
