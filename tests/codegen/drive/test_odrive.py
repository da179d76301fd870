"""Comparison of ODrive commands with the maker's table (a DBC file, read by cantools), and the bus load of three
drives."""

import math
from dataclasses import replace

import pytest
from odrive_can.utils import get_dbc

from femtorque.codegen.board.fieldbus import left_alone, set_by_owner
from femtorque.codegen.common import BadInput
from femtorque.codegen.drive import can
from femtorque.codegen.drive.budget import Wire, bus_load
from femtorque.codegen.drive.catalogue import DRIVES
from femtorque.codegen.drive.families.odrive_can import FAMILY, frames
from femtorque.codegen.drive.family import Fitted, Target
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.verify import examine
from femtorque.hil.bus import Frame
from femtorque.hil.bus.frame import INTERMISSION, image
from tests.support.bus_arm import PLACE, described

TABLE = get_dbc("odrive-cansimple-0.6.10")
DRIVE, CAN = DRIVES["odrive-s1"], Wire("can", 1e6)


def message(name: str, axis: int = 5):
    return TABLE.get_message_by_name(f"Axis{axis}_{name}")


def read(name: str, frame: can.Frame, axis: int = 5):
    """Return the values that the table decodes from a frame, which may be longer than the table's signals."""
    own = message(name, axis)
    assert frame.id == own.frame_id and not frame.extended and not frame.remote
    assert len(frame.data) >= max((s.start + s.length + 7) // 8 for s in own.signals)
    return own.decode(frame.data.ljust(own.length, b"\0"), decode_choices=True)


@pytest.mark.parametrize("torque", [0.0, 1.25, -3.7, 10.0, -25.0, math.inf, math.nan])
def test_a_command_is_the_table_s_torque_within_the_range(torque):
    frame = frames.command(DRIVE, 5, Target(torque=torque))
    wanted = 0.0 if torque != torque else min(max(torque, -10.0), 10.0)
    assert read("Set_Input_Torque", frame) == {"Input_Torque": pytest.approx(wanted)}
    assert frames.command(DRIVE, 3, Target(torque=1.25)) == can.Frame(0x06E, bytes.fromhex("0000a03f"))


def test_what_is_asked_for_is_asked_for_by_a_remote_frame_of_the_table_s_id():
    frame = frames.poll(7)
    assert (frame.id, frame.remote, len(frame.data)) == (message("Get_Encoder_Estimates", 7).frame_id, True, 8)
    assert frames.answer_id(7) == message("Get_Encoder_Estimates", 7).frame_id
    assert frames.VERSION.number & 0x1F == message("Get_Version", 0).frame_id


@pytest.mark.parametrize(("number", "text", "asked", "right"), [
    (0x00060A, "0.6.10", "", True), (0x00060A, "0.6.10", "0.6.11", False), (0x000506, "0.5.6", "", False),
    (0x010000, "1.0.0", "0.6.11", True), (1, "of another CANSimple", "", False)])
def test_firmware_is_at_least_the_file_s_and_another_protocol_is_none(number, text, asked, right):
    (setting,), own = FAMILY.settings, Fitted(DRIVE, asked)
    assert (number >= setting.bits(own)[0]) is right and setting.number(number) == text
    assert setting.must(own).startswith(asked or "0.6.0")


def test_three_take_one_bus_a_thousand_times_a_second_with_their_heartbeats():
    three, four = (bus_load(CAN, [(id, DRIVE) for id in range(1, count + 1)]) for count in (3, 4))
    assert three.fastest >= 1000.0 > four.fastest and 0.03 < three.beats < 0.05
    assert three.share(1000.0) == pytest.approx(1e3 * three.worst + three.beats) and three.share(1000.0) < 1.0


def test_no_contents_of_a_round_take_longer_than_the_worst():
    """The virtual bus gives the lengths of frames with the maximum number of stuff bits."""
    def length(frame: Frame) -> float:
        return image(frame).length(1e-6, 1e-6) + INTERMISSION * 1e-6

    patterns = [(int.from_bytes(bytes([0x0F] * 16), "big") >> first & (1 << 64) - 1).to_bytes(8, "big")
                for first in range(8)]
    longest = [max(length(frame) for frame in of) for of in (
        [Frame(5 << 5 | 9, remote=True)], [Frame(5 << 5 | 14, data[:4]) for data in patterns],
        [Frame(5 << 5 | 9, data) for data in patterns])]
    worst = bus_load(CAN, [(5, DRIVE)]).worst
    assert 0.85 * worst < sum(longest) <= worst * (1.0 + 1e-9)
    asked = frames.poll(5)
    assert can.bits(asked).seconds(1e6) == pytest.approx(length(Frame(asked.id, bytes(8), remote=True)))


def test_a_file_has_torques_alone_and_no_zero_of_the_drive(tmp_path):
    described("odrive-can")  # this call writes the mechanism file
    source, file = (PLACE / "odrive-can_arm.toml").read_text(encoding="utf-8"), tmp_path / "arm.toml"
    for was, becomes, said in (("id = 1 ", 'id = 1, pd = "drive" ', "takes torques alone"),
                               ("id = 1 ", "id = 1, zero = 0.5 ", "told where it is by home"),
                               ("id = 1 ", "id = 63 ", "at most 62"), ("id = 1 ", "id = 1, reply = 5 ", "part of"),
                               ('"0.6.10"', '"0.6"', "is no version"), ('"can"', '"can-fd"', "classic CAN alone")):
        assert was in source
        file.write_text(source.replace(was, becomes, 1), encoding="utf-8")
        with pytest.raises(BadInput, match=said):
            load_mechanism(file)
    file.write_text(source, encoding="utf-8")
    assert [joint.drive.pd for joint in load_mechanism(file).streamed if joint.drive] == ["board"] * 3


def test_check_says_what_its_owner_must_have_set_and_that_the_joint_must_be_told_where_it_is():
    mechanism = described("odrive-can")
    report = examine(mechanism)
    assert all("enable_watchdog = True" in line for line in set_by_owner(mechanism)) and set_by_owner(mechanism)
    assert [line for line in report.silence if "heartbeat_msg_rate_ms = 10" in line]
    assert left_alone(mechanism)[0].startswith("shoulder, elbow, wrist: goes on with its last torque")
    assert sum("`home` must give its position" in line for line in report.warnings) == 3
    fast = replace(mechanism, control=replace(mechanism.control, rate_hz=1200))
    with pytest.raises(BadInput, match="at most 1122 Hz"):
        examine(fast)
