"""RCC, FLASH and PWR of the STM32G474 (RM0440 sections 7, 3, 6)."""

import struct
from collections.abc import Callable

from femtorque.hil.chip.registers import Peripheral, Register, Unmodelled
from femtorque.hil.chip.stm32.clocks import HSERDY, PLLRDY, ClockController
from femtorque.hil.chip.stm32.flash import ERASED, LOCK, START, FlashInterface

_HZ_PER_WAIT_STATE = {False: 30_000_000, True: 34_000_000}  # range 1 without and with boost (table 29)
_PER, _MER1, _MER2, _OPTSTRT, _LAUNCH, _OPTLOCK = 1 << 1, 1 << 2, 1 << 15, 1 << 17, 1 << 27, 1 << 30  # of CR
_PROGERR, _SIZERR, _PGSERR = 1 << 3, 1 << 6, 1 << 7  # of SR
_BANKS, _PAGE, _PAGES = (0x08000000, 0x08040000), 2 << 10, 128  # DBANK = 1, as delivered (RM0440 table 4)
_PROGRAM_S, _ERASE_S = 81.7e-6, 22e-3  # DS12288, flash memory characteristics, typical: from memory; bank as page
_NORMAL_HZ = 150_000_000  # maximum HCLK without boost
DBG_SWEN = 1 << 18  # of ACR
_SLOW_HZ = 80_000_000  # HPRE must divide the clock during the switch to a faster PLL


class Flash(FlashInterface):
    """The flash interface: wait states, caches, two banks of pages, option bytes, and DBG_SWEN, which disables SWD if 0
    is written (Klipper's pull request 5927). options: as delivered (RM0440 3.4.1)."""

    REGISTERS = {0x00: Register("ACR", 0, 0x71F0F), 0x08: Register("KEYR"), 0x0C: Register("OPTKEYR"),
                 0x10: Register("SR"), 0x14: Register("CR", LOCK | _OPTLOCK, 0xCB038BFF), 0x20: Register("OPTR")}
    ERRORS = 0xC3FA  # OPERR, PROGERR, WRPERR, PGAERR, SIZERR, PGSERR, MISERR, FASTERR, RDERR, OPTVERR
    options = 0xFFEFF8AA
    on_launch: Callable[[], None] = staticmethod(lambda: None)  # called to load the option bytes, which resets the chip

    def reset(self) -> None:
        super().reset()
        self._first: tuple[int, int] | None = None  # address and value of the first word of a double word
        self.value["OPTR"] = self.options

    def _unlock_options(self) -> None:
        if not self.value["CR"] & LOCK:
            self.value["CR"] &= ~_OPTLOCK

    def write_OPTR(self, value: int) -> None:
        if not self.value["CR"] & _OPTLOCK:
            self.value["OPTR"] = value

    def write_CR(self, value: int) -> None:
        """Handle a write to CR. The write locks, erases, or handles option bytes. Only the keys unlock."""
        if self.value["CR"] & LOCK:
            return
        locked = self.value["CR"] & _OPTLOCK
        self.value["CR"] = value & ~(START | _OPTSTRT | _LAUNCH) | locked
        if value & START and value & (_MER1 | _MER2):
            for bank in (bank for bank, bit in enumerate((_MER1, _MER2)) if value & bit):
                self._erase(_BANKS[bank], _PAGE * _PAGES)
            self._takes(_ERASE_S)
        elif value & START and value & _PER:
            self._erase(_BANKS[value >> 11 & 1] + _PAGE * (value >> 3 & 0x7F), _PAGE)
            self._takes(_ERASE_S)
        if value & _OPTSTRT and not locked:
            self.options = self.value["OPTR"]
            self._takes(_ERASE_S)
        if value & _LAUNCH and not locked:
            self.on_launch()

    def _program(self, address: int, size: int, value: int) -> None:
        """Program a double word. The words must be erased, unless both new words are zero (RM0440 3.3.7)."""
        first, self._first = self._first, None
        if size != 4:
            self.value["SR"] |= _SIZERR
        elif address % 8 == 0:
            self._first = address, value
        elif first is None or first[0] != address - 4:
            self.value["SR"] |= _PGSERR
        else:
            pair = struct.pack("<II", first[1], value)
            if self._core.memory(first[0], 8) != ERASED * 8 and any(pair):
                self.value["SR"] |= _PROGERR
                return
            self._core.load(first[0], pair)
            self._takes(_PROGRAM_S)


class Power(Peripheral):
    """The voltage regulator. R1MODE = 0 selects boost. CR3.UCPD1_DBDIS releases PB4 and PB6."""

    REGISTERS = {0x00: Register("CR1", 0, 0x0700), 0x04: Register("CR2", 0, 0xFF),
                 0x08: Register("CR3", 0, 0xE000), 0x14: Register("SR2", 0, 0), 0x80: Register("CR5", 0, 0x0100)}
    on_level: Callable[[], None] = staticmethod(lambda: None)  # called when the voltage detector has been configured
    is_low: Callable[[], bool] = staticmethod(lambda: False)
    locked: Callable[[], bool] = staticmethod(lambda: False)

    def level(self) -> int | None:
        """Return the setting PLS of the voltage detector; None while it is off. 7 selects an external input."""
        return self.value["CR2"] >> 1 & 7 if self.value["CR2"] & 1 else None

    def write_CR2(self, value: int) -> None:
        if value >> 1 & 7 == 7:
            raise Unmodelled("the voltage detector on its external input")
        if not self.locked():
            self.value["CR2"] = value
        self.on_level()

    def read_SR2(self) -> int:
        return self.is_low() << 11

    @property
    def boost(self) -> bool:
        return not self.value["CR5"] & 0x100


