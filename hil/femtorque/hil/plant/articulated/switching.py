"""Switches of mode: loops close and open, payloads are picked up and put down, and another link is fixed to the ground.

Solids keep their places. When a payload is picked up or put down, a solid gets four new points: fixed combinations of
the old points, and of their velocities. A switch takes no time. A payload is at rest before it is picked up. When a
loop closes, it removes the remaining relative velocities. Closing a loop and picking up a payload are inelastic
impacts. Only the impulses of the mechanisms change the momentum. Therefore the new velocities satisfy the new rows.
Among all velocities that satisfy the rows, the new velocities are nearest to the old velocities in the mass-weighted
norm (Gauss' principle for impacts).

The plant refuses a switch to a mode that does not fit, for example if a gripper misses its object or a foot still
moves.
"""

from collections.abc import Sequence

import numpy as np

from femtorque.codegen.common import Array, Refused
from femtorque.hil.plant.articulated.elements import Element, Frame
from femtorque.hil.plant.articulated.solids import Solid
from femtorque.hil.plant.articulated.system import Structure, System
from femtorque.hil.plant.articulated.tree import Place

GROUND = "ground"  # name of the element that fixes the root link to the ground
GAP = 2e-3  # m (or sine of an angle): maximum gap at which a loop may close
SLIP = 0.05  # maximum relative velocity at which a loop may close, m/s or rad/s


def pose(solid: Solid, x: Array) -> tuple[Array, Array]:
    """Return rotation (3, 3) and position (3,) of a solid's frame, from its four points x (4, 3)."""
    axes = np.column_stack([solid.along(unit) @ x for unit in np.eye(3)])
    u, _, vt = np.linalg.svd(axes)
    return u @ vt, solid.at(np.zeros(3)) @ x


def hold(place: Place, solid: Solid, x: Array) -> Element:
    """Return the element that fixes a link's frame to the ground. place: pose in a solid with points x."""
    R, p = pose(solid, x)
    return Element(GROUND, "fixed", Frame(0, p + R @ place.p, R @ place.R), Frame(place.solid, place.p, place.R))


def carried(old: Sequence[Solid], kept: Sequence[Solid], new: Sequence[Solid], x: Array, v: Array) -> tuple[Array,
                                                                                                            Array]:
    """Return the points and velocities (S, 4, 3) of the new solids, without the ground, from the old solids' points and
    velocities.

    kept: the solids, with the payloads that they carry before and after the switch. A payload that is put down keeps
    its velocity. A payload is at rest before it is picked up, and then shares the momentum of its carrier.
    """
    places, velocities = np.empty_like(x), np.empty_like(v)
    for k, (before, still, after) in enumerate(zip(old, kept, new, strict=True)):
        places[k], velocities[k] = (_combinations(before, after) @ each[k] for each in (x, v))
        if after.mass > still.mass:
            points, speeds = (_combinations(before, still) @ each[k] for each in (x, v))
            velocities[k] = _shared(still.mass, points, speeds, after.mass, places[k])
    return places, velocities


def _combinations(old: Solid, new: Solid) -> Array:
    """Return the new solid's points as combinations (4, 4) of the old solid's points."""
    return np.array([old.at(point) for point in new.points])


def _shared(mass: float, points: Array, speeds: Array, whole: float, places: Array) -> Array:
    """Return velocities (4, 3) at `places` of a solid of mass `whole` with the momentum of `mass` at `points`."""
    centre = places.mean(axis=0)
    r = places - centre
    inertia = 0.25 * whole * (np.sum(r * r) * np.eye(3) - r.T @ r)
    spin = 0.25 * mass * np.cross(points - centre, speeds).sum(axis=0)
    return mass / whole * speeds.mean(axis=0) + np.cross(np.linalg.solve(inertia, spin), r)


def check(system: System, z: Array, v: Array, fresh: Sequence[str], mode: str) -> None:
    """Raise Refused if an element of `fresh`, which the new mode closes, has a gap or moves too fast.

    system: all rows, including dependent rows. z, v (size,): the state just before the switch.
    """
    structure = Structure(system)
    which = np.flatnonzero([row.element in fresh for row in system.rows])
    if not len(which):
        return
    gap = np.abs(structure.residual(z)[1][which])
    slip = np.abs(structure.row_gradient(z)[which] @ v[: structure.split])
    for worst, bound, what in ((gap, GAP, "is open by {:.3g} m"), (slip, SLIP, "moves at {:.3g} m/s")):
        k = int(worst.argmax())
        if worst[k] > bound:
            row = system.row_names[which[k]]
            raise Refused(f"mode {mode}: {row} {what.format(worst[k])}, more than {bound:g}")


def check_pick_up(kept: Sequence[Solid], new: Sequence[Solid], v: Array, mode: str) -> None:
    """Raise Refused if a solid moves too fast to pick up a payload, which is at rest.

    v (S, 4, 3): velocities of the new solids, as if the payload had always been part of them.
    """
    for before, after, speeds in zip(kept, new, v, strict=True):
        if after.mass > before.mass:
            extra = after.mass * after.com - before.mass * before.com
            fastest = float(np.linalg.norm(after.at(extra / (after.mass - before.mass)) @ speeds))
            if fastest > SLIP:
                raise Refused(f"mode {mode}: what {after.name} picks up moves at {fastest:.3g} m/s against it, more "
                              f"than {SLIP:g}")
