"""The node on rclpy, against a stand-in of rclpy's names: there is no ROS 2 here. It shows which of rclpy's functions
are called with what, not that a real one answers as this one does."""

from __future__ import annotations

import sys
import uuid
from collections import deque
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from femtorque import BadInput, Board, Mechanism, Refused
from femtorque.host.ros import interfaces
from femtorque.host.ros.arm import Arm
from femtorque.host.ros.interfaces import message, packed, unpacked
from femtorque.host.ros.rclpy_node import RclpyNode, own
from tests.conftest import ROOT
from tests.host.ros.test_arm import ACTION, START, way
from tests.support import rig


class Future:
    """A response that is made later."""

    def __init__(self, executor) -> None:
        self.done, self.value = False, None

    def set_result(self, value) -> None:
        self.done, self.value = True, value

    def __await__(self):
        while not self.done:
            yield
        return self.value


class Graph:
    """In the place of rclpy: a node, its executor, and what others send to it."""

    def __init__(self) -> None:
        self.published, self.quality, self.taken, self.services = {}, {}, {}, {}
        self.waiting, self.running, self.answers = deque(), [], []

    def create_publisher(self, kind, topic, quality):
        self.quality[topic] = quality
        self.published[topic] = []
        return SimpleNamespace(publish=self.published[topic].append)

    def create_subscription(self, kind, topic, heard, depth, raw):
        assert raw
        self.taken[topic] = heard

    def create_service(self, kind, name, asked):
        self.services[name] = (kind, asked)

    def spin_once(self, timeout_sec):
        """One callback; and those that wait for a response are looked at again, as rclpy does."""
        if self.waiting:
            self.waiting.popleft()()
        for one in self.running[:]:
            try:
                one[0].send(None)
            except StopIteration as ended:
                self.running.remove(one)
                one[1].append(ended.value.data)

    def ask(self, name, kind, **request):
        """A request of another node. Returns the list of its response."""
        service, asked = self.services[name]
        told = []
        made = service.Request(packed(f"{kind}_Request", message(f"{kind}_Request", **request)))
        self.waiting.append(lambda: self.running.append((asked(made, service.Response()), told)))
        return told


class Bytes:
    """A message of rclpy: no more than its bytes."""

    def __init__(self, data=b"") -> None:
        self.data = data


@pytest.fixture
def graph(monkeypatch):
    made = Graph()
    kinds = SimpleNamespace(Request=Bytes, Response=Bytes)
    context = SimpleNamespace(init=lambda domain_id: None, shutdown=lambda: None)
    made.add_node = made.shutdown = made.destroy_node = lambda *_: None
    action = SimpleNamespace(Impl=SimpleNamespace(SendGoalService=kinds, GetResultService=kinds, FeedbackMessage=Bytes))
    modules = {
        "rclpy": {"Context": lambda: context, "create_node": lambda name, context: made},
        "rclpy.executors": {"SingleThreadedExecutor": lambda context: made}, "rclpy.task": {"Future": Future},
        "rclpy.serialization": {"serialize_message": lambda m: m.data, "deserialize_message": lambda d, kind: kind(d)},
        "rclpy.qos": {"QoSProfile": SimpleNamespace,
                      "DurabilityPolicy": SimpleNamespace(TRANSIENT_LOCAL=1, VOLATILE=2)},
        "sensor_msgs.msg": {"JointState": Bytes}, "std_msgs.msg": {"String": Bytes},
        "diagnostic_msgs.msg": {"DiagnosticArray": Bytes}, "trajectory_msgs.msg": {"JointTrajectory": Bytes},
        "action_msgs.msg": {"GoalStatusArray": Bytes}, "action_msgs.srv": {"CancelGoal": kinds},
        "std_srvs.srv": {"Trigger": kinds}, "control_msgs.action": {"FollowJointTrajectory": action}}
    for name, parts in modules.items():
        module = ModuleType(name)
        vars(module).update(parts)
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setitem(sys.modules, name.split(".")[0], sys.modules.get(name.split(".")[0], ModuleType(name)))
    return made


def test_a_goal_is_followed_to_its_end(graph):
    mechanism = Mechanism.load(ROOT / "mechanisms" / "three_link.toml")
    with rig.connected(mechanism) as (chip, session), RclpyNode("femtorque") as node:
        chip.brakes = True
        arm = Arm(Board(session, mechanism), node, "arm_controller", print)

        def until(told, seconds=5.0):
            end = session.clock.now() + seconds
            while not told and session.clock.now() < end:
                arm.step()
                session.clock.sleep(0.002)
            return told[0]

        for name in ("home", "arm"):
            data = until(graph.ask(f"/femtorque/{name}", interfaces.TRIGGER))
            assert unpacked(f"{interfaces.TRIGGER}_Response", data).success
        number = message("unique_identifier_msgs/msg/UUID", uuid=np.frombuffer(uuid.uuid4().bytes, np.uint8))
        until(graph.ask(ACTION + "send_goal", interfaces.SEND_GOAL, goal_id=number,
                        goal=message(interfaces.GOAL, trajectory=way([0.1, 0.0, -0.1]))))
        done = unpacked(f"{interfaces.GET_RESULT}_Response",
                        until(graph.ask(ACTION + "get_result", interfaces.GET_RESULT, goal_id=number)))
        graph.taken["/arm_controller/joint_trajectory"](b"no trajectory")
        arm.close()
    assert (done.status, done.result.error_code) == (4, 0), done.result.error_string
    last = unpacked("sensor_msgs/msg/JointState", graph.published["/joint_states"][-1])
    np.testing.assert_allclose(last.position, START + [0.1, 0.0, -0.1], atol=5e-3)
    assert graph.published[ACTION + "feedback"] and node.refused == 1
    assert (graph.quality["/robot_description"].depth, graph.quality["/robot_description"].durability) == (1, 1)
    assert (graph.quality["/joint_states"].depth, graph.quality["/joint_states"].durability) == (10, 2)


def test_what_this_ros_2_has_not_is_named(graph, monkeypatch):
    monkeypatch.setitem(sys.modules, "control_msgs.action", None)
    with pytest.raises(BadInput, match="needs control_msgs.*apt install ros-.ROS_DISTRO-control-msgs"):
        own(interfaces.SEND_GOAL)
    monkeypatch.setitem(sys.modules, "rclpy", None)
    with pytest.raises(Refused, match="source ROS 2's setup.bash"):
        RclpyNode("femtorque").__enter__()
