"""Rules over several keys for buses and the drives on them."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from femtorque.codegen.common import hint
from femtorque.codegen.drive import CLASSIC, DRIVES, WIRES, DriveType, family_of
from femtorque.codegen.mechanism.description import Bus, Drive, Joint, Limits, Motor, ServoSetting
from femtorque.codegen.mechanism.motors import ELECTRICAL
from femtorque.codegen.mechanism.refusal import Fail
from femtorque.codegen.mechanism.schema import BusTable, DriveTable, JointTable

LEAST_RATE, MOST_RATE = 10_000, 1_000_000  # lowest and highest bit rate of CAN and of CAN FD's arbitration phase, bit/s
FD_BITRATE = 5_000_000  # common data bit rate of drives for CAN FD, bit/s, as in openarm_can
OVERRIDES = ("position", "velocity", "torque", "kp", "kd")
OF_SERVOS = ("offset", "limit", "supply", "play")  # keys
CONVERTED = 0.65  # highest supply of a converter over the board's: above 0.7 the firmware takes both as one supply
NOT_OF_SERVOS = ("reply", "inertia", "position", "kp", "kd")
LEAST_GEAR, MOST_GEAR = 0.1, 100.0  # a ratio outside this range is probably a mistake
MOST_PLACE = 200.0 * math.pi  # largest angle of the joint, rad: the board counts at most a hundred turns


def read_buses(tables: Sequence[BusTable], fail: Fail) -> tuple[Bus, ...]:
    """Return the buses. The caller must have checked that all names differ. `fail` raises."""
    kinds = list(dict.fromkeys(t.kind for t in tables if t.kind in WIRES))
    if len(kinds) > 1:
        other = next(t for t in tables if t.kind == kinds[1])
        fail(f"bus.{other.name}.kind", other.kind, f"a board speaks to wires of one kind, and another is {kinds[0]!r}",
             "give each kind a board of its own")
    return tuple(_bus(t, fail) for t in tables)


def _bus(t: BusTable, fail: Fail) -> Bus:
    key = f"bus.{t.name}"
    if t.kind != "can-fd" and t.data_bitrate is not None:
        fail(f"{key}.data_bitrate", t.data_bitrate, "classic CAN has no data phase of its own" if t.kind == "can" else
             "one wire has one rate", 'kind = "can-fd"')
    wire = WIRES[t.kind].wire if t.kind in WIRES else None
    if wire is None and not LEAST_RATE <= t.bitrate <= MOST_RATE:
        fail(f"{key}.bitrate", t.bitrate, f"CAN has {LEAST_RATE} to {MOST_RATE}")
    if wire is not None and t.bitrate not in wire.bitrates:
        fail(f"{key}.bitrate", t.bitrate, "no rate of these servos",
             f"nearest: {min(wire.bitrates, key=lambda b: abs(b - t.bitrate))}")
    data = (t.data_bitrate or FD_BITRATE) if t.kind == "can-fd" else None
    if data is not None and data < t.bitrate:
        fail(f"{key}.data_bitrate", data, f"is slower than bitrate = {t.bitrate}")
    return Bus(t.name, t.kind, t.bitrate, data, t.delay, t.jitter)


def read_drive(t: JointTable, table: DriveTable, limits: Limits, buses: Sequence[Bus], fail: Fail) -> Drive:
    """Return a joint's drive. The file's ranges override the catalogue's. limits: limits of the joint."""
    key = f"joint.{t.name}.drive"
    _check_joint(t, table, fail)
    bus = _bus_of(key, table, buses, fail)
    _check_gear(key, table, fail)
    own = {name: getattr(table, name) for name in OVERRIDES if getattr(table, name) is not None}
    kind = replace(DRIVES[table.type], **own)
    _check_frames(key, kind, bus, fail)
    _check_kind(key, kind, bus, table, fail)
    _check_ids(key, kind, table, fail)
    _check_firmware(key, kind, table, fail)
    if table.configured is not None and family_of(kind).configuration is None:
        fail(f"{key}.configured", table.configured, f"{kind.name} has no settings that a file holds so", "remove it")
    pd = _controller(key, kind, table, fail)
    if kind.servo is not None:
        kind = replace(kind, servo=replace(kind.servo, holds=pd == "drive"))
        _check_servo(t, kind, table, limits, fail)
    _check_ranges(t, kind, table.gear, limits, pd, fail)
    default = family_of(kind).reply
    reply = default(table.id) if table.reply is None and default else table.reply
    drive = Drive(kind, bus.name, table.id, reply, table.sign, table.gear, pd, table.inertia,
                  firmware=table.firmware or "")
    if kind.servo is None:
        drive = replace(drive, zero=table.zero or 0.0, configured=table.configured or "")
        _check_zero(t, drive, limits, fail)
        return drive
    setting = {name: getattr(table, name) for name in OF_SERVOS if getattr(table, name) is not None}
    zero = ServoSetting.zero if table.zero is None else round(table.zero)
    return replace(drive, servo=ServoSetting(zero, **setting))


