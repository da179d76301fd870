"""The articulated plant: accelerations compared with Pinocchio, energy, and order of convergence."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from femtorque.codegen.common import MECHANISMS, BadInput
from femtorque.codegen.mechanism import Payload, load_mechanism
from femtorque.codegen.model import Model
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.hil.plant.rigid import Plant as RigidPlant
from tests.support import oracle


def accelerations(plant: Plant, torque) -> np.ndarray:
    """Return the accelerations for joint torques at the present state, from the points."""
    cycle = plant.cycle
    points = cycle.gamma + cycle.along.responses @ np.asarray(torque, float)
    return cycle.equations.G @ points + cycle.equations.turning(cycle.v)


def check(mechanism, q, v, tau, model, within: float) -> Plant:
    """Compare accelerations with Pinocchio's. within: maximum error over maximum acceleration."""
    plant = Plant(mechanism, start=q, velocities=v)
    expected = oracle.aba(model, q, v, tau)
    np.testing.assert_allclose(accelerations(plant, tau), expected, atol=within * np.abs(expected).max())
    return plant


@pytest.mark.parametrize("make", [oracle.random_chain, oracle.random_tree])
@pytest.mark.parametrize("n", [1, 2, 4, 6, 8])
@pytest.mark.parametrize("seed", [0, 1])
def test_accelerations_equal_forward_dynamics(make, n, seed):
    rng = np.random.default_rng(100 * n + seed)
    mechanism = make(rng, n)
    q, v, tau = rng.uniform(-3, 3, n), rng.uniform(-3, 3, n), rng.uniform(-5, 5, n)
    plant = check(mechanism, q, v, tau, Model.of(mechanism), 1e-9)
    np.testing.assert_allclose(plant.q, q, atol=1e-12)
    np.testing.assert_allclose(plant.v, v, atol=1e-11)


def test_converges_at_second_order_on_an_accurate_integration_of_forward_dynamics():
    rng = np.random.default_rng(5)
    mechanism = oracle.random_chain(rng, 4)
    model = oracle.pinocchio_model(Model.of(mechanism))
    q, v = rng.uniform(-1, 1, 4), rng.uniform(-1, 1, 4)
    tau = oracle.rnea(model, q, 0.0 * q, 0.0 * q)
    exact = solve_ivp(lambda t, y: np.concatenate([y[4:], oracle.aba(model, y[:4], y[4:], tau)]), (0.0, 0.5),
                      np.concatenate([q, v]), rtol=1e-10, atol=1e-12).y
    assert np.abs(exact[4:]).max() > 2.0  # the arm moves fast

    def error(step: float) -> float:
        plant = Plant(mechanism, start=q, velocities=v, max_step=step)
        plant.push(0.5, tau)
        return float(np.abs(plant.q - exact[:4, -1]).max())

    errors = [error(step) for step in (2e-3, 1e-3, 5e-4)]
    assert errors[1] < 1.2e-4 and errors[2] < 3e-5
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.05)


def test_projection_keeps_mechanisms_closed_and_energy_without_drift():
    rng = np.random.default_rng(2)
    mechanism = oracle.random_chain(rng, 6)
    plant = Plant(mechanism, start=rng.uniform(-2, 2, 6), max_step=2e-3)
    start, energy, fastest = plant.potential(), [], 0.0
    while plant.time < 10.0:
        plant.push(0.1, np.zeros(6))
        fastest = max(fastest, plant.kinetic())
        energy.append(plant.kinetic() + plant.potential() - start)
    assert fastest > 3.0
    assert plant.cycle.closure() < 3e-12
    assert np.abs(energy).max() < 0.03  # largest change of energy, J; THEORY.md section 8 states this value for 3.5 J


def test_fixed_and_locked_joints_and_payloads_are_folded_as_pinocchio_folds_them():
    rng = np.random.default_rng(12)
    mechanism = oracle.random_tree(rng, 8)
    joints = list(mechanism.joints)
    joints[2], joints[5] = replace(joints[2], type="fixed"), replace(joints[5], type="revolute")
    load = Payload("load", "link4", 0.7, rng.normal(size=3) * 0.1, oracle.random_inertia(rng, 0.7, 0.2))
    mechanism = replace(mechanism, joints=tuple(joints), payloads=(load,), lock={"joint6": 0.8})
    n = len(mechanism.moving)
    q, v, tau = rng.uniform(-2, 2, n), rng.uniform(-2, 2, n), rng.uniform(-5, 5, n)
    assert check(mechanism, q, v, tau, oracle.pinocchio_of(mechanism), 1e-9).system.moving == n == 6


def test_an_impossible_tensor_on_a_ground_hinge_is_replaced_by_an_equal_one():
    """In many published arms the first link has an inertia only about its axis."""
    rng = np.random.default_rng(3)
    mechanism = oracle.random_chain(rng, 3)
    axis = mechanism.joints[0].axis
    lumped = replace(mechanism.links[0], mass=0.0, com=np.zeros(3), inertia=0.35 * np.outer(axis, axis))
    mechanism = replace(mechanism, links=(lumped, *mechanism.links[1:]), unphysical="warn")
    q, v, tau = rng.uniform(-2, 2, 3), rng.uniform(-2, 2, 3), rng.uniform(-5, 5, 3)
    plant = Plant(mechanism, start=q, velocities=v)
    np.testing.assert_allclose(accelerations(plant, tau), oracle.aba(Model.of(mechanism), q, v, tau), rtol=1e-8)
    assert any("link1" in note and "ground hinge" in note for note in plant.notes)


def test_an_impossible_tensor_elsewhere_is_refused_by_name():
    mechanism = oracle.random_chain(np.random.default_rng(3), 3)
    links = list(mechanism.links)
    links[1] = replace(links[1], inertia=np.diag([1.0, 0.1, 0.1]))
    with pytest.raises(BadInput, match="link link2: inertia"):
        Plant(replace(mechanism, links=tuple(links)))


def test_a_uniform_slender_chain_in_its_plane_moves_as_forward_dynamics_says():
    """The rods are degenerate solids, whose added thickness acts across the plane and about their axes."""
    mechanism = oracle.planar_chain(3)
    rng = np.random.default_rng(1)
    q, v, tau = rng.uniform(-2, 2, 3), rng.uniform(-2, 2, 3), rng.uniform(-0.2, 0.2, 3)
    plant = check(mechanism, q, v, tau, Model.of(mechanism), 2e-5)
    assert len([note for note in plant.notes if "fattened" in note]) == 3


def test_two_plants_that_share_no_equations_agree_under_voltages_and_friction():
    mechanism = load_mechanism(MECHANISMS / "six_axis.toml")
    points, minimal = Plant(mechanism, max_step=1e-4), RigidPlant(mechanism, max_step=1e-4)
    for k in range(100):
        voltage = 12.0 * np.sin(0.02 * k + np.arange(6))
        points.drive(1e-3, voltage)
        minimal.drive(1e-3, voltage)
    assert np.abs(minimal.q - [j.start for j in mechanism.moving]).max() > 0.1
    np.testing.assert_allclose(points.q, minimal.q, atol=1e-5)
    np.testing.assert_allclose(points.v, minimal.v, atol=1e-4)
    np.testing.assert_allclose(points.current, minimal.current, atol=1e-4)
    np.testing.assert_array_less(np.abs(points.counts() - minimal.counts()), 2)
