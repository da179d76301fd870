"""Current loops at the rate of the PWM: step response against the winding's equation, the boards' sensors, failures of
motors, cables and sensors, late ticks, and refusals. At the end each safeguard is removed, and its test must fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assurance.registers import register_map
from assurance.registers.register_map import Accesses, violations
from femtorque.codegen.board import channels, reader as boards
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.control import current_range, joint_constants
from femtorque.codegen.control.constants import render
from femtorque.codegen.emit import board_header
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.mechanism.description import Brake
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire.messages import FAULTS
from femtorque.hil.board import VirtualBoard, VirtualClock
from femtorque.hil.board.bridges import Bridge
from femtorque.hil.board.current_sensors import CurrentSensor
from femtorque.hil.board.drv8301 import Drv8301
from femtorque.hil.plant.rigid import Plant
from femtorque.host.lab.joint_identification import Take, _motor_torque
from femtorque.host.link import Link
from femtorque.host.link.session import fault_name
from tests.firmware.test_chip import QUIET, START, Machine, mutate
from tests.hil.board.test_boards import armed
from tests.support.boards import FILE, IMAGES, driven, image, three_link

BUS, PERIOD, TICK = 24.0, 1.0 / 20_000, 1e-3
SHOULDER, ELBOW, WRIST = (1.6, 2.5e-3), (2.4, 2.0e-3), (3.0, 1.2e-3)  # ohm and henry, as in three_link
SHORTED_CABLE, SHORTED_WINDING, OPEN = (0.05, 30e-6), (0.2, 0.1e-3), (1e6, 1.0)
KN = 0.35  # torque constant of the shoulder, N m/A
LOOPS = ("f405rg-4", "nucleo-g474re-6", "odrive-v3.6")
GOOD, OVER, SENSOR, SIGN, LOOP = range(5)  # FT_CURRENT_

ASKING = START + QUIET + """
int32_t share;
uint32_t late, on, cause, joint, zero, off;
void ft_app_tick(void)
{
    uint32_t since = ft_chip_cycles();
    int32_t counts[3];
    ticks++;
    ft_chip_encoders(counts);
    (void)ft_chip_bus_voltage();
    if (on) { on = 0; ft_chip_outputs(true); }
    ft_chip_duties((const float[]){ (float)share * 1e-3f, 0.0f, 0.0f });
    cause = ft_chip_current_fault(&joint);
    zero = ft_chip_current_zero(&off);
    if (late) { late = 0; while (ft_chip_cycles() - since < 300000u) { } }
}
"""


class Bench:
    """A board whose motors are blocked. Windings are exact over intervals of constant duty. The board's sensors are
    simulated. windings: (ohm, henry) per joint. amperes: the current of each joint. worst: the largest current, A."""

    def __init__(self, folder: Path, name: str = "f405rg-4", motor: dict[str, float] | None = None,
                 drive: str = "current") -> None:
        self.machine = Machine(folder, ASKING, name, drive=drive, motor=motor)
        chip, board = self.machine.chip, self.machine.board
        joints = [(j, c) for j, c in channels.served(self.machine.mechanism, board) if c]
        self.bridges = [Bridge(board, chip, j, c) for j, c in joints]
        self.windings = [(motor["R"], motor["L"]) if motor else w for w in (SHOULDER, ELBOW, WRIST)][:len(joints)]
        self.amperes, self.at, self.worst = [0.0] * len(joints), 0.0, 0.0
        self.back_emf = 0.0  # back-EMF of the shoulder, V
        self.bus = BUS  # V
        self.history: list[tuple[float, float]] = []  # time, s, and the shoulder's current, A, at each sample
        self.told = 0.0  # the last output of the shoulder's sensor, V
        self.drivers = [Drv8301() for _ in (board.gate_driver.selects if board.gate_driver else ())]
        self.sensors = [CurrentSensor(board.name, c.current.pin, chip, self.drivers, lambda: chip.adc.window)
                        for _, c in joints]
        self.of_channel = {board.chip.sampling.channels[c.current.pin]: i for i, (_, c) in enumerate(joints)}
        for moment in ("before_change", "before_read"):
            chip.parts.call(moment, self.bring_up)
        chip.adc.volts = self.volts
        if board.sense.bus:
            chip.converters[-1].volts = lambda channel: self.bus / board.sense.bus.ratio
        if self.drivers:
            chip.spi.exchange = self.exchange
            chip.gpio[board.outputs.enable[1]].hear(0xFFFF, self.enable)
        self.sensor = self.sensors[0]

    def enable(self) -> None:
        for driver in self.drivers:
            driver.enable(self.machine.chip.seconds, self.machine.drivers_on)

    def exchange(self, word: int, mode: int) -> int:
        pins = self.machine.board.gate_driver.selects
        low = [d for d, pin in zip(self.drivers, pins, strict=True) if not self.machine.port(pin).driven(int(pin[2:]))]
        return low[0].exchange(self.machine.chip.seconds, word, mode)

    def bring_up(self) -> None:
        now = self.machine.chip.seconds
        for i, ((ohm, henry), bridge) in enumerate(zip(self.windings, self.bridges, strict=True)):
            share = bridge.share if self.machine.drivers_on else None
            against = 0.0 if i else self.back_emf
            steady = 0.0 if share is None else (share * self.bus - against) / ohm
            decay = 0.0 if share is None else math.exp(-ohm / henry * (now - self.at))
            self.amperes[i] = steady + (self.amperes[i] - steady) * decay
        self.at, self.worst = now, max(self.worst, *map(abs, self.amperes))

    def volts(self, channel: int) -> float:
        i = self.of_channel[channel]
        volts = self.sensors[i].volts(self.amperes[i])
        if i == 0:
            self.history.append((self.at, self.amperes[0]))
            self.told = volts
        return volts

    def run(self, seconds: float) -> Bench:
        self.machine.run(seconds)
        return self

    def on(self) -> Bench:
        """Enable the outputs. Wait until the bridges are awake and the test pulse is over."""
        self.machine.poke("on", 1)
        return self.run(5e-3 + TICK * self.machine.board.outputs.wake_ticks(round(1.0 / TICK)))

    def ask(self, amperes: float) -> Bench:
        mechanism = self.machine.mechanism
        full = channels.current_range(self.machine.board, mechanism.moving[0])
        self.machine.poke("share", round(1000.0 * amperes / full) & 0xFFFFFFFF)
        return self

    @property
    def driving(self) -> bool:
        return any(bridge.share is not None for bridge in self.bridges) and self.machine.timer.outputs_on

    def turn(self, velocity: float) -> Bench:
        """Turn the shoulder at this velocity, rad/s, from now on. The shoulder's encoder counts, and its motor has a
        back-EMF."""
        joint, channel, chip = self.machine.mechanism.moving[0], self.machine.channels[0], self.machine.chip
        self.bring_up()
        self.back_emf = joint.motor.K * joint.motor.gear * velocity
        timer, since = chip.timers[channel.encoder.timer], chip.seconds
        before, per_second = timer.counts(), joint.encoder.counts * velocity / (2.0 * math.pi)
        timer.counts = lambda: before + round(per_second * (chip.seconds - since))
        return self

    def until_off(self, within: float) -> float:
        """Return the time until the outputs are off, s, to a tenth of a PWM period."""
        since = self.machine.chip.seconds
        while self.driving and self.machine.chip.seconds - since < within:
            self.run(PERIOD / 10)
        assert not self.driving
        return self.machine.chip.seconds - since

    def settled(self, seconds: float) -> float:
        """Return the mean current of the shoulder over the last `seconds`, A."""
        return float(np.mean([a for at, a in self.history if at > self.machine.chip.seconds - seconds]))

    def ended(self, cause: int) -> bool:
        """Return whether the outputs stay off for this reason at the first joint."""
        self.run(0.01)
        return not self.driving and (self.machine["cause"], self.machine["joint"]) == (cause, 0)


@pytest.fixture
def bench(tmp_path) -> Callable[..., Bench]:
    def make(name: str = "f405rg-4", motor: dict[str, float] | None = None) -> Bench:
        return Bench(tmp_path, name, motor).run(0.08)
    return make


@pytest.fixture(params=("f405rg-4", "nucleo-g474re-6"))
def inline(bench, request) -> Callable[[], Bench]:
    """Boards of both families with sensors in the motors' lines."""
    return lambda: bench(request.param)


