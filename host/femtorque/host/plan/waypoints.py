"""Waypoints of an arm as TOML or CSV, for joints or for a tip. `femtorque.host.plan.planning` finds the waypoints'
times.

TOML:
    tip = { link = "hand", xyz = [0.2, 0.0, 0.0] }     # needed only if waypoints give positions of the tip
    [[waypoint]]
    joints = { shoulder = 0.3, elbow = -0.5 }          # joints left out stay
    stop = false                                       # false: pass this waypoint without a stop; default: true
    [[waypoint]]
    xyz = [0.3, 0.2, 0.0]                              # of the tip, m, base frame
    rpy = [0.0, 0.0, 1.0]                              # orientation of the tip's link; if omitted, any orientation
    line = true                                        # the tip moves on a straight line to this waypoint
    speed = 0.5                                        # fraction of the limits on the way to this waypoint
    pause = 0.2                                        # time of rest at it, s
    # mode that the mechanism enters before the waypoint (only with modes)
    mode = "loaded"
CSV: one column per joint, or x, y, z and optionally roll, pitch, yaw; optionally stop, line, speed, pause, mode.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError

from femtorque.codegen.common import BadInput, hint, parse_toml, read_text, shown
from femtorque.codegen.mechanism import Mechanism, Number, Table, Three, first_fault, in_radians
from femtorque.host.plan.tip import Goal, Tip, ends

XYZ, RPY, OPTIONS = ("x", "y", "z"), ("roll", "pitch", "yaw"), ("stop", "line", "speed", "pause", "mode")
TIMES = ("time", "times", "time_s", "t_s", "seconds", "sec", "timestamp")  # other accepted names of column t
MOST = 10_000  # waypoints
Share = Annotated[float, Field(gt=0.0, le=1.0)]
Seconds = Annotated[float, Field(ge=0.0, le=3600.0)]


class TipTable(Table):
    link: str
    xyz: Three = [0.0, 0.0, 0.0]


class WaypointTable(Table):
    joints: dict[str, Number] | None = None
    xyz: Three | None = None
    rpy: Three | None = None
    stop: bool = True
    line: bool = False
    speed: Share = 1.0
    pause: Seconds = 0.0
    mode: str | None = None


class WaypointFile(Table):
    tip: TipTable | None = None
    waypoint: Annotated[list[WaypointTable], Field(min_length=1, max_length=MOST)]


@dataclass(frozen=True)
class Waypoint:
    """A waypoint: joint positions by name, rad or m (joints without a position stay), or a goal of the tip."""

    where: str  # name of the waypoint in error messages
    joints: dict[str, float] | None
    goal: Goal | None
    stop: bool = True
    line: bool = False
    speed: float = 1.0
    pause: float = 0.0
    mode: str | None = None  # mode of the mechanism from the rest before the waypoint on; None: unchanged


@dataclass(frozen=True)
class Waypoints:
    """Waypoints of a plan."""

    source: Path
    points: tuple[Waypoint, ...]
    tip: Tip | None  # None if no waypoint needs a tip


def load_waypoints(path: Path, mechanism: Mechanism, tip: str | None = None) -> Waypoints:
    """Read a file of waypoints and check it. tip: LINK or LINK:x,y,z; replaces the tip in the file. Raises BadInput."""
    path = Path(path)
    text = read_text(path)
    file = _toml(path, text, mechanism) if path.suffix.lower() == ".toml" else _csv(path, text, mechanism)
    return _waypoints(path, file, mechanism, tip)


def waypoints_of(points: Sequence[Mapping[str, Any]], mechanism: Mechanism, tip: str | None = None) -> Waypoints:
    """Return waypoints from a script's tables with the keys of a [[waypoint]]; NumPy arrays are allowed. Raises
    BadInput with the number of the faulty waypoint."""
    source = Path("waypoints")
    tables = []
    for number, table in enumerate(points, 1):
        if not isinstance(table, Mapping):
            raise BadInput(source, f"waypoint.{number}", shown(table), "must be a mapping",
                           '{"joints": {...}} or {"xyz": [...]}')
        tables.append({key: _plain(value) for key, value in table.items()})
    return _waypoints(source, _validated(source, {"waypoint": tables}, [j.name for j in mechanism.streamed]), mechanism,
                      tip)


def _plain(value: Any) -> Any:
    """Return NumPy numbers and arrays as Python's."""
    if isinstance(value, Mapping):
        return {key: _plain(x) for key, x in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _waypoints(path: Path, file: WaypointFile, mechanism: Mechanism, tip: str | None) -> Waypoints:
    points = tuple(_waypoint(path, i, table, mechanism) for i, table in enumerate(file.waypoint))
    needed = any(point.goal for point in points)
    table = tip_option(tip) if tip else file.tip
    return Waypoints(path, points, _tip(path, mechanism, table) if needed else None)


def _tip(path: Path, mechanism: Mechanism, table: TipTable | None) -> Tip:
    if table is None:
        last = ends(mechanism)
        raise BadInput(path, "tip", None, "is needed: the link and its point that go to xyz",
                       f'--tip {last[0] if last else "LINK"}:x,y,z, or tip = {{ link = "...", xyz = [...] }}')
    return Tip(mechanism, table.link, table.xyz, path)


def tip_option(text: str) -> TipTable:
    """Parse --tip. Raises BadInput."""
    link, _, offset = text.partition(":")
    try:
        xyz = [float(x) for x in offset.split(",")] if offset else [0.0, 0.0, 0.0]
        if len(xyz) == 3 and np.all(np.abs(xyz) < 1e3):
            return TipTable(link=link, xyz=xyz)
    except ValueError:
        pass
    raise BadInput("command line", "--tip", text, "must be LINK or LINK:x,y,z with metres in the link's frame")


def _toml(path: Path, text: str, mechanism: Mechanism) -> WaypointFile:
    return _validated(path, parse_toml(path, text), [j.name for j in mechanism.streamed])


def _validated(path: Path, raw: dict[str, Any], joints: list[str]) -> WaypointFile:
    try:
        return WaypointFile.model_validate(raw)
    except ValidationError as error:
        fault = first_fault(error, WaypointFile)
        name, near = str(fault.where[-1]), fault.hint
        if fault.rule == "unknown key" and name in joints:
            near = f"write joints = {{ {name} = {shown(fault.value)} }}"
        rule = "needs at least one [[waypoint]]" if fault.where == ("waypoint",) and not fault.value else fault.rule
        raise BadInput(path, _key(fault.where), shown(fault.value), rule, near) from None


def _key(where: tuple[str | int, ...]) -> str:
    return ".".join(str(w + 1) if isinstance(w, int) else w for w in where)


def _csv(path: Path, text: str, mechanism: Mechanism) -> WaypointFile:
    """Return one table for each row of a CSV file. Empty cells are omitted."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if any(c.strip() for c in row)]
    except csv.Error as error:
        raise BadInput(path, "file", None, f"is not CSV: {error}") from None
    if len(rows) < 2:
        raise BadInput(path, "rows", None, "a header and at least one waypoint are needed")
    header, joints = [c.strip() for c in rows[0]], [j.name for j in mechanism.streamed]
    known = [*joints, *XYZ, *RPY, *OPTIONS]
    for name in header:
        if name == "t":
            raise BadInput(path, "column t", None, "waypoints have no times, planning finds them",
                           "a file with t is a trajectory already: stream it, or take the column out")
        if name not in known or header.count(name) > 1:
            rule = "is named twice" if name in known else "no such column"
            meant = "times, in s, are in a column t" if name.lower() in TIMES else hint(name, known, "columns")
            raise BadInput(path, "line 1", shown(name), rule, "" if name in known else meant)
    tables = []
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(header):
            raise BadInput(path, f"waypoint.{number}", None, f"has {len(row)} cells, the header has {len(header)}")
        cells = {name: cell.strip() for name, cell in zip(header, row, strict=True) if cell.strip()}
        tables.append(_row(path, number, cells, joints))
    return _validated(path, {"waypoint": tables}, joints)


def _row(path: Path, number: int, cells: dict[str, str], joints: list[str]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    values = {}
    for name, cell in cells.items():
        if name in ("stop", "line"):
            if cell.lower() not in ("true", "false", "1", "0", "yes", "no"):
                raise BadInput(path, f"waypoint.{number}.{name}", shown(cell), "must be true or false")
            table[name] = cell.lower() in ("true", "1", "yes")
            continue
        if name == "mode":
            table[name] = cell
            continue
        try:
            values[name] = float(cell)
        except ValueError:
            raise BadInput(path, f"waypoint.{number}.{name}", shown(cell), "must be a number") from None
    table |= {name: values[name] for name in ("speed", "pause") if name in values}
    if given := {name: values[name] for name in joints if name in values}:
        table["joints"] = given
    for key, names in (("xyz", XYZ), ("rpy", RPY)):
        if any(name in values for name in names):
            missing = [name for name in names if name not in values]
            if missing:
                raise BadInput(path, f"waypoint.{number}.{missing[0]}", None,
                               f"is missing beside {', '.join(name for name in names if name in values)}",
                               "three numbers are needed, also of an arm that moves in a plane")
            table[key] = [values[name] for name in names]
    return table


def _waypoint(path: Path, index: int, table: WaypointTable, mechanism: Mechanism) -> Waypoint:
    from scipy.spatial.transform import Rotation  # noqa: PLC0415 (an extra)

    where = f"waypoint.{index + 1}"
    if (table.joints is None) == (table.xyz is None):
        raise BadInput(path, where, None, "must say either joints or xyz, and not both")
    if table.rpy is not None and table.xyz is None:
        raise BadInput(path, f"{where}.rpy", None, "goes with xyz")
    if table.line and table.xyz is None:
        raise BadInput(path, f"{where}.line", True, "needs xyz: a straight line is for the tip")
    if table.line and not table.stop:
        raise BadInput(path, f"{where}.stop", False, "a straight line ends at rest", "leave stop out")
    if table.pause and not table.stop:
        raise BadInput(path, f"{where}.pause", table.pause, "needs stop = true")
    if table.mode is not None:
        _check_mode(path, where, table.mode, mechanism)
    for name, value in (table.joints or {}).items():
        _check_joint(path, where, name, value, mechanism)
    goal = None
    if table.xyz is not None:
        goal = Goal(np.array(table.xyz), Rotation.from_euler("xyz", table.rpy) if table.rpy is not None else None)
    return Waypoint(where, table.joints, goal, table.stop, table.line, table.speed, table.pause,
                    table.mode)


def _check_mode(path: Path, where: str, mode: str, mechanism: Mechanism) -> None:
    names = [m.name for m in mechanism.modes]
    if mode not in names:
        raise BadInput(path, f"{where}.mode", mode, "no such mode", hint(mode, names, "modes") if names else
                       f"{mechanism.name} has none")


def _check_joint(path: Path, where: str, name: str, value: float, mechanism: Mechanism) -> None:
    joints = {joint.name: joint for joint in mechanism.streamed}
    if name not in joints and any(joint.name == name for joint in mechanism.moving):
        raise BadInput(path, f"{where}.joints.{name}", value, "the loops move this joint",
                       f"say where the driven ones go: {', '.join(joints)}")
    if name in mechanism.lock:
        raise BadInput(path, f"{where}.joints.{name}", value, f"this joint is locked at {mechanism.lock[name]:g}",
                       "take it out of lock, or leave it out here")
    if name not in joints:
        raise BadInput(path, f"{where}.joints.{name}", value, "no such moving joint",
                       hint(name, list(joints), "joints"))
    limits = joints[name].limits
    if not limits.lower <= value <= limits.upper:
        raise BadInput(path, f"{where}.joints.{name}", value,
                       f"is outside the joint's limits {limits.lower:g} .. {limits.upper:g}",
                       "" if joints[name].type == "prismatic" else in_radians(value, limits.lower, limits.upper))
