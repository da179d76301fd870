"""Torques at single instants, without a motion, computed by the reference: tau(q, q', q''), and the torque that holds
the weight. Many states can be computed together. With closed loops a state contains only the actuated joints. The
positions of the dependent joints are found along a straight line from the assembled pose. If this search fails, each
state begins at the previous state."""

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, BadInput, Refused, hint
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import CLOSING, SINGULAR, Assembly, Model, assemble, in_mode, mass_matrix as of_tree
from femtorque.codegen.reference.rigid import newton_euler, recursion
from femtorque.codegen.reference.schemes import closed_form


def inverse_dynamics(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike, mode: str | None = None) -> Array:
    """Return torques (..., J), N m or N, of the streamed joints at positions, velocities and accelerations (..., J).
    mode: name of a mode; by default the first mode. Joints that the mode does not have get 0. Raise BadInput for wrong
    shapes and unknown modes. Raise Refused for flexible links, whose torque depends on the past motion, and for a state
    that closed loops cannot reach."""
    alone = in_one_mode(mechanism, mode)
    rows, shape = rows_of(mechanism, q, v, a)
    places = places_of(mechanism, alone)
    model, tau = Model.of(alone), np.zeros_like(rows[0])
    q, v, a = (x[:, places] for x in rows)
    if alone.constrained:
        assembly = assemble(model)
        free = [assembly.actuated.index(i) for i in assembly.independent]
        full = poses(assembly, q)
        qd = assembly.velocities(full, v[:, free])
        qdd = assembly.accelerations(full, qd, a[:, free])
        found = newton_euler(model, full, qd, qdd, closed_form(assembly, recursion))
        tau[:, places] = found[:, list(assembly.actuated)]
    else:
        tau[:, places] = newton_euler(model, q, v, a)
    return tau.reshape(shape)


def mass_matrix(mechanism: Mechanism, q: ArrayLike, mode: str | None = None, rotors: bool = True) -> Array:
    """Return the mass matrix (..., J, J) of the streamed joints at positions (..., J), kg m^2, kg m or kg. rotors:
    include the motors' rotors, reflected to the joints. With closed loops the matrix is G' M G, which includes all
    bodies that the joints move. Joints that the mode does not have get rows and columns of zeros. Raise the errors of
    inverse_dynamics, and Refused if the driven joints are more than the degrees of freedom."""
    alone = in_one_mode(mechanism, mode)
    (rows,), shape = rows_of(mechanism, q)
    places, model = places_of(mechanism, alone), Model.of(alone)
    M = np.zeros((len(rows), shape[-1], shape[-1]))
    q = rows[:, places]
    if alone.constrained:
        assembly = assemble(model)
        determined(assembly)
        full = poses(assembly, q)
        G = assembly.velocity_matrix(full)
        found = np.swapaxes(G, -1, -2) @ of_tree(model, full, rotors) @ G
        places = [places[assembly.actuated.index(i)] for i in assembly.independent]
    else:
        found = of_tree(model, q, rotors)
    at = np.array(places)
    M[:, at[:, None], at] = found
    return M.reshape(*shape, shape[-1])


def determined(assembly: Assembly) -> Assembly:
    """Return the assembly. Raises Refused if more joints are driven than can move independently."""
    if assembly.redundant:
        raise Refused(f"{assembly.model.mechanism.name}: {len(assembly.actuated)} joints are driven and "
                      f"{assembly.mobility} can move by themselves, so that a mass matrix of all of them is not "
                      "determined")
    return assembly


def places_of(mechanism: Mechanism, alone: Mechanism) -> list[int]:
    """Return the indices of a mode's streamed joints among the mechanism's streamed joints."""
    names = [joint.name for joint in mechanism.streamed]
    return [names.index(joint.name) for joint in alone.streamed]


def in_one_mode(mechanism: Mechanism, mode: str | None) -> Mechanism:
    """Return the mechanism in one mode. Raise BadInput for an unknown mode, and Refused for flexible links."""
    if mechanism.flexible:
        raise Refused(f"{mechanism.name}: torques and places of flexible links depend on how they swing, not on q, v "
                      "and a alone: `torque` of a motion finds them")
    names = [m.name for m in mechanism.modes]
    if mode is not None and mode not in names:
        raise BadInput(mechanism.source or mechanism.name, "mode", mode, "no such mode", hint(mode, names, "modes"))
    return in_mode(mechanism, mode)


def rows_of(mechanism: Mechanism, *given: ArrayLike) -> tuple[list[Array], tuple[int, ...]]:
    """Return the arguments as rows (N, J), and their common shape."""
    joints = [joint.name for joint in mechanism.streamed]
    arrays = [np.asarray(x, float) for x in given]
    for name, x in zip("qva", arrays, strict=False):
        if x.ndim < 1 or x.shape[-1] != len(joints):
            raise BadInput(mechanism.source or mechanism.name, name, f"shape {x.shape}",
                           f"must end in {len(joints)}, one number per joint", ", ".join(joints))
    try:
        together = np.broadcast_arrays(*arrays)
    except ValueError:
        raise BadInput(mechanism.source or mechanism.name, "q, v, a", " and ".join(str(x.shape) for x in arrays),
                       "shapes do not go together") from None
    if not all(np.all(np.isfinite(x)) for x in together):
        raise BadInput(mechanism.source or mechanism.name, "q, v, a", None, "must be finite")
    shape = together[0].shape
    return [x.reshape(-1, len(joints)) for x in together], shape


def poses(assembly: Assembly, actuated: Array) -> Array:
    """Return positions (N, n) of all joints from positions (N, actuated) of the actuated joints."""
    free = [assembly.actuated.index(i) for i in assembly.independent]
    wanted = actuated[:, free]
    full = assembly.reach(wanted)
    there = np.all(np.abs(full[:, list(assembly.independent)] - wanted) < CLOSING, axis=1)
    if not np.all(there):
        return assembly.follow(actuated)
    full[:, list(assembly.independent)] = wanted
    full = assembly.close(full)
    if np.any(assembly.margin(full) < SINGULAR):
        return assembly.follow(actuated)
    return full
