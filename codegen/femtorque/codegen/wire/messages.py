"""The messages of the serial protocol: one class per message, and tables of states, faults and refusals. The codec and
the emitted C are derived from these classes and tables.

Frame, before COBS stuffing and a closing zero byte, little endian:

    type u8 | seq u16 | tag u16 | payload | crc32 u32        (CRC-32 of zlib over everything before it)

`tag` is the first two bytes of the configuration's digest, big endian. HELLO, IDENT and ABOUT are valid under any tag.
Host and board can thus find out that their configurations differ. `seq` orders KNOTs. Lost knots are repeated by
go-back-N: STATUS.ack is the seq of the knot that the board expects next. In all other messages `seq` is 0. The host
repeats a message with a token until STATUS.command_token equals the token. The board executes the message once per
token. CAPTURE and READ cause no motion. The board answers both with DATA."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, cast

PROTOCOL = 9  # must be incremented with every change of the frame or of a message

J = "J"  # an array with one element per joint
BUSES = 3  # maximum number of drives in DRIVES
FAULT_NUMBERS = 64  # length of an array in ABOUT; all numbers in FAULTS are smaller


@dataclass(frozen=True)
class Field:
    """A field. type: u8 u16 u32 i32 i64 f32. length: 1, a number, or J for one value per joint."""

    name: str
    type: str
    doc: str
    length: int | str = 1


@dataclass(frozen=True)
class Message:
    """A row of the message table: name, number and direction of a message, and its fields in byte order."""

    name: str
    type: int
    to: str  # "board" | "host"
    doc: str
    fields: tuple[Field, ...] = ()


class Payload:
    """Base of the messages. A message is a frozen dataclass. The fields of a message are numbers, sequences of numbers
    (tuples in received messages) and bytes. NAME: name in capitals, as in C and in the documentation. type: number of
    the message. to: "board" or "host"."""

    NAME: ClassVar[str]
    TYPE: ClassVar[int]
    TO: ClassVar[str]

    def __init_subclass__(cls, type: int, to: str) -> None:
        cls.NAME, cls.TYPE, cls.TO = cls.__name__.upper(), type, to
        CLASSES[cls.NAME] = cls


CLASSES: dict[str, type[Payload]] = {}  # by name, in the order of the table


def wire(type: str, doc: str, length: int | str = 1) -> Any:
    """Return a field of a message. The default is zero, or empty for a field with one value per joint."""
    return field(default=_empty(type, length), metadata={"type": type, "doc": doc, "length": length})


def _empty(type: str, length: int | str) -> Any:
    number = 0.0 if type == "f32" else 0
    if length == 1:
        return number
    count = 0 if length == J else int(length)
    return bytes(count) if type == "u8" else (number,) * count


@dataclass(frozen=True)
class Hello(Payload, type=1, to="board"):
    """Ask for IDENT and ABOUT. Any tag is valid."""


@dataclass(frozen=True)
class Knot(Payload, type=2, to="board"):
    """One knot of the trajectory. A knot's sequence number gives its order."""

    flags: int = wire("u8", "bit 0 START: first knot; bit 1 END: last knot; bits 4..7: mode from this knot on")
    position: Sequence[int] = wire("i64", "2^-32 turn (revolute), 2^-28 m (prismatic); whole turns count", J)
    rate: Sequence[float] = wire("f32", "rad/s or m/s", J)
    acceleration: Sequence[float] = wire("f32", "rad/s^2 or m/s^2", J)


@dataclass(frozen=True)
class Command(Payload, type=3, to="board"):
    """One command. The board executes the message once for each new token."""

    token: int = wire("u8", "1..255, changes with every new command")
    command: int = wire("u8", "one of COMMANDS")


@dataclass(frozen=True)
class Home(Payload, type=4, to="board"):
    """Define the present position of the joints. The joints are then homed. HOME is possible only in the state
    DISARMED."""

    token: int = wire("u8", "as in COMMAND")
    position: Sequence[int] = wire("i64", "as in KNOT", J)


@dataclass(frozen=True)
class Poll(Payload, type=5, to="board"):
    """Show that the host still runs. The host sends POLL if it has no other message to send."""


@dataclass(frozen=True)
class Sense(Payload, type=6, to="board"):
    """Compute one control tick of a processor-in-the-loop image with these encoder counts. The board answers with
    STATUS and DRIVE."""

    tick: int = wire("u32", "the tick to run; the board runs only the next tick, and otherwise only answers")
    counts: Sequence[int] = wire("i32", "encoder counts since the plant's start; wraps", J)


