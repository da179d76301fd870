"""The NumPy reference in float64: joint torques from incremental nodal forces, in the matrix form of the paper.

{P} contains nodal forces F_i and moments Phi_i. These are increments of momentum over one tick (`incremental_torque`),
or inertial forces computed without increments (`newton_euler`). Both functions use one conversion {tau} = [L][T]{P}
(codegen/model/kinematics.py). In every tick the distal sums are recomputed from the nodal forces. The paper's time
integration is in codegen/reference/newmark.py."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, cross, product
from femtorque.codegen.model import (
    GROUND, Conversion, Levers, Model, PassiveFriction, Pose, joint_axes, joint_springs, joint_torque,
    joint_torque_matrix, levers, nodal_forces, node_masses, pose, rotate, rotate_back, velocities)


def matrix_form(model: Model, R: Array, arms: Levers, F: Array, Phi: Array) -> Array:
    """Return {tau} = [L][T]{P} by the dense matrices (Eq. 6), for stacks: R (..., n, 3, 3), F, Phi (..., n, 3)."""
    tau = np.empty(F.shape[:-1])
    for k in np.ndindex(F.shape[:-2]):
        matrix = joint_torque_matrix(model, R[k], Levers(arms.com[k], arms.joint[k]))
        tau[k] = matrix @ nodal_forces(model, F[k], Phi[k])
    return tau


recursion = joint_torque  # one pass from the tips to the base


def newton_euler(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, convert: Conversion = recursion) -> Array:
    """Return torques (..., n) at positions, velocities and accelerations (..., n). The torques are computed without
    increments, so they have no error that depends on dt."""
    q = np.asarray(q, float)
    at = pose(model, q)
    arms = levers(model, at)
    loads = _state(model, at, arms, qd, qdd)
    F, Phi = with_joint_loads(model, at, arms, q, loads.F, loads.Phi, np.asarray(qd, float))
    return convert(model, at.R, arms, F, Phi)


# ---- increments of momentum ------------------------------------------------------------------------


def nodal_momenta(model: Model, at: Pose, arms: Levers, w: Array, v: Array) -> tuple[Array, Array]:
    """Return p_i = m_i v_i, kg m/s, and h_i = R_i J_i R_i' w_i, kg m^2/s, of the centre-of-gravity nodes, (..., n, 3),
    global axes. w, v: results of `velocities`. The momenta do not depend on accelerations."""
    mass, J = node_masses(model)
    return rotate(mass, v + cross(w, arms.com)), rotate(at.R, rotate(J, rotate_back(at.R, w)))


def incremental_torque(model: Model, q: ArrayLike, qd: ArrayLike, convert: Conversion = matrix_form) -> Array:
    """Return the mean torques (N, n) of N ticks. q, qd (N + 1, n): positions and velocities at the ticks' boundaries.
    F_i = (p_i(t + dt) - p_i(t)) / dt - m_i g, Phi_i = (h_i(t + dt) - h_i(t)) / dt, and the lever arms are the mean of
    those at both boundaries. The link axes are those at the middle of the tick, which only affects the direction of the
    joint's axis."""
    q, qd, dt = np.asarray(q, float), np.asarray(qd, float), model.dt
    boundary, middle = pose(model, q), pose(model, (q[1:] + q[:-1]) / 2.0)
    arms = levers(model, boundary)
    p, h = nodal_momenta(model, boundary, arms, *velocities(model, boundary, arms, qd))
    weight = np.array([body.mass for body in model.bodies])[:, None] * model.gravity
    F, Phi = np.diff(p, axis=0) / dt - weight, np.diff(h, axis=0) / dt
    com, joint = (arms.com[1:] + arms.com[:-1]) / 2.0, (arms.joint[1:] + arms.joint[:-1]) / 2.0
    mean, rate = (q[1:] + q[:-1]) / 2.0, np.diff(q, axis=0) / dt
    F, Phi = with_joint_loads(model, middle, Levers(com, joint), mean, F, Phi, rate)
    return convert(model, middle.R, Levers(com, joint), F, Phi)