# ---------------------------------------------------------------- normal operation


def ideal(amperes: float, periods: int) -> np.ndarray:
    """Compute the loop independently: PI of the sampled current, a duty that acts in the next period."""
    (ohm, henry), bandwidth = SHOULDER, 2.0 * math.pi * 20_000 / 30.0
    kp, ki = bandwidth * henry / BUS, bandwidth * ohm / BUS * PERIOD
    now, integral, duty = 0.0, 0.0, 0.0
    found = []
    for _ in range(periods):
        found.append(now)
        error, steady = amperes - now, duty * BUS / ohm
        following = kp * error + integral
        if abs(following) <= 1.0 or following * error < 0.0:
            integral += ki * error
        now, duty = steady + (now - steady) * math.exp(-ohm / henry * PERIOD), max(-1.0, min(1.0, following))
    return np.array(found)


@pytest.mark.parametrize("amperes", [2.0, 5.0, -2.0, -5.0])
def test_a_step_is_followed_with_the_stated_bandwidth(inline, amperes):
    """The current settles on its setpoint within a count of the converter. The current reaches 63 % after some 0.24 ms,
    and follows the sampled loop that `ideal` computes."""
    coil = inline().on().ask(amperes)
    began = len(coil.history)
    coil.run(0.01)
    course = np.array([a for _, a in coil.history[began:]]) * math.copysign(1.0, amperes)
    size = abs(amperes)
    assert abs(course[-20:].mean() - size) < 0.0122 + size * 1e-3  # resolution: a thousandth of the range
    start = int(np.argmax(course > 0.02 * size))
    reached = int(np.argmax(course > 0.632 * size))
    longest = 7 if size == 2.0 else 9  # time in periods of 50 us; 1/(2 pi 667 Hz) is 4.8 periods
    assert 3 <= reached - start + 1 <= longest
    assert course.max() < 1.1 * size
    expected = ideal(size, 60)
    first = int(np.argmax(expected > 0.02 * size))
    np.testing.assert_allclose(course[start:start + 40], expected[first:first + 40], atol=0.06 * size)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("amperes", [10.0, -10.0])
def test_a_motor_of_low_resistance_gets_what_is_asked_for_in_both_directions(bench, name, amperes):
    """The current has the board file's sign. On odrive-v3.6 the shunt is blind at large negative duties."""
    coil = bench(name, {"R": 0.3, "L": 0.6e-3}).on()
    assert coil.run(0.01).settled(5e-3) == pytest.approx(0.0, abs=0.2)
    coil.ask(amperes).run(0.03)
    assert coil.settled(5e-3) == pytest.approx(amperes, abs=0.2) and coil.worst < 12.0
    coil.ask(-amperes).run(0.03)
    assert coil.settled(5e-3) == pytest.approx(-amperes, abs=0.2) and coil.worst < 12.0
    assert coil.machine["cause"] == GOOD


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_shunt_is_seen_at_the_largest_duty_that_a_loop_takes(bench, direction):
    """The setpoint needs more than the bus voltage. At the duty's bound the sensor still measures."""
    coil = bench("odrive-v3.6").on()
    coil.ask(40.0 * direction).run(0.02)
    assert coil.driving
    share = coil.bridges[0].share
    # the ADC samples for 3 clocks and converts for 15
    assert abs(share) == pytest.approx(1.0 - 4.0 * (18.0 / 21e6 + 120e-9) * 20_000, abs=1e-3)
    assert coil.told == pytest.approx(1.65 - 0.01 * coil.history[-1][1], abs=1e-6)
    assert coil.ask(5.0 * direction).run(0.02).settled(5e-3) == pytest.approx(5.0 * direction, abs=0.2)


