"""ADC1 and ADC2 of the STM32G474 (RM0440 section 21): injected sequences that software or TIM1 starts."""

from collections.abc import Callable

from femtorque.hil.chip.registers import Register, Unmodelled
from femtorque.hil.chip.stm32.injected import ConverterClock, Injected
from femtorque.hil.clock import Events

_ADEN, _ADDIS, _JADSTART, _JADSTP = 1 << 0, 1 << 1, 1 << 3, 1 << 5
_ADVREGEN, _DEEPPWD, _ADCAL = 1 << 28, 1 << 29, 1 << 31
_OVRMOD, _JQDIS = 1 << 12, 1 << 31  # bits of CFGR: for regular conversions, which are not modelled; no queue
_ADRDY, _JEOC, _JEOS = 1 << 0, 1 << 5, 1 << 6
_JEOSIE = 1 << 6
_JEXTSEL, _JEXTEN, _RISING = 31 << 2, 3 << 7, 1 << 7  # JEXTSEL 0 selects TIM1's TRGO (RM0440 table 164)
_SAMPLING = (2.5, 6.5, 12.5, 24.5, 47.5, 92.5, 247.5, 640.5)  # clocks
_CALIBRATION = 116  # clocks
_REGULATOR_S = 20e-6
_STALE_S = 1e-3  # time without a conversion after which the next result may be wrong (erratum), s
_STALE = 0.9  # fraction of _STALE_S after which this model returns a wrong result, so that ticks of 1 kHz are affected


class AdcCommon(ConverterClock):
    """The common registers of ADC1 and ADC2. The model supports only the bus clock as the clock of the converters."""

    REGISTERS = {0x00: Register("CSR", 0, 0), 0x08: Register("CCR", 0, 0x00030000)}

    @property
    def divider(self) -> int:
        mode = self.value["CCR"] >> 16 & 3
        if not mode:
            raise Unmodelled("ADC1 with a clock of its own")
        return 1 << mode - 1


