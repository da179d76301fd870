"""Start of the chip with a crystal other than the board file's, and with a supply that sags."""

import struct
import zlib

import pytest

from femtorque.codegen.toolchain.platformio import build_image
from femtorque.hil.board import VirtualBoard
from femtorque.hil.chip.elf import Image
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import session_with
from femtorque.host.link.session import fault_name
from tests.firmware.test_chip import ARMED, Machine, mutate
from tests.support.boards import three_link

BOARDS = ("f405rg-4", "nucleo-g474re-6", "f405rg-6")
CRYSTAL, SUPPLY = 64, 128  # FT_CHIP_CRYSTAL, FT_CHIP_SUPPLY


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
def test_the_right_crystal_is_taken_however_far_the_chips_own_oscillators_are_off(tmp_path, name, hsi, lsi_hz):
    """HSI and LSI at the bounds of the F405's data sheet; those of the G474 are narrower."""
    board = Machine(tmp_path, ARMED, name)
    board.chip.lsi_hz, board.chip.rcc.hsi_hz = lsi_hz, round(hsi * 16e6)
    board.chip.reset("power")
    board.run(0.1)
    assert board["errors"] == 0 and board["ticks"] > 50


@pytest.mark.parametrize("name", BOARDS)
def test_what_was_used_to_measure_the_crystal_is_as_if_it_had_not_been(tmp_path, name):
    board = Machine(tmp_path, ARMED, name).run(0.05)
    used = board.chip.capture if name.startswith("nucleo") else board.chip.timers["TIM5"]
    assert used.lsi.since is None


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("fall", [2.0, 200.0], ids=["2 V/s", "200 V/s"])
def test_a_supply_that_sags_makes_the_outputs_safe_before_the_chip_leaves_its_specification(tmp_path, name, fall):
    board = Machine(tmp_path, ARMED, name).run(0.01)
    board.poke("arm", 1)
    board.run(0.005)
    assert board.outputs[0] == 0.5
    volts, step, strained = 3.3, 2e-4, False
    while volts > 1.9:
        volts -= fall * step
        board.chip.supply(volts)
        board.run(step)
        strained = strained or board.chip.out_of_specification and board.outputs != (0.0, 0.0, 0.0)
    assert not strained and board.outputs == (0.0, 0.0, 0.0) and not board.drivers_on
    board.run(0.4)
    assert board["errors"] == SUPPLY and board.chip.rcc.hclk == 16_000_000  # the clock stays so, and the board answers
    board.poke("arm", 1)
    board.chip.supply(3.3)
    board.run(0.01)
    assert not board.drivers_on and board["ticks"] > 5


@pytest.mark.parametrize("name", BOARDS)
def test_a_short_dip_ends_in_the_supplys_own_fault_and_full_speed(tmp_path, name):
    board = Machine(tmp_path, ARMED, name).run(0.01)
    board.poke("arm", 1)
    board.run(0.005)
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
    assert board["place"] == 0  # it runs on its slow clock, and stays there
    board.chip.reset("pin")
    board.run(0.05)
    assert board["errors"] == 0 and board["place"] == 1


def test_on_the_g4_the_outputs_go_without_any_code(tmp_path):
    board = Machine(tmp_path, ARMED, "nucleo-g474re-6").run(0.01)
    board.poke("arm", 1)
    board.run(0.005)
    board.chip.core.lock_up()
    board.chip.supply(2.8)
    assert board.outputs == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", BOARDS)
def test_a_supply_that_is_gone_and_comes_back_is_a_power_up(tmp_path, name):
    board = Machine(tmp_path, ARMED, name).run(0.01)
    board.chip.supply(1.0)
    board.run(0.1)
    assert board.chip.resets == ["power", "power"] and not board.drivers_on
    board.chip.supply(3.3)
    board.run(0.05)
    assert board["errors"] == 0 and board["cause"] == 0 and board["ticks"] > 10


@pytest.mark.parametrize("name", BOARDS)
def test_a_supply_of_five_per_cent_less_than_nominal_is_enough(tmp_path, name):
    board = Machine(tmp_path, ARMED, name)
    board.chip.supply(0.95 * 3.3)
    board.run(0.05)
    assert board["errors"] == 0


# ---------------------------------------------------------------- the image

FLASH = 0x0800_0000


@pytest.fixture(scope="module", params=["f405rg-4", "nucleo-g474re-6"])
def whole(request, tmp_path_factory):
    """The image of the three-link arm."""
    folder = tmp_path_factory.mktemp("image")
    mechanism = three_link(request.param, folder)
    return mechanism, build_image(mechanism, folder / "built")


@pytest.fixture
def board(whole):
    mechanism, built = whole
    board = VirtualBoard(built.elf, mechanism, Plant(mechanism))
    board.recording = False
    yield board
    board.close()


