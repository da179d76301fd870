"""Makes docs/'s reference pages from the code's tables: `python docs/generate.py`. A test compares pages and tables."""

import inspect
import json
import math
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen  # noqa: E402
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
from femtorque.codegen.drive import DATA_BITRATES, DRIVES, FAMILIES, Wire, bus_load  # noqa: E402
from femtorque.codegen.drive.budget import servo_load  # noqa: E402
from femtorque.codegen.drive.catalogue import CATALOGUE, SERVOS  # noqa: E402
from femtorque.codegen.emit.blink import PATTERNS, WORDS  # noqa: E402
from femtorque.codegen.mechanism import MOTORS, Control, Safety, Sold  # noqa: E402
from femtorque.codegen.mechanism.schema import LARGEST, MechanismTable, _table_in  # noqa: E402
from femtorque.codegen.wire import codec, messages  # noqa: E402
from femtorque.codegen.wire.in_words import class_of  # noqa: E402

sys.path.insert(0, str(ROOT / "docs"))
from links import filled, relinked  # noqa: E402

GENERATED = "<!-- made by docs/generate.py; change the tables it reads, not this page -->\n"


def pages() -> dict[str, str]:
    """Return {file name: text} of every page."""
    made = {"mechanism-files.md": {"keys": "\n".join(_sections("", MechanismTable))}, "boards.md": boards(),
            "drives.md": drives(), "motors.md": motors(), "faults.md": faults()}
    return {name: filled(ROOT / "docs" / name, parts) for name, parts in made.items()} | {
        "protocol.md": protocol(), "api.md": api(), "package.md": package(),
        "../examples/three_link.ipynb": notebook(ROOT / "examples" / "three_link.py")}


def table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Return a table in Markdown. Escape bars in cells."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in lines) + "\n"


# -- package index ----------------------------------------------------------------------------------------------------


def package() -> str:
    """Return the README for a package index. Links lead to pyproject.toml's repository, or become plain text."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project.get("urls", {}).get("Repository")

    def moved(target: str) -> str | None:
        if target.startswith(("https://", "http://")):
            return target
        return None if repository is None else f"{repository}/blob/main/{target}"

    return GENERATED + relinked((ROOT / "README.md").read_text(encoding="utf-8"), moved)


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
    on_can = sorted((family for family in FAMILIES.values() if family.wire is None),
                    key=lambda family: family.notes.count("no"))
    return {
        "families": table(("family", "reports its ranges", "reports if it is enabled", "reports errors",
                           "reaction to missing commands"), [(family.title, *family.notes) for family in on_can]),
        "unknown": "- the range of the torque of "
                   + _listed([family.title for family in on_can if not family.torque_known])
                   + "\n- the range of the position of "
                   + _listed([family.title for family in on_can if not family.position_known]) + "\n",
        "ranges": table(("type", "position, rad", "velocity, rad/s", "torque, N m", "kp", "kd", "rotor, kg m²",
                         "CAN FD", "other sources"), [
            (f"`{d.name}`", f"{d.position:g}", f"{d.velocity:g}", f"{d.torque:g}", f"{d.kp:g}", f"{d.kd:g}",
             f"{d.inertia:g}" if d.inertia else "", "yes" if d.fd else "no", d.note) for d in CATALOGUE]),
        "bus_loads": _bus_loads(),
        "moteus": _of_moteus(),
        "bits": _bits(),
        "feetech": _servo_table("feetech"),
        "feetech_loads": _wire_load(Wire("sts", 1e6), "feetech-sts3215-12v", (1, 2, 3, 4, 6, 7, 12)),
        "dynamixel_rates": _dynamixel_rates(),
        "dynamixel": _servo_table("dynamixel"),
        "dynamixel_loads": _wire_load(Wire("dynamixel", 2e6), "dynamixel-xm430-w350", (1, 2, 4, 6, 7, 12))}


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
    """Return the table of the bit timing of each CAN controller, for each bit rate."""
    chips = [load_board(name).chip for name in ("f405rg-4", "nucleo-g474re-6")]
    cans = {chip.part: next(iter(chip.cans.values())) for chip in chips}
    return table(("Mbit/s", *(f"{part}, bits of {can.clock_hz / 1e6:g} MHz" for part, can in cans.items())),
                 [(f"{rate / 1e6:g}", *(_made(can, rate) for can in cans.values()))
                  for rate in (1_000_000, *DATA_BITRATES)])


def _of_moteus() -> str:
    """Return a sentence with the bit timing of an STM32G4 for a moteus."""
    can, samples = next(iter(load_board("nucleo-g474re-6").chip.cans.values())), FAMILIES["moteus"].samples
    assert samples is not None
    made = [bits(can, rate, fast, at) for rate, fast, at in zip((1_000_000, 5_000_000), (False, True), samples,
                                                                strict=True)]
    words = " and ".join(f"{m.quanta} quanta sampled at {m.sample_point:.1%}" for m in made if m)
    return f"An STM32G4 uses {words}.\n"


def _listed(names: list[str]) -> str:
    """Return the names as a list in words: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _made(can: Can, rate: int) -> str:
    """Describe the bit timing for Damiao's drives: 1 Mbit/s for arbitration, higher rates for data."""
    fast = rate > 1_000_000
    if fast and can.data is None:
        return "no: only classic CAN"
    samples = FAMILIES["damiao"].samples if can.data else None
    made = bits(can, rate, fast, samples and samples[fast])
    if made is None:
        return f"no: {can.clock_hz / rate:g} clocks a bit"
    most = can.data.compensated if fast and can.data else None
    how = "" if most is None else ", compensated" if made.prescaler <= most else ", not compensated"
    return f"{made.quanta} quanta of {made.prescaler}, sampled at {made.sample_point:.1%}{how}"


