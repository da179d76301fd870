"""Scheme "printed" without optimisation in float64: the paper's step, in which increments of the nodes' momenta update
{P}.

Over the tick from s_k to s_k+1, the centre-of-gravity node of a link moves by d, and rotates with Rodrigues' vector r =
tan(angle / 2) axis. d and r are increments, which are computed from the joints' increments. The node's momenta are

    p = m d / dt,     h = 2 / (1 + r.r) (J r + r x J r) / dt,

with J in the pose at s_k. h is the sum of m x_k x x_k+1 / dt over the points of the link. For a small rotation h equals
J w. Two of these momenta enclose the interval around s_k. The nodal forces of this tick are the increments of the
momenta, less the weight:

    F = (p_after - p_before) / dt - m g,     Phi = (h_after - h_before) / dt.

{P} is updated by {P} <- {P} + {dp} (Eqs 17, 18), and [L][T] at s_k converts {P} to torques (Eqs 5 to 15). The scheme
follows from a discrete Lagrangian, in which all points of the links move along chords during a tick. Errors do not
accumulate, and the scheme adds no damping."""

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, cross, dot
from femtorque.codegen.model import (
    GROUND, Conversion, Model, Pose, joint_axes, levers, node_masses, pose, rotate, rotate_back)
from femtorque.codegen.reference.rigid import recursion, with_joint_loads


def node_increments(model: Model, old: Pose, u: Array) -> tuple[Array, Array]:
    """Return the increments of the centre-of-gravity nodes. u (..., n): half increments of the joints at a pose.

    The increments are (..., n, 3), global axes: displacement, m, and Rodrigues' vector r of the rotation. The
    increments are computed without differences of positions. This rotation changes a vector x by 2 / (1 + r.r) r x (x +
    r x x)."""
    arms, axes = levers(model, old), joint_axes(model, old)
    r, shift = np.zeros_like(axes), np.zeros_like(axes)
    for i, body in enumerate(model.bodies):
        own, half = (..., i, slice(None)), u[..., i, None]
        if body.parent != GROUND:
            on = (..., body.parent, slice(None))
            r[own] = r[on]
            shift[own] = shift[on] + _turned(r[own], arms.joint[own])
        if body.prismatic:
            along = 2.0 * half * axes[own]
            shift[own] += along + _turned(r[own], along)
        else:
            turn = np.tan(half) * axes[own]
            r[own] = (r[own] + turn + cross(r[own], turn)) / (1.0 - dot(r[own], turn)[..., None])
    return shift + _turned(r, arms.com), r


def _turned(r: Array, x: Array) -> Array:
    """Return R x - x for the rotation with Rodrigues' vector r."""
    return 2.0 / (1.0 + dot(r, r)[..., None]) * cross(r, x + cross(r, x))


def tick_momenta(model: Model, at: Pose, u: Array) -> tuple[Array, Array]:
    """Return linear momentum p, kg m/s, and angular momentum h, kg m^2/s, of the nodes in the tick that starts at a
    pose. Both are (..., n, 3) in global axes. u (..., n): half increments of the joints."""
    mass, J = node_masses(model)
    shift, r = node_increments(model, at, u)
    Jr = rotate(at.R, rotate(J, rotate_back(at.R, r)))
    return rotate(mass, shift) / model.dt, 2.0 / (1.0 + dot(r, r)[..., None]) * (Jr + cross(r, Jr)) / model.dt


def between(model: Model, q: ArrayLike, before: Array, after: Array, convert: Conversion = recursion) -> Array:
    """Return torques (..., n) at positions q (..., n), computed from the half increments of the ticks before and after.

    For the tick before, the same function is used with time reversed: increments and momenta change sign."""
    q = np.asarray(q, float)
    at = pose(model, q)
    (p, h), (p_back, h_back) = tick_momenta(model, at, after), tick_momenta(model, at, -before)
    qd = (before + after) / model.dt
    return _converted(model, at, q, (p + p_back) / model.dt - _weight(model), (h + h_back) / model.dt, convert, qd)


def _weight(model: Model) -> Array:
    return np.array([body.mass for body in model.bodies])[:, None] * model.gravity


def _converted(model: Model, at: Pose, q: Array, F: Array, Phi: Array, convert: Conversion,
               qd: Array | None = None) -> Array:
    """Return {tau} = [L][T]{P}, where {P} includes the springs' K u and the passive joints' friction."""
    arms = levers(model, at)
    return convert(model, at.R, arms, *with_joint_loads(model, at, arms, q, F, Phi, qd))


def printed_torque(model: Model, positions: Array, u: Array, convert: Conversion = recursion) -> Array:
    """Return torques (N, n) from positions (N+2, n) and half increments u (N+1, n). {P} goes from tick to tick."""
    before = pose(model, positions[:-1])
    at = Pose(before.R[1:], before.origin[1:])
    F, Phi = (_summed(np.diff(x, axis=0) / model.dt) for x in tick_momenta(model, before, u))
    return _converted(model, at, positions[1:-1], F - _weight(model), Phi, convert)


def _summed(forces: Array) -> Array:
    """Return the sums {P} <- {P} + {dp} of nodal forces (N, n, 3), one after each tick."""
    return np.cumsum(np.concatenate([forces[:1], np.diff(forces, axis=0)]), axis=0)
