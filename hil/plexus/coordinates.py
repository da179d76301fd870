"""Coordinates along mechanisms: the angle of a hinge, the travel of a slide, the length of a strut; rates and forces.

A hinge's angle is atan2 of two bilinear forms (its sine and cosine), a slide's travel is one form, a strut's length
the root of one. Applying the gradient of a coordinate times a torque is "applying the torque about the hinge axis in
the local frame": equal and opposite on the two solids, doing exactly the work torque times rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hil.plexus.elements import Element, coordinate
from hil.plexus.forms import Forms
from hil.plexus.solids import Solid

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Coordinates:
    """n coordinates. forms: the n cosines (travels, squared lengths), then the n sines (zero but for hinges).
    turning, telescoping: (n,) of bool, whether it is a hinge's angle, a strut's length.
    """

    forms: Forms
    turning: NDArray[np.bool_]
    telescoping: NDArray[np.bool_]

    @staticmethod
    def of(elements: Sequence[Element], solids: Sequence[Solid]) -> Coordinates:
        pairs = [coordinate(element, solids) for element in elements]
        none: tuple[dict, dict] = ({}, {})
        first = [pair[0] for pair in pairs]
        second = [pair[1] if len(pair) == 2 else none for pair in pairs]
        kinds = np.array([element.type for element in elements], dtype="U9")
        return Coordinates(Forms.of(first + second, len(solids)), kinds == "hinge", kinds == "strut")

    def __len__(self) -> int:
        return len(self.turning)

    def values(self, x: Array) -> Array:
        """(n,) at points x (P, 3); angles within half a turn of zero."""
        return self._values(self.forms.values(x))

    def gradient(self, x: Array) -> tuple[Array, Array]:
        """Values (n,) and their gradient (n, P, 3)."""
        u, w = self.forms.factors(x)
        forms = np.einsum("kc,kc->k", u, w)
        weights = self._weights(forms)[:, None]
        each = self.forms.gradient((weights * u, weights * w))
        return self._values(forms), each[: len(self)] + each[len(self):]

    def curvature(self, x: Array, v: Array) -> Array:
        """Second time derivatives (n,) of the coordinates at velocities v without accelerations."""
        forms = self.forms.values(x)
        weighted = self._weights(forms) * self.forms.curvature(v)
        result = weighted[: len(self)] + weighted[len(self):]
        if self.telescoping.any():
            (u, w), (du, dw) = self.forms.factors(x), self.forms.factors(v)
            length = self._values(forms)
            rate = np.einsum("kc,kc->k", u, dw)[: len(self)] / np.where(self.telescoping, length, 1.0)
            result -= np.where(self.telescoping, rate**2 / np.where(self.telescoping, length, 1.0), 0.0)
        return result

    def _values(self, forms: Array) -> Array:
        n = len(self)
        result = np.where(self.turning, np.arctan2(forms[n:], forms[:n]), forms[:n])
        return np.where(self.telescoping, np.sqrt(np.abs(forms[:n])), result) if self.telescoping.any() else result

    def _weights(self, forms: Array) -> Array:
        """Derivatives of the coordinates with respect to their two forms, (2 n,): (-sin, cos) / (cos^2 + sin^2) of an
        angle, (1, 0) of a travel, (1 / (2 length), 0) of a length."""
        n = len(self)
        cos, sin = forms[:n], forms[n:]
        square = np.where(self.turning, cos * cos + sin * sin, 1.0)
        first = np.where(self.turning, -sin, 1.0) / square
        if self.telescoping.any():
            first = np.where(self.telescoping, 0.5 / np.sqrt(np.abs(cos)), first)
        return np.concatenate([first, np.where(self.turning, cos, 0.0) / square])


def unwrap(values: Array, near: Array, turning: NDArray[np.bool_]) -> Array:
    """Angles shifted by whole turns to the branch nearest to `near`; travels and lengths unchanged."""
    turns = np.where(turning, np.rint((near - values) / (2.0 * np.pi)), 0.0)
    return values + 2.0 * np.pi * turns
