"""First power-up on the virtual board, with an arm that is wired otherwise than its file says."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.mechanism.edit import set_joint
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.hil.plant.rigid import Plant
from femtorque.host.lab.bringup import judge
from tests.support import rig
from tests.support.plugged import Hand, plugged_in

NAMES = ("shoulder", "elbow", "wrist")


@pytest.fixture
def looked_at(here, monkeypatch, tmp_path):
    """The command as it is typed, in front of an arm whose plant is `wired` otherwise: joint -> problem, and the
    file."""
    file = tmp_path / "arm.toml"
    file.write_text(Path(rig.three_link().source).read_text())

    def look(*options, wired=lambda mechanism: mechanism, spoil=lambda board: None):
        mechanism = rig.three_link()
        with plugged_in(mechanism, Plant(wired(mechanism))) as board:
            monkeypatch.setattr(sys, "stdin", Hand(board))
            spoil(board)
            done = here("bringup", file, "--port", "auto", "--json", *options)
            board.run(0.05)
            assert board.outputs_safe() and board.plant.hand is None
        told = json.loads(done.stdout)
        found = {joint["joint"]: joint["problem"] for joint in told["joints"]}
        assert done.returncode == (1 if any(found.values()) else 0)
        return found, load_mechanism(file)

    return look


@pytest.mark.bench
def test_a_well_wired_arm_is_good(looked_at):
    found, _ = looked_at()
    assert found == dict.fromkeys(NAMES, "")


def test_reversed_encoders_and_motors_and_wrong_counts_are_told_apart_and_can_be_mended(looked_at):
    """One arm with a fault at each joint: shoulder's encoder reversed, elbow's motor reversed, wrist's counts
    doubled."""
    wired = rig.changed("three-link", {"shoulder": {"encoder": {"sign": -1}}, "wrist": {"encoder": {"counts": 16384}}})

    def turn_motor_round(board):
        board.motor_wires[1] = -1.0

    said, file = looked_at("--write", wired=lambda _: wired, spoil=turn_motor_round)
    assert "encoder counts the wrong way" in said["shoulder"] and "motor" not in said["shoulder"]
    assert said["elbow"] == "its motor turns it the wrong way"
    assert "counts per turn, not 8192" in said["wrist"]
    mended = {j.name: j for j in file.moving}
    assert mended["shoulder"].encoder.sign == -1 and mended["elbow"].motor.sign == -1
    assert abs(mended["wrist"].encoder.counts / 16384 - 1.0) < 0.02


@pytest.mark.bench
def test_a_loose_encoder_and_a_loose_motor_and_swapped_ones_are_found(looked_at):
    def loose(board):
        board.encoder_faults[0].frozen = 0
        board.motor_wires[1] = 0.0  # short-circuited, as with one wire off

    said, _ = looked_at(spoil=loose)
    assert said["shoulder"].startswith("its encoder does not count")
    assert said["elbow"].startswith("nothing moves when it is driven")
    assert said["wrist"] == ""


@pytest.mark.parametrize("moved, ratio, words", [
    ((0.001, 0.05, 0.0), None, "'elbow' counts when it is driven"),
    ((-0.03, 0.0, 0.0), None, "turn it by hand to know"),
    ((0.03, 0.0, 0.0), None, ""),
    ((-0.03, 0.0, 0.0), -1.0, "its encoder counts the wrong way"),
    ((0.03, 0.0, 0.0), -1.0, "its encoder counts the wrong way; its motor turns it the wrong way"),
])
def test_what_two_looks_mean(moved, ratio, words):
    problem = judge(rig.three_link(), 0, 0.1, np.array(moved), ratio).problem
    assert words in problem if words else problem == ""


def test_only_the_numbers_of_a_file_change(tmp_path):
    file, text = tmp_path / "arm.toml", Path(rig.three_link().source).read_text()
    file.write_text(text)
    set_joint(file, "elbow",
              {"friction": {"viscous": 1.23456e-3, "coulomb": 0.02}, "motor": {"inertia": 1e-3}}, "measured")
    before, after = text.splitlines(), file.read_text().splitlines()
    assert len(before) == len(after)
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert [b for _, b in changed] == ["friction = { viscous = 0.001235, coulomb = 0.02 } # measured",
                                       changed[1][0].replace("1e-3", "0.001")]
    assert load_mechanism(file).moving[1].friction.viscous == 0.001235
