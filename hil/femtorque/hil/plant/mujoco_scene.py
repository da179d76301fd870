"""Shapes of a MuJoCo scene and its contacts with the arm, for HTML pages and logs.

Shapes: https://mujoco.readthedocs.io/en/stable/XMLreference.html#body-geom. Height fields and signed distance fields
are not drawn. Groups that MuJoCo's viewer hides by default are not drawn either.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Array
from femtorque.host.scene import CELLS, FACES, Contact, Moment, Place, Solid, Thing, clustered

ENDLESS = 2.0  # half the side length of the square that shows a plane without a size, m
SIDES = 20  # of round shapes
RINGS = 4  # of a hemisphere
FEW = 150  # triangles of a moving mesh; each sample of a log stores all of them
VISIBLE = 3  # first geom group that is hidden; higher groups are hidden too
PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)  # mjtGeom


class World(Protocol):
    """MuJoCo, a model that contains an arm, and the model's state."""

    mujoco: Any
    model: Any
    data: Any

    def link_of(self, geom: int) -> str | None:
        """Return the arm link that a geom belongs to, or None for a geom of the scene."""


def things(world: World) -> tuple[Thing, ...]:
    """Return the drawable objects of the scene, without the arm."""
    model = world.model
    return tuple(Thing(name(world, k), solid, _place(world, k), _moves(world, k)) for k in _around(world)
                 if (solid := _solid(model, k, _moves(world, k))) is not None)


def moment(world: World) -> Moment:
    """Return the present poses of the scene's moving bodies, and all contacts between the arm and the scene."""
    return Moment({name(world, k): _place(world, k) for k in _around(world) if _moves(world, k)}, _contacts(world))


def name(world: World, geom: int) -> str:
    """Return the name of a geom: its name, its body's name, or its number."""
    model = world.model
    body = model.body(model.geom_bodyid[geom]).name
    return str(model.geom(geom).name or (f"{body} {geom}" if body else f"geom {geom}"))


def _around(world: World) -> list[int]:
    """Return the numbers of the visible geoms of the scene."""
    model = world.model
    return [k for k in range(model.ngeom) if world.link_of(k) is None and model.geom_group[k] < VISIBLE]


def _moves(world: World, geom: int) -> bool:
    return bool(world.model.body_weldid[world.model.geom_bodyid[geom]] != 0)


def _place(world: World, geom: int) -> Place:
    turn = np.zeros(4)
    world.mujoco.mju_mat2Quat(turn, world.data.geom_xmat[geom])
    return (*map(float, world.data.geom_xpos[geom]), *map(float, np.roll(turn, -1)))


def _contacts(world: World) -> tuple[Contact, ...]:
    """Return one contact for each pair of a link and an object that touch."""
    found: dict[tuple[str, str], list[tuple[Array, Array]]] = {}
    wrench = np.zeros(6)
    for k in range(world.data.ncon):
        contact = world.data.contact[k]
        first, second = map(int, contact.geom)
        links = world.link_of(first), world.link_of(second)
        if (links[0] is None) == (links[1] is None):
            continue  # both bodies are in the scene, or both bodies are in the arm
        world.mujoco.mj_contactForce(world.model, world.data, k, wrench)
        on_second = np.reshape(contact.frame, (3, 3)).T @ wrench[:3]
        if not on_second.any():
            continue  # within the contact margin, but not in contact
        link, thing, force = ((links[1], first, on_second) if links[1] is not None else (links[0], second, -on_second))
        found.setdefault((str(link), name(world, thing)), []).append((np.array(contact.pos), force))
    return tuple(_together(link, thing, points) for (link, thing), points in found.items())


def _together(link: str, thing: str, points: list[tuple[Array, Array]]) -> Contact:
    forces = np.array([force for _, force in points])
    weights = np.linalg.norm(forces, axis=1)
    return Contact(link, thing, np.average([point for point, _ in points], axis=0, weights=weights), forces.sum(axis=0))


# -- shapes -----------------------------------------------------------------


