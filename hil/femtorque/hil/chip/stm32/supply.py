"""The chip's supply: voltage, voltage detector (PVD), and external interrupt line 16. Thresholds are typical values
from the F405's data sheet (embedded reset and power control block characteristics). The G474's differ by at most 0.05
V, but its setting 7 is an external input."""

from collections.abc import Callable

from femtorque.hil.chip.nvic import Nvic
from femtorque.hil.chip.registers import Peripheral, Register

NOMINAL = 3.3  # V
FALLING = (2.04, 2.18, 2.33, 2.48, 2.63, 2.84, 2.93, 3.03)  # threshold for each PLS, V
HYSTERESIS = 0.1  # V
POWER_DOWN, POWER_ON = 1.68, 1.72  # V
LINE = 1 << 16
_PVD_INTERRUPT = 1


class ExternalInterrupts(Peripheral):
    """External interrupts: only line 16, of the voltage detector, is modelled. Writing 1 clears a bit of PR. suffix:
    suffix of the registers' names in the family."""

    def __init__(self, base: int, nvic: Nvic, suffix: str = "") -> None:
        self.nvic, self._mask, self._rising, self._pending = nvic, f"IMR{suffix}", f"RTSR{suffix}", f"PR{suffix}"
        self.REGISTERS = {0x00: Register(self._mask, 0, LINE), 0x08: Register(self._rising, 0, LINE),
                          0x14: Register(self._pending)}
        setattr(self, f"write_{self._mask}", self._enable)
        setattr(self, f"write_{self._pending}", self._clear_flags)
        super().__init__("EXTI", base)

    def edge(self) -> None:
        """Set the flag of the EXTI line at a rising edge of the detector's output."""
        if self.value[self._rising] & LINE:
            self.value[self._pending] |= LINE
        self._ask()

    def _ask(self) -> None:
        self.nvic.line(_PVD_INTERRUPT, bool(self.value[self._pending] & self.value[self._mask] & LINE))

    def reset(self) -> None:
        self.clear()
        self._ask()

    def _enable(self, value: int) -> None:
        self.value[self._mask] = value
        self._ask()

    def _clear_flags(self, value: int) -> None:
        self.value[self._pending] &= ~value
        self._ask()


class VoltageDetector:
    """The comparator that compares the supply with a threshold. level(): PLS, or None while the detector is off."""

    def __init__(self, level: Callable[[], int | None]) -> None:
        self._level = level
        self.volts = NOMINAL
        self.low = False
        self.on_low: Callable[[bool], None] = lambda low: None  # called at each change of the comparator's output

    def set(self, volts: float) -> None:
        self.volts = volts
        self.look()

    def look(self) -> None:
        """Compare again after a change of the supply or the threshold."""
        level = self._level()
        threshold = None if level is None else FALLING[level] + (HYSTERESIS if self.low else 0.0)
        low = threshold is not None and self.volts < threshold
        if low != self.low:
            self.low = low
            self.on_low(low)
