"""Tests a board as a ROS 2 node: topics, services, actions. The flash image runs in simulated time."""

import re
import uuid
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest

from femtorque import Board, Mechanism
from femtorque.host.ros import controller, interfaces
from femtorque.host.ros.arm import Arm
from femtorque.host.ros.goals import ABORTED, CANCELED, SUCCEEDED, stamp
from femtorque.host.ros.interfaces import message, packed, unpacked
from tests.host.ros.test_motion import NAMES, trajectory
from tests.support import rig
from tests.support.suite import ROOT

ACTION = "/arm_controller/follow_joint_trajectory/_action/"
GRIP = "/wrist_controller/gripper_cmd/_action/"
START = np.array([-0.8, 0.5, 0.4])


class Ether:
    """A stand-in for the zenoh node. Messages are stored as bytes, by topic."""

    name, refused, why = "femtorque", 0, ""

    def __init__(self) -> None:
        self.published, self.taken, self.services, self.latched = {}, {}, {}, set()

    def publisher(self, topic, kind, latched=False):
        self.published[topic] = []
        self.latched |= {topic} if latched else set()
        ether = self

        class Publisher:
            def publish(self, value):
                ether.published[topic].append(unpacked(kind, packed(kind, value)))

        return Publisher()

    def subscribe(self, topic, kind, take):
        self.taken[topic] = lambda value: take(unpacked(kind, packed(kind, value)))

    def serve(self, name, kind, answer):
        self.services[name] = (kind, answer)

    def handle(self):
        """Do nothing, because no message is waiting."""

    def ask(self, name, **request):
        """Call a service. Returns a list to which the response is appended, now or later."""
        kind, answer = self.services[name]
        told = []
        data = packed(f"{kind}_Request", message(f"{kind}_Request", **request))
        answer(unpacked(f"{kind}_Request", data), lambda response: told.append(
            unpacked(f"{kind}_Response", packed(f"{kind}_Response", response))))
        return told


class Ros:
    """An arm with its ether."""

    def __init__(self, chip, session, arm, gripper) -> None:
        self.chip, self.session, self.lines = chip, session, []
        self.ether = Ether()
        self.arm = Arm(Board(session, arm), self.ether, "arm_controller", self.lines.append, gripper)

    def run(self, seconds, each=lambda: None):
        """Run the node's rounds for some seconds of the chip's time."""
        end = self.session.clock.now() + seconds
        while self.session.clock.now() < end:
            self.arm.step()
            each()
            self.session.clock.sleep(0.002)

    def send(self, told, **more):
        """Send a goal. Returns the goal's number, and a list to which the result is appended."""
        return self.ask(ACTION, message(interfaces.GOAL, trajectory=told, **more))

    def ask(self, action, goal):
        number = message("unique_identifier_msgs/msg/UUID", uuid=np.frombuffer(uuid.uuid4().bytes, np.uint8))
        (response,) = self.ether.ask(action + "send_goal", goal_id=number, goal=goal)
        assert response.accepted
        return number, self.ether.ask(action + "get_result", goal_id=number)

    def grip(self, position):
        """Send a goal to the gripper's action."""
        command = message("control_msgs/msg/GripperCommand", position=position, max_effort=1.0)
        return self.ask(GRIP, message(f"{interfaces.GRIP}_Goal", command=command))

    @property
    def positions(self):
        return self.session.positions()


@pytest.fixture(params=[""])
def ros(request):
    arm = Mechanism.load(ROOT / "mechanisms" / "three_link.toml")
    with rig.connected(arm) as (chip, session):
        chip.brakes = True
        made = Ros(chip, session, arm, request.param)
        for name in ("home", "arm"):
            (response,) = made.ether.ask(f"/femtorque/{name}")
            assert response.success, response.message
        yield made
        made.arm.close()


def way(*rows, seconds=1.0):
    """Return a trajectory of poses, given relative to the start pose, without velocities."""
    return trajectory([seconds * (k + 1) for k in range(len(rows))], [START + np.array(row) for row in rows])


def tolerance(**rows):
    return [message("control_msgs/msg/JointTolerance", name=name, position=value) for name, value in rows.items()]


def test_the_arm_is_described_once_for_those_who_come_later(ros):
    (description,) = ros.ether.published["/robot_description"]
    assert "/robot_description" in ros.ether.latched
    joints = {joint.get("name") for joint in ET.fromstring(description.data).iter("joint")}
    assert set(NAMES) <= joints


