"""An external wrench on one link, and the joint torques that balance it.

Force, N, and moment, N m, act *on* the link, in global axes. The force acts at the origin of the link's frame, and the
moment is about this origin. Any link is allowed, even a link on a fixed or locked joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import BadInput, cross, hint
from femtorque.codegen.mechanism import BASE, Mechanism, Vector
from femtorque.codegen.model import GROUND, Conversion, Model, levers, placed_links, pose, rotate
from femtorque.codegen.reference.rigid import recursion

LARGEST = 1e9  # maximum magnitude of every number, as in mechanism files: N and N m


@dataclass(frozen=True)
class Wrench:
    """A wrench on `link`: force (3,) N and moment (3,) N m in global axes, at the origin of the link's frame."""

    link: str
    force: Vector
    moment: Vector

    @staticmethod
    def of(link: str, numbers: Sequence[float]) -> Wrench:
        """Return the wrench from the numbers FX FY FZ MX MY MZ. Raise BadInput for NaN and infinite numbers."""
        values = np.array(numbers, float)
        if not np.all(np.abs(values) <= LARGEST):
            raise BadInput("femtorque torque", "--wrench", " ".join(f"{x:g}" for x in values),
                           f"must be six numbers between -{LARGEST:g} and {LARGEST:g}: FX FY FZ MX MY MZ")
        return Wrench(link, values[:3], values[3:])


def wrench_torque(model: Model, q: ArrayLike, wrench: Wrench, convert: Conversion = recursion) -> NDArray[np.float64]:
    """Return torques (..., n) that a wrench adds at positions q (..., n). The wrench is a load on a node of {P}, Eqs
    5-15.

    Raise BadInput if the link is unknown or does not move."""
    body, at_link = place(model.mechanism, wrench.link)
    at = pose(model, q)
    F, Phi = np.zeros(at.origin.shape), np.zeros(at.origin.shape)
    from_node = rotate(at.R[..., body, :, :], at_link - model.bodies[body].com)
    F[..., body, :] = -wrench.force
    Phi[..., body, :] = -(wrench.moment + cross(from_node, wrench.force))
    return convert(model, at.R, levers(model, at), F, Phi)


def place(mechanism: Mechanism, link: str) -> tuple[int, Vector]:
    """Return the body that carries a link, and the origin of the link's frame in the body's frame.

    Raise BadInput if the link is unknown or does not move."""
    source, places = mechanism.source or mechanism.name, placed_links(mechanism)
    if link not in places:
        raise BadInput(source, "--wrench", link, "no such link", hint(link, [x for x in places if x != BASE], "links"))
    body, _, origin = places[link]
    if body == GROUND:
        raise BadInput(source, "--wrench", link, "does not move: no joint is between it and the ground")
    return body, origin
