"""Tests the import of LeRobot's calibration files: with the imported file, equal counts give equal degrees."""

import importlib
import json
import math

import pytest

from femtorque import BadInput, Mechanism
from tests.support.suite import ROOT

SO101, ALOHA = (ROOT / "mechanisms" / f"{name}.toml" for name in ("so101_sts", "aloha_like"))
NAMES = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
RANGES = ((758, 3292), (880, 3220), (873, 3080), (900, 3080), (0, 4095), (2032, 3290))
OFFSETS = (-1470, 157, 102, -1200, 1000, 1407)


def entries(**changes):
    """Return the entries of LeRobot's SO-101 follower."""
    found = {name: {"id": k + 1, "drive_mode": 0, "homing_offset": OFFSETS[k], "range_min": RANGES[k][0],
                    "range_max": RANGES[k][1]} for k, name in enumerate(NAMES)}
    for name, change in changes.items():
        found[name] = {**found[name], **change}
    return found


@pytest.fixture
def brought(plugin, tmp_path):
    """Return a function that imports calibration entries into a copied file: printed lines, new mechanism."""
    def bring(told, source=SO101):
        file, calibration = tmp_path / "arm.toml", tmp_path / "follower.json"
        file.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        calibration.write_text(json.dumps(told), encoding="utf-8")
        module = importlib.import_module("lerobot_robot_femtorque.calibration")
        return module.bring(file, calibration), Mechanism.load(file)

    return bring


def degrees(entry, count):
    """Return LeRobot's angle in degrees for a count, by the formula of src/lerobot/motors/motors_bus.py, _normalize."""
    return (count - (entry["range_min"] + entry["range_max"]) / 2) * 360 / 4095


def rad(drive, count):
    """Return the joint's position for a count, by the formula of docs/drives.md."""
    return drive.sign * (count - drive.servo.zero) * math.tau / 4096


def test_a_joint_whose_range_is_symmetric_has_lerobots_degrees(brought):
    lines, arm = brought(entries())
    assert len(lines) == 6
    for name in NAMES[:4]:
        joint, entry = next(j for j in arm.joints if j.name == name), entries()[name]
        assert joint.drive.servo.offset == entry["homing_offset"]
        for count in (entry["range_min"], 2000, entry["range_max"]):
            assert math.degrees(rad(joint.drive, count)) == pytest.approx(degrees(entry, count), abs=0.1)


def test_ends_are_within_those_that_the_servo_keeps(brought):
    _, arm = brought(entries())
    for joint in arm.joints:
        entry = entries()[joint.name]
        ends = sorted(joint.drive.servo.zero + joint.drive.sign * x * 4096 / math.tau
                      for x in (joint.limits.lower, joint.limits.upper))
        assert entry["range_min"] <= ends[0] and ends[1] <= entry["range_max"]
        assert joint.name == "wrist_roll" or ends[1] - ends[0] > entry["range_max"] - entry["range_min"] - 4


def test_the_gripper_is_closed_where_it_was_closed(brought):
    _, arm = brought(entries())
    gripper = arm.joints[-1]
    assert rad(gripper.drive, 2032) == pytest.approx(gripper.limits.lower, abs=0.003)
    assert gripper.limits.lower == pytest.approx(-0.174533, abs=0.01), "the URDF's closed jaw"


def test_values_that_run_the_other_way_give_the_sign(brought):
    _, arm = brought(entries(gripper={"drive_mode": 1}))
    gripper = arm.joints[-1]
    assert gripper.drive.sign == -1
    assert rad(gripper.drive, 3290) == pytest.approx(gripper.limits.lower, abs=0.003)


def test_a_joint_whose_ends_lerobot_did_not_look_for_keeps_its_range(brought):
    lines, arm = brought(entries())
    before = next(j for j in Mechanism.load(SO101).joints if j.name == "wrist_roll")
    after = next(j for j in arm.joints if j.name == "wrist_roll")
    assert after.limits == before.limits and "its range is the file's" in lines[4]


def test_a_range_that_is_not_like_the_file_is_pointed_out(brought):
    lines, _ = brought(entries(elbow_flex={"range_max": 2500}))
    assert "not both ends were reached" in lines[2] and "not both ends" not in "".join(lines[:2] + lines[3:])


