"""Comparison of the limits of FOLLOW with Pinocchio's torques and the motors' torques at random poses, velocities and
signs."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.common import Refused
from femtorque.codegen.control.constants import follow_limits
from femtorque.codegen.control.follow import MANY, unfollowed
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Friction, Limits, Link, Mechanism, load_mechanism
from femtorque.codegen.verify import Choice, write_new_file
from tests.codegen.mechanism.test_urdf import robot
from tests.support.boards import driven, three_link
from tests.support.oracle import pinocchio_of, planar_chain
from tests.support.suite import ROOT

SLACK = 1.02  # each limit is rounded to three digits, and the search has steps of 2 %
NO_LOAD = 0.801  # fraction of a motor's no-load speed, with a margin for rounding
SAMPLES = 3000
RUBS = Friction(viscous=0.02, coulomb=0.05, stribeck=0.1, stribeck_velocity=0.5, load=0.15)


def example(name):
    return load_mechanism(ROOT / "mechanisms" / f"{name}.toml")


def rubbing():
    """Return three_link with every type of friction. The wrist has a tenth of the friction of the other joints."""
    arm = example("three_link")
    small = replace(RUBS, **{key: 0.1 * getattr(RUBS, key) for key in ("viscous", "coulomb", "stribeck")})
    return replace(arm, joints=tuple(replace(j, friction=small if j.name == "wrist" else RUBS) for j in arm.joints))


def fast():
    """Return three_link with a gear ratio twenty times as large.

    The velocity limits then are the no-load speeds of 3.4, 6, 20 rad/s."""
    arm = example("three_link")
    return replace(arm, joints=tuple(replace(
        j, motor=replace(j.motor, gear=20.0 * j.motor.gear),
        limits=replace(j.limits, effort=3.0 * j.limits.effort, velocity=100.0)) for j in arm.joints))


def made_up(tmp_path, name):
    """Return the mechanism that `femtorque init --from URDF --board f405rg-6` writes."""
    return load_mechanism(write_new_file("arm", tmp_path / "arm.toml", robot(name), Choice(board="f405rg-6")))


def currents(tmp_path):
    """Return three_link with current loops. The motors have four times the stall current, 60 A at the shoulder."""
    arm = driven(three_link("nucleo-g474re-6", tmp_path), "current")
    return replace(arm, joints=tuple(replace(j, motor=replace(j.motor, R=0.25 * j.motor.R),
                                             limits=replace(j.limits, effort=np.inf)) for j in arm.joints))


CURRENT = 0.7 * 1.65 / 0.066  # largest current, A: 0.7 of 1.65 V, divided by the sensors' 66 mV/A (nucleo-g474re-6)
ARMS = {
    "three_link": lambda tmp: example("three_link"), "six_axis": lambda tmp: example("six_axis"),
    "rubbing": lambda tmp: rubbing(), "fast": lambda tmp: fast(),
    "so101.urdf": lambda tmp: made_up(tmp, "so101.urdf"), "ur5_robot.urdf": lambda tmp: made_up(tmp, "ur5_robot.urdf"),
    "currents": currents,
    "odrive_arm": lambda tmp: example("odrive_arm"), "openarm_like": lambda tmp: example("openarm_like"),
    "so101_sts": lambda tmp: example("so101_sts"), "aloha_like": lambda tmp: example("aloha_like")}


def there(mechanism: Mechanism, v, sign):
    """Return each joint's available torque (J,) at velocities v in the direction of the sign, from the file alone."""
    most = []
    for joint, qd, way in zip(mechanism.streamed, v, sign, strict=True):
        found, motor = joint.limits.effort, joint.motor
        if joint.drive is not None:
            found = min(found, DRIVES[joint.drive.type.name].torque * joint.drive.gear)
        if motor is not None:
            constant = abs(motor.K * motor.gear)
            volts = mechanism.board.bus_voltage * (joint.drive.servo.limit if joint.drive is not None else 1.0)
            found = min(found, (volts - constant * qd * way) * constant / motor.R, constant * volts / motor.R)
            found = min(found, constant * CURRENT) if motor.drive == "current" else found
        most.append(max(found, 0.0))
    return np.array(most)


