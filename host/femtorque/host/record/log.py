"""Logs of a run: MCAP with ROS 2 messages (for Foxglove and PlotJuggler), and CSV with the same numbers.

Every STATUS is written to both files immediately, so a crash of the host loses no data. After the run the MCAP is
packed with compressed chunks, an index for viewers, and a check sum. Log times are seconds of control ticks since the
board's reset. The publish times and the CSV's last column are taken from the host's clock.

The topics are /joint_states (measured values), /joint_states/desired, /torque and /status. With [feel] the log has
/felt (host/record/external_torque.py). A simulated plant adds /joint_states/true, surroundings and contacts
(host/record/surroundings.py). With a known mechanism the log also has the arm (host/record/robot.py). An attachment has
the scene for `femtorque plot` (host/scene)."""

from __future__ import annotations

import csv
import gzip
import json
import math
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from mcap.reader import McapReader, make_reader
from mcap.records import Attachment, Channel, Message, Metadata, Schema
from mcap.writer import CompressionType, Writer as McapWriter
from mcap_ros2.decoder import DecoderFactory
from mcap_ros2.writer import Writer

from femtorque.codegen.common import LOG, LOG_TABLE, Array, BadInput, claim, mcap_file
from femtorque.codegen.control import count as count_of
from femtorque.codegen.drive import family_of
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.wire import Felt, Status, from_wire, messages, state_name
from femtorque.host.link import Configuration
from femtorque.host.record.definitions import definition
from femtorque.host.record.external_torque import FELT, Feeling, FromOutside, from_outside
from femtorque.host.record.robot import animation
from femtorque.host.record.surroundings import CONTACTS, MOVING, Around, moments
from femtorque.host.record.telemetry import tick_budget
from femtorque.host.scene import Moment, Surroundings, Thing, scene

MEASURED, DESIRED, TORQUE, STATUS = "/joint_states", "/joint_states/desired", "/torque", "/status"
TRUE = "/joint_states/true"
TIPS = "/tips/true"  # deflections of flexible links and their slopes
# suffixes of a link's name: deflection, m, and slope, rad, of the link's end in the frame of the link's root
SHAPE = (".y", ".slope_y", ".z", ".slope_z")
METADATA = "femtorque"
CHECK = "crc32"  # check sum of all other metadata
CHUNK = 2**18  # bytes before compression, for about one second of a run; damage to one byte makes one chunk unreadable
ARM = "arm.json.gz"  # name of the attachment with the scene (femtorque.host.scene.description)

_STAMP = definition("\n", "std_msgs/Header", "builtin_interfaces/Time")
_JOINT_STATE = ("std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort"
                + _STAMP)
_TORQUE = "std_msgs/Header header\nstring[] name\nfloat64[] feedforward\nfloat64[] total\nfloat64[] duty" + _STAMP

_ROS_TYPES = {"u8": "uint8", "u16": "uint16", "u32": "uint32", "i32": "int32", "f32": "float32"}
# every scalar of STATUS, by its name
_SCALARS = tuple(f for m in messages.MESSAGES if m.name == "STATUS" for f in m.fields if f.length == 1)
_STATUS = ("std_msgs/Header header\nstring state_name\n"
           + "\n".join(f"{_ROS_TYPES[f.type]} {f.name}" for f in _SCALARS) + _STAMP)
PER_JOINT = ("position", "target", "rate", "target_rate", "torque_ff", "torque", "duty")


# returns positions and velocities (J,) of the plant at a tick; NaN if unknown
Truth = Callable[[int], tuple[Array, Array]]


