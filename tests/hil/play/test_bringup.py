"""First power-up on the virtual board, with an arm whose wiring differs from its file."""

import itertools
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism, set_joint
from femtorque.hil.plant.rigid import Plant
from femtorque.host.lab.bringup import BACK, Driven, Probed, agreed, judge, moving, sinking, usual_gear
from tests.support import rig
from tests.support.plugged import Hand

TEXT = Path(rig.three_link().source).read_text(encoding="utf-8")


def test_reversed_encoders_and_motors_and_wrong_counts_are_told_apart_and_can_be_mended(brought_up):
    """The shoulder's encoder and the elbow's motor are reversed, and the wrist's counts are doubled."""
    wired = rig.changed("three-link", {"shoulder": {"encoder": {"sign": -1}}, "wrist": {"encoder": {"counts": 16384}}})

    def turn_motor_round(board):
        board.motor_wires[1] = -1.0

    told, file, board = brought_up(TEXT, "--write", plant=Plant(wired), spoil=turn_motor_round)
    said = {name: joint["problem"] for name, joint in told.items()}
    assert "encoder counts the wrong way" in said["shoulder"] and "motor" not in said["shoulder"]
    assert said["elbow"] == "its motor turns it the wrong way"
    assert "counts per turn, not 8192" in said["wrist"] and board.plant.hand is None
    mended = {j.name: j for j in file.moving}
    assert mended["shoulder"].encoder.sign == -1 and mended["elbow"].motor.sign == -1
    assert abs(mended["wrist"].encoder.counts / 16384 - 1.0) < 0.02


@pytest.mark.bench
def test_a_loose_encoder_and_a_loose_motor_and_swapped_ones_are_found(brought_up):
    def loose(board):
        board.encoder_faults[0].frozen = 0
        board.motor_wires[1] = 0.0  # the bridge outputs 0 V and short-circuits the motor

    told, *_ = brought_up(TEXT, spoil=loose)
    assert told["shoulder"]["problem"].startswith("its encoder does not count")
    assert told["elbow"]["problem"].startswith("nothing moves when it is driven")
    assert told["wrist"]["problem"] == ""


@pytest.mark.parametrize("probed, ratio, words", [
    (Probed(0, 0.1, other=1), None, "'elbow' counts when it is driven"),
    (Probed(-1, 0.1), None, "a turn by hand shows which"),
    (Probed(1, 0.1), None, ""),
    (Probed(1, 0.1, one_way=True), None, ""),
    (Probed(0, 0.1), 1.0, "it moves in the same direction for every torque"),
    (Probed(0, 0.1, sinks=0), 1.0, "it sinks: support it"),
    (Probed(0, 0.1, sinks=1), 1.0, "joint 'elbow' sinks: support it"),
    (Probed(-1, 0.1), -1.0, "its encoder counts the wrong way"),
    (Probed(1, 0.1), -1.0, "its encoder counts the wrong way; its motor turns it the wrong way"),
    (Probed(-1, 0.1), math.nan, "the counts of the turn by hand and of the turn back differ: hold the joint"),
])
def test_conclusions_from_two_looks_at_a_motor(probed, ratio, words):
    found = judge(rig.three_link(), 0, probed, ratio)
    assert words in found.problem if words else found.problem == ""
    assert ratio is None or not math.isnan(ratio) or (found.values, found.ratio) == ({}, None)


def resting(at: float, friction: float) -> float:
    """Return the angle, rad, at which friction, a fraction of gravity's largest torque, holds a released joint."""
    while abs(math.sin(at)) > friction:
        at -= math.copysign(1e-3, math.sin(at))
    return at


