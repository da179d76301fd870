"""Dry friction with stick: multipliers clamped to the Coulomb torque (THEORY.md section 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ROUNDING = 1e-12
_SWEEPS = 1000


def clamped(compliance: Array, rate: Array, bound: Array) -> Array:
    """Friction torques m (n,) with |m| <= bound that bring rate + compliance m to rest, or oppose it with the bound.

    compliance: (n, n) symmetric, at least semidefinite: rates that unit torques cause within the step. rate: (n,)
    without friction. Found by its active set, who sticks and who slides which way; where that does not settle, by
    sweeps over the joints.
    """
    side = -np.sign(rate) * (np.abs(rate) > np.abs(compliance) @ bound)  # nothing that friction can do stops these
    noise = _ROUNDING * (np.abs(compliance) @ bound + np.abs(rate))
    for _ in range(2 * len(rate) + 2):
        m = side * bound
        stuck = side == 0.0
        if stuck.any():
            left = (rate + compliance @ m)[stuck]
            m[stuck] = -np.linalg.lstsq(compliance[np.ix_(stuck, stuck)], left, rcond=_ROUNDING)[0]
        slipping = stuck & (np.abs(m) > bound)
        pushing = ~stuck & ((rate + compliance @ m) * side > noise)  # friction would drive the joint
        if not (slipping.any() or pushing.any()):
            return m
        side = np.where(slipping, np.sign(m), np.where(pushing, 0.0, side))
    return _sweep(compliance, rate, bound)


def _sweep(compliance: Array, rate: Array, bound: Array) -> Array:
    """The same by Gauss-Seidel sweeps with clamping, which always converge."""
    m = np.zeros_like(rate)
    for _ in range(_SWEEPS):
        last = m.copy()
        for j in range(len(m)):
            own = compliance[j, j]
            m[j] = np.clip(m[j] - (rate[j] + compliance[j] @ m) / own, -bound[j], bound[j])
        if np.abs(m - last).max() <= _ROUNDING * bound.max():
            break
    return m
