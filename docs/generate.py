"""Makes docs/'s reference pages from the code's tables: `python docs/generate.py`. A test compares pages and tables."""

import inspect
import json
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from annotated_types import Ge, Gt, Le, Lt, MinLen  # noqa: E402
from pydantic import BaseModel  # noqa: E402

import femtorque  # noqa: E402
from femtorque.codegen.board import Board, board_names, line_divider, load_board, uses  # noqa: E402
from femtorque.codegen.board.chip import Can  # noqa: E402
from femtorque.codegen.board.fieldbus import bits  # noqa: E402
from femtorque.codegen.board.reader import BOARDS  # noqa: E402
from femtorque.codegen.board.voltage_levels import bears  # noqa: E402
from femtorque.codegen.control.constants import BUS_HIGH, BUS_LOW, FOLLOWING_S, HOST_LOST, STOP_S  # noqa: E402
from femtorque.codegen.control.drives import SILENT_S, SILENT_TICKS  # noqa: E402
from femtorque.codegen.control.park import SAGS_S  # noqa: E402
from femtorque.codegen.drive import DATA_BITRATES, DRIVES, FAMILIES, DriveType, Wire, bus_load  # noqa: E402
from femtorque.codegen.drive.budget import servo_load  # noqa: E402
from femtorque.codegen.drive.catalogue import CATALOGUE, SERVOS  # noqa: E402
from femtorque.codegen.drive.family import Family  # noqa: E402
from femtorque.codegen.emit.blink import PATTERNS, WORDS  # noqa: E402
from femtorque.codegen.mechanism import MOTORS, Control, Safety  # noqa: E402
from femtorque.codegen.mechanism.schema import LARGEST, MechanismTable, _table_in  # noqa: E402
from femtorque.codegen.wire import messages  # noqa: E402
from femtorque.codegen.wire.in_words import class_of  # noqa: E402

sys.path.insert(0, str(ROOT / "docs"))
from links import filled  # noqa: E402

GENERATED = "<!-- made by docs/generate.py; change the tables it reads, not this page -->\n"


def pages() -> dict[str, str]:
    """Return {file name: text} of every page."""
    made = {"mechanism-files.md": {"keys": "\n".join(_sections("", MechanismTable))}, "boards.md": boards(),
            "drives.md": drives(), "motors.md": motors(), "faults.md": faults(),
            "pc.md": {"dead": table(("drives", "then"), [(family.title, family.notes[3]) for family in _families()])}}
    return {name: filled(ROOT / "docs" / name, parts) for name, parts in made.items()} | {
        "protocol.md": protocol(), "api.md": api(),
        "../examples/three_link.ipynb": notebook(ROOT / "examples" / "three_link.py")}


def table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Return a table in Markdown. Escape bars in cells."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in lines) + "\n"


def sources(items: Sequence[tuple[str, str]]) -> str:
    """Return the names of each source as a list in Markdown. items: names with their sources, which may be empty."""
    by_source: dict[str, list[str]] = {}
    for name, source in items:
        by_source.setdefault(source, []).append(f"`{name}`")
    return "".join(f"- {', '.join(names)}: {source}\n" for source, names in by_source.items() if source)


# -- notebook ---------------------------------------------------------------------------------------------------------


def notebook(script: Path) -> str:
    """Return a script in percent format as a notebook for Jupyter."""
    cells: list[dict[str, Any]] = []
    for number, cell in enumerate(re.split(r"^# %%", script.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]):
        head, _, text = cell.partition("\n")
        words = head.strip() == "[markdown]"
        lines = [re.sub(r"^# ?", "", line) if words else line for line in text.strip().split("\n")]
        own: dict[str, Any] = {} if words else {"execution_count": None, "outputs": []}
        cells.append({"cell_type": "markdown" if words else "code", "id": f"cell-{number}", "metadata": {}, **own,
                      "source": [f"{line}\n" for line in lines[:-1]] + lines[-1:]})
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
             "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


