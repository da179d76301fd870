"""The native block hook: exact instruction counts at a few nanoseconds a block."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from unicorn import UC_HOOK_BLOCK, UC_HOOK_MEM_READ, Uc, UcError
from unicorn import arm_const as arm
from unicorn.unicorn_py3.unicorn import uclib

from codegen.toolchain import host_compiler
from hil.chip.timing import FLASH_CDEF, FLASH_SOURCES, Block, FlashFetch

_SOURCE = Path(__file__).with_suffix(".c")
_CDEF = FLASH_CDEF + """
typedef struct {
    uint64_t address; uint32_t size, instructions, cycles, refill; uint64_t runs, taken, fell; const instruction *code;
    uint64_t round; uint32_t here, most;
} block;
typedef struct { uint64_t handler; uint32_t running; flash_fetch *fetch; } flash_watch;
typedef struct {
    int64_t now, deadline, began; uint64_t instructions, last_end; uint32_t last_refill, last_slot, stopped;
    uint64_t unknown_address; uint32_t unknown_size; void (*stop)(void *);
    int (*read_register)(void *, int, void *); int (*write_register)(void *, int, const void *);
    int status_register, program_counter; flash_watch watches[2]; uint64_t rounds;
    uint64_t flash_start; uint8_t readers[65536]; block blocks[65536];
} counter;
uint32_t slot_of(const counter *c, uint64_t address, uint32_t size);
void before_block(void *unicorn, uint64_t address, uint32_t size, void *user);
void before_read(void *unicorn, int type, uint64_t address, int size, int64_t value, void *user);
"""
DEADLINE, UNKNOWN = 1, 2  # why execution stopped
_SLOTS = 65536


class BlockCounter:
    """Hooked to one Unicorn instance. `state` has now, deadline, began, instructions, stopped as
    hil/chip/block_counter.c says."""

    def __init__(self, uc: Uc) -> None:
        self._ffi, self._lib = _library()
        self.state: Any = self._ffi.new("counter *")
        for name, function in (("stop", uclib.uc_emu_stop), ("read_register", uclib.uc_reg_read),
                               ("write_register", uclib.uc_reg_write)):
            pointer = ctypes.cast(function, ctypes.c_void_p).value
            setattr(self.state, name, self._ffi.cast(self._ffi.typeof(getattr(self.state, name)), pointer))
        self.state.status_register, self.state.program_counter = arm.UC_ARM_REG_XPSR, arm.UC_ARM_REG_PC
        self._uc = uc
        self._used: list[tuple[int, Any]] = []  # (address, slot) of each block
        self._kept: list[Any] = []  # what the C has pointers to
        self._hook(UC_HOOK_BLOCK, self._lib.before_block, 1, 0)

    def _hook(self, kind: int, function: Any, start: int, end: int) -> None:
        """Have the C called where addresses are within [start, end], or everywhere if that is empty."""
        pointer, user = (int(self._ffi.cast("uintptr_t", p)) for p in (function, self.state))
        handle = ctypes.c_size_t()
        status = uclib.uc_hook_add(self._uc._uch, ctypes.byref(handle), kind, ctypes.c_void_p(pointer),
                                   ctypes.c_void_p(user), ctypes.c_uint64(start), ctypes.c_uint64(end))
        if status:
            raise UcError(status)

    def watch(self, fetches: dict[int, FlashFetch], start: int, end: int) -> list[Any]:
        """From here on handlers, by address, fetch from the flash [start, end). Returns what the C keeps of each, to
        say that it no longer runs."""
        self._hook(UC_HOOK_MEM_READ, self._lib.before_read, start, end - 1)
        self.state.flash_start = start
        for i, (handler, fetch) in enumerate(fetches.items()):
            self._kept.append(fetch)
            watch = self.state.watches[i]
            watch.handler, watch.fetch = handler, self._ffi.cast("flash_fetch *", fetch.address)
        return [self.state.watches[i] for i in range(len(fetches))]

    @property
    def known(self) -> int:
        """How many blocks there are."""
        return len(self._used)

    @property
    def readers(self) -> set[int]:
        """Addresses of the instructions that have loaded something from the watched flash."""
        bits = np.unpackbits(np.frombuffer(self._ffi.buffer(self.state.readers), np.uint8), bitorder="little")
        return {self.state.flash_start + 2 * int(i) for i in np.flatnonzero(bits)}

    def add(self, block: Block) -> None:
        size = block.end - block.start
        slot = self._lib.slot_of(self.state, block.start, size)
        if self.known >= _SLOTS // 2:
            raise MemoryError("more basic blocks than the counter has room for")
        entry = self.state.blocks[slot]
        entry.address, entry.size = block.start, size
        entry.instructions, entry.cycles, entry.refill = len(block.code), block.cycles, block.refill
        self._kept.append(self._ffi.new("instruction[]", block.code))
        entry.code = self._kept[-1]
        self._used.append((block.start, slot))

    def within(self, start: int, end: int) -> list[Any]:
        """The entries of the blocks that start at addresses [start, end)."""
        return [self.state.blocks[slot] for address, slot in self._used if start <= address < end]


@cache
def _library() -> tuple[Any, Any]:
    return host_compiler.build({_SOURCE.name: _SOURCE.read_text()} | FLASH_SOURCES, _CDEF)
