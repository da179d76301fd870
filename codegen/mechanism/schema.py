"""The keys of a mechanism file: their names, types, ranges and defaults. What two keys say together is not here.

pydantic checks one key at a time; `first_fault` turns its findings into the one that a reader should mend first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from codegen.common.nearest import hint

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


class ControlTable(Table):
    rate_hz: Annotated[int, Field(gt=0, le=100_000)] = 1000
    knot_hz: Annotated[int, Field(gt=0, le=100_000)] = 250
    scheme: Literal["auto", "midpoint", "newmark", "newton-euler"] = "auto"
    trig: Literal["tick", "knot"] = "tick"
    beta: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    gamma: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    allocation: Literal["closed", "partition"] = "closed"
    observer_hz: Positive | None = None
    host_timeout_s: Annotated[float, Field(gt=0.0, le=60.0)] = 0.1


class BoardTable(Table):
    use: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=16)]  # fits IDENT.board
    bus_voltage: Annotated[float, Field(gt=0.0, le=1000.0)] = 24.0
    pwm_hz: Annotated[int, Field(gt=0, le=1_000_000)] = 20000


class BrakeTable(Table):
    release_s: Annotated[float, Field(gt=0.0, le=2.0)]
    engage_s: Annotated[float, Field(gt=0.0, le=2.0)]


class SafetyTable(Table):
    computing: Literal["coast", "brake"] = "coast"
    sensing: Literal["coast", "brake"] = "coast"
    electrical: Literal["coast", "brake"] = "coast"
    motion: Literal["coast", "brake", "hold"] = "coast"
    host: Literal["auto", "coast", "brake", "hold"] = "auto"
    stuck_s: Annotated[float, Field(ge=0.01, le=10.0)] = 0.1
    temperature_max: Annotated[float, Field(ge=0.0, le=150.0)] = 85.0
    gain_overlay: Annotated[list[Annotated[float, Field(ge=0.0, le=3.9)]], Field(min_length=2, max_length=2)] = [1.0, 1.0]
    float_speed: Annotated[float, Field(gt=0.0, le=1.0)] = 0.25
    jog_speed: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    probe_effort: Annotated[float, Field(gt=0.0, le=1.0)] = 0.3
    brake: BrakeTable | None = None


class SectionTable(Table):
    area: Positive
    radius: Positive


def _pair(value: Any) -> Any:
    """One EI bends about z alone: about y the link is rigid (None). Its GA_s is that of the same plane."""
    return [None, value] if isinstance(value, int | float) and not isinstance(value, bool) else value


class BeamTable(Table):
    length: Positive
    EI: Annotated[list[Positive | None], Field(min_length=2, max_length=2), BeforeValidator(_pair)]
    elements: Annotated[int, Field(gt=0, le=64)]
    damping: NotNegative = 0.0
    GJ: Positive | None = None
    GA_s: Annotated[list[Positive | None], Field(min_length=2, max_length=2), BeforeValidator(_pair)] | None = None


class LinkTable(Table):
    name: Name
    mass: NotNegative
    com: Three | None = None
    inertia: Six | None = None
    rod: Positive | None = None
    section: SectionTable | None = None
    beam: BeamTable | None = None


class LimitsTable(Table):
    lower: Number | None = None
    upper: Number | None = None
    velocity: Positive | None = None
    effort: Positive | None = None
    acceleration: Positive | None = None
    jerk: Positive | None = None


class FrictionTable(Table):
    viscous: NotNegative = 0.0
    coulomb: NotNegative = 0.0


class MotorTable(Table):
    kind: Literal["brushed", "three-phase"] = "brushed"
    R: Positive
    L: Positive
    K: Positive
    gear: Number = 1.0
    inertia: NotNegative = 0.0
    continuous: Positive | None = None
    thermal_s: Positive | None = None
    drive: Literal["voltage", "antiphase", "current"] = "voltage"
    channel: Annotated[int, Field(ge=0, le=63)] | None = None
    sign: Sign = 1


class EncoderTable(Table):
    counts: Annotated[int, Field(gt=0, le=2**30)]
    at: Literal["joint", "motor"] = "joint"
    sign: Sign = 1
    zero: Literal["start", "index", "stop", "absolute"] = "start"


class GainsTable(Table):
    ku: NotNegative = 0.0
    kv: NotNegative = 0.0
    ki: NotNegative = 0.0


class HomeTable(Table):
    at: Number = 0.0
    direction: Sign = -1
    speed: Positive | None = None
    effort: Positive | None = None
    travel: Positive | None = None


class JointTable(Table):
    name: Name
    type: Literal["revolute", "continuous", "prismatic", "fixed"]
    parent: Reference
    child: Reference
    xyz: Three = [0.0, 0.0, 0.0]
    rpy: Three = [0.0, 0.0, 0.0]
    axis: Three | None = None
    actuated: bool = True
    start: Number | None = None
    c_mot: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    stiffness: NotNegative = 0.0
    rest: Number = 0.0
    limits: LimitsTable = LimitsTable()
    friction: FrictionTable = FrictionTable()
    motor: MotorTable | None = None
    encoder: EncoderTable | None = None
    gains: GainsTable = GainsTable()
    home: HomeTable | None = None


class PayloadTable(Table):
    name: Name
    link: Reference
    mass: NotNegative
    com: Three
    inertia: Six = [0.0] * 6


class AnchorTable(Table):
    link: Reference
    xyz: Three = [0.0, 0.0, 0.0]
    rpy: Three = [0.0, 0.0, 0.0]


class LoopTable(Table):
    name: Name
    type: Literal["ball", "planar", "revolute", "rigid"]
    a: AnchorTable
    b: AnchorTable


class ModeTable(Table):
    name: Name
    loops: list[Reference] = []
    payloads: list[Reference] = []
    passive: list[Reference] = []
    root: Reference = "base"
    ramp_s: Annotated[float, Field(ge=0.0, le=60.0)] = 0.0


class MechanismTable(Table):
    name: Title
    gravity: Three = [0.0, 0.0, -9.81]
    lock: dict[str, Number] = {}
    unphysical: Literal["refuse", "warn"] | None = None  # refuse; with a URDF warn, whose inertias are often identified
    urdf: str | None = None
    control: ControlTable = ControlTable()
    safety: SafetyTable = SafetyTable()
    board: BoardTable | None = None
    link: list[LinkTable] = []
    joint: list[JointTable] = []
    payload: list[PayloadTable] = []
    loop: list[LoopTable] = []
    mode: list[ModeTable] = []


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
        return Fault(where, value, "unknown key", hint(str(where[-1]), _keys_at(where[:-1]), "keys here"))
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
