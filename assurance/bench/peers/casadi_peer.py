"""CasADi's C of the same arm: Newton and Euler's recursion in its symbols, its own code generator, made single.

CasADi gets what helps it: constants folded, zeros left out, common subexpressions found once. As emitted,
`casadi_real = float` still calls sin and cos and multiplies by double constants; here both are made single, without
which it takes some ten times as long on a processor whose floating-point unit knows single precision only.
"""

import re

import casadi as cs
import numpy as np

from assurance.bench.peers.serial_arm import serial_links
from femtorque.codegen.model import Model

ENTRY = "rnea"  # int rnea(const float **arg, float **res, int *iw, float *w, int mem)


def function(model: Model) -> cs.Function:
    """rnea(q, qd, qdd) -> tau of a serial revolute arm."""
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
    return cs.Function(ENTRY, [q, qd, qdd], [cs.densify(cs.cse(cs.vertcat(*tau)))])


def sources(model: Model) -> dict[str, str]:
    """C that CasADi emits for the arm, with float functions and float constants throughout."""
    generator = cs.CodeGenerator("rnea.c", {"casadi_real": "float", "casadi_int": "int"})
    generator.add(function(model))
    return {"rnea.c": _single(generator.dump())}


def _single(text: str) -> str:
    text = re.sub(r"\b(sin|cos)\(", r"\1f(", text)
    return re.sub(r"(?<![\w.])(\d+\.\d*(?:[eE][+-]?\d+)?)(?![\w.])", r"\1f", text)


def _sparse(values: object) -> cs.SX:
    return cs.SX(cs.sparsify(cs.DM(np.asarray(values, float))))
