"""The families' converters, in C (converter.c). Software or a timer starts an injected sequence. Its channels are
sampled, each in a window, and converted in turn; then results, flags and interrupt request are set."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from femtorque.hil.chip.peripheral_in_c import PeripheralInC
from femtorque.hil.chip.registers import Peripheral, Unmodelled
from femtorque.hil.clock import Events, Member

_RESULTS = ("JDR1", "JDR2", "JDR3", "JDR4")


class ConverterClock(Peripheral):
    """The converters' common registers, which select their clock."""

    SIZE = 1 << 8

    def __init__(self, name: str, base: int) -> None:
        self.converters: list[Injected] = []
        super().__init__(name, base)

    def write_CCR(self, value: int) -> None:
        for converter in self.converters:
            converter.forget()
        self.value["CCR"] = value


class Injected(PeripheralInC):
    """A converter. volts(channel): voltage on the pin, V; meanwhile `window` is the sampling time (from, to), cycles.
    interrupt: number of its request, or -1. dead: failed, converts nothing. busy: during a sequence."""

    dead, interrupt, busy = Member(bool), Member(int), Member(bool, "state.end", "armed")
    SIZE = 1 << 8
    KIND, MEMBER = "A_CONVERTER", "converters"

    def __init__(self, name: str, base: int, events: Events) -> None:
        self.events = events
        self.window = (0.0, 0.0)
        super().__init__(name, base, events.parts)
        state, offsets = self.state, self._offsets
        state.status, state.control = offsets[self.STATUS] >> 2, offsets[self.CONTROL] >> 2
        state.result = [offsets[key] >> 2 for key in _RESULTS]
        state.writable = self.REGISTERS[offsets[self.STATUS]].writable
        state.start, state.ended, state.asking, state.kept = self.START, self.ENDED, self.ASKING, self.KEPT
        state.latched, state.ones_clear, state.interrupt = self.LATCHED, self.ONES_CLEAR, -1
        state.conversion, state.latency, state.stale = self.CONVERSION, self.LATENCY, -1.0
        for what, answer in (("CONVERTER_BUSY", self._busy), ("CONVERTER_SEQUENCE", self._tell),
                             ("CONVERTER_VOLTS", self._sampled)):
            self.parts.hear(what, self.slot, answer)
        self.volts = lambda channel: 0.0
        self.reset()

    def reset(self) -> None:
        self.clear()
        self.state.end.armed, self.state.finished = False, -1.0
        self._changed()
        self._ask()

    @property
    def volts(self) -> Callable[[int], float]:
        return self._volts

    @volts.setter
    def volts(self, volts: Callable[[int], float]) -> None:
        self._volts, self.state.outside = volts, False

    def forget(self, *keys: str) -> None:
        super().forget(*keys)
        self.state.known = False

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        self._changed()

    def _changed(self) -> None:
        """Pass settings to C if they may have changed."""
        self.state.known = False
        self.state.by_trigger, self.state.asks, self.state.plain = self._by_trigger(), self._asks(), self._plain()

    # -- parts of a family --------------------------------------------------

    @abstractmethod
    def _cycles(self) -> float:
        """Return the number of processor cycles in one clock of the converter."""

    @abstractmethod
    def _channels(self) -> list[tuple[int, float]]:
        """Return the channels of the sequence with their sampling times in clocks."""

    @abstractmethod
    def _asks(self) -> bool:
        """Return true if the interrupt of this exception is enabled."""

    @abstractmethod
    def _by_trigger(self) -> bool:
        """Return true if the timer's trigger starts the sequence."""

    def _plain(self) -> bool:
        """Return true if the converter is ready and can change state only by a start."""
        return True

    def _staleness(self) -> float:
        """If a converter is idle for too long, its first result is wrong. Return the limit of idle cycles, or -1
        without a limit."""
        return -1.0

    CONVERSION: ClassVar[float]  # clocks from the end of a sample to its result
    LATENCY: ClassVar[float]  # maximum number of clocks from a timer's trigger to the first sample
    STATUS: ClassVar[str]  # name of the status register; converter.h explains it and the following constants
    CONTROL: ClassVar[str]
    ENDED: ClassVar[int]
    ASKING: ClassVar[int]
    START: ClassVar[int]
    KEPT: ClassVar[int] = 0
    ONES_CLEAR: ClassVar[bool]
    LATCHED: ClassVar[bool]

    # -- called by C --------------------------------------------------------

    def _busy(self, value: float) -> None:
        raise Unmodelled(f"{self.name} started while it converts")

    def _tell(self, value: float) -> None:
        """Pass the sequence to C."""
        state = self.state
        state.cycles, state.stale = self._cycles(), self._staleness()
        sequence = self._channels()
        state.count = len(sequence)
        for i, (channel, sampling) in enumerate(sequence):
            state.channel[i], state.sampling[i] = channel, sampling
        state.known = True

    def _sampled(self, i: float) -> float:
        """Return the voltage on the pin of the sequence's i-th channel, V."""
        at = int(i)
        self.window = getattr(self.state, "from")[at], self.state.to[at]
        return self.volts(self.state.channel[at])

    # -- for a family -------------------------------------------------------

    def _start(self) -> None:
        """Start the sequence now."""
        self.parts.do("converter_start", self.slot, float(self.events.now))

    def _armed(self) -> bool:
        """Return true if the converter waits for the timer's trigger."""
        return bool(self.parts.lib.converter_armed(self._here))

    def _ask(self) -> None:
        """Assert or clear the interrupt request."""
        self.state.asks = self._asks()
        self.parts.do("converter_ask", self._here)

    @property
    def _here(self) -> Any:
        return self.parts.ffi.addressof(self.state)
