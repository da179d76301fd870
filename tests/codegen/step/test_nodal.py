"""Tests that the emitted step is correct for every choice of frames, and that its noise is small at every rate."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.codegen.step.base_parameters import Choice, arrange
from femtorque.codegen.step.nodal import NodalStep
from femtorque.codegen.step.search import OPTIONS
from femtorque.codegen.toolchain import CompiledStep
from tests.support.oracle import peak, planar_chain, random_chain, random_tree
from tests.support.sampling import asking, moved, slides
from tests.support.step_interpreter import Interpreter

CHOICES = [Choice(*c) for c in itertools.product(*OPTIONS.values())]


def of(mechanism: Mechanism, rate_hz: int = 1000) -> Model:
    return Model.of(asking(mechanism, rate_hz=rate_hz, knot_hz=rate_hz // 4))


def chain(seed: int, n: int) -> Mechanism:
    return random_chain(np.random.default_rng(seed), n)


# ---- right


@pytest.mark.parametrize("make", [random_chain, random_tree], ids=["chain", "tree"])
@pytest.mark.parametrize("seed", range(15))
def test_recursions_equal_the_discretisation_under_any_choice_of_frames(make, seed):
    rng = np.random.default_rng(seed)
    model = of(make(rng, int(rng.integers(1, 9))))
    if seed % 3 == 0:  # groups of parallel and antiparallel axes
        z, joints = np.array([0.0, 0.0, 1.0]), model.mechanism.joints
        joints = tuple(replace(j, axis=float(rng.choice([-1, 1])) * z, rpy=np.zeros(3)) for j in joints)
        model = Model.of(replace(model.mechanism, joints=joints))
    length = 1.0 if any(b.prismatic for b in model.bodies) else float(rng.uniform(0.05, 0.5))
    choices = tuple(CHOICES[int(i)] for i in rng.integers(len(CHOICES), size=model.n))
    t = np.arange(6)[:, None] * model.dt
    q = (rng.uniform(-1, 1, model.n) + rng.uniform(-6, 6, model.n) * t + rng.uniform(-20, 20, model.n) * t**2)
    q = q * slides(model)
    plain = discrete.emitted_torque(model, q)
    ours = Interpreter(NodalStep(model, arrange(model, choices, length))).torque(q)
    assert peak(ours - plain) <= 1e-10 * peak(plain)


# ---- quiet


@pytest.mark.parametrize("make", [lambda: planar_chain(8), lambda: chain(6, 6)])
def test_at_10_khz_its_noise_is_a_few_roundings(make):
    """du is computed from the motion. A difference of two rounded increments would be ten times as noisy."""
    model = of(make(), 10_000)
    positions, step = moved(model), CompiledStep(model)
    plain, samples = discrete.emitted_torque(model, positions), step.turns.samples(positions)
    assert peak(step.torque(positions) - plain) <= 5e-6 * peak(plain)
    samples["du"] = 0.5 * np.diff(samples["u"], axis=0, prepend=np.zeros((1, model.n), np.float32))
    step.start(positions[0])
    assert peak(step.run(samples)[1:] - plain) > 2e-5 * peak(plain)
