"""One wire on which a board and servos send in turn, 8N1: which node receives which bytes when, and what spoils them.

Bytes are played whole. The board sends bursts of whole packets. Servos answer a question to many of them in the order
in which it names them, each at the end of the answer before.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from femtorque.hil.bus.clock import Clock

BITS = 10  # start, eight, stop
MISSING = 100e-6  # s that a servo waits in addition for a missing answer before its own; chosen


@dataclass(frozen=True)
class Question:
    """ids: of the servos that answer, in this order. size: bytes of each answer."""

    ids: Sequence[int]
    size: int


@dataclass(frozen=True)
class Framing:
    """split: packets of a burst of the board's bytes. question: a packet that servos answer; None for any other."""

    split: Callable[[bytes], Iterable[bytes]]
    question: Callable[[bytes], Question | None]


class Servo(Protocol):
    """id: its number. delay: s from the end of a question, or of the answer before, to its own answer."""

    @property
    def id(self) -> int: ...

    @property
    def delay(self) -> float: ...

    @property
    def listening(self) -> bool: ...

    def heard(self, packet: bytes) -> None:
        """Obey a packet to all servos that is no question."""

    def answer(self, packet: bytes) -> bytes:
        """Its answer to the packet of a question."""

    def twin(self) -> Servo:
        """Another servo of its number, as it comes."""


class OneWire:
    """error_rate: share of packets that noise disturbs. shorted: it is low, whatever is sent. arrive: passes bytes to
    the board, and whether they are disturbed. on_pin: true if the board's pin is on the wire."""

    def __init__(self, clock: Clock, bitrate: float, framing: Framing, seed: int = 0) -> None:
        self.clock, self.byte, self._framing = clock, BITS / bitrate, framing
        self.servos: list[Servo] = []
        self.error_rate, self.shorted, self.babbles = 0.0, False, False
        self.arrive: Callable[[bytes, bool], None] = lambda data, disturbed: None
        self.on_pin: Callable[[], bool] = lambda: True
        self.log: Callable[[float, bytes], None] = lambda seconds, packet: None
        self._random = random.Random(seed)
        self._burst = 0  # number of the board's last burst

    # -- the board's side ---------------------------------------------------

    @property
    def connected(self) -> bool:
        return self.on_pin()

    def echo(self, data: bytes) -> bytes:
        if self.shorted:
            return bytes(len(data))
        if self.babbles:
            return bytes(byte & self._random.randrange(256) for byte in data)
        return data

    def sent(self, data: bytes, seconds: float) -> None:
        """Send bytes of the board. Servos that have not answered an older question drop it; at another rate no servo
        reads the bytes."""
        self._burst += 1
        if self.shorted or self.babbles or abs(seconds - self.byte) > 0.02 * self.byte:
            return
        at = 0
        for packet in self._framing.split(data):
            at += len(packet)
            self.clock.after(at * seconds, partial(self._heard, packet, self._burst))

    # -- the servos' --------------------------------------------------------

    def _disturbed(self) -> bool:
        return bool(self.error_rate) and self._random.random() < self.error_rate

    def _heard(self, packet: bytes, burst: int) -> None:
        """Pass a packet to all servos."""
        if burst != self._burst or self._disturbed() or self.shorted:
            return
        self.log(self.clock.seconds, packet)
        if (question := self._framing.question(packet)) is not None:
            self._ask(packet, question, burst)
            return
        for servo in self.servos:
            if servo.listening:
                servo.heard(packet)

    def _ask(self, packet: bytes, left: Question, burst: int) -> None:
        """Let the next of the servos that are left answer."""
        if not left.ids:
            return
        named = [s for s in self.servos if s.id == left.ids[0] and s.listening]
        others = replace(left, ids=left.ids[1:])
        if named:
            self.clock.after(max(s.delay for s in named), lambda: self._answer(named, packet, others, burst))
        else:
            self.clock.after(MISSING + left.size * self.byte, lambda: self._ask(packet, others, burst))

    def _answer(self, named: list[Servo], packet: bytes, left: Question, burst: int) -> None:
        """Send the answers of all servos with one number, which spoil each other."""
        if burst != self._burst:
            return
        packets = [servo.answer(packet) for servo in named]
        data = bytes(byte & other for byte, other in zip(packets[0], packets[-1], strict=True))
        self.log(self.clock.seconds, data)
        disturbed = self._disturbed() or self.shorted or self.babbles
        if disturbed:
            data = bytes([0 if self.shorted else data[0] ^ 0x10]) + data[1:]
        self.arrive(data, disturbed or len(named) > 1)
        self.clock.after(len(data) * self.byte, lambda: self._ask(packet, left, burst))
