"""USART and DMA of the STM32F405 (RM0090 sections 30, 10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from femtorque.hil.chip.registers import Register, Unmodelled
from femtorque.hil.chip.stm32 import serial
from femtorque.hil.chip.stm32.serial import (
    DMAR,
    DMAT,
    EIE,
    ERRORS,
    HDSEL,
    IDLE,
    IDLEIE,
    RE,
    RXNE,
    TC,
    TE,
    TXE,
    Registers,
    Serial,
    Stream,
)


class Usart(Serial):
    """16 times oversampling. Reading SR, then DR clears the errors and the idle flag."""

    UE, BY_READING = 1 << 13, True
    PLACES = {"LINK_STATUS": 0x00, "LINK_DATA": 0x04}
    REGISTERS = {
        0x00: Register("SR", TXE | TC), 0x04: Register("DR", 0, 0x1FF), 0x08: Register("BRR", 0, 0xFFFF),
        0x0C: Register("CR1", 0, UE | TE | RE | IDLEIE), 0x10: Register("CR2", 0, 0),
        0x14: Register("CR3", 0, DMAR | DMAT | EIE | HDSEL),
    }

    @property
    def receive_address(self) -> int:
        return self.base + 4

    transmit_address = receive_address

    def read_SR(self) -> int:
        self._seen = self._flags()
        return self._seen

    def write_SR(self, value: int) -> None:
        """Clear RXNE and TC where a 0 is written."""
        self.catch_up()
        self._status &= value | ~RXNE
        if not value & TC:
            self._clear_complete()

    def read_DR(self) -> int:
        byte = self._take_received()
        self._dma_has_read()
        return byte

    def _dma_has_read(self) -> None:
        self._status &= ~(self._seen & (ERRORS | IDLE))
        self._seen = 0
        self._ask()

    def write_DR(self, value: int) -> None:
        self._put(value)


_CONTROL_BITS = 0x0E030541  # CHSEL, PL, MINC, CIRC, DIR to peripheral, EN
_FLAG_SHIFT = (0, 6, 16, 22)  # of a stream's FEIF 0, DMEIF 2, TEIF 3, HTIF 4, TCIF 5
_CIRCULAR = 1 << 8
_OFFSETS = ("STREAM_CONTROL", "STREAM_LEFT", "STREAM_PERIPHERAL", "STREAM_MEMORY", "STREAM_FLAGS")  # lent_link.h


def _dma_registers() -> dict[int, Register]:
    table = {0x00: Register("LISR", 0, 0), 0x04: Register("HISR", 0, 0),
             0x08: Register("LIFCR"), 0x0C: Register("HIFCR")}
    for i in range(8):
        at = 0x10 + 0x18 * i
        table |= {at: Register(f"S{i}CR", 0, _CONTROL_BITS), at + 4: Register(f"S{i}NDTR", 0, 0xFFFF),
                  at + 8: Register(f"S{i}PAR"), at + 0xC: Register(f"S{i}M0AR"),
                  at + 0x14: Register(f"S{i}FCR", 0x21, 0)}
    return table


class Dma(serial.Served):
    """One DMA controller. `requests` maps (stream, channel) to (USART, 'receive' or 'transmit')."""

    REGISTERS = _dma_registers()

    def __init__(self, name: str, base: int, fetch: Callable[[int, int], bytes],
                 store: Callable[[int, bytes], None]) -> None:
        self.requests: dict[tuple[int, int], tuple[Serial, str]] = {}
        self._links: dict[int, list[Serial]] = {}  # by the offset of a register
        self.streams = [Stream(fetch, store, _CIRCULAR) for _ in range(8)]
        super().__init__(name, base)
        for i, stream in enumerate(self.streams):
            self._bind(0x10 + 0x18 * i, i, stream)

    def reset(self) -> None:
        self.clear()
        for stream in self.streams:
            stream.clear()

    def _bind(self, at: int, number: int, stream: Stream) -> None:
        def setter(key: str) -> Callable[[int], None]:
            def write(value: int) -> None:
                if stream.enabled:
                    raise Unmodelled(f"{self.name} stream {number}: {key} written while the stream runs")
                setattr(stream, key, value)
            return write

        def left() -> int:
            self.catch_up(at + 4)
            return self.publish(at + 4, stream.left)

        def control() -> int:
            self.catch_up(at)
            return self.publish(at, stream.control)

        first, shift = 0x08 + 4 * (number // 4), _FLAG_SHIFT[number % 4]
        stream.registers = Registers(self, dict(zip(_OFFSETS, (at, at + 4, at + 8, at + 0xC, first), strict=True)),
                                     0x3D << shift, 0x10 << shift, 0x20 << shift)
        self._read[at], self._write[at] = control, (lambda v: self._control(number, stream, v), _CONTROL_BITS)
        self._read[at + 4], self._write[at + 4] = left, (setter("left"), 0xFFFF)
        for offset, key in ((8, "peripheral"), (0xC, "memory")):
            self._read[at + offset] = partial(getattr, stream, key)
            self._write[at + offset] = (setter(key), self._write[at + offset][1])

    @property
    def served(self) -> Iterable[Serial]:
        return dict.fromkeys([usart for usart, _ in self.requests.values()])

    def at(self, offset: int) -> Iterable[Serial]:
        """Links that a register belongs to: a stream's, or, of the flags, those of four streams."""
        if offset not in self._links:
            first = (offset - 0x10) // 0x18 if offset >= 0x10 else 4 * (offset >> 2 & 1)
            of = range(first, first + (1 if offset >= 0x10 else 4))
            self._links[offset] = list(dict.fromkeys(
                usart for (number, _), (usart, _) in self.requests.items() if number in of))
        return self._links[offset]

    def _control(self, number: int, stream: Stream, value: int) -> None:
        self.catch_up(0x10 + 0x18 * number)
        starts = value & 1 and not stream.enabled
        if stream.enabled and value & 1 and value != stream.control:
            raise Unmodelled(f"{self.name} stream {number}: control changed while the stream runs")
        if stream.enabled and not value & 1:
            stream.complete = True
        stream.control = value
        if not starts:
            return
        if stream.half or stream.complete:
            raise Unmodelled(f"{self.name} stream {number}: enabled with its flags not cleared")
        request = self.requests.get((number, value >> 25 & 7))
        if request is None or not value & 0x400 or not stream.left:
            raise Unmodelled(f"{self.name} stream {number}: control 0x{value:X} is not modelled")
        usart, side = request
        if (side == "transmit") != bool(value & 0x40) or stream.peripheral != getattr(usart, f"{side}_address"):
            raise Unmodelled(f"{self.name} stream {number} does not fit {usart.name} {side}")
        stream.reload, stream.usual = stream.left, value & ~1
        if side == "transmit":
            usart.sending(stream)
        setattr(usart, f"{side}_stream", stream)
        usart.catch_up()

    def _flags(self, first: int) -> int:
        self.catch_up(first)
        streams = self.streams[first:first + 4]
        return sum((s.half << 4 | s.complete << 5) << _FLAG_SHIFT[i] for i, s in enumerate(streams))

    def _clear_flags(self, first: int, value: int) -> None:
        self.catch_up(0x08 + first)
        for i in range(4):
            stream, cleared = self.streams[first + i], value >> _FLAG_SHIFT[i]
            stream.half &= not cleared & 0x10
            stream.complete &= not cleared & 0x20

    def read_LISR(self) -> int:
        return self._flags(0)

    def read_HISR(self) -> int:
        return self._flags(4)

    def write_LIFCR(self, value: int) -> None:
        self._clear_flags(0, value)

    def write_HIFCR(self, value: int) -> None:
        self._clear_flags(4, value)
