"""A Cortex-M4F around Unicorn: memory, exceptions, sleep, faults, and the exact count of executed instructions.

Unicorn translates and runs the instructions; it has no NVIC, no SysTick and no sense of time. Those are here. Time is
counted in processor cycles by the model of hil.chip.timing, one basic block at a time (hil.chip.block_counter): events
and interrupts come at block boundaries, and a register that shows time shows that of the end of the block that reads
it.
"""

from __future__ import annotations

import mmap
import struct
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unicorn import UC_ARCH_ARM, UC_HOOK_INTR, UC_MODE_MCLASS, UC_MODE_THUMB, Uc, UcError
from unicorn import arm_const as arm
from unicorn import unicorn_const as const

from hil.chip import block_counter, timing
from hil.chip.block_counter import BlockCounter
from hil.chip.events import Events
from hil.chip.nvic import BUS_FAULT, HARD_FAULT, MEM_MANAGE, NMI, SVCALL, SYSTICK, USAGE_FAULT, Nvic
from hil.chip.registers import WORD, Bus, Unmodelled
from hil.chip.scs import BASE as SCS_BASE
from hil.chip.scs import Dwt, SystemControl
from hil.chip.timing import FlashFetch
from hil.chip.unicorn_calls import Read, Registers, Write, map_memory, map_peripherals

_FRAME = (arm.UC_ARM_REG_R0, arm.UC_ARM_REG_R1, arm.UC_ARM_REG_R2, arm.UC_ARM_REG_R3, arm.UC_ARM_REG_R12,
          arm.UC_ARM_REG_LR)
_FLOATS = (*(arm.UC_ARM_REG_D0 + i for i in range(8)), arm.UC_ARM_REG_FPSCR)  # s0 to s15 and the status
_ALIGNED = 1 << 9  # in the stacked xPSR: the stack pointer was moved by four for alignment
_FPCA = 1 << 2  # CONTROL: the floating-point unit holds something
_SPSEL = 1 << 1  # CONTROL: thread mode runs on the process stack
_SFPA = 1 << 3  # of processors with a secure state, as which Unicorn takes this one: without it, it clears FPSCR
_EXC_RETURN = 0xFFFFFFE1
_UNTIL = 0xFFFFFFFE  # an address execution never reaches
_TO_PERIPHERALS = ((0x40000000, 0x20000000), (0xE0000000, 0x00100000))

# exceptions QEMU's translator reports through UC_HOOK_INTR
_INTR_UNDEFINED, _INTR_SVC, _INTR_PREFETCH, _INTR_DATA, _INTR_BKPT, _INTR_RETURN = 1, 2, 3, 4, 7, 8

# bits of CFSR
_IACCVIOL, _PRECISERR, _BFARVALID, _UNDEFINSTR, _INVSTATE, _NOCP = 1 << 0, 1 << 9, 1 << 15, 1 << 16, 1 << 17, 1 << 19
_HFSR_FORCED, _HFSR_DEBUGEVT = 1 << 30, 1 << 31


@dataclass(frozen=True)
class Region:
    """A piece of memory, bytes. Writable ones keep their content over resets, as SRAM does."""

    name: str
    start: int
    size: int
    writable: bool = True


@dataclass
class Handled:
    """What one exception handler (0: thread mode) has executed so far, without what preempted it."""

    entries: int = 0
    instructions: int = 0
    cycles: int = 0


