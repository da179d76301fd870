"""The virtual servo with a published client, and the motion of its motor."""

import math

import pytest
from scservo_sdk import COMM_SUCCESS, GroupSyncRead, GroupSyncWrite, protocol_packet_handler

from femtorque.hil.drives.families.feetech import FAMILY, servo as sts
from femtorque.hil.drives.families.feetech.servo import Sts3215
from tests.support.drive_bench import ServoBench


class Bench(ServoBench):
    writes = GroupSyncWrite

    def __init__(self, count: int = 2) -> None:
        super().__init__(1e6, FAMILY.framing, 12.0, protocol_packet_handler())
        self.servos = [Sts3215(self.clock, k, 12.0, 0.0, lambda: self.volts) for k in range(1, count + 1)]
        self.line.servos += tuple(self.servos)

    def read(self, register: int, size: int) -> dict[int, int] | None:
        group = GroupSyncRead(self, self.handler, register, size)
        for servo in self.servos:
            group.addParam(servo.id)
        if group.txRxPacket() != COMM_SUCCESS:
            return None
        return {servo.id: group.getData(servo.id, register, size) for servo in self.servos}

    def turns_with(self, duty: int, velocity: float = 0.0) -> list[float]:
        """Return the voltages at the motors some time after the duty was sent, V."""
        self.write(sts.DUTY, 2, duty)
        self.clock.run(0.005)
        return [servo.terminal(self.clock.seconds, 0.0, velocity) for servo in self.servos]


@pytest.fixture
def running() -> Bench:
    bench = Bench()
    for register, value in ((sts.LOCK, 1), (sts.MODE, 2), (sts.ENABLE, 1)):
        bench.write(register, 1, value)
    return bench


def test_that_the_published_library_reads_what_servos_are():
    bench = Bench()
    assert bench.read(sts.MODEL, 2) == {1: 777, 2: 777}
    assert bench.read(sts.MODE, 1) == {1: 0, 2: 0} and bench.read(sts.DELAY, 1) == {1: 250, 2: 250}
    assert bench.read(sts.POSITION, 2) == {1: 2048, 2: 2048}
    assert bench.read(sts.VOLTAGE, 1) == {1: 120, 2: 120}


def test_that_a_servo_that_is_not_there_is_waited_for_and_the_next_one_answers():
    bench = Bench(3)
    bench.servos[0].cut = True
    bench.line.sent(bytes.fromhex("fffffe07823801010203") + bytes([~(0xFE + 7 + 0x82 + 0x38 + 1 + 6) & 0xFF]), 1e-5)
    bench.clock.run(0.01)
    assert [bench.came[k + 2] for k in range(0, len(bench.came), 7)] == [2, 3]


def test_that_a_question_with_a_wrong_check_sum_is_not_answered():
    bench = Bench(1)
    for wrong, answered in ((0, True), (1, False)):
        bench.came = b""
        asked = bytes([0xFE, 5, 0x82, sts.POSITION, 2, 1])
        bench.line.sent(b"\xff\xff" + asked + bytes([~sum(asked) & 0xFF ^ wrong]), 1e-5)
        bench.clock.run(0.01)
        assert bool(bench.came) is answered


def test_that_what_is_told_while_the_lock_is_open_is_stored():
    bench = Bench()
    bench.write(sts.LOCK, 1, 1)
    bench.write(sts.MODE, 1, 2)
    bench.servos[0].power_up(0.0)
    assert bench.read(sts.MODE, 1) == {1: 0, 2: 2}
    bench.write(sts.LOCK, 1, 0)
    bench.write(sts.MODE, 1, 2)
    bench.servos[0].power_up(0.0)
    assert bench.read(sts.MODE, 1) == {1: 2, 2: 2}


@pytest.mark.parametrize(("duty", "volts"), [
    (0, 0.0), (500, 6.0), (0x400 | 500, -6.0), (1000, 12.0), (10, 0.0), (0x800 | 300, 12.0)],
    ids=["none", "forwards", "backwards", "full", "too small", "bit 11"])
def test_that_a_duty_is_a_share_of_the_supply_with_its_direction_in_bit_10(running, duty, volts):
    """Bit 11 is not the sign. Bit 11 belongs to the magnitude of the duty."""
    assert running.turns_with(duty) == pytest.approx([volts, volts])


