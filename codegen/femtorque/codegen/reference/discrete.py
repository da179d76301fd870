"""The emitted discretisation, written plainly: the torques of ft_step, in float64 and global coordinates.

Positions are sampled at the middles s_k of the intervals over which a torque is held. There are four forms, all of
second order. Each takes positions q(s_-1)..q(s_N), (N+2, J), and half increments u = (q(s_k+1) - q(s_k)) / 2, (N+1, J).

*Spatial* (any mechanism). The variational midpoint rule: over each step the mechanism sits at the mean position q_k+1/2
and moves at the mean velocity, which gives the generalised momentum P_j and the force D_j with which the motion and
gravity turn joint j; the torque that makes both sides of s_k fit together is (THEORY.md section 4)

    tau_j = (P_j - D_j) - X_j,     X_j <- P_j + D_j.

*Planar* (all joints revolute, all axes parallel). The paper's own form: second differences of the nodes are their
accelerations, and the nodal forces act at the lever arms of s_k (Eqs 5-15 on sampled positions).

*Central* (scheme "newton-euler"; any mechanism). Newton-Euler with the velocities and accelerations that central
differences give at s_k. No difference of momenta is taken.

*Nodal* (scheme "nodal"; any mechanism): codegen/reference/nodal.py.

Closed loops (`Closed`) take the central or the nodal form. The constraint gives the velocities and accelerations of the
dependent joints.

tests/codegen/reference/test_discrete.py shows that all forms converge to Newton-Euler as dt^2. The emitted C in double
precision is compared with this file.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Refused, cross, dot, norm, product, sin_cos, square
from femtorque.codegen.mechanism import Vector
from femtorque.codegen.model import (
    GROUND, SINGULAR, Model, Pose, assemble, carried, joint_axes, joint_springs, joint_stiffness, joint_torque, levers,
    pose, velocities)
from femtorque.codegen.reference.discrete_flexible import Flexible
from femtorque.codegen.reference.nodal import between, nodal_torque
from femtorque.codegen.reference.rigid import newton_euler, nodal_momenta

Joints = NDArray[np.float64]  # shape (J,), or (..., J) for many instants

PARALLEL = 1e-9  # sine of the angle below which two unit axes are parallel


def is_planar(model: Model) -> bool:
    """Return whether all joints are revolute, without springs, about parallel axes. Such trees take the planar form."""
    axes = joint_axes(model, pose(model, np.zeros(model.n)))
    return all(
        not body.prismatic and joint_stiffness(model, j) == 0.0 and norm(cross(axes[0], axis)) < PARALLEL
        for j, (body, axis) in enumerate(zip(model.bodies, axes, strict=True))
    )


def momenta(model: Model, q: Joints, qd: Joints) -> tuple[Joints, Joints]:
    """Return the generalised momentum dT/dq' and force d(T - V)/dq at positions q and velocities q', all (..., J). A
    joint moves with v and turns with w. S and N are linear and angular momentum of all that it carries, N about the
    joint. dT/dq' is their component along the joint's axis. dT/dq is the component of N x w + S x v (turning) or S x w
    (sliding). V is the potential of weights and springs."""
    at = pose(model, q)
    arms = levers(model, at)
    w, v = velocities(model, at, arms, qd)
    p, h = nodal_momenta(model, at, arms, w, v)
    S, N = carried(model, arms, p, h)
    slides = np.array([body.prismatic for body in model.bodies])[:, None]
    change = np.where(slides, cross(S, w), cross(N, w) + cross(S, v))
    weight = np.zeros_like(p) + np.array([body.mass for body in model.bodies])[:, None] * model.gravity
    springs = joint_springs(model)
    force = dot(joint_axes(model, at), change) + joint_torque(model, at.R, arms, weight, np.zeros_like(p))
    return joint_torque(model, at.R, arms, p, h), force - springs.stiffness * (q - springs.rest)


def spatial_torque(model: Model, positions: Joints, u: Joints) -> Joints:
    """Return torques (N, J) by the variational midpoint rule."""
    P, force = momenta(model, positions[1:] - u, 2.0 * u / model.dt)
    D = 0.5 * model.dt * force
    return ((P - D)[1:] - (P + D)[:-1]) / model.dt


def planar_torque(model: Model, positions: Joints, u: Joints) -> Joints:
    """Return torques (N, J) from second differences of the nodes' places and turns; all joints' axes are parallel."""
    at_zero, now = pose(model, np.zeros(model.n)), pose(model, positions[:-1])
    axes = joint_axes(model, at_zero)
    normal, turn = axes[0], np.zeros(u.shape)
    for j, body in enumerate(model.bodies):
        turn[..., j] = 2.0 * u[..., j] * product(normal, axes[j])
        if body.parent != GROUND:
            turn[..., j] += turn[..., body.parent]
    moved = np.stack([_displacement(model, j, now, turn, normal) for j in range(model.n)], axis=-2)
    change, turned = np.diff(moved, axis=0), np.diff(sin_cos(turn)[0], axis=0)
    R, origin, tau = now.R[1:], now.origin[1:], np.zeros(turned.shape)
    for i, body in enumerate(model.bodies):
        inertia = float(product(normal, at_zero.R[i], body.inertia, at_zero.R[i].T, normal))
        force = body.mass * (change[..., i, :] / model.dt**2 - model.gravity)
        moment = inertia * turned[..., i, None] / model.dt**2 * normal
        centre = product(R[..., i, :, :], body.com) + origin[..., i, :]
        j = i
        while j != GROUND:
            tau[..., j] += product(cross(centre - origin[..., j, :], force) + moment, axes[j])
            j = model.bodies[j].parent
    return tau


def _displacement(model: Model, i: int, now: Pose, turn: Joints, normal: Vector) -> NDArray[np.float64]:
    """Return the displacement (..., 3) of body i's centre of gravity if every body turns by `turn` (..., J) about the
    normal. The rigid vectors are summed from the base out, so no small difference of large positions is taken."""
    total, j = np.zeros((*turn.shape[:-1], 3)), i
    tip = product(now.R[..., i, :, :], model.bodies[i].com) + now.origin[..., i, :]
    while j != GROUND:
        arm, angle = tip - now.origin[..., j, :], turn[..., j, None]
        across = arm - product(arm, normal)[..., None] * normal
        total += sin_cos(angle)[0] * cross(normal, arm) - 2.0 * sin_cos(0.5 * angle)[0] ** 2 * across
        tip, j = now.origin[..., j, :], model.bodies[j].parent
    return total


def central_torque(model: Model, positions: Joints, u: Joints) -> Joints:
    """Return torques (N, J) by Newton-Euler with central differences of the positions."""
    before, after = u[:-1], u[1:]
    return newton_euler(model, positions[1:-1], (after + before) / model.dt, 2.0 * (after - before) / model.dt**2)


PACE_OF_CORRECTION = 0.02  # rad or m: a longer correction is a jump to another branch
SWING = 0.75  # rad or m in half a tick: with its correction within pi/4, the most that a step turns by
PASSES, SETTLED = 30, 1e-12  # passes over a motion until predictions change by rounding only; rad or m


class Closed:
    """The central or the nodal form with the loops closed.

    qd_d = G qd_i, qdd_d = G qdd_i - J_d^-1 dJ_c/dt qd. The velocity matrix G carries the dependent joints' torques to
    the independent joints. Positions advance by velocity and acceleration, and by the correction of the pose before.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.assembly = model, assemble(model)
        a = self.assembly
        self.bound = list(a.dependent)
        self.places = [a.actuated.index(i) for i in a.independent]

    def torque(self, positions: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return torques (N, J) of the actuated joints. Raises Refused at a singular pose.

        The C predicts each pose from the one before. Here every pass predicts all poses from those of the last pass,
        until they settle.
        """
        a, u = self.assembly, u[:, self.places]
        at, before, far = a.follow(positions[:-1]), np.concatenate([np.zeros_like(u[:1]), u[:-1]]), np.inf
        for _ in range(PASSES):
            J, qd, qdd = a.jacobian(at)[..., self.bound], *self._moves(at, before, u)
            x = -np.linalg.solve(J, a.residual(at)[..., None])[..., 0]
            advance = self._advance(qd, qdd)[:, self.bound] + x
            off = (at[:-1, self.bound] + advance[:-1]) - at[1:, self.bound]
            at[1:, self.bound] += off
            last, far = far, float(np.max(np.abs(off), initial=0.0))
            if far < SETTLED and far >= 0.5 * last:
                break
        else:
            raise AssertionError("predictions do not settle")
        if np.max(np.abs(x), initial=0.0) > PACE_OF_CORRECTION or not np.all(a.margin(at) > SINGULAR):
            raise Refused(f"{self.model.mechanism.name}: the motion leads through a singular pose")
        if not np.all(np.abs(self._advance(qd, qdd)[:, self.bound]) <= 2.0 * SWING):
            raise Refused(f"{self.model.mechanism.name}: the motion leads through a singular pose")
        tau = self._tree(at[1:], qd[1:], qdd[1:])
        return self._allocate(tau, a.velocity_matrix(at[1:]))

    def _moves(self, q: Joints, before: Joints, after: Joints) -> tuple[Joints, Joints]:
        """Return velocities and accelerations (..., n) in poses q (..., n). before, after: half increments (...,
        mobility) of the independent joints on both sides."""
        dt = self.model.dt
        qd = self.assembly.velocities(q, (after + before) / dt)
        return qd, self.assembly.accelerations(q, qd, 2.0 * (after - before) / dt**2)

    def _tree(self, q: Joints, qd: Joints, qdd: Joints) -> Joints:
        """Return torques of the open tree. The nodal form takes the half increments that velocity and acceleration
        give."""
        if self.model.scheme != "nodal":
            return newton_euler(self.model, q, qd, qdd)
        mean, change = 0.5 * self.model.dt * qd, 0.25 * square(self.model.dt) * qdd
        return between(self.model, q, mean - change, mean + change)

    def _advance(self, qd: Joints, qdd: Joints) -> Joints:
        """Return the increment from one sample to the next (..., n)."""
        return self.model.dt * qd + 0.5 * self.model.dt**2 * qdd

    def _allocate(self, tau: Joints, moves: NDArray[np.float64]) -> Joints:
        """Share Q = G' tau among the independent and the redundant joints. moves: G (..., n, mobility)."""
        a = self.assembly
        driven = list(a.actuated)
        if self.model.mechanism.control.allocation == "partition":
            return tau[..., driven]
        Q = np.einsum("...ij,...i->...j", moves, tau)
        A = moves[..., driven, :]
        weighted = A / a.weights()[:, None]
        inner = np.swapaxes(A, -1, -2) @ weighted
        return np.einsum("...ij,...j->...i", weighted, np.linalg.solve(inner, Q[..., None])[..., 0])


def form_of(model: Model) -> Callable[[Model, Joints, Joints], Joints]:
    """Return the form that is emitted for this model."""
    if model.mechanism.flexible:
        return lambda model, positions, u: Flexible(model).torque(positions, u)
    if model.mechanism.constrained:
        return lambda model, positions, u: Closed(model).torque(positions, u)
    if model.scheme == "newton-euler":
        return central_torque
    if model.scheme == "nodal":
        return nodal_torque
    return planar_torque if is_planar(model) else spatial_torque


def midpoint_torque(model: Model, positions: ArrayLike) -> NDArray[np.float64]:
    """Return torques (N, J), N m or N, at s_0..s_N-1 of a motion sampled at s_-1..s_N: positions (N+2, J), rad or m.

    The first increment primes the state, so a motion that starts with a velocity is right from its first sample.
    """
    positions = np.asarray(positions, float)
    return form_of(model)(model, positions, 0.5 * np.diff(positions, axis=0))
