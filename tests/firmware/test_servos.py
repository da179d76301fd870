"""Servos on a wire: their packets in each state, and the effects of their answers."""

import dataclasses
import math

import numpy as np
import pytest
from scservo_sdk import GroupSyncWrite, protocol_packet_handler

from femtorque.codegen.drive.families.feetech import frames as feetech
from femtorque.codegen.mechanism import Safety
from femtorque.codegen.motion import from_rows, knots
from femtorque.hil.drives.families.feetech import servo as sts
from femtorque.host.link import drives
from tests.firmware.frames import Port
from tests.support import pc
from tests.support.servos import Served, so101

PAN, LIFT, ELBOW = range(3)
IDS = range(1, 7)
COUNT = math.tau / 4096


def arm(**changes):
    """Return the arm of six servos. changes: changes of the first joint's drive."""
    mechanism = so101()
    first = mechanism.joints[0]
    drive = dataclasses.replace(first.drive, **changes)
    return dataclasses.replace(mechanism, joints=(dataclasses.replace(first, drive=drive), *mechanism.joints[1:]),
                               safety=Safety(host="coast"))


def ran(**changes) -> Served:
    """Return a board whose servos have been set up. changes: changes of the first joint's drive."""
    app = Served(arm(**changes))
    app.run(160)
    return app


@pytest.fixture
def board() -> Served:
    return ran()


def held(**changes) -> Served:
    app = ran(**changes)
    assert app.command("ARM") == "NONE"
    app.run(30)
    assert app.state == "HOLD"
    return app


def published(register: int, size: int, values: dict[int, int]) -> bytes:
    """Return a SYNC WRITE of the published library."""
    port = Port()
    group = GroupSyncWrite(port, protocol_packet_handler(), register, size)
    for id, value in values.items():
        group.addParam(id, list(value.to_bytes(size, "little")))
    group.txPacket()
    return port.sent


def question(register: int, size: int) -> bytes:
    port = Port()
    protocol_packet_handler().syncReadTx(port, register, size, list(IDS), len(IDS))
    return port.sent


@pytest.mark.parametrize("ticks", range(40, 81, 8))
def test_that_servos_that_come_up_later_than_the_board_are_set_up_whenever_that_is(ticks):
    """With their factory delay, the last servos would answer a tick late and so never be received."""
    app = Served(arm())
    for servo in app.servos.values():
        servo.power_off()
    app.run(ticks)
    for name, servo in app.servos.items():
        servo.power_up(app.angle[name])
    app.run(160)
    assert app.command("ARM") == "NONE"


def test_that_servos_as_they_come_are_set_up_and_nothing_is_stored_in_them(board):
    """New servos wait 0.5 ms before each answer. New servos are in position mode, and their storage is unlocked."""
    for servo in board.servos.values():
        assert [servo.get(at) for at in (sts.LOCK, sts.MODE, sts.DELAY)] == [1, 2, 0]
        assert (servo.stored[sts.MODE], servo.stored[sts.DELAY]) == (0, 250)
    assert board.command("ARM") == "NONE"


def test_that_with_the_outputs_off_motors_are_off_in_every_tick(board):
    off = published(44, 2, dict.fromkeys(IDS, 0)) + published(40, 1, dict.fromkeys(IDS, 0)) + question(56, 8)
    for _ in range(90):
        board.run(1)
        assert board.sent == off


def test_that_silent_servos_are_told_to_answer_at_once_after_a_tick_in_which_the_wire_is_left_quiet():
    """The board wakes silent servos once in a tenth of a second. In between, the board asks the servos for their
    state, since silent servos may be late and not lost."""
    app = Served(arm())
    app.line.servos = ()
    app.run(60)
    sent = []
    for _ in range(2 * 101):
        app.run(1)
        sent.append(app.sent)
    nothing = published(44, 2, dict.fromkeys(IDS, 0))
    asked = nothing + published(40, 1, dict.fromkeys(IDS, 0)) + question(56, 8)
    woken = [nothing, nothing + published(55, 1, dict.fromkeys(IDS, 1)),
             nothing + published(7, 1, dict.fromkeys(IDS, 0))]
    first = sent.index(nothing)
    again = sent.index(nothing, first + 3)
    assert sent[first:again] == woken + [asked] * (again - first - 3)
    assert again - first == round(app.mechanism.control.rate_hz / 10) + 1


