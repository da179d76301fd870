"""Non-linear articulations: force laws along mechanisms ("it will be easy to introduce the behaviour laws").

A law sees slips s = B q, combinations of the coordinates, and their velocities, and answers with the forces conjugate
to them; B' then spreads these over the coordinates. A stop or a spring acts on one coordinate, a backlash or a belt on
the difference of two. stiffness N m/rad (N/m) and damping N m s/rad (N s/m) are the largest anywhere on a law's curve:
they set the stability step. hil/plant/articulated/point_loads.c has the forces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spring:
    """A spring at rest at `rest`, with a damper beside it."""

    stiffness: float
    rest: float = 0.0
    damping: float = 0.0

    def energy(self, slip: Array) -> Array:
        return 0.5 * self.stiffness * (slip - self.rest) ** 2


@dataclass(frozen=True)
class Stop:
    """Stiff ends of the travel. The damper acts with the depth over `depth` (Hunt and Crossley), so that the force
    starts from zero and never pulls."""

    lower: float
    upper: float
    stiffness: float
    damping: float = 0.0
    depth: float = 1e-3

    def energy(self, slip: Array) -> Array:
        return 0.5 * self.stiffness * (np.maximum(self.lower - slip, 0.0) ** 2
                                       + np.maximum(slip - self.upper, 0.0) ** 2)


def backlash(gap: float, stiffness: float, damping: float = 0.0) -> Stop:
    """Play of total width `gap` between two sides: no force inside, a stiff flank on either side."""
    return Stop(-0.5 * gap, 0.5 * gap, stiffness, damping, depth=max(0.05 * gap, 1e-9))


@dataclass(frozen=True)
class Acting:
    """A law and the slips it acts on: B (k, n)."""

    law: Spring | Stop
    B: Array

    @staticmethod
    def on(law: Spring | Stop, names: Sequence[str], *slips: str | Mapping[str, float]) -> Acting:
        """A law on coordinates by name, each a name or a combination {name: factor}."""
        B = np.zeros((len(slips), len(names)))
        for row, slip in zip(B, slips, strict=True):
            for name, factor in ({slip: 1.0} if isinstance(slip, str) else slip).items():
                row[list(names).index(name)] += factor
        return Acting(law, B)