def _solid(model: Any, geom: int, moves: bool) -> Solid | None:
    """Return the shape in the geom's frame, or None for types that are not drawn."""
    kind, size = int(model.geom_type[geom]), np.asarray(model.geom_size[geom], float)
    if kind == MESH:
        vertices, faces = _mesh(model, int(model.geom_dataid[geom]), FEW if moves else FACES)
    elif kind == BOX:
        vertices, faces = _box(size)
    elif kind == PLANE:
        x, y = (side if side > 0.0 else ENDLESS for side in size[:2])
        vertices, faces = np.array([[-x, -y, 0], [x, -y, 0], [x, y, 0], [-x, y, 0]]), np.array([[0, 1, 2], [0, 2, 3]])
    elif kind in (SPHERE, ELLIPSOID):
        vertices, faces = _revolved(_round(1.0, 0.0))
        vertices = vertices * (size if kind == ELLIPSOID else size[0])
    elif kind in (CAPSULE, CYLINDER):
        vertices, faces = _revolved(_round(*size[:2]) if kind == CAPSULE else _flat(*size[:2]))
    else:
        return None
    return Solid(np.asarray(vertices, np.float32), np.asarray(faces, np.uint32), _colour(model, geom))


def _mesh(model: Any, number: int, most: int) -> tuple[Array, NDArray[np.int64]]:
    vertex, face, cells = int(model.mesh_vertadr[number]), int(model.mesh_faceadr[number]), CELLS
    vertices = np.array(model.mesh_vert[vertex:vertex + model.mesh_vertnum[number]], float)
    faces = np.array(model.mesh_face[face:face + model.mesh_facenum[number]], np.int64)
    while len(faces) > most:
        (vertices, faces), cells = clustered(vertices, faces, cells), cells // 2
    return vertices, faces


def _box(half: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return faces whose vertices are not shared (flat shading)."""
    vertices = []
    for axis in range(3):
        for way in (-1.0, 1.0):
            side = np.array([[-way, -1, 1], [way, -1, 1], [way, 1, 1], [-way, 1, 1]]) * [1.0, 1.0, way]
            vertices.append(np.roll(side, axis + 1, axis=1))
    four = 4 * np.arange(6)[:, None]
    return np.concatenate(vertices) * half, np.concatenate([four + [0, 1, 2], four + [0, 2, 3]])


def _round(radius: float, half: float) -> Array:
    """Return the outline (r, z) of a capsule, or of a sphere if the length is 0."""
    up = np.linspace(0.0, np.pi / 2, RINGS + 1)
    upper = np.column_stack([radius * np.cos(up), half + radius * np.sin(up)])
    return np.concatenate([upper[::-1] * [1.0, -1.0], upper])


def _flat(radius: float, half: float) -> Array:
    """Return the outline of a cylinder. Each corner is listed twice, so that edges are drawn sharp."""
    return np.array([[0.0, -half], [radius, -half], [radius, -half], [radius, half], [radius, half], [0.0, half]])


def _revolved(outline: ArrayLike) -> tuple[Array, NDArray[np.int64]]:
    """Return the surface of revolution of an outline (r, z), from the lower end, about z."""
    rows = np.asarray(outline, float)
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    r, z = rows.T
    vertices = np.stack([np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.outer(z, np.ones(SIDES))], -1)
    ring, k = np.divmod(np.arange((len(rows) - 1) * SIDES), SIDES)
    a, b = SIDES * ring + k, SIDES * ring + (k + 1) % SIDES
    return vertices.reshape(-1, 3), np.concatenate([np.column_stack([a, b, b + SIDES]),
                                                    np.column_stack([a, b + SIDES, a + SIDES])])


def _colour(model: Any, geom: int) -> str:
    """Return the colour of a geom's material, or else the colour of the geom."""
    material = int(model.geom_matid[geom])
    rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]
    return "#" + "".join(f"{round(255 * float(x)):02x}" for x in np.clip(rgba[:3], 0.0, 1.0))
