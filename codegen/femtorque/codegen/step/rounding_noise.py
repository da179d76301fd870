"""The noise that single precision puts on the emitted torque: an absolute amount per joint, whatever the torque is.

Every rounding errs by up to eps / 2 of the number rounded (eps = 2^-23). The torque is a difference of generalised
momenta over a tick, tau = (P - D - X) / dt, and P is a sum of terms as large as the momenta themselves; so

    floor_j = (c eps + f) (|P|_j / dt + |T|_j) + w^2 / 2 |T|_j.

|P|_j and |T|_j are momentum and force of joint j, its spring's included, by the recursion of the step with every term
taken without regard to sign, worst case over the motion: cancellation does not make a rounding error smaller. A body
adds about a dozen roundings, of random sign and mostly of smaller numbers; c is for eight of the largest number, all of
one sign.

w is half of what the fastest frame turns in a tick, rad. The leapfrog (templates/ft_trig.h.j2) is right to w^2 / 2
half-way and drifts by w^3 / 3 per tick until the frame's turn to be made exact comes: f = 2 n w^3 / 3 for n frames, and
that is a step in P. So are the roundings of those 2 n ticks, of random sign, which are undone at once too: c is larger
by the root of 2 n.

Newton-Euler (scheme "newton-euler") takes no difference of momenta, and is given the change of the increments formed
before they are rounded. Its contribution is of the size of the forces, |T|_j, and does not grow with the tick rate; the
drift of the frames is not differenced either. This holds for the nodal step too, whose sums are as long.

Closed loops are stepped by Newton-Euler, with velocities and accelerations of the dependent joints that are products of
those of the independent ones, rounded a few times on the way; near a singular pose the solution magnifies what is
rounded by the inverse of the margin. G' carries the dependent joints' torques to the independent ones, and noise with
them.

The floor of the midpoint rule grows with the tick rate; it is largest, compared with the torque, where the torque is
small: slow motion, no gravity, a wrist. No term of it depends on how long the motion lasts.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.model import GROUND, Model, assemble, joint_springs
from femtorque.codegen.step.base_parameters import Tree, arrange
from femtorque.codegen.step.single_precision import EXACT_BELOW_HZ

EPS = 2.0**-23
NEWTON_EULER_ROUNDINGS = 8.0
ROUNDINGS = 4.0  # eight roundings of the largest number, all of one sign

Joints = NDArray[np.float64]  # shape (J, N)


def noise_floor(model: Model, positions: ArrayLike) -> NDArray[np.float64]:
    """Largest error (J,), N m or N, that single precision may add on a motion sampled every tick: positions (N, J)."""
    if not model.mechanism.constrained:
        return _of_tree(model, positions)
    assembly = assemble(model)
    q = assembly.follow(positions)
    floor = _of_tree(model, q) * (1.0 + 1.0 / float(np.min(assembly.margin(q))))
    carried = np.max(np.abs(assembly.velocity_matrix(q)), axis=0).T @ floor
    moves = np.max(np.abs(assembly.velocity_matrix(q)), axis=0)[list(assembly.actuated)]
    return np.maximum(moves, 1.0 * (moves > 0.0)) @ carried if assembly.redundant else carried


def _of_tree(model: Model, positions: ArrayLike) -> NDArray[np.float64]:
    """Noise floor of an open tree."""
    dt, tree, control = model.dt, arrange(model), model.mechanism.control
    q = np.asarray(positions, float).T  # (J, N)
    signed = np.diff(q, axis=1) / dt
    velocities = np.abs(signed)
    changes = np.abs(np.diff(signed, axis=1, prepend=signed[:, :1])) / dt
    slid = np.where([[b.prismatic] for b in tree.bodies], np.abs(q[:, 1:]), 0.0)
    still = np.zeros(velocities.shape[1])

    spins = np.array([sum((velocities[i] for i in _turning_path(tree, j)), still) for j in range(model.n)])
    P = _absolute(tree, velocities, slid, still)
    weights = _absolute(tree, np.zeros_like(velocities), slid, still + np.linalg.norm(model.gravity))
    inertial = _absolute(tree, changes + velocities * spins, slid, still)
    springs = joint_springs(model)
    stretched = springs.stiffness * (np.max(np.abs(q), axis=1) + np.abs(springs.rest))
    T = np.max(weights + inertial, axis=1) + stretched

    turning = [sum(tree.bodies[i].sign * signed[i] for i in tree.members(j)) for j in range(model.n)]
    w = 0.5 * dt * float(np.abs(turning).max()) if control.rate_hz >= EXACT_BELOW_HZ else 0.0
    between = 2.0 * model.n if w else 0.0  # ticks from one exact turn of a frame to its next
    drift = between * w**3 / 3.0
    if model.scheme in ("newton-euler", "nodal"):
        rounded = (NEWTON_EULER_ROUNDINGS + np.sqrt(between)) * EPS
        return (rounded + drift + 0.5 * w**2) * T
    return ((ROUNDINGS + np.sqrt(between)) * EPS + drift) * (np.max(P, axis=1) / dt + T) + 0.5 * w**2 * T


def _turning_path(tree: Tree, j: int) -> list[int]:
    """The revolute joints among joint j and those it hangs on."""
    path = [j]
    while tree.bodies[path[-1]].parent != GROUND:
        path.append(tree.bodies[path[-1]].parent)
    return [i for i in path if not tree.bodies[i].prismatic]


def _absolute(tree: Tree, velocities: Joints, slid: Joints, base: NDArray[np.float64]) -> Joints:
    """Generalised momentum of every joint (J, N) for velocities and positions of slides (J, N), nothing cancelling.

    One recursion gives inertial forces from accelerations, and weights from the base's acceleration `base` (N,).
    """
    arm = [np.linalg.norm(b.offset) + slid[b.joint] for b in tree.bodies]
    W, V = np.zeros_like(velocities), np.zeros_like(velocities)
    for j, b in enumerate(tree.bodies):
        w, v = (0.0, base) if b.parent == GROUND else (W[b.parent], V[b.parent])
        W[j], V[j] = w, v + w * arm[j]
        (V if b.prismatic else W)[j] += velocities[j]
    p, h = np.zeros_like(velocities), np.zeros_like(velocities)
    for j, b in reversed(list(enumerate(tree.bodies))):
        moment, inertia = float(np.linalg.norm(b.moment)), float(np.linalg.norm(b.inertia, 2))
        p[j] += abs(b.mass) * V[j] + moment * W[j]
        h[j] += inertia * W[j] + moment * V[j]
        if b.parent != GROUND:
            p[b.parent] += p[j]
            h[b.parent] += h[j] + arm[j] * p[j]
    return np.where([[b.prismatic] for b in tree.bodies], p, h)
