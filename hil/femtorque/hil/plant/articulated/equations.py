"""The equations of motion at one configuration: M gamma = F + C' lambda, C gamma = S ("Complementary equations").

    lambda = H^-1 (S - C M^-1 F),   gamma = M^-1 (F + C' lambda),   H = C M^-1 C'

H is inverted in two stages. The six distance multipliers of a solid couple to no other distances, so the code
eliminates them for each solid separately (all 6 x 6 blocks together, FreeSolids). The remaining matrix C W C' is dense,
with one row for each row of mechanisms, rotors and couplings. The code stores its Cholesky factor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from femtorque.codegen.common import Array, Refused
from femtorque.hil.plant.articulated.system import FreeSolids, Structure

SINGULAR = 1e-12  # pivot of a row, relative to its mobility, below which multipliers are only rounding errors


class Equations:
    """The rows and their factor at degrees of freedom z (size,). C: (K, size) rows of mechanisms, rotors and couplings.
    Y: (size, K) = W C'. q: (n,) coordinates, angles within half a turn. G: (n, size) their gradient."""

    def __init__(self, structure: Structure, z: Array) -> None:
        s, system = structure, structure.system
        self.structure = s
        self.free = FreeSolids(s, z)
        self.x = system.points(z)
        self.forms, self.q, rows, along = s.gradients(z)
        self.G = np.zeros((len(along), system.size))
        self.G[:, : s.split] = along
        self.C = s.rotor_columns.copy()
        self.C[: s.m, : s.split] = rows
        self.C[s.m: s.m + s.r, : s.split] = self.G[system.geared, : s.split]
        for row, coupling in enumerate(s.couplings, s.m + s.r):
            self.C[row] = coupling.across(self.G)
        self.Y = self.free.mobility(self.C)
        if s.K:
            H = self.C @ self.Y
            self.factor, failed = lapack.dpotrf(H, lower=1)
            pivots = self.factor.diagonal() ** 2
            if failed or np.any(pivots < SINGULAR * H.diagonal()):
                row = failed - 1 if failed else int(np.argmin(pivots / H.diagonal()))
                raise Refused(f"singular pose: {system.row_names[row]} depends on the other rows here")

    def solve(self, forces: Array, distances: Array, others: Array) -> tuple[Array, Array]:
        """Return gamma (size,) and lambda (K,) for forces (size,) and the two right-hand sides S, (S, 6) and (K,)."""
        free = self.structure.inverse * forces
        have = self.velocities(free)
        change, multipliers = self.change(distances - have[0], others - have[1])
        return free + change, multipliers

    def change(self, distances: Array, others: Array) -> tuple[Array, Array]:
        """Return M^-1 C' H^-1 of (S, 6) and (K,), and the multipliers (K,). The first result (size,) is the
        mass-weighted minimum change that changes the rows by these values."""
        s = self.structure
        result = np.zeros(s.system.size)
        result[: s.split] = (self.free.P.transpose(0, 2, 1) @ distances[:, :, None]).ravel()
        multipliers = self.back(others - self.C @ result)
        result += self.Y @ multipliers
        return result, multipliers

    def back(self, right: Array) -> Array:
        """Return (C W C')^-1 applied to (K,) or (K, k)."""
        if not self.structure.K:
            return right
        return lapack.dpotrs(self.factor, right, lower=1)[0].reshape(right.shape)

    def velocities(self, v: Array) -> tuple[Array, Array]:
        """Return C v for velocities v (size,): the rates of the distances (S, 6) and of the other rows (K,)."""
        s = self.structure
        return (self.free.Cs @ v[: s.split].reshape(s.S, 12, 1))[:, :, 0], self.C @ v

    def curvature(self, v: Array) -> tuple[Array, Array]:
        """Return Cdot v of the rows."""
        s, system = self.structure, self.structure.system
        forms = s.forms.curvature(system.velocities(v))
        distances, others = forms[: 6 * s.S].reshape(s.S, 6), forms[6 * s.S: 6 * s.S + s.m]
        if s.r or s.couplings:
            turning = self.turning(v)
            others = np.concatenate([others, turning[system.geared], [c.across(turning) for c in s.couplings]])
        return distances, others

    def turning(self, v: Array) -> Array:
        """Return the coordinates' accelerations (n,) that velocities v (size,) cause when no point accelerates."""
        s, system = self.structure, self.structure.system
        return system.coordinates.curvature(self.forms[s.m:], system.forms.curvature(system.velocities(v))[s.m:])


@dataclass(frozen=True)
class Along:
    """The system as a function of its coordinates, at one configuration."""

    rows: Array  # gradients (n, size)
    responses: Array  # accelerations (size, n) for unit torques
    multipliers: Array  # multipliers (K, n) of the rows for unit torques
    compliance: Array  # rows times responses (n, n), the inverse of the joint-space inertia

    @staticmethod
    def of(equations: Equations) -> Along:
        rows = equations.G
        free = equations.free.mobility(rows)
        multipliers = -equations.back(equations.C @ free)
        responses = free + equations.Y @ multipliers
        return Along(rows, responses, multipliers, rows @ responses)