@pytest.mark.parametrize("ratio", [1.0, -1.0, 2.0, 3.0, 0.5])
def test_turns_of_a_released_joint_agree_on_its_gear_or_on_nothing(ratio):
    """For any angle and friction. A joint that hangs freely returns at once and is reported as not following."""
    wrong, known = [], 0
    for start, friction in itertools.product(np.linspace(-3.1, 3.1, 63), np.linspace(0.02, 1.2, 40)):
        begin = resting(float(start), float(friction))
        out = resting(begin + 0.75, float(friction))
        back = out - resting(out - BACK * 0.75, float(friction))
        found = agreed(ratio * (out - begin) / 0.75, ratio * back / (BACK * 0.75))
        if math.isnan(found) or abs(found) < 0.1:
            continue
        known += 1
        gear = usual_gear(abs(found))
        other = abs(ratio) == 1.0 and abs(found / ratio - 1.0) > 0.05
        if other or found * ratio < 0.0 or gear not in (None, abs(ratio)):
            wrong.append((start, friction, found))
    assert wrong == [] and known > 1000


def test_two_turns_agree_within_the_accuracy_of_a_hand():
    assert agreed(3.0, 3.3) == pytest.approx(3.15) and math.isnan(agreed(3.0, 3.6))
    assert agreed(0.97, 1.07) == pytest.approx(1.02) and math.isnan(agreed(0.89, 0.99)) and agreed(0.0, -0.05) < 0.0


def test_one_probe_gives_no_sign_if_gravity_can_move_the_joint():
    """The test checks first the flat arm and then the same arm upright."""
    flat, once = rig.three_link(), Probed(-1, 0.1, one_way=True)
    upright = replace(flat, gravity=np.array([0.0, -9.81, 0.0]))
    assert judge(flat, 0, once, 1.0).values == {"motor": {"sign": -1}}
    found = judge(upright, 0, once, 1.0)
    assert found.values == {} and "gravity may have moved it: support it" in found.problem
    assert judge(upright, 0, Probed(-1, 0.1), 1.0).values == {"motor": {"sign": -1}}
    assert judge(upright, 0, Probed(0, 0.1, sinks=0), 1.0).values == {}


def driven(torque, *moved):
    """Return the motion of a single joint, sampled every 10 ms."""
    return Driven(0.01 * np.arange(len(moved)), np.array([moved]).T, torque)


@pytest.mark.parametrize("forwards, backwards, found", [
    ((0.0, 0.03), (0.0, -0.03), Probed(1, 0.2)), ((0.0, -0.03), (0.0, 0.03), Probed(-1, 0.2)),
    ((0.0, 0.03), (0.0, 0.03), Probed(0, 0.2)), ((0.0, 0.03), (0.0, 0.0), Probed(1, 0.2, one_way=True)),
    ((0.0, 0.0), (0.0, 0.03), Probed(-1, 0.2, one_way=True)), ((0.0, 0.0), (0.0, 0.0), Probed(0, 0.0))])
def test_two_probes_of_a_joint_that_rests(forwards, backwards, found):
    assert moving(0, driven(0.0, 0.0, 0.0), driven(0.2, *forwards), driven(-0.2, *backwards)) == found


@pytest.mark.parametrize("still, forwards, backwards, found", [
    (0.0, 0.26, -0.27, Probed(0, 0.2, other=1)), (0.0, 0.26, 0.0, Probed(0, 0.2, other=1)),
    (0.001, 0.26, 0.27, Probed(0, 0.2, sinks=1)), (-0.18, -0.26, -0.26, Probed(0, 0.2, sinks=1)),
    (0.03, 0.26, 0.0, Probed(0, 0.2, sinks=1))])
def test_a_slowly_sinking_joint_is_distinguished_from_a_turned_one(still, forwards, backwards, found):
    """A joint with much viscous friction moves little before the probes, and far while later probes last longer."""
    def beside(torque, moved):
        return Driven(np.array([0.0, 0.3]), np.array([[0.0, 0.0], [0.001, moved]]), torque)

    assert moving(0, beside(0.0, still), beside(0.2, forwards), beside(-0.2, backwards)) == found


@pytest.mark.parametrize("forwards, backwards, way", [
    ((0.0, -0.002, -0.008), (0.0, -0.008, -0.032), 1), ((0.0, 0.01, 0.04), (0.0, -0.02, -0.08), 1),
    ((0.0, -0.008, -0.032), (0.0, -0.002, -0.008), -1), ((0.0, -0.005, -0.02), (0.0, -0.005, -0.021), 0),
    ((0.0, -0.001, -0.004), (0.0, -0.002, -0.008), 0), ((0.0, -0.012, -0.048), (0.0, -0.015, -0.06), 0)])
