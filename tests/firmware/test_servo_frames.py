"""Frames to and from one servo in C, against the documentation of its registers."""

import struct

import numpy as np
import pytest

from femtorque.codegen.drive.families.feetech import frames as feetech
from tests.firmware.frames import AIM, GOAL, NOTHING, RUN, SET, SETTING, STATE, STS, SWITCH, ServoFrames, compiled

STEP, QUIET = 1e-3, 8


@pytest.fixture(scope="module")
def c():
    return compiled("feetech", "sts", cdef=STS)


class Servo(ServoFrames):
    family = "feetech"

    def duty(self, share: float, most: float = 1.0) -> bytes:
        self.row.share = most
        return self.output(share=share)


def counts(duty: bytes) -> int:
    word = int.from_bytes(duty, "little")
    return -(word & 0x3FF) if word & 0x400 else word


def test_that_a_duty_is_that_of_the_table(c):
    servo = Servo(c)
    for share in [*np.random.default_rng(1).uniform(-1.3, 1.3, 300), 0.0, -0.0, 4e-4, -4e-4, 1.0, -1.0]:
        servo.left[0] = 0.0
        share = float(np.clip(share, -1.0, 1.0)) if abs(share / STEP % 1.0 - 0.5) > 0.01 else 0.0
        assert servo.duty(share) == feetech.duty(share), share


@pytest.mark.parametrize("most", [0.1, 0.5, 0.98])
def test_that_no_duty_is_beyond_the_limit_and_nothing_is_carried_beyond_it(c, most):
    servo = Servo(c)
    for share in (most + 0.3, -most - 0.3, 1e30, -1e30, float("inf"), float("-inf")):
        for _ in range(50):
            assert servo.duty(share, most) == feetech.duty(float(np.copysign(most, share)))
            assert abs(servo.left[0]) <= 0.51 * STEP
        assert abs(counts(servo.duty(0.0, most))) <= 1


def test_that_no_number_is_no_duty(c):
    servo = Servo(c)
    servo.left[0] = 0.7 * STEP
    assert counts(servo.duty(float("nan"))) == 1  # the carried error
    assert abs(servo.left[0]) <= 0.51 * STEP


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_that_what_rounding_leaves_over_of_a_duty_is_made_up_for(c, sign):
    for asked in sign * np.random.default_rng(2).uniform(0.0, 0.9, 20):
        servo = Servo(c)
        given = [counts(servo.duty(float(asked))) * STEP for _ in range(400)]
        assert abs(np.mean(given) - asked) < 0.01 * STEP
        assert np.max(np.abs(np.array(given) - asked)) <= 1.001 * STEP


def test_what_else_a_servo_is_told(c):
    servo = Servo(c)
    assert servo.of("enable") == (SWITCH | RUN, 0, 0, bytes(4))
    for clear in (False, True):
        assert servo.of("disable", clear) == (SWITCH, 0, 0, bytes(4))
    assert servo.of("ask", 48, 2) == (0, 48, 2, bytes(4))
    assert servo.of("ask", feetech.FIRMWARE, 2) == (0, 0, 2, bytes(4))
    assert servo.of("write", 48, 2, 0x1234) == (SET, 48, 2, b"\0\0\x34\x12")


@pytest.mark.parametrize(("phase", "added"), [
    (0, (SWITCH | QUIET, 0, 0, bytes(4))), (1, (SET | QUIET, 55, 1, b"\0\0\1\0")), (2, (SET | QUIET, 7, 1, bytes(4))),
    (3, (SWITCH, 0, 0, bytes(4)))])
def test_that_a_silent_servo_is_given_quiet_then_told_to_forget_then_to_answer_at_once(c, phase, added):
    servo = Servo(c)
    servo.of("disable", False)
    servo.lib.ft_feetech_wake(servo.frame, servo.row, phase)
    assert servo.meant() == added


