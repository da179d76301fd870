"""Compares the node on zenoh with the package zenoh-ros2-sdk, another implementation of rmw_zenoh's conventions."""

import threading

import pytest
import zenoh
from zenoh_ros2_sdk import ROS2Publisher, ROS2ServiceClient, ROS2Subscriber
from zenoh_ros2_sdk.attachment import Attachment
from zenoh_ros2_sdk.entity import EndpointEntity, EntityKind, NodeEntity
from zenoh_ros2_sdk.keyexpr import endpoint_liveliness_keyexpr, node_liveliness_keyexpr, topic_keyexpr
from zenoh_ros2_sdk.qos import QosDurability, QosProfile
from zenoh_ros2_sdk.utils import compute_type_hash_from_msg, ros2_to_dds_type

from femtorque.codegen.common import BadInput
from femtorque.host.ros import interfaces, keys
from femtorque.host.ros.interfaces import message, type_hash
from femtorque.host.ros.node import Node
from tests.host.ros.router import routed
from tests.support import suite

STATE = "sensor_msgs/msg/JointState"
TEXT = "std_msgs/msg/String"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
LATCHED = QosProfile(durability=QosDurability.TRANSIENT_LOCAL, history_depth=1)


@pytest.fixture(scope="module")
def router():
    """Return a router's port."""
    with routed() as (port, _):
        yield port


@pytest.fixture
def node(router):
    with Node("femtorque", router=f"tcp/127.0.0.1:{router}") as node:
        yield node


def until(true, meanwhile=lambda: None):
    suite.until(lambda: (meanwhile(), true())[1], 1e-3)


def definitions(name):
    """Return the texts of a message and of all its parts, by name."""
    text, _ = interfaces.store().generate_msgdef(name, ros_version=2)
    first, *parts = text.split("=" * 80 + "\n")
    found = {name: first}
    for part in parts:
        head, body = part.split("\n", 1)
        package, *middle, last = head.removeprefix("MSG: ").split("/")
        found["/".join([package, *(middle or ["msg"]), last])] = body
    return found


@pytest.mark.parametrize("name", [STATE, TRAJECTORY, "diagnostic_msgs/msg/DiagnosticArray", interfaces.STATUSES,
                                  "std_msgs/msg/String"])
def test_hashes_and_keys_are_those_of_the_other_implementation(name):
    texts = definitions(name)
    theirs = compute_type_hash_from_msg(name, texts.pop(name), texts)
    assert type_hash(name) == theirs
    assert keys.key(7, "/a/b", name) == topic_keyexpr(7, "/a/b", ros2_to_dds_type(name), theirs)


@pytest.mark.parametrize("latched, quality", [(False, QosProfile()), (True, LATCHED)])
def test_tokens_are_those_of_the_other_implementation(latched, quality):
    ours = keys.Node(3, "abc", "femtorque")
    theirs = NodeEntity(3, "abc", 0, "femtorque")
    assert ours.token() == node_liveliness_keyexpr(theirs)
    qos = keys.quality(latched, 1 if latched else 10)
    assert qos == quality.encode()
    end = EndpointEntity(theirs, 5, EntityKind.PUBLISHER, "/a/b", ros2_to_dds_type(STATE), type_hash(STATE), qos)
    assert ours.endpoint(5, keys.PUBLISHER, "/a/b", STATE, qos) == endpoint_liveliness_keyexpr(end)


def test_attachments_are_those_of_the_other_implementation():
    gid = bytes(range(16))
    assert keys.attachment(5, 10**18, gid) == Attachment(5, 10**18, gid).to_bytes()
    assert keys.read_attachment(Attachment(5, 10**18, gid).to_bytes()) == (5, gid)
    for bad in (b"", bytes(40), keys.attachment(1, 2, gid)[:-1]):
        with pytest.raises(ValueError, match="attachment"):
            keys.read_attachment(bad)


def test_a_topic_is_heard_by_the_other_implementation(router, node):
    heard = []
    other = ROS2Subscriber("/words", TEXT, heard.append, "string data\n", router_port=router, type_hash=type_hash(TEXT))
    words = node.publisher("/words", TEXT)
    try:
        until(lambda: heard, lambda: words.publish(message(TEXT, data="good day")))
        assert heard[0].data == "good day"
    finally:
        other.close()


