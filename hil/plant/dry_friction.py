"""Dry friction with stick: multipliers clamped to the Coulomb torque (THEORY.md section 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ROUNDING = 1e-12
_CREEP = 1e-10  # of the mean compliance
_AT_ONCE = 6  # rounds in which all change
_ROUNDS = 20  # per joint, in which one does


def clamped(compliance: Array, velocity: Array, bound: Array) -> Array:
    """Friction torques m (n,) with |m| <= bound that bring velocity + compliance m to rest, or oppose it with the
    bound.

    compliance: (n, n) velocities that unit torques cause within the step, (nearly) symmetric, at least semidefinite.
    velocity: (n,) without friction. Found by its active set, who sticks and who slides which way, all of it changed at
    once; where that does not settle, as in loops, whose joints stick together in many ways, changed one by one.
    """
    reach = np.abs(compliance) @ bound
    side = -np.sign(velocity) * (np.abs(velocity) > reach)  # these no friction can stop
    noise = _ROUNDING * (reach + np.abs(velocity))
    for _ in range(_AT_ONCE):
        m = side * bound
        stuck = side == 0.0
        if stuck.any():
            m[stuck] = -_solve(compliance[np.ix_(stuck, stuck)], (velocity + compliance @ m)[stuck])
        slipping = np.abs(m) > bound
        pushing = (velocity + compliance @ m) * side > noise  # friction would drive the joint
        if not (slipping | pushing).any():
            return m
        side = np.where(slipping, np.sign(m), np.where(pushing, 0.0, side))
    return _one_by_one(compliance, velocity, bound, m)


def _solve(matrix: Array, right: Array) -> Array:
    """Also where the matrix is singular: joints of one loop stick together in more than one way."""
    try:
        solution = np.linalg.solve(matrix, right)
        if np.abs(matrix @ solution - right).max() <= 1e-9 * np.abs(right).max():
            return solution
    except np.linalg.LinAlgError:
        pass
    return np.linalg.lstsq(matrix, right, rcond=_ROUNDING)[0]


def _one_by_one(compliance: Array, velocity: Array, bound: Array, guess: Array) -> Array:
    """The same as the bounded least squares that it is, min m' C m / 2 + velocity' m (Stark and Parker's BVLS).

    A creep of _CREEP of the compliance, doubled until its rounding errors are seen to be smaller, makes the minimum
    unique; each round lowers the sum, so it ends.
    """
    n = len(velocity)
    C = 0.5 * (compliance + compliance.T)
    lowest = float(np.linalg.eigvalsh(C)[0])  # of loops zero, but for rounding
    creep = _CREEP * float(np.trace(C)) / n
    while creep < -10.0 * lowest:
        creep *= 2.0
    C += creep * np.eye(n)
    m = np.clip(guess, -bound, bound)
    free = np.abs(m) < bound
    noise = _ROUNDING * (np.abs(C) @ bound + np.abs(velocity)) + 0.1 * creep * bound
    for _ in range(_ROUNDS * n):
        if free.any():
            wanted = m.copy()
            wanted[free] = np.linalg.solve(C[np.ix_(free, free)], -(velocity + C[:, ~free] @ m[~free])[free])
            over = free & (np.abs(wanted) > bound)
            if over.any():  # as far as the first bound on the way
                limit = np.sign(wanted[over]) * bound[over]
                shares = (limit - m[over]) / (wanted[over] - m[over])
                first = np.flatnonzero(over)[int(np.argmin(shares))]
                m = m + np.clip(shares.min(), 0.0, 1.0) * (wanted - m)
                m[first] = np.sign(wanted[first]) * bound[first]
                free[first] = False
                continue
            m = wanted
        pushing = np.where(free, 0.0, (velocity + C @ m) * np.sign(m))  # friction that would drive its joint
        worst = int(np.argmax(pushing - noise))
        if pushing[worst] <= noise[worst]:
            break
        free[worst] = True
    return m
