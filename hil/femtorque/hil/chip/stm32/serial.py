"""The families' serial links with their DMA streams, in C (link.c). This module has the registers, the refusals, and
the connection to half-duplex buses. Only the interrupts for idle line and errors are modelled."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from femtorque.hil.bus import OneWire
from femtorque.hil.chip.peripheral_in_c import PeripheralPartlyInC
from femtorque.hil.chip.registers import Unmodelled
from femtorque.hil.chip.stm32.gpio import Pin
from femtorque.hil.clock import ChipState, Events, Member

TE, RE, IDLEIE = 1 << 3, 1 << 2, 1 << 4
PE, FE, NE, ORE, IDLE, RXNE, TC, TXE = (1 << bit for bit in range(8))
ERRORS = PE | FE | NE | ORE
EIE, HDSEL, DMAR, DMAT, DEM = 1 << 0, 1 << 3, 1 << 6, 1 << 7, 1 << 14
_BITS = 10  # start, eight data, stop
_LEAST_ROOM = 1024  # initial capacity for bytes on the line; C asks for more capacity when necessary


class Serial(PeripheralPartlyInC):
    """A link with 8 data bits, no parity, one stop bit. Each family names its registers and the bit UE. STEPS: of BRR
    per clock. interrupt: number of its request, or -1. dma_cycles: cycles for which a byte waits for DMA, 0 by default;
    on silicon some, and more on a busy bus (AN4031, total transfer time)."""

    interrupt, dma_cycles = Member(int), Member(int)

    UE: ClassVar[int]
    STEPS: ClassVar[int] = 1
    LEAST: ClassVar[int] = 16
    BY_READING: ClassVar[bool]  # true if a read of the flags and then of the data register clears the flags
    DATA: ClassVar[dict[str, int]]  # offsets of the data registers that DMA accesses, by direction
    PLACES: ClassVar[dict[int, str]]  # names in C (link.h) of the registers that C handles, by offset

    def __init__(self, name: str, base: int, events: Events, cycles_per_clock: Callable[[], float]) -> None:
        self.events, self._cycles_per_clock = events, cycles_per_clock
        self.parts = events.parts
        self.slot, self.state = self.parts.member("links")
        self._here = self.parts.ffi.addressof(self.state)
        self.state.interrupt, self.state.by_reading = -1, self.BY_READING
        self._make_room(0)
        self._out = bytearray()
        self.IN_C = self.PLACES
        super().__init__(name, base, events.parts)
        self.parts.hear("LINK_FULL", self.slot, lambda value: self._collect())
        self.parts.hear("LINK_ROOM", self.slot, lambda value: self._make_room(int(value)))
        for offset in self.PLACES:
            self._read[offset] = partial(self.ask_c, offset)
            self._write[offset] = partial(self._put, offset), self.REGISTERS[offset].writable
        self.reset()

    def reset(self) -> None:
        self.clear()
        state = self.state
        state.status, state.received, state.held, state.shifting, state.cleared = TXE | TC, 0, -1, -1, False
        state.streams = [-1, -1]
        self.settings_changed()
        self.parts.do("link_ask", self._here)

    def _what(self, offset: int) -> int:
        return self._named("A_LINK", self.slot, getattr(self.parts.lib, self.PLACES[offset]))

    @property
    def byte_cycles(self) -> float:
        return _BITS * self.value["BRR"] / self.STEPS * self._cycles_per_clock()

    @property
    def guards(self) -> tuple[float, float]:
        """Cycles for which a transceiver's driver is on before the first byte and after the last byte."""
        return 0.0, 0.0

    def settings_changed(self) -> None:
        """Pass the settings and the duration of a byte to C."""
        state, on, requests = self.state, self.value["CR1"], self.value["CR3"]
        state.receives, state.transmits = on & (self.UE | RE) == self.UE | RE, on & (self.UE | TE) == self.UE | TE
        state.takes, state.gives, state.wired = requests & DMAR, requests & DMAT, requests & (HDSEL | DEM)
        state.asks = (IDLE if on & IDLEIE else 0) | (FE | NE | ORE if requests & EIE else 0)
        state.byte_cycles, (state.before, state.after) = self.byte_cycles, self.guards

    # -- the wire -----------------------------------------------------------

    def line_in(self, data: bytes, errors: int = 0) -> None:
        """Send the other node's bytes one after another from now on. errors: FE, NE of each byte."""
        self.parts.do("link_line_in", self._here, data, len(data), errors)

    def plug(self, line: OneWire, *pins: Pin) -> None:
        """Connect the link to a half-duplex bus, except while one of these pins is not switched to it. pins: the
        link's; with a transceiver: its input, its driver enable, and its output."""
        self.state.pins = len(pins)
        self.state.pin[0:len(pins)] = [(port.slot, pin, function) for port, pin, function in pins]
        self._line = line  # keeps its state
        self.parts.lib.link_plug(self._here, line.state)

    @property
    def sends_on_line(self) -> bool:
        """True if bytes that the link sends reach the half-duplex bus."""
        return bool(self.parts.do("link_sends_on_line", self._here))

    def _make_room(self, more: int) -> None:
        """Allocate more memory in C for bytes on the line."""
        state, new, kinds = self.state, self.parts.ffi.new, {"arrives": "double[]", "coming": "uint8_t[]",
                                                             "errors": "uint8_t[]"}
        numbers = range(state.first, state.last)
        room = 1 << max(len(numbers) + more, _LEAST_ROOM - 1).bit_length()
        rows = {name: new(kind, room) for name, kind in kinds.items()}
        for name, row in rows.items():
            for i in numbers:
                row[i % room] = getattr(state, name)[i % state.room]
            setattr(state, name, row)
        self._rows, state.room = rows, room

    def line_out(self) -> bytes:
        """Return the bytes that have been sent since the last call."""
        self.catch_up()
        self._collect()
        data, self._out = bytes(self._out), bytearray()
        return data

    def _collect(self) -> None:
        state = self.state
        if state.gone:
            self._out += bytes(state.out[0:state.gone])
            state.gone = 0

    @property
    def waiting(self) -> int:
        """Number of bytes that are on the line and have not arrived yet."""
        return int(self.state.last - self.state.first)

    def catch_up(self) -> None:
        self.parts.do("link_catch_up", self._here)

    # -- registers that the families name -----------------------------------

    def _put(self, offset: int, value: int) -> None:
        if not self.tell_c(offset, value):
            raise Unmodelled(f"{self.name} sent to while its transmitter is off")

    def write_BRR(self, value: int) -> None:
        if value < self.LEAST:
            raise Unmodelled(f"{self.name}.BRR = {value}: below {self.LEAST}")
        self._set("BRR", value)

    def write_CR1(self, value: int) -> None:
        self._set("CR1", value)

    def write_CR3(self, value: int) -> None:
        self._set("CR3", value)

    def _set(self, key: str, value: int) -> None:
        self.catch_up()
        self.value[key] = value
        self.settings_changed()
        self.parts.do("link_ask", self._here)


