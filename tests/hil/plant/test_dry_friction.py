"""Dry friction in C: conditions that only the correct torques satisfy, and SciPy's bounded least squares."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from femtorque.hil.plant.plant_library import library


def clamped(compliance: np.ndarray, velocity: np.ndarray, bound: np.ndarray) -> np.ndarray:
    ffi, lib = library()
    m = np.zeros(len(velocity))
    parts = [np.ascontiguousarray(part, float) for part in (compliance, velocity, bound)]
    assert lib.friction_found(len(m), *(ffi.from_buffer("double[]", part) for part in (*parts, m)))
    return m


def problem(rng: np.random.Generator, n: int, freedoms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return compliance, velocity and bound of n joints of a mechanism with `freedoms` degrees of freedom. With fewer
    degrees of freedom than joints the holding torques are not unique."""
    root = rng.normal(size=(freedoms, n))
    compliance = root.T @ root
    velocity = root.T @ rng.normal(size=freedoms) * rng.choice([0.1, 1.0, 10.0])
    return compliance, velocity, rng.uniform(0.0, 2.0, n) * rng.choice([0.0, 1.0], n, p=[0.2, 0.8])


@pytest.mark.parametrize("loose", [2, 0, -1, -2])
def test_a_stuck_joint_rests_and_friction_opposes_a_sliding_one_with_its_bound(loose):
    rng = np.random.default_rng(7 + loose)
    stuck = 0
    for _ in range(200):
        n = int(rng.integers(1 if loose >= 0 else 3, 8))
        compliance, velocity, bound = problem(rng, n, n + loose)
        m = clamped(compliance, velocity, bound)
        assert np.all(np.abs(m) <= bound * (1.0 + 1e-9))
        left = velocity + compliance @ m
        rests = np.abs(left) <= 1e-8 * (np.abs(velocity) + np.abs(compliance) @ bound + 1e-9)
        assert np.all(rests | (np.abs(m + np.sign(left) * bound) <= 1e-9 * bound))
        stuck += bool(np.any(np.abs(m) < bound))
    assert stuck > 50


def test_multipliers_solve_the_box_constrained_problem():
    """SciPy's bounded least squares minimises 1/2 m' A m + velocity' m within |m| <= bound."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 8))
        root = rng.normal(size=(n + 2, n))
        A, velocity, bound = root.T @ root, 3.0 * rng.normal(size=n), rng.uniform(0.1, 2.0, n)
        expected = lsq_linear(root, np.linalg.lstsq(root.T, -velocity, rcond=None)[0], (-bound, bound), tol=1e-14).x
        np.testing.assert_allclose(clamped(A, velocity, bound), expected, atol=1e-5, err_msg=f"seed {seed}")


def test_joints_of_one_loop_share_the_holding_torque_evenly():
    row = np.array([1.0, -2.0, 0.5])  # a mechanism with one degree of freedom and three joints with friction
    m = clamped(np.outer(row, row), 0.3 * row, np.ones(3))
    np.testing.assert_allclose(0.3 * row + np.outer(row, row) @ m, 0.0, atol=1e-9)
    np.testing.assert_allclose(m, -0.3 * row / (row @ row), rtol=0, atol=1e-6)
