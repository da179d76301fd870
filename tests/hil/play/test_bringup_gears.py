"""First power-up of an arm with gears between drives and joints. The arm's file does not mention the gears."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import from_rows, knots
from femtorque.codegen.wire import messages
from femtorque.hil.play.closed_loop import play_motion
from femtorque.host.lab import write_bring_up
from femtorque.host.lab.bringup import Look, Probed, judge_drive, usual_gear
from tests.support.geared import ARM, read
from tests.support.plugged import Steady, plugged_in

COUNT = math.tau / 4096
KNOWN = re.compile(r" gear = [0-9.]+, sign = -?1,")
GRAVITY, NONE = "[0.0, -9.81, 0.0]", "[0.0, 0.0, 0.0]"
WORLD = (ARM.replace("effort = 25.0", "effort = 9.9").replace("effort = 2.0", "effort = 2.9")
         .replace("gear = 3.0, sign = 1", "gear = 2.5, sign = 1")
         .replace("kv = 8.0", "kv = 5.0").replace("inertia = 0.01", "inertia = 0.01, zero = 0.7")
         .replace('bus = "servos"', 'bus = "servos", zero = 2500').replace("gains = {", "start = 0.2\ngains = {"))
FILE = KNOWN.sub("", WORLD).replace(", zero = 0.7", "").replace(", zero = 2500", "")


def test_gears_are_found_with_signs_and_zeros_and_the_arm_then_moves_rightly(brought_up):
    """Gears of 3:1 and 2.5:1, two reversed drives, different zeros. Motion is measured at the joints."""
    lying = read(WORLD.replace(GRAVITY, NONE), "geared_lying")
    said, mended, _ = brought_up(FILE.replace(GRAVITY, NONE), "--zero", "--write", hand=Steady, world=lying)
    assert [(name, round(said[name]["gear"], 1), said[name]["values"]["drive"]["gear"]) for name in said] == [
        ("shoulder", 3.0, 3.0), ("elbow", 2.5, 2.5), ("wrist", 3.0, 3.0)]
    assert re.fullmatch(r"its drive counts the wrong way; its drive makes (3|3.0\d|2.9\d) turns per turn of the joint, "
                        r"and the file says 1: a gear of 3", said["shoulder"]["problem"])
    assert all("not driven before its gear is right" in j["unknown"] and j["torque"] == 0.0 for j in said.values())

    found = [j.drive for j in mended.moving]
    assert [(d.gear, d.sign) for d in found] == [(3.0, -1), (2.5, 1), (3.0, -1)]
    assert found[0].zero == pytest.approx(0.7, abs=0.02) and found[2].servo.zero == pytest.approx(2500, abs=8)
    again, _, _ = brought_up(None, hand=Steady, world=lying)
    assert all(j["problem"] == "" and j["torque"] > 0.0 for j in again.values())

    standing = read(mended.source.read_text(encoding="utf-8").replace(NONE, GRAVITY), "geared_mended")
    world = read(WORLD, "geared_world")
    rest = np.zeros((2, 3))
    motion = from_rows([j.name for j in world.streamed], [0.0, 1.0], [[0.2, 0.2, 0.2], [0.8, -0.4, 0.6]], rest, rest)
    with plugged_in(standing, world=world) as board:
        result = play_motion(board, standing, knots(motion, standing), feedforward=True)
        assert (result.ended, result.faults, result.bit_identical) == ("done", (), True)
        assert np.abs(board.plant.q - [0.8, -0.4, 0.6]).max() < 0.01


def told(**setting: int) -> SimpleNamespace:
    """Return a report of three connected drives. setting: the setting that differs from the file, by joint."""
    seen = messages.DRIVE_STATES["SEEN"][0]
    of = [setting.get(name, 0) for name in ("shoulder", "elbow", "wrist")]
    return SimpleNamespace(state=[seen] * 3, error=[0] * 3, setting=of, value=[0] * 3, answers=[0] * 3)


def arm(tmp_path, text: str = FILE):
    file = tmp_path / "arm.toml"
    file.write_text(text, encoding="utf-8")
    return load_mechanism(file)


def test_a_gear_that_makes_the_file_invalid_is_not_written(tmp_path):
    """The command writes no other result of that joint either, but the results of the other joints."""
    m = arm(tmp_path, FILE.replace("velocity = 1.2", "velocity = 4.0"))
    refused = write_bring_up(m.source, [judge_drive(m, 0, Look(-3.02), told()), judge_drive(m, 2, Look(-2.95), told())])
    assert list(refused) == ["wrist"]
    assert "feetech-sts3215-12v behind a gear of 3 tells at most 1.5708 rad/s" in refused["wrist"]
    shoulder, _, wrist = (j.drive for j in load_mechanism(m.source).moving)
    assert (shoulder.gear, shoulder.sign, wrist.gear, wrist.sign) == (3.0, -1, 1.0, 1)


@pytest.mark.parametrize(("turns", "gear"), [
    (1.04, 1.0), (1.45, 1.5), (2.09, 2.0), (2.6, 2.5), (2.87, 3.0), (4.7, 4.5), (4.8, 5.0), (9.6, 10.0), (0.52, 0.5),
    (1.7, None), (1.8, None), (0.7, None), (11.0, None), (40.0, None)])
def test_a_gear_is_rounded_to_a_usual_gear_within_the_accuracy_of_a_hand(turns, gear):
    assert usual_gear(turns) == gear


@pytest.mark.parametrize(("number", "ratio", "words", "values"), [
    (0, 1.03, "", {}),
    (0, -1.03, "its drive counts the wrong way", {"sign": -1}),
    (1, 2.04, "its drive makes 2.04 turns per turn of the joint, and the file says 1: a gear of 2", {"gear": 2.0}),
    (2, 0.49, "its servo makes 0.49 turns per turn of the joint, and the file says 1: a gear of 0.5", {"gear": 0.5}),
    (1, 1.8, "its drive makes 1.8 turns per turn of the joint, and the file says 1: no usual gear is near; count its "
             "teeth and write drive.gear", {}),
    (2, 50.0, "its servo makes 50 turns per turn of the joint, and the file says 1: no usual gear is near; count its "
              "teeth and write drive.gear", {}),
    (0, 0.02, "its drive's position does not follow a turn by hand: does the id belong to this joint?", {})])
def test_conclusions_about_a_gear_from_a_turn_by_hand(tmp_path, number, ratio, words, values):
    found = judge_drive(arm(tmp_path), number, Look(ratio, probed=Probed(1, 0.1)), told())
    assert found.problem == words and found.values.get("drive", {}) == values
    assert found.gear == pytest.approx(abs(ratio))


def test_a_wrong_gear_of_the_file_is_removed(tmp_path):
    found = judge_drive(arm(tmp_path, WORLD), 0, Look(0.34), told())
    assert found.values == {"drive": {"gear": 1.0}} and found.gear == pytest.approx(1.02)


def test_a_range_that_may_be_wrong_is_no_gear(tmp_path):
    """A setting differs from the file, or the range is unknown and the motion too short to determine it."""
    m = arm(tmp_path)
    assert judge_drive(m, 0, Look(2.0), told(shoulder=21)).values == {}
    muted = arm(tmp_path, FILE.replace("damiao-4310", "cubemars-ak10-9").replace("gains", "gains", 1))
    for ratio, values in ((0.5, {}), (2.0, {"drive": {"gear": 2.0}})):
        found = judge_drive(muted, 0, Look(ratio), told())
        assert found.values == values
        assert ("its range of position may be about 25 rad" in found.problem) == (not values)


def test_a_zero_is_written_in_the_units_of_the_drive_with_the_sign_and_gear_found(tmp_path):
    """The joint is at 0.2 rad, where the drive reports 0.9 rad and the servo reports 2300 counts."""
    m = arm(tmp_path)
    can = judge_drive(m, 0, Look(-3.0, 0.9), told()).values["drive"]
    assert can == {"sign": -1, "gear": 3.0, "zero": pytest.approx(0.9 + 3.0 * 0.2)}
    servo = judge_drive(m, 2, Look(3.0, (2300 - 2048) * COUNT), told()).values["drive"]
    assert servo == {"gear": 3.0, "zero": round(2300 - 0.6 / COUNT)}
    behind = arm(tmp_path, WORLD)  # the drive reports the joint's position relative to a different zero
    assert judge_drive(behind, 0, Look(1.0, 0.25), told()).values["drive"] == {
        "zero": pytest.approx(0.7 - 3.0 * 0.25 + 3.0 * 0.2)}
    assert judge_drive(m, 0, Look(1.8, 0.9), told()).zero is None  # the gear is unknown


def test_a_joint_that_its_gear_takes_beyond_half_a_turn_of_its_drive_has_no_zero_any_more(tmp_path):
    m = arm(tmp_path, FILE.replace("lower = -1.0, upper = 1.0", "lower = -1.1, upper = 1.0").replace(
        "inertia = 0.01", "inertia = 0.01, zero = 0.3"))
    found = judge_drive(m, 0, Look(3.0, 0.9), told())
    assert found.values == {"drive": {"gear": 3.0, "zero": 0.0}} and found.zero is None
    assert write_bring_up(m.source, [found]) == {} and load_mechanism(m.source).moving[0].drive.gear == 3.0
