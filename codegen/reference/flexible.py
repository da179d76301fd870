"""The reference for mechanisms with flexible links: Newton-Euler with what bends, solved to rounding, float64.

The joints follow the motion, the flexible links march forwards from their static sag, and the joints' torques are the
reactions (discrete_flexible.py, iterated until nothing changes). What the emitted step leaves out by solving only
once per tick is of third order in the tick, what the rule itself leaves out of second; `exact` shows both, with ticks a
third as long.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from codegen.model.bodies import Model
from codegen.model.loop_assembly import Motion
from codegen.motion.trajectory import Trajectory
from codegen.reference.discrete_flexible import Elastic

Array = NDArray[np.float64]

ITERATIONS = 2
FINER = 3  # odd: the middles of ticks are middles of finer ones


def torque(model: Model, motion: Motion, ticks: int) -> tuple[Array, Array]:
    """t (ticks,), s, the middles of the first ticks of a motion from rest, and joint torques (ticks, n), N m or N."""
    t = (np.arange(-1, ticks + 1, dtype=float) + 0.5) * model.dt
    positions = motion.middles(ticks, model.dt) if isinstance(motion, Trajectory) else motion.at(t)[0]
    return t[1:-1], Elastic(model, ITERATIONS).torque(positions)


def exact(model: Model, motion: Motion, ticks: int) -> Array:
    """Joint torques (ticks, n) at the same instants, with ticks a third as long."""
    control = model.mechanism.control
    finer = Model.of(replace(model.mechanism, control=replace(control, rate_hz=FINER * control.rate_hz)))
    return torque(finer, motion, FINER * ticks)[1][FINER // 2::FINER]
