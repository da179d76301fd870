"""Virtual drives. Independent clients decode the reports. The loops of the drives agree with exact solutions. Further
tests: no commands, overheated windings, and power-up at any position."""

import math
import struct
from functools import partial

import pytest
from damiao_motor.core import motor as damiao_motor
from robstride import client as robstride_client

from femtorque.codegen.drive.catalogue import CATALOGUE
from femtorque.hil.bus import Frame
from femtorque.hil.drives import catalogue
from femtorque.hil.drives.families.cubemars.drive import CubeMars
from femtorque.hil.drives.families.damiao.drive import FAULTS, READ_ONLY, STORED, WHOLE, Damiao
from femtorque.hil.drives.families.mini_cheetah.drive import MiniCheetah
from femtorque.hil.drives.families.moteus.drive import Moteus
from femtorque.hil.drives.families.odrive_can.drive import ODrive
from femtorque.hil.drives.families.robstride.drive import RobStride
from femtorque.hil.drives.fields import Ranges
from tests.support.drive_bench import DriveBench, damped

TURN = 2 * math.pi
ENABLE, DISABLE, ZERO, CLEAR = (b"\xff" * 7 + bytes([code]) for code in (0xFC, 0xFD, 0xFE, 0xFB))
DM4340 = Ranges(12.5, 10.0, 28.0)


def mit(r: Ranges, p: float = 0.0, v: float = 0.0, kp: float = 0.0, kd: float = 0.0, t: float = 0.0) -> bytes:
    """Return a command encoded in fields, independently of the product."""
    bits = "".join(f"{round((x - lo) / (hi - lo) * (2**n - 1)):0{n}b}" for x, lo, hi, n in (
        (p, -r.position, r.position, 16), (v, -r.velocity, r.velocity, 12), (kp, 0, r.kp, 12), (kd, 0, r.kd, 12),
        (t, -r.torque, r.torque, 12)))
    return int(bits, 2).to_bytes(8, "big")


def damiao(**more) -> DriveBench:
    return DriveBench(lambda wire: Damiao(wire, 1, 0x11, Ranges(12.5, 10.0, 28.0), **more))


def driven(**more) -> DriveBench:
    """Return an enabled drive with a command of 1 N m."""
    bench = damiao(**more)
    bench.ask(1, ENABLE)
    bench.ask(1, mit(DM4340, t=1.0))
    return bench


def theirs(bench: DriveBench, kind: str = "4340") -> damiao_motor.DaMiaoMotor:
    return damiao_motor.DaMiaoMotor(1, 0x11, bench, motor_type=kind)


# ---------------------------------------------------------------- Damiao


def test_a_drive_that_is_enabled_is_limp_until_it_is_asked_for_something():
    """A command of zeros has half a step of torque, because no code of the field stands for zero."""
    bench = damiao()
    limp = [bench.drive.limp]
    for data in (ENABLE, mit(DM4340), mit(DM4340, t=0.1), mit(DM4340), mit(DM4340, kd=0.1), mit(DM4340, kp=1.0),
                 DISABLE):
        bench.ask(1, data)
        limp.append(bench.drive.limp)
    assert limp == [True, True, True, False, True, False, False, True]


def test_damiao_motor_enables_it_commands_it_and_reads_what_it_tells():
    bench = damiao()
    client = theirs(bench)
    client.enable()
    assert client.decode_sensor_feedback(bytes(bench.recv().data))["status"] == "DISABLED"  # the state before
    client.send_cmd_mit(target_position=0.5, target_velocity=0.0, stiffness=20.0, damping=1.0, feedforward_torque=0.0)
    assert client.decode_sensor_feedback(bytes(bench.recv().data))["status"] == "ENABLED"
    for _ in range(200):
        client.send_cmd_mit(target_position=0.5, target_velocity=0.0, stiffness=20.0, damping=1.0,
                            feedforward_torque=0.0)
        told = client.decode_sensor_feedback(bytes(bench.recv().data))
    assert told["pos"] == pytest.approx(0.5, abs=0.01) and told["arbitration_id"] is None and told["can_id"] == 1
    assert bench.q == pytest.approx(0.5, abs=0.01)
    assert 25 <= told["t_rotor"] < 40


