"""FDCAN of the STM32G474 (RM0440 section 44): three controllers with one clock. Each controller has a fixed region of
the message RAM. The controllers are in C (fdcan.c)."""

import numpy as np

from femtorque.hil.chip.peripheral_in_c import PeripheralPartlyInC
from femtorque.hil.chip.registers import WORD, Peripheral, Register, Unmodelled
from femtorque.hil.chip.stm32.can import CanController
from femtorque.hil.clock import ChipState


class MessageRam(PeripheralPartlyInC):
    """Message RAM. Writes are whole words; reads have any size. The content is arbitrary after power-on."""

    def __init__(self, base: int, parts: ChipState) -> None:
        self._words, self._count = parts.state.message_ram, parts.lib.FDCAN_RAM_WORDS
        self.SIZE = 4 * self._count
        self._words[0:self._count] = np.random.default_rng(0xCA).integers(0, 1 << 32, self._count, np.uint64).tolist()
        super().__init__("SRAMCAN", base, parts)

    def reset(self) -> None:
        """Keep the content over a reset."""

    def _place(self) -> None:
        if self._bus is not None:
            kind = self.parts.lib.OF_A_PART if self.clocked else 0
            self.parts.lib.bus_place_row(self._bus.places, self.base, self._count, kind,
                                         self._named("MESSAGE_RAM", 0, 0))

    def read(self, offset: int, size: int) -> int:
        self._check(offset, "read of")
        return int(self._words[offset // 4]) >> 8 * (offset & 3) & WORD >> 32 - 8 * size

    def write(self, offset: int, size: int, value: int) -> None:
        if size != 4:
            raise Unmodelled(f"write of {size} bytes to {self._where(offset)}")
        self._check(offset, "write to")
        self._words[offset // 4] = value

    def _check(self, offset: int, what: str) -> None:
        if not self.clocked or offset >= self.SIZE:
            raise Unmodelled(f"{what} {self._where(offset)}")


def _registers() -> dict[int, Register]:
    table = {
        0x000: Register("CREL", 0, 0), 0x004: Register("ENDN", 0, 0), 0x00C: Register("DBTP", 0, 0x9F1FFF),
        0x010: Register("TEST", 0, 0), 0x014: Register("RWD", 0, 0), 0x088: Register("HPMS", 0, 0),
        0x018: Register("CCCR", 0, 0x5363), 0x01C: Register("NBTP", 0, 0xFFFFFF7F),
        0x020: Register("TSCC", 0, 0), 0x028: Register("TOCC", 0, 0), 0x040: Register("ECR", 0, 0),
        0x044: Register("PSR", 0, 0), 0x048: Register("TDCR", 0, 0x7F7F), 0x050: Register("IR", 0, 0xFFFFFF),
        0x054: Register("IE", 0, 0xFFFFFF), 0x058: Register("ILS", 0, 0x7F), 0x05C: Register("ILE", 0, 3),
        0x080: Register("RXGFC", 0, 0xF1F033F), 0x084: Register("XIDAM", 0, 0x1FFFFFFF),
        0x0C0: Register("TXBC", 0, 1 << 24), 0x0C4: Register("TXFQS", 0, 0), 0x0C8: Register("TXBRP", 0, 0),
        0x0CC: Register("TXBAR", 0, 7), 0x0D0: Register("TXBCR", 0, 7), 0x0D4: Register("TXBTO", 0, 0),
        0x0D8: Register("TXBCF", 0, 0), 0x0DC: Register("TXBTIE", 0, 7), 0x0E0: Register("TXBCIE", 0, 7),
        0x0E4: Register("TXEFS", 0, 0), 0x0E8: Register("TXEFA", 0, 0),
    }
    for f in range(2):
        table |= {0x090 + 8 * f: Register(f"RXF{f}S", 0, 0), 0x094 + 8 * f: Register(f"RXF{f}A", 0, 7)}
    return table


class Fdcan(CanController):
    """A controller. hz: the common clock of the three controllers, before CKDIV."""

    KIND, MEMBER, BEGIN, RESET = "AN_FDCAN", "fdcans", "fdcan_begin", "fdcan_reset"
    REGISTERS = _registers()
    REFUSALS = (".DBTP: delay compensation with a prescaler above 2", ": transmit events",
                ": filters of priority messages")

    def _left(self, key: str, value: int) -> None:
        fifo = self.state.fifos[key == "RXF1A"]
        why = f"'s next element is {self.state.put}" if key == "TXBAR" else f" has {fifo.level} from {fifo.get} on"
        raise Unmodelled(f"{self.name}.{key} = {value}: the FIFO{why}")


class FirstFdcan(Fdcan):
    """FDCAN1, with the divider of the clock of all three controllers."""

    REGISTERS = _registers() | {0x100: Register("CKDIV", 0, 15)}


class Block(Peripheral):
    """Peripherals that share one clock gate and one reset bit. The block has no addresses."""

    SIZE = 0

    def __init__(self, members: tuple[Peripheral, ...]) -> None:
        self._members, self._clocked = members, True
        super().__init__("FDCAN", members[0].base)

    @property
    def clocked(self) -> bool:
        return self._clocked

    @clocked.setter
    def clocked(self, on: bool) -> None:
        self._clocked = on
        for member in self._members:
            member.clocked = on

    def forget(self, *keys: str) -> None:
        for member in self._members:
            member.forget()

    def reset(self) -> None:
        for member in self._members:
            member.reset()
