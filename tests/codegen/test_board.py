"""Boards: what a board file may say, what conflicts, and every number in ft_board.h against its own definition."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from codegen import board as boards
from codegen import chip_stm32f4 as chip
from codegen.errors import BadInput
from codegen.mechanism import Mechanism

ROOT = Path(__file__).resolve().parents[2]
FILE = (ROOT / "firmware" / "boards" / "f405rg-4.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def three_link() -> Mechanism:
    return Mechanism.load(ROOT / "mechanisms" / "three_link.toml")


def at(mechanism: Mechanism, rate_hz: int = 1000, pwm_hz: int = 20000) -> Mechanism:
    return replace(mechanism, control=replace(mechanism.control, rate_hz=rate_hz),
                   board=replace(mechanism.board, pwm_hz=pwm_hz))


def defines(header: str) -> dict[str, str]:
    """Name -> text of every one-line macro."""
    return {m[1]: m[2].split("/*")[0].strip() for m in re.finditer(r"^#define (\w+) (.+)$", header, re.M)}


def number(text: str) -> int:
    return int(text.strip("()").rstrip("u"), 0)


# ---------------------------------------------------------------- files


def test_every_board_of_the_project_loads():
    assert boards.names() == sorted(p.stem for p in (ROOT / "firmware" / "boards").glob("*.toml"))
    for name in boards.names():
        assert boards.load(name).name == name


def test_default_board_has_four_channels_and_a_lead_of_one_tick():
    board = boards.load("f405rg-4")
    assert (board.chip, board.lead, len(board.channels), board.baud) == ("stm32f4", 1, 4, 1_000_000)
    assert boards.load("compute").channels == ()


def test_unknown_board_names_the_nearest():
    with pytest.raises(BadInput, match="board.use = 'f405rg4': no such board; did you mean 'f405rg-4'"):
        boards.load("f405rg4")


@pytest.mark.parametrize(("old", "new", "message"), [
    ("hse_hz = 8_000_000", "hse_hs = 8_000_000", r"hse_hs = 8000000: unknown key; did you mean 'hse_hz'"),
    ("hse_hz = 8_000_000", "", r"hse_hz: is required"),
    ("hse_hz = 8_000_000", "hse_hz = 14_318_180", r"hse_hz = 14318180: cannot make 168 MHz"),
    ("hse_hz = 8_000_000", "hse_hz = 8e6", r"hse_hz = 8000000.0: input should be a valid integer"),
    ("lead = 1 ", "lead = 0 ", r"lead = 0: must be 1"),
    ('chip = "stm32f4"', 'chip = "stm32f5"', r"chip = 'stm32f5': .* did you mean 'stm32f4'"),
    ('name = "f405rg-4"', 'name = "other"', r"name = 'other': must be the file's name"),
    ('usart = "USART2"', 'usart = "USART9"', r"link.usart = 'USART9'"),
    ("baud = 1_000_000", "baud = 921_600", r"link.baud = 921600: cannot be made within 0.5 %.* nearest: 1000000"),
    ("baud = 1_000_000", "baud = 2_000_000", r"link.baud = 2000000: .* nearest: 1000000"),
    ("DMA1_Stream5", "DMA1_Stream4", r"link.rx.dma = 'DMA1_Stream4': does not serve USART2 rx; use DMA1_Stream5"),
    ("DMA1_Stream5", "DMA1_Stream6", r"link.rx.dma = 'DMA1_Stream6': is already used by link.tx.dma"),
    ('timer = "TIM4", a', 'timer = "TIM3", a', r"channel.3.encoder.timer = 'TIM3': is already used by channel.2"),
    ('timer = "TIM4", a', 'timer = "TIM8", a', r"channel.3.encoder.af = 2: TIM8 is alternate function 3"),
    ('timer = "TIM4", a', 'timer = "TIM9", a', r"channel.3.encoder.timer = 'TIM9'"),
    ('a = "PB6"', 'a = "PA6"', r"channel.3.encoder.a = 'PA6': is already used by outputs.break.pin"),
    ('direction = "PB12"', 'direction = "PC0"', r"channel.0.direction = 'PC0': is already used by reserved.ISENSE0"),
    ('direction = "PB12"', 'direction = "PK1"', r"channel.0.direction = 'PK1': must be a pin; such as 'PA0'"),
    ("output = 4", "output = 3", r"channel.3.pwm.output = 'TIM8 output 3': is already used by channel.2.pwm.output"),
    ("output = 4", "output = 5", r"channel.3.pwm.output = 5: .* less than or equal to 4"),
    ('pin = "PC9", af = 3', 'pin = "PC9", af = 2', r"channel.3.pwm.af = 2: TIM8 is alternate function 3"),
    ("[encoders]\nfilter = 6 ", "[encoders]\nfilter = 16 ", r"encoders.filter = 16"),
    ("[encoders]\nfilter = 6 ", "# ", r"encoders: is required by the channels"),
    ("[link] ", "[link ", r"file: is not TOML"),
])
def test_a_wrong_board_file_is_refused_in_one_line(tmp_path, old, new, message):
    assert old in FILE
    path = tmp_path / "f405rg-4.toml"
    path.write_text(FILE.replace(old, new), encoding="utf-8")
    with pytest.raises(BadInput, match=message) as caught:
        boards.read(path)
    assert "\n" not in str(caught.value)


def test_pins_of_the_default_board_follow_the_checked_pin_map():
    """ST's signal names: the pin a signal is on, written down independently of the board file."""
    signals = {
        "TIM5_CH1": "PA0", "TIM5_CH2": "PA1", "TIM2_CH1": "PA15", "TIM2_CH2": "PB3", "TIM3_CH1": "PB4",
        "TIM3_CH2": "PB5", "TIM4_CH1": "PB6", "TIM4_CH2": "PB7", "TIM8_CH1": "PC6", "TIM8_CH2": "PC7",
        "TIM8_CH3": "PC8", "TIM8_CH4": "PC9", "TIM8_BKIN": "PA6", "USART2_TX": "PA2", "USART2_RX": "PA3",
    }
    raw = tomllib.loads(FILE)
    found = {"TIM8_BKIN": raw["outputs"]["break"]["pin"], "USART2_TX": raw["link"]["tx"]["pin"],
             "USART2_RX": raw["link"]["rx"]["pin"]}
    for c in raw["channel"]:
        found[f"{c['encoder']['timer']}_CH1"] = c["encoder"]["a"]
        found[f"{c['encoder']['timer']}_CH2"] = c["encoder"]["b"]
        found[f"TIM8_CH{c['pwm']['output']}"] = c["pwm"]["pin"]
    assert found == signals


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize("hse_hz", [4_000_000, 8_000_000, 12_000_000, 16_000_000, 25_000_000, 26_000_000])
def test_pll_makes_168_and_48_mhz_within_its_limits(hse_hz):
    pll = chip.pll(hse_hz)
    vco_in = hse_hz / pll.m
    assert 1e6 <= vco_in <= 2e6 and 100e6 <= vco_in * pll.n <= 432e6
    assert vco_in * pll.n / pll.p == 168e6 and vco_in * pll.n / pll.q == 48e6


