"""Descriptor of a drive family: its properties as data, and its frames as functions.

A family is a package below `femtorque.codegen.drive.families`. The package has a descriptor named FAMILY, and its
folder has the C source of the family. The virtual drive of this family is the package with this name in
`femtorque.hil.drives.families`. `femtorque.codegen.drive.catalogue` finds all families. No code outside its package
names a family."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from femtorque.codegen.common import square
from femtorque.codegen.drive.can import CLASSIC, FD_SIZES, Frame


@dataclass(frozen=True)
class Loop:
    """The position loop inside a servo. duty: per rad of the output, at a P of 1. usual: P that `init` writes. most:
    largest P. doubt: uncertainty of duty, as a fraction."""

    duty: float
    usual: int
    most: int
    doubt: float = 0.0


@dataclass(frozen=True)
class Servo:
    """The motor of a servo whose command is a duty, a current or a goal: a brushed motor, a gear, a one-turn encoder.
    volts: nominal supply voltage, V. R ohm, K N m/A, inertia kg m^2: at the motor. viscous N m s/rad, coulomb N m:
    measured friction at the output. range_v: the maker's lowest and highest supply voltage, V. If range_v is None,
    `supply` ranges from two thirds to four thirds of `volts`. unsafe: the reason if the servo may only use its own
    loop. holds: true if the servo uses this loop."""

    model: int  # number in the servo's model register
    volts: float
    R: float
    K: float
    inertia: float
    gear: float  # turns of the motor per turn of the output
    viscous: float
    coulomb: float
    ampere: float = 0.0  # resolution of the commanded current, A; 0 if the command is a duty
    steps: int = 0  # maximum number of these steps
    logic: float = 0.0  # signal voltage of the bus, V; 0 if not published
    range_v: tuple[float, float] | None = None
    loop: Loop = Loop(0.0, 0, 0)
    unsafe: str = ""
    holds: bool = False

    @property
    def supply(self) -> tuple[float, float]:
        return self.range_v or (self.volts * 2.0 / 3.0, self.volts * 4.0 / 3.0)

    def stiffness(self, gear: float = 1.0) -> float:
        """Return the stiffness of the servo's own loop at a P of 1 and nominal voltage, N m/rad at the joint. gear:
        turns of the output per turn of the joint. `self.gear` does not include this gear."""
        return square(gear) * self.loop.duty * self.volts * self.K * self.gear / self.R


@dataclass(frozen=True)
class DriveType:
    """A type of drive. The drive computes the torque kp (q_d - q) + kd (q_d' - q') + torque; all quantities are at its
    output. position rad, velocity rad/s, torque N m: the fields have the range from -x to x. kp N m/rad, kd N m s/rad:
    the fields have the range from 0 to x. servo: the motor of a servo. For a servo, the no-load speed and the stall
    torque come from the data sheet."""

    name: str
    family: str  # name of its family
    position: float
    velocity: float
    torque: float
    kp: float = 500.0
    kd: float = 5.0
    inertia: float = 0.0  # rotor inertia at the output, kg m^2; 0 if not published
    fd: bool = False  # true if the drive supports CAN FD
    note: str = ""  # differences between published tables
    servo: Servo | None = None

    def behind(self, gear: float) -> DriveType:
        """Return the type with all quantities at a joint that turns once while the output makes `gear` turns."""
        servo = self.servo and replace(self.servo, gear=self.servo.gear * gear, coulomb=self.servo.coulomb * gear,
                                       viscous=self.servo.viscous * square(gear))
        return replace(self, position=self.position / gear, velocity=self.velocity / gear, torque=self.torque * gear,
                       kp=self.kp * square(gear), kd=self.kd * square(gear), inertia=self.inertia * square(gear),
                       servo=servo)


@dataclass(frozen=True)
class Target:
    """Command to a drive, at its output: rad, rad/s, N m/rad, N m s/rad, N m."""

    position: float = 0.0
    velocity: float = 0.0
    kp: float = 0.0
    kd: float = 0.0
    torque: float = 0.0


@dataclass(frozen=True)
class Places:
    """The number format of reported positions: signed, at most 32 bits."""

    top: int = 0  # largest value of a field that spans the position range from - to +
    turn: int = 0  # counts of one turn of the output, if the family reports counts instead of a field
    wraps: bool = False  # true if the counts restart after one turn

    def __post_init__(self) -> None:
        assert bool(self.top) != bool(self.turn), "either a field or counts"
        assert 0 <= self.top < 1 << 31 and 0 <= self.turn < 1 << 31, "no signed number of 32 bits"


@dataclass(frozen=True)
class Register:
    """A register of a drive."""

    name: str
    number: int
    format: str  # B, H, I or f of `struct`

    @property
    def size(self) -> int:
        """Number of bytes."""
        return struct.calcsize(self.format)


@dataclass(frozen=True)
class Fitted:
    """One drive with its settings from a mechanism file. reach: lowest and highest angle of the output, rad; None if
    the zero is not known. For servos only: offset, counts that the servo subtracts; limit, fraction of the supply
    voltage; least, most, range of counts within the servo's position limits; gain, P of the servo's own
    loop, 0 without this loop."""

    type: DriveType
    firmware: str = ""  # required version; empty if any version is allowed
    watchdog: float = 0.0  # time without a command after which the drive stops, s
    offset: int = 0
    limit: float = 1.0
    least: int = 0
    most: int = 0
    gain: int = 0
    placed: bool = False  # true if the joint's position is known at power-up
    closes: bool = False  # true if the drive closes the position loop
    speed: float = 0.0  # maximum speed of the output, rad/s
    reach: tuple[float, float] | None = None


HOLDS = 'with `pd = "drive"` holds its last goal without end, and stays warm'
EQUAL, ALIKE, PLACE, AT_MOST, AT_LEAST = "EQUAL", "ALIKE", "PLACE", "AT_MOST", "AT_LEAST"  # FT_RULE_ in C


@dataclass(frozen=True)
class Setting:
    """A register whose value the board checks before it arms the drive. wanted: returns the required value for a drive,
    in the register's unit; None if any value is allowed. rule: EQUAL; ALIKE, equal within rounding; PLACE, equal to the
    position in the drive's states, without `wanted`; AT_MOST; AT_LEAST, or 0. writes: true if the board corrects a
    wrong value. After a power loss the drive has lost the first register that the board writes. key: for a number that
    the owner chooses, the key in `drive` of the mechanism file, and the function from number to value."""

    register: Register
    wanted: Callable[[Fitted], float | None]
    rule: str = EQUAL
    mask: int = 0xFFFFFFFF  # bits that are compared
    writes: bool = False
    fades: bool = False  # true if a power loss shows first in this register
    loop: bool = False  # true if only a servo's own loop needs this register
    words: Callable[[Fitted], str] | None = None  # text of the required value, if the number is not the text
    shows: Callable[[int], str] | None = None  # text of a number
    key: tuple[str, Callable[[int], float]] | None = None

    def bits(self, fitted: Fitted) -> tuple[int, int]:
        """Return the required number as 32 bits, and the mask of the bits that are compared."""
        wanted = self.wanted(fitted)
        if wanted is None:
            return 0, 0
        if self.register.format == "f":
            return struct.unpack("<I", struct.pack("<f", wanted))[0], self.mask
        return round(wanted) & 0xFFFFFFFF, self.mask

    def number(self, bits: int) -> str:
        """Return the text of a number that the drive reports."""
        if self.shows is not None:
            return self.shows(bits)
        if self.register.format == "f":
            return f"{struct.unpack('<f', bits.to_bytes(4, 'little'))[0]:.6g}"
        return f"{bits & (1 << 8 * self.register.size) - 1:.6g}"

    def must(self, fitted: Fitted) -> str:
        """Return the text of the required number."""
        if self.words is not None:
            return self.words(fitted)
        wanted = self.wanted(fitted)
        return "another" if wanted is None else f"{wanted:g}"


@dataclass(frozen=True)
class Configured:
    """A number of a drive's configuration that the mechanism file determines."""

    name: str
    right: Callable[[Fitted, float], bool]  # returns true if the value is correct
    words: Callable[[Fitted], str]  # text of the correct value
    newer: bool = False  # true if older firmware does not have the number


