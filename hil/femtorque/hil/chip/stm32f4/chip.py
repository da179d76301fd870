"""The STM32F405: its addresses, links and DMA requests (RM0090)."""

from collections.abc import Callable, Mapping

from femtorque.codegen.board.chip import family
from femtorque.hil.chip.cpu import Region
from femtorque.hil.chip.registers import Peripheral
from femtorque.hil.chip.stm32.chip import FLASH_START, SRAM_START, SYSTEM, Gate, Stm32
from femtorque.hil.chip.stm32.debug import DebugUnitF4
from femtorque.hil.chip.stm32.serial import Serial
from femtorque.hil.chip.stm32.spi import Spi
from femtorque.hil.chip.stm32.supply import ExternalInterrupts, VoltageDetector
from femtorque.hil.chip.stm32.timer import Timer
from femtorque.hil.chip.stm32f4.adc import Adc, AdcCommon
from femtorque.hil.chip.stm32f4.bxcan import BxCan, Filters
from femtorque.hil.chip.stm32f4.clocks import Flash, Power, Rcc
from femtorque.hil.chip.stm32f4.serial import Dma, Usart
from femtorque.hil.chip.stm32f4.timer5 import Timer5

_USARTS = {
    "USART1": (0x40011000, True, ("APB2ENR", 4)), "USART2": (0x40004400, False, ("APB1ENR", 17)),
    "USART3": (0x40004800, False, ("APB1ENR", 18)), "UART4": (0x40004C00, False, ("APB1ENR", 19)),
    "USART6": (0x40011400, True, ("APB2ENR", 5)),
}
_DMA = {"DMA1": (0x40026000, ("AHB1ENR", 21)), "DMA2": (0x40026400, ("AHB1ENR", 22))}
# name: class, base address, clock gate, number of the first of four interrupts (ST's stm32f405xx.h: CAN1_TX_IRQn and so
# on)
_CANS = {"CAN1": (Filters, 0x40006400, ("APB1ENR", 25), 19), "CAN2": (BxCan, 0x40006800, ("APB1ENR", 26), 63)}
# controller, stream, channel: USART and direction (RM0090 tables 42 and 43)
_REQUESTS = {
    ("DMA1", 5, 4): ("USART2", "receive"), ("DMA1", 6, 4): ("USART2", "transmit"),
    ("DMA1", 1, 4): ("USART3", "receive"), ("DMA1", 3, 4): ("USART3", "transmit"),
    ("DMA1", 4, 7): ("USART3", "transmit"), ("DMA1", 2, 4): ("UART4", "receive"),
    ("DMA1", 4, 4): ("UART4", "transmit"), ("DMA2", 2, 4): ("USART1", "receive"),
    ("DMA2", 5, 4): ("USART1", "receive"), ("DMA2", 7, 4): ("USART1", "transmit"),
    ("DMA2", 1, 5): ("USART6", "receive"), ("DMA2", 2, 5): ("USART6", "receive"),
    ("DMA2", 6, 5): ("USART6", "transmit"), ("DMA2", 7, 5): ("USART6", "transmit"),
}


class Stm32F405(Stm32):
    FAMILY = family("stm32f4")
    REGIONS = (Region("flash", FLASH_START, 1 << 20, writable=False), Region("sram", SRAM_START, 128 << 10),
               Region("ccm", 0x10000000, 64 << 10), SYSTEM)
    UNIQUE = 0x1FFF7A10  # UID_BASE of ST's stm32f405xx.h
    TIMERS = {
        "TIM1": (0x40010000, True, ("APB2ENR", 0)), "TIM2": (0x40000000, False, ("APB1ENR", 0)),
        "TIM3": (0x40000400, False, ("APB1ENR", 1)), "TIM4": (0x40000800, False, ("APB1ENR", 2)),
        "TIM5": (0x40000C00, False, ("APB1ENR", 3)), "TIM8": (0x40010400, True, ("APB2ENR", 1)),
        "TIM9": (0x40014000, True, ("APB2ENR", 16)), "TIM10": (0x40014400, True, ("APB2ENR", 17)),
        "TIM11": (0x40014800, True, ("APB2ENR", 18)), "TIM12": (0x40001800, False, ("APB1ENR", 6)),
        "TIM13": (0x40001C00, False, ("APB1ENR", 7)), "TIM14": (0x40002000, False, ("APB1ENR", 8)),
    }
    PORT_BASE, PORT_GATE = 0x40020000, "AHB1ENR"
    # wait states of the data sheet: 30 MHz each from 2.7 V on, 24 MHz below; images use 5
    FULL_SPEED_VOLTS, LOW_VOLTAGE_HZ = 2.7, 144_000_000

    def _timer(self, name: str, base: int, cycles: Callable[[], float]) -> Timer:
        if name != "TIM5":
            return super()._timer(name, base, cycles)
        return Timer5(name, base, self.core.events, self.FAMILY.timers[name], cycles, lsi_period=self._lsi_period)

    def _clocks(self, hse_hz: int | None) -> Rcc:
        self.flash = Flash("FLASH", 0x40023C00, self.core.events, lambda: self.rcc.hclk, self.core)
        self.power = Power("PWR", 0x40007000)
        self._adc_common, self.debug = AdcCommon("ADC_Common", 0x40012300), DebugUnitF4()
        self.interrupts = ExternalInterrupts(0x40013C00, self.core.nvic)
        self.detector = VoltageDetector(self.power.level)
        self.power.on_level, self.power.is_low = self.detector.look, lambda: self.detector.low
        return Rcc(0x40023800, self.core.events, self.flash, self.power, hse_hz)

    def _ungated(self) -> tuple[Peripheral, ...]:
        return self.flash, self._adc_common

    def _links(self) -> tuple[Mapping[str, Serial], dict[Gate, Peripheral]]:
        core = self.core
        usarts = {name: Usart(name, base, core.events, self._bus_cycles(second))
                  for name, (base, second, _) in _USARTS.items()}
        dmas = {name: Dma(name, base, core.parts) for name, (base, _) in _DMA.items()}
        for (dma, stream, channel), (usart, side) in _REQUESTS.items():
            dmas[dma].requests[stream, channel] = (usarts[usart], side)
        self.spi = Spi("SPI3", 0x40003C00, core.events, self._bus_cycles(False))
        self.adc, self.adc2 = self.converters = tuple(
            Adc(f"ADC{i + 1}", 0x40012000 + 0x100 * i, core.events, self._adc_common, self._bus_cycles(True),
                lambda: self.rcc.apb2)
            for i in range(2))
        gated: dict[Gate, Peripheral] = {("APB1ENR", 28): self.power, ("APB1ENR", 15): self.spi,
                                         ("APB2ENR", 8): self.adc, ("APB2ENR", 9): self.adc2}
        gated |= {_USARTS[name][2]: usart for name, usart in usarts.items()}
        gated |= self._controllers()
        return usarts, gated | {_DMA[name][1]: dma for name, dma in dmas.items()}

    def _controllers(self) -> dict[Gate, Peripheral]:
        """Create the CAN controllers, and return them by their clock gates."""
        cans = {name: kind(name, base, self.core.parts, lambda: self.rcc.apb1, self._bus_cycles(False))
                for name, (kind, base, _, _) in _CANS.items()}
        self.cans = cans
        for name, can in cans.items():
            can.filters = cans["CAN1"]
            can.interrupt(*range(_CANS[name][3], _CANS[name][3] + 4))
        return {_CANS[name][2]: can for name, can in cans.items()}