def test_that_a_tick_in_motion_is_the_duties_and_a_question_as_the_published_library_packs_them():
    app = held()
    asked = []
    for _ in range(32):
        app.run(1)
        told = {servo.id: servo.get(44, 2) for servo in app.servos.values()}
        duties = published(44, 2, told)
        assert app.sent.startswith(duties)
        asked.append(app.sent[len(duties):])
    assert set(asked) == {question(56, 8), question(40, 1)} and asked.count(question(40, 1)) == 4


def test_that_motors_are_switched_on_with_no_duty_and_get_one_when_they_say_so():
    app = Served(arm())
    app.angle["shoulder_lift"] = 0.4
    app.run(160)
    app.packets.clear()
    assert app.command("ARM") == "NONE"
    app.run(30)
    told = [p for p in app.packets if p[4] == 0x83]
    on = published(40, 1, dict.fromkeys(IDS, 1))
    first = told.index(on)
    assert told[first - 1] == published(44, 2, dict.fromkeys(IDS, 0))
    assert all(servo.driving for servo in app.servos.values())
    assert abs(app.duty("shoulder_lift")) > 0.02


def test_that_while_motors_are_switched_on_they_are_asked_in_every_second_tick_whether_they_are():
    """The board switches the servos on in every tick, until all of them report that they are on."""
    app = ran()
    app.post("ARM")
    sent = []
    for _ in range(24):
        app.servos["elbow_flex"].put(sts.ENABLE, 0)
        app.run(1)
        sent.append(app.sent)
    on = published(44, 2, dict.fromkeys(IDS, 0)) + published(40, 1, dict.fromkeys(IDS, 1))
    first = next(k for k, what in enumerate(sent) if what.startswith(on))
    asked = [what.removeprefix(on) for what in sent[first:first + 4]]
    assert {asked[0], asked[1]} == {question(40, 1), question(56, 8)} and asked[2:] == asked[:2]


def test_that_a_servo_tells_where_its_joint_is_round_the_end_of_its_turn():
    app = Served(arm(servo=dataclasses.replace(so101().joints[0].drive.servo, zero=4090)))
    app.place("shoulder_pan", 4090)
    app.run(160)
    assert "HOMED" in app.flags and app.found[PAN] == pytest.approx(0.0, abs=COUNT)
    for counts in (4080, 4095, 4096, 4110, 4200, 4100, 4094, 4000):
        app.place("shoulder_pan", counts)
        app.run(4)
        assert app.found[PAN] == pytest.approx((counts - 4090) * COUNT, abs=COUNT)


def test_that_the_other_way_round_is_the_other_way_round():
    app = held(sign=-1)
    app.angle["shoulder_pan"] = 0.02
    app.run(10)
    assert app.found[PAN] == pytest.approx(-0.02, abs=COUNT)
    assert app.duty("shoulder_pan") < 0.0  # the hand pulls the joint up, and the servo's output turns down


@pytest.mark.parametrize(("volts", "believed"), [(10.0, 10.0), (12.0, 12.0), (14.0, 14.0), (8.1, 12.0), (15.9, 12.0)])
def test_that_a_duty_is_a_share_of_the_servos_own_supply_unless_it_is_far_from_the_boards(volts, believed):
    """If the reported supply is off by a third, the duty is the same as with the board's 12 V."""
    app = held()
    for servo in app.servos.values():
        servo.registers[sts.HIGHEST] = 200
    app.volts = volts
    app.run(10)
    shares = []
    for _ in range(64):
        app.run(1)
        shares.append(app.duty("shoulder_lift"))
    law = app.run(1)["duty"][-1][LIFT]
    assert np.mean(shares) * believed == pytest.approx(law * 12.0, rel=5e-3)


@pytest.mark.parametrize("side", [-1, 1])
def test_that_a_duty_stays_within_the_torque_limit(side):
    """A joint far from its target gets at most a fifth of the supply, in the law and on the wire."""
    mechanism, i = arm(), 4
    joint = mechanism.joints[i]
    servo = dataclasses.replace(joint.drive.servo, limit=0.2)
    joint = dataclasses.replace(joint, drive=dataclasses.replace(joint.drive, servo=servo))
    app = Served(dataclasses.replace(mechanism, joints=(*mechanism.joints[:i], joint, *mechanism.joints[i + 1:])))
    app.run(160)
    assert app.command("ARM") == "NONE"
    app.run(30)
    app.lib.fake_shift(i, side * 2**28)
    app.run(1)
    for _ in range(20):
        law = app.run(1)["duty"][-1][i]
        assert side * law == pytest.approx(-0.2) and app.duty(joint.name) == -0.2 * side


