"""Friction and rotors of joints that a servo or a drive on a bus turns."""

from dataclasses import replace

import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Friction, Mechanism, load_mechanism, set_joint
from femtorque.codegen.wire import flag
from femtorque.hil.plant.rigid import Plant
from femtorque.host.board import Board
from femtorque.host.lab import beside, identify, measured
from femtorque.host.lab.joint_identification import Identified
from tests.support import rig
from tests.support.bus_arm import described, file_of
from tests.support.plugged import plugged_in
from tests.support.servos import DYNAMIXELS, LYING


def found(truth: Mechanism, joint: str, home: bool = False) -> Identified:
    """Estimates for an arm whose file has no friction. home: its drives do not know where they are."""
    unknown = replace(truth, name=f"unknown_{truth.name}",
                      joints=tuple(replace(j, friction=Friction(0.0, 0.0)) for j in truth.joints))
    with plugged_in(unknown, Plant(truth)), Board.connect("auto", unknown) as board:
        session = board.session
        session.wait(lambda: home or flag(session.status, "HOMED"), 2.0, "its servos have not said where they are")
        if home:
            board.home()
        return identify(board, unknown, joint)


def two_servos(tmp_path, text: str = LYING) -> Mechanism:
    path = tmp_path / "arm.toml"
    path.write_text(text, encoding="utf-8")
    return load_mechanism(path)


@pytest.mark.bench
def test_friction_and_rotor_of_a_servo_are_found_from_its_duty(tmp_path):
    """Outside of their intervals: the servo reads its wire and its encoder in its own time."""
    truth = two_servos(tmp_path)
    result, joint = found(truth, "elbow"), truth.moving[1]
    print(result.words())
    assert result.coulomb.value == pytest.approx(joint.friction.coulomb, rel=0.06)
    assert result.viscous.value == pytest.approx(joint.friction.viscous, abs=0.01)
    assert result.inertia.value == pytest.approx(joint.motor.inertia, rel=0.06)


@pytest.mark.bench
def test_friction_and_rotor_of_a_dynamixel_are_found_from_its_current(tmp_path):
    truth = two_servos(tmp_path, DYNAMIXELS)
    result, joint = found(truth, "elbow"), truth.moving[1]
    print(result.words())
    assert result.coulomb.value == pytest.approx(joint.friction.coulomb, rel=0.1)
    assert result.viscous.value == pytest.approx(joint.friction.viscous, rel=0.1)
    assert result.inertia.value == pytest.approx(joint.motor.inertia, rel=0.1)


@pytest.mark.bench
@pytest.mark.parametrize(("gear", "pd"), [(1.0, "board"), (1.2, "board"), (1.0, "drive")])
def test_friction_and_rotor_of_a_drive_are_found_from_the_torque_that_it_was_told(gear, pd):
    """The rotor's inertia at the drive's own output, as in the file. pd: the side that closes the loop; a drive does so
    with later positions than the board has."""
    source = file_of()
    truth = replace(source, name=f"damiao_arm_{gear:g}_{pd}", joints=tuple(
        replace(j, friction=Friction(0.3, 0.5), drive=replace(j.drive, pd=pd, gear=gear if j.name == "wrist" else 1.0))
        for j in source.joints))
    result = found(truth, "wrist")
    print(result.words())
    assert result.values().keys() == {"friction", "drive"}
    assert result.coulomb.value == pytest.approx(0.5, rel=0.03) and result.viscous.value == pytest.approx(0.3, rel=0.03)
    assert result.inertia.value == pytest.approx(truth.moving[2].drive.inertia, rel=0.06)


@pytest.mark.bench
@pytest.mark.parametrize("kind", ["moteus", "odrive-can"])
def test_friction_and_rotor_behind_a_drive_that_takes_any_motor_are_found_as_behind_others(kind):
    source = described(kind)
    truth = replace(source, name=f"{kind}_lying".replace("-", "_"), joints=tuple(
        replace(j, friction=Friction(0.3, 0.5), drive=replace(j.drive, inertia=0.01)) for j in source.joints))
    result = found(truth, "wrist", home=kind == "odrive-can")
    print(result.words())
    assert result.coulomb.value == pytest.approx(0.5, rel=0.03) and result.viscous.value == pytest.approx(0.3, rel=0.03)
    assert result.inertia.value == pytest.approx(0.01, rel=0.06)


def test_a_servos_motor_is_written_whole_where_the_file_has_none(tmp_path):
    arm = two_servos(tmp_path)
    set_joint(arm.source, "elbow", {"motor": {"inertia": 3e-7}}, beside=beside(arm, "elbow"))
    set_joint(arm.source, "elbow", {"motor": {"inertia": 2e-7}}, beside=beside(arm, "elbow"))
    before, after = arm.moving[1].motor, load_mechanism(arm.source).moving[1].motor
    assert after.inertia == 2e-7 and after.R == pytest.approx(before.R, rel=1e-3)
    assert after.K * after.gear == pytest.approx(before.K * before.gear, rel=1e-3)
    assert beside(file_of(), "wrist") == {}


def test_a_motor_that_is_written_for_a_servo_has_the_gear_inside_alone(tmp_path):
    arm = two_servos(tmp_path)
    slower = arm.source.read_text(encoding="utf-8").replace("id = 2 }", "id = 2, gear = 1.5 }").replace(
        "velocity = 4.0", "velocity = 3.0")
    arm.source.write_text(slower, encoding="utf-8")
    before = load_mechanism(arm.source)
    set_joint(arm.source, "elbow", {"motor": {"inertia": 3e-7}}, beside=beside(before, "elbow"))
    motor = load_mechanism(arm.source).moving[1].motor
    assert motor.gear == pytest.approx(345.0 * 1.5) == before.moving[1].motor.gear


def test_a_joint_that_nothing_turns_is_not_measured():
    bare = rig.three_link()
    bare = replace(bare, joints=tuple(replace(j, motor=None, encoder=None) for j in bare.joints))
    with pytest.raises(BadInput, match="has no motor with an encoder, and no drive"):
        measured(bare, 0)
