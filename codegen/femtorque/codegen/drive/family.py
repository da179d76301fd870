"""The descriptor of a family of drives: all that femtorque must know of one, as data and as functions of frames.

A family is a package below `femtorque.codegen.drive.families`, whose FAMILY is one of these and whose folder has its C;
its virtual drive is the package of the same name below `femtorque.hil.drives.families`.
`femtorque.codegen.drive.catalogue` finds them; nothing else names one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from femtorque.codegen.common import square
from femtorque.codegen.drive.can import CLASSIC, FD_SIZES, Frame


@dataclass(frozen=True)
class Servo:
    """The inside of a servo that takes a duty or a current: a brushed motor, its gear, an encoder of one turn.

    model: as its register has it. volts: nominal. R ohm, K N m/A and rotor kg m^2 (inertia) at the motor; gear: its
    turns per turn of the output. viscous N m s/rad, coulomb N m: friction at the output, as it was measured. ampere: A
    of a step of the current that it takes, and steps that it takes at most; 0: it takes a duty. logic: V of its wire;
    0: not published. supply: V, from and to, as its maker has it; a third below and above `volts` where no range of its
    maker was found.
    """

    model: int
    volts: float
    R: float
    K: float
    inertia: float
    gear: float
    viscous: float
    coulomb: float
    ampere: float = 0.0
    steps: int = 0
    logic: float = 0.0
    range_v: tuple[float, float] | None = None

    @property
    def supply(self) -> tuple[float, float]:
        return self.range_v or (self.volts * 2.0 / 3.0, self.volts * 4.0 / 3.0)


@dataclass(frozen=True)
class DriveType:
    """One drive that closes kp (q_d - q) + kd (q_d' - q') + torque itself; all at its output.

    family: its name. position rad, velocity rad/s, torque N m: fields go from - to + that. kp N m/rad, kd N m s/rad:
    from 0 to that. inertia kg m^2: of its rotor, 0 where nothing is published. fd: whether it speaks CAN FD. note:
    where published tables differ. servo: the inside of a servo, which closes no loop; velocity and torque are then
    those of its data sheet, without load and at stall.
    """

    name: str
    family: str
    position: float
    velocity: float
    torque: float
    kp: float = 500.0
    kd: float = 5.0
    inertia: float = 0.0
    fd: bool = False
    note: str = ""
    servo: Servo | None = None

    def behind(self, gear: float) -> DriveType:
        """Type of the same drive at a joint that makes one turn while the output makes `gear` turns."""
        servo = self.servo and replace(self.servo, gear=self.servo.gear * gear, coulomb=self.servo.coulomb * gear,
                                       viscous=self.servo.viscous * square(gear))
        return replace(self, position=self.position / gear, velocity=self.velocity / gear, torque=self.torque * gear,
                       kp=self.kp * square(gear), kd=self.kd * square(gear), inertia=self.inertia * square(gear),
                       servo=servo)


@dataclass(frozen=True)
class Target:
    """A command to a drive, at its output: rad, rad/s, N m/rad, N m s/rad, N m."""

    position: float = 0.0
    velocity: float = 0.0
    kp: float = 0.0
    kd: float = 0.0
    torque: float = 0.0


@dataclass(frozen=True)
class State:
    """A drive's report of itself: rad, rad/s, N m, °C where it has them, a fault's name or none."""

    id: int
    position: float
    velocity: float
    torque: float
    temperature: float | None = None
    fault: str = ""


@dataclass(frozen=True)
class Places:
    """The numbers of reported positions: signed, of 32 bits at most.

    top: the last number of a field over the drive's range of position, from - to +. turn: counts of a turn of the
    output, of a family that counts instead; wraps: whether they begin again after one turn.
    """

    top: int = 0
    turn: int = 0
    wraps: bool = False

    def __post_init__(self) -> None:
        assert bool(self.top) != bool(self.turn), "either a field or counts"
        assert 0 <= self.top < 1 << 31 and 0 <= self.turn < 1 << 31, "no signed number of 32 bits"


@dataclass(frozen=True)
class Register:
    """A number that a drive has: `format` of struct, B, H, I or f."""

    name: str
    number: int
    format: str
    meaning: str

    @property
    def size(self) -> int:
        """Bytes."""
        return struct.calcsize(self.format)


@dataclass(frozen=True)
class Fitted:
    """One drive as a mechanism file fits it. firmware: the version that it must have; empty: any. watchdog: s without
    a command after which it stops. placed: its joint has its position at power-up. closes: it closes the loop. speed:
    rad/s of its output, at most; reach: rad of it, between which its joint goes, None where its zero is not known. A
    servo has besides: offset, counts that it takes off; limit, share of its supply; least and most, counts between
    which its own limits must leave it free."""

    type: DriveType
    firmware: str = ""
    watchdog: float = 0.0
    offset: int = 0
    limit: float = 1.0
    least: int = 0
    most: int = 0
    placed: bool = False
    closes: bool = False
    speed: float = 0.0
    reach: tuple[float, float] | None = None


EQUAL, ALIKE, PLACE, AT_MOST, AT_LEAST = "EQUAL", "ALIKE", "PLACE", "AT_MOST", "AT_LEAST"  # FT_RULE_ in C


@dataclass(frozen=True)
class Setting:
    """A register that must be right before the drive is armed, and what right is.

    wanted: of a drive, in the register's own unit; None: any value is right. rule: EQUAL; ALIKE, of a range, to
    rounding; PLACE, where the states have the drive (wanted is not asked then); AT_MOST; AT_LEAST, or 0. mask: bits
    that count. writes: the board writes it where it is another; the first of these a drive forgets without power.
    words: the wanted value, where it is not the number. shows: a number in words. key: of the mechanism file's `drive`,
    and its value of a number, where the number is the owner's to choose.
    """

    register: Register
    wanted: Callable[[Fitted], float | None]
    rule: str = EQUAL
    mask: int = 0xFFFFFFFF
    writes: bool = False
    words: Callable[[Fitted], str] | None = None
    shows: Callable[[int], str] | None = None
    key: tuple[str, Callable[[int], float]] | None = None

    def bits(self, fitted: Fitted) -> tuple[int, int]:
        """The wanted number as 32 bits, and which of them count."""
        wanted = self.wanted(fitted)
        if wanted is None:
            return 0, 0
        if self.register.format == "f":
            return struct.unpack("<I", struct.pack("<f", wanted))[0], self.mask
        return round(wanted) & 0xFFFFFFFF, self.mask

    def number(self, bits: int) -> str:
        """Words for the number that a drive has."""
        if self.shows is not None:
            return self.shows(bits)
        if self.register.format == "f":
            return f"{struct.unpack('<f', bits.to_bytes(4, 'little'))[0]:.6g}"
        return f"{bits & (1 << 8 * self.register.size) - 1:.6g}"

    def must(self, fitted: Fitted) -> str:
        """Words for the wanted number."""
        if self.words is not None:
            return self.words(fitted)
        wanted = self.wanted(fitted)
        return "another" if wanted is None else f"{wanted:g}"


@dataclass(frozen=True)
class Configured:
    """A number of a drive's configuration that follows from the mechanism file. right: of a drive; words: what is.
    newer: older firmware has no such number, and needs none."""

    name: str
    right: Callable[[Fitted, float], bool]
    words: Callable[[Fitted], str]
    newer: bool = False


@dataclass(frozen=True)
class Configuration:
    """The owner's configuration of a drive, which nobody can ask for over the board's bus: the maker's tool prints
    lines of a name and a value.

    tool: prints it, {ids} being those of drives. number: name of the line with a drive's id. rules: what the file
    decides. own: names of what is the owner's, or what they begin with before a dot: held by marks in the file.
    """

    tool: str
    number: str
    rules: tuple[Configured, ...]
    own: tuple[str, ...]


@dataclass(frozen=True)
class Errors:
    """Names of a drive's error numbers, or of their bits: a name a mask."""

    names: Mapping[int, str] = field(default_factory=dict)
    bits: bool = False

    def words(self, code: int) -> str:
        """Empty for none."""
        found = [name for mask, name in self.names.items() if (code & mask if self.bits else code == mask)]
        return ", ".join(found) or (f"error {code}" if code else "")


