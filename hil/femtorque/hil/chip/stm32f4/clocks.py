"""RCC, FLASH and PWR of the STM32F405 (RM0090 sections 7, 3, 5)."""

from collections.abc import Callable

from femtorque.hil.chip.registers import Peripheral, Register, Unmodelled
from femtorque.hil.chip.stm32.clocks import HSERDY, PLLRDY, ClockController
from femtorque.hil.chip.stm32.flash import LOCK, START, FlashInterface

_HZ_PER_WAIT_STATE = 30_000_000  # at 2.7 to 3.6 V
_SER, _MER, _PGPERR, _OPTLOCK, _OPTSTRT = 1 << 1, 1 << 2, 1 << 6, 1 << 0, 1 << 1
# address and bytes of each sector (RM0090 table 5)
_SECTORS = [(0x08000000 + (at << 10), size << 10) for at, size in (
    *((16 * i, 16) for i in range(4)), (64, 64), *((128 * i, 128) for i in range(1, 8)))]
# Typical times of flash programming by words, as in DS8626. The values were not compared with the data sheet.
_PROGRAM_S, _ERASE_S, _MASS_ERASE_S = 16e-6, {16: 0.25, 64: 0.55, 128: 1.0}, 8.0
_LOW_VOLTAGE_HZ = 144_000_000  # maximum HCLK with PWR_CR.VOS = 0


class Flash(FlashInterface):
    """The flash interface: wait states, caches, sectors, option bytes. options: as delivered (RM0090 3.9.5)."""

    REGISTERS = {0x00: Register("ACR", 0, 0x1F07), 0x04: Register("KEYR"), 0x08: Register("OPTKEYR"),
                 0x0C: Register("SR"), 0x10: Register("CR", LOCK, 0x8301037F), 0x14: Register("OPTCR")}
    ERRORS = 0xF2  # OPERR, WRPERR, PGAERR, PGPERR, PGSERR
    options = 0x0FFFAAED

    def read_OPTCR(self) -> int:
        return self.options

    def write_OPTCR(self, value: int) -> None:
        """Set OPTLOCK, or program the other option bits if OPTSTRT is set. OPTLOCK is cleared only by the keys."""
        if not self.options & _OPTLOCK:
            self.options = value & ~_OPTSTRT
            if value & _OPTSTRT:
                self._takes(_ERASE_S[16])

    def reset(self) -> None:
        super().reset()
        self.options |= _OPTLOCK

    def _unlock_options(self) -> None:
        self.options &= ~_OPTLOCK

    def write_CR(self, value: int) -> None:
        if self.value["CR"] & LOCK:
            return
        self.value["CR"] = value & ~START
        if value & START and value & _MER:
            self._erase(_SECTORS[0][0], sum(size for _, size in _SECTORS))
            self._takes(_MASS_ERASE_S)
        elif value & START and value & _SER:
            number = value >> 3 & 15
            if number >= len(_SECTORS):
                raise Unmodelled(f"{self.name}.CR = 0x{value:X}: it has {len(_SECTORS)} sectors")
            self._erase(*_SECTORS[number])
            self._takes(_ERASE_S[_SECTORS[number][1] >> 10])

    def _program(self, address: int, size: int, value: int) -> None:
        """Program bits of flash. A bit can only change from 1 to 0."""
        if size != 1 << (self.value["CR"] >> 8 & 3):
            self.value["SR"] |= _PGPERR
            return
        old = int.from_bytes(self._core.memory(address, size), "little")
        self._core.load(address, (old & value).to_bytes(size, "little"))
        self._takes(_PROGRAM_S)

    @property
    def fastest_hz(self) -> int:
        return ((self.value["ACR"] & 7) + 1) * _HZ_PER_WAIT_STATE


class Power(Peripheral):
    """The voltage scale of the regulator and the threshold of the voltage detector."""

    REGISTERS = {0x00: Register("CR", 0, 0x40F0), 0x04: Register("CSR", 0, 0)}
    on_level: Callable[[], None] = staticmethod(lambda: None)  # called when the threshold has been set
    is_low: Callable[[], bool] = staticmethod(lambda: False)

    def level(self) -> int | None:
        """Return PLS of the voltage detector, or None while the detector is off."""
        return self.value["CR"] >> 5 & 7 if self.value["CR"] & 0x10 else None

    def write_CR(self, value: int) -> None:
        self.value["CR"] = value
        self.on_level()

    def read_CSR(self) -> int:
        return self.value["CSR"] | self.is_low() << 2


class Rcc(ClockController):
    REGISTERS = {
        0x00: Register("CR", 0, 0x010D00F9), 0x04: Register("PLLCFGR", 0, 0x0F437FFF),
        0x08: Register("CFGR", 0, 0x0000FCF3), 0x0C: Register("CIR", 0, 0x00800000),
        0x10: Register("AHB1RSTR"), 0x14: Register("AHB2RSTR"), 0x18: Register("AHB3RSTR"),
        0x20: Register("APB1RSTR"), 0x24: Register("APB2RSTR"),
        0x30: Register("AHB1ENR"), 0x34: Register("AHB2ENR"), 0x38: Register("AHB3ENR"),
        0x40: Register("APB1ENR"), 0x44: Register("APB2ENR"),
        0x74: Register("CSR", 0, 0xFF000001),
    }
    HSION, HSIRDY = 1 << 0, 1 << 1
    SOURCES = {0: HSIRDY, 1: HSERDY, 2: PLLRDY}
    APB_SHIFTS = (10, 13)
    LIMITS_HZ = {"HCLK": 168_000_000, "APB1": 42_000_000, "APB2": 84_000_000}
    RESET_FLAGS = {"brownout": 1 << 25, "pin": 1 << 26, "power": 1 << 27, "software": 1 << 28, "watchdog": 1 << 29}
    CLEAR_FLAGS, FAILURE = 1 << 24, ("CIR", 1 << 7)
    GATES = ("AHB1ENR", "APB1ENR", "APB2ENR")

    def _pll_uses_hse(self) -> bool:
        return bool(self.value["PLLCFGR"] >> 22 & 1)

    def _pll_hz(self) -> int:
        pll = self.value["PLLCFGR"]
        m, n, p = pll & 0x3F, pll >> 6 & 0x1FF, 2 * (pll >> 16 & 3) + 2
        vco_in = (self.hse_hz or 0 if self._pll_uses_hse() else self.hsi_hz) / max(m, 1)
        if m < 2 or not 0.95e6 <= vco_in <= 2.1e6 or not 100e6 <= vco_in * n <= 432e6:
            raise Unmodelled(f"PLL out of range: VCO input {vco_in:.0f} Hz, output {vco_in * n:.0f} Hz")
        return round(vco_in * n / p)

    def _check(self, hclk: int) -> None:
        if hclk > self.flash.fastest_hz:
            raise Unmodelled(f"HCLK at {hclk} Hz with flash wait states for {self.flash.fastest_hz} Hz")
        if hclk > _LOW_VOLTAGE_HZ and not self.power.value["CR"] & 0x4000:
            raise Unmodelled(f"HCLK at {hclk} Hz with the regulator at its low scale")

    def write_CIR(self, value: int) -> None:
        if value & 1 << 23:
            self.value["CIR"] &= ~(1 << 7)
