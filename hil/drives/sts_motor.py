"""The motor of a servo behind its bridge: what it is given, and when the servo's protections take that away.

State that C goes on with (sts_motor.c, which is held against what is here, bit for bit) lies where C sees it.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from pathlib import Path

HOTTEST, HIGHEST, LOWEST, TORQUE, START, SWITCH, CURRENT = 13, 14, 15, 16, 24, 19, 28
MODE, PROTECTIVE, PATIENCE, OVERLOAD, LONGEST, ENABLE, LIMIT = 33, 34, 35, 36, 38, 40, 48
REGISTERS = 87
BY_DUTY, BACKWARDS = 2, 0x400  # of its mode; of a duty
ERRORS = {"voltage": 1, "encoder": 2, "over temperature": 4, "over current": 8, "angle": 16, "overload": 32}
AMPERE = 6.5e-3  # A: a step of its current
TENTH = 0.1  # of a V, a step of its voltage
# At rest six of them told 25 to 33 deg C (a published dump of their registers). 1.5 kg at 10 cm warmed one by 15 K in
# 10 min (TheRobotStudio/SO-ARM100, issue 134): at 1.44 N m/A and 2 ohm, 2.1 W. Of its 55 g, 0.5 J/(g K): chosen.
AMBIENT, CAPACITY, PER_WATT = 30.0, 27.5, 7.5  # deg C, J/K, K/W


class Motor(ctypes.Structure):
    """supply: V, now. ohm: of its winding. temperature: deg C. latched: errors for which it has let go."""

    _fields_ = [("_registers", ctypes.c_void_p)] + [(name, ctypes.c_double) for name in (
        "ohm", "volts", "temperature", "_angle", "_velocity", "_current", "_at", "_takes_over", "_overload_since",
        "_over_current_since")] + [(name, ctypes.c_int64) for name in ("_coming", "_duty", "latched", "_powered")]
    ohm: float
    volts: float  # of the supply, as C is told
    temperature: float
    latched: int
    _angle: float
    _velocity: float
    _current: float
    _at: float  # s
    _takes_over: float  # s when the duty that is coming does; NaN: none is
    _overload_since: float  # s; NaN: it does not strain
    _over_current_since: float
    _coming: int
    _duty: int
    _powered: int

    def __init__(self, supply: Callable[[], float], ohm: float) -> None:
        super().__init__(ohm=ohm, temperature=AMBIENT)
        self.supply, self.registers = supply, bytearray(REGISTERS)
        self._shared = (ctypes.c_uint8 * REGISTERS).from_buffer(self.registers)  # so that they stay where they are
        self._registers = ctypes.addressof(self._shared)

    @property
    def powered(self) -> bool:
        return self._powered != 0

    def get(self, at: int, size: int = 1) -> int:
        return int.from_bytes(self.registers[at:at + size], "little")

    def begin(self, angle: float) -> None:
        """It is off, its output at rest at an angle."""
        self._angle, self._velocity, self._duty, self.latched, self._powered = angle, 0.0, 0, 0, 1
        self._takes_over = self._overload_since = self._over_current_since = math.nan

    def power_off(self) -> None:
        self._powered = 0

    @property
    def errors(self) -> int:
        """As it tells them: what it has let go for, and what is out of its limits now."""
        volts = self.supply() / TENTH
        out = not self.registers[LOWEST] <= volts <= self.registers[HIGHEST]
        hot = self.temperature > self.registers[HOTTEST]
        return self.latched | ERRORS["voltage"] * out | ERRORS["over temperature"] * hot

    @property
    def driving(self) -> bool:
        """Whether its bridge is on."""
        return self.powered and self.registers[ENABLE] == 1

    @property
    def turning(self) -> bool:
        """Whether it gives its motor a voltage."""
        return self._share() != 0.0

    def _share(self) -> float:
        """Of the supply, at the motor. Bits beyond the direction's make the size larger (LeRobot, pull request
        4547)."""
        if not self.driving or self.registers[MODE] != BY_DUTY:
            return 0.0
        size = min(self._duty & ~BACKWARDS, 1000, self.get(LIMIT, 2))
        if self.latched & ERRORS["overload"]:
            size = min(size, 10 * self.registers[PROTECTIVE])
        if size < self.get(START, 2):
            return 0.0
        return size / (-1000.0 if self._duty & BACKWARDS else 1000.0)

    def terminal(self, now: float, angle: float, velocity: float, current: float = 0.0) -> float:
        """V at its motor from now on, NaN where it floats. current: A, that it takes."""
        self._warm(now - self._at)
        self._angle, self._velocity, self._current, self._at = angle, velocity, current, now
        if now >= self._takes_over:
            self._duty, self._takes_over = self._coming, math.nan
        if not self.powered:
            return math.nan
        self._guard(now)
        return self._share() * self.supply() if self.driving else math.nan

    def _warm(self, seconds: float) -> None:
        """Let its winding's loss heat all of it."""
        end = AMBIENT + PER_WATT * self.ohm * (self._current * self._current)
        self.temperature += (end - self.temperature) * -math.expm1(-max(seconds, 0.0) / (CAPACITY * PER_WATT))

    def _guard(self, now: float) -> None:
        """Its own protections."""
        r = self.registers
        for name in ("voltage", "over temperature"):
            if self.errors & ERRORS[name] & r[SWITCH]:
                self.fail(ERRORS[name])
        strains, takes = abs(self._share()) >= 0.01 * r[OVERLOAD], abs(self._current) > AMPERE * self.get(CURRENT, 2)
        if self._lasts(now, "_overload_since", strains, 0.01 * r[PATIENCE]) and r[SWITCH] & ERRORS["overload"]:
            self.latched |= ERRORS["overload"]
        if self._lasts(now, "_over_current_since", takes, 0.01 * r[LONGEST]) and r[SWITCH] & ERRORS["over current"]:
            self.fail(ERRORS["over current"])

    def _lasts(self, now: float, since: str, holds: bool, seconds: float) -> bool:
        """Whether something has been so for longer."""
        if not holds:
            setattr(self, since, math.nan)
            return False
        if math.isnan(began := getattr(self, since)):
            setattr(self, since, began := now)
        return now - began > seconds

    def fail(self, code: int) -> None:
        """One of its own errors, for which it lets go."""
        self.latched |= code
        self.registers[ENABLE] = 0


_NUMBERS = {"START": START, "SWITCH": SWITCH, "CURRENT": CURRENT, "HOTTEST": HOTTEST, "HIGHEST": HIGHEST,
            "LOWEST": LOWEST, "MODE": MODE, "PROTECTIVE": PROTECTIVE, "PATIENCE": PATIENCE, "OVERLOAD": OVERLOAD,
            "LONGEST": LONGEST, "ENABLE": ENABLE, "LIMIT": LIMIT, "BY_DUTY": BY_DUTY, "BACKWARDS": BACKWARDS,
            "BAD_VOLTAGE": ERRORS["voltage"], "TOO_HOT": ERRORS["over temperature"],
            "OVER_CURRENT": ERRORS["over current"], "OVERLOADED": ERRORS["overload"], "AMPERE": AMPERE, "TENTH": TENTH,
            "AMBIENT": AMBIENT, "CAPACITY": CAPACITY, "PER_WATT": PER_WATT}


def sources() -> dict[str, str]:
    """The C's, with the numbers that are here."""
    folder = Path(__file__).parent
    files = {name: (folder / name).read_text(encoding="utf-8") for name in ("sts_motor.c", "sts_motor.h")}
    return files | {"sts_numbers.h": "".join(f"#define STS_{name} {value!r}\n" for name, value in _NUMBERS.items())}
