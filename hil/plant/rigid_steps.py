"""Steps of a rigid plant in C (rigid_steps.c): the motors and the equations of hil.plant.rigid, whose NumPy is what
they are held against, to rounding."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from codegen.toolchain import host_compiler
from hil.plant.rigid_tree import TREE_CDEF, RigidTree

Array = NDArray[np.float64]

MOST = 32  # joints; those of more are NumPy's
PARTS = ("rigid_steps", "rigid_tree", "dry_friction", "linear")
_JOINTS = ("q", "v", "current", "volts", "torque", "ohm", "henry", "constant", "rotor", "viscous", "coulomb",
           "stiffness", "rest")
CDEF = TREE_CDEF + f"""
typedef struct {{ double {", ".join(f"*{name}" for name in _JOINTS)}, *found; double motors, friction; }} rigid_arm;
int64_t rigid_steps(const rigid_tree *t, rigid_arm *a, double h, int64_t count);
"""


class RigidSteps:
    """q, v, current (n,): before and after the steps; read them with `taken`. motors, friction: energy, J, of the last
    steps that were taken."""

    def __init__(self, tree: RigidTree) -> None:
        ffi, self._lib = _library()
        self._tree = ffi.cast("rigid_tree *", tree.pointer)
        self._rows = np.zeros((len(_JOINTS), tree.n))
        self._flat = self._rows.reshape(-1)
        found = np.zeros(2 * tree.n**2 + tree.n + 1)
        self._held: list[Any] = [tree] + [ffi.from_buffer("double[]", array) for array in (self._flat, found)]
        rows = {name: self._held[1] + k * tree.n for k, name in enumerate(_JOINTS)}
        self._arm: Any = ffi.new("rigid_arm *", {**rows, "found": self._held[2]})

    def take(self, h: float, count: int, *rows: Array) -> int:
        """So many steps of h seconds, from rows (n,) in the order of the C's joints on. Returns how many were taken:
        fewer where who sticks does not settle."""
        self.fill(*rows)
        self._arm.motors = self._arm.friction = 0.0
        return int(self._lib.rigid_steps(self._tree, self._arm, h, count))

    def fill(self, *rows: Array) -> None:
        """Let the C's joints be these, (n,) each."""
        np.concatenate(rows, out=self._flat)

    def fill_from(self, first: int, *rows: Array) -> None:
        """The same from one of them on."""
        np.concatenate(rows, out=self._rows[first:].reshape(-1))

    @property
    def pointers(self) -> tuple[int, int]:
        """Addresses of the C's rigid_tree and rigid_arm."""
        ffi, _ = _library()
        return int(ffi.cast("uintptr_t", self._tree)), int(ffi.cast("uintptr_t", self._arm))

    @property
    def taken(self) -> tuple[Array, Array, Array]:
        """Copies of q, v and current."""
        q, v, current = self._rows[:3].copy()
        return q, v, current

    @property
    def energy(self) -> tuple[float, float]:
        """Work of the motors and loss in friction, J."""
        return self._arm.motors, self._arm.friction


@cache
def _library() -> tuple[cffi.FFI, Any]:
    return host_compiler.build(sources(), CDEF)


def sources() -> dict[str, str]:
    """The C files, headers among them, by name."""
    folder = Path(__file__).parent
    names = [f"{part}.{kind}" for part in PARTS for kind in "ch"]
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}