def test_joint_states_come_a_hundred_times_a_second_with_efforts(ros):
    ros.ether.published["/joint_states"].clear()
    ros.run(0.5)
    states = ros.ether.published["/joint_states"]
    assert 45 <= len(states) <= 51 and states[-1].name == NAMES
    np.testing.assert_allclose(states[-1].position, START, atol=2e-3)
    held = ros.arm.board.mechanism.gravity_torque(START)
    np.testing.assert_allclose(states[-1].effort, held, atol=0.3)
    assert states[-1].header.stamp.sec > 1.7e9


def test_a_goal_is_followed_to_its_end_with_feedback(ros):
    _, result = ros.send(way([0.2, -0.1, 0.1], [0.4, -0.3, 0.3]))
    ros.run(2.3)
    (done,) = result
    assert (done.status, done.result.error_code, done.result.error_string) == (SUCCEEDED, 0, "")
    np.testing.assert_allclose(ros.positions, START + [0.4, -0.3, 0.3], atol=2e-3)
    feedback = [told.feedback for told in ros.ether.published[ACTION + "feedback"]]
    assert 35 <= len(feedback) <= 45 and feedback[0].joint_names == NAMES
    for told in feedback:
        np.testing.assert_allclose(told.error.positions, 0.0, atol=5e-3)
        np.testing.assert_allclose(told.actual.positions, told.desired.positions, atol=0.02)
    statuses = [[one.status for one in told.status_list] for told in ros.ether.published[ACTION + "status"]]
    assert statuses == [[2], [4]] and ACTION + "status" in ros.ether.latched


def test_the_arm_is_where_the_trajectory_is_all_the_way(ros):
    """The trajectory has velocities. The test uses the board's time. A STATUS may be up to 15 ms old."""
    t = np.linspace(0.0, 2.0, 21)
    s, ds = 0.5 - 0.5 * np.cos(np.pi * t / 2.0), 0.25 * np.pi * np.sin(np.pi * t / 2.0)
    q, v = START + 0.5 * s[:, None], 0.5 * ds[:, None] * np.ones(3)
    v[-1] = 0.0
    _, result = ros.send(trajectory(t, q.tolist(), v.tolist()))
    began, off = ros.session.clock.now(), []

    def compare():
        now = ros.session.clock.now() - began
        if 0.1 < now < 2.0:
            wanted = START + 0.5 * (0.5 - 0.5 * np.cos(np.pi * now / 2.0))
            off.append(np.max(np.abs(ros.positions - wanted)))

    ros.run(2.3, compare)
    assert result[0].status == SUCCEEDED and max(off) < 0.4 * 0.015 + 2e-3


def test_a_goal_is_cancelled_half_way_and_the_arm_is_held(ros):
    number, result = ros.send(way([0.8, 0.0, 0.0], seconds=2.0))
    ros.run(1.0)
    (response,) = ros.ether.ask(ACTION + "cancel_goal", goal_info=message("action_msgs/msg/GoalInfo", goal_id=number))
    assert response.return_code == 0 and bytes(response.goals_canceling[0].goal_id.uuid) == bytes(number.uuid)
    assert result[0].status == CANCELED
    ros.run(0.5)
    held = ros.positions
    assert ros.session.in_state("HOLD") and 0.2 < held[0] - START[0] < 0.6
    ros.run(0.3)
    np.testing.assert_allclose(ros.positions, held, atol=1e-3)
    (again,) = ros.ether.ask(ACTION + "cancel_goal", goal_info=message("action_msgs/msg/GoalInfo", goal_id=number))
    assert again.return_code == 3
    _, result = ros.send(way([0.0, 0.0, 0.0]))
    ros.run(1.4)
    assert result[0].status == SUCCEEDED, "and goes on afterwards"


def test_goals_are_cancelled_by_number_by_the_time_of_their_acceptance_or_all(ros):
    """rcl_action_process_cancel_request, and action_msgs/srv/CancelGoal."""
    def cancel(seconds, **more):
        info = message("action_msgs/msg/GoalInfo", stamp=stamp(seconds * 10**9), **more)
        (response,) = ros.ether.ask(ACTION + "cancel_goal", goal_info=info)
        return response.return_code, len(response.goals_canceling)

    assert cancel(0) == (0, 0)
    first, _ = ros.send(way([0.4, 0.0, 0.0]))
    other = message("unique_identifier_msgs/msg/UUID", uuid=np.arange(16, dtype=np.uint8))
    assert [cancel(1), cancel(0, goal_id=other), cancel(1, goal_id=other)] == [(0, 0), (2, 0), (0, 0)]
    assert [cancel(1, goal_id=first), cancel(0, goal_id=first)] == [(0, 1), (3, 0)]
    for seconds, more in ((0, {}), (2 * 10**9, {}), (2 * 10**9, {"goal_id": first})):
        ros.send(way([0.0, 0.0, 0.0]))
        assert cancel(seconds, **more) == (0, 1)


