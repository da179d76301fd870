"""Tests the node on rclpy with a stand-in, whose messages have the fields of rclpy's messages. A waiting callback of
the default group blocks other callbacks. assurance/bench/test_ros.py uses the real rclpy."""

import sys
import uuid
from collections import deque
from functools import cache
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from femtorque import BadInput, Board, Mechanism, Refused
from femtorque.host.ros import interfaces, rclpy_node
from femtorque.host.ros.arm import Arm
from femtorque.host.ros.interfaces import message
from femtorque.host.ros.rclpy_node import RclpyNode, own
from tests.host.ros.test_arm import ACTION, START, way
from tests.support import rig
from tests.support.suite import ROOT


class Future:
    """A response that arrives later."""

    def __init__(self, executor) -> None:
        self.value = None

    def set_result(self, value) -> None:
        self.value = value

    def done(self) -> bool:
        return self.value is not None

    def __await__(self):
        while not self.done():
            yield
        return self.value


class Graph:
    """A stand-in for rclpy, with a node, its executor, and incoming messages."""

    def __init__(self) -> None:
        self.published, self.quality, self.taken, self.services = {}, {}, {}, {}
        self.waiting, self.running = deque(), []

    def create_publisher(self, kind, topic, quality):
        self.quality[topic] = quality
        self.published[topic] = []
        return SimpleNamespace(publish=self.published[topic].append)

    def create_subscription(self, kind, topic, heard, depth, callback_group=None):
        assert callback_group == "reentrant"
        self.taken[topic] = heard

    def create_service(self, kind, name, asked, callback_group=None):
        self.services[name] = (kind, asked, callback_group)

    def spin_once(self, timeout_sec):
        """Run one callback, and then resume callbacks that wait, as rclpy does."""
        if self.waiting and all(group == "reentrant" for _, _, group in self.running):
            self.waiting.popleft()()
        for one in self.running[:]:
            try:
                one[0].send(None)
            except StopIteration as ended:
                self.running.remove(one)
                one[1].append(ended.value)

    def ask(self, name, **request):
        """Send a request from another node. Returns a list to which the response is appended."""
        kind, asked, group = self.services[name]
        told = []
        made = class_of(f"{kind}_Request")()
        for field, value in request.items():
            setattr(made, field, value)
        self.waiting.append(lambda: self.running.append((asked(made, class_of(f"{kind}_Response")()), told, group)))
        return told


@cache
def class_of(kind, without=()):
    """Return a class like rosidl's classes: it only has the named fields, and arrays are lists. A later release has a
    field more."""
    fields = {name: "octet" if how[1] == ("byte", 0) else "other" for name, how in interfaces.store().fielddefs[kind][1]
              if name not in without} | ({} if without else {"later": "other"})

    def blank(value):
        if kind := getattr(value, "__msgtype__", None):
            return class_of(kind, without)()
        return value.tolist() if isinstance(value, np.ndarray) else value

    def start(self):
        for name in fields:
            setattr(self, name, blank(getattr(message(kind), name, 1.0)))

    return type(kind, (), {"__slots__": tuple(fields), "__init__": start,
                           "get_fields_and_field_types": classmethod(lambda cls: fields)})


@pytest.fixture
def graph(monkeypatch, request):
    made = Graph()
    context = SimpleNamespace(init=lambda domain_id: None, shutdown=lambda: None)
    made.add_node = made.shutdown = made.destroy_node = lambda *_: None
    modules = {
        "rclpy": {"Context": lambda: context, "create_node": lambda name, context: made},
        "rclpy.executors": {"SingleThreadedExecutor": lambda context: made}, "rclpy.task": {"Future": Future},
        "rclpy.callback_groups": {"ReentrantCallbackGroup": lambda: "reentrant"},
        "rclpy.qos": {"QoSProfile": SimpleNamespace,
                      "DurabilityPolicy": SimpleNamespace(TRANSIENT_LOCAL=1, VOLATILE=2)}}
    for name, parts in modules.items():
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        vars(sys.modules[name]).update(parts)
    without = () if getattr(request, "param", "") != "jazzy" else ("index", "multi_dof_index")
    monkeypatch.setattr(rclpy_node, "own", lambda kind: kind if kind in interfaces._services()
                        else class_of(kind, without))
    return made