_WORDS = {"STREAM_CONTROL": "control changed", "STREAM_LEFT": "left written",
          "STREAM_PERIPHERAL": "peripheral written", "STREAM_MEMORY": "memory written"}


class Controller(PeripheralPartlyInC):
    """A DMA controller that serves links with streams, which are in C (link.h). streams: the state of the streams.
    GROUP: number of streams whose flags share one register."""

    WRITABLE: ClassVar[int]  # bits of a control word
    CIRCULAR: ClassVar[int]
    TRANSMITS: ClassVar[int]  # bit of a control word
    GROUP: ClassVar[int]
    WORD: ClassVar[str]  # for a stream in messages
    RUNNING: ClassVar[str]

    def __init__(self, name: str, base: int, parts: ChipState) -> None:
        self.requests: dict[Any, tuple[Serial, str]] = {}
        self._slots, self.streams = zip(*(parts.member("streams") for _ in range(8)), strict=True)
        self._words: dict[int, tuple[int, str]] = {}  # the stream and the register name in C, by offset of the register
        for i, stream in enumerate(self.streams):
            stream.writable, stream.circular, stream.group = self.WRITABLE, self.CIRCULAR, self.GROUP
            self._describe(i, stream)
            parts.hear("STREAM_ASTRAY", self._slots[i], partial(self._astray, i))
        self.IN_C = self._words
        super().__init__(name, base, parts)
        for offset in self._words:
            self._read[offset] = partial(self.ask_c, offset)
            self._write[offset] = partial(self._written, offset), self._write[offset][1]

    @abstractmethod
    def _describe(self, number: int, stream: Any) -> None:
        """Describe the flags of a stream to C, and record the stream's registers."""

    def _note(self, number: int, at: int) -> None:
        """Record the registers of a stream. The first register has the given offset."""
        for i, word in enumerate(_WORDS):
            self._words[at + 4 * i] = number, word

    def reset(self) -> None:
        self.clear()
        for stream in self.streams:
            stream.control = stream.left = stream.peripheral = stream.memory = stream.reload = 0
            stream.half, stream.complete, stream.usual, stream.link = False, False, 1, -1

    def _what(self, offset: int) -> int:
        number, word = self._words[offset]
        return self._named("A_STREAM", self._slots[number], getattr(self.parts.lib, word))

    def _astray(self, number: int, value: float) -> None:
        raise Unmodelled(f"{self._called(number)}: no memory at 0x{self.streams[number].memory:08X}")

    def _called(self, number: int) -> str:
        return f"{self.name} {self.WORD} {number}"

    def _written(self, offset: int, value: int) -> None:
        """Write in C. If C does not accept the value, start the stream or raise an error."""
        number, word = self._words[offset]
        if self.tell_c(offset, value):
            return
        stream = self.streams[number]
        if stream.control & 1:
            raise Unmodelled(f"{self._called(number)}: {_WORDS[word]} while {self.RUNNING}")
        self._start(number, stream, value)

    def _start(self, number: int, stream: Any, value: int) -> None:
        link, side = self._served(number, stream, value)
        address = link.base + link.DATA[side]
        if (side == "transmit") != bool(value & self.TRANSMITS) or stream.peripheral != address:
            raise Unmodelled(f"{self._called(number)} does not fit {link.name} {side}")
        stream.usual, stream.address, stream.request = value & ~1, stream.peripheral, stream.asked
        stream.sends, stream.link = side == "transmit", link.slot
        self.parts.do("stream_start", self.parts.ffi.addressof(stream))

    @abstractmethod
    def _served(self, number: int, stream: Any, value: int) -> tuple[Serial, str]:
        """Return the link and the direction that a stream with this control word serves."""
