"""Tests of board descriptions: accepted files, conflicts, and every number of ft_board.h."""

import itertools
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from femtorque.codegen.board import channels, reader as boards
from femtorque.codegen.board.chip import family
from femtorque.codegen.board.pin_uses import uses
from femtorque.codegen.common import BadInput
from femtorque.codegen.emit import board_header
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import knots
from femtorque.codegen.toolchain import platformio
from femtorque.hil.board import VirtualBoard
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import play_motion
from tests.support.boards import three_link as on_board
from tests.support.bus_arm import described

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def three_link() -> Mechanism:
    return load_mechanism(ROOT / "mechanisms" / "three_link.toml")


@pytest.fixture(scope="module")
def two_joints(three_link) -> Mechanism:
    """Return the arm without its wrist, for boards of two channels."""
    joints = tuple(replace(j, actuated=False, motor=None, encoder=None) if j.name == "wrist" else j
                   for j in three_link.joints)
    return replace(three_link, joints=joints)


def at(mechanism: Mechanism, rate_hz: int = 1000, pwm_hz: int = 20000) -> Mechanism:
    return replace(mechanism, control=replace(mechanism.control, rate_hz=rate_hz),
                   board=replace(mechanism.board, pwm_hz=pwm_hz))


def defines(header: str) -> dict[str, str]:
    """Return {name: text} of every one-line macro."""
    return {m[1]: m[2].split("/*")[0].strip() for m in re.finditer(r"^#define (\w+) (.+)$", header, re.M)}


