"""The discretisation that is emitted, written plainly: what ft_step computes, in float64 and global coordinates.

Positions are sampled at the middles s_k of the intervals over which a torque is held. Four forms, all second order:

*Spatial* (any mechanism). The variational midpoint rule: over each step the mechanism sits at the mean position
q_k+1/2 and moves at the mean velocity, which gives the generalised momentum P_j and the force D_j with which the motion
and gravity turn joint j; the torque that makes both sides of s_k fit together is (THEORY.md section 4)

    tau_j = (P_j - D_j) - X_j,     X_j <- P_j + D_j.

*Planar* (all joints revolute, all axes parallel). The paper's own picture: the nodes' second differences are their
accelerations, and the nodal forces act at the lever arms of s_k (Eqs 5-15 on sampled positions).

*Newton-Euler* (scheme "newton-euler"; any mechanism). No difference of momenta: the velocities and accelerations at s_k
are those of central differences, from the increments on both sides of it.

*Nodal* (scheme "nodal"; any mechanism): codegen/reference/nodal.py.

Closed loops (`Closed`) take Newton-Euler or the nodal form, with the velocities and accelerations that the constraint
gives the dependent joints.

tests/codegen/reference/test_discrete.py shows all converge to Newton-Euler as dt^2, and the emitted C in double
precision is held against this file.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Refused, cross, dot, norm, product, sin_cos, square
from femtorque.codegen.mechanism import Vector
from femtorque.codegen.model import (
    GROUND, SINGULAR, Model, Pose, assemble, carried, joint_axes, joint_springs, joint_stiffness, joint_torque, levers,
    pose, velocities)
from femtorque.codegen.reference.discrete_flexible import Flexible
from femtorque.codegen.reference.nodal import Nodal, between
from femtorque.codegen.reference.rigid import newton_euler, nodal_momenta

Joints = NDArray[np.float64]  # shape (J,) or, of many instants at once, (..., J)

PARALLEL = 1e-9  # two unit axes count as parallel below this sine of the angle between them


def is_planar(model: Model) -> bool:
    """True if all joints are revolute without springs about parallel axes: such trees take the planar form."""
    axes = joint_axes(model, pose(model, np.zeros(model.n)))
    return all(
        not body.prismatic and joint_stiffness(model, j) == 0.0 and norm(cross(axes[0], axis)) < PARALLEL
        for j, (body, axis) in enumerate(zip(model.bodies, axes, strict=True))
    )


def momenta(model: Model, q: Joints, qd: Joints) -> tuple[Joints, Joints]:
    """Generalised momentum dT/dq' and generalised force d(T - V)/dq at positions q and velocities q', all (..., J).

    With linear momentum S and angular momentum N of all that a joint carries, N about the joint, which moves with v and
    turns with w, dT/dq' is their component along the joint's axis, and dT/dq that of N x w + S x v (turning) or S x w
    (sliding). V is that of the weights and of the springs.
    """
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


class Spatial:
    """The variational midpoint step of any tree."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.X = np.zeros(model.n)

    def start(self, q: ArrayLike) -> None:
        """At rest at q (J,), rad or m."""
        q = np.asarray(q, float)
        P, force = momenta(self.model, q, np.zeros_like(q))
        self.X = P + 0.5 * self.model.dt * force

    def step(self, q_next: ArrayLike, u: ArrayLike) -> Joints:
        """Torque (J,), N m or N, at s_k, from q(s_k+1) and u = (q(s_k+1) - q(s_k)) / 2, both (J,)."""
        before, after = self._sides(np.asarray(q_next, float), np.asarray(u, float))
        tau, self.X = before - self.X, after
        return tau / self.model.dt

    def torque(self, positions: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """All steps of a motion at once, as `torque` below, from its positions and half increments."""
        before, after = self._sides(positions[1:], u)
        return (before[1:] - after[:-1]) / self.model.dt

    def _sides(self, q_next: Joints, u: Joints) -> tuple[Joints, Joints]:
        """P - D and P + D (..., J) of the steps to q_next."""
        dt = self.model.dt
        P, force = momenta(self.model, q_next - u, 2.0 * u / dt)
        return P - 0.5 * dt * force, P + 0.5 * dt * force


class Planar:
    """The nodal step of trees whose joints all turn about parallel axes."""

    def __init__(self, model: Model) -> None:
        self.model = model
        at = pose(model, np.zeros(model.n))
        self.axes = joint_axes(model, at)
        self.normal = self.axes[0]
        self.inertia = [  # about the normal, through each centre of gravity
            float(product(self.normal, R, b.inertia, R.T, self.normal))
            for R, b in zip(at.R, model.bodies, strict=True)]

    def start(self, q: ArrayLike) -> None:
        """At rest at q (J,), rad."""
        self.moved = np.zeros((self.model.n, 3))  # of the centres of gravity in the last step
        self.turned = np.zeros(self.model.n)  # sine of the angle each body turned in the last step

    def step(self, q_next: ArrayLike, u: ArrayLike) -> Joints:
        """Torque (J,), N m, at s_k, from q(s_k+1) and u = (q(s_k+1) - q(s_k)) / 2, both (J,)."""
        q_next, u = np.asarray(q_next, float), np.asarray(u, float)
        now = pose(self.model, q_next - 2.0 * u)
        moved, turned = self._moves(now, u)
        tau = self._convert(now, moved - self.moved, turned - self.turned)
        self.moved, self.turned = moved, turned
        return tau

    def torque(self, positions: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """All steps of a motion at once, as `torque` below, from its positions and half increments."""
        now = pose(self.model, positions[:-1])
        moved, turned = self._moves(now, u)
        return self._convert(Pose(now.R[1:], now.origin[1:]), np.diff(moved, axis=0), np.diff(turned, axis=0))

    def _moves(self, now: Pose, u: Joints) -> tuple[NDArray[np.float64], Joints]:
        """How far every centre of gravity moves (..., J, 3), and the sine of every body's turn (..., J)."""
        model, turn = self.model, np.zeros(u.shape)
        for j, body in enumerate(model.bodies):
            turn[..., j] = 2.0 * u[..., j] * product(self.normal, self.axes[j])
            if body.parent != GROUND:
                turn[..., j] += turn[..., body.parent]
        moved = [_displacement(model, j, now, turn, self.normal) for j in range(model.n)]
        return np.stack(moved, axis=-2), sin_cos(turn)[0]

    def _convert(self, now: Pose, moved: NDArray[np.float64], turned: Joints) -> Joints:
        """Torques (..., J) from the second differences of positions (..., J, 3) and turns (..., J)."""
        model, dt, tau = self.model, self.model.dt, np.zeros(turned.shape)
        for i, body in enumerate(model.bodies):
            force = body.mass * (moved[..., i, :] / dt**2 - model.gravity)
            moment = self.inertia[i] * turned[..., i, None] / dt**2 * self.normal
            centre = product(now.R[..., i, :, :], body.com) + now.origin[..., i, :]
            j = i
            while j != GROUND:
                tau[..., j] += product(cross(centre - now.origin[..., j, :], force) + moment, self.axes[j])
                j = model.bodies[j].parent
        return tau


def _displacement(model: Model, i: int, now: Pose, turn: Joints, normal: Vector) -> NDArray[np.float64]:
    """How far body i's centre of gravity moves (..., 3) when every body turns by `turn` (..., J) about the normal.

    Summed over the rigid vectors from the base out, so that no small difference of large positions is taken.
    """
    total, j = np.zeros((*turn.shape[:-1], 3)), i
    tip = product(now.R[..., i, :, :], model.bodies[i].com) + now.origin[..., i, :]
    while j != GROUND:
        arm, angle = tip - now.origin[..., j, :], turn[..., j, None]
        across = arm - product(arm, normal)[..., None] * normal
        total += sin_cos(angle)[0] * cross(normal, arm) - 2.0 * sin_cos(0.5 * angle)[0] ** 2 * across
        tip, j = now.origin[..., j, :], model.bodies[j].parent
    return total


class NewtonEuler:
    """Newton-Euler at s_k with the velocities and accelerations that central differences of positions give there."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def start(self, q: ArrayLike) -> None:
        """At rest at q (J,), rad or m."""
        self.u = np.zeros(self.model.n)

    def step(self, q_next: ArrayLike, u: ArrayLike) -> Joints:
        """Torque (J,), N m or N, at s_k, from q(s_k+1) and u = (q(s_k+1) - q(s_k)) / 2, both (J,)."""
        q_next, u = np.asarray(q_next, float), np.asarray(u, float)
        tau = self.at(q_next - 2.0 * u, self.u, u)
        self.u = u
        return tau

    def torque(self, positions: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """All steps of a motion at once, as `torque` below, from its positions and half increments."""
        return self.at(positions[1:-1], u[:-1], u[1:])

    def at(self, q: Joints, before: Joints, after: Joints) -> Joints:
        """From positions and the half increments on both sides, all (..., J)."""
        dt = self.model.dt
        return newton_euler(self.model, q, (after + before) / dt, 2.0 * (after - before) / dt**2)


PACE_OF_CORRECTION = 0.02  # rad or m: a longer correction does not follow from the last pose
SWING = 0.75  # rad or m in half a tick: within pi/4, which steps turn by, correction included
PASSES, SETTLED = 30, 1e-12  # over a whole motion, until its predictions are, but for rounding; rad or m


class Closed:
    """Newton-Euler, or the nodes' momenta, at s_k with the loops closed: what moves freely as in an open tree, the rest
    by the constraint.

    qd_d = G qd_i, qdd_d = G qdd_i - J_d^-1 dJ_c/dt qd; the dependent joints' torques are carried by the velocities
    matrix. Positions go on by what velocity and acceleration say, and by the correction of the pose they left.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.assembly = model, assemble(model)
        a = self.assembly
        self.free, self.bound = list(a.independent), list(a.dependent)
        self.places = [a.actuated.index(i) for i in a.independent]

    def start(self, q: ArrayLike) -> None:
        """At rest at q (J,) of the actuated joints. Raises Refused if that is not reached from the assembled pose."""
        self.at = self.assembly.follow(np.asarray(q, float)[None])[0]
        self.u = np.zeros(len(self.free))

    def step(self, q_next: ArrayLike, u: ArrayLike) -> Joints:
        """Torque (J,) of the actuated joints at s_k. Raises Refused at a singular pose."""
        a, at, u = self.assembly, self.at, np.asarray(u, float)[self.places]
        x = -np.linalg.solve(a.jacobian(at)[:, self.bound], a.residual(at))
        if np.max(np.abs(x), initial=0.0) > PACE_OF_CORRECTION or not a.margin(at) > SINGULAR:
            raise Refused(f"{self.model.mechanism.name}: the motion leads through a singular pose")
        qd, qdd = self._moves(at, self.u, u)
        advance = self._advance(qd, qdd)
        self._within_reach(advance[self.bound])
        tau = self._allocate(self._tree(at, qd, qdd), a.velocity_matrix(at))
        self.at = at + advance
        self.at[self.bound] += x
        self.at[self.free], self.u = np.asarray(q_next, float)[self.places], u
        return tau

    def torque(self, positions: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """All steps of a motion at once, as `torque` below: what `step` gives, to rounding.

        Every pose is predicted from the one before; all of them at once, from the last pass's, settle in a few passes.
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
        self._within_reach(self._advance(qd, qdd)[:, self.bound])
        tau = self._tree(at[1:], qd[1:], qdd[1:])
        return self._allocate(tau, a.velocity_matrix(at[1:]))

    def _moves(self, q: Joints, before: Joints, after: Joints) -> tuple[Joints, Joints]:
        """Velocities and accelerations (..., n) in poses q (..., n), from the half increments (..., mobility) of the
        independent joints on both sides."""
        dt = self.model.dt
        qd = self.assembly.velocities(q, (after + before) / dt)
        return qd, self.assembly.accelerations(q, qd, 2.0 * (after - before) / dt**2)

    def _tree(self, q: Joints, qd: Joints, qdd: Joints) -> Joints:
        """Torques of the open tree; of the nodes' momenta over the half increments that velocity and acceleration
        give."""
        if self.model.scheme != "nodal":
            return newton_euler(self.model, q, qd, qdd)
        mean, change = 0.5 * self.model.dt * qd, 0.25 * square(self.model.dt) * qdd
        return between(self.model, q, mean - change, mean + change)

    def _advance(self, qd: Joints, qdd: Joints) -> Joints:
        """From one sample to the next (..., n)."""
        return self.model.dt * qd + 0.5 * self.model.dt**2 * qdd

    def _within_reach(self, advance: NDArray[np.float64]) -> None:
        """Raises Refused if a dependent joint goes on too far in one tick."""
        if not np.all(np.abs(advance) <= 2.0 * SWING):
            raise Refused(f"{self.model.mechanism.name}: the motion leads through a singular pose")

    def _allocate(self, tau: Joints, moves: NDArray[np.float64]) -> Joints:
        """Shares Q = G' tau, moves = G (..., n, mobility), among the independent and the redundant joints."""
        a = self.assembly
        driven = list(a.actuated)
        if self.model.mechanism.control.allocation == "partition":
            return tau[..., driven]
        Q = np.einsum("...ij,...i->...j", moves, tau)
        A = moves[..., driven, :]
        weighted = A / a.weights()[:, None]
        inner = np.swapaxes(A, -1, -2) @ weighted
        return np.einsum("...ij,...j->...i", weighted, np.linalg.solve(inner, Q[..., None])[..., 0])


class Discretisation:
    """start(q), step(q_next, u) -> tau: the form that is emitted for this model, of the streamed joints."""

    def __init__(self, model: Model) -> None:
        self.form: Spatial | Planar | NewtonEuler | Nodal | Flexible | Closed
        if model.mechanism.flexible:
            self.form = Flexible(model)
        elif model.mechanism.constrained:
            self.form = Closed(model)
        elif model.scheme == "newton-euler":
            self.form = NewtonEuler(model)
        elif model.scheme == "nodal":
            self.form = Nodal(model)
        else:
            self.form = Planar(model) if is_planar(model) else Spatial(model)
        self.start = self.form.start
        self.step = self.form.step


def midpoint_torque(model: Model, positions: ArrayLike) -> NDArray[np.float64]:
    """Torque (N, J), N m or N, at s_0..s_N-1 of a motion sampled at s_-1..s_N: positions (N+2, J), rad or m.

    The first increment primes the state, so a motion that starts with a velocity is right from its first sample.
    """
    positions = np.asarray(positions, float)
    return Discretisation(model).form.torque(positions, 0.5 * np.diff(positions, axis=0))
