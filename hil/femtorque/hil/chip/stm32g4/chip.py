"""The STM32G474: its addresses, links and DMA requests (RM0440)."""

from collections.abc import Mapping

from femtorque.codegen.board.chip import family
from femtorque.hil.chip.cpu import Region
from femtorque.hil.chip.registers import Peripheral
from femtorque.hil.chip.stm32.capture import CaptureTimer
from femtorque.hil.chip.stm32.chip import FLASH_START, SRAM_START, SYSTEM, Gate, Stm32
from femtorque.hil.chip.stm32.debug import DebugUnitG4
from femtorque.hil.chip.stm32.gpio import GpioG4
from femtorque.hil.chip.stm32.serial import Serial
from femtorque.hil.chip.stm32.supply import ExternalInterrupts, VoltageDetector
from femtorque.hil.chip.stm32.watchdog import WatchdogG4
from femtorque.hil.chip.stm32g4.adc import Adc, AdcCommon, SecondAdc
from femtorque.hil.chip.stm32g4.clocks import DBG_SWEN, Flash, Power, Rcc, SystemConfiguration
from femtorque.hil.chip.stm32g4.fdcan import Block, Fdcan, FirstFdcan, MessageRam
from femtorque.hil.chip.stm32g4.serial import Dma, DmaMux, LpUart, Usart
from femtorque.hil.chip.stm32g4.timer import FilteredTimer

# name: class, base address, true on APB2, clock gate, DMA request to receive; the next DMA request is to transmit
# (RM0440 table 91)
_USARTS = {
    "USART1": (Usart, 0x40013800, True, ("APB2ENR", 14), 24),
    "USART2": (Usart, 0x40004400, False, ("APB1ENR1", 17), 26),
    "USART3": (Usart, 0x40004800, False, ("APB1ENR1", 18), 28),
    "LPUART1": (LpUart, 0x40008000, False, ("APB1ENR2", 0), 34),
}

# name: base address, number of the first of two interrupts (ST's stm32g474xx.h: FDCAN1_BASE, FDCAN1_IT0_IRQn and so on)
_CANS = {"FDCAN1": (0x40006400, 21), "FDCAN2": (0x40006800, 86), "FDCAN3": (0x40006C00, 88)}
_MESSAGE_RAM = 0x4000A400  # SRAMCAN_BASE


class Stm32G474(Stm32):
    FAMILY = family("stm32g4")
    REGIONS = (Region("flash", FLASH_START, 512 << 10, writable=False), Region("sram", SRAM_START, 128 << 10), SYSTEM)
    UNIQUE = 0x1FFF7590  # UID_BASE of ST's stm32g474xx.h
    TIMER = FilteredTimer
    TIMERS = {
        "TIM1": (0x40012C00, True, ("APB2ENR", 11)), "TIM2": (0x40000000, False, ("APB1ENR1", 0)),
        "TIM3": (0x40000400, False, ("APB1ENR1", 1)), "TIM4": (0x40000800, False, ("APB1ENR1", 2)),
        "TIM5": (0x40000C00, False, ("APB1ENR1", 3)), "TIM8": (0x40013400, True, ("APB2ENR", 13)),
        "TIM15": (0x40014000, True, ("APB2ENR", 16)), "TIM20": (0x40015000, True, ("APB2ENR", 20)),
    }
    WATCHDOG = WatchdogG4
    PORT, PORT_BASE, PORT_GATE = GpioG4, 0x48000000, "AHB2ENR"
    FULL_SPEED_VOLTS, LOW_VOLTAGE_HZ = 1.71, 170_000_000  # minimum voltage for maximum clocks

    def _clocks(self, hse_hz: int | None) -> Rcc:
        self.flash = Flash("FLASH", 0x40022000, self.core.events, lambda: self.rcc.hclk, self.core)
        self.power = Power("PWR", 0x40007000)
        self.flash.on_launch = lambda: self._request_reset("options")
        self._adc_common, self.debug = AdcCommon("ADC12_Common", 0x50000300), DebugUnitG4()
        self.interrupts = ExternalInterrupts(0x40010400, self.core.nvic, "1")
        self.detector = VoltageDetector(self.power.level)
        self.system = SystemConfiguration("SYSCFG", 0x40010000)
        self.power.on_level, self.power.is_low = self.detector.look, lambda: self.detector.low
        self.power.locked = lambda: self.system.detector_breaks
        self.system.on_change = lambda: self._break(self.detector.low and self.detector_breaks)
        self.capture = CaptureTimer("TIM16", 0x40014400, self.core.events, self._lsi_period, self._timer_cycles(True))
        self._tree = Rcc(0x40021000, self.core.events, self.flash, self.power, hse_hz)
        return self._tree

    @property
    def debug_closed(self) -> bool:
        return not self.flash.value["ACR"] & DBG_SWEN

    def _ungated(self) -> tuple[Peripheral, ...]:
        return self.flash, self._adc_common, self.adc, self._message_ram, *self.cans.values()

    @property
    def detector_breaks(self) -> bool:
        return self.system.detector_breaks

    def _links(self) -> tuple[Mapping[str, Serial], dict[Gate, Peripheral]]:
        core = self.core
        usarts = {name: kind(name, base, core.events, self._bus_cycles(second))
                  for name, (kind, base, second, _, _) in _USARTS.items()}
        self.mux = DmaMux("DMAMUX1", 0x40020800, core.parts)
        dmas = [Dma(f"DMA{i + 1}", 0x40020000 + 0x400 * i, core.parts)
                for i in range(2)]
        for dma in dmas:
            for name, (*_, request) in _USARTS.items():
                dma.requests |= {request: (usarts[name], "receive"), request + 1: (usarts[name], "transmit")}
        adc = Adc("ADC1", 0x50000000, core.events, self._adc_common, lambda: self.rcc.hclk)
        self.adc = SecondAdc(adc, "ADC2", 0x50000100)  # samples the motors' currents
        self.converters = (self.adc, adc)
        gated: dict[Gate, Peripheral] = {("APB1ENR1", 28): self.power, ("AHB1ENR", 2): self.mux, ("AHB2ENR", 13): adc,
                                         ("APB2ENR", 0): self.system, ("APB2ENR", 17): self.capture}
        gated |= {_USARTS[name][3]: usart for name, usart in usarts.items()}
        gated["APB1ENR1", 25] = self._controllers()
        return usarts, gated | {("AHB1ENR", i): dma for i, dma in enumerate(dmas)}

    def _controllers(self) -> Block:
        """Create the CAN controllers, and return them as a block behind one clock gate."""
        self._message_ram = MessageRam(_MESSAGE_RAM, self.core.parts)
        cans: dict[str, Fdcan] = {}
        for name, (base, interrupt) in _CANS.items():
            kind = Fdcan if cans else FirstFdcan
            cans[name] = kind(name, base, self.core.parts, self._tree.fdcan_hz, self._bus_cycles(False))
            cans[name].interrupt(interrupt, interrupt + 1)
        self.cans = cans
        return Block((*cans.values(), self._message_ram))
