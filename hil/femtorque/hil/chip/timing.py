"""Cost of a basic block: instructions (exact) and cycles (a model, not measured on silicon).

The cycles are those of the Cortex-M4 technical reference manual for memory without wait states, with the maximum of a
division and REFILL cycles after a taken branch. FlashFetch adds the waits for flash."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, Cs

from femtorque.hil.clock import Member, library

REFILL = 2  # cycles to refill the pipeline after a taken branch (1 to 3 in the manual)
EXCEPTION_ENTRY = 12  # stacking of the basic frame overlaps the vector fetch
EXCEPTION_RETURN = 10
FLOATING_POINT_FRAME = 17  # additional cycles if the floating-point registers are stacked too

_CYCLES = {
    "mla": 2, "mls": 2, "sdiv": 12, "udiv": 12,
    "vdiv": 14, "vsqrt": 14, "vfma": 3, "vfms": 3, "vfnma": 3, "vfnms": 3, "vmla": 3, "vmls": 3, "vnmla": 3, "vnmls": 3,
    "vldr": 2, "vstr": 2, "ldrd": 3, "strd": 3, "tbb": 2, "tbh": 2, "mrs": 2, "msr": 2,
}
_MULTIPLE = ("push", "pop", "ldm", "stm", "vpush", "vpop", "vldm", "vstm")
_CHANGES_FLOW = ("b", "bl", "bx", "blx", "cbz", "cbnz", "tbb", "tbh")

_decoder = Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS)


class Block:
    """A basic block of instructions. start, end: addresses. code: address, size and cycles of each instruction."""

    __slots__ = ("start", "end", "code", "cycles", "refill", "floating_point")

    def __init__(self, start: int, code: bytes) -> None:
        decoded = list(_decoder.disasm_lite(code, start))
        if sum(size for _, size, _, _ in decoded) != len(code):
            raise ValueError(f"code at 0x{start:08X} does not decode: {code.hex()}")
        self.start, self.end = start, start + len(code)
        self.code = [(address, size, cycles(name, operands)) for address, size, name, operands in decoded]
        self.cycles = sum(cost for _, _, cost in self.code)
        last, operands = (decoded[-1][2], decoded[-1][3]) if decoded else ("", "")
        self.refill = REFILL if _branches(last, operands) else 0  # additional cycles if the branch is taken
        self.floating_point = any(name.startswith("v") for _, _, name, _ in decoded)


@cache
def block(start: int, code: bytes) -> Block:
    """Return the block of this code. All boards with the same image share this object."""
    return Block(start, code)


@dataclass(frozen=True)
class FlashMemory:
    """The flash of a chip family. code_lines, data_lines: number of lines in each cache."""

    wait_states: int
    line: int  # bytes per read
    code_lines: int
    data_lines: int


FLASH_MEMORIES = {
    "stm32f4": FlashMemory(5, 16, 64, 8),
    "stm32g4": FlashMemory(4, 8, 128, 32),  # 64 bits per read; caches of 1 KB and 256 bytes
}


class FlashFetch:
    """Cycles for which a processor waits for its flash, from empty caches (RM0090, 3.5; RM0440, 3.3;
    hil/chip/flash_fetch.c). Flash delivers a line in 1 + wait_states cycles, and prefetches the next line while a line
    executes. Execution that continues into the next line waits for the rest of its read time: on an STM32F405, straight
    code of 4-byte instructions of one cycle takes 6 cycles per line instead of 4. A jump waits for a whole line, unless
    the instruction cache (code_lines, jump targets only, least recently used) has it. Constants have a separate cache
    (data_lines). A line that is missing there costs all wait states, without any prefetch meanwhile.

    Not modelled: a jump delayed by a running prefetch, and other bus masters that read flash."""

    stalls = Member(int, "_state")

    def __init__(self, memory: FlashMemory = FLASH_MEMORIES["stm32f4"]) -> None:
        self._ffi, self._lib = library()
        self._state: Any = self._ffi.new("flash_fetch *")
        self._state.wait_states, self._state.line = memory.wait_states, memory.line
        self._state.code.room, self._state.data.room = memory.code_lines, memory.data_lines
        self.empty()

    def empty(self) -> None:
        """Empty the caches and end all waits."""
        self._lib.flash_empty(self._state)

    @property
    def address(self) -> int:
        """Address of the state in C."""
        return int(self._ffi.cast("uintptr_t", self._state))

    def execute(self, address: int, size: int, cycles: int) -> None:
        """Fetch an instruction. An instruction starts when its last byte has been fetched."""
        self._lib.flash_execute(self._state, self._ffi.new("instruction *", (address, size, cycles)), 1)

    def read(self, address: int) -> None:
        """Load a constant from flash."""
        self._lib.flash_read(self._state, address)


def _branches(name: str, operands: str) -> bool:
    stem = name.split(".")[0]
    conditional = stem[:1] == "b" and len(stem) == 3 and stem != "bic"
    return stem in _CHANGES_FLOW or stem[:-2] in _CHANGES_FLOW or "pc" in operands or conditional


def cycles(name: str, operands: str) -> int:
    """Return the cycles of an instruction, without the pipeline refill of a taken branch."""
    stem = name.split(".")[0]
    if stem.startswith(_MULTIPLE):
        return 1 + _registers(operands)
    for known in (stem, stem[:-2]):  # mnemonic with and without a condition code
        if known in _CYCLES:
            return _CYCLES[known]
    if stem.startswith(("ldr", "str")):
        return 2
    if stem == "vmov" and operands.count("r") >= 2 and operands.count(",") >= 2:
        return 2
    return 1


def _registers(operands: str) -> int:
    """Return the number of registers in a list {r4, s16-s19, ...}."""
    count = 0
    for item in operands[operands.index("{") + 1:operands.index("}")].split(","):
        first, _, last = item.strip().partition("-")
        count += int(last.strip()[1:]) - int(first.strip()[1:]) + 1 if last else 1
    return count
