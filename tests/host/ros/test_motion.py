"""Trajectories of ROS 2 as motions: through every point, smooth in between, refused with the code of the action."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from femtorque.host.ros.interfaces import message
from femtorque.host.ros.motion import INVALID_GOAL, INVALID_JOINTS, Invalid, read
from tests.support import rig

NAMES = ["shoulder", "elbow", "wrist"]
HERE = (np.zeros(3), np.zeros(3))


def trajectory(times, q, v=None, a=None, names=NAMES):
    points = []
    for k, t in enumerate(times):
        at = message("builtin_interfaces/msg/Duration", sec=int(t), nanosec=round(1e9 * (t % 1.0)))
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


@dataclass
class Bad:
    rule: str
    times: list = field(default_factory=lambda: [0.0, 1.0])
    q: list = field(default_factory=lambda: [[0.0] * 3, [0.1] * 3])
    v: list | None = None
    names: list = field(default_factory=lambda: NAMES)
    code: int = INVALID_GOAL


@pytest.mark.parametrize("bad", [
    Bad("the joints are shoulder, elbow, wrist", names=["shoulder", "elbow", "hand"], code=INVALID_JOINTS),
    Bad("the joints are", names=["shoulder", "elbow"], q=[[0.0] * 2, [0.1] * 2], code=INVALID_JOINTS),
    Bad("the joints are", names=["shoulder", "elbow", "elbow"], code=INVALID_JOINTS),
    Bad("0 points", times=[], q=[]), Bad("must increase", times=[0.0, 0.0]), Bad("must increase", times=[1.0, 0.5]),
    Bad("must increase", times=[0.0, 4000.0]), Bad("must be finite", q=[[0.0] * 3, [0.1, np.nan, 0.1]]),
    Bad("point 1: elbow at 9 is beyond its range", q=[[0.0] * 3, [0.1, 9.0, 0.1]]),
    Bad("every point must have a position", q=[[], []]), Bad("either every point", q=[[0.0] * 3, [0.1] * 2]),
    Bad("either every point", v=[[0.0] * 3, []]), Bad("must be at rest", v=[[0.0] * 3, [0.1, 0.0, 0.0]]),
], ids=lambda bad: bad.rule)
def test_others_are_refused_by_the_code_of_the_action(bad):
    with pytest.raises(Invalid, match=bad.rule) as refused:
        motion(bad.times, bad.q, bad.v, names=bad.names)
    assert refused.value.code == bad.code
