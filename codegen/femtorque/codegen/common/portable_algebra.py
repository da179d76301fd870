"""Linear equations, least squares, rank and eigenvectors of small matrices. The results are bit-identical on every
processor.

In LAPACK the order of sums depends on the processor (vectors.py). The methods in this module sum in one fixed order.
The methods are Gaussian elimination with row pivots, Gram-Schmidt applied twice (as accurate as Householder), and
Jacobi rotations (Golub and Van Loan, Matrix Computations)."""

import math

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common.vectors import dot, norm, of_lists, product

Array = NDArray[np.float64]

SWEEPS, ROUNDING = 40, 2.0**-53


def solve(A: Array, b: Array, singular: bool = False) -> Array:
    """Return the solution x (..., n, k) of A x = b, with A (..., n, n), b (..., n, k). Raise numpy.linalg.LinAlgError
    if A is singular. singular: do not raise, but set the undetermined components of x to zero; for stacks."""
    n = A.shape[-1]
    shape = np.broadcast_shapes(A.shape[:-2], b.shape[:-2])
    if not n:
        return np.zeros((*shape, 0, b.shape[-1]))
    T = np.concatenate([np.broadcast_to(A, (*shape, n, n)), np.broadcast_to(b, (*shape, *b.shape[-2:]))], axis=-1)
    if T.ndim == 2:
        return np.array(_solved(T.tolist(), n)).reshape(b.shape)
    T = T.reshape(-1, n, T.shape[-1])
    every = np.arange(len(T))
    for k in range(n):
        best = k + np.argmax(np.abs(T[:, k:, k]), axis=1)
        pivot, other = T[every, best], T[:, k].copy()
        T[every, best], T[:, k] = other, pivot
        if singular:
            T[:, k, k] = pivot[:, k] = np.where(pivot[:, k] == 0.0, np.inf, pivot[:, k])
        _regular(bool(np.all(pivot[:, k] != 0.0)))
        below = T[:, k + 1:, k] / pivot[:, None, k]
        T[:, k + 1:, k + 1:] -= below[..., None] * pivot[:, None, k + 1:]
    x = np.empty_like(T[:, :, n:])
    for k in reversed(range(n)):
        rest = T[:, k, n:]
        for j in range(k + 1, n):
            rest = rest - T[:, k, j, None] * x[:, j]
        x[:, k] = rest / T[:, k, k, None]
    return x.reshape(*shape, n, b.shape[-1])


def _solved(T: list[list[float]], n: int) -> list[list[float]]:
    """Solve the equations of one matrix, given together with its right-hand sides, (n, n + k)."""
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(T[i][k]))
        T[k], T[best] = T[best], T[k]
        pivot = T[k]
        _regular(pivot[k] != 0.0)
        for row in T[k + 1:]:
            if row[k] != 0.0:
                factor = row[k] / pivot[k]
                for j in range(k + 1, len(row)):
                    row[j] -= factor * pivot[j]
    x: list[list[float]] = []  # from the last row up
    for k in reversed(range(n)):
        row = T[k]
        rest = row[n:]
        for j in range(k + 1, n):
            known, factor = x[n - 1 - j], row[j]
            rest = [a - factor * b for a, b in zip(rest, known, strict=True)]
        x.append([a / row[k] for a in rest])
    return x[::-1]


def _regular(found: bool) -> None:
    if not found:
        raise np.linalg.LinAlgError("Singular matrix")


def distances(A: Array) -> Array:
    """Return the distance (..., n) of every column of A (..., m, n), m >= n, from the span of the earlier columns. With
    A = Q R, the distance of column k from this span is |R_kk|."""
    Q: list[Array] = []
    found = []
    for k in range(A.shape[-1]):
        left = _across(A[..., k], Q)
        size = norm(left)
        found.append(size)
        with np.errstate(divide="ignore", invalid="ignore"):
            Q.append(np.where(np.asarray(size)[..., None] > 0.0, left / np.asarray(size)[..., None], 0.0))
    return np.stack(np.broadcast_arrays(*found), axis=-1)


def _across(v: Array, Q: list[Array]) -> Array:
    """Return v minus its components along the orthonormal vectors Q, all (..., m). The components are subtracted twice,
    to reduce the rounding error."""
    for _ in range(2 if Q else 0):
        for q in Q:
            v = v - q * np.asarray(dot(q, v))[..., None]
    return v


