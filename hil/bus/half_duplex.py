"""One wire on which a board and servos talk in turn, 8N1: who hears what when, and what spoils it.

Bytes are played whole. The board's come as bursts of whole packets; servos answer a question to many of them in the
order in which it names them, each when the one before has ended (Feetech's memory table, SYNC READ; LeRobot reads six
SO-101 servos so).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Protocol

from femtorque.hil.bus.clock import Clock

BITS = 10  # start, eight, stop
HEADER = 4  # bytes before what the length counts
MISSING = 100e-6  # s for which a servo waits more for one that should have answered before it; chosen


class Servo(Protocol):
    """id: its number. delay: s from the end of what it answers to its answer."""

    @property
    def id(self) -> int: ...

    @property
    def delay(self) -> float: ...

    @property
    def listening(self) -> bool: ...

    def told(self, packet: bytes) -> None:
        """A packet to all that is no question."""

    def answer(self, register: int, size: int) -> bytes:
        """To a question: its packet."""


class OneWire:
    """error_rate: share of packets that noise disturbs. shorted: it is low, whatever anybody sends. arrive: takes
    bytes to the board, with whether each is disturbed. on_pin: whether the board's pin is on it."""

    def __init__(self, clock: Clock, bitrate: float, seed: int = 0) -> None:
        self.clock, self.byte = clock, BITS / bitrate
        self.servos: list[Servo] = []
        self.error_rate, self.shorted, self.babbles = 0.0, False, False
        self.arrive: Callable[[bytes, bool], None] = lambda data, disturbed: None
        self.on_pin: Callable[[], bool] = lambda: True
        self.log: Callable[[float, bytes], None] = lambda seconds, packet: None
        self._random = random.Random(seed)
        self._burst = 0  # number of the board's latest

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
        """Whoever was about to answer an older question hears the new packets instead. At another rate nobody does."""
        self._burst += 1
        if self.shorted or self.babbles or abs(seconds - self.byte) > 0.02 * self.byte:
            return
        at = 0
        while at + HEADER <= len(data):
            packet = data[at:at + HEADER + data[at + 3]]
            at += len(packet)
            self.clock.after(at * seconds, partial(self._heard, packet, self._burst))

    # -- the servos' --------------------------------------------------------

    def _disturbed(self) -> bool:
        return bool(self.error_rate) and self._random.random() < self.error_rate

    def _heard(self, packet: bytes, burst: int) -> None:
        """All servos hear the same."""
        if burst != self._burst or self._disturbed() or self.shorted:
            return
        self.log(self.clock.seconds, packet)
        if packet[4] == 0x82:
            self._ask(packet[5], packet[6], list(packet[7:-1]), burst)
            return
        for servo in self.servos:
            if servo.listening:
                servo.told(packet)

    def _ask(self, register: int, size: int, left: list[int], burst: int) -> None:
        """The next of those that are asked."""
        if not left:
            return
        named = [s for s in self.servos if s.id == left[0] and s.listening]
        if named:
            self.clock.after(max(s.delay for s in named),
                             lambda: self._answer(named, register, size, left[1:], burst))
        else:
            self.clock.after(MISSING + (6 + size) * self.byte, lambda: self._ask(register, size, left[1:], burst))

    def _answer(self, named: list[Servo], register: int, size: int, left: list[int], burst: int) -> None:
        """Two of one number spoil each other's."""
        if burst != self._burst:
            return
        packets = [servo.answer(register, size) for servo in named]
        data = bytes(byte & other for byte, other in zip(packets[0], packets[-1], strict=True))
        self.log(self.clock.seconds, data)
        disturbed = self._disturbed() or self.shorted or self.babbles
        if disturbed:
            data = bytes([0 if self.shorted else data[0] ^ 0x10]) + data[1:]
        self.arrive(data, disturbed or len(named) > 1)
        self.clock.after(len(data) * self.byte, lambda: self._ask(register, size, left, burst))