def _check_joint(t: JointTable, table: DriveTable, fail: Fail) -> None:
    """Refuse an unknown drive, and a drive at a joint that cannot have a drive."""
    key = f"joint.{t.name}.drive"
    servo = table.type in DRIVES and DRIVES[table.type].servo is not None
    for other in ("encoder", "home") if servo else ("motor", "encoder", "home"):
        if getattr(t, other) is not None:
            fail(f"joint.{t.name}.{other}", None, "a drive on a bus has its own", "give either drive or motor")
    if t.type not in ("revolute", "continuous") or not t.actuated:
        fail(key, None, "turns an actuated revolute joint")
    if table.type not in DRIVES:
        fail(f"{key}.type", table.type, "no such drive", hint(table.type, list(DRIVES), "drives"))


def _bus_of(key: str, table: DriveTable, buses: Sequence[Bus], fail: Fail) -> Bus:
    bus = next((b for b in buses if b.name == table.bus), None)
    if bus is None:
        fail(f"{key}.bus", table.bus, "no such bus", hint(table.bus, [b.name for b in buses], "buses")
             if buses else f'add [[bus]] with name = "{table.bus}"')
    return bus


def _check_frames(key: str, kind: DriveType, bus: Bus, fail: Fail) -> None:
    """Refuse a bus that cannot transmit the drive's frames."""
    if bus.kind == "can-fd" and not kind.fd:
        fail(f"{key}.bus", bus.name, f"{kind.name} speaks classic CAN alone, and so would the whole bus",
             'a [[bus]] of kind = "can"')
    longest = family_of(kind).frame_bytes
    if bus.kind == "can" and longest > CLASSIC:
        fail(f"{key}.bus", bus.name, f"{kind.name} has frames of {longest} bytes, and classic CAN of {CLASSIC}",
             'a [[bus]] of kind = "can-fd"')


def _controller(key: str, kind: DriveType, table: DriveTable, fail: Fail) -> str:
    """Return where the position loop is closed: "drive" or "board"."""
    family = family_of(kind)
    closes = family.closes if kind.servo is None else bool(kind.servo.unsafe)
    pd = table.pd or ("drive" if closes else "board")
    if pd == "drive" and kind.servo is None and not closes:
        fail(f"{key}.pd", pd, f"{kind.name} takes torques alone", 'pd = "board", or nothing')
    if pd == "drive" and family.configuration and None in (table.kp, table.kd):
        missing = "kp" if table.kp is None else "kd"
        fail(f"{key}.{missing}", None, f"{kind.name} has gains that its owner configures, and nobody can ask it for "
             "them", 'what it is configured with, or pd = "board"')
    return pd


def check_supply(joints: Sequence[Joint], volts: float, fail: Fail) -> None:
    """Refuse a supply voltage outside a servo's range."""
    for joint in joints:
        servo, own = joint.drive.type.servo if joint.drive else None, joint.supply(volts)
        if CONVERTED * volts < own < volts or own > volts:
            fail(f"joint.{joint.name}.drive.supply", own, f"is not below {CONVERTED:g} times board.bus_voltage",
                 "remove it, for a servo on the board's supply")
        if joint.drive and servo and not servo.supply[0] <= own <= servo.supply[1]:
            fail("board.bus_voltage", own, f"is the supply of joint {joint.name!r}, and {joint.drive.type.name} "
                 f"takes {servo.supply[0]:.3g} to {servo.supply[1]:.3g} V", f"{servo.volts:g}, or another servo")


def servo_motor(joint: str, drive: Drive, own: Motor | None, fail: Fail) -> Motor:
    """Return the motor inside a servo, with the gear to the joint. own: the file's motor; None for the catalogue's
    motor."""
    kind = drive.at_joint.servo
    assert kind is not None
    if own is None:
        return Motor(kind.R, ELECTRICAL * kind.R, kind.K, kind.gear, kind.inertia)
    for name, plain, rule in (("drive", "voltage", "a servo has its own driver"),
                              ("sign", 1, "a servo has drive.sign"), ("kind", "brushed", "a servo's is brushed")):
        if getattr(own, name) != plain:
            fail(f"joint.{joint}.motor.{name}", getattr(own, name), rule, "remove it")
    if own.gear < 0.0:
        fail(f"joint.{joint}.motor.gear", own.gear, "a servo has drive.sign", f"{-own.gear:g}")
    return replace(own, gear=own.gear * drive.gear)


