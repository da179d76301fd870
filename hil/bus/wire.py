"""A pair of wires with nodes: who sends, how long it takes, who hears it, what goes wrong.

Frames are played whole, with the lengths of their bits. Effects that only a bit-by-bit simulation would show are left
out: noise that only some nodes see, overload frames, edges within a bit. A wire that is held dominant ends a frame six
bits on.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from femtorque.hil.bus.clock import Clock, Handle
from femtorque.hil.bus.frame import ACK, DELIMITER, INTERMISSION, Frame, Image, arbitration, image
from femtorque.hil.bus.node import OFF, Error, Node

FLAG, FLAG_DELIMITER = 6, 8  # bits, ISO 11898-1:2015, 10.4.4
PRESSED = 8  # dominant bits behind a flag that are one error more, 12.1.4.2 f
SUSPENDED = 8  # bits that an error passive node waits more after its own frame, 10.4.6.4
SEQUENCE = 11  # recessive bits in a row after which a bus is idle, 10.9.4
SWITCH = 20  # levels of a frame into which nodes of another bit rate have lost track, at the latest: two stuff errors
LOOP_DELAY = 150e-9  # s, transmit to receive pin of a transceiver for CAN FD; at most 255e-9 by ISO 11898-2:2016
ONE_TERMINATOR = 0.3  # share of frames that reflections disturb on a cable with an open end: chosen, not measured


@dataclass(frozen=True)
class Passed:
    """Frame that went over the wire: its end (s), the frame, and its error, None: none."""

    seconds: float
    frame: Frame
    error: Error | None


class _Wait:
    """Somebody waits for so many sequences of recessive bits."""

    def __init__(self, clock: Clock, left: int, sequence: float, action: Callable[[], None]) -> None:
        self._clock, self.left, self._sequence, self._action = clock, left, sequence, action
        self._event: Handle | None = None
        self._since = 0.0
        self.done = False

    def idle(self) -> None:
        self._since = self._clock.seconds
        self._event = self._clock.after(self.left * self._sequence, self._fire)

    def busy(self) -> None:
        if self._event:
            self._event.cancel()
            self._event = None
            self.left -= int((self._clock.seconds - self._since) / self._sequence + 1e-6)

    def over(self) -> None:
        """A frame and the pause after it end with one sequence."""
        self.left -= 1
        if self.left <= 0:
            self._fire()

    def cancel(self) -> None:
        self.done = True
        if self._event:
            self._event.cancel()

    def _fire(self) -> None:
        if not self.done:
            self.done = True
            self._action()


class Wire:
    """error_rate: share of frames that noise disturbs. terminators: of two. shorted: nothing can make it dominant.
    held: something keeps it dominant. log: called with every frame that has passed. busy_seconds: in all."""

    def __init__(self, clock: Clock, seed: int = 0) -> None:
        self.clock, self._random = clock, random.Random(seed)
        self.nodes: list[Node] = []
        self.error_rate, self.terminators, self.loop_delay = 0.0, 2, LOOP_DELAY
        self.shorted = self.held = False
        self.log: Callable[[Passed], None] = lambda passed: None
        self.busy_seconds = 0.0
        self.fast_phase = False  # whether the last error was in a data phase
        self._waits: list[_Wait] = []
        self._idle = True
        self._start: Handle | None = None
        self._last: list[Node] = []  # who sent the frame before, or sends this one
        self._sending: Frame | None = None  # on the wire
        self._playing: list[Handle] = []  # how that ends
        self._pressing: Handle | None = None  # the next error while it is held

    def attach(self, node: Node) -> None:
        self.nodes.append(node)

    @property
    def idle(self) -> bool:
        return self._idle

    # -- what nodes ask -----------------------------------------------------

    def ask(self, node: Node) -> None:
        """It has something to send: it begins with its next bit, if the wire is free."""
        if self._idle and self._start is None:
            self._start = self.clock.after(node.timing.bit, self._begin)

    def after_recessive(self, node: Node, sequences: int, action: Callable[[], None]) -> Handle:
        """Do something once a node has seen that many sequences of recessive bits."""
        wait = _Wait(self.clock, sequences, SEQUENCE * node.timing.bit, action)
        self._waits.append(wait)
        if self._idle:
            wait.idle()
        return wait

    # -- held dominant ------------------------------------------------------

    def hold(self) -> None:
        """Keep it dominant until it is released: whoever sends sees a wrong bit, everybody else a wrong stuffed one,
        and none of them a delimiter behind its flag."""
        self.held, self._idle = True, False
        self._occupy()
        for event in self._playing:
            event.cancel()
        senders, frame, self._sending = self._last if self._sending else [], self._sending, None
        hearers = [node for node in self.nodes if node.listening and node not in senders]
        if frame is not None:
            self.log(Passed(self.clock.seconds, frame, Error.RECESSIVE))
        bit = self._slowest
        self._pressing = self.clock.after(FLAG * bit, lambda: self._press(senders, hearers, bit, FLAG))

    @property
    def _slowest(self) -> float:
        return max((node.timing.bit for node in self.nodes), default=0.0)

    def _press(self, senders: list[Node], hearers: list[Node], bit: float, flag: int) -> None:
        """An error, and after a flag of so many bits one more for every eight (12.1.4.2, f)."""
        error = Error.RECESSIVE if flag else Error.FORM
        senders = [node for node in senders if node.listening]
        hearers = [node for node in hearers if node.listening and node.counters.receive < OFF]
        for node in senders:
            node.counters.failed(error)
            node.failed(error)
        for node in hearers:
            node.counters.disturbed(first=False) if flag else node.counters.pressed()
            node.disturbed(Error.STUFF if flag else Error.FORM)
        if senders or hearers:
            self._pressing = self.clock.after((flag + PRESSED) * bit, lambda: self._press(senders, hearers, bit, 0))

    def release(self) -> None:
        """Let go of it: all begin anew once it has been recessive for as long as an idle bus is."""
        self.held, self._idle = False, True
        if self._pressing:
            self._pressing.cancel()
        for wait in self._waits:
            wait.idle()
        self._start = self.clock.after(SEQUENCE * self._slowest, self._begin)

    # -- a frame ------------------------------------------------------------

    def _occupy(self) -> None:
        for wait in self._waits:
            wait.busy()
        if self._start:
            self._start.cancel()
            self._start = None

    def _begin(self) -> None:
        """The wire is free: whoever has something sends, and the lowest identifier goes on."""
        self._start = None
        offers = [(node, frame) for node in self.nodes if (frame := node.offer()) is not None]
        waiting = [(node, frame) for node, frame in offers if not (node in self._last and node.counters.passive)]
        if offers and not waiting:  # error passive nodes give way to others after their own frame
            self._last = []
            self._start = self.clock.after(SUSPENDED * offers[0][0].timing.bit, self._begin)
            return
        if not waiting:
            self._last = []
            return
        self._idle = False
        self._occupy()
        marks = [arbitration(frame) for _, frame in waiting]
        first = min(marks)
        for (node, _), mark in zip(waiting, marks, strict=True):
            if mark != first:
                node.lost()
        self._play([one for one, mark in zip(waiting, marks, strict=True) if mark == first])

    def _play(self, senders: list[tuple[Node, Frame]]) -> None:
        for node, _ in senders:
            node.began()
        node, frame = senders[0]
        self._sending = frame
        timing, fast = node.timing, node.fast
        picture, bit, data_bit = image(frame), timing.bit, (fast or timing).bit
        self._last = [sender for sender, _ in senders]
        hearers = [other for other in self.nodes if other.listening and other not in self._last]
        lost = [other for other in hearers if not other.follows(frame, timing, fast)]
        trouble = self._trouble(senders, hearers, lost, picture)
        if trouble is None:
            length = picture.length(bit, data_bit)
            self._playing = [self.clock.after(length - bit, lambda: self._hear(frame, hearers, lost))]
            self._end_after(length, bit, lambda: self._sent(frame))
            return
        self._playing, (error, at, first) = [], trouble
        self.fast_phase = picture.fast[0] < at <= picture.fast[1]
        flags = FLAG if error == Error.ACK or self.shorted else 2 * FLAG
        length = picture.seconds(at, bit, data_bit) + (flags + FLAG_DELIMITER) * bit
        self._end_after(length, bit, lambda: self._failed(frame, error, hearers, first))

    def _trouble(self, senders: list[tuple[Node, Frame]], hearers: list[Node], lost: list[Node],
                 picture: Image) -> tuple[Error, int, list[Node]] | None:
        """Error that ends the frame early: the sender's error, after which level, which node saw it first. lost:
        hearers that cannot read it."""
        _, frame = senders[0]
        if self.shorted:
            return Error.DOMINANT, 1, []
        clashes = [_difference(picture, image(other)) for _, other in senders[1:]]
        if any(clash is not None for clash in clashes):
            return Error.RECESSIVE, min(clash for clash in clashes if clash is not None), []
        loud = [other for other in lost if not other.counters.passive and not other.silent]
        if loud:
            return Error.RECESSIVE, min(SWITCH, len(picture.levels)), loud
        if frame.fast and not all(sender.sees_itself(self.loop_delay) for sender, _ in senders):
            return Error.RECESSIVE, picture.fast[0] + 1, []
        if self._random.random() < self._noise():
            return Error.STUFF, self._random.randrange(1, len(picture.levels) + 1), []
        helpers = [other for other in hearers if other not in lost and not other.silent]
        if not helpers and len(senders) == 1:
            return Error.ACK, len(picture.levels) + DELIMITER + ACK // 2, []
        return None

    def _noise(self) -> float:
        return max(self.error_rate, {2: 0.0, 1: ONE_TERMINATOR}.get(self.terminators, 1.0))

    def _end_after(self, seconds: float, bit: float, outcome: Callable[[], None]) -> None:
        self.busy_seconds += seconds + INTERMISSION * bit
        self._playing += [self.clock.after(seconds, outcome),
                          self.clock.after(seconds + INTERMISSION * bit, self._rest)]

    def _hear(self, frame: Frame, hearers: list[Node], lost: list[Node]) -> None:
        """One bit before its end, good for those that receive it (10.9.6), unless its sender has left."""
        whole = any(other.listening for other in self._last)
        for node in hearers:
            if not node.listening:
                continue
            if whole and node not in lost:
                node.counters.heard()
                node.heard(frame)
            else:
                node.counters.disturbed(first=True)
                node.disturbed(Error.STUFF)

    def _sent(self, frame: Frame) -> None:
        self._sending = None
        for node in self._last:
            if node.listening:
                node.counters.sent()
                node.sent()
        self.log(Passed(self.clock.seconds, frame, None))

    def _failed(self, frame: Frame, error: Error, hearers: list[Node], first: list[Node]) -> None:
        self._sending = None
        for node in () if self.shorted or error == Error.ACK else hearers:
            node.counters.disturbed(node in first)
            node.disturbed(Error.STUFF)
        for node in self._last:
            if node.listening:
                node.counters.failed(error)
                node.failed(error)
        self.log(Passed(self.clock.seconds, frame, error))

    def _rest(self) -> None:
        """Frame and intermission are over."""
        for wait in self._waits:
            wait.over()
        self._waits = [wait for wait in self._waits if not wait.done]
        self._idle = True
        for wait in self._waits:
            wait.idle()
        self._begin()


def _difference(a: Image, b: Image) -> int | None:
    """How many levels two frames share, None if all."""
    if a.levels == b.levels:
        return None
    shared = (at for at, (x, y) in enumerate(zip(a.levels, b.levels, strict=False)) if x != y)
    return next(shared, min(len(a.levels), len(b.levels))) + 1
