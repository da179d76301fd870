"""Readers and writers of other motion formats: ROS 2 JointTrajectory as YAML, JSON or in an MCAP log, and NumPy's NPZ.

The readers return rows, and `femtorque.codegen.motion.trajectory` checks them like the rows of a CSV file. A
JointTrajectory may be the whole document, or a field of a message from MoveIt or ros2_control (`trajectory`,
`joint_trajectory`, `robot_trajectory`). An NPZ file contains t (R,), q (R, J), optionally qd and qdd (R, J), and the
names of the J joints. Velocities without accelerations define cubic pieces, as in ros2_control. The acceleration at a
row is then the mean of the accelerations of both adjacent pieces.
"""

import csv
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import (
    MOTION, MOTION_NPZ, Array, BadInput, check_size, claim, mcap_file, read_text, replacing, shown)

LARGEST_FILE = 2**27  # limit of the unpacked size, bytes
LARGEST = 1e9  # largest number
WRAPPERS = ("trajectory", "joint_trajectory", "robot_trajectory", "goal", "request")
SCHEMA = "JointTrajectory"
ARRAYS = {"t": ("t", "time", "times"), "q": ("q", "position", "positions"),
          "qd": ("qd", "velocity", "velocities", "rates"),
          "qdd": ("qdd", "acceleration", "accelerations"), "joints": ("joints", "joint_names", "names")}


@dataclass(frozen=True)
class Rows:
    """Rows of a motion. joints: names of the columns; empty if the columns have the mechanism's order. t (R,) s; q (R,
    J); qd, qdd (R, J) or None. desired, states: desired positions and states in a log of femtorque; q is then the
    measured position.
    """

    joints: tuple[str, ...]
    t: Array
    q: Array
    qd: Array | None = None
    qdd: Array | None = None
    desired: Array | None = None
    states: tuple[str, ...] = ()


def read(path: Path) -> Rows:
    """Return the rows of a file whose suffix is in READERS. Raise BadInput."""
    return READERS[path.suffix.lower()](path)


def _yaml(path: Path) -> Rows:
    import yaml  # noqa: PLC0415 (few need it)

    try:
        documents = [one for one in yaml.safe_load_all(read_text(path, LARGEST_FILE, path.suffix)) if one is not None]
    except BadInput:
        raise
    except Exception as error:  # the library raises various errors for invalid dates and numbers
        raise BadInput(path, "file", None, f"is not YAML: {' '.join(str(error).split())[:160]}") from None
    return _joint_trajectory(path, _only(path, "documents", documents))


def _json(path: Path) -> Rows:
    try:
        document = json.loads(read_text(path, LARGEST_FILE, path.suffix))
    except (ValueError, RecursionError) as error:
        raise BadInput(path, "file", None, f"is not JSON: {error}") from None
    return _joint_trajectory(path, document)


def _only(path: Path, what: str, found: Sequence[Any]) -> Any:
    """Return the only element of `found`; None if there is no element."""
    if len(found) > 1:
        raise BadInput(path, what, len(found), "are there, and one motion is read", "keep one of them in the file")
    return found[0] if found else None


def _joint_trajectory(path: Path, document: Any) -> Rows:
    message = document
    for _ in range(len(WRAPPERS)):
        if isinstance(message, Mapping) and "points" not in message:
            message = next((message[name] for name in WRAPPERS if name in message), message)
        if isinstance(message, list):
            message = _only(path, "trajectory", message)
    if not isinstance(message, Mapping) or not {"joint_names", "points"} <= set(message):
        raise BadInput(path, "file", None, "holds no JointTrajectory",
                       "joint_names and points are needed, as in trajectory_msgs/msg/JointTrajectory")
    names, points = message["joint_names"], message["points"]
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise BadInput(path, "joint_names", shown(names), "must be a list of names")
    if not isinstance(points, list) or len(points) < 2:
        raise BadInput(path, "points", None, "must be a list of at least two points")
    t = np.array([_seconds(path, i, point) for i, point in enumerate(points)])
    columns = [_column(path, points, key, len(names)) for key in ("positions", "velocities", "accelerations")]
    if columns[0] is None:
        raise BadInput(path, "points.1.positions", None, "is required")
    return Rows(tuple(names), t, columns[0], columns[1], columns[2])


