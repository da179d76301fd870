"""Motions as the step sees them: positions at the middles of the ticks."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.model import Model

Array = NDArray[np.float64]


def middles(model: Model, duration: float) -> Array:
    """s_-1..s_N of a motion that lasts `duration`, s."""
    return (np.arange(-1, round(duration / model.dt) + 1) + 0.5) * model.dt


def sampled_quintic(model: Model, start: ArrayLike, end: ArrayLike, duration: float = 1.0) -> Array:
    """A quintic from rest to rest at s_-1..s_N, (N+2, J); the two samples outside lie on the polynomial too.

    (At rest there, the jump of the jerk would show in the first and last torque, as M jerk dt / 48.)
    """
    start, end = np.asarray(start, float), np.asarray(end, float)
    s = middles(model, duration)[:, None] / duration
    return start + (end - start) * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
