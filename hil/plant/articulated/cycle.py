"""The explicit cycle ("Complementary equations"), with positions projected onto the rows.

    v(n+1/2) = v(n) + t/2 gamma(n)
    x(n+1)   = x(n) + t v(n+1/2)
    C(n+1) gamma(n+1) = -2/t C(n+1) v(n+1/2)          so that C(n+1) v(n+1) = 0
    v(n+1)   = v(n+1/2) + t/2 gamma(n+1)

The paper leaves the start undefined: gamma(0) follows from C gamma = -Cdot v. The cycle keeps the velocities on the
rows, not the positions; these drift. The projection moves x(n+1) back along M^-1 C(n)', the same displacement over t
going into v(n+1/2): the cycle is then the RATTLE scheme (Andersen, J. Comput. Phys. 52, 1983), symplectic, without
drift of closure or energy. The correction is a modified Newton iteration with the factor that the last cycle left;
two or three rounds do. Second order: a solid that turns by a in a step turns (1 + a^2/6) times as far as its velocity
says. What acts along coordinates (drives.py) is added to both half steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common.errors import Refused
from femtorque.hil.plant.articulated.coordinates import unwrap
from femtorque.hil.plant.articulated.drives import Along, Drives
from femtorque.hil.plant.articulated.equations import Equations
from femtorque.hil.plant.articulated.system import Structure

Array = NDArray[np.float64]

CLOSURE = 1e-12  # relative to the extent of the system
ROUNDED = 1e-10  # the same, where thin solids, whose rows have large coefficients, let it come no nearer
ROUNDS = 12

# (equations, unwrapped coordinates (n,), velocities (size,)) -> applied forces (size,)
Forces = Callable[[Equations, Array, Array], Array]


class Cycle:
    """The state of a system and its march in time.

    z, v: (size,) degrees of freedom and velocities. gamma: (size,) accelerations without the drives. q, velocities:
    (n,) coordinates, unwrapped from `near` (n,) on, and their velocities. multipliers: (K,) of the mechanisms' rows,
    without the drives.
    """

    def __init__(self, structure: Structure, z: Array, v: Array, forces: Forces, drives: Drives | None = None,
                 projection: bool = True, near: Array | None = None) -> None:
        self.structure, self.forces, self.drives, self.projection = structure, forces, drives, projection
        self.time = 0.0
        self.z, self.v = z.copy(), v.copy()
        self._equations: Equations | None = None  # formed when they are asked for
        self._along: Along | None = None
        self.q = self.equations.q
        if near is not None:
            self.q = unwrap(self.q, near, structure.system.coordinates.turning)
        self.tolerance = CLOSURE * max(1.0, float(np.abs(structure.system.points(z)).max()))
        distances, others = self.equations.velocities(self.v)
        self.v += self.equations.change(-distances, -others)[0]
        self.restart()

    def restart(self) -> None:
        """Accelerations consistent with the present velocities and forces: C gamma = -Cdot v. Needed after a jump of
        the state or of a force."""
        self.applied = self.forces(self.equations, self.q, self.v)
        distances, others = self.equations.curvature(self.v)
        self.gamma, self.multipliers = self.equations.solve(self.applied, -distances, -others)

    def consistent(self) -> tuple[Array, Array]:
        """Accelerations (size,) and multipliers (K,) of the present state, drives included, from C gamma = -Cdot v.

        Those that the cycle carries bring the velocity onto the rows and so belong to the velocity of the middle of
        the step: right for the march, first order as forces.
        """
        distances, others = self.equations.curvature(self.v)
        gamma, multipliers = self.equations.solve(self.applied, -distances, -others)
        if self.drives is None:
            return gamma, multipliers
        torques = self.drives.total
        return gamma + self.along.responses @ torques, multipliers + self.along.multipliers @ torques

    def resume(self, z: Array, v: Array, gamma: Array, q: Array, applied: Array, multipliers: Array) -> None:
        """Go on from what steps taken elsewhere have left."""
        self.z, self.v, self.gamma, self.q, self.applied, self.multipliers = z, v, gamma, q, applied, multipliers
        self._equations = self._along = None

    @property
    def equations(self) -> Equations:
        """At the present positions."""
        if self._equations is None:
            self._equations = Equations(self.structure, self.z)
        return self._equations

    @property
    def along(self) -> Along:
        """The same."""
        if self._along is None:
            self._along = Along.of(self.equations)
        return self._along

    @property
    def velocities(self) -> Array:
        return self.equations.G @ self.v

    def step(self, t: float) -> None:
        """One cycle of t seconds."""
        half = self.v + 0.5 * t * self.gamma
        if self.drives is not None:
            half = half + self.drives.first_half(self.along, self.v, half, t)
        z = self.z + t * half
        if self.projection:
            projected = self._project(z)
            half = half + (projected - z) / t
            z = projected

        equations = Equations(self.structure, z)
        q = unwrap(equations.q, self.q, self.structure.system.coordinates.turning)
        self.applied = self.forces(equations, q, half + 0.5 * t * self.gamma)
        distances, others = equations.velocities(half)
        gamma, self.multipliers = equations.solve(self.applied, -2.0 / t * distances, -2.0 / t * others)
        v = half + 0.5 * t * gamma
        self.z, self.v, self.gamma, self.q = z, v, gamma, q
        self._equations, self._along = equations, None
        if self.drives is not None:
            self.v = v + self.drives.second_half(self.along, v, t)
        self.time += t

    def closure(self) -> float:
        """Largest residual of the rows, m."""
        distances, others = self.structure.residual(self.z)
        return max(float(np.abs(distances).max()), float(np.abs(others).max(initial=0.0)))

    def kinetic_energy(self) -> float:
        return 0.5 * float(self.structure.mass @ self.v**2)

    def momentum(self) -> tuple[Array, Array]:
        """Linear (3,) and angular momentum about the origin (3,) of the points, rotors left out."""
        s = self.structure
        m = s.mass[: s.split].reshape(-1, 3)
        x, v = self.z[: s.split].reshape(-1, 3), self.v[: s.split].reshape(-1, 3)
        return (m * v).sum(axis=0), np.cross(x, m * v).sum(axis=0)

    def _project(self, z: Array) -> Array:
        last = np.inf
        for _ in range(ROUNDS):
            distances, others = self.structure.residual(z)
            off = max(np.abs(distances).max(), np.abs(others).max(initial=0.0))
            # a round that no longer halves what is left has come to the rounding of the rows
            if off < self.tolerance or last < 2.0 * off < 2.0 * ROUNDED / CLOSURE * self.tolerance:
                return z
            last = off
            z = z + self.equations.change(-distances, -others)[0]
        raise Refused(f"plant at {self.time:.6g} s: positions cannot be brought back onto the rows; the step is too "
                      f"long")
