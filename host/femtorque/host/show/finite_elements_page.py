"""Writes the page of `femtorque elements`: matrices as tables and patterns, with the arm."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import template, write_text
from femtorque.codegen.verify import FREEDOMS, Elements, freedom_names, load_names, number
from femtorque.host.scene import scene
from femtorque.host.show.scene.page import KINDS, scripts

SHADES = 6  # number of shades; each shade stands for one order of magnitude below the largest entry


def page(found: Elements) -> str:
    vectors = [f"{name}{k}" for name, size in zip(found.bodies, found.blocks, strict=True)
               for k in ("F", *(f"S{n + 1}" for n in range(size // 3 - 2)), "Φ")]
    return template("elements.html", "femtorque.host.show", page=True).render(
        found=found, scene=scene(found.mechanism), kinds=KINDS, scripts=scripts(), number=number, shade=shade,
        freedoms=FREEDOMS, freedoms_of=freedom_names, vectors_of=load_names, bodies=found.bodies, vectors=vectors,
        nodal=np.eye(len(vectors), dtype=bool))


def write_elements(found: Elements, path: Path) -> None:
    """Write the page. Raises OSError."""
    write_text(path, page(found))


def shade(x: float, matrix: NDArray[np.float64]) -> int:
    """Return 0 for zero, SHADES for the largest entries, and one less for each order of magnitude below."""
    largest = float(np.abs(matrix).max(initial=0.0))
    if abs(x) <= 1e-12 * largest or largest == 0.0:
        return 0
    return max(1, SHADES - int(np.log10(largest / abs(x))))

