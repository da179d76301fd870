"""Tests LeRobot's robot `femtorque` with the flash image. Time is the virtual board's time."""

import importlib
import math
from dataclasses import replace

import numpy as np
import pytest

from femtorque import BadInput, Board, Mechanism, Refused
from femtorque.codegen.mechanism import Safety
from femtorque.hil.plant.rigid import Plant
from tests.support import rig
from tests.support.suite import ROOT

ARM = ROOT / "mechanisms" / "three_link.toml"
FRAME = 1.0 / 30.0  # s
START = {"shoulder.pos": math.degrees(-0.8), "elbow.pos": math.degrees(0.5), "wrist.pos": math.degrees(0.4)}


@pytest.fixture
def chip(monkeypatch):
    """Yield the connected flash image with zeros. LeRobot's scripts leave it connected, so it holds its arm."""
    arm = replace(Mechanism.load(ARM), name="three-link-held", safety=Safety(host="hold"))
    with rig.connected(arm) as (chip, session):
        Board(session, arm).home()
        with monkeypatch.context() as patch:
            patch.setattr(Board, "connect", lambda port, mechanism: Board(session, mechanism))
            patch.setattr(session, "close", lambda: None)
            yield chip


@pytest.fixture
def board(chip):
    return Board.connect("any", Mechanism.load(ARM))


@pytest.fixture
def robot(plugin, board):
    robot = plugin.Femtorque(plugin.FemtorqueConfig(mechanism=str(ARM), port="any"))
    robot.connect()
    return robot


def wait(robot, seconds: float = FRAME) -> None:
    robot._following.wait(seconds)


def test_features_are_known_before_it_is_connected_and_have_the_joints_names(plugin):
    config = plugin.FemtorqueConfig(mechanism=str(ARM))
    robot = plugin.Femtorque(config)
    assert not robot.is_connected and robot.name == "femtorque"
    assert robot.action_features == robot.observation_features == dict.fromkeys(START, float)
    assert [f"{name}.pos" for name in robot.bus.motors] == list(robot.action_features)
    config.use_velocity_and_torque = True
    more = plugin.Femtorque(config).observation_features
    assert list(more)[3:] == [key.replace("pos", what) for what in ("vel", "torque") for key in START]
    leader = plugin.FemtorqueLeader(plugin.FemtorqueLeaderConfig(mechanism=str(ARM)))
    assert leader.action_features == robot.action_features and leader.feedback_features == {}


def test_nothing_is_sent_or_read_without_a_connection(plugin):
    robot = plugin.Femtorque(plugin.FemtorqueConfig(mechanism=str(ARM)))
    errors = importlib.import_module("lerobot.utils.errors")
    for call in (robot.get_observation, robot.disconnect, lambda: robot.send_action(START)):
        with pytest.raises(errors.DeviceNotConnectedError):
            call()


def test_actions_in_degrees_are_followed_within_the_delay(robot, board):
    assert robot.get_observation() == pytest.approx(START, abs=0.05)
    path = []
    for k in range(60):
        target = START | {"shoulder.pos": START["shoulder.pos"] + 20.0 * (1.0 - math.cos(0.1 * k))}
        assert robot.send_action(target) == pytest.approx(target, abs=1e-9)
        path.append(target["shoulder.pos"])
        wait(robot)
        seen = robot.get_observation()["shoulder.pos"]
        # the joint follows after two frames and 10 ms; a frame is at most 2 deg, and a STATUS up to 15 ms old
        if k > 10:
            assert seen == pytest.approx(np.interp(k + 1 - 2.3, np.arange(k + 1), path), abs=0.9)
    robot.disconnect()
    assert board.state == "HOLD"


def test_an_action_is_clipped_to_the_joints_ranges_and_what_it_leaves_out_stays(robot, board):
    upper = math.degrees(board.mechanism.streamed[1].limits.upper)
    assert robot.send_action({"elbow.pos": upper + 30.0}) == {"elbow.pos": pytest.approx(upper)}
    for _ in range(150):
        wait(robot)
        robot.send_action({"elbow.pos": upper + 30.0})
    seen = robot.get_observation()
    assert seen["elbow.pos"] == pytest.approx(upper, abs=0.1)
    assert seen["wrist.pos"] == pytest.approx(START["wrist.pos"], abs=0.1)


