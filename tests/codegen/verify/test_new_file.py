"""Tests of `femtorque init` on a URDF: one chain of a robot, locked joints, motors from the catalogue, and boards with
too few channels.
"""

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.control import drives
from femtorque.codegen.mechanism import MOTORS, load_mechanism, named
from femtorque.codegen.mechanism.motors import fitting
from femtorque.codegen.verify.check import examine
from femtorque.codegen.verify.new_file import Choice, said_of, text, write_new_file
from tests.codegen.mechanism.test_urdf import robot

URDF = """<robot name="crab"><link name="trunk"><inertial><mass value="9"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>{limbs}</robot>"""
LIMB = """<link name="{n}_thigh">{body}</link><link name="{n}_shank">{body}</link><link name="{n}_foot">{body}</link>
<joint name="{n}_hip" type="revolute"><parent link="trunk"/><child link="{n}_thigh"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" velocity="5" effort="2"/></joint>
<joint name="{n}_knee" type="revolute"><parent link="{n}_thigh"/><child link="{n}_shank"/><origin xyz="0.1 0 0"/>
<axis xyz="0 1 0"/><limit lower="0.5" upper="2" velocity="5" effort="2"/></joint>
<joint name="{n}_ankle" type="revolute"><parent link="{n}_shank"/><child link="{n}_foot"/><origin xyz="0.1 0 0"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="5" effort="2"/></joint>"""
BODY = """<inertial><origin xyz="0.05 0 0"/><mass value="0.2"/><inertia ixx="1e-4" iyy="3e-4" izz="3e-4" ixy="0" ixz="0"
iyz="0"/></inertial>"""


@pytest.fixture
def crab(tmp_path):
    """Write a URDF with four limbs of three joints on a trunk."""
    path = tmp_path / "crab.urdf"
    path.write_text(URDF.format(limbs="".join(LIMB.format(n=n, body=BODY) for n in ("a", "b", "c", "d"))))
    return path


def made(crab, tmp_path, **choice):
    return load_mechanism(write_new_file("leg", tmp_path / "leg.toml", crab, Choice(**choice)))


def test_one_chain_of_a_robot_moves_and_the_rest_stands_still(crab, tmp_path):
    leg = made(crab, tmp_path, chain="trunk:b_foot", board="f405rg-4")
    assert [j.name for j in leg.moving] == ["b_hip", "b_knee", "b_ankle"]
    assert leg.lock["a_knee"] == 0.5 and leg.lock["a_hip"] == 0.0  # the position nearest to zero within the limits
    assert [j.motor.channel for j in leg.moving] == [0, 1, 2]


def test_locked_joints_stay_at_the_given_position(crab, tmp_path):
    leg = made(crab, tmp_path, chain="trunk:b_foot", lock=("b_ankle=0.2", "b_hip"))
    assert [j.name for j in leg.moving] == ["b_knee"]
    assert leg.lock["b_ankle"] == 0.2 and leg.lock["b_hip"] == 0.0


@pytest.mark.parametrize("choice, line", [
    ({"chain": "trunk:b_fot"}, "--chain = 'trunk:b_fot': crab.urdf has no link 'b_fot'; did you mean 'b_foot'?"),
    ({"chain": "trunk"}, "must be two links, A:B"),
    ({"chain": "a_thigh:b_foot"}, "link 'b_foot' does not hang on 'a_thigh'"),
    ({"lock": ("b_nee",)}, "--lock = 'b_nee': crab.urdf has no such joint that moves; did you mean 'b_knee'?"),
    ({"lock": ("b_knee=0.1",)}, "is outside the joint's limits 0.5 .. 2"),
    ({"lock": ("b_knee=90",)}, "0.5 .. 2; angles are in rad: 90 degrees are 1.571"),
    ({"lock": ("b_knee=half",)}, "must be JOINT or JOINT=value"),
    ({"motor": "pololu-37d-130", "board": "f405rg-4"}, "no such motor in the catalogue; did you mean 'pololu-37d-30'?"),
    ({"motor": "maxon-re40-24v"}, "goes with --board"),
    ({"board": "f405rg-44"}, "no such board; did you mean 'f405rg-4'"),
    ({"chain": "trunk:b_foot", "lock": ("b_hip", "b_knee", "b_ankle")}, "leaves no joint that moves"),
])
def test_a_choice_that_cannot_be_is_refused_with_the_nearest_that_can(crab, choice, line):
    with pytest.raises(BadInput) as refused:
        text("leg", crab, None, Choice(**choice))
    assert line in str(refused.value)


