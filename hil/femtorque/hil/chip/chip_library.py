"""C sources compiled for the Cortex-M4F, run one function at a time with each instruction counted. This library only
measures ft_step: bits, instructions and stack. femtorque.hil.board.virtual runs whole images."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from numpy.typing import NDArray
from unicorn import (
    UC_ARCH_ARM, UC_HOOK_BLOCK, UC_HOOK_MEM_READ, UC_MODE_MCLASS, UC_MODE_THUMB, Uc, UcError, arm_const as arm)

from femtorque.codegen.common.cache import kept, key_of, program
from femtorque.codegen.common.errors import Refused
from femtorque.codegen.toolchain.host_compiler import ARITHMETIC, WARNINGS, precision_flags
from femtorque.hil.chip.timing import Block, FlashFetch, block

MACHINE = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
FLASH, FLASH_SIZE = 0x08000000, 0x00100000
IT_STATE = 0x0600FC00  # bits of the program status register
RAM, RAM_SIZE = 0x20000000, 0x00100000
ELF = "chip.elf"  # the name of the file in a cache entry
_RETURN = FLASH + FLASH_SIZE - 4  # return address of each function that is called
_PAINT = 0xA5

_LINKER_SCRIPT = f"""
MEMORY {{
  FLASH (rx) : ORIGIN = {FLASH:#x}, LENGTH = {FLASH_SIZE - 4096:#x}
  RAM (rw) : ORIGIN = {RAM:#x}, LENGTH = {RAM_SIZE // 2:#x}
}}
SECTIONS {{
  .text : {{ *(.text*) *(.rodata*) }} > FLASH
  .data : {{ *(.data*) }} > RAM
  .bss : {{ *(.bss*) *(COMMON) }} > RAM
  /DISCARD/ : {{ *(.ARM.exidx*) *(.ARM.attributes) *(.comment) }}
}}
"""


@cache
def cross_compiler() -> str:
    """Return the arm-none-eabi-gcc on PATH. Raises Refused if there is no such register."""
    found = shutil.which("arm-none-eabi-gcc")
    if not found:
        raise Refused("no arm-none-eabi-gcc found: install it, e.g. `apt install gcc-arm-none-eabi`")
    return found


@dataclass(frozen=True)
class Call:
    """Result and costs of one function call."""

    result: int  # r0
    instructions: int
    stack_bytes: int
    cycles: int = 0  # counted by the model of hil/chip/timing.py, without flash waits
    fetch_stalls: int = 0  # cycles for which code waited for flash


class ChipLibrary:
    """Compiled sources {name: text} in emulated flash. Python calls functions by name with integers or addresses. `put`
    copies an array to memory, which is never released, and returns its address."""

    def __init__(self, sources: dict[str, str], flags: tuple[str, ...] = ("-O2",), warnings: bool = True,
                 libraries: tuple[str, ...] = ()) -> None:
        """libraries: linker options for the libraries of the sources, such as "-lm"."""
        options = (
            *MACHINE,
            *flags,
            *ARITHMETIC,
            *(WARNINGS if warnings else ("-std=c99",)),
            *precision_flags("single"),
        )
        self.elf = _linked(sources, options, libraries)
        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
        self.uc.mem_map(FLASH, FLASH_SIZE)
        self.uc.mem_map(RAM, RAM_SIZE)
        self.symbols: dict[str, tuple[int, int]] = {}  # address, size
        with self.elf.open("rb") as file:
            elf = ELFFile(file)
            for segment in elf.iter_segments("PT_LOAD"):
                if segment["p_filesz"]:
                    self.uc.mem_write(segment["p_vaddr"], segment.data())
            table, text = elf.get_section_by_name(".symtab"), elf.get_section_by_name(".text")
            assert isinstance(table, SymbolTableSection) and text is not None
            for symbol in table.iter_symbols():
                self.symbols[symbol.name] = (symbol["st_value"], symbol["st_size"])
            self.flash_bytes: int = text["sh_size"]
        self._free = RAM + RAM_SIZE // 2
        self._stack = RAM + RAM_SIZE - 16
        self._blocks: dict[tuple[int, int], Block] = {}
        self._count = 0
        self._timed: _Timed | None = None
        self.uc.hook_add(UC_HOOK_BLOCK, self._on_block)

    def put(self, data: NDArray[Any] | int) -> int:
        """Copy an array into the chip's memory, or reserve a number of zero bytes there. Returns the address."""
        raw = bytes(data) if isinstance(data, int) else np.ascontiguousarray(data).tobytes()
        address = self._free
        self._free += (len(raw) + 7) & ~7
        if self._free > self._stack - 0x4000:
            raise MemoryError("the emulated memory is full")
        self.uc.mem_write(address, raw)
        return address

    def write(self, address: int, data: NDArray[Any]) -> None:
        self.uc.mem_write(address, np.ascontiguousarray(data).tobytes())

    def read(self, address: int, dtype: Any, count: int) -> NDArray[Any]:
        return np.frombuffer(bytes(self.uc.mem_read(address, count * np.dtype(dtype).itemsize)), dtype)

    def call(self, function: str, *arguments: int, measure_stack: bool = False, measure_cycles: bool = False) -> Call:
        """Call a function with up to four integer or address arguments, and count the instructions that it executes."""
        uc = self.uc
        self._timed = _Timed() if measure_cycles else None
        reads = None
        if measure_cycles:
            reads = uc.hook_add(UC_HOOK_MEM_READ, self._on_read, begin=FLASH, end=FLASH + FLASH_SIZE - 1)
        if measure_stack:
            uc.mem_write(self._stack - 0x2000, bytes([_PAINT]) * 0x2000)
        for register, value in zip(
            (arm.UC_ARM_REG_R0, arm.UC_ARM_REG_R1, arm.UC_ARM_REG_R2, arm.UC_ARM_REG_R3), arguments, strict=False
        ):
            uc.reg_write(register, value & 0xFFFFFFFF)
        uc.reg_write(arm.UC_ARM_REG_SP, self._stack)
        uc.reg_write(arm.UC_ARM_REG_LR, _RETURN | 1)
        self._count = 0
        try:
            uc.emu_start(self.symbols[function][0] | 1, _RETURN)
        except UcError as error:
            raise RuntimeError(f"{function} stopped at {uc.reg_read(arm.UC_ARM_REG_PC):#x}: {error}") from error
        finally:
            if reads is not None:
                uc.hook_del(reads)
        stack = 0
        if measure_stack:
            below = bytes(uc.mem_read(self._stack - 0x2000, 0x2000))
            stack = len(below.lstrip(bytes([_PAINT])))
        timed = self._timed or _Timed()
        return Call(uc.reg_read(arm.UC_ARM_REG_R0), self._count, stack, timed.cycles, timed.fetch.stalls)

    def _on_block(self, uc: Uc, address: int, size: int, _: object) -> None:
        key = (address, size)
        if key not in self._blocks:
            self._blocks[key] = block(address, bytes(uc.mem_read(address, size)))
        self._count += len(self._blocks[key].code)
        if self._timed:
            self._timed.execute(self._blocks[key])

    def _on_read(self, uc: Uc, access: int, address: int, size: int, value: int, _: object) -> None:
        if self._timed:
            self._timed.fetch.read(address)
        status = uc.reg_read(arm.UC_ARM_REG_XPSR)
        if status & IT_STATE:  # Unicorn leaves this state set: see before_read in hil/chip/block_counter.c
            uc.reg_write(arm.UC_ARM_REG_XPSR, status & ~IT_STATE)


class _Timed:
    """Number of cycles of one call, counted block by block."""

    def __init__(self) -> None:
        self.cycles, self.fetch = 0, FlashFetch()
        self._before: Block | None = None

    def execute(self, block: Block) -> None:
        if self._before and self._before.end != block.start:
            self.cycles += self._before.refill
        self._before = block
        self.cycles += self._before.cycles
        for instruction in self._before.code:
            self.fetch.execute(*instruction)


def _linked(sources: dict[str, str], options: tuple[str, ...], libraries: tuple[str, ...] = ()) -> Path:
    """Return the ELF file of the sources, from the cache if possible."""
    texts = (text for item in sorted(sources.items()) for text in item)
    key = key_of(program(cross_compiler()), *options, *libraries, _LINKER_SCRIPT, *texts)
    return kept(key, lambda folder: _link(sources, options, libraries, folder / ELF)) / ELF


def _link(sources: dict[str, str], options: tuple[str, ...], libraries: tuple[str, ...], elf: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source, text in (sources | {"link.ld": _LINKER_SCRIPT}).items():
            (folder / source).write_text(text)
        files = sorted(source for source in sources if source.endswith(".c"))
        done = subprocess.run(
            [cross_compiler(), *options, "-I.", "-nostartfiles", "-Wl,--no-warn-rwx-segments", "-Tlink.ld", *files,
             *libraries, "-Wl,-e,0", "-o", elf],
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[:1]
            raise Refused(f"the emitted C did not compile for the chip: {' '.join(lines[:1])}")