def number(text: str) -> int:
    return int(text.strip("()").rstrip("u"), 0)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(("old", "new", "message"), [
    ("hse_hz = 8_000_000", "hse_hs = 8_000_000", r"hse_hs = 8000000: unknown key; did you mean 'hse_hz'"),
    ("hse_hz = 8_000_000", "", r"hse_hz: is required"),
    ("hse_hz = 8_000_000", "hse_hz = 14_318_180", r"hse_hz = 14318180: cannot make 168 MHz"),
    ("hse_hz = 8_000_000", "hse_hz = 8e6", r"hse_hz = 8000000.0: must be a whole number"),
    ("lead = 1 ", "lead = 0 ", r"lead = 0: must be 1"),
    ('chip = "stm32f4"', 'chip = "stm32f5"', r"chip = 'stm32f5': .* did you mean 'stm32f4'"),
    ('name = "f405rg-4"', 'name = "other"', r"name = 'other': must be the file's name"),
    ('usart = "USART2"', 'usart = "USART9"', r"link.usart = 'USART9': STM32F405 has no such link; did you mean 'USART"),
    ("baud = 1_000_000", "baud = 921_600", r"link.baud = 921600: cannot be made within 0.5 %.* nearest: 1000000"),
    ("DMA1_Stream5", "DMA1_Stream4", r"link.rx.dma = 'DMA1_Stream4': does not serve USART2 rx; use DMA1_Stream5"),
    ("DMA1_Stream5", "DMA1_Stream6", r"link.rx.dma = 'DMA1_Stream6': is already used by link.tx.dma"),
    ('timer = "TIM4", a', 'timer = "TIM3", a', r"channel.3.encoder.timer = 'TIM3': is already used by channel.2"),
    ('timer = "TIM4", a', 'timer = "TIM1", a',
     r"channel.3.encoder.a = 'PB6': STM32F405 has no TIM1_CH1 .* it is on PA8"),
    ('timer = "TIM4", a', 'timer = "TIM9", a',
     r"channel.3.encoder.timer = 'TIM9': has no encoder mode; these have: TIM1, .*"),
    ('timer = "TIM4", a', 'timer = "TIM7", a', r"channel.3.encoder.timer = 'TIM7': STM32F405 has no such timer"),
    ('a = "PB6"', 'a = "PD6"', r"channel.3.encoder.a = 'PD6': STM32F405 has no TIM4_CH1 there; it is on PB6"),
    ('pin = "PC0", volts', 'pin = "PC13", volts',
     r"channel.0.current.pin = 'PC13': STM32F405 cannot measure there; it can on PA0"),
    ('0.066, shunt = "in-line"', '0.066', r"channel.0.current.shunt: is required"),
    ('0.066, shunt = "in-line"', '0.066, shunt = "high"', r"channel.0.current.shunt = 'high': .*'in-line' or 'low'"),
    ('0.066, shunt = "in-line"', '0.066, shunt = "low"',
     r"channel.0.current.shunt = 'low': has its place below a half bridge"),
    ('0.066, shunt = "in-line"', '0.0, shunt = "in-line"', r"channel.0.current.volts_per_ampere = 0.0: must not be 0"),
    ('shunt = "in-line"', 'shunt = "in-line", zero_v = 0.2',
     r"channel.0.current.headroom_v = 0.3: leaves nothing between"),
    ('enable = "PC11"', 'enable = "PC11"\nduty_max = 0.4', r"outputs.duty_max = 0.4: must be at least 0.5"),
    ('enable = "PC11"', 'enable = "PC11"\nduty_max = 1.1', r"outputs.duty_max = 1.1: must be at most 1"),
    ("wake_us = 2000", "wake_us = -1", r"outputs.wake_us = -1: must be at least 0"),
    ("wake_us = 2000", "wake_us = 20001", r"outputs.wake_us = 20001: must be at most 20000"),
    ('direction = "PB12"', 'direction = "PK1"', r"channel.0.direction = 'PK1': must be a pin, such as 'PA0'"),
    ("output = 4", "output = 3", r"channel.3.pwm.output = 'TIM8 output 3': is already used by channel.2.pwm.output"),
    ("output = 4", "output = 5", r"channel.3.pwm.output = 5: must be at most 4"),
    ('pin = "PC9" }', 'pin = "PA10" }', r"channel.3.pwm.pin = 'PA10': STM32F405 has no TIM8_CH4 there; it is on PC9"),
    ('pin = "PC9" }', 'pin = "PC9", low = "PA7" }', r"channel.3.pwm.low = 'PA7': has no use without opposite"),
    ('direction = "PB15"', "", r"channel.3: needs either direction or opposite"),
    ('direction = "PB15"', 'opposite = { timer = "TIM1", output = 1, pin = "PA8" }',
     r"channel.3.opposite: half bridges need their low switch's pin"),
    ('"PA6", timer = "TIM8" }', '"PA6" }',
     r"channel.0.pwm.timer = 'TIM8': has no break input in outputs.estop: nothing "
     "but software would stop it; let the loop cut the enable pin and write gated = true"),
    ("estop = [{", "estops = [{", r"outputs.estops: unknown key; did you mean 'estop'"),
    ("[encoders]\nfilter = 6 ", "[encoders]\nfilter = 16 ", r"encoders.filter = 16"),
    ("[encoders]\nfilter = 6 ", "# ", r"encoders: is required by the channels"),
    ("[link] ", "[link ", r"file: is not TOML"),
])
def test_a_wrong_board_file_is_refused_in_one_line(tmp_path, old, new, message):
    refuses(tmp_path, "f405rg-4", old, new, message)


def refuses(folder: Path, name: str, old: str, new: str, message: str) -> None:
    text = (ROOT / "firmware" / "boards" / f"{name}.toml").read_text(encoding="utf-8")
    assert old in text
    path = folder / f"{name}.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(BadInput, match=message) as caught:
        boards.read(path)
    assert "\n" not in str(caught.value)


def walk(node, path=()):
    """Yield (path, pin) of every pin in a board file."""
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from walk(value, (*path, key))
    elif re.fullmatch(r"P[A-I]\d+", str(node)):
        yield path, node


