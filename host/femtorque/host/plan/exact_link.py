"""Simulates a flexible link under a given motion of its joint. The model is geometrically exact: a chain of rigid
segments.

The planar link of femtorque.host.plan.chord_beam is divided into segments of length h with springs EI / h between them.
The first and the last segment have the length h / 2. A rigid end part is fixed to the last segment, or hangs on a
spring. The coordinates are the absolute angles b_j, since the equations are then short. Body j has the length l_j, the
mass m_j at c_j, and the inertia I_j. M_j is the mass of all bodies beyond body j. The unit vector e_j is along body j,
and n_j is across body j. a is the joint's acceleration minus gravity.

    A_jj = I_j + m_j c_j^2 + l_j^2 M_j,   A_jk = l_j (m_k c_k + l_k M_k) for j < k,   B_j = m_j c_j + l_j M_j,
    sum_k A_jk (cos(b_j - b_k) b_k'' + sin(b_j - b_k) b_k'^2) + B_j n_j . a = moment of the springs on j

where b_0 is the joint's angle. The error falls with the square of the segments' length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.mechanism import Beam
from femtorque.host.plan.chord_beam import End

Left = Callable[[Array, Array, Array, Array], tuple[Array, Array]]

ROUNDS = 30  # Newton rounds of a time step; three to five are usual
SOLVED = 1e-6  # relative tolerance of the accelerations in a time step; also the absolute tolerance, rad/s^2


@dataclass(frozen=True)
class Chain:
    """Rigid segments of a planar chain; the joint turns the first segment. length, at, mass, inertia (S,): numbers of
    the segments. stiffness, damping (S - 1,): numbers of the springs between the segments."""

    length: Array
    at: Array
    mass: Array
    inertia: Array
    stiffness: Array
    damping: Array
    reach: float  # distance from the last segment's joint to the tip, m

    @staticmethod
    def of(mass: float, beam: Beam, end: End, segments: int) -> Chain:
        h = beam.length / segments
        length = np.full(segments + 1, h)
        length[[0, -1]] = 0.5 * h
        part = mass / beam.length * length
        at, inertia = 0.5 * length, part * length**2 / 12.0
        # the segments' springs have the beam's compliance at the tip
        k = np.full(segments, beam.EI[1] / h * (1.0 - 0.25 / segments**2))
        c, reach = beam.damping * k, length[-1] + end.point
        if end.spring is not None:
            length, at = np.append(length, 0.0), np.append(at, end.com)
            part, inertia = np.append(part, end.mass), np.append(inertia, end.inertia)
            k, c, reach = np.append(k, end.spring), np.append(c, 0.0), end.point
        elif end.mass:
            whole, place = part[-1] + end.mass, length[-1] + end.com
            com = (part[-1] * at[-1] + end.mass * place) / whole
            inertia[-1] += end.inertia + part[-1] * (at[-1] - com) ** 2 + end.mass * (place - com) ** 2
            part[-1], at[-1] = whole, com
        return Chain(length, at, part, inertia, k, c, float(reach))

    def tip(self, b: Array) -> Array:
        """Return the tip from the joint (..., 2), m, for body angles b (..., S)."""
        ways = np.append(self.length[:-1], self.reach)
        return np.stack([np.cos(b) @ ways, np.sin(b) @ ways], axis=-1)


@dataclass(frozen=True)
class Swung:
    """moment (T,), force (T, 2): loads on the joint, N m and N. All are in fixed axes."""

    tip: Array  # position of the tip from the joint, m
    moment: Array
    force: Array


def swung(chain: Chain, angle: tuple[Array, Array, Array], a: Array, dt: float) -> Swung:
    """Return the motion, which begins in the static sag. angle: the joint's angle (T,), rad, its velocity and its
    acceleration. a (T, 2): the joint's acceleration minus gravity, m/s^2. Method: Newmark's method with constant
    average acceleration. Raises Refused if the link folds."""
    beyond = np.append(np.cumsum(chain.mass[::-1])[::-1][1:], 0.0)
    B = chain.mass * chain.at + chain.length * beyond
    A = np.outer(chain.length, B)
    A = np.triu(A, 1) + np.triu(A, 1).T + np.diag(chain.inertia + chain.mass * chain.at**2 + chain.length**2 * beyond)
    K, C = (np.zeros((len(B), len(B))) for _ in range(2))
    for S, values in ((K, chain.stiffness), (C, chain.damping)):
        for j, k in enumerate(values):
            S[j:j + 2, j:j + 2] += k * np.array([[1.0, -1.0], [-1.0, 1.0]])
    soft = 0.25 * dt * dt * K + 0.5 * dt * C

    def left(b: Array, rate: Array, change: Array, along: Array) -> tuple[Array, Array]:
        c, s = np.cos(b), np.sin(b)
        cosines, sines = np.outer(c, c) + np.outer(s, s), np.outer(s, c) - np.outer(c, s)
        mass = A * cosines
        return mass, mass @ change + (A * sines) @ rate**2 + B * (c * along[1] - s * along[0]) + K @ b + C @ rate

    q, qd, qdd = angle
    b = _sag(left, K, B, q[0], a[0])
    rate, change = np.zeros(len(b)), np.zeros(len(b))
    total, rows, moments, forces = float(chain.mass.sum()), [], [], []
    for t in range(len(q)):
        before = b, rate, change
        for _ in range(ROUNDS):
            change = np.append(qdd[t], change[1:])
            if t:
                b = before[0] + dt * before[1] + 0.25 * dt * dt * (before[2] + change)
                rate = before[1] + 0.5 * dt * (before[2] + change)
            b, rate = np.append(q[t], b[1:]), np.append(qd[t], rate[1:])
            mass, lacking = left(b, rate, change, a[t])
            step = np.linalg.solve((mass + soft if t else mass)[1:, 1:], lacking[1:])
            change = np.append(qdd[t], change[1:] - step)
            if not np.isfinite(step).all() or np.abs(step).max() <= SOLVED * (1.0 + np.abs(change).max()):
                break
        if not np.abs(step).max() <= 1e-4 * (1.0 + np.abs(change).max()):
            raise Refused("the flexible link buckles in this motion: take a slower motion, or a stiffer link")
        rows.append(b)
        moments.append(lacking[0])
        along, across = np.stack([np.cos(b), np.sin(b)]), np.stack([-np.sin(b), np.cos(b)])
        forces.append(total * a[t] + across @ (B * change) - along @ (B * rate**2))
    return Swung(chain.tip(np.array(rows)), np.array(moments), np.array(forces))


def _sag(left: Left, K: Array, B: Array, q: float, a: Array) -> Array:
    """Return the angles (S,) at rest, by Newton's method."""
    b, still = np.full(len(B), q), np.zeros(len(B))
    for _ in range(ROUNDS):
        lacking = left(b, still, still, a)[1][1:]
        slope = K[1:, 1:] - np.diag((B * (np.sin(b) * a[1] + np.cos(b) * a[0]))[1:])
        step = np.linalg.solve(slope, lacking)
        b = np.append(q, b[1:] - step)
        if np.abs(step).max() < 1e-13:
            return b
    raise Refused("the flexible link cannot carry its weight and load at the start of the motion: take a stiffer link")
