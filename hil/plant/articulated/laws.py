"""Non-linear articulations: force laws along mechanisms ("it will be easy to introduce the behaviour laws").

A law sees slips s = B q, combinations of the coordinates, and their velocities, and answers with the forces conjugate
to them; B' then spreads these over the coordinates. A stop or a spring acts on one coordinate, a backlash or a belt on
the difference of two. Each law states its largest stiffness and damping: they set the stability step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Law(Protocol):
    """stiffness: N m/rad (N/m), damping: N m s/rad (N s/m), the largest anywhere on the law's curve."""

    @property
    def stiffness(self) -> float: ...

    @property
    def damping(self) -> float: ...

    def force(self, slip: Array, velocity: Array) -> Array: ...

    def energy(self, slip: Array) -> Array: ...


@dataclass(frozen=True)
class Spring:
    """A spring at rest at `rest`, with a damper beside it."""

    stiffness: float
    rest: float = 0.0
    damping: float = 0.0

    def force(self, slip: Array, velocity: Array) -> Array:
        return -self.stiffness * (slip - self.rest) - self.damping * velocity

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

    def force(self, slip: Array, velocity: Array) -> Array:
        below, above = np.maximum(self.lower - slip, 0.0), np.maximum(slip - self.upper, 0.0)
        push = np.maximum(self.stiffness * below - self.damping * np.minimum(below / self.depth, 1.0) * velocity, 0.0)
        pull = np.maximum(self.stiffness * above + self.damping * np.minimum(above / self.depth, 1.0) * velocity, 0.0)
        return push * (below > 0.0) - pull * (above > 0.0)

    def energy(self, slip: Array) -> Array:
        return 0.5 * self.stiffness * (np.maximum(self.lower - slip, 0.0) ** 2
                                       + np.maximum(slip - self.upper, 0.0) ** 2)


def backlash(gap: float, stiffness: float, damping: float = 0.0) -> Stop:
    """Play of total width `gap` between two sides: no force inside, a stiff flank on either side."""
    return Stop(-0.5 * gap, 0.5 * gap, stiffness, damping, depth=max(0.05 * gap, 1e-9))


@dataclass(frozen=True)
class Acting:
    """A law and the slips it acts on: B (k, n)."""

    law: Law
    B: Array

    @staticmethod
    def on(law: Law, names: Sequence[str], *slips: str | Mapping[str, float]) -> Acting:
        """A law on coordinates by name, each a name or a combination {name: factor}."""
        B = np.zeros((len(slips), len(names)))
        for row, slip in zip(B, slips, strict=True):
            for name, factor in ({slip: 1.0} if isinstance(slip, str) else slip).items():
                row[list(names).index(name)] += factor
        return Acting(law, B)

    def torques(self, q: Array, velocities: Array) -> Array:
        """(n,) along the coordinates."""
        return self.B.T @ self.law.force(self.B @ q, self.B @ velocities)
