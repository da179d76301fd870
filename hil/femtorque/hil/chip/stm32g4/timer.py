"""Timers of the STM32G474 whose break input has a filter (RM0440 section 28.3.17)."""

from femtorque.hil.chip.registers import Register
from femtorque.hil.chip.stm32.timer import Timer
from femtorque.hil.clock import Event

_BKF = 15 << 16
# Number of timer clocks for which the pin must be stable, by BKF, if DTS is not divided. ST's stm32g4xx_ll_tim.h names
# them LL_TIM_BREAK_FILTER_*: FDIV8_N6 needs six samples, one in eight clocks.
_CLOCKS = (0, 2, 4, 8, 2 * 6, 2 * 8, 4 * 6, 4 * 8, 8 * 6, 8 * 8, 16 * 5, 16 * 6, 16 * 8, 32 * 5, 32 * 6, 32 * 8)


class FilteredTimer(Timer):
    """A timer with a filter at its break input, which clock security and the voltage detector bypass."""

    REGISTERS = {**Timer.REGISTERS, 0x44: Register("BDTR", 0, 0xFFF7F)}
    LOCKED = {level: bits | (_BKF if level else 0) for level, bits in Timer.LOCKED.items()}  # RM0440's note at BKF
    _passing: Event | None = None  # a change of the break pin that has not passed the filter yet

    def set_break(self, low: bool) -> None:
        if self._passing:
            self._passing.cancel()
        clocks = _CLOCKS[(self.value["BDTR"] & _BKF) >> 16]
        if not clocks:
            super().set_break(low)
        elif low != bool(self.state.break_low):
            pass_on = super().set_break
            self._passing = self.events.after(round(clocks * self.state.cycles), lambda: pass_on(low))
