"""Tests an arm that follows keys, which move its tip, or another arm."""

import numpy as np
import pytest

from femtorque import Board, Mechanism
from femtorque.codegen.common import BadInput
from femtorque.host.live.jog import TipJog
from femtorque.host.live.teleop import Keys, Leading, jog_tip
from tests.support.rig import ROOT

DT = 0.01


def arm(name: str) -> Mechanism:
    return Mechanism.load(ROOT / "mechanisms" / f"{name}.toml")


def tip_of(mechanism: Mechanism, q) -> TipJog:
    return TipJog(mechanism, q, mechanism.moving[-1].child, [0.1, 0.0, 0.0])


def test_a_tip_goes_straight_as_fast_as_it_is_asked() -> None:
    tip = tip_of(arm("six_axis"), [0.2, 0.7, -0.9, 0.4, 0.8, -0.3])
    begin, velocity = tip.place, np.array([0.03, -0.02, 0.04])
    frame = tip.mechanism.forward_kinematics(tip.q, tip.link)[1]
    for _ in range(100):
        tip.move(velocity, DT)
    np.testing.assert_allclose(tip.place - begin, velocity, atol=1e-5)
    np.testing.assert_allclose(tip.mechanism.forward_kinematics(tip.q, tip.link)[1], frame, atol=1e-4)


def test_a_tip_turns_about_its_point() -> None:
    tip = tip_of(arm("six_axis"), [0.2, 0.7, -0.9, 0.4, 0.8, -0.3])
    begin, frame = tip.place, tip.mechanism.forward_kinematics(tip.q, tip.link)[1]
    for _ in range(50):
        tip.move(np.zeros(3), DT, turn=[0.0, 0.0, 0.4])
    turned = tip.mechanism.forward_kinematics(tip.q, tip.link)[1] @ frame.T
    np.testing.assert_allclose(tip.place, begin, atol=1e-5)
    np.testing.assert_allclose(np.arctan2(turned[1, 0], turned[0, 0]), 0.2, atol=2e-3)


@pytest.mark.parametrize("direction", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.2, 0.0]])
def test_out_of_a_stretched_pose_no_joint_runs_away(direction) -> None:
    mechanism = arm("three_link")
    most = mechanism.follow_limits()[:, 0]
    tip = tip_of(mechanism, [0.0, 0.0, 0.0])  # singular: the arm is straight
    for _ in range(300):
        before = tip.q.copy()
        q, v = tip.move(0.3 * np.array(direction), DT)
        assert np.all(np.isfinite(v)) and np.all(np.abs(v) <= most + 1e-12)
        assert np.all(np.abs(q - before) <= most * DT + 1e-12)


def test_no_joint_leaves_its_limits_and_the_others_go_on() -> None:
    mechanism = arm("six_axis")
    rng = np.random.default_rng(3)
    lower, upper = (np.array([getattr(j.limits, key) for j in mechanism.streamed]) for key in ("lower", "upper"))
    stopped = 0
    for _ in range(10):
        tip = tip_of(mechanism, rng.uniform(np.maximum(lower, -2.0), np.minimum(upper, 2.0)))
        way, turn = rng.uniform(-0.5, 0.5, (2, 3))
        for _ in range(300):
            q, v = tip.move(way, DT, turn)
            assert np.all((lower <= q) & (q <= upper)) and np.all(np.isfinite(v))
        stopped += bool(np.any((q <= lower) | (q >= upper) | (np.minimum(q - lower, upper - q) < 0.05)))
    assert stopped >= 3


def test_keys_move_the_tip_for_as_long_as_they_repeat_and_q_ends(fake) -> None:
    mechanism = arm("three_link")
    with Board.connect("any", mechanism) as board:
        board.home([0.3, 0.6, 0.5])
        tip = tip_of(mechanism, [0.3, 0.6, 0.5])
        begin, clock = tip.place, board.session.clock
        start = clock.now()

        def keys() -> str:
            t = clock.now() - start
            return "w" if t < 0.5 else "q" if t > 1.0 else ""

        with board.follow() as f:
            sent = jog_tip(f, tip, Keys(keys, 0.05), lambda: False)
    assert tip.place[0] - begin[0] == pytest.approx(0.05 * 0.65, abs=0.003) and abs(tip.place[1] - begin[1]) < 1e-3
    assert sent == pytest.approx(100, abs=3) and len(fake.targets) >= sent


def test_a_leader_is_carried_and_its_joints_lead_by_name_factor_and_offset(fake, monkeypatch) -> None:
    follower = arm("three_link")
    leading = Leading.of(follower, follower, {"elbow": -1.0}, {"wrist": 0.25}, {})
    found = leading.target(np.array([0.1, 0.2, 0.3]), np.zeros(3))
    assert found.tolist() == [0.1, -0.2, 0.55]
    other = Leading.of(follower, follower, {}, {}, {"shoulder": "wrist"})
    assert other.joints == (2, 1, 2)


@pytest.mark.parametrize("given, rule", [
    (({"elbwo": 1.0}, {}, {}), "did you mean 'elbow'"), (({}, {}, {"elbow": "elbwo"}), "of the leader"),
])
def test_joints_that_are_none_are_refused_by_name(given, rule) -> None:
    with pytest.raises(BadInput, match=rule):
        Leading.of(arm("three_link"), arm("three_link"), *given)
    with pytest.raises(BadInput, match="--lead FOLLOWER=LEADER"):
        Leading.of(arm("four_bar"), arm("three_link"), {}, {}, {})
