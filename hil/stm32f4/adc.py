"""ADC1 and ADC2 of the STM32F405 (RM0090 section 13), as far as injected sequences that software starts."""

from __future__ import annotations

from collections.abc import Callable

from hil.events import Events
from hil.registers import Peripheral, Register, Unmodelled

COUNTS, REFERENCE_V = 4096, 3.3
_ADON, _JSWSTART, _SCAN, _JEOC, _JSTRT = 1 << 0, 1 << 22, 1 << 8, 1 << 2, 1 << 3
_SAMPLING = (3, 15, 28, 56, 84, 112, 144, 480)  # clocks
_CONVERSION = 12  # clocks more
_FASTEST_HZ = 36_000_000


class AdcCommon(Peripheral):
    """What the converters have in common: their clock."""

    SIZE = 1 << 8
    REGISTERS = {0x00: Register("CSR", 0, 0), 0x04: Register("CCR", 0, 0x00030000)}

    def __init__(self, base: int) -> None:
        super().__init__("ADC_Common", base)

    @property
    def divider(self) -> int:
        """Of the bus's clock."""
        return 2 * (self.value["CCR"] >> 16) + 2


class Adc(Peripheral):
    """hz: of its bus. volts(channel): what is on its pin. before_read: called before it is looked at. dead: it converts no more."""

    SIZE = 1 << 8
    REGISTERS = {
        0x00: Register("SR", 0, 0x3F), 0x04: Register("CR1", 0, _SCAN), 0x08: Register("CR2", 0, _ADON | _JSWSTART),
        0x0C: Register("SMPR1", 0, 0x07FFFFFF), 0x10: Register("SMPR2", 0, 0x3FFFFFFF),
        0x38: Register("JSQR", 0, 0x003FFFFF), 0x3C: Register("JDR1", 0, 0), 0x40: Register("JDR2", 0, 0),
        0x44: Register("JDR3", 0, 0), 0x48: Register("JDR4", 0, 0),
    }

    def __init__(self, name: str, base: int, events: Events, common: AdcCommon,
                 cycles_per_clock: Callable[[], float], hz: Callable[[], int]) -> None:
        self.events, self._common, self._cycles_per_clock, self._hz = events, common, cycles_per_clock, hz
        self.volts: Callable[[int], float] = lambda channel: 0.0
        self.before_read: Callable[[], None] = lambda: None
        self.dead = False
        self._done = 0.0
        self._flags = 0
        super().__init__(name, base)

    def reset(self) -> None:
        self.clear()
        self._done = 0.0
        self._flags = 0

    def read_SR(self) -> int:
        return self._flags & ~(_JEOC if self.events.now < self._done else 0)

    def write_SR(self, value: int) -> None:
        self._flags &= value

    def write_CR2(self, value: int) -> None:
        self.value["CR2"] = value & ~_JSWSTART
        if not value & _JSWSTART or self.dead:
            return
        sequence = self.value["JSQR"]
        count = (sequence >> 20 & 3) + 1
        if not value & _ADON or count > 1 and not self.value["CR1"] & _SCAN or self.events.now < self._done:
            raise Unmodelled(f"{self.name} started while it is off, without SCAN for its sequence, or while it converts")
        cycles = self._common.divider * self._cycles_per_clock()
        if self._hz() / self._common.divider > _FASTEST_HZ:
            raise Unmodelled(f"{self.name} clocked faster than 36 MHz")
        self.before_read()
        clocks = 0
        for i in range(count):
            channel = sequence >> 5 * (4 - count + i) & 31
            clocks += _CONVERSION + self._sampling(channel)
            self.value[f"JDR{i + 1}"] = min(max(round(self.volts(channel) / REFERENCE_V * COUNTS), 0), COUNTS - 1)
        self._flags |= _JEOC | _JSTRT
        self._done = self.events.now + clocks * cycles

    def _sampling(self, channel: int) -> int:
        register, place = ("SMPR1", channel - 10) if channel >= 10 else ("SMPR2", channel)
        return _SAMPLING[self.value[register] >> 3 * place & 7]
