"""MuJoCo as plant and as oracle: the exported mechanism is the same one, and it can touch things."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from codegen.common.errors import BadInput, Refused
from codegen.mechanism.mjcf import mjcf
from codegen.mechanism.reader import load_mechanism
from codegen.model.bodies import Model
from codegen.motion.trajectory import from_rows
from codegen.reference.rigid import newton_euler
from hil.plant.choose import plant_of
from hil.plant.mujoco import Plant
from hil.plant.rigid import Plant as RigidPlant
from hil.play.run import run
from tests.codegen.mechanism.test_urdf import robot
from tests.support.mimic import gripper_in

MECHANISMS = Path(__file__).parents[3] / "mechanisms"
TREES = ("three_link", "two_link", "six_axis", "eight_link", "industrial_robot")
TABLE = """<mujoco><compiler angle="radian"/><worldbody>
<geom name="table" type="box" size="0.5 0.5 0.02" pos="0.6 0 {height}"/></worldbody></mujoco>"""


def without_loss(mechanism):
    """Its model in MuJoCo with nothing but inertia and gravity, which mj_inverse is to give back."""
    model = mujoco.MjModel.from_xml_string(mjcf(mechanism))
    model.dof_armature[:] = model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    return model


@pytest.mark.parametrize("name", [*TREES, "ur5_robot", "so101", "b1"])
def test_mj_inverse_gives_the_torques_of_newton_and_euler(name):
    path = MECHANISMS / f"{name}.toml"
    mechanism = load_mechanism(path if path.is_file() else robot(f"/{name}.urdf"))
    model, rng = without_loss(mechanism), np.random.default_rng(1)
    data, joints = mujoco.MjData(model), [model.joint(joint.name).id for joint in mechanism.moving]
    model.jnt_stiffness[:] = 0.0
    q, v, a = rng.uniform(-1.0, 1.0, (3, len(joints)))
    data.qpos[model.jnt_qposadr[joints]] = q
    for values, given in ((data.qvel, v), (data.qacc, a)):
        values[model.jnt_dofadr[joints]] = given
    mujoco.mj_inverse(model, data)
    expected = newton_euler(Model.of(mechanism), q, v, a)
    springs = np.array([j.stiffness * (x - j.rest) for j, x in zip(mechanism.moving, q, strict=True)])
    np.testing.assert_allclose(data.qfrc_inverse[model.jnt_dofadr[joints]], expected - springs, rtol=0.0,
                               atol=2e-6 * np.abs(expected).max())  # rods are a little thick


@pytest.mark.parametrize("name", ["three_link", "six_axis"])
def test_motors_move_it_as_they_move_the_rigid_plant(name):
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    ours, theirs = RigidPlant(mechanism), Plant(mechanism)
    volts = np.linspace(2.0, 4.0, ours.n)
    for plant in (ours, theirs):
        plant.drive(0.05, volts)
    moved = np.abs(ours.q - [joint.start for joint in mechanism.moving])
    assert moved.max() > 0.02
    np.testing.assert_allclose(theirs.q, ours.q, rtol=0.0, atol=0.03 * moved.max())  # its dry friction is soft
    assert np.abs(theirs.counts() - ours.counts()).max() <= 0.03 * np.abs(ours.counts()).max()


@pytest.mark.parametrize("name", ["five_bar", "delta", "palletizer", "three_rrr", "four_bar"])
def test_loops_stay_closed(name):
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    plant = Plant(mechanism)
    plant.push(0.1, np.zeros(plant.n))
    rows = plant.data.efc_pos[plant.data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
    assert len(rows) and np.max(np.abs(rows)) < 2e-4


def test_mimic_joints_follow(tmp_path):
    plant = Plant(gripper_in(tmp_path))
    plant.push(0.1, [0.5, 0.2, 0.0, 0.0])
    _, grip, other, thumb = plant.q
    assert grip > 0.02
    assert other == pytest.approx(-grip, abs=2e-3) and thumb == pytest.approx(0.04 * grip + 0.01, abs=5e-4)  # softly


def shoulder(tmp_path, height):
    """The arm of the gripper's file alone, and a table beneath it."""
    scene = tmp_path / "table.xml"
    scene.write_text(TABLE.format(height=height))
    return gripper_in(tmp_path, 'name = "gripper"', 'name = "arm"\nlock = { grip = 0.0 }'), scene


