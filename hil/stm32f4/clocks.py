"""RCC, FLASH and PWR of the STM32F405 (RM0090 sections 7, 3, 5): oscillators that take time, clock tree, reset flags."""

from __future__ import annotations

from collections.abc import Callable

from hil.events import Event, Events
from hil.registers import WORD, Peripheral, Register, Unmodelled

HSI_HZ, LSI_HZ = 16_000_000, 32_000
_HSE_START_S, _PLL_LOCK_S = 2e-3, 1e-4  # typical start-up times of the data sheet
_AHB_DIVIDERS = {**{code: 1 for code in range(8)}, 8: 2, 9: 4, 10: 8, 11: 16, 12: 64, 13: 128, 14: 256, 15: 512}
_APB_DIVIDERS = {**{code: 1 for code in range(4)}, 4: 2, 5: 4, 6: 8, 7: 16}
_HZ_PER_WAIT_STATE = 30_000_000  # at 2.7 to 3.6 V
_LIMITS_HZ = {"HCLK": 168_000_000, "APB1": 42_000_000, "APB2": 84_000_000}
_LOW_VOLTAGE_HZ = 144_000_000  # fastest HCLK with PWR_CR.VOS = 0

HSION, HSIRDY, HSEON, HSERDY, CSSON, PLLON, PLLRDY = 1 << 0, 1 << 1, 1 << 16, 1 << 17, 1 << 19, 1 << 24, 1 << 25
RESET_FLAGS = {"brownout": 1 << 25, "pin": 1 << 26, "power": 1 << 27, "software": 1 << 28, "watchdog": 1 << 29}


class Flash(Peripheral):
    """The flash interface: wait states and caches."""

    REGISTERS = {0x00: Register("ACR", 0, 0x1F07)}

    @property
    def fastest_hz(self) -> int:
        return ((self.value["ACR"] & 7) + 1) * _HZ_PER_WAIT_STATE


class Power(Peripheral):
    """The voltage regulator's scale."""

    REGISTERS = {0x00: Register("CR", 0x4000, 0x4000), 0x04: Register("CSR", 0x4000, 0)}


