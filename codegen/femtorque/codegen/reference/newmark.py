"""The paper's time integration by Newmark's method, in which increments of the nodes' kinematics update {P} (Eq. 18).
The torque refers to the sampling instants. No C is emitted for this scheme, because it is unstable with the paper's
beta and gamma."""

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.model import Conversion, Model, Pose, levers, pose, rotate_back
from femtorque.codegen.reference.printed import node_increments
from femtorque.codegen.reference.rigid import NodalState, inertial_loads, matrix_form, with_joint_loads


def newmark_matrix(beta: float, gamma: float) -> Array:
    """Return the matrix (2, 2) from an error in (v dt, a dt^2) to the next step's, for given displacements."""
    return np.array([
        [1.0 - gamma / beta, 1.0 - gamma / (2.0 * beta)],
        [-1.0 / beta, 1.0 - 1.0 / (2.0 * beta)],
    ])


def newmark_growth(beta: float, gamma: float) -> float:
    """Return the largest |eigenvalue| of the method with prescribed displacements.

    Errors decay only if this value is below 1. For the paper's beta = 1/4, gamma = 1/2 the matrix has the double
    eigenvalue -1 with one eigenvector, so errors grow in proportion to time."""
    A = newmark_matrix(beta, gamma)
    half_trace, determinant = np.trace(A) / 2.0, 1.0 + (0.5 - gamma) / beta
    # the quadratic formula, because numerical eigenvalues of a defective matrix lose half of their digits
    return float(np.max(np.abs(half_trace + np.array([1.0, -1.0]) * np.emath.sqrt(half_trace**2 - determinant))))


def newmark_torque(model: Model, q: ArrayLike, start: NodalState, beta: float, gamma: float,
                   convert: Conversion = matrix_form) -> Array:
    """Return torques at all sampling instants, a tick apart. q (samples, n): positions. start: the first state."""
    q = np.asarray(q, float)
    state = start
    rows = []
    for k in range(len(q)):
        at = pose(model, q[k])
        if k > 0:
            state = newmark_step(model, state, pose(model, q[k - 1]), at, (q[k] - q[k - 1]) / 2.0, beta, gamma)
        arms = levers(model, at)
        F, Phi = with_joint_loads(model, at, arms, q[k], state.F, state.Phi)
        rows.append(convert(model, at.R, arms, F, Phi))
    return np.array(rows).reshape(q.shape)


def newmark_step(model: Model, state: NodalState, old: Pose, new: Pose, u: Array, beta: float,
                 gamma: float) -> NodalState:
    """Return the next state: nodal increments from half increments u (n,), Newmark, {P} <- {P} + {dp} (Eq. 18)."""
    shift, turn = nodal_increments(model, old, u)
    v, a = newmark(shift, state.v, state.a, model.dt, beta, gamma)
    w, alpha = newmark(turn, state.w, state.alpha, model.dt, beta, gamma)
    before = inertial_loads(model, old, state.a, state.w, state.alpha)
    after = inertial_loads(model, new, a, w, alpha)
    dF, dPhi = after[0] - before[0], after[1] - before[1]
    return NodalState(v, a, w, alpha, state.F + dF, state.Phi + dPhi)


def newmark(du: Array, v: Array, a: Array, dt: float, beta: float, gamma: float) -> tuple[Array, Array]:
    """Return velocity and acceleration after a prescribed displacement increment du, by Newmark's equations."""
    a_next = (du - v * dt) / (beta * dt**2) - (1.0 / (2.0 * beta) - 1.0) * a
    return v + dt * ((1.0 - gamma) * a + gamma * a_next), a_next


def nodal_increments(model: Model, old: Pose, u: Array) -> tuple[Array, Array]:
    """Return the increments of the centre-of-gravity nodes, both (n, 3), without differences of positions.

    The increments are the displacement in global axes, m, and the rotation vector in link axes, rad. The vector has
    equal components in the link axes before and after the rotation."""
    shift, r = node_increments(model, old, u)
    size = np.linalg.norm(r, axis=1)
    half = np.divide(np.arctan(size), size, out=np.ones(model.n), where=size > 0.0)
    return shift, rotate_back(old.R, 2.0 * half[:, None] * r)
