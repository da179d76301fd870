"""Virtual Dynamixel X servos with ROBOTIS' client, and the motion of their motors."""

import math

import pytest
from dynamixel_sdk import COMM_RX_TIMEOUT, COMM_SUCCESS, GroupSyncRead, GroupSyncWrite, PacketHandler

from femtorque.hil.drives.families.dynamixel import FAMILY, servo as x
from femtorque.hil.drives.families.dynamixel.servo import ERRORS, MODELS, Dynamixel
from tests.support.drive_bench import ServoBench

RATE = 2e6
PING = bytes.fromhex("fffffd0001030001194e")  # the e-manual's example of a packet to servo 1


def test_an_answer_is_spoiled_while_the_boards_driver_is_still_on():
    """Without a return delay the answer comes after 20 us. A driver that is on for longer corrupts it."""
    for after, spoiled in ((0.5e-6, False), (15e-6, False), (25e-6, True)):
        bench, heard = Bench(1), []
        bench.servos[0].stored[x.DELAY] = bench.servos[0].registers[x.DELAY] = 0
        bench.line.arrive = lambda data, disturbed, heard=heard: heard.append((data, disturbed))
        bench.line.sent(PING, 10.0 / RATE, 0.5e-6, after)
        bench.clock.run(1e-3)
        assert [disturbed for _, disturbed in heard] == [spoiled]


class Bench(ServoBench):
    wait, writes = 0.06, GroupSyncWrite

    def __init__(self, count: int = 2, model: str = "xm430-w350") -> None:
        super().__init__(RATE, FAMILY.framing, MODELS[model].volts, PacketHandler(2.0))
        self.servos = [Dynamixel(self.clock, k, MODELS[model], RATE, 0.0, lambda: self.volts, 5.2)
                       for k in range(1, count + 1)]
        self.line.servos += tuple(self.servos)

    def setPacketTimeoutMillis(self, time: float) -> None: ...

    def getBaudRate(self) -> int:
        return int(RATE)

    def one(self, register: int, size: int, value: int, id: int = 1) -> tuple[int, int]:
        """Return the result and the error of a write to one servo."""
        write = {1: self.handler.write1ByteTxRx, 2: self.handler.write2ByteTxRx, 4: self.handler.write4ByteTxRx}[size]
        return write(self, id, register, value & (1 << 8 * size) - 1)

    def read(self, register: int, size: int, id: int = 1) -> tuple[int, int, int]:
        read = {1: self.handler.read1ByteTxRx, 2: self.handler.read2ByteTxRx, 4: self.handler.read4ByteTxRx}[size]
        return read(self, id, register)

    def group(self, register: int, size: int) -> GroupSyncRead:
        found = GroupSyncRead(self, self.handler, register, size)
        for servo in self.servos:
            found.addParam(servo.id)
        return found

    def settle(self, seconds: float, current: float = 0.0, velocity: float = 0.0) -> list[float]:
        """Return the voltages at the motors, V, after a time with this motor current, A."""
        volts = [math.nan] * len(self.servos)
        for _ in range(round(seconds / 1e-4)):
            self.clock.run(1e-4)
            volts = [s.terminal(self.clock.seconds, s.angle + 1e-4 * velocity, velocity, current)
                     for s in self.servos]
        return volts


@pytest.fixture
def running() -> Bench:
    bench = Bench()
    for register, size, value in ((x.MODE, 1, 0), (x.GOAL_CURRENT, 2, 0), (x.ENABLE, 1, 1)):
        bench.write(register, size, value)
    return bench


def test_that_robotis_client_pings_and_reads_what_servos_are():
    bench = Bench()
    assert bench.handler.ping(bench, 1) == (1020, COMM_SUCCESS, 0)
    found, result = bench.handler.broadcastPing(bench)
    assert (result, found) == (COMM_SUCCESS, {1: [1020, 47], 2: [1020, 47]})
    assert bench.read(x.CURRENT_LIMIT, 2) == (1193, COMM_SUCCESS, 0)
    assert bench.read(x.DELAY, 1) == (250, COMM_SUCCESS, 0) and bench.read(x.MODE, 1)[0] == 3
    assert bench.read(x.POSITION, 4)[0] == 2048 and bench.read(x.VOLTAGE, 2)[0] == 120