def test_a_sensor_with_another_zero_is_taken_from_its_own(inline, monkeypatch):
    from femtorque.hil.board import current_sensors

    part = replace(current_sensors._HALL, zero_v=1.72)
    for name in ("f405rg-4", "nucleo-g474re-6"):
        monkeypatch.setitem(current_sensors.PARTS, name, dict.fromkeys(current_sensors.PARTS[name], part))
    assert inline().on().ask(2.0).run(0.02).settled(5e-3) == pytest.approx(2.0, abs=0.02)


def test_a_late_tick_asks_for_nothing(inline):
    coil = inline().on().ask(2.0).run(0.01)
    assert coil.amperes[0] == pytest.approx(2.0, abs=0.02)
    coil.machine.poke("late", 1)
    lowest = 99.0
    for _ in range(60):
        coil.run(PERIOD).bring_up()
        lowest = min(lowest, abs(coil.amperes[0]))
    assert lowest < 0.1 and coil.machine["missed"] == 1
    assert coil.run(0.01).amperes[0] == pytest.approx(2.0, abs=0.02)


def test_a_direction_is_switched_while_nothing_is_driven(inline):
    """Between two signs the pins show one period of neutral. The test samples often enough to see the update that ends
    the old duty before the direction changes."""
    coil = inline().on()
    pin, seen = coil.machine.board.channels[0].direction, []
    for amperes in (8.0, -8.0, 8.0):
        coil.ask(amperes)
        for _ in range(4000):
            coil.run(PERIOD / 100)
            seen.append((coil.machine.port(pin).driven(int(pin[2:])), coil.machine.timer.duty(1)))
    for (was, before), (now, after) in zip(seen, seen[1:], strict=False):
        assert was == now or before == after == 0.0
    assert len({direction for direction, _ in seen}) == 2


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_loop_asks_a_bridge_on_bootstrap_capacitors_for_no_more_than_the_board_says(inline, monkeypatch, sign):
    """12 A would require a duty of 0.8."""
    load = boards.load_board
    monkeypatch.setattr(boards, "load_board", lambda name, *_: replace(
        load(name), outputs=load(name).outputs.model_copy(update={"duty_max": 0.6})))
    coil = inline().on().ask(sign * 12.0).run(0.02)
    assert coil.driving and coil.bridges[0].share == pytest.approx(sign * 0.6, abs=5e-4)
    assert coil.settled(5e-3) == pytest.approx(sign * 0.6 * BUS / SHOULDER[0], rel=0.01)


def test_a_bridge_on_bootstrap_capacitors_is_never_asked_for_more_than_the_board_says(bench, tmp_path):
    """Without current loops the duty is a voltage, and the law uses the bound."""
    assert boards.load_board("odrive-v3.6").outputs.duty_max == 0.95
    coil = Bench(tmp_path, "odrive-v3.6", drive="voltage").run(0.08).on()
    for share, held in ((1.0, 0.95), (-1.0, -0.95), (0.5, 0.5)):
        coil.machine.poke("share", round(1000 * share) & 0xFFFFFFFF)
        assert coil.run(3e-3).bridges[0].share == pytest.approx(held, abs=5e-4)
    config = render(coil.machine.mechanism, coil.machine.board)["ft_config.h"]
    assert "#define FT_DUTY_MAX FT_C(0.95)" in config
    fast = joint_constants(coil.machine.mechanism, coil.machine.mechanism.moving[1])
    assert fast.effort == min(1.7, 0.2 * 24.0 * 0.95 / 2.4)


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize("name", LOOPS)
def test_a_sensor_put_in_backwards_is_found_by_a_pulse_before_any_loop_is_closed(bench, name):
    """The setpoint is 0 A. Without the pulse the full bus voltage would follow in a few milliseconds."""
    coil = bench(name)
    coil.sensor.backwards = True
    assert coil.on().ended(SIGN)
    assert coil.worst < 1.2  # largest current in A; the full bus voltage could drive 15 A


@pytest.mark.parametrize("name", LOOPS)
def test_a_sensor_that_turns_round_while_a_loop_is_closed_ends_the_drive(bench, name):
    coil = bench(name).on().ask(2.0).run(0.01)
    coil.sensor.backwards = True
    coil.until_off(5e-3)
    assert coil.ended(SIGN) and coil.worst < 12.0


@pytest.mark.parametrize("winding, worst", [(SHORTED_CABLE, 85.0), (SHORTED_WINDING, 36.0)])
def test_a_short_ends_the_drive_at_the_second_reading_beyond_the_trip_and_stays_ended(inline, winding, worst):
    coil = inline().on().ask(10.0).run(0.01)
    coil.windings[0] = winding
    before = coil.machine.chip.seconds
    coil.until_off(0.02)
    beyond = [at for at, a in coil.history if at > before and abs(a) > 1.2 * 14.32]  # the trip, as sampled
    assert len(beyond) == 2 and coil.machine.chip.seconds - beyond[1] < PERIOD
    assert coil.ended(OVER) and coil.worst < worst
    coil.windings[0] = SHOULDER
    assert coil.ended(OVER)  # until the outputs are enabled again
    assert coil.on().machine["cause"] == GOOD and coil.driving


def test_a_loop_that_swings_from_bound_to_bound_is_ended(inline):
    """The winding has a twenty-fifth of its inductance. The current never reaches the trip, but never settles."""
    coil = inline().on().run(0.01)
    coil.windings[0] = SHORTED_WINDING
    coil.run(0.01)
    assert coil.ended(LOOP) or coil.ended(OVER)
    assert coil.worst < 20.0


