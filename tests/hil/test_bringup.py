"""First power-up on the virtual board, with an arm that is wired otherwise than its file says."""

from pathlib import Path

import numpy as np
import pytest

from codegen.mechanism import Mechanism
from codegen.mechanism_edit import set_joint
from hil.plant import Plant
from host.bringup import bring_up, judge, summary, write
from tests.hil import lab as rig

NAMES = ("shoulder", "elbow", "wrist")


def hand_of(board):
    """Somebody who turns a joint of the plant."""
    def turn(joint, angle):
        j = NAMES.index(joint.name)
        goal, stand = board.plant.q[j] + angle, board.plant.q.copy()
        stand[j] = goal
        board.plant.hand = lambda p: np.clip(40.0 * (stand - p.q) - 2.0 * p.v, -3.0, 3.0)
        board.run(0.8)
        board.plant.hand = None
    return turn


def looked_at(wired=lambda mechanism: mechanism, spoil=lambda board: None, hand=True):
    mechanism = rig.three_link()
    with rig.session(mechanism, Plant(wired(mechanism))) as (board, session):
        spoil(board)
        findings = bring_up(session, mechanism, hand_of(board) if hand else None)
        board.run(0.05)
        assert session.in_state("DISARMED") and board.outputs_safe()
    return findings


@pytest.mark.bench
def test_a_well_wired_arm_is_good():
    assert summary(looked_at()) == dict.fromkeys(NAMES, "good")


def test_reversed_encoders_and_motors_and_wrong_counts_are_told_apart_and_can_be_mended(tmp_path):
    """One arm with a fault at each joint: shoulder's encoder reversed, elbow's motor reversed, wrist's counts doubled."""
    wired = rig.changed("three-link", {"shoulder": {"encoder": {"sign": -1}}, "wrist": {"encoder": {"counts": 16384}}})
    true = rig.three_link()

    def turn_motor_round(board):
        plain = board.voltages
        board.voltages = lambda: plain() * np.array([1.0, -1.0, 1.0])

    findings = looked_at(lambda _: wired, turn_motor_round)
    said = summary(findings)
    assert "encoder counts the wrong way" in said["shoulder"] and "motor" not in said["shoulder"]
    assert said["elbow"] == "its motor turns it the wrong way"
    assert "counts a turn, not 8192" in said["wrist"]
    file = tmp_path / "arm.toml"
    file.write_text(Path(true.source).read_text())
    write(file, findings)
    mended = {j.name: j for j in Mechanism.load(file).moving}
    assert mended["shoulder"].encoder.sign == -1 and mended["elbow"].motor.sign == -1
    assert abs(mended["wrist"].encoder.counts / 16384 - 1.0) < 0.02


@pytest.mark.bench
def test_a_loose_encoder_and_a_loose_motor_and_swapped_ones_are_found():
    def loose(board):
        board.encoder_faults[0].frozen = 0
        plain = board.voltages
        board.voltages = lambda: plain() * np.array([1.0, 0.0, 1.0])  # short-circuited, as with one wire off

    said = summary(looked_at(spoil=loose))
    assert said["shoulder"].startswith("its encoder does not count")
    assert said["elbow"].startswith("nothing moves when it is driven")
    assert said["wrist"] == "good"


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
    set_joint(file, "elbow", {"friction": {"viscous": 1.23456e-3, "coulomb": 0.02}, "motor": {"inertia": 1e-3}}, "measured")
    before, after = text.splitlines(), file.read_text().splitlines()
    assert len(before) == len(after)
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert [b for _, b in changed] == ["friction = { viscous = 0.001235, coulomb = 0.02 } # measured",
                                       changed[1][0].replace("1e-3", "0.001")]
    assert Mechanism.load(file).moving[1].friction.viscous == 0.001235
