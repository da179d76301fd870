"""Tests meshes of an untrusted URDF: files with arbitrary bytes and sizes, in any folder."""

import json
import struct
import warnings
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh

from femtorque.host.scene import meshes

BOX = trimesh.creation.box((0.1, 0.2, 0.3))


def urdf(folder, geometry):
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="r"><link name="l"><visual><geometry>{geometry}</geometry></visual></link></robot>')
    return SimpleNamespace(urdf=path)


def mesh(folder, name):
    return urdf(folder, f'<mesh filename="{name}"/>')


def drawn(robot):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        solids = meshes.visuals(robot)
    return sum(len(solid.faces) for parts in solids.values() for solid in parts), [str(one.message) for one in said]


@pytest.mark.parametrize("suffix", meshes.FORMATS)
def test_every_format_is_drawn(tmp_path, suffix):
    BOX.export(tmp_path / f"box{suffix}")
    assert drawn(mesh(tmp_path, f"box{suffix}")) == (12, [])


@pytest.mark.parametrize("suffix", meshes.FORMATS)
def test_a_damaged_mesh_is_left_out_with_one_line(tmp_path, suffix):
    BOX.export(tmp_path / "box" f"{suffix}")
    whole, random = (tmp_path / f"box{suffix}").read_bytes(), np.random.default_rng(3)
    for n in range(40):
        data = bytearray(whole[:int(random.integers(len(whole)))] if n % 4 == 0 else whole)
        for _ in range(4):
            if data:
                data[int(random.integers(len(data)))] = int(random.integers(256))
        (tmp_path / f"box{suffix}").write_bytes(data)
        faces, said = drawn(mesh(tmp_path, f"box{suffix}"))
        assert len(said) <= 1 and (faces == 0 or not said)
        for line in said:
            assert "\n" not in line and f"box{suffix}: " in line and line.endswith("it is not drawn at link 'l'")


@pytest.mark.parametrize("geometry", ['<box size="x"/>', '<box/>', '<sphere/>', '<cylinder radius="1"/>',
                                      '<box size="1e999 1 1 1"/>'])
def test_a_shape_without_its_sizes_is_left_out_with_one_line(tmp_path, geometry):
    faces, said = drawn(urdf(tmp_path, geometry))
    assert faces == 0 and len(said) == 1 and "robot.urdf: cannot be read" in said[0]


def test_a_mesh_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    BOX.export(tmp_path / "box.stl")
    robot = mesh(tmp_path, "box.stl")
    monkeypatch.setattr(meshes, "LARGEST", 600)
    assert drawn(robot) == (0, [f"{tmp_path}/box.stl: is too large: more than 600 bytes; it is not drawn at link 'l'"])
    monkeypatch.undo()
    monkeypatch.setattr(meshes, "LARGEST_OF_ALL", 1000)
    text = robot.urdf.read_text()
    robot.urdf.write_text(text.replace("</visual>", "</visual>" + text[text.index("<visual>"):text.index("</link>")]))
    faces, said = drawn(robot)
    assert faces == 12 and len(said) == 1 and "is too large: more than 316 bytes" in said[0]


@pytest.mark.parametrize("name", ["box.zip", "box.3mf", "box.dae", "box.json", "box.svg", "box"])
def test_what_unpacks_and_what_is_no_format_of_robots_is_not_read(tmp_path, name):
    """An archive may expand to any size, and its file may have any name."""
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("box.dae", BOX.export(file_type="dae"))
    faces, said = drawn(mesh(tmp_path, name))
    assert faces == 0 and len(said) == 1 and "is not a mesh in one of these formats: .stl, .dae" in said[0]


def test_a_file_that_says_that_it_has_more_numbers_than_it_holds_is_not_read(tmp_path):
    content = json.dumps({"asset": {"version": "2.0"}, "accessors": [{"count": 10**12, "type": "VEC3"}]}).encode()
    (tmp_path / "x.glb").write_bytes(struct.pack("<4sIIII", b"glTF", 2, 20 + len(content), len(content), 0x4E4F534A)
                                     + content)
    faces, said = drawn(mesh(tmp_path, "x.glb"))
    assert faces == 0 and "declares 1000000000000 numbers" in said[0]


def test_meshes_come_from_the_folders_of_the_robot(tmp_path):
    folder = tmp_path / "1" / "2" / "3" / "4" / "5" / "6" / "package" / "urdf"
    folder.mkdir(parents=True)
    (folder.parent / "meshes").mkdir()
    for place in (folder.parent / "meshes", tmp_path, tmp_path / "1"):
        BOX.export(place / "box.stl")
    for name in ("../meshes/box.stl", "package://package/meshes/box.stl", "package://meshes/box.stl",
                 f"file://{folder.parent}/meshes/box.stl", f"{folder.parent}/meshes/box.stl"):
        assert drawn(mesh(folder, name)) == (12, []), name
    for name in ("../../../../../../../../box.stl", "package://../../../../../../../../box.stl", "package://box.stl",
                 f"package://{tmp_path}/box.stl", f"file://{tmp_path}/box.stl", f"{tmp_path}/1/box.stl"):
        assert drawn(mesh(folder, name)) == (0, [f"robot.urdf: meshes not found ({name}): those links are drawn as "
                                                 "rods"]), name


def test_meshes_of_an_installed_package_are_found_and_missing_ones_are_counted(tmp_path, monkeypatch):
    share = tmp_path / "environment" / "share" / "some-robots"
    share.mkdir(parents=True)
    BOX.export(share / "box.stl")
    monkeypatch.setattr(meshes.sysconfig, "get_path", lambda name: str(tmp_path / "environment"))
    away = tmp_path / "1" / "2"
    away.mkdir(parents=True)
    assert drawn(mesh(away, "package://some-robots/box.stl")) == (12, [])
    robot = mesh(away, "package://some-robots/none.stl")
    text = robot.urdf.read_text()
    robot.urdf.write_text(text.replace("</visual>", "</visual>" + text[text.index("<visual>"):text.index("</link>")]))
    assert drawn(robot)[1] == ["robot.urdf: meshes not found (package://some-robots/none.stl and 1 more): those links "
                               "are drawn as rods"]


def test_no_file_beside_the_mesh_is_read(tmp_path):
    """A mesh may refer to materials and pictures in separate files with any name."""
    BOX.export(tmp_path / "box.obj")
    text = (tmp_path / "box.obj").read_text()
    (tmp_path / "box.obj").write_text("mtllib /dev/zero\nmtllib material.mtl\n" + text)
    assert drawn(mesh(tmp_path, "box.obj")) == (12, [])
