"""Test that `verify` accepts the emitted step of real robots, described only by their URDF files."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import discrete
from femtorque.codegen.toolchain import CompiledStep
from femtorque.codegen.verify import verify
from femtorque.codegen.verify.verification import Verification, random_motion
from femtorque.hil.cost import chip_step
from tests.codegen.mechanism.test_urdf import robot
from tests.support.oracle import random_chain

ROBOTS = {  # file, number of moving joints
    "ur5": ("ur5_robot.urdf", 6),
    "panda, one finger mimics the other": ("panda_description/urdf/panda.urdf", 9),
    "so101": ("so101.urdf", 6),
    "allegro hand": ("allegro_right_hand.urdf", 16),
    "talos left arm": ("talos_left_arm.urdf", 7),
}


def assert_verified(v: Verification) -> None:
    """Check the bounds at 1 kHz: reference 1e-5 of rnea, float32 1e-4 or the floor, equal bits on the chip."""
    assert v.mechanism.control.rate_hz == 1000 and v.pinocchio
    assert v.reasons == ()
    assert v.worst("reference").of_peak <= 1e-5
    assert v.worst("double").of_peak <= 1e-10
    assert v.worst("single").of_peak <= 1e-4 and v.over_floor <= 1.0
    assert v.bit_identical is True


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_of_the_package_is_verified(name: str) -> None:
    file, moving = ROBOTS[name]
    mechanism = load_mechanism(robot(file))
    assert len(mechanism.moving) == moving
    assert_verified(verify(mechanism, (), chip_step.run_step_on_chip, motions=1))


@pytest.mark.parametrize("tilt", [1e-8, 3.7e-6, 1e-3])
def test_axes_that_are_nearly_parallel_cost_no_digits(tilt: float) -> None:
    """With 1.5708 for a right angle, axes are off by a few microradians from parallel to each other and gravity."""
    rng = np.random.default_rng(5)
    chain = random_chain(rng, 4)
    joints = tuple(replace(j, axis=np.array([0.0, 0.0, 1.0]), rpy=tilt * rng.uniform(-1.0, 1.0, 3))
                   for j in chain.joints)
    model = Model.of(replace(chain, joints=joints))
    positions = random_motion(model.mechanism, rng).middles(200, model.dt)
    expected = discrete.emitted_torque(model, positions)
    error = np.max(np.abs(CompiledStep(model, "double").torque(positions) - expected))
    assert error <= 1e-11 * np.max(np.abs(expected))