@pytest.mark.parametrize("name", ARMS)
def test_no_motion_within_the_limits_asks_more_of_a_joint_than_its_motor_has(name, tmp_path):
    """Try every combination of signs of the accelerations at random poses, at and below the velocity limits."""
    mechanism = ARMS[name](tmp_path)
    limits, joints, rng = follow_limits(mechanism), mechanism.streamed, np.random.default_rng(3)
    oracle = pinocchio_of(mechanism)
    data, order = oracle.createData(), [oracle.joints[oracle.getJointId(j.name)].idx_v for j in joints]
    top, most, rotors = (np.array(x) for x in ([x.velocity for x in limits], [x.acceleration for x in limits],
                                               [j.rotor for j in joints]))
    D, coulomb, stribeck, slow, load = np.array([
        [f.viscous, f.coulomb, f.stribeck, f.stribeck_velocity or 1.0, f.load] for f in (j.friction for j in joints)]).T
    low, high = np.array([[max(j.limits.lower, -np.pi), min(j.limits.upper, np.pi)] for j in joints]).T
    worst = np.zeros(len(joints))
    for k in range(SAMPLES):
        q, v = np.zeros(oracle.nq), np.zeros(oracle.nv)
        moving = rng.choice([-1.0, 1.0], len(joints)) * top * (1.0 if k % 2 else rng.uniform(size=len(joints)))
        q[order], v[order] = rng.uniform(low, high), moving
        held = pin.rnea(oracle, data, q, v, np.zeros(oracle.nv))[order]
        upper = pin.crba(oracle, data, q)
        M = np.abs(np.triu(upper) + np.triu(upper, 1).T)[np.ix_(order, order)]
        for sign in (-1.0, 1.0):
            link = sign * held + M @ most
            dry = coulomb + stribeck / (1.0 + (moving / slow) ** 2) + load * np.abs(link)
            asked = link + rotors * most + sign * (D * moving + np.sign(moving) * dry)
            worst = np.maximum(worst, asked / there(mechanism, moving, np.full(len(joints), sign)))
    print(f"{name}: largest share of what each motor has {np.round(worst, 2)}")
    assert worst.max() < SLACK
    assert worst.max() > 0.5  # the limits are not more conservative than necessary
    for joint, fastest in zip(joints, top, strict=True):
        if joint.motor is not None:
            assert fastest <= NO_LOAD * mechanism.board.bus_voltage / abs(joint.motor.K * joint.motor.gear)


def elbow(efforts, velocity, **joints):
    """Return two massless rods of 1 m in a horizontal plane with a fixed right angle at the elbow and 1 kg at the end.

    M is [[2, 1], [1, 1]] kg m^2. The velocity terms are -h (2 v1 v2 + v2^2) and h v1^2 with h = 1 kg m^2, within a
    thousandth."""
    arm = planar_chain(2, length=1.0, mass=0.0, gravity=np.zeros(3))
    tip = Link("link2", 1.0, np.array([1.0, 0.0, 0.0]), np.zeros((3, 3)))
    ranges = ((-1.0, 1.0), (np.pi / 2.0 - 1e-4, np.pi / 2.0))
    return replace(arm, links=(arm.links[0], tip), joints=tuple(
        replace(j, start=upper, limits=Limits(lower, upper, velocity, effort), **joints)
        for j, (lower, upper), effort in zip(arm.joints, ranges, efforts, strict=True)))


@pytest.mark.parametrize("arm, velocities, accelerations", [
    # 2 v1 v2 + v2^2 = 3 and v1^2 = 1 are half of the efforts 6 and 2 N m. Each joint alone could accelerate by 3/2 and
    # 1/1. Both accelerations together would need 2 x 1.5 + 1 = 4 N m where 3 N m are left, and
    # 1.5 + 1 = 2.5 N m where 1 N m is left. So both accelerations are reduced to two fifths
    (elbow((6.0, 2.0), 1.0), (1.0, 1.0), (0.6, 0.4)),
    # the search reduces the shoulder's velocity by a step of 2 %, to v1 = 0.99. The elbow then has 2 - 0.98 = 1.02 N m
    # left, the shoulder 20 - 3.02 N m. Each joint alone could accelerate by 16.98 / 2 and 1.02. Together they would
    # need 8.49 + 1.02 of 1.02 N m
    (elbow((20.0, 2.0), 1.0102), (0.99, 1.0102), (0.911, 0.109)),
    # Friction is 0.1 v + 0.2 + 0.1 and a quarter of the links' torque. This leaves 3.5 - 0.3 - 0.1 - 1.25 = 1.85 N m at
    # the elbow, and 8.3 - 0.3 - 0.1 - 3.75 = 4.15 N m at the shoulder. Each joint alone could accelerate by 4.15 / 2.5
    # = 1.66 and 1.85 / 1.25 = 1.48. Together they would need 1.25 (2 x 1.66 + 1.48) = 6 of 4.15 and 1.25 x 3.14 = 3.925
    # of 1.85: both get 0.4713
    (elbow((8.3, 3.5), 1.0, friction=Friction(0.1, 0.2, 0.1, 0.5, 0.25)), (1.0, 1.0), (0.782, 0.697)),
    # 9.95 of 10 N m are friction, so the minimum of 2 % applies: 0.2 - 0.0675 and 0.2 - 0.0225 N m. Each joint alone
    # could accelerate by 0.06625 and 0.1775. Together they would need 2 x 0.06625 + 0.1775 = 0.31 of 0.1325: both get
    # 0.4274
    (elbow((10.0, 10.0), 0.15, friction=Friction(coulomb=9.95)), (0.15, 0.15), (0.0283, 0.0759)),
    # the full acceleration is reached in 50 ms
    (elbow((1e3, 1e3), 1.0), (1.0, 1.0), (20.0, 20.0))])
def test_velocities_and_accelerations_of_one_arm_by_hand(arm, velocities, accelerations):
    found = follow_limits(arm)
    assert [x.velocity for x in found] == pytest.approx(velocities, rel=2e-3)
    assert [x.acceleration for x in found] == pytest.approx(accelerations, rel=5e-3)
    assert [x.jerk for x in found] == pytest.approx(np.array(accelerations) / 0.05, rel=1e-2)


def test_an_arm_of_more_joints_than_a_board_has_memory_for_is_told_that_it_cannot_follow():
    few, many = planar_chain(MANY), planar_chain(MANY + 1)
    assert not unfollowed(few)
    with pytest.raises(Refused, match="more than 40 of its joints are driven"):
        follow_limits(many)
