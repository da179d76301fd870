"""The native block hook: exact instruction counts at a few nanoseconds a block."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from unicorn import UC_HOOK_BLOCK, Uc, UcError
from unicorn.unicorn_py3.unicorn import uclib

from codegen import compiled
from hil.timing import Block

_SOURCE = Path(__file__).with_suffix(".c")
_CDEF = """
typedef struct { uint64_t address; uint32_t size, instructions, cycles, refill; uint64_t runs, taken, fell; } block;
typedef struct {
    int64_t now, deadline; uint64_t instructions, last_end; uint32_t last_refill, last_slot, stopped;
    uint64_t unknown_address; uint32_t unknown_size; void (*stop)(void *); block blocks[65536];
} counter;
uint32_t slot_of(const counter *c, uint64_t address, uint32_t size);
void before_block(void *unicorn, uint64_t address, uint32_t size, void *user);
"""
DEADLINE, UNKNOWN = 1, 2  # why execution stopped
_SLOTS = 65536


class BlockCounter:
    """Hooked to one Unicorn instance. `state` has now, deadline, instructions, stopped as hil/block_counter.c says."""

    def __init__(self, uc: Uc) -> None:
        self._ffi, self._lib = compiled.build({_SOURCE.name: _SOURCE.read_text()}, _CDEF)
        self.state: Any = self._ffi.new("counter *")
        self.state.stop = self._ffi.cast("void (*)(void *)", ctypes.cast(uclib.uc_emu_stop, ctypes.c_void_p).value)
        self._used: list[tuple[int, int]] = []  # address, slot
        hook = int(self._ffi.cast("uintptr_t", self._lib.before_block))
        user = int(self._ffi.cast("uintptr_t", self.state))
        handle = ctypes.c_size_t()
        status = uclib.uc_hook_add(uc._uch, ctypes.byref(handle), UC_HOOK_BLOCK, ctypes.c_void_p(hook),
                                   ctypes.c_void_p(user), ctypes.c_uint64(1), ctypes.c_uint64(0))
        if status:
            raise UcError(status)

    @property
    def known(self) -> int:
        """How many blocks there are."""
        return len(self._used)

    def add(self, block: Block) -> None:
        size = block.end - block.start
        slot = self._lib.slot_of(self.state, block.start, size)
        if self.known >= _SLOTS // 2:
            raise MemoryError("more basic blocks than the counter has room for")
        entry = self.state.blocks[slot]
        entry.address, entry.size = block.start, size
        entry.instructions, entry.cycles, entry.refill = block.instructions, block.cycles, block.refill
        self._used.append((block.start, slot))

    def within(self, start: int, end: int) -> list[Any]:
        """The entries of the blocks that start at addresses [start, end)."""
        return [self.state.blocks[slot] for address, slot in self._used if start <= address < end]
