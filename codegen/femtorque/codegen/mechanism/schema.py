"""The keys of a mechanism file: names, types, ranges, defaults and meanings. pydantic checks each key separately.
reader.py checks rules over several keys. `first_fault` selects the finding that the user should correct first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from femtorque.codegen.common import hint
from femtorque.codegen.drive import FAMILIES, WIRES
from femtorque.codegen.mechanism.description import (
    Beam, BoardUse, Bus, Contact, Control, Cutoff, Drive, Encoder, Feel, Follow, Friction, Gains, Home, Joint, Mimic,
    Motor, Park, Safety)
from femtorque.codegen.mechanism.motors import MOTORS

SOLD = {sold.name: sold for sold in MOTORS}
LARGEST, SMALLEST = 1e9, 1e-12  # bounds of any quantity in SI units; products of a few quantities stay finite


def _not_tiny(value: float) -> float:
    if value < SMALLEST:
        raise PydanticCustomError("tiny", "must be at least {least}", {"least": f"{SMALLEST:g}"})
    return value


Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
NotNegative = Annotated[float, Field(ge=0.0, le=LARGEST)]
Positive = Annotated[float, Field(gt=0.0, le=LARGEST), AfterValidator(_not_tiny)]
Three = Annotated[list[Number], Field(min_length=3, max_length=3)]
Six = Annotated[list[Number], Field(min_length=6, max_length=6)]
Sign = Literal[-1, 1]

# Names appear in comments of the emitted C, columns of logs and keys like joint.elbow.axis. A URDF name may also
# contain '.' and '/'. A mechanism's name is also a folder name and part of the message IDENT.
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_./-]{0,63}$"
INSTEAD = {"passive": "write actuated = false if a closed loop moves the joint"}  # hints on unknown keys
GONE = "auto", "midpoint", "newton-euler"  # schemes of older files
NAME_RULE = "must be at most 64 letters, digits and '_', '-', '.', '/', starting with a letter or '_'"
TITLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_-]{0,31}$"
TITLE_RULE = "must be at most 32 letters, digits and '_', '-', starting with a letter or '_'"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Title = Annotated[str, Field(pattern=TITLE_PATTERN)]
BOARD_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
Reference = Annotated[str, Field(max_length=64)]  # the name of a table elsewhere in the file; it must exist


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def key(meaning: str, default: Any = ..., **bounds: Any) -> Any:
    """Return a key of a table. The key has a meaning (for docs/mechanism-files.md), a default and a range."""
    return Field(default, description=meaning, **bounds)


class ControlTable(Table):
    rate_hz: int = key("control ticks per second; a whole multiple of knot_hz", Control.rate_hz, gt=0, le=100_000)
    knot_hz: int = key("knots of a trajectory a second, on the wire", Control.knot_hz, gt=0, le=100_000)
    scheme: Literal["nodal", "printed"] = key(
        "of the inverse dynamics. `printed` is the paper's step without constant folding", Control.scheme)
    allocation: Literal["closed", "partition"] = key(
        "of torque in closed loops: complete, or the paper's partition for comparison", Control.allocation)
    observer_hz: Positive | None = key("bandwidth of the velocity observer; 80, or less for slow ticks", None)
    host_timeout_s: float = key(
        "longest time without a frame while armed; then the board stops along the path", Control.host_timeout_s,
        gt=0.0, le=60.0)


class FollowTable(Table):
    """Settings for live targets, used in the state FOLLOW."""

    delay: Literal["auto", "none"] | Annotated[float, Field(ge=0.0, le=2.0)] = key(
        "s from a target's due time until the joints reach it. `auto`: two frames and 10 ms, up to 40 ms more for "
        "late targets, 0 for chunks ahead of time. `none`: targets must carry velocities", "auto")
    timeout: float = key("s without a target until the joints are at rest and FOLLOW ends", Follow.timeout,
                         ge=0.05, le=10.0)
    frame: Literal["auto"] | Annotated[float, Field(ge=0.001, le=0.25)] = key(
        "s from one target to the next; `auto`: from their stamps", "auto")


class FeelTable(Table):
    """Contact detection: the board estimates external torques from the mechanism's momenta. See [the
    lab](lab.md#feeling-a-touch). Without this table the board detects no contacts."""

    reaction: Literal["none", "stop", "float", "return"] = key(
        "to a touch. `none`: report only. `stop`: on the path, as by STOP. `float`: the arm gives way. `return`: the "
        "arm gives way, and goes back slowly after the touch", Feel.reaction)
    bandwidth_hz: float = key("of the estimated external torque", Feel.bandwidth_hz, ge=1.0, le=200.0)


class BoardTable(Table):
    """Only the commands build, flash, stream and hil need this table."""

    use: str = key("a board file, see [boards](boards.md)", pattern=BOARD_PATTERN, max_length=16)
    bus_voltage: float = key("nominal, V", BoardUse.bus_voltage, gt=0.0, le=1000.0)
    pwm_hz: int = key("of the outputs", BoardUse.pwm_hz, gt=0, le=1_000_000)
    accept: Literal["falls", "no time limit"] | None = key(
        "with a PC as the board, the owner accepts that the arm falls when it dies, or that drives without a time "
        "limit go on", None)


class BrakeTable(Table):
    release_s: float = key(
        "s from the board's output to open holding brakes; the board file names the output", gt=0.0, le=2.0)
    engage_s: float = key(
        "s until they are closed; the motors hold the arm so long", gt=0.0, le=2.0)


class CutoffTable(Table):
    """A board output that can switch off the supply of the servos on its half-duplex buses. The board file defines the
    pin of this output. See [drives](drives.md#a-supply-that-the-board-cuts)."""

    within_s: float = key("s in which servos must report that their motors are off; else their supply is cut",
                          Cutoff.within_s, gt=0.0, le=1.0)
    off_s: float = key("s for which the supply stays off, to empty every servo", Cutoff.off_s, ge=0.05, le=10.0)


class ParkTable(Table):
    """The arm parks before its motors switch off: see [parking](faults.md#lying-down)."""

    pose: dict[str, Number] = key("joint = position of every driven joint, rad or m")
    speed: float = key("share of the velocity, acceleration and jerk limits of live targets", Park.speed,
                       gt=0.0, le=1.0)
    heat: bool = key("also if the board or a motor is too warm", Park.heat)
    supply_v: Positive | None = key("also if the motors' supply is lower for 20 ms, V", None)


class SafetyTable(Table):
    """Reactions to faults, and velocity limits of the modes for manual operation."""

    computing: Literal["coast", "brake"] = key(
        "reaction to faults of this class, see [faults](faults.md)", Safety.computing)
    sensing: Literal["coast", "brake"] = key("reaction to faults of this class", Safety.sensing)
    electrical: Literal["coast", "brake"] = key("reaction to faults of this class", Safety.electrical)
    motion: Literal["coast", "brake", "hold"] = key("reaction to faults of this class", Safety.motion)
    host: Literal["auto", "coast", "brake", "hold", "park"] = key(
        "reaction to faults of this class; auto is park if there is a pose, else hold if gravity loads a joint more "
        "than its friction or a thousandth of its effort holds, else coast: `check` names the joints that fall",
        Safety.host)
    stuck_s: float = key("s of full torque without a count until ENCODER_STUCK", Safety.stuck_s, ge=0.01, le=10.0)
    temperature_max: float = key(
        "°C of the drivers, if the board measures it", Safety.temperature_max, ge=0.0, le=150.0)
    gain_overlay: Annotated[list[Annotated[float, Field(ge=0.0, le=3.9)]], Field(min_length=2, max_length=2)] = key(
        "least and largest factor on gains at run time", list(Safety.gain_overlay))
    float_speed: float = key(
        "share of the velocity limit; a faster arm in FLOAT is held", Safety.float_speed, gt=0.0, le=1.0)
    jog_speed: float = key("share of the velocity limit that `jog` may use", Safety.jog_speed, gt=0.0, le=1.0)
    probe_effort: float = key("share of the effort limit that experiments may use", Safety.probe_effort, gt=0.0, le=1.0)
    brake: BrakeTable | None = None
    cutoff: CutoffTable | None = None
    park: ParkTable | None = None


class SectionTable(Table):
    area: Positive = key("of the member, m²: stresses in the plant")
    radius: Positive = key("outer, m")


def _pair(value: Any) -> Any:
    """Return one EI or GA_s as two values (y, z).

    If the value is one number, the link bends only about z. About y it is rigid (None)."""
    return [None, value] if isinstance(value, int | float) and not isinstance(value, bool) else value


class BeamTable(Table):
    length: Positive = key("of a flexible link along x, m")
    EI: Annotated[list[Positive | None], Field(min_length=2, max_length=2), BeforeValidator(_pair)] = key(
        "N m²: about its own z, or [EIy, EIz]")
    elements: int = key("finite elements", gt=0, le=64)
    damping: NotNegative = key("strain-proportional, s", Beam.damping)
    GJ: Positive | None = key("N m²: torsion, by a spring of GJ / length at the tip; rigid without", None)
    GA_s: Annotated[list[Positive | None], Field(min_length=2, max_length=2), BeforeValidator(_pair)] | None = key(
        "N: shear stiffness, G times the shear area; one per plane as EI; rigid without", None)


class LinkTable(Table):
    """The frame of a link is the frame of its joint after the joint's motion."""

    name: Name
    mass: NotNegative = key("kg")
    com: Three | None = key("centre of gravity in the link's frame, m", None)
    inertia: Six | None = key("ixx, iyy, izz, ixy, ixz, iyz about the centre of gravity in link axes, kg m²", None)
    rod: Positive | None = key("instead of com and inertia: length of a uniform slender rod along x, m", None)
    section: SectionTable | None = None
    beam: BeamTable | None = None


class LimitsTable(Table):
    lower: Number | None = key("rad or m", None)
    upper: Number | None = key("rad or m", None)
    velocity: Positive | None = key("rad/s or m/s", None)
    effort: Positive | None = key("N m or N", None)
    acceleration: Positive | None = key("rad/s² or m/s²: of motions; `plan` keeps it", None)
    jerk: Positive | None = key("rad/s³ or m/s³: of motions; `plan` keeps it", None)


class FrictionTable(Table):
    """For driven joints, the control law compensates friction by feed-forward.

    In closed loops the step compensates the friction of passive joints with torques of the driven joints. As in gears,
    friction decreases with velocity and increases with load: coulomb + stribeck / (1 + (velocity / stribeck_velocity)²)
    + load · |torque of the links|."""

    viscous: NotNegative = key("at the joint, N m s/rad", Friction.viscous)
    coulomb: NotNegative = key("at the joint, N m", Friction.coulomb)
    stribeck: NotNegative = key("N m: added at rest, falls with the velocity; driven joints only", Friction.stribeck)
    stribeck_velocity: NotNegative = key("rad/s or m/s: velocity that halves `stribeck`", Friction.stribeck_velocity)
    load: float = key("N m per N m, N per N: rises with the torque of the links; driven joints only", Friction.load,
                      ge=0.0, lt=1.0)


def _sold(name: str) -> str:
    if name not in SOLD:
        raise PydanticCustomError("motor", "no such motor; {near}", {"near": hint(name, list(SOLD), "motors")})
    return name


class MotorTable(Table):
    """A motor. `name` gives all values of a motor that is sold. Other keys in the table override these values."""

    name: Annotated[str, AfterValidator(_sold)] | None = key("of `femtorque motors`", None)
    kind: Literal["brushed", "three-phase"] = key("`check` warns of motors that no board here turns", Motor.kind)
    R: Positive = key("ohm")
    L: Positive = key("henry")
    K: Positive = key("N m/A = V s/rad")
    gear: Number = key("motor turns per joint turn, signed (rad per metre for prismatic joints); of a servo: per turn "
                       "of its output", Motor.gear)
    inertia: NotNegative = key("of the rotor, at the motor, kg m²", Motor.inertia)
    continuous: Positive | None = key("continuous current, A; by default the peak counts as continuous", None)
    thermal_s: Positive | None = key("s: time constant of the winding's temperature; goes with continuous", None)
    drive: Literal["voltage", "antiphase", "current"] = key("quantity that the board controls", Motor.drive)
    channel: Annotated[int, Field(ge=0, le=63)] | None = key("of the board", None)
    sign: Sign = key("-1: wired the other way round", Motor.sign)

    @model_validator(mode="before")
    @classmethod
    def _catalogue(cls, data: Any) -> Any:
        known = SOLD.get(data["name"]) if isinstance(data, dict) and isinstance(data.get("name"), str) else None
        return data if known is None else known.table() | data


if TYPE_CHECKING:
    BusKind = str
else:
    BusKind = Literal[("can", "can-fd", *WIRES)]
_WIRES = [f"`{kind}`: {family.title}'s servos on one half-duplex wire" for kind, family in WIRES.items()]
_REPLIES = [f"`{family.name}`: {family.reply_words}" for family in FAMILIES.values() if family.reply is not None]
_CONFIGURED = [family.title for family in FAMILIES.values() if family.configuration]
_FIRMWARE = [(family.title, f"as `{family.firmware.example}`") for family in FAMILIES.values() if family.firmware]


class BusTable(Table):
    """A bus to which drives are connected."""

    name: Reference = key("of the bus, as the board file has it")
    kind: BusKind = key("; ".join(("protocol of the wire", *_WIRES)), Bus.kind)
    bitrate: int = key("1/s; CAN: up to 1000000", Bus.bitrate, ge=9_600, le=4_000_000)
    data_bitrate: int | None = key("1/s, data phase of CAN FD; 5000000 by default", None, ge=10_000, le=8_000_000)
    delay: Number | None = key("s, of a PC's adapter: from a tick's begin to the answers, without the time on the bus; "
                               "`femtorque bus latency --write` measures it", None, ge=0.0, le=0.1)
    jitter: Number | None = key("s, the largest further delay", None, ge=0.0, le=0.1)


class DriveTable(Table):
    """Replaces motor and encoder. A drive on a bus receives position, velocity, gains and torque. A servo receives a
    duty or a current. The table `motor` of a servo overrides the motor in the catalogue.

    The [catalogue](drives.md) gives the default ranges of each drive. The ranges in the drive's settings must equal the
    ranges in the image. Ranges, `inertia` and `zero` refer to the drive's output, before `gear`."""

    type: str = key("of the catalogue, as `damiao-4340`", max_length=32)
    bus: Reference = key("a [[bus]]")
    id: int = key("of its commands", ge=0, le=0x7FF)
    reply: int | None = key("; ".join(("id of its answers", *_REPLIES)), None, ge=0, le=0x7FF)
    sign: Sign = key("-1: it turns the other way", Drive.sign)
    gear: Number = key(
        "output turns per joint turn of a belt or stage between drive and joint: 0.1 to 100", Drive.gear)
    pd: Literal["drive", "board"] | None = key(
        "controller of position and velocity: `drive` by default if it can, `board` for a servo", None)
    inertia: NotNegative = key("kg m^2, of its rotor at its output, with the internal gear squared", Drive.inertia)
    position: Positive | None = key("range of the field, rad; by default the catalogue's", None)
    velocity: Positive | None = key("rad/s, the same", None)
    torque: Positive | None = key("N m, the same", None)
    kp: Positive | None = key("N m/rad, the same", None)
    kd: Positive | None = key("N m s/rad, the same", None)
    zero: int | Number | None = key(
        "its reported position at the joint's zero: rad of its output, 0; a servo: a count, 2048", None)
    offset: int | None = key("of a servo: its stored position offset; 0", None, ge=-2047, le=2047)
    limit: Positive | None = key(
        "of a servo: its torque limit, as a share of its supply or of its largest current; 1", None, le=1.0)
    supply: Positive | None = key(
        "V, of a servo behind a step-down converter: below 0.65 times `board.bus_voltage`, which is the default", None)
    play: NotNegative | None = key(
        "rad at the joint, of a servo: its gear's backlash, for reports; by default as measured at one servo", None)
    firmware: str | None = key(
        f"required version of {' or '.join(title for title, _ in _FIRMWARE)}: "
        f"{', '.join(example for _, example in _FIRMWARE)}; any", None,
                               pattern=r"^\d{1,9}(\.\d{1,3}){0,2}$")
    configured: str | None = key(
        f"of {' and '.join(_CONFIGURED)}: marks of the owner's configuration, from `bringup --settings`", None,
        pattern=r"^[A-Za-z0-9_-]{3,99}$")


class EncoderTable(Table):
    counts: int = key("a turn after quadrature ×4", gt=0, le=2**30)
    at: Literal["joint", "motor"] = key("its shaft", Encoder.at)
    sign: Sign = key("-1: it counts the other way", Encoder.sign)
    zero: Literal["start", "index", "stop", "absolute"] = key("source of its zero", Encoder.zero)


class GainsTable(Table):
    ku: NotNegative = key("N m/rad; `femtorque check` prints the stiffest with margin", Gains.ku)
    kv: NotNegative = key("N m s/rad", Gains.kv)
    ki: NotNegative = key("N m/(rad s)", Gains.ki)


class HomeTable(Table):
    at: Number = key("position of the index or stop, rad or m", Home.at)
    direction: Sign = key("of the search", Home.direction)
    speed: Positive | None = key("rad/s or m/s while seeking", None)
    effort: Positive | None = key("N m or N while seeking", None)
    travel: Positive | None = key("rad or m, after which the search ends", None)


class ContactTable(Table):
    """Threshold for a contact, used if `[feel]` is present.

    The board detects a contact when the external torque differs too much from its mean over half a second."""

    torque: Positive = key("N m or N, at rest")
    velocity: NotNegative = key("N m s/rad: added per velocity of the motion", Contact.velocity)
    acceleration: NotNegative = key("N m s²/rad: added per acceleration of the motion", Contact.acceleration)


class MimicTable(Table):
    """Replaces a motor. The joint follows another joint through gears or links that the file does not describe."""

    joint: Reference = key("its leader")
    ratio: Number = key("of its displacement to the leader's, signed", Mimic.ratio)
    offset: Number = key("its position when the leader is at zero, rad or m", Mimic.offset)


class JointTable(Table):
    """Gains, limits, springs, friction and torques refer to the joint.

    R, L, K and the rotor's inertia refer to the motor shaft. Positive torque moves the joint along its axis."""

    name: Name
    type: Literal["revolute", "continuous", "prismatic", "fixed"] = key("continuous: revolute without limits")
    parent: Reference = key("a link, or `base`, the ground")
    child: Reference = key("the link that it carries")
    xyz: Three = key("joint frame in the parent link's frame, m, as in URDF", [0.0, 0.0, 0.0])
    rpy: Three = key("its roll, pitch, yaw, rad", [0.0, 0.0, 0.0])
    axis: Three | None = key("in the joint frame; any length", None)
    actuated: bool = key("false: no motor; a closed loop must move it", Joint.actuated)
    start: Number | None = key("position at power-up, rad or m", None)
    c_mot: float = key("stiffness of the joint as an element: 0 pinned to 1 rigid", Joint.c_mot, ge=0.0, le=1.0)
    stiffness: NotNegative = key("of a spring in the joint, N m/rad", Joint.stiffness)
    rest: Number = key("rest position of the spring, rad or m", Joint.rest)
    limits: LimitsTable = LimitsTable()
    friction: FrictionTable = FrictionTable()
    motor: MotorTable | None = None
    encoder: EncoderTable | None = None
    gains: GainsTable = GainsTable()
    home: HomeTable | None = None
    drive: DriveTable | None = None
    contact: ContactTable | None = None
    mimic: MimicTable | None = None


class PayloadTable(Table):
    """A body fixed to a link. A mode may attach or detach the payload."""

    name: Name
    link: Reference = key("its link")
    mass: NotNegative = key("kg")
    com: Three = key("in the link's frame, m")
    inertia: Six = key("about its centre of gravity, kg m²", [0.0] * 6)


class AnchorTable(Table):
    link: Reference = key("a link, or `base`")
    xyz: Three = key("m", [0.0, 0.0, 0.0])
    rpy: Three = key("rad, if the type has an axis (the anchor's z)", [0.0, 0.0, 0.0])


class LoopTable(Table):
    """A loop: it joins frames on two links."""

    name: Name
    type: Literal["ball", "planar", "revolute", "rigid"] = key(
        "ball 3 rows, planar 2 (in the plane normal to a's z), revolute 5, rigid 6")
    a: AnchorTable
    b: AnchorTable


class ModeTable(Table):
    """The closed loops and attached payloads of one mode.

    Without modes, all loops are closed and all payloads are attached."""

    name: Name
    loops: list[Reference] = key("closed loops", [])
    payloads: list[Reference] = key("attached payloads", [])
    passive: list[Reference] = key("passive joints, and those with actuated = false", [])
    root: Reference = key("the link that stands on the ground", "base")
    ramp_s: float = key("s of the ramp from one mode's torque to the next one's", 0.0, ge=0.0, le=60.0)


class MechanismTable(Table):
    """Keys at the top level of the file."""

    name: Title = key("of the mechanism: folders, IDENT and logs carry it")
    gravity: Three = key("an acceleration, m/s²", [0.0, 0.0, -9.81])
    lock: dict[str, Number] = key("joint = position: freezes joints", {})
    unphysical: Literal["refuse", "warn"] | None = key(
        "reaction to inertias that no single body can have (identified, lumped ones); with `urdf` `warn`", None)
    urdf: str | None = key(
        "file of links and joints; `[[link]]` and `[[joint]]` here are matched by name, and their masses, "
        "centres of gravity and inertias override the URDF's", None)
    control: ControlTable = ControlTable()
    safety: SafetyTable = SafetyTable()
    follow: FollowTable = FollowTable()
    feel: FeelTable | None = None
    board: BoardTable | None = None
    link: list[LinkTable] = []
    joint: list[JointTable] = []
    payload: list[PayloadTable] = []
    loop: list[LoopTable] = []
    mode: list[ModeTable] = []
    bus: list[BusTable] = []


@dataclass(frozen=True)
class Fault:
    """A finding: the key, its value, the violated rule, and the nearest correct value."""

    where: tuple[str | int, ...]
    value: object
    rule: str
    hint: str = ""


def first_fault(error: ValidationError, top: type[BaseModel] = MechanismTable) -> Fault:
    """Return the finding that the user should correct first.

    An unknown key comes first, because it may be a misspelled required key."""
    findings = error.errors(include_url=False)
    finding = next((f for f in findings if f["type"] == "extra_forbidden"), findings[0])
    where, value, kind = finding["loc"], finding["input"], finding["type"]
    bounds = finding.get("ctx", {})
    if kind == "extra_forbidden":
        tables = isinstance(value, list) and any(isinstance(item, dict) for item in value)  # too long for one line
        return Fault(where, None if tables else value, "unknown key",
                     INSTEAD.get(str(where[-1])) or hint(str(where[-1]), _keys_at(top, where[:-1]), "keys here"))
    if kind == "missing":
        return Fault(where, None, "is required")
    if kind == "literal_error":
        choices = str(bounds["expected"])
        names = [c.strip(" '") for c in choices.replace(" or ", ",").split(",")]
        near = hint(value, names) if isinstance(value, str) else ""
        gone = "leave the line out: every mechanism takes nodal" if value in GONE and where[-1] == "scheme" else ""
        return Fault(where, value, f"must be {choices}", gone or (near if near.startswith("did") else ""))
    if kind == "list_type" and len(where) == 1 and _keys_at(top, where):
        return Fault(where, value, f"must be an array of tables: write [[{where[0]}]]")
    return Fault(where, value, _rule(kind, bounds, where, finding["msg"]))


_RULES = {
    "float_type": "must be a number",
    "int_type": "must be a whole number, written without a point",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "string_type": "must be text in quotes",
    "list_type": "must be an array, in square brackets",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "finite_number": "must be finite",
}

_PATTERNS = {NAME_PATTERN: NAME_RULE, TITLE_PATTERN: TITLE_RULE,
             BOARD_PATTERN: "must be letters, digits and '_', '-', '.'"}


def _rule(kind: str, bounds: dict[str, Any], where: tuple[str | int, ...], said: str) -> str:
    if kind in ("too_short", "too_long"):
        length = bounds.get("min_length", bounds.get("max_length"))
        return f"must hold exactly {length} numbers"
    if kind == "string_too_long":
        return f"must have at most {bounds['max_length']} characters"
    signs = {"gt": "greater than", "ge": "at least", "lt": "less than", "le": "at most"}
    for bound, word in signs.items():
        if bound in bounds:
            return f"must be {word} {bounds[bound]:g}"
    if kind == "finite_number" and "limits" in where:
        return "must be finite; leave the key out where there is no limit"
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(bounds["pattern"], f"must have the form {bounds['pattern']}")
    return _RULES.get(kind, said[0].lower() + said[1:])


def _keys_at(top: type[BaseModel], where: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the table at `where` may have."""
    table = top
    for step in where:
        if isinstance(step, int) or step not in table.model_fields:
            continue
        inner = _table_in(table.model_fields[step].annotation)
        if inner is None:
            return []
        table = inner
    return list(table.model_fields)


def _table_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        if found := _table_in(argument):
            return found
    return None
