"""A node on the wire: its bit timing, its error counters, and the events that it hears."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from femtorque.hil.bus.frame import Frame

PASSIVE, OFF = 127, 255  # ISO 11898-1:2015, 12.1.4: counts above which a node is error passive, bus off
_CALMED = 120  # what a receive error count above PASSIVE becomes after a good frame: 119 to 127; RM0090 32.7.6


class Error(IntEnum):
    """As CAN controllers number them (RM0090 32.9.2, ESR.LEC; M_CAN PSR.LEC)."""

    STUFF, FORM, ACK, RECESSIVE, DOMINANT, CRC = range(1, 7)


@dataclass(frozen=True, eq=False)  # known by identity: whether two agree is asked for every frame and hearer
class BitTiming:
    """quantum: s. before, after: quanta to the sample point and from there; jump: resynchronisation, quanta."""

    quantum: float
    before: int
    after: int
    jump: int

    @property
    def bit(self) -> float:
        """s"""
        return self.quantum * (self.before + self.after)

    @property
    def sample(self) -> float:
        """s into a bit."""
        return self.quantum * self.before

    @property
    def tolerance(self) -> float:
        """Tolerance of the oscillator, by the two conditions of ISO 11898-1:2015, 11.3.2.4: ten bits between two edges;
        an error flag found six bits and the delimiter on."""
        quanta = self.before + self.after
        return min(self.jump / (20 * quanta), self.after / (2 * (13 * quanta - self.after)))

    def agrees(self, other: BitTiming) -> bool:
        """True if two nodes can follow each other."""
        return self is other or _agree(self, other)


@lru_cache(maxsize=256)
def _agree(a: BitTiming, b: BitTiming) -> bool:
    return abs(a.bit - b.bit) <= (a.tolerance + b.tolerance) * max(a.bit, b.bit)


class Counters:
    """Error counters and states of a node (ISO 11898-1:2015, 12.1.4)."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.transmit = self.receive = 0

    @property
    def passive(self) -> bool:
        return self.transmit > PASSIVE or self.receive > PASSIVE

    @property
    def off(self) -> bool:
        return self.transmit > OFF

    def sent(self) -> None:
        self.transmit = max(self.transmit - 1, 0)

    def heard(self) -> None:
        self.receive = _CALMED if self.receive > PASSIVE else max(self.receive - 1, 0)

    def failed(self, error: Error) -> None:
        """A transmission; one that nobody acknowledges does not count on while passive: no node is off for being
        alone."""
        if not (error == Error.ACK and self.passive):
            self.transmit += 8

    def disturbed(self, first: bool) -> None:
        """A reception. first: this node saw it first, and a dominant bit after its own flag."""
        self.receive = min(self.receive + (9 if first else 1), OFF)

    def pressed(self) -> None:
        """A reception behind whose flag the bus stays dominant for eight bits more."""
        self.receive = min(self.receive + 8, OFF)


class Node(ABC):
    """timing, fast: bit timings, the latter None where it knows no CAN FD. silent: it hears and never drives.

    offer is asked whenever the wire is free. All other events call a method: lost arbitration, a transmission that went
    well or failed (the counters have been moved), a good frame, a disturbed one.
    """

    silent = False

    def __init__(self) -> None:
        self.counters = Counters()

    @property
    @abstractmethod
    def timing(self) -> BitTiming: ...

    @property
    def fast(self) -> BitTiming | None:
        return None

    @property
    @abstractmethod
    def listening(self) -> bool:
        """True if it takes part."""

    @abstractmethod
    def offer(self) -> Frame | None:
        """Frame that it would send now."""

    def sees_itself(self, loop_delay: float) -> bool:
        """True if it samples its own bits of the data phase right, its transceiver being so late (s)."""
        return True

    def began(self) -> None:  # noqa: B027, as below: who does not care leaves it
        """Its offer is on the wire."""

    def lost(self) -> None:  # noqa: B027
        """Its offer gave way to another frame."""

    def sent(self) -> None:  # noqa: B027
        """It has gone through."""

    def failed(self, error: Error) -> None:  # noqa: B027
        """It was disturbed."""

    def heard(self, frame: Frame) -> None:  # noqa: B027
        """Somebody else's has come."""

    def disturbed(self, error: Error) -> None:  # noqa: B027
        """Somebody else's was disturbed."""

    def follows(self, frame: Frame, timing: BitTiming, fast: BitTiming | None) -> bool:
        """True if it can read a frame that is sent with these timings."""
        if not self.timing.agrees(timing):
            return False
        if not frame.fd:
            return True
        own = self.fast
        if own is None:
            return False
        return not frame.fast or fast is not None and own.agrees(fast)


class TimedNode(Node):
    """A node whose bits are given."""

    def __init__(self, timing: BitTiming, fast: BitTiming | None = None) -> None:
        super().__init__()
        self._timing, self._fast = timing, fast

    @property
    def timing(self) -> BitTiming:
        return self._timing

    @property
    def fast(self) -> BitTiming | None:
        return self._fast