@pytest.fixture
def arm(graph):
    mechanism = Mechanism.load(ROOT / "mechanisms" / "three_link.toml")
    with rig.connected(mechanism) as (chip, session), RclpyNode("femtorque") as node:
        chip.brakes = True
        made = Arm(Board(session, mechanism), node, "arm_controller", print)
        made.node = node

        def until(told, seconds=5.0):
            end = session.clock.now() + seconds
            while not told and session.clock.now() < end:
                made.step()
                session.clock.sleep(0.002)
            return told[0]

        made.until = until
        for name in ("home", "arm"):
            assert until(graph.ask(f"/femtorque/{name}")).success
        yield made
        if made._take in session.listeners:
            made.close()


def goal(graph, arm, *rows):
    """Send a goal. Returns the goal's number, and a list to which the result is appended."""
    number = message("unique_identifier_msgs/msg/UUID", uuid=np.frombuffer(uuid.uuid4().bytes, np.uint8))
    assert arm.until(graph.ask(ACTION + "send_goal", goal_id=number,
                               goal=message(interfaces.GOAL, trajectory=way(*rows)))).accepted
    return number, graph.ask(ACTION + "get_result", goal_id=number)


@pytest.mark.parametrize("graph", ["jazzy", "later"], indirect=True)
def test_a_goal_is_followed_to_its_end_with_the_feedback_of_each_release(graph, arm):
    done = arm.until(goal(graph, arm, [0.1, 0.0, -0.1])[1])
    assert (done.status, done.result.error_code) == (4, 0), done.result.error_string
    last = graph.published["/joint_states"][-1]
    np.testing.assert_allclose(last.position, START + [0.1, 0.0, -0.1], atol=5e-3)
    assert graph.published[ACTION + "feedback"] and graph.published["/diagnostics"][-1].status[0].level == b"\0"
    assert (graph.quality["/robot_description"].depth, graph.quality["/robot_description"].durability) == (1, 1)
    assert (graph.quality["/joint_states"].depth, graph.quality["/joint_states"].durability) == (10, 2)


def test_cancel_another_goal_and_disarm_are_heard_while_a_result_is_waited_for(graph, arm):
    _, first = goal(graph, arm, [0.4, 0.0, 0.0])
    arm.step()
    number, second = goal(graph, arm, [0.2, 0.0, 0.0])
    assert arm.until(first, 0.1).status == 5
    told = graph.ask(ACTION + "cancel_goal", goal_info=message("action_msgs/msg/GoalInfo", goal_id=number))
    assert arm.until(told, 0.1).return_code == 0 and arm.until(second, 0.1).status == 5
    _, third = goal(graph, arm, [0.4, 0.0, 0.0])
    assert arm.until(graph.ask("/femtorque/disarm"), 0.1).success and arm.until(third, 0.1).status == 6


def test_a_goal_that_runs_when_the_node_ends_is_answered(graph, arm):
    _, result = goal(graph, arm, [0.4, 0.0, 0.0])
    arm.step()
    with pytest.raises(Refused):
        try:
            raise Refused("no cable")
        finally:
            arm.close()
    later = graph.ask("/femtorque/disarm")
    graph.waiting.append(lambda: 1 / 0)  # a message that cannot be converted
    arm.node.__exit__()
    assert result[0].status == 6 and result[0].result.error_string == "the node ends: no cable"
    assert not later[0].success, "a request after the end does nothing"


def test_what_cannot_be_read_is_counted_and_answered_and_ends_nothing(graph, arm):
    _, result = goal(graph, arm, [0.1, 0.0, 0.0])
    graph.taken["/arm_controller/joint_trajectory"]("no trajectory")
    # rclpy itself raises where it cannot convert a message
    graph.waiting.append(lambda: b"\xff".decode())
    arm.step()
    assert arm.node.refused == 2 and "UnicodeDecodeError" in arm.node.why
    told = arm.until(graph.ask(ACTION + "send_goal", goal_id="no number"), 0.1)
    assert not told.accepted and arm.node.refused == 3 and "no attribute 'uuid'" in arm.node.why
    assert arm.until(result).status == 4


def test_what_this_ros_2_has_not_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "control_msgs.action", None)
    with pytest.raises(BadInput, match="needs control_msgs.*apt install ros-.ROS_DISTRO-control-msgs"):
        own(interfaces.SEND_GOAL)
    monkeypatch.setitem(sys.modules, "rclpy", None)
    with pytest.raises(Refused, match="source ROS 2's setup.bash"):
        RclpyNode("femtorque").__enter__()
