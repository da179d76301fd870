"""Tests the positions of joints that the board does not report, in loops (by circles) and coupled."""

import math

import numpy as np

from femtorque import Mechanism
from femtorque.host.ros.joints import Joints
from tests.support.mimic import gripper_in
from tests.support.suite import ROOT

ARM, ROD, BASE = 0.2, 0.26, 0.1  # lengths in mechanisms/five_bar.toml, m


def elbows(left: float, right: float) -> tuple[float, float]:
    """Return the five-bar's passive angles: the rods meet at the upper intersection of circles about the elbows."""
    a, b = (np.array([side * BASE + ARM * math.cos(q), ARM * math.sin(q)]) for side, q in ((-1, left), (1, right)))
    half = (b - a) / 2.0
    up = np.array([-half[1], half[0]]) / np.linalg.norm(half)
    tip = a + half + up * math.sqrt(ROD**2 - half @ half)
    turned = [math.atan2(*(tip - elbow)[::-1]) - q for elbow, q in ((a, left), (b, right))]
    return turned[0], turned[1]


def test_passive_joints_of_a_loop_are_where_the_rods_meet():
    joints = Joints(Mechanism.load(ROOT / "mechanisms" / "five_bar.toml"))
    assert joints.names == ["left", "left_elbow", "right", "right_elbow"]
    t, h = np.linspace(0.0, 1.0, 101), 1e-6
    motion = np.array([2.2, 0.94159265359]) + np.column_stack([0.3 * np.sin(2 * t), -0.2 * np.sin(3 * t)])
    speed = np.column_stack([0.6 * np.cos(2 * t), -0.6 * np.cos(3 * t)])
    for q, v in zip(motion, speed, strict=True):
        position, velocity = joints.at(q, v)
        before, after = elbows(*(q - h * v)), elbows(*(q + h * v))
        np.testing.assert_allclose(position[[0, 2]], q)
        np.testing.assert_allclose(position[[1, 3]], elbows(*q), atol=1e-9)
        np.testing.assert_allclose(velocity[[1, 3]], np.subtract(after, before) / (2 * h), atol=1e-3)
    np.testing.assert_allclose(joints.efforts(np.array([1.0, 2.0])), [1.0, 0.0, 2.0, 0.0])


def test_followers_are_where_their_leader_has_them(tmp_path):
    joints = Joints(gripper_in(tmp_path))
    position, velocity = joints.at(np.array([0.2, 0.5]), np.array([0.0, 2.0]))
    assert joints.names == ["shoulder", "grip", "other", "thumb"]
    np.testing.assert_allclose(position, [0.2, 0.5, -0.5, 0.03], atol=1e-12)
    np.testing.assert_allclose(velocity, [0.0, 2.0, -2.0, 0.08], atol=1e-9)
