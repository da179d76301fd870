"""Compares linear boundary-value problems with Green's functions, and tests refusals of undetermined problems."""

import numpy as np
import pytest

from femtorque.codegen.common import Refused
from femtorque.host.plan.boundary_value import Problem, count, lead_in, lead_out, settling, solved, static

T, LONG = 1601, 4.0
TIME = np.linspace(0.0, LONG, T)
PUSH = np.sin(np.pi * TIME / LONG) ** 4


def scalar(M: float, C: float, K: float, push=PUSH, dt: float = TIME[1]) -> Problem:
    rows = len(push)
    return Problem(np.array([[M]]), np.array([[C]]), np.full((rows, 1, 1), K), push[:, None], dt)


def green(rates: tuple[float, float]) -> np.ndarray:
    """Return the bounded solution of an equation with roots -a and +b. The solution is the integral over s of PUSH
    exp(-c |t - s|) / (a + b), with c = a before t and c = b after t."""
    a, b = rates
    apart = TIME[:, None] - TIME[None, :]
    kernel = np.exp(np.where(apart > 0.0, -a, b) * apart) / (a + b)
    return np.trapezoid(kernel * PUSH, TIME, axis=1)


@pytest.mark.parametrize("rates", [(1.0, 1.0), (3.0, 0.5)])
def test_is_what_green_gives(rates):
    a, b = rates  # (s + a)(s - b) = s^2 + (a - b) s - a b, times -1
    problem = scalar(-1.0, b - a, a * b)
    assert count(problem) == (1, 1)
    assert np.abs(solved(problem).w[:, 0] - green(rates)).max() < 5e-6


def test_is_of_second_order():
    errors = []
    for every in (8, 16):
        problem = scalar(-1.0, 0.0, 1.0, PUSH[::every], TIME[every])
        errors.append(np.abs(solved(problem).w[:, 0] - green((1.0, 1.0))[::every]).max())
    assert 3.7 < errors[1] / errors[0] < 4.3


def test_rate_and_acceleration_belong_to_the_motion():
    found = solved(scalar(-1.0, 0.0, 1.0))
    assert np.abs(np.gradient(found.w[:, 0], TIME) - found.rate[:, 0])[1:-1].max() < 1e-5
    assert np.abs(np.gradient(found.rate[:, 0], TIME) - found.acceleration[:, 0])[1:-1].max() < 1e-5


def test_motion_beyond_the_ends_goes_on_smoothly_and_dies_out():
    problem = scalar(-1.0, 0.0, 1.0)
    found = solved(problem)
    before, after = lead_in(problem, found, 10.0), lead_out(problem, found, 10.0)
    dt = problem.dt
    assert before.w[-1, 0] == pytest.approx(found.w[0, 0] * np.exp(-dt), rel=1e-9)
    assert after.w[0, 0] == pytest.approx(found.w[-1, 0] * np.exp(-dt), rel=1e-9)
    assert abs(before.w[0, 0]) < 1e-4 * abs(found.w[0, 0])
    assert settling(problem, np.exp(-10.0)) == pytest.approx((10.0, 10.0))


def test_a_load_that_stays_is_begun_and_ended_at_its_sag():
    problem = scalar(-1.0, 0.0, 1.0, np.full(T, 0.7))
    assert static(problem, 0) == pytest.approx([0.7])
    for ends in ("free", "static"):
        assert np.abs(solved(problem, ends).w - 0.7).max() < 1e-12


def test_static_ends_hold_the_ends():
    found = solved(scalar(-1.0, 0.0, 1.0, 1.0 + PUSH), "static")
    assert found.w[[0, -1], 0] == pytest.approx([1.0, 1.0], abs=1e-12)
    assert abs(found.rate[0, 0]) > 1e-3  # at the free end the velocity is not zero


def test_unequal_counts_refuse_static_ends_and_name_the_count():
    problem = scalar(1.0, 3.0, 2.0)  # two stable roots
    assert count(problem) == (2, 0)
    solved(problem)
    with pytest.raises(Refused, match="2 stable roots and 0 unstable"):
        solved(problem, "static")


def test_roots_on_the_axis_are_refused_with_the_count():
    with pytest.raises(Refused, match="0 stable roots .* 0 unstable .* 0 conditions for 2 unknowns"):
        solved(scalar(1.0, 0.0, 1.0))


def test_ends_of_different_kinds_are_refused():
    problem = scalar(1.0, 0.1, 1.0)
    K = problem.K.copy()
    K[T // 2 :] *= -1.0  # the solution oscillates at the start and is unstable at the end
    with pytest.raises(Refused, match="3 conditions for 2 unknowns"):
        solved(Problem(problem.M, problem.C, K, problem.F, problem.dt))
