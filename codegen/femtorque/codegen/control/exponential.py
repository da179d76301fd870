"""The matrix exponential, which gives the state of a linear system after one tick."""

import numpy as np

from femtorque.codegen.common import Array

DEGREE = 6  # degree of the Padé approximant; the relative error is 3.4e-16 for a matrix of norm 0.5
ROUNDS = 8  # iterations of balancing; further iterations change little


def exponential(A: Array) -> Array:
    """Return e^A (P, n, n) of matrices A (P, n, n), which must have similar magnitudes. The method scales and squares a
    Padé approximant (Golub and Van Loan, Matrix Computations, section 11.3). Balanced units reduce the number of
    squarings, and each squaring costs precision. SciPy offers this method too, but its import takes 0.25 s per command.
    """
    units = _balanced(np.max(np.abs(A), axis=0))
    B = A * units / units[:, None]
    norm = float(np.max(np.sum(np.abs(B), axis=-1), initial=0.0))
    halvings = max(0, int(np.ceil(np.log2(norm))) + 1) if norm > 0.0 else 0
    X = B / 2.0**halvings
    power = above = below = np.broadcast_to(np.eye(A.shape[-1]), A.shape)
    c = 1.0
    for k in range(1, DEGREE + 1):
        c *= (DEGREE - k + 1.0) / (k * (2.0 * DEGREE - k + 1.0))
        power = X @ power
        above, below = above + c * power, below + (-1.0)**k * c * power
    result: Array = np.linalg.solve(below, above)
    for _ in range(halvings):
        result = result @ result
    return result * units[:, None] / units


def _balanced(sizes: Array) -> Array:
    """Return units (n,), powers of two, in which rows and columns of |A| (n, n) have similar sums (Osborne 1960)."""
    units, others = np.ones(len(sizes)), sizes * (1.0 - np.eye(len(sizes)))
    for _ in range(ROUNDS):
        for i in range(len(units)):
            row, column = others[i] @ (units / units[i]), others[:, i] @ (units[i] / units)
            if row > 0.0 and column > 0.0:
                units[i] *= 2.0 ** np.round(0.5 * np.log2(row / column))
    return units
