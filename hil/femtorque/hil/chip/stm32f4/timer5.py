"""TIM5 of the STM32F405. The timer's channel 4 can capture the slow oscillator LSI (RM0090 18.4.21)."""

from collections.abc import Callable
from typing import Any

from femtorque.hil.chip.registers import Register, Unmodelled
from femtorque.hil.chip.stm32.capture import LsiCapture
from femtorque.hil.chip.stm32.timer import CEN, Timer

_LSI = 1 << 6  # OR.TI4_RMP
_STATUS, _CAPTURE = 0x10, 0x40  # offsets of SR and CCR4


class Timer5(Timer):
    """A timer whose channel 4 can capture LSI."""

    REGISTERS = Timer.REGISTERS | {0x50: Register("OR", 0, 0xC0)}

    def __init__(self, *rest: Any, lsi_period: Callable[[], float]) -> None:
        self.lsi: LsiCapture | None = None
        super().__init__(*rest)
        self.lsi = LsiCapture(self.events, lsi_period)
        self._began = 0.0

    def _is_in_c(self, offset: int) -> bool:
        return self.lsi is None or self.lsi.since is None or offset not in (_STATUS, _CAPTURE)

    def reset(self) -> None:
        super().reset()
        if self.lsi:
            self.lsi.stop()
            self._place()

    def write_CR1(self, value: int) -> None:
        super().write_CR1(value)
        assert self.lsi is not None
        if value & CEN and self.value["OR"] == _LSI:
            if self.value["CCMR2"] != 0xD00 or self.value["CCER"] != 1 << 12 or self.state.cycles != 1.0:
                raise Unmodelled(f"{self.name}: only every eighth edge of LSI is captured, at the processor's clock")
            self._began = self.events.now
            self.lsi.start()
            self._place()

    def read_SR(self) -> int:
        assert self.lsi is not None
        value = self.value["SR"] | self.lsi.flag << 4
        if self.lsi.since is not None:
            self.say("SR", value, min(self.lsi.settled_until, self.settled_until))
        return value

    def write_SR(self, value: int) -> None:
        super().write_SR(value)
        if self.lsi and not value & 1 << 4:
            self.lsi.clear()

    def read_CCR4(self) -> int:
        assert self.lsi is not None
        self.forget()
        return self.value["CCR4"] if self.lsi.since is None else self.lsi.taken(self._began)