@pytest.fixture
def odrive(bench):
    return lambda: bench("odrive-v3.6")


def test_a_loop_that_swings_in_jumps_that_may_be_noise_is_ended(odrive):
    """With a tenth of the inductance, jumps to 9 A may be noise on this board. Only the swinging shows the fault."""
    coil = odrive().on().ask(1.0).run(0.01)
    coil.sensor.noise = 4e-3
    coil.windings[0] = (0.2, SHOULDER[1] / 10.0)
    coil.run(0.02)
    assert coil.ended(LOOP) and coil.worst < 20.0


@pytest.mark.parametrize("amperes", [0.0, 0.5, 1.0, 3.0])
def test_a_shorted_cable_is_not_taken_for_a_sensor_that_is_turned_round(bench, amperes):
    """The loop swings from bound to bound with growing amplitude, but the current still follows its voltage."""
    coil = bench("odrive-v3.6").on().ask(amperes).run(0.01)
    coil.sensor.noise = 4e-3
    coil.windings[0] = SHORTED_CABLE
    assert coil.until_off(0.02) < 0.01
    assert (coil.ended(OVER) or coil.ended(LOOP)) and coil.worst < 110.0


@pytest.mark.parametrize("amperes", [0.0, 1.0, 2.0, 5.0, 10.0])
@pytest.mark.parametrize("winding", [SHORTED_CABLE, SHORTED_WINDING])
def test_a_short_ends_the_drive_within_five_periods_of_its_first_jump(inline, amperes, winding):
    """The time counts from the first jump above three times the change that twice the bus voltage causes in an intact
    winding. Before this jump, a short may carry no current, because it has no voltage."""
    coil = inline().on().ask(amperes).run(0.01)
    coil.sensor.noise = 4e-3
    coil.windings[0] = winding
    first = len(coil.history)
    coil.until_off(0.02)
    sound = 3.0 * 2.0 * BUS * PERIOD / SHOULDER[1]
    after = coil.history[first - 1:]
    jump = next(at for (_, was), (at, now) in zip(after, after[1:], strict=False) if abs(now - was) > sound)
    assert coil.machine.chip.seconds - jump < 5 * PERIOD
    assert coil.ended(OVER) or coil.ended(LOOP)


@pytest.mark.parametrize("amperes", [5.0, 10.0])
def test_a_sensor_that_goes_blind_under_current_ends_the_drive_before_the_bus_is_on_the_motor(inline, amperes):
    """From one period to the next the sensor reads zero, as if bridged. The loop then applies full voltage."""
    coil = inline().on().ask(amperes).run(0.01)
    coil.sensor.stuck = 1.65
    assert coil.until_off(0.02) < 2.1e-3  # V/R comes with 1.6 ms
    assert coil.ended(LOOP) and coil.worst < amperes + 0.8 * (BUS / SHOULDER[0] - amperes)


@pytest.mark.parametrize("emf", [12.0, -12.0])
def test_a_load_that_tears_a_motor_round_is_not_taken_for_a_short(inline, emf):
    """The back-EMF jumps by half the bus voltage from one period to the next, and back."""
    coil = inline().on().ask(5.0).run(0.01)
    for volts in (emf, 0.0, -emf, emf, 0.0):
        coil.back_emf = volts
        coil.run(4 * PERIOD)
    assert coil.run(0.01).driving and coil.machine["cause"] == GOOD


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("gain, amperes", [(0.15, 8.0), (0.5, 8.0), (0.3, 2.0), (0.3, -2.0), (0.45, 4.0)])
def test_a_sensor_that_loses_gain_ends_the_drive_once_its_voltage_brings_too_little(bench, name, gain, amperes):
    """V/R is 15 A. For a setpoint of 8 A the loop applies full voltage; for smaller setpoints a part of it is enough.
    The sensor reads at most half of the current that the loop's voltage must cause."""
    coil = bench(name).on().ask(amperes).run(0.01)
    coil.sensor.gain = gain
    assert coil.until_off(0.05) < 0.02 and coil.ended(LOOP)


@pytest.mark.parametrize("volts", [0.2, 0.35])
def test_a_sensor_that_loses_gain_while_its_motor_turns_ends_the_drive_all_the_same(inline, volts):
    """The back-EMF is the fraction `volts` of the bus voltage, in both directions."""
    for way in (1.0, -1.0):
        coil = inline().on().turn(way * volts * BUS / KN).ask(way * 8.0).run(0.01)
        coil.sensor.gain = 0.15
        assert coil.until_off(0.05) < 0.02 and coil.ended(LOOP)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("gain", [0.3, 0.55, 0.65])
def test_a_sensor_that_has_lost_gain_before_is_found_by_the_pulse(bench, name, gain):
    coil = bench(name)
    coil.sensor.gain = gain
    assert coil.on().ended(LOOP)


COLD, HOT = 0.8, 1.4  # factors of the file's R: 0.8, and 1.2 plus 65 K for copper (0.0039 per K)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("ohms", [COLD, 1.2, HOT])
@pytest.mark.parametrize("bus", [0.75, 1.25])
def test_a_sound_drive_at_the_bound_of_its_duty_is_let_be(bench, name, ohms, bus):
    """The setpoint cannot be reached, at any allowed bus voltage, with noise on the sensor. The joint is at rest,
    drives below, at and above its no-load velocity, or is driven backwards."""
    coil = bench(name)
    coil.bus, coil.windings[0] = bus * BUS, (ohms * SHOULDER[0], SHOULDER[1])
    coil.sensor.noise = 4e-3
    coil.run(0.02).on()
    assert coil.driving and coil.machine["cause"] == GOOD
    most = min(20.0, 1.15 * bus * BUS / ohms / SHOULDER[0])
    for way in (1.0, -1.0):
        bound = abs(coil.turn(0.0).ask(way * most).run(0.02).bridges[0].share)
        for share in (0.2, 0.38, 0.42, 0.6, 0.9, 1.05, 0.5, -0.2, 0.0):
            coil.turn(way * share * bound * bus * BUS / KN).run(0.012)
            assert coil.driving and coil.machine["cause"] == GOOD, (way, share)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("ohms", [COLD, HOT])
