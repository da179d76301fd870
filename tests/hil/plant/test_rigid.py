"""The plant compared with independent references: Pinocchio, SciPy, energy, closed forms."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from femtorque.codegen.mechanism import Control, Friction, Joint, Link, Mechanism, Motor
from femtorque.codegen.mechanism.description import Encoder
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.plant.rigid_tree import RigidTree
from tests.support.oracle import aba, pinocchio_of, planar_chain, random_chain, random_tree


def pendulum(mass: float = 0.5, length: float = 0.4, gravity: float = 9.81, **joint: object) -> Mechanism:
    """A rod hung at the origin, swinging about z, angle zero along x; gravity along x, so that it hangs at zero."""
    inertia = mass * length**2 / 12.0
    rod = Link("rod", mass, np.array([length / 2, 0.0, 0.0]), np.diag([0.0, inertia, inertia]))
    hinge = Joint("hinge", "revolute", "base", "rod", np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 1.0]), **joint)
    return Mechanism("pendulum", np.array([gravity, 0.0, 0.0]), Control(), None, (rod,), (hinge,))


def slider(angle: float, mass: float = 2.0, coulomb: float = 0.0, viscous: float = 0.0) -> Mechanism:
    """A block on a plane inclined by `angle`; q grows uphill."""
    axis = np.array([np.cos(angle), 0.0, np.sin(angle)])
    block = Link("block", mass, np.zeros(3), 1e-3 * np.eye(3))
    rail = Joint("rail", "prismatic", "base", "block", np.zeros(3), np.zeros(3), axis,
                 friction=Friction(viscous, coulomb))
    return Mechanism("slider", np.array([0.0, 0.0, -9.81]), Control(), None, (block,), (rail,))


def with_joints(mechanism: Mechanism, **fields: object) -> Mechanism:
    return replace(mechanism, joints=tuple(replace(j, **fields) for j in mechanism.joints))


def motor_at_stall() -> Mechanism:
    """A motor on a rod without gravity, so heavy that it hardly moves."""
    return pendulum(mass=1e9, gravity=0.0, motor=Motor(R=1.2, L=6e-4, K=0.05, gear=3.0, inertia=2e-4))


# ---- equations of motion --------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_accelerations_equal_pinocchio_aba(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    mechanism = (random_chain if seed % 2 else random_tree)(rng, n)
    q, v, tau = rng.normal(size=(3, n)) * np.array([[1.5], [3.0], [5.0]])
    at = RigidTree(mechanism).at(q, v)
    ours = np.linalg.solve(at.mass, tau + at.gravity - at.coriolis @ v)
    theirs = aba(pinocchio_of(mechanism), q, v, tau)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * max(1.0, np.abs(theirs).max()))


@pytest.mark.parametrize("seed", range(4))
def test_velocity_forces_are_symmetric_in_their_two_rates(seed):
    rng = np.random.default_rng(seed)
    tree = RigidTree(random_tree(rng, 6))
    q, v, w = rng.normal(size=(3, 6))
    np.testing.assert_allclose(tree.at(q, v).coriolis @ w, tree.at(q, w).coriolis @ v, atol=1e-12)


def test_fixed_and_locked_joints_and_payloads_equal_pinocchio():
    rng = np.random.default_rng(3)
    mechanism = random_chain(rng, 6)
    joints = list(mechanism.joints)
    joints[2] = replace(joints[2], type="fixed")
    mechanism = replace(mechanism, joints=tuple(joints), lock={"joint5": 0.7})
    model = pinocchio_of(mechanism)
    q, v, tau = rng.normal(size=(3, 4))
    at = RigidTree(mechanism).at(q, v)
    np.testing.assert_allclose(np.linalg.solve(at.mass, tau + at.gravity - at.coriolis @ v), aba(model, q, v, tau),
                               rtol=1e-9)


def test_motion_converges_on_pinocchio_at_second_order():
    rng = np.random.default_rng(7)
    mechanism = random_chain(rng, 3)
    model = pinocchio_of(mechanism)
    data = model.createData()
    tau = np.array([1.0, -0.5, 0.2])
    motion = solve_ivp(lambda t, y: np.concatenate([y[3:], pin.aba(model, data, y[:3], y[3:], tau)]), (0, 0.5),
                       np.zeros(6), rtol=1e-11, atol=1e-12)

    def error(step: float) -> float:
        plant = Plant(mechanism, max_step=step)
        plant.push(0.5, tau)
        return float(np.abs(plant.q - motion.y[:3, -1]).max())

    coarse, fine = error(1e-3), error(2.5e-4)
    assert fine < 1e-4
    assert 12.0 < coarse / fine < 20.0  # a quarter of the step, a sixteenth of the error


# ---- energy ---------------------------------------------------------------


def test_energy_is_conserved_without_friction():
    plant = Plant(planar_chain(4), max_step=5e-4)
    plant.q = np.array([0.3, -0.5, 0.8, 0.1])
    start = plant.kinetic() + plant.potential()
    swing = []
    for _ in range(40):
        plant.push(0.05, np.zeros(4))
        swing.append(plant.kinetic() + plant.potential() - start)
    assert max(np.abs(plant.v)) > 1.0  # it moved
    assert np.abs(swing).max() < 2e-3
    assert abs(np.mean(swing[20:]) - np.mean(swing[:20])) < 1e-3  # and its energy does not drift


def test_the_energy_book_balances():
    mechanism = with_joints(planar_chain(3), friction=Friction(viscous=2e-3, coulomb=5e-3),
                            motor=Motor(R=1.2, L=6e-4, K=0.05, gear=2.0, inertia=1e-4))
    plant = Plant(mechanism, max_step=1e-4)
    start = plant.kinetic() + plant.potential()
    for k in range(200):
        plant.drive(5e-3, 6.0 * np.sin(0.1 * k + np.arange(3)))
    change = plant.kinetic() + plant.potential() - start
    assert plant.book.friction > 0.01
    assert change == pytest.approx(plant.book.motors - plant.book.friction, abs=2e-5)


def test_small_swings_have_the_period_of_a_rod():
    plant = Plant(pendulum(length=0.4), max_step=2.5e-4)
    plant.q = np.full(plant.n, 1e-3)
    period = 2 * np.pi * np.sqrt(2 * 0.4 / (3 * 9.81))
    plant.push(period, [0.0])
    assert plant.q[0] == pytest.approx(1e-3, rel=1e-5)
    assert abs(plant.v[0]) < 1e-3 * 1e-3 * 2 * np.pi / period


# ---- motors ---------------------------------------------------------------


def test_current_rises_as_an_exponential_whatever_the_step():
    for step in (1e-5, 5e-4, 5e-3):
        plant = Plant(motor_at_stall(), max_step=step)
        plant.drive(5e-3, [6.0])
        assert plant.current[0] == pytest.approx(6.0 / 1.2 * (1 - np.exp(-1.2 * 5e-3 / 6e-4)), rel=1e-6)


def test_motor_step_response_equals_scipy():
    motor = Motor(R=1.2, L=6e-4, K=0.05, gear=-5.0, inertia=2e-4)
    mechanism = pendulum(motor=motor, friction=Friction(viscous=1e-2))
    inertia = 0.5 * 0.4**2 / 3.0 + 25.0 * 2e-4

    def law(t, y):
        q, v, i = y
        force = -0.5 * 9.81 * 0.2 * np.sin(q) - 1e-2 * v - 0.25 * i
        return [v, force / inertia, (12.0 - 1.2 * i + 0.25 * v) / 6e-4]

    exact = solve_ivp(law, (0, 0.3), np.zeros(3), rtol=1e-10, atol=1e-12, method="Radau").y[:, -1]
    plant = Plant(mechanism, max_step=1e-4)
    plant.drive(0.3, [12.0])
    assert exact[0] < -0.1  # the negative gear turns the joint backwards
    np.testing.assert_allclose([plant.q[0], plant.v[0], plant.current[0]], exact, rtol=2e-4)


def test_a_floating_motor_takes_no_current_and_brakes_not():
    mechanism = pendulum(gravity=0.0, motor=Motor(R=1.2, L=6e-4, K=0.5))
    floating, shorted = Plant(mechanism), Plant(mechanism)
    floating.v = shorted.v = np.array([3.0])
    floating.drive(0.1, [np.nan])
    shorted.drive(0.1, [0.0])
    assert floating.v[0] == pytest.approx(3.0, rel=1e-12)
    assert shorted.v[0] < 1.5


# ---- friction -------------------------------------------------------------


def test_a_block_sticks_on_a_slope_it_should_stick_on():
    weight = 2.0 * 9.81 * np.sin(0.3)
    plant = Plant(slider(0.3, coulomb=1.05 * weight))
    plant.push(1.0, [0.0])
    assert plant.q[0] == 0.0 and plant.v[0] == 0.0


def test_a_block_slides_off_with_the_friction_subtracted():
    weight = 2.0 * 9.81 * np.sin(0.3)
    plant = Plant(slider(0.3, coulomb=0.8 * weight))
    plant.push(1.0, [0.0])
    assert plant.q[0] == pytest.approx(-0.5 * 0.2 * weight / 2.0, rel=1e-3)


def test_a_thrown_block_stops_and_stays():
    plant = Plant(slider(0.0, coulomb=4.0))
    plant.v = np.ones(plant.n)
    plant.push(0.6, [0.0])
    assert plant.v[0] == 0.0
    assert plant.q[0] == pytest.approx(0.25, rel=1e-3)  # v^2 m / (2 f)
    rest = plant.q[0]
    plant.push(0.5, [3.9])
    assert plant.q[0] == rest


def test_stuck_joints_of_a_chain_hold_against_the_others():
    mechanism = with_joints(planar_chain(3, gravity=(0.0, 0.0, 0.0)), friction=Friction(coulomb=0.05))
    plant = Plant(mechanism)
    plant.push(0.02, [0.0, 0.0, 0.06])
    assert plant.v[2] > 0.1  # pushed beyond its friction, its reaction on the others below theirs
    assert np.all(plant.q[:2] == 0.0)
    plant = Plant(mechanism)
    plant.push(0.2, [0.02, -0.03, 0.04])
    assert np.all(plant.q == 0.0)


# ---- encoders, parameters changed on purpose ------------------------------


def test_counts_are_quantised_signed_and_follow_the_gear():
    motor, encoder = Motor(R=1.0, L=0.0, K=0.1, gear=-20.0), Encoder(counts=4096, at="motor", sign=-1)
    plant = Plant(pendulum(motor=motor, encoder=encoder, start=0.3))
    assert plant.counts()[0] == 0
    plant.q = np.array([0.3 + 0.123])
    assert plant.counts()[0] == round(0.123 / (2 * np.pi) * 20 * 4096)
    at_joint = Plant(pendulum(motor=motor, encoder=Encoder(counts=8192)))
    at_joint.q = np.array([-1.4 * 2 * np.pi / 8192])
    assert at_joint.counts()[0] == -1


def test_scaled_mass_and_friction_change_the_motion_as_they_should():
    mechanism = pendulum(gravity=0.0, friction=Friction(viscous=0.1))
    nominal, heavy, rough = Plant(mechanism), Plant(mechanism, mass_scale=1.2), Plant(mechanism, friction_scale=2.0)
    for plant in (nominal, heavy, rough):
        plant.v = np.ones(plant.n)
        plant.push(0.2, [0.0])
    inertia = 0.5 * 0.4**2 / 3.0
    assert nominal.v[0] == pytest.approx(np.exp(-0.1 / inertia * 0.2), rel=1e-3)
    assert heavy.v[0] == pytest.approx(np.exp(-0.1 / (1.2 * inertia) * 0.2), rel=1e-3)
    assert rough.v[0] == pytest.approx(np.exp(-0.2 / inertia * 0.2), rel=1e-3)
