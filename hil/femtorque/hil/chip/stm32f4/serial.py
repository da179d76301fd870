"""USART and DMA of the STM32F405 (RM0090 sections 30, 10)."""

from typing import Any

from femtorque.hil.chip.registers import Register, Unmodelled
from femtorque.hil.chip.stm32.serial import DMAR, DMAT, EIE, HDSEL, IDLEIE, RE, TC, TE, TXE, Controller, Serial


class Usart(Serial):
    """A USART with 16 times oversampling. Reading SR and then DR clears the errors and the idle flag."""

    UE, BY_READING, DATA = 1 << 13, True, {"receive": 0x04, "transmit": 0x04}
    PLACES = {0x00: "LINK_STATUS", 0x04: "LINK_DATA"}
    REGISTERS = {
        0x00: Register("SR", TXE | TC), 0x04: Register("DR", 0, 0x1FF), 0x08: Register("BRR", 0, 0xFFFF),
        0x0C: Register("CR1", 0, UE | TE | RE | IDLEIE), 0x10: Register("CR2", 0, 0),
        0x14: Register("CR3", 0, DMAR | DMAT | EIE | HDSEL),
    }


_FLAG_SHIFT = (0, 6, 16, 22)  # flags of a stream: FEIF 0, DMEIF 2, TEIF 3, HTIF 4, TCIF 5


CONTROL_BITS = 0x0E030541  # CHSEL, PL, MINC, CIRC, DIR to peripheral, EN: bits that software may set


def _dma_registers() -> dict[int, Register]:
    table = {0x00: Register("LISR", 0, 0), 0x04: Register("HISR", 0, 0),
             0x08: Register("LIFCR"), 0x0C: Register("HIFCR")}
    for i in range(8):
        at = 0x10 + 0x18 * i
        table |= {at: Register(f"S{i}CR", 0, CONTROL_BITS), at + 4: Register(f"S{i}NDTR", 0, 0xFFFF),
                  at + 8: Register(f"S{i}PAR"), at + 0xC: Register(f"S{i}M0AR"),
                  at + 0x14: Register(f"S{i}FCR", 0x21, 0)}
    return table


class Dma(Controller):
    """A DMA controller. requests: the USART and 'receive' or 'transmit', by stream and channel."""

    REGISTERS = _dma_registers()
    WRITABLE, CIRCULAR, TRANSMITS, GROUP = CONTROL_BITS, 1 << 8, 1 << 6, 4
    WORD, RUNNING = "stream", "the stream runs"

    def _describe(self, number: int, stream: Any) -> None:
        shift = _FLAG_SHIFT[number % 4]
        stream.flagged = True
        stream.half_flag = stream.half_bits = 0x10 << shift
        stream.complete_flag = stream.complete_bits = 0x20 << shift
        self._note(number, 0x10 + 0x18 * number)
        if number % 4 == 0:
            self._words |= {number: (number, "STREAM_FLAGS"), number + 8: (number, "STREAM_CLEAR")}

    def _served(self, number: int, stream: Any, value: int) -> tuple[Serial, str]:
        if stream.half or stream.complete:
            raise Unmodelled(f"{self._called(number)}: enabled with its flags not cleared")
        request = self.requests.get((number, value >> 25 & 7))
        if request is None or not value & 0x400 or not stream.left:
            raise Unmodelled(f"{self._called(number)}: control 0x{value:X} is not modelled")
        return request
