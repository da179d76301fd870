"""The emitted scheme "newton-euler": right, quiet at high rates, and a second oracle for the emitted midpoint rule."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.codegen.reference.discrete import NewtonEuler
from femtorque.codegen.step.base_parameters import Choice, arrange
from femtorque.codegen.step.newton_euler import NewtonEulerStep
from femtorque.codegen.step.rounding_noise import noise_floor
from femtorque.codegen.step.scheme import model_of
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import verification as verify
from femtorque.hil.cost import chip_step
from tests.support.oracle import (
    peak, planar_chain, quintic, random_chain, random_quintic, random_tree, septic, torque_at)
from tests.support.sampling import middles
from tests.support.step_interpreter import Interpreter

CHOICES = [Choice(*c) for c in itertools.product(("parent", "child", "given"), ("own", "parent"), ("yy", "xx"),
                                                 ("frame", "body"))]  # fmt: skip


def of(mechanism: Mechanism, rate_hz: int = 1000, scheme: str = "newton-euler") -> Model:
    control = replace(mechanism.control, scheme=scheme, rate_hz=rate_hz, knot_hz=rate_hz // 4)
    return model_of(replace(mechanism, control=control))


def slides(model: Model) -> np.ndarray:
    return np.array([0.1 if b.prismatic else 1.0 for b in model.bodies])


def moved(model: Model, seed: int = 0, duration: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    start = rng.uniform(-1, 1, model.n) * slides(model)
    return quintic(start, start + rng.uniform(-1.5, 1.5, model.n) * slides(model), duration)(middles(model, duration))


# ---- right


@pytest.mark.parametrize("seed", range(8))
def test_the_discretisation_converges_to_newton_euler_at_second_order(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, 5)
    start = rng.uniform(-0.5, 0.5, 5) * slides(model_of(mechanism))
    motion = septic(start, start + rng.uniform(-1.5, 1.5, 5) * slides(model_of(mechanism)))
    errors = []
    for rate_hz in (500, 1000):
        model = of(mechanism, rate_hz)
        s = middles(model, 1.0)
        truth = torque_at(model, motion, s[1:-1])
        errors.append(peak(discrete.midpoint_torque(model, motion(s)) - truth) / peak(truth))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    assert errors[1] < 1e-5


@pytest.mark.parametrize("make", [random_chain, random_tree], ids=["chain", "tree"])
@pytest.mark.parametrize("seed", range(15))
def test_recursions_equal_the_discretisation_under_any_choice_of_frames(make, seed):
    rng = np.random.default_rng(seed)
    model = of(make(rng, int(rng.integers(1, 9))))
    if seed % 3 == 0:  # groups of parallel and antiparallel axes
        z, joints = np.array([0.0, 0.0, 1.0]), model.mechanism.joints
        joints = tuple(replace(j, axis=float(rng.choice([-1, 1])) * z, rpy=np.zeros(3)) for j in joints)
        model = model_of(replace(model.mechanism, joints=joints))
    length = 1.0 if any(b.prismatic for b in model.bodies) else float(rng.uniform(0.05, 0.5))
    choices = tuple(CHOICES[int(i)] for i in rng.integers(len(CHOICES), size=model.n))
    t = np.arange(6)[:, None] * model.dt
    q = (rng.uniform(-1, 1, model.n) + rng.uniform(-6, 6, model.n) * t + rng.uniform(-20, 20, model.n) * t**2)
    q = q * slides(model)
    ours, plain = [], []
    for form, torques in ((NewtonEuler(model), plain),
                          (Interpreter(NewtonEulerStep(model, arrange(model, choices, length))), ours)):
        form.start(q[0])
        torques.extend(form.step(b, 0.5 * (b - a)) for a, b in zip(q[:-1], q[1:], strict=True))
    assert peak(np.subtract(ours, plain)) <= 1e-10 * peak(np.array(plain))


@pytest.mark.parametrize(
    "make", [lambda: planar_chain(5), lambda: random_chain(np.random.default_rng(1), 6),
             # fmt: skip
             lambda: random_tree(np.random.default_rng(2), 7)], ids=["planar", "chain", "tree with slides"])
def test_double_precision_equals_the_discretisation(make):
    model = of(make())
    positions = moved(model)
    plain = discrete.midpoint_torque(model, positions)
    assert peak(CompiledStep(model, "double").torque(positions) - plain) <= 1e-10 * peak(plain)


def test_springs_count():
    model = of(random_tree(np.random.default_rng(11), 6))
    assert any(b.prismatic for b in model.bodies)
    joints = tuple(replace(j, stiffness=30.0, rest=0.2) for j in model.mechanism.joints)
    sprung, positions = model_of(replace(model.mechanism, joints=joints)), moved(model)
    plain = discrete.midpoint_torque(sprung, positions)
    assert peak(plain - discrete.midpoint_torque(model, positions)) > 0.1
    assert peak(CompiledStep(sprung, "double").torque(positions) - plain) <= 1e-10 * peak(plain)


@pytest.mark.parametrize("make", [lambda: planar_chain(4), lambda: random_chain(np.random.default_rng(3), 6)])
def test_the_two_emitted_schemes_approach_each_other_at_second_order(make):
    """Each is the other's oracle: they share frames and base parameters, but not a line of recursion."""
    apart = []
    for rate_hz in (500, 1000):
        both = [of(make(), rate_hz, scheme) for scheme in ("newton-euler", "midpoint")]
        motion = septic(np.linspace(-0.5, 0.5, both[0].n), np.linspace(0.7, -0.6, both[0].n))
        one, other = (CompiledStep(model, "double").torque(motion(middles(model, 1.0))) for model in both)
        apart.append(peak(one - other) / peak(other))
    assert np.log2(apart[0] / apart[1]) == pytest.approx(2.0, abs=0.1)