@pytest.mark.parametrize("name", boards.board_names())
def test_two_users_of_one_pin_are_always_named_both(name, monkeypatch):
    """Assign the pin of every user to every other user in turn. The error must name the pin and both users."""
    raw = tomllib.loads((ROOT / "firmware" / "boards" / f"{name}.toml").read_text(encoding="utf-8"))
    path = boards.BOARDS / f"{name}.toml"
    pins = list(walk(raw))
    tried = 0
    for (first, pin), (second, old) in itertools.permutations(pins, 2):
        at = raw
        for key in second[:-1]:
            at = at[key]
        at[second[-1]] = pin
        monkeypatch.setattr(boards.tomllib, "loads", lambda text: raw)
        with pytest.raises(BadInput) as caught:
            boards.read(path)
        users = {".".join(map(str, user)) for user in (first, second)}
        assert {caught.value.key, str(caught.value).rsplit(" ", 1)[-1]} == users and f"'{pin}'" in str(caught.value)
        at[second[-1]] = old
        tried += 1
    assert tried == len(pins) * (len(pins) - 1)


@pytest.mark.parametrize(("name", "old", "new", "message"), [
    ("nucleo-g474re-6", "DMA1_Channel2", "DMA1_Stream2", "link.tx.dma = 'DMA1_Stream2': does not serve LPUART1 tx"),
    ("nucleo-g474re-6", "24_000_000", "14_318_180", "hse_hz = 14318180: cannot make 170 MHz; 4, 8, 16, 20, 24"),
    ("nucleo-g474re-6", '"TIM15", output = 2', '"TIM15", output = 3', "channel.5.pwm.output = 3: TIM15 has 2 outputs"),
    ("nucleo-g474re-6", 'timer = "TIM15" }]', 'timer = "TIM5" }, { pin = "PC4", timer = "TIM15" }]',
     "outputs.estop.1.timer = 'TIM5': has no break input"),
    ("f405rg-6", "gated = true", "gated = false", "channel.0.pwm.timer = 'TIM10': has no break input in outputs.estop"),
    ("odrive-v3.6", "dead_ns = 120", "dead_ns = 120\nwake_us = 2000",
     "outputs.wake_us = 2000: has no use with .gate_driver., which is awake from the start on; leave it out"),
    ("nucleo-g474-can", 'enable = "PC12"', 'wake_us = 2000\nenable = "PC12"',
     "outputs.wake_us = 2000: has no use without a"),
    ("nucleo-g474-can", 'enable = "PB14"', 'enable = "PB15"',
     "half_duplex.servos.transceiver.enable = 'PB15': STM32G474 has no USART3_DE there; it is on PB14"),
    ("nucleo-g474-can", 'rx = "PC11", ', "", "half_duplex.servos.transceiver.rx: is required"),
    ("f405rg-6", 'rx = "DMA1_Stream1" }', 'rx = "DMA1_Stream1", transceiver = { rx = "PB11", enable = "PD2" } }',
     "half_duplex.servos.transceiver = 'PD2': USART3 of STM32F405 switches no transceiver, and software would let go"),
    ("odrive-v3.6", "dead_ns = 120", "", "outputs.dead_ns: is required by half bridges"),
    ("odrive-v3.6", 'spi = "SPI3"', 'spi = "SPI2"', "gate_driver.spi = 'SPI2'"),
    ("odrive-v3.6", "gain = 20", "gain = 30", "gate_driver.gain = 30"),
    ("odrive-v3.6", 'opposite = { timer = "TIM8", output = 2', 'opposite = { timer = "TIM1", output = 2',
     "channel.1.opposite.output = 'TIM1 output 2': is already used by channel.0.opposite.output"),
])
def test_wrong_files_of_the_other_boards_are_refused(tmp_path, name, old, new, message):
    refuses(tmp_path, name, old, new, message)


