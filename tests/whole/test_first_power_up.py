"""The page on the first power-up, walked with the virtual board in the place of the real one: its commands are typed as
they stand there, and what it says must be seen is what that board shows.

Voltages in between, edges and whatever else is shorter than a cycle are for the scope alone, and so is the brown-out
reset, which the virtual chip has at its lowest level only.
"""

import json
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import femtorque
from assurance.campaigns.campaign_currents import SHORTED_CABLE
from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.wire import STATES, Command
from femtorque.codegen.wire.messages import COMMANDS, FAULTS
from femtorque.hil.board import VirtualBoard, drv8301
from femtorque.hil.chip.stm32.chip import unique
from femtorque.hil.chip.stm32.probe import Probe
from femtorque.hil.drives.families.feetech import servo as sts
from femtorque.hil.plant import plant_of
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import session_with
from femtorque.host.link import Session
from tests.host.flash.test_flash import OPENOCD, REGISTERS, tool
from tests.support import bus_arm, rig, servos
from tests.support.boards import FILE
from tests.support.plugged import Hand, ctrl_c, plugged_in
from tests.support.suite import ROOT

PAGE = (ROOT / "docs" / "first-power-up.md").read_text(encoding="utf-8")
STEPS = {int(number): text for number, text in
         re.findall(r"^(\d+)\. (\*\*.+?)(?=^\d+\. |^\*\*|^Write down)", PAGE, re.MULTILINE | re.DOTALL)}
COMMAND = re.compile(r"`(femtorque [^`]+)`")


def commands(text: str) -> list[str]:
    return [" ".join(line.split()) for line in COMMAND.findall(text)]


def on_board(folder: Path, board: str, drive: str, brake: bool) -> Mechanism:
    """The three-link arm's file with another board and drive, as somebody would write it."""
    text = FILE.read_text(encoding="utf-8").replace("f405rg-4", board)
    if drive != "voltage":
        text = re.sub(r"^(motor = \{)", rf'\1 drive = "{drive}",', text, flags=re.MULTILINE)
    if board.startswith("odrive"):
        text = re.sub(r"^(gravity.*)$", r"\1\nlock = { wrist = 0.0 }", text, count=1, flags=re.MULTILINE)
    text += "\n[safety.brake]\nrelease_s = 0.03\nengage_s = 0.06\n" * brake
    path = folder / "arm.toml"
    path.write_text(text, encoding="utf-8")
    return load_mechanism(path)


class Bench:
    """A board on the desk with its motors' supply, and somebody at a terminal."""

    def __init__(self, board: VirtualBoard, mechanism: Mechanism, capfd: pytest.CaptureFixture[str]) -> None:
        self.board, self.mechanism, self.capfd = board, mechanism, capfd

    def types(self, step: int, which: int = 0, status: int = 0, extra: tuple[str, ...] = (), **changes: str) -> str:
        """A command of a step, the reader's own names in it; what it prints, on both channels."""
        words = commands(STEPS[step])[which].split()[1:]
        told = {"MECH": str(self.mechanism.source), "PORT": "auto", "JOINT": "elbow", **changes}
        with pytest.raises(SystemExit) as left:
            femtorque.main([*(told.get(word, word) for word in words), *extra])
        shown = self.capfd.readouterr()
        assert left.value.code == status, shown
        return shown.out + shown.err

    def monitor(self) -> str:
        ctrl_c(self.board, 0.5)
        return self.types(2, 1)

    def fault(self, seconds: float = 0.5) -> str:
        """Report of the board to a host a little later."""
        self.board.run(seconds)
        with session(self) as host:
            return next(name for name, row in FAULTS.items() if row[0] == host.status.fault)

    def enabled(self) -> bool:
        pin = self.board.board.outputs.enable
        return bool(self.board.chip.gpio[pin[1]].driven(int(pin[2:])))


