"""Tests of mimic joints: keys in a file, and the joints that the reader creates."""

from pathlib import Path

import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism.description import Mechanism, Mimic
from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.verify import Choice, examine, write_new_file
from tests.codegen.mechanism.test_urdf import robot
from tests.support.mimic import gripper_in

PANDA = robot("panda_description/urdf/panda.urdf")


def mimics(mechanism: Mechanism) -> dict[str, Mimic]:
    return {joint.name: joint.mimic for joint in mechanism.moving if joint.mimic}


def test_only_leaders_are_streamed_and_chains_end_at_them(tmp_path: Path) -> None:
    gripper = gripper_in(tmp_path)
    assert [j.name for j in gripper.streamed] == ["shoulder", "grip"]
    assert [j.name for j in gripper.moving] == ["shoulder", "grip", "other", "thumb"]
    found = mimics(gripper)
    assert found["other"] == Mimic("grip", -1.0, 0.0)
    assert (found["thumb"].joint, found["thumb"].offset) == ("grip", 0.01)  # through the joint `other`
    assert found["thumb"].ratio == pytest.approx(0.04)


def test_a_leader_keeps_what_its_followers_can(tmp_path: Path) -> None:
    gripper = gripper_in(tmp_path, "lower = -0.9, upper = 0.0 }", "lower = -0.5, upper = 0.0, velocity = 2.0 }")
    grip = next(j for j in gripper.joints if j.name == "grip")
    assert (grip.limits.lower, grip.limits.upper, grip.limits.velocity) == (0.0, 0.5, 2.0)
    assert "joint.grip: other follows it and leaves it 0 .. 0.5" in gripper.warnings


def test_followers_start_where_their_leader_puts_them(tmp_path: Path) -> None:
    gripper = gripper_in(tmp_path, "axis = [0, 0, 1]\nlimits", "axis = [0, 0, 1]\nstart = 0.5\nlimits")
    starts = {joint.name: joint.start for joint in gripper.moving}
    assert starts["other"] == -0.5 and starts["thumb"] == pytest.approx(0.03)


def test_limits_that_contradict_are_left_out_with_a_warning(tmp_path: Path) -> None:
    """PR2's file is an example: the sign of the grippers' ratio contradicts the grippers' limits."""
    gripper = gripper_in(tmp_path, "lower = -0.9, upper = 0.0 }", "lower = 0.0, upper = 0.9 }")
    assert any("joint.other: it follows grip, and no position keeps the limits of both" in w for w in gripper.warnings)
    assert next(j for j in gripper.joints if j.name == "grip").limits.upper == 0.9


def test_a_follower_of_a_locked_joint_is_locked_at_its_place(tmp_path: Path) -> None:
    gripper = gripper_in(tmp_path, 'name = "gripper"', 'name = "gripper"\nlock = { grip = 0.5 }')
    assert [j.name for j in gripper.moving] == ["shoulder"]
    assert gripper.lock["other"] == -0.5 and gripper.lock["thumb"] == pytest.approx(0.03)


def test_a_follower_that_is_locked_alone_is_warned_of(tmp_path: Path) -> None:
    gripper = gripper_in(tmp_path, 'name = "gripper"', 'name = "gripper"\nlock = { other = 0.0, thumb = 0.0 }')
    assert not mimics(gripper)
    assert "joint.other follows grip (mimic); here it is locked at 0" in gripper.warnings


@pytest.mark.parametrize("old, new, line", [
    ('mimic = { joint = "grip"', 'mimic = { joint = "grap"',
     "joint.other.mimic.joint = 'grap': no such joint; did you mean 'grip'?"),
    ('mimic = { joint = "grip"', 'mimic = { joint = "thumb"',
     "joint.other.mimic.joint = 'other': goes in a circle: other <- thumb <- other"),
    ("ratio = -1.0", "ratio = 0.0", "joint.other.mimic.ratio = 0.0: must not be zero"),
    ("ratio = -1.0", "ratio = -4.0", "joint.other.mimic = 'grip': takes 'other' to 0 .. -3.6: who follows and who is "
     "followed stay within half a turn of zero"),
    ('mimic = { joint = "grip", ratio = -1.0 }\nlimits = { lower = -0.9, upper = 0.0 }',
     'mimic = { joint = "grip", ratio = -1.0 }\ngains = { ku = 3.0 }',
     "joint.other.gains: the joint follows 'grip', whose motor moves both"),
    ('mimic = { joint = "grip", ratio = -1.0 }\nlimits = { lower = -0.9, upper = 0.0 }',
     'mimic = { joint = "grip", ratio = -1.0 }\nencoder = { counts = 4096 }',
     "joint.other.encoder: the joint follows 'grip', whose motor moves both"),
])
def test_impossible_followers_are_refused_in_one_line(tmp_path: Path, old: str, new: str, line: str) -> None:
    if "-4.0" in new:
        old, new = "ratio = -1.0 }\nlimits = { lower = -0.9, upper = 0.0 }", "ratio = -4.0 }"
    with pytest.raises(BadInput) as caught:
        gripper_in(tmp_path, old, new)
    assert line in str(caught.value)


def test_init_drives_the_leader_alone(tmp_path: Path) -> None:
    """If --lock names the leader, its follower is locked too."""
    hand = load_mechanism(write_new_file("hand", tmp_path / "hand.toml", PANDA, Choice()))
    assert len(hand.streamed) == 8 and set(mimics(hand)) == {"panda_finger_joint2"}
    still = load_mechanism(write_new_file("arm", tmp_path / "arm.toml", PANDA,
                                          Choice(lock=("panda_finger_joint1=0.02",))))
    assert len(still.moving) == 7 and still.lock["panda_finger_joint2"] == 0.02
    assert not any("follows" in w for w in still.warnings)


def test_check_shows_who_follows_whom(tmp_path: Path) -> None:
    report = examine(gripper_in(tmp_path))
    assert report.data()["assembly"]["equations"] == ["other.mimic", "thumb.mimic"]
    assert not any("nothing makes it follow" in w for w in report.warnings)
