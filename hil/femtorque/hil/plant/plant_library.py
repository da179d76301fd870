"""The plants in C, which are compiled once, and arrays that C and Python share."""

from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import cffi
import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.toolchain import host_compiler

MOST = 32  # joints of a plant, as in linear.h


@cache
def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib)."""
    folder = Path(__file__).parent
    sources = host_compiler.texts(folder, "*.[ch]") | host_compiler.texts(folder / "articulated", "*.[ch]")
    return host_compiler.build_by_headers(sources, flags=("-O3",))  # a sixth faster than -O2 for short loops


def header() -> dict[str, str]:
    """Return the C interface of a plant."""
    return host_compiler.texts(Path(__file__).parent, "plant_steps.h")


class Rows:
    """Arrays of doubles by name, in one block of memory that C points to."""

    def __init__(self, **sizes: int) -> None:
        ends = [0, *accumulate(sizes.values())]
        self._flat = np.zeros(ends[-1])
        self._memory = library()[0].from_buffer("double[]", self._flat)
        self._from = dict(zip(sizes, ends[:-1], strict=True))
        self._arrays = {name: self._flat[low:high] for name, low, high in zip(sizes, ends[:-1], ends[1:], strict=True)}

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def pointers(self, *names: str) -> dict[str, Any]:
        """Return pointers to these arrays, for the members of a struct."""
        return {name: self._memory + self._from[name] for name in names}


class Row:
    """An attribute that is one of the arrays. An assignment to the attribute copies the values into the array."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, plant: Any, owner: type) -> Array:
        row: Array = plant.rows[self._name]
        return row

    def __set__(self, plant: Any, value: Array) -> None:
        plant.rows[self._name][:] = value


class State(Row):
    """An array of the state. A read returns a copy that does not change later."""

    def __get__(self, plant: Any, owner: type) -> Array:
        row: Array = plant.rows[self._name].copy()
        row.flags.writeable = False
        return row
