"""Virtual moteus: answers for the maker's package, control loop, permanent time-out, faults."""

import math

import can
import moteus
import pytest
from moteus import Register as R
from moteus.protocol import parse_registers

from femtorque.hil.drives.families.moteus.drive import FAULTS, Moteus
from femtorque.hil.drives.fields import Ranges
from tests.support.drive_bench import DriveBench, damped

TURN = 2 * math.pi
RANGES = Ranges(100.0, 51.4, 20.0, 20.0, 0.8)  # ranges as configured: N m/rad, N m s/rad
FREE = {"velocity_limit": -1.0, "accel_limit": -1.0}


class Client:
    """The package's controller. The controller's frames are sent on the bench's bus in simulated time."""

    def __init__(self, number: int = 3, source: int = 0, **bench) -> None:
        self.bench = DriveBench(lambda wire: Moteus(wire, number, RANGES), **bench)
        self.own = moteus.Controller(id=number, source_can_id=source, transport=object())

    def ask(self, command, wanted: bool = True):
        """Send a frame that needs an answer, and return the values by register."""
        number = 0x8000 * command.reply_required | command.source << 8 | command.destination
        data = command.data.ljust(next(s for s in (*range(9), 12, 16, 20, 24, 32, 48, 64) if s >= len(command.data)),
                                  b"\x50")
        answer = self.bench.ask(number, data, number > 0x7FF, fd=True)
        if not wanted:
            assert answer is None
            return {}
        assert answer is not None
        message = can.Message(arbitration_id=answer.id, data=answer.data, is_extended_id=answer.extended, is_fd=True)
        result = command.parse(message)
        assert result.id == self.own.id
        return result.values

    def command(self, **values):
        return self.ask(self.own.make_position(query=True, **{"watchdog_timeout": 0.02, **FREE, **values}))

    def enabled(self):
        """Enable the drive, and wait until it has calibrated its current sensors."""
        for _ in range(12):
            self.command(position=math.nan, kp_scale=0.0, kd_scale=0.0)
        return self

    @property
    def drive(self) -> Moteus:
        assert isinstance(self.bench.drive, Moteus)
        return self.bench.drive


@pytest.mark.parametrize(("number", "source"), [(3, 0), (3, 0x77), (9, 5), (118, 0x77)])
def test_the_package_reads_what_it_reports(number, source):
    client = Client(number, source)
    client.bench.q, client.bench.v = 0.7, 1.5
    client.bench.run(5e-3)
    told = client.ask(client.own.make_query())
    assert told[R.MODE] == moteus.Mode.STOPPED and told[R.FAULT] == 0
    assert told[R.POSITION] == pytest.approx(client.bench.q / TURN, abs=1e-3)
    assert told[R.VELOCITY] == pytest.approx(1.5 / TURN, abs=1e-3)
    assert (told[R.TORQUE], told[R.VOLTAGE], told[R.TEMPERATURE]) == (0.0, 24.0, 25.0)


def test_the_package_reads_its_registers_and_an_error_of_one_that_it_has_not():
    client = Client()
    wanted = {R.HOME_STATE: moteus.INT8, R.REGISTER_MAP_VERSION: moteus.INT32, R.FIRMWARE_VERSION: moteus.INT32,
              R.MULTIPLEX_ID: moteus.INT32}
    told = {}
    for register, size in wanted.items():
        told |= client.ask(client.own.make_custom_query({register: size}))
    assert told == {R.HOME_STATE: 2, R.REGISTER_MAP_VERSION: 5, R.FIRMWARE_VERSION: 0x010100, R.MULTIPLEX_ID: 3}
    answer = client.bench.ask(0x8003, bytes([0x11, 0x7E]), True, fd=True)
    assert answer is not None and parse_registers(answer.data).errors == [(0x7E, 1)]


def test_what_is_no_number_is_the_least_one_and_an_answer_beyond_a_frame_is_none():
    client, none = Client(), R.COMMAND_STOP_POSITION
    for size in (moteus.INT8, moteus.INT16, moteus.INT32, moteus.F32):
        assert math.isnan(client.ask(client.own.make_custom_query({none: size}))[none])
    ten = bytes([0x1C, 10, 0x20])
    for reads, size in ((1, 48), (2, 0)):
        answer = client.bench.ask(0x8003, (reads * ten).ljust(8, b"\x50"), True, fd=True)
        assert len(answer.data if answer else b"") == size


def test_it_answers_where_it_is_asked_to_and_to_its_own_number_alone():
    client = Client()
    asked = client.own.make_query()
    asked.reply_required = False
    client.ask(asked, wanted=False)
    asked.reply_required, asked.destination = True, 4
    client.ask(asked, wanted=False)
    assert client.bench.ask(0x8003, b"\x01\x00", True, fd=True) is None  # cut short


def test_the_loop_moves_an_inertia_as_spring_and_damper_do():
    """The current loop (200 Hz) delays by 0.8 ms, the velocity filter by 0.4 ms, so there is less damping."""
    client = Client().enabled()
    start = client.bench.clock.seconds
    for _ in range(400):
        client.command(position=0.2 / TURN, watchdog_timeout=math.nan)
    exact = [(q, damped(max(t - start - 1.1e-3, 0.0), 0.05, 20.0, 0.8 - 20.0 * 0.8e-3, 0.2))
             for t, q in client.bench.trace if t > start]
    assert max(abs(q - e) for q, e in exact) < 0.005


