"""Reads the visual meshes of a URDF and reduces their faces for a page. A URDF file may come from an untrusted source,
and the page with its data may be opened by other people. So meshes are read only from folders near the URDF and from
installed Python packages. Only a few formats are read, in bounded time and memory. An unreadable or missing mesh gives
a warning and is left out."""

import base64
import json
import os
import sysconfig
import warnings
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import BadInput, check_size, missing, rotation_rpy
from femtorque.codegen.mechanism import Mechanism, document_of, links_here

FACES = 2000  # faces of a thinned link
MOST = 30_000  # faces of all links
CELLS = 64  # number of cells along the longest side, for coarse simplification
MANY = 16 * FACES  # meshes with more faces are first simplified coarsely, since quadrics take 0.1 s per 10,000 faces
FORMATS: dict[str, dict[str, Any]] = {
    ".stl": {}, ".dae": {}, ".ply": {}, ".off": {}, ".obj": {"skip_materials": True},
    ".glb": {"skip_materials": True}}  # options of trimesh; textures are not loaded
LARGEST, LARGEST_OF_ALL = 2**26, 2**29  # maximum sizes, bytes: of one mesh file, and of all files of a robot
FAR = 1e4  # m
NUMBERS = 2**24  # a .glb file is refused if it declares more numbers than this, since its header may claim any count
ABOVE, BESIDE = 6, 2  # search depth above the URDF's folder: for package:// names, and for other names


@dataclass(frozen=True)
class Solid:
    """Triangle mesh of one link in the link's frame."""

    vertices: NDArray[np.float32]  # vertices (V, 3), m
    faces: NDArray[np.uint32]  # (F, 3): vertex numbers
    colour: str

    def data(self) -> dict[str, Any]:
        return {"vertices": base64.b64encode(self.vertices.astype("<f4").tobytes()).decode(),
                "faces": base64.b64encode(self.faces.astype("<u4").tobytes()).decode(),
                "colour": self.colour, "matrix": np.eye(4).ravel().tolist()}


def visuals(mechanism: Mechanism) -> dict[str, list[Solid]]:
    """Return the solids by link, with the ground. Empty without URDF or the extra. Missing files give a warning."""
    path = mechanism.urdf
    if path is None or not path.is_file():
        return {}
    try:
        import fast_simplification  # noqa: F401, PLC0415 (an extra)
        import trimesh  # noqa: F401, PLC0415 (an extra)
    except ImportError as error:
        if any(_named(visual) for visual in document_of(path, []).iterfind("link/visual")):
            warnings.warn(f"{path.name}: links are drawn as rods: {missing(error.name)}", stacklevel=2)
        return {}
    names, solids, root = links_here(path), dict[str, list[Solid]](), document_of(path, [])
    lost: list[str] = []
    faces, left = min(FACES, MOST // max(1, len(root.findall("link/visual")))), LARGEST_OF_ALL
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            file, name = _file(path, visual), _named(visual)
            if name and file is None:
                lost.append(name)
            try:
                if file is not None:
                    left -= check_size(file, min(LARGEST, left))
                solid = _visual(visual, file, faces)
            except Exception as error:  # trimesh may raise any exception for a damaged file
                why = error.rule if isinstance(error, BadInput) else f"cannot be read ({type(error).__name__})"
                warnings.warn(f"{file or path}: {why}; it is not drawn at link {link.get('name')!r}", stacklevel=2)
                continue
            if solid is not None:
                solids.setdefault(names[str(link.get("name"))], []).append(solid)
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        warnings.warn(f"{path.name}: meshes not found ({lost[0]}{more}): those links are drawn as rods", stacklevel=2)
    return solids


def _named(visual: ET.Element) -> str:
    """Return the mesh file's name in a visual of the URDF; empty if the visual has no mesh."""
    mesh = visual.find("geometry/mesh")
    return "" if mesh is None else mesh.get("filename", "")


def _visual(visual: ET.Element, file: Path | None, faces: int) -> Solid | None:
    geometry = visual.find("geometry")
    mesh = None if geometry is None else _shape(geometry, file)
    if mesh is None or not len(mesh.faces):
        return None
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    cells = 4 * CELLS
    while len(mesh.faces) > MANY:
        mesh, cells = _clustered(mesh, cells), cells // 2
    if len(mesh.faces) > faces:
        mesh = mesh.simplify_quadric_decimation(face_count=faces, aggression=5)
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
    """Merge the vertices of each cell, `cells` along the longest side, also of pieces without removable edges."""
    place = np.round(vertices * (cells / np.ptp(vertices, axis=0).max())).astype(int)
    _, first, at = np.unique(place, axis=0, return_index=True, return_inverse=True)
    kept = at.ravel()[faces]
    whole = (kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])
    return vertices[first], kept[whole]


