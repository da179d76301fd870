"""Contact detection against MuJoCo's contact. In MuJoCo an arm presses on a wall with the motors of the mechanism file.
The external torque in C must equal the wall's contact force times the Jacobian. Only MuJoCo knows this force."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from femtorque.codegen.mechanism import Friction
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.hil.plant import MujocoPlant
from tests.firmware.test_contact import HZ, Arm
from tests.support.feeling import six_axis

WALL = """<mujoco><compiler angle="radian"/><worldbody>
<geom name="wall" type="box" size="0.25 0.5 0.05" pos="0.95 0.2 0.05" friction="0.3"/></worldbody></mujoco>"""
PARTS = 10  # MuJoCo steps in a tick, 0.1 ms each
LATE = 1  # tick until a duty acts
TICKS = 600
WAY = np.array([0.3, 0.3, 0.1, 0.1, 0.3, 0.2])  # travel of each joint, down onto the wall and along the wall, rad
NEAR = 0.005  # error over the peak: MuJoCo has long steps, and its forces refer to the start of each step


def pressed(plant):
    """Return J' f (n,) of the contacts of a step, N m, by MuJoCo's Jacobian at each point."""
    model, data, total, wrench = plant.model, plant.data, np.zeros(plant.model.nv), np.zeros(6)
    for k in range(data.ncon):
        contact = data.contact[k]
        mujoco.mj_contactForce(model, data, k, wrench)
        force = contact.frame.reshape(3, 3).T @ wrench[:3]  # on the second geom, from the first
        for geom, sign in zip(contact.geom, (-1.0, 1.0), strict=True):
            jacobian = np.zeros((3, model.nv))
            mujoco.mj_jac(model, data, jacobian, None, contact.pos, model.geom_bodyid[geom])
            total += sign * force @ jacobian
    return total[plant._v]


@pytest.fixture(scope="module")
def meeting(tmp_path_factory):
    """Return the arm, positions in ticks' middles (n + 1, J) and at ticks (n, J), rad, duties (n, J), contact torques
    J' f (n, J), N m, and bus voltage, V. PD with the start pose's gravity moves the target into the wall."""
    arm = six_axis()
    arm = replace(arm, name="pressing", joints=tuple(replace(j, friction=Friction()) for j in arm.joints))
    joints, start = arm.streamed, np.array([j.start for j in arm.streamed])
    scene = tmp_path_factory.mktemp("scene") / "wall.xml"
    scene.write_text(WALL)
    plant, volts = MujocoPlant(arm, scene), 48.0
    plant.max_step = 1.0
    k_n = np.array([j.motor.K * j.motor.gear * j.motor.sign for j in joints])
    ohm = np.array([j.motor.R for j in joints])
    weight = discrete.emitted_torque(Model.of(arm), np.tile(start, (3, 1)))[0]
    efforts = np.array([j.limits.effort for j in joints])
    middles, at, duties, forces = [start], [], [], []
    acting = [weight * ohm / k_n / volts] * LATE
    for k in range(TICKS):
        there = start + WAY * k / TICKS
        for part in range(PARTS):
            plant.drive(1.0 / HZ / PARTS, acting[k] * volts)
            forces.append(pressed(plant))
            if part == PARTS // 2 - 1:
                middles.append(plant.q)
        at.append(plant.q)
        pull = weight + 2.0 * efforts * (there - plant.q) - 0.2 * efforts * plant.v
        duties.append(np.float32(np.clip((pull * ohm / k_n + k_n * plant.v) / volts, -1.0, 1.0)))
        acting.append(duties[-1].astype(float))
    return arm, np.array(middles), np.array(at), np.array(duties), np.array(forces), volts


def within_a_step(forces):
    """Return mean torques (n, J), N m, from those of MuJoCo's steps (n PARTS, J), with the triangular weights over two
    ticks that a difference of two ticks' mean velocities has."""
    hat = np.convolve(np.ones(PARTS), np.ones(PARTS)) / PARTS**2
    spread = np.apply_along_axis(np.convolve, 0, np.vstack([np.zeros((PARTS, forces.shape[1])), forces]), hat)
    return spread[PARTS + PARTS // 2 - 1::PARTS][:len(forces) // PARTS]


def filtered(x, hz):
    gain, r, out = 1.0 - np.exp(-2.0 * np.pi * hz / HZ), np.zeros(x.shape[1]), []
    for row in x:
        r = r + gain * (row - r)
        out.append(r)
    return np.array(out)


def test_what_is_felt_is_the_force_of_the_wall(meeting):
    arm, middles, at, duties, forces, volts = meeting
    u = 0.5 * np.diff(middles, axis=0)
    felt = Arm(arm).run(middles[1:] - u, u, duties, volts)["external"]
    wanted = filtered(within_a_step(forces), arm.feel.bandwidth_hz)
    peak = np.abs(wanted).max(axis=0)
    met = np.flatnonzero(np.abs(wanted).max(axis=1) > 0.0)
    print(f"met at {met[0] / HZ:.3f} s, peaks {peak.round(2)} N m")
    error = np.abs(felt - wanted)[200:].max(axis=0)
    print(f"errs by {error.round(4)} N m, {error.max() / peak.max():.1e} of the peak")
    assert met[0] > 200 and len(met) > 100 and np.all(peak > 0.1)  # before the contact the arm moved freely
    assert np.all(error <= NEAR * np.maximum(peak, 0.1 * peak.max()))