# ST's signals of all pins of all boards. ST's pin data and the tables of Zephyr and stm32duino agree.
SIGNALS = {
    # standard_robot.ioc of RoboMaster's examples; functions: DS8626 table 9
    "robomaster-c": "PD1 CAN1_TX 9, PD0 CAN1_RX 9, PB6 CAN2_TX 9, PB5 CAN2_RX 9, PG14 USART6_TX 8, PG9 USART6_RX 8, "
                    "PB12 TIM1_BKIN 1",
    # of STM32G474R(B-C-E)Tx.xml
    "nucleo-g474-can": "PA12 FDCAN1_TX 9, PA11 FDCAN1_RX 9, PB13 FDCAN2_TX 9, PB12 FDCAN2_RX 9, PA15 FDCAN3_TX 11, "
                       "PA8 FDCAN3_RX 11, PA2 LPUART1_TX 12, PA3 LPUART1_RX 12, PB10 TIM1_BKIN 12, "
                       "PC10 USART3_TX 7, PC11 USART3_RX 7, PB14 USART3_DE 7",
    "f405rg-4": "PB9 CAN1_TX 9, PB8 CAN1_RX 9, "
                "PA0 TIM5_CH1 2, PA1 TIM5_CH2 2, PA15 TIM2_CH1 1, PB3 TIM2_CH2 1, PB4 TIM3_CH1 2, PB5 TIM3_CH2 2, "
                "PB6 TIM4_CH1 2, PB7 TIM4_CH2 2, PC6 TIM8_CH1 3, PC7 TIM8_CH2 3, PC8 TIM8_CH3 3, PC9 TIM8_CH4 3, "
                "PA6 TIM8_BKIN 3, PA2 USART2_TX 7, PA3 USART2_RX 7, PA9 USART1_TX 7",
    "f405rg-6": "PB13 CAN2_TX 9, PB12 CAN2_RX 9, "
                "PA0 TIM5_CH1 2, PA1 TIM5_CH2 2, PA15 TIM2_CH1 1, PB3 TIM2_CH2 1, PB4 TIM3_CH1 2, PB5 TIM3_CH2 2, "
                "PB6 TIM4_CH1 2, PB7 TIM4_CH2 2, PC6 TIM8_CH1 3, PC7 TIM8_CH2 3, PA8 TIM1_CH1 1, PA9 TIM1_CH2 1, "
                "PB8 TIM10_CH1 3, PB9 TIM11_CH1 3, PB14 TIM12_CH1 9, PB15 TIM12_CH2 9, PA6 TIM13_CH1 9, "
                "PA7 TIM14_CH1 9, PA2 USART2_TX 7, PA3 USART2_RX 7, PB10 USART3_TX 7",
    "nucleo-g474re-6": "PA12 FDCAN1_TX 9, PA11 FDCAN1_RX 9, "
                       "PA0 TIM5_CH1 2, PA1 TIM5_CH2 2, PA15 TIM2_CH1 1, PB3 TIM2_CH2 1, PB4 TIM3_CH1 2, "
                       "PB5 TIM3_CH2 2, PB6 TIM4_CH1 2, PB7 TIM4_CH2 2, PC6 TIM8_CH1 4, PC7 TIM8_CH2 4, "
                       "PB2 TIM20_CH1 3, PC2 TIM20_CH2 6, PA8 TIM1_CH1 6, PA9 TIM1_CH2 6, PA10 TIM1_CH3 6, "
                       "PC3 TIM1_CH4 2, PB14 TIM15_CH1 1, PB15 TIM15_CH2 1, PB12 TIM1_BKIN 6, PC5 TIM15_BKIN 2, "
                       "PA2 LPUART1_TX 12, PA3 LPUART1_RX 12, PB9 USART3_TX 7",
    "odrive-v3.6": "PB9 CAN1_TX 9, PB8 CAN1_RX 9, "
                   "PA8 TIM1_CH1 1, PA9 TIM1_CH2 1, PB13 TIM1_CH1N 1, PB14 TIM1_CH2N 1, PC6 TIM8_CH1 3, PC7 TIM8_CH2 "
                   "3, "
                   "PA7 TIM8_CH1N 3, PB0 TIM8_CH2N 3, PB4 TIM3_CH1 2, PB5 TIM3_CH2 2, PB6 TIM4_CH1 2, PB7 TIM4_CH2 2, "
                   "PA0 UART4_TX 8, PA1 UART4_RX 8, PC10 SPI3_SCK 6, PC11 SPI3_MISO 6, PC12 SPI3_MOSI 6",
    "compute": "PA2 USART2_TX 7, PA3 USART2_RX 7",
}