def test_damiao_motor_reads_and_writes_its_registers():
    bench = damiao()
    client = theirs(bench)
    for number, value in ((7, 0x11), (8, 1), (9, 0), (10, 1), (21, 12.5), (22, 10.0), (23, 28.0), (20, 10.0)):
        client.request_register_reading(number)
        answer = bench.recv()
        assert answer.arbitration_id == 0x11 and damiao_motor.is_register_reply(answer.data)
        form = "<I" if damiao_motor.REGISTER_TABLE[number].data_type == "uint32" else "<f"
        assert struct.unpack(form, answer.data[4:8])[0] == value and answer.data[3] == number
    client.write_register(9, 1000)
    assert bytes(bench.recv().data) == bytes([1, 0, 0x55, 9]) + struct.pack("<I", 1000)
    assert bench.drive.timeout == pytest.approx(0.05)


def test_it_has_every_register_of_damiao_motors_of_the_same_kind():
    table = damiao_motor.REGISTER_TABLE
    drive = damiao().drive
    assert set(table) >= STORED and all(drive._value(n) is not None for n in table)
    assert all((table[n].data_type == "uint32") == (n in WHOLE) for n in table)
    assert all((table[n].access == "RO") == (n in READ_ONLY) for n in table)


def test_what_is_written_is_forgotten_without_supply_unless_it_is_stored():
    bench = damiao()
    client = theirs(bench)
    client.write_register(9, 1000)
    bench.run(1e-3)
    bench.drive.power_off()
    bench.drive.power_up(0.0)
    assert bench.drive.registers[9] == 0
    client.write_register(9, 1000)
    bench.run(1e-3)
    client.store_parameters()
    bench.run(1e-3)
    bench.drive.power_up(0.0)
    assert bench.drive.registers[9] == 1000


def test_registers_of_others_and_frames_of_other_identifiers_are_none_of_its_business():
    bench = damiao()
    assert bench.ask(0x7FF, bytes([2, 0, 0x33, 8, 0, 0, 0, 0])) is None
    assert bench.ask(2, ENABLE) is None
    assert bench.ask(1, ENABLE, extended=True) is None


def test_damiao_says_nothing_by_itself_and_drives_nothing_before_it_is_enabled():
    bench = damiao()
    bench.run(0.1)
    assert not bench.host.got
    bench.ask(1, mit(DM4340, t=5.0))
    bench.run(0.05)
    assert bench.q == 0.0 and not bench.drive.driving


def test_a_drive_left_alone_keeps_its_last_command_when_its_timeout_is_off():
    bench = driven()
    bench.run(0.5)
    assert bench.drive.driving and bench.v == pytest.approx(0.5 / 0.05, rel=0.05)


def test_a_drive_left_alone_stops_and_tells_lost_communication_when_its_timeout_is_set():
    bench = driven(timeout_units=400)  # 20 ms
    bench.run(0.018)
    assert bench.drive.driving
    bench.run(0.004)
    assert not bench.drive.driving and bench.drive.status == 0xD
    answer = bench.ask(1, ENABLE)
    assert answer.data[0] >> 4 == 0xD
    assert bench.ask(1, CLEAR).data[0] >> 4 == 0xD and bench.drive.status == 0
    bench.ask(1, ENABLE)
    assert bench.drive.driving


def test_in_another_mode_an_mit_frame_is_answered_and_not_obeyed():
    bench = damiao()
    theirs(bench).write_register(10, 2)
    bench.run(1e-3)
    bench.ask(1, ENABLE)
    assert bench.ask(1, mit(DM4340, t=5.0)) is not None
    bench.run(0.1)
    assert bench.q == 0.0


def test_a_drive_with_another_range_of_velocity_damps_otherwise():
    """A published table states 8 rad/s for the DM4340 instead of 10."""
    bench = damiao()
    bench.q, bench.v = 0.0, 2.0
    bench.drive.motor.power_up(0.0)
    bench.ask(1, ENABLE)
    bench.run(0.01)
    told = bench.ask(1, mit(DM4340)).data
    code = told[3] << 4 | told[4] >> 4
    assert -8.0 + code * 16.0 / 4095 == pytest.approx(0.8 * bench.v, rel=0.02)


