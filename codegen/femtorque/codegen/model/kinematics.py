"""The conversion of nodal forces to joint torques: [T], [Lambda], [T_Lambda], [L] (Isobe, Eqs 5-15), for any tree.

Every link's loads are one block of the nodal force vector {P} (Eq. 7),

    P_i = [ F_i ; sum of the forces beyond child 1 ; ... ; sum of the forces beyond child c ; Phi_i ],

6 + 3 c numbers. A serial link has c = 1, so P_i has the 9 numbers of the paper. A link without children has no distal
block. Let l_ik be the vector from joint i to joint k of a child, and c_i the vector to the centre of gravity. Both
vectors are in the link's frame. Then

    Lambda_i = [ skew(c_i)  skew(l_i1) ... skew(l_ic)  I ]

gives the moment about joint i of the loads on link i alone. [T_Lambda] adds the moments of all descendants, turned into
link i's frame. The functions in this module return dense matrices, because they document the theory and serve for
comparison."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Array, cross, dot, product, sin_cos
from femtorque.codegen.model.bodies import GROUND, Model, skew, turned


@dataclass(frozen=True)
class Pose:
    """Frames of all bodies. R (..., n, 3, 3): body to global; origin (..., n, 3): of the body frames, global, m."""

    R: Array
    origin: Array

    def frame(self, i: int) -> tuple[Array, Array]:
        """Return orientation (..., 3, 3) and origin (..., 3) of one body."""
        return self.R[..., i, :, :], self.origin[..., i, :]


def pose(model: Model, q: ArrayLike) -> Pose:
    """Return the frames of all bodies at joint positions q (..., n), rad or m."""
    q = np.asarray(q, float)
    placed = Pose(np.empty((*q.shape, 3, 3)), np.empty((*q.shape, 3)))
    sines, cosines = sin_cos(q)
    for i, body in enumerate(model.bodies):
        R, o = (np.eye(3), np.zeros(3)) if body.parent == GROUND else placed.frame(body.parent)
        R, o = product(R, body.R0), o + product(R, body.p0)
        if body.prismatic:
            o = o + product(R, body.axis) * q[..., i, None]
        else:
            R = product(R, turned(body.axis, sines[..., i], cosines[..., i]))
        placed.R[..., i, :, :], placed.origin[..., i, :] = R, o
    return placed


def rotate(R: Array, x: Array) -> Array:
    """Return R x for stacks of matrices (..., 3, 3) and vectors (..., 3)."""
    return np.asarray(product(R, x) if x.ndim == 1 else dot(R, x[..., None, :]))


def rotate_back(R: Array, x: Array) -> Array:
    """Return R' x for stacks of matrices (..., 3, 3) and vectors (..., 3)."""
    return rotate(np.swapaxes(R, -1, -2), x)


def descendants(model: Model) -> tuple[tuple[int, ...], ...]:
    """Return, for every body, the indices of the body and of all that it carries, in tree order (j in Eq. 12)."""
    carried: list[list[int]] = [[i] for i in range(model.n)]
    for i in reversed(range(model.n)):
        parent = model.bodies[i].parent
        if parent != GROUND:
            carried[parent] += carried[i]
    return tuple(tuple(sorted(c)) for c in carried)


@dataclass(frozen=True)
class Levers:
    """Lever arms in global axes, m. joint (..., n, 3): vector from the parent's joint to joint i. For a body on the
    ground, `joint` is zero, and no function uses it."""

    com: Array  # vector from joint i to the centre of gravity of body i
    joint: Array


Conversion = Callable[[Model, Array, Levers, Array, Array], Array]  # model, R, arms, F, Phi: joint torques


def levers(model: Model, at: Pose) -> Levers:
    """Return the lever arms in one pose or a stack of poses. The leading dimensions equal those of the pose."""
    com = rotate(at.R, np.array([body.com for body in model.bodies]))
    joint = np.zeros_like(at.origin)
    for i, body in enumerate(model.bodies):
        if body.parent != GROUND:
            joint[..., i, :] = at.origin[..., i, :] - at.origin[..., body.parent, :]
    return Levers(com, joint)


def joint_axes(model: Model, at: Pose) -> Array:
    """Return unit vectors (..., n, 3) along all joint axes, in global axes."""
    return np.stack([product(at.R[..., i, :, :], body.axis) for i, body in enumerate(model.bodies)], axis=-2)


def velocities(model: Model, at: Pose, arms: Levers, qd: Array) -> tuple[Array, Array]:
    """Return angular velocities of bodies and velocities of origins, (..., n, 3) each, global, from qd (..., n)."""
    along = joint_axes(model, at) * qd[..., None]
    w, v = np.zeros_like(at.origin), np.zeros_like(at.origin)
    for i, body in enumerate(model.bodies):
        own = (..., i, slice(None))
        if body.parent != GROUND:
            on = (..., body.parent, slice(None))
            w[own], v[own] = w[on], v[on] + cross(w[on], arms.joint[own])
        moved = v if body.prismatic else w
        moved[own] += along[own]
    return w, v


def offsets(model: Model) -> tuple[slice, ...]:
    """Return the slices of {P} that contain the links' blocks."""
    sizes = [6 + 3 * len(body.children) for body in model.bodies]
    ends = np.cumsum(sizes)
    return tuple(slice(int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True))


