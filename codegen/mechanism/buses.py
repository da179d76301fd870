"""Buses and the drives on them: what their tables must be together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from codegen.common.nearest import hint
from codegen.drive.catalogue import DRIVES, DriveType
from codegen.mechanism.description import Bus, Drive, Joint, Limits
from codegen.mechanism.refusal import Fail
from codegen.mechanism.schema import BusTable, DriveTable, JointTable

FD_BITRATE = 5_000_000  # 1/s: what Damiao's drives are set to for CAN FD, openarm_can's too
REPLY_BESIDE = 0x10  # from the id of a Damiao's commands to that of its replies, as openarm_can numbers them
LARGEST_ID = {"robstride": 127, "cubemars": 255, "mini-cheetah": 0x7FF, "damiao": 0x7FF}
OVERRIDES = ("position", "velocity", "torque", "kp", "kd")


def read_buses(tables: Sequence[BusTable], fail: Fail) -> tuple[Bus, ...]:
    """Names are told apart by the caller. `fail` raises."""
    return tuple(_bus(t, fail) for t in tables)


def _bus(t: BusTable, fail: Fail) -> Bus:
    key = f"bus.{t.name}"
    if t.kind == "can" and t.data_bitrate is not None:
        fail(f"{key}.data_bitrate", t.data_bitrate, "classic CAN has no data phase of its own", 'kind = "can-fd"')
    data = (t.data_bitrate or FD_BITRATE) if t.kind == "can-fd" else None
    if data is not None and data < t.bitrate:
        fail(f"{key}.data_bitrate", data, f"is slower than bitrate = {t.bitrate}")
    return Bus(t.name, t.kind, t.bitrate, data)


def read_drive(t: JointTable, table: DriveTable, limits: Limits, buses: Sequence[Bus], fail: Fail) -> Drive:
    """The drive of a joint, its ranges those of the catalogue or the file's own; `limits`: the joint's."""
    key = f"joint.{t.name}.drive"
    for other in ("motor", "encoder", "home"):
        if getattr(t, other) is not None:
            fail(f"joint.{t.name}.{other}", None, "a drive on a bus has its own", "give either drive or motor")
    if t.type not in ("revolute", "continuous") or not t.actuated:
        fail(key, None, "turns an actuated revolute joint")
    if table.type not in DRIVES:
        fail(f"{key}.type", table.type, "no such drive", hint(table.type, list(DRIVES), "drives"))
    bus = next((b for b in buses if b.name == table.bus), None)
    if bus is None:
        fail(f"{key}.bus", table.bus, "no such bus", hint(table.bus, [b.name for b in buses], "buses")
             if buses else f'add [[bus]] with name = "{table.bus}"')
    own = {name: getattr(table, name) for name in OVERRIDES if getattr(table, name) is not None}
    kind = replace(DRIVES[table.type], **own)
    if bus.kind == "can-fd" and not kind.fd:
        fail(f"{key}.bus", bus.name, f"{kind.name} speaks classic CAN alone, and so would the whole bus",
             'a [[bus]] of kind = "can"')
    _check_ids(key, kind, table, fail)
    _check_ranges(t, kind, limits, table.pd, fail)
    reply = table.reply if table.reply is not None or kind.family != "damiao" else table.id + REPLY_BESIDE
    return Drive(kind, bus.name, table.id, reply, table.sign, table.pd, table.inertia)


def _check_ids(key: str, kind: DriveType, table: DriveTable, fail: Fail) -> None:
    most = LARGEST_ID[kind.family]
    if table.id > most:
        fail(f"{key}.id", table.id, f"must be at most {most} with {kind.family}")
    if table.reply is not None and kind.family == "robstride":
        fail(f"{key}.reply", table.reply, "is part of RobStride's own identifiers", "remove it")


def _check_ranges(t: JointTable, kind: DriveType, limits: Limits, pd: str, fail: Fail) -> None:
    """What the joint is asked for must fit the fields of the drive's frames."""
    joint = f"joint.{t.name}"
    reach = max(abs(limits.lower), abs(limits.upper))
    for key, asked, most, unit in (("limits.lower" if reach == -limits.lower else "limits.upper", reach, kind.position,
                                    "rad"),
                                   ("limits.velocity", limits.velocity, kind.velocity, "rad/s"),
                                   ("limits.effort", limits.effort, kind.torque, "N m")):
        if np.isfinite(asked) and asked > most:
            fail(f"{joint}.{key}", asked, f"{kind.name} tells at most {most:g} {unit}",
                 "lower it, or give the drive's own range")
    if pd == "drive":
        for key, asked, most in (("ku", t.gains.ku, kind.kp), ("kv", t.gains.kv, kind.kd)):
            if asked > most:
                fail(f"{joint}.gains.{key}", asked, f"{kind.name} takes at most {most:g}", 'or pd = "board"')


def check_shared(joints: Sequence[Joint], fail: Fail) -> None:
    """No two drives of one bus answer to, or with, the same id."""
    taken: dict[tuple[str, int], str] = {}
    for joint in joints:
        if joint.drive is None:
            continue
        d = joint.drive
        for name, id in (("id", d.id), ("reply", d.reply)):
            if id is None:
                continue
            if (d.bus, id) in taken:
                fail(f"joint.{joint.name}.drive.{name}", id,
                     f"is already used on bus {d.bus!r} by joint {taken[d.bus, id]!r}")
            taken[d.bus, id] = joint.name
