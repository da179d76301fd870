"""Friction and rotors of joints that a servo or a bus drive turns."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Friction, Mechanism, load_mechanism, set_joint
from femtorque.codegen.wire import flag
from femtorque.hil.plant.backlash import BacklashPlant
from femtorque.hil.plant.rigid import Plant
from femtorque.host.board import Board
from femtorque.host.lab import beside, identify, measured
from femtorque.host.lab.joint_identification import Identified
from tests.support import rig
from tests.support.bus_arm import described, file_of
from tests.support.plugged import plugged_in
from tests.support.servos import DYNAMIXELS, LYING


def found(truth: Mechanism, joint: str, home: bool = False, plant: Plant | BacklashPlant | None = None) -> Identified:
    """Return the estimates for an arm whose file has no friction. home: the drives do not know their zeros."""
    unknown = replace(truth, name=f"unknown_{truth.name}",
                      joints=tuple(replace(j, friction=Friction(0.0, 0.0)) for j in truth.joints))
    with plugged_in(unknown, plant or Plant(truth)), Board.connect("auto", unknown) as board:
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
@pytest.mark.parametrize("text, share, viscous", [(LYING, 0.06, {"abs": 0.01}), (DYNAMIXELS, 0.1, {"rel": 0.1})])
def test_friction_and_rotor_of_a_servo_are_found_from_its_duty_or_its_current(tmp_path, text, share, viscous):
    """The intervals miss the truth, since the servo samples bus and encoder at times unknown to the host."""
    truth = two_servos(tmp_path, text)
    result, joint = found(truth, "elbow"), truth.moving[1]
    print(result.words())
    assert result.coulomb.value == pytest.approx(joint.friction.coulomb, rel=share)
    assert result.viscous.value == pytest.approx(joint.friction.viscous, **viscous)
    assert result.inertia.value == pytest.approx(joint.motor.inertia, rel=share)


@pytest.mark.parametrize("play", [0.017, *(pytest.param(x, marks=pytest.mark.bench) for x in (0.0, 0.006, 0.034))])
def test_the_play_of_a_servos_gear_is_found_and_written_and_its_friction_is_not_mistaken(tmp_path, play):
    """Two counts of the encoder are 3 mrad. Friction and rotor are those of the motor's side."""
    truth = two_servos(tmp_path)
    for name, joint in zip(("shoulder", "elbow"), truth.moving, strict=True):
        result = found(truth, name, plant=BacklashPlant(truth, play))
        print(result.words())
        assert (result.play is None) == (play == 0.0)
        assert result.coulomb.holds(joint.friction.coulomb) or play == 0.0
        assert result.inertia.value == pytest.approx(joint.motor.inertia, rel=0.1)
        if result.play is not None:
            assert result.play.holds(play) and result.play.half < 0.25 * play + 6e-3
            set_joint(tmp_path / "arm.toml", name, result.values(), "", beside(truth, name))
            written = {j.name: j.drive for j in load_mechanism(tmp_path / "arm.toml").moving}[name]
            assert written.servo.play == pytest.approx(result.play.value, rel=1e-3)


@pytest.mark.bench
@pytest.mark.parametrize(("stiffer", "play", "rattles"), [(1.0, 0.034, False), (3.0, 0.017, False), (3.0, 0.034, True),
                                                          (6.0, 0.0, False), (6.0, 0.017, True)])
def test_only_gains_stiffer_than_those_that_init_chooses_let_a_joint_rattle_in_its_play(tmp_path, stiffer, play,
                                                                                        rattles):
    """kv rises with the root of ku, for the same damping. The joints bear no weight."""
    arm = two_servos(tmp_path)
    arm = replace(arm, name=f"stiff_{stiffer:g}", joints=tuple(
        replace(j, gains=replace(j.gains, ku=stiffer * j.gains.ku, kv=stiffer**0.5 * j.gains.kv)) for j in arm.joints))
    with plugged_in(arm, BacklashPlant(arm, play)), Board.connect("auto", arm) as board:
        session, seen = board.session, []
        session.wait(lambda: flag(session.status, "HOMED"), 2.0, "its servos have not said where they are")
        board.arm()
        board.approach([0.3, 0.6])
        until = session.clock.now() + 2.0
        while session.clock.now() < until:
            session.pump()
            session.clock.sleep(0.01)
            seen.append(board.positions)
    moved = np.ptp(seen[100:], axis=0)
    print(moved)
    assert bool(moved.max() > 0.9 * play > 0.0) == rattles


@pytest.mark.bench
@pytest.mark.parametrize(("source", "changes", "home"), [
    (file_of, {"pd": "board"}, False), (file_of, {"pd": "board", "gear": 1.2}, False),
    (file_of, {"pd": "drive"}, False), (lambda: described("moteus"), {"inertia": 0.01}, False),
    (lambda: described("odrive-can"), {"inertia": 0.01}, True)])
def test_friction_and_rotor_of_a_drive_are_found_from_its_commanded_torque(source, changes, home):
    """The rotor is at the drive's output. pd: closes the loop. Drives have newer positions than the board."""
    arm = source()
    name = "_".join(map(str, (arm.name, *changes.values()))).replace(".", "_")
    truth = replace(arm, name=name, joints=tuple(
        replace(j, friction=Friction(0.3, 0.5),
                drive=replace(j.drive, **{key: value for key, value in changes.items()
                                          if key != "gear" or j.name == "wrist"})) for j in arm.joints))
    result = found(truth, "wrist", home)
    print(result.words())
    assert result.values().keys() == {"friction", "drive"}
    assert result.coulomb.value == pytest.approx(0.5, rel=0.03) and result.viscous.value == pytest.approx(0.3, rel=0.03)
    assert result.inertia.value == pytest.approx(truth.moving[2].drive.inertia, rel=0.06)


def test_a_servos_motor_is_written_whole_where_the_file_has_none(tmp_path):
    """drive.gear contains the belt of 1.5:1, so the written motor contains only the servo's gear."""
    arm = two_servos(tmp_path, LYING.replace("id = 2 }", "id = 2, gear = 1.5 }").replace(
        "velocity = 4.0", "velocity = 3.0"))
    set_joint(arm.source, "elbow", {"motor": {"inertia": 3e-7}}, beside=beside(arm, "elbow"))
    set_joint(arm.source, "elbow", {"motor": {"inertia": 2e-7}}, beside=beside(arm, "elbow"))
    before, after = arm.moving[1].motor, load_mechanism(arm.source).moving[1].motor
    assert after.inertia == 2e-7 and after.R == pytest.approx(before.R, rel=1e-3)
    assert after.gear == before.gear == pytest.approx(345.0 * 1.5) and after.K == pytest.approx(before.K, rel=1e-3)
    assert beside(file_of(), "wrist") == {}


def test_a_joint_that_nothing_turns_is_not_measured():
    bare = rig.three_link()
    bare = replace(bare, joints=tuple(replace(j, motor=None, encoder=None) for j in bare.joints))
    with pytest.raises(BadInput, match="has no motor with an encoder, and no drive"):
        measured(bare, 0)
