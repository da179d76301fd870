"""Solids of a scenario file, compared with closed formulas, and surfaces that enclose no body."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

from femtorque.codegen.common import BadInput
from femtorque.hil.plant.articulated import shapes
from femtorque.hil.scenarios.scenario import Solid, body

STEEL = 7850.0


@pytest.mark.parametrize(("solid", "mass", "moments"), [
    ({"shape": "box", "extents": [0.1, 0.2, 0.3]}, 0.1 * 0.2 * 0.3, np.array([0.13, 0.1, 0.05]) / 12.0),
    ({"shape": "cylinder", "radius": 0.05, "height": 0.3}, np.pi * 0.05**2 * 0.3,
     [0.05**2 / 4 + 0.3**2 / 12, 0.05**2 / 4 + 0.3**2 / 12, 0.05**2 / 2]),
    ({"shape": "tube", "inner": 0.04, "outer": 0.05, "height": 0.3}, np.pi * (0.05**2 - 0.04**2) * 0.3,
     [(0.05**2 + 0.04**2) / 4 + 0.3**2 / 12] * 2 + [(0.05**2 + 0.04**2) / 2]),
    ({"shape": "sphere", "radius": 0.05}, 4.0 / 3.0 * np.pi * 0.05**3, [0.4 * 0.05**2] * 3),
], ids=lambda x: x["shape"] if isinstance(x, dict) else "")
def test_shapes_are_right_to_a_thousandth(solid, mass, moments):
    found = body(Solid(link="any", density=STEEL, **solid), Path("x.toml"))
    assert found.mass == pytest.approx(STEEL * mass, rel=1e-3)
    np.testing.assert_allclose(np.diag(found.inertia), STEEL * mass * np.array(moments), rtol=2e-3)
    np.testing.assert_allclose(found.com, 0.0, atol=1e-12)


def test_a_file_in_millimetres_and_two_halves_of_a_box_equal_the_box(tmp_path):
    """The file contains one half of the box. The test joins the two halves of the box."""
    trimesh.creation.box(extents=[100.0, 40.0, 30.0]).export(tmp_path / "half.stl")
    box = {"link": "arm", "density": 2700.0, "shape": "box"}
    half = Solid(link="arm", density=2700.0, shape="mesh", file="half.stl", scale=1e-3, xyz=[0.05, 0.0, 0.0])
    both = shapes.union([body(half, tmp_path / "x.toml"),
                         body(Solid(**box, extents=[0.1, 0.04, 0.03], xyz=[-0.05, 0.0, 0.0]), tmp_path / "x.toml")])
    whole = body(Solid(**box, extents=[0.2, 0.04, 0.03]), tmp_path / "x.toml")
    assert both.mass == pytest.approx(whole.mass, rel=1e-6)
    np.testing.assert_allclose(both.com, 0.0, atol=1e-7)
    np.testing.assert_allclose(both.inertia, whole.inertia, atol=1e-6 * whole.inertia.max())


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
        shapes.of_mesh("box", trimesh.creation.box(), 0.0)
    (tmp_path / "junk.stl").write_text("solid nothing\n")
    for name, words in (("missing.stl", "cannot be read"), ("junk.stl", "not closed")):
        with pytest.raises(BadInput, match=words):
            body(Solid(link="arm", density=STEEL, shape="mesh", file=name), tmp_path / "x.toml")