@contextmanager
def session(bench: Bench, armed: bool = False) -> Iterator[Session]:
    host = session_with(bench.board)
    try:
        host.connect()
        if armed:
            rig.arm(bench.board, host)
            bench.board.plant.hand = lambda p: 0.2 * np.ones(p.n)  # so that the motors have something to do
            bench.board.run(0.05)
            assert not bench.board.outputs_safe() and bench.enabled()
        yield host
    finally:
        bench.board.plant.hand = lambda p: -2.0 * p.v  # somebody steadies what is let go
        host.link.close()


At = Callable[..., Bench]


@pytest.fixture
def at(tmp_path, monkeypatch, capfd) -> Iterator[At]:
    """A bench with a board; openocd is there, and finds its chip."""
    monkeypatch.chdir(tmp_path)
    open_: list[object] = []

    def bench(board: str, drive: str = "voltage", brake: bool = False) -> Bench:
        mechanism = on_board(tmp_path, board, drive, brake)
        words = " ".join(f"{word:08x}" for word in struct.unpack("<3I", unique(0)))
        script = REGISTERS.replace("{folder}", str(tmp_path)).replace("44434241 48474645 4c4b4a49", words)
        tool(tmp_path, "openocd", script + OPENOCD.replace("413", "469" if board.startswith("nucleo") else "413"))
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        plugged = plugged_in(mechanism, Plant(mechanism), tmp_path / "image")
        open_.append(plugged)
        there = plugged.__enter__()
        there.run(0.1)
        return Bench(there, mechanism, capfd)

    yield bench
    for plugged in open_:
        plugged.__exit__(None, None, None)


def test_every_step_and_every_command_of_the_page_is_walked_here():
    walked = {int(number) for name in globals() for number in re.findall(r"^test_step_(\d+)_", name)}
    assert list(STEPS) == list(range(28)) and walked == set(range(25))  # as the page says
    assert {step: len(commands(text)) for step, text in STEPS.items() if commands(text)} == {
        2: 2, 4: 1, 5: 1, 9: 1, 11: 1, 13: 1, 18: 1}
    assert commands(PAGE) == [line for text in STEPS.values() for line in commands(text)] + ["femtorque ports"]


def test_step_00_check_and_bringup_name_the_pins_that_5_v_destroys(at):
    bench = at("nucleo-g474re-6")
    text = bench.mechanism.source.read_text(encoding="utf-8")
    bench.mechanism.source.write_text(text.replace("channel = 0", "channel = 4"), encoding="utf-8")
    with pytest.raises(SystemExit):
        femtorque.main(["check", str(bench.mechanism.source)])
    shown = " ".join(bench.capfd.readouterr().out.split())
    assert "never 5 V at the encoder inputs of shoulder: PA0, PA1 of the STM32G474" in shown
    assert "bear 5 V only with their pulls off" in shown


# ---- motors' supply off -----------------------------------------------------------------------------


def test_step_01_a_chip_in_reset_drives_no_pin_of_an_output(at):
    bench = at("f405rg-4")
    bench.board.reset("pin")
    for c in bench.board.board.channels:
        for pin in (c.pwm.pin, c.direction):
            assert not bench.board.chip.gpio[pin[1]].value["MODER"] >> 2 * int(pin[2:]) & 3  # an input
    assert not bench.enabled() and bench.board.outputs_safe()


def test_step_02_a_board_that_was_flashed_says_who_it_is_and_can_be_flashed_again(at):
    bench = at("nucleo-g474re-6")
    for _ in range(2):
        assert "written to STM32G474 and compared" in bench.types(2)
        seen = "".join(bench.monitor().split())
        assert "DISARMED" in seen and unique(0).hex() in seen and "(last:POWER)" in seen
        Probe(bench.board.chip).attach()


def test_step_02_another_crystal_is_named_and_so_is_one_that_does_not_start(at):
    bench = at("f405rg-4")
    bench.board.chip.rcc.hse_hz = 12_000_000
    bench.board.reset("power")
    assert bench.fault() == "CRYSTAL"
    bench.board.kill_crystal()
    bench.board.reset("power")
    assert bench.fault() == "CLOCK"


def test_step_03_the_time_that_a_board_tells_is_that_of_its_crystal(at):
    bench = at("f405rg-4")
    bench.board.run(3.0)
    told = json.loads(bench.types(2, 1, extra=("--json",)))
    assert abs(told["identity"]["uptime_s"] - bench.board.seconds) < 1.1


