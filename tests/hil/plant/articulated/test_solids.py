"""A solid as four point masses, degenerate solids, and physically impossible bodies."""

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.hil.plant.articulated import solids
from tests.support import oracle


@pytest.mark.parametrize("seed", range(20))
def test_four_points_have_the_mass_centre_and_inertia_of_the_solid(seed):
    rng = np.random.default_rng(seed)
    mass, com = rng.uniform(0.1, 5.0), rng.normal(size=3)
    inertia = oracle.random_inertia(rng, mass, rng.uniform(0.05, 2.0))
    solid = solids.reduce("body", mass, com, inertia)
    r = solid.points - com  # from the points, without the properties of Solid
    tensor = sum(0.25 * mass * (p @ p * np.eye(3) - np.outer(p, p)) for p in r)
    np.testing.assert_allclose(r.sum(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(tensor, inertia, atol=1e-13 * np.abs(inertia).max())
    assert solid.note == ""


@pytest.mark.parametrize(("name", "inertia"), [
    ("lamina", np.diag([1.0, 2.0, 3.0]) * 1e-3),
    ("rod", np.diag([0.0, 2.0, 2.0]) * 1e-3),
])
def test_a_solid_without_thickness_is_fattened_by_a_millionth_and_says_so(name, inertia):
    solid = solids.reduce(name, 1.0, np.zeros(3), inertia)
    assert name in solid.note and "fattened" in solid.note
    assert np.abs(solid.inertia - inertia).max() <= 2.001e-6 * 2e-3
    assert np.linalg.matrix_rank(np.hstack([solid.points, np.ones((4, 1))])) == 4


def test_a_point_mass_takes_its_size_from_its_joint_and_is_refused_without_a_joint():
    solid = solids.reduce("bob", 1.0, np.zeros(3), np.zeros((3, 3)), size=0.5)
    assert np.abs(solid.inertia).max() == pytest.approx(2.0 * (0.5 * solids.THINNEST) ** 2)
    with pytest.raises(BadInput, match="bob.*without any size"):
        solids.reduce("bob", 1.0, np.zeros(3), np.zeros((3, 3)))


@pytest.mark.parametrize(("mass", "inertia", "words"), [
    (1.0, np.diag([1.0, 1.0, 2.5]), "exceeds the sum"),
    (1.0, np.diag([-1.0, 1.0, 1.0]), "exceeds the sum"),
    (0.0, np.eye(3), "mass above zero"),
    (np.nan, np.eye(3), "mass above zero"),
    (1.0, np.eye(3) + np.triu(np.ones((3, 3)), 1), "symmetric"),
])
def test_impossible_masses_and_inertias_are_refused_by_name(mass, inertia, words):
    with pytest.raises(BadInput, match=f"gripper.*{words}"):
        solids.reduce("gripper", mass, np.zeros(3), inertia)