def test_a_sound_drive_within_its_bound_is_let_be(bench, name, ohms):
    """The motor drives, brakes and reverses with part of its voltage, up to half of its no-load velocity."""
    coil = bench(name)
    coil.windings[0], coil.sensor.noise = (ohms * SHOULDER[0], SHOULDER[1]), 4e-3
    coil.on()
    for share in (0.0, 0.2, 0.4, 0.5, 0.3, 0.0, -0.3, -0.5):
        coil.turn(share * BUS / KN)
        for amperes in (1.0, -4.0, 0.0):
            coil.ask(amperes).run(4e-3)
            assert coil.driving and coil.machine["cause"] == GOOD, (share, amperes)


@pytest.mark.parametrize("winding", [SHORTED_CABLE, SHORTED_WINDING])
def test_a_short_that_is_there_before_is_found_by_the_pulse(inline, winding):
    coil = inline()
    coil.windings[0] = winding
    assert coil.on().ended(OVER) and coil.worst < 15.0


def test_a_cable_that_is_off_is_found_by_the_pulse_and_one_that_comes_off_a_little_later(inline):
    coil = inline()
    coil.windings[0] = OPEN
    assert coil.on().ended(LOOP)
    coil.windings[0] = SHOULDER
    coil.on().ask(5.0).run(0.01)
    coil.windings[0] = OPEN
    assert coil.until_off(0.02) < 0.012 and coil.ended(LOOP)


@pytest.mark.parametrize("volts", [0.0, 0.3, 3.0, 3.3])
def test_a_sensor_at_its_end_ends_the_drive_within_five_periods_and_is_latched(inline, volts):
    coil = inline().on().ask(2.0).run(0.01)
    coil.sensor.stuck = volts
    assert coil.until_off(0.01) < 5 * PERIOD
    coil.sensor.stuck = None
    assert coil.ended(OVER) and coil.worst < 8.0


def test_one_reading_that_is_off_ends_nothing(inline):
    coil = inline().on().ask(2.0).run(0.01)
    coil.sensor.stuck = 0.0
    coil.run(PERIOD)
    coil.sensor.stuck = None
    assert coil.run(0.02).driving and coil.machine["cause"] == GOOD


def test_a_current_that_is_too_large_every_other_period_ends_the_drive(inline):
    """A loop that drives into a short reads like this. The correct readings in between do not reset the detection."""
    coil = inline().on().run(0.01)
    for _ in range(3):
        coil.sensor.stuck = 3.0
        coil.run(PERIOD)
        coil.sensor.stuck = None
        coil.run(PERIOD)
    assert coil.ended(OVER)


def test_a_converter_that_stops_ends_the_drive_within_a_tick(inline):
    coil = inline().on().ask(2.0).run(0.01)
    coil.machine.chip.adc.dead = True
    assert coil.until_off(0.01) < 2.1 * TICK and coil.ended(SENSOR) and coil.worst < 16.0


def test_a_zero_that_is_far_off_is_told_before_the_outputs_come_on_and_keeps_them_off(inline):
    coil = inline()
    assert coil.machine["zero"] == 1
    coil.sensor.stuck = 2.0
    assert coil.run(0.01).machine["zero"] == 0
    assert coil.on().ended(SENSOR)


def test_the_zero_is_not_taken_from_a_current_that_dies_away(inline):
    coil = inline().on().ask(10.0).run(0.01)
    coil.sensor.stuck = coil.sensor.volts(8.0)
    coil.machine.timer.set_break(True)  # the e-stop, in hardware
    coil.run(0.01)
    coil.sensor.stuck = None
    coil.machine.timer.set_break(False)
    assert coil.on().ask(2.0).run(0.02).settled(5e-3) == pytest.approx(2.0, abs=0.02)


BREAKS: dict[str, Callable[[Bench], object]] = {
    "cable shorted": lambda coil: coil.windings.__setitem__(0, SHORTED_CABLE),
    "winding partly shorted": lambda coil: coil.windings.__setitem__(0, SHORTED_WINDING),
    "sensor turned round": lambda coil: setattr(coil.sensor, "backwards", True),
    "sensor at the end of its range": lambda coil: setattr(coil.sensor, "stuck", 3.3),
    "sensor reads its zero": lambda coil: setattr(coil.sensor, "stuck", 1.65),
    "sensor gain of 0.15": lambda coil: setattr(coil.sensor, "gain", 0.15),
    "sensor gain of 0.5": lambda coil: setattr(coil.sensor, "gain", 0.5),
    "cable off": lambda coil: coil.windings.__setitem__(0, OPEN),
}


def how_soon(bench: Callable[..., Bench], breaks: Callable[[Bench], object], amperes: float) -> str:
    """Return the largest values for five moments of failure: periods until outputs are off, later current, A."""
    periods, worst = 0.0, 0.0
    for moment in range(5):
        coil = bench()
        coil.sensor.noise = 4e-3
        coil.on().ask(amperes).run(0.01 + moment * PERIOD)
        coil.worst = 0.0
        breaks(coil)
        since = coil.machine.chip.seconds
        while coil.driving and coil.machine.chip.seconds - since < 0.02:
            coil.run(PERIOD / 10)
        periods = max(periods, math.inf if coil.driving else (coil.machine.chip.seconds - since) / PERIOD)
        worst = max(worst, coil.run(5e-3).worst)
    told, flows = (f"{x:.{0 if x >= 10 else 1}f}" for x in (periods, worst))
    return "not seen" if periods == math.inf else f"{told}, {flows} A"


