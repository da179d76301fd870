"""Friction that falls with velocity or rises with load, accepted only if a motion outside the fit confirms it.

    sgn(q') [ f_s / (1 + (q'/v_s)^2) + mu |tau_ID| ]          (codegen/model/driven_friction.py)

f_s and mu of each joint are ordinary unknowns. v_s is the velocity that leaves the smallest residual of the joint's own
equation with all other numbers free (variable projection, Golub and Pereyra, SIAM J. Num. Anal. 10(2), 1973).

Additional unknowns always improve the fit. So the decision is based on a motion that the fit did not use. A joint gets
f_s, mu or both only if they reduce its squared errors in this motion significantly. For each second of the motion,
(before - after) / (before + after) is computed from the squared errors. So a single noisy second cannot decide. The
mean of these fractions must be larger than the half-width of its confidence interval. The significance level is divided
by the number of trials (Bonferroni). v_s must lie within the observed velocities. Below the observed velocities f_s
would be an extrapolation. Above the observed velocities, f_s and Coulomb friction cannot be separated. If no v_s can be
fitted, the file's v_s is used.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import COULOMB_VELOCITY
from femtorque.host.lab.inertial.fitting import AS_WELL, LENGTH, Found, fit, fit_rows
from femtorque.host.lab.inertial.recording import Equations, Recording, equations
from femtorque.host.lab.inertial.regressor import FrictionTerm, Unknowns

VELOCITIES = 60  # number of trial values of v_s
SLOWEST, FASTEST = 2.0, 0.5  # bounds of v_s: factors on a joint's slowest and fastest velocity
WAYS: tuple[tuple[str, ...], ...] = (("stribeck",), ("load",), ("stribeck", "load"))
LEVEL = 0.05  # significance level
ROUNDS = 3  # rounds of fits; each round computes the loads from the masses of the previous round


def fit_friction(unknowns: Unknowns, takes: Sequence[Recording], unseen: Sequence[Recording],
                 columns: NDArray[np.int64], base: Array) -> Found:
    """Find the unknowns as `fit` does, and any friction beyond Coulomb friction that the motion `unseen` confirms.
    Raises the same Refused as `fit`."""
    plain = fit(unknowns, takes, columns, base)
    joints = [j for j in unknowns.joints if all(any(j in take.given for take in of) for of in (takes, unseen))]
    if not joints:
        return plain
    carried = replace(unknowns, carried=plain.values[:10 * len(unknowns.solids)])
    trial = replace(carried, terms=tuple(FrictionTerm(j) for j in joints))
    rows = equations(trial, takes)
    streamed = unknowns.space.whole.streamed
    slows = {j: slow for k, j in enumerate(joints) if (slow := _slow(trial, rows, j, columns, trial.plain + k)
                                                       or streamed[j].friction.stribeck_velocity)}
    trial = replace(carried, terms=(*trial.terms, *(FrictionTerm(j, slow) for j, slow in slows.items())))
    rows, judge = equations(trial, takes), equations(trial, unseen)
    squares = {way: _squares(trial, rows, judge, way, columns, base) for way in ((), *WAYS)}
    chosen = {j: _choice(j, squares, len(WAYS) * len(joints), j in slows) for j in joints}
    return _kept(carried, plain, [term for term in trial.terms if term.part in chosen[term.joint]], takes, unseen,
                 (columns, base))


def _kept(unknowns: Unknowns, plain: Found, terms: list[FrictionTerm], takes: Sequence[Recording],
          unseen: Sequence[Recording], given: tuple[NDArray[np.int64], Array]) -> Found:
    """Return the last fit. Friction terms that are smaller than their confidence intervals are omitted."""
    found, rounds = plain, 0
    while terms and rounds < ROUNDS:
        found = fit(replace(unknowns, terms=tuple(terms)), takes, *given)
        at = found.unknowns.plain
        sure = found.values[at:] > 1.96 * found.deviation[at:]
        stays = [term for term, s, was in zip(terms, sure, found.unknowns.prior[at:], strict=True) if s or was > 0.0]
        rounds = rounds + 1 if len(stays) == len(terms) else 0
        terms, unknowns = stays, replace(unknowns, carried=found.values[:10 * len(unknowns.solids)])
    return found if terms else plain


def _slow(unknowns: Unknowns, rows: Equations, joint: int, columns: NDArray[np.int64], load: int) -> float:
    """Return v_s of a joint, rad/s or m/s; 0 if it is outside the observed velocities."""
    use = rows.counts[:, joint]
    v, sign = (rows.of_joint(unknowns, joint, part)[use] for part in ("viscous", "coulomb"))
    least = COULOMB_VELOCITY[unknowns.space.whole.streamed[joint].type == "prismatic"]
    low, high = SLOWEST * max(float(np.abs(v).min()), least), FASTEST * float(np.abs(v).max())
    if low >= high:
        return 0.0
    beside = np.column_stack([rows.matrix[use, joint][:, [*columns, load]], rows.late[use, joint]])
    left, sizes, _ = np.linalg.svd(beside / np.maximum(np.linalg.norm(beside, axis=0), 1e-12), full_matrices=False)
    left = left[:, sizes > 1e-8 * sizes[0]]
    tried = np.geomspace(low, high, VELOCITIES)
    shapes = (sign[:, None] / (1.0 + (v[:, None] / tried) ** 2))
    shapes -= left @ (left.T @ shapes)
    gain = np.maximum(shapes.T @ rows.side[use, joint], 0.0) ** 2 / np.sum(shapes**2, axis=0)
    best = int(np.argmax(gain))
    return float(tried[best]) if 0 < best < VELOCITIES - 1 else 0.0


def _squares(trial: Unknowns, rows: Equations, judge: Equations, way: Sequence[str], columns: NDArray[np.int64],
             base: Array) -> Array:
    """Return the squared errors (K, J) of the test stretches if all joints have these friction terms."""
    stays = np.array([term.part in way for term in trial.terms])
    some = replace(trial, terms=tuple(term for term, s in zip(trial.terms, stays, strict=True) if s))
    found = fit_rows(some, _some(rows, trial, stays), columns, base)
    left = np.where(judge.counts, _some(judge, trial, stays).errors(found.values, found.late) ** 2, 0.0)
    stretch = (np.arange(len(left)) * judge.period / LENGTH).astype(int)
    return np.stack([np.bincount(stretch, x) for x in left.T], axis=1)


def _some(rows: Equations, trial: Unknowns, stays: NDArray[np.bool_]) -> Equations:
    """Return the equations without some friction terms. The omitted terms keep the file's numbers."""
    gone = trial.plain + np.flatnonzero(~stays)
    return replace(rows, matrix=np.delete(rows.matrix, gone, axis=2),
                   side=rows.side - rows.matrix[:, :, gone] @ trial.prior[gone])


def _choice(joint: int, squares: dict[tuple[str, ...], Array], trials: int, slow: bool) -> tuple[str, ...]:
    """Return the friction terms that explain the test motion significantly better than fewer or no terms do."""
    best: tuple[str, ...] = ()
    ways = sorted((way for way in WAYS if slow or "stribeck" not in way),
                  key=lambda way: (len(way), float(squares[way][:, joint].sum())))
    for way in ways:
        if set(best) <= set(way) and _better(squares[best][:, joint], squares[way][:, joint], trials):
            best = way
    return best


def _better(before: Array, after: Array, trials: int) -> bool:
    """Return True if the squared errors (K,) fall by a fraction of more than AS_WELL and the fall is significant."""
    before, after = before[before > 0.0], after[before > 0.0]
    if len(before) < 2 or after.sum() >= (1.0 - AS_WELL) * before.sum():
        return False
    share = (before - after) / (before + after)
    half = student.ppf(1.0 - 0.5 * LEVEL / trials, len(share) - 1) * np.std(share, ddof=1) / np.sqrt(len(share))
    return bool(share.mean() > half)
