"""The model that the STM32 families have in common: Cortex-M4F, memory, timers, ports, watchdog, time and resets. Each
family adds its addresses, clock controller, links and DMA."""

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from femtorque.codegen.board.chip import Chip
from femtorque.hil.chip.cpu import CortexM4, Region
from femtorque.hil.chip.nvic import NMI
from femtorque.hil.chip.registers import Bus, Peripheral
from femtorque.hil.chip.reset_values import after_reset
from femtorque.hil.chip.stm32.can import CanController
from femtorque.hil.chip.stm32.clocks import LSI_HZ, ClockController
from femtorque.hil.chip.stm32.debug import DebugUnit
from femtorque.hil.chip.stm32.flash import FlashInterface
from femtorque.hil.chip.stm32.gpio import Gpio
from femtorque.hil.chip.stm32.serial import Serial
from femtorque.hil.chip.stm32.spi import Spi
from femtorque.hil.chip.stm32.supply import POWER_DOWN, POWER_ON, ExternalInterrupts, VoltageDetector
from femtorque.hil.chip.stm32.timer import Timer
from femtorque.hil.chip.stm32.watchdog import Watchdog
from femtorque.hil.clock import EventClock

FLASH_START, SRAM_START = 0x08000000, 0x20000000
SYSTEM_START, SYSTEM_SIZE = 0x1FFF0000, 0x8000  # ST's memory: boot loader, OTP area, unique device ID
SYSTEM = Region("system", SYSTEM_START, SYSTEM_SIZE, writable=False)

ADC_INTERRUPT = 18  # vector of all converters of an F405 (RM0090 table 62), and of ADC1 and ADC2 (RM0440 table 97)
Gate = tuple[str, int]  # enable register and bit


# The model of the boot loader contains only a vector table and a sleep instruction.
ROM = struct.pack("<II", SRAM_START + 0x2000, SYSTEM_START + 9) + bytes.fromhex("30bf fde7")


def unique(number: int) -> bytes:
    """Return the 96-bit unique device ID: wafer position, wafer number, lot in ASCII (RM0090 39.1, RM0440 48.1)."""
    return struct.pack("<HHB7s", number & 0xFFFF, number >> 16, 0x1F, b"VIRTUAL")


