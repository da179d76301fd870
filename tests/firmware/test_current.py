"""Current loops at the rate of the PWM: response against the winding's own equation, sensors that cannot be believed, late
ticks, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from codegen import build
from codegen.control_source import current_range
from codegen.errors import BadInput
from codegen.messages import FAULTS
from hil.board import VirtualBoard
from hil.plant import Plant
from host.identify import Take, _motor_torque
from tests.boards import driven, image, three_link
from tests.firmware import register_map
from tests.firmware.register_map import Accesses, violations
from tests.firmware.test_chip import QUIET, START, Machine
from tests.hil.test_boards import armed

R, L, BUS, FULL = 1.6, 2.5e-3, 24.0, 20.0  # of the shoulder; A at a duty of 1
PERIOD = 1.0 / 20_000

ASKING = START + QUIET + """
uint32_t share, late, fault;
void ft_app_tick(void)
{
    uint32_t since = ft_chip_cycles();
    if (ticks++ == 20) ft_chip_outputs(true);
    ft_chip_duties((const float[]){ (float)share * 1e-3f, 0.0f, 0.0f });
    fault = ft_chip_driver_fault();
    if (late) { late = 0; while (ft_chip_cycles() - since < 300000u) { } }
}
"""


class Winding:
    """R and L on the shoulder's bridge, held still: exact over each interval of constant duty. history: (s, A)."""

    def __init__(self, machine: Machine, zero_v: float = 1.65) -> None:
        self.machine, self.zero_v = machine, zero_v
        self.amperes, self.at = 0.0, 0.0
        self.history: list[tuple[float, float]] = []
        self.stuck: float | None = None
        machine.chip.before_change = machine.chip.before_read = self.bring_up
        machine.chip.adc.volts = self.volts

    def bring_up(self) -> None:
        now = self.machine.chip.seconds
        decay = math.exp(-R / L * (now - self.at))
        steady = self.machine.outputs[0] * BUS / R if self.machine.drivers_on else 0.0
        self.amperes, self.at = steady + (self.amperes - steady) * decay, now

    def volts(self, channel: int) -> float:
        self.history.append((self.at, self.amperes))
        if channel != 10:
            return 1.65
        return self.stuck if self.stuck is not None else self.zero_v + 0.066 * self.amperes


@pytest.fixture
def winding(tmp_path):
    def make(zero_v: float = 1.65) -> Winding:
        found = Winding(Machine(tmp_path, ASKING, "f405rg-4", drive="current"), zero_v)
        found.machine.run(0.05)
        return found
    return make


def ideal(share: float, periods: int) -> np.ndarray:
    """The loop written down anew: PI on what was sampled a period ago, whose duty counts from the next period on."""
    bandwidth = 2.0 * math.pi * 20_000 / 30.0
    kp, ki = bandwidth * L / BUS, bandwidth * R / BUS * PERIOD
    amperes, integral, duty, sampled = 0.0, 0.0, 0.0, 0.0
    found = []
    for _ in range(periods):
        before, sampled = sampled, amperes
        found.append(amperes)
        steady = duty * BUS / R  # over this period
        amperes = steady + (amperes - steady) * math.exp(-R / L * PERIOD)
        error = share * FULL - before
        following = kp * error + integral
        if abs(following) <= 1.0 or following * error < 0.0:
            integral += ki * error
        duty = max(-1.0, min(1.0, following))
    return np.array(found)


@pytest.mark.parametrize("share", [0.1, 0.25])
def test_a_step_is_followed_with_the_stated_bandwidth(winding, share):
    """Settles on what was asked for within a count of the converter; 63 % after some 0.24 ms; and the
    course of it is that of the sampled loop computed by itself."""
    coil = winding()
    coil.machine.poke("share", round(share * 1000))
    began = len(coil.history)
    coil.machine.run(0.01)
    course = np.array([a for _, a in coil.history[began:]])[::3]  # three channels a period
    assert abs(course[-20:].mean() - share * FULL) < 0.0122
    start = int(np.argmax(course > 0.02 * share * FULL))
    reached = int(np.argmax(course > 0.632 * share * FULL))
    longest = 7 if share == 0.1 else 9  # periods of 50 us; 1/(2 pi 667 Hz) are 4.8; the bus voltage is the limit
    assert 3 <= reached - start + 1 <= longest
    assert course.max() < 1.1 * share * FULL
    expected = ideal(share, 60)
    first = int(np.argmax(expected > 0.02 * share * FULL))
    np.testing.assert_allclose(course[start:start + 40], expected[first:first + 40], atol=0.06 * share * FULL)


