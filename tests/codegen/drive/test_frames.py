"""Comparison of drives' frames with third-party encoders and published vectors, byte for byte."""

import math
from unittest import mock

import can as python_can
import numpy as np
import pytest
from damiao_motor.core import motor as damiao_motor
from robstride import client as robstride_client
from scservo_sdk import GroupSyncWrite, protocol_packet_handler, scservo_def

from femtorque.codegen.drive import mit
from femtorque.codegen.drive.catalogue import CATALOGUE, DRIVES
from femtorque.codegen.drive.families.damiao import frames as damiao
from femtorque.codegen.drive.families.feetech import frames as feetech
from femtorque.codegen.drive.families.robstride import frames as robstride
from femtorque.codegen.drive.family import State, Target
from femtorque.codegen.drive.fields import Field, Layout, Range
from tests.firmware.frames import Port
from tests.support import dialects

MIT = [d for d in CATALOGUE if d.family not in ("robstride", "moteus", "odrive-can")]
THEIRS = {"damiao-4340": "4340", "damiao-4310": "4310", "damiao-8009": "8009", "damiao-10010l": "10010L"}


def targets(drive, count: int):
    chance = np.random.default_rng(3)
    for share in chance.uniform(-1.3, 1.3, (count, 5)):  # values outside the ranges are included
        yield Target(*(float(s * most)
                       for s, most in zip(share, (drive.position, drive.velocity, drive.kp, drive.kd, drive.torque),
                                                          strict=True)))


def their_motor(name: str):
    return damiao_motor.DaMiaoMotor(1, 0x11, mock.Mock(), motor_type=name)


@pytest.mark.parametrize("name", THEIRS)
def test_damiao_commands_are_those_of_damiao_motor_to_one_step(name):
    """damiao-motor truncates and femtorque rounds, so each field is equal to theirs or one above."""
    drive, theirs = DRIVES[name], their_motor(THEIRS[name])
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


@pytest.mark.parametrize("name", THEIRS)
def test_damiao_replies_are_read_as_damiao_motor_reads_them(name):
    drive, theirs = DRIVES[name], their_motor(THEIRS[name])
    chance = np.random.default_rng(4)
    for _ in range(100):
        data = bytes([0x11, *chance.integers(0, 256, 7).tolist()])
        ours = dialects.reply(drive, data)
        them = theirs.decode_sensor_feedback(data)
        assert (ours.position, ours.velocity,
                ours.torque) == pytest.approx((them["pos"], them["vel"], them["torq"]), abs=1e-9)
        assert ours.temperature == them["t_mos"]


@pytest.mark.parametrize("drive", MIT, ids=lambda d: d.name)
def test_what_a_drive_answers_is_read_back_to_half_a_step(drive):
    scales = mit.ranges(drive)
    for t in targets(drive, 30):
        position, velocity, torque = (min(max(v, -m), m) for v, m in (
            (t.position, drive.position), (t.velocity, drive.velocity), (t.torque, drive.torque)))
        found = dialects.reply(drive, dialects.answer(drive, 5, State(5, t.position, t.velocity, t.torque)))
        assert found.id == 5 and not found.fault
        for name, sent in (("position", position), ("velocity", velocity), ("torque", torque)):
            assert abs(getattr(found, name) - sent) <= 0.5 * scales[name].step * (1 + 1e-9)


def test_a_field_never_wraps():
    scale = Range(-12.5, 12.5, 16)
    assert [scale.encode(x) for x in (-np.inf, -1e9, 1e9, np.inf)] == [0, 0, 65535, 65535]
    assert scale.decode(scale.encode(float("nan"))) == pytest.approx(0.0, abs=scale.step)
    with pytest.raises(OverflowError, match="a = 16"):
        Layout((Field("a", 4), Field("b", 4))).pack({"a": 16, "b": 0})


def test_damiao_registers_as_damiao_motor_asks_for_them():
    bus = mock.Mock()
    theirs = damiao_motor.DaMiaoMotor(0x123, 0x11, bus, motor_type="4340")
    theirs.request_register_reading(23)
    sent = bus.send.call_args[0][0]
    ours = damiao.read(0x123, "TMAX")
    assert (sent.arbitration_id, bytes(sent.data)) == (ours.id, ours.data)
    assert damiao.value(bytes.fromhex("1100331700 00e041")) == (0x11, "TMAX", 28.0)
    with pytest.raises(ValueError, match="no register reply"):
        damiao.value(bytes(8))
    for r in damiao.REGISTERS.values():
        them = damiao_motor.REGISTER_TABLE[r.number]
        assert (them.variable, them.data_type) == (r.name, {"f": "float", "I": "uint32"}[r.format])


def test_robstride_states_are_read_as_the_robstride_package_reads_them():
    """The package uses the ranges of an RS01: velocity +-44 rad/s, torque +-17 N m, position +-4 pi.

    The package does not read the sixth fault bit, so a separate assertion tests it.
    """
    client = robstride_client.Client(mock.Mock())
    chance = np.random.default_rng(5)
    for _ in range(100):
        body = chance.integers(0, 256, 8).astype(np.uint8).tobytes()
        told = robstride.identifier(robstride.STATE, 2 << 14 | int(chance.integers(32)) << 8 | 7, client.host_can_id)
        them = client._parse_feedback_resp(python_can.Message(arbitration_id=told, data=body, is_extended_id=True), 7,
                                           1)
        ours = robstride.reply(DRIVES["robstride-01"], robstride.Frame(told, body, extended=True))
        assert ours.position == pytest.approx(them.angle, abs=0.01)
        assert (ours.velocity, ours.torque) == pytest.approx((them.velocity, them.torque), abs=0.02)
        assert len(ours.fault.split(", ")) * bool(ours.fault) == len(them.errors)
    sixth = robstride.Frame(robstride.identifier(robstride.STATE, 1 << 13 | 7, 0xFD), bytes(8), extended=True)
    assert robstride.reply(DRIVES["robstride-01"], sixth).fault == "not calibrated"


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
    for register in feetech.REGISTERS.values():
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


def test_a_servos_answer_is_believed_with_its_check_sum_only():
    good = feetech.packet(3, 0, bytes([0x10, 0x08, 0, 0]))  # in an answer, the error byte replaces the instruction byte
    assert feetech.status(good) == feetech.Status(3, 0, bytes([0x10, 0x08, 0, 0]))
    for k in range(len(good)):
        with pytest.raises(ValueError, match="packet|check sum"):
            feetech.status(good[:k] + bytes([good[k] ^ 0x20]) + good[k + 1:])
