"""Mechanisms: elements with two points. Each point belongs to a frame that is fixed in a solid ("MECHANISMS").

The rows of a mechanism are written in its local frame, where they are simple. Frame A is fixed in one solid, and frame
B in the second solid. The two frames coincide at the zero position of the mechanism. Axis 3 (z) is the rotation axis of
a hinge, the direction of a slide or the normal of a plane. A universal joint rotates about axis 3 of A and about axis 1
of B. Each row is a bilinear form whose value is constant in the assembled mechanism:

    fixed      3 coincidence rows, 3 orientation rows
    hinge      3 coincidence rows, 2 that keep B's axis normal to A's first two axes
    slide      2 rows across the guide rod, 3 orientation rows
    ball       3 coincidence rows
    universal  3 coincidence rows, 1 that keeps the two axes of the cross normal
    planar     2 rows: B's point stays on the line through A's point along its axis 3

Coincidence rows are constant and linear, because they use the ground's directions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array
from femtorque.hil.plant.articulated.forms import Combination
from femtorque.hil.plant.articulated.solids import Solid

TYPES = ("fixed", "hinge", "slide", "ball", "universal", "planar")
GROUND_INDEX = 0  # number of the ground among the solids
GROUND_AXES: tuple[Combination, ...] = tuple(
    {GROUND_INDEX: np.array([-1.0, *np.eye(3)[k]])} for k in range(3)
)  # global directions as combinations of the ground's four points


@dataclass(frozen=True)
class Frame:
    """A frame fixed in solid number `solid`: origin (3,) and axes (3, 3, one per column) in the solid's frame."""

    solid: int
    origin: Array
    axes: Array


@dataclass(frozen=True)
class Element:
    """One mechanism that connects two solids."""

    name: str
    type: str
    a: Frame
    b: Frame


@dataclass(frozen=True)
class Row:
    """One kinematic row, u . w = target. Messages use `element` and `label`."""

    element: str
    label: str
    u: Combination
    w: Combination
    target: float = 0.0


def rows(element: Element, solids: Sequence[Solid]) -> list[Row]:
    """Return the kinematic rows of a mechanism."""
    def row(label: str, u: Combination, w: Combination) -> Row:
        return Row(element.name, label, u, w)

    a, b = (directions(frame, solids) for frame in (element.a, element.b))
    chord = between(element, solids)
    together = [row(f"position {'xyz'[k]}", chord, GROUND_AXES[k]) for k in range(3)]
    aligned = [row("rotation about 2", a[0], b[2]), row("rotation about 1", a[1], b[2])]
    untwisted = [row("rotation about 3", a[1], b[0])]
    across = [row("across 1", chord, a[0]), row("across 2", chord, a[1])]
    return {
        "fixed": together + aligned + untwisted,
        "hinge": together + aligned,
        "slide": across + aligned + untwisted,
        "ball": together,
        "universal": together + [row("cross", a[2], b[0])],
        "planar": across,
    }[element.type]


def coordinate(element: Element, solids: Sequence[Solid]) -> list[tuple[Combination, Combination]]:
    """Return the forms of the coordinate along a mechanism: cosine and sine of a hinge, or the slide's translation."""
    a, b = (directions(frame, solids) for frame in (element.a, element.b))
    if element.type == "hinge":
        return [(a[0], b[0]), (a[1], b[0])]
    if element.type == "slide":
        return [(between(element, solids), a[2])]
    raise ValueError(f"{element.name}: a {element.type} mechanism has no coordinate")


def between(element: Element, solids: Sequence[Solid]) -> Combination:
    """Return the vector from A's point to B's point."""
    return subtract(point(element.b, solids), point(element.a, solids))


def point(frame: Frame, solids: Sequence[Solid]) -> Combination:
    return {frame.solid: solids[frame.solid].at(frame.origin)}


def directions(frame: Frame, solids: Sequence[Solid]) -> list[Combination]:
    """Return the three axes of a frame."""
    return [{frame.solid: solids[frame.solid].along(frame.axes[:, k])} for k in range(3)]


def subtract(p: Combination, q: Combination) -> Combination:
    """Return p - q. Points p and q may belong to the same solid."""
    result = dict(p)
    for solid, coefficients in q.items():
        result[solid] = result.get(solid, 0.0) - coefficients
    return result