@dataclass(frozen=True)
class Float(Payload, type=7, to="board"):
    """HOLD -> FLOAT: support the arm's weight, so that a person can guide the arm by hand."""

    token: int = wire("u8", "as in COMMAND")
    friction: int = wire("u8", "compensated Coulomb friction, per cent, at most 80")


@dataclass(frozen=True)
class Jog(Payload, type=8, to="board"):
    """HOLD or JOG -> JOG: move one joint while the host repeats this message with new tokens."""

    token: int = wire("u8", "as in COMMAND")
    joint: int = wire("u8", "its number")
    rate: float = wire("f32", "rad/s or m/s, bounded by the joint's jog rate")


@dataclass(frozen=True)
class Seek(Payload, type=9, to="board"):
    """DISARMED or HOMING -> HOMING: search for one joint's zero with its encoder's method."""

    token: int = wire("u8", "as in COMMAND")
    joint: int = wire("u8", "its number")


@dataclass(frozen=True)
class Probe(Payload, type=10, to="board"):
    """DISARMED or PROBE -> PROBE: apply a small torque to one joint while the host repeats this message with new
    tokens. All other joints have zero torque."""

    token: int = wire("u8", "as in COMMAND")
    joint: int = wire("u8", "its number")
    torque: float = wire("f32", "N m or N, bounded by the joint's probe torque; 0 in the first PROBE, while DISARMED")


@dataclass(frozen=True)
class Gains(Payload, type=11, to="board"):
    """Change one joint's gains by a factor within the limits in the file. GAINS is possible in the states DISARMED and
    HOLD."""

    token: int = wire("u8", "as in COMMAND")
    joint: int = wire("u8", "its number")
    ku: int = wire("u8", "64ths of the file's ku")
    kv: int = wire("u8", "64ths of the file's kv")
    ki: int = wire("u8", "64ths of the file's ki")


@dataclass(frozen=True)
class Capture(Payload, type=12, to="board"):
    """Record signals on the board at the full tick rate. The board starts a recording once for each new id."""

    id: int = wire("u8", "1..255, changes with every new recording")
    mode: int = wire("u8", "one of CAPTURES")
    every: int = wire("u16", "ticks from one sample to the next, at least 1")
    word: Sequence[int] = wire("u16",
        "per column: number of the signal (CAPTURED) times the number of joints, plus the joint", 4)


@dataclass(frozen=True)
class Read(Payload, type=13, to="board"):
    """Request samples of the recording. DATA is the answer."""

    first: int = wire("u16", "number of the first wanted sample; 0 is the oldest")


@dataclass(frozen=True)
class Follow(Payload, type=14, to="board"):
    """HOLD -> FOLLOW: follow TARGETs, beginning at the held position. The board drops all earlier targets."""

    token: int = wire("u8", "as in COMMAND")
    delay: int = wire("u32",
        "us from a target's due time until the joints reach it; FOLLOW_AUTO: the file's. At least two frames, unless "
        "chunks lie ahead or targets carry rates")
    frame: int = wire("u32", "us from one target to the next; 0: the file's, or from the targets' stamps")


@dataclass(frozen=True)
class Target(Payload, type=15, to="board"):
    """One target in FOLLOW. Targets have no sequence number.

    The board counts targets that are late, stale or not finite. Refused targets are not faults."""

    flags: int = wire("u8", "bit 0 END: last target, at which the motion rests; bit 1 RATES: rates are valid")
    chunk: int = wire("u8",
        "0: a stream's target, due when it is sent. 1..255: number of its chunk; the first target of another chunk "
        "replaces all targets that are due at its time or later")
    stamp: int = wire("u32", "us, the sender's clock at sending; wraps")
    ahead: int = wire("u32", "us from the stamp until the due time; 0 in a stream")
    position: Sequence[int] = wire("i64", "as in KNOT", J)
    rate: Sequence[float] = wire("f32", "as in KNOT, if the flag RATES is set", J)


@dataclass(frozen=True)
class Ident(Payload, type=64, to="host"):
    "Identity of the image. The board sends this message after HELLO."

    protocol: int = wire("u16", "PROTOCOL of the image")
    digest: bytes = wire("u8", "SHA-256 of the configuration", 32)
    name: bytes = wire("u8", "mechanism name, zero padded", 32)
    board: bytes = wire("u8", "board name, zero padded", 16)
    joints: int = wire("u8", "number of joints; STATUS and KNOT arrays have this length")
    rate_hz: int = wire("u32", "control ticks per second")
    knot_hz: int = wire("u32", "knots per second")
    ring: int = wire("u16", "knots the ring can hold")
    reset_cause: int = wire("u8", "one of RESETS")
    last_fault: int = wire("u8", "fault latched before the reset, 0 if none")


