"""The common part of the families' serial links and of the DMA streams that serve them: bytes take time on the wire.

The end of a burst is the only event. Everything else is brought up to date when the image reads it or the board needs
it, byte by byte with each byte's own time. Interrupts on an idle line and on errors are modelled; others are refused.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from femtorque.hil.chip.events import NEVER, Event, Events
from femtorque.hil.chip.lending import Lendable, Lending
from femtorque.hil.chip.registers import Peripheral, Unmodelled

TE, RE, IDLEIE = 1 << 3, 1 << 2, 1 << 4
PE, FE, NE, ORE, IDLE, RXNE, TC, TXE = (1 << bit for bit in range(8))
ERRORS = PE | FE | NE | ORE
EIE, HDSEL, DMAR, DMAT = 1 << 0, 1 << 3, 1 << 6, 1 << 7
_BITS = 10  # start, eight data, stop
_LENT = 1024  # bytes of either direction: LINK_BYTES of link.h


class HalfDuplex(Protocol):
    """A wire on which both sides send. connected: true if the USART's pin is on it."""

    @property
    def connected(self) -> bool: ...

    def sent(self, data: bytes, seconds: float) -> None:
        """Send the USART's bytes from now on, each in so many seconds."""

    def echo(self, data: bytes) -> bytes:
        """The bytes that the wire carries while these are sent."""


