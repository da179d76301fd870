"""Limits of FOLLOW against torques that are computed in another way: random poses, signs and accelerations."""

from __future__ import annotations

import numpy as np
import pytest

from femtorque.codegen.common.errors import Refused
from femtorque.codegen.control.constants import follow_limits
from femtorque.codegen.control.follow import MANY, unfollowed
from femtorque.codegen.control.gains import sample_poses
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.model.bodies import Model
from femtorque.codegen.reference.rigid import newton_euler
from tests.conftest import ROOT
from tests.support.oracle import planar_chain

SLACK = 1.02  # three digits of each limit, and steps of 2 %


@pytest.mark.parametrize("name", ["three_link", "six_axis", "openarm_like", "so101_sts"])
def test_no_motion_within_the_limits_asks_more_of_a_joint_than_its_effort(name):
    mechanism = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    model, limits = Model.of(mechanism), follow_limits(mechanism)
    rng, poses = np.random.default_rng(3), sample_poses(model)
    top, most = np.array([x.velocity for x in limits]), np.array([x.acceleration for x in limits])
    rotors = np.array([body.joint.rotor for body in model.bodies])
    effort = np.array([joint.limits.effort for joint in mechanism.streamed])
    friction = np.array([joint.friction.coulomb for joint in mechanism.streamed])
    worst = np.zeros(len(top))
    for _ in range(300):
        v, a = (rng.choice([-1.0, 1.0], poses.shape) * x for x in (top, most))
        asked = np.abs(newton_euler(model, poses, v, a) + rotors * a) + friction
        worst = np.maximum(worst, asked.max(axis=0) / effort)
    print(f"{name}: largest share of each effort {np.round(worst, 2)}")
    assert worst.max() < SLACK
    assert worst.max() > 0.5  # and the limits are no smaller than they must be


def test_an_arm_of_more_joints_than_a_board_has_memory_for_is_told_that_it_cannot_follow():
    few, many = planar_chain(MANY), planar_chain(MANY + 1)
    assert not unfollowed(few)
    with pytest.raises(Refused, match="more than 40 of its joints are driven"):
        follow_limits(many)
