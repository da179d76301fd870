"""Translates a mechanism file's links and joints into solids and mechanisms.

Links that cannot move relative to each other (fixed and locked joints, payloads) become one solid. A flexible link
becomes a chain of cells. Each cell is a solid with the mass of its section of the link (see beam.py). A body that is
fixed or hinged to a flexible link belongs to the cell at its position. Solid 0 is the ground.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from femtorque.codegen.common import Array, BadInput
from femtorque.codegen.mechanism import BASE, Joint, Link, Loop, Mechanism
from femtorque.hil.plant.articulated import beam, solids
from femtorque.hil.plant.articulated.elements import Element, Frame
from femtorque.hil.plant.articulated.solids import GROUND, Solid

TOKEN, TOKEN_RADIUS = 1e-4, 0.02  # fraction of the links' mass, m; for massless links, as in a universal joint
LOOP_ELEMENTS = {"ball": "ball", "planar": "planar", "revolute": "hinge", "rigid": "fixed"}


@dataclass(frozen=True)
class Place:
    """A frame in a solid: rotation (3, 3) and position (3,) in the solid's frame."""

    solid: int
    R: Array
    p: Array

    def at(self, xyz: ArrayLike, rotation: Array) -> Place:
        return Place(self.solid, self.R @ rotation, self.p + self.R @ np.asarray(xyz, float))


@dataclass
class Parts:
    """A solid during assembly, with its masses, centres of gravity and inertias in its frame."""

    name: str
    masses: list[tuple[float, Array, Array]] = field(default_factory=list)
    reach: list[Array] = field(default_factory=list)  # places of its mechanisms
    hinge_axis: Array | None = None  # axis of the body's hinge to the ground, through the body's origin
    pose: tuple[Array, Array] = (np.eye(3), np.zeros(3))  # at the start

    def add(self, place: Place, mass: float, com: Array, inertia: Array) -> None:
        self.masses.append((mass, place.p + place.R @ com, place.R @ inertia @ place.R.T))


@dataclass(frozen=True)
class Assembly:
    """solids: the first is the ground. places (S, 4, 3): points of the other solids at the start. joints: one element
    per moving joint, in the mechanism's order. loops: additional elements. beams: the elastic elements between cells.
    link_places: the pose of each link's frame; for a flexible link, at its root. sides: the links that an element
    joins, a's and b's. fixed_to: {link: the link to which it is fixed}. starts (n,): joint positions.
    """

    solids: tuple[Solid, ...]
    places: Array
    joints: tuple[Element, ...]
    loops: tuple[Element, ...]
    beams: tuple[beam.Element, ...]
    link_places: dict[str, Place]
    sides: dict[str, tuple[str, str]]
    fixed_to: dict[str, str]
    starts: Array
    notes: tuple[str, ...]


def assemble(mechanism: Mechanism, start: ArrayLike | None = None, loose: bool = False) -> Assembly:
    """Return the solids and the joints of a mechanism at the joint positions `start` (n,), by default the file's start.

    loose: combine the links that the file fixes to the base into a free solid, number 1.
    """
    moving = {joint.name: k for k, joint in enumerate(mechanism.moving)}
    starts = np.array([joint.start for joint in mechanism.moving]) if start is None else np.asarray(start, float)
    parts = [Parts(BASE)]
    if loose:
        parts.append(Parts(BASE))
    links: dict[str, list[tuple[float, Place]]] = {BASE: [(np.inf, Place(len(parts) - 1, np.eye(3), np.zeros(3)))]}
    elements: list[Element] = []
    beams: list[beam.Element] = []

    def place(link: str, xyz: ArrayLike) -> Place:
        """Return the frame of the solid that carries a link's point `xyz`. A flexible link has a frame per cell."""
        return next(p for end, p in links[link] if np.asarray(xyz, float)[0] <= end)

    def mount(link: Link, root: Place) -> None:
        if link.beam is None:
            links[link.name] = [(np.inf, root)]
            if root.solid:
                parts[root.solid].add(root, link.mass, link.com, link.inertia)
            return
        cells = beam.cells(link)
        places = [root]
        for cell in cells[1:]:
            parts.append(Parts(f"{link.name}[{cell.node}]", pose=parts[root.solid].pose))
            places.append(Place(len(parts) - 1, root.R, root.p))
        for cell, at in zip(cells, places, strict=True):
            if at.solid:
                parts[at.solid].add(at, cell.mass, cell.com, cell.inertia)
        links[link.name] = [(cell.end, at) for cell, at in zip(cells, places, strict=True)]
        frames = [Frame(at.solid, at.p + at.R @ np.array([cell.x, 0.0, 0.0]), at.R)
                  for cell, at in zip(cells, places, strict=True)]
        beams.extend(beam.elements(link, frames))
        for frame in frames:
            parts[frame.solid].reach.append(frame.origin)

    fixed_to: dict[str, str] = {}
    for joint in mechanism.joints:
        side = place(joint.parent, joint.xyz).at(joint.xyz, _rotation(joint.rpy))
        link = mechanism.link(joint.child)
        if joint.name not in moving:
            fixed_to[joint.child] = joint.parent
            mount(link, side.at(*_motion(joint, mechanism.lock.get(joint.name, 0.0))))
            continue
        axes = _axes(joint.axis)
        R, p = parts[side.solid].pose
        shift, turn = _motion(joint, starts[moving[joint.name]])
        frame = Place(side.solid, R @ side.R, p + R @ side.p).at(shift, turn)
        parts.append(Parts(joint.child, pose=(frame.R, frame.p)))
        own = len(parts) - 1
        if side.solid == 0 and joint.type != "prismatic":
            parts[own].hinge_axis = joint.axis
        elements.append(Element(joint.name, "slide" if joint.type == "prismatic" else "hinge",
                                Frame(side.solid, side.p, side.R @ axes), Frame(own, np.zeros(3), axes)))
        mount(link, Place(own, np.eye(3), np.zeros(3)))
    for payload in mechanism.payloads:
        at = place(payload.link, payload.com)
        if at.solid:
            parts[at.solid].add(at, payload.mass, payload.com, payload.inertia)
    loops = [_loop(loop, place) for loop in mechanism.loops]
    for element in elements + loops:
        for end in (element.a, element.b):
            parts[end.solid].reach.append(end.origin)

    notes: list[str] = []
    token = TOKEN * sum(link.mass for link in mechanism.links)
    for number, part in enumerate(parts[1:], 1):
        if token and not any(mass or np.any(inertia) for mass, _, inertia in part.masses):
            part.add(Place(number, np.eye(3), np.zeros(3)), token, np.zeros(3), token * TOKEN_RADIUS**2 * np.eye(3))
            notes.append(f"{part.name}: without mass, given {token:.2g} kg")
    reduced = [GROUND] + [_solid(part, mechanism, notes) for part in parts[1:]]
    places = [solid.points @ part.pose[0].T + part.pose[1] for solid, part in zip(reduced[1:], parts[1:], strict=True)]
    sides = {joint.name: (joint.parent, joint.child) for joint in mechanism.moving}
    sides |= {loop.name: (loop.a.link, loop.b.link) for loop in mechanism.loops}
    return Assembly(tuple(reduced), np.array(places).reshape(-1, 4, 3), tuple(elements), tuple(loops), tuple(beams),
                    {name: at[0][1] for name, at in links.items()}, sides, fixed_to, starts, tuple(notes))


