"""Files of `femtorque init --arm`: each is checked without a doubt, and has LeRobot's joint names."""

import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.verify.check import examine
from femtorque.codegen.verify.known_arms import arm_names
from femtorque.codegen.verify.new_file import Choice, said_of, write_new_file

SO = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"]
SIX = [f"joint_{k}" for k in range(1, 7)]
ZERO = [f"joint_{k}" for k in range(6)]
NAMES = {  # LeRobot: openarm_follower, yam_follower, so_follower, koch_follower; plug-ins of piper and widowxai
    "openarm": [*SIX, "joint_7", "gripper"], "yam": [*ZERO, "gripper"], "so101": SO, "koch": SO,
    "piper": [*SIX, "gripper"], "trossen-wxai": [*ZERO, "left_carriage_joint"]}
INVENTED = {"yam", "piper", "trossen-wxai"}


@pytest.mark.parametrize("arm", NAMES)
def test_an_arm_by_name_is_complete_and_says_what_is_invented(arm, tmp_path):
    path = write_new_file("mine", tmp_path / "mine.toml", choice=Choice(arm=arm))
    mechanism = load_mechanism(path)
    report = examine(mechanism)
    assert mechanism.name == "mine" and [joint.name for joint in mechanism.streamed] == NAMES[arm]
    assert report.stability is not None and report.stability.stable
    doubts = [line for line in report.warnings if "`home` must give its position" not in line]
    assert [line for line in doubts if not line.endswith("without load")] == []
    assert doubts == [] or arm == "so101"  # its limit of velocity leaves room for the servos' play: see the file
    assert any(line.startswith("invented: ") for line in said_of(path)) == (arm in INVENTED)


def test_every_file_has_a_row():
    assert set(arm_names()) == set(NAMES)


@pytest.mark.parametrize("choice, said", [(Choice(arm="kock"), "no such arm; did you mean 'koch'"),
                                          (Choice(arm="koch", chain="a:b"), "does not go with --arm")])
def test_an_unknown_arm_and_other_choices_are_refused(choice, said, tmp_path):
    with pytest.raises(BadInput, match=said):
        write_new_file("mine", tmp_path / "mine.toml", choice=choice)
