"""Memory-mapped peripherals: blocks of 32-bit registers, and the bus that maps addresses to them.

A model may publish a register's next answer with `say` or `say_cycles`. C (bus.c) then answers reads without a call,
until a write or another change withdraws the answer.

A model refuses registers and bits that it does not have, with address, name and program counter, so that no image
depends on hardware that is not modelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, ClassVar

from femtorque.hil.clock import NEVER, PLACES, library

PAGE = 8  # log2 of the granularity of peripheral addresses, bytes
WORD = 0xFFFFFFFF


class Unmodelled(Exception):
    """Raised for what the virtual board does not model. placed: the text names the location in the image."""

    placed = False


@dataclass(frozen=True)
class Register:
    """reset: value after reset, unless the chip's table has a value. writable: bits that software may set. The model
    refuses a one in another bit, unless this bit already reads as one."""

    name: str
    reset: int = 0
    writable: int = WORD


class Peripheral:
    """A block of registers at `base`, which subclasses name in REGISTERS, by offset. A method `read_NAME(self) -> int`
    or `write_NAME(self, value)` defines a behaviour; other registers only store. `self.value[NAME]` is the stored
    value, the reset value if `write_NAME` stores none."""

    REGISTERS: dict[int, Register] = {}
    SIZE = 1 << 10  # bytes of addresses

    def __init__(self, name: str, base: int) -> None:
        self.name, self.base = name, base
        self._bus: Bus | None = None
        self._said: dict[str, Any] = {}  # indices of the registers with a published answer
        self._offsets = {register.name: offset for offset, register in self.REGISTERS.items()}
        self.resets: dict[str, int] = {}  # reset values from the chip's table
        self.value = self._storage()
        self.clocked = True
        self._read: dict[int, Callable[[], int]] = {}
        self._write: dict[int, tuple[Callable[[int], object], int]] = {}
        for offset, register in self.REGISTERS.items():
            key = register.name
            reader = getattr(self, f"read_{key}", None) or (lambda key=key: self.value[key])
            writer = getattr(self, f"write_{key}", None) or (lambda value, key=key: self._store(key, value))
            self._read[offset], self._write[offset] = reader, (writer, register.writable)
        self.clear()

    def _storage(self) -> MutableMapping[str, int]:
        """Return the storage of the registers."""
        return {}

    def _store(self, key: str, value: int) -> None:
        self.value[key] = value

    @property
    def clocked(self) -> bool:
        """True if the peripheral has a clock. The clock controller's gates switch the clocks."""
        return self._clocked

    @clocked.setter
    def clocked(self, clocked: bool) -> None:
        self._clocked = clocked
        self._clock_switched()

    def _clock_switched(self) -> None:
        """Called after the clock may have been switched."""
        self.forget()

    def attached(self) -> None:
        """Called after the peripheral has been attached to its bus."""

    # -- published answers --------------------------------------------------

    def say(self, key: str, value: int, until: int = NEVER) -> None:
        """Publish a register's value until a cycle or until `forget`. A read must have no side effect."""
        self._say(key, "HELD", value, until)

    def say_cycles(self, key: str, since: int) -> None:
        """Publish that a register counts cycles from a given cycle, until `forget`."""
        self._say(key, "CYCLES", since & WORD, NEVER)

    def _say(self, key: str, kind: str, value: int, until: int) -> None:
        if self._bus is not None and self._bus.answers:
            place = self._bus.place(self.base + self._offsets[key])
            place.kind, place.value, place.until = getattr(self._bus.kinds, kind), value, until
            self._said[key] = place

    def forget(self, *keys: str) -> None:
        """Withdraw the published answers of these registers; without names, those of all registers."""
        for key in keys or tuple(self._said):
            if place := self._said.pop(key, None):
                place.kind = 0

    def clear(self) -> None:
        """Set all registers to their reset values."""
        self.forget()
        self.value = {register.name: register.reset for register in self.REGISTERS.values()} | self.resets

    def reset(self) -> None:
        """Reset the peripheral, as part of a system reset."""
        self.clear()

    def read(self, offset: int, size: int) -> int:
        word, shift = offset & ~3, 8 * (offset & 3)
        reader = self._read.get(word)
        if reader is None or not self.clocked:
            raise Unmodelled(f"read of {self._where(offset)}")
        return (reader() >> shift) & (WORD >> (32 - 8 * size))

    def write(self, offset: int, size: int, value: int) -> None:
        word, shift = offset & ~3, 8 * (offset & 3)
        if word not in self._write or not self.clocked:
            raise Unmodelled(f"write of 0x{value:X} to {self._where(offset)}")
        writer, writable = self._write[word]
        if size != 4:
            mask = (WORD >> (32 - 8 * size)) << shift
            value = (self._read[word]() & ~mask) | (value << shift & mask)
        alien = value & ~writable & ~self.value[self.REGISTERS[word].name] & WORD
        if alien:
            raise Unmodelled(f"bits 0x{alien:X} written to {self._where(offset)}")
        if self._said:
            Peripheral.forget(self)
        writer(value)

    def _where(self, offset: int) -> str:
        register = self.REGISTERS.get(offset & ~3)
        name = f"{self.name}.{register.name}" if register else f"{self.name}+0x{offset:X}"
        return f"{name} at 0x{self.base + offset:08X}{'' if self.clocked else ' while its clock is off'}"