@dataclass(frozen=True)
class Status(Payload, type=65, to="host"):
    """Acknowledgement, credit and telemetry. The board sends this message FT_STATUS_HZ times per second."""

    tick: int = wire("u32", "control ticks since reset; wraps")
    state: int = wire("u8", "one of STATES")
    fault: int = wire("u8", "latched fault, one of FAULTS")
    fault_joint: int = wire("u8", "first joint that failed, 255 if none")
    refusal: int = wire("u8", "reason of the last command's refusal, one of REFUSALS")
    refusal_joint: int = wire("u8", "joint of this refusal, 255 if none")
    command_token: int = wire("u8", "token of the last command taken or refused")
    flags: int = wire("u8", "bits of FLAGS")
    unhomed: int = wire("u8", "first joint without a zero, 255 if every joint has one")
    mode: int = wire("u8", "number of the mode of torque_ff; 0 is the first or only mode")
    limits: int = wire("u16", "bits of LIMITS: active since the last STATUS")
    ack: int = wire("u16", "sequence number of the next wanted knot")
    credit: int = wire("u16", "room for knots")
    buffered: int = wire("u16", "knots not yet reached")
    knots_played: int = wire("u32", "knots passed since START")
    pace: float = wire("f32", "path time per tick: 1 in motion, 0 stopped")
    frames: int = wire("u32", "good frames received")
    bad_frames: int = wire("u16", "frames with a wrong check sum or length")
    wrong_tag: int = wire("u16", "frames of another configuration")
    out_of_order: int = wire("u16", "knots received ahead of a lost knot, or without room")
    line_errors: int = wire("u16", "wrong bytes at the receiver: framing, noise, overrun")
    bus_mv: int = wire("u16", "bus voltage, mV")
    temperature: int = wire("i32", "of the hottest sensor, 0.001 deg C; 25000 without sensors")
    driver_status: int = wire("u32",
        "last report of a gate driver: status register 1, register 2 from bit 16, its number from bit 28")
    cycles: int = wire("u32", "cycles of the last control tick")
    cycles_max: int = wire("u32", "largest since reset")
    position: Sequence[int] = wire("i64", "measured, as in KNOT; wraps beyond 2^15 turns", J)
    target: Sequence[int] = wire("i64", "desired at the same tick, as in KNOT", J)
    rate: Sequence[float] = wire("f32", "measured by the observer, rad/s or m/s", J)
    target_rate: Sequence[float] = wire("f32", "desired, rad/s or m/s", J)
    torque_ff: Sequence[float] = wire("f32", "tau_ID of the held interval, N m or N", J)
    torque: Sequence[float] = wire("f32", "total joint torque setpoint, N m or N", J)
    duty: Sequence[float] = wire("f32", "-1..1", J)
    ku: bytes = wire("u8", "gain overlay in force, 64ths of the file's", J)
    kv: bytes = wire("u8", "64ths", J)
    ki: bytes = wire("u8", "64ths", J)


@dataclass(frozen=True)
class Drive(Payload, type=66, to="host"):
    """Outputs of the last tick of a processor-in-the-loop image."""

    tick: int = wire("u32", "that tick, as in STATUS")
    outputs: int = wire("u8", "1: enabled; 0: the motors float")
    duty: Sequence[float] = wire("f32", "-1..1, held from the end of this tick", J)


@dataclass(frozen=True)
class Data(Payload, type=67, to="host"):
    """Samples of a recording on the board."""

    id: int = wire("u8", "of the recording; 0: no recording")
    running: int = wire("u8", "1: recording; old samples may get lost")
    count: int = wire("u16", "number of samples")
    first: int = wire("u16", "number of the first sample in this message")
    last_tick: int = wire("u32", "tick of the newest sample")
    words: Sequence[int] = wire("u32",
        "eight samples of four columns: bits of f32 as in STATUS, the low 32 of positions", 32)