def test_the_motion_of_a_sinking_joint_is_compared_with_its_motion_without_torque(forwards, backwards, way):
    """The joint sinks by 20 mrad without torque. Small or one-sided differences are not significant."""
    found = sinking(0, driven(0.0, 0.0, -0.005, -0.0201), driven(0.2, *forwards), driven(-0.2, *backwards))
    assert found == Probed(way, 0.2, sinks=0)


WIRINGS = {"right": (1, 1, ""), "motor": (-1, 1, "its motor turns it the wrong way"),
           "encoder": (1, -1, "its encoder counts the wrong way"),
           "both": (-1, -1, "its encoder counts the wrong way; its motor turns it the wrong way")}


class Catching(Hand):
    """A person whose stand releases a driven arm, and slows down and holds the arm without power."""

    def catch(self, plant):
        return np.clip(np.array([-30.0, -5.0]) * plant.v, -8.0, 8.0) * np.isnan(self.board.voltages())

    def readline(self):
        line = super().readline()
        self.board.plant.hand = self.catch
        return line


@pytest.fixture
def sinking_arm(brought_up, here, tmp_path):
    """Bring up an arm whose first link sinks as soon as it is not held."""
    def look(wiring, *options):
        file = tmp_path / "arm.toml"
        here("init", "out", "-o", file)  # the next line makes the axes horizontal
        text = file.read_text(encoding="utf-8").replace("axis = [0.0, 0.0, 1.0]", "axis = [0.0, 1.0, 0.0]")
        file.write_text(text, encoding="utf-8")
        mechanism, (motor, encoder, _) = load_mechanism(file), WIRINGS[wiring]
        first, *others = mechanism.joints
        wired = replace(mechanism, joints=(replace(first, encoder=replace(first.encoder, sign=encoder)), *others))

        def let_go(board):
            board.plant.hand, board.motor_wires[0] = sys.stdin.catch, motor

        found, mended, _ = brought_up(text, "--write", *options, hand=Catching, spoil=let_go, plant=Plant(wired))
        return found, (mended.joints[0].motor.sign, mended.joints[0].encoder.sign)

    return look


@pytest.mark.parametrize("wiring", [pytest.param(name, marks=[pytest.mark.bench] * (name == "both"))
                                    for name in WIRINGS])
def test_a_sinking_arm_is_distinguished_from_a_wrongly_wired_arm(sinking_arm, wiring):
    found, signs = sinking_arm(wiring)
    motor, encoder, problem = WIRINGS[wiring]
    assert (found["shoulder"]["problem"], found["elbow"]["problem"], signs) == (problem, "", (motor, encoder))
    assert "sinks: support it" in found["shoulder"]["unknown"]


@pytest.mark.parametrize("wiring", [pytest.param(name, marks=[pytest.mark.bench] * (name == "encoder"))
                                    for name in WIRINGS])
def test_without_a_hand_a_sinking_arm_is_good_or_one_of_two_signs_is_wrong(sinking_arm, wiring):
    """Two errors that cancel each other would not be found."""
    found, signs = sinking_arm(wiring, "--no-hand")
    wrong = wiring in ("motor", "encoder")
    assert ("it turns against its torque" in found["shoulder"]["problem"]) is wrong
    assert found["elbow"]["problem"] == "" and signs == (1, 1)


def test_only_the_numbers_of_a_file_change(tmp_path):
    file, text = tmp_path / "arm.toml", TEXT
    file.write_text(text, encoding="utf-8")
    set_joint(file, "elbow",
              {"friction": {"viscous": 1.23456e-3, "coulomb": 0.02}, "motor": {"inertia": 1e-3}}, "measured")
    before, after = text.splitlines(), file.read_text().splitlines()
    assert len(before) == len(after)
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert [b for _, b in changed] == ["friction = { viscous = 0.001235, coulomb = 0.02 } # measured",
                                       changed[1][0].replace("1e-3", "0.001")]
    assert load_mechanism(file).moving[1].friction.viscous == 0.001235
