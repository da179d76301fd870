"""A Unicorn hook in C that counts instructions exactly and takes a few nanoseconds for each basic block."""

import ctypes
from typing import Any

import numpy as np
from unicorn import UC_HOOK_BLOCK, UC_HOOK_MEM_READ, Uc, arm_const as arm
from unicorn.unicorn_py3.unicorn import uclib

from femtorque.hil.chip.timing import Block, FlashFetch
from femtorque.hil.chip.unicorn_calls import hook
from femtorque.hil.clock import library


class BlockCounter:
    """The counter of one Unicorn instance."""

    def __init__(self, uc: Uc) -> None:
        self._ffi, self._lib = library()
        self.state: Any = self._ffi.new("counter *")  # `counter` of block_counter.h
        for name, function in (("stop", uclib.uc_emu_stop), ("read_register", uclib.uc_reg_read),
                               ("write_register", uclib.uc_reg_write)):
            pointer = ctypes.cast(function, ctypes.c_void_p).value
            setattr(self.state, name, self._ffi.cast(self._ffi.typeof(getattr(self.state, name)), pointer))
        self.state.status_register, self.state.program_counter = arm.UC_ARM_REG_XPSR, arm.UC_ARM_REG_PC
        self._uc = uc
        self._used: list[tuple[int, Any]] = []  # (address, slot) of each block
        self._kept: list[Any] = []  # objects to which pointers exist in C
        hook(uc, UC_HOOK_BLOCK, self._lib.before_block, self.state)

    def watch(self, fetches: dict[int, FlashFetch], start: int, end: int) -> list[Any]:
        """Count the cycles for which handlers wait for flash at addresses [start, end), before any code has run.
        Returns the row of each handler in C. The caller clears its `running` when the handler has ended."""
        hook(self._uc, UC_HOOK_MEM_READ, self._lib.before_read, self.state, start, end - 1)
        self.state.flash_start = start
        for i, (handler, fetch) in enumerate(fetches.items()):
            self._kept.append(fetch)
            watch = self.state.watches[i]
            watch.handler, watch.fetch = handler, self._ffi.cast("flash_fetch *", fetch.address)
        return [self.state.watches[i] for i in range(len(fetches))]

    @property
    def readers(self) -> set[int]:
        """Addresses of the instructions that have loaded from the watched flash."""
        bits = np.unpackbits(np.frombuffer(self._ffi.buffer(self.state.readers), np.uint8), bitorder="little")
        return {self.state.flash_start + 2 * int(i) for i in np.flatnonzero(bits)}

    def add(self, block: Block) -> None:
        size = block.end - block.start
        slot = self._lib.keep_block(self.state, block.start, size)
        if slot == 0:
            raise MemoryError("more basic blocks than the counter has room for")
        entry = self.state.blocks[slot]
        entry.instructions, entry.cycles, entry.refill = len(block.code), block.cycles, block.refill
        self._kept.append(self._ffi.new("instruction[]", block.code))
        entry.code = self._kept[-1]
        self._used.append((block.start, slot))

    def within(self, start: int, end: int) -> list[Any]:
        """Return the table entries of the blocks that start at addresses [start, end)."""
        return [self.state.blocks[slot] for address, slot in self._used if start <= address < end]