@dataclass(frozen=True)
class About(Payload, type=68, to="host"):
    """Data of the chip and its history. The board sends this message on HELLO, after IDENT."""

    unique: bytes = wire("u8", "unique 96 bits of the chip, as in its system memory", 12)
    version: bytes = wire("u8", "version of femtorque that made the image, zero padded", 16)
    uptime: int = wire("u32", "s since reset, counted in control ticks; wraps with STATUS.tick")
    resets: int = wire("u16", "since power-on, at most 65535")
    faults: bytes = wire("u8",
        "count of each of FAULTS since reset, by its number; at most 255", FAULT_NUMBERS)
    options: int = wire("u32", "option bytes: FLASH_OPTCR (F4), FLASH_OPTR (G4)")
    crash: int = wire("u8", "exception number of the last crash since power-on, 0 if none")
    pc: int = wire("u32", "program counter of the crash, 0 if unreadable")
    lr: int = wire("u32", "return address of the crash; EXC_RETURN if the stack was unreadable")
    psr: int = wire("u32", "xPSR at the crash")
    cfsr: int = wire("u32", "SCB.CFSR at the crash")
    hfsr: int = wire("u32", "SCB.HFSR at the crash")
    address: int = wire("u32", "SCB.BFAR at the crash; valid if CFSR says so")


@dataclass(frozen=True)
class Drives(Payload, type=69, to="host"):
    """State of the drives on buses. The board sends this message at a tenth of the rate of STATUS, if the image has
    drives. The values for all other joints are 0. Counters wrap."""

    tick: int = wire("u32", "control ticks since reset, as in STATUS")
    state: bytes = wire("u8", "one of DRIVE_STATES", J)
    error: bytes = wire("u8", "present error, or the last one since enabling, in the drive's code; 0: none", J)
    warmth: bytes = wire("u8", "deg C, as it reports", J)
    age: Sequence[int] = wire("u16", "ticks since the drive's last state", J)
    answers: Sequence[int] = wire("u32", "states sent", J)
    lost: Sequence[int] = wire("u32", "ticks without a state", J)
    late: Sequence[int] = wire("u32", "states beyond the first state of a tick", J)
    setting: Sequence[int] = wire("u16", "the drive's number of a setting that differs from the file, 0: none", J)
    value: Sequence[int] = wire("u32",
        "its value there: bits of an f32, or a whole number; without a difference, the last setting that it "
        "reported (a servo: firmware, registers 0 and 1)", J)
    foreign: int = wire("u32", "frames of unknown drives")
    off: bytes = wire("u8", "1: the controller takes no part in the bus", BUSES)
    offs: Sequence[int] = wire("u16", "times that the controller left the bus", BUSES)
    sending: bytes = wire("u8", "error counter of sending", BUSES)
    receiving: bytes = wire("u8", "error counter of receiving", BUSES)
    stale: Sequence[int] = wire("u16", "frames dropped for frames of the next tick", BUSES)
    overruns: Sequence[int] = wire("u16", "receive overruns", BUSES)


@dataclass(frozen=True)
class Followed(Payload, type=70, to="host"):
    """State of FOLLOW. The board sends this message at a fifth of the rate of STATUS, only in the state FOLLOW. The
    counters start at 0 with FOLLOW, and wrap."""

    tick: int = wire("u32", "control ticks since reset, as in STATUS")
    phase: int = wire("u8", "one of FOLLOW_PHASES")
    delay: int = wire("u32", "present delay, us, from a target's due time until the joints reach it")
    frame: int = wire("u32", "us from one knot of the reference to the next; 0: not known yet")
    ahead: int = wire("i32", "us from the present reference to the newest target; negative if targets are missing")
    targets: int = wire("u32", "taken")
    late: int = wire("u16", "targets that came after the reference had passed their time")
    lost: int = wire("u16", "lost targets, by the stamps")
    refused: int = wire("u16", "targets that were not finite, older than the newest, or due too far ahead")
    limits: bytes = wire("u8", "bits of FOLLOW_LIMITS: active since the last FOLLOWED", J)
    behind: Sequence[float] = wire("f32", "rad or m from the reference to the joint's setpoint", J)


@dataclass(frozen=True)
class Felt(Payload, type=71, to="host"):
    """Estimated external torques. The board sends external torques at half the rate of STATUS, if the image detects
    contacts ([feel] of its mechanism file)."""

    tick: int = wire("u32", "control ticks since reset, as in STATUS")
    touched: int = wire("u8", "bits of FELT_TOUCHED")
    joint: int = wire("u8", "joint of the last touch; 0 before the first touch")
    touches: int = wire("u16", "touches since reset; wraps")
    touch_tick: int = wire("u32", "tick of the last touch")
    external: Sequence[float] = wire("f32", "external torque, N m or N; 0 while the outputs are off", J)
    mean: Sequence[float] = wire("f32", "mean of the external torque over about half a second", J)
    threshold: Sequence[float] = wire("f32", "a larger deviation from the mean is a touch", J)


