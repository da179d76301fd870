"""The functions that the virtual servos on a half-duplex bus have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cffi

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.clock import EventClock, Member, interface
from femtorque.hil.drives.caught_up import CaughtUp

PERIOD = 1e-3  # time in which a servo reads its encoder and its registers once, s


class Servo(CaughtUp, ABC):
    """A virtual servo on a half-duplex bus. The servo's packets and its motor are in C. The family's struct has the
    members `wired`, `registers` and `stored`. The stored registers keep their values when the power is off.

    number: its id. supply: returns the present supply voltage, V. ohm: resistance of the motor. centre: angle of the
    output at the middle of the encoder, rad. phase: start of the servo's own milliseconds, s. temperature: deg C. cut:
    true if its wire is off while it has supply. converter: voltage of a converter before it, V, or inf. supplied: true
    if its branch of the supply is intact. late: delay added to its answers, s. volts: supply voltage for C, V. driven:
    time at which the motor last had a voltage, s; -inf if never. on_change: called when the servo is switched, and when
    its supply is cut or mended.
    """

    NAME: str  # name of the struct, and prefix of its functions
    ID: int  # register
    hot_code: int  # code of the error for an overheated winding
    least_supply: float  # voltage below which the servo is off, V

    late, cut, powered = Member(float, "wired"), Member(bool, "wired"), Member(bool, "wired")
    ohm, centre, phase, volts, temperature, driven = (Member(float) for _ in range(6))

    def __init__(self, clock: EventClock, number: int, supply: Callable[[], float], ohm: float, centre: float) -> None:
        self.clock, self._supply, self.converter = clock, supply, math.inf
        self._ffi, self._lib = self.library()
        self.state = self._ffi.new(f"{self.NAME} *", {"ohm": ohm, "centre": centre, "driven": -math.inf,
                                                      "phase": number * 0.137e-3 % PERIOD})
        self.wired = self._ffi.addressof(self.state, "wired")
        self._caught_up_in(self.wired, self._ffi, clock.parts)
        self.wired.ways = self._function("ways")()
        self.wired.parts = self._ffi.cast("struct parts *", clock.parts.state)
        self.registers, self.stored = (memoryview(self._ffi.buffer(part)).cast("B")
                                       for part in (self.state.registers, self.state.stored))
        self._supplied = True
        self.on_change: Callable[[], None] = lambda: None
        self.catch_up = lambda: None

    def supply(self) -> float:
        """Return the present supply voltage, V."""
        return min(self._supply(), self.converter)

    @classmethod
    @abstractmethod
    def library(cls) -> tuple[cffi.FFI, Any]:
        """Return (ffi, lib) of the family's C."""

    @classmethod
    def framing(cls) -> int:
        """Return the address of the C function `framing`."""
        ffi, lib = cls.library()
        return int(ffi.cast("uintptr_t", getattr(lib, f"{cls.NAME}_framing")()))

    def _function(self, name: str) -> Any:
        return getattr(self._lib, f"{self.NAME}_{name}")

    @property
    def id(self) -> int:
        return self.registers[self.ID]

    @property
    @abstractmethod
    def turning(self) -> bool:
        """True if the servo applies a voltage to its motor."""

    @abstractmethod
    def twin(self) -> Servo:
        """Return another servo with this number and the factory settings."""

    # -- registers ----------------------------------------------------------

    def get(self, at: int, size: int = 1, signed: bool = False) -> int:
        return int.from_bytes(self.registers[at:at + size], "little", signed=signed)

    def put(self, at: int, value: int, size: int = 1) -> None:
        self.registers[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def store(self, *settings: tuple[int, int, int]) -> None:
        """Change stored settings; each is given as (register, value, number of bytes)."""
        for at, value, size in settings:
            self.stored[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    # -- the motor ----------------------------------------------------------

    @property
    def supplied(self) -> bool:
        return self._supplied

    @supplied.setter
    def supplied(self, whole: bool) -> None:
        self._supplied = whole
        self.on_change()

    def power_up(self, angle: float) -> None:
        """Switch the power on with the stored settings while the output is at this angle, rad."""
        self.on_change()
        self.volts = self.supply()
        self._function("power_up")(self.state, angle)

    def power_off(self) -> None:
        self.powered = False

    @property
    def driving(self) -> bool:
        """True if the servo's bridge is on."""
        return bool(self._function("drives")(self.state))

    def fail(self, code: int) -> None:
        """Inject an error into the servo. Some errors switch the motor off."""
        self._function("fail")(self.state, code)

    def terminal(self, now: float, angle: float, velocity: float, current: float = 0.0) -> float:
        """Return the motor's voltage from now on, V; NaN if the terminals float. current: motor current, A."""
        self.volts = self.supply()
        return float(self._function("terminal")(self.state, now, angle, velocity, current))

    @property
    def in_c(self) -> tuple[int, int, int]:
        """Addresses of the C functions of `terminal` and `driving`, and of the C struct (bus_steps.h)."""
        terminal, drives, state = (int(self._ffi.cast("uintptr_t", at)) for at in (
            self._function("terminal"), self._function("drives"), self.state))
        return terminal, drives, state


def built(folder: Path, prefix: str, names: Mapping[str, object], **more: float) -> tuple[cffi.FFI, Any]:
    """Return (ffi, lib) of a family's C. `numbers.h` has the module's numeric constants and `more`."""
    numbers = {name: value for name, value in names.items() if name.isupper() and isinstance(value, int | float)}
    numbers |= {"PERIOD": PERIOD} | more
    header = "".join(f"#define {prefix}_{name} {value!r}\n" for name, value in numbers.items())
    return host_compiler.build_by_headers(
        interface() | host_compiler.texts(folder, "*.[ch]") | {"numbers.h": header})
