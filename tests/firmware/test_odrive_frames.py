"""ODrive's messages in C, against the maker's table."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st

from femtorque.codegen.drive import DRIVES
from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.families.odrive_can import frames
from femtorque.codegen.drive.family import Target
from tests.codegen.drive.test_odrive import message, read
from tests.firmware.frames import BEAT, LONG, NOTHING, SETTING, STATE, Frames, compiled

ID, DRIVE = 5, DRIVES["odrive-s1"]
IDLE, LOOP = (Frame(ID << 5 | 0x07, state.to_bytes(8, "little")) for state in (1, 8))
MODE, CLEAR = Frame(ID << 5 | 0x0B, struct.pack("<2I", 1, 1)), Frame(ID << 5 | 0x18, bytes(8))


@pytest.fixture(scope="module")
def c():
    return Codec(*compiled("odrive_can"))


class Codec(Frames):
    def row(self, gear: float = 1.0, id: int = ID):
        return self.ffi.new("ft_drive_config *", {"id": id, "gear": gear, "torque": DRIVE.torque * gear})

    def command(self, gear: float = 1.0, **target: float) -> Frame:
        return self.commanded("odrive_can", self.row(gear), target, 0.0)[0]

    def hear(self, frame: Frame, gear: float = 1.0):
        return self.heard("odrive_can", self.row(gear), frame.id | LONG * frame.extended, frame.data)


def test_that_commands_are_bit_for_bit_those_of_the_table_behind_any_gear(c):
    for share in np.random.default_rng(7).uniform(-1.3, 1.3, 300):
        torque = float(np.float32(share * DRIVE.torque))
        wanted = frames.command(DRIVE, ID, Target(torque=torque))
        assert c.command(torque=torque, kp=30.0, position=2.0) == wanted
        assert c.command(gear=4.0, torque=4.0 * torque) == wanted


def test_that_the_board_damps_by_the_velocity_that_the_drive_has_reported(c):
    assert struct.unpack("<f", c.command(kd=2.0, seen=1.5).data)[0] == -3.0
    assert struct.unpack("<f", c.command(gear=2.0, kd=2.0, seen=-1.5).data)[0] == 1.5


def test_that_it_is_switched_as_the_table_has_it(c):
    assert c.told("odrive_can_enable", c.row()) == LOOP and c.told("odrive_can_disable", c.row(), False) == IDLE
    assert c.told("odrive_can_disable", c.row(), True) == CLEAR and read("Clear_Errors", CLEAR)["Identify"] == 0
    for frame, name in ((IDLE, "IDLE"), (LOOP, "CLOSED_LOOP_CONTROL")):
        assert read("Set_Axis_State", frame) == {"Axis_Requested_State": name}
    assert read("Set_Controller_Mode", MODE) == {"Control_Mode": "TORQUE_CONTROL", "Input_Mode": "PASSTHROUGH"}


def test_that_it_is_asked_by_remote_frames(c):
    assert c.told("odrive_can_poll", c.row()) == frames.poll(ID)
    version = Frame(message("Get_Version").frame_id, bytes(8), remote=True)
    assert c.told("odrive_can_ask", c.row(), frames.VERSION.number, 4) == version


def test_that_it_is_told_its_mode_and_no_torque_while_it_is_off_and_while_it_is_being_enabled(c):
    """Every fourth enable frame requests closed-loop control. The function does not change a command."""
    nothing = frames.command(DRIVE, ID, Target())
    for tick in range(16):
        c.lib.ft_odrive_can_disable(c.frame, c.row(), False)
        assert c.told("odrive_can_release", c.row(), tick) == (IDLE, MODE, IDLE, nothing)[tick % 4]
        c.lib.ft_odrive_can_enable(c.frame, c.row())
        assert c.told("odrive_can_look", tick, False) == (LOOP, MODE, nothing, MODE)[tick % 4]
        for enabled in (False, True):
            c.lib.ft_odrive_can_command(c.frame, c.row(), c.ffi.new("ft_drive_target *", {"torque": 1.0}),
                                        c.ffi.new("float *"))
            assert c.told("odrive_can_look", tick, enabled) == frames.command(DRIVE, ID, Target(torque=1.0))


def test_that_positions_are_counts_of_a_turn_to_half_a_count(c):
    for turns, speed in np.random.default_rng(2).uniform(-1.0, 1.0, (200, 2)) * (7.0, 20.0):
        data = message("Get_Encoder_Estimates").encode({"Pos_Estimate": turns, "Vel_Estimate": speed})
        kind, said = c.hear(Frame(message("Get_Encoder_Estimates").frame_id, data), gear=2.0)
        exact = struct.unpack("<2f", data)
        counts = (said.position + 2**31) % 2**32 - 2**31
        assert kind == STATE and abs(counts - exact[0] * 2**20) <= 1.0
        assert said.velocity == pytest.approx(exact[1] * math.tau / 2.0, rel=1e-6)


def test_that_heartbeats_tell_errors_by_their_lowest_bit_and_whether_it_is_in_closed_loop(c):
    beat = message("Heartbeat")
    choices = beat.get_signal_by_name("Axis_Error").choices
    assert {1 << number - 1 for number in frames.ERRORS.names} == set(choices) - {0}
    for bits in (*choices, 0x80000000, 0x3000100):
        for state in range(14):
            data = beat.encode({"Axis_Error": bits, "Axis_State": state, "Procedure_Result": 0,
                                "Trajectory_Done_Flag": 1})
            kind, said = c.hear(Frame(beat.frame_id, data))
            assert (kind, said.error, said.enabled) == (BEAT, (bits & -bits).bit_length(), state == 8)


def test_that_its_version_is_heard(c):
    own = message("Get_Version")
    rest = dict.fromkeys((signal.name for signal in own.signals), 5)
    for protocol, minor, value in ((2, 6, 0x00060A), (1, 6, 1), (2, 0, 0x00000A)):
        data = own.encode(rest | {"Protocol_Version": protocol, "Fw_Version_Major": 0, "Fw_Version_Minor": minor,
                                  "Fw_Version_Revision": 10})
        kind, said = c.hear(Frame(own.frame_id, data))
        assert (kind, said.setting, said.value) == (SETTING, frames.VERSION.number, value)
    assert c.hear(Frame(own.frame_id, bytes((2, 5, 2, 0, 0, 0, 0, 1))))[1].value == 1  # no version


@given(st.binary(max_size=8), st.integers(0, 31), st.sampled_from([ID, ID + 1]), st.booleans())
def test_that_any_bytes_are_either_understood_as_the_table_has_it_or_not_heard(c, data, number, id, extended):
    kind, _ = c.hear(Frame(id << 5 | number, data, extended))
    if id != ID or extended or len(data) != 8:
        assert kind == NOTHING
    elif number == frames.GET_ESTIMATES:
        turns, speed = struct.unpack("<2f", data)
        assert kind == (STATE if abs(turns) < 2047.0 and abs(speed) < math.inf else NOTHING)
    else:
        assert kind == {0x01: BEAT, frames.GET_VERSION: SETTING}.get(number, NOTHING)
