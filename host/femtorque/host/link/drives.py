"""Drives on buses in words: how they are, what ails them, which setting is not the file's."""

import struct
from collections.abc import Sequence

from femtorque.codegen.control import fitted
from femtorque.codegen.drive import Setting, family_of
from femtorque.codegen.mechanism import Drive, Joint
from femtorque.codegen.wire import Drives, messages

BY_MOTION = 0xFFFF  # no drive's own number: FT_DIALECT_VELOCITY
PASSIVE = 127  # errors in receiving beyond which a controller takes itself for the cause (ISO 11898-1)
UNREAD = 0xFFFFFFFF  # a setting that could not be read
UNTOLD = 50  # answers by which a drive has been asked some twenty times how it is set
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
    return family_of(drive.type).errors.words(code)


def _setting(drive: Drive, number: int) -> Setting | None:
    """The one that has a number in the drive."""
    return next((s for s in family_of(drive.type).settings if s.register.number == number), None)


def setting(joint: Joint, number: int, bits: int) -> str:
    """Both values of a setting of a joint's drive that is not the file's; empty where there is none."""
    drive = joint.drive
    if not number or drive is None:
        return ""
    if number == BY_MOTION:
        value = struct.unpack("<f", bits.to_bytes(4, "little"))[0] * drive.gear  # the board reports it at the joint
        return (f"by how it moves, its velocities have a range of about {value:.3g} rad/s, and it must be "
                f"{drive.type.velocity:g}")
    found = _setting(drive, number)
    name = found.register.name if found else f"setting {number}"
    if bits == UNREAD:
        return f"it cannot read its {name}: its firmware may be too old to have it"
    value = found.number(bits) if found else f"{bits:.6g}"
    return f"its {name} is {value}, and must be {found.must(fitted(joint, drive)) if found else 'another'}"


def mending(report: Drives, drive: Drive, joint: int) -> dict[str, float]:
    """Keys of the file's `drive` that make a setting the one that the drive has, where that is the owner's to choose:
    a servo's offset and torque limit."""
    found = _setting(drive, report.setting[joint])
    if found is None or found.key is None:
        return {}
    name, value = found.key
    return {name: value(report.value[joint])}


def ready(report: Drives | None, joints: Sequence[Joint], joint: int) -> bool:
    """True if nothing known of a joint's drive forbids arming it."""
    drive = joints[joint].drive
    return drive is None or report is None or (state(report, joint) not in ("silent", "faulted")
                                               and not report.setting[joint] and not untold(report, drive, joint))


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
        what = family_of(drive.type).master
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
    written = family_of(drive.type).firmware
    return written.text(report.value[joint]) if written else ""


def words(report: Drives | None, joints: Sequence[Joint], joint: int) -> str:
    """Fault of a joint's drive in words; empty where there is none, or nothing was reported."""
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
    """Reason why a joint's drive is not armed, in words: its fault, or that it reports none of its settings. One that
    was just switched on anew has not reported them yet, either."""
    drive = joints[joint].drive if joint < len(joints) else None
    found = words(report, joints, joint)
    return found if found or report is None or drive is None else untold(report, drive, joint)


def untold(report: Drives, drive: Drive, joint: int) -> str:
    """Reason why a drive reports none of its settings, though it answers; empty where it does, or may yet."""
    tells = report.setting[joint] or report.value[joint] or report.answers[joint] < UNTOLD
    return "" if tells or state(report, joint) == "silent" else family_of(drive.type).untold


def ailing(report: Drives, drive: Drive, joint: int) -> str:
    """Error of a drive in words, present or since it was last enabled."""
    what = error(drive, report.error[joint])
    return what if not what or state(report, joint) == "faulted" else f"{what}, which is over"
