"""ADC1 of the STM32G474 (RM0440 section 21), as far as injected sequences that software starts."""

from __future__ import annotations

from collections.abc import Callable

from hil.chip.events import Events
from hil.chip.registers import Peripheral, Register, Unmodelled

COUNTS, REFERENCE_V = 4096, 3.3
_ADEN, _JADSTART, _ADVREGEN, _DEEPPWD, _ADCAL = 1 << 0, 1 << 3, 1 << 28, 1 << 29, 1 << 31
_ADRDY, _JEOC, _JEOS = 1 << 0, 1 << 5, 1 << 6
_SAMPLING = (2.5, 6.5, 12.5, 24.5, 47.5, 92.5, 247.5, 640.5)  # clocks
_CONVERSION, _CALIBRATION = 12.5, 116  # clocks
_REGULATOR_S = 20e-6
_STALE_S = 1e-3  # after so long without a conversion the next one may be wrong (erratum)


class AdcCommon(Peripheral):
    """What ADC1 and ADC2 have in common: their clock, here from that of the bus."""

    SIZE = 1 << 8
    REGISTERS = {0x00: Register("CSR", 0, 0), 0x08: Register("CCR", 0, 0x00030000)}

    def __init__(self, base: int) -> None:
        super().__init__("ADC12_Common", base)

    @property
    def divider(self) -> int:
        mode = self.value["CCR"] >> 16 & 3
        if not mode:
            raise Unmodelled("ADC1 with a clock of its own")
        return 1 << mode - 1


class Adc(Peripheral):
    """hz: of its bus. volts(channel): what is on its pin. before_read: called before it is looked at. dead: it converts
    no more."""

    SIZE = 1 << 8
    REGISTERS = {
        0x00: Register("ISR", 0, 0x7FF), 0x08: Register("CR", _DEEPPWD, _ADEN | _JADSTART | _ADVREGEN | _ADCAL),
        0x14: Register("SMPR1", 0, 0x3FFFFFFF), 0x18: Register("SMPR2", 0, 0x07FFFFFF),
        0x4C: Register("JSQR", 0, 0xFBEFBE03), 0x80: Register("JDR1", 0, 0), 0x84: Register("JDR2", 0, 0),
        0x88: Register("JDR3", 0, 0), 0x8C: Register("JDR4", 0, 0),
    }

    def __init__(self, name: str, base: int, events: Events, common: AdcCommon, hz: Callable[[], int]) -> None:
        self.events, self._common, self._hz = events, common, hz
        self.volts: Callable[[int], float] = lambda channel: 0.0
        self.before_read: Callable[[], None] = lambda: None
        self.dead = False
        super().__init__(name, base)
        self.reset()

    def reset(self) -> None:
        self.clear()
        self._awake: float | None = None  # when the regulator is there
        self._calibrated: float | None = None
        self._ready: float | None = None  # to convert
        self._done: float | None = None  # the sequence under way
        self._finished: float | None = None  # the last one

    def _past(self, moment: float | None) -> bool:
        return moment is not None and self.events.now >= moment

    def _clocks(self, count: float) -> float:
        return self.events.now + count * self._common.divider

    def _settle(self) -> None:
        """Note what has come about by now."""
        if self._past(self._calibrated):
            self.value["CR"] &= ~_ADCAL
        if self._past(self._ready):
            self.value["ISR"] |= _ADRDY
            self._ready = None
        if self._past(self._done):
            self.value["ISR"] |= _JEOC | _JEOS
            self.value["CR"] &= ~_JADSTART
            self._finished, self._done = self._done, None

    def read_CR(self) -> int:
        self._settle()
        return self.value["CR"]

    def read_ISR(self) -> int:
        self._settle()
        return self.value["ISR"]

    def write_ISR(self, value: int) -> None:
        self._settle()
        self.value["ISR"] &= ~value

    def write_CR(self, value: int) -> None:
        now = self.read_CR()
        if value & _ADVREGEN and not now & _ADVREGEN:
            if now & _DEEPPWD:
                raise Unmodelled("the regulator of ADC1 switched on in deep power-down")
            self._awake = self.events.now + _REGULATOR_S * self._hz()
        if value & _ADCAL:
            if now & _ADEN or not self._past(self._awake):
                raise Unmodelled("ADC1 calibrated while it is on, or before its regulator is there")
            self._calibrated = self._clocks(_CALIBRATION)
        if value & _ADEN and not now & _ADEN:
            if self._calibrated is None or self.events.now < self._calibrated + 4 * self._common.divider:
                raise Unmodelled("ADC1 switched on without its calibration, or within four clocks of it")
            self._ready = self._clocks(1)
        set_only = _ADEN | _ADCAL | _JADSTART
        self.value["CR"] = value & (_ADVREGEN | _DEEPPWD) | (now | value) & set_only
        if value & _JADSTART:
            self._start(now)

    def _start(self, before: int) -> None:
        if self.dead:
            return
        if not before & _ADEN or before & _JADSTART:
            raise Unmodelled("ADC1 started while it is off, or while it converts")
        sequence, clocks = self.value["JSQR"], 0.0
        self.before_read()
        for i in range((sequence & 3) + 1):
            channel = sequence >> 9 + 6 * i & 31
            clocks += _CONVERSION + self._sampling(channel)
            counts = min(max(round(self.volts(channel) / REFERENCE_V * COUNTS), 0), COUNTS - 1)
            self.value[f"JDR{i + 1}"] = COUNTS - 1 if i == 0 and self._stale() else counts
        self._done = self._clocks(clocks)

    def _stale(self) -> bool:
        """Whether the last conversion is long ago; a tick of 1 kHz is about as long as that."""
        return self._finished is None or self.events.now - self._finished > 0.9 * _STALE_S * self._hz()

    def _sampling(self, channel: int) -> float:
        register, place = ("SMPR2", channel - 10) if channel >= 10 else ("SMPR1", channel)
        return _SAMPLING[self.value[register] >> 3 * place & 7]
