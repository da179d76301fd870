"""Solves a least-squares fit whose results are physically possible bodies.

A body's mass, first moments and inertia belong to a density of mass if and only if its pseudo-inertia

    J = [[S, h], [h', m]],    S = tr(I)/2 1 - I          (4 x 4; Wensing, Kim and Slotine, RA-L 2(3), 2018)

is positive definite. The fit minimises

    |A x - b|^2 / 2 + gamma sum_i [tr(J0_i^-1 J_i) - log det(J0_i^-1 J_i) - 4]
                    + gamma sum_k w_k [y_k / y0_k - log(y_k / y0_k) - 1]

over the bodies' phi and the joints' positive numbers y (w is 1, or nearly 0). The problem is convex. The distance from
the file's J0 and y0 is from Lee, Wensing and Park (T-RO 36(3), 2020). This distance does not depend on units or frames.
The distance is infinite for bodies that are physically impossible. Newton's method finds the minimum, with steps that
keep every body possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array, Refused
from femtorque.host.lab.inertial.regressor import PLACES

ROUNDS = 200
CLOSE = 1e-10  # Newton's decrement below which the minimum counts as reached
NEARLY = 1e-6  # Newton's decrement that is accepted if rounding errors prevent further descent
# line search: minimum fraction of the predicted decrease, factor between two tries, minimum factor
ARMIJO, SHORTER, LAST = 0.25, 0.5, 1e-12
# factors on gamma, in this order, so that the iteration stays inside the set of possible bodies
PATH = (1e6, 1e4, 1e2, 1.0)
LOOSE = 1e-4  # fraction of gamma: small, but large enough to keep a number positive
LEAST = 1e-3  # fraction of a body's trace: lower bound for the eigenvalues of the file's J0
WRITTEN = 1e-5  # lower bound for results, with a margin for the rounding to seven written digits


def _basis() -> Array:
    """Return dJ/dphi (10, 4, 4) of each number of phi."""
    E = np.zeros((10, 4, 4))
    E[0, 3, 3] = 1.0
    for k in range(3):
        E[1 + k, k, 3] = E[1 + k, 3, k] = 1.0
    for k, (a, b) in enumerate(PLACES):
        if a == b:
            E[4 + k, :3, :3] += 0.5 * np.eye(3)
        E[4 + k, a, b] -= 1.0
        E[4 + k, b, a] = E[4 + k, a, b]
    return E


E = _basis()


def pseudo_inertia(phi: Array) -> Array:
    """Return J (..., 4, 4) of phi (..., 10)."""
    return np.tensordot(phi, E, 1)


def is_consistent(phi: Array) -> bool:
    """Return True if a body with the numbers phi (10,) can exist."""
    return bool(np.linalg.eigvalsh(pseudo_inertia(phi))[0] > 0.0)


def believable(phi: Array, thin: float = LEAST) -> Array:
    """Return the file's phi (10,), or a corrected phi if no real body can have the file's phi. A rod without thickness
    gets a small thickness. thin: minimum eigenvalue, as a fraction of the largest second moment."""
    J = pseudo_inertia(phi)
    c = J[:3, 3] / J[3, 3]
    about = J[:3, :3] - J[3, 3] * np.outer(c, c)  # second moments about the centre of gravity
    size, axes = np.linalg.eigh(about)
    least = thin * max(float(size.max()), 1e-9 * float(J[3, 3]))
    about = (axes * np.maximum(size, least)) @ axes.T
    second = about + J[3, 3] * np.outer(c, c)
    inertia = np.trace(second) * np.eye(3) - second
    return np.array([*phi[:4], *(inertia[a, b] for a, b in PLACES)])


@dataclass(frozen=True)
class Prior:
    """The file's numbers, and their weights in the fit."""

    phi: Array  # numbers (S, 10) of the solids
    positive: Array  # numbers (K,) of the joints
    hold: Array  # (K,): weights of the joints' numbers, as factors on gamma

    @staticmethod
    def of(values: Array, solids: int, least: Array, loose: int = 0) -> Prior:
        """Return the prior for all unknowns, given as one row. least (K,): lower bounds of the joints' numbers. loose:
        number of unknowns at the end that the file lacks. The prior only requires that these numbers are positive."""
        phi = np.array([believable(row) for row in values[:10 * solids].reshape(-1, 10)]).reshape(solids, 10)
        hold = np.ones(len(least))
        hold[len(least) - loose:] = LOOSE
        return Prior(phi, np.maximum(values[10 * solids:], least), hold)

    @property
    def row(self) -> Array:
        return np.concatenate([self.phi.ravel(), self.positive])