@pytest.mark.parametrize("name", boards.board_names())
def test_signals_of_a_board_follow_the_checked_pin_map(name):
    board = boards.load_board(name)
    found = {(use.resource, use.signal, board.function(use.signal, use.resource)) for use in uses(board) if use.signal}
    assert found == {(pin, signal, int(af)) for pin, signal, af in (row.split() for row in SIGNALS[name].split(", "))}


NEW_BOARD = '''
name = "mine"
chip = "stm32g4"
hse_hz = 8_000_000
lead = 1
[link]
usart = "USART1"
baud = 1_000_000
tx = { pin = "PC4", dma = "DMA2_Channel7" }
rx = { pin = "PC5", dma = "DMA2_Channel8" }
[outputs]
enable = "PA4"
estop = [{ pin = "PB8", timer = "TIM1" }]
[encoders]
filter = 4
[[channel]]
encoder = { timer = "TIM3", a = "PC6", b = "PC7" }
pwm = { timer = "TIM1", output = 2, pin = "PC1" }
direction = "PA5"
[[channel]]
encoder = { timer = "TIM2", a = "PA0", b = "PA1" }
pwm = { timer = "TIM1", output = 4, pin = "PA11" }
direction = "PA6"
[[channel]]
encoder = { timer = "TIM4", a = "PB6", b = "PB7" }
pwm = { timer = "TIM1", output = 1, pin = "PA8" }
direction = "PA7"
'''


def test_a_new_board_is_one_file(tmp_path, monkeypatch, three_link):
    """The test builds the new board's image and moves three joints. The board's file is the only new file."""
    monkeypatch.setattr(boards, "BOARDS", tmp_path)
    (tmp_path / "mine.toml").write_text(NEW_BOARD, encoding="utf-8")
    boards.load_board.cache_clear()
    mechanism = replace(three_link, board=replace(three_link.board, use="mine"))
    built = platformio.build_image(mechanism, tmp_path / "build")
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        result = play_motion(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward=True)
    assert result.ended == "done" and result.faults == () and float(result.tracking_max.max()) < 1e-3
    boards.load_board.cache_clear()


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(("name", "mhz", "vco_in_hz", "vco_hz", "crystals_mhz"), [
    ("stm32f4", 168, (1e6, 2e6), (100e6, 432e6), (4, 8, 12, 16, 25, 26)),
    ("stm32g4", 170, (2.66e6, 16e6), (96e6, 344e6), (4, 8, 16, 20, 24, 25))])
def test_plls_make_their_clocks_within_their_limits(name, mhz, vco_in_hz, vco_hz, crystals_mhz):
    for crystal in crystals_mhz:
        pll = family(name).pll(crystal * 1_000_000)
        vco_in = crystal * 1e6 / pll.m
        assert vco_in_hz[0] <= vco_in <= vco_in_hz[1] and vco_hz[0] <= vco_in * pll.n <= vco_hz[1]
        assert vco_in * pll.n / pll.p == mhz * 1e6 and (not pll.q or vco_in * pll.n / pll.q == 48e6)
        assert (pll.q > 0) == (name == "stm32f4")


def timers(header: str) -> dict[str, tuple[str, ...]]:
    """Return the arguments of FT_PWM_TIMER for each timer."""
    rows = (re.split(r", *", m[1]) for m in re.finditer(r"FT_PWM_TIMER\(([A-Z].*)\)(?: \\)?$", header, re.M))
    return {row[0]: tuple(row[1:]) for row in rows if row[0].startswith("TIM")}