def test_an_arm_on_other_motors_gets_ranges_alone(brought, tmp_path):
    """The ranges belong to the links, and not to the motors."""
    other = ROOT / "mechanisms" / "three_link.toml"
    told = {"elbow": {"id": 3, "drive_mode": 0, "homing_offset": 0, "range_min": 1000, "range_max": 3000}}
    lines, arm = brought(told, other)
    assert "zero and sign are of LeRobot's motor" in lines[0]
    before, after = (next(j for j in m.joints if j.name == "elbow") for m in (Mechanism.load(other), arm))
    old, new = before.limits, after.limits
    assert new.upper - new.lower == pytest.approx(1998 * math.tau / 4096, abs=0.002)
    assert new.upper + new.lower == pytest.approx(old.upper + old.lower, abs=0.002)
    assert after.encoder == before.encoder


def dynamixels(**changes):
    """Return the entries of LeRobot's Dynamixel followers. Dynamixel servos store both homing_offset and drive_mode."""
    joint = {"id": 3, "drive_mode": 0, "homing_offset": -731, "range_min": 1010, "range_max": 3190, **changes}
    return {"elbow": joint, "waist": {**joint, "id": 1, "homing_offset": 900, "range_min": 0, "range_max": 4095}}


def test_dynamixel_servos_get_zeros_and_offsets_too(brought):
    told = dynamixels()
    lines, arm = brought(told, ALOHA)
    elbow, waist = (next(j for j in arm.joints if j.name == name) for name in ("elbow", "waist"))
    assert (elbow.drive.servo.offset, elbow.drive.servo.zero, elbow.drive.sign) == (-731, 2100, 1)
    assert elbow.limits.lower == pytest.approx(-elbow.limits.upper)
    for count in (1011, 2100, 3000):
        assert math.degrees(rad(elbow.drive, count)) == pytest.approx(degrees(told["elbow"], count), abs=0.1)
    assert waist.drive.servo.offset == 900 and "its range is the file's" in lines[1]


def test_a_dynamixel_servo_that_runs_the_other_way_by_itself_is_refused(brought):
    with pytest.raises(BadInput, match="drive_mode = 1: is stored in the servo"):
        brought(dynamixels(drive_mode=1), ALOHA)


@pytest.mark.parametrize("told, rule", [
    ([], "must be an object"), ({}, "must be an object"), ({"elbow": {}}, "is no joint of so101_sts"),
    ({"gripper": 3}, "must have whole numbers"), (entries(gripper={"range_max": 1.5}), "must have whole numbers"),
    (entries(gripper={"range_min": 3290}), "must be calibrated"), (entries(gripper={"drive_mode": 2}), "calibrated"),
    (entries(elbow_flex={"range_min": 2, "range_max": 4093}), "elbow_flex.range_max = 4093: .*counts crossed 4095/0"),
    (entries(gripper={"range_min": 0, "range_max": 4095}), "gripper.range_max = 4095: .*counts crossed 4095/0"),
    (entries(gripper={"range_max": 2034}), "follower.json: gripper.range_max = 2034: is too near to range_min = 2032"),
    (entries(gripper={"range_min": 9, "range_max": 999}), "follower.json: gripper.range_min = 9: puts .* -8 counts"),
    (entries(gripper={"id": 9}), "is another servo's"), (entries(gripper={"homing_offset": 3000}), "offset"),
])
def test_a_file_that_is_none_is_refused_and_changes_nothing(brought, tmp_path, told, rule):
    with pytest.raises(BadInput, match=rule):
        brought(told)
    assert (tmp_path / "arm.toml").read_text(encoding="utf-8") == SO101.read_text(encoding="utf-8")


def test_a_file_is_changed_as_a_whole_or_not_at_all(brought, tmp_path, monkeypatch):
    module = importlib.import_module("lerobot_robot_femtorque.calibration")
    seen, set_joint = [], module.set_joint

    def fail(path, joint, tables):
        set_joint(path, joint, tables)
        seen.append((tmp_path / "arm.toml").read_text(encoding="utf-8") == SO101.read_text(encoding="utf-8"))
        if len(seen) == 3:
            raise PermissionError(13, "Permission denied", "arm.toml")

    monkeypatch.setattr(module, "set_joint", fail)
    with pytest.raises(PermissionError):
        brought(entries())
    assert seen == [True] * 3 and sorted(path.name for path in tmp_path.iterdir()) == ["arm.toml", "follower.json"]
    monkeypatch.setattr("sys.argv", ["calibration", str(tmp_path / "arm.toml"), str(tmp_path / "follower.json")])
    seen.clear()
    with pytest.raises(SystemExit, match="lerobot_robot_femtorque: arm.toml: Permission denied"):
        module.main()
