"""An STM32F405: Cortex-M4F, memory, and the peripherals that the firmware uses (RM0090), wired together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.cortex_m4 import CortexM4, Region
from hil.nvic import NMI
from hil.registers import Bus, Peripheral
from hil.stm32f4.clocks import Flash, Power, Rcc
from hil.stm32f4.gpio import Gpio
from hil.stm32f4.timer import Timer
from hil.stm32f4.usart import Dma, Usart
from hil.stm32f4.watchdog import Watchdog

FLASH_START, SRAM_START, CCM_START = 0x08000000, 0x20000000, 0x10000000
REGIONS = (Region("flash", FLASH_START, 1 << 20, writable=False), Region("sram", SRAM_START, 128 << 10),
           Region("ccm", CCM_START, 64 << 10))

# name: base, counter bits, advanced, on APB2, enable register and bit
_TIMERS = {
    "TIM1": (0x40010000, 16, True, True, ("APB2ENR", 0)), "TIM2": (0x40000000, 32, False, False, ("APB1ENR", 0)),
    "TIM3": (0x40000400, 16, False, False, ("APB1ENR", 1)), "TIM4": (0x40000800, 16, False, False, ("APB1ENR", 2)),
    "TIM5": (0x40000C00, 32, False, False, ("APB1ENR", 3)), "TIM8": (0x40010400, 16, True, True, ("APB2ENR", 1)),
}
_USARTS = {
    "USART1": (0x40011000, True, ("APB2ENR", 4)), "USART2": (0x40004400, False, ("APB1ENR", 17)),
    "USART3": (0x40004800, False, ("APB1ENR", 18)), "USART6": (0x40011400, True, ("APB2ENR", 5)),
}
_DMA = {"DMA1": (0x40026000, ("AHB1ENR", 21)), "DMA2": (0x40026400, ("AHB1ENR", 22))}
# controller, stream, channel: USART and side (RM0090 tables 42 and 43)
_REQUESTS = {
    ("DMA1", 5, 4): ("USART2", "receive"), ("DMA1", 6, 4): ("USART2", "transmit"),
    ("DMA1", 1, 4): ("USART3", "receive"), ("DMA1", 3, 4): ("USART3", "transmit"),
    ("DMA1", 4, 7): ("USART3", "transmit"), ("DMA2", 2, 4): ("USART1", "receive"),
    ("DMA2", 5, 4): ("USART1", "receive"), ("DMA2", 7, 4): ("USART1", "transmit"),
    ("DMA2", 1, 5): ("USART6", "receive"), ("DMA2", 2, 5): ("USART6", "receive"),
    ("DMA2", 6, 5): ("USART6", "transmit"), ("DMA2", 7, 5): ("USART6", "transmit"),
}


class Stm32F405:
    """The chip. `hse_hz`: the crystal; None if it is dead. The board around it hangs on the hooks of the parts.

    before_change: called before any output changes, so that what the outputs drive can be brought up to date.
    """

    def __init__(self, image: bytes, hse_hz: int | None) -> None:
        self.before_change: Callable[[], None] = lambda: None
        self.before_read: Callable[[], None] = lambda: None
        self.bus = Bus()
        self.core = CortexM4(REGIONS, FLASH_START, self.bus, image)
        events = self.core.events
        self.seconds_before = 0.0  # of simulated time until the clock last changed
        self._cycles_then = 0
        self.flash, self.power = Flash("FLASH", 0x40023C00), Power("PWR", 0x40007000)
        self.rcc = Rcc(0x40023800, events, self.flash, self.power, hse_hz)
        self.gpio = {letter: Gpio(f"GPIO{letter}", 0x40020000 + 0x400 * i) for i, letter in enumerate("ABCDEFGHI")}
        self.timers = {name: Timer(name, base, events, bits, advanced, self._timer_cycles(second))
                       for name, (base, bits, advanced, second, _) in _TIMERS.items()}
        self.usarts = {name: Usart(name, base, events, self._bus_cycles(second))
                       for name, (base, second, _) in _USARTS.items()}
        self.dmas = {name: Dma(name, base, self.core.memory, self.core.uc.mem_write) for name, (base, _) in _DMA.items()}
        for (dma, stream, channel), (usart, side) in _REQUESTS.items():
            self.dmas[dma].requests[stream, channel] = (self.usarts[usart], side)
        self.watchdog = Watchdog(0x40003000, events, lambda: self.rcc.hclk)
        self._wire()
        self.resets: list[str] = []
        self._reset("power")

    def _timer_cycles(self, second: bool) -> Callable[[], float]:
        return lambda: self.rcc.hclk / self.rcc.timer_hz(second)

    def _bus_cycles(self, second: bool) -> Callable[[], float]:
        return lambda: self.rcc.hclk / (self.rcc.apb2 if second else self.rcc.apb1)

    def _wire(self) -> None:
        gated: dict[tuple[str, int], Peripheral] = {("APB1ENR", 28): self.power}
        gated |= {_TIMERS[name][4]: timer for name, timer in self.timers.items()}
        gated |= {_USARTS[name][2]: usart for name, usart in self.usarts.items()}
        gated |= {_DMA[name][1]: dma for name, dma in self.dmas.items()}
        gated |= {("AHB1ENR", i): port for i, port in enumerate(self.gpio.values())}
        self.rcc.gates = gated
        for peripheral in (self.rcc, self.flash, self.watchdog, *gated.values()):
            self.bus.attach(peripheral)
        for part in (*self.gpio.values(), *self.timers.values()):
            part.before_change = lambda: self.before_change()
        for timer in self.timers.values():
            timer.before_read = lambda: self.before_read()
        self.rcc.on_clock = self._clock_changed
        self.rcc.on_clock_failure = self._clock_failed
        self.watchdog.on_bite = self._bite

    # -- time ---------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Simulated seconds since power-on."""
        return self.seconds_before + (self.core.now - self._cycles_then) / self.rcc.hclk

    def _clock_changed(self, old: int, new: int) -> None:
        self.seconds_before += (self.core.now - self._cycles_then) / old
        self._cycles_then = self.core.now

    def run(self, seconds: float) -> None:
        """Run until `seconds` after power-on, through clock changes and resets."""
        while (left := (seconds - self.seconds) * self.rcc.hclk) > 0.5:
            hclk = self.rcc.hclk
            self.core.run(self.core.now + max(int(left), 1), stop=lambda hclk=hclk: self.rcc.hclk != hclk)
            if self.core.reset_requested:
                self._reset(self._why)

    # -- resets -------------------------------------------------------------

    _why = "software"

    def _bite(self) -> None:
        self._why = "watchdog"
        self.core.request_reset()

    def reset(self, cause: str = "pin") -> None:
        """A reset from outside: 'pin', 'brownout' or 'power' (which loses the memory)."""
        self._reset(cause)

    def _reset(self, cause: str) -> None:
        self.resets.append(cause)
        self._why = "software"
        if cause == "power":
            self._scramble_memory()
        self.rcc.flag_reset(cause)
        self.before_change()
        for peripheral in self.bus.peripherals:
            if peripheral not in (self.core.scs, self.core.dwt):
                peripheral.reset()
        self.core.reset()

    def _scramble_memory(self) -> None:
        """Memory after power-on holds anything: always the same anything, so that runs repeat."""
        random = np.random.default_rng(0x5EED)
        for region in REGIONS:
            if region.writable:
                self.core.load(region.start, random.bytes(region.size))

    def _clock_failed(self) -> None:
        for timer in self.timers.values():
            timer.clock_failed()
        self.core.nvic.pend(NMI)
        self.core.events.attend()
