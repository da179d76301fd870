"""Tests of servos on a half-duplex serial bus in a mechanism file: rules that concern several keys, and the bus load.
"""

import math
from dataclasses import replace

import pytest

from femtorque.codegen.board import load_board, served
from femtorque.codegen.board.fieldbus import lines
from femtorque.codegen.common import MECHANISMS, BadInput
from femtorque.codegen.control import joint_constants
from femtorque.codegen.control.drives import drive_rows, loop_gain, setting_rows
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.verify import examine
from femtorque.hil.drives.families.dynamixel.servo import MODELS

SO101 = MECHANISMS / "so101_sts.toml"
PAN = 'drive = { type = "feetech-sts3215-12v", bus = "servos", id = 1 }'
VOLTS = "bus_voltage = 12.0"


def changed(tmp_path, *changes: tuple[str, str]):
    text = SO101.read_text(encoding="utf-8")
    for was, becomes in changes:
        assert was in text, was
        text = text.replace(was, becomes, 1)
    path = tmp_path / "so101_sts.toml"
    path.write_text(text, encoding="utf-8")
    return load_mechanism(path)


def test_a_servos_motor_comes_from_the_catalogue_or_the_file(tmp_path):
    own = "motor = { R = 4.4, L = 0.001, K = 0.008, gear = 191.0 }"
    arm = changed(tmp_path, (PAN, f"{PAN}\n{own}"))
    pan, lift = arm.joints[0], arm.joints[1]
    assert (pan.motor.R, pan.motor.gear) == (4.4, 191.0)
    assert lift.motor.K * lift.motor.gear == pytest.approx(2.565) and lift.motor.R == pytest.approx(5.269)
    assert lift.rotor == pytest.approx(0.0262)  # computed once, from the motor's inertia and the gear ratio
    assert lift.drive.pd == "board" and lift.drive.servo.zero == 2048


def test_a_supply_outside_a_servos_range_is_refused(tmp_path):
    assert DRIVES["feetech-sts3215-7v4"].servo.supply == pytest.approx((4.93, 9.87), abs=0.01)
    with pytest.raises(BadInput, match=r"board.bus_voltage = 48.0: is the supply of joint 'shoulder_pan', and "
                                       r"feetech-sts3215-12v takes 4 to 14 V; 12, or another servo"):
        changed(tmp_path, (VOLTS, "bus_voltage = 48.0"))


@pytest.mark.parametrize("volts, own, said", [(12.0, 8.0, "is not below 0.65 times board.bus_voltage"),
                                              (14.0, 3.0, "3.0: is the supply of joint 'shoulder_pan'")])
def test_a_supply_of_a_converter_is_well_below_the_boards_and_in_the_servos_range(tmp_path, volts, own, said):
    with pytest.raises(BadInput, match=said):
        changed(tmp_path, (VOLTS, f"bus_voltage = {volts}"), (PAN, PAN.replace("id = 1", f"id = 1, supply = {own}")))


def test_a_converter_scales_the_duties_of_its_servo(tmp_path):
    """The firmware's duties are shares of the board's 12 V, and this servo's are shares of 6 V."""
    own = changed(tmp_path, (PAN, PAN.replace("id = 1", "id = 1, supply = 6.0")), ("effort = 2.9", "effort = 1.4"))
    row, other = (joint_constants(own, joint) for joint in own.joints[:2])
    assert (row.resistance, row.back_emf) == (2.0 * other.resistance, 2.0 * other.back_emf)


@pytest.mark.parametrize("volts, warned", [(13.1, False), (11.0, False), (13.3, True)])
def test_a_supply_a_tenth_off_the_servos_is_warned_of(tmp_path, volts, warned):
    arm = changed(tmp_path, (VOLTS, f"bus_voltage = {volts}"))
    assert any("feetech-sts3215-12v is made for 12 V" in w for w in examine(arm).warnings) == warned


