"""Theory of tracking for a plant that differs from the mechanism file.

The board's feed-forward is the torque that follows from the mechanism file. If the plant needs an additional torque d
tau along the target motion, only the feedback can supply it. With a small error e = target - actual, and the motor's
back-EMF at the joint,

    M' e'' + (Kv + (N K)^2 / R + D') e' + Ku e = d tau(t)

    masses times s:    d tau = (s - 1) tau_ID(q_d, q_d', q_d''),   M' = s M + rotors
    friction times f:  d tau = (f - 1) (D q_d' + f_c sgn q_d'),    D' = f D

The board's torque differs from the planned torque by Ku e + Kv e'. The prediction omits latency and observer.
"""

from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model, Motion, mass_matrix, rotor_inertia
from femtorque.codegen.reference import newton_euler


@dataclass(frozen=True)
class Change:
    """Effect of a change in each tick."""

    missing: Array  # (T, n): torque that the feed-forward lacks, N m
    torque: Array  # (T, n): torque that the feedback adds, N m
    error: Array  # (T, n): target minus actual, rad


def predict(mechanism: Mechanism, motion: Motion, ticks: int, mass_scale: float = 1.0,
            friction_scale: float = 1.0) -> Change:
    """Return the change in the first `ticks` control ticks of a motion that starts at rest."""
    model, joints = Model.of(mechanism), mechanism.moving
    q, qd, qdd = motion.at(np.arange(ticks) * model.dt)
    missing = (mass_scale - 1.0) * newton_euler(model, q, qd, qdd)
    viscous = np.array([joint.friction.viscous for joint in joints])
    coulomb = np.array([joint.friction.coulomb for joint in joints])
    missing = missing + (friction_scale - 1.0) * (viscous * qd + coulomb * np.sign(qd))
    masses = mass_scale * mass_matrix(model, q, rotors=False) + np.diag(rotor_inertia(model))
    ku = np.array([joint.gains.ku for joint in joints])
    kv = np.array([joint.gains.kv for joint in joints])
    back_emf = np.array([(j.motor.gear * j.motor.K) ** 2 / j.motor.R if j.motor else 0.0 for j in joints])
    error, velocity = march(masses, np.diag(kv + back_emf + friction_scale * viscous), np.diag(ku), missing, model.dt)
    return Change(missing, ku * error + kv * velocity, error)


def march(M: Array, D: Array, K: Array, f: Array, dt: float) -> tuple[Array, Array]:
    """Return x, x' (T, n) of M(t) x'' + D x' + K x = f(t), starting at rest, with M (T, n, n) and f (T, n), by
    Newmark's scheme with 1/4 and 1/2."""
    x, v = np.zeros_like(f), np.zeros_like(f)
    a = np.linalg.solve(M[0], f[0])
    for k in range(1, len(f)):
        near, going = x[k - 1] + dt * v[k - 1] + 0.25 * dt**2 * a, v[k - 1] + 0.5 * dt * a
        a = np.linalg.solve(M[k] + 0.5 * dt * D + 0.25 * dt**2 * K, f[k] - D @ going - K @ near)
        x[k], v[k] = near + 0.25 * dt**2 * a, going + 0.5 * dt * a
    return x, v
