"""ADC1 and ADC2 of the STM32F405 (RM0090 section 13): injected sequences that software or TIM1 starts."""

from collections.abc import Callable

from femtorque.hil.chip.registers import Register, Unmodelled
from femtorque.hil.chip.stm32.injected import ConverterClock, Injected
from femtorque.hil.clock import Events

_EOCS = 1 << 10  # for regular conversions, which are not modelled
_ADON, _JSWSTART, _SCAN, _JEOCIE, _JEOC, _JSTRT = 1 << 0, 1 << 22, 1 << 8, 1 << 7, 1 << 2, 1 << 3
_JEXTSEL, _JEXTEN = 15 << 16, 3 << 20
_TIM1_TRGO, _RISING = 1 << 16, 1 << 20  # RM0090 table 70
_SAMPLING = (3, 15, 28, 56, 84, 112, 144, 480)  # clocks
_FASTEST_HZ = 36_000_000


class AdcCommon(ConverterClock):
    """The converters' common registers. deaf: the model ignores writes, like a peripheral without a clock."""

    REGISTERS = {0x00: Register("CSR", 0, 0), 0x04: Register("CCR", 0, 0x00030000)}
    deaf = False

    def write_CCR(self, value: int) -> None:
        if not self.deaf:
            super().write_CCR(value)

    @property
    def divider(self) -> int:
        """Ratio of the bus clock to the clock of the converters."""
        return 2 * (self.value["CCR"] >> 16) + 2


class Adc(Injected):
    """A converter. hz: frequency of its bus."""

    CONVERSION = 12.0
    # DS8626, ADC characteristics, injection trigger conversion latency; from memory, not looked up. RM0090 13.3.9 shows
    # the latency in a figure and refers to that table for the maximum. The number has only one source.
    LATENCY = 3.0
    IN_C = (0x00, 0x08, 0x3C, 0x40, 0x44, 0x48)
    STATUS, CONTROL, ENDED, ASKING, START = "SR", "CR2", _JEOC | _JSTRT, _JEOC, _JSWSTART
    ONES_CLEAR = LATCHED = False
    REGISTERS = {
        0x00: Register("SR"), 0x04: Register("CR1", 0, _SCAN | _JEOCIE),
        0x08: Register("CR2", 0, _ADON | _EOCS | _JSWSTART | _JEXTSEL | _JEXTEN),
        0x0C: Register("SMPR1", 0, 0x07FFFFFF), 0x10: Register("SMPR2", 0, 0x3FFFFFFF),
        0x14: Register("JOFR1", 0, 0), 0x18: Register("JOFR2", 0, 0), 0x1C: Register("JOFR3", 0, 0),
        0x20: Register("JOFR4", 0, 0), 0x2C: Register("SQR1", 0, 0),
        0x38: Register("JSQR", 0, 0x003FFFFF), 0x3C: Register("JDR1", 0, 0), 0x40: Register("JDR2", 0, 0),
        0x44: Register("JDR3", 0, 0), 0x48: Register("JDR4", 0, 0),
    }

    def __init__(self, name: str, base: int, events: Events, common: AdcCommon,
                 cycles_per_clock: Callable[[], float], hz: Callable[[], int]) -> None:
        self._common, self._cycles_per_clock, self._hz = common, cycles_per_clock, hz
        super().__init__(name, base, events)
        common.converters.append(self)

    def write_SR(self, value: int) -> None:
        self.value["SR"] &= value  # rc_w0
        self._ask()

    def write_CR1(self, value: int) -> None:
        self.value["CR1"] = value
        self._ask()

    def write_CR2(self, value: int) -> None:
        if value & _ADON and value & _JEXTEN and (value & _JEXTEN != _RISING or value & _JEXTSEL != _TIM1_TRGO):
            raise Unmodelled(f"{self.name}.CR2 = 0x{value:X}: of triggers only the rising edge of TIM1's is modelled")
        self.value["CR2"] = value & ~_JSWSTART
        if value & _JSWSTART and not self.dead:
            self.state.known = False
            self._start()

    def _by_trigger(self) -> bool:
        return bool(self.value["CR2"] & _JEXTEN and self.value["CR2"] & _ADON)

    def _asks(self) -> bool:
        return bool(self.value["CR1"] & _JEOCIE)

    def _cycles(self) -> float:
        return self._common.divider * self._cycles_per_clock()

    def _channels(self) -> list[tuple[int, float]]:
        sequence = self.value["JSQR"]
        count = (sequence >> 20 & 3) + 1
        if not self.value["CR2"] & _ADON or count > 1 and not self.value["CR1"] & _SCAN:
            raise Unmodelled(f"{self.name} started while it is off, or without SCAN for its sequence")
        if self._hz() / self._common.divider > _FASTEST_HZ:
            raise Unmodelled(f"{self.name} clocked faster than 36 MHz")
        channels = [sequence >> 5 * (4 - count + i) & 31 for i in range(count)]
        return [(channel, self._sampling(channel)) for channel in channels]

    def _sampling(self, channel: int) -> int:
        register, place = ("SMPR1", channel - 10) if channel >= 10 else ("SMPR2", channel)
        return _SAMPLING[self.value[register] >> 3 * place & 7]
