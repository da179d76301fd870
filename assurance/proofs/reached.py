"""A search for the functions of the firmware that proofs reach, in the prover's report of its walk.

Proofs show nothing about functions that they do not reach. So every function must be reached by a proof, or REASONS
must state the reason."""

import re
import xml.etree.ElementTree as Xml
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assurance.proofs import mechanisms
from assurance.proofs.results import Reached, digest_of
from femtorque.codegen.common import FIRMWARE
from femtorque.codegen.drive import application

ROOMS = ("src", "chip")
EMITTED = ("three_link", "six_axis", "five_bar", "flexible_arm")  # mechanisms whose emitted C must be reached

_NAME = re.compile(r"(\w+)\(")
_ATTRIBUTE = re.compile(r"__attribute__\(\(.*?\)\)")


@dataclass(frozen=True)
class Function:
    """A function. first, last: its lines in the file, beginning with the line that contains its name."""

    name: str
    first: int
    last: int


def functions(text: str) -> list[Function]:
    """Return the functions of a file. The bodies of functions must begin and end in the first column."""
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
    """Return the index of the line that contains the name of the function whose brace is at this line, or None."""
    for i in range(at - 1, -1, -1):
        if lines[i] and not lines[i][0].isspace():
            return i if "(" in lines[i] else None
    return None


# -- reached by one proof ---------------------------------------------------------------------------------------------


def walked(report: Path, folder: Path) -> dict[str, list[str]]:
    """Return {file: its functions with a reached line}, from the prover's report on the files of a folder."""
    hits: dict[str, set[int]] = {}
    for file in Xml.parse(report).getroot().iter("class"):
        lines = {int(line.get("number", 0)) for line in file.iter("line") if line.get("hits") != "0"}
        hits.setdefault(file.get("filename", ""), set()).update(lines)
    walk = {name: [one.name for one in functions((folder / name).read_text(encoding="utf-8"))
                   if not lines.isdisjoint(range(one.first, one.last + 1))]
            for name, lines in sorted(hits.items()) if name != "harness.c" and (folder / name).is_file()}
    return {name: names for name, names in walk.items() if names}


# -- reached by all proofs
# ----------------------------------------------------------------------------------------------


def everything() -> dict[str, list[str]]:
    """Return {hand-written file below firmware/: its functions}."""
    return {name: _defined(text) for name, text in _written().items()}


def emitted() -> dict[str, list[str]]:
    """Return {mechanism/file: its functions} of the C that is emitted for some mechanisms."""
    return {name: _defined(text) for name, text in _emitted().items()}


@cache
def _written() -> dict[str, str]:
    paths = [*application().values(), *(FIRMWARE / "chip").rglob("*.[ch]")]
    return {_place(path): path.read_text(encoding="utf-8") for path in sorted(paths, key=_place)}


def _place(path: Path) -> str:
    """Return the path of a source relative to firmware/. A file of a drive family is listed under src/families/."""
    return str(path.relative_to(FIRMWARE)) if path.is_relative_to(FIRMWARE) else f"src/families/{path.name}"


@cache
def _emitted() -> dict[str, str]:
    return {f"{mechanism}/{name}": text for mechanism in EMITTED
            for name, text in sorted(mechanisms.sources(mechanism).items()) if name.endswith((".c", ".h"))}


def _defined(text: str) -> list[str]:
    return list(dict.fromkeys(one.name for one in functions(text)))


def rooms() -> dict[str, dict[str, list[str]]]:
    """Return {package: {file: its functions}} of the firmware, the chips and the emitted C."""
    heads = {f"firmware/{room}": f"{room}/" for room in ROOMS}
    heads |= {f"emitted for {mechanism}": f"{mechanism}/" for mechanism in EMITTED}
    files = everything() | emitted()
    return {room: {name: names for name, names in files.items() if name.startswith(head) and names}
            for room, head in heads.items()}


def of_walk(mechanism: str, walk: Mapping[str, Iterable[str]]) -> dict[str, Reached]:
    """Return {file: the functions that one proof reaches} from its walk, without the C of other mechanisms."""
    places, texts = _places(mechanism), _written() | _emitted()
    found = {}
    for name, names in walk.items():
        file = places.get(name, f"{mechanism}/{name}")
        if file in texts:
            found[file] = Reached(digest_of(texts[file]), frozenset(names))
    return found


def _places(mechanism: str) -> dict[str, str]:
    """Return {file name: its path relative to firmware/}, for the chip of the mechanism's board."""
    paths = [*application().values(),
             *(path for folder in mechanisms.chip_folders(mechanism) for path in folder.glob("*.[ch]"))]
    return {path.name: _place(path) for path in paths}


# -- reached by no proof ------------------------------------------------------------------------------------------

