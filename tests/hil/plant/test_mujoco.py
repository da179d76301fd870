"""MuJoCo as plant and as reference. The exported mechanism equals the file's mechanism, and can touch objects."""


import mujoco
import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS, BadInput, Refused
from femtorque.codegen.mechanism import load_mechanism, mjcf
from femtorque.codegen.model import Model
from femtorque.codegen.motion import from_rows
from femtorque.codegen.reference import newton_euler
from femtorque.hil.plant.mujoco import MujocoPlant
from femtorque.hil.plant.rigid import Plant as RigidPlant
from femtorque.hil.plant.selection import plant_of
from femtorque.hil.play import run_closed_loop
from femtorque.host.record import read_log
from femtorque.host.show import Findings
from femtorque.host.show.report import moved
from tests.codegen.mechanism.test_urdf import robot
from tests.support.mimic import gripper_in

TREES = ("three_link", "two_link", "six_axis", "eight_link", "industrial_robot")
TABLE = """<mujoco><compiler angle="radian"/><worldbody>
<geom name="table" type="box" size="0.5 0.5 0.02" pos="0.6 0 {height}"/></worldbody></mujoco>"""


def without_loss(mechanism):
    """Return the model in MuJoCo with only inertia and gravity, for mj_inverse."""
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
                               atol=2e-6 * np.abs(expected).max())  # MuJoCo's rods have a small thickness


@pytest.mark.parametrize("name", ["three_link", "six_axis"])
def test_motors_move_it_as_they_move_the_rigid_plant(name):
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    ours, theirs = RigidPlant(mechanism), MujocoPlant(mechanism)
    volts = np.linspace(2.0, 4.0, ours.n)
    for plant in (ours, theirs):
        plant.drive(0.05, volts)
    moved = np.abs(ours.q - [joint.start for joint in mechanism.moving])
    assert moved.max() > 0.02
    np.testing.assert_allclose(theirs.q, ours.q, rtol=0.0, atol=0.03 * moved.max())  # a soft constraint in MuJoCo
    assert np.abs(theirs.counts() - ours.counts()).max() <= 0.03 * np.abs(ours.counts()).max()