def test_each_of_its_faults_is_told_as_damiao_motor_names_it():
    names = {v: k for k, v in vars(damiao_motor).items() if k.startswith("DM_MOTOR_") and isinstance(v, int)}
    for code in FAULTS.values():
        bench = damiao()
        bench.ask(1, ENABLE)
        bench.drive.fail(code)
        assert bench.ask(1, mit(DM4340)).data[0] >> 4 == code and code in names and not bench.drive.driving


def test_a_torque_beyond_what_it_carries_makes_it_hot_and_it_stops():
    bench = DriveBench(lambda wire: Damiao(wire, 1, 0x11, Ranges(12.5, 10.0, 28.0)), load=lambda q: -28.0)
    bench.inertia = 1e6
    bench.ask(1, ENABLE)
    bench.ask(1, mit(DM4340, t=28.0))
    bench.run(3.0)
    assert 25.0 < bench.drive.motor.temperature < 100.0
    bench.run(6.0)
    assert bench.drive.status == 0xC


# ---------------------------------------------------------------- loops


@pytest.mark.parametrize(("make", "number", "reply"), [
    (lambda wire: Damiao(wire, 1, 0x11, Ranges(12.5, 10.0, 28.0)), 1, 0x11),
    (lambda wire: MiniCheetah(wire, 1, Ranges(12.5, 10.0, 28.0), ticks=0), 1, 0),
    (lambda wire: CubeMars(wire, 1, Ranges(12.5, 10.0, 28.0)), 1, 1)])
def test_the_loop_moves_an_inertia_as_spring_and_damper_do(make, number, reply):
    """The lags of current and velocity change the solution slightly: by a hundredth of the step."""
    bench = DriveBench(make)
    bench.ask(number, ENABLE)
    start = bench.clock.seconds
    answer = bench.ask(number, mit(DM4340, p=0.2, kp=20.0, kd=0.8))
    assert answer.id == reply
    bench.run(0.5)
    exact = [(q, damped(max(t - start - 116e-6, 0.0), 0.05, 20.0, 0.8, 0.2)) for t, q in bench.trace if t > start]
    assert max(abs(q - e) for q, e in exact) < 0.004


def test_torque_follows_as_a_current_does():
    bench = damiao()
    bench.ask(1, ENABLE)
    bench.host.send(Frame(1, mit(DM4340, t=10.0)))
    while bench.drive.motor.command.torque == 0.0:
        bench.run(20e-6)
    bench.run(160e-6)  # time constant of the 1 kHz bandwidth
    assert bench.drive.motor.torque == pytest.approx(10.0 * (1 - math.exp(-1)), rel=0.25)
    bench.run(2e-3)
    assert bench.drive.motor.torque == pytest.approx(10.0, rel=0.01)


def test_a_reply_tells_what_was_before_its_command():
    bench = damiao()
    bench.ask(1, ENABLE)
    first = bench.ask(1, mit(DM4340, t=10.0))
    second = bench.ask(1, mit(DM4340))
    torque = [(f.data[4] & 15) << 8 | f.data[5] for f in (first, second)]
    assert torque[0] == 2047 and -28 + torque[1] * 56 / 4095 == pytest.approx(10.0, abs=2 * 56 / 4095)


# ---------------------------------------------------------------- turns


@pytest.mark.parametrize(("start", "told"), [(0.3, 0.3), (3.5, 3.5 - TURN), (-3.3, -3.3 + TURN), (7.0, 7.0 - TURN)])
def test_switched_on_beyond_half_a_turn_a_damiao_tells_a_turn_less(start, told):
    bench = damiao()
    bench.q = start
    bench.drive.power_up(start)
    bench.run(1e-3)
    word = bench.ask(1, mit(DM4340)).data
    assert -12.5 + (word[1] << 8 | word[2]) * 25.0 / 65535 == pytest.approx(told, abs=1e-3)


