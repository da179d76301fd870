"""Steps in C (servo_steps.c) of servos on a wire with the joints that they turn, for femtorque.hil.board.buses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.drives.servo import Servo
from femtorque.hil.plant import backlash
from femtorque.hil.plant.choose import Driven, Wired, stepped_of
from femtorque.hil.plant.driven import Stepped
from femtorque.hil.plant.plant_library import header

Array = NDArray[np.float64]
Places = NDArray[np.intp]


class ServoSteps:
    """servos: by the number of their joint. signs, gears (J,): direction and gear of each, as in
    femtorque.hil.board.buses."""

    def __init__(self, servos: Mapping[int, Servo], signs: Array, gears: Array, plant: Driven) -> None:
        inner, self._motors, outputs = _inside(plant)
        in_c = [servo.in_c for servo in servos.values() if servo.in_c is not None]
        self._inner, self._servos = inner if len(in_c) == len(servos) else None, servos
        if inner is None or self._inner is None:
            return
        ffi, self._lib = _library()
        self._served = ffi.new("served[]", [
            {"gear": self._motors[j], "output": outputs[j], "sign": signs[j], "turns": signs[j] * gears[j]}
            for j in servos])
        for row, (terminal, servo) in zip(self._served, in_c, strict=True):
            row.terminal = ffi.cast(ffi.typeof(row.terminal), terminal)
            row.servo = ffi.cast("void *", servo)
        handle = ffi.cast("plant_steps *", int(ffi.cast("uintptr_t", inner.handle)))
        self._line = ffi.new("servo_line *", {"servos": len(servos), "served": self._served, "plant": handle})

    @property
    def could(self) -> bool:
        """True if servos and plant all move in C."""
        return self._inner is not None

    def move(self, since: float, h: float, count: int, voltage: Array, supply: float) -> None:
        """Take `count` steps of h seconds with voltages (J,) at the motors of other joints; supply: V of the servos."""
        inner = self._inner
        assert inner is not None
        for servo in self._servos.values():
            servo.volts = supply
        volts = np.full(inner.n, np.nan)
        volts[self._motors] = voltage
        inner.motors.volts, self._line.h = volts, h
        if not self._lib.servo_steps(self._line, since, count):
            raise inner.refusal()


def _inside(plant: Driven) -> tuple[Stepped | None, Places, Places]:
    """The plant that moves in C, or None, and in it the numbers of the joints that have the motors and the outputs."""
    whole, inner = plant.plant if isinstance(plant, Wired) else plant, stepped_of(plant)
    if inner is None:
        return None, np.zeros(0, int), np.zeros(0, int)
    gears, outputs = whole.sides if isinstance(whole, backlash.Plant) else (np.arange(inner.n), np.arange(inner.n))
    places = plant.places if isinstance(plant, Wired) else np.arange(len(gears))
    return inner, gears[places], outputs[places]


@cache
def _library() -> tuple[cffi.FFI, Any]:
    own = host_compiler.texts(Path(__file__).parent, "servo_steps.[ch]")
    return host_compiler.build_by_headers(header() | own)