def test_a_goal_that_comes_while_a_cancelled_one_brakes_waits_for_it(ros):
    number, _ = ros.send(way([0.8, 0.0, 0.0], seconds=1.0))
    ros.run(0.5)
    ros.ether.ask(ACTION + "cancel_goal", goal_info=message("action_msgs/msg/GoalInfo", goal_id=number))
    assert ros.session.in_state("FOLLOW")
    _, result = ros.send(way([0.0, 0.0, 0.0]))
    ros.run(1.4)
    assert result[0].status == SUCCEEDED


def test_a_path_tolerance_that_is_violated_ends_the_goal_by_joint_and_size(ros):
    """The goal requires more velocity than the joint's limit, so the joint lags behind."""
    _, result = ros.send(way([0.8, 0.0, 0.0], seconds=0.1), path_tolerance=tolerance(shoulder=0.05))
    ros.run(0.6)
    (done,) = result
    assert (done.status, done.result.error_code) == (ABORTED, -4) and "shoulder is 0." in done.result.error_string
    assert done.result.error_string.endswith("more than 0.05, as the board keeps its velocity limit")
    assert ros.session.in_state("HOLD")
    for seconds in (0.0, 0.02):
        _, result = ros.send(way([0.8, 0.0, 0.0], seconds=seconds), path_tolerance=tolerance(shoulder=0.05))
        ros.run(0.3)
        assert result[0].result.error_code == -4, "ros2_controllers, test_no_time_from_start_state_tolerance_fail"


def test_velocities_beyond_a_limit_are_taken_and_the_board_keeps_the_limit(ros):
    """joint_trajectory_controller does not check velocity limits either. A push by hand is no acting limit."""
    limit = ros.arm.board.mechanism.follow_limits()[0, 0]
    told = way([0.3, 0.0, 0.0], [0.6, 0.0, 0.0], seconds=0.3)
    told.points[0].velocities, told.points[1].velocities = np.array([3.0 * limit, 0.0, 0.0]), np.zeros(3)
    _, result = ros.send(told)
    speeds = []
    ros.run(2.0, lambda: speeds.append(ros.session.status.target_rate[0]))
    assert result[0].status == SUCCEEDED and np.max(np.abs(speeds)) < 1.01 * limit
    assert ros.arm._kept.tolist() == [1, 0, 0]
    ros.chip.plant.hand = lambda plant: np.array([2.0, 0.0, 0.0])
    _, result = ros.send(way([0.5, 0.0, 0.0]), path_tolerance=tolerance(shoulder=1e-6))
    ros.run(0.3)
    assert result[0].status == ABORTED and "velocity" not in result[0].result.error_string


def test_a_goal_tolerance_that_is_violated_ends_the_goal_after_its_time(ros):
    ros.chip.plant.hand = lambda plant: np.array([0.4, 0.0, 0.0])
    grace = message("builtin_interfaces/msg/Duration", nanosec=200_000_000)
    _, result = ros.send(way([0.1, 0.0, 0.0], seconds=0.5), goal_tolerance=tolerance(shoulder=1e-5),
                         goal_time_tolerance=grace)
    ros.run(1.0)
    (done,) = result
    assert (done.status, done.result.error_code) == (ABORTED, -5) and "off its goal" in done.result.error_string


def test_a_path_tolerance_ends_with_the_path_where_the_tolerance_of_the_goal_begins(ros):
    """joint_trajectory_controller, update: before_last_point."""
    off, pushed = [], 1.0
    ros.chip.plant.hand = lambda plant: np.array([-pushed, 0.0, 0.0])
    _, result = ros.send(way([0.1, 0.0, 0.0], seconds=0.5), path_tolerance=tolerance(shoulder=0.035),
                         goal_tolerance=tolerance(shoulder=0.01))
    ros.run(0.7)
    pushed = 1.5
    ros.run(0.2, lambda: off.append(START[0] + 0.1 - ros.positions[0]))
    assert result == [] and max(off) > 0.035
    pushed = 0.0
    ros.run(0.5)
    assert result[0].status == SUCCEEDED