def test_a_sensor_with_another_zero_is_taken_from_its_own(winding):
    coil = winding(zero_v=1.72)
    coil.machine.poke("share", 100)
    coil.machine.run(0.02)
    assert coil.amperes == pytest.approx(2.0, abs=0.02)


def test_a_late_tick_asks_for_nothing(winding):
    coil = winding()
    coil.machine.poke("share", 100)
    coil.machine.run(0.01)
    assert coil.amperes == pytest.approx(2.0, abs=0.02)
    coil.machine.poke("late", 1)
    lowest = 99.0
    for _ in range(60):
        coil.machine.run(0.05e-3)
        coil.bring_up()
        lowest = min(lowest, abs(coil.amperes))
    assert lowest < 0.1 and coil.machine["missed"] == 1
    coil.machine.run(0.01)
    assert coil.amperes == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("volts", [0.0, 3.3])
def test_a_sensor_at_its_end_ends_the_drive_within_five_periods(winding, volts):
    coil = winding()
    coil.machine.poke("share", 100)
    coil.machine.run(0.01)
    assert coil.machine.drivers_on
    coil.stuck = volts
    coil.machine.run(5.5 * PERIOD)
    assert coil.machine.outputs[0] == 0.0
    coil.machine.run(0.005)
    assert coil.machine["fault"] == 1 and coil.machine.outputs[0] == 0.0


def test_a_zero_that_is_far_off_keeps_the_driver_in_fault(tmp_path):
    coil = Winding(Machine(tmp_path, ASKING, "f405rg-4", drive="current"), zero_v=2.2)
    coil.machine.run(0.05)
    assert coil.machine["fault"] == 1 and coil.machine.outputs[0] == 0.0


@pytest.mark.parametrize("name", ["f405rg-4", pytest.param("odrive-v3.6", marks=pytest.mark.bench)])
def test_an_arm_on_current_loops_gets_the_torque_it_asks_for(name):
    """On the whole image: while it tracks, each motor's mean current over a tick is the torque asked for over K N."""
    from codegen.trajectory import knots
    from hil.measure import short_motion
    from hil.run import play

    mechanism, built = image(name, "current")
    seen = Accesses()
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        board.chip.bus.watch = seen.note
        result = play(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward=True)
        assert result.ended == "done" and result.faults == () and float(result.tracking_max.max()) < 1e-3
        assert violations(seen, register_map.stm32f405(), "stm32f4") == []
        session = armed(board, mechanism)
        board.run(0.05)
        asked = board.telemetry()["torque"] / np.array([j.motor.K * j.motor.gear for j in mechanism.moving])
        np.testing.assert_allclose(board.plant.current, asked, atol=0.1)
        board.dead_sensors.add(0)
        board.run(0.05)
        session.pump()
        assert session.status.fault == FAULTS["DRIVER"][0] and board.outputs_safe()
        session.link.close()


def test_current_is_refused_where_it_is_not_measured_or_the_winding_is_too_fast(tmp_path):
    with pytest.raises(BadInput, match="joint.shoulder.motor.drive = 'current': board 'nucleo-g474re-6' does not measure"):
        build.project(driven(three_link("nucleo-g474re-6", tmp_path), "current"))
    mechanism = driven(three_link("f405rg-4", tmp_path), "current")
    quick = tuple(replace(j, motor=replace(j.motor, L=1e-4)) for j in mechanism.joints)
    with pytest.raises(BadInput, match="joint.shoulder.motor.L = 0.0001: L/R is 1.2 PWM periods: too fast"):
        build.project(replace(mechanism, joints=quick))


def test_identification_takes_the_duty_of_a_current_loop_for_a_current(tmp_path):
    mechanism = driven(three_link("f405rg-4", tmp_path), "current")
    joint, full = mechanism.moving[0], current_range(mechanism, mechanism.moving[0])
    assert full == pytest.approx(FULL)
    take = Take(np.zeros((50, 3)), np.full(50, 0.1), 24.0)
    torque = _motor_torque(joint, take, np.full(50, 3.0), 1e-3, 1, full)
    np.testing.assert_allclose(torque, joint.motor.K * joint.motor.gear * 0.1 * FULL)
