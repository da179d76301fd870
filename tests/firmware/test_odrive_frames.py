"""Encoding of ODrive's messages in C, against the Python encoder. Other tests compare the Python encoder with the
maker's table."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st

from femtorque.codegen.drive import DRIVES
from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.families.odrive_can import frames
from femtorque.codegen.drive.family import Target
from tests.firmware.frames import BEAT, LONG, NOTHING, SETTING, STATE, Frames, compiled

ID, DRIVE = 0x12, DRIVES["odrive-s1"]


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
    assert c.told("odrive_can_enable", c.row()) == frames.set_state(ID, frames.CLOSED_LOOP)
    assert c.told("odrive_can_disable", c.row(), False) == frames.set_state(ID, frames.IDLE)
    assert c.told("odrive_can_disable", c.row(), True) == frames.clear_errors(ID)


def test_that_it_is_asked_by_remote_frames(c):
    assert c.told("odrive_can_poll", c.row()) == frames.poll(ID)
    assert c.told("odrive_can_ask", c.row(), frames.VERSION.number, 4) == frames.ask(ID, frames.GET_VERSION)


def test_that_it_is_told_its_mode_and_no_torque_while_it_is_off_and_while_it_is_being_enabled(c):
    """Every fourth enable frame requests closed-loop control. The function does not change a command."""
    nothing = frames.command(DRIVE, ID, Target())
    idle, mode = frames.set_state(ID, frames.IDLE), frames.set_mode(ID)
    loop = frames.set_state(ID, frames.CLOSED_LOOP)
    for tick in range(16):
        c.lib.ft_odrive_can_disable(c.frame, c.row(), False)
        assert c.told("odrive_can_release", c.row(), tick) == (idle, mode, idle, nothing)[tick % 4]
        c.lib.ft_odrive_can_enable(c.frame, c.row())
        assert c.told("odrive_can_look", tick, False) == (loop, mode, nothing, mode)[tick % 4]
        for enabled in (False, True):
            c.lib.ft_odrive_can_command(c.frame, c.row(), c.ffi.new("ft_drive_target *", {"torque": 1.0}),
                                        c.ffi.new("float *"))
            assert c.told("odrive_can_look", tick, enabled) == frames.command(DRIVE, ID, Target(torque=1.0))


def test_that_positions_are_counts_of_a_turn_to_half_a_count(c):
    for turns, speed in np.random.default_rng(2).uniform(-1.0, 1.0, (200, 2)) * (7.0, 20.0):
        data = struct.pack("<2f", turns, speed)
        kind, said = c.hear(Frame(frames.answer_id(ID), data), gear=2.0)
        exact = struct.unpack("<2f", data)
        counts = (said.position + 2**31) % 2**32 - 2**31
        assert kind == STATE and abs(counts - exact[0] * 2**20) <= 1.0
        assert said.velocity == pytest.approx(exact[1] * math.tau / 2.0, rel=1e-6)


def test_that_heartbeats_tell_errors_by_their_lowest_bit_and_whether_it_is_in_closed_loop(c):
    for bits in (0, 1, 0x200, 0x1000000, 0x40000000, 0x80000000, 0x3000100):
        for state in range(16):
            data = struct.pack("<IB3x", bits, state)
            kind, said = c.hear(Frame(ID << 5 | frames.HEARTBEAT, data))
            assert (kind, said.error, said.enabled) == (BEAT, *frames.heartbeat(data))


def test_that_its_version_is_heard(c):
    for data in (bytes((2, 5, 2, 0, 0, 6, 10, 0)), bytes((1, 5, 2, 0, 0, 6, 10, 0)), bytes((2, 5, 2, 0, 0, 0, 0, 1))):
        kind, said = c.hear(Frame(ID << 5 | frames.GET_VERSION, data))
        assert (kind, said.setting, said.value) == (SETTING, frames.VERSION.number, frames.version(data))


@given(st.binary(max_size=8), st.integers(0, 31), st.sampled_from([ID, ID + 1]), st.booleans())
def test_that_any_bytes_are_either_understood_as_the_table_has_it_or_not_heard(c, data, message, id, extended):
    kind, _ = c.hear(Frame(id << 5 | message, data, extended))
    if id != ID or extended or len(data) != 8:
        assert kind == NOTHING
    elif message == frames.GET_ESTIMATES:
        try:
            frames.estimates(ID, data)
        except ValueError:
            assert kind == NOTHING
        else:
            assert kind == STATE
    else:
        assert kind == {frames.HEARTBEAT: BEAT, frames.GET_VERSION: SETTING}.get(message, NOTHING)