def _check_gear(key: str, table: DriveTable, fail: Fail) -> None:
    """Refuse a gear that is not positive, because drive.sign gives the direction."""
    if not table.gear > 0.0:
        fail(f"{key}.gear", table.gear, "must be positive", "a drive that turns the other way has sign = -1")
    if not LEAST_GEAR <= table.gear <= MOST_GEAR:
        fail(f"{key}.gear", table.gear, "is no stage between a drive and its joint",
             f"turns of the drive's output per turn of the joint, {LEAST_GEAR:g} to {MOST_GEAR:g}")


def _check_kind(key: str, kind: DriveType, bus: Bus, table: DriveTable, fail: Fail) -> None:
    """Refuse a bus of the wrong kind, and keys that only other drives have."""
    wire = family_of(kind).wire
    if bus.kind != wire.kind if wire is not None else bus.kind in WIRES:
        wanted = "can" if wire is None else wire.kind
        fail(f"{key}.bus", bus.name, f"{kind.name} is no drive for a bus of kind {bus.kind!r}",
             f'a [[bus]] of kind = "{wanted}"')
    foreign = OF_SERVOS if kind.servo is None else NOT_OF_SERVOS
    for name in foreign:
        value = getattr(table, name)
        if value not in (None, 0.0):
            fail(f"{key}.{name}", value, f"{kind.name} has none", "remove it")
    if kind.servo is not None and kind.servo.unsafe and table.pd == "board":
        fail(f"{key}.pd", "board", f"{kind.name} {kind.servo.unsafe}", 'pd = "drive"')


def _check_firmware(key: str, kind: DriveType, table: DriveTable, fail: Fail) -> None:
    """Refuse a version that is not in the family's format, or of a family that does not report a version."""
    if table.firmware is None:
        return
    written = family_of(kind).firmware
    if written is None:
        fail(f"{key}.firmware", table.firmware, f"{kind.name} tells none", "remove it")
    if not re.fullmatch(written.pattern, table.firmware):
        fail(f"{key}.firmware", table.firmware, f"is no version of {kind.name}", f'"{written.example}"')
    if written.most is not None and any(int(part) > written.most for part in table.firmware.split(".")):
        fail(f"{key}.firmware", table.firmware, f"has parts of 0 to {written.most}", f'"{written.example}"')


def _check_servo(t: JointTable, kind: DriveType, table: DriveTable, limits: Limits, fail: Fail) -> None:
    """Refuse limits of half a turn or more, because the servo's encoder covers one turn only."""
    half, own = math.pi / table.gear, family_of(kind)
    if table.id < own.ids[0]:
        fail(f"joint.{t.name}.drive.id", table.id, f"a servo's is {own.ids[0]} to {own.ids[1]}")
    if table.zero is not None and not (0 <= table.zero < own.places.turn and table.zero == round(table.zero)):
        fail(f"joint.{t.name}.drive.zero", table.zero, "a servo's is one of its counts", f"0 to {own.places.turn - 1}")
    for name, reach in (("lower", -limits.lower), ("upper", limits.upper)):
        if not reach < half:
            fail(f"joint.{t.name}.limits.{name}", getattr(limits, name) if np.isfinite(reach) else None,
                 f"{kind.name} tells one turn{_behind(table.gear)}: the joint must stay within half a turn of its zero",
                 f"at most {math.floor(100.0 * half) / 100.0:g} rad to both sides")


def _check_zero(t: JointTable, drive: Drive, limits: Limits, fail: Fail) -> None:
    """Refuse an impossible zero. At power-up a drive reports a position within half a turn of its zero."""
    key, kind, family = f"joint.{t.name}.drive", drive.type, family_of(drive.type)
    if drive.zero and not family.keeps:
        fail(f"{key}.zero", drive.zero, f"{kind.name} does not say whether it has kept its zero, and is told where it "
             "is by home", "remove it")
    if not abs(drive.zero) <= math.pi:
        fail(f"{key}.zero", drive.zero, "a drive comes up within half a turn of its own zero", "-3.1415 to 3.1415 rad")
    if drive.zero and not drive.leaves_one_turn(limits):
        fail(f"{key}.zero", drive.zero, f"two places in the joint's limits are a turn of the drive"
             f"{_behind(drive.gear)} apart, and `home` gives the place", "remove it")
    own_turn = not drive.zero and max(-limits.lower, limits.upper) < drive.half_turn
    most = math.pi + (limits.upper - limits.lower) * drive.gear
    if drive.leaves_one_turn(limits) and not own_turn and most > kind.position:
        fail(f"{key}.zero", drive.zero, f"{kind.name} may come up in another turn than its zero's, and then has to "
             f"tell {most:.4g} rad, and tells {kind.position:g} at most",
             "set the zero in the drive by its maker's tool, or give it a larger range")


