"""Comparison of the factorisation of small matrices and of elementary functions with LAPACK and the C library."""

import math

import numpy as np
import pytest
from scipy.linalg import eigh

from femtorque.codegen.common.portable_algebra import basis, distances, least_squares, modes, rank, solve
from femtorque.codegen.common.portable_math import arctan2, exp, log, sin_cos
from femtorque.codegen.common.vectors import norm, product
from femtorque.codegen.model import beam_elements

SINGULAR = np.array([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [2.0, 5.0]]])


@pytest.mark.parametrize("a, b", [((3, 3), (3, 3)), ((3, 4), (4, 2)), ((5, 3, 4), (4, 2)), ((3, 4), (7, 4, 2)),
                                  ((4,), (4,)), ((4,), (7, 4, 2)), ((7, 3, 4), (4,)), ((3, 0), (0, 2))])
def test_products_are_those_of_numpy_but_for_rounding(a, b):
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal(a), rng.standard_normal(b)
    assert product(A, B).shape == (A @ B).shape
    assert np.allclose(product(A, B), A @ B, rtol=0.0, atol=1e-15)
    assert np.allclose(norm(A), np.linalg.norm(A, axis=-1), rtol=1e-15)


def test_one_system_is_solved_as_in_a_stack_of_them():
    rng = np.random.default_rng(2)
    A, b = rng.standard_normal((20, 6, 6)), rng.standard_normal((20, 6, 2))
    assert np.allclose(solve(A, b), np.linalg.solve(A, b), rtol=1e-10, atol=1e-12)
    assert all(np.array_equal(solve(A[i], b[i]), solve(A, b)[i]) for i in range(20))


def test_a_singular_system_is_refused_or_left_open():
    b = np.ones((2, 2, 1))
    for A in (SINGULAR, SINGULAR[0]):
        with pytest.raises(np.linalg.LinAlgError):
            solve(A, b[0])
    assert np.array_equal(solve(SINGULAR, b, singular=True)[..., 0], [[0.5, 0.0], [3.0, -1.0]])


@pytest.mark.parametrize("m, n, r", [(5, 4, 2), (8, 10, 8), (12, 9, 5), (3, 6, 0)])
def test_least_squares_and_rank_of_deficient_matrices(m, n, r):
    rng = np.random.default_rng(3)
    A, b = rng.standard_normal((m, r)) @ rng.standard_normal((r, n)), rng.standard_normal(m)
    assert rank(A, 1e-7) == r
    assert np.allclose(least_squares(A, b, 1e-10), np.linalg.lstsq(A, b, rcond=1e-10)[0], atol=1e-12)
    Q = basis(A, 1e-7)
    assert np.allclose(Q @ Q.T, np.eye(r), atol=1e-15) and np.allclose(A @ Q.T @ Q, A, atol=1e-13)


def test_distances_are_the_diagonal_of_qr():
    A = np.random.default_rng(4).standard_normal((10, 7, 5))
    R = np.linalg.qr(A, mode="r")
    assert np.allclose(distances(A), np.abs(np.diagonal(R, axis1=-2, axis2=-1)), rtol=1e-13)
    assert np.allclose(distances(np.ones((3, 2))), [math.sqrt(3.0), 0.0], rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("elements", [1, 2, 3, 7])
def test_modes_make_mass_and_stiffness_diagonal(elements):
    parts = beam_elements(0.7, 1.3, elements, 1e-3)
    K, M = parts.K[2:, 2:], parts.M[2:, 2:]
    squares, X = modes(K, M)
    assert np.allclose(squares, eigh(K, M, eigvals_only=True), rtol=1e-9)
    assert np.allclose(X.T @ M @ X, np.eye(len(M)), atol=1e-13)
    assert np.allclose(X.T @ K @ X, np.diag(squares), atol=1e-13 * squares[-1])


@pytest.mark.parametrize("size", [1.0, 10.0, 1e3, 1e5])
def test_sines_are_right_to_one_unit_of_the_last_place(size):
    x = np.random.default_rng(5).uniform(-size, size, 5000)
    sine, cosine = sin_cos(x)
    assert [sin_cos(float(a)) for a in x] == list(zip(sine, cosine, strict=True))
    for found, right in ((sine, np.sin(x)), (cosine, np.cos(x))):
        assert np.all(np.abs(found - right) <= np.spacing(np.abs(right)))


def test_sines_of_no_angle_are_no_numbers():
    assert np.all(np.isnan([sin_cos(math.inf), sin_cos(math.nan)]))


def test_other_functions_are_right_to_one_unit_of_the_last_place():
    rng = np.random.default_rng(6)
    for y, x in rng.standard_normal((3000, 2)) * 10.0 ** rng.uniform(-5.0, 5.0, (3000, 1)):
        assert abs(arctan2(y, x) - math.atan2(y, x)) <= math.ulp(math.atan2(y, x))
    for y in (0.0, -0.0, 1.0, -1.0, 1e-300, 1e300):
        for x in (0.0, -0.0, 1.0, -1.0):
            assert arctan2(y, x) == math.atan2(y, x) and str(arctan2(y, x)) == str(math.atan2(y, x))
    for x in rng.uniform(-30.0, 30.0, 500):
        assert abs(exp(x) - math.exp(x)) <= math.ulp(math.exp(x))
        assert abs(log(abs(x)) - math.log(abs(x))) <= math.ulp(math.log(abs(x)))
