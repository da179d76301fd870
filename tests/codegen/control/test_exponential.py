"""Comparison of the matrix exponential with SciPy's function."""

import numpy as np
import pytest
from scipy.linalg import expm

from femtorque.codegen.control.exponential import exponential


@pytest.mark.parametrize("size", [0.0, 1e-8, 0.3, 1.0, 30.0])
def test_random_matrices(size):
    """The condition number of the exponential grows at least with the norm of the matrix."""
    A = size * np.random.default_rng(1).normal(size=(20, 6, 6))
    for a, got, wanted in zip(A, exponential(A), expm(A), strict=True):
        error = 1e-13 * (1.0 + np.linalg.norm(a, 1))
        np.testing.assert_allclose(got, wanted, rtol=0.0, atol=error * np.max(np.abs(wanted)))


@pytest.mark.parametrize("mass", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("frequency", [0.0, 1.0, 3e4])
def test_an_oscillator_in_any_units(mass, frequency):
    """In every unit, q'' = f/m - w^2 q under a constant force has a closed form of sine, cosine and integrals."""
    dt, w = 1e-3, frequency
    A = np.array([[[0.0, 1.0, 0.0], [-w**2, 0.0, 1.0 / mass], [0.0, 0.0, 0.0]]])
    s, c = (np.sin(w * dt) / w, np.cos(w * dt)) if w else (dt, 1.0)
    held = (1.0 - c) / w**2 if w else dt**2 / 2.0
    wanted = np.array([[c, s, held / mass], [-w**2 * s, c, s / mass], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(exponential(A * dt)[0], wanted, rtol=1e-10)
