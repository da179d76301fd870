"""The visuals of a URDF, thinned out until a page can carry them."""

from __future__ import annotations

import base64
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.mechanism.description import Mechanism
from femtorque.codegen.mechanism.urdf import links_here
from femtorque.codegen.model.bodies import rotation_rpy

FACES = 1500  # a link's mesh is thinned to about so many
MOST = 30_000  # of all of them
CELLS = 64  # along its longest side, where thinning needs a coarser way
MANY = 8 * FACES  # so many are thinned that way first: quadrics take 0.1 s for every 10,000


@dataclass(frozen=True)
class Solid:
    """Triangles of one link: vertices (V, 3), m, in its frame, faces (F, 3)."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]
    colour: str

    def data(self) -> dict[str, Any]:
        return {"vertices": base64.b64encode(self.vertices.astype("<f4").tobytes()).decode(),
                "faces": base64.b64encode(self.faces.astype("<u4").tobytes()).decode(),
                "colour": self.colour, "matrix": np.eye(4).ravel().tolist()}


def visuals(mechanism: Mechanism) -> dict[str, list[Solid]]:
    """By link, the ground too. Empty without a URDF or without the extra that reads meshes; files that are not there
    are left out."""
    path = mechanism.urdf
    if path is None or not path.is_file():
        return {}
    try:
        import fast_simplification  # noqa: F401, PLC0415 (an extra)
        import trimesh  # noqa: F401, PLC0415 (an extra)
    except ImportError:
        return {}
    names, solids, root = links_here(path), {}, ET.parse(path).getroot()
    faces = min(FACES, MOST // max(1, len(root.findall("link/visual"))))
    for link in root.findall("link"):
        drawn = [solid for visual in link.findall("visual") if (solid := _visual(path, visual, faces)) is not None]
        if drawn:
            solids[names[str(link.get("name"))]] = drawn
    return solids


def _visual(path: Path, visual: ET.Element, faces: int) -> Solid | None:
    geometry = visual.find("geometry")
    mesh = None if geometry is None else _shape(path, geometry)
    if mesh is None or not len(mesh.faces):
        return None
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    cells = 4 * CELLS
    while len(mesh.faces) > MANY:
        mesh, cells = _clustered(mesh, cells), cells // 2
    if len(mesh.faces) > faces:
        mesh = mesh.simplify_quadric_decimation(face_count=faces, aggression=10)
    cells = CELLS
    while len(mesh.faces) > 2 * faces:
        mesh, cells = _clustered(mesh, cells), cells // 2
    origin = visual.find("origin")
    place = np.eye(4)
    if origin is not None:
        place[:3, :3] = rotation_rpy(_numbers(origin.get("rpy", "0 0 0")))
        place[:3, 3] = _numbers(origin.get("xyz", "0 0 0"))
    mesh.apply_transform(place)
    return Solid(np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces, np.uint32), _colour(visual))


def _clustered(mesh: Any, cells: int) -> Any:
    return type(mesh)(*clustered(mesh.vertices, mesh.faces, cells), process=False)


def clustered(vertices: NDArray[np.float64], faces: NDArray[np.int64], cells: int
              ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices of one cell, of so many along the longest side, become one: for what hangs together in so many pieces
    that edges cannot be taken away."""
    place = np.round(vertices * (cells / np.ptp(vertices, axis=0).max())).astype(int)
    _, first, at = np.unique(place, axis=0, return_index=True, return_inverse=True)
    kept = at.ravel()[faces]
    whole = (kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])
    return vertices[first], kept[whole]


def _shape(path: Path, geometry: ET.Element) -> Any:
    """Of trimesh; None for what it cannot read, and for a file that is not there."""
    import trimesh  # noqa: PLC0415 (an extra)

    for kind in geometry:
        if kind.tag == "box":
            return trimesh.creation.box(_numbers(kind.get("size", "")))
        if kind.tag == "sphere":
            return trimesh.creation.icosphere(radius=float(kind.get("radius", "")), subdivisions=2)
        if kind.tag == "cylinder":
            return trimesh.creation.cylinder(float(kind.get("radius", "")), float(kind.get("length", "")), sections=24)
        if kind.tag == "mesh" and (file := _file(path, kind.get("filename", ""))) is not None:
            try:
                mesh = trimesh.load(file, force="mesh")
            except (ValueError, KeyError, ImportError, OSError):
                return None
            mesh.apply_scale(_numbers(kind.get("scale", "1 1 1")))
            return mesh
    return None


def _file(path: Path, name: str) -> Path | None:
    """package://NAME/rest is looked for beside the URDF and in every folder above it."""
    if name.startswith("package://"):
        rest = Path(name.removeprefix("package://"))
        places = [folder / part for folder in path.resolve().parents for part in (rest, Path(*rest.parts[1:]))]
    else:
        places = [path.parent / name.removeprefix("file://")]
    return next((place for place in places if place.is_file()), None)


def _colour(visual: ET.Element) -> str:
    """Of its material, where that says one; a light grey."""
    told = visual.find("material/color")
    if told is None:
        return "#b8bfc8"
    rgb = [round(255 * min(max(x, 0.0), 1.0)) for x in _numbers(told.get("rgba", "0.7 0.7 0.7 1"))[:3]]
    return "#" + "".join(f"{x:02x}" for x in rgb)


def _numbers(text: str) -> NDArray[np.float64]:
    return np.array(text.split(), float)