def _check_ids(key: str, kind: DriveType, table: DriveTable, fail: Fail) -> None:
    own = family_of(kind)
    if table.id > own.ids[1]:
        fail(f"{key}.id", table.id, f"must be at most {own.ids[1]} with {own.name}")
    if kind.servo is None and table.id < own.ids[0]:
        fail(f"{key}.id", table.id, f"must be at least {own.ids[0]} with {own.name}")
    if table.reply is not None and own.reply is None:
        fail(f"{key}.reply", table.reply, f"is part of {own.title}'s own identifiers", "remove it")


def _behind(gear: float) -> str:
    """Return the words of an error message that name the gear."""
    return "" if gear == 1.0 else f" behind a gear of {gear:g}"


def _check_ranges(t: JointTable, own: DriveType, gear: float, limits: Limits, pd: str, fail: Fail) -> None:
    """Refuse limits and gains of a joint that exceed the ranges of the drive's frames."""
    joint, kind, name = f"joint.{t.name}", own.behind(gear), own.name + _behind(gear)
    if kind.position > MOST_PLACE:
        fail(f"{joint}.drive.position", own.position, f"{name} is more than a hundred turns of the joint",
             f"at most {MOST_PLACE * gear:.4g} rad")
    reach = max(abs(limits.lower), abs(limits.upper))
    for key, asked, most, unit in (("limits.lower" if reach == -limits.lower else "limits.upper", reach, kind.position,
                                    "rad"),
                                   ("limits.velocity", limits.velocity, kind.velocity, "rad/s"),
                                   ("limits.effort", limits.effort, kind.torque, "N m")):
        if np.isfinite(asked) and asked > most:
            fail(f"{joint}.{key}", asked, f"{name} tells at most {most:g} {unit}",
                 "lower it, or give the drive's own range")
    if pd == "drive":
        ku, kv = (kind.kp, kind.kd) if own.servo is None else (own.servo.loop.most * own.servo.stiffness(gear), 0.0)
        for key, asked, most in (("ku", t.gains.ku, ku), ("kv", t.gains.kv, kv)):
            if asked > most:
                fail(f"{joint}.gains.{key}", asked, f"{name} takes at most {most:g}", 'or pd = "board"')


def _check_loops(joints: Sequence[Joint], fail: Fail) -> None:
    """Refuse a board on which some servos have their own loops and others do not. Refuse a goal beyond the encoder."""
    places = {joint.drive.pd: joint for joint in joints if joint.drive is not None and joint.drive.servo is not None}
    if len(places) > 1:
        fail(f"joint.{places['board'].name}.drive.pd", "board", "all servos of a board close their loops, or no servo",
             'pd = "drive" for all')
    for joint in joints:
        if (drive := joint.drive) is None or drive.servo is None or drive.pd == "board":
            continue
        turn = family_of(drive.type).places.turn
        ends = [drive.servo.zero + drive.sign * at * drive.gear * turn / math.tau
                for at in (joint.limits.lower, joint.limits.upper)]
        if min(ends) < 0.0 or max(ends) > turn - 1.0:
            fail(f"joint.{joint.name}.drive.zero", drive.servo.zero, f"a goal would lie outside counts 0 to {turn - 1}",
                 "turn the horn, or set the offset in the servo")


def check_shared(joints: Sequence[Joint], fail: Fail) -> None:
    """Refuse equal ids on one bus. Drives may share a reply id if their replies name the drive."""
    _check_loops(joints, fail)
    taken: dict[tuple[str, int], Joint] = {}
    for joint in joints:
        if joint.drive is None:
            continue
        d = joint.drive
        for name, id in (("id", d.id), ("reply", d.reply)):
            if id is None:
                continue
            other = taken.setdefault((d.bus, id), joint)
            if other is not joint and not (name == "reply" and _shares(other, id) and _shares(joint, id)):
                fail(f"joint.{joint.name}.drive.{name}", id,
                     f"is already used on bus {d.bus!r} by joint {other.name!r}")


def _shares(joint: Joint, id: int) -> bool:
    """Return True if the drive's replies may have the same id as another drive's replies."""
    d = joint.drive
    return d is not None and family_of(d.type).shares_reply and d.reply == id != d.id