def _servo_table(name: str) -> str:
    """Return the table of the servos of a family."""
    rows = [(f"`{d.name}`", f"{d.servo.volts:g}", f"{d.velocity:.3g}", f"{d.torque:.3g}", f"{d.servo.R:.3g}",
             f"{d.servo.K * d.servo.gear:.4g}", f"{d.servo.gear:g}", f"{d.servo.inertia * d.servo.gear**2:.3g}",
             f"{d.servo.viscous:.3g}, {d.servo.coulomb:.3g}", d.note)
            for d in SERVOS if d.servo and d.family == name]
    return table(("type", "V", "velocity, rad/s", "torque, N m", "R, ohm", "K gear, N m/A", "gear", "rotor, kg m²",
                  "friction, N m s/rad, N m", "sources"), rows)


def _wire_load(wire: Wire, name: str, counts: Sequence[int]) -> str:
    """Return the table of the longest tick of a half-duplex bus, for each number of servos of one type."""
    found = [(n, servo_load(wire, n * [DRIVES[name]])) for n in counts]
    return table(("servos", "longest tick, us", "highest rate, Hz"),
                 [(n, f"{1e6 * one.worst:.0f}", f"{one.fastest:.0f}") for n, one in found])


def _dynamixel_rates() -> str:
    """Return the table of the possible bit rates of the servo bus of each board."""
    boards = [load_board(name) for name in ("f405rg-4", "f405rg-6", "nucleo-g474re-6")]
    return table(("Mbit/s", *(f"`{board.name}`" for board in boards)),
                 [(f"{rate / 1e6:g}", *(_wire_rate(board, rate) for board in boards))
                  for rate in (1_000_000, 2_000_000, 3_000_000, 4_000_000)])


def _wire_rate(board: Board, rate: int) -> str:
    """Return the number of clocks per bit of a board's first half-duplex bus, or "no" if the rate is impossible."""
    usart = board.chip.usarts[next(iter(board.half_duplex.values())).usart]
    made = line_divider(usart, usart.clock_hz, rate)
    return "no" if made is None else f"{made} clocks"


# -- mechanism files --------------------------------------------------------------------------------------------------


def _sections(path: str, kind: type[BaseModel]) -> list[str]:
    rows, below = [], []
    for name, field in kind.model_fields.items():
        key, inner = f"{path}.{name}".lstrip("."), _table_in(field.annotation)
        if inner is not None:
            below += _sections(key, inner)
            continue
        default = "required" if field.is_required() else _default(field.default)
        annotation = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        rows.append((f"`{name}`", _type(annotation), default, field.description or ""))
    said = inspect.cleandoc(vars(kind).get("__doc__") or "").replace("\n", " ")
    title = f"{_heading(path)}\n\n{said}\n\n".replace("\n\n\n\n", "\n\n")
    return [title + table(("key", "type", "default", "meaning"), rows), *below]


