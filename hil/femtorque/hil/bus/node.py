"""A node on the wire: its bit timing, its error counters, and the events that it hears. C (node.h) has its numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

from femtorque.hil.bus.frame import Frame, give, taken
from femtorque.hil.clock import ChipState, library


class Error(IntEnum):
    """As CAN controllers number them (RM0090 32.9.2, ESR.LEC; M_CAN PSR.LEC)."""

    STUFF, FORM, ACK, RECESSIVE, DOMINANT, CRC = range(1, 7)


@dataclass(frozen=True, eq=False)  # known by identity
class BitTiming:
    """quantum: s. before, after: quanta to the sample point and from there; jump: resynchronisation, quanta."""

    quantum: float
    before: int
    after: int
    jump: int

    @cached_property
    def state(self) -> Any:
        """`bit_timing` of C."""
        return library()[0].new("bit_timing *", (self.quantum, self.before, self.after, self.jump))

    @property
    def bit(self) -> float:
        """s"""
        return float(library()[1].timing_bit(self.state))

    @property
    def sample(self) -> float:
        """s into a bit."""
        return float(library()[1].timing_sample(self.state))

    @property
    def tolerance(self) -> float:
        """Tolerance of the oscillator."""
        return float(library()[1].timing_tolerance(self.state))

    def agrees(self, other: BitTiming) -> bool:
        """True if two nodes can follow each other."""
        return bool(library()[1].timings_agree(self.state, other.state))


class Counters:
    """Error counters and states of a node (ISO 11898-1:2015, 12.1.4)."""

    def __init__(self, node: Any) -> None:
        self._node = node

    def clear(self) -> None:
        self._node.transmit = self._node.receive = 0

    @property
    def transmit(self) -> int:
        return int(self._node.transmit)

    @property
    def receive(self) -> int:
        return int(self._node.receive)

    @property
    def passive(self) -> bool:
        return bool(library()[1].node_passive(self._node))

    @property
    def off(self) -> bool:
        return bool(library()[1].node_off(self._node))


class OnWire:
    """node: that of C, with its counters. timing, fast: bit timings, the latter None where it knows no CAN FD."""

    node: Any
    counters: Counters

    @property
    def timing(self) -> BitTiming:
        library()[1].node_listens(self.node)
        return _timing(self.node.timing)

    @property
    def fast(self) -> BitTiming | None:
        library()[1].node_listens(self.node)
        return _timing(self.node.fast) if self.node.fd else None


def _timing(place: Any) -> BitTiming:
    return BitTiming(place.quantum, place.before, place.after, place.jump)


class Node(OnWire, ABC):
    """A node that is in Python. silent: it hears and never drives.

    offer is asked whenever the wire is free. All other events call a method: lost arbitration, a transmission that went
    well or failed (the counters have been moved), a good frame, a disturbed one.
    """

    silent = False

    def __init__(self) -> None:
        self.node = library()[0].new("node *")
        self.counters = Counters(self.node)

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


class Ways:
    """Calls of nodes in Python by C, in the time of some parts."""

    def __init__(self, parts: ChipState) -> None:
        self._ffi, kinds = parts.ffi, {name: field.type for name, field in parts.ffi.typeof("node_ways").fields}
        of, calls = self._of, {
            "look": lambda node: self._look(node, of(node)), "offer": lambda node, frame: self._offer(of(node), frame),
            "sees_itself": lambda node, delay: of(node).sees_itself(delay), "began": lambda node: of(node).began(),
            "lost": lambda node: of(node).lost(), "sent": lambda node: of(node).sent(),
            "failed": lambda node, error: of(node).failed(Error(error)),
            "heard": lambda node, frame: of(node).heard(taken(frame)),
            "disturbed": lambda node, error: of(node).disturbed(Error(error))}
        self._calls = {name: parts.ffi.callback(kinds[name], call, onerror=parts.refuse)
                       for name, call in calls.items()}
        self._ways = parts.ffi.new("node_ways *", self._calls)
        self._handles: list[Any] = []

    def plug(self, node: OnWire) -> None:
        """Have C call a node if that is in Python."""
        if isinstance(node, Node):
            self._handles.append(self._ffi.new_handle(node))
            node.node.ways, node.node.owner = self._ways, self._handles[-1]

    def _of(self, node: Any) -> Node:
        found: Node = self._ffi.from_handle(node.owner)
        return found

    @staticmethod
    def _look(place: Any, node: Node) -> None:
        fast = node.fast
        place.listening, place.silent, place.fd = node.listening, node.silent, fast is not None
        place.timing = node.timing.state[0]
        if fast is not None:
            place.fast = fast.state[0]

    @staticmethod
    def _offer(node: Node, place: Any) -> bool:
        frame = node.offer()
        if frame is not None:
            give(frame, place)
        return frame is not None
