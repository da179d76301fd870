"""Runs small programs that use ST's drivers on the virtual chips: `python -m assurance.vendor.run FOLDER [PROGRAM
...]`.

These drivers are proven on millions of chips and are independent of this project. If a program finds another value than
it expects, the virtual chip is incorrect. FOLDER contains the five repositories of SOURCES, which are not part of this
tree."""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assurance.sources import bare
from femtorque.codegen.common import Refused, key_of
from femtorque.hil.bus import Framing, OneWire, Wire
from femtorque.hil.bus.half_duplex import Question, ServoInPython
from femtorque.hil.chip import Image, Stm32, Unmodelled
from femtorque.hil.chip.nvic import HARD_FAULT, USAGE_FAULT
from femtorque.hil.chip.stm32f4.chip import Stm32F405
from femtorque.hil.chip.stm32g4.chip import Stm32G474

HIL = Path(__file__).resolve().parents[2] / "hil" / "femtorque" / "hil"
MODELS = ("chip", "bus", "clock")  # the folders of hil that these programs test
PROGRAMS = Path(__file__).parent / "programs"
RESULTS = Path(__file__).parent / "results.json"
GITHUB = "https://github.com/STMicroelectronics"
GCC = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-std=gnu11", "-O2",
       "-ffunction-sections", "-fdata-sections", "-w")
LINK = ("-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections", f"-T{PROGRAMS / 'link.ld'}",
        "-lc", "-lgcc")
ROWS = 256  # maximum number of the reports in judge.c
BOUND_S = 5.0  # limit of the simulated time, s
FAULTS = {*range(HARD_FAULT, USAGE_FAULT + 1)}
ALWAYS = ("hal", "hal_cortex", "hal_rcc", "hal_rcc_ex", "hal_pwr", "hal_pwr_ex", "hal_gpio", "hal_flash",
          "hal_flash_ex", "hal_dma", "hal_dma_ex")


@dataclass(frozen=True)
class Family:
    """A chip family. device, drivers: ST's repositories."""

    device: str
    drivers: str
    prefix: str  # prefix of the drivers' files
    part: str  # ST's macro name
    model: type[Stm32]
    hse_hz: int

    @property
    def sources(self) -> tuple[str, ...]:
        return self.device, self.drivers


FAMILIES = {
    "g4": Family("cmsis-device-g4", "stm32g4xx-hal-driver", "stm32g4xx", "STM32G474xx", Stm32G474, 24_000_000),
    "f4": Family("cmsis-device-f4", "stm32f4xx-hal-driver", "stm32f4xx", "STM32F405xx", Stm32F405, 8_000_000),
}
CORE = "cmsis-core"
SOURCES = (CORE, *(name for family in FAMILIES.values() for name in family.sources))

World = Callable[[Stm32], object]  # function that sets up the surroundings of a chip


def _one_wire_of_can(chip: Stm32) -> None:
    wire = Wire(chip.clock())
    for name in list(chip.cans)[:2]:
        chip.cans[name].plug(wire)


def _break_on_a_pin(chip: Stm32) -> None:
    """Connect PB0 to the break input of TIM1."""
    port = chip.gpio["B"]
    port.hear(0xFFFF, lambda: chip.timers["TIM1"].set_break(not port.driven(0)))


def _tenths_of_volts(chip: Stm32) -> None:
    """Apply a voltage of n tenths of a volt to each channel n of the converters."""
    for converter in chip.converters:
        converter.volts = lambda channel: 0.1 * channel


class _Partner(ServoInPython):
    """A device on a half-duplex line that answers each six bytes in reverse order, 100 us after the last byte."""

    id, delay, listening = 1, 100e-6, True
    FRAMING = Framing(split=lambda burst: (0, len(burst)),
                      question=lambda burst: Question((1,), 6) if len(burst) == 6 else None)

    def heard(self, packet: bytes) -> None: ...

    def answer(self, packet: bytes, before: bytes) -> bytes:
        return packet[::-1]


