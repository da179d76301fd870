"""Which functions of the firmware a proof goes through, line by line, as the prover itself tells of its walk.

A line that no proof reaches is one that nothing is proved of. So every function has to be reached by a proof, or to
have a reason for it not to be.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as Xml
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.common.firmware import FIRMWARE
from tests.firmware.proofs import mechanisms

ROOMS = ("src", "chip")
EMITTED = ("three_link", "six_axis", "five_bar", "flexible_arm")  # whose emitted C is looked at

_NAME = re.compile(r"(\w+)\(")
_ATTRIBUTE = re.compile(r"__attribute__\(\(.*?\)\)")


@dataclass(frozen=True)
class Function:
    """first, last: its lines in the file, from the one with its name on."""

    name: str
    first: int
    last: int


def functions(text: str) -> list[Function]:
    """Those that a file defines: their bodies begin and end in the first column."""
    lines = text.splitlines()
    found = []
    for at, line in enumerate(lines):
        if line == "{" and (head := _head(lines, at)) is not None:
            name = _NAME.search(_ATTRIBUTE.sub("", lines[head]))
            assert name, lines[head]
            last = next(i for i in range(at, len(lines)) if lines[i].startswith("}"))
            found.append(Function(name[1], head + 1, last + 1))
    return found


def _head(lines: list[str], at: int) -> int | None:
    """Return the line on which what begins at a brace has its name."""
    for i in range(at - 1, -1, -1):
        if lines[i] and not lines[i][0].isspace():
            return i if "(" in lines[i] else None
    return None


# -- what one proof goes through --------------------------------------------------------------------------------------


def walked(report: Path, folder: Path) -> dict[str, str]:
    """{file: its functions that are reached, each with those of its lines that are not: `name`, `name-7-8`}; lines are
    counted from that with the name."""
    hits = _hits(report)
    walk = {name: _walk(functions((folder / name).read_text(encoding="utf-8")), lines)
            for name, lines in sorted(hits.items()) if name != "harness.c" and (folder / name).is_file()}
    return {name: words for name, words in walk.items() if words}


def _hits(report: Path) -> dict[str, dict[int, bool]]:
    """{file: {line with code: reached}}."""
    found: dict[str, dict[int, bool]] = {}
    for file in Xml.parse(report).getroot().iter("class"):
        lines = found.setdefault(file.get("filename", ""), {})
        for line in file.iter("line"):
            number = int(line.get("number", 0))
            lines[number] = lines.get(number, False) or line.get("hits") != "0"
    return found


def _walk(defined: Iterable[Function], lines: Mapping[int, bool]) -> str:
    words = []
    for one in defined:
        own = {line - one.first: hit for line, hit in lines.items() if one.first <= line <= one.last}
        if any(own.values()):
            words.append("-".join([one.name, *(str(line) for line in sorted(own) if not own[line])]))
    return " ".join(words)


# -- what all of them do ----------------------------------------------------------------------------------------------


def everything() -> dict[str, list[str]]:
    """{file below firmware/: the functions that it defines}, hand-written."""
    paths = sorted(path for room in ROOMS for path in (FIRMWARE / room).rglob("*.[ch]"))
    found = {str(path.relative_to(FIRMWARE)): path.read_text(encoding="utf-8") for path in paths}
    return {name: list(dict.fromkeys(one.name for one in functions(text))) for name, text in found.items()}


def emitted() -> dict[str, list[str]]:
    """{mechanism/file: the functions that it defines}, of what is emitted for some mechanisms."""
    return {f"{mechanism}/{name}": list(dict.fromkeys(one.name for one in functions(text)))
            for mechanism in EMITTED for name, text in sorted(mechanisms.sources(mechanism).items())
            if name.endswith((".c", ".h"))}


def rooms() -> dict[str, dict[str, list[str]]]:
    """{room: {file: its functions}}: the firmware's, the chips', and what is emitted."""
    heads = {f"firmware/{room}": f"{room}/" for room in ROOMS}
    heads |= {f"emitted for {mechanism}": f"{mechanism}/" for mechanism in EMITTED}
    files = everything() | emitted()
    return {room: {name: names for name, names in files.items() if name.startswith(head) and names}
            for room, head in heads.items()}


def missed(results: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], set[int]]:
    """{(file, function) that a proof reaches: its lines that none does}; files as everything() and emitted() name
    them."""
    found: dict[tuple[str, str], set[int]] = {}
    for row in results:
        places = _places(row["mechanism"])
        for name, words in row.get("reached", {}).items():
            for function, lines in _words(words):
                which = places.get(name, f"{row['mechanism']}/{name}"), function
                found[which] = found.get(which, lines) & lines
    return found


def _words(words: str) -> Iterator[tuple[str, set[int]]]:
    for word in words.split():
        name, *lines = word.split("-")
        yield name, set(map(int, lines))


def _places(mechanism: str) -> dict[str, str]:
    """{file name: where it is below firmware/}, of the chip of the mechanism's board where chips differ."""
    paths = [*(FIRMWARE / "src").rglob("*.[ch]"),
             *(path for folder in mechanisms.chip_folders(mechanism) for path in folder.glob("*.[ch]"))]
    return {path.name: str(path.relative_to(FIRMWARE)) for path in paths}