@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6"])
def test_step_04_a_supply_that_sinks_makes_outputs_safe_and_is_told(at, name):
    bench = at(name)
    assert "brown-out reset level 3" in bench.types(4)
    volts = 3.3
    with session(bench, armed=True):
        while not bench.board.outputs_safe():
            volts -= 0.005
            bench.board.chip.supply(volts)
            bench.board.run(2e-3)
    assert 2.85 <= volts <= 2.99
    bench.board.chip.supply(2.8)
    assert bench.fault() == "SUPPLY"
    with session(bench) as host:
        host.clear()
    assert "SUPPLY" in bench.types(5, status=1)


# ---- motors' supply on ------------------------------------------------------------------------------


def test_step_05_arming_enables_the_drivers_and_the_pulse_is_centred(at):
    bench, seen = at("f405rg-4"), []
    chip = bench.board.chip
    timer = chip.timers["TIM8"]

    def look() -> None:
        seen.append((bench.enabled(), timer.value["CR1"] >> 5 & 3, 2 * timer.value["ARR"] / chip.rcc.timer_hz(True)))
        bench.board.at(bench.board.seconds + 0.05, look)

    look()
    bench.types(5, **{"60": "1"})
    assert sum(enabled for enabled, _, _ in seen) > 10 and not bench.enabled()
    assert all(mode == 1 and period == pytest.approx(1.0 / 20_000) for _, mode, period in seen)
    timer.updates_at_bottom = True
    bench.board.reset("pin")
    assert bench.fault() == "PWM_UPDATE"


def test_step_06_directions_change_while_the_pwm_is_low(at):
    bench = at("f405rg-4")
    board, core = bench.board, bench.board.chip.core
    pins = [c.direction for c in board.board.channels[:3]]
    updates, late, before = [0], [], [None]

    def level() -> list[bool]:
        return [board.chip.gpio[pin[1]].driven(int(pin[2:])) for pin in pins]

    def look() -> None:
        if before[0] not in (None, level()):
            late.append(core.events.now - updates[-1])
        before[0] = level()

    board.chip.timers["TIM8"].on_update = lambda: updates.append(core.events.now)
    board.chip.gpio["B"].on_output = look
    board.plant.hand = lambda p: np.array([0.0, 0.3, 0.1]) * np.sin(300.0 * board.seconds)
    with session(bench, armed=True):
        board.run(0.3)
    assert len(late) > 5 and max(late) < 0.04 * 4200  # of half a PWM period: low until then below a duty of 96 %
    configure = core.scs.systick.configure
    core.scs.systick.configure = lambda value, reload: configure(value & ~4, reload)
    board.reset("pin")
    assert bench.fault() == "TICK_TIMER"


@pytest.mark.parametrize(("name", "seconds"), [("f405rg-4", 0.0), ("nucleo-g474re-6", 1e-6), ("f405rg-6", 0.0),
                                               ("odrive-v3.6", 2e-3)])
def test_step_07_an_open_loop_stops_the_drivers_and_no_board_arms_with_it(at, name, seconds):
    bench = at(name)
    with session(bench, armed=True) as host:
        bench.board.estop(True)
        bench.board.run(seconds)
        assert bench.board.outputs_safe()
        rig.pump(bench.board, host, 5)
        assert host.status.state == STATES["ESTOP"][0]
        with pytest.raises(Refused, match="ESTOP_ACTIVE"):
            host.clear()
    assert "the e-stop dropped the outputs; release it" in bench.types(5, status=1)


def test_step_08_half_bridges_have_at_least_their_dead_time(at):
    bench = at("odrive-v3.6")
    for name in ("TIM1", "TIM8"):
        counts = bench.board.chip.timers[name].value["BDTR"] & 0xFF
        assert counts < 128 and 120e-9 <= counts / 168e6 < 150e-9  # below 128 it counts the timer's clock


@pytest.mark.parametrize(("name", "stops"), [("f405rg-4", True), ("nucleo-g474re-6", True), ("odrive-v3.6", True),
                                             ("f405rg-6", False)])