@dataclass(frozen=True)
class Configuration:
    """The owner's configuration of a drive, which the board cannot read over its bus. The maker's tool prints one line
    with name and value per number. own: names of the owner's numbers, or the beginnings of names up to a dot. The
    mechanism file stores hashes of these numbers."""

    tool: str  # command of the tool, with {ids} for the drives' ids
    number: str  # name of the line with a drive's id
    rules: tuple[Configured, ...]  # numbers that the mechanism file determines
    own: tuple[str, ...]


@dataclass(frozen=True)
class Errors:
    """Names of a drive's errors."""

    names: Mapping[int, str] = field(default_factory=dict)  # {number: name}; if `bits` is true, {bit mask: name}
    bits: bool = False

    def words(self, code: int) -> str:
        """Return the names for an error code; an empty text if there is no error."""
        found = [name for mask, name in self.names.items() if (code & mask if self.bits else code == mask)]
        return ", ".join(found) or (f"error {code}" if code else "")


@dataclass(frozen=True)
class Firmware:
    """Versions of a family's firmware. word, text: functions from a version text to the drive's number, and from the
    number to the text."""

    pattern: str
    example: str
    word: Callable[[str], int]
    text: Callable[[int], str]
    most: int | None = None  # the largest number between two dots


@dataclass(frozen=True)
class Packets:
    """Bytes on a half-duplex bus in a tick, in this order: duties, motor switches if motors are switched, a question,
    all answers."""

    duties: int
    switches: int
    question: int
    answers: int
    pauses: float  # total time of the pauses, s


