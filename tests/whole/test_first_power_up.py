"""Tests the steps of the page on the first power-up, typed unchanged, with the virtual board for a real one. Not
tested: intermediate voltages, edges, pulses shorter than a cycle, which an oscilloscope shows, and brown-out resets,
since the virtual chip has only its lowest level."""

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
from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.wire import STATES
from femtorque.codegen.wire.messages import FAULTS
from femtorque.hil.board import VirtualBoard
from femtorque.hil.chip.stm32.chip import unique
from femtorque.hil.chip.stm32.probe import Probe
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import session_with
from femtorque.host.link import Session
from tests.host.flash.test_flash import OPENOCD, REGISTERS, tool
from tests.support import rig
from tests.support.boards import FILE
from tests.support.plugged import Hand, ctrl_c, plugged_in
from tests.support.suite import ROOT

PAGE = (ROOT / "docs" / "first-power-up.md").read_text(encoding="utf-8")
STEPS = {int(number): text for number, text in
         re.findall(r"^(\d+)\. (\*\*.+?)(?=^\d+\. |^\*\*|^Write down)", PAGE, re.MULTILINE | re.DOTALL)}
COMMAND = re.compile(r"`(femtorque\s[^`]+)`")


def commands(text: str) -> list[str]:
    return [" ".join(line.split()) for line in COMMAND.findall(text)]


def on_board(folder: Path, board: str) -> Mechanism:
    """Write the three-link arm's file with another board, as a user would write it."""
    text = FILE.read_text(encoding="utf-8").replace("f405rg-4", board)
    if board.startswith("odrive"):
        text = re.sub(r"^(gravity.*)$", r"\1\nlock = { wrist = 0.0 }", text, count=1, flags=re.MULTILINE)
    path = folder / "arm.toml"
    path.write_text(text, encoding="utf-8")
    return load_mechanism(path)


class Bench:
    """A simulated board with a motor supply, and a user at a terminal."""

    def __init__(self, board: VirtualBoard, mechanism: Mechanism, capfd: pytest.CaptureFixture[str]) -> None:
        self.board, self.mechanism, self.capfd = board, mechanism, capfd

    def types(self, step: int, which: int = 0, status: int = 0, extra: tuple[str, ...] = (), **changes: str) -> str:
        """Type a command of a step with the placeholders replaced. Return the text on both channels."""
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
        """Run the board for some time, and return the fault that the board then reports to a host."""
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
            # an external torque, so that the motors must give a torque
            bench.board.plant.hand = lambda p: 0.2 * np.ones(p.n)
            bench.board.run(0.05)
            assert not bench.board.outputs_safe() and bench.enabled()
        yield host
    finally:
        # a damping torque in place of a person who supports the arm when the board disarms
        bench.board.plant.hand = lambda p: -2.0 * p.v
        host.link.close()


At = Callable[..., Bench]


@pytest.fixture
def at(tmp_path, monkeypatch, capfd) -> Iterator[At]:
    """Return a workbench with a board. A stand-in for openocd finds the board's chip."""
    monkeypatch.chdir(tmp_path)
    open_: list[object] = []

    def bench(board: str) -> Bench:
        mechanism = on_board(tmp_path, board)
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


