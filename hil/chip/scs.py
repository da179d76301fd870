"""The system control space of an ARMv7-M processor as registers: SysTick, NVIC, SCB, and DWT beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from femtorque.hil.chip.events import Event, Events
from femtorque.hil.chip.lending import Lending
from femtorque.hil.chip.nvic import FIRST_IRQ, NMI, PENDSV, SYSTICK, Nvic
from femtorque.hil.chip.registers import WORD, Peripheral, Register, Unmodelled

BASE, DWT_BASE = 0xE000E000, 0xE0001000
_IRQ_WORDS = 4  # 128 interrupt lines
_KEY = 0x05FA  # without it a write of AIRCR has no effect
_ASK_AGAIN = 20_000  # cycles
_SHCSR_FAULTS = {16: 4, 17: 5, 18: 6}  # enable bit -> exception number


def _registers() -> dict[int, Register]:
    table = {
        0x004: Register("ICTR", _IRQ_WORDS - 1, 0),
        0x010: Register("SYST_CSR", 0, 0x7), 0x014: Register("SYST_RVR", 0, 0xFFFFFF),
        0x018: Register("SYST_CVR"), 0x01C: Register("SYST_CALIB", 0, 0),
        0xD00: Register("CPUID", 0x410FC241, 0), 0xD04: Register("ICSR", 0, 0x9E000000),
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
    """The parts of the core that these registers need."""

    nvic: Nvic
    events: Events
    dwt: Dwt
    floating_point: bool
    vector_table: int
    on_systick: Callable[[], None] | None
    lending: Lending

    def request_reset(self) -> None: ...


class SystemControl(Peripheral):
    """SCB and NVIC registers over the core's exception state."""

    REGISTERS = _registers()
    UNTOUCHED: ClassVar[frozenset[str]] = frozenset({"ICSR"})

    def __init__(self, core: Core) -> None:
        self.core = core
        super().__init__("SCS", BASE)
        self.systick = _SysTick(core, self)
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
    def read_SYST_CSR(self) -> int:
        return self.systick.control()

    def write_SYST_CSR(self, value: int) -> None:
        self.systick.configure(value, self.value["SYST_RVR"])

    def write_SYST_RVR(self, value: int) -> None:
        self.value["SYST_RVR"] = value
        self.systick.load(value)

    def read_SYST_CVR(self) -> int:
        return self.systick.counter()

    def write_SYST_CVR(self, value: int) -> None:
        self.systick.restart()

    # SCB
    def read_ICSR(self) -> int:
        nvic = self.core.nvic
        self.say_control("ICSR")
        active, waiting = nvic.active, nvic.waiting
        value = (active[-1] if active else 0) | (nvic.candidate() or 0) << 12
        value |= sum(bool(nvic.pending[number][0]) << bit for bit, number in ((26, SYSTICK), (28, PENDSV), (31, NMI)))
        return value | (any(n >= FIRST_IRQ for n in waiting)) << 22 | (len(active) <= 1) << 11

    def write_ICSR(self, value: int) -> None:
        nvic = self.core.nvic
        self.say_control("ICSR")
        for bit, number in ((26, SYSTICK), (28, PENDSV), (31, NMI)):
            if value >> bit & 1:
                nvic.pend(number)
        for bit, number in ((25, SYSTICK), (27, PENDSV)):
            if value >> bit & 1:
                nvic.pend(number, False)
        self.core.events.attend()

    def write_VTOR(self, value: int) -> None:
        self.value["VTOR"] = self.core.vector_table = value

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


class _SysTick:
    """The 24-bit down counter, kept as the cycle at which it was last loaded."""

    out, again = False, 0

    def __init__(self, core: Core, registers: Peripheral) -> None:
        self.core, self._registers = core, registers
        self._place: Any = None
        core.lending.add(self)
        self.event: Event | None = None
        self.stop()

    def stop(self) -> None:
        self.recall()
        self._held, self._held_at = False, 0
        self.enabled = self.interrupt = self.flag = False
        self.divider, self.reload, self.loaded = 1, 0, 0
        self._from = 0  # the value last loaded into the counter
        self._schedule()

    @property
    def period(self) -> int:
        return (self._from + 1) * self.divider

    def control(self) -> int:
        self.recall()
        value = self.enabled | self.interrupt << 1 | (self.divider == 1) << 2 | self.flag << 16
        self.flag = False
        return value

    def configure(self, value: int, reload: int) -> None:
        self.recall()
        starts = value & 1 and not self.enabled
        self.enabled, self.interrupt = bool(value & 1), bool(value & 2)
        self.divider, self.reload = 1 if value & 4 else 8, reload
        if starts:
            self.loaded, self._from = self.core.events.now, reload
        self._schedule()

    def load(self, reload: int) -> None:
        """Set the value that the counter takes at its next clock after 0, or at once if it was started at 0."""
        self.recall()
        self.reload = reload
        if self.enabled and self.core.events.now == self.loaded:
            self._from = reload
            self._schedule()

    def restart(self) -> None:
        self.recall()
        self.flag, self.loaded, self._from = False, self.core.events.now, self.reload
        self._schedule()

    def counter(self) -> int:
        self.recall()
        if not self.enabled or not self._from or self.core.events.now == self.loaded:
            return 0
        now = self._held_at if self._held else self.core.events.now
        return self._from - (now - self.loaded) // self.divider % (self._from + 1)

    def hold(self, held: bool) -> None:
        """Stop the counter while the processor is halted, or let it go on."""
        self.recall()
        if held:
            self._held_at = self.core.events.now
        else:
            self.loaded += self.core.events.now - self._held_at
        self._held = held
        self._schedule()

    # -- lent (femtorque.hil.chip.lending) ----------------------------------------------

    def lend(self, lending: Lending) -> bool:
        self.out = bool(self.event) and self.core.on_systick is None
        self.again = lending.now + _ASK_AGAIN
        if self.out:
            state = lending.state.systick
            state.lent, state.interrupt, state.flag, state.loaded = True, self.interrupt, self.flag, self.loaded
            setattr(state, "from", self._from)
            state.reload, state.divider = self.reload, self.divider
            lending.give(state.expire, self.event)
            self._place = lending.place(self._registers, 0x018, lending.what("SYSTICK_COUNT"))
        return self.out

    def recall(self) -> None:
        if not self.out:
            return
        self.out, self._place.kind = False, 0
        lending = self.core.lending
        state = lending.state.systick
        self.flag, self.loaded, self._from = bool(state.flag), state.loaded, getattr(state, "from")
        self.event = lending.take(state.expire, self._expire)
        lending.returned(self)

    def _schedule(self) -> None:
        if self.event:
            self.event.cancel()
        running = self.enabled and self._from and not self._held
        self.event = self.core.events.at(self.loaded + self.period, self._expire) if running else None

    def _expire(self) -> None:
        assert self.event is not None
        self.loaded, self._from = self.event.at, self.reload
        self.flag = True
        if self.interrupt:
            self.core.nvic.pend(SYSTICK)
        if self.core.on_systick:
            self.core.on_systick()
        self._schedule()


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
        """Stop the counter while the processor is halted, or let it go on."""
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