def test_it_counts_turns_while_it_is_on_and_zero_is_where_it_is_told():
    bench = damiao()
    bench.v = 2.0
    bench.run(3.0)
    assert bench.drive.motor.position == pytest.approx(6.0, abs=0.02)
    bench.v = 0.0
    bench.ask(1, ZERO)
    assert bench.drive.motor.position == 0.0
    bench.drive.power_up(bench.q)
    assert bench.drive.motor.position == pytest.approx(0.0, abs=1e-4)


def test_a_robstride_as_it_comes_finds_itself_between_nought_and_one_turn():
    bench = DriveBench(lambda wire: RobStride(wire, 7, catalogue.ranges("robstride-01")))
    bench.drive.power_up(-0.1)
    assert bench.drive.motor.position == pytest.approx(TURN - 0.1, abs=1e-3)
    bench.drive._saved[0x7029] = 1
    bench.drive.power_up(-0.1)
    assert bench.drive.motor.position == pytest.approx(-0.1, abs=1e-3)


# ---------------------------------------------------------------- mini-cheetah, AK


def test_a_mini_cheetah_goes_limp_without_commands_and_on_with_the_next():
    bench = DriveBench(lambda wire: MiniCheetah(wire, 1, Ranges(12.5, 65.0, 18.0)))
    r = Ranges(12.5, 65.0, 18.0)
    bench.ask(1, ENABLE)
    bench.ask(1, mit(r, t=1.0))
    bench.run(0.023)
    assert bench.drive.motor.torque == pytest.approx(1.0, abs=0.02)
    bench.run(0.01)
    assert abs(bench.drive.motor.torque) < 0.01 and bench.drive.driving
    bench.ask(1, mit(r, t=1.0))
    bench.run(0.002)
    assert bench.drive.motor.torque == pytest.approx(1.0, abs=0.02)


def test_an_early_mini_cheetah_stands_still_without_commands_and_leaves_its_mode_with_one_alone():
    """The drive keeps its phase voltages constant. At rest at the angle of the last frame, the drive keeps the
    torque of that frame. At other angles the drive's torque is smaller. The drive also damps the motion."""
    bench = DriveBench(lambda wire: MiniCheetah(wire, 1, Ranges(12.5, 65.0, 18.0), early=True), inertia=1e9)
    r, motor = Ranges(12.5, 65.0, 18.0), bench.drive.motor
    bench.ask(1, ENABLE)
    bench.ask(1, mit(r, t=1.0))
    bench.run(0.05)
    assert motor.torque == pytest.approx(1.0, abs=0.02) and motor.standing
    bench.q += math.pi / 2 / 126  # a quarter of an electrical turn
    bench.run(0.01)
    assert motor.torque == pytest.approx(0.0, abs=0.02)
    bench.ask(1, DISABLE)
    assert bench.drive.driving  # the test uses the current at the time of the command
    bench.q -= math.pi / 2 / 126
    bench.v = 0.5
    bench.run(1e-3)
    assert motor.torque == pytest.approx(1.0 - 0.5 * (2.0 / 3.0) * 0.45**2 / 0.173, abs=0.05)
    bench.v = 0.0
    for _ in range(5):
        bench.ask(1, DISABLE)
        bench.run(0.01)
        assert bench.drive.driving and motor.standing
    bench.ask(1, mit(r))
    bench.run(0.005)
    assert not bench.drive.driving and abs(motor.torque) < 0.01


def test_an_ak_drive_tells_temperature_and_error_at_the_end_of_its_reply():
    bench = DriveBench(lambda wire: CubeMars(wire, 3, Ranges(12.5, 50.0, 18.0)))
    bench.ask(3, ENABLE)
    assert list(bench.ask(3, mit(Ranges(12.5, 50.0, 18.0))).data[6:]) == [25 + 40, 0]
    for told, warm in ((0, -40.0), (255, 215.0)):
        bench.drive.motor.temperature = warm
        assert bench.ask(3, ENABLE).data[6] == told
    bench.drive.motor.temperature = 25.0
    bench.drive.fail(5)
    answer = bench.ask(3, mit(Ranges(12.5, 50.0, 18.0)))
    assert answer.id == 3 and answer.data[0] == 3 and answer.data[7] == 5 and not bench.drive.driving