# -- drives -----------------------------------------------------------------------------------------------------------


def drives() -> dict[str, str]:
    """Return the tables of the drives, and of the load of a bus."""
    every = _families()
    on_can = [family for family in every if family.wire is None]
    return {
        "families": table(("family", "reports its ranges", "reports if it is enabled", "reports errors",
                           "reaction to missing commands"), [(family.title, *family.notes) for family in every]),
        "unknown": "- the range of the torque of "
                   + _listed([family.title for family in on_can if not family.torque_known])
                   + "\n- the range of the position of "
                   + _listed([family.title for family in on_can if not family.position_known]) + "\n",
        "ranges": "".join(_ranges(*same) for same in dict.fromkeys(map(_constants, CATALOGUE)))
        + "Other sources:\n\n" + sources([(d.name, d.note) for d in CATALOGUE]),
        "bus_loads": _bus_loads(),
        "bits": _bits(),
        "feetech": _servo_table("feetech"),
        "feetech_loads": _wire_load(Wire("sts", 1e6), "feetech-sts3215-12v", (1, 2, 3, 4, 6, 7, 12)),
        "dynamixel_rates": _dynamixel_rates(),
        "dynamixel": _servo_table("dynamixel"),
        "dynamixel_loads": _wire_load(Wire("dynamixel", 2e6), "dynamixel-xm430-w350", (1, 2, 4, 6, 7, 12))}


def _families() -> list[Family]:
    """Return all families. The families that report most come first."""
    return sorted(FAMILIES.values(), key=lambda family: (family.wire is not None, family.notes.count("no")))


def _constants(d: DriveType) -> tuple[Any, ...]:
    """Return the properties that most drives of a family share."""
    return d.family, d.position, d.kp, d.kd, d.fd


def _ranges(family: str, position: float, kp: float, kd: float, fd: bool) -> str:
    """Return the table of the drives that share these properties."""
    return (f"{FAMILIES[family].title}, {'CAN FD' if fd else 'classic CAN'}: position {position:g} rad, kp {kp:g}, "
            f"kd {kd:g}\n\n" + table(("type", "velocity, rad/s", "torque, N m", "rotor, kg m²"), [
                (f"`{d.name}`", f"{d.velocity:g}", f"{d.torque:g}", f"{d.inertia:g}" if d.inertia else "")
                for d in CATALOGUE if _constants(d) == (family, position, kp, kd, fd)]) + "\n")


def _bus_loads() -> str:
    """Return the table of the highest rate of a bus, for each number of drives."""
    rows = []
    for what, wire, name in (("Damiao, CubeMars, mini-cheetah; CAN 1 Mbit/s", Wire("can", 1e6), "damiao-4310"),
                             ("RobStride; CAN 1 Mbit/s", Wire("can", 1e6), "robstride-02"),
                             ("Damiao; CAN FD 1 / 5 Mbit/s", Wire("can-fd", 1e6, 5e6), "damiao-4310"),
                             ("moteus, numbers 1 to 7; CAN FD 1 / 5 Mbit/s", Wire("can-fd", 1e6, 5e6), "moteus-r4"),
                             ("ODrive, with heartbeats; CAN 1 Mbit/s", Wire("can", 1e6), "odrive-s1")):
        loads = [bus_load(wire, [(k, DRIVES[name]) for k in range(1, n + 1)]) for n in range(1, 9)]
        rows.append((what, f"{1e6 * loads[0].mean:.0f}, {1e6 * loads[0].worst:.0f}",
                     *(f"{one.fastest:.0f}" for one in loads[2:7])))
    return table(("drives", "one drive, us: mean, longest", *(f"{n} drives: at most Hz" for n in range(3, 8))), rows)


