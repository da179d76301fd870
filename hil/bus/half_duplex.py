"""One wire on which a board and servos send in turn, 8N1: which node receives which bytes when, and what spoils them.

Bytes are played whole. The board sends bursts of whole packets. Servos answer a question to many of them in the order
in which it names them, each at the end of the answer before; or they make one answer together, to which each adds its
part, until one is missing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Protocol

from femtorque.hil.bus.clock import Clock

BITS = 10  # start, eight, stop
MISSING = 100e-6  # s that a servo waits in addition for a missing answer before its own; chosen


@dataclass(frozen=True)
class Question:
    """ids: of the servos that answer, in this order. size: bytes of each answer. gap: s between their parts, if they
    make one answer together."""

    ids: Sequence[int]
    size: int
    gap: float | None = None


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

    def answer(self, packet: bytes, before: bytes) -> bytes:
        """Its answer to the packet of a question, empty for none. before: the parts of others before it."""

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
        self._driven = 0.0  # s until which the board's driver is on

    def packets(self, burst: bytes) -> Iterable[bytes]:
        return self._framing.split(burst)

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

    def sent(self, data: bytes, seconds: float, before: float = 0.0, after: float = 0.0) -> None:
        """Send bytes of the board. Servos that have not answered an older question drop it; at another rate no servo
        reads the bytes. before, after: s for which the board's driver is on before the first byte and behind the last
        one: an answer that begins by then is spoiled."""
        self._burst += 1
        self._driven = self.clock.seconds + before + len(data) * seconds + after
        if self.shorted or self.babbles or abs(seconds - self.byte) > 0.02 * self.byte:
            return
        at = 0
        for packet in self._framing.split(data):
            at += len(packet)
            self.clock.after(before + at * seconds, partial(self._heard, packet, self._burst))

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

    def _ask(self, packet: bytes, left: Question, burst: int, before: bytes = b"") -> None:
        """Let the next of the servos that are left answer."""
        if not left.ids:
            return
        named = [s for s in self.servos if s.id == left.ids[0] and s.listening]
        others = Question(left.ids[1:], left.size, left.gap)
        if named:
            wait = max(s.delay for s in named) if left.gap is None or not before else left.gap
            self.clock.after(wait, lambda: self._answer(named, packet, others, burst, before))
        elif left.gap is None:
            self.clock.after(MISSING + left.size * self.byte, lambda: self._ask(packet, others, burst))

    def _answer(self, named: list[Servo], packet: bytes, left: Question, burst: int, before: bytes) -> None:
        """Send the answers of all servos with one number, which spoil each other."""
        if burst != self._burst:
            return
        packets = [servo.answer(packet, before) for servo in named]
        data = bytes(byte & other for byte, other in zip_longest(packets[0], packets[-1], fillvalue=0xFF))
        if not data:
            return
        self.log(self.clock.seconds, data)
        disturbed = self._disturbed() or self.shorted or self.babbles or self.clock.seconds < self._driven
        if disturbed:
            data = bytes([0 if self.shorted else data[0] ^ 0x10]) + data[1:]
        self.arrive(data, disturbed or len(named) > 1)
        self.clock.after(len(data) * self.byte, lambda: self._ask(packet, left, burst, before + data))


class Tap:
    """A program outside on a wire, in the board's place: bytes as they are, without those that it sends itself. send:
    called with what servos answer."""

    def __init__(self, line: OneWire, send: Callable[[bytes], None]) -> None:
        self._line, others = line, line.arrive

        def arrive(data: bytes, disturbed: bool) -> None:
            others(data, disturbed)
            send(data)

        line.arrive = arrive

    def take(self, data: bytes) -> int:
        """A burst from outside: whole packets. Returns their number, 1 at least."""
        self._line.sent(data, self._line.byte)
        return max(sum(1 for _ in self._line.packets(data)), 1)