@pytest.mark.parametrize(("rate_hz", "pwm_hz"), [
    (1000, 20000), (100, 10000), (1000, 1500 * 2), (2000, 24000), (4000, 20000), (500, 20000), (250, 28000)])
def test_timer_update_and_control_tick_last_the_same_number_of_cycles(three_link, rate_hz, pwm_hz):
    text = board_header.render(at(three_link, rate_hz, pwm_hz), boards.load_board("f405rg-4"))["ft_board.h"]
    header, (alignment, mode, top, start, repetition, outputs, protection, _) = defines(text), timers(text)["TIM8"]
    tick = number(header["FT_TICK_CYCLES"])
    assert (alignment, mode, start, outputs, protection) == ("FT_CENTRED", "FT_HIGH_FIRST", "0", "0x7u", "FT_BREAK")
    assert int(top) * (int(repetition) + 1) == tick == 168_000_000 // rate_hz
    # odd, so the update always occurs at the same turning point of the counter
    assert int(repetition) % 2 == 1 and int(repetition) <= 255
    assert 168_000_000 / (2 * int(top)) == pwm_hz and int(top) <= 0xFFFF
    assert number(header["FT_TICK_CYCLES_HSI"]) == 16_000_000 // rate_hz


def test_timers_of_a_board_are_updated_together(three_link):
    """TIM1 counts up and down, TIM15 counts only up.

    Both timers need the same number of clocks from their start value to the first update."""
    joints = [replace(j, motor=replace(j.motor, channel=c)) if j.motor else j
              for j, c in zip(three_link.joints, (0, 3, 5), strict=True)]
    board = boards.load_board("nucleo-g474re-6")
    text = board_header.render(replace(three_link, joints=tuple(joints)), board)["ft_board.h"]
    one, fifteen = timers(text)["TIM1"], timers(text)["TIM15"]
    assert one[:2] == ("FT_CENTRED", "FT_HIGH_FIRST") and fifteen[:2] == ("FT_EDGE", "FT_LOW_FIRST")
    assert int(one[2]) == 4250 == int(fifteen[2]) + 1 - int(fifteen[3])  # clocks to the first update
    assert int(one[2]) * (int(one[4]) + 1) == (int(fifteen[2]) + 1) * (int(fifteen[4]) + 1) == 170_000
    assert (one[5], fifteen[5]) == ("0x9u", "0x2u")


@pytest.mark.parametrize(("timer", "clocks"), [("TIM10", 8400), ("TIM12", 4200)])
def test_timers_of_either_bus_have_the_same_period(three_link, timer, clocks):
    text = board_header.render(three_link, boards.load_board("f405rg-6"))["ft_board.h"]
    alignment, mode, top, start, *_ = timers(text)[timer]
    assert (alignment, mode, int(top) + 1, start) == ("FT_EDGE", "FT_HIGH_FIRST", clocks, "0")
    assert number(defines(text)["FT_TICK_AHEAD"]) == 420 and defines(text)["FT_TICK_PRELOAD"] == "0"


@pytest.mark.parametrize(("rate_hz", "pwm_hz", "message"), [
    (100, 20000, r"board.pwm_hz = 20000: must be 1 to 128 times rate_hz = 100.*nearest: 12500"),
    (1000, 20500, r"board.pwm_hz = 20500: .*nearest: 20000"),
    (1000, 19000, r"board.pwm_hz = 19000: .*divisor of 84 MHz.*nearest: 20000"),
    (1000, 1000, r"board.pwm_hz = 1000: .*at least 1282; nearest: 2000"),
    (1100, 20000, r"control.rate_hz = 1100: a tick must be a whole number.*nearest: 1120"),
    (10, 1280, r"control.rate_hz = 10: .*at most 2\^24; nearest: 12"),
])
def test_rates_that_do_not_divide_name_the_nearest_that_does(three_link, rate_hz, pwm_hz, message):
    with pytest.raises(BadInput, match=message):
        board_header.render(at(three_link, rate_hz, pwm_hz), boards.load_board("f405rg-4"))