@pytest.mark.parametrize("key, value, rule", [
    ("elbow.pos", math.nan, "must be finite"), ("elbow.pos", math.inf, "must be finite"),
    ("elbwo.pos", 1.0, "no such joint")])
def test_a_value_that_is_no_target_is_refused_and_the_arm_is_held(robot, board, key, value, rule):
    with pytest.raises(BadInput, match=rule):
        robot.send_action({key: value})
    robot.disconnect()
    assert board.state == "HOLD" and robot.is_connected is False


def test_velocities_and_torques_come_when_they_are_asked_for(plugin, board):
    config = plugin.FemtorqueConfig(mechanism=str(ARM), use_velocity_and_torque=True)
    robot = plugin.Femtorque(config)
    robot.connect()
    for k in range(20):
        robot.send_action(START | {"wrist.pos": START["wrist.pos"] + k})
        wait(robot)
    seen = robot.get_observation()
    assert list(seen) == list(robot.observation_features)
    assert seen["wrist.vel"] == pytest.approx(30.0, abs=3.0), "a degree a frame, in degrees a second"
    held = board.mechanism.gravity_torque(np.radians([seen[key] for key in START]))
    assert seen["shoulder.torque"] == pytest.approx(held[0], abs=0.3)


def test_an_arm_whose_actions_stop_rests_and_goes_on_from_there(robot):
    robot.send_action(START | {"wrist.pos": START["wrist.pos"] + 3.0})
    wait(robot, 1.0)
    assert robot.get_observation()["wrist.pos"] == pytest.approx(START["wrist.pos"] + 3.0, abs=0.1)
    for _ in range(20):
        robot.send_action(START)
        wait(robot)
    assert robot.get_observation() == pytest.approx(START, abs=0.1)


def test_a_script_that_was_busy_for_longer_than_the_board_waits_goes_on(robot, chip, board):
    """A script that saves an episode, for example, can block the thread that keeps the connection alive."""
    robot.send_action(START | {"wrist.pos": START["wrist.pos"] + 3.0})
    chip.run(0.4)
    assert board.state == "HOLD" and "HOST_SILENT" in board.status.flags
    for _ in range(20):
        robot.send_action(START | {"wrist.pos": START["wrist.pos"] + 6.0})
        wait(robot)
    assert robot.get_observation()["wrist.pos"] == pytest.approx(START["wrist.pos"] + 6.0, abs=0.1)


def test_disconnecting_parks_where_that_is_asked_for_and_lets_go_there(plugin, board):
    config = plugin.FemtorqueConfig(mechanism=str(ARM), park={"wrist": 10.0})
    robot = plugin.Femtorque(config)
    robot.connect()
    begun = board.session.clock.now()
    robot.disconnect()
    assert board.state == "DISARMED"
    seen = np.degrees(board.positions)
    assert seen[2] == pytest.approx(10.0, abs=0.2) and seen[0] == pytest.approx(START["shoulder.pos"], abs=0.2)
    limit = math.degrees(board.mechanism.follow_limits()[2, 0])
    assert (START["wrist.pos"] - 10.0) / (board.session.clock.now() - begun) < 0.1 * limit, "slowly"


@pytest.mark.parametrize("park, rule", [({"elbwo": 9.0}, "elbwo.pos: no such joint"),
                                        ({"elbow": 150.0}, "elbow.pos = 150.*nearest is 149.0")])
def test_a_park_pose_that_is_none_is_refused_before_anything_moves(plugin, park, rule):
    with pytest.raises(BadInput, match="robot.park: " + rule):
        plugin.Femtorque(plugin.FemtorqueConfig(mechanism=str(ARM), park=park))
    plugin.Femtorque(plugin.FemtorqueConfig(mechanism=str(ARM), park={"elbow": 149.0}))


def test_a_fault_ends_the_script_by_its_name(robot, chip, board):
    robot.send_action(START)
    chip.power.estop(True)
    with pytest.raises(Refused, match="e-stop"):
        wait(robot)
    with pytest.raises(Refused, match="e-stop"):
        robot.send_action(START)
    with pytest.raises(Refused, match="e-stop"):
        robot.disconnect()
    assert not robot.is_connected and board.state == "ESTOP"


