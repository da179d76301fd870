"""Describes a mechanism for a page as plain data: frames, solids, centres of gravity, inertias, limits, loops, modes.
Each link is drawn with its URDF's meshes, simplified, or with rods from its frame to its children. A flexible link is
drawn as a rod that bends. Matrices are 4 x 4, in column order, as in three.js."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, rotation_rpy
from femtorque.codegen.mechanism import BASE, Anchor, Joint, Link, Mechanism, Payload
from femtorque.codegen.model import END
from femtorque.host.scene.meshes import Solid, visuals
from femtorque.host.scene.surroundings import Thing

SLENDER = 0.018  # radius of a drawn rod, as a fraction of the mechanism's size
DENSITY = 2700.0  # density of aluminium, kg/m^3: sets the drawn size of a payload
# Okabe and Ito's colours for colour-blind people, with greys between
LINKS = ("#8795a5", "#56b4e9", "#009e73", "#cc79a7", "#e69f00", "#0072b2", "#d55e00", "#f0e442")
PASSIVE = "#b3bac3"  # colour of a link that does not move or is not driven; pages use warm colours for other purposes


def scene(mechanism: Mechanism, things: Sequence[Thing] = ()) -> dict[str, Any]:
    """Return all page data except the motion (femtorque.host.scene.motion), for JSON. things: the surroundings."""
    moving = {joint.name for joint in mechanism.moving}
    solids = visuals(mechanism)
    size = _size(mechanism)
    ground = Link(BASE, 0.0, np.zeros(3), np.zeros((3, 3)))
    links = (ground, *mechanism.links)
    return {
        "name": mechanism.name, "size": size, "up": _up(mechanism.gravity),
        "joints": [_joint(mechanism, joint, joint.name in moving) for joint in mechanism.joints],
        "links": [_link(mechanism, k, link, size, solids.get(link.name, [])) for k, link in enumerate(links)],
        "loops": [{"name": loop.name, "type": loop.type, "a": _anchor(mechanism, loop.a),
                   "b": _anchor(mechanism, loop.b)} for loop in mechanism.loops],
        "payloads": [_payload(mechanism, payload, size) for payload in mechanism.payloads],
        "modes": [{"name": mode.name, "loops": list(mode.loops), "payloads": list(mode.payloads),
                   "passive": list(mode.passive), "root": mode.root} for mode in mechanism.modes],
        **around(things), "motion": None}


def around(things: Sequence[Thing]) -> dict[str, Any]:
    return {"things": [thing.data() for thing in things]}


def matrix(R: ArrayLike, p: ArrayLike) -> list[float]:
    whole = np.eye(4)
    whole[:3, :3], whole[:3, 3] = R, p
    return [float(x) for x in whole.T.ravel()]


def _joint(mechanism: Mechanism, joint: Joint, moving: bool) -> dict[str, Any]:
    unit = "m" if joint.type == "prismatic" else "rad"
    limits = {side: value if math.isfinite(value := getattr(joint.limits, side)) else None
              for side in ("lower", "upper", "effort")}
    return {"name": joint.name, "type": joint.type, "parent": joint.parent, "child": joint.child, "unit": unit,
            "matrix": matrix(rotation_rpy(joint.rpy), joint.xyz), "axis": joint.axis.tolist(), "moving": moving,
            "actuated": joint.actuated,
            "mimic": vars(joint.mimic) if joint.mimic else None, "start": mechanism.lock.get(joint.name, joint.start),
            **limits, "tip": _at_tip(mechanism, joint.parent, joint.xyz), "toward": _toward(mechanism, joint)}


def _toward(mechanism: Mechanism, joint: Joint) -> list[float]:
    """Return a unit vector across the axis, in the joint's frame, toward its link: the zero of the drawn angle."""
    link = mechanism.link(joint.child)
    for far in (*(end for _, end in _rods(mechanism, link)), link.com, *np.eye(3)):
        across = far - (far @ joint.axis) * joint.axis
        if np.linalg.norm(across) > 0.05 * np.linalg.norm(far):
            break
    return [float(x) for x in across / np.linalg.norm(across)]


def _at_tip(mechanism: Mechanism, link: str, xyz: Array) -> bool:
    """Return True if a point of a link lies at the free end of a flexible link."""
    beam = None if link == BASE else mechanism.link(link).beam
    return beam is not None and bool(xyz[0] >= beam.length - END)


