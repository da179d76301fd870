"""Plants of each type stop where they are, and continue from there."""

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.hil.plant.selection import plant_of, wired
from tests.support.suite import ROOT


@pytest.mark.parametrize(("name", "kind"), [("three_link", "auto"), ("three_link", "mujoco"), ("five_bar", "auto"),
                                            ("flexible_arm", "auto")])
def test_a_plant_stops_and_goes_on(name, kind):
    mechanism = load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    plant = plant_of(mechanism, kind)
    plant.push(0.02, np.full(plant.n, 0.2))
    assert np.abs(plant.v).max() > 1e-3
    q = plant.q.copy()
    wired(plant).stop()
    assert np.abs(plant.v).max() < 1e-12
    np.testing.assert_array_equal(plant.q, q)
    plant.push(0.02, np.full(plant.n, 0.2))
    assert np.abs(plant.v).max() > 1e-3 and np.abs(plant.q - q).max() > 1e-6
