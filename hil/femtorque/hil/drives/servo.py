"""Virtual servos on a half-duplex wire: their interface to the board around them (wire, motor, supply), and the common
part of those that are in C."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import cffi

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.bus import OnLine
from femtorque.hil.clock import EventClock, Member, interface
from femtorque.hil.drives.caught_up import CaughtUp

PERIOD = 1e-3  # s, in which a servo reads its encoder and its registers once


class Servo(OnLine, Protocol):
    """catch_up: brings the plant, and with it the motor, to now. cut: its wire is off, its supply is not. supplied: its
    own branch of the supply is whole. late: s by which answers are late. volts: V of its supply, as C reads it. driven:
    s when it last gave its motor a voltage; -inf: never. least_supply: V below which it is off. hot_code: its error of
    a winding that is too hot. on_change: called when it is switched, and when its supply is cut or made whole."""

    catch_up: Callable[[], None]
    cut: bool
    supplied: bool
    late: float
    volts: float
    driven: float
    least_supply: float
    on_change: Callable[[], None]

    @property
    def id(self) -> int: ...

    @property
    def powered(self) -> bool: ...

    @property
    def driving(self) -> bool:
        """True if its bridge is on."""

    @property
    def turning(self) -> bool:
        """True if it gives its motor a voltage."""

    @property
    def hot_code(self) -> int: ...

    @property
    def in_c(self) -> tuple[int, int, int] | None:
        """Addresses of functions in C that do the same as `terminal` and `driving`, and of its state (bus_steps.h);
        None without them."""

    def catch_up_in_c(self, call: Callable[[], None], address: int, of: int) -> None:
        """Catch up by C, which does the same as `call`: addresses of a function and of its argument."""

    def power_up(self, angle: float) -> None:
        """Switch it on while its output stands at an angle, rad."""

    def power_off(self) -> None: ...

    def twin(self) -> Servo:
        """Another servo of its number, as it comes."""

    def fail(self, code: int) -> None:
        """Bring about one of its own errors."""

    def terminal(self, now: float, angle: float, velocity: float, current: float) -> float:
        """V at its motor from now on, NaN where it floats. angle, velocity: of its output; current: A of its motor."""


class ServoInC(CaughtUp, ABC):
    """A servo whose packets and motor are in C: in a struct of its family with `wired`, registers, and those that are
    stored without power. number: its id. supply: V, now. ohm: of its motor. centre: rad of the output where its encoder
    is in the middle. phase: s of its own millisecond. temperature: deg C."""

    NAME: str  # of the struct, and what its functions begin with

    late, cut, powered = Member(float, "wired"), Member(bool, "wired"), Member(bool, "wired")
    ohm, centre, phase, volts, temperature, driven = (Member(float) for _ in range(6))

    def __init__(self, clock: EventClock, number: int, supply: Callable[[], float], ohm: float, centre: float) -> None:
        self.clock, self.supply = clock, supply
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

    @classmethod
    @abstractmethod
    def library(cls) -> tuple[cffi.FFI, Any]:
        """(ffi, lib) of the family."""

    @classmethod
    def framing(cls) -> int:
        """Address of `framing` in C."""
        ffi, lib = cls.library()
        return int(ffi.cast("uintptr_t", getattr(lib, f"{cls.NAME}_framing")()))

    def _function(self, name: str) -> Any:
        return getattr(self._lib, f"{self.NAME}_{name}")

    # -- registers ----------------------------------------------------------

    def get(self, at: int, size: int = 1, signed: bool = False) -> int:
        return int.from_bytes(self.registers[at:at + size], "little", signed=signed)

    def put(self, at: int, value: int, size: int = 1) -> None:
        self.registers[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def store(self, *settings: tuple[int, int, int]) -> None:
        """Have it come with settings: register, value, bytes."""
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
        """Switch it on with its stored settings while its output stands at an angle, rad."""
        self.on_change()
        self.volts = self.supply()
        self._function("power_up")(self.state, angle)

    def power_off(self) -> None:
        self.powered = False

    @property
    def driving(self) -> bool:
        """True if its bridge is on."""
        return bool(self._function("drives")(self.state))

    def fail(self, code: int) -> None:
        """Bring about one of its own errors, which switches it off if it is to."""
        self._function("fail")(self.state, code)

    def terminal(self, now: float, angle: float, velocity: float, current: float = 0.0) -> float:
        """V at its motor from now on, NaN where it floats. current: A of its motor."""
        self.volts = self.supply()
        return float(self._function("terminal")(self.state, now, angle, velocity, current))

    @property
    def in_c(self) -> tuple[int, int, int]:
        """Addresses of the functions in C that do the same as `terminal` and `driving`, and of its state."""
        terminal, drives, state = (int(self._ffi.cast("uintptr_t", at)) for at in (
            self._function("terminal"), self._function("drives"), self.state))
        return terminal, drives, state


def built(folder: Path, prefix: str, names: Mapping[str, object], **more: float) -> tuple[cffi.FFI, Any]:
    """(ffi, lib) of a family's C, with a header `numbers.h` of its numbers: those among the names of a module, and
    more."""
    numbers = {name: value for name, value in names.items() if name.isupper() and isinstance(value, int | float)}
    numbers |= {"PERIOD": PERIOD} | more
    header = "".join(f"#define {prefix}_{name} {value!r}\n" for name, value in numbers.items())
    return host_compiler.build_by_headers(
        interface() | host_compiler.texts(folder, "*.[ch]") | {"numbers.h": header})
