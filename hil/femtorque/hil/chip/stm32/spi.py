"""An SPI master of the STM32F405 (RM0090 section 28) with 16-bit frames and one slave at a time, in C (spi.c)."""

from collections.abc import Callable
from functools import partial

from femtorque.hil.chip.peripheral_in_c import PeripheralInC
from femtorque.hil.chip.registers import Register, Unmodelled
from femtorque.hil.clock import Events

TXE = 1 << 1
_DATA = 0x0C


class Spi(PeripheralInC):
    """The SPI master. exchange(word, mode): returns the slave's word; mode: CPOL and CPHA as bits 1 and 0."""

    REGISTERS = {0x00: Register("CR1", 0, 0x0FFF), 0x04: Register("CR2", 0, 0), 0x08: Register("SR", TXE, 0),
                 _DATA: Register("DR", 0, 0xFFFF)}
    IN_C = (0x08, _DATA)
    KIND, MEMBER = "A_SPI", "spis"

    def __init__(self, name: str, base: int, events: Events, cycles_per_clock: Callable[[], float]) -> None:
        self._cycles_per_clock = cycles_per_clock
        self.exchange: Callable[[int, int], int] = lambda word, mode: 0xFFFF
        super().__init__(name, base, events.parts)
        self._read |= {offset: partial(self.ask_c, offset) for offset in self.IN_C}
        self.parts.hear("SPI_CLOCK", self.slot, self._clock)
        self.parts.hear("SPI_EXCHANGE", self.slot, lambda word: self.exchange(int(word), self.value["CR1"] & 3))

    def reset(self) -> None:
        self.clear()
        self.state.done, self.state.unread = 0.0, False

    def forget(self, *keys: str) -> None:
        super().forget(*keys)
        self.state.cycles = 0.0

    def touched(self) -> None:
        """Keep the description of the board in C unchanged. These registers affect no output."""

    def _clock(self, value: float) -> None:
        self.state.cycles = self._cycles_per_clock()

    def write_DR(self, value: int) -> None:
        if not self.tell_c(_DATA, value):
            raise Unmodelled(f"{self.name}.DR written while it is no 16-bit master, or busy")