@pytest.mark.parametrize(("rate_hz", "pwm_hz"), [
    (1000, 20000), (100, 10000), (1000, 1500 * 2), (2000, 24000), (4000, 20000), (500, 20000), (250, 28000)])
def test_timer_update_and_control_tick_last_the_same_number_of_cycles(three_link, rate_hz, pwm_hz):
    header = defines(boards.render(at(three_link, rate_hz, pwm_hz), boards.load("f405rg-4"))["ft_board.h"])
    top, repetition = number(header["FT_PWM_TOP"]), number(header["FT_PWM_REPETITION"])
    tick = number(header["FT_TICK_CYCLES"])
    assert top * (repetition + 1) == tick == 168_000_000 // rate_hz
    assert repetition % 2 == 1 and repetition <= 255  # odd: always at the same turning point
    assert 168_000_000 / (2 * top) == pwm_hz and top <= 0xFFFF
    assert number(header["FT_TICK_CYCLES_HSI"]) == 16_000_000 // rate_hz


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
        boards.render(at(three_link, rate_hz, pwm_hz), boards.load("f405rg-4"))


def test_baud_rate_is_exact_on_both_clocks(three_link):
    header = defines(boards.render(three_link, boards.load("f405rg-4"))["ft_board.h"])
    assert chip.APB1_HZ / number(header["FT_LINK_BRR"]) == 1_000_000
    assert chip.HSI_HZ / number(header["FT_LINK_BRR_HSI"]) == 1_000_000


