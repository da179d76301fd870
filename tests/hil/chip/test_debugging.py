"""A debugger can connect at any time. A processor that it halts drives no motor."""

import pytest

from femtorque.hil.chip.stm32.probe import NoAnswer, Probe
from tests.firmware.test_chip import ARMED, Machine

BOARDS = ("f405rg-4", "nucleo-g474re-6", "f405rg-6")


@pytest.mark.parametrize("name", BOARDS)
def test_a_debugger_without_a_reset_line_finds_an_image_that_sleeps_between_two_ticks(tmp_path, name):
    board = Machine(tmp_path, ARMED, name)
    asleep = 0
    for _ in range(200):  # the steps go from power-on through clocks and peripherals to ticks
        board.run(1.01e-4)
        asleep += board.chip.core.asleep
        before = dict(board.chip.debug.value)
        Probe(board.chip).attach()
        board.chip.debug.value = before  # otherwise the settings of this probe would affect the next probe
    assert asleep > 50


@pytest.mark.parametrize("name", BOARDS)
def test_a_debugger_that_freezes_nothing_itself_finds_the_watchdog_frozen_where_no_output_goes_on(running, name):
    """Bit 12 of APB1FZ(R1) freezes the IWDG on both chips (ST's stm32f405xx.h, stm32g474xx.h). If a board's timers
    continue while the processor is halted, the watchdog's reset stops the drive."""
    board = running(name)
    board.chip.halt()
    drives_on = board.outputs[0] == 0.5
    board.run(0.5)
    assert ("watchdog" in board.chip.resets) == drives_on == (name == "f405rg-6")
    assert board.outputs == (0.0, 0.0, 0.0)


def test_a_processor_that_is_locked_up_acts_on_the_break_inputs_of_the_g474(running):
    """Bit 0 of CFGR2 is CLL (ST's stm32g474xx.h)."""
    assert running("nucleo-g474re-6").chip.system.value["CFGR2"] & 0b101 == 0b101


def test_encoders_go_on_while_the_processor_is_halted(running):
    board = running("f405rg-4")
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