@dataclass(frozen=True)
class HalfDuplex:
    """A half-duplex bus of servos. out: returns the maximum number of bytes that the board sends in a tick, by the
    number of servos."""

    kind: str  # kind of the [[bus]]
    bitrates: tuple[int, ...]  # bit rates of the servos, the preferred rate first
    packets: Callable[[Sequence[DriveType]], Packets]  # returns the sizes of a tick's packets for these servos
    out: Callable[[int], int]
    prefix: str  # prefix of the C functions for packets
    play: float  # backlash of the output between both stops, rad


@dataclass(frozen=True)
class Family:
    """A family of drives.

    name, title: name in mechanism files and in sentences. reply: returns a drive's factory id of answers; None if
    answers have the drive's own id. answer_id: returns the id of answers, if the drive's id decides it. An id above
    0x7FF has 29 bits. poll: returns the frame that asks for the state, if the family reports its state only on request.
    command: packs a command for a drive, its id and CAN FD or not. velocity_known, torque_known: true if the range can
    be read, or the family has no range. samples: latest sample points for CAN FD that are known to work, as shares of a
    bit, in arbitration and in the data phase. notes: a row of docs/drives.md (ranges read, enabled reported, errors,
    left alone)."""

    name: str
    title: str
    types: tuple[DriveType, ...]  # its drives
    ids: tuple[int, int]  # least and largest id
    places: Places  # numbers of reported positions
    settings: tuple[Setting, ...] = ()  # registers in the order of the questions
    errors: Errors = Errors()  # names of errors
    wire: HalfDuplex | None = None  # the half-duplex wire, or None for CAN
    extended: bool = False  # true if ids have 29 bits
    frame_bytes: int = 8  # size of the longest frame, up to 64; frames of more than 8 bytes need CAN FD
    answer_bytes: int = 8  # size of a state, and of the longest answer to a frame of frame_bytes
    reply: Callable[[int], int] | None = None
    reply_words: str = ""  # `reply` as text
    shares_reply: bool = False  # true if several drives may answer with one id
    answer_id: Callable[[int], int] | None = None
    poll: Callable[[int], Frame] | None = None
    beat: float = 0.0  # longest time between heartbeats, s; heartbeats report errors and whether the drive is enabled
    closes: bool = True  # true if the drive closes the loop; false if it takes a torque from the board's control law
    keeps: bool = True  # true if the drive knows its place within a turn after power-up
    setup: str = ""  # settings that the owner must make, and that the bus cannot read
    untold: str = ""  # text for a drive that answers without its settings
    configuration: Configuration | None = None  # the owner's configuration with kp and kd
    command: Callable[[DriveType, int, Target, bool], Frame] | None = None
    tells: bool = True  # true if states report whether the drive is enabled
    velocity_known: bool = False
    torque_known: bool = False
    alone: str = ""  # behaviour while the board is silent, if the board cannot set this behaviour
    cut: str = ""  # `alone` with [safety.cutoff]
    master: str = "master id"  # name of the register for the id of answers
    firmware: Firmware | None = None
    samples: tuple[float, float] | None = None
    hooks: tuple[str, ...] = ()  # optional functions of the family's C: wake, release, look
    parts: tuple[str, ...] = ()  # shared C sources
    notes: tuple[str, str, str, str] = ("", "", "", "")

    def __post_init__(self) -> None:
        assert self.frame_bytes in FD_SIZES[CLASSIC:], f"frames of {self.frame_bytes} bytes"
        assert (self.poll is None) == (self.beat == 0.0), "states that are asked for, without heartbeats, or both ways"
        assert self.frame_bytes == CLASSIC or all(drive.fd for drive in self.types), "longer frames without CAN FD"

    @property
    def c(self) -> str:
        """The family's name in C and in the names of its folders."""
        return self.name.replace("-", "_")

    @property
    def position_known(self) -> bool:
        """True if the board can detect a wrong position range: from turns, or from a setting with the position."""
        return bool(self.places.turn) or any(s.rule in (ALIKE, PLACE) for s in self.settings)
