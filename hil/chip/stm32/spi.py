"""An SPI master of the STM32F405 (RM0090 section 28), 16-bit frames, one slave at a time."""

from __future__ import annotations

import math
from collections.abc import Callable

from femtorque.hil.chip.events import NEVER, Events
from femtorque.hil.chip.registers import Peripheral, Register, Unmodelled

MSTR, SPE, SSI, SSM, DFF = 1 << 2, 1 << 6, 1 << 8, 1 << 9, 1 << 11
RXNE, TXE, BSY = 1 << 0, 1 << 1, 1 << 7
_MASTER = MSTR | SSI | SSM | DFF


class Spi(Peripheral):
    """exchange(word, mode) -> word: of the selected chip on the bus; mode: CPOL and CPHA as bits 1 and 0."""

    REGISTERS = {0x00: Register("CR1", 0, 0x0FFF), 0x04: Register("CR2", 0, 0), 0x08: Register("SR", TXE, 0),
                 0x0C: Register("DR", 0, 0xFFFF)}

    def __init__(self, name: str, base: int, events: Events, cycles_per_clock: Callable[[], float]) -> None:
        self.events, self._cycles_per_clock = events, cycles_per_clock
        self.exchange: Callable[[int, int], int] = lambda word, mode: 0xFFFF
        self._done, self._received, self._unread = 0.0, 0, False
        super().__init__(name, base)

    def reset(self) -> None:
        self.clear()
        self._done, self._unread = 0.0, False

    def read_SR(self) -> int:
        busy = self.events.now < self._done
        value = TXE | (BSY if busy else 0) | (RXNE if self._unread and not busy else 0)
        self.say("SR", value, math.ceil(self._done) if busy else NEVER)
        return value

    def write_DR(self, value: int) -> None:
        control = self.value["CR1"]
        if control & (_MASTER | SPE) != _MASTER | SPE or self.events.now < self._done:
            raise Unmodelled(f"{self.name}.DR written while it is no 16-bit master, or busy")
        clocks = 16 * (2 << (control >> 3 & 7))
        self._done = self.events.now + clocks * self._cycles_per_clock()
        self._received = self.exchange(value, (control & 2) | (control & 1))
        self._unread = True
        self.read_SR()  # publishes it

    def read_DR(self) -> int:
        self.forget()
        self._unread = False
        self.read_SR()  # publishes it
        return self._received