def test_a_new_goal_takes_over_from_the_old_one_without_a_jump(ros):
    _, first = ros.send(way([0.6, 0.0, 0.0], seconds=1.5))
    ros.run(0.7)
    _, second = ros.send(way([0.0, 0.0, 0.0], seconds=1.5))
    speeds = []
    ros.run(1.9, lambda: speeds.append(ros.session.status.target_rate[0]))
    assert first[0].status == CANCELED and second[0].status == SUCCEEDED
    limit = ros.arm.board.mechanism.follow_limits()[0, 1]
    assert np.max(np.abs(np.diff(speeds))) < limit * 0.012 + 1e-3


@pytest.mark.parametrize("told, stamp, code, words", [
    (trajectory([1.0], [[9.0, 0.0, 0.0]]), 0, -1, "beyond its range"),
    (trajectory([1.0], [[0.0, 0.0]], names=["elbow", "hand"]), 0, -2, "the joints are"),
    (trajectory([1.0], [START]), 1000, -3, "ended .* s before it came"),
    (trajectory([1.0], [START]), 2**31 - 1, -1, "begins in .* s, more than 3600 s: do the clocks agree?"),
])
def test_a_goal_that_cannot_be_is_aborted_with_its_reason(ros, told, stamp, code, words):
    told.header.stamp.sec = stamp
    _, result = ros.send(told)
    assert (result[0].status, result[0].result.error_code) == (ABORTED, code)
    assert re.search(words, result[0].result.error_string) and ros.session.in_state("HOLD")


def test_a_goal_that_runs_is_not_forgotten_whatever_is_asked_for(ros):
    number, result = ros.send(way([0.4, 0.0, 0.0]))
    for _ in range(120):
        last, _ = ros.send(trajectory([1.0], [[0.0]], names=["hand"]))
    (again,) = ros.ether.ask(ACTION + "get_result", goal_id=last)
    assert again.status == ABORTED and result == [] and len(ros.arm.controllers[0]._follows._goals) == 102
    (response,) = ros.ether.ask(ACTION + "cancel_goal", goal_info=message("action_msgs/msg/GoalInfo", goal_id=number))
    assert response.return_code == 0 and result[0].status == CANCELED


def test_a_trajectory_that_began_already_is_played_from_where_it_is_now(ros, monkeypatch):
    """ros2_controllers, test_ignore_partial_old_trajectory."""
    monkeypatch.setattr(controller, "time", SimpleNamespace(time=lambda: 1e9 + 0.7))
    told = way([0.2, 0.0, 0.0], [0.2, 0.2, 0.0], seconds=0.5)
    told.header.stamp.sec = 10**9
    _, result = ros.send(told)
    ros.run(0.36)
    assert result == []
    ros.run(0.1)
    assert result[0].status == SUCCEEDED
    np.testing.assert_allclose(ros.positions, START + [0.2, 0.2, 0.0], atol=2e-3)


def test_a_tolerance_of_velocity_is_kept_and_a_negative_one_refused_but_for_none(ros):
    slow = message("control_msgs/msg/JointTolerance", name="shoulder", velocity=1e-9)
    _, result = ros.send(way([0.4, 0.0, 0.0]), path_tolerance=[slow])
    ros.run(0.2)
    assert result[0].result.error_code == -4 and "off its path in velocity" in result[0].result.error_string
    _, result = ros.send(way([0.0, 0.0, 0.0]), path_tolerance=tolerance(elbow=-0.5))
    assert result[0].result.error_code == -1 and "a tolerance of elbow is -0.5" in result[0].result.error_string
    none = message("builtin_interfaces/msg/Duration", sec=-1)
    _, result = ros.send(way([0.0, 0.0, 0.0]), goal_tolerance=tolerance(elbow=-1.0 + 1e-8), goal_time_tolerance=none)
    ros.run(1.4)
    assert result[0].status == SUCCEEDED


def test_a_home_that_would_shift_zeros_is_refused_by_what_ros_has(ros):
    _, result = ros.send(way([0.2, 0.0, 0.0]))
    ros.run(1.3)
    (response,) = ros.ether.ask("/femtorque/home")
    assert not response.success and "/femtorque/arm arms" in response.message and "--" not in response.message


def test_an_arm_without_zeros_is_refused_by_what_ros_has():
    arm = Mechanism.load(ROOT / "mechanisms" / "three_link.toml")
    with rig.connected(arm) as (chip, session):
        (response,) = Ros(chip, session, arm, "").ether.ask("/femtorque/arm")
    assert not response.success and "/femtorque/home homes them" in response.message and "--" not in response.message


