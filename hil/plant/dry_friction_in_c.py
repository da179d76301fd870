"""Dry friction in C (dry_friction.c), held against femtorque.hil.plant.dry_friction to rounding."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.toolchain import host_compiler
from femtorque.hil.plant import dry_friction
from femtorque.hil.plant.plant_steps import MOST

Array = NDArray[np.float64]

_PARTS = ("dry_friction", "linear")
_CDEF = """
int friction_found(int64_t n, const double *compliance, const double *velocity, const double *bound, double *m);
"""


def clamped(compliance: Array, velocity: Array, bound: Array) -> Array:
    """As femtorque.hil.plant.dry_friction.clamped. Where joints of a loop can share what holds them in many ways, it
    is the smallest but for a part in 1e5."""
    n = len(velocity)
    if n <= MOST:
        flat, rows, m, lib = _memory(n)
        np.concatenate((compliance.ravel(), velocity, bound), out=flat)
        if lib.friction_found(n, *rows):
            return m.copy()
    return dry_friction.clamped(compliance, velocity, bound)


@cache
def _memory(n: int) -> tuple[Array, list[Any], Array, Any]:
    """What goes in; the C's arguments; what comes out; the library."""
    ffi, lib = _library()
    flat, m = np.empty(n * n + 2 * n), np.empty(n)
    parts = (flat[:n * n], flat[n * n:n * n + n], flat[n * n + n:], m)
    return flat, [ffi.from_buffer("double[]", part) for part in parts], m, lib


@cache
def _library() -> tuple[cffi.FFI, Any]:
    folder = Path(__file__).parent
    names = [f"{part}.{kind}" for part in _PARTS for kind in "ch"]
    return host_compiler.build({name: (folder / name).read_text(encoding="utf-8") for name in names}, _CDEF)