def test_an_arm_that_its_script_has_left_is_held_and_the_next_script_takes_it_over(robot, chip, board):
    for _ in range(10):
        robot.send_action(START | {"elbow.pos": 20.0})
        wait(robot)
    seen, run = [], chip.run
    chip.run = lambda seconds: (run(seconds), seen.append(bool(chip.driven())))
    robot.disconnect()
    chip.run(3.0)
    status = board.status
    assert (status.state, status.fault) == ("HELD", "HOST_LOST")
    held = status.positions
    np.testing.assert_allclose(np.degrees(held)[1], 20.0, atol=0.5)
    robot.connect()
    np.testing.assert_allclose(board.positions, held, atol=0.02)
    robot.send_action(START)
    wait(robot)
    assert board.state == "FOLLOW" and all(seen) and "OUTPUTS" in board.status.flags


def test_a_script_that_begins_while_a_killed_scripts_motion_still_runs_stops_it(robot, chip, board, plugin):
    robot.send_action(START | {"elbow.pos": 60.0})
    wait(robot, 0.15)
    assert abs(board.status.velocities[1]) > 0.1
    seen, run = [], chip.run_until
    chip.run_until = lambda until: (run(until), seen.append(bool(chip.driven())))
    second = plugin.Femtorque(robot.config)
    second.connect()
    rest = second.get_observation()
    wait(second, 0.5)
    assert board.state == "FOLLOW" and all(seen) and second.get_observation() == pytest.approx(rest, abs=0.1)


def test_a_gripper_goes_from_0_to_100(plugin):
    border = importlib.import_module("lerobot_robot_femtorque.border").Border
    arm = Mechanism.load(ROOT / "mechanisms" / "so101_sts.toml")
    known = border.of(arm, "gripper")
    lower, upper = (np.array([getattr(joint.limits, end) for joint in arm.streamed]) for end in ("lower", "upper"))
    assert (known.shown(lower)["gripper.pos"], known.shown(upper)["gripper.pos"]) == (0.0, pytest.approx(100.0))
    assert known.shown(upper)["elbow_flex.pos"] == pytest.approx(math.degrees(1.69))
    np.testing.assert_allclose(known.taken({"gripper.pos": 50.0})[-1], 0.5 * (lower[-1] + upper[-1]))
    assert border.of(arm, "").shown(upper)["gripper.pos"] == pytest.approx(math.degrees(upper[-1]))


def test_a_hand_is_followed_closer_than_by_a_follower_that_is_sent_positions_alone(robot, chip):
    """Usually PD control on the same arm holds each target until the next target arrives."""
    arm, t = Mechanism.load(ARM), np.arange(round(6.0 / FRAME)) * FRAME

    def hand(t):
        k = np.arange(1, 4)
        return np.radians(list(START.values())) + 0.3 / k * sum(
            np.sin(math.tau * hz * t[:, None] + 0.8 * k) - np.sin(0.8 * k) for hz in (0.2, 0.45)) * np.minimum(
                t[:, None], 1.0) ** 2

    ku, kv, effort = (np.array([value(joint) for joint in arm.streamed]) for value in (
        lambda j: j.gains.ku, lambda j: j.gains.kv, lambda j: j.limits.effort))
    stock, ours, theirs = Plant(arm), [], []
    for target in hand(t):
        ours.append(chip.plant.q.copy())
        theirs.append(stock.q.copy())
        robot.send_action(dict(zip(START, np.degrees(target), strict=True)))
        wait(robot)
        for _ in range(round(FRAME / 1e-3)):
            stock.push(FRAME / round(FRAME / 1e-3), np.clip(ku * (target - stock.q) - kv * stock.v, -effort, effort))

    def off(seen):
        """Return the rms (J,) of the distance to the hand's position, after removal of the best fixed delay."""
        rows = [np.array(seen)[60:] - hand(t - late)[60:] for late in np.arange(0.0, 0.3, 2e-3)]
        return np.sqrt(np.mean(min(rows, key=lambda row: float(np.sum(row**2))) ** 2, axis=0))

    print(f"rms beside the hand, mrad: {(1e3 * off(ours)).round(2)}, positions alone {(1e3 * off(theirs)).round(2)}")
    assert np.all(off(ours) < off(theirs) / 3.0)