def test_an_arm_lies_on_a_table_with_its_weight(tmp_path):
    arm, scene = shoulder(tmp_path, -0.2)
    resting, falling = plant_of(arm, "mujoco", scene), plant_of(arm, "mujoco")
    for plant in (resting, falling):
        plant.push(2.0, np.zeros(1))
    assert falling.touching == 0.0
    assert 0.1 < resting.q[0] < falling.q[0] and abs(resting.v[0]) < 1e-3
    torque = newton_euler(Model.of(arm), resting.q, np.zeros(1), np.zeros(1))
    far = 0.2 / np.sin(resting.q[0])  # m along the arm, where it could touch at most
    assert resting.touching >= 0.9 * abs(torque[0]) / far


def test_a_blocked_arm_stops_with_a_fault_and_a_free_one_moves_on(tmp_path):
    arm, scene = shoulder(tmp_path, -0.12)
    s, still = np.array([[0.0], [1.0]]), np.zeros((2, 1))
    motion = from_rows(["shoulder"], [0.0, 0.6], s * 1.0, still, still)
    free, blocked = (run(arm, motion, plant=plant_of(arm, "mujoco", where)) for where in (None, scene))
    assert free.good and free.tracking_rms[0] < 5e-3
    assert not blocked.good and blocked.state != "TRACK" and blocked.faults


def test_a_push_is_met_better_with_feed_forward_than_by_pd_alone(tmp_path):
    """A light box on the arm's way, pushed aside in mid-motion."""
    arm, scene = shoulder(tmp_path, -0.4)
    scene.write_text(TABLE.format(height=-0.4).replace("</worldbody>", """
<body pos="0.36 0 -0.33"><freejoint/><geom type="box" size="0.03 0.03 0.05" mass="0.05"/></body></worldbody>"""))
    s, still = np.array([[0.0], [1.0]]), np.zeros((2, 1))
    motion = from_rows(["shoulder"], [0.0, 0.8], s * 0.9, still, still)
    with_it, without = (run(arm, motion, plant=plant_of(arm, "mujoco", scene), feedforward=on) for on in (True, False))
    assert with_it.good and without.good
    assert with_it.tracking_rms[0] < 0.5 * without.tracking_rms[0]


def test_what_mujoco_cannot_be_given_is_refused_by_name(tmp_path):
    for name, key in (("flexible_link", "link: flexible links"), ("biped", "mode = 'left': modes")):
        with pytest.raises(BadInput, match=key):
            mjcf(load_mechanism(MECHANISMS / f"{name}.toml"))
    mechanism, bad = load_mechanism(MECHANISMS / "three_link.toml"), tmp_path / "bad.xml"
    bad.write_text("<mujoco><worldbody><geom/></worldbody></mujoco>")
    with pytest.raises(BadInput, match="MuJoCo does not"):
        plant_of(mechanism, "mujoco", bad)
    with pytest.raises(BadInput, match="absent.xml: file: does not exist"):
        plant_of(mechanism, "mujoco", tmp_path / "absent.xml")
    with pytest.raises(BadInput, match="--scene = .*goes with --plant mujoco"):
        plant_of(mechanism, scene=bad)
    with pytest.raises(BadInput, match="--plant = 'bullet': no such plant; plants: auto, mujoco"):
        plant_of(mechanism, "bullet")


def test_a_world_that_blows_up_is_said_and_writes_no_file_of_its_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    plant = Plant(load_mechanism(MECHANISMS / "three_link.toml"))
    with pytest.raises(Refused, match="MuJoCo's world became unstable"):
        plant.push(0.1, np.full(3, 1e12))
    assert list(tmp_path.iterdir()) == []


def test_generate_writes_a_file_that_mujoco_reads(here, tmp_path):
    assert here("generate", MECHANISMS / "three_link.toml", "-o", tmp_path / "out", "--mjcf").returncode == 0
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "three-link.xml"))
    assert [model.joint(j).name for j in range(model.njnt)] == ["shoulder", "elbow", "wrist"] and model.nu == 3
