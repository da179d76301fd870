"""Dry friction, DC motors, springs and the servo, compared with closed formulas."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Friction
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.hil.plant.articulated.servo import Servo
from tests.support import oracle

WEIGHTLESS = (0.0, 0.0, 0.0)


def wheel(inertia: float = 0.02, **joint):
    """Return a link that rotates about z through its centre of gravity. Gravity does not move the link."""
    base = oracle.planar_chain(1, gravity=WEIGHTLESS)
    link = replace(base.links[0], mass=1.0, com=np.zeros(3), inertia=np.diag([inertia, inertia, inertia]))
    return replace(base, links=(link,), joints=(replace(base.joints[0], **joint),))


def test_dry_friction_stops_a_wheel_as_theory_says_and_holds_it():
    J, torque, rate = 0.02, 0.05, 3.0
    plant = Plant(wheel(J, friction=Friction(coulomb=torque)), velocities=[rate], max_step=1e-3)
    stop = J * rate / torque
    plant.push(0.5 * stop, [0.0])
    assert plant.v[0] == pytest.approx(0.5 * rate, rel=1e-9)
    plant.push(stop, [0.0])
    assert plant.v[0] == 0.0 or abs(plant.v[0]) < 1e-13
    assert plant.q[0] == pytest.approx(0.5 * rate * stop, abs=2e-6)  # the velocity lost in one step, times half a step
    rest = plant.q[0]
    plant.push(1.0, [0.999 * torque])
    assert plant.q[0] == pytest.approx(rest, abs=1e-12)  # sticks
    plant.push(0.1, [1.5 * torque])
    assert plant.v[0] == pytest.approx(0.5 * torque / J * 0.1, rel=1e-6)  # breaks away


def test_viscous_friction_decays_exponentially_even_with_a_step_above_its_time_constant():
    J, f, rate = 0.02, 0.1, 3.0
    plant = Plant(wheel(J, friction=Friction(viscous=f)), velocities=[rate], max_step=1e-3)
    plant.push(0.2, [0.0])
    assert plant.v[0] == pytest.approx(rate * np.exp(-f / J * 0.2), rel=1e-5)
    stiff = Plant(wheel(J, friction=Friction(viscous=100.0)), velocities=[rate], max_step=1e-3)
    stiff.push(0.5, [1.0])
    assert stiff.v[0] == pytest.approx(0.01, rel=1e-6)


def test_a_spring_swings_a_wheel_at_its_frequency_and_sets_the_step():
    J, k = 0.02, 3.0
    plant = Plant(wheel(J, stiffness=k, rest=0.4), max_step=1e-3)
    assert plant.stable_step == pytest.approx(0.8 * 2.0 * np.sqrt(J / k), rel=1e-6)
    plant.push(2.0 * np.pi * np.sqrt(J / k), [0.0])
    assert plant.q[0] == pytest.approx(0.0, abs=1e-4)


def test_the_stability_step_is_respected_and_needed():
    J, k = 1e-4, 1e4
    plant = Plant(wheel(J, stiffness=k, rest=1e-3), max_step=1e-3)
    assert plant.max_step == plant.stable_step < 2e-4 * 0.81
    plant.push(0.2, [0.0])
    assert np.abs(plant.q).max() < 2.1e-3
    plant.max_step = 1.3 * plant.stable_step / 0.8  # beyond 2 / omega
    with pytest.raises(Refused, match="step is too long"):
        plant.push(0.05, [0.0])


def test_a_servo_follows_its_law_up_to_its_limit():
    servo = Servo(kp=np.array([100.0, 1.0]), kd=2.0, limit=np.array([2.0, 24.0]))
    np.testing.assert_allclose(servo.command([-3.0, 0.2], [0.3, 0.1], [0.0, 0.5], 0.2), [2.0, 0.5])
