"""Comparison of the NumPy reference with Pinocchio, and of the dense matrices with the recursion."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.model import Model, beam_element, kinematics
from femtorque.codegen.reference import discrete, rigid, schemes
from tests.support import oracle
from tests.support.oracle import (
    peak, planar_chain, quintic, random_chain, random_quintic, random_tree, septic, sines, torque_at)
from tests.support.sampling import asking

EIGHT = (0.9, -0.5, 0.7, -0.4, 0.6, -0.5, 0.8, -0.6)  # travel of each joint in the eight-link chain's motion, rad


def random_sines(rng: np.random.Generator, n: int) -> oracle.Motion:
    return sines(rng.uniform(0.2, 0.8, n), rng.uniform(2.0, 6.0, n), rng.uniform(-3.0, 3.0, n))


def error(model: Model, motion: oracle.Motion, ticks: int, convert=rigid.recursion) -> float:
    """Return the largest difference from Pinocchio over the peak torque."""
    t, tau = schemes.torque(model, motion, ticks, convert)
    expected = torque_at(model, motion, t)
    return peak(tau - expected) / peak(expected)


# ---- against Pinocchio ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [random_chain, random_tree])
@pytest.mark.parametrize("seed", range(10))
def test_random_mechanisms_equal_pinocchio(make, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    assert error(Model.of(make(rng, n)), random_quintic(rng, n), 1000) <= 1e-5


@pytest.mark.parametrize("seed", range(4))
def test_error_falls_with_the_square_of_the_tick(seed):
    rng = np.random.default_rng(200 + seed)
    mechanism = random_tree(rng, 6)
    motion = random_sines(rng, 6)
    errors = [error(Model.of(asking(mechanism, rate_hz=hz)), motion, hz // 4) for hz in (200, 400, 800)]
    assert np.divide(errors[:-1], errors[1:]) == pytest.approx([4.0, 4.0], rel=0.1)


def test_standing_still_is_the_weight():
    model = Model.of(random_tree(np.random.default_rng(3), 6))
    q = np.random.default_rng(4).uniform(-1.0, 1.0, 6)
    tau = rigid.incremental_torque(model, np.tile(q, (4, 1)), np.zeros((4, 6)))
    assert tau == pytest.approx(np.tile(oracle.rnea(model, q, np.zeros(6), np.zeros(6)), (3, 1)), abs=1e-12)


@pytest.mark.parametrize("curve", [septic, quintic])
def test_eight_link_chain_at_1_ms_is_within_1e_5_of_newton_euler(curve):
    assert error(Model.of(planar_chain(8)), curve(np.zeros(8), EIGHT), 1000, rigid.matrix_form) <= 1e-5


# ---- the two discretisations ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [random_chain, random_tree, lambda rng, n: planar_chain(n)])
def test_matrix_form_and_emitted_discretisation_converge_on_each_other_at_second_order(make):
    rng = np.random.default_rng(401)
    mechanism, motion = make(rng, 5), random_sines(rng, 5)
    differences = []
    for hz in (100, 200, 400):
        model, ticks = Model.of(asking(mechanism, rate_hz=hz)), hz // 5
        _, matrix = schemes.torque(model, motion, ticks, rigid.matrix_form)
        emitted = discrete.emitted_torque(model, motion((np.arange(ticks + 2) - 0.5) * model.dt))
        differences.append(peak(matrix - emitted) / peak(matrix))
    assert differences[0] > 1e-6  # the two discretisations differ
    assert np.divide(differences[:-1], differences[1:]) == pytest.approx([4.0, 4.0], rel=0.1)


# ---- matrices and recursion ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_dense_matrices_equal_the_recursion_to_rounding(seed):
    rng = np.random.default_rng(300 + seed)
    n = int(rng.integers(1, 9))
    model = Model.of(random_tree(rng, n))
    R = np.array([oracle.random_rotation(rng) for _ in range(n)])
    arms = kinematics.Levers(rng.normal(size=(n, 3)), rng.normal(size=(n, 3)))
    F, Phi = rng.normal(size=(2, n, 3))
    matrix = rigid.matrix_form(model, R, arms, F, Phi)
    passed = rigid.recursion(model, R, arms, F, Phi)
    assert matrix == pytest.approx(passed, abs=1e-13 * max(1.0, peak(passed)))


# ---- springs --------------------------------------------------------------------------------------------


def test_springs_add_their_own_torque_and_nothing_elsewhere():
    """A spring loads two nodes with opposite moments, so it adds no torque at other joints."""
    rng = np.random.default_rng(21)
    mechanism = random_tree(rng, 6)
    assert {j.type for j in mechanism.joints} == {"revolute", "prismatic"}
    sprung = replace(mechanism, joints=tuple(
        replace(j, stiffness=2.0 + i, rest=0.1 * i) if i in (1, 3, 4, 5) else j
        for i, j in enumerate(mechanism.joints)))
    motion = septic(np.zeros(6), rng.uniform(-1.0, 1.0, 6))
    t, bare = schemes.torque(Model.of(mechanism), motion, 300)
    _, tau = schemes.torque(Model.of(sprung), motion, 300)
    springs = beam_element.joint_springs(Model.of(sprung))
    assert np.count_nonzero(springs.stiffness) == 4
    expected = springs.stiffness * (motion(t) - springs.rest)
    assert peak(tau - bare - expected) <= 2e-6 * peak(expected)
