"""Comparison of the computed gains with a simulation of the sampled loop."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.control.gains import MARGIN, halton, loop_stability, sample_poses, stiffest_gains
from femtorque.codegen.mechanism import Gains, Limits, load_mechanism
from femtorque.codegen.model import Model, rotor_inertia
from tests.support.oracle import pinocchio_model, random_tree

MECHANISMS = Path(__file__).resolve().parents[3] / "mechanisms"
LEAD = 1


def model_of(name: str) -> Model:
    return Model.of(load_mechanism(MECHANISMS / f"{name}.toml"))


def with_gains(model: Model, gains: dict[str, Gains], factor: float = 1.0) -> Model:
    joints = tuple(replace(j, gains=Gains(gains[j.name].ku * factor, gains[j.name].kv * factor))
                   for j in model.mechanism.joints)
    return Model.of(replace(model.mechanism, joints=joints))


def growth_in_time(model: Model, pose: np.ndarray, lead: int, ticks: int = 12_000, finer: int = 500) -> float:
    """Return the growth per tick of a small error in the simulated loop. Motors and plant are integrated by Heun's
    method, and the control law runs once per tick. The code uses the equations of the control law, the observer and the
    motor. The test shares no code with the stability analysis."""
    n, dt = model.n, model.dt
    oracle = pinocchio_model(model)
    M = pin.crba(oracle, oracle.createData(), pose)
    M = np.triu(M) + np.triu(M, 1).T
    joints = model.mechanism.moving
    R, L, K, N, J = (np.array([getattr(j.motor, k) for j in joints]) for k in ("R", "L", "K", "gear", "inertia"))
    ku, kv = (np.array([getattr(j.gains, k) for j in joints]) for k in ("ku", "kv"))
    zero, one = np.zeros((n, n)), np.eye(n)
    pull = np.linalg.inv(M + np.diag(N**2 * J)) @ np.diag(N * K)
    slope = np.block([[zero, one, zero], [zero, zero, pull], [zero, -np.diag(K * N / L), -np.diag(R / L)]])
    drive = np.vstack([zero, zero, np.diag(1.0 / L)])
    h = dt / finer
    heun, forced = np.eye(3 * n) + h * slope + h * h / 2 * slope @ slope, (h * np.eye(3 * n)
                                                                           + h * h / 2 * slope) @ drive
    plant, held = np.eye(3 * n), np.zeros((3 * n, n))
    for _ in range(finer):
        plant, held = heun @ plant, heun @ held + forced

    pole = np.exp(-2 * np.pi * model.mechanism.control.observer_hz * dt)
    x = np.concatenate([1e-3 * (-1.0) ** np.arange(n), np.zeros(2 * n)])  # positions, rates, currents
    predicted, rate, waiting, sizes = x[:n], np.zeros(n), [np.zeros(n)] * lead, []
    for _ in range(ticks):
        error = x[:n] - predicted
        rate = rate + (1 - pole) ** 2 * error / dt
        predicted = x[:n] - error + (1 - pole**2) * error + dt * rate
        waiting.append(R * (-ku * x[:n] - kv * rate) / (N * K))
        x = plant @ x + held @ waiting.pop(0)
        sizes.append(np.linalg.norm(np.concatenate([x[:n], x[n:2 * n] * dt])))
    window = ticks // 10
    late, early = max(sizes[-window:]), max(sizes[ticks // 2 - window:ticks // 2])
    return float((late / early) ** (2.0 / ticks))


@pytest.mark.parametrize("name", ["three_link", "three_link_10ms"])
def test_the_stability_limit_is_where_the_running_loop_becomes_unstable(name: str) -> None:
    model = model_of(name)
    gains = stiffest_gains(model, LEAD)
    for factor, stable in ((0.9 * MARGIN, True), (1.1 * MARGIN, False)):
        louder = with_gains(model, gains, factor)
        result = loop_stability(louder, LEAD)
        assert result.stable == stable
        assert growth_in_time(louder, result.pose, LEAD) == pytest.approx(result.radius, abs=1e-4)


def test_one_more_tick_of_latency_costs_stiffness() -> None:
    model = model_of("three_link")
    prompt, late = (stiffest_gains(model, lead) for lead in (0, 2))
    assert all(late[name].ku < 0.8 * prompt[name].ku for name in prompt)


def test_the_examples_use_the_stiffest_gains() -> None:
    for name in ("three_link", "three_link_10ms", "six_axis", "four_bar", "five_bar_3", "palletizer"):
        model = model_of(name)
        rule = stiffest_gains(model, LEAD)
        for joint in model.mechanism.streamed:
            assert joint.gains == rule[joint.name], name


def test_the_eigenvalue_of_kv_over_m_is_the_one_that_theory_names() -> None:
    model = model_of("three_link")
    kv = np.diag([j.gains.kv for j in model.mechanism.moving])
    oracle = pinocchio_model(model)
    worst = 0.0
    for pose in sample_poses(model):
        M = pin.crba(oracle, oracle.createData(), pose)
        M = np.triu(M) + np.triu(M, 1).T + np.diag(rotor_inertia(model))
        worst = max(worst, np.abs(np.linalg.eigvals(np.linalg.inv(M) @ kv)).max() * model.dt)
    assert loop_stability(model, LEAD).rate_gain == pytest.approx(worst, rel=1e-9)


def test_poses_are_within_the_limits_and_always_the_same() -> None:
    mechanism = random_tree(np.random.default_rng(3), 5)
    limits = [Limits(), Limits(lower=-0.5), Limits(upper=-1.0), Limits(0.2, 0.3), Limits()]
    joints = tuple(replace(j, limits=x, start=np.clip(0.0, x.lower, x.upper))
                   for j, x in zip(mechanism.joints, limits, strict=True))
    model = Model.of(replace(mechanism, joints=joints))
    poses = sample_poses(model)
    np.testing.assert_array_equal(poses, sample_poses(model))
    for j, body in enumerate(model.bodies):
        assert np.all(poses[:, j] >= body.joint.limits.lower) and np.all(poses[:, j] <= body.joint.limits.upper)


def test_haltons_points_are_those_of_scipy():
    from scipy.stats import qmc  # an import at the top would load SciPy's module in every worker

    for dimensions in (1, 3, 29):
        expected = qmc.Halton(dimensions, scramble=False).random(50)
        np.testing.assert_allclose(halton(50, dimensions), expected, rtol=0.0, atol=1e-15)
