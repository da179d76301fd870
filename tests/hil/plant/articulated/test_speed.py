"""Speed of the articulated plant, and the table of its convergence."""

import time
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.hil.plant.articulated.plant import Plant
from tests.support import oracle

SIX_AXIS = Path(__file__).parents[4] / "mechanisms" / "six_axis.toml"


def real_time_factor(step: float, chunks: int, seconds: float, enough: float = np.inf, ticks: int = 5) -> float:
    """Simulated over elapsed time of the six-axis arm with motors, rotors and friction: the best of some chunks of
    ticks of 1 ms, continued for some seconds until one chunk is fast enough. A chunk is shorter than a time slice of
    the operating system, so that other processes disturb the best one as little as possible."""
    plant = Plant(load_mechanism(SIX_AXIS), max_step=step)
    best, chunk, end = np.inf, 0, time.perf_counter() + seconds
    while chunk < chunks or time.perf_counter() < end and ticks * 1e-3 / best < enough:
        start = time.perf_counter()
        for k in range(ticks):
            plant.drive(1e-3, 12.0 * np.sin(0.02 * (chunk * ticks + k) + np.arange(6)))
        best, chunk = min(best, time.perf_counter() - start), chunk + 1
    assert np.abs(plant.v).max() > 0.1
    return ticks * 1e-3 / best


@pytest.mark.bench
def test_a_six_joint_arm_with_motors_and_friction_runs_in_real_time():
    factor = real_time_factor(1e-3, 60, 60.0, enough=1.0)
    print(f"real-time factor of the articulated plant, six joints, 1 ms steps: {factor:.1f}")
    assert factor >= 1.0


@pytest.mark.bench
def test_real_time_factor_and_accuracy_by_step():
    rng = np.random.default_rng(2)
    mechanism = oracle.random_chain(rng, 6)
    q = rng.uniform(-1, 1, 6)
    print("\nsix joints      step, ms   real-time factor   error, rad   energy, J   closure, m")
    fine = Plant(mechanism, start=q, max_step=2e-5)
    fine.push(0.3, np.zeros(6))
    errors = []
    for step in (1e-3, 5e-4, 2.5e-4):
        factor = real_time_factor(step, 200, 5.0)
        plant = Plant(mechanism, start=q, max_step=step)
        start = plant.potential()
        plant.push(0.3, np.zeros(6))
        errors.append(np.abs(plant.q - fine.q).max())
        drift = plant.kinetic() + plant.potential() - start
        print(f"{'':16}{1e3 * step:8.2f} {factor:18.2f} {errors[-1]:12.1e} {drift:11.1e} {plant.cycle.closure():12.1e}")
        assert factor >= (1.0 if step >= 5e-4 else 0.5)
    assert 3.5 < errors[0] / errors[1] < 4.5 and 3.5 < errors[1] / errors[2] < 4.5
