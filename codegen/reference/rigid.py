"""The NumPy reference: joint torques from incremental nodal forces, in the paper's matrix form, float64.

Three schemes fill the nodal forces F_i and moments Phi_i of {P}; the conversion {tau} = [L][T]{P}
(codegen/model/kinematics.py) is common. Distal sums are built anew from the nodal forces at every tick.

`midpoint`  increments of momentum over one tick, from positions and rates at the ticks' boundaries;
            the torque is the mean of the tick and so belongs to its middle.
`newton-euler`  no increments: rates and accelerations of the motion at the middle of each tick.
`newmark`   the paper's: increments of the kinematics of the centre-of-gravity nodes, integrated by Newmark's method
            from the increments of position alone, {P} carried on by {P} <- {P} + {dp} (Eq. 18);
            the torque belongs to the sampled instants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codegen.model.beam_element import joint_springs, node_mass
from codegen.model.bodies import GROUND, Model
from codegen.model.kinematics import (
    Levers,
    Pose,
    joint_torque,
    joint_torque_matrix,
    levers,
    nodal_forces,
    pose,
    rotate,
    rotate_back,
)
from codegen.model.loop_assembly import Assembly, ClosedMotion, Conversion, Motion, assemble
from codegen.model.modes import Later, has_modes, shares, stretches
from codegen.reference import flexible as elastic_reference

Array = NDArray[np.float64]


def matrix_form(model: Model, R: Array, arms: Levers, F: Array, Phi: Array) -> Array:
    """{tau} = [L][T]{P} by the dense matrices (Eq. 6), for stacks: R (..., n, 3, 3), F, Phi (..., n, 3)."""
    tau = np.empty(F.shape[:-1])
    for k in np.ndindex(F.shape[:-2]):
        matrix = joint_torque_matrix(model, R[k], Levers(arms.com[k], arms.joint[k]))
        tau[k] = matrix @ nodal_forces(model, F[k], Phi[k])
    return tau


def recursion(model: Model, R: Array, arms: Levers, F: Array, Phi: Array) -> Array:
    """The same by one pass from the tips to the base."""
    return joint_torque(model, R, arms, F, Phi)


def torque(model: Model, motion: Motion, ticks: int, convert: Conversion = matrix_form) -> tuple[Array, Array]:
    """Feed-forward torque of the first `ticks` ticks of a motion, in the scheme the mechanism asks for.

    Returns t (ticks,), the middles (k + 1/2) dt of the ticks, s, and tau (ticks, J) of the streamed joints, N m or N.
    Raises Refused where closed loops come to a singular pose. Of a mechanism with modes, through those that the
    motion (a Trajectory) names.
    """
    if has_modes(model.mechanism):
        tau = _through_modes(model, motion, ticks, lambda part, own: torque(part, own[0], own[1], convert)[1])
        return (np.arange(ticks, dtype=float) + 0.5) * model.dt, tau
    if model.mechanism.flexible:
        return elastic_reference.torque(model, motion, ticks)
    if model.mechanism.loops:
        assembly = assemble(model, _near(model, motion))
        t, tau = _torque(model, ClosedMotion(assembly, motion), ticks, closed_form(assembly, convert))
        return t, tau[:, list(assembly.actuated)]
    return _torque(model, motion, ticks, convert)


def exact(model: Model, motion: Motion, t: ArrayLike) -> Array:
    """Torques (N, J) of the streamed joints by Newton-Euler at times t (N,) s, without increments.

    With flexible links, which have to be marched, t is the middles of the first N ticks, and the ticks are finer; of
    a mechanism with modes they are these middles too.
    """
    if has_modes(model.mechanism):
        return _through_modes(model, motion, len(np.asarray(t)), lambda part, own: exact(
            part, own[0], (np.arange(own[1]) + 0.5) * part.dt))
    if model.mechanism.flexible:
        return elastic_reference.exact(model, motion, len(np.asarray(t)))
    return of_streamed(model, *motion.at(t), near=_near(model, motion))


def _near(model: Model, motion: Motion) -> dict[str, float] | None:
    """Where a mode's loops are closed from: the positions at which a motion enters it."""
    if not isinstance(motion, Later):
        return None
    q = np.asarray(motion.at(np.array([0.0]))[0], float)[0]
    return {joint.name: float(x) for joint, x in zip(model.mechanism.streamed, q, strict=True)}