def nodal_forces(model: Model, F: Array, Phi: Array) -> Array:
    """Return {P} (Eq. 7) with distal sums, from nodal forces F (n, 3) and moments Phi (n, 3), global axes."""
    carried = descendants(model)
    blocks = []
    for i, body in enumerate(model.bodies):
        blocks += [F[i], *(np.sum(F[list(carried[k])], axis=0) for k in body.children), Phi[i]]
    return np.concatenate(blocks)


def transformation(model: Model, R: Array) -> Array:
    """Return [T] (Eqs 8-10), which rotates {P} from global axes to link axes.

    R (n, 3, 3). [T] is square and block diagonal. All vectors are in right-handed axes here, so the sign matrix [h] of
    the paper is the identity."""
    size = offsets(model)[-1].stop
    T = np.zeros((size, size))
    for i, rows in enumerate(offsets(model)):
        T[rows, rows] = np.kron(np.eye((rows.stop - rows.start) // 3), R[i].T)
    return T


def lambda_matrix(model: Model, R: Array, arms: Levers) -> Array:
    """Return [Lambda] (Eqs 14-15), (3 n, size of {P}): the lever arms, which R (n, 3, 3) rotates to link axes."""
    blocks = offsets(model)
    result = np.zeros((3 * model.n, blocks[-1].stop))
    for i, body in enumerate(model.bodies):
        moment_arms = [arms.com[i], *(arms.joint[k] for k in body.children)]
        row = [skew(R[i].T @ arm) for arm in moment_arms]
        result[3 * i:3 * i + 3, blocks[i]] = np.hstack([*row, np.eye(3)])
    return result


def accumulation(model: Model, R: Array) -> Array:
    """Return [T_Lambda] (Eqs 12-13), (3 n, 3 n), with T_ij = R_i' R_j for every j that link i carries."""
    result = np.zeros((3 * model.n, 3 * model.n))
    for i, carried in enumerate(descendants(model)):
        for j in carried:
            result[3 * i:3 * i + 3, 3 * j:3 * j + 3] = R[i].T @ R[j]
    return result


def length_matrix(model: Model, R: Array, arms: Levers) -> Array:
    """Return [L] = [T_Lambda][Lambda] (Eq. 11), which maps [T]{P} to the moments N_i about all joints."""
    return accumulation(model, R) @ lambda_matrix(model, R, arms)


def force_matrix(model: Model) -> Array:
    """Return [Sigma], (3 n, size of {P}), which maps [T]{P} to the forces S_i through all joints. Prismatic joints need
    these forces. A joint's block of {P} contains all forces that the joint transmits: F_i and the distal sums."""
    blocks = offsets(model)
    result = np.zeros((3 * model.n, blocks[-1].stop))
    for i, body in enumerate(model.bodies):
        forces = np.tile(np.eye(3), 1 + len(body.children))
        result[3 * i:3 * i + 3, blocks[i]] = np.hstack([forces, np.zeros((3, 3))])
    return result


def axis_matrix(model: Model, prismatic: bool) -> Array:
    """Return a matrix (n, 3 n). Row i is the axis of joint i if the joint has this type, else zero."""
    result = np.zeros((model.n, 3 * model.n))
    for i, body in enumerate(model.bodies):
        if body.prismatic == prismatic:
            result[i, 3 * i:3 * i + 3] = body.axis
    return result


def joint_torque_matrix(model: Model, R: Array, arms: Levers) -> Array:
    """Return the matrix from {P}, global axes, to torques (Eq. 6): axis . N_i (revolute), axis . S_i (prismatic)."""
    moments = axis_matrix(model, prismatic=False) @ length_matrix(model, R, arms)
    forces = axis_matrix(model, prismatic=True) @ force_matrix(model)
    return (moments + forces) @ transformation(model, R)


def joint_torque(model: Model, R: Array, arms: Levers, F: Array, Phi: Array) -> Array:
    """Return joint torques by one pass from the tips to the base, in global axes. The chip uses the same method.

        N_i = Phi_i + c_i x F_i + sum over children (N_k + l_k x S_k),  S_i = F_i + sum over children S_k.

    R (..., n, 3, 3), F and Phi (..., n, 3), torques (..., n)."""
    S, N = carried(model, arms, F, Phi)
    tau = np.empty(F.shape[:-1])
    for i, body in enumerate(model.bodies):
        load = S if body.prismatic else N
        tau[..., i] = dot(product(R[..., i, :, :], body.axis), load[..., i, :])
    return tau


def carried(model: Model, arms: Levers, F: Array, Phi: Array) -> tuple[Array, Array]:
    """Return S_i and N_i (..., n, 3): sums over body i and the bodies that it carries, with N_i about joint i.

    Momenta are summed in the same way as forces."""
    S, N = F.copy(), Phi + cross(arms.com, F)
    for i in reversed(range(model.n)):
        parent = model.bodies[i].parent
        if parent != GROUND:
            S[..., parent, :] += S[..., i, :]
            N[..., parent, :] += N[..., i, :] + cross(arms.joint[..., i, :], S[..., i, :])
    return S, N


def frame_to_axis(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a rotation (3, 3) that maps the z axis to a unit axis. For the axis z it is the identity."""
    if axis[2] < 0.0:  # first half a turn about x, then the remaining rotation, which is smaller
        return product(frame_to_axis(-axis), np.diag([1.0, -1.0, -1.0]))
    k = skew(np.cross([0.0, 0.0, 1.0], axis))
    return np.eye(3) + k + product(k, k) / (1.0 + axis[2])
