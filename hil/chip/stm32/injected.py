"""What the families' converters have in common: an injected sequence, which software or a timer starts, takes its
channels one after another; each is sampled in a window of its own, and at the end there are results, flags, an
interrupt."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from hil.chip.events import Event, Events
from hil.chip.registers import Peripheral, Unmodelled

COUNTS, REFERENCE_V = 4096, 3.3
_RESULTS = ("JDR1", "JDR2", "JDR3", "JDR4")


class Injected(Peripheral):
    """volts(channel): what is on its pin, asked for when `window` is the channel's (from, to), cycles; before_read:
    called before it is looked at. request: drives its interrupt. dead: it converts no more."""

    SIZE = 1 << 8
    UNTOUCHED = frozenset(_RESULTS)

    def __init__(self, name: str, base: int, events: Events) -> None:
        self.events = events
        self.volts: Callable[[int], float] = lambda channel: 0.0
        self.before_read: Callable[[], None] = lambda: None
        self.request: Callable[[bool], None] = lambda asserted: None
        self.dead = False
        self.window = (0.0, 0.0)
        self._sequence: list[tuple[int, float, float]] = []  # channel, from, to: under way
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
    def busy(self) -> bool:
        return self._end is not None

    # -- a family's ---------------------------------------------------------

    @abstractmethod
    def _cycles(self) -> float:
        """Processor cycles of one clock of the converter."""

    @abstractmethod
    def _channels(self) -> list[tuple[int, float]]:
        """The sequence: channel and clocks for which it is sampled."""

    @abstractmethod
    def _ended(self) -> None:
        """Set flags; ask for an interrupt where that is let."""

    CONVERSION: float  # clocks from the end of a sample to its result
    LATENCY: float  # clocks from a timer's trigger to the first sample, at most

    # -- what they share ----------------------------------------------------

    def _start(self, at: float) -> None:
        """The first sample begins at a cycle."""
        if self.busy:
            raise Unmodelled(f"{self.name} started while it converts")
        cycles = self._cycles()
        self._sequence = []
        for channel, sampling in self._channels():
            self._sequence.append((channel, at, at + sampling * cycles))
            at += (sampling + self.CONVERSION) * cycles
        self._end = self.events.at(round(at), self._convert)

    def triggered(self, at: float) -> None:
        """A timer has put out its trigger at a cycle."""
        if not self.dead and self._armed():
            self._start(at + self.LATENCY * self._cycles())

    @abstractmethod
    def _armed(self) -> bool:
        """Whether the timer's trigger is waited for."""

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