class Serial(Lendable):
    """8 data bits, no parity, one stop bit. A family names its registers and the place of UE; STEPS: of BRR per clock.

    request: drives the interrupt request; interrupt: its number, if the request goes nowhere else. dma_cycles: for
    which a byte waits in the data register until DMA takes it: some cycles, more while others use the bus (AN4031,
    total transfer time). 0 unless a test sets it.
    """

    clock_hz: Callable[[], float]  # of the processor, whose cycles are the unit of time
    UE: ClassVar[int]
    STEPS: ClassVar[int] = 1
    LEAST: ClassVar[int] = 16
    BY_READING: ClassVar[bool]  # true if reading the data register clears flags that have been read
    PLACES: ClassVar[dict[str, int]]  # registers that are lent, by their names in C (link.h)
    _seen = 0  # flags that a read of the status register has shown

    def __init__(self, name: str, base: int, events: Events, cycles_per_clock: Callable[[], float]) -> None:
        self.events, self._cycles_per_clock = events, cycles_per_clock
        self.request: Callable[[bool], None] = lambda asserted: None
        self.interrupt: int | None = None
        self.receive_stream: Stream | None = None  # the DMA stream that serves this request
        self.transmit_stream: Stream | None = None
        self._line_in: deque[tuple[float, int, int]] = deque()  # (cycle of arrival, byte, its errors)
        self._line_free = 0.0
        self._out = bytearray()
        self._quiet: Event | None = None
        self._dma_cycles = 0
        self.wire: HalfDuplex | None = None
        self.watchers: list[Callable[[], None]] = []  # called at changes that do not come with time alone
        super().__init__(name, base)
        self.reset()

    def reset(self) -> None:
        self.clear()
        self._status = TXE | TC
        self._received = 0
        self._held: int | None = None  # the transmit data register, while the shift register is busy
        self._shifting: tuple[float, int] | None = None  # (cycle at which the byte is out, byte)
        self._complete_cleared = False  # TC was cleared since the last byte was out
        self.receive_stream = self.transmit_stream = None
        self.request(False)
        self._call_watchers()

    @property
    def dma_cycles(self) -> int:
        return self._dma_cycles

    @dma_cycles.setter
    def dma_cycles(self, cycles: int) -> None:
        self.recall()
        self._dma_cycles = cycles
        self.touched()

    def _call_watchers(self) -> None:
        for watcher in self.watchers:
            watcher()

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        self._call_watchers()

    @property
    def settled_until(self) -> int:
        """Cycle before which no byte comes or goes, once the link has caught up."""
        arrival = self._line_in[0][0] if self._line_in else NEVER
        return math.ceil(min(arrival, self._shifting[0] if self._shifting else NEVER))

    @property
    @abstractmethod
    def receive_address(self) -> int:
        """Address of the data register that DMA reads."""

    @property
    @abstractmethod
    def transmit_address(self) -> int: ...

    @property
    def byte_cycles(self) -> float:
        return _BITS * self.value["BRR"] / self.STEPS * self._cycles_per_clock()

    def line_in(self, data: bytes, errors: int = 0) -> None:
        """Put bytes on the wire from the other side, one after another from now on; errors: FE, NE of each byte."""
        if self.out and not errors and data and self._lent_line_in(data):
            return
        self.catch_up()
        self._call_watchers()
        spacing = self.byte_cycles
        at = max(float(self.events.now), self._line_free)
        for byte in data:
            at += spacing
            self._line_in.append((at, byte, errors))
        self._line_free = at
        if self._quiet:
            self._quiet.cancel()
        self._quiet = self.events.at(round(at + spacing), self._line_idle) if data else None
        self.touched()

    def sending(self, stream: Stream) -> None:
        """Begin to send bytes of DMA. In half duplex (RM0090 30.3.10, RM0440 37.5.16) the receiver is at the
        transmitter's pin: it receives these bytes too, and others that send meanwhile spoil them."""
        if not self.value["CR3"] & HDSEL:
            return
        data = stream.ahead
        self.catch_up()
        self._call_watchers()
        spacing, now = self.byte_cycles, float(self.events.now)
        others = [entry for entry in self._line_in if entry[0] > now]
        self._line_in = deque(entry for entry in self._line_in if entry[0] <= now)
        if self.wire is None or not self.wire.connected:
            return
        for k, byte in enumerate(self.wire.echo(data)):
            begins, ends = now + k * spacing, now + (k + 1) * spacing
            spoilt = [other for at, other, _ in others if begins < at < ends + spacing]
            for other in spoilt:
                byte &= other
            self._line_in.append((ends, byte, FE | NE if spoilt else 0))
        self._line_free = now + len(data) * spacing
        self.wire.sent(b"" if others else data, spacing / self.clock_hz())

    def _line_idle(self) -> None:
        """Set the idle flag after a character's time without a character."""
        self._quiet = None
        self.catch_up()
        if self.value["CR1"] & (self.UE | RE) == self.UE | RE:
            self._status |= IDLE
            self._ask()

    def _ask(self) -> None:
        """Drive the interrupt request by the flags and their enables."""
        self.request(bool(self.value["CR1"] & IDLEIE and self._status & IDLE
                          or self.value["CR3"] & EIE and self._status & (FE | NE | ORE)))

    def line_out(self) -> bytes:
        """Bytes that have left since the last call."""
        if self.out and (left := self._lent_line_out()) is not None:
            return left
        self.catch_up()
        data, self._out = bytes(self._out), bytearray()
        return data

    @property
    def waiting(self) -> int:
        """Number of bytes on the wire that have not arrived yet."""
        self.recall()
        return len(self._line_in)

    def catch_up(self) -> None:
        self.recall()
        self._receive()
        self._transmit()

    def _receive(self) -> None:
        """Receive the bytes that have arrived: by DMA while it takes bytes, otherwise through the data register."""
        line, now = self._line_in, self.events.now - (self.dma_cycles if self._served else 0)
        if not line or line[0][0] > now:
            return
        arrived, errors = bytearray(), 0
        while line and line[0][0] <= now:
            _, byte, wrong = line.popleft()
            arrived.append(byte)
            errors |= wrong
        if self.value["CR1"] & (self.UE | RE) != self.UE | RE:
            return
        self._status |= errors
        taken = self.receive_stream.put(arrived) if self.receive_stream and self._served else 0
        if taken:
            self._dma_has_read()
        for byte in arrived[taken:]:
            if self._status & RXNE:
                self._status |= ORE
            else:
                self._received = byte
                self._status |= RXNE
        if self._status & ERRORS:
            self._ask()

    @property
    def _served(self) -> bool:
        """Let DMA take the bytes that have come."""
        return bool(self.value["CR3"] & DMAR and self.receive_stream and self.receive_stream.enabled)

    @property
    def _waiting_for_dma(self) -> bool:
        return bool(self._served and self._line_in and self._line_in[0][0] <= self.events.now)

    def _dma_has_read(self) -> None:
        """Note that DMA has read the data register, which clears flags in one family."""

    def _transmit(self) -> None:
        """Send the byte that has been shifted out by now, and the bytes after it."""
        self._refill()
        now = float(self.events.now)
        if self._shifting is None:
            if self._held is not None:
                self._shifting, self._held = (now + self.byte_cycles, self._held), None
                self._refill()
            return
        end, byte = self._shifting
        if end > now:
            return
        period = self.byte_cycles
        gone = 1 + int((now - end) // period)
        queue = [byte, *([] if self._held is None else [self._held]), *self._fetched(gone)]
        self._out += bytes(queue[:gone])
        follows, self._held, *_ = *queue[gone:], None, None
        self._shifting = None if follows is None else (end + gone * period, follows)

    def _refill(self) -> None:
        """Let DMA fill the transmit data register when it is empty."""
        if self._held is None and (fetched := self._fetched(1)):
            self._held, self._complete_cleared = fetched[0], False

    def _clear_complete(self) -> None:
        """Clear TC until the end of the next byte."""
        self.catch_up()
        self._complete_cleared = self._shifting is None and self._held is None

    def _fetched(self, count: int) -> bytes:
        """As many of the next `count` bytes as DMA has."""
        stream = self.transmit_stream
        return stream.take(count) if stream and stream.left and self.value["CR3"] & DMAT else b""

    # registers that the families name
    def _flags(self) -> int:
        self.catch_up()
        idle = self._shifting is None and self._held is None
        waits = RXNE if self._waiting_for_dma else 0
        complete = TC if idle and not self._complete_cleared else 0
        return self._status & ~(TXE | TC) | waits | (TXE if self._held is None else 0) | complete

    def _take_received(self) -> int:
        self.catch_up()
        self._call_watchers()
        if self._waiting_for_dma:  # DMA will never take it
            return self._line_in.popleft()[1]
        self._status &= ~RXNE
        return self._received

    def _put(self, value: int) -> None:
        self.catch_up()
        if self.value["CR1"] & (self.UE | TE) != self.UE | TE:
            raise Unmodelled(f"{self.name} sent to while its transmitter is off")
        self._held, self._complete_cleared = value & 0xFF, False
        self._transmit()

    def write_BRR(self, value: int) -> None:
        if value < self.LEAST:
            raise Unmodelled(f"{self.name}.BRR = {value}: below {self.LEAST}")
        self.catch_up()
        self.value["BRR"] = value

    def write_CR1(self, value: int) -> None:
        self.catch_up()
        self.value["CR1"] = value
        self._ask()

    def write_CR3(self, value: int) -> None:
        self.catch_up()
        self.value["CR3"] = value
        self._ask()


    # -- lent (femtorque.hil.chip.lending) ----------------------------------------------

    def touched(self) -> None:
        """Lend the link to C, unless it is on a wire with others."""
        if self.wire is None:
            super().touched()

    def _lend(self, lending: Lending) -> bool:
        state, streams = lending.state.link, (self.receive_stream, self.transmit_stream)
        wanted, value = (self.UE | RE | TE, DMAR | DMAT), self._value
        usual = (value["CR1"] & wanted[0], value["CR3"] & (wanted[1] | HDSEL)) == wanted and self.clocked
        if state.lent or not usual or self.interrupt is None or self.wire or self.dma_cycles or self._complete_cleared:
            return False
        self.catch_up()
        clean = not (self._status & (ERRORS | RXNE) or any(errors for _, _, errors in self._line_in))
        if not clean or len(self._line_in) > _LENT // 2 or not all(s and s.lendable(lending) for s in streams):
            return False
        for side, stream in enumerate(streams):
            assert stream is not None
            self._places += stream.lend(lending, state.streams[side], side)
        self._fill(state)
        self._places += [lending.place(self, offset, lending.what(what))
                         for what, offset in self.PLACES.items()]
        lending.give(state.quiet, self._quiet)
        return True

    def _fill(self, state: Any) -> None:
        state.lent, state.interrupt, state.by_reading = True, self.interrupt, self.BY_READING
        state.asks, state.byte_cycles = bool(self._value["CR1"] & IDLEIE), self.byte_cycles
        state.until, state.first, state.last, state.gone = self._line_free, 0, len(self._line_in), 0
        for i, (at, byte, _) in enumerate(self._line_in):
            state.arrives[i], state.coming[i] = at, byte
        state.status, state.seen, state.received = self._status, self._seen, self._received
        state.held = -1 if self._held is None else self._held
        state.shifted, state.shifting = self._shifting or (0.0, -1)

    def _take_back(self, lending: Lending) -> None:
        state = lending.state.link
        state.lent = False
        at = [i % _LENT for i in range(state.first, state.last)]
        self._line_in = deque((state.arrives[i], state.coming[i], 0) for i in at)
        self._line_free = state.until
        self._out += bytes(state.out[0:state.gone])
        self._status, self._seen, self._received = state.status, state.seen, state.received
        self._held = None if state.held < 0 else state.held
        self._shifting = None if state.shifting < 0 else (state.shifted, state.shifting)
        for side, stream in enumerate((self.receive_stream, self.transmit_stream)):
            assert stream is not None
            stream.take_back(state.streams[side])
        self._quiet = lending.take(state.quiet, self._line_idle)

    def _lent_line_in(self, data: bytes) -> bool:
        """Pass bytes to C, if it has room."""
        assert self.lending is not None
        return self.lending.line_in(data)

    def _lent_line_out(self) -> bytes | None:
        """Bytes that have left in C; None if it has no room for them."""
        assert self.lending is not None
        if not self.lending.line_out():
            return None
        data = bytes(self._out)
        if (state := self.lending.state.link).gone:
            data += bytes(state.out[0:state.gone])
            state.gone = 0
        self._out.clear()
        return data


class Served(Peripheral):
    """A DMA controller that serves links. served: its links."""

    @property
    @abstractmethod
    def served(self) -> Iterable[Serial]: ...

    def at(self, offset: int) -> Iterable[Serial]:
        """Links that a register may belong to."""
        return self.served

    def catch_up(self, offset: int) -> None:
        """Let the links of a register catch up."""
        for link in self.at(offset):
            link.catch_up()

    def recall(self) -> None:
        """Take back the state that the links have lent."""
        for link in self.served:
            link.recall()

    def forget(self, *keys: str) -> None:
        if not keys:
            self.recall()
        super().forget(*keys)

    def _moved(self) -> None:
        """Withdraw published answers about streams after a link has moved a byte; other links keep what they lend."""
        super().forget()

    def read(self, offset: int, size: int) -> int:
        for link in self.at(offset & ~3):
            link.recall()
        return super().read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        links = self.at(offset & ~3)
        for link in links:
            link.recall()
        super().write(offset, size, value)
        for link in links:
            link.touched()

    def publish(self, offset: int, value: int) -> int:
        """Publish a register's value, which stays the same until a link moves a byte; the link has caught up."""
        links = self.at(offset)
        for link in links:
            if self._moved not in link.watchers:
                link.watchers.append(self._moved)
        self.say(self.REGISTERS[offset].name, value, min((link.settled_until for link in links), default=NEVER))
        return value


@dataclass(frozen=True)
class Registers:
    """Registers of a stream. controller: that has them; offsets: by their names in link.h. bits: the stream's
    flags in the register that clears flags, half and complete among them."""

    controller: Served
    offsets: dict[str, int]
    bits: int
    half: int
    complete: int


class Stream:
    """One DMA stream or channel: bytes, incrementing memory address. fetch, store: access memory. STAYS: true if it is
    still enabled after it has moved its last byte."""

    STAYS = False
    registers: Registers
    usual: int | None  # its control word at its last start, without the enable bit
    chosen: tuple[Peripheral, int, int] | None = None  # at its last start: multiplexer, offset of a register, request

    def __init__(self, fetch: Callable[[int, int], bytes], store: Callable[[int, bytes], None], circular: int) -> None:
        self._fetch, self._store, self._circular = fetch, store, circular
        self.clear()

    def clear(self) -> None:
        self.control = self.left = self.peripheral = self.memory = 0
        self.reload = 0
        self.half = self.complete = False
        self.usual = None

    @property
    def enabled(self) -> bool:
        return bool(self.control & 1)

    @property
    def ahead(self) -> bytes:
        """Bytes that it will send, from memory as it is now."""
        return self._fetch(self.memory, self.left)

    def ended(self) -> None:
        """End a stream that is not circular after its last byte."""
        self.control &= ~1

    def _moved(self, count: int) -> None:
        """Count moved bytes."""
        half = self.reload // 2
        self.half |= self.left - count <= half < self.left
        self.left -= count
        if self.left == 0:
            self.complete = True
            if self.control & self._circular:
                self.left = self.reload
            else:
                self.ended()

    def _pieces(self, count: int) -> Iterator[tuple[int, int]]:
        """Pieces of memory of the next `count` bytes, or of as many as are left: address and length; they count as
        moved."""
        while count and self.enabled and self.left:
            length = min(self.left, count)
            yield self.memory + self.reload - self.left, length
            self._moved(length)
            count -= length

    def put(self, data: bytes | bytearray) -> int:
        """Store bytes from the peripheral in memory. Returns how many the stream has taken."""
        taken = 0
        for address, length in self._pieces(len(data)):
            self._store(address, bytes(data[taken:taken + length]))
            taken += length
        return taken

    def take(self, count: int) -> bytes:
        """The next bytes from memory for the peripheral, or as many as are left."""
        return b"".join([self._fetch(address, length) for address, length in self._pieces(count)])

    # -- lent (femtorque.hil.chip.lending) ----------------------------------------------

    def lendable(self, lending: Lending) -> bool:
        """True if it runs, or stands with the settings of its last run."""
        if self.control & ~1 != self.usual or self.chosen and not self._as_chosen(*self.chosen):
            return False
        return not self.enabled or bool(lending.memory(self.memory, self.reload, not self.sends))

    @property
    def sends(self) -> bool:
        return not self.control & self._circular

    @staticmethod
    def _as_chosen(multiplexer: Peripheral, offset: int, request: int) -> bool:
        return multiplexer.value[multiplexer.REGISTERS[offset].name] == request

    def lend(self, lending: Lending, state: Any, side: int) -> list[Any]:
        """Fill in the stream's state in C. Returns the places of its registers."""
        own = self.registers
        for name in _STREAM:
            setattr(state, name, getattr(self, name))
        state.circular, state.stays, state.flags = not self.sends, self.STAYS, own.bits
        state.half_bits, state.complete_bits = own.half, own.complete
        state.source, state.request = self.peripheral, self.chosen[2] if self.chosen else 0
        state.bytes = lending.memory(self.memory, self.reload, not self.sends)
        own.controller.forget()
        place = lending.place
        places = [place(own.controller, offset, lending.what(what), side)
                  for what, offset in own.offsets.items() if self.sends or what in _READ]
        if self.chosen and self.sends:
            places.append(place(*self.chosen[:2], lending.what("STREAM_REQUEST"), side))
        return places

    def take_back(self, state: Any) -> None:
        for name in _STREAM:
            setattr(self, name, getattr(state, name))
        self.half, self.complete = bool(self.half), bool(self.complete)


_STREAM = ("control", "left", "peripheral", "memory", "reload", "half", "complete", "usual")
_READ = ("STREAM_CONTROL", "STREAM_LEFT")