def _bits() -> str:
    """Return the table of the bit timing of each CAN controller, for each bit rate that the controller can make."""
    chips = [load_board(name).chip for name in ("f405rg-4", "nucleo-g474re-6")]
    rows = [(chip.part, f"{rate / 1e6:g}", _made(can, rate)) for chip in chips for can in [*chip.cans.values()][:1]
            for rate in (1_000_000, *DATA_BITRATES)]
    return table(("chip", "Mbit/s", "bit"), [row for row in rows if row[2]])


def _listed(names: list[str]) -> str:
    """Return the names as a list in words: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _made(can: Can, rate: int) -> str:
    """Describe the bit timing for Damiao's drives, or return an empty text for an impossible rate. 1 Mbit/s is the
    arbitration rate, higher rates are for data."""
    fast = rate > 1_000_000
    samples = FAMILIES["damiao"].samples if can.data else None
    made = None if fast and can.data is None else bits(can, rate, fast, samples and samples[fast])
    if made is None:
        return ""
    most = can.data.compensated if fast and can.data else None
    how = "" if most is None else ", compensated" if made.prescaler <= most else ", not compensated"
    clocks = "1 clock" if made.prescaler == 1 else f"{made.prescaler} clocks"
    return f"{made.quanta} quanta of {clocks}, sampled at {made.sample_point:.1%}{how}"


def _servo_table(name: str) -> str:
    """Return the table of the servos of a family."""
    rows = [(f"`{d.name}`", f"{d.servo.volts:g}", f"{d.velocity:.3g}", f"{d.torque:.3g}", f"{d.servo.R:.3g}",
             f"{d.servo.K * d.servo.gear:.4g}", f"{d.servo.gear:g}", f"{d.servo.inertia * d.servo.gear**2:.3g}",
             f"{d.servo.viscous:.3g}, {d.servo.coulomb:.3g}")
            for d in SERVOS if d.servo and d.family == name]
    return table(("type", "V", "velocity, rad/s", "torque, N m", "R, ohm", "K gear, N m/A", "gear", "rotor, kg m²",
                  "friction, N m s/rad, N m"), rows) + "\n" + sources(
                      [(d.name, d.note) for d in SERVOS if d.family == name])


def _wire_load(wire: Wire, name: str, counts: Sequence[int]) -> str:
    """Return the highest rate of a half-duplex bus, for each number of servos of one type."""
    return "; ".join(f"{n}: {servo_load(wire, n * [DRIVES[name]]).fastest:.0f} Hz" for n in counts) + ".\n"


def _dynamixel_rates() -> str:
    """Return the possible bit rates of the servo bus of each board."""
    return "".join(f"- `{name}`: " + ", ".join(
        f"{rate}" for rate in range(1, 5) if _divides(load_board(name), rate * 1_000_000)) + " Mbit/s\n"
        for name in ("f405rg-4", "f405rg-6", "nucleo-g474re-6"))


def _divides(board: Board, rate: int) -> bool:
    """Return True if a board's first half-duplex bus can make a bit rate."""
    usart = board.chip.usarts[next(iter(board.half_duplex.values())).usart]
    return line_divider(usart, usart.clock_hz, rate) is not None


# -- mechanism files --------------------------------------------------------------------------------------------------


def _sections(path: str, kind: type[BaseModel], heading: str = "") -> list[str]:
    """Return the sections of a table of keys and of the tables in this table. Equal tables share a section."""
    rows: list[tuple[str, ...]] = []
    below: dict[type[BaseModel], list[str]] = {}  # keys of each kind of table
    for name, field in kind.model_fields.items():
        if (inner := _table_in(field.annotation)) is not None:
            below.setdefault(inner, []).append(f"{path}.{name}".lstrip("."))
            continue
        default = "required" if field.is_required() else _default(field.default)
        annotation = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        rows.append((f"`{name}`", _type(annotation), default, field.description or ""))
    said = inspect.cleandoc(vars(kind).get("__doc__") or "").replace("\n", " ")
    title = f"{heading or _heading(path)}\n\n{said}\n\n".replace("\n\n\n\n", "\n\n")
    return [title + table(("key", "type", "default", "meaning"), rows),
            *(text for inner, keys in below.items() for text in _sections(keys[0], inner, _heading(*keys)))]


