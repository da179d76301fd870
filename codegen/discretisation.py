"""The discretisation that is emitted, written plainly: what ft_step computes, in float64 and global coordinates.

Positions are sampled at the middles s_k of the intervals over which a torque is held. Two forms, both second order:

*Spatial* (any mechanism). The variational midpoint rule: over each step the mechanism sits at the mean position
q_k+1/2 and moves at the mean rate, which gives the generalised momentum P_j and the force D_j with which the motion
and gravity turn joint j; the torque that makes both sides of s_k fit together is (THEORY.md section 4)

    tau_j = (P_j - D_j) - X_j,     X_j <- P_j + D_j.

*Planar* (all joints revolute, all axes parallel). The paper's own picture: the nodes' second differences are their
accelerations, and the nodal forces act at the lever arms of s_k (Eqs 5-15 on sampled positions).

tests/codegen/test_discretisation.py shows both converge to Newton-Euler as dt^2, and the emitted C in double
precision is held against this file.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codegen.beam import joint_stiffness
from codegen.mechanism import Matrix, Vector
from codegen.model import GROUND, Model, rotation_axis

Joints = NDArray[np.float64]  # shape (J,)

PARALLEL = 1e-9  # two unit axes count as parallel below this sine of the angle between them


def is_planar(model: Model) -> bool:
    """True if all joints are revolute without springs about parallel axes: such trees take the planar form."""
    axes = [R @ body.axis for (R, _), body in zip(poses(model, np.zeros(model.n)), model.bodies, strict=True)]
    return all(
        not body.prismatic and joint_stiffness(model, j) == 0.0 and np.linalg.norm(np.cross(axes[0], axis)) < PARALLEL
        for j, (body, axis) in enumerate(zip(model.bodies, axes, strict=True))
    )


def poses(model: Model, q: Joints) -> list[tuple[Matrix, Vector]]:
    """Orientation (3, 3) and origin (3,), m, of every body frame in the global frame at joint positions q (J,)."""
    placed: list[tuple[Matrix, Vector]] = []
    for j, body in enumerate(model.bodies):
        R, o = (np.eye(3), np.zeros(3)) if body.parent == GROUND else placed[body.parent]
        R, o = R @ body.R0, o + R @ body.p0
        if body.prismatic:
            placed.append((R, o + R @ body.axis * q[j]))
        else:
            placed.append((R @ rotation_axis(body.axis, q[j]), o))
    return placed


def momenta(model: Model, q: Joints, rates: Joints) -> tuple[Joints, Joints]:
    """Generalised momentum dT/dq' (J,) and generalised force d(T - V)/dq (J,) at positions q and rates q'.

    Velocities go out from the base; momentum p, angular momentum h, mass m and first moment C (both about the joint's
    origin) come back, each joint adding what hangs on it. Springs are part of V.
    """
    n = model.n
    placed = poses(model, q)
    axis = [R @ body.axis for (R, _), body in zip(placed, model.bodies, strict=True)]
    origin = [o for _, o in placed]
    w, v = np.zeros((n, 3)), np.zeros((n, 3))
    for j, body in enumerate(model.bodies):
        if body.parent != GROUND:
            w[j] = w[body.parent]
            v[j] = v[body.parent] + np.cross(w[j], origin[j] - origin[body.parent])
        if body.prismatic:
            v[j] += axis[j] * rates[j]
        else:
            w[j] += axis[j] * rates[j]

    m, p, h, C = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    P, force = np.zeros(n), np.zeros(n)
    for j in reversed(range(n)):
        body, R = model.bodies[j], placed[j][0]
        c = R @ body.com
        p_own = body.mass * (v[j] + np.cross(w[j], c))
        m[j] += body.mass
        p[j] += p_own
        h[j] += R @ body.inertia @ R.T @ w[j] + np.cross(c, p_own)
        C[j] += body.mass * c
        if body.prismatic:
            P[j] = axis[j] @ p[j]
            force[j] = axis[j] @ (np.cross(p[j], w[j]) + m[j] * model.gravity)
        else:
            P[j] = axis[j] @ h[j]
            force[j] = axis[j] @ (np.cross(h[j], w[j]) + np.cross(p[j], v[j]) + np.cross(C[j], model.gravity))
        force[j] -= joint_stiffness(model, j) * (q[j] - body.joint.rest)
        if body.parent != GROUND:
            d = origin[j] - origin[body.parent]
            m[body.parent] += m[j]
            p[body.parent] += p[j]
            h[body.parent] += h[j] + np.cross(d, p[j])
            C[body.parent] += C[j] + m[j] * d
    return P, force


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
        q_next, u, dt = np.asarray(q_next, float), np.asarray(u, float), self.model.dt
        P, force = momenta(self.model, q_next - u, 2.0 * u / dt)
        D = 0.5 * dt * force
        tau = (P - D) - self.X
        self.X = P + D
        return tau / dt


class Planar:
    """The nodal step of trees whose joints all turn about parallel axes."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.axes = [R @ b.axis for (R, _), b in zip(poses(model, np.zeros(model.n)), model.bodies, strict=True)]
        self.normal = self.axes[0]
        self.inertia = []  # about the normal, through each centre of gravity
        for (R, _), body in zip(poses(model, np.zeros(model.n)), model.bodies, strict=True):
            self.inertia.append(float(self.normal @ R @ body.inertia @ R.T @ self.normal))

    def start(self, q: ArrayLike) -> None:
        """At rest at q (J,), rad."""
        q = np.asarray(q, float)
        self.moved = np.zeros((self.model.n, 3))  # of the centres of gravity in the last step
        self.turned = np.zeros(self.model.n)  # sine of the angle each body turned in the last step

    def step(self, q_next: ArrayLike, u: ArrayLike) -> Joints:
        """Torque (J,), N m, at s_k, from q(s_k+1) and u = (q(s_k+1) - q(s_k)) / 2, both (J,)."""
        q_next, u = np.asarray(q_next, float), np.asarray(u, float)
        model, n, dt = self.model, self.model.n, self.model.dt
        now = poses(model, q_next - 2.0 * u)
        moved, turned, turn = np.zeros((n, 3)), np.zeros(n), np.zeros(n)
        for j, body in enumerate(model.bodies):
            turn[j] = 2.0 * u[j] * (self.normal @ self.axes[j])
            if body.parent != GROUND:
                turn[j] += turn[body.parent]
            turned[j] = np.sin(turn[j])
            moved[j] = _displacement(model, j, now, turn, self.normal)
        tau = np.zeros(n)
        for i, body in enumerate(model.bodies):
            force = body.mass * ((moved[i] - self.moved[i]) / dt**2 - model.gravity)
            moment = self.inertia[i] * (turned[i] - self.turned[i]) / dt**2
            centre = now[i][0] @ body.com + now[i][1]
            j = i
            while j != GROUND:
                tau[j] += self.axes[j] @ (np.cross(centre - now[j][1], force) + moment * self.normal)
                j = model.bodies[j].parent
        self.moved, self.turned = moved, turned
        return tau