def _through_modes(model: Model, motion: Motion, ticks: int,
                   part_torque: Callable[[Model, tuple[Motion, int]], Array]) -> Array:
    """Torques (ticks, J) of the streamed joints through the modes of a motion; passive ones are given none.

    The cuts' forces come and go by shares (`codegen.model.modes.shares`): any share of them is exact where all joints
    are actuated, the rest of the tree's torque being as if there were no cut.
    """
    mechanism = model.mechanism
    switches = getattr(motion, "modes", ())
    tau, given = np.zeros((ticks, len(mechanism.streamed))), shares(mechanism, switches, ticks)
    for part in stretches(mechanism, switches, ticks):
        rows, own = slice(part.first, part.first + part.ticks), (Later(motion, part.first * model.dt, part.places),
                                                                 part.ticks)
        found = part_torque(part.model, own)
        share = given[rows, None]
        if np.any(share < 1.0):
            control = replace(part.model.mechanism.control, allocation="partition")
            apart = part_torque(Model.of(replace(part.model.mechanism, control=control)), own)
            found = apart + share * (found - apart)
        tau[rows, list(part.places)] = found
    return tau


def of_streamed(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
                near: dict[str, float] | None = None) -> Array:
    """The same of rigid links, from positions, rates and accelerations (N, J) along a motion."""
    if not model.mechanism.loops:
        return newton_euler(model, q, qd, qdd)
    assembly = assemble(model, near)
    full = assembly.whole(q, qd, qdd)
    return newton_euler(model, *full, closed_form(assembly, recursion))[:, list(assembly.actuated)]


def closed_form(assembly: Assembly, convert: Conversion) -> Conversion:
    """The conversion with the loops closed; or, if the mechanism asks for the partition alone, as if they were open."""
    return convert if assembly.model.mechanism.control.allocation == "partition" else assembly.conversion(convert)


def _torque(model: Model, motion: Motion, ticks: int, convert: Conversion) -> tuple[Array, Array]:
    """As `torque`, of all joints."""
    dt = model.dt
    middles = (np.arange(ticks, dtype=float) + 0.5) * dt
    control = model.mechanism.control
    if control.scheme == "newmark":
        q, qd, qdd = motion.at((np.arange(ticks + 1) - 0.5) * dt)
        start = newmark_start(model, q[0], qd[0], qdd[0])
        return middles, newmark_torque(model, q, start, control.beta, control.gamma, convert)[1:]
    if model.scheme == "newton-euler" and not model.mechanism.loops:
        return middles, newton_euler(model, *motion.at(middles), convert)
    q, qd, _ = motion.at(np.arange(ticks + 1) * dt)
    return middles, midpoint_torque(model, q, qd, convert)


def newton_euler(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, convert: Conversion = recursion) -> Array:
    """Torques (..., n) at the instants that positions, rates and accelerations (..., n) belong to.

    No increments and no error in dt: what the incremental schemes approximate, for figures and error reports.
    """
    q = np.asarray(q, float)
    at, loads = pose(model, q), newmark_start(model, q, qd, qdd)
    arms = levers(model, at)
    F, Phi = with_springs(model, at, arms, q, loads.F, loads.Phi)
    return convert(model, at.R, arms, F, Phi)


# ---- midpoint: momentum increments -----------------------------------------------------------------


@dataclass(frozen=True)
class Momenta:
    """Of every centre-of-gravity node: linear p (..., n, 3) kg m/s and angular h (..., n, 3) kg m^2/s, global axes."""

    p: Array
    h: Array


def momenta(model: Model, at: Pose, qd: ArrayLike) -> Momenta:
    """p_i = m_i v_i and h_i = R_i J_i R_i' w_i by the velocity recursion alone: no accelerations anywhere."""
    qd = np.asarray(qd, float)
    arms = levers(model, at)
    w, v = np.zeros_like(at.origin), np.zeros_like(at.origin)  # of the body frames
    p, h = np.empty_like(at.origin), np.empty_like(at.origin)
    for i, body in enumerate(model.bodies):
        R = at.R[..., i, :, :]
        if body.parent != GROUND:
            w[..., i, :] = w[..., body.parent, :]
            v[..., i, :] = v[..., body.parent, :] + np.cross(w[..., i, :], arms.joint[..., i, :])
        along = (R @ body.axis) * qd[..., i, None]
        if body.prismatic:
            v[..., i, :] += along
        else:
            w[..., i, :] += along
        M = node_mass(body)
        v_com = v[..., i, :] + np.cross(w[..., i, :], arms.com[..., i, :])
        p[..., i, :] = v_com @ M[:3, :3]
        h[..., i, :] = rotate(R, rotate_back(R, w[..., i, :]) @ M[3:, 3:])
    return Momenta(p, h)