def _heading(path: str, *alike: str) -> str:
    """Return the heading of a table's section. alike: other tables with the same keys."""
    if not path:
        return "## The mechanism"
    outer, _, inner = path.partition(".")
    table = f"`[[{outer}]]`" if get_origin(MechanismTable.model_fields[outer].annotation) is list else f"`[{outer}]`"
    names = [key.partition(".")[2] for key in (path, *alike)]
    return f"### {', '.join(f'`{name} = {{ ... }}`' for name in names)} in {table}" if inner else f"## {table}"


def _default(value: Any) -> str:
    return "" if value is None else f"`{str(value).lower() if isinstance(value, bool) else repr(value)}`".replace("'",
                                                                                                                  '"')


def _type(annotation: Any) -> str:
    """Describe the type of a key's value in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _bounded(_type(arguments[0]), arguments[1:])
    if origin in (Union, UnionType):
        return " or ".join(_type(a) for a in arguments if a is not type(None))
    if origin is Literal:
        return ", ".join(f"`{str(a).lower() if isinstance(a, bool) else a}`" for a in arguments)
    if origin is list:
        return f"array of {_plural(_type(arguments[0]))}"
    if origin is dict:
        return f"table of {_plural(_type(arguments[1]))}"
    return {int: "whole number", float: "number", str: "text", bool: "true or false"}[annotation]


def _plural(words: str) -> str:
    first, _, rest = words.partition(" ")
    return {"number": "numbers", "text": "texts", "whole": "whole numbers"}.get(first, words) + (
        f" {rest}" if rest and first != "whole" else "")


def _bounded(words: str, metadata: tuple[Any, ...]) -> str:
    bounds: list[str] = []
    flat = [m for item in metadata
            for m in (item.metadata if hasattr(item, "metadata") and not hasattr(item, "ge") else [item])]
    for m in flat:
        if isinstance(m, MinLen) and words.startswith("array of"):
            words = words.replace("array of", f"array of {m.min_length}", 1)
        for kind, attribute, sign in ((Gt, "gt", ">"), (Ge, "ge", "≥"), (Lt, "lt", "<"), (Le, "le", "≤")):
            if isinstance(m, kind) and abs(getattr(m, attribute)) < LARGEST:
                bounds.append(f"{sign} {getattr(m, attribute):g}")
    return f"{words} {', '.join(bounds)}".rstrip()


# -- boards -----------------------------------------------------------------------------------------------------------


def boards() -> dict[str, str]:
    """Return the tables of the boot loaders and LED patterns, and a section for every board file."""
    return {"loaders": table(("board", "ROM listens at the link", "other pins of ROM (TX, RX)", "`flash` starts it"), [
                (f"`{name}`", *_loader(load_board(name))) for name in board_names()]),
            "led": table(("state", "LED"), [
                (", ".join(f"`{name}`" for name, of in PATTERNS.items() if of == pattern), WORDS[pattern])
                for pattern in dict.fromkeys(PATTERNS.values())]),
            "boards": "\n".join(_board(name) for name in board_names())}


def _board(name: str) -> str:
    """Return the section of one board file: its comment and its pins. The file itself has all other keys."""
    source = (BOARDS / f"{name}.toml").read_text(encoding="utf-8")
    head = [re.sub("^# ?(  )?", "", line) for line in source[:source.index("name =")].splitlines()]
    return (f"## {name}\n\n" + "\n".join(head).strip().replace("(docs/boards.md, Wiring)", "([wiring](#wiring))")
            + f"\n\nAll keys: [{name}.toml](../firmware/boards/{name}.toml)\n\n" + _wiring(load_board(name)))


def _wiring(board: Board) -> str:
    """Return the table of the pins of every signal. Signals that each channel has are one row."""
    levels = {pin: bears(board, channel.encoder.pins, channel.encoder.pull)
              for channel in board.channels for pin in channel.encoder.pins}
    rows: dict[tuple[str, str, str], dict[int | None, list[str]]] = {}
    for use in uses(board):
        if not use.is_pin or use.key.startswith(("low.", "gate_driver.")):
            continue
        kind, _, bus = use.key.partition(".")
        what = (use.label.partition(",")[0] if use.channel is not None else
                f"{use.label}, bus `{bus.partition('.')[0]}`" if kind in ("can", "half_duplex") else use.label)
        way = "out" if use.mode.startswith("output") or use.moves else "both ways" if use.mode == "open_drain" else (
            "out" if use.signal.endswith(("_TX", "_DE")) else "in")
        if use.mode == "open_drain":
            levels[use.resource] = bears(board, [use.resource], use.pull)
        pin = f"`{use.resource}` {board.headers.get(use.resource, '')}".rstrip()
        row = rows.setdefault((what, way, levels.get(use.resource, "3.3 V")), {})
        row.setdefault(use.channel, []).append(pin)
    return table(("signal", "channel: pin", "", "highest level"), [
        (what, "; ".join(("" if number is None else f"{number}: ") + ", ".join(pins) for number, pins in row.items()),
         way, level) for (what, way, level), row in rows.items()])


def _loader(board: Board) -> tuple[str, str, str]:
    """Return how to start the boot loader in ROM on a board, and if `flash` may start it."""
    used = board.source.read_text(encoding="utf-8").partition("[reserved]")[0]
    taken = set(re.findall(r'"(P[A-I]\d+)"', used))
    others = [f"{name} {tx}, {rx}" for name, tx, rx in board.chip.rom.usarts if not {tx, rx} & taken]
    return (f"yes, {board.loader_usart}: `--via uart`" if board.loader_usart else f"no ({board.link.usart})",
            "; ".join([*others, *(["USB: `--via dfu`"] if "USB_DM" in board.reserved else [])]) or "none free",
            "yes" if board.loader_safe else f"no: it pulls at {', '.join(board.loader_pulls)}")


# -- faults -----------------------------------------------------------------------------------------------------------


def faults() -> dict[str, str]:
    """Return the tables of states, faults, refusals and limits, and the paragraph on HOST_LOST."""
    return {
        "reactions": table(("reaction", "effect"), [
            (f"`{name}`", doc) for name, (_, doc) in messages.REACTIONS.items()]),
        "classes": table(("class", "possible reactions", "meaning"), [
            (f"`{name}`", ", ".join(f"`{r}`" for r in allowed), about)
            for name, (_, allowed, about) in messages.FAULT_CLASSES.items()]),
        "host_lost": _host_lost(Control().host_timeout_s),
        "states": table(("state", "number", "meaning"), [
            (name, number, doc) for name, (number, doc) in messages.STATES.items()]),
        "faults": table(("fault", "number", "class", "meaning", "detected, if not in the same tick", "remedy"), [
            (name, number, class_of(name), meaning, _found(Safety()).get(name, "at start"), mend)
            for name, (number, meaning, mend) in messages.FAULTS.items() if number]),
        "refusals": table(("refusal", "number", "meaning", "remedy"), [
            (name, number, meaning, mend) for name, (number, meaning, mend) in messages.REFUSALS.items() if number]),
        "limits": table(("limit", "bit of STATUS.limits", "meaning"), [
            (name, bit, doc) for name, (bit, doc) in messages.LIMITS.items()])}


def _host_lost(timeout_s: float) -> str:
    """Describe the reactions of the board after the last frame of a host."""
    return f"""If the host is silent for `host_timeout_s` ({timeout_s:g} s), the board brakes the arm along its path