def scaled(mechanism: Mechanism, factor: float) -> Mechanism:
    """Return the mechanism with bodies' masses and inertias multiplied by a factor; rotors are unchanged."""
    links = tuple(replace(link, mass=factor * link.mass, inertia=factor * link.inertia) for link in mechanism.links)
    payloads = tuple(replace(load, mass=factor * load.mass, inertia=factor * load.inertia)
                     for load in mechanism.payloads)
    return replace(mechanism, links=links, payloads=payloads)


def _solid(part: Parts, mechanism: Mechanism, notes: list[str]) -> Solid:
    masses = np.array([m for m, _, _ in part.masses])
    coms = np.array([c for _, c, _ in part.masses])
    total = masses.sum()
    com = masses @ coms / total if total > 0.0 else np.zeros(3)
    inertia = sum((J + m * _about(c - com) for m, c, J in part.masses), np.zeros((3, 3)))
    size = max((float(np.linalg.norm(r - com)) for r in part.reach), default=0.0)
    source = mechanism.source or mechanism.name
    try:
        solid = solids.reduce(part.name, float(total), com, inertia, size)
    except BadInput as problem:
        if part.hinge_axis is None:
            raise BadInput(source, f"link {part.name}: {problem.key}", problem.value, problem.rule,
                           problem.hint) from None
        solid = _equivalent(part, float(total), com, inertia)
        notes.append(f"{part.name}: {problem.rule}; on a ground hinge only its inertia about the axis counts")
    if solid.note:
        notes.append(solid.note)
    return solid


def _equivalent(part: Parts, mass: float, com: Array, inertia: Array) -> Solid:
    """Return a physically possible body that moves, on a hinge to the ground, like a body with an impossible tensor.
    The two bodies have the same mass, centre of gravity and inertia about the axis. A body without mass gets a mass on
    the axis, where gravity exerts no torque on it."""
    axis = part.hinge_axis
    assert axis is not None
    about = float(axis @ inertia @ axis)
    return solids.reduce(part.name, mass or 1.0, com, about * np.eye(3), 0.0)


def _loop(loop: Loop, place: Callable[[str, ArrayLike], Place]) -> Element:
    sides = []
    for anchor in (loop.a, loop.b):
        at = place(anchor.link, anchor.xyz).at(anchor.xyz, _rotation(anchor.rpy))
        sides.append(Frame(at.solid, at.p, at.R))
    return Element(loop.name, LOOP_ELEMENTS[loop.type], *sides)


def _rotation(rpy: ArrayLike) -> Array:
    """Return the rotation of roll, pitch, yaw about the fixed axes x, y, z, as in URDF."""
    return Rotation.from_euler("xyz", np.asarray(rpy, float)).as_matrix()


def _motion(joint: Joint, q: float) -> tuple[Array, Array]:
    """Return translation and rotation of a joint at position q, in the joint frame."""
    if joint.type == "prismatic":
        return joint.axis * q, np.eye(3)
    if joint.type == "fixed":
        return np.zeros(3), np.eye(3)
    return np.zeros(3), Rotation.from_rotvec(np.asarray(joint.axis, float) * q).as_matrix()


def _axes(axis: Array) -> Array:
    """Return a right-handed frame (3, 3), one axis per column, whose third axis is `axis`."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = np.cross(other, axis)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


def _about(d: Array) -> Array:
    """Return the inertia (3, 3) of a unit mass at the position d."""
    return float(d @ d) * np.eye(3) - np.outer(d, d)
