"""Timers capture the count at each eighth edge of the slow oscillator LSI (RM0090 18.3.5, RM0440 30.4.6)."""

from collections.abc import Callable

from femtorque.hil.chip.registers import Peripheral, Register, Unmodelled
from femtorque.hil.clock import NEVER, Events

_EDGES = 8  # cycles from one capture to the next
_CEN = 1


class LsiCapture:
    """Input captures of one channel. period(): cycles between edges of LSI, whose phase is arbitrary."""

    def __init__(self, events: Events, period: Callable[[], float]) -> None:
        self.events, self._period = events, period
        self.since: float | None = None  # cycle at which the capture was enabled
        self._seen = 0

    def start(self) -> None:
        self.since, self._seen = self.events.now - 0.37 * self._period(), 0

    def stop(self) -> None:
        self.since = None

    @property
    def _edges(self) -> int:
        return 0 if self.since is None else int((self.events.now - self.since) / (_EDGES * self._period()))

    @property
    def flag(self) -> bool:
        return self._edges > self._seen

    @property
    def settled_until(self) -> int:
        """Before this cycle only software can change the flag. The value is two cycles early to allow for rounding."""
        if self.since is None or self.flag:
            return NEVER
        return int(self.since + (self._edges + 1) * _EDGES * self._period()) - 2

    def clear(self) -> None:
        self._seen = self._edges

    def taken(self, counting_since: float) -> int:
        """Return the last captured count of a timer that counts every cycle."""
        self.clear()
        assert self.since is not None
        return int(self.since + self._edges * _EDGES * self._period() - counting_since) if self._edges else 0


class CaptureTimer(Peripheral):
    """A timer that can only capture LSI, on its first channel. TISEL = 6 selects LSI (ST's stm32g4xx_hal_tim_ex.h)."""

    REGISTERS = {
        0x00: Register("CR1", 0, 1), 0x10: Register("SR"), 0x18: Register("CCMR1", 0, 0xF),
        0x20: Register("CCER", 0, 1),
        0x34: Register("CCR1", 0, 0), 0x5C: Register("TISEL", 0, 0xF),
    }

    def __init__(self, name: str, base: int, events: Events, lsi_period: Callable[[], float],
                 cycles: Callable[[], float]) -> None:
        self.events, self._cycles = events, cycles
        self.lsi = LsiCapture(events, lsi_period)
        self._began = 0.0
        super().__init__(name, base)

    def reset(self) -> None:
        self.clear()
        self.lsi.stop()

    def write_CR1(self, value: int) -> None:
        if value & _CEN and (self.value["CCMR1"], self.value["CCER"], self.value["TISEL"]) != (0xD, 1, 6):
            raise Unmodelled(f"{self.name}: only every eighth edge of LSI is captured")
        if self._cycles() != 1.0:
            raise Unmodelled(f"{self.name}: captures at another clock than the processor's")
        self.value["CR1"] = value
        self._began = self.events.now
        self.lsi.start()

    def read_SR(self) -> int:
        value = self.lsi.flag << 1
        self.say("SR", value, self.lsi.settled_until)
        return value

    def write_SR(self, value: int) -> None:
        if not value & 2:
            self.lsi.clear()

    def read_CCR1(self) -> int:
        self.forget()
        return self.lsi.taken(self._began) & 0xFFFF
