"""The noise that single precision causes in the emitted torque: an absolute value per joint, independent of the torque.

Every rounding causes an error of up to eps / 2 times the rounded number (eps = 2^-23). The step gets the change of the
unrounded increments as an input, and computes no small number as a difference of large numbers. Therefore

    floor_j = (c eps + f + w^2 / 2) |T|_j.

|T|_j is the force of joint j with its spring. The recursion of the step computes |T|_j with absolute values of all
terms. The worst case of the motion counts, because cancellation does not reduce rounding errors. A body adds about a
dozen rounding errors of random sign, mostly of smaller numbers. c is sixteen rounding errors of the largest number, all
with the same sign. w is half of the fastest frame's rotation in a tick, rad. The leapfrog method
(templates/ft_trig.h.j2) preserves the length of the vector (cosine, sine) to w^2 / 2. The angle drifts by w^3 / 3 per
tick until the frame is recomputed exactly, so f = 2 n w^3 / 3 for n frames. The exact recomputation of a frame also
removes the rounding errors of 2 n ticks at once. The signs of these errors are random, so c grows with the square root
of 2 n.

In closed loops, increments of the dependent joints are products of the independent joints' increments, which are
rounded several times. Near a singular pose, the solution amplifies rounding errors by the inverse of the margin. G'
maps the dependent joints' torques, and their noise, to the independent joints.

The floor does not grow with the tick rate or with the motion's duration. Relative to the torque, the floor is highest
for small torques, as in slow motions, without gravity, or at a wrist."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.model import GROUND, Model, assemble, joint_springs
from femtorque.codegen.step.base_parameters import Tree, arrange
from femtorque.codegen.step.frames import EXACT_BELOW_HZ

EPS = 2.0**-23
ROUNDINGS = 8.0  # sixteen rounding errors of the largest number, all with the same sign

Joints = NDArray[np.float64]  # shape (J, N)


def noise_floor(model: Model, positions: ArrayLike) -> NDArray[np.float64]:
    """Return the largest error (J,), N m or N, of single precision in a motion. positions (N, J): row per tick."""
    if not model.mechanism.constrained:
        return _of_tree(model, positions)
    assembly = assemble(model)
    q = assembly.follow(positions)
    floor = _of_tree(model, q) * (1.0 + 1.0 / float(np.min(assembly.margin(q))))
    carried = np.max(np.abs(assembly.velocity_matrix(q)), axis=0).T @ floor
    moves = np.max(np.abs(assembly.velocity_matrix(q)), axis=0)[list(assembly.actuated)]
    return np.maximum(moves, 1.0 * (moves > 0.0)) @ carried if assembly.redundant else carried


def _of_tree(model: Model, positions: ArrayLike) -> NDArray[np.float64]:
    """Return the noise floor of an open tree."""
    dt, tree, control = model.dt, arrange(model), model.mechanism.control
    q = np.asarray(positions, float).T  # (J, N)
    signed = np.diff(q, axis=1) / dt
    velocities = np.abs(signed)
    changes = np.abs(np.diff(signed, axis=1, prepend=signed[:, :1])) / dt
    slid = np.where([[b.prismatic] for b in tree.bodies], np.abs(q[:, 1:]), 0.0)
    still = np.zeros(velocities.shape[1])

    spins = np.array([sum((velocities[i] for i in _turning_path(tree, j)), still) for j in range(model.n)])
    forces = _absolute(tree, changes + velocities * spins, slid, still + np.linalg.norm(model.gravity))
    springs = joint_springs(model)
    stretched = springs.stiffness * (np.max(np.abs(q), axis=1) + np.abs(springs.rest))
    T = np.max(forces, axis=1) + stretched

    turning = [sum(tree.bodies[i].sign * signed[i] for i in tree.members(j)) for j in range(model.n)]
    w = 0.5 * dt * float(np.abs(turning).max()) if control.rate_hz >= EXACT_BELOW_HZ else 0.0
    between = 2.0 * model.n if w else 0.0  # ticks from one exact recomputation of a frame to the next
    return ((ROUNDINGS + np.sqrt(between)) * EPS + between * w**3 / 3.0 + 0.5 * w**2) * T


def _turning_path(tree: Tree, j: int) -> list[int]:
    """Return the revolute joints on the path from the ground to joint j."""
    path = [j]
    while tree.bodies[path[-1]].parent != GROUND:
        path.append(tree.bodies[path[-1]].parent)
    return [i for i in path if not tree.bodies[i].prismatic]


def _absolute(tree: Tree, accelerations: Joints, slid: Joints, base: NDArray[np.float64]) -> Joints:
    """Return the forces of every joint (J, N) from accelerations (J, N), with absolute values of all terms. slid (J,
    N): positions of prismatic joints. base (N,): acceleration of the ground that replaces gravity."""
    arm = [np.linalg.norm(b.offset) + slid[b.joint] for b in tree.bodies]
    W, V = np.zeros_like(accelerations), np.zeros_like(accelerations)
    for j, b in enumerate(tree.bodies):
        w, v = (0.0, base) if b.parent == GROUND else (W[b.parent], V[b.parent])
        W[j], V[j] = w, v + w * arm[j]
        (V if b.prismatic else W)[j] += accelerations[j]
    p, h = np.zeros_like(accelerations), np.zeros_like(accelerations)
    for j, b in reversed(list(enumerate(tree.bodies))):
        moment, inertia = float(np.linalg.norm(b.moment)), float(np.linalg.norm(b.inertia, 2))
        p[j] += abs(b.mass) * V[j] + moment * W[j]
        h[j] += inertia * W[j] + moment * V[j]
        if b.parent != GROUND:
            p[b.parent] += p[j]
            h[b.parent] += h[j] + arm[j] * p[j]
    return np.where([[b.prismatic] for b in tree.bodies], p, h)
