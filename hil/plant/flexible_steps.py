"""Steps of a planar arm that ends in a flexible link in C (flexible_steps.c): the motors and the equations of
femtorque.hil.plant.flexible, whose NumPy is what they are held against, to rounding."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.plant.flexible_arm import FlexiblePlant
from femtorque.hil.plant.plant_steps import MOST

Array = NDArray[np.float64]

PARTS = ("flexible_steps", "motors", "dry_friction", "linear")
STATE = ("x", "v", "a")
JOINTS = ("current", "volts", "torque", "ohm", "henry", "constant", "rotor", "viscous", "coulomb")
_MOTORS = ("current", "volts", "ohm", "henry", "constant")
CDEF = """
typedef struct { int64_t body; double mass, place[2]; } flexible_rigid;
typedef struct {
    int64_t J, n, rigids, points, stations; const double *offset, *gravity; const flexible_rigid *rigid;
    const double *mass, *along, *across, *drawn, *stiffness, *loss, *bend, *lean, *EI;
} flexible_model;
typedef struct { double *current, *volts; const double *ohm, *henry, *constant; } motors;
typedef struct {
    const flexible_model *model; double *x, *v, *a; motors motors; const double *torque, *rotor, *viscous, *coulomb;
    double worked, lost;
} flexible_arm;
int64_t flexible_steps(flexible_arm *a, double h, int64_t count);
"""


class FlexibleSteps:
    """x, v, a (J + n,) and current (J,): before and after the steps; read them with `part`, by the names in STATE and
    JOINTS. arm.worked, arm.lost: J of motors and friction, added up."""

    def __init__(self, plant: FlexiblePlant) -> None:
        ffi, self._lib = _library()
        sizes = [plant.J + plant.n] * len(STATE) + [plant.J] * len(JOINTS)
        ends = [0, *accumulate(sizes)]
        self._flat, names = np.zeros(ends[-1]), STATE + JOINTS
        self._places = {name: slice(low, high) for name, low, high in zip(names, ends[:-1], ends[1:], strict=True)}
        memory = ffi.from_buffer("double[]", self._flat)
        self._held: list[Any] = [memory, self._model(plant)]
        at = {name: memory + low for name, low in zip(names, ends[:-1], strict=True)}
        own = {name: place for name, place in at.items() if name not in _MOTORS}
        self.arm = ffi.new("flexible_arm *", {**own, "model": self._held[1],
                                              "motors": {name: at[name] for name in _MOTORS}})

    @staticmethod
    def of(plant: FlexiblePlant) -> FlexibleSteps | None:
        """None where there is what the C does not know: more coordinates, other axes, walls, deflections from the
        chord."""
        bodies = plant.model.bodies[:plant.J]
        planar = all(np.array_equal(body.axis, [0.0, 0.0, 1.0]) and np.array_equal(body.R0, np.eye(3))
                     for body in bodies)
        known = planar and plant.wall is None and plant.keeps_length and len(plant.model.bodies) == plant.J
        return FlexibleSteps(plant) if known and plant.J + plant.n <= MOST else None

    def fill(self, *parts: Array) -> None:
        """Let state and joints be these, in their order."""
        np.concatenate(parts, out=self._flat)

    def take(self, h: float, count: int) -> int:
        """So many steps of h seconds. Returns how many were taken: fewer where who sticks does not settle."""
        return int(self._lib.flexible_steps(self.arm, h, count))

    def part(self, name: str) -> Array:
        """A copy."""
        return self._flat[self._places[name]].copy()

    def _model(self, plant: FlexiblePlant) -> Any:
        ffi, _ = _library()

        def doubles(values: Array) -> Any:
            self._kept.append(ffi.from_buffer("double[]", np.ascontiguousarray(values, float)))
            return self._kept[-1]

        self._kept: list[Any] = []
        rigid = [(j, float(mass), place[:2].tolist()) for j, points in enumerate(plant.rigid)
                 for mass, place in zip(points.mass, points.place, strict=True)]
        self._kept.append(ffi.new("flexible_rigid[]", rigid))
        offsets = np.array([body.p0[:2] for body in plant.model.bodies[:plant.J]])
        return ffi.new("flexible_model *", {
            "rigid": self._kept[0], "J": plant.J, "n": plant.n, "rigids": len(rigid), "points": len(plant.mass),
            "stations": len(plant.rigid_EI), "offset": doubles(offsets), "gravity": doubles(plant.model.gravity[:2]),
            "mass": doubles(plant.mass), "along": doubles(plant.x), "across": doubles(plant.N),
            "drawn": doubles(plant.drawn[:-1]), "stiffness": doubles(plant.K), "loss": doubles(plant.C),
            "bend": doubles(plant.bend), "lean": doubles(plant.lean), "EI": doubles(plant.rigid_EI)})


@cache
def _library() -> tuple[cffi.FFI, Any]:
    folder = Path(__file__).parent
    names = [f"{part}.{kind}" for part in PARTS for kind in "ch"]
    return host_compiler.build({name: (folder / name).read_text(encoding="utf-8") for name in names}, CDEF)
