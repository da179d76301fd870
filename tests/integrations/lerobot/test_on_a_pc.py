"""LeRobot's robot on a PC as the board, in lock-step with the OpenArm's virtual drives: one episode and its replay."""

import math

import numpy as np
import pytest

from femtorque import Board
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.verify.known_arms import ARMS
from tests.support.pc import stepped

FRAME = 1.0 / 30.0  # s
MOST = 0.3  # deg: as in the bench of LeRobot's scripts


def episode(robot, actions):
    """Send an action a frame. Return the observations (N, J), deg."""
    seen = []
    for action in actions:
        robot.send_action(action)
        robot._following.wait(FRAME)
        seen.append(list(robot.get_observation().values()))
    return np.array(seen)


@pytest.mark.assure
def test_an_episode_is_recorded_and_replayed(plugin, monkeypatch):
    arm = load_mechanism(ARMS / "openarm.toml")
    with stepped(arm) as (board, session):
        Board(session, arm).home()
        monkeypatch.setattr(Board, "connect", lambda port, mechanism: Board(session, mechanism))
        monkeypatch.setattr(session, "close", lambda: None)
        robot = plugin.Femtorque(plugin.FemtorqueConfig(mechanism=str(ARMS / "openarm.toml"), port="any"))
        robot.connect()
        start = robot.get_observation()
        led = [start | {"joint_1.pos": start["joint_1.pos"] + 10.0 * (1.0 - math.cos(0.1 * min(k, 63))),
                        "joint_3.pos": start["joint_3.pos"] - 5.0 * (1.0 - math.cos(0.1 * min(k, 63)))}
               for k in range(80)]  # at rest at the end
        for seen in (episode(robot, led), episode(robot, led)):
            np.testing.assert_allclose(seen[-1], list(led[-1].values()), atol=MOST)
            np.testing.assert_allclose(np.ptp(seen[:, [0, 2]], axis=0), [20.0, 10.0], atol=MOST)
        robot.disconnect()
        assert Board(session, arm).state == "HOLD"
