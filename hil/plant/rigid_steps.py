"""Steps of a rigid plant in C (rigid_steps.c): the motors and the equations of femtorque.hil.plant.rigid, whose NumPy
is what they are held against, to rounding."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.plant.plant_steps import PLANT_STEPS_CDEF
from femtorque.hil.plant.rigid_tree import TREE_CDEF, RigidTree

Array = NDArray[np.float64]

PARTS = ("rigid_steps", "rigid_tree", "motors", "dry_friction", "linear")
_MOTORS = ("current", "volts", "ohm", "henry", "constant")
_JOINTS = ("q", "v", "current", "volts", "torque", "ohm", "henry", "constant", "rotor", "viscous", "coulomb",
           "stiffness", "rest", "lowest", "highest")
_PARAMETERS = _JOINTS.index("ohm")  # from here on
CDEF = TREE_CDEF + PLANT_STEPS_CDEF + """
typedef struct { double *current, *volts; const double *ohm, *henry, *constant; } motors;
typedef struct {
    const rigid_tree *tree; double *q, *v; motors motors; const double *torque, *rotor, *viscous, *coulomb, *stiffness,
    *rest, *lowest, *highest; double *found, stop_rate, worked, lost;
} rigid_arm;
int64_t rigid_steps(void *arm, double h, int64_t count);
"""


class RigidSteps:
    """q, v, current (n,): before and after the steps; read them with `taken`. arm.worked, arm.lost: J of motors and
    friction, added up. handle: see plant_steps.h. stop_rate: rad/s at which a joint alone swings on its hard stop."""

    def __init__(self, tree: RigidTree, stop_rate: float) -> None:
        ffi, self._lib = _library()
        self._rows = np.zeros((len(_JOINTS), tree.n))
        self._flat = self._rows.reshape(-1)
        found = np.zeros(2 * tree.n**2 + tree.n + 1)
        self._held: list[Any] = [tree] + [ffi.from_buffer("double[]", array) for array in (self._flat, found)]
        rows = {name: self._held[1] + k * tree.n for k, name in enumerate(_JOINTS)}
        own = {name: row for name, row in rows.items() if name not in _MOTORS}
        self.arm = ffi.new("rigid_arm *", {
            **own, "tree": ffi.cast("rigid_tree *", tree.pointer), "motors": {name: rows[name] for name in _MOTORS},
            "found": self._held[2], "stop_rate": stop_rate})
        self.handle = ffi.new("plant_steps *", {
            "arm": self.arm, "take": self._lib.rigid_steps, "n": tree.n,
            **{name: rows[name] for name in ("q", "v", "current", "volts")}})

    def take(self, h: float, count: int) -> int:
        """So many steps of h seconds. Returns how many were taken: fewer where who sticks does not settle."""
        return int(self._lib.rigid_steps(self.arm, h, count))

    def fill(self, *rows: Array) -> None:
        """Let the C's joints be these, (n,) each, in their order."""
        np.concatenate(rows, out=self._flat)

    def tell_parameters(self, *rows: Array) -> None:
        """The same of the motors' resistance and what comes after it."""
        np.concatenate(rows, out=self._rows[_PARAMETERS:].reshape(-1))

    @property
    def address(self) -> int:
        """Of the handle."""
        return int(_library()[0].cast("uintptr_t", self.handle))

    @property
    def taken(self) -> tuple[Array, Array, Array]:
        """Copies of q, v and current."""
        q, v, current = self._rows[:3].copy()
        return q, v, current


@cache
def _library() -> tuple[cffi.FFI, Any]:
    folder = Path(__file__).parent
    names = [f"{part}.{kind}" for part in PARTS for kind in "ch"] + ["plant_steps.h"]
    return host_compiler.build({name: (folder / name).read_text(encoding="utf-8") for name in names}, CDEF)