def _heading(path: str) -> str:
    if not path:
        return "## The mechanism"
    parts = path.split(".")
    if len(parts) == 1:
        return (f"## `[[{path}]]`"
                if get_origin(MechanismTable.model_fields[path].annotation) is list else f"## `[{path}]`")
    return f"### `{'.'.join(parts[1:])} = {{ ... }}` of a {parts[0]}"


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
        if isinstance(m, MaxLen) and words == "text":
            bounds.append(f"at most {m.max_length} characters")
    return f"{words} {', '.join(bounds)}".rstrip()


# -- boards -----------------------------------------------------------------------------------------------------------


def boards() -> dict[str, str]:
    """Return the tables of the boot loaders and LED patterns, and a section for every board file."""
    return {"loaders": table(("board", "ROM listens at the link", "other pins of ROM (TX, RX)", "`flash` starts it"), [
                (f"`{name}`", *_loader(load_board(name))) for name in board_names()]),
            "led": table(("state", "LED"), [(f"`{name}`", WORDS[pattern]) for name, pattern in PATTERNS.items()]),
            "boards": "\n".join(_board(name) for name in board_names())}


def _board(name: str) -> str:
    """Return the section of one board file: its comment, its keys and its pins."""
    source = (BOARDS / f"{name}.toml").read_text(encoding="utf-8")
    head = [line.removeprefix("#").removeprefix(" ") for line in source[:source.index("name =")].splitlines()]
    raw = tomllib.loads(source)
    channels = [dict(_flat(channel)) for channel in raw.pop("channel", [])]
    raw.pop("headers", None)
    text = f"## {name}\n\n" + "\n".join(head).strip()
    text += f"\n\n[firmware/boards/{name}.toml](../firmware/boards/{name}.toml)\n\n"
    text += table(("key", "value"), [(f"`{key}`", f"`{value}`") for key, value in _flat(raw) if key != "name"])
    if channels:
        columns = list(dict.fromkeys(key for channel in channels for key in channel))
        text += "\n" + table(("channel", *columns), [
            (number, *(channel.get(key, "") for key in columns)) for number, channel in enumerate(channels)])
    return text + _wiring(load_board(name))


def _wiring(board: Board) -> str:
    """Return the table of the pins of every signal."""
    levels = {pin: bears(board, channel.encoder.pins, channel.encoder.pull)
              for channel in board.channels for pin in channel.encoder.pins}
    rows = []
    for use in uses(board):
        if not use.is_pin or use.key.startswith(("low.", "gate_driver.")):
            continue
        what = use.label if use.channel is None else f"channel {use.channel}: {use.label}"
        way = "out" if use.mode.startswith("output") or use.moves else "both ways" if use.mode == "open_drain" else (
            "out" if use.signal.endswith(("_TX", "_DE")) else "in")
        if use.mode == "open_drain":
            levels[use.resource] = bears(board, [use.resource], use.pull)
        place = (board.headers.get(use.resource, ""),) if board.headers else ()
        rows.append((what, f"`{use.resource}`", *place, way, levels.get(use.resource, "3.3 V")))
    return "\n" + table(("signal", "pin", *(("on the board",) if board.headers else ()), "", "highest level"), rows)


def _loader(board: Board) -> tuple[str, str, str]:
    """Return how to start the boot loader in ROM on a board, and if `flash` may start it."""
    used = board.source.read_text(encoding="utf-8").partition("[reserved]")[0]
    taken = set(re.findall(r'"(P[A-I]\d+)"', used))
    others = [f"{name} {tx}, {rx}" for name, tx, rx in board.chip.rom.usarts if not {tx, rx} & taken]
    return (f"yes, {board.loader_usart}: `--via uart`" if board.loader_usart else f"no ({board.link.usart})",
            "; ".join([*others, *(["USB: `--via dfu`"] if "USB_DM" in board.reserved else [])]) or "none free",
            "yes" if board.loader_safe else f"no: it pulls at {', '.join(board.loader_pulls)}")


