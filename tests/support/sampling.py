"""Motions sampled as the step needs them: positions at the middles of the ticks."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from tests.support.oracle import Motion, quintic


def asking(mechanism: Mechanism, **control: object) -> Mechanism:
    """Return the mechanism with other values in its control section."""
    return replace(mechanism, control=replace(mechanism.control, **control))


def sprung(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with an equal spring at every joint."""
    return replace(mechanism, joints=tuple(replace(j, stiffness=30.0, rest=0.2) for j in mechanism.joints))


def slides(model: Model) -> Array:
    """Return a factor (n,) on random positions: 1 for a revolute joint, 0.1 for a prismatic joint."""
    return np.array([0.1 if b.prismatic else 1.0 for b in model.bodies])


def random_travel(model: Model, seed: int, duration: float = 1.0,
                  curve: Callable[..., Motion] = quintic) -> Motion:
    """Return a motion from rest to rest between random poses."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(-1, 1, model.n) * slides(model)
    return curve(start, start + rng.uniform(-1.5, 1.5, model.n) * slides(model), duration)


def moved(model: Model, seed: int = 0, duration: float = 1.0, curve: Callable[..., Motion] = quintic) -> Array:
    """Return the positions of `random_travel` at s_-1..s_N."""
    return random_travel(model, seed, duration, curve)(middles(model, duration))


def middles(model: Model, duration: float) -> Array:
    """Return the times s_-1..s_N, s, of a motion that lasts `duration`, s."""
    return (np.arange(-1, round(duration / model.dt) + 1) + 0.5) * model.dt


def sampled_quintic(model: Model, start: ArrayLike, end: ArrayLike, duration: float = 1.0) -> Array:
    """Return the positions of a quintic from rest to rest at s_-1..s_N, (N+2, J). The first and the last sample,
    outside the motion, also lie on the polynomial. If they were at rest, the jump of the jerk would add M jerk dt / 48
    to the first and last torque."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    s = middles(model, duration)[:, None] / duration
    return start + (end - start) * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
