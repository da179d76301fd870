"""USART, LPUART, DMA and its request multiplexer of the STM32G474 (RM0440 sections 37, 38, 12, 13)."""

from functools import partial
from typing import Any

from femtorque.hil.chip.peripheral_in_c import PeripheralPartlyInC
from femtorque.hil.chip.registers import Register, Unmodelled
from femtorque.hil.chip.stm32.serial import (
    DEM, DMAR, DMAT, EIE, ERRORS, HDSEL, IDLE, IDLEIE, RE, TC, TE, TXE, Controller, Serial)
from femtorque.hil.clock import ChipState

TEACK, REACK = 1 << 21, 1 << 22  # bits of ISR: transmitter and receiver are enabled
DEDT, DEAT, GUARD = 16, 21, 0x1F  # CR1: lowest bits of a driver's times after and before, and mask of a time (37.8.1)
GUARDS = GUARD << DEDT | GUARD << DEAT


_PARTS = 160  # duration of a byte: sixteenths of ten bits


class Usart(Serial):
    """A USART with 16 times oversampling and no FIFO. ICR clears flags."""

    UE, BY_READING, DATA = 1 << 0, False, {"receive": 0x24, "transmit": 0x28}
    PLACES = {0x1C: "LINK_STATUS", 0x20: "LINK_CLEAR", 0x24: "LINK_DATA", 0x28: "LINK_SENDS"}
    REGISTERS = {
        0x00: Register("CR1", 0, UE | TE | RE | IDLEIE | GUARDS), 0x04: Register("CR2", 0, 0),
        0x08: Register("CR3", 0, DMAR | DMAT | EIE | HDSEL | DEM), 0x0C: Register("BRR", 0, 0xFFFF),
        0x10: Register("GTPR", 0, 0), 0x14: Register("RTOR", 0, 0),
        0x1C: Register("ISR", TXE | TC, 0), 0x20: Register("ICR", 0, ERRORS | IDLE | TC),
        0x24: Register("RDR", 0, 0), 0x28: Register("TDR", 0, 0x1FF), 0x2C: Register("PRESC", 0, 0),
    }

    @property
    def guards(self) -> tuple[float, float]:
        """Cycles for which a transceiver's driver is on before the first byte and after the last byte. The registers
        give the bit duration in sixteenths of a clock (37.5.20)."""
        step, control = self.byte_cycles / _PARTS, self.value["CR1"] if self.value["CR3"] & DEM else 0
        return step * (control >> DEAT & GUARD), step * (control >> DEDT & GUARD)

    def write_CR3(self, value: int) -> None:
        if (value ^ self.value["CR3"]) & DEM and self.value["CR1"] & self.UE:
            raise Unmodelled(f"{self.name}.CR3: DEM changed while the USART is on")
        super().write_CR3(value)

    def write_CR1(self, value: int) -> None:
        if (value ^ self.value["CR1"]) & GUARDS and (value | self.value["CR1"]) & self.UE:
            raise Unmodelled(f"{self.name}.CR1: DEAT or DEDT changed while the USART is on")
        super().write_CR1(value)
        on = (TEACK if value & TE else 0) | (REACK if value & RE else 0)
        self.state.status = self.state.status & ~(TEACK | REACK) | (on if value & self.UE else 0)


class LpUart(Usart):
    """A UART whose divider has 256 steps per clock and at least three clocks per bit."""

    STEPS, LEAST = 256, 0x300
    REGISTERS = Usart.REGISTERS | {0x0C: Register("BRR", 0, 0xFFFFF)}


CONTROL_BITS = 0x30B1  # PL, MINC, CIRC, DIR to peripheral, EN


class DmaMux(PeripheralPartlyInC):
    """DMA request of each channel: channels 0 to 7 are of DMA1, 8 to 15 of DMA2. The model leaves out synchronisation
    between clock domains. Therefore CSR never reports an overrun, and writes to CFR have no effect."""

    REGISTERS = {4 * i: Register(f"C{i}CR", 0, 0x7F) for i in range(16)} | {
        0x80: Register("CSR", 0, 0), 0x84: Register("CFR", 0, 0xFFFF)}
    IN_C = range(0, 64, 4)

    def __init__(self, name: str, base: int, parts: ChipState) -> None:
        super().__init__(name, base, parts)
        for offset in self.IN_C:
            self._read[offset] = partial(self.ask_c, offset)
            self._write[offset] = partial(self.tell_c, offset), 0x7F

    def reset(self) -> None:
        self.clear()
        for stream in self.parts.state.streams:
            stream.asked = 0

    def _what(self, offset: int) -> int:
        return self._named("A_STREAM", offset >> 2, self.parts.lib.STREAM_REQUEST)

    def write_CFR(self, value: int) -> None:
        """Do nothing: overruns do not occur."""


def _registers() -> dict[int, Register]:
    table = {0x00: Register("ISR", 0, 0), 0x04: Register("IFCR")}
    for i in range(8):
        at = 0x08 + 0x14 * i
        table |= {at: Register(f"C{i + 1}CR", 0, CONTROL_BITS), at + 4: Register(f"C{i + 1}NDTR", 0, 0xFFFF),
                  at + 8: Register(f"C{i + 1}PAR"), at + 0xC: Register(f"C{i + 1}MAR")}
    return table


class Dma(Controller):
    """A DMA controller. requests: the USART and 'receive' or 'transmit', by number of the request."""

    REGISTERS = _registers()
    WRITABLE, CIRCULAR, TRANSMITS, GROUP = CONTROL_BITS, 1 << 5, 1 << 4, 8
    WORD, RUNNING = "channel", "the channel is enabled"

    def _describe(self, number: int, stream: Any) -> None:
        shift = 4 * number
        stream.stays = True
        stream.any_flag, stream.complete_flag, stream.half_flag = 1 << shift, 2 << shift, 4 << shift
        stream.complete_bits, stream.half_bits = 3 << shift, 5 << shift
        self._note(number, 0x08 + 0x14 * number)
        if number == 0:
            self._words |= {0x00: (0, "STREAM_FLAGS"), 0x04: (0, "STREAM_CLEAR")}

    def _called(self, number: int) -> str:
        return super()._called(number + 1)

    def _served(self, number: int, stream: Any, value: int) -> tuple[Serial, str]:
        request = self.requests.get(stream.asked)
        if request is None or not value & 0x80 or not stream.left:
            raise Unmodelled(f"{self._called(number)}: control 0x{value:X} is not modelled, or no request")
        return request
