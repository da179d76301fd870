"""A CAN bus ("wire") and its nodes. wire.c decides who sends, for how long, who receives, and which errors occur."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from femtorque.hil.bus.frame import Frame, taken
from femtorque.hil.bus.node import Error, OnWire, Ways
from femtorque.hil.clock import EventClock, Member

LOOP_DELAY = 150e-9  # time from transmit to receive pin of a CAN FD transceiver, s; ISO 11898-2:2016 allows 255e-9


@dataclass(frozen=True)
class Passed:
    """A frame that was sent on the bus."""

    seconds: float  # time of its end, s
    frame: Frame
    error: Error | None  # error that destroyed the frame; None for a valid frame


class Wire:
    """A CAN bus ("wire"). error_rate: fraction of disturbed frames. terminators: number of resistors, normally two.
    shorted: true if the bus is never dominant. held: true if it is always dominant. log: called with each sent frame.
    busy_seconds: time of all frames so far. idle: true if no node sends and the bus is not held."""

    error_rate, loop_delay, busy_seconds = Member(float), Member(float), Member(float)
    terminators = Member(int)
    shorted, held, idle = Member(bool), Member(bool), Member(bool)

    def __init__(self, clock: EventClock, seed: int = 0) -> None:
        self.clock, parts = clock, clock.parts
        self._lib, self._ffi, self._random = parts.lib, parts.ffi, random.Random(seed)
        self.nodes: list[OnWire] = []
        self._log: Callable[[Passed], None] = lambda passed: None
        failed = {"onerror": parts.refuse}
        self._calls = {
            "noise": self._ffi.callback("int32_t(double, int32_t)", self._noise, **failed),
            "passed": self._ffi.callback("void(const can_frame *, int32_t)", self._passed, **failed)}
        self.state = self._ffi.new("wire *", {"loop_delay": LOOP_DELAY, "noise": self._calls["noise"]})
        self._ways = Ways(parts)
        self._lib.wire_begin(self.state, parts.state)

    def attach(self, node: OnWire) -> None:
        self.nodes.append(node)
        self._ways.plug(node)
        self._do("wire_attach", node.node)

    def _do(self, name: str, *rest: Any) -> None:
        getattr(self._lib, name)(self.state, *rest)
        self.clock.parts.check()

    # -- what Python does ---------------------------------------------------

    def _noise(self, share: float, levels: int) -> int:
        """Return the level after which noise disturbs a frame, or 0. Each frame without noise takes a number too."""
        numbers = self._random
        for _ in range(self.state.calm):
            numbers.random()
        self.state.calm = 0
        return numbers.randrange(1, levels + 1) if numbers.random() < share else 0

    @property
    def log(self) -> Callable[[Passed], None]:
        return self._log

    @log.setter
    def log(self, log: Callable[[Passed], None]) -> None:
        self._log, self.state.passed = log, self._calls["passed"]

    def _passed(self, frame: Any, error: int) -> None:
        self._log(Passed(self.clock.seconds, taken(frame), Error(error) if error else None))

    # -- questions of nodes -------------------------------------------------

    def ask(self, node: OnWire) -> None:
        """Ask the node for its present frame. On a free bus the frame begins at the node's next bit."""
        self._do("wire_ask", node.node)

    def hold(self) -> None:
        """Hold the bus dominant until `release` is called."""
        self._do("wire_hold")

    def release(self) -> None:
        """Release the wire."""
        self._do("wire_release")