# {file, or file:function: reason why no proof reaches it}
REASONS: dict[str, str] = {
    "src/families/ft_dynamixel.c": "constants in a frame: tests compare its bytes with the makers' package",
    "src/safety/ft_conditions.c:cannot_follow": "a constant of the build",
    "src/control/ft_law.c:ft_law_gains": "it returns the gains in force; tests hold the gains of drives",
    "src/control/ft_law.c:ft_law_needed": "it is of_motion, which the law's proofs go through",
    "src/ft_app.c:detect_contact": "it passes positions on; the theorems of ft_safety.c have the reaction to a touch",
    "src/wire/ft_port.c:send_felt": "it is send_drives with another message",
    "src/wire/ft_report.c:ft_report_felt": "it copies numbers; tests hold the numbers",
    "src/wire/ft_report.c:ft_report_followed": "it copies numbers; tests hold the numbers",
    "src/wire/ft_port.c:forget_plant": "it does nothing in an image that has outputs",
    **dict.fromkeys(("src/control/ft_regular.c", "src/control/ft_regular.h",
                     "five_bar/ft_step.c:ft_step_regular", "five_bar/ft_step.c:ft_sine"),
                    "it solves loops again where joints would rest; tests with random live targets hold it"),
    "src/families/ft_dxl.c": "tests with noise and with the makers' package hold packing and taking in: the prover "
                             "runs out of memory",
    **dict.fromkeys((f"src/bus/ft_bus.c:{name}" for name in (
        "may_be_running", "mark_unpowered", "contradicts_feedback", "ft_bus_supply")),
        "the theorems of ft_cutoff.c have the cut of the supply; tests hold the doubt about a servo"),
    **dict.fromkeys((*(f"src/bus/ft_bus.c:{name}" for name in ("room", "aim")),
                     *(f"src/bus/ft_goal.c:{name}" for name in ("ft_goal_take", "fits", "ft_goal_strains")),
                     "src/families/ft_feetech.c:aim",
                     *(f"src/families/ft_sts.c:{name}" for name in ("pack_goals", "signed_word", "watch"))),
                    "it is for servos that close their own loop: tests run the program of a PC"),
    **dict.fromkeys((f"src/bus/ft_bus.c:{name}" for name in ("doubt", "left_out")),
                    "it is in the program of a PC alone, which tests run"),
    "src/bus/ft_bus.c:take_beat": "heartbeats of ODrives: tests and the campaign hold them",
    "src/bus/ft_bus.c:wait_for_beat": "heartbeats of ODrives: tests and the campaign hold them",
    "chip/stm32f4/ft_clock.c": "it does nothing",
    "chip/stm32/ft_buses.c": "it is ft_bus_0_interrupt with another number",
    "chip/stm32/ft_memory.c": "the prover has its own versions",
    "chip/stm32/ft_no_current.c": "it does nothing",
    "chip/stm32/ft_pil.c": "it is in no image that has outputs",
    "chip/stm32/ft_port_dma.c": "it only sleeps",
    "chip/stm32/ft_start.c": "it is assembly, goes over all memory, or never returns",
    "chip/stm32f4/ft_port_polled.c": "it is in no image that has outputs",
    "src/control/ft_ramp.c": "ft_ramp_forbids() checks its results, except in a tick of braking, which tests hold",
    "src/control/ft_pace.c": "pace_stops goes through all its values",
    **dict.fromkeys(("src/control/ft_follow.c", "src/control/ft_catch_up.c", "src/control/ft_reference.c",
                     "src/control/ft_reference.h", "src/control/ft_outlook.c", "src/control/ft_outlook.h"),
                    "tests hold its results; governor_allowed bounds the target for any of them"),
    "src/control/ft_targets.c": "tests hold it",
    "src/families/ft_mini_cheetah.c": "it calls ft_mit.c, which has theorems; tests and mutants hold the rest",
    "chip/stm32/ft_led.c": "it lights an LED",
    **dict.fromkeys((f"chip/linux/ft_{name}.c" for name in (
        "buses", "clock", "guard", "latency", "link", "serial", "socketcan", "system", "tick", "wires")),
        "it calls the operating system of a PC; tests run the program"),
    **dict.fromkeys(("chip/linux/ft_binary.c", "chip/linux/ft_text.c", "chip/linux/ft_parts.h"),
                    "tests with noise and with packages of makers and others hold packing and unpacking"),
    "five_bar/ft_trig.h": "its loops form sines of their own: angles_sines and the proofs of three_link have it",
}


def reason(file: str, function: str) -> str:
    """Return the reason why no proof reaches a function, or an empty text."""
    return REASONS.get(f"{file}:{function}") or REASONS.get(file, "")
