"""Computes positions and Jacobians of points of an arm from its streamed joints. The arm may have closed loops and
several modes."""

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import assemble
from femtorque.codegen.reference import in_one_mode, places_of, poses, rows_of
from femtorque.host.plan.tip import Tip


def forward_kinematics(mechanism: Mechanism, q: ArrayLike, link: str, xyz: ArrayLike = (0.0, 0.0, 0.0),
                       mode: str | None = None) -> tuple[Array, Array]:
    """Return positions (..., 3), m, of a point xyz (3,), m, of a link and orientations (..., 3, 3) of the link.
    Positions and orientations are in the base frame, at positions q (..., J) of the streamed joints. Raises BadInput
    and Refused."""
    alone = in_one_mode(mechanism, mode)
    (rows,), shape = rows_of(mechanism, q)
    tip = Tip(alone, link, xyz)
    rows = rows[:, places_of(mechanism, alone)]
    point, R = tip.frame(poses(assemble(tip.model), rows) if alone.constrained else rows)
    return point.reshape(*shape[:-1], 3), R.reshape(*shape[:-1], 3, 3)


def jacobian(mechanism: Mechanism, q: ArrayLike, link: str, xyz: ArrayLike = (0.0, 0.0, 0.0),
             mode: str | None = None) -> Array:
    """Return (..., 6, J): velocity of the point and angular velocity of the link, base frame, per velocity of each
    streamed joint. A joint in a redundant drive, and a joint that is not driven in this mode, has a zero column. Raises
    BadInput and Refused."""
    alone = in_one_mode(mechanism, mode)
    (rows,), shape = rows_of(mechanism, q)
    tip, places = Tip(alone, link, xyz), places_of(mechanism, alone)
    J = np.zeros((len(rows), 6, shape[-1]))
    rows = rows[:, places]
    if alone.constrained:
        assembly = assemble(tip.model)
        full = poses(assembly, rows)
        free = [places[assembly.actuated.index(i)] for i in assembly.independent]
        J[..., free] = tip.jacobian(full) @ assembly.velocity_matrix(full)
    else:
        J[..., places] = tip.jacobian(rows)
    return J.reshape(*shape[:-1], 6, shape[-1])
