"""Test of the commands in docs/ros2.md, on a virtual board in real time. A client in another process uses zenoh. The
client calls services by the package zenoh-ros2-sdk instead of `ros2 service call`, and uses the action through its
zenoh keys. Then the node runs with the rclpy of ROS 2 Kilted and of Jazzy, with an action client of rclpy
(assurance/bench/ros). Gravity moves this arm, and its elbow is continuous."""

import json
import re
import shlex
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager

import numpy as np
import pytest
from zenoh_ros2_sdk import ROS2ServiceClient

from assurance.bench.ros import environment
from femtorque import Board
from femtorque.codegen.mechanism import load_mechanism
from femtorque.host.ros import interfaces, keys
from femtorque.host.ros.interfaces import message, packed, type_hash, unpacked
from tests.host.ros.router import routed
from tests.host.ros.test_motion import NAMES, trajectory
from tests.support.suite import HANG, ROOT

pytestmark = pytest.mark.bench

PAGE = (ROOT / "docs" / "ros2.md").read_text(encoding="utf-8")
SERVE, NODE = (shlex.split(line)[1:] for line in re.findall(r"^    (femtorque (?:hil serve|ros mech).*)$", PAGE, re.M))
CALLED = re.findall(r"^    ros2 service call /femtorque/(\w+) std_srvs/srv/Trigger$", PAGE, re.M)
ARM = "mechanisms/three_link.toml"
ACTION = "/arm_controller/follow_joint_trajectory/_action/"


@contextmanager
def running(*arguments, python=sys.executable, env=None):
    """Run a `femtorque` command in another process. Yield the first line of its output and the process."""
    process = subprocess.Popen([python, "-m", "femtorque", *arguments], cwd=ROOT, stderr=subprocess.PIPE, text=True,
                               env=env)
    try:
        line = process.stderr.readline()
        assert line, "it ended"
        yield line.strip(), process
    finally:
        process.terminate()
        process.communicate()


class Client:
    """A client of the node that uses zenoh."""

    def __init__(self, session, port) -> None:
        self.session, self.port, self.sequence = session, port, 0

    def trigger(self, name):
        client = ROS2ServiceClient(f"/femtorque/{name}", interfaces.TRIGGER, "# nothing\n",
                                   "bool success\nstring message\n", router_port=self.port, timeout=10.0,
                                   type_hash=type_hash(interfaces.TRIGGER))
        response, end = None, time.monotonic() + HANG
        while response is None and time.monotonic() < end:  # a query before the node is discovered gets no answer
            response = client.call()
        client.close()
        return response

    def ask(self, name, kind, **request):
        self.sequence += 1
        number = self.sequence
        replies = self.session.get(keys.key(0, ACTION + name, kind), timeout=HANG,
                                   payload=packed(f"{kind}_Request", message(f"{kind}_Request", **request)),
                                   attachment=keys.attachment(number, time.time_ns(), uuid.uuid4().bytes))
        (reply,) = list(replies)
        assert keys.read_attachment(reply.ok.attachment.to_bytes())[0] == number
        return unpacked(f"{kind}_Response", reply.ok.payload.to_bytes())

    def goal(self, told, **more):
        number = message("unique_identifier_msgs/msg/UUID", uuid=np.frombuffer(uuid.uuid4().bytes, np.uint8))
        assert self.ask("send_goal", interfaces.SEND_GOAL, goal_id=number,
                        goal=message(interfaces.GOAL, trajectory=told, **more)).accepted
        return number

    def result(self, number):
        return self.ask("get_result", interfaces.GET_RESULT, goal_id=number)


@pytest.fixture(scope="module")
def client():
    with (routed() as (port, session), running(*SERVE, "--port", "0") as (url, _),
          running(*NODE[:-1], url, "--router", f"tcp/127.0.0.1:{port}") as (line, process)):
        assert "/arm_controller/follow_joint_trajectory" in line
        made = Client(session, port)
        made.process, made.url = process, url
        assert CALLED == ["home", "arm"]
        for name in CALLED:
            response = made.trigger(name)
            assert response.success, response.message
        yield made


def start():
    return np.array([joint.start for joint in load_mechanism(ROOT / ARM).streamed])


def test_a_goal_of_another_process_is_followed_and_states_come(client):
    heard = []
    subscriber = client.session.declare_subscriber(keys.key(0, "/joint_states", "sensor_msgs/msg/JointState"),
                                                   lambda sample: heard.append(sample.payload.to_bytes()))
    number = client.goal(trajectory([1.0, 2.0], [start() + 0.1, start() + [0.3, -0.2, 0.2]]))
    done = client.result(number)
    subscriber.undeclare()
    assert (done.status, done.result.error_code) == (4, 0), done.result.error_string
    last = unpacked("sensor_msgs/msg/JointState", heard[-1])
    assert last.name == NAMES and len(heard) > 20
    np.testing.assert_allclose(last.position, start() + [0.3, -0.2, 0.2], atol=0.01)


def test_a_node_that_is_killed_leaves_the_arm_held(client):
    """The arm has no gravity. This is the last test with this client, because the node is dead afterwards."""
    client.goal(trajectory([3.0], [start()]))
    time.sleep(1.0)
    client.process.kill()
    client.process.wait()
    time.sleep(3.0)
    status = looked(client.url)
    assert (status.state, status.fault) == ("FAULT", "HOST_LOST")
    np.testing.assert_allclose(status.positions, status.targets, atol=0.01)


