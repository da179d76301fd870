"""The rigid plant, compared with Pinocchio, SciPy and closed formulas."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from femtorque.codegen.mechanism import Control, Friction, Joint, Link, Mechanism, Motor
from femtorque.codegen.mechanism.description import Encoder
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.plant.rigid_tree import RigidTree
from tests.support.oracle import aba, pinocchio_of, random_chain


def pendulum(gravity: float = 9.81, **joint: object) -> Mechanism:
    """Return a rod of 0.5 kg and 0.4 m on a hinge about z. The rod is along x at angle 0, and gravity acts along x."""
    inertia = 0.5 * 0.4**2 / 12.0
    rod = Link("rod", 0.5, np.array([0.2, 0.0, 0.0]), np.diag([0.0, inertia, inertia]))
    hinge = Joint("hinge", "revolute", "base", "rod", np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 1.0]), **joint)
    return Mechanism("pendulum", np.array([gravity, 0.0, 0.0]), Control(), None, (rod,), (hinge,))


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
    assert 12.0 < coarse / fine < 20.0  # if the step is four times smaller, the error is sixteen times smaller


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
    assert exact[0] < -0.1  # the negative gear ratio reverses the joint
    np.testing.assert_allclose([plant.q[0], plant.v[0], plant.current[0]], exact, rtol=2e-4)


def test_a_thrown_block_stops_and_stays():
    block = Link("block", 2.0, np.zeros(3), 1e-3 * np.eye(3))
    rail = Joint("rail", "prismatic", "base", "block", np.zeros(3), np.zeros(3), np.array([1.0, 0.0, 0.0]),
                 friction=Friction(coulomb=4.0))
    plant = Plant(Mechanism("slider", np.array([0.0, 0.0, -9.81]), Control(), None, (block,), (rail,)))
    plant.v = np.ones(1)
    plant.push(0.6, [0.0])
    assert plant.v[0] == 0.0
    assert plant.q[0] == pytest.approx(0.25, rel=1e-3)  # v^2 m / (2 f)
    rest = plant.q[0]
    plant.push(0.5, [3.9])
    assert plant.q[0] == rest


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
