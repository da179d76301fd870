"""Mimic joints are couplings of coordinates in the articulated plant. Pinocchio is the reference."""

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.motion import from_rows
from femtorque.codegen.reference.pinocchio import pinocchio_of
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.hil.plant.selection import plant_of
from femtorque.hil.play import run_closed_loop
from tests.hil.plant.articulated.test_plant import accelerations
from tests.support.mimic import gripper_in

# `grip` drives `other` with ratio -1, and `other` drives `thumb` with ratio 0.04 and offset 0.01. Columns: shoulder,
# grip.
G = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.04]])


@pytest.fixture
def gripper(tmp_path):
    return gripper_in(tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_accelerations_equal_forward_dynamics_projected_on_the_leaders(gripper, seed):
    rng = np.random.default_rng(seed)
    y, rate, tau = rng.uniform([-1.0, 0.1], [1.0, 0.8]), rng.uniform(-2.0, 2.0, 2), rng.uniform(-1.0, 1.0, 2)
    q, v = G @ y + [0.0, 0.0, 0.0, 0.01], G @ rate
    plant = Plant(gripper, start=q, velocities=v, friction_scale=0.0)
    np.testing.assert_allclose(plant.q, q, atol=1e-11)
    np.testing.assert_allclose(plant.v, v, atol=1e-11)
    theirs = pinocchio_of(gripper)
    data = theirs.createData()
    M = pin.crba(theirs, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    rotors = [j.motor.inertia * j.motor.gear**2 if j.motor else 0.0 for j in gripper.moving]
    M = G.T @ (M + np.diag(rotors)) @ G
    expected = G @ np.linalg.solve(M, tau - G.T @ pin.nonLinearEffects(theirs, data, q, v))
    given = np.array([tau[0], tau[1], 0.0, 0.0])
    np.testing.assert_allclose(accelerations(plant, given), expected, atol=1e-8 * np.abs(expected).max())


def test_followers_stay_with_their_leader_and_no_energy_is_made(gripper):
    assert isinstance(plant_of(gripper), Plant)
    plant = Plant(gripper, friction_scale=0.0)
    plant.set_velocities(G @ [1.0, 0.5])
    before = plant.kinetic() + plant.potential()
    plant.push(0.5, np.zeros(4))
    np.testing.assert_allclose(plant.q, G @ plant.q[:2] + [0.0, 0.0, 0.0, 0.01], atol=1e-9)
    assert np.abs(plant.q[0]) > 0.5  # it fell
    assert plant.kinetic() + plant.potential() == pytest.approx(before, abs=2e-3)


def test_the_image_moves_a_gripper_with_the_torque_of_all_fingers_at_its_leader(gripper):
    s, still = np.array([[0.0], [1.0]]), np.zeros((2, 2))
    result = run_closed_loop(gripper, from_rows(["shoulder", "grip"], [0.0, 0.5], s * [0.7, 0.6], still, still))
    assert result.good and result.bit_identical
    assert np.max(result.tracking_rms) < 2e-3