within {STOP_S:g} s and holds it. In FLOAT the board holds the present position, and in JOG the joint stops. HOMING and
PROBE end with the outputs off. After {HOST_LOST} times this timeout ({timeout_s * HOST_LOST:g} s) the fault is
HOST_LOST.
"""


def _found(safety: Safety) -> dict[str, str]:
    """Return the time at which the board detects each fault, except for faults that occur only at start."""
    tick, slow = "", "between two ticks"  # the page says that an empty cell is the same tick
    return {
        "CLOCK": "at start; if the crystal stops later, by a reset",
        "CODE": "at start, and continuously while running",
        "STACK": slow,
        "SUPPLY": "immediately: outputs safe, then a reset; at start, if the supply is still too low after 0.2 s",
        "CONFIGURATION": "at start, and continuously while running",
        "TICK_OVERRUN": tick, "NOT_FINITE": tick, "ENCODER": tick, "OVERSPEED": tick, "POSITION": tick, "BREAK": tick,
        "OVER_CURRENT": "in the current loop", "CURRENT_SENSOR": tick, "CURRENT_SIGN": "in the current loop",
        "CURRENT_LOOP": "in the current loop",
        "LOW_SUPPLY": f"after {SAGS_S:g} s below `supply_v` of [safety.park]; the arm first brakes along its path",
        "UNDER_VOLTAGE": f"below {BUS_LOW:.0%} of `bus_voltage`",
        "OVER_VOLTAGE": f"above {BUS_HIGH:.0%} of `bus_voltage`, or above what the board can measure",
        "FOLLOWING": f"after {FOLLOWING_S:g} s with too large an error",
        "ENCODER_STUCK": f"after `stuck_s` ({safety.stuck_s:g} s) without a count",
        "OVER_TEMPERATURE": f"{slow}, above `temperature_max` ({safety.temperature_max:g} deg C)",
        "OVERLOAD": f"{slow}, by a thermal model with the square of the current; the arm first brakes along its path",
        "DRIVER": slow, "KNOT": "when the knot arrives; the arm first brakes along its path",
        "HOST_LOST": "see [reactions](#reactions-to-a-fault)", "LOOPS_SINGULAR": tick, "MODE": tick,
        "DRIVE_FAULT": tick, "BUS_OFF": tick,
        "DRIVE_SILENT": f"after {SILENT_S:g} s without an answer, at least {SILENT_TICKS} ticks",
        "HOMING": "after `travel`, or after its maximum time",
        "HARD_FAULT": "immediately: outputs safe, then a reset",
        "WATCHDOG": "by the watchdog, which resets the board"}


# -- motors -----------------------------------------------------------------------------------------------------------


def motors() -> dict[str, str]:
    """Return the table of the motors, and their sources."""
    def known(value: float | None) -> str:
        return "" if value is None or math.isinf(value) else f"{value:.3g}"

    rows = [(f"`{sold.name}`", sold.what, f"{sold.volts:g}", f"{sold.stall(sold.volts):.3g}",
             f"{sold.no_load(sold.volts):.3g}", known(sold.torque), known(sold.continuous)) for sold in MOTORS]
    return {"motors": table(("name", "type", "V", "stall torque of the output, N m", "no-load speed, rad/s",
                             "continuous output, N m", "continuous current, A"), rows)
            + "\n" + sources([(sold.name, "; ".join(filter(None, (sold.source, sold.worked_out)))) for sold in MOTORS])}


# -- wire protocol ----------------------------------------------------------------------------------------------------


def protocol() -> str:
    """Return the page of the protocol: frame, messages, numbers."""
    frame = (messages.__doc__ or "").split("\n\n", 1)[1].strip()
    text = GENERATED + f"""# The serial protocol, version {messages.PROTOCOL}

