"""Identifies the numbers of an arm that best explain its motions, and their uncertainty.

Each joint's equations are weighted by the inverse of their residual variance. Neighbouring equations share samples, so
the spectrum of each joint's residual decides how many equations count as one (host/lab/inertial/misfit.py). The file's
numbers are the prior, and gamma is the prior's weight. The best gamma has the smallest error on held-out recordings.
The fit takes the largest gamma within one standard error of this best error, so noise does not move numbers away from
the file's (Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 2009, 7.10).
A drive or servo may apply a torque a little later than the frame that commands it.
The fit also finds this delay of each joint. LATE is the expected delay.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array, Refused
from femtorque.host.lab.inertial import physical
from femtorque.host.lab.inertial.misfit import Misfit, misfit
from femtorque.host.lab.inertial.physical import Prior, pseudo_inertia
from femtorque.host.lab.inertial.recording import WINDOW, Equations, Recording, equations
from femtorque.host.lab.inertial.regressor import OF_JOINT, Unknowns

# expected delays, s: of servos, of drives on CAN, of motors on the board's own bridges
LATE, ON_CAN, EXACT = 2e-3, 1e-4, 2e-5
GAMMAS = [10.0**n for n in range(4, -5, -1)]
AS_WELL = 0.01  # fraction of the smallest held-out error: a smaller increase of the error is ignored
# recordings are divided into pieces of LENGTH s; the fit does not use every HELD_OUT-th piece
HELD_OUT, LENGTH = 4, 1.0
# fraction of the file's number: assumed standard deviation, used to decide which numbers the data determine
DOUBT = 0.2
ROUNDS = 3  # of the fit; each round takes its noise from the previous one
RUBS = 1.0  # the same for friction, which no data sheet gives
SEEN = 0.7  # fraction of DOUBT: a number with a smaller standard deviation counts as determined by the data
SHORTEST = 1.0  # minimum duration of a joint's motion, s
# fractions of a joint's maximum torque, velocity and acceleration, for default values of friction and rotor inertia
LEAST = 1e-4


@dataclass(frozen=True)
class Judged:
    """Unexplained rms torque (J,), N m or N, in a motion that was not used for the fit."""

    before: Array  # error with the file's numbers
    after: Array  # error with the new numbers
    motion: Array  # rms of the torque itself


@dataclass(frozen=True)
class Found:
    """Result of a fit. slow (R,): standard deviations of the velocities of `unknowns.terms`, rad/s or m/s; 0 for a term
    without a velocity."""

    unknowns: Unknowns
    prior: Prior
    values: Array  # values (P,) of the unknowns
    covariance: Array  # (P, P), from the data and the prior, whose uncertainty is at least DOUBT
    seen: NDArray[np.bool_]  # (P,): False if the data hardly determine this number
    gamma: float
    late: Array  # delays (J,), s
    noise: Array
    columns: NDArray[np.int64]
    base: Array
    slow: Array
    misfits: tuple[Misfit, ...]  # (J,)

    @property
    def deviation(self) -> Array:
        """Standard deviations (P,) of the unknowns."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def names(self) -> tuple[str, ...]:
        return self.unknowns.names

    def base_values(self) -> tuple[Array, Array]:
        """Return the base parameters (B,) and their standard deviations (B,)."""
        return self.base @ self.values, np.sqrt(np.einsum("bp,pq,bq->b", self.base, self.covariance, self.base))

    def left(self, takes: Sequence[Recording]) -> Judged:
        """Return residuals of motions, with the file's numbers and with the new numbers."""
        rows, none = equations(self.unknowns, takes), np.zeros_like(self.late)
        of_file = replace(self.unknowns, terms=(), carried=None)
        before = equations(of_file, takes) if self.unknowns.terms else rows

        def rms(rows: Equations, values: Array, late: Array) -> Array:
            error = rows.errors(values, late)
            return np.array([np.sqrt(np.mean(e[c] ** 2)) if c.any() else np.nan
                             for e, c in zip(error.T, rows.counts.T, strict=True)])

        return Judged(rms(before, of_file.prior, none), rms(rows, self.values, self.late),
                      rms(before, 0.0 * of_file.prior, none))


def fit(unknowns: Unknowns, takes: Sequence[Recording], columns: NDArray[np.int64], base: Array,
        gamma: float | None = None) -> Found:
    """Fit the unknowns to recordings. columns, base: results of `base_columns`. gamma: weight of the prior; None: found
    from held-out recordings. Raises Refused if the recordings hold too little motion."""
    rows = equations(unknowns, takes)
    check_motion(unknowns, rows, sorted({j for take in takes for j in take.given}))
    return fit_rows(unknowns, rows, columns, base, gamma)


def check_motion(unknowns: Unknowns, rows: Equations, recorded: Sequence[int]) -> None:
    """Raise Refused if a recorded joint moved too little."""
    for j in recorded:
        if rows.counts[:, j].sum() * rows.period < SHORTEST:
            raise Refused(f"{unknowns.space.whole.streamed[j].name} moved for less than {SHORTEST:g} s in all "
                          "recordings: give it a wider --range")