def with_joint_loads(model: Model, at: Pose, arms: Levers, q: Array, F: Array, Phi: Array,
                     qd: Array | None = None) -> tuple[Array, Array]:
    """Return F, Phi (..., n, 3), including the nodal loads at the joints: springs K u, and friction of passive joints
    at qd (..., n). The loads on the link and on its parent are equal and opposite. Open trees need no qd. The force of
    a prismatic joint acts along one line through the joint, so it has a moment about each node."""
    springs, friction = joint_springs(model), PassiveFriction.of(model)
    torque = springs.stiffness * (q - springs.rest)
    if friction.joints and qd is not None:
        torque = torque + friction.torque(qd)
    F, Phi = F.copy(), Phi.copy()
    for i in sorted({*np.flatnonzero(springs.stiffness).tolist(), *friction.joints}):
        body = model.bodies[i]
        load = product(at.R[..., i, :, :], body.axis) * torque[..., i, None]
        nodes = [(1.0, i, -arms.com[..., i, :])]  # sign, node, vector from the node to the joint
        if body.parent != GROUND:
            nodes.append((-1.0, body.parent, arms.joint[..., i, :] - arms.com[..., body.parent, :]))
        for sign, node, to_joint in nodes:
            if body.prismatic:
                F[..., node, :] += sign * load
                Phi[..., node, :] += sign * cross(to_joint, load)
            else:
                Phi[..., node, :] += sign * load
    return F, Phi


# ---- accelerations ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodalState:
    """Kinematics of the centre-of-gravity nodes, and {P} without its distal sums, (..., n, 3) each. v, a: velocity and
    acceleration, global; w, alpha: angular velocity and acceleration, link axes; F, Phi: nodal forces and moments,
    global."""

    v: Array
    a: Array
    w: Array
    alpha: Array
    F: Array
    Phi: Array


def accelerations(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> NodalState:
    """Return the state of the nodes at positions, velocities and accelerations q, qd, qdd (..., n) of the joints. An
    incremental computation of a motion starts from this state. Increments alone do not give the initial {P}_0, which
    the paper does not define. F_i = m_i (a_i - g), Phi_i = R_i (J_i alpha_i + w_i x J_i w_i)."""
    at = pose(model, q)
    return _state(model, at, levers(model, at), qd, qdd)


def _state(model: Model, at: Pose, arms: Levers, qd: ArrayLike, qdd: ArrayLike) -> NodalState:
    qd, qdd, axes = np.asarray(qd, float), np.asarray(qdd, float), joint_axes(model, at)
    w, v = velocities(model, at, arms, qd)
    a, alpha = np.zeros_like(at.origin), np.zeros_like(at.origin)  # velocities of the body frames, global
    for i, body in enumerate(model.bodies):
        own = (..., i, slice(None))
        if body.parent != GROUND:
            on, l = (..., body.parent, slice(None)), arms.joint[own]
            a[own] = a[on] + cross(alpha[on], l) + cross(w[on], cross(w[on], l))
            alpha[own] = alpha[on]
        turning = cross(w[own], axes[own]) * qd[..., i, None]
        if body.prismatic:
            a[own] += axes[own] * qdd[..., i, None] + 2.0 * turning
        else:
            alpha[own] += axes[own] * qdd[..., i, None] + turning
    v += cross(w, arms.com)
    a += cross(alpha, arms.com) + cross(w, cross(w, arms.com))
    w, alpha = rotate_back(at.R, w), rotate_back(at.R, alpha)
    return NodalState(v, a, w, alpha, *inertial_loads(model, at, a - model.gravity, w, alpha))


def inertial_loads(model: Model, at: Pose, a: Array, w: Array, alpha: Array) -> tuple[Array, Array]:
    """Return nodal forces m a and moments R (J alpha + w x J w), global axes, (..., n, 3) each."""
    mass, J = node_masses(model)
    return rotate(mass, a), rotate(at.R, rotate(J, alpha) + cross(w, rotate(J, w)))
