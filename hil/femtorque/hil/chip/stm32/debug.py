"""The debug unit of the chip (RM0090 section 38, RM0440 section 47)."""

from typing import ClassVar

from femtorque.hil.chip.registers import Peripheral, Register

BASE = 0xE0042000
SLEEP, STOP, STANDBY = 1 << 0, 1 << 1, 1 << 2
IWDG, WWDG = 1 << 12, 1 << 11


class DebugUnit(Peripheral):
    """Settings for a halted or sleeping processor, kept over a system reset and cleared by power-on. WATCHDOG_FREEZE:
    register with the watchdogs' freeze bits; FREEZE: register and bit of each timer (ST's SVD files)."""

    WATCHDOG_FREEZE: ClassVar[str]
    FREEZE: ClassVar[dict[str, tuple[str, int]]]

    def __init__(self) -> None:
        super().__init__("DBGMCU", BASE)

    def reset(self) -> None:
        """Do nothing: the chip clears the settings at power-on."""

    @property
    def keeps_clocks(self) -> bool:
        """True if SWD responds while the processor sleeps."""
        return bool(self.value["CR"] & SLEEP)

    @property
    def freezes_watchdog(self) -> bool:
        return bool(self.value[self.WATCHDOG_FREEZE] & IWDG)

    def freezes(self, timer: str) -> bool:
        register, bit = self.FREEZE[timer]
        return bool(self.value[register] >> bit & 1)


class DebugUnitF4(DebugUnit):
    REGISTERS = {0x0: Register("IDCODE", 0, 0), 0x4: Register("CR", 0, 0xE7), 0x8: Register("APB1_FZ", 0, 0x06E01DFF),
                 0xC: Register("APB2_FZ", 0, 0x00070003)}
    WATCHDOG_FREEZE = "APB1_FZ"
    FREEZE = {**{f"TIM{2 + i}": ("APB1_FZ", i) for i in range(4)},
              **{f"TIM{12 + i}": ("APB1_FZ", 6 + i) for i in range(3)},
              "TIM1": ("APB2_FZ", 0), "TIM8": ("APB2_FZ", 1), **{f"TIM{9 + i}": ("APB2_FZ", 16 + i) for i in range(3)}}


class DebugUnitG4(DebugUnit):
    REGISTERS = {0x0: Register("IDCODE", 0, 0), 0x4: Register("CR", 0, 0xE7), 0x8: Register("APB1FZR1", 0, 0xC0601C3F),
                 0xC: Register("APB1FZR2", 0, 0x2), 0x10: Register("APB2FZR", 0, 0x04172800)}
    WATCHDOG_FREEZE = "APB1FZR1"
    FREEZE = {**{f"TIM{2 + i}": ("APB1FZR1", i) for i in range(4)}, "TIM1": ("APB2FZR", 11), "TIM8": ("APB2FZR", 13),
              "TIM15": ("APB2FZR", 16), "TIM20": ("APB2FZR", 20)}
