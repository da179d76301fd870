"""Comparison of drives' commands with third-party encoders and published vectors, byte for byte."""

import math
from unittest import mock

import numpy as np
import pytest
from damiao_motor.core.motor import DaMiaoMotor
from scservo_sdk import GroupSyncWrite, protocol_packet_handler, scservo_def

from femtorque.codegen.drive import mit
from femtorque.codegen.drive.catalogue import DRIVES
from femtorque.codegen.drive.families.feetech import FAMILY, frames as feetech
from femtorque.codegen.drive.family import Target
from femtorque.codegen.drive.fields import Field, Layout, Range
from tests.firmware.frames import Port
from tests.firmware.test_drive_frames import THEIRS


def targets(drive, count: int):
    chance = np.random.default_rng(3)
    for share in chance.uniform(-1.3, 1.3, (count, 5)):  # values outside the ranges are included
        yield Target(*(float(s * most)
                       for s, most in zip(share, (drive.position, drive.velocity, drive.kp, drive.kd, drive.torque),
                                                          strict=True)))


@pytest.mark.parametrize("name", THEIRS)
def test_damiao_commands_are_those_of_damiao_motor_to_one_step(name):
    """damiao-motor truncates and femtorque rounds, so each field is equal to theirs or one above."""
    drive, theirs = DRIVES[name], DaMiaoMotor(1, 0x11, mock.Mock(), motor_type=THEIRS[name])
    for t in targets(drive, 300):
        ours = mit.COMMAND.unpack(mit.command(drive, 1, t).data)
        them = mit.COMMAND.unpack(theirs.encode_cmd_msg(t.position, t.velocity, t.torque, t.kp, t.kd))
        for field in ours:
            assert ours[field] - them[field] in (0, 1), (field, t)


def test_a_printed_command():
    """For a DM4340, damiao-motor 1.0.6 prints the truncated values 1 rad, -0.5 rad/s, 30, 1, 3.5 N m."""
    drive = DRIVES["damiao-4340"]
    printed = mit.COMMAND.unpack(bytes.fromhex("8a3c7990f53338ff"))
    ours = mit.COMMAND.unpack(mit.command(drive, 1, Target(1.0, -0.5, 30.0, 1.0, 3.5)).data)
    exact = {n: (getattr(Target(1.0, -0.5, 30.0, 1.0, 3.5), n) - r.low) / r.step for n, r in mit.ranges(drive).items()}
    assert {n: math.floor(x + 1e-9) for n, x in exact.items()} == printed
    assert {n: round(x) for n, x in exact.items()} == ours


def test_a_field_never_wraps():
    scale = Range(-12.5, 12.5, 16)
    assert [scale.encode(x) for x in (-np.inf, -1e9, 1e9, np.inf)] == [0, 0, 65535, 65535]
    assert scale.decode(scale.encode(float("nan"))) == pytest.approx(0.0, abs=scale.step)
    with pytest.raises(OverflowError, match="a = 16"):
        Layout((Field("a", 4), Field("b", 4))).pack({"a": 16, "b": 0})


def test_servo_packets_are_those_of_the_published_sdk():
    scservo_def.SCS_END = 0
    port, handler = Port(), protocol_packet_handler()
    group = GroupSyncWrite(port, handler, feetech.DUTY, 2)
    shares = {1: 0.25, 2: -1.0, 3: 7.0, 250: float("nan")}
    for id, share in shares.items():
        group.addParam(id, list(feetech.duty(share)))
    group.txPacket()
    assert port.sent == feetech.duties(shares)
    asked = Port()
    handler.syncReadTx(asked, feetech.POSITION, feetech.STATE, [1, 2, 3], 3)
    assert asked.sent == feetech.ask([1, 2, 3])


def test_what_servos_are_asked_and_told_to_be_set_to_is_as_the_published_library_has_it():
    handler = protocol_packet_handler()
    for register in (setting.register for setting in FAMILY.settings):
        asked, told = Port(), Port()
        number = 0 if register.number == feetech.FIRMWARE else register.number
        handler.syncReadTx(asked, number, register.size, [5, 253], 2)
        assert asked.sent == feetech.ask([5, 253], number, register.size)
        group = GroupSyncWrite(told, handler, number, register.size)
        value = 0x1234 & (1 << 8 * register.size) - 1
        group.addParam(5, [0x34, 0x12][:register.size])
        group.txPacket()
        assert told.sent == feetech.settings({5: value}, number, register.size)
    switched = Port()
    group = GroupSyncWrite(switched, handler, feetech.TORQUE_ENABLE, 1)
    for id, on in ((1, True), (2, False), (253, True)):
        group.addParam(id, [int(on)])
    group.txPacket()
    assert switched.sent == feetech.torques({1: True, 2: False, 253: True})