def midpoint_torque(model: Model, q: ArrayLike, qd: ArrayLike, convert: Conversion = matrix_form) -> Array:
    """Mean torques of N ticks from positions and rates (N + 1, n) at their boundaries. Shape (N, n).

    F_i = (p_i(t + dt) - p_i(t)) / dt - m_i g,  Phi_i = (h_i(t + dt) - h_i(t)) / dt, lever arms the mean of both
    boundaries. Link axes, a matter of notation for the sums but not for the joint's axis, are those half-way.
    """
    q, qd, dt = np.asarray(q, float), np.asarray(qd, float), model.dt
    boundary, middle = pose(model, q), pose(model, (q[1:] + q[:-1]) / 2.0)
    momentum = momenta(model, boundary, qd)
    weight = np.array([body.mass for body in model.bodies])[:, None] * model.gravity
    F = np.diff(momentum.p, axis=0) / dt - weight
    Phi = np.diff(momentum.h, axis=0) / dt
    arms = levers(model, boundary)
    com, joint = (arms.com[1:] + arms.com[:-1]) / 2.0, (arms.joint[1:] + arms.joint[:-1]) / 2.0
    F, Phi = with_springs(model, middle, Levers(com, joint), (q[1:] + q[:-1]) / 2.0, F, Phi)
    return convert(model, middle.R, Levers(com, joint), F, Phi)


def with_springs(model: Model, at: Pose, arms: Levers, q: Array, F: Array, Phi: Array) -> tuple[Array, Array]:
    """F, Phi (..., n, 3) with the nodal loads K u of the joints' springs, equal and opposite on link and parent.

    A sliding joint's force acts along one line through the joint, hence the moments it has about both nodes.
    """
    springs = joint_springs(model)
    F, Phi = F.copy(), Phi.copy()
    for i in np.flatnonzero(springs.stiffness).tolist():
        body = model.bodies[i]
        load = (at.R[..., i, :, :] @ body.axis) * (springs.stiffness[i] * (q[..., i, None] - springs.rest[i]))
        nodes = [(1.0, i, -arms.com[..., i, :])]  # sign, node, from the node to the joint
        if body.parent != GROUND:
            nodes.append((-1.0, body.parent, arms.joint[..., i, :] - arms.com[..., body.parent, :]))
        for sign, node, to_joint in nodes:
            if body.prismatic:
                F[..., node, :] += sign * load
                Phi[..., node, :] += sign * np.cross(to_joint, load)
            else:
                Phi[..., node, :] += sign * load
    return F, Phi


# ---- newmark: the paper's scheme --------------------------------------------------------------------


def newmark_matrix(beta: float, gamma: float) -> Array:
    """How an error in (v dt, a dt^2) is carried to the next step when displacements are prescribed, (2, 2)."""
    return np.array([
        [1.0 - gamma / beta, 1.0 - gamma / (2.0 * beta)],
        [-1.0 / beta, 1.0 - 1.0 / (2.0 * beta)],
    ])


def newmark_growth(beta: float, gamma: float) -> float:
    """Largest |eigenvalue| of the inverse use: errors die out only if it is below 1.

    The paper's beta = 1/4, gamma = 1/2 has -1 twice with one eigenvector: errors grow in proportion to time.
    """
    A = newmark_matrix(beta, gamma)
    half_trace, determinant = np.trace(A) / 2.0, 1.0 + (0.5 - gamma) / beta
    # by the quadratic formula: a numerical eigenvalue of a defective matrix is good to half the digits only
    return float(np.max(np.abs(half_trace + np.array([1.0, -1.0]) * np.emath.sqrt(half_trace**2 - determinant))))


@dataclass(frozen=True)
class NewmarkState:
    """Kinematics of the centre-of-gravity nodes and {P} without its distal sums; each (..., n, 3).

    v, a: velocity and acceleration, global; w, alpha: angular velocity and acceleration, link axes; F, Phi: nodal
    forces and moments, global.
    """

    v: Array
    a: Array
    w: Array
    alpha: Array
    F: Array
    Phi: Array