@pytest.mark.parametrize(("register", "size", "value", "said"), [
    (sts.MODEL, 2, 2825, "its model is 2825, and must be 777"),
    (sts.OFFSET, 2, 0x800 | 100, "its position offset is -100, and must be 0"),
    (sts.TORQUE, 2, 600, "its torque limit is 600, and must be 1000"),
    (sts.FACTOR, 1, 2, "its angular resolution is 2, and must be 1"),
    (sts.LEAST, 2, 1500, "its least position is 1500, and must be no more than the joint's lower end"),
    (sts.MOST, 2, 3000, "its largest position is 3000, and must be no less than the joint's upper end"),
])
def test_that_a_servo_that_is_set_otherwise_is_not_armed(register, size, value, said):
    app = Served(arm())
    servo = app.servos["shoulder_pan"]
    servo.stored[register:register + size] = value.to_bytes(size, "little")
    servo.power_up(0.0)
    app.run(160)
    assert app.command("ARM") == "DRIVE_SETTING"
    assert drives.words(app.told, app.joints, PAN) == said


def of_firmware(minor: int, **drive) -> Served:
    app = Served(arm(**drive))
    app.servos["shoulder_pan"].stored[0:2] = bytes([3, minor])
    app.servos["shoulder_pan"].power_up(0.0)
    app.run(170)
    return app


def test_that_a_servo_of_another_firmware_than_the_files_is_not_armed():
    app = of_firmware(9, firmware="3.10")
    assert app.command("ARM") == "DRIVE_SETTING"
    assert drives.words(app.told, app.joints, PAN) == "its firmware is 3.9, and must be 3.10"


def test_that_a_servo_tells_its_firmware_where_the_file_asks_for_none():
    app = of_firmware(9)
    assert app.command("ARM") == "NONE"
    assert [drives.firmware(app.told, app.joints, j) for j in (PAN, LIFT)] == ["3.9", "3.10"]


def test_that_servos_which_tell_no_velocity_that_is_used_are_armed_after_they_were_turned():
    app = ran()
    for count in range(2048, 2048 + 700, 5):
        app.place("shoulder_pan", count)
        app.run(1)
    app.run(20)
    assert app.command("ARM") == "NONE"


def refusal(least: int, most: int, offset: int = 0, **changes) -> str:
    """Return the answer to ARM with these settings of the first servo."""
    app = Served(arm(**changes))
    servo = app.servos["shoulder_pan"]
    for register, value in ((sts.LEAST, least), (sts.MOST, most), (sts.OFFSET, offset)):
        servo.stored[register:register + 2] = value.to_bytes(2, "little")
    servo.power_up(0.0)
    app.run(160)
    return app.command("ARM")


def test_that_limits_of_its_own_may_end_where_the_joint_ends_and_no_sooner():
    """A servo's limits may be wider than the joint's limits. Limits of zero mean that the servo has no limits."""
    joint = arm().joints[0]
    ends = [joint.drive.servo.zero + x / COUNT for x in (joint.limits.lower, joint.limits.upper)]
    least, most = math.floor(ends[0]), math.ceil(ends[1])
    assert {refusal(*limits) for limits in ((least, most), (700, 3400), (0, 0))} == {"NONE"}
    assert (refusal(least + 1, most), refusal(least, most - 1)) == ("DRIVE_SETTING",) * 2


@pytest.mark.parametrize(("stored", "said"), [(0x800 | 100, "NONE"), (100, "DRIVE_SETTING"), (0, "DRIVE_SETTING")])
def test_that_a_servo_has_the_offset_that_the_file_gives_it(stored, said):
    """Bit 11 is the sign of the offset."""
    servo = dataclasses.replace(so101().joints[0].drive.servo, offset=-100)
    assert refusal(0, 4095, stored, servo=servo) == said


def ails(change):
    """Return a function that changes the servo at the elbow."""
    return lambda app: change(app.servos["elbow_flex"])