def test_step_09_a_processor_that_is_halted_drives_no_motor_where_its_timers_have_a_break(at, name, stops):
    bench = at(name)
    assert ("never halt it" in bench.types(9)) == (not stops)
    with session(bench, armed=True):
        bench.board.run(0.5)
        probe = Probe(bench.board.chip)
        probe.attach()
        bench.board.run(0.002)
        probe.halt()
        if stops:  # nothing turns meanwhile
            bench.board.plant.hand, bench.board.brakes = None, True
        bench.board.run(0.05)
        assert bench.board.outputs_safe() == stops
        bench.board.run(0.1)
        assert bench.board.outputs_safe()
        probe.resume()
    assert bench.board.chip.resets == ["power", *([] if stops else ["watchdog"])]
    assert bench.fault(2.0) in ("TICK_OVERRUN", "HOST_LOST") or not stops


@pytest.mark.parametrize("name", ["f405rg-4", "f405rg-6", "nucleo-g474re-6", "odrive-v3.6"])
def test_step_10_a_crystal_that_is_touched_ends_in_its_own_fault(at, name):
    bench = at(name)
    with session(bench, armed=True):
        bench.board.kill_crystal()
        bench.board.run(2e-5)
        assert bench.board.outputs_safe()
    assert bench.fault() == "CLOCK"


def test_step_11_enable_stays_low_from_a_reset_until_the_image_arms(at):
    """Flashing through the ROM: tests/host/flash. Here it does not hear the link, and the refusal says so."""
    bench = at("f405rg-4")
    assert "does not hear the link" in bench.types(11, status=1, PORT="socket://127.0.0.1:9")
    seen = []
    with session(bench, armed=True):
        assert bench.enabled()
        bench.board.reset("pin")
        for _ in range(200):
            seen.append(bench.enabled())
            bench.board.run(1e-3)
    assert not any(seen)


# ---- current sensors --------------------------------------------------------------------------------


ON_LOOPS = ("f405rg-4", "nucleo-g474re-6", "odrive-v3.6")


@pytest.mark.parametrize("name", ON_LOOPS)
def test_step_12_the_zeros_of_the_sensors_are_those_of_the_board_file(at, name):
    bench = at(name, "current")
    with session(bench) as host:
        for sensor, channel in zip(bench.board.current_sensors.values(), bench.board.board.channels, strict=False):
            assert abs(sensor.volts(0.0) - channel.current.zero_v) < 0.1
        bench.board.current_sensors[0].stuck = 1.9
        bench.board.run(0.1)
        host.home([j.start for j in bench.mechanism.streamed])
        with pytest.raises(Refused, match="CURRENT_SENSOR"):
            host.arm()


@pytest.mark.parametrize("name", ON_LOOPS)
def test_step_13_a_sensor_of_the_wrong_sign_and_one_that_sees_nothing_are_named_before_a_loop_is_closed(
        at, name, monkeypatch):
    bench = at(name, "current")
    monkeypatch.setattr(sys, "stdin", Hand(bench.board))
    bench.board.current_sensors[1].backwards = True
    assert "CURRENT_SIGN at joint elbow" in bench.types(13, status=1)
    bench.board.current_sensors[1].backwards = False
    bench.board.current_sensors[1].stuck = bench.board.board.channels[1].current.zero_v
    with session(bench) as host:
        host.clear()
        with pytest.raises(Refused, match="CURRENT_LOOP"):
            rig.arm(bench.board, host)
            rig.pump(bench.board, host, 5)
    bench.board.current_sensors[1].stuck = None
    with session(bench) as host:
        host.clear()
        rig.arm(bench.board, host)
        bench.board.plant.hand = lambda p: -0.3 * np.ones(p.n)
        bench.board.run(0.1)
        asked = bench.board.telemetry()["torque"]
        assert np.all(asked * bench.board.plant.current > 0.0) and np.all(asked > 0.1)  # A above B: positive


