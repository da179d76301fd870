"""The system control space of an ARMv7-M processor as registers: SysTick, NVIC and SCB; and the DWT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from femtorque.hil.chip.nvic import FIRST_IRQ, Nvic
from femtorque.hil.chip.registers import WORD, Peripheral, Register, Unmodelled
from femtorque.hil.clock import ChipState, Events, Member

BASE, DWT_BASE = 0xE000E000, 0xE0001000
_IRQ_WORDS = 4  # 128 interrupt lines
_COUNT, _ICSR = 0x018, 0xD04  # offsets of registers whose accesses C handles
_KEY = 0x05FA  # key without which a write to AIRCR has no effect
_SHCSR_FAULTS = {16: 4, 17: 5, 18: 6}  # enable bit -> exception number


def _registers() -> dict[int, Register]:
    table = {
        0x004: Register("ICTR", _IRQ_WORDS - 1, 0),
        0x010: Register("SYST_CSR", 0, 0x7), 0x014: Register("SYST_RVR", 0, 0xFFFFFF),
        _COUNT: Register("SYST_CVR"), 0x01C: Register("SYST_CALIB", 0, 0),
        0xD00: Register("CPUID", 0x410FC241, 0), _ICSR: Register("ICSR", 0, 0x9E000000),
        0xD08: Register("VTOR", 0, 0x3FFFFF80), 0xD0C: Register("AIRCR", 0, 0xFFFF0704),
        0xD10: Register("SCR", 0, 0), 0xD14: Register("CCR", 0x200, 0x218),
        0xD18: Register("SHPR1"), 0xD1C: Register("SHPR2"), 0xD20: Register("SHPR3"),
        0xD24: Register("SHCSR", 0, 0x70000), 0xD28: Register("CFSR"), 0xD2C: Register("HFSR", 0, 0xC0000002),
        0xD34: Register("MMFAR"), 0xD38: Register("BFAR"), 0xD88: Register("CPACR", 0, 0xF << 20),
        0xDFC: Register("DEMCR", 0, 1 << 24), 0xF34: Register("FPCCR", 0xC0000000, 0xC0000000),
    }
    for word in range(_IRQ_WORDS):
        for start, name in ((0x100, "ISER"), (0x180, "ICER"), (0x200, "ISPR"), (0x280, "ICPR")):
            table[start + 4 * word] = Register(f"{name}{word}")
        table[0x300 + 4 * word] = Register(f"IABR{word}", 0, 0)
    for word in range(8 * _IRQ_WORDS):
        table[0x400 + 4 * word] = Register(f"IPR{word}")
    return table


class Core(Protocol):
    """The functions of the core that these registers use."""

    nvic: Nvic
    events: Events
    dwt: Dwt
    floating_point: bool

    def set_vectors(self, address: int) -> None: ...

    def request_reset(self) -> None: ...


class SystemControl(Peripheral):
    """SCB and NVIC: registers that access the core's exception state."""

    REGISTERS = _registers()

    def __init__(self, core: Core) -> None:
        self.core, self.systick = core, SysTick(core.events.parts)
        self.read_SYST_CSR, self.read_SYST_CVR = self.systick.control, self.systick.counter
        super().__init__("SCS", BASE)
        for word in range(_IRQ_WORDS):
            for name in ("ISER", "ICER", "ISPR", "ICPR", "IABR"):
                self._bind(name, word)
        for word in range(8 * _IRQ_WORDS):
            self._bind_priority(0x400 + 4 * word, FIRST_IRQ + 4 * word)
        for word in range(3):
            self._bind_priority(0xD18 + 4 * word, 4 + 4 * word)

    def reset(self) -> None:
        self.clear()
        self.systick.stop()

    def attached(self) -> None:
        """Let C handle reads of SysTick's count and of ICSR."""
        assert self._bus is not None
        kinds = self._bus.kinds
        count = self._bus.place(BASE + _COUNT)
        count.kind, count.value = kinds.OF_A_PART, kinds.THE_SYSTICK << kinds.KIND
        self._bus.place(BASE + _ICSR).kind = kinds.CONTROL

    def _bind(self, name: str, word: int) -> None:
        nvic, first = self.core.nvic, FIRST_IRQ + 32 * word
        offset = next(at for at, r in self.REGISTERS.items() if r.name == f"{name}{word}")
        numbers = range(first, first + 32)

        def read() -> int:
            active = nvic.active
            held = [n in active for n in numbers] if name == "IABR" else (
                nvic.enabled if name.endswith("ER") else nvic.pending)[first:first + 32]
            return sum(bool(bit) << i for i, bit in enumerate(held))

        def write(value: int) -> None:
            chosen = [number for number in numbers if value >> number - first & 1]
            if name == "ICPR":
                nvic.unpend(chosen)
            else:
                for number in chosen:
                    (nvic.enable if name.endswith("ER") else nvic.pend)(number, name[1] == "S")
            self.core.events.attend()

        self._read[offset], self._write[offset] = read, (write, self._write[offset][1])

    def _bind_priority(self, offset: int, first: int) -> None:
        nvic = self.core.nvic

        def read() -> int:
            return int.from_bytes(nvic.priority[first:first + 4], "little")

        def write(value: int) -> None:
            for i in range(4):
                nvic.prioritise(first + i, value >> 8 * i)
            self.core.events.attend()

        assert first + 3 < len(nvic.priority)
        self._read[offset], self._write[offset] = read, (write, WORD)

    # SysTick
    def write_SYST_CSR(self, value: int) -> None:
        self.systick.configure(value, self.value["SYST_RVR"])

    def write_SYST_RVR(self, value: int) -> None:
        self.value["SYST_RVR"] = value
        self.systick.load(value)

    def write_SYST_CVR(self, value: int) -> None:
        self.systick.restart()

    # SCB
    def read_ICSR(self) -> int:
        return self.core.nvic.control

    def write_ICSR(self, value: int) -> None:
        self.core.nvic.control = value
        self.core.events.attend()

    def write_VTOR(self, value: int) -> None:
        self.value["VTOR"] = value
        self.core.set_vectors(value)

    def read_AIRCR(self) -> int:
        return 0xFA05 << 16 | self.core.nvic.group_shift << 8

    def write_AIRCR(self, value: int) -> None:
        if value >> 16 != _KEY:
            return
        self.core.nvic.group_shift = value >> 8 & 7
        if value & 4:
            self.core.request_reset()

    def write_SHCSR(self, value: int) -> None:
        self.value["SHCSR"] = value
        for bit, number in _SHCSR_FAULTS.items():
            self.core.nvic.enable(number, bool(value >> bit & 1))

    def write_CFSR(self, value: int) -> None:
        self.value["CFSR"] &= ~value

    def write_HFSR(self, value: int) -> None:
        self.value["HFSR"] &= ~value

    def write_CPACR(self, value: int) -> None:
        if value not in (0, 0xF << 20):
            raise Unmodelled(f"CPACR = 0x{value:X}: only all or no access to the floating-point unit is modelled")
        self.value["CPACR"] = value
        self.core.floating_point = value != 0

    def write_DEMCR(self, value: int) -> None:
        self.value["DEMCR"] = value
        self.core.dwt.traced = value != 0
        self.core.dwt.forget()


