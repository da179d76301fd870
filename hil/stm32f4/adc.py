"""ADC1 of the STM32F405 (RM0090 section 13), as far as injected sequences that software starts."""

from __future__ import annotations

from collections.abc import Callable

from hil.events import Events
from hil.registers import Peripheral, Register, Unmodelled

COUNTS, REFERENCE_V = 4096, 3.3
_ADON, _JSWSTART, _SCAN = 1 << 0, 1 << 22, 1 << 8
_CONVERSION = 12 + 15  # clocks of one channel with 15 of sampling


class Adc(Peripheral):
    """volts(channel): what is on its pin. before_read: called before it is looked at."""

    REGISTERS = {
        0x00: Register("SR", 0, 0x3F), 0x04: Register("CR1", 0, _SCAN), 0x08: Register("CR2", 0, _ADON | _JSWSTART),
        0x0C: Register("SMPR1", 0, 0x07FFFFFF), 0x10: Register("SMPR2", 0, 0x3FFFFFFF),
        0x38: Register("JSQR", 0, 0x003FFFFF), 0x3C: Register("JDR1", 0, 0), 0x40: Register("JDR2", 0, 0),
        0x44: Register("JDR3", 0, 0), 0x48: Register("JDR4", 0, 0), 0x304: Register("CCR", 0, 0x00030000),
    }

    def __init__(self, base: int, events: Events, cycles_per_clock: Callable[[], float]) -> None:
        self.events, self._cycles_per_clock = events, cycles_per_clock
        self.volts: Callable[[int], float] = lambda channel: 0.0
        self.before_read: Callable[[], None] = lambda: None
        self._done = 0.0
        super().__init__("ADC1", base)

    def reset(self) -> None:
        self.clear()
        self._done = 0.0

    def write_CR2(self, value: int) -> None:
        self.value["CR2"] = value & ~_JSWSTART
        if not value & _JSWSTART:
            return
        sequence = self.value["JSQR"]
        count = (sequence >> 20 & 3) + 1
        if not value & _ADON or count > 1 and not self.value["CR1"] & _SCAN or self.events.now < self._done:
            raise Unmodelled("ADC1 started while it is off, without SCAN for its sequence, or while it converts")
        divider = 2 * (self.value["CCR"] >> 16) + 2
        if divider * self._cycles_per_clock() < 168 / 36:
            raise Unmodelled("ADC1 clocked faster than 36 MHz")
        self.before_read()
        for i in range(count):
            volts = self.volts(sequence >> 5 * (4 - count + i) & 31)
            self.value[f"JDR{i + 1}"] = min(max(round(volts / REFERENCE_V * COUNTS), 0), COUNTS - 1)
        self._done = self.events.now + count * _CONVERSION * divider * self._cycles_per_clock()