def newmark_start(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> NewmarkState:
    """The state a motion starts from, with the {P}_0 that increments alone never create (and the paper leaves out).

    F_i = m_i (a_i - g), Phi_i = R_i (J_i alpha_i + w_i x J_i w_i), from q, qd, qdd (..., n).
    """
    q, qd, qdd = (np.asarray(x, float) for x in (q, qd, qdd))
    at = pose(model, q)
    arms = levers(model, at)
    v, a, w, alpha = (np.zeros_like(at.origin) for _ in range(4))  # of the body frames, global
    for i, body in enumerate(model.bodies):
        own = (..., i, slice(None))
        u = at.R[..., i, :, :] @ body.axis
        if body.parent != GROUND:
            on, l = (..., body.parent, slice(None)), arms.joint[own]
            w[own], alpha[own] = w[on], alpha[on]
            v[own] = v[on] + np.cross(w[on], l)
            a[own] = a[on] + np.cross(alpha[on], l) + np.cross(w[on], np.cross(w[on], l))
        if body.prismatic:
            v[own] += u * qd[..., i, None]
            a[own] += u * qdd[..., i, None] + 2.0 * np.cross(w[own], u) * qd[..., i, None]
        else:
            alpha[own] += u * qdd[..., i, None] + np.cross(w[own], u) * qd[..., i, None]
            w[own] += u * qd[..., i, None]
    v += np.cross(w, arms.com)
    a += np.cross(alpha, arms.com) + np.cross(w, np.cross(w, arms.com))
    w, alpha = rotate_back(at.R, w), rotate_back(at.R, alpha)
    return NewmarkState(v, a, w, alpha, *_inertial_loads(model, at, a - model.gravity, w, alpha))


def newmark_torque(model: Model, q: ArrayLike, start: NewmarkState, beta: float, gamma: float,
                   convert: Conversion = matrix_form) -> Array:
    """Torques at all sampled instants, one tick apart, positions q (samples, n), state `start` at the first one."""
    q = np.asarray(q, float)
    state = start
    rows = []
    for k in range(len(q)):
        at = pose(model, q[k])
        if k > 0:
            state = newmark_step(model, state, pose(model, q[k - 1]), at, (q[k] - q[k - 1]) / 2.0, beta, gamma)
        arms = levers(model, at)
        F, Phi = with_springs(model, at, arms, q[k], state.F, state.Phi)
        rows.append(convert(model, at.R, arms, F, Phi))
    return np.array(rows).reshape(q.shape)


def newmark_step(model: Model, state: NewmarkState, old: Pose, new: Pose, u: Array, beta: float,
                 gamma: float) -> NewmarkState:
    """One step: nodal increments from half increments u (n,) of the joints, Newmark, {P} <- {P} + {dp} (Eq. 18)."""
    shift, turn = nodal_increments(model, old, u)
    v, a = newmark(shift, state.v, state.a, model.dt, beta, gamma)
    w, alpha = newmark(turn, state.w, state.alpha, model.dt, beta, gamma)
    before = _inertial_loads(model, old, state.a, state.w, state.alpha)
    after = _inertial_loads(model, new, a, w, alpha)
    dF, dPhi = after[0] - before[0], after[1] - before[1]
    return NewmarkState(v, a, w, alpha, state.F + dF, state.Phi + dPhi)


def newmark(du: Array, v: Array, a: Array, dt: float, beta: float, gamma: float) -> tuple[Array, Array]:
    """Velocity and acceleration after a prescribed displacement increment du: Newmark's equations solved for them."""
    a_next = (du - v * dt) / (beta * dt**2) - (1.0 / (2.0 * beta) - 1.0) * a
    return v + dt * ((1.0 - gamma) * a + gamma * a_next), a_next


def nodal_increments(model: Model, old: Pose, u: Array) -> tuple[Array, Array]:
    """Displacement increments of the centre-of-gravity nodes, both (n, 3), without differences of positions.

    Returns the shift, global axes, m, and the rotation vector, link axes (it is the same in the old and in the new
    ones), rad. Rotations are carried down the tree as Rodrigues vectors r = tan(angle / 2) axis; a vector x that turns
    with one changes by 2 / (1 + r.r) r x (x + r x x).
    """
    arms = levers(model, old)
    n = model.n
    r, shift = np.zeros((n, 3)), np.zeros((n, 3))
    for i, body in enumerate(model.bodies):
        axis = old.R[i] @ body.axis
        if body.parent != GROUND:
            r[i] = r[body.parent]
            shift[i] = shift[body.parent] + _turned(r[i], arms.joint[i])
        if body.prismatic:
            along = 2.0 * u[i] * axis
            shift[i] += along + _turned(r[i], along)
        else:
            own = np.tan(u[i]) * axis
            r[i] = (r[i] + own + np.cross(r[i], own)) / (1.0 - r[i] @ own)
    shift += np.array([_turned(r[i], arms.com[i]) for i in range(n)])
    size = np.linalg.norm(r, axis=1)
    half = np.divide(np.arctan(size), size, out=np.ones(n), where=size > 0.0)
    return shift, rotate_back(old.R, 2.0 * half[:, None] * r)


def _turned(r: Array, x: Array) -> Array:
    """R x - x of the rotation with Rodrigues vector r."""
    return 2.0 / (1.0 + r @ r) * np.cross(r, x + np.cross(r, x))


def _inertial_loads(model: Model, at: Pose, a: Array, w: Array, alpha: Array) -> tuple[Array, Array]:
    """Nodal forces m a and moments R (J alpha + w x J w), global axes, (..., n, 3) each."""
    M = np.array([node_mass(body) for body in model.bodies])
    mass, J = M[:, :3, :3], M[:, 3:, 3:]
    return rotate(mass, a), rotate(at.R, rotate(J, alpha) + np.cross(w, rotate(J, w)))
