"""Gears with backlash that a hand or a motor turns."""

import math

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.hil.plant import backlash, rigid
from femtorque.hil.plant.selection import plant_of
from tests.support.servos import LYING

BACKLASH = math.radians(1.0)  # an STS3215: TheRobotStudio/SO-ARM100 issue 134
OFF = np.full(2, math.nan)


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(LYING, encoding="utf-8")
    return load_mechanism(path)


def pushed(plant, torque, seconds=0.3):
    plant.hand = lambda p: np.array([0.0, torque]) - 0.02 * p.v
    plant.drive(seconds, OFF)
    plant.hand = None
    return plant.q[1]


def test_a_hand_moves_an_output_through_its_backlash_and_no_further_than_friction_lets_it(arm):
    """A torque below the gear's friction of 0.196 N m turns the output from one limit of the backlash to the opposite
    limit. Only an impact of the output turns the gear."""
    plant = plant_of(arm)
    assert isinstance(plant, backlash.BacklashPlant)
    start = arm.moving[1].start
    assert pushed(plant, 0.1) - start == pytest.approx(0.5 * BACKLASH, rel=0.1)
    assert pushed(plant, -0.1) - start == pytest.approx(-0.5 * BACKLASH, rel=0.1)
    assert plant.q[1] - plant.lean[1] == pytest.approx(start, abs=0.01 * BACKLASH)
    assert pushed(plant, 0.4) > start + 3.0 * BACKLASH


def test_a_motor_that_turns_back_takes_its_output_along_after_the_backlash(arm):
    plant = plant_of(arm)
    plant.drive(0.05, np.array([0.0, 6.0]))
    assert plant.lean[1] == pytest.approx(-0.5 * BACKLASH, rel=0.1)  # the tooth behind the output pushes the output
    plant.drive(0.1, np.array([0.0, -6.0]))  # the teeth bounce for 0.07 s
    assert plant.lean[1] == pytest.approx(0.5 * BACKLASH, rel=0.1)  # the tooth in front of the output pushes the output


def test_without_backlash_the_plant_equals_the_rigid_plant(arm):
    volts, plain, hardly = np.array([3.0, -2.0]), rigid.Plant(arm), backlash.BacklashPlant(arm, 1e-6)
    for plant in (plain, hardly):
        plant.drive(0.4, volts)
    np.testing.assert_allclose(hardly.q, plain.q, atol=4e-3)
    np.testing.assert_allclose(hardly.current, plain.current, atol=2e-2)