def test_that_robotis_client_reads_all_at_once_and_in_turn_even_what_has_to_be_stuffed():
    """A current of -1 step and a velocity of -3 steps have the same bytes as the beginning of a packet."""
    bench = Bench(3)
    for servo in bench.servos:
        servo.current, servo.seen = -2.69e-3, -3 * 0.229 / 60.0 * math.tau
    for fast in (False, True):
        group = bench.group(x.CURRENT, 10)
        assert (group.fastSyncRead() if fast else group.txRxPacket()) == COMM_SUCCESS
        for servo in bench.servos:
            assert [group.getData(servo.id, at, size) for at, size in ((126, 2), (128, 4), (132, 4))] == [
                0xFFFF, 0xFFFFFFFD, 2048]


def test_that_a_missing_servo_ends_a_fast_answer_and_not_the_others():
    bench = Bench(3)
    bench.servos[1].cut = True
    assert bench.group(x.POSITION, 4).fastSyncRead() != COMM_SUCCESS
    group = GroupSyncRead(bench, bench.handler, x.POSITION, 4)
    assert group.addParam(1) and group.addParam(3)
    assert group.fastSyncRead() == COMM_SUCCESS and group.getData(3, x.POSITION, 4) == 2048


@pytest.mark.parametrize(("register", "size", "value", "error"), [
    (x.MODEL, 2, 7, 7), (x.POSITION, 4, 7, 7), (x.WATCHDOG, 1, 200, 4), (x.GOAL_CURRENT, 2, 1194, 6),
    (x.GOAL_CURRENT, 2, -1193, 0), (x.CURRENT_LIMIT, 2, 1194, 6), (600, 1, 0, 7)])
def test_that_what_may_not_be_written_is_an_error_in_the_answer(register, size, value, error):
    bench = Bench()
    assert bench.one(register, size, value) == (COMM_SUCCESS, error)


def test_that_stored_registers_are_locked_while_the_motor_is_on(running):
    assert running.one(x.MODE, 1, 16) == (COMM_SUCCESS, 7)
    assert running.one(x.ENABLE, 1, 0) == (COMM_SUCCESS, 0) and running.one(x.MODE, 1, 16) == (COMM_SUCCESS, 0)


def test_that_of_a_write_across_the_last_stored_register_the_first_part_is_stored():
    bench = Bench(1)
    servo = bench.servos[0]
    assert bench.handler.writeTxRx(bench, 1, x.SHUTDOWN, 2, [53, 1]) == (COMM_SUCCESS, 0)
    assert (servo.registers[x.SHUTDOWN], servo.registers[x.ENABLE], servo.stored[x.SHUTDOWN]) == (53, 1, 53)
    servo.power_up(0.0)
    assert (servo.registers[x.SHUTDOWN], servo.registers[x.ENABLE], len(servo.registers)) == (53, 0, x.REGISTERS)


def test_that_bytes_before_a_packet_are_left_out_but_take_their_time():
    came = []
    for before in (b"", b"\x00\xff"):
        bench = Bench(1)
        bench.line.arrive = lambda data, disturbed, bench=bench: came.append((data, bench.clock.seconds))
        bench.line.sent(before + PING, 10.0 / RATE)
        bench.clock.run(1e-3)
    (data, at), (other, later) = came
    assert data == other and later - at == pytest.approx(2 * 10.0 / RATE)


def test_that_another_mode_asks_for_all_its_current_until_somebody_says_otherwise():
    bench = Bench()
    bench.write(x.MODE, 1, 0)
    assert bench.read(x.GOAL_CURRENT, 2)[0] == 1193
    bench.write(x.ENABLE, 1, 1)
    assert bench.settle(0.01)[0] == pytest.approx(12.0)


def test_that_a_servo_answers_as_much_as_its_level_says():
    bench = Bench()
    assert bench.one(x.LEVEL, 1, 1)[0] == COMM_RX_TIMEOUT
    assert bench.one(x.GOAL_CURRENT, 2, 1)[0] == COMM_RX_TIMEOUT and bench.read(x.GOAL_CURRENT, 2)[0] == 1
    bench.one(x.LEVEL, 1, 0)
    assert bench.read(x.MODEL, 2)[1] == COMM_RX_TIMEOUT and bench.handler.ping(bench, 1)[1] == COMM_SUCCESS


def test_that_a_current_follows_its_goal_within_the_supply(running):
    """100 steps are 0.269 A. At rest the voltage is this current times 5.2 ohm. The plant's current is constant."""
    running.write(x.GOAL_CURRENT, 2, 100)
    current, servo = 0.0, running.servos[0]
    for _ in range(300):
        running.clock.run(1e-4)
        volts = servo.terminal(running.clock.seconds, 0.0, 0.0, current)
        current += (volts - 5.2 * current) / 5.2e-3 * 1e-4
    assert current == pytest.approx(0.269, rel=0.02) and servo.turning
    running.write(x.GOAL_CURRENT, 2, 1193)
    assert running.settle(0.1)[0] == pytest.approx(12.0)


