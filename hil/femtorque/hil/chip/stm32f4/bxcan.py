"""bxCAN of the STM32F405 (RM0090 section 32), in C (bxcan.c)."""

from femtorque.hil.chip.registers import Register, Unmodelled
from femtorque.hil.chip.stm32.can import CanController

_BANKS = 28


def _registers() -> dict[int, Register]:
    table = {
        0x00: Register("MCR", 0, 0x1805F), 0x04: Register("MSR", 0, 0x14), 0x08: Register("TSR", 0, 0xFF8F8F8F),
        0x0C: Register("RF0R", 0, 0x38), 0x10: Register("RF1R", 0, 0x38),
        0x14: Register("IER", 0, 0x28F7F), 0x18: Register("ESR", 0, 0x70), 0x1C: Register("BTR", 0, 0x837F03FF),
    }
    for m in range(3):
        for at, key, writable in ((0, "TI", 0xFFFFFFFF), (4, "TDT", 0xF), (8, "TDL", 0xFFFFFFFF),
                                  (12, "TDH", 0xFFFFFFFF)):
            table[0x180 + 16 * m + at] = Register(f"{key}{m}R", 0, writable)
    for f in range(2):
        for at, key in ((0, "RI"), (4, "RDT"), (8, "RDL"), (12, "RDH")):
            table[0x1B0 + 16 * f + at] = Register(f"{key}{f}R", 0, 0)
    return table


def _filter_registers() -> dict[int, Register]:
    banks = (1 << _BANKS) - 1
    table = {0x200: Register("FMR", 0, 0x3F01), 0x204: Register("FM1R", 0, banks), 0x20C: Register("FS1R", 0, banks),
             0x214: Register("FFA1R", 0, banks), 0x21C: Register("FA1R", 0, banks)}
    for bank in range(_BANKS):
        table |= {0x240 + 8 * bank + 4 * half: Register(f"F{bank}R{half + 1}") for half in range(2)}
    return table


class BxCan(CanController):
    """A controller."""

    KIND, MEMBER, BEGIN, RESET = "A_BXCAN", "bxcans", "bxcan_begin", "bxcan_reset"
    REGISTERS = _registers()
    filters: CanController  # the controller that contains the filters of both controllers

    def read(self, offset: int, size: int) -> int:
        self._need_filters_clock()
        return super().read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        self._need_filters_clock()
        super().write(offset, size, value)

    def _need_filters_clock(self) -> None:
        if not self.filters.clocked:
            raise Unmodelled(f"{self.name} used while the clock of {self.filters.name}, which has its memory, is off")

    def _left(self, key: str, value: int) -> None:
        """Reset the controller, as MCR.RESET requests."""
        self.reset()


class Filters(BxCan):
    """CAN1 with the filter banks of both controllers (32.7.4). Banks below FMR.CAN2SB belong to CAN1."""

    REGISTERS = _registers() | _filter_registers()
