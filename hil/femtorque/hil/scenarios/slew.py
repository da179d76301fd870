"""The smooth motion law of the flexible manipulator's paper, which excites little vibration."""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array

# polynomial of degree 11 with five derivatives zero at both ends
SMOOTH = Polynomial([0.0] * 6 + [462.0, -1980.0, 3465.0, -3080.0, 1386.0, -252.0])


@dataclass(frozen=True)
class Slew:
    """All joints move from `start` to `end` (J,), rad, in `duration` s."""

    start: tuple[float, ...]
    end: tuple[float, ...]
    duration: float

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations (..., J) at times t (...)."""
        x = np.clip(np.asarray(t, float) / self.duration, 0.0, 1.0)[..., None]
        way = np.subtract(self.end, self.start)
        return (self.start + SMOOTH(x) * way, SMOOTH.deriv()(x) * way / self.duration,
                SMOOTH.deriv(2)(x) * way / self.duration**2)