# -- what none of them does ------------------------------------------------------------------------------------------

REGISTERS = "what registers tell is not proved about yet: the virtual board runs it"
START = "it is called once, at the start"
OTHER = "the mechanisms that the proofs of its file are of have no use for it"
CODEC = "the codec is proved for three_link and six_axis: it is the same but for the number of joints"
LOCAL = "what calls it has it as a neighbour, of which no proof of its own is there"

# {file, or file:function -> why no proof goes through it}
REASONS: dict[str, str] = {
    **{f"chip/{name}": REGISTERS for name in (
        "stm32/ft_clock_start.c", "stm32/ft_crystal.c", "stm32/ft_current.c", "stm32/ft_encoders.c",
        "stm32/ft_gate_drivers.c", "stm32/ft_identity.c", "stm32/ft_outputs.c", "stm32/ft_parts.h", "stm32/ft_pins.c",
        "stm32/ft_supply.c", "stm32/ft_tick.c", "stm32/ft_wait.c", "stm32f4/ft_adc.c", "stm32f4/ft_can.c",
        "stm32f4/ft_clock.c", "stm32f4/ft_converter.c", "stm32f4/ft_half_duplex.c", "stm32f4/ft_sampling.c",
        "stm32f4/ft_usart.c", "stm32g4/ft_adc.c", "stm32g4/ft_can.c", "stm32g4/ft_clock.c", "stm32g4/ft_converter.c",
        "stm32g4/ft_half_duplex.c", "stm32g4/ft_sampling.c", "stm32g4/ft_usart.c")},
    "chip/stm32/ft_buses.c": "its queues have more states than the prover gets through",
    "chip/stm32/ft_wires.c": "its buffers have more states than the prover gets through",
    "chip/stm32/ft_memory.c": "the prover has its own of these",
    "chip/stm32/ft_no_current.c": "it does nothing",
    "chip/stm32/ft_pil.c": "it is in no image that has outputs",
    "chip/stm32/ft_port_dma.c": "it only sleeps",
    "chip/stm32/ft_start.c": "it is assembly, goes over all memory, or never returns",
    "chip/stm32f4/ft_port_polled.c": "it is in no image that has outputs",
    "src/bus/ft_sts.c": "it goes on as sts_take says, until what came is at its end",
    "src/control/ft_law.c": "only drives that close loops ask for it, and only files with a ki integrate",
    "src/control/ft_motion.c": "only links that bend ask for it",
    "src/control/ft_motion.c:ft_motion_entry": LOCAL,
    "src/control/ft_observer.c": LOCAL,
    "src/control/ft_pace.c": "pace_stops goes through every value of it",
    "src/ft_app.c": "it only calls others",
    "src/lab/ft_lab.c": LOCAL,
    "src/safety/ft_conditions.c": OTHER,
    "src/safety/ft_safety.c": LOCAL,
    "src/wire/ft_port.c": START,
    "src/wire/ft_port.c:send_drive": OTHER,
    "src/wire/ft_port.c:send_drives": OTHER,
    "src/wire/ft_port.c:on_sense": "it is in no image that has outputs",
    "src/wire/ft_port.c:ft_port_idle": "it only calls others",
    "src/wire/ft_report.c": OTHER,
    "three_link/ft_step.c": START,
    "six_axis/ft_step.c": START,
    "six_axis/ft_step.c:ft_step_take": LOCAL,
    "flexible_arm/ft_step.c": START,
    "flexible_arm/ft_step.c:ft_step_take": LOCAL,
    "flexible_arm/ft_flexible.c": START,
    "five_bar/ft_step.c": LOCAL,
    "five_bar/ft_tree.c": LOCAL,
    "five_bar/ft_trig.h": "angles_sines and the proofs of three_link have it",
    "five_bar/ft_messages.c": CODEC,
    "flexible_arm/ft_messages.c": CODEC,
}


def reason(file: str, function: str) -> str:
    """Why no proof goes through a function; empty if nobody says."""
    return REASONS.get(f"{file}:{function}") or REASONS.get(file, "")
