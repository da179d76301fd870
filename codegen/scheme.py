"""Which scheme a mechanism gets whose file names none: the midpoint rule, or Newton-Euler where that is too noisy.

The midpoint rule takes the difference of two momenta, so single precision errs by a few roundings of |p|/dt, whatever
the torque is (noise_floor.py). How much that is of a motion's peak torque is measured on the very graph that would be
emitted, in float32, on random motions of a second within the mechanism's limits. Of 120 random chains the worst of 64
motions errs by two to five times the mean: a mean of a QUARTER of what is promised leaves room for it. Newton-Euler
errs by some 1e-6 (newton_euler_step.py). Where it takes more than DEAR times the instructions, the midpoint rule stays
up to a mean of HALF the promise; one or two motions in a hundred then miss it. None of those tried may: they are the
ones that `verify` plays first. Where Newton-Euler takes fewer instructions, as for a single joint, there is nothing to
weigh.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from codegen import reference, step_source
from codegen.discretisation import Planar, Spatial
from codegen.mechanism import Mechanism
from codegen.model import Model
from codegen.motions import DURATION, random_motion
from codegen.planar_step import PlanarStep
from codegen.single_precision import SinglePrecision

PROMISE = 1e-4  # of peak torque
QUARTER, HALF = 0.25 * PROMISE, 0.5 * PROMISE
DEAR = 1.3  # times the instructions
MOTIONS = 12
SEED = 0  # of their random numbers, as `verify` has it
TICKS = 1000  # of each motion, about its middle, where it is fastest
PEAK_SAMPLES = 101


@dataclass(frozen=True)
class Chosen:
    """scheme: the answer. noise, worst: of the midpoint rule, the worst error of a motion, of its peak torque, mean and
    worst of the motions tried; fewer are tried where it is too noisy anyway. price: instructions of Newton-Euler over
    those of the midpoint rule, by the graphs' own counts. bound: what the mean was held against."""

    scheme: str
    noise: float
    worst: float
    price: float
    bound: float

    def __str__(self) -> str:
        if self.price <= 1.0:
            return f"{self.scheme}, chosen: it takes {self.price:.2f} times the instructions of midpoint"
        return (f"{self.scheme}, chosen: with midpoint single precision errs by {self.noise:.1e} of peak in the mean of "
                f"random motions, {self.worst:.1e} in the worst ({self.bound:.1e} and {PROMISE:.1e} are allowed); "
                f"newton-euler takes {self.price:.2f} times the instructions")


def choose(mechanism: Mechanism) -> Chosen:
    """For a mechanism whose file leaves it open. Deterministic."""
    model = Model.of(mechanism)
    if not model.n:
        return Chosen("midpoint", 0.0, 0.0, 1.0, HALF)
    midpoint = step_source.plain_step(model, "midpoint")
    price = step_source.plain_step(model, "newton-euler").graph.cost() / midpoint.graph.cost()
    bound = HALF if price > DEAR else QUARTER if price > 1.0 else 0.0
    total = worst = 0.0
    for i in range(MOTIONS):
        noise = _noise(model, midpoint, np.random.default_rng([SEED, i]))
        total, worst = total + noise, max(worst, noise)
        if total > bound * MOTIONS or worst > PROMISE:
            return Chosen("newton-euler", total / (i + 1), worst, price, bound)
    return Chosen("midpoint", total / MOTIONS, worst, price, bound)


def _noise(model: Model, step: step_source.Step, rng: np.random.Generator) -> float:
    """Worst error of the step in single precision on one random motion, of the motion's peak torque."""
    motion = random_motion(model.mechanism, rng)
    ticks = round(DURATION / model.dt)
    first = max(0, (ticks - TICKS) // 2)
    positions = motion.middles(ticks, model.dt)[first : first + TICKS + 2]
    form = (Planar if isinstance(step, PlanarStep) else Spatial)(model)
    plain = form.torque(positions, 0.5 * np.diff(positions, axis=0))
    peak = np.abs(reference.newton_euler(model, *motion.at(np.linspace(0.0, DURATION, PEAK_SAMPLES)))).max()
    error = np.abs(SinglePrecision(model, step, positions).torque() - plain).max()
    return float(error / peak) if error else 0.0