def test_that_a_motor_floats_while_it_is_off_or_has_no_supply(running):
    running.write(sts.ENABLE, 1, 0)
    assert all(map(math.isnan, running.turns_with(500)))
    running.write(sts.ENABLE, 1, 1)
    running.servos[0].power_off()
    assert [math.isnan(v) for v in running.turns_with(500)] == [True, False]


def test_that_the_last_duty_stands_when_nobody_says_anything_more(running):
    running.turns_with(300)
    running.clock.run(10.0)
    assert running.servos[0].terminal(running.clock.seconds, 0.0, 1.0) == pytest.approx(3.6)


def test_that_a_duty_is_taken_over_at_the_servos_own_time(running):
    running.clock.run(0.01)
    running.line.sent(bytes.fromhex("fffffe07832c0201f40153"), 1e-5)  # 500 to servo 1
    taken = None
    for _ in range(300):
        running.clock.run(1e-5)
        if taken is None and running.servos[0].terminal(running.clock.seconds, 0.0, 0.0) > 0.0:
            taken = running.clock.seconds
    assert taken is not None and (taken - running.servos[0].phase) % 1e-3 == pytest.approx(0.0, abs=2e-5)


@pytest.mark.parametrize(("counts", "offset", "told"), [(0.0, 0, 2048), (2047.0, 0, 4095), (2048.0, 0, 0),
                                                        (-2100.0, 0, 4044), (10.0, 100, 1958), (0.0, 0x800 | 5, 2053)])
def test_that_a_position_is_within_a_turn_and_its_offset_taken_off(counts, offset, told):
    bench = Bench(1)
    servo = bench.servos[0]
    servo.stored[sts.OFFSET:sts.OFFSET + 2] = offset.to_bytes(2, "little")
    servo.power_up(counts * math.tau / 4096)
    assert bench.read(sts.POSITION, 2) == {1: told}


def test_that_a_servo_guards_itself(running):
    """Each answer contains the error bits. After a long overload the servo reduces the duty to a fifth. If a servo
    reports an incorrect voltage, the duty does not change."""
    first = running.servos[0]
    running.volts = 15.0
    running.turns_with(0)
    assert first.errors == sts.ERRORS["voltage"] and first.driving
    running.volts = 12.0
    for _ in range(450):
        volts = running.turns_with(900)[0]
    assert first.errors == sts.ERRORS["overload"] and volts == pytest.approx(12.0 * 0.2)
    first.temperature = 71.0
    assert math.isnan(running.turns_with(900)[0]) or not first.driving
    assert first.errors & sts.ERRORS["over temperature"]


def test_that_a_servo_that_holds_a_weight_gets_warm_as_one_was_measured(running):
    """Lifting 1.5 kg at 10 cm warmed a servo by 15 K in 10 min (SO-ARM100, issue 134)."""
    servo, start = running.servos[0], running.servos[0].temperature
    for k in range(601):
        servo.terminal(float(k), 0.0, 0.0, 1.5 * 9.81 * 0.1 / 1.444)
    assert servo.temperature - start == pytest.approx(15.0, rel=0.1)
    assert running.read(sts.WARMTH, 1)[1] == round(servo.temperature)


def test_that_a_stalled_servo_lets_go_for_its_current_and_one_that_may_not_does_not(running):
    """The limit is 500 steps of 6.5 mA for 2 s."""
    first, other = running.servos
    other.registers[sts.SWITCH] = 0
    running.turns_with(700)
    now, let_go = running.clock.seconds, None
    for k in range(2600):
        for servo in (first, other):
            servo.terminal(now + 1e-3 * k, 0.0, 0.0, 4.1)
        if let_go is None and not first.driving:
            let_go = 1e-3 * k
    assert let_go == pytest.approx(2.0, abs=5e-3) and first.errors == sts.ERRORS["over current"]
    assert other.driving and other.errors == 0
    running.write(sts.ENABLE, 1, 0)
    assert first.errors == 0


def test_that_two_servos_of_one_number_spoil_each_others_answers():
    bench = Bench(2)
    bench.servos[1].put(sts.ID, 1)
    bench.servos[1].power_up(1.0)
    bench.servos[1].put(sts.ID, 1)
    group = GroupSyncRead(bench, bench.handler, sts.POSITION, 2)
    group.addParam(1)
    assert group.txRxPacket() != COMM_SUCCESS
