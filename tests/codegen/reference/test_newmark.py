"""Tests of the paper's scheme: growth and order of its errors."""

import numpy as np
import pytest

from femtorque.codegen.model import Model
from femtorque.codegen.reference import newmark, rigid
from tests.codegen.reference.test_rigid import EIGHT, random_sines
from tests.support.oracle import Motion, peak, planar_chain, quintic, random_tree, septic, torque_at
from tests.support.sampling import asking

PAPER = (0.25, 0.5)
DAMPED = (0.3025, 0.6)


def error(model: Model, motion: Motion, samples: int, pair: tuple[float, float]) -> float:
    """Return the largest difference from Pinocchio over the peak torque, sampled from t = 0 on, as in the paper."""
    t = np.arange(samples + 1) * model.dt
    tau = newmark.newmark_torque(model, motion(t), rigid.accelerations(model, *motion.at(0.0)), *pair,
                                   rigid.recursion)
    expected = torque_at(model, motion, t)
    return peak(tau - expected) / peak(expected)


def test_damped_pair_survives_a_quintic():
    slow, fast = (error(Model.of(planar_chain(8, rate_hz=hz)), quintic(np.zeros(8), EIGHT), hz, DAMPED)
                  for hz in (100, 1000))
    assert slow <= 4e-2 and fast <= 4e-3
    assert slow / fast == pytest.approx(10.0, rel=0.1)  # first order


def test_growth_of_the_papers_pair_is_a_double_eigenvalue_minus_one_with_one_eigenvector():
    A = newmark.newmark_matrix(*PAPER)
    assert A + np.eye(2) == pytest.approx(np.array([[0.0, 0.0], [-4.0, 0.0]]))
    assert newmark.newmark_growth(*PAPER) == 1.0


@pytest.mark.parametrize("pair", [PAPER, DAMPED, (0.35, 0.55), (0.2, 0.5)])
def test_growth_is_that_of_a_wrong_start(pair):
    """Compare zero displacements from an incorrect velocity with powers of the error matrix."""
    v, a, dt = np.array([1.0]), np.array([0.0]), 0.01
    A = newmark.newmark_matrix(*pair)
    for _ in range(7):
        v, a = newmark.newmark(np.zeros(1), v, a, dt, *pair)
    expected = np.linalg.matrix_power(A, 7) @ [dt, 0.0]
    assert [v[0] * dt, a[0] * dt**2] == pytest.approx(list(expected), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_spatial_trees_converge_at_second_order_from_a_smooth_start(seed):
    rng = np.random.default_rng(500 + seed)
    mechanism = random_tree(rng, 5)
    motion = septic(rng.uniform(-1.0, 1.0, 5), rng.uniform(-1.0, 1.0, 5))
    errors = [error(Model.of(asking(mechanism, rate_hz=hz)), motion, hz // 2, PAPER) for hz in (100, 200, 400)]
    assert np.divide(errors[:-1], errors[1:]) == pytest.approx([4.0, 4.0], rel=0.15)


def test_first_sample_carries_gravity_and_the_first_acceleration():
    """Increments alone cannot give the initial {P}_0."""
    rng = np.random.default_rng(9)
    model = Model.of(random_tree(rng, 6))
    motion = random_sines(rng, 6)
    start = rigid.accelerations(model, *motion.at(0.3))
    tau = newmark.newmark_torque(model, motion([0.3]), start, *PAPER)
    expected = torque_at(model, motion, [0.3])
    assert tau == pytest.approx(expected, abs=1e-12 * peak(expected))