def _row(kind: type[Payload]) -> Message:
    """Return the table row for a message class."""
    rows = [Field(f.name, f.metadata["type"], f.metadata["doc"], f.metadata["length"])
            for f in fields(cast("type[Any]", kind))]
    return Message(kind.NAME, kind.TYPE, kind.TO, " ".join((kind.__doc__ or "").split()), tuple(rows))


WithToken = Command | Home | Float | Jog | Seek | Probe | Gains | Follow  # executed once
MESSAGES = tuple(map(_row, CLASSES.values()))

FOLLOW_AUTO = 0xFFFFFFFF  # FOLLOW.delay: use the value of the mechanism file
TARGET_END, TARGET_RATES = 1, 2

# Phases of FOLLOW.
FOLLOW_PHASES = {
    "WAITING": (0, "at rest: no target has come yet"),
    "FOLLOWING": (1, "every joint is on the reference"),
    "CATCHING_UP": (2, "a joint is on its way to the reference, within its limits"),
    "STARVED": (3, "targets are missing; the joints rest at the last target, or brake to it"),
    "ENDING": (4, "on the way to rest at the END or after a stop"),
}

# Bits of FELT.touched. Only the reaction "return" uses AWAY, BACK and STAYS. Only mechanisms with closed loops use
# BLIND.
FELT_TOUCHED = {
    "TOUCH": (1, "a touch lasts"),
    "AWAY": (2, "the arm has given way; once it rests without a touch, it goes back or goes on to lie down"),
    "BACK": (4, "the arm is on its way back, in the state FOLLOW"),
    "STAYS": (8, "the arm was touched too often on its way back, and stays in FLOAT"),
    "BLIND": (16, "the loops do not close at the measured joints, or did not half a second ago, so contact "
                  "detection is off"),
}

# Limits that prevented a joint from following the reference.
FOLLOW_LIMITS = {
    "POSITION": (1, "a target beyond a limit, or braking before one"),
    "VELOCITY": (2, "the reference was faster than the joint may be"),
    "ACCELERATION": (4, "the reference needed more acceleration than any pose allows"),
    "JERK": (8, "the reference jumped, or changed its acceleration faster than the joint may"),
    "LOOPS": (16, "closed loops would come too near to a singular pose, so the joints brake"),
}

KNOT_START, KNOT_END = 1, 2
KNOT_MODE = 4  # position of the lowest bit of the mode's number in the flags
MODES = 16  # that fit

COMMANDS = {
    "ARM": (1, "DISARMED -> HOLD: switch the outputs on and hold the measured position. HELD -> HOLD: take "
               "over; the outputs stay on"),
    "DISARM": (2, "any state -> DISARMED: switch the outputs off at once"),
    "START": (3, "HOLD -> TRACK: play the buffered knots from the knot marked START"),
    "STOP": (4, "TRACK -> HOLD: slow down along the path and stop on it; the buffer stays. JOG, FLOAT, FOLLOW "
                "-> HOLD: stop"),
    "RESUME": (5, "HOLD after a stop on the path -> TRACK: ramp the pace back to 1"),
    "FLUSH": (6, "HOLD: empty the buffer"),
    "CLEAR": (7, "FAULT or ESTOP -> DISARMED, once the cause is gone"),
    "LOADER": (8, "DISARMED, ESTOP or FAULT with outputs off -> LEAVING: go to the boot loader in the chip's ROM"),
}

STATES = {
    "BOOT": (0, "clocks and peripherals start; outputs off"),
    "CHECK": (1, "self-test, outputs off"),
    "DISARMED": (2, "outputs off, ready to be homed and armed"),
    "HOLD": (3, "outputs on, holding a position on the path"),
    "TRACK": (4, "outputs on, playing knots"),
    "FAULT": (5, "a fault is latched; outputs off, or the arm brakes, holds or lies down as [safety] says"),
    "ESTOP": (6, "the break input is active or not cleared yet; the timer has dropped the outputs"),
    "HOMING": (7, "outputs on, seeking one joint's zero, or holding between two searches"),
    "FLOAT": (8, "outputs on, gravity compensation only: a hand leads the arm"),
    "JOG": (9, "outputs on, one joint moves for as long as the host repeats JOG"),
    "PROBE": (10, "outputs on, a small torque on one joint, no torque on the others"),
    "CLOSING": (11, "outputs on, holding until the brakes have closed; DISARMED follows"),
    "LEAVING": (12, "outputs off; after a tenth of a second the chip resets into the boot loader in its ROM"),
    "FOLLOW": (13, "outputs on, following TARGETs"),
    "HELD": (14, "outputs on, holding an arm whose host is gone (HOST_LOST); ARM takes the arm over, DISARM "
                 "switches the outputs off"),
}