def test_a_goal_needs_an_arm_that_is_held(ros):
    assert ros.ether.ask("/femtorque/disarm")[0].success and ros.session.in_state("DISARMED")
    _, result = ros.send(way([0.1, 0.0, 0.0]))
    assert result[0].result.error_code == -1 and "/femtorque/arm arms it" in result[0].result.error_string


def test_a_fault_ends_the_goal_and_is_named_in_diagnostics_and_cleared_by_the_service(ros):
    _, result = ros.send(way([0.4, 0.0, 0.0]))
    ros.run(0.3)
    ros.chip.encoder_faults[0].frozen = int(ros.chip.plant.counts()[0])
    ros.run(1.0)
    (done,) = result
    assert done.status == ABORTED and "fault" in done.result.error_string
    told = ros.ether.published["/diagnostics"][-1].status[0]
    values = {row.key: row.value for row in told.values}
    assert int(told.level) == 2 and values["state"] == "FAULT" and values["joint"] == "shoulder"
    assert values["fault"] in ("ENCODER_STUCK", "FOLLOWING", "ENCODER") and values["fault"] in told.message
    refused = ros.ether.ask("/femtorque/arm")[0]
    assert not refused.success and "fault" in refused.message
    _, result = ros.send(way([0.1, 0.0, 0.0]))
    assert result[0].result.error_string.endswith("; the services /femtorque/clear and /femtorque/arm arm it")
    ros.chip.encoder_faults[0].frozen = None
    assert ros.ether.ask("/femtorque/clear")[0].success and ros.session.in_state("DISARMED")


def test_a_held_arm_is_not_said_to_be_cleared(ros, monkeypatch):
    monkeypatch.setattr(ros.session, "in_state", lambda *states: "HELD" in states)
    (refused,) = ros.ether.ask("/femtorque/clear")
    assert not refused.success and refused.message.endswith("; the service /femtorque/arm takes the arm over")
    _, result = ros.send(way([0.1, 0.0, 0.0]))
    assert result[0].result.error_string.startswith("the arm is not armed: ")
    monkeypatch.undo()


def test_the_topics_points_are_followed_live_and_the_arm_rests_after_the_last(ros):
    """MoveIt Servo sends one point, due after its publish_period."""
    take = ros.ether.taken["/arm_controller/joint_trajectory"]
    for k in range(30):
        take(trajectory([0.034], [START + [0.01 * k, 0.0, 0.0]], v=[[0.3, 0.0, 0.0]]))
        ros.run(0.034)
    assert ros.session.in_state("FOLLOW")
    ros.run(0.25)
    np.testing.assert_allclose(ros.positions, START + [0.29, 0.0, 0.0], atol=2e-3)
    assert np.all(np.abs(ros.session.status.target_rate) < 1e-3)
    take(trajectory([0.034], [START + [0.28, 0.0, 0.0]]))
    ros.run(0.4)
    np.testing.assert_allclose(ros.positions, START + [0.28, 0.0, 0.0], atol=2e-3)
    for _ in range(40):
        take(trajectory([0.034], [[9.0, 0.0, 0.0]]))
        ros.run(0.034)
    assert len(ros.lines) == 2 and "beyond its range" in ros.lines[-1], "the same line once a second"
    old = trajectory([0.034], [START])
    old.header.stamp.sec = 1000
    take(old)
    assert "s before it came" in ros.lines[-1]


def test_windows_of_points_with_speeds_at_their_ends_are_followed_as_one_motion(ros, monkeypatch):
    """MoveIt Servo since Jazzy sends the last commands again with each new command. The first one is in the past."""
    take, rate, ahead = ros.ether.taken["/arm_controller/joint_trajectory"], 0.3, 0.1
    off = []
    monkeypatch.setattr(controller, "time", SimpleNamespace(time=lambda: 1e9 + 0.02 * k))
    for k in range(1, 46):
        told = [0.02 * i for i in range(max(0, k - 10), k)]  # times of the commands in this window
        window = trajectory([t - told[0] for t in told], [START + [rate * t, 0.0, 0.0] for t in told],
                            v=[[rate, 0.0, 0.0]] * len(told))
        window.header.stamp = stamp(10**18 + round(1e9 * (told[0] + ahead)))
        take(window)
        ros.run(0.02)
        off.append(ros.session.status.target_rate[0] - rate)
    assert ros.lines == [] and np.max(np.abs(off[15:])) < 0.02
    ros.run(0.4)
    np.testing.assert_allclose(ros.positions, START + [rate * told[-1], 0.0, 0.0], atol=2e-3)
    _, result = ros.send(window)
    assert "must be at rest" in result[0].result.error_string, "a goal's, as by default in ros2_control"


