"""Dry friction with stick: multipliers clamped to the Coulomb torque (THEORY.md section 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ROUNDING = 1e-12
_SWEEPS = 1000


def clamped(compliance: Array, rate: Array, bound: Array) -> Array:
    """Friction torques m (n,) with |m| <= bound that bring rate + compliance m to rest, or oppose it with the bound.

    compliance: (n, n) rates that unit torques cause within the step, (nearly) symmetric, at least semidefinite. rate: (n,)
    without friction. Found by its active set, who sticks and who slides which way; where that does not settle, by
    sweeps over the joints.
    """
    reach = np.abs(compliance) @ bound
    side = -np.sign(rate) * (np.abs(rate) > reach)  # these no friction can stop
    noise = _ROUNDING * (reach + np.abs(rate))
    for _ in range(2 * len(rate) + 2):
        m = side * bound
        stuck = side == 0.0
        if stuck.any():
            m[stuck] = -_solve(compliance[np.ix_(stuck, stuck)], (rate + compliance @ m)[stuck])
        slipping = np.abs(m) > bound
        pushing = (rate + compliance @ m) * side > noise  # friction would drive the joint
        if not (slipping | pushing).any():
            return m
        side = np.where(slipping, np.sign(m), np.where(pushing, 0.0, side))
    return _sweep(compliance, rate, bound)


def _solve(matrix: Array, right: Array) -> Array:
    """Also where the matrix is singular: joints of one loop stick together in more than one way."""
    try:
        solution = np.linalg.solve(matrix, right)
        if np.abs(matrix @ solution - right).max() <= 1e-9 * np.abs(right).max():
            return solution
    except np.linalg.LinAlgError:
        pass
    return np.linalg.lstsq(matrix, right, rcond=_ROUNDING)[0]


def _sweep(compliance: Array, rate: Array, bound: Array) -> Array:
    """The same by Gauss-Seidel sweeps with clamping, which always converge."""
    m = np.zeros_like(rate)
    for _ in range(_SWEEPS):
        last = m.copy()
        for j in range(len(m)):
            m[j] = np.clip(m[j] - (rate[j] + compliance[j] @ m) / compliance[j, j], -bound[j], bound[j])
        if np.abs(m - last).max() <= _ROUNDING * bound.max():
            break
    return m
