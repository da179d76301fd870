"""Images on virtual boards detect external torques on closed loops and mimic joints, with two types of plants."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.control import joint_constants
from femtorque.codegen.control.contact import noises
from femtorque.codegen.mechanism import Contact, Friction, load_mechanism
from femtorque.codegen.mechanism.description import Feel
from femtorque.codegen.motion import knots
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant import mujoco
from femtorque.hil.plant.articulated.plant import Plant
from femtorque.host.stream import stream
from tests.support.feeling import ROOT, feeling
from tests.support.mimic import gripper_in

SOFT = 1e-5  # stiffness so low, and rest position so far away, that the spring's force is constant, N m/rad or N/m
HZ = 20.0
COUNTS = 65536


def loops(name, folder, **how):
    """Return a mechanism with contact detection, fine encoders, and no friction, which could hide a push."""
    it = gripper_in(folder) if name == "gripper" else load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    joints = tuple(replace(joint, friction=Friction(), encoder=joint.encoder and replace(joint.encoder, counts=COUNTS),
                           **how) for joint in it.joints)
    return replace(it, name=f"{name}_feels", joints=joints, feel=Feel("none", HZ))


def driven(mechanism):
    names = [joint.name for joint in mechanism.moving]
    return [names.index(joint.name) for joint in mechanism.streamed]


def follows(plant):
    """Return all velocities per unit velocity of the driven joints (n, J), from the plant's rows."""
    compliance, on = plant.cycle.along.compliance, driven(plant.mechanism)
    return compliance[:, on] @ np.linalg.inv(compliance[np.ix_(on, on)])


@pytest.mark.parametrize("name, joint, size", [
    ("five_bar", "left", 0.45), ("five_bar", "left_elbow", 0.45), ("four_bar", "rocker", 0.3),
    ("three_rrr", "elbow1", 0.15), ("delta", "hang", 0.8), ("gripper", "other", 0.3), ("gripper", "thumb", 10.0),
])
def test_what_presses_on_any_joint_is_felt_at_the_driven_ones_as_the_loops_lead_it_there(name, joint, size, tmp_path):
    mechanism = loops(name, tmp_path, contact=Contact(1e4))
    names = [one.name for one in mechanism.moving]
    felt = []
    pressed = replace(mechanism, joints=tuple(
        replace(one, stiffness=SOFT, rest=size / SOFT) if one.name == joint else one for one in mechanism.joints))
    for world in (mechanism, pressed):
        plant = Plant(world)
        with feeling(mechanism, plant) as arm:
            arm.wait(1.0)
            felt.append(arm.external[-50:].mean(axis=0))
    wanted = follows(plant)[names.index(joint)] * size
    print(f"{name}, {size} at {joint}: felt {np.round(felt[1], 4)}, {np.round(wanted, 4)} by the plant; "
          f"{np.abs(felt[0]).max():.1e} without")
    assert np.abs(felt[1] - wanted).max() < 0.05 * np.abs(wanted).max() and np.abs(felt[0]).max() < 0.05 * np.abs(
        wanted).max()


@pytest.mark.parametrize("name, least", [("three_link", 0.6), ("five_bar", 0.2), ("delta", 0.2), ("four_bar", 0.1),
                                         ("three_rrr", 0.04)])
def test_steps_of_encoders_are_felt_as_foreseen_and_are_no_touch_by_the_thresholds_that_the_file_leaves_out(
        name, least):
    """The motion avoids singular poses. The predicted noise is also an upper bound near singular poses."""
    mechanism = replace(load_mechanism(ROOT / "mechanisms" / f"{name}.toml"), feel=Feel("none", HZ))
    foreseen = noises(mechanism, [joint_constants(mechanism, joint) for joint in mechanism.streamed])
    with feeling(mechanism, Plant(mechanism)) as arm:
        assert stream(arm.session, knots(short_motion(mechanism), mechanism)).ended == "done"
        felt = np.std([np.subtract(report.external, report.mean) for report in arm.reports], axis=0)
        print(f"{name}: {felt} N m of noise, {foreseen} foreseen")
        assert arm.reports[-1].touches == 0 and np.all(felt < foreseen) and np.all(felt > least * np.array(foreseen))


def test_a_force_on_a_link_of_mujocos_is_what_the_motors_carry(tmp_path):
    """MuJoCo closes the loop and pulls at a link. Without weight, the motors carry this force alone."""
    mechanism = replace(loops("five_bar", tmp_path, contact=Contact(1e4)), gravity=np.zeros(3))
    plant = mujoco.MujocoPlant(mechanism)
    with feeling(mechanism, plant) as arm:
        arm.wait(1.0)
        both = []
        for force in ([0.0, 0.0, 0.0], [1.0, -1.5, 0.0]):
            plant.data.xfrc_applied[-1, :3] = force
            arm.wait(0.6)
            carried = []
            for _ in range(50):
                arm.wait(0.02)
                carried.append(plant.motors.torque()[driven(mechanism)].copy())
            both.append((arm.external[-50:].mean(axis=0), np.mean(carried, axis=0)))
    felt, wanted = both[1][0] - both[0][0], both[0][1] - both[1][1]
    print(f"felt {np.round(felt, 4)}, the motors carry {np.round(wanted, 4)}")
    assert np.abs(wanted).max() > 0.2 and np.abs(felt - wanted).max() < 0.02 * np.abs(wanted).max()


def test_a_push_on_a_loop_is_a_touch_within_ten_milliseconds(tmp_path):
    mechanism = replace(loops("five_bar", tmp_path, contact=Contact(0.5)), gravity=np.zeros(3))
    plant = mujoco.MujocoPlant(mechanism)
    with feeling(mechanism, plant) as arm:
        arm.wait(1.0)
        assert arm.reports[-1].touches == 0
        plant.data.xfrc_applied[-1, :3], tick = [10.0, -15.0, 0.0], arm.board.ticks
        arm.wait(0.2)
        late = arm.reports[-1].touch_tick - tick
        print(f"felt after {late} ms")
        assert arm.reports[-1].touches == 1 and 0 <= late <= 10