def test_more_joints_than_any_board_drives_are_refused_with_the_largest_board(crab, tmp_path):
    with pytest.raises(BadInput,
                       match="drives 4 motors, .*crab.urdf has 12 joints that move; the largest, f405rg-6, drives 6: "
                             "keep so many by --chain A:B, or lock 6 with --lock JOINT"):
        text("leg", crab, None, Choice("f405rg-4"))
    assert len(made(crab, tmp_path, chain="trunk:a_foot", board="f405rg-6").moving) == 3  # more channels than joints


def test_a_board_needs_a_urdf_and_channels_for_all_its_joints():
    with pytest.raises(BadInput, match="goes with --from"):
        text("arm", None, None, Choice("f405rg-4"))
    with pytest.raises(BadInput, match="drives 4 motors, .* has 6 joints that move; take f405rg-6 or nucleo-g474re-6"):
        text("so101", robot("so101.urdf"), None, Choice("f405rg-4"))


def test_the_joints_too_many_are_named_as_they_are_to_be_locked(crab, tmp_path):
    """Seven joints are too many for the largest board, which drives six. The options that the message proposes give six
    joints.
    """
    seven = dict(lock=tuple(f"{limb}_{joint}" for limb in "cd" for joint in ("hip", "knee")) + ("d_ankle",),
                 board="f405rg-6")
    with pytest.raises(BadInput) as refused:
        text("leg", crab, None, Choice(**seven))
    named = refused.value.hint.split("as --lock ")[1].split(", or")[0]
    assert "lock 1 more" in refused.value.hint
    assert len(made(crab, tmp_path, **seven | {"lock": (*seven["lock"], named)}).moving) == 6


def test_a_single_limb_gets_no_note_on_other_limbs(crab, tmp_path):
    path = write_new_file("leg", tmp_path / "leg.toml", crab, Choice(chain="trunk:a_foot"))
    assert not any("limbs hang on" in line for line in said_of(path))


def test_a_motor_of_the_catalogue_is_written_with_its_source_and_missing_data(crab, tmp_path):
    leg = made(crab, tmp_path, chain="trunk:b_foot", board="f405rg-4", motor="pololu-37d-131")
    written = (tmp_path / "leg.toml").read_text()
    assert "# Source: Pololu data sheet" in written and "has no rotor inertia: `femtorque identify`" in written
    assert "made up" not in written
    for joint in leg.moving:
        assert joint.motor.gear == 131.25 and joint.encoder.counts == 64 and joint.gains.ku > 0.0
    assert not [w for w in examine(leg).warnings if "no brushed motor" in w]


def test_a_trunk_on_the_ground_is_reported(crab, tmp_path):
    path = write_new_file("all", tmp_path / "all.toml", crab)
    assert any("4 limbs hang on link 'trunk' and what is fixed to it (9 kg)" in line for line in said_of(path))


@pytest.mark.parametrize("dynamics, viscous, coulomb", [
    ('damping="0.25" friction="1.0"', 0.25, 1.0), ('friction="1.0"', 0.004, 1.0),
    ('damping="0" friction="0"', 0.004, 0.02)])
