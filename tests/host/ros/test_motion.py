"""Tests that trajectories become smooth motions through every point, or are refused with the action's code."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from femtorque.codegen.mechanism import Limits
from femtorque.host.ros.interfaces import message
from femtorque.host.ros.motion import INVALID_GOAL, INVALID_JOINTS, Invalid, read
from tests.support import rig

NAMES = ["shoulder", "elbow", "wrist"]
HERE = (np.zeros(3), np.zeros(3))


def trajectory(times, q, v=None, a=None, names=NAMES):
    points = []
    for k, t in enumerate(times):
        at = message("builtin_interfaces/msg/Duration", sec=math.floor(t), nanosec=round(1e9 * (t % 1.0)))
        more = {name: np.array(rows[k], float) for name, rows in (("velocities", v), ("accelerations", a)) if rows}
        points.append(message("trajectory_msgs/msg/JointTrajectoryPoint", positions=np.array(q[k], float),
                              time_from_start=at, **more))
    return message("trajectory_msgs/msg/JointTrajectory", joint_names=list(names), points=points)


def motion(*args, here=HERE, **keys):
    return read(trajectory(*args, **keys), rig.three_link().streamed, here)


def test_a_cubic_and_a_quintic_are_themselves_again():
    t = np.array([0.0, 0.4, 1.0])
    for degree in (3, 5):
        c = np.array([0.1, 0.2, -0.3, 0.15, 0.05, -0.04])[:degree + 1]
        p = np.polynomial.Polynomial(c)
        s = lambda x, p=p: p(x) - p.deriv()(1.0) * x  # noqa: E731  at rest at 1 s
        ds = lambda x, p=p: p.deriv()(x) - p.deriv()(1.0)  # noqa: E731
        q, v, a = ([[f(x)] * 3 for x in t] for f in (s, ds, p.deriv(2)))
        found = motion(t, q, v, a if degree == 5 else None)
        for x in np.linspace(0.0, 0.999, 23):
            position, velocity = found.at(x)
            assert position == pytest.approx([s(x)] * 3, abs=1e-9) and velocity == pytest.approx([ds(x)] * 3, abs=1e-9)


def test_positions_alone_are_met_and_velocities_do_not_jump():
    q = [[0.0, 0.0, 0.0], [0.3, -0.2, 0.1], [0.2, 0.2, 0.4], [0.5, 0.1, 0.0]]
    found = motion([0.0, 0.5, 0.8, 2.0], q)
    for t, row in zip(found.times, q, strict=True):
        assert found.at(t)[0] == pytest.approx(row)
        assert found.at(t + 1e-7)[1] == pytest.approx(found.at(t - 1e-7)[1], abs=1e-4)
    assert np.all(found.at(0.0)[1] == 0.0) and np.all(found.at(2.0)[1] == 0.0)


def test_joints_may_stand_in_any_order():
    found = motion([0.0, 1.0], [[1.0, 2.0, 0.5], [1.0, 1.5, 0.5]], names=["wrist", "shoulder", "elbow"])
    assert found.at(0.0)[0].tolist() == [2.0, 0.5, 1.0]


def test_a_first_point_that_is_later_is_reached_from_where_the_joints_are_and_how_fast():
    here = (np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.0, 0.0]))
    found = motion([1.0], [[0.2, 0.2, 0.2]], here=here)
    assert found.at(0.0)[0] == pytest.approx(here[0]) and found.at(0.0)[1] == pytest.approx(here[1])
    assert found.at(1.0)[0] == pytest.approx([0.2, 0.2, 0.2]) and found.duration == 1.0


def test_joints_that_are_left_out_stay():
    """ros2_controllers, test_partial_joint_list."""
    here = (np.array([0.1, 0.2, 0.3]), np.zeros(3))
    found = motion([0.5, 1.0], [[0.5], [0.7]], names=["elbow"], here=here)
    assert found.at(0.5)[0] == pytest.approx([0.1, 0.5, 0.3]) and found.at(1.0)[0] == pytest.approx([0.1, 0.7, 0.3])


@pytest.mark.parametrize("here, q, end", [
    (6.5, [0.2168, 0.5], 6.783185), (6.5, [6.4, 6.6], 6.6), (0.0, [3.5], 3.5 - 2 * np.pi), (0.0, [np.pi, 3.0], 3.0),
    (0.0, [-np.pi], -np.pi), (-20.0, [0.0, 7.0], 7.0 - 6 * np.pi)])
def test_a_continuous_joint_turns_the_shorter_way(here, q, end):
    """ros2_controllers, wraparound_joint and its tests."""
    yaw = replace(rig.three_link().streamed[0], type="continuous", limits=Limits())
    found = read(trajectory(range(1, 1 + len(q)), [[x] for x in q], names=["shoulder"]), [yaw],
                 (np.array([here]), np.zeros(1)))
    assert found.positions[-1] == pytest.approx([end], abs=1e-4)
    assert abs(found.positions[1, 0] - here) <= np.pi + 1e-9
    assert np.diff(found.positions[1:, 0]) == pytest.approx(np.diff(q))


def test_a_point_that_is_said_twice_counts_once():
    found = motion([0.0, 1.0, 1.0], [[0.0] * 3, [0.1] * 3, [0.1] * 3])
    assert found.times.tolist() == [0.0, 1.0] and found.next_point(0.5) == 1


def test_points_without_velocities_among_others_get_smooth_ones():
    """ros2_controllers also accepts these points (validate_trajectory_point_field, allow_empty)."""
    found = motion([0.0, 1.0, 2.0], [[0.0] * 3, [0.1] * 3, [0.2] * 3], [[0.0] * 3, [], [1e-8] * 3], [[1.0] * 3, [], []])
    assert found.velocities[1] == pytest.approx([0.1] * 3) and found.accelerations is None


def test_efforts_are_refused_as_there_is_no_such_interface():
    told = trajectory([1.0], [[0.1] * 3])
    told.points[0].effort = np.zeros(3)
    with pytest.raises(Invalid, match="the board computes it"):
        read(told, rig.three_link().streamed, HERE)


def test_a_motion_that_begins_later_goes_there_until_then():
    """ros2_controllers, test_execute_partial_traj_in_future."""
    found = read(trajectory([0.0, 1.0], [[0.2] * 3, [0.3] * 3]), rig.three_link().streamed, HERE, wait=2.0)
    assert found.at(-2.0)[0] == pytest.approx([0.0] * 3) and found.at(0.0)[0] == pytest.approx([0.2] * 3)
    assert found.at(-1.0)[0] == pytest.approx([0.1] * 3, abs=0.03) and found.duration == 1.0


@dataclass
class Bad:
    rule: str
    times: list = field(default_factory=lambda: [0.0, 1.0])
    q: list = field(default_factory=lambda: [[0.0] * 3, [0.1] * 3])
    v: list | None = None
    a: list | None = None
    names: list = field(default_factory=lambda: NAMES)
    code: int = INVALID_GOAL


@pytest.mark.parametrize("bad", [
    Bad("the joints are shoulder, elbow, wrist", names=["shoulder", "elbow", "hand"], code=INVALID_JOINTS),
    Bad("the joints are", names=["shoulder", "elbow", "elbow"], code=INVALID_JOINTS),
    Bad("not none", names=[], q=[[], []], code=INVALID_JOINTS),
    Bad("0 points", times=[], q=[]), Bad("point 1: time_from_start must increase", times=[0.0, 0.0]),
    Bad("point 1: .* is 0.5 s after 1 s", times=[1.0, 0.5]), Bad("point 0: .* below 0", times=[-1.0, 0.5]),
    Bad("more than 3600", times=[0.0, 4000.0]),
    Bad("point 1: positions must be finite", q=[[0.0] * 3, [0.1, np.nan, 0.1]]),
    Bad("point 0: velocities must be finite, and at most 1e.09", v=[[1e10, 0.0, 0.0], [0.0] * 3]),
    Bad("point 1 has 2 accelerations", v=[[0.0] * 3] * 2, a=[[0.0] * 3, [0.0] * 2]),
    Bad("point 1: elbow at 9 is beyond its range", q=[[0.0] * 3, [0.1, 9.0, 0.1]]),
    Bad("point 0 has 0 positions for 3 joints", q=[[], []]), Bad("point 1 has 2 positions", q=[[0.0] * 3, [0.1] * 2]),
    Bad("point 1 has 2 velocities", v=[[0.0] * 3, [0.0] * 2]),
    Bad("the last point, 1, must be at rest", v=[[0.0] * 3, [0.1, 0.0, 0.0]]),
], ids=lambda bad: bad.rule)
def test_others_are_refused_by_the_code_of_the_action(bad):
    with pytest.raises(Invalid, match=bad.rule) as refused:
        motion(bad.times, bad.q, bad.v, bad.a, names=bad.names)
    assert refused.value.code == bad.code