def works(app):
    """Let the servo work above 80 % of its supply for 2 s, after which it limits itself to a fifth."""
    servo = app.servos["elbow_flex"]
    servo.registers[sts.START:sts.START + 2] = bytes(2)
    servo.registers[sts.OVERLOAD] = 0
    servo.registers[sts.PATIENCE] = 1


def draws(app):
    """Make the servo draw more than 3.25 A for longer than it tolerates this current."""
    servo = app.servos["elbow_flex"]
    given = servo.terminal
    servo.terminal = lambda now, angle, velocity: given(now, angle, velocity, 4.0)
    servo.registers[sts.LONGEST] = 1


@pytest.mark.parametrize(("happens", "fault", "words"), [
    (ails(lambda servo: setattr(servo, "cut", True)), "DRIVE_SILENT", ""),
    (ails(lambda servo: setattr(servo, "temperature", 75.0)), "DRIVE_FAULT", "over temperature"),
    (works, "DRIVE_FAULT", "overload"), (draws, "DRIVE_FAULT", "over current"),
    (ails(lambda servo: servo.put(sts.ENABLE, 0)), "DRIVE_FAULT", ""),
    (ails(lambda servo: servo.power_up(0.0)), "DRIVE_FAULT", ""),
    # according to its register table, a servo outside its voltage limits keeps running
    (ails(lambda servo: servo.registers.__setitem__(sts.LOWEST, 130)), "DRIVE_FAULT", "voltage")],
    ids=["cut", "hot", "overload", "current", "loose", "restarted", "voltage"])
def test_that_what_servos_suffer_is_a_fault_that_takes_all_duties_away(happens, fault, words):
    app = held()
    happens(app)
    app.run(20)
    assert app.fault == (fault, ELBOW)
    assert drives.words(app.told, app.joints, ELBOW).removesuffix(", which is over") == words
    others = [servo for name, servo in app.servos.items() if name != "elbow_flex"]
    assert all(not servo.driving and servo.get(44, 2) == 0 for servo in others)


@pytest.mark.parametrize("when", range(0, 24, 3))
def test_that_a_servo_that_restarts_while_motors_are_switched_on_gets_no_duty(when):
    """After its restart the servo is in position mode with unlocked storage. It answers a tick later."""
    app = ran()
    servo = app.servos["shoulder_lift"]
    app.post("ARM")
    for tick in range(80):
        if tick == when:
            servo.power_up(0.0)
        app.run(1)
        assert servo.registers[sts.MODE] == 2 or not (servo.driving and servo.get(44, 2))
    assert app.fault[0] in ("DRIVE_FAULT", "NONE") and (app.fault[0] == "NONE") == (app.state == "HOLD")
    if app.state == "HOLD":
        assert [servo.get(at) for at in (sts.LOCK, sts.MODE, sts.DELAY)] == [1, 2, 0]


def test_that_packets_with_a_wrong_check_sum_are_lost_and_some_lost_ones_are_borne():
    app = held()
    app.line.error_rate = 0.02
    app.run(800)
    assert app.state == "HOLD"
    app.see()
    assert 0 < sum(app.told.lost[:6]) < 0.06 * 6 * 800


@pytest.mark.parametrize("spoil", [
    lambda data: bytes(len(data)), lambda data: data[:3] + bytes([data[3] ^ 1]) + data[4:], lambda data: b""],
    ids=["shorted", "disturbed", "nothing"])
def test_that_nothing_is_believed_where_something_else_comes_back_than_was_sent(spoil):
    app = held()
    app.spoil = spoil
    app.run(20)
    assert app.fault[0] == "DRIVE_SILENT"
    app.run(400)
    assert app.told.sending[0] > 0


def test_that_answers_are_taken_where_nothing_comes_back_of_what_was_sent():
    app = Served(arm())
    app.spoil = lambda data: data[len(app.sent):]
    app.run(160)
    assert app.command("ARM") == "NONE"


def test_that_the_stop_is_the_next_ticks_first_packet():
    app = held()
    app.angle["shoulder_lift"] = 0.02
    app.run(5)
    assert abs(app.duty("shoulder_lift")) > 0.01
    app.chip.estop = True
    app.run(2)
    assert app.sent.startswith(published(44, 2, dict.fromkeys(IDS, 0)) + published(40, 1, dict.fromkeys(IDS, 0)))


