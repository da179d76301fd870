"""ODrive's messages in C against Python's messages, which other tests compare with the maker's table."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st

from femtorque.codegen.drive import DRIVES, application
from femtorque.codegen.drive.can import Frame
from femtorque.codegen.drive.families.odrive_can import frames
from femtorque.codegen.drive.family import Target
from tests.firmware import app

NAMES = ("ft_frame.h", "ft_drive.h", "ft_odrive_can.h", "ft_odrive_can.c")
ROW = "typedef struct { uint32_t id; float gear, torque; } ft_drive_config;\n"
GIVEN = {"ft_frame_bytes.h": "#define FT_FRAME_BYTES 8u\n", "ft_config.h": f"#pragma once\n#include <stdint.h>\n{ROW}"}
CDEF = ROW + """
typedef struct { uint32_t id, size; uint8_t data[8]; } ft_frame;
typedef struct { float position, velocity, kp, kd, torque, share, seen; } ft_drive_target;
typedef struct { uint32_t position; float velocity, torque; _Bool enabled, rests; uint8_t error, warmth, volts;
    uint32_t setting, value; } ft_drive_said;
void ft_odrive_can_enable(ft_frame *, const ft_drive_config *);
void ft_odrive_can_disable(ft_frame *, const ft_drive_config *, _Bool);
void ft_odrive_can_command(ft_frame *, const ft_drive_config *, const ft_drive_target *, float *);
void ft_odrive_can_poll(ft_frame *, const ft_drive_config *);
void ft_odrive_can_ask(ft_frame *, const ft_drive_config *, uint32_t, uint32_t);
void ft_odrive_can_release(ft_frame *, const ft_drive_config *, uint32_t);
void ft_odrive_can_look(ft_frame *, uint32_t, _Bool);
int ft_odrive_can_hear(const ft_frame *, const ft_drive_config *, ft_drive_said *);
"""
NOTHING, STATE, SETTING, _, BEAT = range(5)
REMOTE, ID, DRIVE = 1 << 30, 0x12, DRIVES["odrive-s1"]


@pytest.fixture(scope="module")
def c():
    paths = application()
    return Codec(*app.load({name: paths[name].read_text() for name in NAMES} | GIVEN, CDEF))


class Codec:
    def __init__(self, ffi, lib) -> None:
        self.ffi, self.lib, self.frame = ffi, lib, ffi.new("ft_frame *")

    def row(self, gear: float = 1.0, id: int = ID):
        return self.ffi.new("ft_drive_config *", {"id": id, "gear": gear, "torque": DRIVE.torque * gear})

    def sent(self) -> Frame:
        f = self.frame
        frame = Frame(f.id & ~REMOTE, bytes(f.data)[:f.size], remote=bool(f.id & REMOTE))
        self.ffi.buffer(f)[:] = b"\xa5" * self.ffi.sizeof("ft_frame")
        return frame

    def command(self, gear: float = 1.0, **target: float) -> Frame:
        self.lib.ft_odrive_can_command(self.frame, self.row(gear), self.ffi.new("ft_drive_target *", target),
                                       self.ffi.new("float *"))
        return self.sent()

    def hear(self, frame: Frame, gear: float = 1.0):
        number = frame.id | (1 << 31) * frame.extended
        heard = self.ffi.new("ft_frame *", (number, len(frame.data), frame.data))
        said = self.ffi.new("ft_drive_said *")
        return self.lib.ft_odrive_can_hear(heard, self.row(gear), said), said


def test_that_commands_are_bit_for_bit_those_of_the_table_behind_any_gear(c):
    for share in np.random.default_rng(7).uniform(-1.3, 1.3, 300):
        torque = float(np.float32(share * DRIVE.torque))
        wanted = frames.command(DRIVE, ID, Target(torque=torque))
        assert c.command(torque=torque, kp=30.0, position=2.0) == wanted
        assert c.command(gear=4.0, torque=4.0 * torque) == wanted


@pytest.mark.parametrize("value", [1e30, -1e30, math.inf, -math.inf, math.nan])
def test_that_no_number_beyond_the_range_is_sent(c, value):
    assert c.command(torque=value) == frames.command(DRIVE, ID, Target(torque=value))
    assert abs(struct.unpack("<f", c.command(kd=2.0, seen=value).data)[0]) <= DRIVE.torque


def test_that_the_board_damps_by_the_velocity_that_the_drive_has_reported(c):
    assert struct.unpack("<f", c.command(kd=2.0, seen=1.5).data)[0] == -3.0
    assert struct.unpack("<f", c.command(gear=2.0, kd=2.0, seen=-1.5).data)[0] == 1.5


def test_that_it_is_switched_as_the_table_has_it(c):
    c.lib.ft_odrive_can_enable(c.frame, c.row())
    assert c.sent() == frames.set_state(ID, frames.CLOSED_LOOP)
    c.lib.ft_odrive_can_disable(c.frame, c.row(), False)
    assert c.sent() == frames.set_state(ID, frames.IDLE)
    c.lib.ft_odrive_can_disable(c.frame, c.row(), True)
    assert c.sent() == frames.clear_errors(ID)


def test_that_it_is_asked_by_remote_frames(c):
    c.lib.ft_odrive_can_poll(c.frame, c.row())
    assert c.sent() == frames.poll(ID)
    c.lib.ft_odrive_can_ask(c.frame, c.row(), frames.VERSION.number, 4)
    assert c.sent() == frames.ask(ID, frames.GET_VERSION)


def test_that_it_is_told_its_mode_and_no_torque_while_it_is_off_and_while_it_is_being_enabled(c):
    """Every fourth enable frame asks for closed loop. A command stays unchanged."""
    nothing = frames.command(DRIVE, ID, Target())
    idle, mode = frames.set_state(ID, frames.IDLE), frames.set_mode(ID)
    loop = frames.set_state(ID, frames.CLOSED_LOOP)
    for tick in range(16):
        c.lib.ft_odrive_can_disable(c.frame, c.row(), False)
        c.lib.ft_odrive_can_release(c.frame, c.row(), tick)
        assert c.sent() == (idle, mode, idle, nothing)[tick % 4]
        c.lib.ft_odrive_can_enable(c.frame, c.row())
        c.lib.ft_odrive_can_look(c.frame, tick, False)
        assert c.sent() == (loop, mode, nothing, mode)[tick % 4]
        for enabled in (False, True):
            c.lib.ft_odrive_can_command(c.frame, c.row(), c.ffi.new("ft_drive_target *", {"torque": 1.0}),
                                        c.ffi.new("float *"))
            c.lib.ft_odrive_can_look(c.frame, tick, enabled)
            assert c.sent() == frames.command(DRIVE, ID, Target(torque=1.0))


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
