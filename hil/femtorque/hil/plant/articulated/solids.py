"""A rigid solid as four point masses M/4 ("Reduction of a solid").

In the principal frame, with principal moments jx, jy, jz and mass M,

    m1 = (0, -b, -c)    a = sqrt((-jx + jy + jz) / M)
    m2 = (0,  b, -c)    b = sqrt(( jx - jy + jz) / M)
    m3 = (-a, 0,  c)    c = sqrt(( jx + jy - jz) / (2 M))
    m4 = ( a, 0,  c)

have the mass, the centre of gravity and the inertia of the solid. The six distances between the points are the solid's
rigidity rows. The lengths are real if and only if a physical body can have this tensor. For a lamina, a slender rod or
a point, one or more of these lengths are zero. In that case the four points do not span space, and the rows become
dependent (H singular). A thin solid gets the minimum thickness that keeps the rows well independent. A note reports the
added thickness.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, BadInput

EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
EDGE_MATRIX = np.array([[float(k == j) - float(k == i) for k in range(4)] for i, j in EDGES])  # (6, 4)

# Ratio of the radius of gyration to the extent for the thinnest solid that is allowed. The added inertia is 1e-6 (the
# square of this ratio) times the maximum inertia of the solid. The condition number of H is 1e6 (1 / ratio
# squared). This leaves ten correct digits.
THINNEST = 1e-3
TRIANGLE_TOLERANCE = 1e-6  # fraction of the trace: rounding of a printed tensor that the triangle inequality tolerates


@dataclass(frozen=True)
class Solid:
    """points (4, 3): positions of masses of M/4, in the solid's frame. note: the reduction's change, or empty."""

    name: str
    mass: float
    points: Array
    note: str = ""

    @property
    def com(self) -> Array:
        return self.points.mean(axis=0)

    @property
    def inertia(self) -> Array:
        """Return the inertia (3, 3) of the four points about their centre of gravity, in the solid's axes."""
        r = self.points - self.com
        return 0.25 * self.mass * (np.sum(r * r) * np.eye(3) - r.T @ r)

    @property
    def lengths(self) -> Array:
        """Return the six distances (6,) that are constant in a rigid solid, in the order of EDGES."""
        return np.linalg.norm(EDGE_MATRIX @ self.points, axis=1)

    def at(self, place: ArrayLike) -> Array:
        """Return coefficients (4,) of the four points for the body-fixed point at `place` (3,) in the solid's frame."""
        return self._affine() @ np.append(np.asarray(place, float), 1.0)

    def along(self, direction: ArrayLike) -> Array:
        """Return coefficients (4,) with sum zero of the body-fixed vector `direction` (3,) in the solid's frame."""
        return self._affine() @ np.append(np.asarray(direction, float), 0.0)

    def _affine(self) -> Array:
        return np.linalg.inv(np.vstack([self.points.T, np.ones(4)]))


GROUND = Solid("base", np.inf, np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))


def reduce(name: str, mass: float, com: ArrayLike, inertia: ArrayLike, size: float = 0.0) -> Solid:
    """Return the four points of a solid: mass kg, com (3,) m, inertia (3, 3) kg m^2 about com, in the solid's axes.

    size: distance from the centre of gravity to the solid's mechanisms, m. This distance determines the thickness of a
    solid that has no extent. Raises BadInput with the solid's name if no set of point masses can represent the solid.
    """
    com, inertia = np.asarray(com, float), np.asarray(inertia, float)
    if not (np.isfinite(mass) and mass > 0.0):
        raise BadInput(name, "mass", mass, "a solid needs a mass above zero", "fix it to a neighbour or give it a mass")
    if not np.allclose(inertia, inertia.T, rtol=0.0, atol=1e-9 * max(np.abs(inertia).max(), 1e-300)):
        raise BadInput(name, "inertia", None, "must be symmetric")
    moments, axes = np.linalg.eigh(inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    square = (0.5 * moments.sum() - moments) / mass  # mean x^2, y^2, z^2 of the mass in the principal frame
    if square.min() < -TRIANGLE_TOLERANCE * max(moments.sum(), 0.0) / mass or moments.min() < 0.0:
        raise BadInput(name, "inertia", None, "no body has it: one principal moment exceeds the sum of the others",
                       f"principal moments {', '.join(f'{m:.4g}' for m in moments)} kg m^2")
    scale = max(np.sqrt(max(square.max(), 0.0)), size)
    if scale == 0.0:
        raise BadInput(name, "inertia", None, "a point without any size cannot carry a mechanism",
                       "give it an inertia or join it away from its centre of gravity")
    least = (THINNEST * scale) ** 2
    fat = np.maximum(square, least)
    note = ""
    if np.any(square < least):
        note = f"{name}: thinner than {THINNEST:g} of its size {scale:.3g} m, fattened to that"
    a, b, c = np.sqrt(2.0 * fat[0]), np.sqrt(2.0 * fat[1]), np.sqrt(fat[2])
    principal = np.array([[0.0, -b, -c], [0.0, b, -c], [-a, 0.0, c], [a, 0.0, c]])
    return Solid(name, float(mass), com + principal @ axes.T, note)
