"""Tests ROS 2 types: hashes against published hashes, and encoded bytes."""

import pytest

from femtorque.host.ros import interfaces
from femtorque.host.ros.interfaces import message, packed, type_hash, unpacked

PUBLISHED = {  # sources: `ros2 topic info -v` and `ros2 action info` of Jazzy, and .json files of Lyrical
    "sensor_msgs/msg/JointState": "a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e",
    "std_msgs/msg/String": "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
    "std_srvs/srv/Trigger": "eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f",
    "action_msgs/srv/CancelGoal": "573d8b0a534451d7bc2ac8c5ffde8ac14b8593b7001175d0cd6516dcbeb8689a",
    "action_msgs/msg/GoalStatusArray": "6c1684b00f177d37438febe6e709fc4e2b0d4248dca4854946f9ed8b30cda83e",
    # from a published follow_joint_trajectory__struct.h of rosidl_generator_c
    interfaces.SEND_GOAL: "b13789dddc325a7a962825c45e28c77d37237ec129dd0c34dc5994562938c57f",
    interfaces.GET_RESULT: "e3ceb38e3e1867c8dc0f46014df26e90eb93422f27e9e97f936e07f94be4bc8b",
    interfaces.FEEDBACK_MESSAGE + interfaces.OLDER: "80398fcb9674a79081a9906e2ccf0c804dd7cb15e22e362e606ee87186beab71",
    # rosidl of ROS 2 Kilted, from control_msgs 6.9.0
    interfaces.FEEDBACK_MESSAGE: "95618cc73912d99b9acaa17d2da5e832cb0bfdeede7534fa8ec600feca2a6c4b",
    f"{interfaces.GRIP}_SendGoal": "6bf8cc4ce80cd499e7dd3258c03c50c3fa6672b469ff8355339ef1df77fcd212",
    f"{interfaces.GRIP}_GetResult": "7e60a7606063d4a2728d21badac099e68b734a196ac3ab42d1d4c668eb0bb3cd",
    f"{interfaces.GRIP}_FeedbackMessage": "392ff03fcd872f9dc2405cbeb2897fcf011ad9998458b6aa85c603b8a49e431d",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_hashes_are_those_that_are_published(name):
    assert type_hash(name) == f"RIHS01_{PUBLISHED[name]}"


BAG = {  # ros2/rosbag2, rosbag2_cpp/test/rosbag2_cpp/bags/topics_and_services.db3: a call of add_two_ints, as recorded
    "request": "0001000001000000d3222e654abefa39010feb7db93a37d9000000000000130400000000010000000000000001000000"
               "000000000100000000000000030000000000000000000000",
    "response": "0001000002000000d3222e65878efe39010feb7db93a37d900000000000013040000000001000000000000000000000001"
                "0000000400000000000000",
}
# hash of the topic's type in the recorded bag
OF_BAG = "32c1d140259c71e5c355115942bcb31df98b4330e4d906b1b75ccb1c9b3ce6c8"


def test_a_service_that_ros_2_recorded_is_read_and_written_byte_for_byte(monkeypatch):
    name = "example_interfaces/srv/AddTwoInts"
    monkeypatch.setattr(interfaces, "_SERVICES", {name: ("int64 a\nint64 b\n", "int64 sum\n")})
    monkeypatch.setattr(interfaces, "_services", interfaces._services.__wrapped__)
    made = interfaces.store.__wrapped__()
    monkeypatch.setattr(interfaces, "store", lambda *_: made)
    assert made.hash_rihs01(f"{name}_Event") == f"RIHS01_{OF_BAG}"
    request, response = (unpacked(f"{name}_Event", bytes.fromhex(text)) for text in BAG.values())
    ((asked,), (answer,)) = request.request, response.response
    assert (asked.a, asked.b, answer.sum) == (1, 3, 4)
    assert request.info.sequence_number == response.info.sequence_number == 1
    assert bytes(request.info.client_gid) == bytes(response.info.client_gid)
    for text, seen in zip(BAG.values(), (request, response), strict=True):
        assert packed(f"{name}_Event", seen).hex().ljust(len(text), "0") == text, "but for what pads its end"


@pytest.mark.parametrize("name", [*interfaces._MESSAGES, *(f"{service}_{part}" for service in interfaces._services()
                                                          for part in ("Request", "Response"))])
def test_a_blank_message_comes_back_from_its_bytes(name):
    data = packed(name, message(name))
    assert packed(name, unpacked(name, data)) == data


@pytest.mark.parametrize("data", [b"", b"\0\1\0\0", b"\xff" * 40])
def test_bytes_that_are_no_message_are_refused(data):
    with pytest.raises(ValueError, match="no trajectory_msgs"):
        unpacked("trajectory_msgs/msg/JointTrajectory", data)


def test_an_empty_request_is_five_bytes_as_others_send_it():
    """rosidl puts a member, structure_needs_at_least_one_member, into an empty message."""
    assert packed("std_srvs/srv/Trigger_Request", message("std_srvs/srv/Trigger_Request")) == b"\0\1\0\0\0"
    unpacked("std_srvs/srv/Trigger_Request", b"\0\1\0\0\0")