@pytest.mark.parametrize("name", [name for name, kind in DRIVES.items() if kind.servo and "330-" in name])
def test_a_servo_that_goes_on_when_its_watchdog_has_expired_closes_its_own_loop(tmp_path, name):
    kind = DRIVES[name]
    ku = kind.servo.loop.usual * kind.servo.stiffness()
    every = [("feetech-sts3215-12v", name), ("velocity = 4.0, effort = 2.9", "velocity = 4.0, effort = 0.2"),
             ("ku = 12.0, kv = 0.6", f"ku = {ku}, kv = 0.0")] * 6
    wire = ('kind = "sts"', 'kind = "dynamixel"'), (VOLTS, f"bus_voltage = {kind.servo.volts}")
    arm = changed(tmp_path, *wire, *every)
    assert {(j.drive.pd, loop_gain(j)) for j in arm.joints} == {("drive", kind.servo.loop.usual)}
    with pytest.raises(BadInput, match=r"keeps its last current when the board dies: .*; pd = \"drive\""):
        changed(tmp_path, *wire, *every, ("id = 1", 'id = 1, pd = "board"'))


@pytest.mark.parametrize("name", [name for name in DRIVES if name.startswith("dynamixel")])
def test_a_dynamixels_supply_is_that_of_its_own_registers(name):
    """The virtual servo takes its supply limits from the control tables in the e-manual."""
    model = MODELS[name.removeprefix("dynamixel-")]
    assert DRIVES[name].servo.supply == (0.1 * model.lowest, 0.1 * model.highest)


@pytest.mark.parametrize("own", [False, True])
def test_a_gear_behind_a_servo_enters_motor_limits_and_settings(tmp_path, own):
    """A motor in the file replaces the motor inside the servo, including its gear."""
    motor = "\nmotor = { R = 5.269, L = 0.001, K = 0.0074348, gear = 345.0, inertia = 2.2013e-7 }" if own else ""
    arm = changed(tmp_path, (PAN, PAN.replace("id = 1", "id = 1, gear = 1.5, sign = -1, zero = 1000") + motor),
                  ("velocity = 4.0, effort = 2.9", "velocity = 3.1, effort = 4.4"))
    pan = arm.joints[0]
    row = joint_constants(arm, pan)
    assert pan.motor.gear == pytest.approx(345.0 * 1.5)
    assert row.resistance == pytest.approx(5.269 / 2.565 / 1.5, rel=1e-4)
    assert row.back_emf == pytest.approx(2.565 * 1.5 * 400.0, rel=1e-4)
    assert pan.rotor == pytest.approx(0.0262 * 2.25, rel=1e-3) and row.effort == 4.4
    assert row.count == pytest.approx(-math.tau / 4096 / 1.5)
    settings = {row.number: row.value for row in setting_rows(arm)[:10]}
    ends = [1000 - 1.5 * at * 4096 / math.tau for at in (pan.limits.upper, pan.limits.lower)]
    assert drive_rows(arm)[0].zero == 2 * 1000
    assert (settings[9], settings[11]) == (max(math.floor(ends[0]), 0), math.ceil(ends[1]))