class Log:
    """Writes RUN.mcap and RUN.status.csv. `write` listens to Session's STATUS, and `write_felt` to FELT."""

    def __init__(self, path: Path, configuration: Configuration, notes: dict[str, Any] | None = None,
                 truth: Truth | None = None, wall: Callable[[], int] = time.time_ns,
                 mechanism: Mechanism | None = None,
                 tips: Callable[[int], dict[str, tuple[float, ...]]] | None = None,
                 surroundings: Surroundings | None = None) -> None:
        """path: path of RUN.mcap. An older log is overwritten, no other file. notes: JSON for the metadata. truth,
        tips, surroundings: data of a simulated plant. wall: returns ns since 1970. mechanism: the arm to be shown.
        Raises BadInput."""
        if path.suffix != ".mcap":
            raise BadInput(path, "log", None, "must end in .mcap",
                           f"write {path.with_suffix('.mcap').name}; a .status.csv comes beside it")
        self.path, self.csv_path = path, table_of(path)
        claim_log(path, force=True)
        self._live = {place: _live(place) for place in (path, self.csv_path)}
        self._configuration = configuration
        self._joints = configuration.joints
        self._truth, self._wall, self._mechanism, self._tips = truth, wall, mechanism, tips
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._live[path].open("wb")
            self._csv_file = self._live[self.csv_path].open("w", newline="", buffering=1, encoding="utf-8")
        except OSError as error:
            raise BadInput(path, "log", None, f"cannot be written ({error.strerror})") from error
        self._csv = csv.writer(self._csv_file)
        self._csv.writerow(columns(self._joints, truth is not None))
        # one message per chunk, so each message is written to the disk immediately
        self._writer = Writer(self._file, chunk_size=1, compression=CompressionType.NONE)
        described = {
            "mechanism": configuration.name, "board": configuration.board, "digest": configuration.digest.hex(),
            "rate_hz": str(configuration.rate_hz), "knot_hz": str(configuration.knot_hz),
            "joints": json.dumps([[j.name, j.type] for j in self._joints]), "notes": json.dumps(notes or {}),
            "facts": json.dumps([_facts(configuration, j) for j in range(len(self._joints))]),
            "budget": json.dumps(tick_budget(configuration)), "outputs": json.dumps(configuration.outputs),
            "begun": datetime.fromtimestamp(wall() / 1e9).astimezone().isoformat(timespec="seconds")}
        self._writer.add_metadata(METADATA, described | {CHECK: _check(described)})
        self._schemas = {
            MEASURED: self._writer.register_msgdef("sensor_msgs/msg/JointState", _JOINT_STATE),
            TORQUE: self._writer.register_msgdef("femtorque_msgs/msg/Torque", _TORQUE),
            STATUS: self._writer.register_msgdef("femtorque_msgs/msg/Status", _STATUS)}
        self._around = None if surroundings is None else Around(surroundings, mechanism, self._writer)
        self._feeling = Feeling([j.name for j in self._joints], self._writer)
        self._schemas[DESIRED] = self._schemas[TRUE] = self._schemas[TIPS] = self._schemas[MEASURED]
        self._tick = 0  # tick of the last STATUS; continuous when the board's counter wraps
        self._sequence = 0

    def write(self, status: Status) -> None:
        """Write one STATUS into both files. Raises OSError that names the log."""
        with _named(self.path):
            self._write(status)

    def _write(self, status: Status) -> None:
        self._tick += (status.tick - self._tick) & 0xFFFFFFFF
        stamp_ns = self._tick * 1_000_000_000 // self._configuration.rate_hz
        names = [j.name for j in self._joints]
        header = {"stamp": {"sec": stamp_ns // 10**9, "nanosec": stamp_ns % 10**9}, "frame_id": ""}
        position, target = from_wire(status.position, self._joints), from_wire(status.target, self._joints)
        now = self._wall()

        def put(topic: str, **fields: Any) -> None:
            self._writer.write_message(topic, self._schemas[topic], {"header": header, **fields},
                                       log_time=stamp_ns, publish_time=now, sequence=self._sequence)

        put(MEASURED, name=names, position=position.tolist(), velocity=list(status.rate), effort=list(status.torque))
        put(DESIRED, name=names, position=target.tolist(), velocity=list(status.target_rate),
            effort=list(status.torque_ff))
        if self._truth is not None:
            true, rate = self._truth(status.tick)
            put(TRUE, name=names, position=true.tolist(), velocity=rate.tolist(), effort=[])
        if bent := self._tips and self._tips(status.tick):
            put(TIPS, name=[link + part for link in bent for part in ("", *SHAPE)],
                position=[x for values in bent.values() for x in values], velocity=[], effort=[])
        if self._around is not None:
            self._around.write(status.tick, stamp_ns, now)
        put(TORQUE, name=names, feedforward=list(status.torque_ff), total=list(status.torque), duty=list(status.duty))
        put(STATUS, state_name=state_name(status), **{f.name: getattr(status, f.name) for f in _SCALARS})
        self._file.flush()
        self._sequence += 1

        row: list[Any] = [f"{stamp_ns / 1e9:.6f}", state_name(status)] + [getattr(status, f.name) for f in _SCALARS]
        for j in range(len(self._joints)):
            row += [f"{position[j]:.10g}", f"{target[j]:.10g}"]
            row += [f"{getattr(status, name)[j]:.9g}" for name in PER_JOINT[2:]]
            row += [f"{true[j]:.10g}"] if self._truth is not None else []
        self._csv.writerow([*row, f"{now / 1e9:.3f}"])

    def write_felt(self, felt: Felt) -> None:
        """Write one FELT into the MCAP. Raises OSError with the log's name."""
        tick = self._tick + ((felt.tick - self._tick + 2**31) & 0xFFFFFFFF) - 2**31
        with _named(self.path):
            self._feeling.write(felt, max(tick, 0) * 1_000_000_000 // self._configuration.rate_hz, self._wall())

    def close(self) -> None:
        self.finish()
        self.pack()

    def finish(self) -> None:
        """End both files quickly, because a board may be waiting."""
        with _named(self.path):
            self._writer.finish()
            self._file.close()
            self._csv_file.close()
        for place, live in self._live.items():
            if live != place:
                live.replace(place)

    def pack(self) -> None:
        """Compress the MCAP and add the arm's description. Takes up to seconds. Call once, after `finish`."""
        _pack(self.path, self._mechanism, () if self._around is None else self._around.things)

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Add the file's name to an OSError, e.g. of a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def table_of(path: Path) -> Path:
    """Return the path of the log's table: .status.csv, which a user's motion file is unlikely to have."""
    return path.with_suffix(".status.csv")


def claim_log(path: Path, force: bool = False) -> None:
    """Raise BadInput if a log or its table would destroy a file. force: older logs may be replaced."""
    claim(path, LOG, force)
    claim(table_of(path), LOG_TABLE, force)


def _live(place: Path) -> Path:
    """Return the path of the file that is written during the run. An older log stays in place. Raises BadInput."""
    if not place.is_file():
        return place
    beside = place.with_stem(f"{place.stem}.new")
    if beside.exists():
        raise BadInput(beside, "log", None, "exists already, from an interrupted run",
                       "move it away, or remove it")
    return beside


def _pack(path: Path, mechanism: Mechanism | None, things: Sequence[Thing]) -> None:
    """Rewrite the records in compressed, indexed chunks with the links' frames. On a full disk nothing changes."""
    packed = path.with_suffix(".packed")
    try:
        with path.open("rb") as source, packed.open("wb") as target:
            reader, writer = make_reader(source), McapWriter(target, chunk_size=CHUNK, enable_data_crcs=True)
            writer.start(profile="ros2", library="femtorque")
            for metadata in reader.iter_metadata():
                writer.add_metadata(metadata.name, metadata.metadata)
            _copy(reader, writer)
            if mechanism is not None:
                _show(mechanism, things, path, writer)
            writer.finish()
        packed.replace(path)
    except OSError:
        pass
    finally:
        packed.unlink(missing_ok=True)  # if packing failed


def _show(mechanism: Mechanism, things: Sequence[Thing], path: Path, writer: McapWriter) -> None:
    """Write the description of the arm, for ROS 2 viewers and for the page."""
    arm = animation(mechanism, *_measured(path))
    if arm is not None:
        _copy(make_reader(arm), writer)
    drawn = json.dumps(scene(mechanism, things), separators=(",", ":")).encode()
    writer.add_attachment(0, 0, ARM, "application/gzip", gzip.compress(drawn, mtime=0))


def _copy(reader: McapReader, writer: McapWriter) -> None:
    ids: dict[int, int] = {}
    for schema, channel, message in reader.iter_messages(log_time_order=False):
        if channel.id not in ids:
            assert schema is not None  # the writer gives every channel a schema
            kind = writer.register_schema(schema.name, schema.encoding, schema.data)
            ids[channel.id] = writer.register_channel(channel.topic, channel.message_encoding, kind)
        writer.add_message(ids[channel.id], message.log_time, message.data, message.publish_time, message.sequence)


def _measured(path: Path) -> tuple[list[int], Array]:
    """Return times, ns, and positions (T, J) of a log."""
    with path.open("rb") as file:
        found = [(message.log_time, decoded.position) for _, _, message, decoded in make_reader(
            file, decoder_factories=[DecoderFactory()]).iter_decoded_messages(topics=[MEASURED])]
    return [t for t, _ in found], np.array([q for _, q in found])


FACTS = ("ku", "kv", "count", "effort", "velocity", "viscous", "coulomb", "age", "play", "old", "loop")
BUS_AGE = 2.0  # maximum age of a position from a bus, ticks; the request for the position was sent one tick earlier


def _facts(configuration: Configuration, j: int) -> list[float | None]:
    """Return facts of a joint in the order of FACTS; None if unknown. count: size of an encoder count, rad or m. age,
    old: maximum and typical age of a position, s. play: backlash at the joint, rad. loop: doubt of a servo's gain."""
    joint = configuration.joints[j]
    encoder, drive, count, age = joint.encoder, joint.drive, math.inf, 0.0
    if encoder is not None and joint.type != "prismatic":
        turns = abs(joint.motor.gear) if encoder.at == "motor" and joint.motor else 1.0
        count = 2.0 * math.pi / (encoder.counts * turns)
    if drive is not None:
        count, age = abs(count_of(drive)), BUS_AGE / configuration.rate_hz
    wire = family_of(drive.type).wire if drive is not None else None
    play = wire.play / drive.gear if drive is not None and wire is not None else 0.0
    if drive is not None and drive.servo is not None and drive.servo.play is not None:
        play = drive.servo.play
    ku, kv = (joint.gains.ku, joint.gains.kv) if configuration.source else (math.nan, math.nan)
    loop = drive.type.servo.loop.doubt if drive and drive.type.servo and drive.pd == "drive" else 0.0
    values = (ku, kv, count, joint.limits.effort, joint.limits.velocity, joint.friction.viscous,
              joint.friction.coulomb, age, play, configuration.ages[j] if configuration.ages else 0.0, loop)
    return [float(x) if math.isfinite(x) else None for x in values]


def columns(joints: tuple[Joint, ...], truth: bool = False) -> list[str]:
    """Return the names of the CSV's columns. truth: include the plant's columns."""
    each = (*PER_JOINT, "true") if truth else PER_JOINT
    return ["t", "state_name", *(f.name for f in _SCALARS), *(f"{j.name}.{n}" for j in joints for n in each),
            "unix_time"]


@dataclass(frozen=True)
class Run:
    """Content of a log with S samples and J joints, in SI units. error: desired - measured, on the shorter way around.
    true: positions of a simulated plant. arm: None in old or unfinished logs, and without a mechanism file."""

    mechanism: str
    digest: str
    rate_hz: int
    knot_hz: int
    joints: tuple[str, ...]
    prismatic: tuple[bool, ...]
    notes: dict[str, Any]
    t: Array  # (S,) s since the board's reset
    position: Array  # (S, J)
    target: Array
    rate: Array
    target_rate: Array
    torque_ff: Array
    torque: Array
    duty: Array
    state: tuple[str, ...]
    scalars: dict[str, Array]  # every plain number of STATUS, (S,)
    facts: dict[str, Array]  # by FACTS, each (J,); NaN: unknown
    budget: int | None  # cycles from one control tick to the next
    true: Array | None = None  # (S, J); rows of NaN where the position is unknown
    unix_time: Array | None = None  # (S,) host's clock when the row was written, s since 1970
    begun: str = ""  # date and time with offset, ISO 8601; empty in old logs
    arm: dict[str, Any] | None = None  # the page's scene (femtorque.host.scene.description)
    # flexible link: times (T,), s since reset, and deflections (T, ...), m
    tips: dict[str, tuple[Array, Array]] = field(default_factory=dict)
    # flexible link: times (T,), s since reset, and the columns of SHAPE (T, 4)
    shapes: dict[str, tuple[Array, Array]] = field(default_factory=dict)
    around: tuple[tuple[float, Moment], ...] = ()  # (s since reset, surroundings of a simulated arm)
    outside: FromOutside | None = None  # external torques; None without [feel]
    damage: str = ""  # position and reason of the end, if the log could not be read to its end
    outputs: bool = True  # False if the board only computes torques

    @property
    def error(self) -> Array:
        """Desired - measured (S, J), at the time of the measurement."""
        return self._short_way(self.target - self.gone - self.position)

    @property
    def gone(self) -> Array:
        """Motion (S, J) of the target between the position's measurement and the report."""
        return np.asarray(np.nan_to_num(self.facts["old"]) * self.target_rate)

    @property
    def true_error(self) -> Array:
        """Desired - true (S, J), NaN if unknown."""
        return np.full_like(self.target, np.nan) if self.true is None else self._short_way(self.target - self.true)

    def _short_way(self, difference: Array) -> Array:
        return np.where(self.prismatic, difference, (difference + np.pi) % (2.0 * np.pi) - np.pi)


def read_log(path: Path) -> Run:
    """Read an MCAP log, as far as it is whole. The run's `damage` describes the rest. Raises BadInput."""
    if not path.is_file():
        raise BadInput(path, "log", None, "is a directory" if path.is_dir() else "does not exist")
    about: dict[str, str] | None = None
    arm: dict[str, Any] | None = None
    topics: dict[str, list[Any]] = {MEASURED: [], DESIRED: [], TORQUE: [], STATUS: [], TRUE: [], TIPS: [], MOVING: [],
                                    CONTACTS: [], FELT: []}
    written: list[int] = []  # publish times of STATUS
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    decoders: dict[int, Any] = {}
    factory, damage = DecoderFactory(), ""
    try:
        for record, held in mcap_file.records(path):
            if isinstance(record, Metadata) and record.name == METADATA:
                about = record.metadata
            elif isinstance(record, Attachment) and record.name == ARM:
                arm = _drawn(record.data) if held else None
            elif isinstance(record, Schema) and held:
                schemas[record.id] = record
            elif isinstance(record, Channel) and held:
                channels[record.id] = record
            elif isinstance(record, Message) and held:
                channel = channels[record.channel_id]
                if channel.topic in topics:
                    if channel.id not in decoders:
                        decoders[channel.id] = factory.decoder_for(
                            channel.message_encoding, schemas[channel.schema_id])
                    topics[channel.topic].append((record.log_time, decoders[channel.id](record.data)))
                if channel.topic == STATUS:
                    written.append(record.publish_time)
    except mcap_file.Damaged as error:
        damage = str(error)
    except BadInput:
        raise
    except Exception as error:  # decoders may raise any exception for foreign files
        raise BadInput(path, "log", None, f"holds messages that cannot be read ({type(error).__name__})") from None
    tips, moving, contacts, felt = (topics.pop(topic) for topic in (TIPS, MOVING, CONTACTS, FELT))
    if not topics[TRUE]:
        del topics[TRUE]
    count = min(map(len, topics.values()))
    if about is not None and about.get(CHECK, check := _check(about)) != check:
        about, damage = None, damage or "is damaged: the check sum of its description does not hold"
    if about is None or count == 0:
        why = f"{damage}; no complete sample is before that" if damage else "holds no run of femtorque"
        raise BadInput(path, "log", None, why, "give the .mcap that `femtorque stream --log` wrote")
    try:
        return _run(about, {topic: rows[:count] for topic, rows in topics.items()},
                    np.array(written[:count], float) / 1e9, arm, tips, moments(moving, contacts), from_outside(felt),
                    damage)
    except Exception as error:  # a damaged description may raise any exception
        raise BadInput(path, "log", None, f"has a description that cannot be read ({type(error).__name__})") from None


def _check(about: dict[str, str]) -> str:
    """Return the check sum of a log's metadata, which MCAP does not protect."""
    return str(zlib.crc32(json.dumps(sorted(item for item in about.items() if item[0] != CHECK)).encode()))


def _drawn(data: bytes) -> dict[str, Any] | None:
    """Return a page's scene; None if damaged."""
    try:
        found = json.loads(gzip.decompress(data))
    except (OSError, EOFError, ValueError, zlib.error):
        return None
    return found if isinstance(found, dict) else None


def _bent(tips: list[Any]) -> tuple[dict[str, tuple[Array, Array]], dict[str, tuple[Array, Array]]]:
    """Return the deflections of flexible links, and their shapes; old logs have no shapes."""
    names = list(tips[0][1].name) if tips else []
    t, rows = np.array([at for at, _ in tips], float) / 1e9, np.array([m.position for _, m in tips], float)
    links = [name for name in names if not any(name == link + part for link in names for part in SHAPE)]
    return ({link: (t, rows[:, names.index(link)]) for link in links},
            {link: (t, rows[:, [names.index(link + part) for part in SHAPE]]) for link in links
             if all(link + part in names for part in SHAPE)})


def _run(about: dict[str, str], topics: dict[str, list[Any]], unix_time: Array, arm: dict[str, Any] | None,
         tips: list[Any], around: tuple[tuple[float, Moment], ...], felt: FromOutside | None, damage: str) -> Run:
    def column(topic: str, name: str) -> Array:
        return np.array([getattr(m, name) for _, m in topics[topic]], float)

    joints = json.loads(about["joints"])
    told = json.loads(about["facts"]) if "facts" in about else [[]] * len(joints)
    facts = np.array([[*row, *[None] * (len(FACTS) - len(row))] for row in told], float)  # old logs have fewer
    return Run(
        about["mechanism"], about["digest"], int(about["rate_hz"]), int(about["knot_hz"]),
        tuple(name for name, _ in joints), tuple(kind == "prismatic" for _, kind in joints), json.loads(about["notes"]),
        np.array([stamp for stamp, _ in topics[STATUS]], float) / 1e9,
        column(MEASURED, "position"), column(DESIRED, "position"),
        column(MEASURED, "velocity"), column(DESIRED, "velocity"),
        column(TORQUE, "feedforward"), column(TORQUE, "total"), column(TORQUE, "duty"),
        tuple(m.state_name for _, m in topics[STATUS]),
        {f.name: column(STATUS, f.name) for f in _SCALARS},
        dict(zip(FACTS, facts.T, strict=True)), json.loads(about.get("budget", "null")),
        column(TRUE, "position") if TRUE in topics else None, unix_time if about.get("begun") else None,
        about.get("begun", ""), arm,
        *_bent(tips), around, felt, damage, json.loads(about.get("outputs", "true")))