def _seconds(path: Path, i: int, point: Any) -> float:
    """Return time_from_start, s, from the fields sec and nanosec (ROS 1: secs and nsecs) or from a number."""
    key = f"points.{i + 1}.time_from_start"
    stamp = point.get("time_from_start") if isinstance(point, Mapping) else None
    if isinstance(stamp, Mapping):
        parts = [stamp.get(a, stamp.get(b, 0)) for a, b in (("sec", "secs"), ("nanosec", "nsecs"))]
    else:
        parts = [stamp, 0]
    if not all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 1e12 for x in parts):
        raise BadInput(path, key, shown(stamp), "must be { sec, nanosec } or seconds")
    return float(parts[0]) + float(parts[1]) * 1e-9


def _column(path: Path, points: Sequence[Any], key: str, width: int) -> Array | None:
    """Return the values (R, J) of one field; None if no point has this field."""
    rows = [point.get(key) or [] for point in points]
    if not any(rows):
        return None
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != width:
            raise BadInput(path, f"points.{i + 1}.{key}", shown(row), f"must hold {width} numbers, one per joint")
        if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in row):
            raise BadInput(path, f"points.{i + 1}.{key}", shown(row), "must hold numbers")
        if not all(abs(x) <= LARGEST for x in row):
            raise BadInput(path, f"points.{i + 1}.{key}", shown(row), f"must be finite numbers, at most {LARGEST:g}")
    return np.array(rows, float)


def _mcap(path: Path) -> Rows:
    """Return the first JointTrajectory in the log, on any topic. For a log of femtorque, return the recording instead.
    Raise BadInput if any part of the log is damaged.
    """
    from mcap.records import Channel, Message, Schema  # noqa: PLC0415 (0.1 s, and few need it)
    from mcap_ros2.decoder import DecoderFactory  # noqa: PLC0415

    schemas: dict[int, Any] = {}
    channels: dict[int, Any] = {}
    wanted: dict[str, list[Any]] = {SCHEMA: [], "/joint_states": [], "/joint_states/desired": [], "/status": []}
    try:
        for record, _ in mcap_file.records(path):
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel):
                channels[record.id] = record
            elif isinstance(record, Message):
                channel = channels[record.channel_id]
                schema = schemas.get(channel.schema_id)
                kind = SCHEMA if schema is not None and schema.name.endswith(SCHEMA) else channel.topic
                if kind in wanted:
                    wanted[kind].append((record.log_time, len(wanted[kind]), channel, schema, record.data))
        factory, own = DecoderFactory(), dict[str, list[Any]]()
        trajectories = sorted(wanted.pop(SCHEMA), key=lambda found: found[:2])
        if trajectories:
            return _joint_trajectory(path, _plain(_decoded(factory, *trajectories[0][2:])))
        for topic, found in wanted.items():
            own[topic] = [_decoded(factory, *one[2:]) for one in sorted(found, key=lambda found: found[:2])]
    except mcap_file.Damaged as error:
        raise BadInput(path, "file", None, str(error), "`femtorque plot` shows what of a run is before that") from None
    except BadInput:
        raise
    except Exception as error:  # decoders raise various errors for logs of other programs
        raise BadInput(path, "file", None, f"is not a readable MCAP log ({type(error).__name__})") from None
    topics = list(dict.fromkeys(channel.topic for channel in channels.values()))
    if all(own.values()) and hasattr(own["/status"][0], "state_name"):
        if any(m.mode for m in own["/status"]):
            raise BadInput(path, "log", None, "was recorded in several modes, which are not repeated",
                           "give the motion that it played")
        return _recorded(own["/joint_states"], own["/joint_states/desired"], own["/status"])
    raise BadInput(path, "file", None, "holds no trajectory_msgs/msg/JointTrajectory",
                   f"topics: {', '.join(topics[:8])}" if topics else "it holds no messages")


def _decoded(factory: Any, channel: Any, schema: Any, data: bytes) -> Any:
    return factory.decoder_for(channel.message_encoding, schema)(data)


def _recorded(measured: list[Any], desired: list[Any], status: list[Any]) -> Rows:
    """Return the rows of a log. If a crash cut off the log, return all complete samples."""
    count = min(len(measured), len(desired), len(status))
    stamps = [m.header.stamp for m in measured[:count]]
    t = np.array([stamp.sec + 1e-9 * stamp.nanosec for stamp in stamps])
    q, target = (np.array([m.position for m in messages[:count]], float) for messages in (measured, desired))
    states = tuple(m.state_name for m in status[:count])
    return Rows(tuple(measured[0].name), t - t[0], q, desired=target, states=states)


def _plain(message: Any) -> Any:
    """Return a decoded ROS message as nested dictionaries and lists."""
    if hasattr(message, "__slots__"):
        return {name: _plain(getattr(message, name)) for name in message.__slots__}
    if isinstance(message, (list, tuple)) or hasattr(message, "tolist"):
        return [_plain(x) for x in message]
    return message