# name: (number, meaning, what to do)
FAULTS = {
    "NONE": (0, "no fault", ""),
    "CLOCK": (1, "the external clock did not start, or it stopped", "check the crystal and hse_hz of the board file"),
    "CHIP": (2, "a peripheral of the chip did not start",
             "power-cycle the board; if the fault stays, the board file does not fit the board"),
    "CONFIGURATION": (3, "the self-test of the emitted constants failed", "flash the image again"),
    "HARD_FAULT": (4, "the processor faulted", "report the fault with the image; the outputs were made safe first"),
    "TICK_OVERRUN": (5, "a control tick was not done when the next tick came",
                     "lower rate_hz or simplify the mechanism"),
    "NOT_FINITE": (6, "a torque or duty was NaN or infinite",
                   "check gains and mechanism; if both are right, report the fault"),
    "FOLLOWING": (7, "a joint was too far from its target for too long",
                  "check encoder sign, motor sign, limits and load"),
    "ENCODER": (8, "an encoder moved farther in a tick than its joint can move",
                "check wiring, shielding and counts"),
    "OVERSPEED": (9, "a joint was faster than its velocity limit",
                  "check gains and encoder; if the speed is intended, raise limits.velocity"),
    "POSITION": (10, "a joint left its limits", "move the joint back by hand, then clear"),
    "KNOT": (11, "a knot jumped or exceeded a limit", "plan the motion of the named joint again"),
    "UNDER_VOLTAGE": (12, "the bus voltage was too low", "check supply, fuse and wiring"),
    "WATCHDOG": (13, "the watchdog reset the board: the tick or the main loop had stopped",
                 "report the fault with the log"),
    "HOST_LOST": (14, "no good frame came from the host while the board was armed; the arm was stopped first",
                  "check cable and host"),
    "BREAK": (15, "the outputs were dropped, but no e-stop was read",
              "check the wiring of the break input; with a pil image check the line to the host's plant"),
    "OVER_VOLTAGE": (16, "the bus voltage was too high", "brake more gently, or add a brake resistor"),
    "OVER_TEMPERATURE": (17, "a temperature sensor was hotter than allowed",
                         "let the part cool; lower the load or improve the cooling"),
    "DRIVER": (18, "a motor driver reported a fault",
               "check the motor for a short and the driver for heat; power-cycle the driver"),
    "OVER_CURRENT": (26,
                     "a motor took more current than its loop's largest setpoint, or far more than R and L "
                     "predict",
                     "check the motor and its cable for a short, the sensor for a broken wire, and R and L of the "
                     "file"),
    "CURRENT_SENSOR": (27, "a current sensor is far off its zero, or the converter has stopped",
                       "check the sensor, its supply and its wiring"),
    "CURRENT_SIGN": (28, "a current flowed against its voltage, so its sensor has the wrong sign",
                     "turn the sensor round in the motor's line, or change the sign of volts_per_ampere in the "
                     "board file"),
    "CURRENT_LOOP": (29,
                     "too little current flowed at full voltage or in the test pulse, or current or voltage "
                     "jumped",
                     "check the motor's cable, the sensor, the motors' supply, the winding for a short, and R and "
                     "L of the file"),
    "ENCODER_STUCK": (19, "a joint got its largest torque, but its encoder did not count",
                      "check whether the joint is blocked and the encoder connected"),
    "HOMING": (20, "no index or stop was found within the allowed travel and time",
               "check the joint's home table, the wiring of the index, and obstacles in the way"),
    "MODE": (22, "the loops of a new mode were open, would open at the present velocities, or were singular",
             "plan the switch at a position and velocity that fit the new loops"),
    "OVERLOAD": (23, "a motor or its driver was above its continuous rating for too long; the arm was stopped first",
                 "let the motor cool; move more slowly or carry less ('femtorque check' prints the continuous "
                 "ratings)"),
    "LOOPS_SINGULAR": (21,
                       "the closed loops came to a singular pose, or to a pose that does not follow from the last "
                       "pose",
                       "plan around singular poses ('femtorque check' prints how near the start is)"),
    "CRYSTAL": (30,
                "by the chip's own oscillator, the crystal does not run at hse_hz of the board file; the board "
                "stays on this oscillator",
                "write the crystal's frequency into the board file, then build and flash again"),
    "CONVERTER": (32, "the converter of the board's measurements did not start, or did not accept its clock",
                  "power-cycle the board; if the fault stays, the chip is another one than the board file says"),
    "PWM_UPDATE": (33, "the PWM's update does not come while its outputs are low",
                   "report the fault with the chip's marking"),
    "TICK_TIMER": (34, "the timer of the control tick does not count at the set rate",
                   "report the fault with the chip's marking"),
    "CODE": (36, "the image in flash differs from the built image",
             "flash the image again; if the fault comes back, replace the board"),
    "STACK": (35, "the stack reached its last bytes",
              "report the fault with the image; the outputs were made safe first"),
    "SUPPLY": (31, "the chip's own supply fell below 2.9 V", "check the 3.3 V regulator, its load and its input"),
    "DRIVE_SILENT": (37, "a drive on a bus stopped answering",
                     "check the drive's supply, the wires of the bus and both terminators"),
    "DRIVE_FAULT": (38, "a drive on a bus reported an error, or was no longer enabled",
                    "read the drive's error, mend its cause, then clear"),
    "BUS_OFF": (39, "the bus controller left the bus after too many errors",
                "check the wires of the bus, both terminators and the bit rates; the controller comes back "
                "without help"),
    "LOW_SUPPLY": (40, "the motors' supply fell below supply_v of [safety.park], so the arm lies down",
                   "charge the battery, or check supply, fuse and wiring"),
}

