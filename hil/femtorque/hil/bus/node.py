"""A node on a CAN bus ("wire"): bit timing, error counters, and events. The numbers are stored in C (node.h)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

from femtorque.hil.bus.frame import Frame, give, taken
from femtorque.hil.clock import ChipState, Member, library


class Error(IntEnum):
    """Error codes of CAN controllers (RM0090 32.9.2, ESR.LEC; M_CAN PSR.LEC)."""

    STUFF, FORM, ACK, RECESSIVE, DOMINANT, CRC = range(1, 7)


@dataclass(frozen=True, eq=False)  # known by identity
class BitTiming:
    """A bit timing. before, after: quanta before and after the sample point."""

    quantum: float  # duration of a quantum, s
    before: int
    after: int
    jump: int  # resynchronisation jump width, quanta

    @cached_property
    def state(self) -> Any:
        """The timing as `bit_timing` of C."""
        return library()[0].new("bit_timing *", (self.quantum, self.before, self.after, self.jump))

    @property
    def bit(self) -> float:
        """Length of a bit, s."""
        return float(library()[1].timing_bit(self.state))

    @property
    def sample(self) -> float:
        """Time from the start of a bit to its sample point, s."""
        return float(library()[1].timing_sample(self.state))

    @property
    def tolerance(self) -> float:
        """Tolerance of the oscillator, as a fraction of its frequency."""
        return float(library()[1].timing_tolerance(self.state))

    def agrees(self, other: BitTiming) -> bool:
        """Return true if nodes with these timings can follow each other."""
        return bool(library()[1].timings_agree(self.state, other.state))


class Counters:
    """Error counters and error states of a node (ISO 11898-1:2015, 12.1.4)."""

    transmit, receive = Member(int, "_node"), Member(int, "_node")

    def __init__(self, node: Any) -> None:
        self._node = node

    def clear(self) -> None:
        self._node.transmit = self._node.receive = 0

    @property
    def passive(self) -> bool:
        return bool(library()[1].node_passive(self._node))

    @property
    def off(self) -> bool:
        return bool(library()[1].node_off(self._node))


class OnWire:
    """A CAN node whose state is in C. timing, fast: bit timings; fast is None if the node does not support CAN FD."""

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
    """A node in Python. silent: receives and never drives the bus. C calls `offer` each time the bus becomes free, and
    a method for each lost arbitration, sent or failed frame, and valid or disturbed frame of another node. The bus
    updates the error counters before these calls."""

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
        """True if the node takes part in the traffic."""

    @abstractmethod
    def offer(self) -> Frame | None:
        """Return the frame to send now, or None."""

    def sees_itself(self, loop_delay: float) -> bool:
        """Return true if the node samples its own data bits correctly. loop_delay: of its transceiver, s."""
        return True

    def began(self) -> None:  # noqa: B027, here and below: a node need not handle every event
        """The node's offered frame begins on the bus."""

    def lost(self) -> None:  # noqa: B027
        """Handle lost arbitration."""

    def sent(self) -> None:  # noqa: B027
        """Handle the end of the node's frame."""

    def failed(self, error: Error) -> None:  # noqa: B027
        """Handle an error in the frame that the node sends."""

    def heard(self, frame: Frame) -> None:  # noqa: B027
        """Handle a valid frame that another node sent."""

    def disturbed(self, error: Error) -> None:  # noqa: B027
        """Handle an error in a frame that another node sends."""


class TimedNode(Node):
    """A node with given bit timings. The node takes part in the traffic unless it is bus off."""

    def __init__(self, timing: BitTiming, fast: BitTiming | None = None) -> None:
        super().__init__()
        self._timing, self._fast = timing, fast

    @property
    def listening(self) -> bool:
        return not self.counters.off

    @property
    def timing(self) -> BitTiming:
        return self._timing

    @property
    def fast(self) -> BitTiming | None:
        return self._fast


class Ways:
    """Callbacks from C to nodes in Python."""

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
        """If the node is in Python, register it so that C can call it."""
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
