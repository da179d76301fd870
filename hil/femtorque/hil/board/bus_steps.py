"""Steps in C (bus_steps.c) of servos and drives with the joints that they turn."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array
from femtorque.hil.board.coupled import library
from femtorque.hil.drives import Drive, Servo
from femtorque.hil.plant import BacklashPlant, Driven, Stepped, Wired, stepped_of

Places = NDArray[np.int64]


class BusSteps:
    """For servos, drives, signs, gears and zeros see femtorque.hil.board.buses. interval: time of constant voltages and
    torques, s. line, plant: the struct and the plant in C; None if the plant is not in C."""

    def __init__(self, servos: Mapping[int, Servo], drives: Mapping[int, Drive], signs: Array, gears: Array,
                 zeros: Array, plant: Driven, interval: float) -> None:
        self.plant, motors, outputs = _inside(plant)
        in_c = [servo.in_c for servo in servos.values()]
        self._servos = servos
        self.line: Any = None
        if self.plant is None or not (servos or drives):
            return
        ffi, self._lib = library()

        def placed(j: int) -> dict[str, Any]:
            return {"gear": motors[j], "output": outputs[j], "turns": signs[j] * gears[j]}

        served = _rows("served", [
            placed(j) | {"sign": signs[j], "terminal": terminal, "drives": on, "servo": servo}
            for j, (terminal, on, servo) in zip(servos, in_c, strict=True)])
        driven = _rows("driven", [placed(j) | {"zero": zeros[j]} | drive.in_c() for j, drive in drives.items()])
        handle = ffi.cast("plant_steps *", int(ffi.cast("uintptr_t", self.plant.handle)))
        self._kept = {"served": served, "driven": driven, "motors": ffi.from_buffer("int64_t[]", motors),
                      "outputs": ffi.from_buffer("int64_t[]", outputs), "plant": handle}
        self.line = ffi.new("bus_line *", {"servos": len(servos), "drives": len(drives), "joints": len(motors),
                                           "interval": interval, **self._kept})

    def supply(self, volts: float) -> None:
        """Set the board's supply, V. A converter gives a servo no more than its own voltage."""
        for servo in self._servos.values():
            servo.volts = min(volts, servo.converter)

    def move(self, since: float, until: float, voltage: Array, supply: float) -> None:
        """Simulate from one time to another, s, with voltages (J,) at the other motors. supply: supply voltage of the
        servos, V."""
        assert self.plant is not None
        self.supply(supply)
        if not self._lib.bus_steps(self.line, since, until, library()[0].from_buffer("double[]", voltage), False):
            raise self.plant.refusal()


def _rows(kind: str, rows: list[dict[str, Any]]) -> Any:
    """Return an array of C structs. A row may contain an address as a number."""
    ffi, _ = library()
    found = ffi.new(f"{kind}[]", len(rows))
    for place, row in zip(found, rows, strict=True):
        for name, value in row.items():
            pointer = isinstance(getattr(place, name), ffi.CData)
            setattr(place, name, ffi.cast(ffi.typeof(getattr(place, name)), value) if pointer else value)
    return found


def _inside(plant: Driven) -> tuple[Stepped | None, Places, Places]:
    """Return the plant in C, or None, and the numbers of its joints that belong to the motors and to the outputs."""
    whole, inner = plant.plant if isinstance(plant, Wired) else plant, stepped_of(plant)
    if inner is None:
        return None, np.zeros(0, np.int64), np.zeros(0, np.int64)
    gears, outputs = whole.sides if isinstance(whole, BacklashPlant) else (np.arange(inner.n), np.arange(inner.n))
    places = plant.places if isinstance(plant, Wired) else np.arange(len(gears))
    return inner, gears[places].astype(np.int64), outputs[places].astype(np.int64)