def test_that_an_expired_watchdog_takes_the_current_away_until_it_is_told_zero(running):
    running.write(x.WATCHDOG, 1, 5)
    running.write(x.GOAL_CURRENT, 2, 100)
    running.settle(0.02)
    assert running.servos[0].turning
    running.settle(0.08)
    assert running.servos[0].registers[x.WATCHDOG] == 255 and not running.servos[0].turning
    assert running.one(x.GOAL_CURRENT, 2, 50) == (COMM_SUCCESS, 4)
    assert running.one(x.WATCHDOG, 1, 5) == (COMM_SUCCESS, 4)
    assert running.one(x.WATCHDOG, 1, 0) == (COMM_SUCCESS, 0) and running.one(x.GOAL_CURRENT, 2, 50)[1] == 0


def test_that_a_shutdown_ends_with_a_reboot_alone(running):
    """For 2 s the servo has almost its stall current. Each answer contains the alert bit."""
    running.write(x.GOAL_CURRENT, 2, 1000)
    running.settle(2.1, current=2.2)
    assert running.read(x.HARDWARE, 1) == (ERRORS["overload"], COMM_SUCCESS, 0x80)
    assert running.read(x.ENABLE, 1)[0] == 0 and running.one(x.ENABLE, 1, 1)[1] == 0x80 | 7
    assert running.handler.reboot(running, 1)[0] == COMM_SUCCESS
    running.settle(0.2)
    assert running.read(x.HARDWARE, 1) == (0, COMM_SUCCESS, 0) and running.one(x.ENABLE, 1, 1)[1] == 0


def test_that_turns_are_counted_while_it_is_on_and_forgotten_when_it_is_switched_on(running):
    servo = running.servos[0]
    servo.terminal(running.clock.seconds, 3.0 * math.tau, 0.0)
    assert running.read(x.POSITION, 4)[0] == 2048 + 3 * 4096
    running.one(x.ENABLE, 1, 1)
    assert running.read(x.POSITION, 4)[0] == 2048


def test_that_a_motor_floats_while_it_is_off_and_a_duty_is_a_share_of_the_supply():
    bench = Bench(model="xl430-w250")
    assert all(map(math.isnan, bench.settle(0.01)))
    for register, size, value in ((x.MODE, 1, 16), (x.GOAL_PWM, 2, -177), (x.ENABLE, 1, 1)):
        bench.write(register, size, value)
    assert bench.settle(0.01) == pytest.approx([-2.22, -2.22])
    bench.servos[0].power_off()
    assert [math.isnan(v) for v in bench.settle(0.01)] == [True, False]


@pytest.mark.parametrize(("model", "steps"), [("xm430-w350", 800 / 128), ("xl330-m288", 400 / 256)])
def test_that_position_mode_gives_a_duty_by_its_p_gain_within_the_goal_of_duty(model, steps):
    """steps: factory gain, steps of duty per count. A full duty is 885. A servo that is switched on holds. A D gain is
    not modelled."""
    bench, volts = Bench(model=model), MODELS[model].volts
    bench.write(x.ENABLE, 1, 1)
    assert bench.settle(0.01) == [0.0, 0.0] and bench.read(x.GOAL_POSITION, 4)[0] == 2048
    for away, duty in ((20, 20 * steps / 885), (-40, -40 * steps / 885), (1000, 1.0)):
        assert bench.one(x.GOAL_POSITION, 4, 2048 + away) == (COMM_SUCCESS, 0)
        assert bench.settle(0.01)[0] == pytest.approx(volts * duty, abs=0.01 * volts)
    assert bench.one(x.GOAL_POSITION, 4, 4096) == (COMM_SUCCESS, x.LIMIT_ERROR)
    bench.write(x.P_GAIN, 2, 200)
    assert bench.one(x.GOAL_POSITION, 4, 2068) == (COMM_SUCCESS, 0)
    assert bench.settle(0.01)[0] == pytest.approx(volts * 20 * 200 / MODELS[model].divisor / 885, abs=0.01 * volts)
    bench.write(x.D_GAIN, 2, 1)
    assert math.isnan(bench.settle(0.01)[0])
