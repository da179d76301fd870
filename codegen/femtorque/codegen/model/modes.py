"""Modes: the mechanism of each mode, and the sections of a motion through several modes.

A mode closes some loops, attaches some payloads and makes some joints passive. A mode may also change the link that is
fixed to the ground. In all modes the serial protocol and the control law use the same streamed joints in the same
order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Array, BadInput, arctan2, norm, product, remembered, rotation_rpy
from femtorque.codegen.mechanism import BASE, Joint, Link, Mechanism
from femtorque.codegen.model.bodies import Model, beyond
from femtorque.codegen.model.motion import Motion


def has_modes(mechanism: Mechanism) -> bool:
    """Return True if the mechanism has more than one mode."""
    return len(mechanism.modes) > 1


@remembered
def in_mode(mechanism: Mechanism, name: str | None = None) -> Mechanism:
    """Return the mechanism in one mode, by default the first, with the root link of this mode.

    Raise BadInput if the mechanism cannot have this root."""
    if not mechanism.modes:
        return mechanism
    alone = mechanism.in_mode(name)
    root = alone.modes[0].root
    return alone if root == BASE else rerooted(alone, root)


def rerooted(mechanism: Mechanism, root: str) -> Mechanism:
    """Return the mechanism with a different root link, which stays where the joints' `start` places it. The function
    reverses the joints between this link and the base. With T = T0 Rot(axis, q) from parent to child, the inverse is
    Rot(-axis, q) T0^-1: the same joint about the opposite axis, then a fixed joint. The fixed joint at the new base is
    removed. Raise BadInput if a moving joint lies between the base and the fixed part of the tree."""
    above = {joint.child: joint for joint in mechanism.joints}
    path: list[Joint] = []
    link = root
    while link != BASE:
        path.append(above[link])
        link = path[-1].parent
    moving = {joint.name for joint in mechanism.moving}
    if path[-1].name in moving:
        raise BadInput(mechanism.source or mechanism.name, f"mode.{mechanism.modes[0].name}.root", root,
                       f"joint {path[-1].name!r} moves on the base, which would be left without it",
                       "put a link that is fixed to the base before it")
    R, p = np.eye(3), np.zeros(3)
    for joint in reversed(path):
        R, p = beyond(R, p, joint, mechanism.lock.get(joint.name, joint.start))
    none = np.zeros(3)
    standing = Joint(f"{root} stands", "fixed", BASE, root, p, rpy_of(R), np.array([0.0, 0.0, 1.0]), actuated=False)
    turned, links = [standing], list(mechanism.links)
    for joint in path[:-1]:
        R0 = rotation_rpy(joint.rpy)
        middle = f"{joint.name} reversed"
        links.append(Link(middle, 0.0, none, np.zeros((3, 3))))
        turned.append(replace(joint, parent=joint.child, child=middle, xyz=none, rpy=none, axis=-joint.axis))
        turned.append(Joint(f"{middle} back", "fixed", middle, joint.parent, product(-R0.T, joint.xyz), rpy_of(R0.T),
                            np.array([0.0, 0.0, 1.0]), actuated=False))
    rest = [joint for joint in mechanism.joints if joint not in path]
    order, placed = list[Joint](), {BASE}
    waiting = turned + rest
    while waiting:
        ready = next((joint for joint in waiting if joint.parent in placed), None)
        if ready is None:
            raise BadInput(mechanism.source or mechanism.name, f"mode.{mechanism.modes[0].name}.root", root,
                           f"joint {waiting[0].name!r} would be left without its parent")
        waiting.remove(ready)
        placed.add(ready.child)
        order.append(ready)
    return replace(mechanism, links=tuple(links), joints=tuple(order))


def rpy_of(R: Array) -> Array:
    """Return roll, pitch, yaw (URDF) of a rotation matrix."""
    pitch = arctan2(-R[2, 0], norm(R[:2, 0]))
    if norm(R[:2, 0]) < 1e-12:
        return np.array([arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([arctan2(R[2, 1], R[2, 2]), pitch, arctan2(R[1, 0], R[0, 0])])


@dataclass(frozen=True)
class Stretch:
    """A section of a motion in one mode. places: index of each streamed joint of the mode's model among the streamed
    joints of the whole mechanism."""

    mode: str
    first: int
    ticks: int
    model: Model
    places: tuple[int, ...]


@dataclass(frozen=True)
class Later:
    """The remainder of a motion after a given time, for some joints."""

    motion: Motion
    begin: float
    places: tuple[int, ...]

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        q, qd, qdd = self.motion.at(np.asarray(t, float) + self.begin)
        places = list(self.places)
        return q[..., places], qd[..., places], qdd[..., places]

    def middles(self, ticks: int, dt: float) -> Array:
        """Return `Trajectory.middles`. Samples before the beginning of the section come from the whole motion."""
        raise NotImplementedError("the emitted step is switched by the application")


def stretches(mechanism: Mechanism, modes: tuple[tuple[float, str], ...], ticks: int) -> Iterator[Stretch]:
    """Return the sections of a motion's first ticks, one per mode. modes: (time, name) of every switch."""
    hz = mechanism.control.rate_hz
    names = [joint.name for joint in mechanism.streamed]
    switches = list(modes) or [(0.0, mechanism.modes[0].name)]
    bounds = [min(ticks, round(t * hz)) for t, _ in switches] + [ticks]
    for (_, name), first, last in zip(switches, bounds[:-1], bounds[1:], strict=True):
        if last > first:
            alone = in_mode(mechanism, name)
            places = tuple(names.index(joint.name) for joint in alone.streamed)
            yield Stretch(name, first, last - first, Model.of(alone), places)


def ramp(mechanism: Mechanism, mode: str) -> int:
    """Return the number of ticks in which a mode's constraint forces rise and fall.

    The number is 0 if passive joints need the full constraint forces immediately."""
    alone = in_mode(mechanism, mode)
    if not alone.constrained or any(not joint.actuated for joint in alone.moving):
        return 0
    return round(alone.modes[0].ramp_s * mechanism.control.rate_hz)


def shares(mechanism: Mechanism, modes: tuple[tuple[float, str], ...], ticks: int) -> Array:
    """Return the fraction of the constraint forces (ticks,) in every tick.

    The fraction rises from 0 to 1 after the beginning of a mode, and falls to 0 before the next mode."""
    share = np.ones(ticks)
    for part in stretches(mechanism, modes, ticks):
        length = ramp(mechanism, part.mode)
        if not length:
            continue
        k = np.arange(part.ticks)
        up = (k + 1.0) / length if part.first > 0 else np.inf
        down = (part.ticks - k) / length if part.first + part.ticks < ticks else np.inf
        share[part.first:part.first + part.ticks] = np.clip(np.minimum(up, down), 0.0, 1.0)
    return share


AHEAD = 0xFFFF  # number of ticks if no change of mode is ahead


def schedule(mechanism: Mechanism, modes: tuple[tuple[float, str], ...], ticks: int) -> NDArray[np.uint32]:
    """Return the mode's number and its remaining ticks at s_-1 .. s_ticks-1, (ticks + 1, 2), for the emitted step."""
    names = [mode.name for mode in mechanism.modes]
    table = np.empty((ticks + 1, 2), np.uint32)
    for part in stretches(mechanism, modes, ticks):
        rows = slice(part.first + 1, part.first + part.ticks + 1)
        last = part.first + part.ticks == ticks
        table[rows, 0] = names.index(part.mode)
        table[rows, 1] = AHEAD if last else np.arange(part.ticks, 0, -1)
    table[0] = table[1, 0], AHEAD
    return table
