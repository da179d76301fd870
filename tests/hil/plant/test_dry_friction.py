"""Dry friction in C against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from femtorque.hil.plant import dry_friction, dry_friction_in_c
from femtorque.hil.plant.plant_steps import MOST


def problem(rng: np.random.Generator, n: int, freedoms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compliance, velocity and bound of n joints of a mechanism with so many freedoms; with fewer than joints, they
    can share what holds them in many ways."""
    root = rng.normal(size=(freedoms, n))
    compliance = root.T @ root
    velocity = root.T @ rng.normal(size=freedoms) * rng.choice([0.1, 1.0, 10.0])
    return compliance, velocity, rng.uniform(0.0, 2.0, n) * rng.choice([0.0, 1.0], n, p=[0.2, 0.8])


@pytest.mark.parametrize("loose", [2, 0, -1, -2])
def test_c_rubs_as_numpy_does(loose):
    """Torques, and where joints of loops share them in many ways, the velocities that they leave."""
    rng = np.random.default_rng(7 + loose)
    stuck = 0
    for _ in range(200):
        n = int(rng.integers(1 if loose >= 0 else 3, 8))
        compliance, velocity, bound = problem(rng, n, n + loose)
        ours, reference = (way.clamped(compliance, velocity, bound) for way in (dry_friction_in_c, dry_friction))
        assert np.all(np.abs(ours) <= bound * (1.0 + 1e-9))
        left, expected = velocity + compliance @ ours, velocity + compliance @ reference
        scale = np.abs(velocity) + np.abs(compliance) @ bound + 1e-9
        if loose > 0:
            np.testing.assert_allclose(ours, reference, rtol=0, atol=1e-7)
        assert np.all(np.abs(left - expected) <= 1e-8 * scale)
        stuck += bool(np.any(np.abs(ours) < bound))
    assert stuck > 50


def test_joints_of_one_loop_share_what_holds_them_as_evenly_in_c():
    row = np.array([1.0, -2.0, 0.5])
    compliance, velocity, bound = np.outer(row, row), 0.3 * row, np.ones(3)
    ours, reference = (way.clamped(compliance, velocity, bound) for way in (dry_friction_in_c, dry_friction))
    np.testing.assert_allclose(velocity + compliance @ ours, 0.0, atol=1e-9)
    np.testing.assert_allclose(ours, reference, rtol=0, atol=1e-6)


def test_more_joints_than_c_has_room_for_are_numpys():
    n = MOST + 1
    m = dry_friction_in_c.clamped(np.eye(n), np.full(n, 0.5), np.full(n, 0.1))
    assert np.all(m == -0.1)
