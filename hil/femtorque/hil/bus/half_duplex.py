"""A half-duplex serial bus ("wire"), 8N1. C (half_duplex.c) decides which node receives which bytes at which time,
corrupts disturbed bytes, and calls the servos, in C or in Python."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from femtorque.hil.clock import EventClock, Member, library

BITS = 10  # start, eight, stop


@dataclass(frozen=True)
class Question:
    """A packet that servos answer."""

    ids: Sequence[int]  # ids of the servos, in the order of their answers
    size: int  # bytes of each answer
    gap: float | None = None  # time between the servos' bytes in a common answer, s; None for separate answers


@dataclass(frozen=True)
class Framing:
    """The packets of a protocol. split: returns the begin and end of the first packet in a burst; the two are equal if
    there is no packet. in_c: returns the address of a `framing` of half_duplex.h, which has both functions in C."""

    split: Callable[[bytes], tuple[int, int]] = lambda burst: (0, 0)
    question: Callable[[bytes], Question | None] = lambda packet: None  # returns the question in a packet, or None
    in_c: Callable[[], int] | None = None


class OnLine(Protocol):
    """A servo, implemented in C or in Python."""

    wired: Any  # `servo` of half_duplex.h


class ServoInPython(ABC):
    """A servo whose packets Python handles. delay: s, from a question or previous answer to its answer."""

    def __init__(self) -> None:
        ffi = library()[0]
        self._handle = ffi.new_handle(self)
        self.wired = ffi.new("servo *", {"of": self._handle})

    @property
    @abstractmethod
    def id(self) -> int: ...

    @property
    @abstractmethod
    def delay(self) -> float: ...

    @property
    @abstractmethod
    def listening(self) -> bool: ...

    @abstractmethod
    def heard(self, packet: bytes) -> None:
        """Execute a packet that needs no answer. All servos get it."""

    @abstractmethod
    def answer(self, packet: bytes, before: bytes) -> bytes:
        """Return the answer to a question, or nothing. before: bytes of other servos that precede it."""


class OneWire:
    """A half-duplex bus. error_rate: fraction of disturbed packets. shorted: true if the bus is always low. babbles:
    true if a node sends without a pause. arrive: called with the board's bytes, and true if these are disturbed. log:
    called with time, s, and packet."""

    error_rate, shorted, babbles = Member(float), Member(bool), Member(bool)

    def __init__(self, clock: EventClock, bitrate: float, framing: Framing, seed: int = 0) -> None:
        self.clock, self.byte, self._parts = clock, BITS / bitrate, clock.parts
        self._ffi, self._lib, self._random = clock.parts.ffi, clock.parts.lib, random.Random(seed)
        self._calls: dict[str, Any] = {}  # callbacks to Python, by name
        self._framing, self._ways = self._framed(framing), self._servos_ways()
        self.state = self._ffi.new("one_wire *", {
            "parts": self._parts.state, "framing": self._framing, "byte": self.byte,
            "noise": self._call("noise", "int32_t(void)", lambda: self._random.random() < self.error_rate),
            "babble": self._call("babble", "int32_t(void)", lambda: self._random.randrange(256))})
        self._servos: tuple[OnLine, ...] = ()
        self._arrive: Callable[[bytes, bool], None] = lambda data, disturbed: None
        self._log: Callable[[float, bytes], None] = lambda seconds, packet: None

    def _call(self, name: str, kind: Any, function: Callable[..., Any]) -> Any:
        """Return a callback to a Python function, and keep a reference to the callback under a name."""
        self._calls[name] = self._ffi.callback(kind, function, onerror=self._parts.refuse)
        return self._calls[name]

    def _bytes(self, data: Any, size: int) -> bytes:
        return bytes(self._ffi.buffer(data, size))

    @property
    def servos(self) -> tuple[OnLine, ...]:
        return self._servos

    @servos.setter
    def servos(self, servos: Sequence[OnLine]) -> None:
        self._servos, self.state.servos = tuple(servos), self._ffi.NULL
        for servo in self._servos:
            wired = self._ffi.cast("servo *", servo.wired)
            wired.parts = self._parts.state
            if isinstance(servo, ServoInPython):
                wired.ways = self._ways
            self._lib.one_wire_attach(self.state, wired)

    # -- the board's side ---------------------------------------------------

    def sent(self, data: bytes, seconds: float, before: float = 0.0, after: float = 0.0) -> None:
        """Send bytes of the board. Each byte takes the given number of seconds. before, after: time for which the
        board's driver is on before the first byte and after the last byte, s."""
        self._lib.one_wire_sent(self.state, data, len(data), seconds, before, after)
        self._parts.check()

    def packets(self, burst: bytes) -> int:
        """Return the number of packets in a burst."""
        return int(self._lib.one_wire_packets(self.state, burst, len(burst)))

    def echo(self, data: bytes) -> bytes:
        """Return the bytes that are on the bus while the board sends bytes."""
        return bytes(self._lib.one_wire_echo(self.state, byte) for byte in data)

    @property
    def arrive(self) -> Callable[[bytes, bool], None]:
        return self._arrive

    @arrive.setter
    def arrive(self, arrive: Callable[[bytes, bool], None]) -> None:
        self._arrive, kind = arrive, self._ffi.typeof(self.state.arrive)
        self.state.arrive = self._call(
            "arrive", kind, lambda of, data, size, disturbed: arrive(self._bytes(data, size), bool(disturbed)))

    @property
    def log(self) -> Callable[[float, bytes], None]:
        return self._log

    @log.setter
    def log(self, log: Callable[[float, bytes], None]) -> None:
        self._log, kind = log, self._ffi.typeof(self.state.log)
        self.state.log = self._call("log", kind, lambda at, data, size: log(at, self._bytes(data, size)))

    # -- what is in Python --------------------------------------------------

    def _framed(self, framing: Framing) -> Any:
        """Return a `framing` of C."""
        if framing.in_c is not None:
            return self._ffi.cast("framing *", framing.in_c())

        def split(burst: Any, size: int, skipped: Any) -> int:
            skipped[0], end = framing.split(self._bytes(burst, size))
            return end - int(skipped[0])

        def ask(packet: Any, size: int, place: Any) -> bool:
            found = framing.question(self._bytes(packet, size))
            if found is None:
                return False
            place.gap = -1.0 if found.gap is None else found.gap
            place.size, place.count, place.ids[0:len(found.ids)] = found.size, len(found.ids), list(found.ids)
            return True

        return self._functions("framing", split=split, ask=ask)

    def _servos_ways(self) -> Any:
        """Return the `servo_ways` of C for servos in Python."""
        def of(place: Any) -> ServoInPython:
            servo: ServoInPython = self._ffi.from_handle(place.of)
            return servo

        def look(place: Any) -> None:
            servo = of(place)
            place.id, place.delay, place.listening = servo.id, servo.delay, servo.listening

        def answer(place: Any, packet: Any, size: int, whole: Any, before: int) -> int:
            said = of(place).answer(self._bytes(packet, size), self._bytes(whole, before))
            if len(said) > self._lib.ANSWER_SIZE:
                raise ValueError(f"an answer of {len(said)} bytes: a wire has room for {self._lib.ANSWER_SIZE}")
            self._ffi.memmove(whole + before, said, len(said))
            return len(said)

        def heard(place: Any, packet: Any, size: int) -> None:
            of(place).heard(self._bytes(packet, size))

        return self._functions("servo_ways", look=look, answer=answer, heard=heard)

    def _functions(self, kind: str, **functions: Callable[..., Any]) -> Any:
        """Return a struct of callbacks to Python functions."""
        types = dict(self._ffi.typeof(kind).fields)
        return self._ffi.new(f"{kind} *", {name: self._call(name, types[name].type, function)
                                           for name, function in functions.items()})


class Tap:
    """An external program that replaces the board on a bus. The program exchanges plain bytes. The program does not
    receive an echo of the bytes that it sends. send: called with the servos' answers."""

    def __init__(self, line: OneWire, send: Callable[[bytes], None]) -> None:
        self._line, others = line, line.arrive

        def arrive(data: bytes, disturbed: bool) -> None:
            others(data, disturbed)
            send(data)

        line.arrive = arrive

    def flush(self) -> None:
        """Do nothing, because answers are sent at once."""

    def take(self, data: bytes) -> int:
        """Accept a burst of whole packets from the program outside. Returns the number of packets, at least 1."""
        self._line.sent(data, self._line.byte)
        return max(self._line.packets(data), 1)