def test_a_urdfs_own_friction_stays_and_only_the_rest_is_invented(tmp_path, dynamics, viscous, coulomb):
    """The friction that `init` assumes is 1 % of the effort of 2 N m, at the velocity of 5 rad/s."""
    path, dynamic = tmp_path / "crab.urdf", f'effort="2"/><dynamics {dynamics}/>'
    path.write_text(URDF.format(limbs=LIMB.format(n="a", body=BODY).replace('effort="2"/>', dynamic)))
    leg = made(path, tmp_path, board="f405rg-4")
    assert {(j.friction.viscous, j.friction.coulomb) for j in leg.moving} == {(viscous, coulomb)}


BARE = LIMB.replace('velocity="5" effort="2"', 'velocity="0" effort="0"')


@pytest.mark.parametrize("choice", [{"board": "f405rg-4"}, {"board": "f405rg-4", "motor": "pololu-37d-50"},
                                    {"board": "nucleo-g474-can", "drive": ("damiao-4340",)}])
@pytest.mark.parametrize("effort", ["0", "0.1"])
def test_missing_limits_are_invented_and_marked(tmp_path, choice, effort):
    """The invented effort is larger than the weight of the limb: 0.2 kg each at 0.05 m, 0.15 m and 0.25 m. An effort
    below this weight is no limit."""
    path = tmp_path / "crab.urdf"
    limbs = BARE.format(n="a", body=BODY).replace('effort="0"', f'effort="{effort}"')
    path.write_text(URDF.format(limbs=limbs.replace('name="a_hip" type="revolute"', 'name="a_hip" type="continuous"')))
    leg = made(path, tmp_path, **choice)
    hip = leg.moving[0]
    assert hip.limits.effort > 0.2 * 9.81 * 0.45 and 0.0 < hip.limits.velocity < 20.0
    assert (hip.limits.upper == 3.1) == ("drive" in choice)
    assert ("# invented" in (tmp_path / "leg.toml").read_text()) == ("motor" not in choice)
    said = said_of(tmp_path / "leg.toml")
    assert any("is not above 0 and taken as no limit" in line for line in said)
    assert any(line.startswith("Efforts by init: a_hip") for line in said) == (effort == "0.1")


@pytest.mark.parametrize("choice", [{"board": "f405rg-4"}, {"board": "f405rg-6", "motor": "pololu-37d-50"},
                                    {"board": "nucleo-g474-can", "drive": ("damiao-4340",)}])
def test_fingers_that_slide_are_locked_if_nothing_can_move_them(tmp_path, choice):
    fingers = "".join(f"""<link name="f{k}">{BODY}</link><joint name="finger{k}" type="prismatic"><axis xyz="0 1 0"/>
<parent link="a_foot"/><child link="f{k}"/><limit lower="0.01" upper="0.04" velocity="1" effort="9"/></joint>"""
                      for k in range(2))
    path = tmp_path / "crab.urdf"
    path.write_text(URDF.format(limbs=LIMB.format(n="a", body=BODY) + fingers))
    assert made(path, tmp_path, **choice).lock == {"finger0": 0.01, "finger1": 0.01}
    assert any(line.startswith("Locked by init: finger0, finger1") for line in said_of(tmp_path / "leg.toml"))


def test_init_leaves_a_file_whole_or_not_at_all(crab, tmp_path, monkeypatch):
    place = tmp_path / "leg.toml"

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(BadInput, match="cannot be written: No space left on device"):
        write_new_file("leg", place)
    assert sorted(x.name for x in tmp_path.iterdir()) == ["crab.urdf"]


# -- the catalogue
# ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sold", MOTORS, ids=lambda sold: sold.name)
def test_a_motor_of_the_catalogue_has_a_source_and_plausible_data(sold):
    assert sold.source and 1e-5 <= sold.L / sold.R <= 0.1 and 0.5 < sold.efficiency <= 1.0
    assert (sold.continuous is None) == (sold.thermal_s is None)