def _partner(chip: Stm32) -> None:
    wire = OneWire(chip.clock(), 1e6, _Partner.FRAMING)
    wire.servos += (_Partner(),)
    chip.usarts["USART3"].plug(wire)


@dataclass(frozen=True)
class Program:
    """A test program."""

    file: str  # relative to PROGRAMS
    family: str
    drivers: tuple[str, ...]  # beyond ALWAYS
    world: World = lambda chip: None  # sets up the chip's surroundings


TABLE = {
    "g4 FDCAN": Program("fdcan.c", "g4", ("hal_fdcan",), _one_wire_of_can),
    "f4 bxCAN": Program("bxcan.c", "f4", ("hal_can",), _one_wire_of_can),
    **{f"{family} timers": Program("timer.c", family, ("hal_tim", "hal_tim_ex"), _break_on_a_pin)
       for family in FAMILIES},
    **{f"{family} ADC": Program("adc.c", family, ("hal_tim", "hal_tim_ex", "hal_adc", "hal_adc_ex"), _tenths_of_volts)
       for family in FAMILIES},
    **{f"{family} USART": Program("uart.c", family, ("hal_uart", "hal_uart_ex"), _partner) for family in FAMILIES},
    **{f"{family} flash": Program("flash.c", family, ("hal_flash_ramfunc",)) for family in FAMILIES},
    **{f"{family} IWDG": Program("iwdg.c", family, ("hal_iwdg",)) for family in FAMILIES},
}


@dataclass(frozen=True)
class Judged:
    """One report of a program: the found value and the expected range [low, high]."""

    what: str
    found: int
    low: int
    high: int

    @property
    def good(self) -> bool:
        return self.low <= self.found <= self.high


def sources(folder: Path) -> dict[str, Path]:
    """Return the paths of the repositories in a folder, by the names of SOURCES. The names of the folders may have - or
    _.

    Raise Refused with the missing repositories and the commands that fetch them."""
    found = {name: path for name in SOURCES for path in (folder / name, folder / name.replace("-", "_"))
             if path.is_dir()}
    missing = [name for name in SOURCES if name not in found]
    if missing:
        raise Refused(f"VENDOR = {folder}: has no {', '.join(missing)}; get ST's sources by\n"
                      + "\n".join(clones(folder, missing)))
    return found


def clones(folder: Path, names: Iterable[str]) -> list[str]:
    """Return the commands that clone ST's repositories into a folder."""
    return [f"    git clone --depth 1 {GITHUB}/{name} {folder / name}" for name in names]


def commit(repository: Path) -> str:
    """Return the checked-out commit, with a mark if files have changed since."""
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, text=True,
                              check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + (" with changes" if git("status", "--porcelain") else "")
    except subprocess.CalledProcessError:
        return "no commit known"


def models() -> str:
    """Return the digest of the virtual chips' sources, without docstrings and comments."""
    files = sorted(path for room in MODELS for path in (HIL / room).rglob("*") if path.suffix in (".py", ".c", ".h"))
    return key_of(*(part for path in files for part in (path.relative_to(HIL).as_posix(), bare(path))))[:12]


def compiled(program: Program, found: dict[str, Path], folder: Path) -> Path:
    """Compile the program with ST's drivers and start-up file, and return the ELF file."""
    family = FAMILIES[program.family]
    device, drivers, core = found[family.device], found[family.drivers], found[CORE]
    template = drivers / "Inc" / f"{family.prefix}_hal_conf_template.h"
    (folder / f"{family.prefix}_hal_conf.h").write_text(template.read_text(encoding="utf-8", errors="replace"))
    parts = [drivers / "Src" / f"{family.prefix}_{name}.c" for name in ALWAYS + program.drivers]
    templates = device / "Source" / "Templates"
    includes = [folder, PROGRAMS, device / "Include", drivers / "Inc", core / "Include"]
    elf = folder / "program.elf"
    subprocess.run([*GCC, f"-D{family.part}", f"-DHSE_VALUE={family.hse_hz}U", "-DUSE_HAL_DRIVER",
                    *(f"-I{path}" for path in includes), str(PROGRAMS / program.file), str(PROGRAMS / "judge.c"),
                    *map(str, (part for part in parts if part.exists())),
                    str(templates / f"system_{family.prefix}.c"),
                    str(templates / "gcc" / f"startup_{family.part.lower()}.s"), *LINK, "-o", str(elf)], check=True)
    return elf


