"""The plants in C, compiled once, and rows of numbers that they share with Python."""

from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import cffi
import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.toolchain import host_compiler

Array = NDArray[np.float64]

MOST = 32  # joints of a plant, as in linear.h


@cache
def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib)."""
    folder = Path(__file__).parent
    sources = host_compiler.texts(folder, "*.[ch]") | host_compiler.texts(folder / "articulated", "*.[ch]")
    return host_compiler.build_by_headers(sources, flags=("-O3",))  # loops of few rounds: a sixth faster than at -O2


def header() -> dict[str, str]:
    """Interface of a plant for the C around it."""
    return host_compiler.texts(Path(__file__).parent, "plant_steps.h")


class Rows:
    """Arrays of doubles by name, in one piece of memory that C has pointers to."""

    def __init__(self, **sizes: int) -> None:
        ends = [0, *accumulate(sizes.values())]
        self._flat = np.zeros(ends[-1])
        self._memory = library()[0].from_buffer("double[]", self._flat)
        self._from = dict(zip(sizes, ends[:-1], strict=True))
        self._arrays = {name: self._flat[low:high] for name, low, high in zip(sizes, ends[:-1], ends[1:], strict=True)}

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def pointers(self, *names: str) -> dict[str, Any]:
        """To these, for the members of a struct."""
        return {name: self._memory + self._from[name] for name in names}


class Row:
    """An attribute that is one of the rows: what is set is copied in."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, plant: Any, owner: type) -> Array:
        row: Array = plant.rows[self._name]
        return row

    def __set__(self, plant: Any, value: Array) -> None:
        plant.rows[self._name][:] = value


class State(Row):
    """A row of what moves: read as a copy, which stays what it is."""

    def __get__(self, plant: Any, owner: type) -> Array:
        row: Array = plant.rows[self._name].copy()
        row.flags.writeable = False
        return row
