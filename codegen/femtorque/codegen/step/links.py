"""The links of a model, each in its original axes: z along the joint, the node at the centre of gravity."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import product
from femtorque.codegen.mechanism import Matrix, Vector
from femtorque.codegen.model import GROUND, Model, frame_to_axis


@dataclass(frozen=True)
class Link:
    """Constants of a link, in link axes."""

    parent: int
    slides: bool
    R: Matrix  # (3, 3): the link axes at joint zero in the parent's axes, as columns
    l: Vector  # (3,): origin of the joint in the parent's axes, m
    c: Vector  # (3,): position of the node, m
    mass: float  # mass, kg
    inertia: Matrix  # inertia (3, 3) about the node, kg m^2


def links(model: Model) -> tuple[Link, ...]:
    """Return every body of a model as a link with its node, and z along its joint."""
    turned = [frame_to_axis(body.axis) for body in model.bodies]
    found = []
    for body, own in zip(model.bodies, turned, strict=True):
        parent = np.eye(3) if body.parent == GROUND else turned[body.parent]
        found.append(Link(body.parent, body.prismatic, _tidied(product(parent.T, body.R0, own), 1.0),
                          _tidied(product(parent.T, body.p0), 1.0), _tidied(product(own.T, body.com), 1.0), body.mass,
                          _tidied(product(own.T, body.inertia, own), float(np.abs(body.inertia).max()))))
    return tuple(found)


def _tidied(x: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """Return x. Entries that differ from zero or one only by rounding become exact."""
    near = np.round(x)
    x = np.where(np.abs(x) < 1e-12 * size, 0.0, x)
    return np.where((np.abs(x - near) < 1e-12) & (size == 1.0), near, x)
