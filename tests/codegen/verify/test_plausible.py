"""Test that `femtorque check` warns about implausible values, and does not warn about values of real mechanisms."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.verify.check import examine
from femtorque.codegen.verify.plausible import doubts
from tests.codegen.mechanism.test_urdf import ROBOTS


def arm():
    return load_mechanism(MECHANISMS / "three_link.toml")


def changed(kind, number, **what):
    """Return the three-link arm with one link or joint changed."""
    mechanism = arm()
    items = list(getattr(mechanism, kind))
    items[number] = replace(items[number], **what)
    return replace(mechanism, **{kind: tuple(items)})


def limited(**limits):
    return changed("joints", 1, limits=replace(arm().joints[1].limits, **limits))


def driven(**motor):
    return changed("joints", 1, motor=replace(arm().joints[1].motor, **motor))


LINK, SECOND = arm().links[1], arm().joints[2]


@pytest.mark.parametrize("mechanism, line", [
    (changed("links", 1, mass=0.0, inertia=np.zeros((3, 3))),
     f"link.{LINK.name} has no mass and is 0.2 m long, from joint elbow"),
    (changed("joints", 2, xyz=1e3 * SECOND.xyz), "m from the ground along the links: are lengths in millimetres?"),
    (changed("links", 1, com=1e3 * LINK.com), f"link.{LINK.name}.com is 152.7 m from the link's frame"),
    (changed("links", 1, inertia=1e6 * LINK.inertia), "m wide: is the inertia in kg mm^2 or g mm^2?"),
    (changed("links", 1, mass=1e3 * LINK.mass), "than any metal: is the inertia made up, the mass in grams?"),
    (changed("links", 1, inertia=np.eye(3) * 1e-9), "than any metal"),
    (limited(effort=1000.0), "joint.elbow.limits.effort = 1000 looks like a placeholder"),
    (limited(velocity=1e9), "joint.elbow.limits.velocity = 1e+09 looks like a placeholder"),
    (limited(lower=-9999.0, upper=9999.0), "joint.elbow.limits.upper = 9999 looks like a placeholder"),
    (limited(lower=-90.0, upper=170.0),
     "joint.elbow.limits.upper = 170 looks like degrees: angles are in rad, and 170 degrees are 2.967"),
    (limited(upper=800.0), "joint.elbow.limits.upper = 800 is beyond 120 turns"),
    (driven(R=0.000295), "joint.elbow.motor: R = 0.000295 ohm: no brushed motor that is sold is like this"),
    (driven(K=9.0), "K = 9 N m/A"),
    (driven(gear=1e5), "gear = 100000"),
    (driven(inertia=2.0), "inertia = 2 kg m^2"),
    (replace(arm(), gravity=np.array([0.0, 0.0, 1.0])),
     "gravity = [0, 0, 1] is 1 m/s^2, and 9.81 on Earth: it is an acceleration, [0, 0, -9.81] where z points up"),
    (replace(arm(), gravity=np.array([0.0, 0.0, -9810.0])), "gravity = [0, 0, -9810] is 9.81e+03 m/s^2"),
])
def test_doubtful_values_are_reported_with_name_and_value(mechanism, line):
    said = doubts(mechanism)
    assert any(line in x for x in said), said


def test_check_reports_doubts_and_names_a_motor_of_the_catalogue():
    mechanism = limited(velocity=5.0, effort=0.9)
    joint = replace(mechanism.joints[1], motor=replace(mechanism.joints[1].motor, R=0.01, L=1e-5))
    said = examine(replace(mechanism, joints=(mechanism.joints[0], joint, mechanism.joints[2]))).warnings
    assert any("of `femtorque motors` gives 0.9 N m and 5 rad/s" in x for x in said), said


@pytest.mark.parametrize("path", sorted(MECHANISMS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_projects_mechanisms_are_not_doubted(path):
    assert not doubts(load_mechanism(path))


@pytest.mark.parametrize("robot, doubted", [
    ("ur5_robot", ""), ("panda", ""), ("kinova", ""), ("so101", ""), ("go2", ""), ("g1_29dof_with_hand_rev_1_0", ""),
    ("solo12", "limits.velocity = 1000 (and of 11 more joints)"), ("icub", "link.l_ankle_2: 0.2675 kg"),
    ("simple_humanoid", "link.RARM_LINK2: 0.6 kg with a largest moment of 1 kg m^2"),
])
def test_real_robots_are_doubted_where_their_files_are_made_up_and_nowhere_else(robot, doubted):
    said = doubts(load_mechanism(next(ROBOTS.rglob(f"{robot}.urdf"))))
    assert (any(doubted in x for x in said) if doubted else not said), said


@pytest.mark.parametrize("robot, line", [
    ("go2", "4 limbs hang on link 'base' and what is fixed to it (7.277 kg), which is the ground here"),
    ("pr2", "it follows r_gripper_l_finger_joint, and no position keeps the limits of both"),
])
def test_parts_left_out_of_a_urdf_are_reported(robot, line):
    said = load_mechanism(next(ROBOTS.rglob(f"{robot}.urdf"))).warnings
    assert any(line in x for x in said), said