def test_a_latched_topic_is_had_by_those_who_come_later(router, node):
    """The late subscriber is zenoh's advanced subscriber, as in rmw_zenoh."""
    node.publisher("/robot_description", "std_msgs/msg/String", latched=True).publish(
        message("std_msgs/msg/String", data="<robot/>"))
    heard = []
    with zenoh.open(peer(router)) as late:
        key = keys.key(0, "/robot_description", "std_msgs/msg/String")
        subscriber = zenoh.ext.declare_advanced_subscriber(
            late, key, heard.append, history=zenoh.ext.HistoryConfig(detect_late_publishers=True))
        until(lambda: heard)
        subscriber.undeclare()
    assert interfaces.unpacked("std_msgs/msg/String", heard[0].payload.to_bytes()).data == "<robot/>"


def test_a_topic_of_the_other_implementation_is_heard(router, node):
    heard = []
    node.subscribe("/words", "std_msgs/msg/String", heard.append)
    other = ROS2Publisher("/words", TEXT, msg_definition="string data\n", router_port=router, type_hash=type_hash(TEXT))
    try:
        def meanwhile():
            other.publish(data="good day")
            node.handle()

        until(lambda: heard, meanwhile)
        assert heard[0].data == "good day" and node.refused == 0
    finally:
        other.close()


def test_what_is_no_message_is_counted_and_nothing_else_happens(router, node):
    heard = []
    node.subscribe("/words", "std_msgs/msg/String", heard.append)
    key = keys.key(0, "/words", "std_msgs/msg/String")
    until(lambda: node.refused >= 3, lambda: (node.session.put(key, b"\xff\xff"), node.handle()))
    assert heard == []


def test_a_service_answers_the_other_implementation(router, node):
    asked = []

    def answer(request, reply):
        asked.append(request)
        reply(message(f"{interfaces.TRIGGER}_Response", success=True, message="armed"))

    node.serve("/femtorque/arm", interfaces.TRIGGER, answer)
    client = ROS2ServiceClient("/femtorque/arm", interfaces.TRIGGER, "# nothing\n", "bool success\nstring message\n",
                               router_port=router, type_hash=type_hash(interfaces.TRIGGER))
    told = []
    thread = threading.Thread(target=lambda: told.append(client.call()))
    thread.start()
    until(lambda: told, node.handle)
    thread.join()
    client.close()
    assert asked and told[0].success is True and told[0].message == "armed"


def test_the_other_implementation_finds_the_node_and_its_endpoints(router, node):
    node.publisher("/joint_states", STATE)
    node.serve("/femtorque/arm", interfaces.TRIGGER, lambda request, reply: None)
    with zenoh.open(peer(router)) as other:
        found = []

        def look():
            found[:] = [str(reply.ok.key_expr) for reply in other.liveliness().get("@ros2_lv/**")
                        if "/femtorque" in str(reply.ok.key_expr)]

        until(lambda: len(found) == 3, look)
    assert sorted(token.split("/")[5] for token in found) == ["MP", "NN", "SS"]


def peer(router):
    configuration = zenoh.Config()
    for place, value in (("mode", '"peer"'), ("connect/endpoints", f'["tcp/127.0.0.1:{router}"]'),
                         ("scouting/multicast/enabled", "false")):
        configuration.insert_json5(place, value)
    return configuration


def test_a_node_starts_without_a_router_connects_when_it_comes_and_refuses_an_address_that_is_none():
    with routed() as (port, _), Node("femtorque", router=f"tcp/127.0.0.1:{port}") as joined:
        assert joined.alone == ""
    with Node("femtorque", router=f"tcp/127.0.0.1:{port}") as alone:
        assert "`ros2 run rmw_zenoh_cpp rmw_zenohd` starts one" in alone.alone
        alone.publisher("/joint_states", STATE).publish(message(STATE))
        with routed(port):
            until(lambda: list(alone.session.info.routers_zid()))
    with pytest.raises(BadInput, match="--router"), Node("femtorque", router="nonsense"):
        pass
