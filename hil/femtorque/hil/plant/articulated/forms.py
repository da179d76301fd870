"""Bilinear forms of the points. Rows, coordinates and strains are all built from this type of equation. A form is b =
(U x) . (W x), the scalar product of two vectors. Each vector is a constant linear combination of points x (P, 3). A
direction or lever arm that is fixed in a solid is a constant combination of the solid's four points. The ground is a
solid whose four points never move. Therefore one expression serves mechanisms, coordinates along mechanisms, and beams:

    |x1 - x2|^2                  the distance of two points           (rigidity)
    (pB - pA) . e                coincidence along a global direction (U x and the ground's e)
    (pB - pA) . nA, nA . aB      rows in the local frame of a mechanism
    cos, sin of a hinge          nA . mB, oA . mB
    slopes of a beam             chord . director

The gradient W'u + U'w, and the second derivative along the motion, 2 (U v) . (W v), are exact and cheap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array

# A vector that is a linear combination of points: solid index -> coefficients (4,) of that solid's points.
Combination = dict[int, Array]


@dataclass(frozen=True)
class Forms:
    """K forms over P points. U, W: (K, P)."""

    U: Array
    W: Array

    @staticmethod
    def of(pairs: list[tuple[Combination, Combination]], solids: int) -> Forms:
        """Return forms from pairs of combinations of the points of `solids` solids with four points each."""
        return Forms(_matrix([u for u, _ in pairs], solids), _matrix([w for _, w in pairs], solids))

    def __len__(self) -> int:
        return len(self.U)

    def factors(self, x: Array) -> tuple[Array, Array]:
        """Return the two vectors of each form, (K, 3) each, at the points x (P, 3)."""
        return self.U @ x, self.W @ x

    def values(self, x: Array) -> Array:
        """(K,)"""
        u, w = self.factors(x)
        return np.einsum("kc,kc->k", u, w)

    def gradient(self, factors: tuple[Array, Array]) -> Array:
        """Return the derivatives with respect to the points (K, P, 3), from the `factors` at those points."""
        u, w = factors
        return self.U[:, :, None] * w[:, None, :] + self.W[:, :, None] * u[:, None, :]

    def forces(self, factors: tuple[Array, Array], conjugate: Array) -> Array:
        """Return the sum of conjugate (K,) times gradient: the forces (P, 3) that do the same work."""
        u, w = factors
        return self.U.T @ (conjugate[:, None] * w) + self.W.T @ (conjugate[:, None] * u)

    def curvature(self, v: Array) -> Array:
        """Return the forms' second derivatives (K,) at velocities v (P, 3) when no point accelerates: Cdot v."""
        u, w = self.factors(v)
        return 2.0 * np.einsum("kc,kc->k", u, w)


def _matrix(combinations: list[Combination], solids: int) -> Array:
    result = np.zeros((len(combinations), solids, 4))
    for row, combination in enumerate(combinations):
        for solid, coefficients in combination.items():
            result[row, solid] += coefficients
    return result.reshape(len(combinations), 4 * solids)
