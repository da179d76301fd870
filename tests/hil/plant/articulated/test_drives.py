"""Friction with stick, DC motors, stops, backlash, springs, servo, compared with closed formulas and another plant."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Friction, Limits, Motor
from femtorque.hil.plant.articulated.laws import Spring, Stop, backlash
from femtorque.hil.plant.articulated.plant import Penalty, Plant
from femtorque.hil.plant.articulated.servo import Servo
from tests.support import oracle

WEIGHTLESS = (0.0, 0.0, 0.0)


def wheel(inertia: float = 0.02, **joint):
    """A link about z through its centre of gravity, which gravity does not move."""
    base = oracle.planar_chain(1, gravity=WEIGHTLESS)
    link = replace(base.links[0], mass=1.0, com=np.zeros(3), inertia=np.diag([inertia, inertia, inertia]))
    return replace(base, links=(link,), joints=(replace(base.joints[0], **joint),))


def arm(n: int = 3, **joint):
    base = oracle.planar_chain(n)
    return replace(base, joints=tuple(replace(j, **joint) for j in base.joints))


# ---- friction -----------------------------------------------------------------------------------


def test_dry_friction_brings_a_wheel_to_rest_in_the_time_and_angle_of_theory_and_holds_it_there():
    J, torque, rate = 0.02, 0.05, 3.0
    plant = Plant.from_mechanism(wheel(J, friction=Friction(coulomb=torque)), velocities=[rate], max_step=1e-3)
    stop = J * rate / torque
    plant.push(0.5 * stop, [0.0])
    assert plant.v[0] == pytest.approx(0.5 * rate, rel=1e-9)
    plant.push(stop, [0.0])
    assert plant.v[0] == 0.0 or abs(plant.v[0]) < 1e-13
    assert plant.q[0] == pytest.approx(0.5 * rate * stop, abs=2e-6)  # velocity lost in one step, times half a step
    rest = plant.q[0]
    plant.push(1.0, [0.999 * torque])
    assert plant.q[0] == pytest.approx(rest, abs=1e-12)  # sticks
    plant.push(0.1, [1.5 * torque])
    assert plant.v[0] == pytest.approx(0.5 * torque / J * 0.1, rel=1e-6)  # breaks away


def test_a_stuck_joint_stays_stuck_while_the_arm_that_carries_it_swings():
    base = arm(2)
    free, stuck = base.joints
    mechanism = replace(base, joints=(free, replace(stuck, friction=Friction(coulomb=5.0), start=0.7)))
    plant = Plant.from_mechanism(mechanism, max_step=1e-3)
    locked = Plant.from_mechanism(replace(base, lock={stuck.name: 0.7}), max_step=1e-3)
    plant.push(2.0, [0.0, 0.0])
    locked.push(2.0, [0.0])
    assert abs(locked.q[0]) > 1.0
    assert plant.q[1] == pytest.approx(0.7, abs=5e-5)
    assert plant.q[0] == pytest.approx(locked.q[0], abs=3e-4)


def test_viscous_friction_decays_exponentially_even_where_the_step_is_longer_than_its_time_constant():
    J, f, rate = 0.02, 0.1, 3.0
    plant = Plant.from_mechanism(wheel(J, friction=Friction(viscous=f)), velocities=[rate], max_step=1e-3)
    plant.push(0.2, [0.0])
    assert plant.v[0] == pytest.approx(rate * np.exp(-f / J * 0.2), rel=1e-5)
    stiff = Plant.from_mechanism(wheel(J, friction=Friction(viscous=100.0)), velocities=[rate], max_step=1e-3)
    stiff.push(0.5, [1.0])
    assert stiff.v[0] == pytest.approx(0.01, rel=1e-6)


def test_the_energy_book_balances():
    plant = Plant.from_mechanism(arm(3, friction=Friction(0.01, 0.02), motor=Motor(1.2, 6e-4, 0.05, 3.0, 2e-4)))
    start = plant.kinetic() + plant.potential()
    for k in range(200):
        plant.drive(5e-3, 6.0 * np.sin(0.1 * k + np.arange(3)))
    change = plant.kinetic() + plant.potential() - start
    assert plant.book.friction > 0.05 and abs(plant.book.motors) > 0.05
    assert change == pytest.approx(plant.book.motors - plant.book.friction, abs=2e-3 * plant.book.friction)


# ---- motors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("L", [6e-4, 1e-7, 0.0])
def test_a_motor_runs_up_as_its_two_time_constants_say(L):
    J, motor = 0.02, Motor(R=1.2, L=L, K=0.05, gear=-4.0, inertia=2e-4)
    plant = Plant.from_mechanism(wheel(J, motor=motor), max_step=5e-4)
    total, NK = J + motor.gear**2 * motor.inertia, motor.gear * motor.K
    A = np.array([[0.0, NK / total], [-NK / L, -motor.R / L]]) if L else None
    if A is None:
        rate = 12.0 / NK * (1.0 - np.exp(-NK**2 / motor.R / total * 0.3))
    else:  # dy/dt = A y + b, by the eigenvectors
        b = np.array([0.0, 12.0 / L])
        steady = -np.linalg.solve(A, b)
        values, vectors = np.linalg.eig(A)
        rate = (steady + (vectors * np.exp(values * 0.3)) @ np.linalg.solve(vectors, -steady)).real[0]
    plant.drive(0.3, [12.0])
    assert plant.v[0] == pytest.approx(rate, rel=2e-5)
    assert plant.v[0] < 0.0  # a negative gear turns the joint backwards
    plant.drive(0.1, [np.nan])
    assert plant.current[0] == 0.0


def test_a_blocked_motor_draws_the_current_of_its_exponential():
    motor = Motor(R=1.2, L=6e-4, K=0.05, gear=10.0, inertia=2e-4)
    plant = Plant.from_mechanism(wheel(1e6, motor=motor))
    plant.drive(5e-4, [6.0])
    assert plant.current[0] == pytest.approx(6.0 / 1.2 * (1.0 - np.exp(-1.2 * 5e-4 / 6e-4)), rel=1e-6)


def test_rotor_inertia_acts_as_armature():
    rng = np.random.default_rng(8)
    mechanism = oracle.random_chain(rng, 4)
    motors = [Motor(1.0, 0.0, 0.05, gear, 1e-4) for gear in (10.0, -30.0, 50.0, 80.0)]
    mechanism = replace(mechanism,
                        joints=tuple(replace(j, motor=m) for j, m in zip(mechanism.joints, motors, strict=True)))
    q, v, tau = rng.uniform(-2, 2, 4), rng.uniform(-2, 2, 4), rng.uniform(-5, 5, 4)
    model = oracle.pinocchio_of(mechanism)
    model.armature = np.array([m.gear**2 * m.inertia for m in motors])
    plant = Plant.from_mechanism(mechanism, start=q, velocities=v)
    got = plant.cycle.equations.G @ (plant.cycle.gamma
                                     + plant.cycle.along.responses @ tau) + plant.cycle.equations.turning(plant.cycle.v)
    np.testing.assert_allclose(got, oracle.aba(model, q, v, tau), rtol=1e-8)


# ---- laws ---------------------------------------------------------------------------------------


def test_a_spring_swings_a_wheel_at_its_frequency_and_sets_the_step():
    J, k = 0.02, 3.0
    plant = Plant.from_mechanism(wheel(J, stiffness=k, rest=0.4), max_step=1e-3)
    assert plant.stable_step == pytest.approx(0.8 * 2.0 * np.sqrt(J / k), rel=1e-6)
    plant.push(2.0 * np.pi * np.sqrt(J / k), [0.0])
    assert plant.q[0] == pytest.approx(0.0, abs=1e-4)


def test_the_stability_step_is_respected_and_needed():
    J, k = 1e-4, 1e4
    plant = Plant.from_mechanism(wheel(J, stiffness=k, rest=1e-3), max_step=1e-3)
    assert plant.max_step == plant.stable_step < 2e-4 * 0.81
    plant.push(0.2, [0.0])
    assert np.abs(plant.q).max() < 2.1e-3
    plant.max_step = 1.3 * plant.stable_step / 0.8  # beyond 2 / omega
    with pytest.raises(Refused, match="step is too long"):
        plant.push(0.05, [0.0])


def test_a_stop_throws_a_wheel_back_without_loss_and_a_damped_one_with():
    J, k, rate = 0.02, 2e3, 2.0

    def after(damping: float) -> tuple[float, float]:
        plant = Plant.from_mechanism(wheel(J, limits=Limits(-0.1, 0.1)), velocities=[rate], max_step=1e-4,
                                     stops=Penalty(k, damping))
        farthest = 0.0
        for _ in range(120):
            plant.push(1e-3, [0.0])
            farthest = max(farthest, plant.q[0])
        return float(plant.v[0]), farthest

    back, farthest = after(0.0)
    assert back == pytest.approx(-rate, rel=1e-3)
    assert farthest == pytest.approx(0.1 + rate * np.sqrt(J / k), rel=1e-2)
    assert -rate < after(5.0)[0] < -0.1 * rate


def test_backlash_lets_a_driven_wheel_lag_by_its_gap():
    base = wheel()
    link = replace(base.links[0], name="other")
    joint = replace(base.joints[0], name="output", child="other", xyz=np.array([0.0, 0.0, 0.2]),
                    friction=Friction(coulomb=0.01))
    mechanism = replace(base, links=(base.links[0], link), joints=(base.joints[0], joint))
    gap = 0.05
    flank = backlash(gap, 500.0, 1.0)
    plant = Plant.from_mechanism(mechanism, laws=[(flank, {"joint1": 1.0, "output": -1.0})])
    plant.push(0.02, [0.5, 0.0])
    assert 0.0 < plant.q[0] < 0.5 * gap
    assert plant.q[1] == pytest.approx(0.0, abs=1e-12)  # the tooth has not reached it yet
    plant.push(1.0, [0.5, 0.0])
    assert plant.q[0] - plant.q[1] == pytest.approx(0.5 * gap, abs=2e-3)
    assert plant.v[1] == pytest.approx(plant.v[0], rel=0.02)


def test_laws_give_back_what_they_store():
    for law in (Spring(3.0, 0.2), Stop(-0.1, 0.2, 50.0)):
        plant, d = Plant.from_mechanism(wheel(), laws=[(law, "joint1")]), 1e-6
        for at in np.linspace(-1.0, 1.0, 41) + 0.013:
            plant.cycle.q = np.array([at])
            plant.cycle.restart()
            slope = (law.energy(at + d) - law.energy(at - d)) / (2.0 * d)
            assert plant.loads.torques[0] == pytest.approx(-slope, abs=1e-6)


# ---- servo --------------------------------------------------------------------------------------


def test_a_servo_with_integral_reaches_its_target_against_a_constant_load():
    plant = Plant.from_mechanism(wheel(0.02), max_step=5e-3)
    servo = Servo(kp=8.0, kd=0.8, ki=16.0)
    for _ in range(800):
        plant.push(5e-3, servo.command(5e-3, plant.q, plant.v, 0.5) - 1.0)
    assert plant.q[0] == pytest.approx(0.5, abs=1e-4)
    assert servo.integral[0] * 16.0 == pytest.approx(-1.0, rel=1e-3)


def test_without_anti_windup_a_saturated_servo_overshoots_far_more():
    def overshoot(anti_windup: bool) -> float:
        plant = Plant.from_mechanism(wheel(0.02), max_step=5e-3)
        servo = Servo(kp=8.0, kd=0.8, ki=40.0, limit=0.05, anti_windup=anti_windup)
        largest = 0.0
        for _ in range(1200):
            plant.push(5e-3, servo.command(5e-3, plant.q, plant.v, 1.0))
            largest = max(largest, plant.q[0])
        return largest - 1.0

    assert overshoot(True) < 0.3 * overshoot(False)


def test_a_servo_output_never_exceeds_its_limit():
    servo = Servo(kp=np.array([100.0, 1.0]), kd=1.0, ki=5.0, limit=np.array([2.0, 24.0]))
    for angle in ([-3.0, 0.2], [3.0, -0.2], [50.0, 50.0]):
        assert np.all(np.abs(servo.command(0.01, angle, [0.3, 0.1], 0.0)) <= [2.0, 24.0])
