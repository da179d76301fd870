"""Compares drive configurations, as printed by a maker's tool, with a mechanism file."""

from dataclasses import replace
from pathlib import Path

import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.board import DrivesAlone
from femtorque.hil.plant import plant_of
from femtorque.host.lab import maker_configuration
from femtorque.host.lab.bringup import Finding
from tests.support.bus_arm import described, file_of

Told = dict[int, dict[str, str]]  # for each drive number, a table from names to values


@pytest.fixture(scope="module")
def arm() -> Mechanism:
    return described("moteus")


@pytest.fixture(scope="module")
def told(arm) -> Told:
    """Return the virtual drives' answers to `conf enumerate`; tests/hil/board/test_moteus.py has the maker's reader."""
    said: Told = {}
    with DrivesAlone(arm, plant_of(arm)) as alone:
        for drive in alone.buses.drives.values():
            drive.stream.take(b"conf enumerate\n")
            lines = drive.stream.give(1 << 16).decode().splitlines()
            said[drive.id] = dict(line.split(" ") for line in lines if line != "OK")
    return said


def printed(told: Told, tmp_path: Path, **changes: str) -> Path:
    """Write the tool's output for all drives in order, with changed settings of the second drive."""
    file = tmp_path / "told.txt"
    all_ = {id: {**lines, **{name.replace("__", "."): value for name, value in changes.items()}} if id == 2 else lines
            for id, lines in told.items()}
    file.write_text("\n".join("".join(f"{name} {value}\r\n" for name, value in lines.items() if value != "-")
                              for lines in all_.values()))
    return file


def joints_with(arm: Mechanism, marks: dict[str, str]) -> Mechanism:
    return replace(arm, joints=tuple(
        replace(j, drive=replace(j.drive, configured=marks.get(j.name, ""))) if j.drive else j for j in arm.joints))


def problems(arm: Mechanism, file: Path) -> dict[str, tuple[str, ...]]:
    return {one.joint: one.problems for one in maker_configuration.compare_configured(arm, file) if one.problems}


def test_drives_that_are_configured_as_the_file_says_pass_and_are_held_by_marks(arm, told, tmp_path):
    compared = maker_configuration.compare_configured(arm, printed(told, tmp_path))
    assert [one.joint for one in compared] == ["shoulder", "elbow", "wrist"]
    assert all(not one.problems and len(one.marks) == 36 for one in compared)
    findings = [Finding(one.joint, "", 0.0, None, {"drive": {"sign": -1}}) for one in compared]
    found = maker_configuration.configured_held(findings, compared, arm)
    assert [f.values["drive"] for f in found] == [{"sign": -1, "configured": one.marks} for one in compared]
    holding = joints_with(arm, {one.joint: one.marks for one in compared})
    assert not problems(holding, printed(told, tmp_path))
    assert maker_configuration.configured_held(findings, compared, holding) == findings


@pytest.mark.parametrize(("name", "value", "said"), [
    ("servo.pid_position.kp", "500.0", "its servo.pid_position.kp is 500.0, and must be 753.982, 2 pi times drive.kp"),
    ("servo.pid_position.kd", "0.05", "its servo.pid_position.kd is 0.05, and must be 37.6991, 2 pi times drive.kd"),
    ("servo.pid_position.sign", "1", "must be -1: else its loop is unstable"),
    ("servo.pid_position.ilimit", "2.0", "must be 0: an integral fights the model"),
    ("servo.pid_position.max_desired_rate", "3", "must be 0"),
    ("servo.inertia_feedforward", "0.1", "must be 0"), ("servo.voltage_mode_control", "1", "must be 0"),
    ("servo.fixed_voltage_mode", "1", "must be 0"), ("servo.max_position_slip", "0.1", "must be nan"),
    ("servo.max_velocity_slip", "0.1", "must be nan"), ("servo.fault_position_error", "0.2", "must be nan"),
    ("servo.fault_velocity_error", "0.2", "must be nan"), ("servo.max_velocity", "0.5", "must be at least"),
    ("servo.max_velocity", "fast", "must be at least"), ("servo.timeout_mode", "10", "must be 0, 12 or 15"),
    ("servopos.position_min", "-0.01", "must be nan, or at most"),
    ("servopos.position_max", "0.01", "must be nan, or at least"),
    ("servo.pid_position.kp", "-", "it has no servo.pid_position.kp: its firmware may be another"),
    ("servo.max_current_A", "-", "it has no servo.max_current_A: its firmware may be another")])
def test_one_setting_that_is_another_is_refused_by_its_name(arm, told, tmp_path, name, value, said):
    (found,) = problems(arm, printed(told, tmp_path, **{name.replace(".", "__"): value})).items()
    assert found[0] == "elbow" and len(found[1]) == 1 and said in found[1][0]


@pytest.mark.parametrize("name", ["motor.Kv", "motor_position.sources.1.offset", "motor_position.output.sign",
                                  "motor_position.rotor_to_output_ratio", "servo.timeout_max_torque_Nm"])
def test_a_setting_of_the_owner_s_own_that_changes_afterwards_is_refused_by_its_name(arm, told, tmp_path, name):
    marks = {one.joint: one.marks for one in maker_configuration.compare_configured(arm, printed(told, tmp_path))}
    holding, changed = joints_with(arm, marks), printed(told, tmp_path, **{name.replace(".", "__"): "7"})
    assert not problems(arm, changed)
    (found,) = problems(holding, changed).items()
    assert found[0] == "elbow" and "has changed since the file recorded it" in found[1][0]
    assert found[1][0].split(" ")[1] in (name, name.rpartition(".")[0])


def test_older_firmware_without_bounds_of_its_errors_is_right(arm, told, tmp_path):
    assert not problems(arm, printed(told, tmp_path, servo__fault_position_error="-", servo__fault_velocity_error="-"))


def test_limits_of_position_are_right_where_the_joint_does_not_come(arm, told, tmp_path):
    wide = printed(told, tmp_path, servopos__position_min="-0.45", servopos__position_max="0.45")
    assert not problems(arm, wide)
    far = replace(arm, joints=tuple(replace(j, limits=replace(j.limits, upper=4.0)) for j in arm.joints))
    assert "where its zero is at power-up is not known" in problems(far, wide)["elbow"][0]


def test_gains_of_a_drive_whose_loop_the_board_closes_are_its_owner_s(arm, told, tmp_path):
    board = replace(arm, joints=tuple(replace(j, drive=replace(j.drive, pd="board")) if j.drive else j
                                      for j in arm.joints))
    assert not problems(board, printed(told, tmp_path, servo__pid_position__kp="4", servo__pid_position__kd="0.05"))


def test_a_file_without_a_drive_and_marks_of_another_version_are_refused(arm, told, tmp_path):
    assert "has none with id.id 2" in problems(arm, printed({1: told[1], 3: told[3]}, tmp_path))["elbow"][0]
    assert "has more than one with id.id 1" in problems(arm, printed({1: told[1], 2: told[2], 4: told[1]}, tmp_path))[
        "shoulder"][0]
    assert "from another version" in problems(joints_with(arm, {"elbow": "abc"}), printed(told, tmp_path))["elbow"][0]
    with pytest.raises(BadInput, match="any drive of this mechanism"):
        maker_configuration.compare_configured(file_of(), printed(told, tmp_path))


def test_the_tool_s_command_has_the_drives_numbers(arm):
    assert maker_configuration.configured_tools(arm) == ["moteus_tool -t 1,2,3 --dump-config"]
    assert maker_configuration.configured_tools(file_of()) == []
