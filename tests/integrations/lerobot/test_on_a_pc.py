"""LeRobot's robot on a PC as the board, in lock-step with an arm's virtual drives: one episode and its replay."""

import math

import numpy as np
import pytest

from femtorque import Board
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.verify.known_arms import ARMS
from tests.support.pc import stepped

FRAME = 1.0 / 30.0  # s


def episode(robot, actions):
    """Send an action a frame. Return the sent actions and the observations (N, J), deg."""
    sent, seen = [], []
    for action in actions:
        sent.append(robot.send_action(action))
        robot._following.wait(FRAME)
        seen.append(list(robot.get_observation().values()))
    return sent, np.array(seen)


@pytest.mark.assure
@pytest.mark.parametrize("name, first, second, most", [
    ("openarm", "joint_1", "joint_3", 0.3), ("so101", "shoulder_pan", "elbow_flex", math.degrees(17e-3))])
def test_an_episode_is_recorded_and_replayed(plugin, monkeypatch, name, first, second, most):
    """The arm follows two frames late, within a frame. most: resolution or play of the joints, deg."""
    file = ARMS / f"{name}.toml"
    arm = load_mechanism(file)
    with stepped(arm) as (board, session):
        Board(session, arm).home()
        monkeypatch.setattr(Board, "connect", lambda port, mechanism: Board(session, mechanism))
        monkeypatch.setattr(session, "close", lambda: None)
        robot = plugin.Femtorque(plugin.FemtorqueConfig(mechanism=str(file), port="any"))
        robot.connect()
        start = robot.get_observation()
        waves = [1.0 - math.cos(0.1 * min(k, 63)) for k in range(80)]  # at rest at the end
        led = [start | {f"{first}.pos": start[f"{first}.pos"] + 10.0 * w,
                        f"{second}.pos": start[f"{second}.pos"] - 5.0 * w} for w in waves]
        recorded, seen = episode(robot, led)
        _, again = episode(robot, recorded)
        moves = np.array([list(action.values()) for action in led])
        frame = np.abs(np.diff(moves, axis=0)).max(axis=0)
        for rows in (seen, again):
            assert np.all(np.abs(rows[2:] - moves[:-2]) < frame + most)
            np.testing.assert_allclose(rows[-1], moves[-1], atol=most)
        robot.disconnect()
        assert Board(session, arm).state == "HOLD"