class BitBand:
    """Bit-band alias: a word for each bit of the first megabyte of peripherals (ARMv7-M B3.1, Cortex-M4 TRM 3.7)."""

    base = 0x42000000
    SIZE = 32 << 20
    HOME = 0x40000000

    def __init__(self, find: Callable[[int], Peripheral]) -> None:
        self._find = find

    def _place(self, offset: int) -> tuple[Peripheral, int, int]:
        """Return the peripheral, the offset of the register, and the bit."""
        address = self.HOME + (offset >> 7 << 2)
        peripheral = self._find(address)
        return peripheral, address - peripheral.base, offset >> 2 & 31

    def read(self, offset: int, size: int) -> int:
        peripheral, register, bit = self._place(offset)
        return peripheral.read(register, 4) >> bit & 1

    def write(self, offset: int, size: int, value: int) -> None:
        """Read, change and write the word that contains the bit."""
        peripheral, register, bit = self._place(offset)
        word = peripheral.read(register, 4)
        peripheral.write(register, 4, word & ~(1 << bit) | (value & 1) << bit)


class Bus:
    """Peripherals by address. watch(address, bytes, value): called at each access; the value is None for a read.
    places, listening: state of the bus in C; kinds: constants of C."""

    answers: ClassVar[bool] = True  # true if C returns published answers; tests compare runs with and without them

    def __init__(self, resets: Mapping[int, int] | None = None) -> None:
        ffi, self.kinds = library()
        self.resets = resets or {}  # address to reset value, for registers that are not zero after reset
        self.places = ffi.new("place_of_register[]", PLACES)
        self.listening = ffi.new("int32_t *")
        self._placed: dict[int, Any] = {}
        self._watch: Callable[[int, int, int | None], None] | None = None
        self._pages: dict[int, Peripheral] = {}
        self._bits = BitBand(self.find)

    @property
    def watch(self) -> Callable[[int, int, int | None], None] | None:
        return self._watch

    @watch.setter
    def watch(self, watch: Callable[[int, int, int | None], None] | None) -> None:
        self._watch = watch
        self.listening[0] = watch is not None

    def place(self, address: int) -> Any:
        """Return the index of a register in C."""
        if address not in self._placed:
            if len(self._placed) >= PLACES // 2:
                raise MemoryError("more registers than the bus has places for")
            self._placed[address] = self.kinds.bus_place(self.places, address)
            self._placed[address].address = address
        return self._placed[address]

    def attach(self, peripheral: Peripheral, size: int | None = None) -> None:
        for page in range(peripheral.base >> PAGE, (peripheral.base + (size or peripheral.SIZE) - 1 >> PAGE) + 1):
            self._pages[page] = peripheral
        peripheral._bus = self
        peripheral.resets = {register.name: self.resets[peripheral.base + offset]
                             for offset,
                             register in peripheral.REGISTERS.items() if peripheral.base + offset in self.resets}
        peripheral.attached()

    def at(self, address: int) -> Peripheral | BitBand:
        """Return the model that handles an access at an address."""
        return self._bits if 0 <= address - BitBand.base < BitBand.SIZE else self.find(address)

    def find(self, address: int) -> Peripheral:
        peripheral = self._pages.get(address >> PAGE)
        if peripheral is None:
            raise Unmodelled(f"access to 0x{address:08X}, where the virtual board has nothing")
        return peripheral

    @property
    def peripherals(self) -> tuple[Peripheral, ...]:
        return tuple(dict.fromkeys(self._pages.values()))