# For some steps, tests in other files show the results.
ELSEWHERE = {
    5: "firmware/test_bus.py::test_that_foreign_frames_are_nobodys_and_counted",
    6: "firmware/test_cutoff.py::test_that_the_supply_comes_after_its_time_from_the_start_on_and_only_then_is_armed",
    7: "hil/board/test_dynamixels.py::"
       "test_servos_behind_a_transceiver_of_rs_485_move_and_none_hears_a_board_that_does_not_switch_it",
    8: "hil/board/test_servos.py::test_a_tick_takes_of_the_wire_what_check_says",
    10: "hil/board/test_drives.py::"
        "test_a_supply_that_hangs_on_enable_needs_a_start_button_until_the_board_is_armed",
    11: "hil/board/test_servos.py::"
        "test_that_servos_that_nobody_reaches_keep_their_duty_where_nobody_cuts_their_supply_which_is_said",
    16: "firmware/test_chip.py::test_crystal_that_stops_drops_the_outputs_and_restarts_into_the_clock_fault",
    18: "firmware/test_current.py::test_a_zero_that_is_far_off_is_told_before_the_outputs_come_on_and_keeps_them_off",
    19: "hil/board/test_faults.py::test_what_only_some_arms_can_suffer_ends_in_its_named_fault_there",
    20: "firmware/test_current.py::test_a_shunt_is_seen_at_the_largest_duty_that_a_loop_takes",
    21: "firmware/test_current.py::test_a_short_that_is_there_before_is_found_by_the_pulse",
    22: "hil/board/test_gate_drivers.py::test_a_short_shuts_down_is_a_fault_and_is_told_by_its_transistors",
    23: "hil/play/test_falling.py::"
        "test_an_arm_with_brakes_stays_where_it_is_through_disarming_a_lost_host_and_a_reset",
    25: "hil/play/test_falling.py::test_a_loaded_arm_falls_when_the_cable_is_pulled_only_where_its_file_says_so",
    26: "hil/board/test_faults.py::"
        "test_a_fault_ends_in_its_named_state_and_one_at_start_never_lets_the_outputs_on",
}


def test_every_step_and_every_command_of_the_page_has_its_test():
    walked = {int(number) for name in globals() for number in re.findall(r"^test_step_(\d+)_", name)}
    assert list(STEPS) == list(range(30)) and walked | set(ELSEWHERE) == set(range(27))  # as the page says
    for file, name in (place.split("::") for place in ELSEWHERE.values()):
        assert f"\ndef {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), name
    assert {step: len(commands(text)) for step, text in STEPS.items() if commands(text)} == {
        2: 3, 4: 2, 9: 1, 15: 1, 17: 1, 19: 1, 24: 1}
    assert commands(STEPS[19]) == commands(STEPS[24])
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


def test_step_01_a_chip_in_reset_drives_no_pin_of_an_output(at):
    bench = at("f405rg-4")
    bench.board.reset("pin")
    for c in bench.board.board.channels:
        for pin in (c.pwm.pin, c.direction):
            assert not bench.board.chip.gpio[pin[1]].value["MODER"] >> 2 * int(pin[2:]) & 3  # an input
    assert not bench.enabled() and bench.board.outputs_safe()


def test_step_02_a_flashed_board_reports_its_identity_and_can_be_flashed_again(at):
    bench = at("nucleo-g474re-6")
    for _ in range(2):
        assert "written to STM32G474 and compared" in bench.types(2)
        seen = "".join(bench.monitor().split())
        assert "DISARMED" in seen and unique(0).hex() in seen and "(last:POWER)" in seen
        Probe(bench.board.chip).attach()
    bench.board.estop(True)
    assert "ESTOP" in bench.monitor()
    bench.board.estop(False)
    assert "DISARMED" in bench.types(2, 2)


def test_step_03_the_time_that_a_board_tells_is_that_of_its_crystal(at):
    bench = at("f405rg-4")
    bench.board.run(3.0)
    told = json.loads(bench.types(2, 1, extra=("--json",)))
    assert abs(told["identity"]["uptime_s"] - bench.board.seconds) < 1.1


@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6"])
def test_step_04_a_sinking_supply_makes_outputs_safe_and_is_reported(at, name):
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
    assert "DISARMED" in bench.types(4, 1)
    assert "SUPPLY" in bench.types(9, status=1)


def test_step_12_arming_enables_the_drivers_and_the_pulse_is_centred(at):
    bench, seen = at("f405rg-4"), []
    chip = bench.board.chip
    timer = chip.timers["TIM8"]

    def look() -> None:
        seen.append((bench.enabled(), timer.value["CR1"] >> 5 & 3, 2 * timer.value["ARR"] / chip.rcc.timer_hz(True)))
        bench.board.at(bench.board.seconds + 0.05, look)

    look()
    bench.types(9, **{"60": "1"})
    assert sum(enabled for enabled, _, _ in seen) > 10 and not bench.enabled()
    assert all(mode == 1 and period == pytest.approx(1.0 / 20_000) for _, mode, period in seen)
    timer.updates_at_bottom = True
    bench.board.reset("pin")
    assert bench.fault() == "PWM_UPDATE"