def fit_rows(unknowns: Unknowns, rows: Equations, columns: NDArray[np.int64], base: Array, given: float | None = None
             ) -> Found:
    """Fit the unknowns to their equations. columns (B,), base (B, P'): of `base_columns`, which does not include
    `terms`. The terms are treated as independent columns. given: gamma, if it is known."""
    count = len(unknowns.terms)
    columns = np.concatenate([columns, unknowns.plain + np.arange(count)]).astype(np.int64)
    base = np.block([[base, np.zeros((len(base), count))], [np.zeros((count, base.shape[1])), np.eye(count)]])
    prior, expected = _prior(unknowns, rows), _expected(unknowns)
    noise = _first_noise(rows, columns)
    stretch = (np.arange(len(rows.side)) * rows.period / LENGTH).astype(int)
    held = stretch % HELD_OUT == HELD_OUT - 1
    misfits = (Misfit(WINDOW / rows.period),) * rows.side.shape[1]
    for _ in range(ROUNDS):
        doubted = noise * [one.worse for one in misfits]
        gamma = given or _gamma(rows, expected, prior, doubted, stretch, held)
        normal, side, lateness = _normal(rows, expected, doubted, np.ones_like(held))
        values = physical.fit(normal, side, prior, gamma)
        late = lateness(values)
        noise, error = _rms(rows, values, late, np.ones_like(held)), rows.errors(values, late)
        misfits = tuple(misfit(rows, j, error[:, j], columns) for j in range(len(noise)))
    slopes = _slopes_of_slow(unknowns, rows, values)
    own, _, _ = _normal(replace(rows, matrix=np.concatenate([rows.matrix, slopes], axis=2)), expected,
                        noise * [one.worse for one in misfits], np.ones_like(held))
    # the uncertainty of the velocities increases the deviations of all other numbers
    inner, slow = slice(0, len(values)), slice(len(values), None)
    own[slow, slow] += np.diag([(1.0 / term.slow if term.slow else 1.0) ** 2 for term in unknowns.terms])
    information = own[inner, inner] - own[inner, slow] @ np.linalg.solve(own[slow, slow], own[slow, inner])
    weak = _curvature(prior)
    seen = _deviation(information + weak / DOUBT**2) < SEEN * DOUBT / np.sqrt(np.diag(weak))
    # the pull towards the file is an error, if the file errs by DOUBT
    pulled = _inverse(information + gamma * weak)
    covariance = pulled @ (information + gamma * max(1.0, gamma * DOUBT**2) * weak) @ pulled
    own[inner, inner] += min(gamma, 1.0 / DOUBT**2) * weak
    apart = np.where([term.slow > 0.0 for term in unknowns.terms], _deviation(own)[slow], 0.0)
    return Found(unknowns, prior, values, covariance, seen, gamma, late, noise, columns, base, apart, misfits)


def doubt_file(found: Found, takes: Sequence[Recording]) -> Found:
    """Widen a payload's covariance by the errors of the arm's numbers in the file. The errors are assumed to be so
    large that they leave the residual. The weight of the prior must be small."""
    arm = Unknowns.of(found.unknowns.space.whole)
    rows, beside = equations(found.unknowns, takes), equations(arm, takes)
    both = replace(rows, matrix=np.concatenate([rows.matrix, beside.matrix], axis=2))
    worse = np.array([one.worse for one in found.misfits])
    normal, _, _ = _normal(both, _expected(arm), found.noise * worse, np.ones(len(rows.side), bool))
    own = len(found.values)
    change = found.covariance @ normal[:own, own:]  # of the payload's numbers, per error of the arm's
    spread = _inverse(_curvature(_prior(arm, beside)))
    left = normal[own:, own:] - normal[own:, :own] @ change
    size = float(np.sum(rows.counts.sum(axis=0) / worse**2) / np.trace(left @ spread))
    return replace(found, covariance=found.covariance + size * change @ spread @ change.T)


def _prior(unknowns: Unknowns, rows: Equations) -> Prior:
    """Return the file's numbers, with little weight for friction."""
    count = len(unknowns.terms)
    prior = Prior.of(unknowns.prior, len(unknowns.solids), _least(unknowns, rows), count)
    rubs = [part != "rotor" for _ in unknowns.joints for part in OF_JOINT] + [False] * count
    return replace(prior, hold=prior.hold * np.where(rubs, (DOUBT / RUBS) ** 2, 1.0))


def _expected(unknowns: Unknowns) -> Array:
    """Return the expected delays (J,), s."""
    return np.array([EXACT if joint.drive is None else ON_CAN if joint.drive.servo is None else LATE
                     for joint in unknowns.space.whole.streamed])