@pytest.mark.bench
def test_the_page_says_how_soon_the_loops_are_ended(bench):
    page = (Path(__file__).resolve().parents[2] / "firmware" / "README.md").read_text(encoding="utf-8")
    rows = [f"| {what} | {' | '.join(how_soon(bench, breaks, a) for a in (0.0, 1.0, 5.0, 10.0))} |"
            for what, breaks in BREAKS.items()]
    print("", *rows, sep="\n")
    assert [row for row in rows if row not in page] == []


# ---------------------------------------------------------------- on the whole image


@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6", pytest.param("odrive-v3.6", marks=pytest.mark.bench)])
def test_an_arm_on_current_loops_gets_the_torque_it_asks_for(name):
    """The image tracks its target. Each motor's mean current in a tick is the commanded torque over K N."""
    from femtorque.codegen.motion import knots
    from femtorque.hil.cost.measurement import short_motion
    from femtorque.hil.play import play_motion

    mechanism, built = image(name, "current")
    seen = Accesses()
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        board.chip.bus.watch = seen.note
        result = play_motion(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward=True)
        assert result.ended == "done" and result.faults == () and float(result.tracking_max.max()) < 1e-3
        family = board.board.chip.name
        table = {"stm32f4": register_map.stm32f405, "stm32g4": register_map.stm32g474}[family]()
        assert violations(seen, table, family) == []
        session = armed(board)
        board.run(0.05)
        asked = board.telemetry()["torque"] / np.array([j.motor.K * j.motor.gear for j in mechanism.moving])
        np.testing.assert_allclose(board.plant.current, asked, atol=0.1)
        board.current_sensors[0].stuck = 0.0
        board.run(0.05)
        session.pump()
        assert session.status.fault == FAULTS["OVER_CURRENT"][0] and board.outputs_safe()


@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6"])
@pytest.mark.parametrize("gain, warm", [(0.15, 1.0), (0.5, 1.0), (1.0, 1.6)])
def test_an_arm_that_leans_on_something_notices_a_sensor_that_loses_gain(name, gain, warm):
    """A hand pushes the first joint with 3 N m, which needs 8.6 of its motor's 15 A. A correct sensor causes no fault,
    even if the winding is so warm that the motor cannot hold the joint."""
    mechanism, built = image(name, "current")
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        session = armed(board)
        board.plant.hand = lambda plant: np.array([-3.0, 0.0, 0.0])
        board.run(0.3)
        session.pump()
        assert session.in_state("HOLD") and abs(board.plant.current[0]) > 7.0
        board.current_sensors[0].gain = gain
        board.plant.motors.rewind(0, 1.6 * warm, 2.5e-3)
        if warm > 1.0:
            board.plant.hand = lambda plant: np.array([-5.0, 0.0, 0.0])
        board.run(0.1)
        session.pump()
        named = {fault_name(session.status.fault)} if session.status.fault else set()
        assert ("CURRENT_LOOP" in named) == (gain < 1.0) and board.outputs_safe() == bool(named)


def test_an_arm_that_its_brakes_hold_shows_its_sensors_by_the_pulse_all_the_same():
    """During the pulse the joints are at rest. The current that flowed before the outputs went off has decayed at the
    next pulse, even if a brake held the arm in between."""
    mechanism = driven(load_mechanism(FILE), "current")
    braked = replace(mechanism, name="three-link-braked",
                     safety=replace(mechanism.safety, brake=Brake(release_s=0.03, engage_s=0.06)))
    for arm in (braked, mechanism):
        built = build.build_image(arm, IMAGES / f"{arm.name}-current" / "image")
        with VirtualBoard(built.elf, arm, Plant(arm)) as board:
            board.brakes = arm.safety.brake is None
            session = armed(board)
            board.plant.hand = lambda p: np.array([1.0, 0.0, 0.0])
            board.run(0.2)
            assert abs(board.plant.current[0]) > 0.1
            session.pump()
            assert session.in_state("HOLD")
            board.plant.hand = None
            session.disarm()
            session.arm()
            board.run(0.05)
            session.pump()
            assert session.in_state("HOLD")


def test_current_is_refused_where_it_is_not_measured_or_the_winding_is_too_fast(tmp_path):
    with pytest.raises(BadInput,
                       match="joint.shoulder.motor.drive = 'current': "
                             "board 'f405rg-6' does not measure the current of"):
        build.project(driven(three_link("f405rg-6", tmp_path), "current"))
    mechanism = driven(three_link("f405rg-4", tmp_path), "current")
    quick = tuple(replace(j, motor=replace(j.motor, L=1e-4)) for j in mechanism.joints)
    with pytest.raises(BadInput, match="joint.shoulder.motor.L = 0.0001: L/R is 1.2 PWM periods: too fast"):
        build.project(replace(mechanism, joints=quick))


def test_a_bringup_says_which_current_sensor_to_turn_round():
    """The test pulse comes before any loop is closed, so only a small current flows."""
    from femtorque.host.lab import bringup
    from femtorque.host.link import Configuration, Session

    mechanism, built = image("f405rg-4", "current")
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        board.brakes = True
        board.current_sensors[1].backwards = True
        session = Session(Link(board.plug_in(), clock=VirtualClock(board)), Configuration.of(mechanism))
        session.connect()
        most = [0.0]

        def watched() -> None:
            most[0] = max(most[0], float(np.abs(board.plant.current).max()))

        board.plant.watch(watched)
        with pytest.raises(Refused,
                           match="CURRENT_SIGN at joint elbow: .* "
                                 "turn the sensor round in the motor's line, or change "):
            bringup.bring_up(session, mechanism)
        assert 0.1 < most[0] < 0.5 and board.outputs_safe()