def test_step_13_directions_change_while_the_pwm_is_low(at):
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
    board.chip.gpio["B"].hear(0xFFFF, look)
    board.plant.hand = lambda p: np.array([0.0, 0.3, 0.1]) * np.sin(300.0 * board.seconds)
    with session(bench, armed=True):
        board.run(0.3)
    assert len(late) > 5 and max(late) < 0.04 * 4200  # 4 % of half a PWM period
    configure = core.scs.systick.configure
    core.scs.systick.configure = lambda value, reload: configure(value & ~4, reload)
    board.reset("pin")
    assert bench.fault() == "TICK_TIMER"


@pytest.mark.parametrize(("name", "seconds"), [("f405rg-4", 0.0), ("nucleo-g474re-6", 1e-6), ("f405rg-6", 0.0),
                                               ("odrive-v3.6", 2e-3)])
def test_step_09_an_open_loop_stops_the_drivers_and_no_board_arms_with_it(at, name, seconds):
    bench = at(name)
    with session(bench, armed=True) as host:
        bench.board.estop(True)
        bench.board.run(seconds)
        assert bench.board.outputs_safe()
        bench.board.run(2.0 / bench.mechanism.control.rate_hz)
        assert bench.enabled() == name.startswith("odrive")
        rig.pump(bench.board, host, 5)
        assert host.status.state == STATES["ESTOP"][0]
        with pytest.raises(Refused, match="ESTOP_ACTIVE"):
            host.clear()
    assert "the e-stop dropped the outputs; release it" in bench.types(9, status=1)


def test_step_14_half_bridges_have_at_least_their_dead_time(at):
    bench = at("odrive-v3.6")
    for name in ("TIM1", "TIM8"):
        counts = bench.board.chip.timers[name].value["BDTR"] & 0xFF
        # a field value below 128 is the dead time in clock cycles of the timer
        assert counts < 128 and 120e-9 <= counts / 168e6 < 150e-9


@pytest.mark.parametrize(("name", "stops"), [("f405rg-4", True), ("nucleo-g474re-6", True), ("odrive-v3.6", True),
                                             ("f405rg-6", False)])
def test_step_15_a_processor_that_is_halted_drives_no_motor_where_its_timers_have_a_break(at, name, stops):
    bench = at(name)
    assert ("never halt it" in bench.types(15)) == (not stops)
    with session(bench, armed=True):
        bench.board.run(0.5)
        probe = Probe(bench.board.chip)
        probe.attach()
        bench.board.run(0.002)
        probe.halt()
        if stops:  # with brakes, and without external torque, nothing moves during this time
            bench.board.plant.hand, bench.board.brakes = None, True
        bench.board.run(0.05)
        assert bench.board.outputs_safe() == stops
        bench.board.run(0.1)
        assert bench.board.outputs_safe()
        probe.resume()
    assert bench.board.chip.resets == ["power", *([] if stops else ["watchdog"])]
    assert bench.fault(2.0) in ("TICK_OVERRUN", "HOST_LOST") or not stops


def test_step_17_enable_stays_low_from_a_reset_until_the_image_arms(at):
    """tests/host/flash tests flashing by ROM, which on this board cannot use the link's UART, as the refusal says."""
    bench = at("f405rg-4")
    assert "does not hear the link" in bench.types(17, status=1, PORT="socket://127.0.0.1:9")
    seen = []
    with session(bench, armed=True):
        assert bench.enabled()
        bench.board.reset("pin")
        for _ in range(200):
            seen.append(bench.enabled())
            bench.board.run(1e-3)
    assert not any(seen)


def test_step_24_a_bringup_names_the_motor_that_turns_its_joint_the_wrong_way(at, monkeypatch):
    bench = at("f405rg-4")
    monkeypatch.setattr(sys, "stdin", Hand(bench.board))
    bench.board.motor_wires[1] = -1.0
    said = bench.types(24, status=1)
    assert "shoulder: good" in said and "elbow: its motor turns it the wrong way" in said