def played(program: Program, elf: Path) -> Iterator[Judged]:
    """Run a program to its end, and yield its reports. Raise Refused for a refused access or without an end."""
    family = FAMILIES[program.family]
    region = family.model.REGIONS[0]
    image = Image.load(elf, region.start, region.size)
    chip = family.model(image.flash, family.hse_hz)
    program.world(chip)

    def word(address: int) -> int:
        return int.from_bytes(chip.core.memory(address, 4), "little")

    def function() -> str:
        return next((name for name, one in image.symbols.items() if one.address <= chip.core.pc < one.end), "?")

    why = ""
    try:
        while not word(image.symbol("over").address) == 1 and chip.seconds < BOUND_S and not why:
            chip.run(chip.seconds + 1e-3)
            why = "a processor fault" if FAULTS & {*chip.core.nvic.active} else ""
    except Unmodelled as error:
        why = f"the virtual chip refuses: {error}, in {function()}"
    count = min(word(image.symbol("report_count").address), ROWS)
    for i in range(count):
        at = image.symbol("reports").address + 16 * i
        what, found, low, high = (word(at + 4 * k) for k in range(4))
        text = image.flash[what - region.start:]
        yield Judged(text[:text.index(b"\0")].decode(), found, low, high)
    if why or word(image.symbol("over").address) != 1:
        raise Refused(why or f"not over after {BOUND_S:g} s, in {function()}")


def run(folder: Path, names: list[str]) -> int:
    """Run programs and print their reports. Return the number of differences. RESULTS stores a run of all."""
    found = sources(folder)
    commits = {name: commit(path) for name, path in found.items()}
    for name, which in commits.items():
        print(f"{name:22} {which}")
    wrong, kept = 0, {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="femtorque-vendor-") as place:
            elf = compiled(TABLE[name], found, Path(place))
            rows, why = [], ""
            try:
                for row in played(TABLE[name], elf):
                    rows.append(row)
            except Refused as error:
                why = str(error)
        bad = [row for row in rows if not row.good]
        print(f"{name:22} {len(rows) - len(bad)} of {len(rows)} as awaited{'' if not why else '; ' + why}")
        for row in bad:
            awaited = f"{row.low:#x}" if row.low == row.high else f"{row.low:#x} to {row.high:#x}"
            print(f"    {row.what}: {row.found:#x}, awaited {awaited}")
        wrong += bool(bad or why)
        kept[name] = {"awaited": len(rows), "found": len(rows) - len(bad), "refused": why}
    if set(names) == set(TABLE):
        RESULTS.write_text(json.dumps({"models": models(), "commits": commits, "programs": kept},
                                      indent=1) + "\n", encoding="utf-8")
    return wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make vendor VENDOR=<folder>")
    parser.add_argument("folder", type=Path, nargs="?", help="that holds " + ", ".join(SOURCES))
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(TABLE)}; all of them")
    given = parser.parse_args(arguments)
    try:
        if given.folder is None:
            raise Refused("make vendor VENDOR=<folder>: say where ST's sources are; get them by\n"
                          + "\n".join(clones(Path("vendor"), SOURCES)))
        wrong = run(given.folder, given.programs or list(TABLE))
    except Refused as why:
        print(why, file=sys.stderr)
        return 1
    print(f"{'all as awaited' if not wrong else f'{wrong} programs differ'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