def _flat(raw: dict[str, Any], path: str = "") -> list[tuple[str, Any]]:
    found = []
    for key, value in raw.items():
        here = f"{path}{key}"
        found += _flat(value, f"{here}.") if isinstance(value, dict) else [(here, value)]
    return found


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
        "states": table(("state", "meaning"), [(name, doc) for name, (_, doc) in messages.STATES.items()]),
        "faults": table(("fault", "number", "class", "meaning", "detected", "remedy"), [
            (name, number, class_of(name), meaning, _found(Safety()).get(name, "at start"), mend)
            for name, (number, meaning, mend) in messages.FAULTS.items() if number]),
        "refusals": table(("refusal", "number", "meaning", "remedy"), [
            (name, number, meaning, mend) for name, (number, meaning, mend) in messages.REFUSALS.items() if number]),
        "limits": table(("limit", "meaning"), [(name, doc) for name, (_, doc) in messages.LIMITS.items()])}


def _host_lost(timeout_s: float) -> str:
    """Describe the reactions of the board after the last frame of a host."""
    return f"""If the host is silent for `host_timeout_s` ({timeout_s:g} s), the board brakes the arm along its path
within {STOP_S:g} s and holds it. In FLOAT the board holds the present position, and in JOG the joint stops. HOMING and
PROBE end with the outputs off. After {HOST_LOST} times this timeout ({timeout_s * HOST_LOST:g} s) the fault is
HOST_LOST.
"""


def _found(safety: Safety) -> dict[str, str]:
    """Return the time at which the board detects each fault, except for faults that occur only at start."""
    tick, slow = "in the same tick", "between two ticks"
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
        "UNDER_VOLTAGE": f"{tick}, below {BUS_LOW:.0%} of `bus_voltage`",
        "OVER_VOLTAGE": f"{tick}, above {BUS_HIGH:.0%} of `bus_voltage`, or above what the board can measure",
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
    def told(value: float | None, unit: str = "") -> str:
        return "unknown" if value is None or math.isinf(value) else f"{value:.3g}{unit}"

    def row(sold: Sold) -> tuple[str, ...]:
        return (f"`{sold.name}`", sold.what, f"{sold.volts:g}",
                *(f"{x:.3g}" for x in (sold.R, 1e3 * sold.L, 1e3 * sold.K)),
                told(sold.inertia), f"{sold.gear:g}", f"{sold.efficiency:.0%}", told(sold.torque),
                told(sold.continuous),
                told(sold.thermal_s), str(sold.counts or "none"), sold.source, sold.worked_out)

    return {"motors": table(("name", "type", "V", "R, ohm", "L, mH", "K, mN m/A", "rotor, kg m²", "gear", "efficiency",
             "continuous output, N m",
             "continuous current, A", "winding, s", "counts per turn of the motor", "source", "computed values"),
            [row(sold) for sold in MOTORS])}


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
STATUS {messages.STATUS_HZ} times per second.

"""
    for message in messages.MESSAGES:
        sizes = [codec.payload_size(message, joints) for joints in (1, 6)]
        payload = f"{sizes[0]} bytes" if sizes[0] == sizes[1] else f"{sizes[0]} bytes of one joint, {sizes[1]} of six"
        text += f"## {message.name}, type {message.type}, to the {message.to}\n\n{message.doc} Payload: {payload}.\n\n"
        if message.fields:
            rows = [(f"`{f.name}`", f.type + ("" if f.length == 1 else f"[{f.length}]"), f.doc) for f in message.fields]
            text += table(("field", "type", "meaning"), rows) + "\n"
    for title, numbers, what in (
        ("States", messages.STATES, "STATUS.state"), ("Commands", messages.COMMANDS, "COMMAND.command"),
        ("Flags", messages.FLAGS, "bits of STATUS.flags"), ("Limits", messages.LIMITS, "bits of STATUS.limits"),
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


class _Bare(str):
    """A type annotation that is printed as in the source, without quotes."""

    __repr__ = str.__str__


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
    signature = inspect.signature(function)
    parameters = [p.replace(annotation=_Bare(p.annotation) if isinstance(p.annotation, str) else p.annotation,
                            default=_Bare("...") if inspect.isfunction(p.default) else p.default)
                  for p in signature.parameters.values() if p.name not in ("self", "cls")]
    returned = signature.return_annotation
    return str(signature.replace(parameters=parameters,
                                 return_annotation=_Bare(returned) if isinstance(returned, str) else returned))


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