@dataclass(frozen=True)
class Firmware:
    """Writing of a family's versions: a pattern, an example, the number that a drive has, both ways. most: the largest
    number between two dots."""

    pattern: str
    example: str
    word: Callable[[str], int]
    text: Callable[[int], str]
    most: int | None = None


@dataclass(frozen=True)
class Packets:
    """Bytes on a half-duplex wire in a tick: duties first, then switches where motors are switched, a question, all
    answers; and s of pauses beside them."""

    duties: int
    switches: int
    question: int
    answers: int
    pauses: float


@dataclass(frozen=True)
class HalfDuplex:
    """One wire of servos. kind: of a [[bus]]. bitrates: its drives', for a new file the first that the board makes.
    packets: of these servos. out: bytes that the board sends in a tick to so many, at most. prefix: of its packets in
    C. play: rad of the output, from one side to the other."""

    kind: str
    bitrates: tuple[int, ...]
    packets: Callable[[Sequence[DriveType]], Packets]
    out: Callable[[int], int]
    prefix: str
    play: float


@dataclass(frozen=True)
class Family:
    """A family of drives.

    name: in mechanism files; title: in sentences. types: its drives. wire: None: CAN. ids: least and largest. extended:
    of 29 bits. frame_bytes: the longest frame, up to 64 bytes; one of more than 8 goes over CAN FD alone. reply: the id
    of what a drive of an id sends as it comes; None: no id of its own. reply_words: the same in words. shares_reply:
    several drives may answer with one id. answer_id: of its answers, where that follows from its own id and nobody can
    set it; above 0x7FF it has 29 bits. command: packs one for a drive, its id and a bus, CAN FD or not; answer_bytes:
    of a state, and of the longest answer to a frame of frame_bytes. poll: the frame that asks one for its state, of a
    family that reports it only then; beat: s, at most, between its heartbeats, which report whether it is enabled, and
    its errors. closes: it closes the loop; else it takes a torque, and the board's law alone closes it. keeps:
    after power-up it knows where it is within a turn. setup: its owner must have set this, which nobody can ask for on
    the bus. configuration: its owner's, its kp and kd in it, which nobody can ask for on the bus. tells: states say
    whether the drive is enabled. velocity_known: whether its range of velocity is known, being asked for or being none.
    torque_known: the same of its torque. settings: in the order in which they are asked. untold: words for one that
    answers, and reports none of these. left_out: beginnings of names of types that are refused, and why. alone: what
    it does when the board is silent, where that is not the board's to
    set; cut: the same where [safety.cutoff] cuts its supply. master: its register for the id of what it sends, in
    words. samples: sample points of CAN FD that its drives ask for, shares of a bit of arbitration and of the data
    phase; no later ones are known to be heard. hooks: functions of its C beside the usual: wake, release, look. parts:
    sources in C that it shares. notes: a row of docs/drives.md (asked for its ranges, reports that it is on, its
    errors, left alone).
    """

    name: str
    title: str
    types: tuple[DriveType, ...]
    ids: tuple[int, int]
    places: Places
    settings: tuple[Setting, ...] = ()
    errors: Errors = Errors()
    wire: HalfDuplex | None = None
    extended: bool = False
    frame_bytes: int = 8
    answer_bytes: int = 8
    reply: Callable[[int], int] | None = None
    reply_words: str = ""
    shares_reply: bool = False
    answer_id: Callable[[int], int] | None = None
    poll: Callable[[int], Frame] | None = None
    beat: float = 0.0
    closes: bool = True
    keeps: bool = True
    setup: str = ""
    untold: str = ""
    configuration: Configuration | None = None
    command: Callable[[DriveType, int, Target, bool], Frame] | None = None
    tells: bool = True
    velocity_known: bool = False
    torque_known: bool = False
    alone: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    cut: str = ""
    master: str = "master id"
    firmware: Firmware | None = None
    samples: tuple[float, float] | None = None
    hooks: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    notes: tuple[str, str, str, str] = ("", "", "", "")

    def __post_init__(self) -> None:
        assert self.frame_bytes in FD_SIZES[CLASSIC:], f"frames of {self.frame_bytes} bytes"
        assert (self.poll is None) == (self.beat == 0.0), "states that are asked for, without heartbeats, or both ways"
        assert self.frame_bytes == CLASSIC or all(drive.fd for drive in self.types), "longer frames without CAN FD"

    @property
    def c(self) -> str:
        """Its name in C, and of its folders."""
        return self.name.replace("-", "_")

    @property
    def position_known(self) -> bool:
        """True if a wrong range of position would show: the family counts turns, or a setting says where it is."""
        return bool(self.places.turn) or any(s.rule in (ALIKE, PLACE) for s in self.settings)
