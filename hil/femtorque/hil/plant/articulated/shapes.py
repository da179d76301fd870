"""Mass, centre of gravity and inertia of solids that are given by a triangulated surface and a density."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import trimesh

from femtorque.codegen.common import Array, BadInput

SIDES = 128  # number of segments of a circle; with this number the inertia has an error of 1e-3


@dataclass(frozen=True)
class MassProperties:
    """mass kg, com (3,) m, inertia (3, 3) kg m^2 about com, in the axes of the solid's frame."""

    mass: float
    com: Array
    inertia: Array


def read(path: str | Path, scale: float = 1.0) -> trimesh.Trimesh:
    """Return the surface in a mesh file, in m. scale: length of the file's unit, m."""
    try:
        mesh = trimesh.load_mesh(str(path))
    except (OSError, ValueError) as problem:
        raise BadInput(path, "mesh", None, f"cannot be read as a mesh: {problem}") from None
    return mesh.apply_scale(scale)


def of_mesh(name: str, mesh: trimesh.Trimesh, density: float) -> MassProperties:
    """Return the body that a closed surface encloses."""
    if not (np.isfinite(density) and density > 0.0):
        raise BadInput(name, "density", density, "must be above zero", "steel is 7850 kg/m^3")
    if not mesh.is_watertight:
        raise BadInput(name, "mesh", None, "is not closed, so it encloses no volume", "repair its holes")
    if mesh.volume < 0.0:
        raise BadInput(name, "mesh", None, "is inside out: its volume is negative", "invert its normals")
    mesh = mesh.copy()
    mesh.density = density
    return MassProperties(float(mesh.mass), np.array(mesh.center_mass), np.array(mesh.moment_inertia))


def union(bodies: Sequence[MassProperties]) -> MassProperties:
    """Return the body that several bodies form when they are fixed to one another."""
    mass = sum(body.mass for body in bodies)
    com = np.sum([body.mass * body.com for body in bodies], axis=0) / mass
    inertia = np.zeros((3, 3))
    for body in bodies:
        d = body.com - com
        inertia += body.inertia + body.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return MassProperties(mass, com, inertia)
