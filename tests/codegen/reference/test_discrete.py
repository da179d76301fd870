"""The emitted discretisation against Newton-Euler, and its two forms against each other."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism import Control, Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.codegen.reference.discrete import Planar, Spatial, is_planar
from femtorque.codegen.step import model_of
from tests.support.oracle import (
    Motion, peak, planar_chain, quintic, random_chain, random_tree, rnea, septic, sines, torque_at)
from tests.support.sampling import middles

RATES = (125, 250, 500, 1000)


def at_rate(mechanism: Mechanism, rate_hz: int) -> Model:
    return model_of(replace(mechanism, control=Control(rate_hz=rate_hz, knot_hz=rate_hz, scheme="midpoint")))


def error(model: Model, motion: Motion) -> float:
    """Worst difference from rnea at the sampled instants, over the peak torque."""
    s = middles(model, motion.duration)
    truth = torque_at(model, motion, s[1:-1])
    return peak(discrete.midpoint_torque(model, motion(s)) - truth) / peak(truth)


def order(errors: list[float]) -> float:
    """Exponent of dt over the last halving."""
    return float(np.log2(errors[-2] / errors[-1]))


def travel(rng: np.random.Generator, mechanism: Mechanism) -> np.ndarray:
    return np.array([0.1 if j.type == "prismatic" else 1.0 for j in mechanism.moving]) * rng.uniform(
        -1.5, 1.5, len(mechanism.moving)
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [random_chain, random_tree], ids=["chain", "tree with slides"])
def test_spatial_form_converges_to_newton_euler_at_second_order(make, seed):
    rng = np.random.default_rng(seed)
    mechanism = make(rng, 6)
    assert not is_planar(model_of(mechanism))
    start = rng.uniform(-0.5, 0.5, 6)
    motion = septic(start, start + travel(rng, mechanism))
    errors = [error(at_rate(mechanism, rate), motion) for rate in RATES]
    assert order(errors) == pytest.approx(2.0, abs=0.1)
    assert errors[-1] < 1e-5


@pytest.mark.parametrize("n", [1, 3, 8])
def test_planar_form_converges_to_newton_euler_at_second_order(n):
    mechanism = planar_chain(n)
    assert is_planar(model_of(mechanism))
    rng = np.random.default_rng(n)
    start = rng.uniform(-0.5, 0.5, n)
    motion = septic(start, start + rng.uniform(-1.0, 1.0, n))
    errors = [error(at_rate(mechanism, rate), motion) for rate in RATES]
    assert order(errors) == pytest.approx(2.0, abs=0.1)
    assert errors[-1] < 5e-5


def test_where_the_jerk_jumps_only_the_two_samples_beside_it_lose_an_order():
    mechanism = planar_chain(3)
    motion = quintic([0.3, -0.2, 0.1], [-0.4, 0.5, 0.8])
    inside, beside = [], []
    for rate in RATES:
        model = at_rate(mechanism, rate)
        s = middles(model, 1.0)
        truth = torque_at(model, motion, s[1:-1])
        wrong = np.abs(discrete.midpoint_torque(model, motion(s)) - truth).max(axis=1)
        inside.append(wrong[1:-1].max())
        beside.append(wrong[[0, -1]].max())
    assert order(inside) == pytest.approx(2.0, abs=0.1)
    assert order(beside) == pytest.approx(1.0, abs=0.1)


def test_forms_converge_on_each_other_at_second_order():
    mechanism = planar_chain(5)
    rng = np.random.default_rng(0)
    motion = quintic(rng.uniform(-1, 1, 5), rng.uniform(-1, 1, 5))
    differences = []
    for rate in RATES:
        model = at_rate(mechanism, rate)
        q = motion(middles(model, 1.0))
        results = []
        for form in (Spatial(model), Planar(model)):
            form.start(q[0])
            results.append([form.step(b, 0.5 * (b - a)) for a, b in zip(q[:-1], q[1:], strict=True)])
        differences.append(np.abs(np.subtract(*results))[1:].max())
    assert order(differences) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("form", [Spatial, Planar])
def test_a_start_is_a_step_that_has_rested(form):
    """The first step after it is that of a motion which has stood there before, and at rest it is gravity's torque."""
    model = at_rate(planar_chain(4), 1000)
    q, u = np.array([0.4, -0.7, 0.9, 0.2]), np.array([1e-3, -2e-3, 0.5e-3, 1.5e-3])
    it = form(model)
    it.start(q)
    first = it.step(q + 2.0 * u, u)
    assert first == pytest.approx(it.torque(np.array([q, q, q + 2.0 * u]), np.array([0.0 * u, u]))[0], rel=1e-9)
    it.start(q)
    gravity = rnea(model, q, 0.0 * q, 0.0 * q)
    assert np.abs(it.step(q, 0.0 * u) - gravity).max() < 1e-9 * np.abs(first - gravity).max()


def test_a_motion_that_starts_with_a_rate_is_right_from_its_first_sample():
    mechanism = random_chain(np.random.default_rng(3), 5)
    motion = sines([0.5] * 5, [2.0, 3.0, 4.0, 2.5, 3.5], [0.0, 0.5, 1.0, 1.5, 2.0])
    model = at_rate(mechanism, 1000)
    s = middles(model, 0.1)
    truth = torque_at(model, motion, s[1:-1])
    tau = discrete.midpoint_torque(model, motion(s))
    assert np.abs(tau - truth)[0].max() < 2e-5 * peak(truth)


@pytest.mark.parametrize("make", [lambda: random_tree(np.random.default_rng(4), 6), lambda: planar_chain(4)])
def test_at_rest_the_torque_is_gravity(make):
    model = model_of(make())
    q = np.random.default_rng(5).uniform(-0.5, 0.5, model.n)
    still = np.tile(q, (6, 1))
    gravity = rnea(model, q, 0.0 * q, 0.0 * q)
    np.testing.assert_allclose(discrete.midpoint_torque(model, still), np.tile(gravity, (4, 1)), atol=1e-12, rtol=1e-12)


def test_a_spring_adds_its_torque():
    mechanism = random_chain(np.random.default_rng(6), 3)
    sprung = replace(
        mechanism, joints=tuple(replace(j, stiffness=2.0 + i, rest=0.1 * i) for i, j in enumerate(mechanism.joints))
    )
    motion = quintic([0.1, 0.2, 0.3], [0.9, -0.4, 0.8])
    model, plain = at_rate(sprung, 1000), at_rate(mechanism, 1000)
    s = middles(model, 1.0)
    extra = discrete.midpoint_torque(model, motion(s)) - discrete.midpoint_torque(plain, motion(s))
    expected = (motion(s[1:-1]) - [0.0, 0.1, 0.2]) * [2.0, 3.0, 4.0]
    assert np.abs(extra - expected).max() < 1e-5