@pytest.mark.parametrize(("was", "becomes", "said"), [
    ("id = 2 }", "id = 1 }",
     "joint.shoulder_lift.drive.id = 1: is already used on bus 'servos' by joint 'shoulder_pan'"),
    ("id = 1 }", "id = 254 }", "joint.shoulder_pan.drive.id = 254: must be at most 253 with feetech"),
    ("id = 1 }", "id = 0 }", "joint.shoulder_pan.drive.id = 0: a servo's is 1 to 253"),
    ('kind = "sts"', 'kind = "can"', "feetech-sts3215-12v is no drive for a bus of kind 'can'; a [[bus]] of kind = "
                                     '"sts"'),
    ('"feetech-sts3215-12v"', '"damiao-4340"', "damiao-4340 is no drive for a bus of kind 'sts'"),
    ('kind = "sts"', 'kind = "sts"\nbitrate = 900000', "no rate of these servos; nearest: 1000000"),
    ('kind = "sts"', 'kind = "sts"\ndata_bitrate = 1000000', "one wire has one rate"),
    ("id = 1 }", 'id = 1, pd = "drive" }', "gains.kv = 0.6: feetech-sts3215-12v takes at most 0"),
    ("id = 1 }\ngains = { ku = 12.0, kv = 0.6 }", 'id = 1, pd = "drive" }\ngains = { ku = 15.0 }',
     "all servos of a board close their loops, or no servo"),
    ("id = 1 }", "id = 1, kp = 3.0 }", "joint.shoulder_pan.drive.kp = 3.0: feetech-sts3215-12v has none"),
    ("id = 1 }", "id = 1, zero = 4096 }", "joint.shoulder_pan.drive.zero = 4096: a servo's is one of its counts; 0 to"),
    ("id = 1 }", "id = 1, zero = 0.5 }", "joint.shoulder_pan.drive.zero = 0.5: a servo's is one of its counts"),
    ("id = 1 }", 'id = 1, firmware = "3.300" }', "joint.shoulder_pan.drive.firmware = '3.300': has parts of 0 to 255"),
    ("id = 1 }", 'id = 1, firmware = "310" }',
     "joint.shoulder_pan.drive.firmware = '310': is no version of feetech-sts3215-12v; \"3.10\""),
    ("lower = -1.91986", "lower = -3.2", "feetech-sts3215-12v tells one turn: the joint must stay within half a turn"),
    (PAN, PAN.replace("id = 1", "id = 1, gear = 2"),
     "tells one turn behind a gear of 2: the joint must stay within half a turn of its zero; at most 1.57 rad"),
    (PAN, PAN.replace("id = 1", "id = 1, gear = 1.5"),
     "joint.shoulder_pan.limits.velocity = 4.0: feetech-sts3215-12v behind a gear of 1.5 tells at most 3.14159 rad/s"),
    ("effort = 2.9", "effort = 3.0", "feetech-sts3215-12v tells at most 2.94199 N m"),
    (PAN, PAN + "\nmotor = { R = 4.4, L = 0.001, K = 0.008, gear = -191.0 }", "joint.shoulder_pan.motor.gear = -191.0: "
                                                                          "a servo has drive.sign; 191"),
])
def test_keys_that_contradict_are_refused(tmp_path, was, becomes, said):
    with pytest.raises(BadInput) as error:
        examine(changed(tmp_path, (was, becomes)))
    assert said in str(error.value), error.value


def test_a_rate_beyond_the_wire_is_refused_with_the_fastest_possible(tmp_path):
    with pytest.raises(BadInput) as error:
        examine(changed(tmp_path, ("rate_hz = 400", "rate_hz = 1000")))
    said = str(error.value)
    assert "control.rate_hz = 1000: bus 'servos' would be busy for 168% of the time with 6 drives" in said
    assert "at most 535 Hz" in said


def test_the_load_of_the_wire_is_counted_by_bytes():
    """The duty packet has 8 + 3 n bytes, the query 8 + n, the answers 14 n, the switching packet 8 + 2 n."""
    (bus,) = examine(load_mechanism(SO101)).buses
    gaps = 6 * 40e-6
    assert bus.load.worst == pytest.approx((26 + 14 + 84 + 20) * 1e-5 + gaps)
    assert bus.load.mean == pytest.approx((26 + 14 + 84) * 1e-5 + gaps)


def test_check_says_that_servos_have_no_time_limit():
    report = examine(load_mechanism(SO101))
    assert any("servos have no time limit" in line and "gripper" in line for line in report.silence)
    assert report.data()["silence"] == list(report.silence)


@pytest.mark.parametrize(("board", "usart", "dividers"), [
    ("f405rg-4", "USART1", (84, 16)), ("f405rg-6", "USART3", (42, 16)), ("nucleo-g474re-6", "USART3", (170, 16))])
def test_boards_have_a_wire_for_servos(board, usart, dividers):
    arm = load_mechanism(SO101)
    arm = replace(arm, board=replace(arm.board, use=board))
    (line,) = lines(arm, load_board(board))
    assert (line.wire.usart, (line.divider, line.divider_hsi)) == (usart, dividers)
    assert [drive.id for _, _, drive in line.drives] == [1, 2, 3, 4, 5, 6]


def test_a_board_without_such_a_wire_is_refused():
    with pytest.raises(BadInput, match="board 'odrive-v3.6' has no half-duplex wire of that name"):
        lines(load_mechanism(SO101), load_board("odrive-v3.6"))


def test_servos_need_no_channel_of_the_board():
    assert [c for _, c in served(load_mechanism(SO101), load_board("f405rg-6"))] == [None] * 6