def basis(A: Array, tolerance: float) -> Array:
    """Return orthonormal rows (rank, n) that span the rows of A (m, n). Each step takes the row that is farthest from
    the span. A row counts as independent if its distance from the span of the earlier rows exceeds `tolerance`,
    relative to the longest row."""
    left: list[list[float]] = A.tolist()
    Q: list[list[float]] = []
    longest = 0.0
    while len(Q) < min(A.shape):
        sizes = [math.sqrt(of_lists(row, row)) for row in left]
        best = max(range(len(left)), key=sizes.__getitem__)
        longest = longest or sizes[best]
        if not sizes[best] > tolerance * longest:
            break
        v = left[best]
        for q in Q:
            v = _less(v, q)
        size = math.sqrt(of_lists(v, v))
        Q.append([x / size for x in v])
        left = [_less(row, Q[-1]) for row in left]
        left[best] = [0.0] * A.shape[1]
    return np.array(Q).reshape(len(Q), A.shape[1])


def _less(v: list[float], q: list[float]) -> list[float]:
    """Return v minus its component along q."""
    along = of_lists(q, v)
    return [x - along * y for x, y in zip(v, q, strict=True)]


def rank(A: Array, tolerance: float) -> int:
    """Return the rank of A (m, n), with the tolerance of `basis`."""
    return len(basis(A, tolerance))


def least_squares(A: Array, b: Array, tolerance: float) -> Array:
    """Return the shortest x (n,) that minimises |A x - b|. b (m,). The rank of A (m, n) depends on `tolerance`."""
    Q = basis(A.T, tolerance)  # the rows of Q span the columns of A: A = Q' (Q A)
    if not len(Q):
        return np.zeros(A.shape[1])
    rows = product(Q, A)  # (r, n), of full rank
    P = basis(rows, 0.0)  # x = P' y
    y = solve(product(rows, P.T), product(Q, b)[:, None])[:, 0]
    return np.asarray(product(y, P))


def modes(K: Array, M: Array) -> tuple[Array, Array]:
    """Return the eigenvalues (n,) in ascending order, and the eigenvectors as columns of X (n, n), of K x = w M x with
    X' M X = 1. K, M (n, n): symmetric and positive definite. Jacobi's method is applied to L^-1 K L^-T with M = L L'.
    """
    n = len(M)
    L = _cholesky(M)
    one = np.eye(n)
    back = solve(L, one)
    A, V = product(back, K, back.T), one.copy()
    A = 0.5 * (A + A.T)
    for _ in range(SWEEPS):
        if not any([_rotate(A, V, p, q) for p, q in _rounds(n)]):
            break
    order = np.argsort(np.diagonal(A), kind="stable")
    return np.diagonal(A)[order].copy(), np.asarray(product(back.T, V[order].T))


def _cholesky(M: Array) -> Array:
    """Return the lower triangular matrix L of M = L L'."""
    L = np.zeros_like(M)
    for k in range(len(M)):
        rest = M[k:, k] - product(L[k:, :k], L[k, :k]) if k else M[:, 0]
        L[k:, k] = rest / math.sqrt(rest[0])
    return L


def _rounds(n: int) -> list[tuple[Array, Array]]:
    """Return every pair of n axes once, in rounds of disjoint pairs, like the rounds of a tournament."""
    players = list(range(n + n % 2))
    rounds = []
    for _ in players[1:]:
        half = len(players) // 2
        pairs = [(min(x), max(x)) for x in zip(players[:half], players[:half - 1:-1], strict=True) if max(x) < n]
        rounds.append(tuple(np.array(pairs, int).reshape(-1, 2).T))
        players = [players[0], players[-1], *players[1:-1]]
    return rounds  # type: ignore[return-value]


def _rotate(A: Array, V: Array, p: Array, q: Array) -> bool:
    """Rotate the axes p and q of A, and the rows of V, so that all A[p, q] become zero.

    Return False if all A[p, q] are negligible."""
    between, a, b = A[p, q], A[p, p], A[q, q]
    turned = np.abs(between) > ROUNDING * np.sqrt(a * b)
    if not np.any(turned):
        return False
    ratio = (b - a) / (2.0 * np.where(turned, between, 1.0))
    t = np.where(turned, np.copysign(1.0, ratio) / (np.abs(ratio) + np.sqrt(1.0 + ratio * ratio)), 0.0)
    c = 1.0 / np.sqrt(1.0 + t * t)
    c, s = c[:, None], (t * c)[:, None]
    for X in (A, A, V):
        X[p], X[q] = c * X[p] - s * X[q], s * X[p] + c * X[q]
        if X is A:  # multiplied from the left: rows; from the right: columns
            A[:] = A.T.copy()
    A[p, q] = A[q, p] = np.where(turned, 0.0, between)
    return True
