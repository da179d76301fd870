"""The families' flash interface: keys, locks, and durations of erasing and programming. Not modelled: waiting for a
busy bank, write protection, read protection."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from femtorque.hil.chip.cpu import CortexM4
from femtorque.hil.chip.registers import Peripheral
from femtorque.hil.clock import NEVER, Events

KEYS = (0x45670123, 0xCDEF89AB)  # FLASH_KEY1, FLASH_KEY2 of ST's stm32f4xx_hal_flash.h and stm32g4xx_hal_flash.h
OPTION_KEYS = (0x08192A3B, 0x4C5D6E7F)  # FLASH_OPT_KEY1 (F4), FLASH_OPTKEY1 (G4), and the second key of each
PG, EOP, BUSY, LOCK = 1 << 0, 1 << 0, 1 << 16, 1 << 31
EOPIE, START = 1 << 24, 1 << 16
ERASED = b"\xff"


class FlashInterface(Peripheral):
    """hz: frequency of the processor. options: option bytes, kept over a reset. ERRORS: bits of SR."""

    ERRORS: ClassVar[int]
    options: int

    def __init__(self, name: str, base: int, events: Events, hz: Callable[[], int], core: CortexM4) -> None:
        self.events, self._hz, self._core = events, hz, core
        self._until, self._keys = 0.0, {"KEYR": 0, "OPTKEYR": 0}
        super().__init__(name, base)

    def reset(self) -> None:
        self.clear()
        self._until, self._keys = 0.0, {"KEYR": 0, "OPTKEYR": 0}

    @abstractmethod
    def _unlock_options(self) -> None: ...

    @abstractmethod
    def _program(self, address: int, size: int, value: int) -> None:
        """Program a word, or set an error flag."""

    def program(self, address: int, size: int, value: int) -> bool:
        """Take a write to flash. Return false if flash is not being programmed."""
        if self.value["CR"] & (LOCK | PG) != PG:
            return False
        self.forget("SR")
        self._program(address, size, value)
        return True

    @property
    def busy(self) -> bool:
        return self.events.now < self._until

    def _takes(self, seconds: float) -> None:
        """Begin an operation that takes a given time, s, and succeeds."""
        self._until = self.events.now + seconds * self._hz()
        if self.value["CR"] & EOPIE:
            self.value["SR"] |= EOP

    def _erase(self, address: int, size: int) -> None:
        self._core.load(address, ERASED * size)

    def _key(self, register: str, value: int, keys: tuple[int, int], unlock: Callable[[], None]) -> None:
        """Clear the lock after both keys in the correct order. After a wrong key the lock stays set until a reset."""
        given = self._keys[register]
        right = given < len(keys) and value == keys[given]
        self._keys[register] = given + 1 if right else len(keys) + 1
        if self._keys[register] == len(keys):
            self._keys[register] = 0
            unlock()

    def write_KEYR(self, value: int) -> None:
        self._key("KEYR", value, KEYS, self._unlock)

    def write_OPTKEYR(self, value: int) -> None:
        self._key("OPTKEYR", value, OPTION_KEYS, self._unlock_options)

    def _unlock(self) -> None:
        self.value["CR"] &= ~LOCK

    def read_SR(self) -> int:
        status = self.value["SR"] & ~EOP | BUSY if self.busy else self.value["SR"]
        self.say("SR", status, math.ceil(self._until) if self.busy else NEVER)
        return status

    def write_SR(self, value: int) -> None:
        self.value["SR"] &= ~(value & (self.ERRORS | EOP))
