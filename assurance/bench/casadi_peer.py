"""C code from CasADi for an arm: the Newton-Euler recursion in CasADi's symbols, emitted in single precision by
CasADi's code generator.

CasADi gets all available optimisations: folded constants, structural zeros, common subexpressions. With `casadi_real =
float` its C still calls sin and cos and multiplies by double constants. This module changes the calls and the constants
to single precision. The C in double precision takes some ten times as long on a processor whose floating-point unit
supports only single precision."""

import re
from dataclasses import dataclass

import casadi as cs
import numpy as np

from femtorque.codegen.mechanism import Matrix, Vector
from femtorque.codegen.model import Model

ENTRY = "rnea"  # int rnea(const float **arg, float **res, int *iw, float *w, int mem)
# coefficients below this value are set to zero, for rounded angles like 1.57079632679; this is an advantage for CasADi
ZERO = 1e-9


@dataclass(frozen=True)
class SerialLink:
    """One link. R0 (3, 3), p0 (3,): joint frame at position zero, in the previous link's frame. com (3,), inertia (3,
    3) about com: in the link's frame, whose z axis is the joint's axis."""

    R0: Matrix
    p0: Vector
    mass: float
    com: Vector
    inertia: Matrix


def serial_links(model: Model) -> list[SerialLink]:
    """Return the links of a serial revolute arm, from the base outwards."""
    links, before = [], np.eye(3)
    for j, body in enumerate(model.bodies):
        assert body.parent == j - 1 and not body.prismatic, "CasADi gets serial revolute arms only"
        A = _to_z(body.axis)
        links.append(SerialLink(_clean(before.T @ body.R0 @ A), _clean(before.T @ body.p0), body.mass,
                                _clean(A.T @ body.com), _clean(A.T @ body.inertia @ A)))
        before = A
    return links


def _to_z(axis: Vector) -> Matrix:
    """Return a rotation (3, 3) whose z axis is the given axis. For an axis along a coordinate, zeros stay exact."""
    k = int(np.argmax(np.abs(axis)))
    if abs(axis[k]) > 1.0 - ZERO:
        x, y = np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3]
        return np.column_stack([x, y, axis]) if axis[k] > 0.0 else np.column_stack([y, x, axis])
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(axis)))], axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _clean(values: np.ndarray) -> np.ndarray:
    return np.where(np.abs(values) < ZERO, 0.0, values)


def function(model: Model, derivatives: bool = False) -> cs.Function:
    """Return the function rnea(q, qd, qdd) -> tau of a serial revolute arm. derivatives: tau, dtau/dq, dtau/dqd and M
    in one column, the matrices row by row."""
    links, n = serial_links(model), model.n
    q, qd, qdd = (cs.SX.sym(name, n) for name in ("q", "qd", "qdd"))
    w, wd, a = cs.SX(3, 1), cs.SX(3, 1), _sparse(-model.gravity)
    R, F, N = [], [], []
    for i, link in enumerate(links):
        c, s = cs.cos(q[i]), cs.sin(q[i])
        turn = cs.vertcat(cs.horzcat(c, -s, cs.SX(1, 1)), cs.horzcat(s, c, cs.SX(1, 1)), _sparse([[0.0, 0.0, 1.0]]))
        R.append(_sparse(link.R0) @ turn)
        p, com, inertia = _sparse(link.p0), _sparse(link.com), _sparse(link.inertia)
        spin = cs.vertcat(cs.SX(2, 1), qd[i])
        a = R[i].T @ (a + cs.cross(wd, p) + cs.cross(w, cs.cross(w, p)))
        w, wd = R[i].T @ w, R[i].T @ wd
        wd = wd + cs.cross(w, spin) + cs.vertcat(cs.SX(2, 1), qdd[i])
        w = w + spin
        F.append(link.mass * (a + cs.cross(wd, com) + cs.cross(w, cs.cross(w, com))))
        N.append(inertia @ wd + cs.cross(w, inertia @ w) + cs.cross(com, F[i]))
    f, moment, tau = cs.SX(3, 1), cs.SX(3, 1), [cs.SX(0)] * n
    for i in reversed(range(n)):
        f, moment = f + F[i], moment + N[i]
        tau[i] = moment[2]
        f = R[i] @ f
        moment = R[i] @ moment + cs.cross(_sparse(links[i].p0), f)
    found = cs.vertcat(*tau)
    if derivatives:
        jq, jv, lower = cs.jacobian(found, q), cs.jacobian(found, qd), cs.tril(cs.jacobian(found, qdd))
        found = cs.vertcat(found, *(cs.vec(matrix.T) for matrix in (jq, jv, cs.tril2symm(lower))))
    return cs.Function(ENTRY, [q, qd, qdd], [cs.densify(cs.cse(found))])


def sources(model: Model, derivatives: bool = False) -> dict[str, str]:
    """Return CasADi's C for the arm, with functions and constants in single precision only. derivatives: include
    the torques' derivatives."""
    generator = cs.CodeGenerator("rnea.c", {"casadi_real": "float", "casadi_int": "int"})
    generator.add(function(model, derivatives))
    return {"rnea.c": _single(generator.dump())}


def _single(text: str) -> str:
    text = re.sub(r"\b(sin|cos)\(", r"\1f(", text)
    return re.sub(r"(?<![\w.])(\d+\.\d*(?:[eE][+-]?\d+)?)(?![\w.])", r"\1f", text)


def _sparse(values: object) -> cs.SX:
    return cs.SX(cs.sparsify(cs.DM(np.asarray(values, float))))
