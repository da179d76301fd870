"""Mass, stiffness and damping of a mechanism with flexible links at fixed poses, for the model of the sampled loop."""

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.model import Model, rotor_inertia
from femtorque.codegen.reference.discrete_flexible import Flexible, ModalMotion


def flexible_mass_matrix(model: Model, q: ArrayLike) -> tuple[Array, Array, Array]:
    """Return M (..., n + N, n + N), K and C (n + N, n + N) at positions q (..., n), with straight links and with
    rotors. The coordinates are the n joints and the N modes. Entries are in kg m^2 (kg for prismatic joints), and 1 for
    a mode."""
    step, q = Flexible(model), np.asarray(q, float)
    n, N = step.tree.n, step.layout.size
    unit = np.eye(n + N)
    still, straight = np.zeros((n + N, n)), np.zeros((n + N, N))
    motion = ModalMotion(q[..., None, :] + still, still, unit[:, :n], straight, straight, unit[:, n:])
    at = step.dynamics.at(motion, 0.0)
    M = np.concatenate([at.joints, at.modes], axis=-1)
    M[..., range(n), range(n)] += rotor_inertia(model)
    K, C = np.zeros(n), np.zeros(n)
    K[step.springs] = step.stiffness[:len(step.springs)]
    C[step.springs] = step.damping[:len(step.springs)]
    return M, np.diag(np.concatenate([K, step.K])), np.diag(np.concatenate([C, step.C]))
