"""USART, LPUART, DMA and its request multiplexer of the STM32G474 (RM0440 sections 37, 38, 12, 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from femtorque.hil.chip.registers import Peripheral, Register, Unmodelled
from femtorque.hil.chip.stm32.serial import (
    DMAR,
    DMAT,
    EIE,
    ERRORS,
    HDSEL,
    IDLE,
    IDLEIE,
    RE,
    TC,
    TE,
    TXE,
    Registers,
    Serial,
    Served,
    Stream,
)

TEACK, REACK = 1 << 21, 1 << 22  # of ISR: transmitter and receiver are on


class Usart(Serial):
    """16 times oversampling, no FIFO. ICR clears flags."""

    UE, BY_READING = 1 << 0, False
    PLACES = {"LINK_STATUS": 0x1C, "LINK_CLEAR": 0x20, "LINK_DATA": 0x24}
    REGISTERS = {
        0x00: Register("CR1", 0, UE | TE | RE | IDLEIE), 0x04: Register("CR2", 0, 0),
        0x08: Register("CR3", 0, DMAR | DMAT | EIE | HDSEL), 0x0C: Register("BRR", 0, 0xFFFF),
        0x10: Register("GTPR", 0, 0), 0x14: Register("RTOR", 0, 0),
        0x1C: Register("ISR", TXE | TC, 0), 0x20: Register("ICR", 0, ERRORS | IDLE | TC),
        0x24: Register("RDR", 0, 0), 0x28: Register("TDR", 0, 0x1FF), 0x2C: Register("PRESC", 0, 0),
    }

    @property
    def receive_address(self) -> int:
        return self.base + 0x24

    @property
    def transmit_address(self) -> int:
        return self.base + 0x28

    def write_CR1(self, value: int) -> None:
        super().write_CR1(value)
        on = (TEACK if value & TE else 0) | (REACK if value & RE else 0)
        self._status = self._status & ~(TEACK | REACK) | (on if value & self.UE else 0)

    def read_ISR(self) -> int:
        return self._flags()

    def read_ICR(self) -> int:
        return 0

    def write_ICR(self, value: int) -> None:
        self.catch_up()
        self._status &= ~(value & (ERRORS | IDLE))
        if value & TC:
            self._clear_complete()
        self._ask()

    def read_RDR(self) -> int:
        return self._take_received()

    def write_TDR(self, value: int) -> None:
        self._put(value)


class LpUart(Usart):
    """A UART whose divider has 256 steps a clock and at least three clocks a bit."""

    STEPS, LEAST = 256, 0x300
    REGISTERS = Usart.REGISTERS | {0x0C: Register("BRR", 0, 0xFFFFF)}


_CIRCULAR = 1 << 5
_CONTROL_BITS = 0x30B1  # PL, MINC, CIRC, DIR to peripheral, EN


class Channel(Stream):
    """A channel, which stays enabled after its last byte."""

    STAYS = True

    def ended(self) -> None:
        pass


class DmaMux(Peripheral):
    """Requests of the channels: 0 to 7 of DMA1, 8 to 15 of DMA2. Without synchronisation there is no overrun (CSR) to
    clear (CFR)."""

    REGISTERS = {4 * i: Register(f"C{i}CR", 0, 0x7F) for i in range(16)} | {
        0x80: Register("CSR", 0, 0), 0x84: Register("CFR", 0, 0xFFFF)}

    def __init__(self, name: str, base: int) -> None:
        self.controllers: list[Dma] = []
        super().__init__(name, base)

    def write(self, offset: int, size: int, value: int) -> None:
        for controller in self.controllers:
            controller.recall()
        super().write(offset, size, value)

    def write_CFR(self, value: int) -> None:
        """Clear nothing."""


def _registers() -> dict[int, Register]:
    table = {0x00: Register("ISR", 0, 0), 0x04: Register("IFCR")}
    for i in range(8):
        at = 0x08 + 0x14 * i
        table |= {at: Register(f"C{i + 1}CR", 0, _CONTROL_BITS), at + 4: Register(f"C{i + 1}NDTR", 0, 0xFFFF),
                  at + 8: Register(f"C{i + 1}PAR"), at + 0xC: Register(f"C{i + 1}MAR")}
    return table


_OFFSETS = {"control": 0, "left": 4, "peripheral": 8, "memory": 0xC}  # of a channel's registers
_WORDS = ("CONTROL", "LEFT", "PERIPHERAL", "MEMORY")  # for them in lent_link.h


class Dma(Served):
    """One DMA controller, the multiplexer's channels from `first`. `requests` maps a request's number to (USART,
    'receive' or 'transmit')."""

    REGISTERS = _registers()

    def __init__(self, name: str, base: int, first: int, mux: DmaMux, fetch: Callable[[int, int], bytes],
                 store: Callable[[int, bytes], None]) -> None:
        self.first, self.mux = first, mux
        mux.controllers.append(self)
        self.requests: dict[int, tuple[Serial, str]] = {}
        self.channels = [Channel(fetch, store, _CIRCULAR) for _ in range(8)]
        super().__init__(name, base)
        for i, channel in enumerate(self.channels):
            self._bind(0x08 + 0x14 * i, i, channel)

    def reset(self) -> None:
        self.clear()
        for channel in self.channels:
            channel.clear()

    def _bind(self, at: int, number: int, channel: Channel) -> None:
        def setter(key: str) -> Callable[[int], None]:
            def write(value: int) -> None:
                if channel.enabled:
                    raise Unmodelled(f"{self.name} channel {number + 1}: {key} written while the channel is enabled")
                setattr(channel, key, value)
            return write

        def current(key: str) -> Callable[[], int]:
            offset = at + _OFFSETS[key]

            def read() -> int:
                self.catch_up(offset)
                return self.publish(offset, getattr(channel, key))
            return read

        places = {f"STREAM_{what}": at + _OFFSETS[key] for what, key in zip(_WORDS, _OFFSETS, strict=True)}
        channel.registers = Registers(self, places | {"STREAM_FLAGS": 0x04}, 0xF << 4 * number, 5 << 4 * number,
                                      3 << 4 * number)
        self._read[at] = current("control")
        self._write[at] = (lambda value: self._control(number, channel, value), _CONTROL_BITS)
        self._read[at + 4], self._write[at + 4] = current("left"), (setter("left"), 0xFFFF)
        for offset, key in ((_OFFSETS[key], key) for key in ("peripheral", "memory")):
            self._read[at + offset] = current(key)
            self._write[at + offset] = (setter(key), self._write[at + offset][1])

    @property
    def served(self) -> Iterable[Serial]:
        return dict.fromkeys([usart for usart, _ in self.requests.values()])

    def _control(self, number: int, channel: Channel, value: int) -> None:
        self.catch_up(0x08 + 0x14 * number)
        starts = value & 1 and not channel.enabled
        if channel.enabled and value & 1 and value != channel.control:
            raise Unmodelled(f"{self.name} channel {number + 1}: control changed while the channel is enabled")
        channel.control = value
        if not starts:
            return
        request = self.requests.get(self.mux.value[f"C{self.first + number}CR"])
        if request is None or not value & 0x80 or not channel.left:
            raise Unmodelled(f"{self.name} channel {number + 1}: control 0x{value:X} is not modelled, or no request")
        usart, side = request
        if (side == "transmit") != bool(value & 0x10) or channel.peripheral != getattr(usart, f"{side}_address"):
            raise Unmodelled(f"{self.name} channel {number + 1} does not fit {usart.name} {side}")
        channel.reload, channel.usual = channel.left, value & ~1
        chooses = 4 * (self.first + number)
        channel.chosen = (self.mux, chooses, self.mux.value[self.mux.REGISTERS[chooses].name])
        if side == "transmit":
            usart.sending(channel)
        setattr(usart, f"{side}_stream", channel)
        usart.catch_up()

    def read_ISR(self) -> int:
        self.catch_up(0x00)
        return sum((c.complete << 1 | c.half << 2 | (c.half or c.complete)) << 4 * i
                   for i, c in enumerate(self.channels))

    def read_IFCR(self) -> int:
        return 0

    def write_IFCR(self, value: int) -> None:
        self.catch_up(0x04)
        for i, channel in enumerate(self.channels):
            cleared = value >> 4 * i
            channel.complete &= not cleared & 3
            channel.half &= not cleared & 5
