"""The noise of single precision in the emitted torque: an absolute amount per joint, independent of the torque.

Every rounding errs by up to eps / 2 of the rounded number (eps = 2^-23). The step gets the gain of the unrounded
increments, and forms no small number as a difference of large numbers. Therefore

    floor_j = (c eps + f + w^2 / 2) |T|_j.

|T|_j is the force of joint j with its spring. The recursion of the step gives |T|_j with absolute values of all terms,
for the worst case of the motion, because cancellation does not reduce rounding errors. A body adds about a dozen
roundings of random sign, mostly of smaller numbers. c is sixteen roundings of the largest number, all of one sign.

w is half of the fastest frame's turn in a tick, rad. The leapfrog (templates/ft_trig.h.j2) keeps the length of a pair
to w^2 / 2. The angle drifts by w^3 / 3 per tick until the frame is made exact again, so f = 2 n w^3 / 3 for n frames.
Making a frame exact also removes the roundings of 2 n ticks at once. Their signs are random, so c grows by the root of
2 n.

In closed loops, increments of the dependent joints are products of the independent joints' increments, rounded a few
times. Near a singular pose the solution magnifies rounding errors by the inverse of the margin. G' carries the
dependent joints' torques, and their noise, to the independent joints.

The floor does not grow with the tick rate or with the motion's duration. Relative to the torque the floor is largest
for small torques, as in slow motions, without gravity, or at a wrist.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.model import GROUND, Model, assemble, joint_springs
from femtorque.codegen.step.base_parameters import Tree, arrange
from femtorque.codegen.step.frames import EXACT_BELOW_HZ

EPS = 2.0**-23
ROUNDINGS = 8.0  # sixteen roundings of the largest number, all of one sign

Joints = NDArray[np.float64]  # shape (J, N)


def noise_floor(model: Model, positions: ArrayLike) -> NDArray[np.float64]:
    """Return the largest error (J,), N m or N, of single precision in a motion. positions (N, J): one row per tick."""
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
    between = 2.0 * model.n if w else 0.0  # ticks from one exact turn of a frame to the next
    return ((ROUNDINGS + np.sqrt(between)) * EPS + between * w**3 / 3.0 + 0.5 * w**2) * T


def _turning_path(tree: Tree, j: int) -> list[int]:
    """Return the revolute joints on the path from the ground to joint j."""
    path = [j]
    while tree.bodies[path[-1]].parent != GROUND:
        path.append(tree.bodies[path[-1]].parent)
    return [i for i in path if not tree.bodies[i].prismatic]


def _absolute(tree: Tree, accelerations: Joints, slid: Joints, base: NDArray[np.float64]) -> Joints:
    """Return forces of every joint (J, N) from accelerations (J, N), without any cancellation. slid (J, N): positions
    of slides. base (N,): acceleration of the ground instead of gravity.
    """
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