def _npz(path: Path) -> Rows:
    check_size(path, LARGEST_FILE)
    try:
        _check_archive(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[alias] for name, aliases in ARRAYS.items() for alias in aliases if alias in file.files}
            found = ", ".join(file.files[:8])
    except BadInput:
        raise
    except Exception:  # NumPy, zipfile and zlib raise various errors for damaged bytes
        raise BadInput(path, "file", None, "is not an NPZ file of plain arrays",
                       "np.savez(path, t=..., q=...) writes one") from None
    for name in ("t", "q"):
        if name not in arrays:
            raise BadInput(path, name, None, "is missing", f"arrays: {found}; needed: t (R,) and q (R, J)")
    names = tuple(str(name) for name in np.atleast_1d(arrays.pop("joints", np.array([], str))))
    numbers = {name: _numeric(path, name, array) for name, array in arrays.items()}
    t, q = numbers["t"], numbers["q"]
    if t.ndim != 1 or q.ndim != 2 or len(q) != len(t) or len(t) < 2:
        raise BadInput(path, "q", None,
                       f"has shape {q.shape}, t has {t.shape}; (R, J) and (R,) are needed, R at least 2")
    for name in ("qd", "qdd"):
        if name in numbers and numbers[name].shape != q.shape:
            raise BadInput(path, name, None, f"has shape {numbers[name].shape}, q has {q.shape}")
    return Rows(names, t, q, numbers.get("qd"), numbers.get("qdd"))


def _check_archive(path: Path) -> None:
    """Check the unpacked size and the check sums of an NPZ archive. Raise BadInput if the archive is too large,
    BadZipFile and other errors if it is damaged."""
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        if size > LARGEST_FILE:
            raise BadInput(path, "file", None, f"unpacks to {size} bytes: at most {LARGEST_FILE} are read")
        if archive.testzip() is not None:
            raise zipfile.BadZipFile


def _numeric(path: Path, name: str, array: NDArray[Any]) -> Array:
    if array.dtype.kind not in "fiu":
        raise BadInput(path, name, None, f"holds {array.dtype}, numbers are needed")
    if array.size * 8 > LARGEST_FILE:
        raise BadInput(path, name, None, f"holds {array.size} numbers: at most {LARGEST_FILE // 8} are read")
    return _finite(path, name, array.astype(float))


def _finite(path: Path, name: str, array: Array) -> Array:
    if not np.all(np.abs(array) <= LARGEST):
        raise BadInput(path, name, None, f"must be finite numbers, at most {LARGEST:g}")
    return array


def cubic_accelerations(t: Array, q: Array, qd: Array) -> Array:
    """Return the accelerations (R, J) of cubic Hermite pieces at the rows.

    Between two pieces, the value is the mean of both accelerations.
    """
    h = np.diff(t)[:, None]
    slope = np.diff(q, axis=0) / h
    begin, end = (6 * slope - 4 * qd[:-1] - 2 * qd[1:]) / h, (-6 * slope + 2 * qd[:-1] + 4 * qd[1:]) / h
    return np.concatenate([begin[:1], (end[:-1] + begin[1:]) / 2.0, end[-1:]])


READERS = {".yaml": _yaml, ".yml": _yaml, ".json": _json, ".mcap": _mcap, ".npz": _npz}


def write(path: Path, joints: Sequence[str], t: Array, q: Array, qd: Array, qdd: Array,
          modes: Sequence[str] = (), force: bool = False) -> None:
    """Write rows as CSV, or as NPZ if the suffix is .npz. modes: name of the mode at every row. Raise BadInput if the
    suffix is unknown or the file exists. force: replace an existing motion file. Raise OSError if the file cannot be
    written.
    """
    claim(path, MOTION_NPZ if path.suffix.lower() == ".npz" else MOTION, force)
    if path.suffix.lower() == ".npz":
        if len(set(modes)) > 1:
            raise BadInput(path, "output", None, "NPZ has no place for modes", "write .csv")
        with replacing(path) as part:
            np.savez(part, t=t, q=q, qd=qd, qdd=qdd, joints=np.array(joints))
        return
    if path.suffix.lower() != ".csv":
        raise BadInput(path, "output", None, "must end in .csv or .npz")
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        columns = (name + what for name in joints for what in ("", ".vel", ".acc"))
        table.writerow(["t", *["mode"] * bool(modes), *columns])
        for i, time in enumerate(t.tolist()):
            cells = np.stack([q[i], qd[i], qdd[i]], axis=1).ravel().tolist()
            table.writerow([f"{time:.12g}", *modes[i : i + 1], *(f"{x:.12g}" for x in cells)])
