"""The emitted step in compilers: which compilers accept it without a warning, and the object file for the chip."""

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from femtorque.codegen.common import Refused
from femtorque.codegen.toolchain import (
    ARITHMETIC, FORBIDDEN, WARNINGS, Precision, compiler, precision_flags, read_stack, stack_depth)

MACHINE = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
CPLUSPLUS = ("-x", "c++", "-std=c++11", *WARNINGS[1:])
ARM = "arm-none-eabi-gcc"
ENTRIES = ("ft_step_start", "ft_step", "ft_step_pairs", "ft_step_take", "ft_step_anchor")
COPIES = ("memcpy", "memmove", "memset")  # functions with small frames that a compiler may call for an assignment
COPY_FRAME = 32


@dataclass(frozen=True)
class Compilation:
    """A compiler's result for the emitted C."""

    language: str
    precision: Precision
    target: str
    compiler: str | None  # name of the compiler; None if no compiler is installed
    flags: tuple[str, ...]
    error: str | None = None  # first error message

    @property
    def name(self) -> str:
        return f"{self.language}, {'float32' if self.precision == 'single' else 'float64'}, {self.target}"


@dataclass(frozen=True)
class ChipObject:
    """The step, compiled for the Cortex-M4F, with sizes in bytes."""

    flash_bytes: int
    stack_bytes: int
    stack_path: tuple[str, ...]
    external: tuple[str, ...]  # symbols that other object files must define
    forbidden: tuple[str, ...]  # symbols that the step must not use (double arithmetic, heap, mathematical library)


def compilations(sources: dict[str, str]) -> tuple[Compilation, ...]:
    """Compile the step {name: text} with every compiler. Warnings count as errors.

    Raise Refused if the ARM compiler is missing."""
    cpp = next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)
    here: list[Compilation] = []
    for precision in ("single", "double"):
        flags = ("-O2", *ARITHMETIC, *precision_flags(precision))
        here.append(Compilation("C99", precision, "this computer", compiler(), (*WARNINGS, *flags)))
        here.append(Compilation("C++11", precision, "this computer", cpp, (*CPLUSPLUS, *flags)))
    here.append(Compilation("C99", "single", "Cortex-M4F", arm_compiler(), (*WARNINGS, *MACHINE, "-O2", *ARITHMETIC)))
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), sources)
        return tuple(_tried(Path(folder), c) for c in here)


def arm_compiler() -> str:
    """Return the path of arm-none-eabi-gcc. Raise Refused if it is missing."""
    if found := shutil.which(ARM):
        return found
    raise Refused(f"no {ARM} found: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi")


def examine(sources: dict[str, str]) -> ChipObject:
    """Compile the step for the chip and examine its object file.

    Raise Refused if the step does not compile or has no stack bound."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, sources)
        options = ("-std=c99", *MACHINE, "-O2", *ARITHMETIC, "-fcallgraph-info=su")
        if error := _compile(folder, arm_compiler(), options):
            raise Refused(f"the emitted C did not compile for the chip: {error}")
        flash, symbols, external = 0, set[str](), set[str]()
        for path in sorted(folder.glob("*.o")):
            with path.open("rb") as file:
                elf = ELFFile(file)
                flash += sum(s["sh_size"] for s in elf.iter_sections()
                             if s["sh_flags"] & 2 and s["sh_type"] == "SHT_PROGBITS")  # SHF_ALLOC
                table = elf.get_section_by_name(".symtab")
                assert isinstance(table, SymbolTableSection)
                for symbol in table.iter_symbols():
                    if symbol.name:
                        (external if symbol["st_shndx"] == "SHN_UNDEF" else symbols).add(symbol.name)
        external -= symbols
        graph = read_stack(sorted(folder.glob("*.ci")))
        graph.frames |= {copy: COPY_FRAME for copy in COPIES}
        deepest, chain = max(stack_depth(graph, entry) for entry in ENTRIES if entry in graph.frames)
    forbidden = sorted(s for s in symbols | external if FORBIDDEN.match(s))
    return ChipObject(flash, deepest, chain, tuple(sorted(external)), tuple(forbidden))


def _write(folder: Path, sources: dict[str, str]) -> None:
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")


def _tried(folder: Path, wanted: Compilation) -> Compilation:
    if wanted.compiler is None:
        return wanted
    error = _compile(folder, wanted.compiler, wanted.flags)
    shown = subprocess.run([wanted.compiler, "--version"], capture_output=True, text=True).stdout.splitlines()
    return Compilation(wanted.language, wanted.precision, wanted.target, shown[0] if shown else wanted.compiler,
                       wanted.flags, error)


def _compile(folder: Path, compiler: str, flags: tuple[str, ...]) -> str | None:
    """Compile every source to an object file. Return the compiler's first error message, or None."""
    files = sorted(path.name for path in folder.glob("*.c"))
    done = subprocess.run([compiler, *flags, "-I.", "-c", *files], cwd=folder, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    lines = done.stderr.splitlines() or [f"exit status {done.returncode}"]
    return next((line for line in lines if "error" in line), lines[0])
