"""The common part of the families' converters: an injected sequence, started by software or a timer, converts its
channels one after another, each sampled in a window of its own, and ends with results, flags and an interrupt."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from femtorque.hil.chip.events import Event, Events
from femtorque.hil.chip.lending import Lendable, Lending
from femtorque.hil.chip.registers import Unmodelled

COUNTS, REFERENCE_V = 4096, 3.3
_RESULTS = ("JDR1", "JDR2", "JDR3", "JDR4")


def _nobodys(lending: Lending, slot: int, channels: list[int]) -> bool:
    return False


class Injected(Lendable):
    """volts(channel): voltage on its pin, read while `window` is the channel's (from, to), cycles. before_read: called
    before that. request: drives the interrupt request; interrupt: its number, if the request goes nowhere else. dead:
    it converts no more. sources(lending, slot, channels): lends the sources of these channels; returns true if it
    could."""

    SIZE = 1 << 8
    UNTOUCHED = frozenset(_RESULTS)

    def __init__(self, name: str, base: int, events: Events) -> None:
        self.events = events
        self._volts: Callable[[int], float] = lambda channel: 0.0
        self.before_read: Callable[[], None] = lambda: None
        self.request: Callable[[bool], None] = lambda asserted: None
        self.interrupt: int | None = None
        self.sources = _nobodys
        self._dead = False
        self.window = (0.0, 0.0)
        self._sequence: list[tuple[int, float, float]] = []  # channel, from, to: those under way
        self._end: Event | None = None
        super().__init__(name, base)
        self.reset()

    def reset(self) -> None:
        self.clear()
        self.request(False)
        if self._end:
            self._end.cancel()
        self._end = None

    @property
    def volts(self) -> Callable[[int], float]:
        return self._volts

    @volts.setter
    def volts(self, volts: Callable[[int], float]) -> None:
        """Set the source of voltages to one that C does not have."""
        self.recall()
        self._volts, self.sources = volts, _nobodys

    @property
    def dead(self) -> bool:
        return self._dead

    @dead.setter
    def dead(self, dead: bool) -> None:
        self.recall()
        self._dead = dead
        self.touched()

    @property
    def busy(self) -> bool:
        self.recall()
        return self._end is not None

    # -- parts of a family --------------------------------------------------

    @abstractmethod
    def _cycles(self) -> float:
        """Processor cycles of one clock of the converter."""

    @abstractmethod
    def _channels(self) -> list[tuple[int, float]]:
        """The sequence: channels, each with its sampling time in clocks."""

    @abstractmethod
    def _ended(self) -> None:
        """Set flags; request an interrupt if it is enabled."""

    CONVERSION: float  # clocks from the end of a sample to its result
    LATENCY: float  # clocks from a timer's trigger to the first sample, at most

    # -- common part --------------------------------------------------------

    def _start(self, at: float) -> None:
        """Start the sequence, the first sample at a cycle."""
        if self.busy:
            raise Unmodelled(f"{self.name} started while it converts")
        cycles = self._cycles()
        self._sequence = []
        for channel, sampling in self._channels():
            self._sequence.append((channel, at, at + sampling * cycles))
            at += (sampling + self.CONVERSION) * cycles
        self._end = self.events.at(round(at), self._convert)

    def triggered(self, at: float) -> None:
        """Start at a trigger that a timer has put out at a cycle."""
        self.recall()
        if not self.dead and self._armed():
            self._start(at + self.LATENCY * self._cycles())

    @abstractmethod
    def _armed(self) -> bool:
        """True if it waits for the timer's trigger."""

    def _convert(self) -> None:
        self._end = None
        self.before_read()
        for i, (channel, since, until) in enumerate(self._sequence):
            self.window = (since, until)
            counts = round(self.volts(channel) / REFERENCE_V * COUNTS)
            self.value[_RESULTS[i]] = min(max(counts, 0), COUNTS - 1)
        self._ended()
        for key, _ in zip(_RESULTS, self._sequence, strict=False):
            self.say(key, self.value[key])

    # -- lent (femtorque.hil.chip.lending) ----------------------------------------------

    STATUS: ClassVar[str]  # name of the status register; this and the next ones describe the converter to C (lent.h)
    CONTROL: ClassVar[str]
    ENDED: ClassVar[int]
    ASKING: ClassVar[int]
    START: ClassVar[int]
    KEPT: ClassVar[int] = 0
    ONES_CLEAR: ClassVar[bool]
    LATCHED: ClassVar[bool]

    @abstractmethod
    def _asks(self) -> bool:
        """True if its interrupt is enabled."""

    @abstractmethod
    def _by_trigger(self) -> bool:
        """True if the timer's trigger starts it."""

    def _converts(self) -> bool:
        """True if it is ready, and changes with a start only."""
        return True

    def _lend(self, lending: Lending) -> bool:
        if not lending.whole or not self.clocked or not self._converts():
            return False
        try:
            sequence = self._channels()
        except Unmodelled:
            return False
        under_way = [channel for channel, _, _ in self._sequence] if self._end else []
        chosen = [channel for channel, _ in sequence]
        if under_way not in ([], chosen) or not self.sources(lending, self.slot, chosen):
            return False
        self._fill(lending, self._state(lending), sequence)
        return True

    def _fill(self, lending: Lending, state: Any, sequence: list[tuple[int, float]]) -> None:
        state.cycles, state.conversion, state.latency = self._cycles(), self.CONVERSION, self.LATENCY
        state.lent, state.dead, state.by_trigger = True, self._dead, self._by_trigger()
        state.latched, state.ones_clear, state.asks = self.LATCHED, self.ONES_CLEAR, self._asks()
        state.interrupt = -1 if self.interrupt is None else self.interrupt
        state.status, state.control = self._value[self.STATUS], self._value[self.CONTROL]
        state.writable = self.REGISTERS[self._offsets[self.STATUS]].writable
        state.ended, state.asking, state.start, state.kept = self.ENDED, self.ASKING, self.START, self.KEPT
        state.stale, state.finished = self._staleness()
        state.count = len(sequence)
        for i, (channel, sampling) in enumerate(sequence):
            state.channel[i], state.sampling[i], state.result[i] = channel, sampling, self._value[_RESULTS[i]]
            self._hold(lending, self._offsets[_RESULTS[i]])
            state.results[i] = self._places[-1]
            if self._end:
                _, getattr(state, "from")[i], state.to[i] = self._sequence[i]
        lending.give(state.end, self._end)
        self._give(lending, self._offsets[self.STATUS], "CONVERTER_STATUS")
        self._give(lending, self._offsets[self.CONTROL], "CONVERTER_CONTROL")

    def _staleness(self) -> tuple[float, float]:
        """(cycles after which the first result is wrong, cycle of the last one); -1: none."""
        return -1.0, -1.0

    def _finished_at(self, cycle: float) -> None:
        """Note the cycle at which the last sequence ended; -1: none has."""

    def _state(self, lending: Lending) -> Any:
        return lending.state.converters[self.slot]

    def _take_back(self, lending: Lending) -> None:
        state = self._state(lending)
        state.lent = False
        self._value[self.STATUS], self._value[self.CONTROL] = state.status, state.control
        self._finished_at(state.finished)
        self._end = lending.take(state.end, self._convert)
        if state.count:
            self._sequence = [(state.channel[i], getattr(state, "from")[i], state.to[i]) for i in range(state.count)]
        for i, key in enumerate(_RESULTS[:state.count]):
            self._value[key] = state.result[i]
            self.say(key, self._value[key])
