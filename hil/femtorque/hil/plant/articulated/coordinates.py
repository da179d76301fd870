"""Coordinates along mechanisms: the angle of a hinge, the translation of a slide. Each is a function of two bilinear
forms (elements.coordinate): atan2 of sine and cosine, or the first form of a slide. The paper calls this "applying the
torque about the hinge axis in the local frame". A torque acts by the coordinate's gradient, equal and opposite on the
two solids, with the power torque times velocity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array
from femtorque.hil.plant.articulated.elements import Element, coordinate
from femtorque.hil.plant.articulated.forms import Combination
from femtorque.hil.plant.articulated.solids import Solid


@dataclass(frozen=True)
class Coordinates:
    """n coordinates have 2 n forms: first n cosines (or translations), then n sines (zero for slides)."""

    turning: NDArray[np.bool_]  # (n,): True for the angle of a hinge

    @staticmethod
    def of(elements: Sequence[Element]) -> Coordinates:
        kinds = np.array([element.type for element in elements], dtype="U9")
        return Coordinates(kinds == "hinge")

    def __len__(self) -> int:
        return len(self.turning)

    def values(self, forms: Array) -> Array:
        """Return the coordinates (n,) from the forms (2 n,); angles are within half a turn of zero."""
        n = len(self)
        return np.where(self.turning, np.arctan2(forms[n:], forms[:n]), forms[:n])

    def weights(self, forms: Array) -> Array:
        """Return the derivatives of the coordinates with respect to their two forms (2 n,): (-sin, cos) / (cos^2 +
        sin^2) for an angle, (1, 0) for a translation."""
        n = len(self)
        cos, sin = forms[:n], forms[n:]
        square = np.where(self.turning, cos * cos + sin * sin, 1.0)
        first = np.where(self.turning, -sin, 1.0) / square
        return np.concatenate([first, np.where(self.turning, cos, 0.0) / square])

    def curvature(self, forms: Array, curvatures: Array) -> Array:
        """Return the coordinates' second derivatives (n,) from the forms and their second derivatives (2 n,)."""
        n = len(self)
        weighted = self.weights(forms) * curvatures
        return weighted[:n] + weighted[n:]


def pairs(elements: Sequence[Element], solids: Sequence[Solid]) -> list[tuple[Combination, Combination]]:
    """Return the 2 n forms of the coordinates along the given elements."""
    each = [coordinate(element, solids) for element in elements]
    none: tuple[Combination, Combination] = ({}, {})
    return [forms[0] for forms in each] + [forms[1] if len(forms) == 2 else none for forms in each]


def unwrap(values: Array, near: Array, turning: NDArray[np.bool_]) -> Array:
    """Return angles shifted by whole turns to the branch that is nearest to `near`, and translations unchanged."""
    turns = np.rint((near - values) / (2.0 * np.pi))
    return values + 2.0 * np.pi * (turns * turning)