@pytest.mark.parametrize("name, volts, stall, no_load", [  # torque, N m; speed, rpm: data sheets
    ("faulhaber-1331-012sr", 12.0, 9.90e-3, 9_900), ("faulhaber-1331-024sr", 24.0, 9.76e-3, 10_400),
    ("faulhaber-3863-012cr", 12.0, 1.424, 5_600), ("faulhaber-3863-024cr", 24.0, 1.455, 5_800),
    ("maxon-re40-24v", 24.0, 2.42, 7_580),
    ("pololu-37d-131", 12.0, 0.45 * 9.80665, 76), ("pololu-37d-50", 12.0, 0.21 * 9.80665, 200),
])
def test_stall_torque_and_speed_of_the_sheets_follow_from_r_and_k(name, volts, stall, no_load):
    """The catalogue's R and K must give the stall torque and speed of the data sheets, so this test finds typing
    errors.

    The no-load losses reduce the speed by a few per cent.
    """
    sold = named(name)
    assert sold.stall(volts) == pytest.approx(stall, rel=0.05)
    assert sold.no_load(volts) * 60.0 / (2.0 * np.pi) == pytest.approx(no_load, rel=0.05)


def test_the_weakest_that_is_enough_is_named():
    assert fitting(0.9, 6.0, 12.0).name == "pololu-37d-150"
    assert fitting(5.0, 20.0, 24.0).name == "maxon-re40-24v-gp42c-12"
    assert fitting(5.0, 200.0, 24.0) is None


def test_the_so101_can_have_motors_of_the_catalogue(tmp_path):
    arm = load_mechanism(write_new_file("so101", tmp_path / "so101.toml", robot("so101.urdf"),
                                        Choice("f405rg-6", "pololu-37d-50")))
    assert len(arm.moving) == 6 and not [w for w in examine(arm).warnings if "no brushed motor" in w]


@pytest.mark.parametrize(("drive", "board", "kind", "rate"), [
    ("feetech-sts3215-12v", "f405rg-6", "sts", 500), ("damiao-4340", "nucleo-g474re-6", "can-fd", 1000),
    ("robstride-02", "f405rg-6", "can", 500), ("moteus-c1", "nucleo-g474re-6", "can-fd", 800),
    ("odrive-s1", "f405rg-6", "can", 500), ("damiao-4340", "pc", "can-fd", 250)])
def test_the_so101_can_have_drives_on_a_bus(tmp_path, drive, board, kind, rate):
    """The bus has the capacity for the rate, the drives can reach the limits, and the gains suit the drives."""
    arm = load_mechanism(write_new_file("so101", tmp_path / "so101.toml", robot("so101.urdf"), Choice(board,
                                                                                                      drive=(drive,))))
    report = examine(arm)
    assert [j.drive.id for j in arm.moving] == [1, 2, 3, 4, 5, 6] and arm.buses[0].kind == kind
    assert arm.control.rate_hz == rate <= report.buses[0].fastest
    assert all(j.gains.ku > 0.0 and j.limits.effort <= j.drive.type.torque for j in arm.moving)


def test_a_pc_is_offered_for_endless_drives_with_the_words_that_its_owner_must_accept(tmp_path):
    path = write_new_file("so101", tmp_path / "odrive.toml", robot("so101.urdf"), Choice("pc", drive=("odrive-s1",)))
    with pytest.raises(BadInput, match="go on with the last command"):
        examine(load_mechanism(path))
    path.write_text(path.read_text().replace("# accept", "accept"))
    assert examine(load_mechanism(path))
    for drive, gain in (("feetech-sts3215-12v", 16), ("dynamixel-xm430-w350", 800)):
        arm = load_mechanism(write_new_file("so101", tmp_path / f"{drive}.toml", robot("so101.urdf"),
                                            Choice("pc", drive=(drive,))))
        assert not examine(arm).warnings and arm.control.rate_hz == 250 and arm.buses[0].name == "servos"
        assert [drives.loop_gain(joint) for joint in arm.streamed] == pytest.approx(6 * [gain], rel=0.002)
    with pytest.raises(BadInput, match="has no outputs for motors; --drive"):
        write_new_file("two", tmp_path / "two.toml", robot("so101.urdf"), Choice("pc"))