def _slopes_of_slow(unknowns: Unknowns, rows: Equations, values: Array) -> Array:
    """Return the derivatives (N, J, R) of the torques with respect to the velocities of `terms`."""
    result = np.zeros((*rows.side.shape, len(unknowns.terms)))
    for k, term in enumerate(unknowns.terms):
        if term.slow:
            v, sign = (rows.of_joint(unknowns, term.joint, part) for part in ("viscous", "coulomb"))
            ratio = (v / term.slow) ** 2
            result[:, term.joint, k] = sign * values[unknowns.plain + k] * 2.0 * ratio / term.slow / (1.0 + ratio) ** 2
    return result


def _least(unknowns: Unknowns, rows: Equations) -> Array:
    """Return thresholds (K,) below which a joint's rotor and friction count as unknown."""
    largest = np.abs(rows.side).max(axis=0)
    of = [*(j for j in unknowns.joints for _ in OF_JOINT), *(term.joint for term in unknowns.terms)]
    return np.array([10.0 * LEAST * largest[j] / max(float(np.abs(rows.matrix[:, j, at]).max()), 1e-9)
                     for at, j in enumerate(of, 10 * len(unknowns.solids))])


def _first_noise(rows: Equations, columns: NDArray[np.int64]) -> Array:
    """Return the rms residual (J,) of separate least squares of each joint."""
    result = []
    for j in range(rows.side.shape[1]):
        use = rows.counts[:, j]
        if not use.any():
            result.append(1.0)
            continue
        A = rows.matrix[use, j][:, columns]
        left = rows.side[use, j] - A @ np.linalg.lstsq(A, rows.side[use, j], rcond=1e-8)[0]
        result.append(max(float(np.sqrt(np.mean(left**2))), 1e-9))
    return np.array(result)


def _normal(rows: Equations, expected: Array, noise: Array, use: NDArray[np.bool_]
            ) -> tuple[Array, Array, Callable[[Array], Array]]:
    """Return the normal matrix (P, P) and the right side (P,) after elimination of the joints' delays, and a function
    that computes the delays."""
    weight = np.where(rows.counts, 1.0 / noise**2, 0.0) * use[:, None]
    A, w, b, d = rows.matrix, weight, rows.side, rows.late
    normal = np.einsum("njp,nj,njr->pr", A, w, A, optimize=True)
    side = np.einsum("njp,nj->p", A, w * b)
    cross = np.einsum("njp,nj->jp", A, w * d)
    own = np.sum(w * d * d, axis=0) + 1.0 / expected**2
    mixed = np.sum(w * d * b, axis=0)
    normal = normal - cross.T @ (cross / own[:, None])
    side = side - cross.T @ (mixed / own)
    return normal, side, lambda x: (mixed - cross @ x) / own


def _rms(rows: Equations, values: Array, late: Array, use: NDArray[np.bool_]) -> Array:
    """Return the rms residual (J,), N m or N."""
    error = rows.errors(values, late)
    counts = rows.counts & use[:, None]
    return np.sqrt(np.sum(np.where(counts, error**2, 0.0), axis=0) / np.maximum(counts.sum(axis=0), 1)) + 1e-12


def _deviation(information: Array) -> Array:
    """Return standard deviations (P,) from an information matrix (P, P)."""
    return np.sqrt(np.diag(_inverse(information)))


def _inverse(information: Array) -> Array:
    """Return the inverse of an information matrix (P, P), whose unknowns have different units."""
    scale = np.outer(*(1.0 / np.sqrt(np.diag(information)),) * 2)
    return scale * np.linalg.inv(information * scale)


def _gamma(rows: Equations, expected: Array, prior: Prior, noise: Array, stretch: NDArray[np.int64],
           held: NDArray[np.bool_]) -> float:
    """Return the largest gamma whose held-out error is minimal within the tolerance."""
    normal, side, lateness = _normal(rows, expected, noise, ~held)
    errors = []
    for values in physical.path(normal, side, prior, GAMMAS):
        error = rows.errors(values, lateness(values)) / noise
        each = np.bincount(stretch[held], np.sum(np.where(rows.counts, error**2, 0.0), axis=1)[held])
        errors.append(each[np.unique(stretch[held])])
    best = errors[int(np.argmin([each.sum() for each in errors]))]
    return next(gamma for gamma, each in zip(GAMMAS, errors, strict=True)
                if (each - best).mean() <= max(AS_WELL * best.mean(), _standard_error(each - best)))


def _standard_error(x: NDArray[Any]) -> float:
    """Return the standard error of the mean of some numbers; infinite for a single number."""
    return float(np.std(x, ddof=1) / np.sqrt(len(x))) if len(x) > 1 else np.inf


def _curvature(prior: Prior) -> Array:
    """Return the second derivative (P, P) of the distance at the prior."""
    size = 10 * len(prior.phi)
    result = np.zeros((size + len(prior.positive),) * 2)
    for s, phi in enumerate(prior.phi):
        turned = np.linalg.inv(pseudo_inertia(phi)) @ physical.E
        result[10 * s:10 * s + 10, 10 * s:10 * s + 10] = np.einsum("aij,bji->ab", turned, turned)
    place = np.arange(size, len(result))
    result[place, place] = prior.hold / prior.positive**2
    return result