def test_a_timer_that_makes_the_tick_alone_takes_the_nearest_rate_that_does():
    """No joint uses PWM, so the reader may choose pwm_hz. 12 500 Hz give 125 whole periods per tick."""
    arm = load_mechanism(ROOT / "mechanisms" / "damiao_arm.toml")
    text = board_header.render(at(arm, 100, 20000), boards.load_board("f405rg-4"))["ft_board.h"]
    assert "PWM: 12500 Hz" in text and timers(text)["TIM8"][2:5] == ("6720", "0", "249")


@pytest.mark.parametrize(("name", "steps"), [("f405rg-4", 1), ("odrive-v3.6", 1), ("nucleo-g474re-6", 256)])
def test_baud_rate_is_exact_on_both_clocks(two_joints, name, steps):
    board = boards.load_board(name)
    header = defines(board_header.render(two_joints, board)["ft_board.h"])
    assert steps * board.chip.usarts[board.link.usart].clock_hz / number(header["FT_LINK_BRR"]) == 1_000_000
    assert steps * board.chip.hsi_hz / number(header["FT_LINK_BRR_HSI"]) == 1_000_000


@pytest.mark.parametrize("rate_hz", [12, 50, 100, 1000, 5000])
def test_watchdog_outlasts_the_tick_on_the_fastest_part_and_bites_on_the_slowest(three_link, rate_hz):
    mechanism = at(three_link, rate_hz, 12000)
    header = defines(board_header.render(mechanism, boards.load_board("compute"))["ft_board.h"])
    cycles = (4 << number(header["FT_WATCHDOG_PRESCALER"])) * (number(header["FT_WATCHDOG_RELOAD"]) + 1)
    assert number(header["FT_WATCHDOG_RELOAD"]) <= 0xFFF
    assert cycles / 47_000 > 5 / rate_hz and cycles / 17_000 < max(0.2, 20 / rate_hz)


# ---------------------------------------------------------------- joints


@pytest.mark.parametrize(("arm", "name", "stops"), [
    ("three_link", "f405rg-4", 1), ("three_link", "nucleo-g474re-6", 1), ("three_link", "f405rg-6", 0),
    ("damiao_arm", "f405rg-4", 1), ("damiao_arm", "nucleo-g474-can", 1), ("damiao_arm", "robomaster-c", 1),
    ("so101_sts", "f405rg-4", 0), ("so101_sts", "f405rg-6", 0), ("so101_sts", "nucleo-g474re-6", 0),
    ("cubemars", "nucleo-g474-can", 0), ("cubemars", "robomaster-c", 0), ("cubemars", "f405rg-4", 0),
    ("mini-cheetah", "nucleo-g474-can", 0), ("odrive_arm", "f405rg-4", 0), ("odrive_arm", "robomaster-c", 0)])
def test_the_watchdog_stops_in_a_debuggers_halt_only_where_nothing_goes_on_in_it(arm, name, stops):
    """The expected results follow the makers' documents.

    Feetech's servos and CubeMars' drives have no watchdog. ODrives and mini-cheetah drives have a watchdog that may be
    disabled. The board sets the watchdog of a Damiao drive."""
    file = ROOT / "mechanisms" / f"{arm}.toml"
    mechanism = load_mechanism(file) if file.exists() else described(arm)
    mechanism = replace(mechanism, board=replace(mechanism.board, use=name))
    header = defines(board_header.render(mechanism, boards.load_board(name))["ft_board.h"])
    assert number(header["FT_HALT_STOPS"]) == stops


