"""Motor of a servo behind its bridge: its voltage, and the servo's protections, which take the voltage away.

It is in C (sts_motor.c); this module configures, powers and reads it.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from femtorque.codegen.toolchain import host_compiler

HOTTEST, HIGHEST, LOWEST, TORQUE, START, SWITCH, CURRENT = 13, 14, 15, 16, 24, 19, 28
MODE, PROTECTIVE, PATIENCE, OVERLOAD, LONGEST, ENABLE, LIMIT = 33, 34, 35, 36, 38, 40, 48
REGISTERS = 87
BY_DUTY, BACKWARDS = 2, 0x400  # value of its mode; bit of a duty
ERRORS = {"voltage": 1, "encoder": 2, "over temperature": 4, "over current": 8, "angle": 16, "overload": 32}
AMPERE = 6.5e-3  # A, a step of its current
TENTH = 0.1  # V, a step of its voltage
# At rest six servos reported 25 to 33 deg C (a published dump of their registers). 1.5 kg at 10 cm warmed one by 15 K
# in 10 min (TheRobotStudio/SO-ARM100, issue 134): at 1.44 N m/A and 2 ohm, 2.1 W. Chosen: 0.5 J/(g K) for its 55 g.
AMBIENT, CAPACITY, PER_WATT = 30.0, 27.5, 7.5  # deg C, J/K, K/W


class Motor(ctypes.Structure):
    """supply: V, now. ohm: of its winding. temperature: deg C. latched: errors that have switched it off."""

    _fields_ = [("_registers", ctypes.c_void_p)] + [(name, ctypes.c_double) for name in (
        "ohm", "volts", "temperature", "_angle", "_velocity", "_current", "_at", "_takes_over", "_overload_since",
        "_over_current_since")] + [(name, ctypes.c_int64) for name in ("_coming", "_duty", "latched", "_powered")] + [
            ("driven", ctypes.c_double)]
    ohm: float
    volts: float  # of the supply
    temperature: float
    latched: int
    _angle: float
    _velocity: float
    _current: float
    _at: float  # s
    _takes_over: float  # s when the coming duty is taken over; NaN: none is coming
    _overload_since: float  # s; NaN: no overload
    _over_current_since: float
    _coming: int
    _duty: int
    _powered: int
    driven: float  # s when it last gave its motor a voltage; -inf: never

    def __init__(self, supply: Callable[[], float], ohm: float) -> None:
        super().__init__(ohm=ohm, temperature=AMBIENT, driven=-math.inf)
        self.supply, self.registers = supply, bytearray(REGISTERS)
        self._shared = (ctypes.c_uint8 * REGISTERS).from_buffer(self.registers)  # keeps them at their address
        self._registers, self._here = ctypes.addressof(self._shared), ctypes.byref(self)

    @property
    def powered(self) -> bool:
        return self._powered != 0

    def get(self, at: int, size: int = 1) -> int:
        return int.from_bytes(self.registers[at:at + size], "little")

    def begin(self, angle: float) -> None:
        """Begin with the motor off and its output at rest at an angle."""
        self._angle, self._velocity, self._duty, self.latched, self._powered = angle, 0.0, 0, 0, 1
        self._takes_over = self._overload_since = self._over_current_since = math.nan

    def power_off(self) -> None:
        self._powered = 0

    @property
    def errors(self) -> int:
        """Reported errors: latched ones, and limits that are exceeded now."""
        volts = self.supply() / TENTH
        out = not self.registers[LOWEST] <= volts <= self.registers[HIGHEST]
        hot = self.temperature > self.registers[HOTTEST]
        return self.latched | ERRORS["voltage"] * out | ERRORS["over temperature"] * hot

    @property
    def driving(self) -> bool:
        """True if its bridge is on."""
        return bool(_library().sts_drives(self._here))

    @property
    def turning(self) -> bool:
        """True if it gives its motor a voltage."""
        return self.share != 0.0

    @property
    def share(self) -> float:
        """Share of the supply at the motor."""
        return float(_library().sts_share(self._here))

    def terminal(self, now: float, angle: float, velocity: float, current: float = 0.0) -> float:
        """V at its motor from now on, NaN where it floats. current: A of its motor."""
        self.volts = self.supply()
        return float(_library().sts_terminal(self._here, now, angle, velocity, current))

    @property
    def in_c(self) -> tuple[int, int, int]:
        """Addresses of the functions in C that do the same as `terminal` and `driving`, and of its state."""
        terminal, drives = (ctypes.cast(function, ctypes.c_void_p).value or 0
                            for function in (_library().sts_terminal, _library().sts_drives))
        return terminal, drives, ctypes.addressof(self)

    def fail(self, code: int) -> None:
        """Bring about one of its own errors, which switches it off."""
        self.latched |= code
        self.registers[ENABLE] = 0


_NUMBERS = {"START": START, "SWITCH": SWITCH, "CURRENT": CURRENT, "HOTTEST": HOTTEST, "HIGHEST": HIGHEST,
            "LOWEST": LOWEST, "MODE": MODE, "PROTECTIVE": PROTECTIVE, "PATIENCE": PATIENCE, "OVERLOAD": OVERLOAD,
            "LONGEST": LONGEST, "ENABLE": ENABLE, "LIMIT": LIMIT, "BY_DUTY": BY_DUTY, "BACKWARDS": BACKWARDS,
            "BAD_VOLTAGE": ERRORS["voltage"], "TOO_HOT": ERRORS["over temperature"],
            "OVER_CURRENT": ERRORS["over current"], "OVERLOADED": ERRORS["overload"], "AMPERE": AMPERE, "TENTH": TENTH,
            "AMBIENT": AMBIENT, "CAPACITY": CAPACITY, "PER_WATT": PER_WATT}


def sources() -> dict[str, str]:
    """The sources in C, with the numbers of this module."""
    folder = Path(__file__).parent
    files = {name: (folder / name).read_text(encoding="utf-8") for name in ("sts_motor.c", "sts_motor.h")}
    return files | {"sts_numbers.h": "".join(f"#define STS_{name} {value!r}\n" for name, value in _NUMBERS.items())}


@cache
def _library() -> Any:
    """sts_motor.c, compiled."""
    lib = ctypes.CDLL(str(host_compiler.library(sources())))
    lib.sts_share.restype = lib.sts_terminal.restype = ctypes.c_double
    lib.sts_terminal.argtypes = (ctypes.c_void_p, *[ctypes.c_double] * 4)
    lib.sts_share.argtypes = lib.sts_drives.argtypes = (ctypes.c_void_p,)
    return lib