def test_positions_of_the_topic_system_of_ros2_control_are_followed_live_where_the_arm_is_held(ros):
    take = ros.ether.taken["/femtorque/joint_commands"]
    for k in range(80):  # targets at 100 Hz, like ros2_control: also at rest, and with the joints in any order
        command = START + [0.002 * min(k, 50), 0.0, 0.0]
        take(message("sensor_msgs/msg/JointState", name=list(reversed(NAMES)), position=command[::-1]))
        ros.run(0.01)
    assert ros.session.in_state("FOLLOW")
    np.testing.assert_allclose(ros.positions, START + [0.1, 0.0, 0.0], atol=1e-3)
    take(message("sensor_msgs/msg/JointState", name=NAMES, position=np.full(3, np.nan)))
    assert ros.ether.ask("/femtorque/disarm")[0].success
    take(message("sensor_msgs/msg/JointState", name=NAMES, position=START))
    ros.run(0.1)
    assert ros.session.in_state("DISARMED") and ros.lines == []


def test_a_chunk_of_the_topic_replaces_the_one_before(ros):
    take = ros.ether.taken["/arm_controller/joint_trajectory"]
    t = 0.1 * np.arange(1, 16)
    take(trajectory(t, [START + [0.2 * x, 0.0, 0.0] for x in t]))
    ros.run(0.5)
    there = ros.session.held()
    take(trajectory(t, [there + [0.0, 0.1 * x, 0.0] for x in t]))
    ros.run(1.9)
    np.testing.assert_allclose(ros.positions, there + [0.0, 0.15, 0.0], atol=2e-3)
    assert ros.lines == []


gripping = pytest.mark.parametrize("ros", ["wrist"], indirect=True)


@gripping
def test_arm_and_gripper_move_at_the_same_time_each_by_its_controller(ros):
    _, arm = ros.send(trajectory([1.0, 2.0], [START[:2], START[:2] + [0.3, -0.2]], names=NAMES[:2]))
    ros.run(0.7)
    _, gripper = ros.grip(START[2] + 0.3)
    ros.run(0.8)
    (done,) = gripper
    assert (done.status, done.result.reached_goal, done.result.stalled) == (SUCCEEDED, True, False) and arm == []
    assert ros.ether.published[GRIP + "feedback"][0].feedback.position == pytest.approx(START[2], abs=0.02)
    ros.run(0.9)
    assert arm[0].status == SUCCEEDED
    np.testing.assert_allclose(ros.positions, START + [0.3, -0.2, 0.3], atol=2e-3)
    _, refused = ros.send(trajectory([1.0], [START]))
    assert refused[0].result.error_code == -2, "the gripper is another controller's"
    _, second = ros.ask("/wrist_controller/follow_joint_trajectory/_action/", message(
        interfaces.GOAL, trajectory=trajectory([0.5], [[START[2]]], names=NAMES[2:])))
    ros.run(0.8)
    assert second[0].status == SUCCEEDED
    np.testing.assert_allclose(ros.positions, START + [0.3, -0.2, 0.0], atol=2e-3)


@gripping
def test_a_gripper_that_stalls_is_said_to_and_one_that_is_told_elsewhere_is_cancelled(ros):
    _, first = ros.grip(START[2] + 0.8)
    ros.run(0.1)
    ros.chip.plant.hand = lambda plant: np.array([0.0, 0.0, -30.0 * (plant.q[2] - START[2] - 0.1)
                                                  if plant.q[2] > START[2] + 0.1 else 0.0])
    _, second = ros.grip(START[2] + 0.15)
    assert (first[0].status, first[0].result.reached_goal) == (CANCELED, False)
    ros.run(2.0)
    _, refused = ros.grip(9.0)
    assert refused[0].status == ABORTED and ros.lines == [
        "/wrist_controller/gripper_cmd: point 0: wrist at 9 is beyond its range, -2.6 to 2.6"]
    (done,) = second
    assert (done.status, done.result.stalled, done.result.reached_goal) == (ABORTED, True, False)
    assert done.result.position < START[2] + 0.14 and ros.session.in_state("HOLD", "FOLLOW")