@pytest.fixture(scope="module", params=environment.RELEASES)
def rclpy(request, tmp_path_factory):
    """Return the answers that a client with the real rclpy got, and STATUS after client and node were killed."""
    place = environment.made(request.param)
    if place is None:
        pytest.skip("ROS 2's wheels are for Python 3.12, and there is none")
    env, python = environment.variables(place, 41), place / "bin" / "python"
    arm = tmp_path_factory.mktemp("ros") / "arm.toml"
    shoulder, elbow = (ROOT / ARM).read_text(encoding="utf-8").replace("three-link", "upright").replace(
        "[0.0, 0.0, -9.81]", "[0.0, -9.81, 0.0]").split('name = "elbow"')
    arm.write_text(shoulder + 'name = "elbow"' + elbow.replace("revolute", "continuous", 1).replace(
        "lower = -2.6, upper = 2.6, ", "", 1), encoding="utf-8")
    node = [NODE[0], str(arm), "--over", "rclpy", "--gripper", "wrist", "--port"]

    def ran(*words):
        done = subprocess.run([python, environment.CLIENT, *map(str, words)], env=env, text=True, timeout=HANG,
                              capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr[-3000:]
        return json.loads(done.stdout)

    with running(*SERVE[:2], str(arm), "--port", "0") as (url, _):
        with running(*node, url, python=python, env=env) as (line, process):
            assert "/wrist_controller/follow_joint_trajectory" in line
            told = ran(*start())
            told["client died"] = ran()
            process.kill()
            process.wait()
            time.sleep(3.0)
            told["node died"] = looked(url, arm)
        with running(*node, url, python=python, env=env):
            told["next node"] = ran("arm")
    print({name: value for name, value in told.items() if name != "described"})
    return told


def looked(url, arm=ROOT / ARM):
    with Board.connect(url, arm, look=True) as board:
        return board.status


def test_goals_of_every_kind_are_answered_on_a_real_rclpy(rclpy):
    assert rclpy["not armed"][:2] == [6, -1] and "/femtorque/arm arms it" in rclpy["not armed"][2]
    assert rclpy["home"][0] and rclpy["arm"][0]
    assert [rclpy[name] for name in ("goal", "many", "part", "second", "gripper's path")] == [[4, 0, ""]] * 5
    assert rclpy["turned"][:3] == [4, 0, ""] and rclpy["turned"][4] == pytest.approx(start()[1] - 0.2, abs=0.02)
    assert rclpy["not mine"][:2] == [6, -2] and rclpy["beyond"][:2] == [6, -1]
    assert rclpy["tolerance"][:2] == [6, -4] and "shoulder is 0." in rclpy["tolerance"][2]
    assert rclpy["gripped"][:2] == [4, True] and rclpy["gripped"][2] == pytest.approx(start()[2] + 0.2, abs=0.01)
    assert rclpy["by topic"] == pytest.approx([*(start()[:2] + [0.3, -0.2]), start()[2] + 0.1], abs=0.02)


def test_cancel_preemption_and_disarm_are_heard_while_a_goal_runs_on_a_real_rclpy(rclpy):
    assert rclpy["cancel"][0] == 0 and rclpy["cancel"][2] == 5 and rclpy["preempted"][:2] == [5, -1]
    assert rclpy["all"][0] == 0 and rclpy["all"][2] == 5 and rclpy["all"][5] == 100
    *_, (disarmed, *_), result = rclpy["next node"]
    assert disarmed and result == [6, -1, "the arm was disarmed"]


def test_feedback_states_and_diagnostics_come_on_a_real_rclpy(rclpy):
    """Jazzy's feedback has no index."""
    assert {index for index, _ in rclpy["feedback"]} in ({0, 1}, {None})
    assert max(error for _, error in rclpy["feedback"]) < 0.02
    assert rclpy["states a second"] and "<robot" in rclpy["described"] and "0" in rclpy["diagnosed"]


def test_answers_and_messages_come_in_time_on_a_real_rclpy(rclpy):
    """This test alone depends on the speed of the computer."""
    assert max(rclpy["cancel"][1], rclpy["all"][1], rclpy["next node"][-2][2]) < 0.5 and rclpy["preempted"][3] < 1.0
    assert rclpy["discovery"] < 10.0 and len(rclpy["feedback"]) > 20 and rclpy["states a second"] > 50


def test_a_goal_outlives_its_client_and_the_arm_its_node_on_a_real_rclpy(rclpy):
    positions, state = rclpy["client died"]
    np.testing.assert_allclose(positions[:2], start()[:2], atol=0.01)
    assert state in ("HOLD", "FOLLOW")
    dead, (positions, state, refused, armed, result, *_) = rclpy["node died"], rclpy["next node"]
    assert (dead.state, dead.fault) == ("HELD", "HOST_LOST") and state.startswith("HELD") and refused[:2] == [6, -1]
    np.testing.assert_allclose(dead.positions, dead.targets, atol=0.01)
    np.testing.assert_allclose(positions, dead.positions, atol=0.01)
    assert armed[0] and result == [4, 0, ""]
