"""Comparison of the emitted discretisation with the Newton-Euler equations."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from tests.support.oracle import Motion, peak, planar_chain, quintic, random_chain, random_tree, rnea, septic, torque_at
from tests.support.sampling import asking, middles, random_travel

RATES = (125, 250, 500, 1000)


def at_rate(mechanism: Mechanism, rate_hz: int) -> Model:
    return Model.of(asking(mechanism, rate_hz=rate_hz, knot_hz=rate_hz))


def error(model: Model, motion: Motion) -> float:
    """Return the largest difference from rnea at the sampled instants, over the peak torque."""
    s = middles(model, motion.duration)
    truth = torque_at(model, motion, s[1:-1])
    return peak(discrete.emitted_torque(model, motion(s)) - truth) / peak(truth)


def order(errors: list[float]) -> float:
    """Return the order of the error in dt, from the last halving of dt."""
    return float(np.log2(errors[-2] / errors[-1]))


@pytest.mark.parametrize("make", [random_chain, random_tree, lambda _, n: planar_chain(n)],
                         ids=["chain", "tree with slides", "planar"])
@pytest.mark.parametrize("seed", range(3))
def test_it_converges_to_newton_euler_at_second_order(make, seed):
    mechanism = make(np.random.default_rng(seed), 6)
    motion = random_travel(Model.of(mechanism), seed, curve=septic)
    errors = [error(at_rate(mechanism, rate), motion) for rate in RATES]
    assert order(errors) == pytest.approx(2.0, abs=0.1)
    assert errors[-1] < (5e-5 if mechanism.name.startswith("planar") else 1e-5)


def test_where_the_jerk_jumps_only_the_two_samples_beside_it_lose_an_order():
    mechanism = planar_chain(3)
    motion = quintic([0.3, -0.2, 0.1], [-0.4, 0.5, 0.8])
    inside, beside = [], []
    for rate in RATES:
        model = at_rate(mechanism, rate)
        s = middles(model, 1.0)
        truth = torque_at(model, motion, s[1:-1])
        wrong = np.abs(discrete.emitted_torque(model, motion(s)) - truth).max(axis=1)
        inside.append(wrong[1:-1].max())
        beside.append(wrong[[0, -1]].max())
    assert order(inside) == pytest.approx(2.0, abs=0.1)
    assert order(beside) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("make", [lambda: random_tree(np.random.default_rng(4), 6), lambda: planar_chain(4)])
def test_at_rest_the_torque_is_gravity(make):
    model = Model.of(make())
    q = np.random.default_rng(5).uniform(-0.5, 0.5, model.n)
    still = np.tile(q, (6, 1))
    gravity = rnea(model, q, 0.0 * q, 0.0 * q)
    np.testing.assert_allclose(discrete.emitted_torque(model, still), np.tile(gravity, (4, 1)), atol=1e-12, rtol=1e-12)


def test_a_spring_adds_its_torque():
    mechanism = random_chain(np.random.default_rng(6), 3)
    sprung = replace(
        mechanism, joints=tuple(replace(j, stiffness=2.0 + i, rest=0.1 * i) for i, j in enumerate(mechanism.joints))
    )
    motion = quintic([0.1, 0.2, 0.3], [0.9, -0.4, 0.8])
    model, plain = at_rate(sprung, 1000), at_rate(mechanism, 1000)
    s = middles(model, 1.0)
    extra = discrete.emitted_torque(model, motion(s)) - discrete.emitted_torque(plain, motion(s))
    expected = (motion(s[1:-1]) - [0.0, 0.1, 0.2]) * [2.0, 3.0, 4.0]
    assert np.abs(extra - expected).max() < 1e-5