assert max(number for number, _, _ in FAULTS.values()) < FAULT_NUMBERS

# Reactions to a fault. The table [safety] of the mechanism file selects one reaction for each class of faults.
REACTIONS = {
    "coast": (0, "outputs off at once: the motors float"),
    "brake": (1, "the outputs stay on at zero voltage: the motors are short-circuited"),
    "hold": (2, "the outputs stay on, and the law holds the joints at their positions"),
    "park": (3, "the joints go slowly to the pose of [safety.park], then the outputs go off"),
}

# class: (faults, allowed reactions, subject). The first reaction is the default. Faults without a class switch the
# outputs off. The board detects such a fault before the outputs come on, or no other reaction is possible.
FAULT_CLASSES = {
    "computing": (("TICK_OVERRUN", "NOT_FINITE", "LOOPS_SINGULAR"), ("coast", "brake"),
                  "the board cannot trust its computed torque"),
    "sensing": (("ENCODER", "ENCODER_STUCK", "HOMING", "DRIVE_SILENT", "BUS_OFF"), ("coast", "brake"),
                "the board does not know where a joint is"),
    "electrical": (("UNDER_VOLTAGE", "OVER_VOLTAGE", "OVER_TEMPERATURE", "OVERLOAD", "DRIVER", "DRIVE_FAULT",
                    "LOW_SUPPLY"),
                   ("coast", "brake"), "supply, drivers or motors are out of range"),
    "motion": (("FOLLOWING", "OVERSPEED", "POSITION", "MODE"), ("coast", "brake", "hold"),
               "a joint does not follow its target"),
    "host": (("HOST_LOST", "KNOT"), ("coast", "brake", "hold", "park"),
             "the host is gone or has sent a bad knot; the arm was stopped on its path first"),
}