@pytest.mark.parametrize("rate_hz", [12, 50, 100, 1000, 5000])
def test_watchdog_outlasts_the_tick_on_the_fastest_part_and_bites_on_the_slowest(three_link, rate_hz):
    mechanism = at(three_link, rate_hz, 12000)
    header = defines(boards.render(mechanism, boards.load("compute"))["ft_board.h"])
    cycles = (4 << number(header["FT_WATCHDOG_PRESCALER"])) * (number(header["FT_WATCHDOG_RELOAD"]) + 1)
    assert number(header["FT_WATCHDOG_RELOAD"]) <= 0xFFF
    assert cycles / 47_000 > 5 / rate_hz and cycles / 17_000 < max(0.2, 20 / rate_hz)


# ---------------------------------------------------------------- joints


def test_joints_take_timers_and_pins_of_their_motor_channel(three_link):
    joints = list(three_link.joints)
    swapped = {"shoulder": 3, "elbow": 0, "wrist": 1}
    joints = [replace(j, motor=replace(j.motor, channel=swapped[j.name])) if j.motor else j for j in joints]
    header = boards.render(replace(three_link, joints=tuple(joints)), boards.load("f405rg-4"))["ft_board.h"]
    assert re.findall(r"FT_ENCODER\((\w+), (\w+)\) /\* (\w+)", header) == [
        ("TIM4", "0xFFFFu", "shoulder"), ("TIM5", "0xFFFFFFFFu", "elbow"), ("TIM2", "0xFFFFFFFFu", "wrist")]
    assert re.findall(r"FT_DRIVE\((\d), (\d), (\d+)\) /\* (\w+)", header) == [
        ("3", "1", "15", "shoulder"), ("0", "1", "12", "elbow"), ("1", "1", "13", "wrist")]
    assert "TIM3" not in header and "PC8" not in header  # what no joint uses is left alone


def test_joints_without_motor_are_named(three_link):
    joints = tuple(replace(j, motor=None) if j.name != "elbow" else j for j in three_link.joints)
    with pytest.raises(BadInput, match="joint.shoulder.motor: is required by board 'f405rg-4'.*shoulder, wrist"):
        boards.render(replace(three_link, joints=joints), boards.load("f405rg-4"))


def test_channel_beyond_the_board_and_channel_used_twice_are_refused(three_link):
    def with_channel(name: str, channel: int) -> Mechanism:
        joints = tuple(replace(j, motor=replace(j.motor, channel=channel)) if j.name == name else j
                       for j in three_link.joints)
        return replace(three_link, joints=joints)

    with pytest.raises(BadInput, match="joint.wrist.motor.channel = 4: board 'f405rg-4' has channels 0 to 3"):
        boards.render(with_channel("wrist", 4), boards.load("f405rg-4"))
    with pytest.raises(BadInput, match="joint.wrist.motor.channel = 0: is already used by joint 'shoulder'"):
        boards.render(with_channel("wrist", 0), boards.load("f405rg-4"))


def test_passive_joint_gets_no_drive(three_link):
    joints = tuple(replace(j, actuated=False, motor=None, encoder=None) if j.name == "wrist" else j
                   for j in three_link.joints)
    header = boards.render(replace(three_link, joints=joints), boards.load("f405rg-4"))["ft_board.h"]
    assert "FT_ENCODER(0, 0) /* wrist */" in header and "FT_DRIVE(FT_NO_DRIVE, 0, 0) /* wrist */" in header


def test_same_mechanism_gives_the_same_bytes(three_link):
    board = boards.load("f405rg-4")
    assert boards.render(three_link, board) == boards.render(three_link, board)


def test_joints_whose_encoders_the_board_does_not_read_are_named(three_link):
    assert boards.open_loop(three_link) == []
    six = Mechanism.load(ROOT / "mechanisms" / "six_axis.toml")
    assert boards.open_loop(six) == [joint.name for joint in six.moving]
