"""The clock controller functions that the families have in common: oscillators with start-up times, clock tree, gates,
reset flags and clock security. Each family names its registers and limits."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from femtorque.hil.chip.registers import Peripheral, Unmodelled
from femtorque.hil.clock import Event, Events

HSI_HZ, LSI_HZ = 16_000_000, 32_000
HSE_START_S, PLL_LOCK_S = 2e-3, 1e-4  # typical start-up times of the data sheets
AHB_DIVIDERS = {**{code: 1 for code in range(8)}, 8: 2, 9: 4, 10: 8, 11: 16, 12: 64, 13: 128, 14: 256, 15: 512}
APB_DIVIDERS = {**{code: 1 for code in range(4)}, 4: 2, 5: 4, 6: 8, 7: 16}
HSEON, HSERDY, CSSON, PLLON, PLLRDY = 1 << 16, 1 << 17, 1 << 19, 1 << 24, 1 << 25


class ClockController(Peripheral):
    """Oscillators, PLL, clock tree and gates. hse_hz: frequency of the crystal, Hz; None without a crystal. HSION,
    HSIRDY: bits of CR. SOURCES: ready bits by CFGR.SW. APB_SHIFTS: positions of the APB prescalers in CFGR. LIMITS_HZ:
    of HCLK, APB1, APB2. RESET_FLAGS: bits of CSR by cause, which CLEAR_FLAGS clears."""

    HSION: ClassVar[int]
    HSIRDY: ClassVar[int]
    SOURCES: ClassVar[dict[int, int]]
    APB_SHIFTS: ClassVar[tuple[int, int]]
    LIMITS_HZ: ClassVar[dict[str, int]]
    RESET_FLAGS: ClassVar[dict[str, int]]
    CLEAR_FLAGS: ClassVar[int]
    FAILURE: ClassVar[tuple[str, int]]  # register and flag of the clock security system
    GATES: ClassVar[tuple[str, ...]]
    PLL_OUTPUTS: ClassVar[int] = 0  # bits of PLLCFGR that enable its outputs; software may change them at any time
    hsi_hz = HSI_HZ  # of this individual chip

    def __init__(self, base: int, events: Events, flash: Any, power: Any, hse_hz: int | None) -> None:
        self.events, self.flash, self.power, self.hse_hz = events, flash, power, hse_hz
        self.hse_alive = hse_hz is not None
        self.gates: dict[tuple[str, int], Peripheral] = {}  # by enable register and bit
        self.on_clock: Callable[[int, int], None] = lambda old, new: None  # called with Hz when HCLK changes
        self.on_tree: Callable[[], None] = lambda: None  # called after a change of the clock tree
        self.on_clock_failure: Callable[[], None] = lambda: None
        self.hclk = HSI_HZ
        self.reset_flags = 0
        self._starting: list[Event] = []
        for register in self.GATES:
            setattr(self, f"write_{register}", lambda value, register=register: self._gate(register, value))
            resets = register.replace("ENR", "RSTR")
            setattr(self, f"write_{resets}", lambda value, register=register,
                    resets=resets: self._reset_gated(register, resets, value))
        super().__init__("RCC", base)

    def reset(self) -> None:
        for event in self._starting:
            event.cancel()
        self._starting = []
        self.clear()
        for gated in self.gates.values():
            gated.clocked = False
        for register in self.GATES:
            self._gate(register, self.value[register])
        self._apply()

    # clock tree
    def _source_hz(self, source: int) -> int:
        """Return the frequency of a clock source of SOURCES."""
        ready = self.SOURCES[source]
        return self.hsi_hz if ready == self.HSIRDY else self.hse_hz or 0 if ready == HSERDY else self._pll_hz()

    @abstractmethod
    def _pll_hz(self) -> int: ...

    @abstractmethod
    def _check(self, hclk: int) -> None:
        """Refuse a clock that is too fast for the flash or the voltage regulator."""

    @abstractmethod
    def _pll_uses_hse(self) -> bool: ...

    @property
    def apb1(self) -> int:
        return self.hclk // APB_DIVIDERS[self.value["CFGR"] >> self.APB_SHIFTS[0] & 7]

    @property
    def apb2(self) -> int:
        return self.hclk // APB_DIVIDERS[self.value["CFGR"] >> self.APB_SHIFTS[1] & 7]

    def timer_hz(self, second: bool) -> int:
        """Return the clock of the timers on APB1 (APB2 if `second`): twice the bus clock, or HCLK if both are equal."""
        bus = self.apb2 if second else self.apb1
        return bus if bus == self.hclk else 2 * bus

    def _apply(self) -> None:
        """Switch to the clock tree that the registers select. Refuse a clock tree above the limits of silicon."""
        status = self.value["CFGR"] >> 2 & 3
        hclk = self._source_hz(status) // AHB_DIVIDERS[self.value["CFGR"] >> 4 & 15]
        old, self.hclk = self.hclk, hclk
        for name, hz in (("HCLK", hclk), ("APB1", self.apb1), ("APB2", self.apb2)):
            if hz > self.LIMITS_HZ[name]:
                raise Unmodelled(f"{name} at {hz} Hz, above its limit of {self.LIMITS_HZ[name]} Hz")
        self._check(hclk)
        if hclk != old:
            self.events.rescale(old, hclk)
            self.on_clock(old, hclk)
        self.on_tree()

    # oscillators
    def read_CR(self) -> int:
        self.say("CR", self.value["CR"])
        return self.value["CR"]

    def write_CR(self, value: int) -> None:
        old = self.value["CR"]
        ready = old & (self.HSIRDY | HSERDY | PLLRDY)
        self.value["CR"] = value & ~(HSERDY | PLLRDY) | ready
        self._switch(value, self.HSION, self.HSIRDY, 0.0, True)
        self._switch(value, HSEON, HSERDY, HSE_START_S, self.hse_alive)
        self._switch(value, PLLON, PLLRDY, PLL_LOCK_S, self._pll_fed())

    def _pll_fed(self) -> bool:
        return bool(self.value["CR"] & (HSERDY if self._pll_uses_hse() else self.HSIRDY))

    def _switch(self, value: int, on: int, ready: int, delay_s: float, works: bool) -> None:
        if not value & on:
            if self.value["CR"] & ready and self.SOURCES[self.value["CFGR"] >> 2 & 3] == ready:
                raise Unmodelled("the clock that runs the processor was switched off")
            self.value["CR"] &= ~ready
        elif works and not self.value["CR"] & ready:
            if delay_s == 0.0:
                self.value["CR"] |= ready
            else:
                self._starting.append(self.events.after(round(delay_s * self.hclk), lambda: self._come_up(on, ready)))

    def _come_up(self, on: int, ready: int) -> None:
        self.forget()
        if self.value["CR"] & on:
            self.value["CR"] |= ready

    def write_PLLCFGR(self, value: int) -> None:
        if self.value["CR"] & PLLON and (value ^ self.value["PLLCFGR"]) & ~self.PLL_OUTPUTS:
            raise Unmodelled("PLLCFGR written while the PLL is on")
        self.value["PLLCFGR"] = value
        self._sources_changed()

    def _sources_changed(self) -> None:
        """Withdraw published answers that depend on clocks outside of the clock tree."""
        for gated in self.gates.values():
            gated.forget()

    def write_CFGR(self, value: int) -> None:
        source = value & 3
        if source not in self.SOURCES:
            raise Unmodelled(f"CFGR.SW = {source}")
        status = source if self.value["CR"] & self.SOURCES[source] else self.value["CFGR"] >> 2 & 3
        self.value["CFGR"] = value & ~0xC | status << 2
        self._apply()

    def fail_hse(self) -> None:
        """Stop the crystal. Clock security, if enabled, breaks the timers, pends the NMI and selects HSI."""
        self.hse_alive = False
        self.forget()
        self._sources_changed()
        control = self.value["CR"]
        self.value["CR"] = control & ~(HSERDY | (PLLRDY if self._pll_uses_hse() else 0))
        ready = self.SOURCES[self.value["CFGR"] >> 2 & 3]
        hit = ready == HSERDY or ready == PLLRDY and self._pll_uses_hse()
        if not control & HSERDY or not hit:
            return
        if not control & CSSON:
            raise Unmodelled("the clock of the processor stopped without clock security: the chip is dead")
        self.value["CR"] &= ~(HSEON | PLLON | CSSON)
        self.value[self.FAILURE[0]] |= self.FAILURE[1]
        hsi = next(source for source, bit in self.SOURCES.items() if bit == self.HSIRDY)
        self.value["CFGR"] = self.value["CFGR"] & ~0xF | hsi | hsi << 2
        self._apply()
        self.on_clock_failure()

    # gates
    def _gate(self, register: str, value: int) -> None:
        self.value[register] = value
        for (name, bit), peripheral in self.gates.items():
            if name == register:
                peripheral.clocked = bool(value >> bit & 1)

    def _reset_gated(self, register: str, resets: str, value: int) -> None:
        """Reset the peripherals whose reset bits are set."""
        self.value[resets] = value
        for (name, bit), peripheral in self.gates.items():
            if name == register and value >> bit & 1:
                peripheral.reset()

    # reset flags
    def flag_reset(self, cause: str) -> None:
        """Record the cause of a reset. The pin's flag is always set, because each reset pulls the pin low."""
        self.reset_flags |= self.RESET_FLAGS[cause] | self.RESET_FLAGS["pin"]
        if cause == "power":
            self.reset_flags |= self.RESET_FLAGS["brownout"]

    def read_CSR(self) -> int:
        return self.value["CSR"] & 3 | self.reset_flags

    def write_CSR(self, value: int) -> None:
        if value & self.CLEAR_FLAGS:
            self.reset_flags = 0
        self.value["CSR"] = value & 1 | (value & 1) << 1  # LSI is ready at once