class Rcc(Peripheral):
    """Oscillators, PLL, clock tree and gates. `hse_hz` None is a board without a crystal; `fail_hse()` kills it."""

    REGISTERS = {
        0x00: Register("CR", 0x83, 0x010D00F9), 0x04: Register("PLLCFGR", 0x24003010, 0x0F437FFF),
        0x08: Register("CFGR", 0, 0x0000FCF3), 0x0C: Register("CIR", 0, 0x00800000),
        0x10: Register("AHB1RSTR"), 0x14: Register("AHB2RSTR"), 0x18: Register("AHB3RSTR"),
        0x20: Register("APB1RSTR"), 0x24: Register("APB2RSTR"),
        0x30: Register("AHB1ENR", 0x100000), 0x34: Register("AHB2ENR"), 0x38: Register("AHB3ENR"),
        0x40: Register("APB1ENR"), 0x44: Register("APB2ENR"),
        0x74: Register("CSR", 0, 0xFF000001),
    }

    def __init__(self, base: int, events: Events, flash: Flash, power: Power, hse_hz: int | None) -> None:
        self.events, self.flash, self.power, self.hse_hz = events, flash, power, hse_hz
        self.hse_alive = hse_hz is not None
        self.gates: dict[tuple[str, int], Peripheral] = {}  # (enable register, bit) -> what it clocks
        self.on_clock: Callable[[int, int], None] = lambda old, new: None
        self.on_clock_failure: Callable[[], None] = lambda: None
        self.hclk = HSI_HZ
        self._starting: list[Event] = []
        super().__init__("RCC", base)

    def reset(self) -> None:
        for event in self._starting:
            event.cancel()
        self._starting = []
        self.clear()
        for bit_of in self.gates.values():
            bit_of.clocked = False
        for register in ("AHB1ENR", "APB1ENR", "APB2ENR"):
            self._gate(register, self.value[register])
        self._apply()

    # clock tree
    @property
    def apb1(self) -> int:
        return self.hclk // _APB_DIVIDERS[self.value["CFGR"] >> 10 & 7]

    @property
    def apb2(self) -> int:
        return self.hclk // _APB_DIVIDERS[self.value["CFGR"] >> 13 & 7]

    def timer_hz(self, second: bool) -> int:
        """Clock of the timers of APB1 or (second) APB2: twice the bus clock unless the bus runs at HCLK."""
        bus = self.apb2 if second else self.apb1
        return bus if bus == self.hclk else 2 * bus

    def _source_hz(self, source: int) -> int:
        if source == 0:
            return HSI_HZ
        if source == 1:
            return self.hse_hz or 0
        pll = self.value["PLLCFGR"]
        m, n, p = pll & 0x3F, pll >> 6 & 0x1FF, 2 * (pll >> 16 & 3) + 2
        vco_in = (self.hse_hz or 0 if pll >> 22 & 1 else HSI_HZ) / max(m, 1)
        if m < 2 or not 0.95e6 <= vco_in <= 2.1e6 or not 100e6 <= vco_in * n <= 432e6:
            raise Unmodelled(f"PLL out of range: VCO input {vco_in:.0f} Hz, output {vco_in * n:.0f} Hz")
        return round(vco_in * n / p)

    def _apply(self) -> None:
        """Take over the clock tree that the registers describe; refuse what silicon would not survive."""
        status = self.value["CFGR"] >> 2 & 3
        hclk = self._source_hz(status) // _AHB_DIVIDERS[self.value["CFGR"] >> 4 & 15]
        old, self.hclk = self.hclk, hclk
        for name, hz in (("HCLK", hclk), ("APB1", self.apb1), ("APB2", self.apb2)):
            if hz > _LIMITS_HZ[name]:
                raise Unmodelled(f"{name} at {hz} Hz, above its limit of {_LIMITS_HZ[name]} Hz")
        if hclk > self.flash.fastest_hz:
            raise Unmodelled(f"HCLK at {hclk} Hz with flash wait states for {self.flash.fastest_hz} Hz")
        if hclk > _LOW_VOLTAGE_HZ and not self.power.value["CR"] & 0x4000:
            raise Unmodelled(f"HCLK at {hclk} Hz with the regulator at its low scale")
        if hclk != old:
            self.events.rescale(old, hclk)
            self.on_clock(old, hclk)

    # oscillators
    def write_CR(self, value: int) -> None:
        old = self.value["CR"]
        ready = old & (HSIRDY | HSERDY | PLLRDY)
        self.value["CR"] = value & ~(HSERDY | PLLRDY) | ready
        self._switch(value, HSION, HSIRDY, 0.0, True)
        self._switch(value, HSEON, HSERDY, _HSE_START_S, self.hse_alive)
        self._switch(value, PLLON, PLLRDY, _PLL_LOCK_S, self._pll_fed())

    def _pll_fed(self) -> bool:
        return bool(self.value["CR"] & (HSERDY if self.value["PLLCFGR"] >> 22 & 1 else HSIRDY))

    def _switch(self, value: int, on: int, ready: int, delay_s: float, works: bool) -> None:
        if not value & on:
            if self.value["CR"] & ready and self._in_use(on):
                raise Unmodelled("the clock that runs the processor was switched off")
            self.value["CR"] &= ~ready
        elif works and not self.value["CR"] & ready:
            if delay_s == 0.0:
                self.value["CR"] |= ready
            else:
                self._starting.append(self.events.after(round(delay_s * self.hclk), lambda: self._come_up(on, ready)))

    def _come_up(self, on: int, ready: int) -> None:
        if self.value["CR"] & on:
            self.value["CR"] |= ready

    def _in_use(self, on: int) -> bool:
        return {HSION: 0, HSEON: 1, PLLON: 2}[on] == self.value["CFGR"] >> 2 & 3

    def write_PLLCFGR(self, value: int) -> None:
        if self.value["CR"] & PLLON:
            raise Unmodelled("PLLCFGR written while the PLL is on")
        self.value["PLLCFGR"] = value

    def write_CFGR(self, value: int) -> None:
        source = value & 3
        ready = {0: HSIRDY, 1: HSERDY, 2: PLLRDY}.get(source)
        if ready is None:
            raise Unmodelled("CFGR.SW = 3")
        status = source if self.value["CR"] & ready else self.value["CFGR"] >> 2 & 3
        self.value["CFGR"] = value & ~0xC | status << 2
        self._apply()

    def fail_hse(self) -> None:
        """The crystal stops. With the clock security system on: break, NMI, and on with HSI."""
        self.hse_alive = False
        control = self.value["CR"]
        self.value["CR"] = control & ~(HSERDY | (PLLRDY if self.value["PLLCFGR"] >> 22 & 1 else 0))
        source = self.value["CFGR"] >> 2 & 3
        hit = source == 1 or source == 2 and self.value["PLLCFGR"] >> 22 & 1
        if not control & HSERDY or not hit:
            return
        if not control & CSSON:
            raise Unmodelled("the clock of the processor stopped without clock security: the chip is dead")
        self.value["CR"] &= ~(HSEON | PLLON | CSSON)
        self.value["CIR"] |= 1 << 7
        self.value["CFGR"] &= ~0xF
        self._apply()
        self.on_clock_failure()

    def write_CIR(self, value: int) -> None:
        if value & 1 << 23:
            self.value["CIR"] &= ~(1 << 7)

    # gates
    def _gate(self, register: str, value: int) -> None:
        self.value[register] = value
        for (name, bit), peripheral in self.gates.items():
            if name == register:
                peripheral.clocked = bool(value >> bit & 1)

    def write_AHB1ENR(self, value: int) -> None:
        self._gate("AHB1ENR", value)

    def write_APB1ENR(self, value: int) -> None:
        self._gate("APB1ENR", value)

    def write_APB2ENR(self, value: int) -> None:
        self._gate("APB2ENR", value)

    # reset flags
    def flag_reset(self, cause: str) -> None:
        """Note why a reset comes. The pin flag is set by every reset, as the reset pin is pulled by all of them."""
        self.reset_flags = getattr(self, "reset_flags", 0) | RESET_FLAGS[cause] | RESET_FLAGS["pin"]
        if cause == "power":
            self.reset_flags |= RESET_FLAGS["brownout"]

    def read_CSR(self) -> int:
        return self.value["CSR"] & 3 | self.reset_flags

    def write_CSR(self, value: int) -> None:
        if value & 1 << 24:
            self.reset_flags = 0
        self.value["CSR"] = value & 1 | (value & 1) << 1  # LSI is ready at once


__all__ = ["Flash", "HSI_HZ", "LSI_HZ", "Power", "RESET_FLAGS", "Rcc", "WORD"]
