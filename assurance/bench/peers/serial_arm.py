"""A serial arm of revolute joints in the form that the peers' recursions take: every joint turns about its z axis."""

from dataclasses import dataclass

import numpy as np

from femtorque.codegen.mechanism import Matrix, Vector
from femtorque.codegen.model import Model

ZERO = 1e-9  # what angles like 1.57079632679 leave of a zero; written as one, to the peers' advantage


@dataclass(frozen=True)
class SerialLink:
    """R0 (3, 3), p0 (3,): joint frame at position zero in the frame of the link before. com, inertia about it: link
    frame, whose z is the joint's axis."""

    R0: Matrix
    p0: Vector
    mass: float
    com: Vector
    inertia: Matrix


def serial_links(model: Model) -> list[SerialLink]:
    """The links of a serial revolute arm from the base out."""
    links, before = [], np.eye(3)
    for j, body in enumerate(model.bodies):
        assert body.parent == j - 1 and not body.prismatic, "the peers' recursions know serial revolute arms only"
        A = _to_z(body.axis)
        links.append(SerialLink(_clean(before.T @ body.R0 @ A), _clean(before.T @ body.p0), body.mass,
                                _clean(A.T @ body.com), _clean(A.T @ body.inertia @ A)))
        before = A
    return links


def _to_z(axis: Vector) -> Matrix:
    """A frame (3, 3) whose z is the axis; axes along coordinates only renumber them, so that zeros stay zeros."""
    k = int(np.argmax(np.abs(axis)))
    if abs(axis[k]) > 1.0 - ZERO:
        x, y = np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3]
        return np.column_stack([x, y, axis]) if axis[k] > 0.0 else np.column_stack([y, x, axis])
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(axis)))], axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _clean(values: np.ndarray) -> np.ndarray:
    return np.where(np.abs(values) < ZERO, 0.0, values)