def test_joints_take_timers_and_pins_of_their_motor_channel(three_link):
    joints = list(three_link.joints)
    swapped = {"shoulder": 3, "elbow": 0, "wrist": 1}
    joints = [replace(j, motor=replace(j.motor, channel=swapped[j.name])) if j.motor else j for j in joints]
    header = board_header.render(replace(three_link, joints=tuple(joints)), boards.load_board("f405rg-4"))["ft_board.h"]
    assert re.findall(r"FT_ENCODER\((\w+), (\w+)\) /\* (\w+)", header) == [
        ("TIM4", "0xFFFFu", "shoulder"), ("TIM5", "0xFFFFFFFFu", "elbow"), ("TIM2", "0xFFFFFFFFu", "wrist")]
    assert re.findall(r"FT_STAGE\(FT_SIGN_MAGNITUDE, &TIM8->CCR\[(\d)\], 0, 0, 4200, (\d), (\d+), false\) /\* (\w+)",
                      header) == [
        ("3", "1", "15", "shoulder"), ("0", "1", "12", "elbow"), ("1", "1", "13", "wrist")]
    assert "TIM3" not in header and "PC8" not in header  # the image does not set up unused timers and pins


def test_channel_beyond_the_board_and_channel_used_twice_are_refused(three_link):
    def with_channel(name: str, channel: int) -> Mechanism:
        joints = tuple(replace(j, motor=replace(j.motor, channel=channel)) if j.name == name else j
                       for j in three_link.joints)
        return replace(three_link, joints=joints)

    with pytest.raises(BadInput, match="joint.wrist.motor.channel = 4: board 'f405rg-4' has channels 0 to 3"):
        board_header.render(with_channel("wrist", 4), boards.load_board("f405rg-4"))
    with pytest.raises(BadInput, match="joint.wrist.motor.channel = 0: is already used by joint 'shoulder'"):
        board_header.render(with_channel("wrist", 0), boards.load_board("f405rg-4"))


def test_passive_joint_gets_no_drive(three_link):
    joints = tuple(replace(j, actuated=False, motor=None, encoder=None) if j.name == "wrist" else j
                   for j in three_link.joints)
    header = board_header.render(replace(three_link, joints=joints), boards.load_board("f405rg-4"))["ft_board.h"]
    assert ("FT_ENCODER(0, 0) /* wrist */" in header
            and "FT_STAGE(FT_NO_STAGE, 0, 0, 0, 0, 0, 0, false) /* wrist */" in header)


def test_joints_whose_encoders_the_board_does_not_read_are_named(three_link):
    assert channels.open_loop(three_link) == []
    six = load_mechanism(ROOT / "mechanisms" / "six_axis.toml")
    assert channels.open_loop(six) == [joint.name for joint in six.moving]


def test_the_index_inputs_of_the_odrive_are_those_of_its_encoder_plugs(tmp_path):
    header = board_header.render(on_board("odrive-v3.6", tmp_path), boards.load_board("odrive-v3.6"))["ft_board.h"]
    assert "FT_INDEX(2, 9)" in header and "FT_INDEX(2, 15)" in header
    for pin, number in (("PC9", 9), ("PC15", 15)):
        assert f"FT_PIN(2, {number}, FT_INPUT, FT_DOWN, 0) /* {pin} " in header


@pytest.mark.parametrize("pin, release, pulls", [
    ("PA4", "high", []), ("PA4", "low", ["PA4"]), ("PC10", "high", ["PC10"]), ("PC12", "high", []), ("PC12", "low", []),
])
def test_a_board_whose_brakes_the_loader_in_rom_would_open_is_not_sent_there(pin, release, pulls):
    """In AN2606 the boot loader pulls PA4 (SPI select) down and PC10 (a transmitter) up, and leaves PC12."""
    board = boards.load_board("nucleo-g474re-6")
    assert board.loader_safe and board.brake.pin == "PA4"
    other = replace(board, outputs=board.outputs.model_copy(update={"enable": "PC13"}),
                    brake=board.brake.model_copy(update={"pin": pin, "release": release}))
    assert other.loader_pulls == pulls and other.loader_safe == (not pulls)


def test_a_board_whose_drivers_the_loader_in_rom_would_enable_is_not_sent_there():
    assert boards.load_board("f405rg-4").loader_pulls == ["PC11"]
