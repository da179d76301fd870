"""Solids from simple shapes and STL meshes against closed formulas."""

import numpy as np
import pytest
import trimesh

from femtorque.codegen.common import BadInput
from femtorque.hil.plant.articulated import shapes, solids

STEEL = 7850.0


def test_a_box_is_exact():
    a, b, c = 0.1, 0.2, 0.3
    body = shapes.box([a, b, c], STEEL)
    m = STEEL * a * b * c
    assert body.mass == pytest.approx(m, rel=1e-12)
    np.testing.assert_allclose(body.inertia,
                               m / 12.0 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b]), atol=1e-12)


@pytest.mark.parametrize(("body", "mass", "moments"), [
    (shapes.cylinder(0.05, 0.3, STEEL), np.pi * 0.05**2 * 0.3,
     [0.05**2 / 4 + 0.3**2 / 12, 0.05**2 / 4 + 0.3**2 / 12, 0.05**2 / 2]),
    (shapes.tube(0.04, 0.05, 0.3, STEEL), np.pi * (0.05**2 - 0.04**2) * 0.3,
     [(0.05**2 + 0.04**2) / 4 + 0.3**2 / 12] * 2 + [(0.05**2 + 0.04**2) / 2]),
    (shapes.sphere(0.05, STEEL), 4.0 / 3.0 * np.pi * 0.05**3, [0.4 * 0.05**2] * 3),
])
def test_round_shapes_are_right_to_a_thousandth(body, mass, moments):
    assert body.mass == pytest.approx(STEEL * mass, rel=1e-3)
    np.testing.assert_allclose(np.diag(body.inertia), STEEL * mass * np.array(moments), rtol=2e-3)
    np.testing.assert_allclose(body.com, 0.0, atol=1e-12)


def test_an_stl_in_millimetres_placed_aside_equals_the_shape_it_was_made_of(tmp_path):
    path = tmp_path / "arm.stl"
    trimesh.creation.box(extents=[100.0, 40.0, 30.0]).export(path)
    place = np.eye(4)
    place[:3, 3] = [0.05, 0.0, 0.0]
    read = shapes.stl(path, 2700.0, scale=1e-3, place=place)
    made = shapes.box([0.1, 0.04, 0.03], 2700.0)
    assert read.mass == pytest.approx(made.mass, rel=1e-6)
    np.testing.assert_allclose(read.com, [0.05, 0.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(read.inertia, made.inertia, atol=1e-6 * made.inertia.max())


def test_two_halves_make_one_box():
    place = np.eye(4)
    halves = []
    for x in (-0.05, 0.05):
        place[0, 3] = x
        halves.append(shapes.box([0.1, 0.1, 0.1], STEEL, place))
    whole, both = shapes.box([0.2, 0.1, 0.1], STEEL), shapes.union(halves)
    assert both.mass == pytest.approx(whole.mass)
    np.testing.assert_allclose(both.inertia, whole.inertia, atol=1e-12)


def test_a_mesh_becomes_four_points_with_its_inertia():
    body = shapes.union([shapes.cylinder(0.02, 0.3, STEEL), shapes.box([0.1, 0.05, 0.02], STEEL)])
    solid = solids.reduce("part", body.mass, body.com, body.inertia)
    r = solid.points - body.com
    tensor = sum(0.25 * body.mass * (p @ p * np.eye(3) - np.outer(p, p)) for p in r)
    np.testing.assert_allclose(tensor, body.inertia, atol=1e-12)


@pytest.mark.parametrize(("mesh", "words"), [
    (trimesh.Trimesh(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces=[[0, 1, 2]]), "not closed"),
    (trimesh.creation.box(extents=[1, 1, 1]), "inside out"),
])
def test_a_surface_that_encloses_nothing_is_refused_by_name(mesh, words):
    if words == "inside out":
        mesh.invert()
    with pytest.raises(BadInput, match=f"gripper.*{words}"):
        shapes.of_mesh("gripper", mesh, STEEL)


def test_bad_densities_and_files_are_refused(tmp_path):
    with pytest.raises(BadInput, match="density"):
        shapes.box([1, 1, 1], 0.0)
    with pytest.raises(BadInput, match="missing.stl"):
        shapes.stl(tmp_path / "missing.stl", STEEL)
    (tmp_path / "junk.stl").write_text("solid nothing\n")
    with pytest.raises(BadInput, match="junk.stl"):
        shapes.stl(tmp_path / "junk.stl", STEEL)