@pytest.mark.parametrize(("enabled", "every"), [(True, 8), (False, 2)])
def test_that_it_is_asked_now_and_then_whether_its_motor_is_on(c, enabled, every):
    servo = Servo(c)
    for tick in range(32):
        servo.of("enable")
        servo.lib.ft_feetech_look(servo.frame, tick, enabled)
        asked = (feetech.TORQUE_ENABLE, 1) if tick % every == 0 else (0, 0)
        assert servo.meant() == (SWITCH | RUN, *asked, bytes(4))


@pytest.mark.parametrize("enabled", [True, False])
def test_that_the_gain_of_a_loop_is_read_in_turn_with_the_switch_once_the_motor_is_on(enabled):
    servo = Servo(compiled("feetech", "sts", cdef=GOAL + STS, loop=1))
    for tick in range(32):
        servo.of("enable")
        servo.lib.ft_feetech_look(servo.frame, tick, enabled)
        asked = (21, 2) if enabled and tick % 16 == 8 else (40, 1) if tick % (8 if enabled else 2) == 0 else (0, 0)
        assert servo.meant() == (SWITCH | RUN, *asked, bytes(4))


@pytest.mark.parametrize(("kp", "size", "sent"), [
    (1.0, 8, (RUN | AIM, 0, 0, struct.pack("<HH", 1500, 500))), (0.0, 4, (RUN, 0, 0, bytes(4)))])
def test_that_a_goal_is_that_of_the_position_and_without_a_target_and_a_duty_none(kp, size, sent):
    servo = Servo(compiled("feetech", "sts", cdef=GOAL + STS, loop=1), step=STEP, scale=500.0, share=0.5)
    servo.size = size
    target = servo.ffi.new("ft_drive_target *", {"kp": kp, "position": 1.5, "most": 6.0})
    assert servo.of("command", target, servo.left) == sent


@pytest.mark.parametrize(("told", "counts"), [
    (0, 0), (1, 1), (4095, 4095), (4096, 0), (5000, 904), (0x8000 | 1, 4095), (0x8000 | 4096, 0), (0x8000, 0),
    (0x8000 | 5000, 3192)])
def test_that_a_position_is_taken_within_its_turn_bit_15_being_its_sign(c, told, counts):
    servo = Servo(c)
    assert servo.hear(told.to_bytes(2, "little") + bytes(6), feetech.POSITION, feetech.STATE) == STATE
    assert servo.said.position == counts


def test_what_a_state_tells(c):
    servo, on = Servo(c), 1 << 23
    for is_on in (False, True):
        data = (2048).to_bytes(2, "little") + b"\x11\x22\x33\x44" + bytes([121, 37])
        assert servo.hear(data, feetech.POSITION, feetech.STATE, 0x24 | on * is_on) == STATE
        s = servo.said
        assert (s.position, s.velocity, s.torque, s.enabled) == (2048, 0.0, 0.0, is_on)
        assert (s.error, s.volts, s.warmth) == (0x24, 121, 37)
    assert servo.hear(data, feetech.POSITION, feetech.STATE, id=6) == NOTHING


def test_that_settings_of_one_and_two_bytes_are_heard(c):
    servo = Servo(c)
    for number, size, value in ((33, 1, 0x02), (48, 2, 0x7702)):
        assert servo.hear(b"\2\x77\x55", number, size) == SETTING
        assert (servo.said.setting, servo.said.value) == (number, value)
        assert not servo.said.rests
    assert servo.hear(b"\0", 33, 1) == SETTING and servo.said.value == 0 and not servo.said.rests
    for on in (0, 1):
        assert servo.hear(bytes([on]), feetech.TORQUE_ENABLE, 1) == SETTING and servo.said.rests == (not on)
    assert servo.hear(b"\3\x0a", 0, 2) == SETTING
    assert (servo.said.setting, servo.said.value) == (feetech.FIRMWARE, feetech.firmware_word("3.10"))