@pytest.mark.parametrize("name", ["five_bar", "delta", "palletizer", "three_rrr", "four_bar"])
def test_loops_stay_closed(name):
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    plant = MujocoPlant(mechanism)
    plant.push(0.1, np.zeros(plant.n))
    rows = plant.data.efc_pos[plant.data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
    assert len(rows) and np.max(np.abs(rows)) < 2e-4


def test_mimic_joints_follow(tmp_path):
    plant = MujocoPlant(gripper_in(tmp_path))
    plant.push(0.1, [0.5, 0.2, 0.0, 0.0])
    _, grip, other, thumb = plant.q
    assert grip > 0.02
    assert other == pytest.approx(-grip, abs=2e-3) and thumb == pytest.approx(0.04 * grip + 0.01, abs=5e-4)  # soft


def shoulder(tmp_path, height):
    """Return the arm of the gripper's file without the gripper, and a scene with a table below the arm."""
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
    far = 0.2 / np.sin(resting.q[0])  # distance along the arm to the nearest possible contact, m
    assert resting.touching >= 0.9 * abs(torque[0]) / far
    (contact,) = resting.moment().contacts
    assert (contact.link, contact.thing) == (arm.links[-1].name, "table") and falling.moment().contacts == ()
    assert contact.force[2] == pytest.approx(resting.touching) and contact.point[2] == pytest.approx(-0.18, abs=1e-3)
    assert contact.force[2] * contact.point[0] == pytest.approx(abs(torque[0]), rel=0.05), "it carries the arm"


def test_a_blocked_arm_stops_with_a_fault_and_a_free_one_moves_on(tmp_path):
    arm, scene = shoulder(tmp_path, -0.12)
    s, still = np.array([[0.0], [1.0]]), np.zeros((2, 1))
    motion = from_rows(["shoulder"], [0.0, 0.6], s * 1.0, still, still)
    free, blocked = (run_closed_loop(arm, motion, plant=plant_of(arm, "mujoco", where)) for where in (None, scene))
    assert free.good and free.tracking_rms[0] < 5e-3
    assert not blocked.good and blocked.state != "TRACK" and blocked.faults


def test_a_push_is_met_better_with_feed_forward_than_by_pd_alone(tmp_path):
    """A light box is in the way of the arm. The arm pushes the box aside during its motion."""
    arm, scene = shoulder(tmp_path, -0.4)
    scene.write_text(TABLE.format(height=-0.4).replace("</worldbody>", """
<body pos="0.36 0 -0.33"><freejoint/><geom type="box" size="0.03 0.03 0.05" mass="0.05"/></body></worldbody>"""))
    s, still = np.array([[0.0], [1.0]]), np.zeros((2, 1))
    motion = from_rows(["shoulder"], [0.0, 0.8], s * 0.9, still, still)
    log = tmp_path / "run.mcap"
    with_it, without = (run_closed_loop(arm, motion, plant=plant_of(arm, "mujoco", scene), feedforward=on,
                                        log=log if on else None)
                        for on in (True, False))
    assert with_it.good and without.good
    assert with_it.tracking_rms[0] < 0.5 * without.tracking_rms[0]
    logged = read_log(log)
    assert [(thing["name"], thing["moves"]) for thing in logged.arm["things"]] == [("table", False), ("geom 1", True)]
    (first, begin), (last, end) = logged.around[0], logged.around[-1]
    assert len(logged.around) > 80 and first < last and begin.contacts == ()
    assert np.ptp([begin.places["geom 1"][:3], end.places["geom 1"][:3]], axis=0).max() > 0.05, "it was pushed away"
    touches = [contact for _, moment in logged.around for contact in moment.contacts]
    assert touches and {contact.thing for contact in touches} == {"geom 1"}
    assert {contact.link for contact in touches} <= {link.name for link in arm.links}
    drawn = moved(Findings(logged)).data()
    assert len(drawn["around"]) == len(drawn["t"]) and any(moment["contacts"] for moment in drawn["around"])


SHAPES = """<mujoco><asset><mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset><worldbody>
<geom type="plane" size="0 0 1"/><geom name="ball" type="sphere" size="0.1" rgba="1 0 0 1"/>
<geom type="capsule" size="0.1 0.2"/><geom type="ellipsoid" size="0.1 0.2 0.3"/><geom type="cylinder" size="0.1 0.2"/>
<geom type="box" size="0.1 0.2 0.3"/><geom type="mesh" mesh="wedge"/><geom group="3" size="1"/>
</worldbody></mujoco>"""


def test_things_of_a_scene_are_drawn_closed_and_in_their_size(tmp_path):
    (scene := tmp_path / "shapes.xml").write_text(SHAPES)
    plane, *bodies = plant_of(load_mechanism(MECHANISMS / "three_link.toml"), "mujoco", scene).things
    assert len(plane.solid.faces) == 2 and [body.solid.colour for body in bodies[:2]] == ["#ff0000", "#808080"]
    exact = np.pi * np.array([4e-3 / 3.0, 4e-3 + 4e-3 / 3.0, 8e-3, 4e-3, 48e-3 / np.pi, 1.0 / (6.0 * np.pi)])
    for body, volume in zip(bodies, exact, strict=True):
        a, b, c = np.moveaxis(body.solid.vertices[body.solid.faces].astype(float), 1, 0)
        assert np.sum(a * np.cross(b, c)) / 6.0 == pytest.approx(volume, rel=0.06), body.name


def test_mechanisms_and_scenes_that_mujoco_cannot_take_are_refused_by_name(tmp_path):
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


def test_an_unstable_world_is_refused_and_writes_no_file(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    plant = MujocoPlant(load_mechanism(MECHANISMS / "three_link.toml"))
    with pytest.raises(Refused, match="MuJoCo's world became unstable"):
        plant.push(0.1, np.full(3, 1e12))
    assert list(tmp_path.iterdir()) == []