class SysTick:
    """The 24-bit down counter. C computes the count from the cycle of the last load (`systick` of parts.h). interrupt:
    true if the exception becomes pending when the count reaches zero."""

    interrupt = Member(bool, "_state")

    def __init__(self, parts: ChipState) -> None:
        self._parts, self._state = parts, parts.state.systick
        self.stop()

    def stop(self) -> None:
        state = self._state
        state.enabled = state.interrupt = state.flag = False
        state.divider, state.reload, state.last, state.loaded, state.held_at = 1, 0, 0, 0, -1
        self._schedule()

    def hear(self, call: Callable[[], None]) -> None:
        """Call a function each time the counter reaches zero."""
        self._state.heard = True
        self._parts.hear("SYSTICK_ZERO", 0, lambda value: call())

    def control(self) -> int:
        state = self._state
        value = state.enabled | state.interrupt << 1 | (state.divider == 1) << 2 | state.flag << 16
        state.flag = False
        return int(value)

    def configure(self, value: int, reload: int) -> None:
        state = self._state
        starts = value & 1 and not state.enabled
        state.enabled, state.interrupt = bool(value & 1), bool(value & 2)
        state.divider, state.reload = 1 if value & 4 else 8, reload
        if starts:
            state.loaded, state.last = self._now, reload
        self._schedule()

    def load(self, reload: int) -> None:
        """Set the reload value. A counter that was started at 0 takes the reload value immediately."""
        state = self._state
        state.reload = reload
        if state.enabled and self._now == state.loaded:
            state.last = reload
            self._schedule()

    def restart(self) -> None:
        state = self._state
        state.flag, state.loaded, state.last = False, self._now, state.reload
        self._schedule()

    def counter(self) -> int:
        return int(self._parts.do("systick_count"))

    def hold(self, held: bool) -> None:
        """Stop the counter while the processor is halted, or let it continue."""
        state = self._state
        if not held:
            state.loaded += self._now - state.held_at
        state.held_at = self._now if held else -1
        self._schedule()

    @property
    def _now(self) -> int:
        return int(self._parts.count.now)

    def _schedule(self) -> None:
        self._parts.do("systick_schedule")


class Dwt(Peripheral):
    """The cycle counter of the data watchpoint and trace unit."""

    REGISTERS = {0x0: Register("CTRL", 0x40000000, 1), 0x4: Register("CYCCNT"), 0xFB0: Register("LAR")}

    def __init__(self, core: Core) -> None:
        self.core, self.traced = core, False
        self._base = self._held = 0
        super().__init__("DWT", DWT_BASE)

    def _counting(self) -> bool:
        return self.traced and bool(self.value["CTRL"] & 1)

    def hold(self, held: bool) -> None:
        """Stop the counter while the processor is halted, or let it continue."""
        self.forget()
        if held:
            self._held = self.read_CYCCNT()
        else:
            self.write_CYCCNT(self._held)

    def write_CTRL(self, value: int) -> None:
        count = self.read_CYCCNT()
        self.value["CTRL"] = value | 0x40000000
        self.write_CYCCNT(count)

    def read_CYCCNT(self) -> int:
        if not self._counting():
            return self.value["CYCCNT"] & WORD
        self.say_cycles("CYCCNT", self._base)
        return self.core.events.now - self._base & WORD

    def write_CYCCNT(self, value: int) -> None:
        self.value["CYCCNT"] = value
        self._base = self.core.events.now - value