def test_a_pwm_at_which_a_shunt_would_be_blind_is_refused(tmp_path):
    mechanism = driven(three_link("odrive-v3.6", tmp_path), "current")
    fast = replace(mechanism, board=replace(mechanism.board, pwm_hz=84_000))
    with pytest.raises(BadInput,
                       match=r"board.pwm_hz = 84000: leaves the loop of joint 'elbow' 24% of the bus voltage: beyond "
                             r"that "
                                       r"its shunt is blind when it is sampled; at most 55239"):
        board_header.render(fast, boards.load_board("odrive-v3.6"))


def test_a_sensor_too_coarse_to_show_its_sign_is_refused(tmp_path):
    mechanism = driven(three_link("odrive-v3.6", tmp_path), "current")
    weak = tuple(replace(j, motor=replace(j.motor, R=16.0, L=25e-3)) for j in mechanism.joints)
    with pytest.raises(BadInput,
                       match="shoulder.motor.drive = 'current': 10% of the bus voltage for 2 ms bring 0.093 A, less "
                             "than 8"):
        board_header.render(replace(mechanism, joints=weak), boards.load_board("odrive-v3.6"))


def test_identification_takes_the_duty_of_a_current_loop_for_a_current(tmp_path):
    mechanism = driven(three_link("f405rg-4", tmp_path), "current")
    joint, full = mechanism.moving[0], current_range(mechanism, mechanism.moving[0])
    assert full == pytest.approx(0.7 * (1.65 - 0.3) / 0.066)
    take = Take(np.zeros((50, 3)), np.full(50, 0.1), 24.0)
    torque = _motor_torque(joint, take, np.full(50, 3.0), 1e-3, 1, full)
    np.testing.assert_allclose(torque, joint.motor.K * joint.motor.gear * 0.1 * full)


# ---------------------------------------------------------------- tests of the tests

