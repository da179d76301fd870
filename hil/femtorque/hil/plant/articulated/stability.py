"""The maximum stable step of the explicit cycle is 2 / omega. omega is the highest natural frequency that springs and
beams allow.

The upper bound of omega comes from the joined solids without any mechanism between them. Adding a mechanism only adds
constraints, and a constraint never raises the maximum frequency. Therefore the bound is valid in each pose in which the
springs have the same lever arms. A safety factor allows for other poses. Dampers act on v + t gamma, the velocity
extrapolated from the last cycle. With dampers the step decreases to (2 / omega) (sqrt(1 + 4 zeta^2) - 2 zeta). At this
step the cycle's amplification leaves the unit circle.
"""

import numpy as np
from scipy.linalg import block_diag

from femtorque.codegen.common import Array
from femtorque.hil.plant.articulated.equations import Equations
from femtorque.hil.plant.articulated.loads import Loads

MARGIN = 0.8


def largest_step(equations: Equations, loads: Loads) -> float:
    """Return the maximum step, including a safety factor, s; infinite if nothing is elastic."""
    structure, x = equations.structure, equations.x
    rows: list[Array] = []
    stiffness: list[Array] = []
    damping: list[Array] = []
    for stiff, gradient in zip(loads.stiffness, equations.G[:, : structure.split], strict=True):
        if stiff > 0.0:
            rows.append(gradient)
            stiffness.append(np.full((1, 1), stiff))
            damping.append(np.zeros((1, 1)))
    if loads.beams is not None:
        strains = loads.beams.forms.gradient(loads.beams.forms.factors(x))[:, 4:].reshape(-1, structure.split)
        rows += list(strains)
        stiffness += list(loads.beams.stiffness)
        damping += [K * time for K, time in zip(loads.beams.stiffness, loads.beams.damping[:, 0], strict=True)]
    if not rows:
        return np.inf
    B = np.zeros((len(rows), structure.system.size))
    B[:, : structure.split] = rows
    compliance = B @ equations.free.mobility(B)
    square = _largest(compliance, stiffness)
    if square == 0.0:
        return np.inf
    omega = np.sqrt(square)
    zeta = 0.5 * _largest(compliance, damping) / omega
    return MARGIN * 2.0 / omega * (np.sqrt(1.0 + 4.0 * zeta**2) - 2.0 * zeta)


def _largest(compliance: Array, blocks: list[Array]) -> float:
    """Return the maximum eigenvalue of compliance times block-diagonal matrix: of B' K B relative to the mass."""
    return float(np.max(np.linalg.eigvals(compliance @ block_diag(*blocks)).real, initial=0.0))