One table, [codegen/wire/messages.py](../codegen/femtorque/codegen/wire/messages.py), defines the messages. The
Python codec, the C on the chip and this page are made from this table. The serial line has 8 data bits, no parity and
one stop bit. The board file gives the baud rate.

{frame}

`J` is the number of joints. Arrays have the order of the joints in the mechanism of IDENT. The board sends
STATUS {messages.STATUS_HZ} times per second. [faults.md](faults.md) has the numbers of states, faults, refusals and
limits.

"""
    for message in messages.MESSAGES:
        text += f"## {message.name}, type {message.type}, to the {message.to}\n\n{message.doc}\n\n"
        if message.fields:
            rows = [(f"`{f.name}`", f.type + ("" if f.length == 1 else f"[{f.length}]"), f.doc) for f in message.fields]
            text += table(("field", "type", "meaning"), rows) + "\n"
    for title, numbers, what in (
        ("Commands", messages.COMMANDS, "COMMAND.command"),
        ("Flags", messages.FLAGS, "bits of STATUS.flags"),
        ("Phases of FOLLOW", messages.FOLLOW_PHASES, "FOLLOWED.phase"),
        ("Touches", messages.FELT_TOUCHED, "bits of FELT.touched"),
        ("Limits in FOLLOW", messages.FOLLOW_LIMITS, "bits of FOLLOWED.limits"),
    ):
        text += f"## {title}\n\n{what}\n\n" + table(("name", "number", "meaning"), [
            (f"`{name}`", row[0], row[1]) for name, row in numbers.items()]) + "\n"
    text += "## Reset causes\n\nIDENT.reset_cause\n\n" + table(("name", "number"), [
        (f"`{name}`", number) for name, number in messages.RESETS.items()])
    return text


# -- Python -----------------------------------------------------------------------------------------------------------


def api() -> str:
    """Return the page of the Python API, from the docstrings of femtorque.__all__."""
    text = GENERATED + f"""# The Python API