def _displacement(model: Model, i: int, now: list[tuple[Matrix, Vector]], turn: Joints, normal: Vector) -> Vector:
    """How far body i's centre of gravity moves (3,) when every body turns by `turn` (J,) about the normal.

    Summed over the rigid vectors from the base out, so that no small difference of large positions is taken.
    """
    total, tip, j = np.zeros(3), now[i][0] @ model.bodies[i].com + now[i][1], i
    while j != GROUND:
        arm = tip - now[j][1]
        across = arm - normal * (normal @ arm)
        total += np.sin(turn[j]) * np.cross(normal, arm) - 2.0 * np.sin(0.5 * turn[j]) ** 2 * across
        tip, j = now[j][1], model.bodies[j].parent
    return total


class Discretisation:
    """start(q), step(q_next, u) -> tau: the form that is emitted for this model."""

    def __init__(self, model: Model) -> None:
        self.form: Spatial | Planar = Planar(model) if is_planar(model) else Spatial(model)
        self.start = self.form.start
        self.step = self.form.step


def torque(model: Model, positions: ArrayLike) -> NDArray[np.float64]:
    """Torque (N, J), N m or N, at s_0..s_N-1 of a motion sampled at s_-1..s_N: positions (N+2, J), rad or m.

    The first increment primes the state, so a motion that starts with a rate is right from its first sample.
    """
    positions = np.asarray(positions, float)
    form = Discretisation(model)
    form.start(positions[0])
    increments = 0.5 * np.diff(positions, axis=0)
    form.step(positions[1], increments[0])
    return np.array([form.step(q, u) for q, u in zip(positions[2:], increments[1:], strict=True)])