class SystemConfiguration(Peripheral):
    """SYSCFG. CFGR2.PVDL connects the voltage detector to the timers' break and locks its threshold until a reset."""

    REGISTERS = {0x1C: Register("CFGR2", 0, 0xF)}
    on_change: Callable[[], None] = staticmethod(lambda: None)

    @property
    def detector_breaks(self) -> bool:
        return bool(self.value["CFGR2"] & 1 << 2)

    def write_CFGR2(self, value: int) -> None:
        self.value["CFGR2"] |= value
        self.on_change()


class Rcc(ClockController):
    REGISTERS = {
        0x00: Register("CR", 0, 0x010D0500), 0x04: Register("ICSCR", 0, 0),
        0x08: Register("CFGR", 0, 0x00003FF3), 0x0C: Register("PLLCFGR", 0, 0xFF737FF3),
        0x18: Register("CIER", 0, 0), 0x1C: Register("CIFR", 0, 0), 0x20: Register("CICR", 0, 0x100),
        0x28: Register("AHB1RSTR"), 0x2C: Register("AHB2RSTR"), 0x30: Register("AHB3RSTR"),
        0x38: Register("APB1RSTR1"), 0x3C: Register("APB1RSTR2"), 0x40: Register("APB2RSTR"),
        0x48: Register("AHB1ENR"), 0x4C: Register("AHB2ENR"), 0x50: Register("AHB3ENR"),
        0x58: Register("APB1ENR1"), 0x5C: Register("APB1ENR2"), 0x60: Register("APB2ENR"),
        0x88: Register("CCIPR", 0, 3 << 24), 0x94: Register("CSR", 0, 0xFE800001),
    }
    HSION, HSIRDY = 1 << 8, 1 << 10
    SOURCES = {1: HSIRDY, 2: HSERDY, 3: PLLRDY}
    APB_SHIFTS = (8, 11)
    LIMITS_HZ = {"HCLK": 170_000_000, "APB1": 170_000_000, "APB2": 170_000_000}
    RESET_FLAGS = {"options": 1 << 25, "brownout": 1 << 27, "pin": 1 << 26, "power": 1 << 27, "software": 1 << 28,
                   "watchdog": 1 << 29}
    CLEAR_FLAGS, FAILURE = 1 << 23, ("CIFR", 1 << 8)
    PLL_OUTPUTS = 1 << 16 | 1 << 20 | 1 << 24  # P, Q, R (RM0440 7.4.4)
    GATES = ("AHB1ENR", "AHB2ENR", "APB1ENR1", "APB1ENR2", "APB2ENR")

    def _pll_uses_hse(self) -> bool:
        return self.value["PLLCFGR"] & 3 == 3

    def _pll_hz(self, lets_out: int = 24, divides: int = 25) -> int:
        """Return the frequency of a PLL output. lets_out, divides: its enable bit and divider in PLLCFGR."""
        pll = self.value["PLLCFGR"]
        m, n, divider = (pll >> 4 & 15) + 1, pll >> 8 & 0x7F, 2 * (pll >> divides & 3) + 2
        vco_in = (self.hse_hz or 0 if self._pll_uses_hse() else self.hsi_hz) / m
        if not pll & 1 << lets_out or not 2.66e6 <= vco_in <= 16e6 or not 96e6 <= vco_in * n <= 344e6:
            raise Unmodelled(f"PLL out of range or not let out: VCO {vco_in:.0f} Hz to {vco_in * n:.0f} Hz")
        return round(vco_in * n / divider)

    def fdcan_hz(self) -> int:
        """Return the FDCAN clock of CCIPR.FDCANSEL: the crystal (0 if dead), output Q of the PLL, or APB1."""
        chosen = self.value["CCIPR"] >> 24 & 3
        if chosen == 1:
            return self._pll_hz(20, 21)
        if chosen == 3 or chosen == 0 and self.hse_hz is None:
            raise Unmodelled(f"CCIPR.FDCANSEL = {chosen}, where there is no clock")
        return self.apb1 if chosen == 2 else self.hse_hz or 0 if self.hse_alive else 0

    def write_CCIPR(self, value: int) -> None:
        self.value["CCIPR"] = value
        self._sources_changed()

    def write_CFGR(self, value: int) -> None:
        switches = value & 3 == 3 and self.value["CFGR"] & 0xC != 0xC and self.value["CR"] & PLLRDY
        if switches and self._source_hz(3) > _SLOW_HZ and not value & 0x80:
            raise Unmodelled("switched to a PLL of more than 80 MHz at once, not by way of half the speed")
        super().write_CFGR(value)

    def _check(self, hclk: int) -> None:
        boost, waits = self.power.boost, self.flash.value["ACR"] & 15
        if hclk > (waits + 1) * _HZ_PER_WAIT_STATE[boost]:
            raise Unmodelled(f"HCLK at {hclk} Hz with {waits} flash wait states")
        if hclk > _NORMAL_HZ and not boost:
            raise Unmodelled(f"HCLK at {hclk} Hz without the regulator's boost")

    def write_CICR(self, value: int) -> None:
        if value & 1 << 8:
            self.value["CIFR"] &= ~(1 << 8)