def test_shares_of_its_gains_and_the_largest_torque_are_those_of_the_command():
    client = Client(inertia=1e9).enabled()
    client.command(position=1.0 / TURN, kp_scale=0.5, kd_scale=0.0, feedforward_torque=1.0)
    client.bench.run(5e-3)
    assert client.drive.motor.torque == pytest.approx(0.5 * 20.0 + 1.0, rel=0.01)
    client.command(position=1.0 / TURN, kp_scale=1.0, maximum_torque=3.0)
    client.bench.run(5e-3)
    assert client.drive.motor.torque == pytest.approx(3.0, rel=0.01)


def test_the_target_moves_on_with_the_velocity_of_the_command_until_the_next_one():
    """The firmware moves the target in this way (bldc_servo_position.h, UpdateCommand)."""
    client = Client(inertia=1e9).enabled()
    client.command(position=0.0, velocity=0.5 / TURN, kp_scale=1.0, kd_scale=0.0, watchdog_timeout=math.nan)
    client.bench.run(20e-3)
    assert client.drive.motor.torque == pytest.approx(20.0 * 0.5 * 20e-3, rel=0.06)
    client.command(position=0.0, velocity=0.0, kp_scale=1.0, kd_scale=0.0, watchdog_timeout=math.nan)
    client.bench.run(20e-3)
    assert client.drive.motor.torque == pytest.approx(0.0, abs=1e-3)


def test_damping_needs_no_stiffness():
    """In the firmware, damping needs no stiffness either (bldc_servo_control.h, ISR_DoPosition; pid.h). registers.md
    limits the scale of kd."""
    client = Client(inertia=1e9)
    client.bench.v = 2.0
    client.enabled().command(position=math.nan, kp_scale=0.0, kd_scale=0.5)
    client.bench.run(5e-3)
    assert client.drive.motor.torque == pytest.approx(-0.5 * 0.8 * 2.0, rel=0.02)


def test_a_drive_left_alone_brakes_and_obeys_only_after_a_stop():
    client = Client(inertia=1.0).enabled()
    client.bench.v = 3.0
    client.command(position=math.nan, kp_scale=0.0, feedforward_torque=5.0)
    client.bench.run(0.015)
    assert client.drive.motor.torque > 1.0
    client.bench.run(0.02)
    assert client.drive.brakes_alone and client.drive.motor.torque == pytest.approx(-0.8 * client.bench.v, rel=0.05)
    for _ in range(20):
        told = client.command(position=math.nan, kp_scale=0.0, feedforward_torque=5.0)
    assert told[R.MODE] == moteus.Mode.TIMEOUT and client.drive.motor.torque < 0.0
    client.ask(client.own.make_stop(query=True))
    assert client.ask(client.own.make_query())[R.MODE] == moteus.Mode.STOPPED and not client.drive.driving
    client.enabled()
    assert client.command(position=math.nan)[R.MODE] == moteus.Mode.POSITION


def test_its_brake_has_the_share_of_kd_that_was_commanded_last_and_is_bounded():
    client = Client(inertia=1e9).enabled()
    client.bench.v = 40.0
    client.bench.run(0.05)
    assert client.drive.brakes_alone and client.drive.limp
    client.ask(client.own.make_stop(query=True))
    client.enabled().command(position=math.nan, kp_scale=0.0, kd_scale=1.0)
    client.bench.run(0.05)
    assert client.drive.brakes_alone and client.drive.motor.torque == pytest.approx(-5.0, rel=0.01)


def test_each_of_its_faults_is_reported_and_lasts_until_a_stop():
    names = {int(code) for code in FAULTS.values()}
    assert names <= set(range(32, 51))
    for code in FAULTS.values():
        client = Client().enabled()
        client.drive.fail(code)
        told = client.command(position=0.0)
        assert (told[R.MODE], told[R.FAULT]) == (moteus.Mode.FAULT, code) and not client.drive.driving
        assert client.command(position=0.0)[R.MODE] == moteus.Mode.FAULT
        client.ask(client.own.make_stop(query=True))
        assert client.ask(client.own.make_query())[R.FAULT] == 0


def test_beyond_its_own_limits_of_position_it_does_not_start():
    client = Client()
    client.drive.stream.settings["servopos.position_max"] = 0.1
    client.bench.q = 1.0
    client.bench.run(1e-3)
    told = client.enabled().command(position=math.nan)
    assert (told[R.MODE], told[R.FAULT]) == (moteus.Mode.FAULT, 39)


def test_without_supply_it_forgets_its_mode_and_its_turns():
    client = Client().enabled()
    client.bench.q = 4.0
    client.drive.power_off()
    client.drive.power_up(client.bench.q)
    told = client.ask(client.own.make_query())
    assert told[R.MODE] == 0 and told[R.POSITION] == pytest.approx(4.0 / TURN - 1.0, abs=1e-4)