def fault_of(board):
    session = session_with(board)
    session.connect()
    return fault_name(session.status.fault)


def test_the_last_word_of_an_image_is_the_check_sum_of_all_before_it(whole):
    image = whole[1].image.read_bytes()
    assert struct.unpack("<I", image[-4:]) == (zlib.crc32(image[:-4]),)
    assert Image.load(whole[1].elf, FLASH, 1 << 20).flash == image


def test_an_image_as_it_was_built_starts_without_a_fault(board):
    assert fault_of(board) == "NONE"


def test_an_image_without_its_check_sum_starts_into_a_fault_of_its_own(board):
    board.chip.core.load(FLASH + len(board.image.flash) - 4, bytes([0xFF] * 4))
    assert fault_of(board) == "CODE" and board.outputs_safe()


def test_on_its_slow_clock_a_board_looks_at_its_image_and_the_fastest_watchdog_does_not_bite(board):
    board.chip.rcc.hse_alive = False
    board.chip.lsi_hz = 47_000
    board.chip.reset("power")
    assert fault_of(board) == "CLOCK" and "watchdog" not in board.chip.resets


# ---------------------------------------------------------------- self-tests

UPDATE, TICK, SENSE = 256, 512, 32


@pytest.mark.parametrize("name", ("f405rg-4", "nucleo-g474re-6"))
def test_a_pwm_whose_update_comes_at_the_bottom_is_told(tmp_path, name):
    board = Machine(tmp_path, ARMED, name)
    board.timer.updates_at_bottom = True
    board.run(0.1)
    assert board["errors"] == UPDATE


@pytest.mark.parametrize("name", BOARDS)
def test_a_systick_that_counts_at_another_clock_is_told(tmp_path, name):
    board = Machine(tmp_path, ARMED, name)
    systick = board.chip.core.scs.systick
    configure = systick.configure
    systick.configure = lambda value, reload: configure(value & ~4, reload)  # always an eighth of the clock
    board.run(0.1)
    assert board["errors"] == TICK


def test_a_converter_that_does_not_take_its_clock_is_told(tmp_path):
    board = Machine(tmp_path, ARMED, "f405rg-4")
    board.chip._adc_common.deaf = True
    for converter in board.chip.converters:
        converter._hz = lambda: 60_000_000  # results are arbitrary then
    board.run(0.1)
    assert board["errors"] == SENSE


@pytest.mark.parametrize("name", BOARDS)
def test_the_mark_at_the_stacks_end_is_set_at_start_and_stays(tmp_path, name):
    board = Machine(tmp_path, ARMED.replace("ticks++;", "ticks++; place[0] = ft_chip_stack_whole();"), name).run(0.05)
    assert board["place"] == 1
    board.chip.core.load(0x20000010, bytes(4))
    board.run(0.005)
    assert board["place"] == 0


# ---------------------------------------------------------------- tests of the tests

MUTATIONS = {
    "SysTick's second period is written before its first began": (
        "f405rg-6", "stm32/ft_tick.c", "        if (SysTick->VAL != 0)\n            break;", "        break;", 0),
    "the crystal is not measured": (
        "f405rg-4", "stm32/ft_crystal.c", "return off < expected / FT_CRYSTAL_SHARE;",
        "return off <= expected * 4u;", 4_000_000),
    "the supply is not watched": (
        "f405rg-4", "stm32/ft_supply.c", "    EXTI_IMR |= EXTI_LINE_PVD;\n", "", 0),
    "the debugger is switched off": (
        "nucleo-g474re-6", "stm32g4/ft_clock.c", " | FLASH_ACR_DBG_SWEN;", ";", 0),
    "the timers do not stop with the processor": (
        "f405rg-4", "stm32/ft_tick.c", "    DBGMCU->APB2FZ |= FT_FREEZES;\n", "", 0),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_what_is_taken_out_of_the_start_is_noticed(tmp_path, monkeypatch, mutation):
    name, file, old, new, hse_hz = MUTATIONS[mutation]
    mutate(tmp_path, monkeypatch, file, old, new)
    board = Machine(tmp_path, ARMED, name)
    if hse_hz:
        board.chip.rcc.hse_hz = hse_hz
    board.run(0.02)
    board.poke("arm", 1)
    board.run(0.005)
    started = board["errors"] == (CRYSTAL if hse_hz else 0)
    attached = not board.chip.debug_closed
    board.chip.halt()
    dropped = board.outputs == (0.0, 0.0, 0.0)
    board.chip.resume()
    board.chip.supply(2.8)
    board.run(5e-5)
    assert not (started and attached and dropped and board.outputs == (0.0, 0.0, 0.0))