class Adc(Injected):
    """A converter. hz: frequency of its bus. After a long time without a conversion, silicon may return a wrong first
    result (erratum). In this case the model always returns a wrong result."""

    CONVERSION = 12.5
    IN_C = (0x00, 0x08, 0x80, 0x84, 0x88, 0x8C)
    STATUS, CONTROL, ENDED, ASKING, START = "ISR", "CR", _JEOC | _JEOS, _JEOS, _JADSTART
    KEPT = _ADEN | _ADCAL
    ONES_CLEAR = LATCHED = True
    LATENCY = 3.125  # DS12288 rev 4 table 66, injected channels, bus clock divided by four, maximum
    REGISTERS = {
        0x00: Register("ISR", 0, 0x7FF), 0x04: Register("IER", 0, _JEOSIE),
        0x08: Register("CR", _DEEPPWD, _ADEN | _ADDIS | _JADSTART | _JADSTP | _ADVREGEN | _ADCAL),
        0x0C: Register("CFGR", _JQDIS, _OVRMOD | _JQDIS), 0x10: Register("CFGR2", 0, 0), 0x30: Register("SQR1", 0, 0),
        0x60: Register("OFR1", 0, 0), 0x64: Register("OFR2", 0, 0), 0x68: Register("OFR3", 0, 0),
        0x6C: Register("OFR4", 0, 0), 0xB0: Register("DIFSEL", 0, 0), 0xB4: Register("CALFACT", 0, 0x7F007F),
        0xC0: Register("GCOMP", 0, 0),
        0x14: Register("SMPR1", 0, 0x3FFFFFFF), 0x18: Register("SMPR2", 0, 0x07FFFFFF),
        0x4C: Register("JSQR", 0, 0xFBEFBFFF), 0x80: Register("JDR1", 0, 0), 0x84: Register("JDR2", 0, 0),
        0x88: Register("JDR3", 0, 0), 0x8C: Register("JDR4", 0, 0),
    }

    def __init__(self, name: str, base: int, events: Events, common: AdcCommon, hz: Callable[[], int]) -> None:
        self._common, self._hz = common, hz
        self.seconds: list[Injected] = []  # converters behind the same clock gate
        super().__init__(name, base, events)
        common.converters.append(self)

    def reset(self) -> None:
        self._awake: float | None = None  # cycle at which the regulator is ready
        self._calibrated: float | None = None
        self._ready: float | None = None  # cycle from which the converter is ready to convert
        super().reset()

    def _clock_switched(self) -> None:
        super()._clock_switched()
        for second in self.seconds:
            second._place()

    def _past(self, moment: float | None) -> bool:
        return moment is not None and self.events.now >= moment

    def _clocks(self, count: float) -> float:
        return self.events.now + count * self._common.divider

    def _settle(self) -> None:
        """Set the flags whose times have passed."""
        if self._past(self._calibrated):
            self.value["CR"] &= ~_ADCAL
        if self._past(self._ready):
            self.value["ISR"] |= _ADRDY
            self._ready = None
        self.state.plain = self._plain()

    def read_CR(self) -> int:
        self._settle()
        return self.value["CR"]

    def read_ISR(self) -> int:
        self._settle()
        return self.value["ISR"]

    def write_ISR(self, value: int) -> None:
        self._settle()
        self.value["ISR"] &= ~value
        self._ask()

    def write_IER(self, value: int) -> None:
        self.value["IER"] = value
        self._ask()

    def write_JSQR(self, value: int) -> None:
        if value & (_JEXTSEL | _JEXTEN) not in (0, _RISING):
            raise Unmodelled(f"{self.name}.JSQR = 0x{value:X}: of triggers only the rising edge of TIM1's is modelled")
        if self.value["CR"] & _JADSTART:
            raise Unmodelled(f"{self.name}.JSQR written while the sequence is under way or waited for")
        self.value["JSQR"] = value

    def write_CR(self, value: int) -> None:
        now = self.read_CR()
        if value & _ADVREGEN and not now & _ADVREGEN:
            if now & _DEEPPWD:
                raise Unmodelled(f"the regulator of {self.name} switched on in deep power-down")
            self._awake = self.events.now + _REGULATOR_S * self._hz()
        if value & _ADCAL:
            if now & _ADEN or not self._past(self._awake):
                raise Unmodelled(f"{self.name} calibrated while it is on, or before its regulator is there")
            self._calibrated = self._clocks(_CALIBRATION)
        if value & _ADEN and not now & _ADEN:
            if self._calibrated is None or self.events.now < self._calibrated + 4 * self._common.divider:
                raise Unmodelled(f"{self.name} switched on without its calibration, or within four clocks of it")
            self._ready = self._clocks(1)
        self.value["CR"] = value & (_ADVREGEN | _DEEPPWD) | (now | value) & (self.KEPT | _JADSTART)
        if value & (_JADSTP | _ADDIS):
            self._stop(bool(value & _ADDIS))
            return
        if not value & _JADSTART:
            return
        if not now & _ADEN or now & _JADSTART:
            raise Unmodelled(f"{self.name} started while it is off, or while it converts or waits to")
        self._changed()
        if not self._armed() and not self.dead:
            self._start()

    def _stop(self, off: bool) -> None:
        """End a sequence or the wait for its trigger. off: disable the converter."""
        if off and self.value["CR"] & _JADSTART:
            raise Unmodelled(f"{self.name} switched off while it converts or waits to")
        self.value["CR"] &= ~(_JADSTART | (_ADEN if off else 0))
        self.state.end.armed = False

    def _by_trigger(self) -> bool:
        return bool(self.value["JSQR"] & _JEXTEN)

    def _asks(self) -> bool:
        return bool(self.value["IER"] & _JEOSIE)

    def _plain(self) -> bool:
        return bool(self.value["CR"] & _ADEN) and not self.value["CR"] & _ADCAL and self._ready is None

    def _staleness(self) -> float:
        return _STALE * _STALE_S * self._hz()

    def _cycles(self) -> float:
        return self._common.divider

    def _channels(self) -> list[tuple[int, float]]:
        sequence = self.value["JSQR"]
        channels = [sequence >> 9 + 6 * i & 31 for i in range((sequence & 3) + 1)]
        return [(channel, self._sampling(channel)) for channel in channels]

    def _sampling(self, channel: int) -> float:
        register, place = ("SMPR2", channel - 10) if channel >= 10 else ("SMPR1", channel)
        return _SAMPLING[self.value[register] >> 3 * place & 7]


class SecondAdc(Adc):
    """The second converter, which shares the clock gate of the first."""

    def __init__(self, first: Adc, name: str, base: int) -> None:
        self._first = first
        super().__init__(name, base, first.events, first._common, first._hz)
        first.seconds.append(self)

    @property
    def clocked(self) -> bool:
        return self._first.clocked

    @clocked.setter
    def clocked(self, value: bool) -> None:
        pass