# ---------------------------------------------------------------- RobStride


@pytest.fixture
def robstride():
    bench = DriveBench(lambda wire: RobStride(wire, 7, Ranges(4 * math.pi, 44.0, 17.0)))
    return bench, robstride_client.Client(bench)


def test_the_robstride_package_enables_it_and_reads_its_state(robstride):
    bench, client = robstride
    assert client.enable(7).mode is robstride_client.MotorMode.Reset  # the mode before
    bench.v = 3.0
    bench.run(0.01)
    told = client.enable(7)
    assert told.servo_id == 7 and told.errors == [] and told.velocity == pytest.approx(3.0, abs=0.05)
    assert told.angle == pytest.approx(bench.q, abs=0.05) and told.temp == pytest.approx(25.0)


def test_the_robstride_package_reads_and_writes_its_parameters(robstride):
    bench, client = robstride
    bench.q = 0.7
    bench.run(1e-3)
    assert client.read_param(7, "mechpos") == pytest.approx(0.7, abs=1e-3)
    assert client.read_param(7, "run_mode") is robstride_client.RunMode.Operation
    client.write_param(7, "limit_torque", 5.0)
    assert client.read_param(7, "limit_torque") == 5.0


def test_a_robstride_takes_torque_from_the_identifier_and_gains_from_the_data(robstride):
    bench, client = robstride
    client.enable(7)
    word = struct.pack(">4H", *(round((x / hi + 1) * 32767.5) for x, hi in ((0.2, 4 * math.pi), (0.0, 44.0))),
                       round(20.0 / 500.0 * 65535), round(0.8 / 5.0 * 65535))
    start = bench.clock.seconds
    answer = bench.ask(1 << 24 | 32768 << 8 | 7, word, extended=True)
    assert answer.id & 0xFFFF == 7 << 8 | 0xAA  # host that enabled the drive, not a byte of the torque
    bench.run(0.5)
    exact = [(q, damped(max(t - start - 136e-6, 0.0), 0.05, 20.0, 0.8, 0.2)) for t, q in bench.trace if t > start]
    assert max(abs(q - e) for q, e in exact) < 0.004


def test_a_robstride_stops_when_its_timeout_is_set_and_nobody_speaks(robstride):
    bench, client = robstride
    bench.ask(0x12 << 24 | 0xFD << 8 | 7, struct.pack("<HHI", 0x7028, 0, 400), extended=True)
    client.enable(7)
    bench.run(0.018)
    assert not bench.drive.driving  # the client has waited 10 ms
    client.enable(7)
    assert bench.drive.driving


def test_faults_of_a_robstride_are_told_in_its_identifier_and_cleared_by_stopping(robstride):
    bench, client = robstride
    bench.drive.fail(4)
    assert client.enable(7).errors == [robstride_client.MotorError.Overtemp] and not bench.drive.driving
    bench.ask(4 << 24 | 0xAA << 8 | 7, b"\x01" + bytes(7), extended=True)
    assert client.enable(7).errors == []


# ---------------------------------------------------------------- table


@pytest.mark.parametrize("drive", CATALOGUE, ids=lambda drive: drive.name)
def test_the_drives_are_set_as_the_firmware_expects_them_by_two_tables(drive):
    own = catalogue.ranges(drive.name)
    assert (own.position, own.velocity, own.torque, own.kp, own.kd) == pytest.approx(
        (drive.position, drive.velocity, drive.torque, drive.kp, drive.kd), rel=1e-9)


def test_a_drive_whose_cable_is_off_hears_nothing_and_goes_on():
    bench = driven()
    bench.drive.cut = True
    assert bench.ask(1, DISABLE) is None
    assert bench.drive.driving


def test_drives_of_every_kind_can_be_made_by_name():
    kinds = {type(DriveBench(partial(_made, drive.name)).drive) for drive in CATALOGUE}
    assert kinds == {Damiao, RobStride, CubeMars, MiniCheetah, Moteus, ODrive}


def _made(name, wire):
    return catalogue.make(name, wire, 1, None, catalogue.ranges(name), 1e6, None)
