"""The joint-space mass matrix of a Model."""

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, cross
from femtorque.codegen.model.bodies import Model
from femtorque.codegen.model.kinematics import descendants, joint_axes, pose, rotate


def mass_matrix(model: Model, q: ArrayLike, rotors: bool = True) -> Array:
    """Return M (..., n, n) at positions q (..., n), the sum of m Jv'Jv + Jw' J Jw over the bodies, kg m^2, kg m or kg.
    rotors: add gear^2 J of every motor to the diagonal. Like Eq. 19, the function neglects the gyroscopic coupling of
    the rotors."""
    at = pose(model, q)
    carried = descendants(model)
    result = np.zeros((*np.asarray(q).shape, model.n))
    axes = joint_axes(model, at)
    for i, body in enumerate(model.bodies):
        above = [j for j in range(model.n) if i in carried[j]]
        R = at.R[..., i, :, :]
        com = at.origin[..., i, :] + rotate(R, body.com)
        Jv, Jw = np.zeros_like(axes), np.zeros_like(axes)
        for j in above:
            if model.bodies[j].prismatic:
                Jv[..., j, :] = axes[..., j, :]
            else:
                Jw[..., j, :] = axes[..., j, :]
                Jv[..., j, :] = cross(axes[..., j, :], com - at.origin[..., j, :])
        J = R @ body.inertia @ np.swapaxes(R, -1, -2)
        result += body.mass * Jv @ np.swapaxes(Jv, -1, -2) + Jw @ J @ np.swapaxes(Jw, -1, -2)
    if rotors:
        result += np.diag(rotor_inertia(model))
    return result


def rotor_inertia(model: Model) -> Array:
    """Return gear^2 J (n,), the rotor inertias reflected to the joints, kg m^2 (kg for prismatic joints)."""
    return np.array([body.joint.rotor for body in model.bodies])