def test_host_and_chip_agree_bit_for_bit():
    model = of(random_tree(np.random.default_rng(4), 6))
    positions = moved(model, duration=0.3)
    here, there = CompiledStep(model).torque(positions), chip_step.torque_on_chip(model, positions)
    assert np.array_equal(here.view(np.uint32), there.view(np.uint32))


def test_verify_says_yes():
    model = of(random_chain(np.random.default_rng(5), 4))
    assert verify.verify(model.mechanism, (), chip_step.run_step_on_chip, motions=1).reasons == ()


# ---- quiet


@pytest.mark.parametrize("make", [lambda: planar_chain(8), lambda: random_chain(np.random.default_rng(6), 6)])
def test_at_10_khz_its_noise_is_a_few_roundings(make):
    """du comes from the motion: no difference of increments that are rounded already."""
    model = of(make(), 10_000)
    positions = moved(model)
    plain = discrete.midpoint_torque(model, positions)
    assert peak(CompiledStep(model).torque(positions) - plain) <= 5e-6 * peak(plain)


def test_a_difference_of_rounded_increments_would_not_be_as_quiet():
    model = of(random_chain(np.random.default_rng(6), 6), 10_000)
    positions, step = moved(model), CompiledStep(model)
    plain, samples = discrete.midpoint_torque(model, positions), step.turns.samples(positions)
    samples["du"] = 0.5 * np.diff(samples["u"], axis=0, prepend=np.zeros((1, 6), np.float32))
    step.start(positions[0])
    assert peak(step.run(samples)[1:] - plain) > 2e-5 * peak(plain)


@pytest.mark.parametrize("make", [lambda: planar_chain(8), lambda: random_chain(np.random.default_rng(7), 6)])
def test_at_10_khz_it_is_quieter_than_the_midpoint_rule(make):
    errors = {}
    for scheme in ("newton-euler", "midpoint"):
        model = of(make(), 10_000, scheme)
        motion = random_quintic(np.random.default_rng(8), model.n)
        s = middles(model, 1.0)
        truth = torque_at(model, motion, s[2:-2])
        wrong = np.abs(CompiledStep(model).torque(motion(s))[1:-1] - truth)
        assert np.all(wrong.max(axis=0) <= noise_floor(model, motion(s)) + 1e-6 * peak(truth))
        errors[scheme] = wrong.max() / peak(truth)
    assert errors["newton-euler"] < 0.05 * errors["midpoint"]


@pytest.mark.parametrize("rate_hz", [100, 1000, 10_000])
def test_the_noise_floor_holds_and_is_not_idle(rate_hz):
    model = of(random_chain(np.random.default_rng(9), 6), rate_hz)
    positions = moved(model, 10)
    wrong = np.abs(CompiledStep(model).torque(positions) - discrete.midpoint_torque(model, positions)).max(axis=0)
    floor = noise_floor(model, positions)
    assert np.all(wrong <= floor)
    assert np.any(wrong > 0.01 * floor)