LOOP_C, SAMPLING = "stm32/ft_current.c", "stm32f4/ft_sampling.c"
HEADER = "ft_board.h"  # generated from the board file and the mechanism file
# removed safeguards: (board, file, old, new, the test that must fail, its arguments)
MUTATIONS = {
    "the sign of a shunt below half bridge B": (
        "odrive-v3.6", HEADER, "2048, 168, -0.08", "2048, 168, 0.08",
        test_a_motor_of_low_resistance_gets_what_is_asked_for_in_both_directions, "odrive-v3.6", 10.0),
    "the bound of the duty where a shunt is blind": (
        "odrive-v3.6", HEADER, "0.9218285714285714f", "1.0f",
        test_a_shunt_is_seen_at_the_largest_duty_that_a_loop_takes, -1.0),
    "the bound of the duty, latched at full voltage": (
        "odrive-v3.6", HEADER, "0.9218285714285714f", "1.0f",
        test_a_motor_of_low_resistance_gets_what_is_asked_for_in_both_directions, "odrive-v3.6", -10.0),
    "the integral's bound": (
        "odrive-v3.6", LOOP_C, "if (inside || duty * error < 0.0f)", "if (inside || true)",
        test_a_shunt_is_seen_at_the_largest_duty_that_a_loop_takes, 1.0),
    "the converter's trigger": (
        "f405rg-4", SAMPLING, "ADC_CR2_JEXTEN_RISING", "0u", test_one_reading_that_is_off_ends_nothing),
    "the converter's trigger on the G4": (
        "nucleo-g474re-6", "stm32g4/ft_sampling.c", "                        ADC_JSQR_JEXTEN_RISING;", "0u;",
        test_one_reading_that_is_off_ends_nothing),
    "the timer's trigger at its update": (
        "f405rg-4", LOOP_C, "FT_CURRENT_TRIGGER->CR2 = TIM_CR2_MMS_UPDATE;", "",
        test_one_reading_that_is_off_ends_nothing),
    "the trip": (
        "f405rg-4", LOOP_C, "if (ft_loop_trips(c, l, amperes))", "if (ft_loop_trips(c, l, amperes) && false)",
        test_a_short_ends_the_drive_at_the_second_reading_beyond_the_trip_and_stays_ended, SHORTED_CABLE, 85.0),
    "the memory of a reading beyond the trip": (
        "f405rg-4", LOOP_C, "(*count)--;", "*count = 0;",
        test_a_current_that_is_too_large_every_other_period_ends_the_drive),
    "the second reading beyond the trip": (
        "f405rg-4", LOOP_C, "*count > most * FT_FAR;", "*count >= most * FT_FAR;",
        test_one_reading_that_is_off_ends_nothing),
    "the outputs' drop in the interrupt": (
        "f405rg-4", LOOP_C, "    ft_chip_safe();\n    if (ft_loops_state.cause != FT_CURRENT_GOOD)\n        return;",
        "    if (joint < FT_LOOPS)\n        return;",
        test_a_sensor_at_its_end_ends_the_drive_within_five_periods_and_is_latched, 3.3),
    "the latch": (
        "f405rg-4", LOOP_C, "    ft_loops_state.cause = cause;\n", "    (void)cause;\n",
        test_a_sensor_at_its_end_ends_the_drive_within_five_periods_and_is_latched, 0.0),
    "the pulse": (
        "f405rg-4", LOOP_C, "ft_loops_state.pulse = FT_CURRENT_PULSE;", "ft_loops_state.pulse = 0;",
        test_a_sensor_put_in_backwards_is_found_by_a_pulse_before_any_loop_is_closed, "f405rg-4"),
    "the sign that the pulse shows": (
        "odrive-v3.6", LOOP_C, "if (amperes < -FT_LOW * rise)", "if (false)",
        test_a_sensor_put_in_backwards_is_found_by_a_pulse_before_any_loop_is_closed, "odrive-v3.6"),
    "the short that the pulse shows": (
        "f405rg-4", LOOP_C, "if (amperes > FT_STEEP * rise)", "if (false)",
        test_a_short_that_is_there_before_is_found_by_the_pulse, SHORTED_WINDING),
    "the cut cable that the pulse shows": (
        "f405rg-4", LOOP_C, "return amperes < FT_LOW * rise ? FT_CURRENT_LOOP : FT_CURRENT_GOOD;",
        "return FT_CURRENT_GOOD;",
        test_a_cable_that_is_off_is_found_by_the_pulse_and_one_that_comes_off_a_little_later),
    "the sign of a current against its voltage": (
        "f405rg-4", LOOP_C, "if (l->against >= FT_AGAINST)", "if (false)",
        test_a_sensor_that_turns_round_while_a_loop_is_closed_ends_the_drive, "f405rg-4"),
    "what tells a loop that swings from a wrong sign": (
        "odrive-v3.6", LOOP_C, "!comes && !swung ?", "!comes && (swung || true) ?",
        test_a_shorted_cable_is_not_taken_for_a_sensor_that_is_turned_round, 3.0),
    "the current that does not come": (
        "f405rg-4", LOOP_C, " || l->idle >= c->patience)", ")",
        test_a_cable_that_is_off_is_found_by_the_pulse_and_one_that_comes_off_a_little_later),
    "the gain that a pulse shows": (
        "f405rg-4", LOOP_C, "#define FT_LOW 0.7f", "#define FT_LOW 0.5f",
        test_a_sensor_that_has_lost_gain_before_is_found_by_the_pulse, "f405rg-4", 0.65),
    "the current that all the voltage must bring": (
        "nucleo-g474re-6", LOOP_C, "flows < (FT_LITTLE * left - FT_UNSURE * most) * c->stall", "flows < -1e9f",
        test_a_sensor_that_loses_gain_ends_the_drive_once_its_voltage_brings_too_little, "nucleo-g474re-6", 0.5, 8.0),
    "the current that a part of the voltage must bring": (
        "f405rg-4", LOOP_C, "if (inside && ft_loop_lacks(c, l, amperes, duty))", "if (false)",
        test_a_sensor_that_loses_gain_ends_the_drive_once_its_voltage_brings_too_little, "f405rg-4", 0.3, 2.0),
    "the back-EMF that takes of the voltage": (
        "f405rg-4", LOOP_C, "left -= emf;", "left -= 0.0f * emf;",
        test_a_sound_drive_at_the_bound_of_its_duty_is_let_be, "f405rg-4", HOT, 0.75),
    "the bus voltage of the moment": (
        "f405rg-4", LOOP_C, "ft_loops_state.supply = ft_bus_ratio();", "ft_loops_state.supply = 1.0f;",
        test_a_sound_drive_at_the_bound_of_its_duty_is_let_be, "f405rg-4", HOT, 0.75),
    "the loop that swings": (
        "odrive-v3.6", LOOP_C, "if (ft_loop_swings(l, error < 0.0f) ||",
        "if ((ft_loop_swings(l, error < 0.0f) && false) ||",
        test_a_loop_that_swings_in_jumps_that_may_be_noise_is_ended),
    "the current that jumps as no winding lets it": (
        "f405rg-4", LOOP_C, "return ft_too_often(&l->jumps, jumps, FT_JUMPS);", "return false;",
        test_a_short_ends_the_drive_within_five_periods_of_its_first_jump, 1.0, SHORTED_WINDING),
    "the third jump": (
        "f405rg-4", LOOP_C, "return ft_too_often(&l->jumps, jumps, FT_JUMPS);",
        "return ft_too_often(&l->jumps, jumps, 1u);", test_one_reading_that_is_off_ends_nothing),
    "the shorter wait for a current that has gone at once": (
        "f405rg-4", LOOP_C, "l->idle = c->patience - c->patience / FT_GONE;", "l->idle = 0;",
        test_a_sensor_that_goes_blind_under_current_ends_the_drive_before_the_bus_is_on_the_motor, 5.0),
    "the zero that is far off, before arming": (
        "f405rg-4", LOOP_C, "        if (ft_loops[i].bad >= FT_BAD_ZEROS)\n            return false;", "",
        test_a_zero_that_is_far_off_is_told_before_the_outputs_come_on_and_keeps_them_off),
    "the zero that is far off, once armed": (
        "f405rg-4", LOOP_C, "if (l->bad != 0)", "if (false)",
        test_a_zero_that_is_far_off_is_told_before_the_outputs_come_on_and_keeps_them_off),
    "the wait for the current to die away": (
        "f405rg-4", LOOP_C, "ft_loops_state.off >= FT_SETTLE", "true",
        test_the_zero_is_not_taken_from_a_current_that_dies_away),
    "the watch over the converter": (
        "nucleo-g474re-6", LOOP_C, "if (now == before && ft_outputs_wanted())", "if (now == before && false)",
        test_a_converter_that_stops_ends_the_drive_within_a_tick),
    "the period of neutral between two directions": (
        "f405rg-4", "stm32/ft_outputs.c", "    if (direction != ft_next[joint].direction)\n        x = 0.0f;\n", "",
        test_a_direction_is_switched_while_nothing_is_driven),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_safeguard_of_the_current_loops_that_is_taken_out_is_noticed(bench, tmp_path, monkeypatch, mutation):
    name, file, old, new, check, *given = MUTATIONS[mutation]
    if file == HEADER:
        rendered = board_header.render

        def wrong(*what):
            text = rendered(*what)[HEADER]
            assert text.count(old) >= 1
            return {HEADER: text.replace(old, new)}

        monkeypatch.setattr(board_header, "render", wrong)
    else:
        mutate(tmp_path, monkeypatch, file, old, new)
    with pytest.raises(AssertionError):
        check(lambda board=name, *motor: bench(board, *motor), *given)
