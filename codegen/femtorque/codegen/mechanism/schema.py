"""The keys of a mechanism file: their names, types, ranges, defaults and meanings. Rules on two keys together are not
here.

pydantic checks one key at a time; `first_fault` turns its findings into the one that a reader should mend first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from femtorque.codegen.common import hint
from femtorque.codegen.drive import FAMILIES, WIRES
from femtorque.codegen.mechanism.description import (
    Beam, BoardUse, Bus, Contact, Control, Cutoff, Drive, Encoder, Feel, Follow, Friction, Gains, Home, Joint, Mimic,
    Motor, Park, Safety)

LARGEST, SMALLEST = 1e9, 1e-12  # no quantity of a mechanism in SI units is beyond; products of a few stay finite


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

# Names stand in comments of the emitted C, in columns of logs and in keys like joint.elbow.axis. Robots in URDF also
# use '.' and '/'. A mechanism's own name is a folder's and part of IDENT too.
NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_./-]{0,63}$"
NAME_RULE = "must be at most 64 letters, digits and '_', '-', '.', '/', starting with a letter or '_'"
TITLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_-]{0,31}$"
TITLE_RULE = "must be at most 32 letters, digits and '_', '-', starting with a letter or '_'"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Title = Annotated[str, Field(pattern=TITLE_PATTERN)]
Reference = Annotated[str, Field(max_length=64)]  # a name that must exist elsewhere


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


def key(meaning: str, default: Any = ..., **bounds: Any) -> Any:
    """A key of a table: what it means (docs/mechanism-files.md says so), its default or none, its range."""
    return Field(default, description=meaning, **bounds)


class ControlTable(Table):
    rate_hz: int = key("control ticks per second; a whole multiple of knot_hz", Control.rate_hz, gt=0, le=100_000)
    knot_hz: int = key("knots of a trajectory a second, on the wire", Control.knot_hz, gt=0, le=100_000)
    scheme: Literal["auto", "midpoint", "newton-euler", "nodal"] = key(
        "of the inverse dynamics; left out, it is chosen by what single precision costs (closed loops: "
        "`newton-euler`). `nodal` is the paper's step with nothing folded", Control.scheme)
    allocation: Literal["closed", "partition"] = key(
        "how closed loops share torque: complete, or the paper's partition for comparison", Control.allocation)
    observer_hz: Positive | None = key("bandwidth of the velocity observer; 80, less where the tick is slow", None)
    host_timeout_s: float = key(
        "armed and without a frame for that long: stop along the path", Control.host_timeout_s, gt=0.0, le=60.0)


class FollowTable(Table):
    """How targets that are sent live (state FOLLOW) are followed."""

    delay: Literal["auto", "none"] | Annotated[float, Field(ge=0.0, le=2.0)] = key(
        "s from when a target is due until the joints are there. `auto`: two frames and 10 ms, up to 40 ms more if "
        "targets come late, none if chunks lie ahead. `none`: targets must carry velocities", "auto")
    timeout: float = key("s without a target until the joints are at rest and FOLLOW ends", Follow.timeout,
                         ge=0.05, le=10.0)
    frame: Literal["auto"] | Annotated[float, Field(ge=0.001, le=0.25)] = key(
        "s from one target to the next; `auto`: as their stamps say", "auto")


class FeelTable(Table):
    """The board feels torques from outside by the momenta of the arm: see [the lab](lab.md#feeling-a-touch). Without
    this table it does not look for any."""

    reaction: Literal["none", "stop", "float", "return"] = key(
        "to a touch: none but the report; `stop` on the path, as by STOP; `float`: the arm gives way; `return`: it "
        "gives way, and goes back slowly once nothing is felt", Feel.reaction)
    bandwidth_hz: float = key("of the torque that is felt", Feel.bandwidth_hz, ge=1.0, le=200.0)


class BoardTable(Table):
    """Needed by build, flash, stream and hil only."""

    use: str = key("a board file, see [boards](boards.md)", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=16)
    bus_voltage: float = key("nominal, V", BoardUse.bus_voltage, gt=0.0, le=1000.0)
    pwm_hz: int = key("of the outputs", BoardUse.pwm_hz, gt=0, le=1_000_000)


class BrakeTable(Table):
    release_s: float = key(
        "s from the board's output to open holding brakes; the board file names the output", gt=0.0, le=2.0)
    engage_s: float = key(
        "s until they have closed: for so long the arm is held before its motors are let go", gt=0.0, le=2.0)


class CutoffTable(Table):
    """The board's output, named by the board file, switches the supply of the servos on wires: see
    [drives](drives.md#a-supply-that-the-board-cuts)."""

    within_s: float = key("s in which servos must say that their motors are off, else their supply is cut",
                          Cutoff.within_s, gt=0.0, le=1.0)
    off_s: float = key("s for which it stays off: until every servo has lost its power", Cutoff.off_s, ge=0.05, le=10.0)


class ParkTable(Table):
    """The arm lies down before its motors are let go: see [lying down](faults.md#lying-down)."""

    pose: dict[str, Number] = key("joint = position: where every driven joint lies, rad or m")
    speed: float = key("share of the velocity, acceleration and jerk that targets sent live may ask for", Park.speed,
                       gt=0.0, le=1.0)
    heat: bool = key("also where the board or a motor is too warm", Park.heat)
    supply_v: Positive | None = key("also where the motors' supply is below this for 20 ms, V", None)


class SafetyTable(Table):
    """Reactions to faults, and limits of velocity for modes by hand."""

    computing: Literal["coast", "brake"] = key(
        "reaction to faults of this class, see [faults](faults.md)", Safety.computing)
    sensing: Literal["coast", "brake"] = key("reaction to faults of this class", Safety.sensing)
    electrical: Literal["coast", "brake"] = key("reaction to faults of this class", Safety.electrical)
    motion: Literal["coast", "brake", "hold"] = key("reaction to faults of this class", Safety.motion)
    host: Literal["auto", "coast", "brake", "hold", "park"] = key(
        "reaction to faults of this class; auto is park where there is a pose for it, else hold where gravity loads a "
        "joint more than its friction holds, else coast: `check` says what falls when",
        Safety.host)
    stuck_s: float = key("s of full torque without a count until ENCODER_STUCK", Safety.stuck_s, ge=0.01, le=10.0)
    temperature_max: float = key(
        "°C of the drivers, where the board measures it", Safety.temperature_max, ge=0.0, le=150.0)
    gain_overlay: Annotated[list[Annotated[float, Field(ge=0.0, le=3.9)]], Field(min_length=2, max_length=2)] = key(
        "least and largest factor that gains may be given at run time", list(Safety.gain_overlay))
    float_speed: float = key(
        "share of the velocity limit above which an arm led by hand is held", Safety.float_speed, gt=0.0, le=1.0)
    jog_speed: float = key("share of the velocity limit that `jog` may use", Safety.jog_speed, gt=0.0, le=1.0)
    probe_effort: float = key("share of the effort limit that experiments may use", Safety.probe_effort, gt=0.0, le=1.0)
    brake: BrakeTable | None = None
    cutoff: CutoffTable | None = None
    park: ParkTable | None = None


class SectionTable(Table):
    area: Positive = key("of the member, m²: stresses in the plant")
    radius: Positive = key("outer, m")


def _pair(value: Any) -> Any:
    """One EI bends about z alone: about y the link is rigid (None). Its GA_s is that of the same plane."""
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
    """A link's frame is its joint's, moved."""

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
    acceleration: Positive | None = key("rad/s² or m/s²: of motions, kept by `plan`", None)
    jerk: Positive | None = key("rad/s³ or m/s³: of motions, kept by `plan`", None)


class FrictionTable(Table):
    """The control law feeds friction of driven joints forward; the step feeds that of passive ones in loops, through
    the driven joints. Friction that falls with the velocity and rises with the load, as gears have it:
    coulomb + stribeck / (1 + (velocity / stribeck_velocity)²) + load · |torque of the links|."""

    viscous: NotNegative = key("at the joint, N m s/rad", Friction.viscous)
    coulomb: NotNegative = key("at the joint, N m", Friction.coulomb)
    stribeck: NotNegative = key("N m: more at rest, falling with the velocity; of driven joints", Friction.stribeck)
    stribeck_velocity: NotNegative = key("rad/s or m/s: half of `stribeck` is left", Friction.stribeck_velocity)
    load: float = key("N m per N m, N per N: more with the torque of the links; of driven joints", Friction.load,
                      ge=0.0, lt=1.0)


class MotorTable(Table):
    kind: Literal["brushed", "three-phase"] = key("`check` warns of what no board here turns", Motor.kind)
    R: Positive = key("ohm")
    L: Positive = key("henry")
    K: Positive = key("N m/A = V s/rad")
    gear: Number = key("motor turns per joint turn, signed (rad per metre for prismatic joints); of a servo per turn "
                       "of its output", Motor.gear)
    inertia: NotNegative = key("of the rotor, at the motor, kg m²", Motor.inertia)
    continuous: Positive | None = key("A that it carries for good; without it its peak counts as continuous", None)
    thermal_s: Positive | None = key("s: time constant of the winding's temperature; goes with continuous", None)
    drive: Literal["voltage", "antiphase", "current"] = key("what the board gives it", Motor.drive)
    channel: Annotated[int, Field(ge=0, le=63)] | None = key("of the board", None)
    sign: Sign = key("-1: wired the other way round", Motor.sign)


if TYPE_CHECKING:
    BusKind = str
else:
    BusKind = Literal[("can", "can-fd", *WIRES)]
_WIRES = [f"`{kind}`: {family.title}'s servos on one half-duplex wire" for kind, family in WIRES.items()]
_REPLIES = [f"`{family.name}`: {family.reply_words}" for family in FAMILIES.values() if family.reply is not None]
_CONFIGURED = [family.title for family in FAMILIES.values() if family.configuration]
_FIRMWARE = [(family.title, f"as `{family.firmware.example}`") for family in FAMILIES.values() if family.firmware]


class BusTable(Table):
    """A wire with drives on it."""

    name: Reference = key("of the bus, as the board file has it")
    kind: BusKind = key("; ".join(("what is spoken on it", *_WIRES)), Bus.kind)
    bitrate: int = key("1/s; of CAN up to 1000000", Bus.bitrate, ge=9_600, le=4_000_000)
    data_bitrate: int | None = key("1/s, of CAN FD's data phase; 5000000 there", None, ge=10_000, le=8_000_000)


class DriveTable(Table):
    """Instead of motor and encoder: a drive that takes position, velocity, gains and torque over a bus, or a servo that
    takes a duty or a current; `motor` beside a servo stands for the catalogue's one.

    Its ranges come from the [catalogue](drives.md); what is flashed must be what the drive is set to. They, `inertia`
    and `zero` are at its own output, whatever `gear` is between that and the joint.
    """

    type: str = key("of the catalogue, as `damiao-4340`", max_length=32)
    bus: Reference = key("a [[bus]]")
    id: int = key("of its commands", ge=0, le=0x7FF)
    reply: int | None = key("; ".join(("id of what it sends", *_REPLIES)), None, ge=0, le=0x7FF)
    sign: Sign = key("-1: it turns the other way", Drive.sign)
    gear: Number = key(
        "turns of its output per turn of the joint, where a belt or a stage is between: 0.1 to 100", Drive.gear)
    pd: Literal["drive", "board"] | None = key(
        "who closes the loop of position and velocity: `drive` where it can, of a servo `board`", None)
    inertia: NotNegative = key("kg m^2, of its rotor at its output, the square of the gear inside in it", Drive.inertia)
    position: Positive | None = key("range of the field, rad, where it is not the catalogue's", None)
    velocity: Positive | None = key("rad/s, the same", None)
    torque: Positive | None = key("N m, the same", None)
    kp: Positive | None = key("N m/rad, the same", None)
    kd: Positive | None = key("N m s/rad, the same", None)
    zero: int | Number | None = key(
        "what it tells at the joint's zero: rad of its output, 0; of a servo a count, 2048", None)
    offset: int | None = key("of a servo: the position offset that is stored in it; 0", None, ge=-2047, le=2047)
    limit: Positive | None = key(
        "of a servo: the torque limit that it is set to, share of its supply or largest current; 1", None, le=1.0)
    firmware: str | None = key(
        f"the version that it must have, of {' or '.join(title for title, _ in _FIRMWARE)}: "
        f"{', '.join(example for _, example in _FIRMWARE)}; any", None,
                               pattern=r"^\d{1,9}(\.\d{1,3}){0,2}$")
    configured: str | None = key(
        f"of {' and '.join(_CONFIGURED)}: marks of what its owner has configured, from `bringup --settings`", None,
        pattern=r"^[A-Za-z0-9_-]{3,99}$")


class EncoderTable(Table):
    counts: int = key("a turn after quadrature ×4", gt=0, le=2**30)
    at: Literal["joint", "motor"] = key("which shaft it turns with", Encoder.at)
    sign: Sign = key("-1: counts the other way", Encoder.sign)
    zero: Literal["start", "index", "stop", "absolute"] = key("how it gets its zero", Encoder.zero)


class GainsTable(Table):
    ku: NotNegative = key("N m/rad; `femtorque check` prints the stiffest with margin", Gains.ku)
    kv: NotNegative = key("N m s/rad", Gains.kv)
    ki: NotNegative = key("N m/(rad s)", Gains.ki)


class HomeTable(Table):
    at: Number = key("position of the index or stop, rad or m", Home.at)
    direction: Sign = key("in which it is sought", Home.direction)
    speed: Positive | None = key("rad/s or m/s while seeking", None)
    effort: Positive | None = key("N m or N while seeking", None)
    travel: Positive | None = key("rad or m after which seeking is given up", None)


class ContactTable(Table):
    """A touch, where `[feel]` looks for one: a torque from outside that is off its mean of half a second by more."""

    torque: Positive = key("N m or N, at rest")
    velocity: NotNegative = key("N m s/rad: more, per velocity of the motion", Contact.velocity)
    acceleration: NotNegative = key("N m s²/rad: more, per acceleration", Contact.acceleration)


class MimicTable(Table):
    """Instead of a motor: the joint moves as another does, by gears or links that the file does not describe."""

    joint: Reference = key("the one that it follows")
    ratio: Number = key("of its displacement to the other's, signed", Mimic.ratio)
    offset: Number = key("its position where the other is at zero, rad or m", Mimic.offset)


class JointTable(Table):
    """Gains, limits, springs, friction and every torque are at the joint; R, L, K and the rotor's inertia at the
    motor. Positive torque moves the joint along its axis.
    """

    name: Name
    type: Literal["revolute", "continuous", "prismatic", "fixed"] = key("continuous: revolute without end")
    parent: Reference = key("a link, or `base`, the ground")
    child: Reference = key("the link it carries")
    xyz: Three = key("joint frame in the parent link's frame, m, as in URDF", [0.0, 0.0, 0.0])
    rpy: Three = key("its roll, pitch, yaw, rad", [0.0, 0.0, 0.0])
    axis: Three | None = key("in the joint frame; any length", None)
    actuated: bool = key("false: nothing drives it; a closed loop must", Joint.actuated)
    start: Number | None = key("position at power-up, rad or m", None)
    c_mot: float = key("0 pin to 1 rigid, of the joint as an element", Joint.c_mot, ge=0.0, le=1.0)
    stiffness: NotNegative = key("of a spring in it, N m/rad", Joint.stiffness)
    rest: Number = key("where that spring is at rest, rad or m", Joint.rest)
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
    """A body fixed to a link; a mode may attach and release it."""

    name: Name
    link: Reference = key("that it is fixed to")
    mass: NotNegative = key("kg")
    com: Three = key("in the link's frame, m")
    inertia: Six = key("about its centre of gravity, kg m²", [0.0] * 6)


class AnchorTable(Table):
    link: Reference = key("a link, or `base`")
    xyz: Three = key("m", [0.0, 0.0, 0.0])
    rpy: Three = key("rad, where the type has an axis (its z)", [0.0, 0.0, 0.0])


class LoopTable(Table):
    """Closes a loop between two links."""

    name: Name
    type: Literal["ball", "planar", "revolute", "rigid"] = key(
        "ball 3 rows, planar 2 (in the plane normal to a's z), revolute 5, rigid 6")
    a: AnchorTable
    b: AnchorTable


class ModeTable(Table):
    """Which loops are closed and which payloads on. Without any there is one mode: all of them."""

    name: Name
    loops: list[Reference] = key("that are closed in it", [])
    payloads: list[Reference] = key("that are on in it", [])
    passive: list[Reference] = key("joints, beside those with actuated = false", [])
    root: Reference = key("the link that stands on the ground", "base")
    ramp_s: float = key("s from one mode's torque to the next one's", 0.0, ge=0.0, le=60.0)


class MechanismTable(Table):
    """At the top of the file."""

    name: Title = key("of the mechanism: folders, IDENT and logs carry it")
    gravity: Three = key("an acceleration, m/s²", [0.0, 0.0, -9.81])
    lock: dict[str, Number] = key("joint = position: freezes joints", {})
    unphysical: Literal["refuse", "warn"] | None = key(
        "inertias that no single body can have (identified, lumped ones): refuse, or warn; with `urdf` warn", None)
    urdf: str | None = key(
        "links and joints come from this file; `[[link]]` and `[[joint]]` here are then matched by name, and masses, "
        "centres of gravity and inertias in them hold instead of its own", None)
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
    """One finding: where it is, what stands there, the rule it breaks, the nearest right thing."""

    where: tuple[str | int, ...]
    value: object
    rule: str
    hint: str = ""


def first_fault(error: ValidationError) -> Fault:
    """The finding to mend first: an unknown key before the missing one that it probably misspells."""
    findings = error.errors(include_url=False)
    finding = next((f for f in findings if f["type"] == "extra_forbidden"), findings[0])
    where, value, kind = finding["loc"], finding["input"], finding["type"]
    bounds = finding.get("ctx", {})
    if kind == "extra_forbidden":
        tables = isinstance(value, list) and any(isinstance(item, dict) for item in value)  # more than a line can show
        return Fault(where, None if tables else value, "unknown key",
                     hint(str(where[-1]), _keys_at(where[:-1]), "keys here"))
    if kind == "missing":
        return Fault(where, None, "is required")
    if kind == "literal_error":
        choices = str(bounds["expected"])
        names = [c.strip(" '") for c in choices.replace(" or ", ",").split(",")]
        near = hint(value, names) if isinstance(value, str) else ""
        return Fault(where, value, f"must be {choices}", near if near.startswith("did") else "")
    if kind == "list_type" and len(where) == 1 and _keys_at(where):
        return Fault(where, value, f"must be an array of tables: write [[{where[0]}]]")
    return Fault(where, value, _rule(kind, bounds, where))


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

_PATTERNS = {NAME_PATTERN: NAME_RULE, TITLE_PATTERN: TITLE_RULE}


def _rule(kind: str, bounds: dict[str, Any], where: tuple[str | int, ...]) -> str:
    if kind in ("too_short", "too_long"):
        length = bounds.get("min_length", bounds.get("max_length"))
        return f"must hold exactly {length} numbers"
    if kind == "string_too_long":
        return f"must have at most {bounds['max_length']} characters"
    if kind == "tiny":
        return f"must be at least {bounds['least']}"
    signs = {"gt": "greater than", "ge": "at least", "lt": "less than", "le": "at most"}
    for bound, word in signs.items():
        if bound in bounds:
            return f"must be {word} {bounds[bound]:g}"
    if kind == "finite_number" and "limits" in where:
        return "must be finite; leave the key out where there is no limit"
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(bounds["pattern"], "must be letters, digits and '_', '-', '.'")
    return _RULES.get(kind, f"is not right ({kind.replace('_', ' ')})")


def _keys_at(where: tuple[str | int, ...]) -> list[str]:
    """Every key that is allowed in the table at `where`."""
    table: type[BaseModel] = MechanismTable
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