# enactic/openarm_mujoco: 1e-4 kg m^2 at the motor, gear ratios 10 and 40;
@pytest.mark.parametrize(("drive", "inertia"), [
    # MIT's MiniCheetah.h: 63e-6 kg m^2 at the motor, gear ratio 6;
    ("damiao-4310", 1e-4 * 10**2), ("damiao-4340", 1e-4 * 40**2),
    ("mini-cheetah", pytest.approx(63e-6 * 6**2, rel=2e-3)), ("robstride-02", 0.0042), ("robstride-01", 0.0)])
def test_a_drive_comes_with_its_rotor_where_that_is_published(tmp_path, drive, inertia):  # K-Scale's K-Bot: 0.0042
    """For drives whose rotor inertia is not published, `check` reports that it is missing."""
    board = "nucleo-g474-can" if drive.startswith("damiao") else "f405rg-6"
    arm = load_mechanism(write_new_file("so101", tmp_path / "so101.toml", robot("so101.urdf"), Choice(board,
                                                                                                      drive=(drive,))))
    assert [j.drive.inertia for j in arm.moving] == [inertia] * 6
    missing = [w for w in examine(arm).warnings if "drive.inertia" in w]
    assert bool(missing) is (inertia == 0.0) and all("(and of 5 more joints) is missing" in w for w in missing)


def test_joints_have_drives_of_their_own_kind(tmp_path):
    """If one drive supports only classic CAN, the whole bus uses classic CAN."""
    robots = robot("so101.urdf")
    choice = Choice("nucleo-g474-can", drive=("damiao-4310", "shoulder_lift=damiao-8009", "shoulder_pan=damiao-4340"))
    arm = load_mechanism(write_new_file("so101", tmp_path / "so101.toml", robots, choice))
    assert [j.drive.type.name for j in arm.moving] == ["damiao-4340", "damiao-8009", *["damiao-4310"] * 4]
    assert arm.moving[1].drive.inertia != arm.moving[2].drive.inertia
    mixed = Choice("nucleo-g474-can", lock=("gripper", "wrist_roll", "wrist_flex"),
                   drive=("damiao-4310", "elbow_flex=robstride-02"))
    assert load_mechanism(write_new_file("so101", tmp_path / "mixed.toml", robots, mixed)).buses[0].kind == "can"


@pytest.mark.parametrize(("choice", "said"), [
    ({"board": "nucleo-g474-can", "drive": ("gripper=damiao-4310",)},
     "leaves shoulder_pan, shoulder_lift, elbow_flex, wrist_flex, wrist_roll without one; --drive shoulder_pan=DRIVE"),
    ({"board": "nucleo-g474-can", "drive": ("damiao-4310", "griper=damiao-4310")},
     "so101.urdf has no such joint that moves; did you mean 'gripper'?"),
    ({"board": "nucleo-g474-can", "drive": ("damiao-4310", "damiao-4340")}, "every joint is given two"),
    ({"board": "f405rg-6", "drive": ("damiao-4310", "gripper=feetech-sts3215-12v")}, "shares neither wire nor supply"),
    ({"board": "f405rg-6", "drive": ("feetech-sts3215",)}, "--drive = 'feetech-sts3215': no such drive; did you mean"),
    ({"drive": ("feetech-sts3215-12v",)}, "goes with --board, and stands for --motor; say which board has the bus"),
    ({"board": "f405rg-6", "drive": ("damiao-4310",), "motor": "pololu-37d-50"},
     "stands for --motor; leave --motor out"),
    ({"board": "odrive-v3.6", "drive": ("feetech-sts3215-12v",)}, "has no wire for servos for feetech-sts3215-12v")])
def test_a_drive_that_cannot_be_is_refused(tmp_path, choice, said):
    with pytest.raises(BadInput) as error:
        text("so101", robot("so101.urdf"), None, Choice(**choice))
    assert said in str(error.value)
