"""The articulated plant against Pinocchio, energy, and the order of its convergence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from codegen.model import Model
from hil.plexus.plant import Plant
from tests import oracle


def accelerations(plant: Plant, torque) -> np.ndarray:
    """Joint accelerations of the plant's present state under joint torques, read from its points."""
    cycle = plant.cycle
    points = cycle.gamma + cycle.along.responses @ np.asarray(torque, float)
    return cycle.equations.G @ points + cycle.equations.turning(cycle.v)


@pytest.mark.parametrize("make", [oracle.random_chain, oracle.random_tree])
@pytest.mark.parametrize("n", [1, 2, 4, 6, 8])
@pytest.mark.parametrize("seed", [0, 1])
def test_accelerations_are_those_of_forward_dynamics(make, n, seed):
    rng = np.random.default_rng(100 * n + seed)
    mechanism = make(rng, n)
    q, v, tau = rng.uniform(-3, 3, n), rng.uniform(-3, 3, n), rng.uniform(-5, 5, n)
    plant = Plant.from_mechanism(mechanism, start=q, rates=v)
    np.testing.assert_allclose(plant.q, q, atol=1e-12)
    np.testing.assert_allclose(plant.v, v, atol=1e-11)
    expected = oracle.aba(Model.of(mechanism), q, v, tau)
    np.testing.assert_allclose(accelerations(plant, tau), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("projection", [True, False])
def test_converges_at_second_order_on_an_accurate_integration_of_forward_dynamics(projection):
    rng = np.random.default_rng(5)
    mechanism = oracle.random_chain(rng, 4)
    model = oracle.pinocchio_model(Model.of(mechanism))
    q, v = rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 4)
    tau = oracle.rnea(model, q, 0.0 * q, 0.0 * q)
    exact = solve_ivp(lambda t, y: np.concatenate([y[4:], oracle.aba(model, y[:4], y[4:], tau)]), (0.0, 0.5),
                      np.concatenate([q, v]), rtol=1e-10, atol=1e-12).y
    assert np.abs(exact[4:]).max() > 2.0  # it does move, and fast

    def error(step: float) -> float:
        plant = Plant.from_mechanism(mechanism, start=q, rates=v, max_step=step, projection=projection)
        plant.push(0.5, tau)
        return float(np.abs(plant.q - exact[:4, -1]).max())

    errors = [error(step) for step in (2e-3, 1e-3, 5e-4)]
    assert errors[1] < 1.2e-4 and errors[2] < 3e-5
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.05)


def test_a_start_that_ignores_the_rows_costs_accuracy_unless_positions_are_projected():
    rng = np.random.default_rng(5)
    mechanism = oracle.random_chain(rng, 4)
    q, v = rng.uniform(-1, 1, 4), rng.uniform(-5, 5, 4)

    def end(step: float, projection: bool, consistent: bool) -> np.ndarray:
        plant = Plant.from_mechanism(mechanism, start=q, rates=v, max_step=step, projection=projection)
        if not consistent:  # free fall of every point, no multipliers
            plant.cycle.gamma = plant.structure.inverse * plant.structure.weight
        plant.push(0.2, np.zeros(4))
        return plant.q

    exact = end(1e-4, True, True)
    error = {key: np.abs(end(1e-3, *key) - exact).max() for key in [(True, True), (True, False), (False, True),
                                                                     (False, False)]}
    assert error[True, True] < 1e-4 and error[False, True] < 1e-4
    assert error[True, False] == pytest.approx(error[True, True], rel=1e-3)
    assert error[False, False] > 3.0 * error[False, True]


def test_projection_keeps_mechanisms_closed_and_energy_without_drift():
    rng = np.random.default_rng(2)
    mechanism = oracle.random_chain(rng, 6)
    q = rng.uniform(-2, 2, 6)

    def run(projection: bool) -> tuple[float, np.ndarray]:
        plant = Plant.from_mechanism(mechanism, start=q, max_step=1e-3, projection=projection)
        start, energy = plant.potential(), []
        for _ in range(100):
            plant.push(0.1 if projection else 0.03, np.zeros(6))
            energy.append(plant.kinetic() + plant.potential() - start)
        assert plant.kinetic() > 1.0
        return plant.cycle.closure(), np.array(energy)

    closure, energy = run(True)
    assert closure < 3e-12
    assert abs(energy[-30:].mean()) < 1.5 * max(np.abs(energy[:30]).max(), 1e-4)  # bounded: the last seconds as the first
    drifted, _ = run(False)
    assert drifted > 1e3 * closure
