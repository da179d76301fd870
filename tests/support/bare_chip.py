"""A whole virtual chip with an idle processor. A test writes the registers that a flash image would write."""

import struct

from femtorque.hil.bus import Wire
from femtorque.hil.chip import FLASH_START, SRAM_START, Stm32
from femtorque.hil.chip.stm32f4.chip import Stm32F405
from femtorque.hil.chip.stm32g4.chip import Stm32G474

F4, G4 = Stm32F405, Stm32G474
SPIN = bytes.fromhex("fee7")
_RCC4, _PWR4, _FLASH4 = 0x40023800, 0x40007000, 0x40023C00


class Bare:
    def __init__(self, kind: type[Stm32], code: bytes = SPIN) -> None:
        table = struct.pack("<16I", SRAM_START + 0x2000, *[FLASH_START + 0x81] * 15)
        self.chip = kind(table.ljust(0x80, b"\0") + code, 8_000_000 if kind is F4 else 24_000_000)

    def read(self, address: int, size: int = 4) -> int:
        part = self.chip.bus.at(address)
        return part.read(address - part.base, size)

    def write(self, address: int, value: int, size: int = 4) -> None:
        part = self.chip.bus.at(address)
        part.write(address - part.base, size, value)

    def writes(self, base: int, *values: tuple[int, int]) -> None:
        """Write values one after another. A register is given by its offset from the base address."""
        for at, value in values:
            self.write(base + at, value)

    def run(self, seconds: float) -> None:
        self.chip.run(self.chip.seconds + seconds)

    def wire(self) -> Wire:
        """Return a bus to which the first two CAN controllers are connected."""
        wire = Wire(self.chip.clock())
        for name in list(self.chip.cans)[:2]:
            self.chip.cans[name].plug(wire)
        return wire

    def at_full_speed(self) -> None:
        """Run the F405 at 168 MHz from its crystal."""
        self.writes(0, (_FLASH4, 5), (_RCC4 + 0x40, 1 << 28), (_PWR4, 0x4000), (_RCC4, self.read(_RCC4) | 1 << 16))
        self.run(5e-3)
        self.writes(_RCC4, (0x04, 8 | 336 << 6 | 1 << 22 | 7 << 24), (0, self.read(_RCC4) | 1 << 24))
        self.run(1e-3)
        self.writes(_RCC4, (0x08, 5 << 10 | 4 << 13), (0x08, 2 | 5 << 10 | 4 << 13))
