"""Comparison of mimic joints with Pinocchio's torques of all joints, combined by the URDF's ratios into torques of the
leaders."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference.instant import inverse_dynamics
from femtorque.codegen.reference.schemes import exact, torque as reference
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import verify
from femtorque.codegen.verify.verification import random_motion
from femtorque.hil.cost import chip_step
from tests.codegen.mechanism.test_urdf import robot
from tests.codegen.reference.test_robots import assert_verified
from tests.support.mimic import gripper_in

HANDS = {  # {file: number of followers}
    "panda_description/urdf/panda.urdf": 1, "baxter.urdf": 2, "pr2.urdf": 10, "tiago_pro.urdf": 10,
}


def projected(urdf: Path, mechanism: Mechanism, q, v, a) -> np.ndarray:
    """Return torques (J,) of the streamed joints, computed only from the URDF.

    A leader's torque is the sum over all joints that move with it, multiplied by their ratios, plus friction."""
    theirs = pin.buildModelFromUrdf(str(urdf))
    data, tags = theirs.createData(), ET.parse(urdf).getroot().findall("joint")
    dynamics = {tag.get("name"): tag.find("dynamics") for tag in tags if tag.find("dynamics") is not None}
    follows = {tag.get("name"): tag.find("mimic") for tag in tags if tag.find("mimic") is not None}
    leaders = [joint.name for joint in mechanism.streamed]

    def led(name: str) -> tuple[str, float, float]:
        """Return the leader, the ratio and the offset of a joint. A joint without a leader is its own leader."""
        if name not in follows:
            return name, 1.0, 0.0
        tag = follows[name]
        leader, ratio, offset = led(tag.get("joint"))
        k = float(tag.get("multiplier", 1.0))
        return leader, k * ratio, k * offset + float(tag.get("offset", 0.0))

    places = [(j, *led(name)) for j, name in enumerate(theirs.names) if j and led(name)[0] in leaders]
    full, rate, change = pin.neutral(theirs), np.zeros(theirs.nv), np.zeros(theirs.nv)
    for j, leader, ratio, offset in places:
        joint, k = theirs.joints[j], leaders.index(leader)
        x = ratio * q[k] + offset
        full[joint.idx_q: joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
        rate[joint.idx_v], change[joint.idx_v] = ratio * v[k], ratio * a[k]
    tau, sums = pin.rnea(theirs, data, full, rate, change), np.zeros(len(leaders))
    for j, leader, ratio, _ in places:
        joint, given = theirs.joints[j], dynamics.get(theirs.names[j])
        if theirs.names[j] in follows and given is not None:
            slow, speed = (1e-3 if "P" in joint.shortname() else 1e-2), rate[joint.idx_v]
            dry = float(given.get("friction", 0.0)) * np.clip(speed / slow, -1.0, 1.0)
            tau[joint.idx_v] += float(given.get("damping", 0.0)) * speed + dry
        sums[leaders.index(leader)] += ratio * tau[joint.idx_v]
    return sums


@pytest.mark.parametrize("file", HANDS)
def test_a_leader_carries_the_torque_of_its_followers(file: str) -> None:
    urdf, rng = robot(file), np.random.default_rng(1)
    mechanism = load_mechanism(urdf)
    assert sum(joint.mimic is not None for joint in mechanism.moving) == HANDS[file]
    for _ in range(3):
        q = np.array([rng.uniform(max(j.limits.lower, -1.0), min(j.limits.upper, 1.0)) for j in mechanism.streamed])
        v, a = rng.normal(size=(2, len(q)))
        expected = projected(urdf, mechanism, q, v, a)
        np.testing.assert_allclose(inverse_dynamics(mechanism, q, v, a), expected, rtol=0.0,
                                   atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("file", ["baxter.urdf", "pr2.urdf"])
def test_a_robot_with_mimic_joints_is_verified(file: str) -> None:
    assert_verified(verify(load_mechanism(robot(file)), (), chip_step.run_step_on_chip, motions=1))


@pytest.fixture
def gripper(tmp_path: Path) -> Mechanism:
    return gripper_in(tmp_path)


def test_ratios_offsets_and_slides_are_in_the_emitted_step(gripper: Mechanism) -> None:
    """A prismatic thumb follows a finger's rotation with an offset."""
    model = Model.of(gripper)
    motion = random_motion(gripper, np.random.default_rng(3))
    t, tau = reference(model, motion, 500)
    expected = exact(model, motion, t)
    assert np.max(np.abs(tau - expected)) <= 1e-5 * np.max(np.abs(expected))
    positions = motion.middles(500, model.dt)
    for precision, bound in (("double", 1e-5), ("single", 1e-4)):
        emitted = CompiledStep(model, precision).torque(positions)
        assert np.max(np.abs(emitted - expected), axis=0) == pytest.approx(0.0, abs=bound * np.max(np.abs(expected)))
    assert_verified(verify(gripper, (), chip_step.run_step_on_chip, motions=1))