REFUSALS = {
    "NONE": (0, "accepted", ""),
    "NOT_HOMED": (1, "a joint has no zero yet", "home first"),
    "WRONG_STATE": (2, "the command is not possible in this state", "read STATUS.state"),
    "ESTOP_ACTIVE": (3, "the e-stop is pressed", "release it, then clear"),
    "OUTSIDE_LIMITS": (4, "the joint is more than 25 mrad or 2.5 mm outside its limits", "move the joint back by hand"),
    "MOVING": (5, "the joint is moving", "let the joint come to rest"),
    "NOTHING_BUFFERED": (6, "no motion is buffered", "send knots before START"),
    "START_POSE": (7, "the motion does not start at the joint's held position",
                   "move the joint to the start first, or plan from its present position"),
    "FAULT_LATCHED": (8, "a fault is latched", "read the fault's name, mend its cause, then clear"),
    "SUPPLY": (22, "the chip's own supply is below 2.9 V, or was at the start",
               "check the 3.3 V regulator, its load and its input; then reset the board"),
    "BUS_VOLTAGE": (9, "the bus voltage is out of range", "switch the supply on"),
    "UNKNOWN": (10, "the board does not know the command", "compare the protocol numbers of host and board"),
    "OVER_TEMPERATURE": (11, "a temperature sensor is hotter than allowed", "let the hot part cool"),
    "DRIVER": (12, "a motor driver reports a fault", "power-cycle the drivers"),
    "DRIVER_NOT_READY": (16,
                         "a gate driver has lost its settings or does not answer; the board is writing them again",
                         "try again in a moment; if the refusal stays, check and power-cycle the motors' supply"),
    "CURRENT_SENSOR": (20, "a current sensor does not read zero while no current flows",
                       "check the sensor, its supply, its wiring, and zero_v of the board file"),
    "BRAKE": (17, "the brakes still open or close, or would have to open while the law holds no joint",
              "wait for release_s or engage_s of [safety] brake; for PROBE open the brakes by a separate supply"),
    "OVERLOAD": (21, "a motor or its driver is still too warm from its load", "let the motor cool"),
    "NO_SEEKING": (13, "the board does not seek this joint's zero",
                   "declare its position: its encoder.zero is start or absolute"),
    "LOOPS_OPEN": (15, "the loops do not close at the measured positions",
                   "home again, or move the joints to the branch of the file's start"),
    "NO_LOADER": (19, "the boot loader in this chip's ROM would enable the drivers or open the brakes",
                  "switch the motors' supply off, hold BOOT0 high and reset the board"),
    "DRIVE_SILENT": (23, "a drive on a bus does not answer, or its bus is off",
                     "check the drive's supply and id, the wires of the bus and both terminators"),
    "DRIVE_FAULT": (24, "a drive on a bus reports an error", "read the drive's error and mend its cause"),
    "DRIVE_SETTING": (25,
                      "a setting of a drive on a bus differs from the mechanism file, or the drive has not "
                      "reported it yet",
                      "`femtorque monitor` names both values: change the file, or set the drive"),
    "NO_FOLLOWING": (26,
                     "this mechanism cannot follow live targets: its links bend, or it has more driven joints "
                     "than degrees of freedom",
                     "play a planned motion"),
    "PARKING": (27, "the arm is lying down", "wait; DISARM would drop the arm at once"),
    "OUT_OF_BOUNDS": (14, "the joint does not exist, or a value is beyond the mechanism file's bounds",
                      "ask for a smaller value"),
}

FLAGS = {
    "HOMED": (1, "every joint has its zero"),
    "ENDED": (2, "the last motion reached its END"),
    "UNDERRUN": (4, "stopped on the path because knots or targets ran out"),
    "STOPPED": (8, "stopped on the path by STOP"),
    "OUTPUTS": (16, "outputs are enabled"),
    "HOST_SILENT": (32, "stopped on the path because the host was silent"),
    "OVERLAY": (64, "gains differ from the file's; see STATUS.ku, kv, ki"),
    "SEEKING": (128, "a joint seeks its zero"),
}

LIMITS = {
    "TORQUE": (1, "joint torque clipped to limits.effort"),
    "VOLTAGE": (2, "motor voltage clipped to the bus voltage"),
    "INTEGRAL": (4, "integrator stopped by anti-windup"),
    "POSITION": (8, "torque towards a joint limit removed"),
}

CAPTURES = {
    "OFF": (0, "stop recording; the samples stay"),
    "ONCE": (1, "record until the memory is full"),
    "RING": (2, "record round and round, until a fault or OFF"),
}

# Signals that can be recorded, in the board's order.
CAPTURED = ("torque_ff", "torque", "duty", "rate", "target_rate", "position", "target")

# Bits of STATUS.driver_status: status registers of a DRV8301 (SLOS719).
DRIVER_STATUS = {"FETLC_OC": 0, "FETHC_OC": 1, "FETLB_OC": 2, "FETHB_OC": 3, "FETLA_OC": 4, "FETHA_OC": 5, "OTW": 6,
                 "OTSD": 7, "PVDD_UV": 8, "GVDD_UV": 9, "GVDD_OV": 23}
DRIVER_NUMBER = 28  # position of the lowest bit of the driver's number

# States of a drive on a bus.
DRIVE_STATES = {
    "SILENT": (0, "the drive does not answer, or the joint has no drive"),
    "SEEN": (1, "the drive answers, and is not enabled"),
    "ENABLED": (2, "the drive is enabled"),
    "FAULTED": (3, "the drive reports an error"),
}

RESETS = {"POWER": 0, "PIN": 1, "SOFTWARE": 2, "WATCHDOG": 3, "BROWNOUT": 4, "OTHER": 5}

STATUS_HZ = 100
