"""Reads a CSV file with a timed path of the tip, and optionally the tip's contact force.

Columns: `t` in s from 0; x and y in m, base frame, and z if the arm's plane needs z; optionally fx, fy, fz, the tip's
force on its surroundings, N. The path is a quintic spline through the rows, with rest at both ends. The force is a
cubic spline.
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from femtorque.codegen.common import Array, BadInput, hint, read_text, shown
from femtorque.codegen.motion import LARGEST_FILE, Trajectory, from_rows

PLACE, FORCE = ("x", "y", "z"), ("fx", "fy", "fz")
LEAST_ROWS = 6  # of a quintic spline


@dataclass(frozen=True)
class Force:
    """Force of the tip on its surroundings: values (R, 3) N at times (R,), with a cubic spline between."""

    times: Array
    values: Array

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return the force (..., 3) and its first two derivatives; constant outside the rows."""
        spline = make_interp_spline(self.times, self.values, k=3)
        inside = np.clip(np.asarray(t, float), self.times[0], self.times[-1])
        return spline(inside), spline(inside, 1), spline(inside, 2)


@dataclass(frozen=True)
class TipPath:
    place: Trajectory  # of x, y, z
    press: Force | None


def timed_tip(path: Path) -> bool:
    """Return True for a CSV file with times: a path, not waypoints."""
    if path.suffix.lower() != ".csv":
        return False
    header = read_text(path, LARGEST_FILE, ".csv").split("\n", 1)[0]
    return "t" in [cell.strip() for cell in header.split(",")]


def load(path: Path) -> TipPath:
    """Read a path. Raises BadInput with one line."""
    rows = [row for row in csv.reader(io.StringIO(read_text(path, LARGEST_FILE, ".csv")))
            if any(c.strip() for c in row)]
    header = [cell.strip() for cell in rows[0]]
    known = ("t", *PLACE, *FORCE)
    for name in header:
        if name not in known or header.count(name) > 1:
            raise BadInput(path, "header", shown(name),
                           "is given twice" if name in known else hint(name, known, "columns"))
    for name in ("t", "x", "y"):
        if name not in header:
            raise BadInput(path, "header", None, f"has no column {name}")
    if len(rows) - 1 < LEAST_ROWS:
        raise BadInput(path, "rows", len(rows) - 1, f"at least {LEAST_ROWS} are needed")
    table = np.array([_numbers(path, number, header, row) for number, row in enumerate(rows[1:], 1)])
    t = table[:, header.index("t")]
    if t[0] != 0.0 or np.any(np.diff(t) <= 0.0):
        raise BadInput(path, "t", None, "must begin at 0 and increase from row to row")

    def columns(names: tuple[str, ...]) -> Array:
        return np.stack([table[:, header.index(name)] if name in header else np.zeros(len(t)) for name in names], 1)

    press = Force(t, columns(FORCE)) if any(name in header for name in FORCE) else None
    return TipPath(from_rows(PLACE, t, columns(PLACE)), press)


def _numbers(path: Path, number: int, header: list[str], row: list[str]) -> list[float]:
    if len(row) != len(header):
        raise BadInput(path, f"row {number}", None, f"has {len(row)} cells, the header has {len(header)}")
    try:
        values = [float(cell) for cell in row]
    except ValueError:
        raise BadInput(path, f"row {number}", shown(",".join(row)), "must be numbers") from None
    if not np.all(np.isfinite(values)):
        raise BadInput(path, f"row {number}", shown(",".join(row)), "must be finite")
    return values