def test_that_the_packets_of_a_tick_are_what_the_bus_load_counts():
    app = held()
    app.run(1)
    assert len(app.sent) == len(feetech.duties(dict.fromkeys(IDS, 0.0))) + len(feetech.ask(list(IDS)))


# ---- servos that close their position loops, on a PC -------------------------------------------------


def holding(side: float = 0.0) -> Served:
    """Return the arm in HOLD. The lift's servo turns the other way. side: lift and elbow are half a radian from their
    lower (-1) or upper (1) limits, and soft, so that goals lead by more."""
    mechanism, joints = pc.so101(holds=True), []
    for k, joint in enumerate(mechanism.joints):
        limit = joint.limits.upper if side > 0.0 else joint.limits.lower
        end = limit - 0.5 * side if side and k in (LIFT, ELBOW) else 0.0
        gains = dataclasses.replace(joint.gains, ku=joint.gains.ku / (4.0 if end else 1.0))
        joints.append(dataclasses.replace(joint, start=end, gains=gains, drive=dataclasses.replace(
            joint.drive, sign=-1 if k == LIFT else 1)))
    app = Served(dataclasses.replace(mechanism, joints=tuple(joints)))
    app.run(200)
    assert app.command("ARM") == "NONE"
    app.run(30)
    assert app.state == "HOLD"
    return app


def goal(app: Served, k: int) -> float:
    """Return the joint's position at a servo's goal, rad."""
    joint = app.joints[k]
    return joint.drive.sign * COUNT * (app.servos[joint.name].get(42, 2) - 2048)


def test_that_a_servos_own_loop_carries_the_arm_with_its_goal_and_brings_a_joint_back():
    """At its place, the virtual servo's duty gives the torque of the feed-forward, to half a count of the goal."""
    app = holding()
    torques, kept = app.see().torque_ff, [goal(app, k) for k in range(6)]
    for joint, torque in zip(app.joints, torques, strict=True):
        servo, motor = app.servos[joint.name], joint.motor
        duty = joint.drive.sign * servo._lib.sts_share(servo.state)
        full = 12.0 / motor.R * motor.K * motor.gear
        rubs = 0.0095 * full if abs(torque) < 0.05 else 0.0
        assert duty * full == pytest.approx(torque, abs=0.6 * COUNT * joint.gains.ku + rubs)
        app.angle[joint.name] += 0.03
    assert abs(torques[LIFT]) > 0.5
    app.run(5)
    assert [goal(app, k) for k in range(6)] == pytest.approx(kept, abs=1.1 * COUNT)
    size = len(app.sent)
    for tick in range(6):  # no packet is without a servo whose answer is missing
        app.servos["elbow_flex"].cut = tick == 1
        app.run(1)
        assert len(app.sent) == size


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_that_only_the_weight_shifts_a_goal_beyond_a_limit(side):
    """The motion ends three counts inside the limits. Its goals lead by the back-emf, which is up to 60 counts beyond.
    Friction is part of the torque here, but no weight: 0.14 N m are 12 counts. Beyond a limit the board's law makes the
    torque."""
    app, t, beyond = holding(side), np.linspace(0.0, 0.5, 26), []
    begin = np.array([joint.start for joint in app.joints])
    moves = side * (0.5 - 3.0 * COUNT) * np.isin(np.arange(6), (LIFT, ELBOW))
    poses = begin + np.outer(0.5 - 0.5 * np.cos(2.0 * np.pi * t), moves)
    app.stream(knots(from_rows([j.name for j in app.joints], t, poses), app.mechanism))
    app.post("START")
    for _ in range(120):
        row = app.run(1)[-1]
        for joint, target in zip(app.joints, row["target"] * (math.tau / 2.0**32), strict=True):
            app.angle[joint.name] = joint.drive.sign * target
        beyond.append([side * (goal(app, k) - row["torque_ff"][k] / app.joints[k].gains.ku - begin[k]) - 0.5
                       for k in (LIFT, ELBOW)])
    assert app.state == "HOLD" and np.all(np.max(beyond, axis=0) < 12.0 * COUNT)
    for k in (LIFT, ELBOW):
        joint = app.joints[k]
        app.angle[joint.name] = joint.drive.sign * (begin[k] + side * (0.5 + 2.0 * COUNT))
        app.run(3)
        assert app.state == "HOLD" and abs(goal(app, k) - begin[k] - 0.5 * side) < 0.3
