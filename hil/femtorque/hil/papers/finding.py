"""A reproduced figure or table: pictures, numbers with their oracles, tables, and remarks."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from femtorque.hil.scenarios import Check


@dataclass(frozen=True)
class Picture:
    """A PNG as a data URL."""

    url: str
    caption: str


@dataclass(frozen=True)
class Number:
    """A computed number and its oracle or bound."""

    what: str
    found: str
    against: str
    good: bool | None = None  # True if the number is within its bound; None if the number has no bound

    @staticmethod
    def of(check: Check) -> Number:
        return Number(check.what, check.found, check.allowed, check.good)


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Finding:
    numbers: tuple[Number, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def good(self) -> bool:
        return all(number.good is not False for number in self.numbers)


def within(what: str, value: float, bound: float, against: str, unit: str = "of peak") -> Number:
    """Return a number with its verdict; the value may be at most `bound`."""
    return Number(what, f"{value:.2g} {unit}".strip(), f"{against}; at most {bound:.3g} {unit}".strip(),
                  bool(value <= bound))


def picture(figure: Figure, caption: str) -> Picture:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return Picture("data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode(), caption)


def canvas(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def label(axes: Axes, title: str, x: str = "t, s", y: str = "", legend: float = 0.0) -> None:
    """Label the axes. legend: font size of the legend; 0: no legend."""
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)
    if legend:
        axes.legend(fontsize=legend)