The names of `from femtorque import ...`, version {femtorque.__version__}. A change of these names or of their arguments
increases the second number of the version, and CHANGELOG.md says how to change a script. All other names may change
without notice. [A notebook](../examples/three_link.ipynb) uses these names. Positions are rad or m, times s, torques N
m or N. Arrays have one column per joint, in the order of the mechanism file.

"""
    return text + "\n".join(_described(name, getattr(femtorque, name)) for name in sorted(femtorque.__all__))


def _described(name: str, thing: Any) -> str:
    shown = name if inspect.isclass(thing) else f"{name}{_signature(thing)}"
    text = f"## {name}\n\n" + (f"`{shown}`\n\n" if shown != name else "") + _prose(thing)
    if not inspect.isclass(thing):
        return text
    return text + "".join(_member(method, vars(thing)[method]) for method in vars(thing) if not method.startswith("_"))


def _member(name: str, member: Any) -> str:
    """Return the section of a method or property. The docstring of the class describes its fields."""
    if isinstance(member, property):
        return f"\n### `.{name}`\n\n{_prose(member)}"
    function = getattr(member, "__func__", member)
    if not inspect.isfunction(function):
        return ""
    return f"\n### `.{name}{_signature(function)}`\n\n{_prose(function)}"


def _signature(function: Any) -> str:
    """Return the names of a function's arguments, with their defaults. The docstring describes types and shapes."""
    parameters = [p.replace(annotation=p.empty, default=None if inspect.isfunction(p.default) else p.default)
                  for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
    return str(inspect.Signature(parameters))


def _prose(thing: Any) -> str:
    """Return a docstring as Markdown. Lines with the prompt >>> become a code block."""
    blocks = inspect.cleandoc(thing.__doc__ or "").split("\n\n")
    return "\n\n".join(_code(block) if block.startswith(">>>") else block for block in blocks) + "\n"


def _code(block: str) -> str:
    lines = [re.sub(r"^(>>>|\.\.\.) ?", "", line) if line.startswith((">>>", "...")) else f"# {line}"
             for line in block.splitlines()]
    return "```python\n" + "\n".join(lines) + "\n```"


def main() -> None:
    for name, text in pages().items():
        (ROOT / "docs" / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
