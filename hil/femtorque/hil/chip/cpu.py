"""A Cortex-M4F emulated by Unicorn: memory, exceptions, sleep, faults, and the exact count of instructions.

Unicorn runs the instructions but has no NVIC, no SysTick and no time. This module adds these three parts.
femtorque.hil.chip.timing counts processor cycles, one basic block at a time, so events, interrupts and reads of time
happen at block ends."""

import mmap
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from unicorn import (
    UC_ARCH_ARM, UC_HOOK_INTR, UC_HOOK_TLB_FILL, UC_MODE_MCLASS, UC_MODE_THUMB, Uc, UcError, arm_const as arm,
    unicorn_const as const)

from femtorque.hil.chip import timing
from femtorque.hil.chip.block_counter import BlockCounter
from femtorque.hil.chip.nvic import BUS_FAULT, HARD_FAULT, MEM_MANAGE, SVCALL, SYSTICK, USAGE_FAULT, Nvic
from femtorque.hil.chip.registers import WORD, Bus, Unmodelled
from femtorque.hil.chip.scs import BASE as SCS_BASE, Dwt, SystemControl
from femtorque.hil.chip.unicorn_calls import grant_pages, hook, map_memory, map_peripherals, unicorn_calls
from femtorque.hil.clock import EXCEPTIONS, ChipState, Events, Member, library

_TO_PERIPHERALS = ((0x40000000, 0x20000000), (0xE0000000, 0x00100000))

# exceptions that QEMU's translator reports through UC_HOOK_INTR
_INTR_UNDEFINED, _INTR_SVC, _INTR_PREFETCH, _INTR_DATA, _INTR_BKPT = 1, 2, 3, 4, 7

# bits of CFSR
_IACCVIOL, _PRECISERR, _UNDEFINSTR, _INVSTATE = 1 << 0, 1 << 9, 1 << 16, 1 << 17
_HFSR_FORCED, _HFSR_DEBUGEVT = 1 << 30, 1 << 31


@dataclass(frozen=True)
class Region:
    """A region of memory; size in bytes. A writable region keeps its content over a reset, as SRAM does."""

    name: str
    start: int
    size: int
    writable: bool = True


@dataclass
class Handled:
    """Costs of one exception handler so far. The costs of handlers that preempted it are excluded."""

    entries: int = 0
    instructions: int = 0
    cycles: int = 0


