"""Derivatives of torques at any states in float64, and the linear system of a state.

Rotors and friction of the motors (Eq. 19) can be included. Rotors add to M, and friction adds to dtau/dq'. Friction
that rises with the load multiplies rows of all matrices."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, sin_cos, solve
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import DrivenFriction, Model, assemble
from femtorque.codegen.reference import in_one_mode, places_of, poses, rows_of
from femtorque.codegen.step.closed import DRY
from femtorque.codegen.step.derivatives import plain_derivatives
from femtorque.codegen.step.graph import Const, Expr, Input, Place, Result, Values
from femtorque.codegen.step.instant import InstantTorque

ROWS = 1000  # states at once: a state has thousands of values in the graph
NEWTON, CLOSE = 20, 1e-12  # most iterations for accelerations, and the relative size of the last step


class Derivatives(NamedTuple):
    """Torques tau (..., J), N m or N, and derivatives dq, dv, M (..., J, J) by positions, velocities, accelerations."""

    tau: Array
    dq: Array
    dv: Array
    M: Array


def derivatives_at(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike, mode: str | None = None,
                   total: bool = False) -> Derivatives:
    """Return torques and derivatives at q, v, a (..., J). total: include rotors and friction of the motors. Raises as
    inverse_dynamics does, and Refused for closed loops."""
    alone = in_one_mode(mechanism, mode)
    rows, shape = rows_of(mechanism, q, v, a)
    there = np.array(places_of(mechanism, alone))  # a mode can have another order of joints
    rows, back = [x[:, there] for x in rows], np.argsort(there)
    found = [_at(Model.of(alone), *(x[k:k + ROWS] for x in rows)) for k in range(0, max(len(rows[0]), 1), ROWS)]
    d = Derivatives(*(np.concatenate(part) for part in zip(*found, strict=True)))
    tau, *matrices = _with_motors(alone, rows[1], rows[2], d) if total else d
    matrices = [x[:, back[:, None], back].reshape(*shape, shape[-1]) for x in matrices]
    return Derivatives(tau[:, back].reshape(shape), *matrices)


def linear_at(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, tau: ArrayLike, mode: str | None = None,
              total: bool = False) -> tuple[Array, Array]:
    """Return A (..., 2 J, 2 J) and B (..., 2 J, J) of the linear system d/dt (q, v) = A (q, v) + B tau for small
    deviations from q, v and torques tau (..., J). Arguments and errors as of `derivatives_at`."""
    (q, v, tau), shape = rows_of(mechanism, q, v, tau)
    a, n = np.zeros_like(q), shape[-1]
    for _ in range(NEWTON):
        d = derivatives_at(mechanism, q, v, a, mode, total)
        step = solve(d.M, (tau - d.tau)[..., None])[..., 0]
        a += step
        if np.all(np.abs(step) <= CLOSE * np.max(np.abs(a), axis=1, initial=1.0, keepdims=True)):
            break
    A, B = np.zeros((len(q), 2 * n, 2 * n)), np.zeros((len(q), 2 * n, n))
    A[:, :n, n:] = B[:, n:] = np.eye(n)
    A[:, n:, :n], A[:, n:, n:], B[:, n:] = -solve(d.M, d.dq), -solve(d.M, d.dv), solve(d.M, B[:, n:])
    return A.reshape(*shape[:-1], *A.shape[1:]), B.reshape(*shape[:-1], *B.shape[1:])


def _at(model: Model, q: Array, v: Array, a: Array) -> Derivatives:
    """Return derivatives at rows q, v, a (N, J) of the streamed joints."""
    step, (rows, n) = plain_derivatives(model), q.shape
    if model.mechanism.constrained:
        assembly = assemble(model)
        free = [assembly.actuated.index(i) for i in assembly.independent]
        q = poses(assembly, q)
        v = assembly.velocities(q, v[:, free])
        a = assembly.accelerations(q, v, a[:, free])
    values = Values(lambda e: _leaf(step, e, {"q": q, "qd": v, "qdd": a}, values))
    stored = step.graph.stored()

    def result(array: str, size: int) -> Array:
        return np.stack([np.broadcast_to(values.of(stored[Place(array, k)]), rows) for k in range(size)], axis=-1)

    return Derivatives(result("tau", n), *(result(x, n * n).reshape(rows, n, n) for x in ("jq", "jv", "m")))


def _leaf(step: InstantTorque, e: Expr, given: dict[str, Array], values: Values) -> Array | float:
    """Return the values (N,) of an input, a constant or a share of Coulomb friction."""
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Result):
        velocity = values.of(e.call.needs[0])
        return np.clip(velocity, -1.0, 1.0) if e.call.function == DRY else 1.0 * (np.abs(velocity) <= 1.0)
    assert isinstance(e, Input)
    if e.place.array != "turn":
        return given[e.place.array][:, e.place.index]
    bodies, j = step.tree.bodies, e.place.index
    sine, cosine = sin_cos(bodies[j].turn + sum(bodies[i].sign * given["q"][:, i] for i in step.tree.members(j)))
    return cosine if e.place.part == "c" else sine


def _with_motors(mechanism: Mechanism, v: Array, a: Array, d: Derivatives) -> Derivatives:
    """Add the motors' torques (Eq. 19) and their derivatives."""
    friction, rotor = DrivenFriction.of(mechanism.streamed), np.array([j.rotor for j in mechanism.streamed])
    load, own = friction.slopes(v, d.tau)
    tau = d.tau + rotor * a + friction.torque(v, d.tau)
    dq, dv, M = ((1.0 + load)[..., None] * x for x in d[1:])
    eye = np.eye(v.shape[-1])
    return Derivatives(tau, dq, dv + own[..., None] * eye, M + rotor * eye)
