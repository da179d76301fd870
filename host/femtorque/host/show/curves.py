"""Plots that a page draws and zooms, as plain numbers with no more points than a reader can distinguish."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from femtorque.codegen.common import Array

MOST = 4000  # maximum number of points of a curve; in a longer curve each stretch keeps its lowest and highest point


@dataclass(frozen=True)
class Curve:
    """One curve of a plot. x, y: coordinates of the curve's points."""

    name: str
    colour: str  # a colour of femtorque.codegen.common.colours
    x: Array
    y: Array
    width: float = 1.2
    dots: bool = False  # draw points without lines


@dataclass(frozen=True)
class Plot:
    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    group: str = ""  # plots of one group zoom together
    log: bool = False
    marks: tuple[tuple[float, str, bool], ...] = ()  # (x, text, bad) of vertical lines
    zero: bool = False  # always show zero
    most: int = MOST  # points of a curve

    @property
    def empty(self) -> bool:
        """True if no curve has two different points."""
        return all(len({(a, b) for a, b in thinned(c.x, c.y)}) < 2 for c in self.curves)

    def data(self) -> dict[str, Any]:
        plain = {k: v for k, v in asdict(self).items() if k not in ("curves", "most")}
        return plain | {"curves": [{"name": c.name, "colour": c.colour, "width": c.width, "dots": c.dots,
                                    "points": thinned(c.x, c.y, self.most)} for c in self.curves]}


def fitting(plots: Sequence[Plot], points: int, fewest: int = 300) -> list[Plot]:
    """Return the plots with fewer points: about `points` points in all plots together."""
    most = max(fewest, min(MOST, points // max(1, sum(len(plot.curves) for plot in plots))))
    return [replace(plot, most=most) for plot in plots]


def thinned(x: Array, y: Array, most: int = MOST) -> list[list[float]]:
    """Return [x, y] of a curve's points without NaN. All peaks stay."""
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    if len(x) > most:
        edges = np.linspace(0, len(x), most // 2 + 1).astype(int)
        keep = [i for a, b in zip(edges[:-1], edges[1:], strict=True)
                for i in sorted({a + int(np.argmin(y[a:b])), a + int(np.argmax(y[a:b]))})]
        x, y = x[keep], y[keep]
    return [[float(f"{a:.6g}"), float(f"{b:.5g}")] for a, b in zip(x, y, strict=True)]