def _payload(mechanism: Mechanism, payload: Payload, size: float) -> dict[str, Any]:
    ball = (3.0 * payload.mass / (4.0 * math.pi * DENSITY)) ** (1.0 / 3.0)
    return {"name": payload.name, "link": payload.link, "mass": payload.mass, "com": payload.com.tolist(),
            "radius": min(max(ball, 1.3 * SLENDER * size), 0.07 * size),
            "tip": _at_tip(mechanism, payload.link, payload.com)}


def _link(mechanism: Mechanism, number: int, link: Link, size: float, solids: Sequence[Solid]) -> dict[str, Any]:
    radius = SLENDER * size * (1.0 - 0.06 * (number % 3))  # overlapping rods differ
    fixed = not mechanism.modes and link.name not in _moved(mechanism)
    passive = fixed or any(joint.child == link.name and not joint.actuated for joint in mechanism.moving)
    return {"name": link.name, "mass": link.mass, "com": link.com.tolist(), "radius": radius,
            "colour": PASSIVE if passive else LINKS[number % len(LINKS)],
            "ellipsoid": _ellipsoid(link, radius),
            "meshes": [solid.data() | ({"colour": PASSIVE} if fixed else {}) for solid in solids],
            "beam": None if link.beam is None else link.beam.length,
            "rods": [] if solids or link.beam else [_rod(a, b) for a, b in _rods(mechanism, link)]}


def _moved(mechanism: Mechanism) -> set[str]:
    """Return the links that a joint of the mechanism can move."""
    moved = {joint.child for joint in mechanism.moving}
    while more := {joint.child for joint in mechanism.joints if joint.parent in moved} - moved:
        moved |= more
    return moved


def _rods(mechanism: Mechanism, link: Link) -> Iterator[tuple[Array, Array]]:
    """Yield rods from a link's frame to its children or tip, otherwise to its centre of gravity."""
    origin = np.zeros(3)
    ends = [joint.xyz for joint in mechanism.joints if joint.parent == link.name]
    ends += [payload.com for payload in mechanism.payloads if payload.link == link.name]
    ends += [end.xyz for loop in mechanism.loops for end in (loop.a, loop.b) if end.link == link.name]
    if link.beam is not None:
        ends.append(np.array([link.beam.length, 0.0, 0.0]))
    if not ends and link.name != BASE:
        ends = [2.0 * link.com]
    for end in ends:
        if np.linalg.norm(end) > 0.0:
            yield origin, np.asarray(end, float)


def _rod(a: Array, b: Array) -> dict[str, Any]:
    """Return a capsule between two points; y of its frame is its axis."""
    along = b - a
    length = float(np.linalg.norm(along))
    y = along / length
    x = np.cross(y, [0.0, 0.0, 1.0] if abs(y[2]) < 0.9 else [1.0, 0.0, 0.0])
    x /= np.linalg.norm(x)
    return {"length": length, "matrix": matrix(np.column_stack([x, y, np.cross(x, y)]), 0.5 * (a + b))}


def _ellipsoid(link: Link, least: float) -> list[float]:
    """Return a uniform ellipsoid with the link's mass and inertia: semi-axes sqrt(5 (I_j + I_k - I_i) / 2m), at least
    `least`."""
    if link.mass <= 0.0:
        return matrix(np.eye(3), np.zeros(3))
    moments, axes = np.linalg.eigh(link.inertia)
    half = np.sqrt(np.maximum(2.5 * (moments.sum() - 2.0 * moments) / link.mass, (0.3 * least) ** 2))
    return matrix(axes * half, link.com)


def _anchor(mechanism: Mechanism, end: Anchor) -> dict[str, Any]:
    return {"link": end.link, "matrix": matrix(rotation_rpy(end.rpy), end.xyz),
            "tip": _at_tip(mechanism, end.link, end.xyz)}


def _size(mechanism: Mechanism) -> float:
    """Return half the length of the longest chain of joints, to the end of its last link, m."""
    far = {BASE: 0.0}
    for joint in mechanism.joints:
        far[joint.child] = far[joint.parent] + float(np.linalg.norm(joint.xyz))
    ends = {link.name: link.beam.length if link.beam else 2.0 * float(np.linalg.norm(link.com)) if link.mass else 0.0
            for link in mechanism.links}
    return max(0.5 * max((far[name] + end for name, end in ends.items()), default=0.0), 1e-3)


def _up(gravity: Array) -> list[float]:
    """Return the direction against gravity; z for a horizontal mechanism."""
    g = float(np.linalg.norm(gravity))
    return [0.0, 0.0, 1.0] if g == 0.0 else [float(x) for x in -gravity / g + 0.0]