class Stm32(ABC):
    """The chip. hse_hz: of the crystal; None if it has failed. number: distinguishes chips. UNIQUE: address of the
    unique device ID. TIMERS: base, true if on APB2, and clock gate, by name. PORT_BASE, PORT_GATE: of the ports."""

    FAMILY: ClassVar[Chip]
    REGIONS: ClassVar[tuple[Region, ...]]
    UNIQUE: ClassVar[int]
    TIMERS: ClassVar[dict[str, tuple[int, bool, Gate]]]
    TIMER: ClassVar[type[Timer]] = Timer
    PORT: ClassVar[type[Gpio]] = Gpio
    WATCHDOG: ClassVar[type[Watchdog]] = Watchdog
    PORT_BASE: ClassVar[int]
    PORT_GATE: ClassVar[str]
    converters: tuple[Any, ...]  # the first converter samples currents, and the last converter samples voltages
    adc: Any  # converter that samples the motors' currents
    spi: Spi  # SPI for gate drivers, in families with a modelled SPI
    cans: Mapping[str, CanController]
    debug: DebugUnit
    flash: FlashInterface
    interrupts: ExternalInterrupts
    detector: VoltageDetector
    FULL_SPEED_VOLTS: ClassVar[float]
    LOW_VOLTAGE_HZ: ClassVar[int]
    lsi_hz = LSI_HZ

    def __init__(self, image: bytes, hse_hz: int | None, number: int = 0) -> None:
        self.bus = Bus(after_reset(self.FAMILY.name))
        erased = self.REGIONS[0].size - len(image)
        self.core = CortexM4(self.REGIONS, FLASH_START, self.bus, image + b"\xff" * erased)
        self.core.load(self.UNIQUE, unique(number))
        self.core.load(SYSTEM_START, ROM)
        self.powered, self.unpowered_at = True, 0.0  # time of the last loss of power, s
        self.parts, events = self.core.parts, self.core.events
        self.rcc = self._clocks(hse_hz)
        self.parts.state.hz = self.rcc.hclk
        self.core.on_flash_write = self.flash.program
        self.gpio = {letter: self.PORT(f"GPIO{letter}", self.PORT_BASE + 0x400 * i, self.parts)
                     for i, letter in enumerate(self.FAMILY.ports)}
        self.timers = {name: self._timer(name, base, self._timer_cycles(second))
                       for name, (base, second, _) in self.TIMERS.items()}
        self.usarts, links = self._links()
        self.adc.interrupt, self.timers["TIM1"].triggers = ADC_INTERRUPT, self.adc.slot
        self.detector.on_low = self._supply_is_low
        self.watchdog = self.WATCHDOG(0x40003000, events, lambda: self.rcc.hclk)
        self._wire(links)
        self.resets: list[str] = []
        self.reset("power")

    # -- parts of a family --------------------------------------------------

    @abstractmethod
    def _clocks(self, hse_hz: int | None) -> ClockController: ...

    @property
    def debug_closed(self) -> bool:
        """True if the image has disabled the debug port."""
        return False

    @abstractmethod
    def _ungated(self) -> tuple[Peripheral, ...]:
        """Return the peripherals that have no clock gate."""

    @abstractmethod
    def _links(self) -> tuple[Mapping[str, Serial], dict[Gate, Peripheral]]:
        """Return the serial links by name, and links, DMA and other peripherals by their clock gates."""

    def _timer(self, name: str, base: int, cycles: Callable[[], float]) -> Timer:
        return self.TIMER(name, base, self.core.events, self.FAMILY.timers[name], cycles)

    def _lsi_period(self) -> float:
        """Return the number of processor cycles in one period of LSI."""
        return self.rcc.hclk / self.lsi_hz

    # -- the chip's own supply ----------------------------------------------

    def supply(self, volts: float) -> None:
        """Set the supply voltage, V. Below the power-down threshold the chip is in reset."""
        self.detector.set(volts)
        if volts < POWER_DOWN and self.powered:
            self.powered, self.unpowered_at = False, self.seconds
            self.reset("power")
        elif volts > POWER_ON and not self.powered:
            self.powered = True
            self.reset("power")

    @property
    def out_of_specification(self) -> bool:
        """True if the processor's clock is above the data sheet's limit at this supply voltage."""
        return self.detector.volts < self.FULL_SPEED_VOLTS and self.rcc.hclk > self.LOW_VOLTAGE_HZ

    def _supply_is_low(self, low: bool) -> None:
        if low:
            self.interrupts.edge()
            self.core.events.attend()
        if self.detector_breaks:
            self._break(low)

    @property
    def detector_breaks(self) -> bool:
        """True if the voltage detector is connected to the timers' break inputs."""
        return False

    def _break(self, active: bool) -> None:
        for timer in self.timers.values():
            timer.set_system_break(active)

    # -- wiring -------------------------------------------------------------

    def _timer_cycles(self, second: bool) -> Callable[[], float]:
        return lambda: self.rcc.hclk / self.rcc.timer_hz(second)

    def _bus_cycles(self, second: bool) -> Callable[[], float]:
        return lambda: self.rcc.hclk / (self.rcc.apb2 if second else self.rcc.apb1)

    def _wire(self, links: dict[Gate, Peripheral]) -> None:
        gated = dict(links)
        gated |= {self.TIMERS[name][2]: timer for name, timer in self.timers.items()}
        gated |= {(self.PORT_GATE, i): port for i, port in enumerate(self.gpio.values())}
        self.rcc.gates = gated
        for peripheral in (self.rcc, self.watchdog, self.debug, self.interrupts, *self._ungated(), *gated.values()):
            self.bus.attach(peripheral)
        for name, usart in self.usarts.items():
            usart.interrupt = self.FAMILY.usarts[name].interrupt
        self.rcc.on_clock = self._clock_changed
        self.rcc.on_tree = self._tree_changed
        self.rcc.on_clock_failure = self._clock_failed
        self.watchdog.on_bite = lambda: self._request_reset("watchdog")

    # -- time ---------------------------------------------------------------

    def clock(self) -> EventClock:
        """The chip's time, for models outside of the chip."""
        return EventClock(self.core.events)

    @property
    def seconds(self) -> float:
        """Simulated seconds since power-on."""
        return float(self.parts.lib.parts_seconds(self.parts.state))

    def _clock_changed(self, old: int, new: int) -> None:
        state = self.parts.state
        state.seconds_before += (self.core.now - state.cycles_then) / old
        state.cycles_then, state.hz = self.core.now, new
        self.watchdog.clock_changed()

    def _tree_changed(self) -> None:
        for peripheral in self.bus.peripherals:
            peripheral.forget()
        for timer in self.timers.values():
            timer.clock_changed()
        for usart in self.usarts.values():
            usart.settings_changed()

    def run(self, seconds: float) -> None:
        """Run until `seconds` after power-on, through clock changes and resets."""
        while (left := (seconds - self.seconds) * self.rcc.hclk) > 0.5:
            def clock_changed(hclk: float = self.rcc.hclk) -> bool:
                return self.rcc.hclk != hclk

            self.core.run(self.core.now + max(int(left), 1), stop=clock_changed)
            if self.core.reset_requested:
                self.reset(self._why)

    # -- debugging ----------------------------------------------------------

    def halt(self) -> None:
        """Halt the processor as a debugger does, and the peripherals that the debug unit freezes."""
        self.core.halt(True)
        for name, timer in self.timers.items():
            timer.freeze(self.debug.freezes(name))
        if self.debug.freezes_watchdog:
            self.watchdog.hold(True)

    def resume(self) -> None:
        """Let the processor go on."""
        self.core.halt(False)
        for timer in self.timers.values():
            timer.freeze(False)
        self.watchdog.hold(False)

    # -- resets -------------------------------------------------------------

    _why = "software"

    def _request_reset(self, why: str) -> None:
        self._why = why
        self.core.request_reset()

    @property
    def in_rom(self) -> bool:
        """True if the processor executes ST's boot loader."""
        return SYSTEM_START <= self.core.pc < SYSTEM_START + SYSTEM_SIZE

    def reset(self, cause: str = "pin") -> None:
        """Reset the chip. The cause is 'pin', 'brownout' or 'power'. The memory loses its content only at 'power'."""
        self.resets.append(cause)
        self._why = "software"
        if cause == "power":
            self._scramble_memory()
            self.debug.clear()
        self.rcc.flag_reset(cause)
        self.parts.announce()
        for peripheral in self.bus.peripherals:
            if peripheral not in (self.core.scs, self.core.dwt):
                peripheral.reset()
        self.core.reset()
        self.core.halted = not self.powered
        self.detector.look()

    def _scramble_memory(self) -> None:
        """Fill memory with arbitrary bytes, as after power-on. The bytes are the same in all runs."""
        random = np.random.default_rng(0x5EED)
        for region in self.REGIONS:
            if region.writable:
                self.core.load(region.start, random.bytes(region.size))

    def _clock_failed(self) -> None:
        for timer in self.timers.values():
            timer.clock_failed()
        self.core.nvic.pend(NMI)
        self.core.events.attend()
