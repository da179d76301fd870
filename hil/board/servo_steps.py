"""Servos on a wire and the joints that they turn, moved on in C (servo_steps.c), as femtorque.hil.board.buses does
it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.drives.sts import Sts3215
from femtorque.hil.drives.sts_motor import sources
from femtorque.hil.plant import play
from femtorque.hil.plant.choose import Driven, Wired
from femtorque.hil.plant.lent import Lendable, own
from femtorque.hil.plant.plant_steps import PLANT_STEPS, PLANT_STEPS_CDEF

Array = NDArray[np.float64]
Places = NDArray[np.intp]

_CDEF = PLANT_STEPS_CDEF + """
typedef struct { void *motor; double sign, turns; int64_t gear, output; } served;
typedef struct { plant_steps *plant; int64_t servos; served *served; double h, step; int64_t left; } servo_line;
int64_t servo_steps(servo_line *line, double since, int64_t from, int64_t to);
"""


class ServoSteps:
    """servos: by the number of their joint; signs, gears (J,): how they are mounted, as in
    femtorque.hil.board.buses."""

    def __init__(self, servos: Mapping[int, Sts3215], signs: Array, gears: Array, plant: Driven) -> None:
        self._servos, self._signs, self._gears, self._plant = servos, signs, gears, plant
        self._inner, motors, outputs = _inside(plant)
        self._motors, self._lent = motors, False
        if self._inner is None:
            return
        ffi, self._lib = _library()
        self._served = ffi.new("served[]", [
            {"motor": ffi.cast("void *", ctypes.addressof(servo)), "gear": motors[j], "output": outputs[j]}
            for j, servo in servos.items()])
        self._line = ffi.new("servo_line *", {"servos": len(servos), "served": self._served})
        self._volts = np.zeros(0)  # of the plant's joints, while it is lent

    def could(self) -> bool:
        """Whether C can move all that moves, and nobody looks on at each interval: asked when it has nothing yet."""
        if self._lent:
            return True
        inner, plant = self._inner, self._plant
        return inner is not None and inner.lendable and own(plant, "move") and own(inner, "move") and all(
            own(servo, "terminal") for servo in self._servos.values())

    def move(self, since: float, h: float, count: int, voltage: Array, supply: float) -> None:
        """So many intervals of h seconds with voltages (J,) at the motors of other joints; supply: V of the servos."""
        inner = self._inner
        assert inner is not None
        for servo in self._servos.values():
            servo.volts = supply
        if not self._lent:
            self._lend(inner)
        self._volts[self._motors] = voltage
        self._line.h, done = h, 0
        while done < count:
            done = self._lib.servo_steps(self._line, since, done, count)
            if self._line.left:
                inner.finish(self._line.step, self._line.left, self._volts.copy())

    def _lend(self, inner: Lendable) -> None:
        ffi, _ = _library()
        for served, j in zip(self._served, self._servos, strict=True):
            served.sign, served.turns = self._signs[j], self._signs[j] * self._gears[j]
        self._line.plant = handle = ffi.cast("plant_steps *", inner.handle)
        self._volts = np.frombuffer(ffi.buffer(handle.volts, 8 * handle.n))
        self._lent = True
        inner.lend(self.recall)

    def recall(self) -> None:
        """Have the plant back from the C."""
        if self._inner is not None and self._lent:
            self._lent = False
            self._inner.taken()


def _inside(plant: Driven) -> tuple[Lendable | None, Places, Places]:
    """What takes the steps, if that could be lent, and there the joints of the board's: of motors, and of outputs."""
    whole = plant.plant if isinstance(plant, Wired) else plant
    inner = whole.inner if isinstance(whole, play.Plant) else whole
    if not isinstance(inner, Lendable):
        return None, np.zeros(0, int), np.zeros(0, int)
    gears, outputs = whole.sides if isinstance(whole, play.Plant) else (np.arange(inner.n), np.arange(inner.n))
    places = plant.places if isinstance(plant, Wired) else np.arange(len(gears))
    return inner, gears[places], outputs[places]


@cache
def _library() -> tuple[cffi.FFI, Any]:
    folder = Path(__file__).parent
    own = {name: (folder / name).read_text(encoding="utf-8") for name in ("servo_steps.c", "servo_steps.h")}
    return host_compiler.build(PLANT_STEPS | sources() | own, _CDEF)
