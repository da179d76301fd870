"""Mass, centre of gravity and inertia of solids given by their form: simple shapes and STL meshes with a density.

The forms are trimesh meshes (a maintained library, chosen over an own integrator); where a shape is curved the mesh
is fine enough for 1e-3 of the inertia, and `of_mesh` takes any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import BadInput

Array = NDArray[np.float64]

SIDES = 128  # of a circle


@dataclass(frozen=True)
class MassProperties:
    """mass kg, com (3,) m, inertia (3, 3) kg m^2 about com; axes of the frame in which it was given."""

    mass: float
    com: Array
    inertia: Array


def box(extents: ArrayLike, density: float, place: ArrayLike | None = None) -> MassProperties:
    """A cuboid of the edge lengths extents (3,), centred; place: (4, 4) transform into the solid's frame."""
    return of_mesh("box", trimesh.creation.box(extents=np.asarray(extents, float)), density, place)


def cylinder(radius: float, height: float, density: float, place: ArrayLike | None = None) -> MassProperties:
    """A cylinder about z, centred."""
    return of_mesh("cylinder", trimesh.creation.cylinder(radius, height, sections=SIDES), density, place)


def tube(inner: float, outer: float, height: float, density: float, place: ArrayLike | None = None) -> MassProperties:
    """A tube about z, centred."""
    return of_mesh("tube", trimesh.creation.annulus(inner, outer, height, sections=SIDES), density, place)


def sphere(radius: float, density: float, place: ArrayLike | None = None) -> MassProperties:
    """A ball, centred."""
    return of_mesh("sphere", trimesh.creation.icosphere(5, radius), density, place)


def stl(path: str | Path, density: float, scale: float = 1.0, place: ArrayLike | None = None) -> MassProperties:
    """A closed mesh file of any format that trimesh reads; scale: m per unit of the file."""
    return of_mesh(str(path), read(path, scale), density, place)


def read(path: str | Path, scale: float = 1.0) -> trimesh.Trimesh:
    """The surface in a mesh file, in m."""
    try:
        mesh = trimesh.load_mesh(str(path))
    except (OSError, ValueError) as problem:
        raise BadInput(path, "mesh", None, f"cannot be read as a mesh: {problem}") from None
    return mesh.apply_scale(scale)


def of_mesh(name: str, mesh: trimesh.Trimesh, density: float, place: ArrayLike | None = None) -> MassProperties:
    """The body that a closed surface encloses."""
    if not (np.isfinite(density) and density > 0.0):
        raise BadInput(name, "density", density, "must be above zero", "steel is 7850 kg/m^3")
    if not mesh.is_watertight:
        raise BadInput(name, "mesh", None, "is not closed, so it encloses no volume", "repair its holes")
    if mesh.volume < 0.0:
        raise BadInput(name, "mesh", None, "is inside out: its volume is negative", "invert its normals")
    mesh = mesh.copy()
    if place is not None:
        mesh.apply_transform(np.asarray(place, float))
    mesh.density = density
    return MassProperties(float(mesh.mass), np.array(mesh.center_mass), np.array(mesh.moment_inertia))


def union(bodies: Sequence[MassProperties]) -> MassProperties:
    """Several bodies fixed to one another."""
    mass = sum(body.mass for body in bodies)
    com = np.sum([body.mass * body.com for body in bodies], axis=0) / mass
    inertia = np.zeros((3, 3))
    for body in bodies:
        d = body.com - com
        inertia += body.inertia + body.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return MassProperties(mass, com, inertia)