def test_step_14_the_trigger_falls_into_the_time_in_which_the_low_switch_is_on(at):
    """At the largest duty itself: tests/firmware/test_current.py."""
    bench, seen = at("odrive-v3.6", "current"), set()
    chip = bench.board.chip
    sense = chip.adc.volts

    def volts(channel: int) -> float:
        for timer in ("TIM1", "TIM8"):
            if not np.isnan(bench.board.voltages()).any():
                seen.add(chip.timers[timer].low_switch_on(2, *chip.adc.window))
        return sense(channel)

    with session(bench, armed=True):
        chip.adc.volts = volts
        for push in (2.0, -2.0):
            bench.board.plant.hand = lambda p, push=push: push * np.ones(p.n)
            bench.board.run(0.05)
    assert seen == {True}


@pytest.mark.parametrize("name", ON_LOOPS)
def test_step_15_a_short_is_over_before_it_is_hot_and_stays_over(at, name):
    bench = at(name, "current")
    with session(bench, armed=True):
        bench.board.plant.hand = lambda p: -np.array([1.0, 0.5, 0.2])[:p.n]
        bench.board.run(0.05)
        assert not bench.board.outputs_safe()
        bench.board.plant.motors.rewind(0, *SHORTED_CABLE)
        since = bench.board.seconds
        while not bench.board.outputs_safe():
            bench.board.run(1e-5)
            assert bench.board.seconds - since < 10 * 5e-5
    assert bench.fault() in ("OVER_CURRENT", "CURRENT_LOOP") and bench.board.outputs_safe()


def test_step_16_a_gate_driver_whose_supply_was_off_is_told_anew_and_one_that_shuts_down_is_named(at):
    bench = at("odrive-v3.6")
    board = bench.board
    for volts in (0.0, 24.0):
        board.bus_voltage = volts
        board.run(0.1)
    with session(bench, armed=True) as host:
        assert [driver.gain for driver in board.gate_drivers] == [20.0, 20.0]
        board.over_current(1, drv8301.FETLA_OC)
        rig.pump(board, host, 5)
        assert host.status.fault == FAULTS["DRIVER"][0] and "FETLA_OC" in host.describe() and board.outputs_safe()
    board.gate_drivers[0].deaf = True
    board.run(0.3)
    with session(bench) as host:
        host.clear()
        with pytest.raises(Refused, match="DRIVER_NOT_READY"):
            rig.arm(board, host)


def test_step_17_brakes_open_when_armed_alone_and_close_before_enable_goes(at, tmp_path):
    bench = at("f405rg-4", brake=True)
    board, pin = bench.board, bench.board.board.brake.pin

    def opens() -> bool:
        return board.chip.gpio[pin[1]].driven(int(pin[2:])) == (board.board.brake.release == "high")

    assert not opens()
    assert "safety.brake" in bench.types(18, status=2) and not opens()
    with session(bench, armed=True) as host:
        assert opens() and bench.enabled()
        since = board.seconds
        host.link.send(Command(99, COMMANDS["DISARM"][0]))
        while opens():
            board.run(1e-3)
        closed = board.seconds
        assert closed - since < 0.02 and bench.enabled()
        while bench.enabled():
            board.run(1e-3)
        assert 0.06 <= board.seconds - closed < 0.08
        rig.pump(board, host, 5)
        host.arm()
        board.run(0.1)
        board.estop(True)
        assert bench.board.outputs_safe()
        board.run(2e-3)
        assert not opens()


# ---- with the arm -----------------------------------------------------------------------------------


def test_step_18_a_bringup_names_the_motor_that_turns_its_joint_the_wrong_way(at, monkeypatch):
    bench = at("f405rg-4")
    monkeypatch.setattr(sys, "stdin", Hand(bench.board))
    bench.board.motor_wires[1] = -1.0
    said = bench.types(18, status=1)
    assert "shoulder: good" in said and "elbow: its motor turns it the wrong way" in said


def test_step_19_a_cable_that_is_pulled_does_what_the_file_says(at):
    bench = at("f405rg-4")
    with session(bench, armed=True):
        assert not bench.board.outputs_safe()
        bench.board.incoming.cut = True
        bench.board.run(2.0)
        assert bench.board.outputs_safe()  # its gravity loads no joint: it coasts
        bench.board.incoming.cut = False
    assert bench.fault(0.1) == "HOST_LOST"