class CortexM4:
    """The processor and its memory. The chip model attaches peripherals to `bus`.

    vectors: address of the vector table out of reset, where `image` lies. asleep: true while the processor waits for an
    interrupt. locked_up: true from a fault inside a fault handler until a reset. halted: true if a debugger halts the
    processor, or without power. pc: address of the next instruction. instructions: number since power-on. now: number
    of cycles since power-on; the length of a cycle changes with the clock.
    """

    asleep, locked_up, halted = Member(bool, "_core"), Member(bool, "_core"), Member(bool, "_core")
    pc, instructions, now = Member(int, "_core"), Member(int, "_count"), Member(int, "_count")

    def __init__(self, regions: tuple[Region, ...], vectors: int, bus: Bus, image: bytes) -> None:
        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
        self.regions, self.vectors, self.bus = regions, vectors, bus
        self._memories = [(region.start, region.start + region.size, mmap.mmap(-1, region.size)) for region in regions]
        self._held: list[Any] = []  # keeps objects to which Unicorn has pointers
        for region, (_, _, memory) in zip(regions, self._memories, strict=True):
            rights = const.UC_PROT_ALL if region.writable else const.UC_PROT_READ | const.UC_PROT_EXEC
            self._held.append(map_memory(self.uc, region.start, memory, rights))
        self.uc.mem_write(vectors, image)
        self.counter = BlockCounter(self.uc)  # counter of executed blocks
        self._count = self.counter.state
        self._core = self._core_in_c()
        self.parts = self._parts_in_c()
        self.events, self.nvic = Events(self.parts), Nvic(self._core.nvic)
        self.on_exception: Callable[[int, Handled], None] = lambda number, done: None
        self.dwt = Dwt(self)
        self.scs = SystemControl(self)
        bus.attach(self.scs, 0x1000)
        bus.attach(self.dwt, 0x1000)
        for start, size in _TO_PERIPHERALS:
            map_peripherals(self.uc, start, size, self._in_c.bus_read, self._in_c.bus_write, self._bus_in_c(start))
        self.on_flash_write: Callable[[int, int, int], bool] = lambda address, size, value: False
        for region in regions:
            if not region.writable:  # a hook at writable pages would be called at each store
                self.uc.hook_add(const.UC_HOOK_MEM_WRITE_PROT, self._protected, None, region.start,
                                 region.start + region.size - 1)
        self.hear()
        self.reset_requested = False
        self.reset()

    def _core_in_c(self) -> Any:
        """Create the processor's struct in C, and register its functions as Unicorn hooks."""
        ffi, lib = library()
        self._in_c = lib
        memories = [(start, end, ffi.from_buffer(memory), region.writable)
                    for region, (start, end, memory) in zip(self.regions, self._memories, strict=True)]
        core = ffi.new("core *", {
            "u": unicorn_calls(self.uc), "count": self._count, "memories": memories,
            "entry_cycles": timing.EXCEPTION_ENTRY, "return_cycles": timing.EXCEPTION_RETURN,
            "float_cycles": timing.FLOATING_POINT_FRAME})
        self._held += [memory for _, _, memory, _ in memories]
        hook(self.uc, UC_HOOK_INTR, lib.core_interrupted, core)
        hook(self.uc, UC_HOOK_TLB_FILL, lib.page_rights, core)
        grant_pages(self.uc, True)
        self.uc.ctl_exits_enabled(True)  # Unicorn would translate an exit address at each start
        return core

    def _parts_in_c(self) -> ChipState:
        """Create the state of the chip's peripherals, and connect it to the processor."""
        parts = ChipState(self._count)
        parts.state.core, self._core.parts = self._core, parts.state
        parts.placed, parts.stop = self._placed, self._stop
        return parts

    # -- life ---------------------------------------------------------------

    def reset(self) -> None:
        """Set registers to their reset values. Load the stack pointer and the program counter from the vector table."""
        self.nvic.reset()
        self.scs.reset()
        self.dwt.reset()
        self.dwt.traced = False
        self.floating_point = False
        self.set_vectors(0)
        core = self._core
        core.asleep = core.locked_up = core.halted = core.refused = False
        self.reset_requested = False
        self.parts.failure = None
        self._count.last_refill = 0
        core.accounted_instructions, core.accounted_cycles = self.instructions, self.events.now
        for register in (arm.UC_ARM_REG_PRIMASK, arm.UC_ARM_REG_BASEPRI, arm.UC_ARM_REG_FAULTMASK,
                         arm.UC_ARM_REG_CONTROL, arm.UC_ARM_REG_FPSCR):
            self.uc.reg_write(register, 0)
        self.uc.reg_write(arm.UC_ARM_REG_XPSR, 1 << 24)
        stack, start = struct.unpack("<II", self.uc.mem_read(self.vectors, 8))
        self.uc.reg_write(arm.UC_ARM_REG_LR, WORD)
        self.uc.reg_write(arm.UC_ARM_REG_MSP, stack)
        core.pc = start

    def request_reset(self) -> None:
        """Request a system reset. In this case `run` returns at the next block, with `reset_requested` set."""
        self.reset_requested = True
        self.events.attend()

    def halt(self, halted: bool) -> None:
        """Halt as a debugger does, with SysTick and the cycle counter (ARMv7-M C1.5, B3.3.1), or continue."""
        if halted != self.halted:
            self.halted = halted
            self.scs.systick.hold(halted)
            self.dwt.hold(halted)
            self.events.attend()

    def load(self, address: int, data: bytes) -> None:
        """Write to memory, as a debugger does."""
        self.uc.mem_write(address, data)

    def stall(self, cycles: int) -> None:
        """Delay the running code by a number of cycles during a peripheral access."""
        self._count.now += cycles

    def memory(self, address: int, size: int) -> bytes:
        return bytes(self.window(address, size))

    def window(self, address: int, size: int) -> memoryview:
        """Return a view of bytes in memory. The view also shows later changes of the memory."""
        for start, end, memory in self._memories:
            if start <= address and address + size <= end:
                return memoryview(memory)[address - start:address - start + size]
        raise UcError(const.UC_ERR_READ_UNMAPPED)

    def set_vectors(self, address: int) -> None:
        """Set the address of the vector table; 0 chooses the table out of reset."""
        self._core.vectors = address or self.vectors

    def handled(self, number: int) -> Handled:
        """Return the costs of an exception's handler; 0: of thread mode."""
        done = self._core.handlers[number]
        return Handled(done.entries, done.instructions, done.cycles)

    def hear(self, numbers: Collection[int] = range(EXCEPTIONS)) -> None:
        """Call `on_exception` only at the end of these exceptions."""
        for number in range(EXCEPTIONS):
            self._core.heard[number] = number in numbers

    def report_ends(self, function: Any, board: Any) -> None:
        """Report the end of each handler to a C function with a pointer to the board, both given as addresses."""
        ffi = self.parts.ffi
        self._core.on_end = ffi.cast(ffi.typeof(self._core.on_end), int(function))
        self._core.board = ffi.cast("void *", int(board))

    # -- execution ----------------------------------------------------------

    def run(self, until: int, stop: Callable[[], bool] = lambda: False) -> None:
        """Execute until a cycle and at most one block more, until a reset is requested, or until stop() is true."""
        events = self.events
        while events.now < until and not self.reset_requested and not stop():
            events.fire()
            if self.reset_requested:
                break
            self._execute(until)

    def _execute(self, until: int) -> None:
        """Run until a cycle, until the next event, or until Python must act."""
        core, count, events, c = self._core, self._count, self.events, self._in_c
        self.parts.state.attend = False
        why = c.core_run(core, until, events.next_here(), events.next_order)
        if why == c.WAKE or why == c.ATTEND:
            return
        if why == c.ENDED:
            now, count.now = count.now, core.ended_at
            self.on_exception(core.ended, self.handled(core.ended))
            count.now = now
        elif why == c.REFUSED:
            self.check()
        elif why == c.UNKNOWN_BLOCK:
            self._learn(count.unknown_address, count.unknown_size)
        elif why == c.FAILED:
            self._memory_fault(core.failed)
        else:
            self._internal(core.interrupt)

    def _learn(self, address: int, size: int) -> None:
        """Add a block before its first execution."""
        block = timing.block(address, self.memory(address, size))
        if block.floating_point and not self.floating_point:
            raise Unmodelled(f"floating-point instruction in the block at pc 0x{address:08X} while CPACR is off")
        self.counter.add(block)

    # -- memory-mapped registers --------------------------------------------

    def _bus_in_c(self, base: int) -> Any:
        """Return a range of peripheral addresses as a C struct, with callbacks to the models."""
        (ffi, _), bus = library(), self.bus

        def read(engine: object, offset: int, size: int, user: object) -> int:
            peripheral = bus.at(base + offset)
            return peripheral.read(base + offset - peripheral.base, size)

        def write(engine: object, offset: int, size: int, value: int, user: object) -> None:
            peripheral = bus.at(base + offset)
            peripheral.write(base + offset - peripheral.base, size, value)

        calls = {
            "read": ffi.callback("uint64_t(void *, uint64_t, unsigned, void *)", read, error=0,
                                 onerror=self.parts.refuse),
            "write": ffi.callback("void(void *, uint64_t, unsigned, uint64_t, void *)", write,
                                  onerror=self.parts.refuse),
            "note": ffi.callback("void(uint32_t, unsigned, int64_t)", self._note, onerror=self.parts.refuse)}
        in_c = ffi.new("bus *", {"core": self._core, "start": base, **calls, "places": bus.places,
                                 "listening": bus.listening})
        self._held += [calls, in_c]
        return in_c

    def _note(self, address: int, size: int, value: int) -> None:
        assert self.bus.watch is not None
        self.bus.watch(address, size, None if value < 0 else value)

    def _protected(self, uc: Uc, access: int, address: int, size: int, value: int, data: object) -> bool:
        """Handle a store to memory that is not writable. Return false if the write causes a fault."""
        try:
            return self.on_flash_write(address, size, value & (1 << 8 * size) - 1)
        except Unmodelled as error:
            self.parts.refuse(Unmodelled, error, None)
            return True

    def check(self) -> None:
        """Raise the exception that was recorded while C ran."""
        self._core.refused = False
        self.parts.check()

    def _stop(self) -> None:
        self._core.refused = True
        self.uc.emu_stop()

    def _placed(self, error: BaseException) -> BaseException:
        """Return an error. If the refusal is for an action of the image, add the location in the image to the error."""
        if not isinstance(error, Unmodelled) or error.placed or not self._core.executes:
            return error
        pc = self.uc.reg_read(arm.UC_ARM_REG_PC)
        found = type(error)(f"{error}, in the block at pc 0x{pc:08X}")
        found.placed = True
        return found

    # -- exceptions ---------------------------------------------------------

    def _internal(self, number: int) -> None:
        """Raise the exception that the running code has caused."""
        if number == _INTR_SVC:
            self.nvic.pend(SVCALL)
        elif number == _INTR_PREFETCH:
            self._fault(MEM_MANAGE, _IACCVIOL)
        elif number == _INTR_DATA:
            self._fault(BUS_FAULT, _PRECISERR)
        elif number == _INTR_BKPT:
            self.scs.value["HFSR"] |= _HFSR_DEBUGEVT
            self._fault(HARD_FAULT, 0)
        elif number == _INTR_UNDEFINED:
            self._fault(USAGE_FAULT, _UNDEFINSTR)
        else:
            self._fault(USAGE_FAULT, _INVSTATE)

    def _memory_fault(self, error: int) -> None:
        """Raise the exception that corresponds to a Unicorn error."""
        fetches = (const.UC_ERR_FETCH_UNMAPPED, const.UC_ERR_FETCH_PROT, const.UC_ERR_EXCEPTION)
        if error == const.UC_ERR_EXCEPTION and self._in_c.core_memory(self._core, self.pc, 1, True):
            grant_pages(self.uc, False)  # see pages.c
        elif error == const.UC_ERR_INSN_INVALID:
            self._fault(USAGE_FAULT, _UNDEFINSTR)
        elif error in fetches:
            self._fault(MEM_MANAGE, _IACCVIOL)
        else:
            self._fault(BUS_FAULT, _PRECISERR)

    def _fault(self, fault: int, status: int) -> None:
        """Take a synchronous exception immediately, at the present instruction. Escalate it if necessary."""
        self.scs.value["CFSR"] |= status
        level = self._in_c.exceptions_level(self._core)
        number = self.nvic.escalate(fault, level)
        if number == HARD_FAULT and fault != HARD_FAULT:
            self.scs.value["HFSR"] |= _HFSR_FORCED
        if level <= -1:
            self.locked_up = True  # a fault inside the fault handler
            return
        self._in_c.exceptions_enter(self._core, number)


__all__ = ["CortexM4", "Handled", "Region", "SCS_BASE", "SYSTICK"]
