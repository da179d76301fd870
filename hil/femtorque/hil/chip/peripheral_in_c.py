"""Peripherals whose registers are handled by C (parts.h)."""

from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any, ClassVar

from femtorque.hil.chip.registers import Peripheral
from femtorque.hil.clock import ChipState


class Words(MutableMapping[str, int]):
    """Registers in C, by name. offsets: offsets of all registers, by name."""

    def __init__(self, words: Any, offsets: dict[str, int]) -> None:
        self._words, self._places = words, {name: offset >> 2 for name, offset in offsets.items()}

    def __getitem__(self, name: str) -> int:
        return int(self._words[self._places[name]])

    def __setitem__(self, name: str, value: int) -> None:
        self._words[self._places[name]] = value

    def __delitem__(self, name: str) -> None:
        raise TypeError("registers stay")

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class PeripheralPartlyInC(Peripheral):
    """A peripheral whose registers of IN_C are handled by C while the peripheral has a clock."""

    IN_C: Iterable[int]

    def __init__(self, name: str, base: int, parts: ChipState) -> None:
        self.parts = parts
        super().__init__(name, base)

    def attached(self) -> None:
        self._place()

    def _clock_switched(self) -> None:
        super()._clock_switched()
        self._place()

    def _place(self) -> None:
        """Select the registers whose accesses C handles now."""
        if self._bus is None:
            return
        for offset in self.IN_C:
            place = self._bus.place(self.base + offset)
            place.kind = self.parts.lib.OF_A_PART if self.clocked and self._is_in_c(offset) else 0
            place.value = self._what(offset)

    def _is_in_c(self, offset: int) -> bool:
        """Return true if C can now handle all accesses to a register that is listed in IN_C."""
        return True

    def _what(self, offset: int) -> int:
        """Return the number that C uses for a register."""
        raise NotImplementedError

    def _named(self, kind: str, number: int, register: int) -> int:
        lib = self.parts.lib
        return int(getattr(lib, kind) << lib.KIND | number << lib.NUMBER | register)

    def ask_c(self, offset: int) -> int:
        """Read a register in C."""
        found = self.parts.ffi.new("uint64_t *")
        self.parts.do("parts_read", self._what(offset), found)
        return int(found[0])

    def tell_c(self, offset: int, value: int) -> bool:
        """Write a register in C. Return false if Python must handle the write."""
        return bool(self.parts.do("parts_write", self._what(offset), value))


class PeripheralInC(PeripheralPartlyInC):
    """A peripheral with all registers in C. slot: its number within its type; state: its struct."""

    KIND: ClassVar[str]
    MEMBER: ClassVar[str]  # of `parts`

    def __init__(self, name: str, base: int, parts: ChipState) -> None:
        self.slot, self.state = parts.member(self.MEMBER)
        super().__init__(name, base, parts)

    def _storage(self) -> MutableMapping[str, int]:
        return Words(self.state.words, self._offsets)

    def clear(self) -> None:
        self.forget()
        for register in self.REGISTERS.values():
            self.value[register.name] = self.resets.get(register.name, register.reset)

    def _what(self, offset: int) -> int:
        return self._named(self.KIND, self.slot, offset >> 2)

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        self.touched()

    def touched(self) -> None:
        """Make the board's description in C stale."""
        self.parts.state.stale = 1
