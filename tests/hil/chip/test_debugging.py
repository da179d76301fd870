"""A debugger on the board: it can connect at any time, and a processor that it halts drives no motor."""

from dataclasses import replace

import pytest

from femtorque.codegen.verify.check import examine
from femtorque.hil.chip.stm32.probe import NoAnswer, Probe
from tests.firmware.test_chip import ARMED, Machine
from tests.support.rig import ROOT, three_link

BOARDS = ("f405rg-4", "nucleo-g474re-6", "f405rg-6")


def running(tmp_path, name):
    """A board that drives, armed."""
    board = Machine(tmp_path, ARMED, name).run(0.01)
    board.poke("arm", 1)
    board.run(0.005)
    assert board.outputs[0] == 0.5
    return board


@pytest.mark.parametrize("name", BOARDS)
def test_a_debugger_without_a_reset_line_finds_an_image_that_sleeps_between_two_ticks(tmp_path, name):
    board = Machine(tmp_path, ARMED, name)
    asleep = 0
    for _ in range(200):  # from power-on, through clocks and peripherals, into the ticks
        board.run(1.01e-4)
        asleep += board.chip.core.asleep
        before = dict(board.chip.debug.value)
        Probe(board.chip).attach()
        board.chip.debug.value = before  # the probe's own settings would help the next one
    assert asleep > 50


@pytest.mark.parametrize("name", ("f405rg-4", "nucleo-g474re-6"))
def test_a_processor_that_is_halted_drives_no_motor(tmp_path, name):
    board = running(tmp_path, name)
    probe = Probe(board.chip)
    probe.attach()
    probe.halt()
    assert board.outputs == (0.0, 0.0, 0.0)
    before = board["ticks"]
    board.run(1.0)
    assert board.outputs == (0.0, 0.0, 0.0)
    assert board["ticks"] == before and board.chip.resets == ["power"]
    probe.resume()
    board.run(0.01)
    assert board["ticks"] - before == pytest.approx(10, abs=1)


def test_timers_without_a_break_go_on_in_a_halt_until_the_watchdog_ends_it(tmp_path):
    """The board file says it: never halt this board with power on. The probe stops the watchdog as it connects."""
    board = running(tmp_path, "f405rg-6")
    probe = Probe(board.chip)
    probe.attach()
    board.run(0.002)
    probe.halt()
    board.run(0.05)
    assert board.outputs[0] == 0.5
    board.run(0.1)
    assert board.outputs == (0.0, 0.0, 0.0) and "watchdog" in board.chip.resets
    told = (ROOT / "firmware" / "boards" / "f405rg-6.toml").read_text(encoding="utf-8")
    assert "never halt the processor while the motors have power" in told


@pytest.mark.parametrize("name", BOARDS)
def test_check_warns_of_a_halt_on_boards_that_drive_on_and_on_no_others(tmp_path, name):
    board = running(tmp_path, name)
    Probe(board.chip).halt()
    arm = three_link()
    said, = examine(replace(arm, board=replace(arm.board, use=name))).halt
    assert name in said and ("never halt it while they have power" in said) == (board.outputs[0] == 0.5)


@pytest.mark.parametrize("name", BOARDS)
def test_a_debugger_that_freezes_nothing_itself_finds_the_watchdog_frozen_where_no_output_goes_on(tmp_path, name):
    """IWDG's bit is 12 of APB1FZ(R1) on both chips (ST's stm32f405xx.h, stm32g474xx.h). On boards whose timers go on
    while the processor is halted, the watchdog's reset ends the drive."""
    board = running(tmp_path, name)
    board.chip.halt()
    drives_on = board.outputs[0] == 0.5
    board.run(0.5)
    assert ("watchdog" in board.chip.resets) == drives_on == (name == "f405rg-6")
    assert board.outputs == (0.0, 0.0, 0.0)


def test_a_processor_that_is_locked_up_acts_on_the_break_inputs_of_the_g474(tmp_path):
    """Bit 0 of CFGR2 is CLL (ST's stm32g474xx.h)."""
    board = running(tmp_path, "nucleo-g474re-6")
    assert board.chip.system.value["CFGR2"] & 0b101 == 0b101


def test_encoders_go_on_while_the_processor_is_halted(tmp_path):
    board = running(tmp_path, "f405rg-4")
    encoder = board.chip.timers[board.channels[0].encoder.timer]
    turned = 0
    encoder.counts = lambda: turned
    Probe(board.chip).halt()
    turned = 1000
    assert encoder.read(0x24, 4) % 65536 == 1000


@pytest.mark.parametrize("name", ("f405rg-4", "nucleo-g474re-6"))
def test_that_the_probe_is_told_why_it_gets_no_answer(tmp_path, name):
    board = Machine(tmp_path, ARMED, name).run(0.02)
    while not board.chip.core.asleep:
        board.run(1e-5)
    board.chip.debug.value["CR"] = 0
    with pytest.raises(NoAnswer, match="DBG_SLEEP"):
        Probe(board.chip).attach()
    if name.startswith("nucleo"):
        board.chip.flash.value["ACR"] &= ~(1 << 18)
        with pytest.raises(NoAnswer, match="DBG_SWEN"):
            Probe(board.chip).attach()
