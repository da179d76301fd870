"""Rotors of drives on a bus turn with their joints."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import ServoSetting, load_mechanism
from femtorque.hil.plant import rigid
from femtorque.hil.plant.articulated import plant as articulated
from femtorque.hil.plant.drive_rotors import reflected, unknown
from femtorque.hil.plant.selection import Wired

ARM = MECHANISMS / "damiao_arm.toml"


@pytest.mark.parametrize("kind", [rigid.Plant, articulated.Plant])
def test_the_rotor_of_a_drive_accelerates_with_its_joint(kind):
    """A torque acts on the folded, weightless, resting arm. The reference adds the rotors to M by hand."""
    mechanism = load_mechanism(ARM)
    plant, torque, h = kind(mechanism), np.array([0.5, 0.0, 0.0]), 1e-4
    weight = kind(mechanism)
    plant.move(h, np.full(3, np.nan), torque)
    weight.move(h, np.full(3, np.nan), np.zeros(3))
    tree = rigid.RigidTree(mechanism).at(np.zeros(3), np.zeros(3))
    expected = np.linalg.solve(tree.mass + np.diag([0.16, 0.16, 0.01]), torque)
    assert (plant.v - weight.v) / h == pytest.approx(expected, rel=1e-3)


def test_a_plant_behind_a_board_takes_voltages_and_torques_together():
    mechanism = load_mechanism(ARM)
    whole, wired = rigid.Plant(mechanism), Wired(rigid.Plant(mechanism))
    whole.move(1e-3, np.full(3, np.nan), np.array([1.0, 2.0, 3.0]))
    wired.move(1e-3, np.full(3, np.nan), np.array([1.0, 2.0, 3.0]))
    assert np.array_equal(whole.v, wired.v)


@pytest.mark.parametrize(("kind", "rotor"), [
    ("damiao-8009", 0.0081), ("damiao-3507", 0.0), ("robstride-03", 0.02), ("robstride-06", 0.0),
    ("mini-cheetah", 0.00227), ("cubemars-ak80-9", 0.0), ("feetech-sts3215-12v", 0.0)])
@pytest.mark.parametrize("told", [0.0, 0.03])
def test_a_virtual_rotor_is_the_files_else_the_published_one_else_said_to_be_unknown(kind, rotor, told):
    """The drive has a gear of ratio 2. A servo's rotor belongs to its motor."""
    joint = load_mechanism(ARM).joints[0]
    servo = ServoSetting() if kind.startswith("feetech") else None
    joint = replace(joint, drive=replace(joint.drive, type=DRIVES[kind], inertia=0.0 if servo else told, gear=2.0,
                                         servo=servo))
    known = 0.0 if servo else told or rotor
    assert reflected([joint]) == [pytest.approx(4.0 * known)]
    said = unknown([joint, joint])
    assert bool(said) is (known == 0.0 and servo is None)
    assert all(line.startswith(f"shoulder, shoulder: no rotor of {kind} is published") for line in said)