def fit(normal: Array, side: Array, prior: Prior, gamma: float) -> Array:
    """Return the minimum x (P,): all phi, then the positive numbers. normal (P, P) is A'A, side (P,) is A'b. Raises
    Refused if rounding errors stop the descent before the minimum."""
    return path(normal, side, prior, [stronger * gamma for stronger in PATH])[-1]


def path(normal: Array, side: Array, prior: Prior, gammas: Sequence[float]) -> list[Array]:
    """Return the minima for a decreasing sequence of gammas. The search for each minimum starts at the minimum of the
    previous gamma. Raises the same Refused as `fit`."""
    found, x = [], prior.row
    for gamma in gammas:
        x = _minimum(x, normal, side, prior, gamma)
        bodies = [believable(phi, WRITTEN) for phi in x[:prior.phi.size].reshape(-1, 10)]
        found.append(np.concatenate([*bodies, x[prior.phi.size:]]))
    return found


def _minimum(x: Array, normal: Array, side: Array, prior: Prior, gamma: float) -> Array:
    inverse0 = np.linalg.inv(pseudo_inertia(prior.phi)) if len(prior.phi) else np.zeros((0, 4, 4))
    value = _value(x, normal, side, inverse0, prior, gamma)
    for _ in range(ROUNDS):
        gradient, hessian = _slopes(x, normal, side, inverse0, prior, gamma)
        scale = 1.0 / np.sqrt(np.diag(hessian))
        step = -scale * np.linalg.solve(hessian * np.outer(scale, scale), scale * gradient)
        promise = float(-gradient @ step)
        if promise <= CLOSE * (1.0 + abs(value)):
            return x
        share = 1.0
        while (new := _value(x + share * step, normal, side, inverse0, prior,
                             gamma)) > value - ARMIJO * share * promise:
            share *= SHORTER
            if share < LAST:
                if promise <= NEARLY * (1.0 + abs(value)):
                    return x
                raise Refused("the fit does not converge: the recordings contradict the file too much")
        x, value = x + share * step, new
    return x


def _value(x: Array, normal: Array, side: Array, inverse0: Array, prior: Prior, gamma: float) -> float:
    solids = len(prior.phi)
    y = x[10 * solids:] / prior.positive
    if not np.all(y > 0.0):
        return np.inf
    total = 0.5 * float(x @ normal @ x) - float(side @ x)
    if solids:
        J = pseudo_inertia(x[:10 * solids].reshape(-1, 10))
        try:
            half = np.linalg.cholesky(J)
        except np.linalg.LinAlgError:  # no body
            return np.inf
        ratio = (2.0 * np.log(np.diagonal(half, axis1=1, axis2=2)).sum(axis=1)
                 + np.linalg.slogdet(inverse0)[1])
        total += gamma * float(np.sum(np.einsum("sij,sji->s", inverse0, J) - ratio - 4.0))
    return total + gamma * float(np.sum(prior.hold * (y - np.log(y) - 1.0)))


def _slopes(x: Array, normal: Array, side: Array, inverse0: Array, prior: Prior, gamma: float) -> tuple[Array, Array]:
    """Return first (P,) and second (P, P) derivatives: d(-log det J) = -tr(J^-1 E_a), d2 = tr(J^-1 E_a J^-1 E_b)."""
    gradient, hessian = normal @ x - side, normal.copy()
    for s, phi in enumerate(x[:10 * len(prior.phi)].reshape(-1, 10)):
        own = slice(10 * s, 10 * s + 10)
        half = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(phi)))
        turned = half @ E @ half.T  # `turned` is symmetric, so tr(turned_a turned_b) is a sum of products of elements
        gradient[own] += gamma * (np.einsum("ij,aji->a", inverse0[s], E) - np.einsum("aii->a", turned))
        hessian[own, own] += gamma * np.einsum("aij,bji->ab", turned, turned)
    own = slice(10 * len(prior.phi), None)
    gradient[own] += gamma * prior.hold * (1.0 / prior.positive - 1.0 / x[own])
    place = np.arange(10 * len(prior.phi), len(x))
    hessian[place, place] += gamma * prior.hold / x[own] ** 2
    return gradient, hessian