def _shape(geometry: ET.Element, file: Path | None) -> Any:
    """Return a visual's shape as an object of trimesh, or None if its file is missing. Raises trimesh's errors."""
    import trimesh  # noqa: PLC0415 (an extra)

    for kind in geometry:
        if kind.tag == "box":
            return trimesh.creation.box(_numbers(kind.get("size", "")))
        if kind.tag == "sphere":
            return trimesh.creation.icosphere(radius=float(kind.get("radius", "")), subdivisions=2)
        if kind.tag == "cylinder":
            return trimesh.creation.cylinder(float(kind.get("radius", "")), float(kind.get("length", "")), sections=24)
        if kind.tag == "mesh" and file is not None:
            with file.open("rb") as content:  # trimesh gets a file object, so it cannot find and read further files
                suffix = _checked(file, content.read(4))
                content.seek(0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)  # NumPy warns of numbers that are refused below
                    mesh: Any = trimesh.load(content, file_type=suffix[1:], force="mesh", **FORMATS[suffix])
            mesh.apply_scale(_numbers(kind.get("scale", "1 1 1")))
            if not np.all(np.abs(mesh.vertices) <= FAR):
                raise BadInput(file, "mesh", None, f"has corners more than {FAR:g} m away")
            return mesh
    return None


def _checked(file: Path, first: bytes) -> str:
    """Return the suffix of a file that trimesh may read. Raises BadInput."""
    suffix = file.suffix.lower()
    if suffix not in FORMATS or first.startswith(b"PK"):  # an archive may expand to any size
        raise BadInput(file, "mesh", None, f"is not a mesh in one of these formats: {', '.join(FORMATS)}")
    if suffix == ".glb":
        with file.open("rb") as content:
            content.seek(12)
            length = int.from_bytes(content.read(8)[:4], "little")
            told = sum(int(part["count"]) for part in json.loads(content.read(length)).get("accessors", ()))
        if told > NUMBERS:
            raise BadInput(file, "mesh", None, f"declares {told} numbers, more than {NUMBERS}")
    return suffix


def _file(path: Path, visual: ET.Element) -> Path | None:
    """Return the mesh's file; None if it is missing or outside a robot's folders: the URDF's folder, folders near or
    above it, and installed Python packages (package://NAME/rest)."""
    name = _named(visual)
    folders = [folder for folder in path.resolve().parents if folder != folder.parent]
    if name.startswith("package://"):
        rest = Path(os.path.normpath(name.removeprefix("package://")))
        if rest.is_absolute() or ".." in rest.parts:
            return None
        places = [folder / part for folder in folders[:ABOVE] for part in (rest, Path(*rest.parts[1:]))]
        places += [folder / rest for folder in _shared()]
    else:
        place = Path(os.path.normpath(path.resolve().parent / name.removeprefix("file://")))
        places = [place] if any(place.is_relative_to(folder) for folder in folders[:BESIDE + 1]) else []
    return next((place for place in places if place.is_file()), None)


def _shared() -> list[Path]:
    """Return the data folders of installed packages, of this Python and of cmeel."""
    return [Path(sysconfig.get_path("data")) / "share", Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share"]


def _colour(visual: ET.Element) -> str:
    told = visual.find("material/color")
    if told is None:
        return "#b8bfc8"
    rgb = [round(255 * min(max(x, 0.0), 1.0)) for x in _numbers(told.get("rgba", "0.7 0.7 0.7 1"))[:3]]
    return "#" + "".join(f"{x:02x}" for x in rgb)


def _numbers(text: str) -> NDArray[np.float64]:
    return np.array(text.split(), float)
