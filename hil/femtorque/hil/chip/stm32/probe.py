"""A debug probe on the SWD pins of the chip."""

from femtorque.hil.chip.stm32.chip import Stm32
from femtorque.hil.chip.stm32.debug import IWDG, SLEEP, STANDBY, STOP, WWDG


class NoAnswer(Exception):
    """Raised if the chip does not respond on SWD."""


class Probe:
    """A debugger without a reset line, configured as in OpenOCD's stm32f4x.cfg and stm32g4x.cfg. A connected debugger
    freezes the watchdogs with the processor, and keeps the clocks on while the processor sleeps."""

    def __init__(self, chip: Stm32) -> None:
        self.chip = chip

    def attach(self) -> None:
        """Connect. Raises NoAnswer if SWD is disabled, or in sleep if the debug clocks have stopped."""
        debug = self.chip.debug
        if self.chip.debug_closed:
            raise NoAnswer("the access port was switched off: FLASH_ACR.DBG_SWEN is 0")
        if self.chip.core.asleep and not debug.keeps_clocks:
            raise NoAnswer("the processor sleeps and DBGMCU_CR.DBG_SLEEP is 0")
        debug.value["CR"] |= SLEEP | STOP | STANDBY
        debug.value[debug.WATCHDOG_FREEZE] |= IWDG | WWDG

    def halt(self) -> None:
        self.chip.halt()

    def resume(self) -> None:
        self.chip.resume()