class CortexM4:
    """The processor with its memory. Peripherals are attached to `bus` by the chip model.

    vectors: where the vector table is out of reset; `image` is put there.
    """

    def __init__(self, regions: tuple[Region, ...], vectors: int, bus: Bus, image: bytes) -> None:
        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
        self.regions, self.vectors, self.bus = regions, vectors, bus
        self._memories = [(region.start, region.start + region.size, mmap.mmap(-1, region.size)) for region in regions]
        self._held: list[Any] = []  # by Unicorn
        for region, (_, _, memory) in zip(regions, self._memories, strict=True):
            rights = const.UC_PROT_ALL if region.writable else const.UC_PROT_READ | const.UC_PROT_EXEC
            self._held.append(map_memory(self.uc, region.start, memory, rights))
        self.uc.mem_write(vectors, image)
        self.events, self.nvic = Events(), Nvic()
        self.on_systick: Callable[[], None] = lambda: None
        self.on_exception: Callable[[int, Handled], None] = lambda number, done: None
        self.dwt = Dwt(self)
        self.scs = SystemControl(self)
        bus.attach(self.scs, 0x1000)
        bus.attach(self.dwt, 0x1000)
        self._counter = BlockCounter(self.uc)
        self._count = self._counter.state
        for start, size in _TO_PERIPHERALS:
            self._held.append(map_peripherals(self.uc, start, size, self._reader(start), self._writer(start),
                                              self._refuse))
        self.uc.hook_add(UC_HOOK_INTR, self._on_interrupt)
        self._pc_register, self._stack, self._status, self._control, self._faultmask = (
            Registers(self.uc, register) for register in (arm.UC_ARM_REG_PC, arm.UC_ARM_REG_SP, arm.UC_ARM_REG_XPSR,
                                                          arm.UC_ARM_REG_CONTROL, arm.UC_ARM_REG_FAULTMASK))
        self._masks = Registers(self.uc, arm.UC_ARM_REG_PRIMASK, arm.UC_ARM_REG_BASEPRI, arm.UC_ARM_REG_FAULTMASK)
        self._before = Registers(self.uc, arm.UC_ARM_REG_CONTROL, arm.UC_ARM_REG_SP, *_FRAME, arm.UC_ARM_REG_XPSR)
        self._entered = Registers(self.uc, arm.UC_ARM_REG_SP, arm.UC_ARM_REG_XPSR, arm.UC_ARM_REG_CONTROL,
                                  arm.UC_ARM_REG_LR)
        self._after = Registers(self.uc, *_FRAME, arm.UC_ARM_REG_XPSR, arm.UC_ARM_REG_SP)
        self._floats = Registers(self.uc, *_FLOATS)
        self.handled: dict[int, Handled] = defaultdict(Handled)
        self.reset_requested = False
        self.reset()

    # -- life ---------------------------------------------------------------

    def reset(self) -> None:
        """Registers to their reset values, stack pointer and program counter from the vector table."""
        self.nvic.reset()
        self.scs.reset()
        self.dwt.reset()
        self.dwt.traced = False
        self.floating_point = False
        self.asleep = self.locked_up = self.halted = self.reset_requested = False
        self._interrupt: int | None = None
        self._refused: BaseException | None = None
        self._count.last_refill = 0
        self._since = (self.instructions, self.events.now)
        for register in (arm.UC_ARM_REG_PRIMASK, arm.UC_ARM_REG_BASEPRI, arm.UC_ARM_REG_FAULTMASK,
                         arm.UC_ARM_REG_CONTROL, arm.UC_ARM_REG_FPSCR):
            self.uc.reg_write(register, 0)
        self.uc.reg_write(arm.UC_ARM_REG_XPSR, 1 << 24)
        stack, start = struct.unpack("<II", self.uc.mem_read(self.vectors, 8))
        self.uc.reg_write(arm.UC_ARM_REG_LR, WORD)
        self.uc.reg_write(arm.UC_ARM_REG_MSP, stack)
        self._pc = start

    def request_reset(self) -> None:
        """A system reset at the next block; whoever runs the core sees `reset_requested`."""
        self.reset_requested = True
        self.events.attend()

    def halt(self, halted: bool) -> None:
        """A debugger stops the processor, and with it SysTick and the cycle counter (ARMv7-M C1.5, B3.3.1), or lets it
        go on."""
        if halted != self.halted:
            self.halted = halted
            self.scs.systick.hold(halted)
            self.dwt.hold(halted)
            self.events.attend()

    def load(self, address: int, data: bytes) -> None:
        """Put bytes into memory, as a programmer or debugger does."""
        self.uc.mem_write(address, data)

    def stall(self, cycles: int) -> None:
        """Let the code that runs lose so many cycles, in the middle of a peripheral access."""
        self._count.now += cycles

    def memory(self, address: int, size: int) -> bytes:
        for start, end, memory in self._memories:
            if start <= address and address + size <= end:
                return memory[address - start:address - start + size]
        raise UcError(const.UC_ERR_READ_UNMAPPED)

    @property
    def instructions(self) -> int:
        """Instructions executed since power-on."""
        return self._count.instructions

    @property
    def now(self) -> int:
        """Processor cycles since power-on (of the clock that runs)."""
        return self.events.now

    # -- execution ----------------------------------------------------------

    def run(self, until: int, stop: Callable[[], bool] = lambda: False) -> None:
        """Execute until cycle `until` (up to one block more), until a reset is requested or `stop()`."""
        events, nvic = self.events, self.nvic
        while events.now < until and not self.reset_requested and not stop():
            events.fire()
            if self.reset_requested:
                break
            if nvic.pending and not self.locked_up and not self.halted:
                self._take_exception()
            wake = min(events.next(), until)
            if self.asleep or self.locked_up or self.halted:
                events.now = max(events.now, wake)
                events.done = events.now - 1
                continue
            # an exception that waits behind a mask is looked at after every block
            events.deadline = min(wake, events.now + 1) if nvic.pending & nvic.enabled else wake
            if events.deadline > events.now:
                self._execute()

    def _execute(self) -> None:
        """Run until the deadline, or something in the code itself, ends it."""
        count, self._interrupt = self._count, None
        events = self.events
        count.stopped, count.now, count.began, count.deadline = 0, events.now, events.now, events.deadline
        fault = None
        try:
            self.uc.emu_start(self._pc | 1, _UNTIL)
        except UcError as error:
            fault = error
        events.now, events.done = count.now, count.began
        self._pc, = self._pc_register.read()
        if self._refused:
            refused, self._refused = self._refused, None
            raise refused
        if fault is not None:
            self._memory_fault(fault)
        elif self._interrupt is not None:
            self._internal(self._interrupt)
        elif count.stopped == block_counter.UNKNOWN:
            self._learn(count.unknown_address, count.unknown_size)
        elif not count.stopped:
            self.asleep = True  # WFI

    def _learn(self, address: int, size: int) -> None:
        """A block is about to run for the first time."""
        block = timing.Block(address, self.memory(address, size))
        if block.floating_point and not self.floating_point:
            raise Unmodelled(f"floating-point instruction in the block at pc 0x{address:08X} while CPACR is off")
        self._counter.add(block)

    def blocks_in(self, start: int, end: int) -> list[Any]:
        """The known blocks that start at addresses [start, end): each has `runs` and `instructions`."""
        return self._counter.within(start, end)

    def watch_flash(self, fetches: dict[int, FlashFetch], start: int, end: int) -> list[Any]:
        """See BlockCounter.watch; before anything has run."""
        return self._counter.watch(fetches, start, end)

    @property
    def flash_readers(self) -> set[int]:
        """Addresses of the instructions that have loaded from the watched flash."""
        return self._counter.readers

    @property
    def known_blocks(self) -> int:
        return self._counter.known

    def executed_in(self, start: int, end: int) -> int:
        """Instructions executed so far at addresses [start, end)."""
        return sum(b.runs * b.instructions for b in self.blocks_in(start, end))

    # -- memory-mapped registers --------------------------------------------

    def _reader(self, base: int) -> Read:
        events, bus, count = self.events, self.bus, self._count

        def read(engine: object, offset: int, size: int, user: object) -> int:
            events.now, events.done = count.now, count.began
            address = base + offset
            if bus.watch:
                bus.watch(address, size, None)
            peripheral = bus.find(address)
            value = peripheral.read(address - peripheral.base, size)
            count.deadline = events.deadline
            return value

        return read

    def _writer(self, base: int) -> Write:
        events, bus, count = self.events, self.bus, self._count

        def write(engine: object, offset: int, size: int, value: int, user: object) -> None:
            events.now, events.done = count.now, count.began
            address = base + offset
            if bus.watch:
                bus.watch(address, size, value)
            peripheral = bus.find(address)
            peripheral.write(address - peripheral.base, size, value)
            count.deadline = events.deadline

        return write

    def _refuse(self, kind: type[BaseException], error: BaseException, traceback: object) -> None:
        """A peripheral raised this: stop execution; the error leaves run() with the place in the image added."""
        if self._refused is None:
            pc = self.uc.reg_read(arm.UC_ARM_REG_PC)
            self._refused = type(error)(f"{error}, in the block at pc 0x{pc:08X}") if isinstance(
                error, Unmodelled) else error
        self.uc.emu_stop()

    # -- exceptions ---------------------------------------------------------

    def _on_interrupt(self, uc: Uc, number: int, _: object) -> None:
        self._interrupt = number
        uc.emu_stop()

    def _internal(self, number: int) -> None:
        """What the running code brought about itself."""
        if number == _INTR_RETURN:
            self._return(self._pc | 1)
        elif number == _INTR_SVC:
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

    def _memory_fault(self, error: UcError) -> None:
        fetches = (const.UC_ERR_FETCH_UNMAPPED, const.UC_ERR_FETCH_PROT)
        if error.errno == const.UC_ERR_INSN_INVALID:
            self._fault(USAGE_FAULT, _UNDEFINSTR)
        elif error.errno in fetches:
            self._fault(MEM_MANAGE, _IACCVIOL)
        else:
            self._fault(BUS_FAULT, _PRECISERR)

    def _fault(self, fault: int, status: int) -> None:
        """A synchronous fault at the present instruction: taken at once, escalated where it must be."""
        self.scs.value["CFSR"] |= status
        level = self._level()
        number = self.nvic.escalate(fault, level)
        if number == HARD_FAULT and fault != HARD_FAULT:
            self.scs.value["HFSR"] |= _HFSR_FORCED
        if level <= -1:
            self.locked_up = True  # a fault inside the fault handler: only a reset ends it
            return
        self._enter(number)

    def _level(self) -> int:
        primask, basepri, faultmask = self._masks.read()
        return self.nvic.running(primask & 1, basepri, faultmask & 1)

    def _take_exception(self) -> None:
        number = self.nvic.candidate()
        if number is None:
            return
        self.asleep = False  # WFI ends whatever PRIMASK says
        if self.nvic.group(number) < self._level() and not self._inside_it_block():
            self._enter(number)

    def _inside_it_block(self) -> bool:
        return bool(self._status.read()[0] & 0x0600FC00)

    def _enter(self, number: int) -> None:
        """Stack the frame (ARMv7-M B1.5.6) and go to the handler."""
        control, stack, *frame, xpsr = self._before.read()
        thread = not self.nvic.active
        floats = bool(control & _FPCA)
        xpsr |= 1 << 24  # Thumb
        top = stack - (0x68 if floats else 0x20)
        if top & 4:
            top -= 4
            xpsr |= _ALIGNED
        else:
            xpsr &= ~_ALIGNED
        stacked = struct.pack("<8I", *frame, self._pc, xpsr)
        if floats:
            *values, status = self._floats.read()
            stacked += struct.pack("<8QII", *values, status & WORD, 0)
        if not self._stack_is_memory(top, len(stacked)):
            self.locked_up = True
            return
        self.uc.mem_write(top, stacked)
        code = _EXC_RETURN | (0 if floats else 0x10)
        code |= 0x8 | (0x4 if control & _SPSEL else 0) if thread else 0
        self._account(number)
        self.nvic.enter(number)
        # handler mode: the main stack
        self._entered.write(top, (1 << 24) | number, control & ~(_FPCA | _SPSEL | _SFPA), code)
        vectors = self.scs.value["VTOR"] or self.vectors
        self._pc = int.from_bytes(self.memory(vectors + 4 * number, 4), "little")
        self._count.last_refill = 0
        self.events.now += timing.EXCEPTION_ENTRY + (timing.FLOATING_POINT_FRAME if floats else 0)

    def _stack_is_memory(self, top: int, size: int) -> bool:
        return any(r.writable and r.start <= top and top + size <= r.start + r.size for r in self.regions)

    def _return(self, code: int) -> None:
        """Unstack the frame (ARMv7-M B1.5.8) that EXC_RETURN `code` names."""
        if code & 0xFFFFFFE3 != _EXC_RETURN or not self.nvic.active:
            self._fault(USAGE_FAULT, _INVSTATE)
            return
        self._account(None)
        number = self.nvic.leave()
        if number not in (NMI, ):
            self._faultmask.write(0)
        floats, thread, process = not code & 0x10, bool(code & 0x8), bool(code & 0x4)
        if thread:  # switch modes first, so that SP names the stack the frame is on
            self._status.write(1 << 24)
        self._control.write((_SPSEL if process else 0) | (_FPCA | _SFPA if floats else 0))
        top, = self._stack.read()
        *frame, pc, xpsr = struct.unpack("<8I", self.memory(top, 32))
        if floats:
            self._floats.write(*struct.unpack("<8QI", self.memory(top + 32, 68)))
        stack = top + (0x68 if floats else 0x20) + (4 if xpsr & _ALIGNED else 0)
        self._after.write(*frame, xpsr & ~_ALIGNED, stack)
        self._pc = pc & ~1
        self._count.last_refill = 0
        self.events.now += timing.EXCEPTION_RETURN + (timing.FLOATING_POINT_FRAME if floats else 0)

    def _account(self, entering: int | None) -> None:
        """Charge what was executed since the last entry or return to the handler (or thread) that executed it."""
        running = self.nvic.active[-1] if self.nvic.active else 0
        done = self.handled[running]
        done.instructions += self.instructions - self._since[0]
        done.cycles += self.events.now - self._since[1]
        self._since = (self.instructions, self.events.now)
        if entering is not None:
            self.handled[entering].entries += 1
        else:
            self.on_exception(running, done)


__all__ = ["CortexM4", "Handled", "Region", "SCS_BASE", "SYSTICK"]
