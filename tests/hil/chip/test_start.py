"""The chip starts with a crystal that differs from the board file, and with a supply that drops."""

import pytest

from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import session_with
from femtorque.host.link.session import fault_name
from tests.firmware.test_chip import ARMED, Machine
from tests.support.boards import image

BOARDS = ("f405rg-4", "nucleo-g474re-6", "f405rg-6")
SENSE, CRYSTAL, SUPPLY = 32, 64, 128  # FT_CHIP_SENSE, FT_CHIP_CRYSTAL, FT_CHIP_SUPPLY


@pytest.mark.parametrize(("name", "hz"), [
    ("f405rg-4", 12e6), ("f405rg-4", 25e6), ("f405rg-4", 4e6), ("f405rg-6", 16e6), ("nucleo-g474re-6", 8e6),
    ("nucleo-g474re-6", 16e6), ("nucleo-g474re-6", 32e6)])
def test_a_chip_with_another_crystal_than_its_board_file_says_stays_on_its_own_oscillator(tmp_path, name, hz):
    board = Machine(tmp_path, ARMED, name)
    board.chip.rcc.hse_hz = int(hz)
    board.run(0.1)
    board.poke("arm", 1)
    board.run(0.01)
    assert board["errors"] == CRYSTAL
    assert board.chip.rcc.hclk == 16_000_000 and not board.chip.rcc.value["CR"] & 1 << 16
    assert not board.drivers_on and board.outputs == (0.0, 0.0, 0.0) and board["ticks"] > 50


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize(("hsi", "lsi_hz"), [(0.92, 17_000), (1.045, 47_000), (1.0, 32_000)])
def test_the_right_crystal_is_taken_however_far_own_oscillators_are_off_and_at_the_lowest_supply(
        tmp_path, name, hsi, lsi_hz):
    """HSI and LSI are at the limits that the F405's data sheet allows. The limits of the G474 are narrower. After the
    measurement of the crystal all settings have their old values."""
    board = Machine(tmp_path, ARMED, name)
    board.chip.lsi_hz, board.chip.rcc.hsi_hz = lsi_hz, round(hsi * 16e6)
    board.chip.supply(0.95 * 3.3)
    board.chip.reset("power")
    board.run(0.1)
    assert board["errors"] == 0 and board["ticks"] > 50
    used = board.chip.capture if name.startswith("nucleo") else board.chip.timers["TIM5"]
    assert used.lsi.since is None


@pytest.mark.parametrize("name", BOARDS)
def test_a_short_dip_ends_in_the_supplys_own_fault_and_full_speed(running, name):
    board = running(name)
    board.chip.supply(2.8)
    board.run(5e-5)
    assert board.outputs == (0.0, 0.0, 0.0)
    board.run(0.003)
    board.chip.supply(3.3)
    board.run(0.05)
    assert board["errors"] == SUPPLY and board["cause"] == 2  # FT_RESET_SOFTWARE
    assert board.chip.rcc.hclk > 160_000_000 and not board.drivers_on


@pytest.mark.parametrize("name", BOARDS)
def test_a_supply_that_was_low_at_start_is_not_good_before_the_next_one(tmp_path, name):
    told = ARMED.replace("ticks++;", "ticks++; place[0] = ft_chip_supply_good();")
    board = Machine(tmp_path, told, name).run(0.05)
    assert board["place"] == 1
    board.chip.supply(2.5)
    board.run(0.4)
    assert board["errors"] == SUPPLY and board["place"] == 0
    board.chip.supply(3.3)
    board.run(0.02)
    assert board["place"] == 0  # the chip stays on its slow clock
    board.chip.reset("pin")
    board.run(0.05)
    assert board["errors"] == 0 and board["place"] == 1


def test_on_the_g4_the_outputs_go_without_any_code(running):
    board = running("nucleo-g474re-6")
    board.chip.core.locked_up = True
    board.chip.supply(2.8)
    assert board.outputs == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", BOARDS)
def test_a_supply_that_is_gone_and_comes_back_is_a_power_up(running, name):
    board = running(name)
    board.chip.supply(1.0)
    board.run(0.1)
    assert board.chip.resets == ["power", "power"] and not board.drivers_on
    board.chip.supply(3.3)
    board.run(0.05)
    assert board["errors"] == 0 and board["cause"] == 0 and board["ticks"] > 10


@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6"])
def test_on_its_slow_clock_a_board_looks_at_its_image_and_the_fastest_watchdog_does_not_bite(name):
    mechanism, built = image(name)
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        board.chip.rcc.hse_alive, board.chip.lsi_hz = False, 47_000
        board.chip.reset("power")
        session = session_with(board)
        session.connect()
        assert fault_name(session.status.fault) == "CLOCK" and "watchdog" not in board.chip.resets


def test_a_converter_that_does_not_take_its_clock_is_told(tmp_path):
    board = Machine(tmp_path, ARMED, "f405rg-4")
    board.chip._adc_common.deaf = True
    for converter in board.chip.converters:
        converter._hz = lambda: 60_000_000  # at this clock the results are arbitrary
    board.run(0.1)
    assert board["errors"] == SENSE
