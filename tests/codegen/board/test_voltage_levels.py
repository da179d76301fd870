"""Tests of encoder inputs and servo buses at 5 V, with the pin tables of ST's data sheets."""

from dataclasses import replace

import pytest

from femtorque.codegen.board import chip, reader as boards, voltage_levels as levels_module
from femtorque.codegen.board.pin_uses import uses
from femtorque.codegen.board.voltage_levels import bears, levels
from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import load_mechanism
from tests.support.rig import three_link

# I/O structures from public copies of the pin table of DS12288: UFQFPN48, and two rows of LQFP100
G474 = """
PC13 FT PC14 FT PC15 FT PF0 FT_fa PF1 FT_a PA0 TT_a PA1 TT_a PA2 FT_a PA3 TT_a PA4 TT_a PA5 TT_a PA6 TT_a PA7 TT_a
PC4 FT_fa PC5 TT_a PB0 TT_a PB1 TT_a PB2 TT_a PB10 TT_a PB11 TT_a PB12 TT_a PB13 TT_a PB14 TT_a PB15 TT_a PC6 FT_f
PA8 FT_a PA9 FT_fda PA10 FT_fda PA11 FT_u PA12 FT_u PA13 FT_f PA14 FT_f PA15 FT_f PB3 FT PC10 FT PC11 FT_f PB4 FT_c
PB5 FT_f PB6 FT_c PB7 FT_f PB8 FT_f PB9 FT_f PD2 FT
""".split()


def test_the_pins_of_the_g474_bear_what_their_structure_says():
    low = chip.family("stm32g4").low_volt
    for pin, structure in zip(G474[::2], G474[1::2], strict=True):
        assert (pin in low) == structure.startswith("TT"), pin


def test_the_first_four_channels_of_the_nucleo_can_bear_5_v_and_the_last_two_cannot():
    board = boards.load_board("nucleo-g474re-6")
    floating = [c.encoder.model_copy(update={"pull": "float"}) for c in board.channels]
    assert [bears(board, encoder.pins, encoder.pull) for encoder in floating] == 4 * ["5 V"] + 2 * ["3.3 V"]


@pytest.mark.parametrize("name", ["f405rg-4", "f405rg-6"])
def test_every_encoder_input_of_the_f405_bears_5_v_once_its_pull_is_off(name):
    board = boards.load_board(name)
    assert {bears(board, c.encoder.pins, c.encoder.pull) for c in board.channels} == {'3.3 V; 5 V with pull = "float"'}
    assert {bears(board, c.encoder.pins, "float") for c in board.channels} == {"5 V"}


def on(name, *channels):
    arm = three_link()
    joints = tuple(replace(j, motor=replace(j.motor, channel=c)) for j, c in zip(arm.joints, channels, strict=True))
    return replace(arm, board=replace(arm.board, use=name), joints=joints)


def test_joints_whose_encoder_inputs_5_v_would_destroy_are_named_with_the_pins():
    low, pulled = levels(on("nucleo-g474re-6", 0, 4, 5))
    assert low.startswith("never 5 V at the encoder inputs of elbow, wrist: PA0, PA1, PB2, PC2 of the STM32G474 bear ")
    assert pulled.startswith("the encoder inputs of shoulder bear 5 V only with their pulls off") and "pull" in pulled


def test_an_encoder_that_drives_both_ways_needs_no_pull_and_is_given_none(tmp_path):
    text = (boards.BOARDS / "f405rg-4.toml").read_text(encoding="utf-8")
    path = tmp_path / "f405rg-4.toml"
    path.write_text(text.replace('index = "PB0" }', 'index = "PB0", pull = "float" }'), encoding="utf-8")
    pulls = {use.key: use.pull for use in uses(boards.read(path)) if ".encoder." in use.key and use.is_pin}
    assert {pulls[f"channel.0.encoder.{side}"] for side in ("a", "b", "index")} == {"float"}
    assert [pulls[f"channel.1.encoder.{side}"] for side in ("a", "b", "index")] == ["up", "up", "down"]


@pytest.mark.parametrize("name", ["f405rg-4", "f405rg-6", "nucleo-g474re-6"])
def test_a_servo_wire_has_no_pull_inside_the_chip_and_a_pin_that_bears_5_v(name):
    board = boards.load_board(name)
    (wire,) = [use for use in uses(board) if use.mode == "open_drain"]
    assert wire.pull == "float" and bears(board, [wire.resource], wire.pull) == "5 V"


def servos(name, board):
    arm = load_mechanism(MECHANISMS / f"{name}.toml")
    return levels(replace(arm, board=replace(arm.board, use=board)))


def test_servos_of_5_v_ask_for_a_level_shifting_buffer_between_the_pin_and_their_wire():
    (line,) = servos("aloha_like", "f405rg-6")
    assert line.startswith("dynamixel-xm540-w270, dynamixel-xm430-w350 on the wire 'servos' take and give 5 V: put a ")
    assert "level-shifting buffer between PB10 and the wire" in line
    assert servos("aloha_like", "nucleo-g474-can") == []  # through a transceiver


def test_a_wire_of_servos_at_a_pin_of_3_6_v_is_named(monkeypatch):
    board = boards.load_board("nucleo-g474re-6")
    wires = {name: wire.model_copy(update={"pin": "PB10"}) for name, wire in board.half_duplex.items()}
    monkeypatch.setattr(levels_module, "load_board", lambda *_: replace(board, half_duplex=wires))
    (line,) = servos("so101_sts", "nucleo-g474re-6")
    assert line.startswith("never 5 V at the wire 'servos': PB10 of the STM32G474 bears 3.6 V")