def test_step_20_an_encoder_that_is_pulled_off_is_found_before_the_joint_runs_away(at):
    bench, fastest = at("f405rg-4"), [0.0]
    board = bench.board

    def look() -> None:
        fastest[0] = max(fastest[0], abs(float(board.plant.v[1])))
        board.at(board.seconds + 1e-3, look)

    def pull() -> None:
        fault = board.encoder_faults[1]
        fault.frozen = fault.seen(round(board.plant.q[1] / (2.0 * np.pi) * 8192))

    look()
    board.at(board.seconds + 1.0, pull)
    bench.types(5, status=1, **{"0": "0.2", "60": "3"})
    assert bench.fault(0.1) in ("FOLLOWING", "ENCODER", "ENCODER_STUCK") and fastest[0] < 2.0 and board.outputs_safe()


def test_step_21_servos_are_set_up_until_they_are_switched_off_and_a_pulled_wire_lets_none_go():
    mechanism, elf = servos.arm("f405rg-6", cutoff=False)
    with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        session, on_wire = session_with(board), list(board.wiring.buses.servos.values())
        came = [(servo.get(sts.MODE), servo.get(sts.DELAY)) for servo in on_wire]
        session.connect()
        rig.pump(board, session, 60)
        rig.arm(board, session)
        set_up = [(servo.get(sts.MODE), servo.get(sts.DELAY)) for servo in on_wire]
        assert all(servo.driving for servo in on_wire) and not set(came) & set(set_up)
        for servo in on_wire:
            servo.cut = True
        rig.pump(board, session, 60)
        assert session.status.fault == FAULTS["DRIVE_SILENT"][0] and all(servo.driving for servo in on_wire)
        board.bus_voltage = 0.0
        board.run(0.05)
        assert not any(servo.driving for servo in on_wire)
        board.bus_voltage = 12.0
        board.run(0.01)
        assert [(servo.get(sts.MODE), servo.get(sts.DELAY)) for servo in on_wire] == came


def test_step_22_the_servos_supply_is_off_in_reset_and_cut_when_a_wire_is_pulled():
    mechanism, elf = servos.arm("f405rg-6")
    with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        relay, on_wire, host = board.wiring.relay, list(board.wiring.buses.servos.values()), session_with(board)
        board.run(0.05)
        assert not relay.closed  # for off_s after each start
        host.connect()
        rig.pump(board, host, 60)
        assert relay.closed
        rig.arm(board, host)
        assert all(servo.driving for servo in on_wire)
        for servo in on_wire:
            servo.cut = True
        rig.pump(board, host, 20)
        assert host.status.fault == FAULTS["DRIVE_SILENT"][0] and not relay.closed
        assert not any(servo.driving for servo in on_wire)
        board.reset("pin")
        assert not relay.closed
        host.link.close()


def test_step_23_a_drive_that_answers_to_nobody_is_silent_while_its_frames_are_counted():
    mechanism, elf = bus_arm.arm("damiao")
    with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        drive = next(iter(board.wiring.buses.drives.values()))
        drive.registers[7] = 0.0  # MST_ID as it comes from the factory
        host = session_with(board)
        host.connect()
        with pytest.raises(Refused, match="DRIVE_SILENT"):
            rig.arm(board, host)
        rig.pump(board, host, 60)
        assert host.drives.foreign > 0
        host.link.close()


def test_step_24_a_drive_whose_cable_is_pulled_stops_within_its_time_and_stays_off():
    mechanism, elf = bus_arm.arm("damiao")
    with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        host = session_with(board)
        host.connect()
        rig.arm(board, host)
        board.run(0.02)
        drive = next(iter(board.wiring.buses.drives.values()))
        drive.cut = True
        board.run(0.06)
        assert not drive.driving
        rig.pump(board, host, 10)
        assert host.status.fault == FAULTS["DRIVE_SILENT"][0]
        drive.cut = False
        rig.pump(board, host, 30)
        assert not drive.driving
        host.link.close()
