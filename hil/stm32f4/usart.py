"""USART and its DMA streams (RM0090 sections 30, 10): bytes take their time on the wire.

Nothing is scheduled. The state is brought up to date whenever the image looks at it or the board asks, byte by byte
with each byte's own time. Interrupts are therefore not modelled and their enable bits are refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hil.events import Events
from hil.registers import Peripheral, Register, Unmodelled

UE, TE, RE = 1 << 13, 1 << 3, 1 << 2
ORE, RXNE, TC, TXE = 1 << 3, 1 << 5, 1 << 6, 1 << 7
DMAR, DMAT = 1 << 6, 1 << 7
_BITS = 10  # start, eight data, stop


class Usart(Peripheral):
    """8 data bits, no parity, one stop bit, 16 times oversampling."""

    REGISTERS = {
        0x00: Register("SR", TXE | TC, 0x3FF), 0x04: Register("DR", 0, 0x1FF), 0x08: Register("BRR", 0, 0xFFFF),
        0x0C: Register("CR1", 0, UE | TE | RE), 0x10: Register("CR2", 0, 0), 0x14: Register("CR3", 0, DMAR | DMAT),
    }

    def __init__(self, name: str, base: int, events: Events, cycles_per_clock: Callable[[], float]) -> None:
        self.events, self._cycles_per_clock = events, cycles_per_clock
        self.receive_stream: Stream | None = None  # set while a DMA stream serves this request
        self.transmit_stream: Stream | None = None
        self._line_in: deque[tuple[float, int]] = deque()  # (cycle at which it has arrived, byte)
        self._line_free = 0.0
        self._out = bytearray()
        super().__init__(name, base)
        self.reset()

    def reset(self) -> None:
        self.clear()
        self._status = TXE | TC
        self._received = 0
        self._held: int | None = None  # the transmit data register, while the shift register is busy
        self._shifting: tuple[float, int] | None = None  # (cycle at which it is out, byte)
        self.receive_stream = self.transmit_stream = None

    @property
    def byte_cycles(self) -> float:
        return _BITS * self.value["BRR"] * self._cycles_per_clock()

    def line_in(self, data: bytes) -> None:
        """Bytes that the other side puts on the wire, one after another from now on."""
        self.catch_up()
        spacing = self.byte_cycles
        at = max(float(self.events.now), self._line_free)
        for byte in data:
            at += spacing
            self._line_in.append((at, byte))
        self._line_free = at

    def line_out(self) -> bytes:
        """Bytes that have left since last asked."""
        self.catch_up()
        data, self._out = bytes(self._out), bytearray()
        return data

    @property
    def waiting(self) -> int:
        """Bytes on the wire that have not arrived yet."""
        return len(self._line_in)

    def catch_up(self) -> None:
        self._receive()
        self._transmit()

    def _receive(self) -> None:
        listening = self.value["CR1"] & (UE | RE) == UE | RE
        while self._line_in and self._line_in[0][0] <= self.events.now:
            byte = self._line_in.popleft()[1]
            if not listening:
                continue
            if self.value["CR3"] & DMAR and self.receive_stream and self.receive_stream.put(byte):
                continue
            if self._status & RXNE:
                self._status |= ORE
            else:
                self._received = byte
                self._status |= RXNE

    def _transmit(self) -> None:
        now = float(self.events.now)
        free = now  # when the shift register could start
        while True:
            if self._shifting:
                if self._shifting[0] > now:
                    self._refill()
                    return
                free, byte = self._shifting
                self._out.append(byte)
                self._shifting = None
            self._refill()
            if self._held is None:
                return
            self._shifting, self._held = (free + self.byte_cycles, self._held), None

    def _refill(self) -> None:
        """DMA fills the transmit data register as soon as it is empty."""
        if self._held is None and self.value["CR3"] & DMAT and self.transmit_stream:
            self._held = self.transmit_stream.take()

    def read_SR(self) -> int:
        self.catch_up()
        idle = self._shifting is None and self._held is None
        return self._status & ~(TXE | TC) | (TXE if self._held is None else 0) | (TC if idle else 0)

    def write_SR(self, value: int) -> None:
        self.catch_up()
        self._status &= value | ~RXNE

    def read_DR(self) -> int:
        self.catch_up()
        self._status &= ~(RXNE | ORE)
        return self._received

    def write_DR(self, value: int) -> None:
        self.catch_up()
        if self.value["CR1"] & (UE | TE) != UE | TE:
            raise Unmodelled(f"{self.name}.DR written while the transmitter is off")
        self._held = value & 0xFF
        self._transmit()

    def write_BRR(self, value: int) -> None:
        if value < 16:
            raise Unmodelled(f"{self.name}.BRR = {value}: below 16")
        self.catch_up()
        self.value["BRR"] = value

    def write_CR1(self, value: int) -> None:
        self.catch_up()
        self.value["CR1"] = value

    def write_CR3(self, value: int) -> None:
        self.catch_up()
        self.value["CR3"] = value


class Stream:
    """One DMA stream in direct mode, bytes, incrementing memory address."""

    def __init__(self, dma: Dma, number: int) -> None:
        self.dma, self.number = dma, number
        self.clear()

    def clear(self) -> None:
        self.control = self.left = self.peripheral = self.memory = 0
        self.reload = 0
        self.flags = 0  # as in LISR at bit 0: FEIF 0, DMEIF 2, TEIF 3, HTIF 4, TCIF 5

    @property
    def enabled(self) -> bool:
        return bool(self.control & 1)

    def _step(self) -> int:
        """Address of the next byte; counts it."""
        address = self.memory + self.reload - self.left
        self.left -= 1
        if self.left == self.reload // 2:
            self.flags |= 0x10
        if self.left == 0:
            self.flags |= 0x20
            if self.control & 0x100:
                self.left = self.reload
            else:
                self.control &= ~1
        return address

    def put(self, byte: int) -> bool:
        """A byte from the peripheral to memory; False if the stream does not run."""
        if not self.enabled:
            return False
        self.dma.store(self._step(), bytes([byte]))
        return True

    def take(self) -> int | None:
        """The next byte from memory for the peripheral."""
        return self.dma.fetch(self._step(), 1)[0] if self.enabled else None


_CONTROL_BITS = 0x0E030541  # CHSEL, PL, MINC, CIRC, DIR to peripheral, EN
_FLAG_SHIFT = (0, 6, 16, 22)


def _dma_registers() -> dict[int, Register]:
    table = {0x00: Register("LISR", 0, 0), 0x04: Register("HISR", 0, 0),
             0x08: Register("LIFCR", 0, 0x0F7D0F7D), 0x0C: Register("HIFCR", 0, 0x0F7D0F7D)}
    for i in range(8):
        at = 0x10 + 0x18 * i
        table |= {at: Register(f"S{i}CR", 0, _CONTROL_BITS), at + 4: Register(f"S{i}NDTR", 0, 0xFFFF),
                  at + 8: Register(f"S{i}PAR"), at + 0xC: Register(f"S{i}M0AR"),
                  at + 0x14: Register(f"S{i}FCR", 0x21, 0)}
    return table


class Dma(Peripheral):
    """One DMA controller. `requests` maps (stream, channel) to (USART, 'receive' or 'transmit')."""

    REGISTERS = _dma_registers()

    def __init__(self, name: str, base: int, fetch: Callable[[int, int], bytes],
                 store: Callable[[int, bytes], None]) -> None:
        self.fetch, self.store = fetch, store
        self.requests: dict[tuple[int, int], tuple[Usart, str]] = {}
        self.streams = [Stream(self, i) for i in range(8)]
        super().__init__(name, base)
        for i, stream in enumerate(self.streams):
            self._bind(0x10 + 0x18 * i, stream)

    def reset(self) -> None:
        self.clear()
        for stream in self.streams:
            stream.clear()

    def _bind(self, at: int, stream: Stream) -> None:
        def setter(key: str) -> Callable[[int], None]:
            def write(value: int) -> None:
                if stream.enabled:
                    raise Unmodelled(f"{self.name} stream {stream.number}: {key} written while the stream runs")
                setattr(stream, key, value)
            return write

        def left() -> int:
            self._catch_up()
            return stream.left

        def control() -> int:
            self._catch_up()
            return stream.control

        self._read[at], self._write[at] = control, (lambda v: self._control(stream, v), _CONTROL_BITS)
        self._read[at + 4], self._write[at + 4] = left, (setter("left"), 0xFFFF)
        for offset, key in ((8, "peripheral"), (0xC, "memory")):
            self._read[at + offset] = lambda key=key: getattr(stream, key)
            self._write[at + offset] = (setter(key), self._write[at + offset][1])

    def _catch_up(self) -> None:
        for usart, _ in self.requests.values():
            usart.catch_up()

    def _control(self, stream: Stream, value: int) -> None:
        self._catch_up()
        starts = value & 1 and not stream.enabled
        if stream.enabled and value & 1 and value != stream.control:
            raise Unmodelled(f"{self.name} stream {stream.number}: control changed while the stream runs")
        if stream.enabled and not value & 1:
            stream.flags |= 0x20
        stream.control = value
        if not starts:
            return
        if stream.flags:
            raise Unmodelled(f"{self.name} stream {stream.number}: enabled with flags 0x{stream.flags:X} not cleared")
        request = self.requests.get((stream.number, value >> 25 & 7))
        if request is None or not value & 0x400 or not stream.left:
            raise Unmodelled(f"{self.name} stream {stream.number}: control 0x{value:X} is not modelled")
        usart, side = request
        if (side == "transmit") != bool(value & 0x40) or stream.peripheral != usart.base + 4:
            raise Unmodelled(f"{self.name} stream {stream.number} does not fit {usart.name} {side}")
        stream.reload = stream.left
        setattr(usart, f"{side}_stream", stream)
        usart.catch_up()

    def _flags(self, first: int) -> int:
        self._catch_up()
        return sum(self.streams[first + i].flags << _FLAG_SHIFT[i] for i in range(4))

    def _clear_flags(self, first: int, value: int) -> None:
        self._catch_up()
        for i in range(4):
            self.streams[first + i].flags &= ~(value >> _FLAG_SHIFT[i] & 0x3D)

    def read_LISR(self) -> int:
        return self._flags(0)

    def read_HISR(self) -> int:
        return self._flags(4)

    def write_LIFCR(self, value: int) -> None:
        self._clear_flags(0, value)

    def write_HIFCR(self, value: int) -> None:
        self._clear_flags(4, value)
