"""A whole articulated system as arrays (points, rows, coordinates, rotors), and its assembly.

Degrees of freedom: first the 12 coordinates of the four points of each solid, then one angle per rotor. The mass matrix
is diagonal. Kinematic rows: six distances per solid, then the rows of the mechanisms, then one row per rotor, then one
row for each two coordinates that are coupled. The row of a rotor couples the rotor to its coordinate. A rotor turns
with a coordinate on the motor's side of a reduction. The rotor's inertia is reflected to the joint (N^2 Jm, which the
paper omits).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Array, Refused
from femtorque.hil.plant.articulated.coordinates import Coordinates, pairs, unwrap
from femtorque.hil.plant.articulated.elements import Element, Row, rows
from femtorque.hil.plant.articulated.forms import Forms
from femtorque.hil.plant.articulated.solids import EDGE_MATRIX, Solid

DEPENDENT = 1e-8  # square of a row's remainder, after projection on the other rows, below which the row is dependent
NUDGE = 0.05  # distance from the start pose at which the rank is computed a second time, m or rad
CLOSED = 1e-11  # maximum residual of closed loops, m
ROUNDED = 2e-5  # residual for rows that contradict each other, for example axes given to a few digits


@dataclass(frozen=True)
class Coupling:
    """Two coordinates, given by number, that gears or links couple: follower = ratio leader + offset."""

    follower: int
    leader: int
    ratio: float
    offset: float

    def left(self, values: Array) -> float:
        """Return the error of the coupling for the coordinates' values (n,)."""
        return float(values[self.follower] - self.ratio * values[self.leader] - self.offset)

    def across(self, by_coordinate: Array) -> Array:
        """Return the coordinates' rows (n, ...) combined as the coupling combines the coordinates' values."""
        combined: Array = by_coordinate[self.follower] - self.ratio * by_coordinate[self.leader]
        return combined


@dataclass(frozen=True)
class System:
    """solids[0] is the ground. Rotor r turns with the coordinate geared[r]."""

    solids: tuple[Solid, ...]
    rows: tuple[Row, ...]
    forms: Forms  # first of the m rows, then of the n coordinates, two each
    coordinate_names: tuple[str, ...]
    coordinates: Coordinates
    geared: NDArray[np.intp]  # (r,)
    rotor_inertia: Array  # (r,) kg m^2 (kg for slides)
    gravity: Array
    dropped: tuple[str, ...] = ()  # names of rows that were omitted because they follow from other rows
    couplings: tuple[Coupling, ...] = ()

    @property
    def moving(self) -> int:
        return len(self.solids) - 1

    @property
    def size(self) -> int:
        """Return the number of degrees of freedom."""
        return 12 * self.moving + len(self.geared)

    @property
    def row_names(self) -> list[str]:
        rotors = [f"{self.coordinate_names[c]}: rotor" for c in self.geared]
        coupled = [f"{self.coordinate_names[c.follower]}: mimic" for c in self.couplings]
        return [f"{row.element}: {row.label}" for row in self.rows] + rotors + coupled

    def points(self, z: Array) -> Array:
        """Return the points (P, 3) of all solids, the ground's first, from degrees of freedom z (size,)."""
        return np.concatenate([self.solids[0].points, z[: 12 * self.moving].reshape(-1, 3)])

    def velocities(self, v: Array) -> Array:
        """Return the velocities of all points; zero for the ground's points."""
        return np.concatenate([np.zeros((4, 3)), v[: 12 * self.moving].reshape(-1, 3)])

    def coordinate_values(self, z: Array) -> Array:
        """Return the coordinates (n,): angles within half a turn of zero, or translations."""
        return self.coordinates.values(self.forms.values(self.points(z))[len(self.rows):])


class Structure:
    """The terms of the equations that do not depend on the configuration.

    forms: first of the 6 S distances, |edge|^2 / (2 length), then the system's forms. targets (6 S + m,): the target
    values of the rows.
    """

    def __init__(self, system: System) -> None:
        moving, r = system.solids[1:], len(system.geared)
        self.system = system
        self.S, self.r, self.m = len(moving), r, len(system.rows)
        self.couplings = system.couplings
        self.K = self.m + r + len(self.couplings)  # number of rows in addition to the solids' distances
        self.split = 12 * self.S
        self.mass = np.concatenate([np.repeat([0.25 * s.mass for s in moving], 12), system.rotor_inertia])
        self.inverse = 1.0 / self.mass
        self.lengths = np.array([s.lengths for s in moving])
        self.edge_pattern = EDGE_MATRIX[None, :, :, None] / self.lengths[:, :, None, None]  # (S, 6, 4, 1)
        self.weight = self.mass * np.concatenate([np.tile(system.gravity, 4 * self.S), np.zeros(r)])
        self.forms = Forms(np.vstack([self._distances(1.0), system.forms.U]),
                           np.vstack([self._distances(0.5 / self.lengths), system.forms.W]))
        self.targets = np.concatenate([0.5 * self.lengths.ravel(), [row.target for row in system.rows]])
        self.rotor_turning = system.coordinates.turning[system.geared]
        self.rotor_columns = np.zeros((self.K, system.size))
        self.rotor_columns[self.m + np.arange(r), self.split + np.arange(r)] = -1.0

    def residual(self, z: Array) -> tuple[Array, Array]:
        """Return the residuals of the rows at z: (S, 6) of the distances, m, and (K,) of the other rows."""
        system = self.system
        forms = self.forms.values(system.points(z))
        known = len(self.targets)
        left = forms[:known] - self.targets
        distances, others = left[: 6 * self.S].reshape(self.S, 6), left[6 * self.S:]
        if self.r:
            rotors = z[self.split:]
            angle = system.coordinates.values(forms[known:])[system.geared]
            others = np.concatenate([others, unwrap(angle, rotors, self.rotor_turning) - rotors])
        if self.couplings:
            values = system.coordinates.values(forms[known:])
            others = np.concatenate([others, [c.left(values) for c in self.couplings]])
        return distances, others

    def row_gradient(self, z: Array) -> Array:
        """Return C of the mechanisms' rows (m, 12 S)."""
        return self.gradients(z)[2]

    def gradients(self, z: Array) -> tuple[Array, Array, Array, Array]:
        """Return the values of the system's forms, the coordinates (n,), with angles within half a turn of zero, the
        matrix C of the mechanisms' rows (m, 12 S), and the gradient of the coordinates (n, 12 S)."""
        system, m = self.system, self.m
        n, (u, w) = len(system.coordinates), system.forms.factors(system.points(z))
        forms = np.einsum("kc,kc->k", u, w)
        weights = np.concatenate([np.ones(m), system.coordinates.weights(forms[m:])])[:, None]
        gradient = system.forms.gradient((weights * u, weights * w))[:, 4:].reshape(m + 2 * n, self.split)
        return forms, system.coordinates.values(forms[m:]), gradient[:m], gradient[m:m + n] + gradient[m + n:]

    def _distances(self, scale: ArrayLike) -> Array:
        """Return the edges of all solids as combinations of the points (6 S, P), multiplied by scale (S, 6)."""
        result = np.zeros((self.S, 6, self.S + 1, 4))
        each = np.arange(self.S)
        result[each, :, each + 1] = EDGE_MATRIX * np.broadcast_to(scale, (self.S, 6))[:, :, None]
        return result.reshape(6 * self.S, 4 * (self.S + 1))


class FreeSolids:
    """The solids at one configuration, without mechanisms: each has six distance rows, which are eliminated in 6 x 6
    blocks.

    Cs (S, 6, 12): distance rows. P (S, 6, 12) = Hs^-1 Cs M^-1. W (S, 12, 12) = M^-1 - M^-1 Cs' Hs^-1 Cs M^-1: the
    accelerations of a free solid's points for unit forces on its points.
    """

    def __init__(self, structure: Structure, z: Array) -> None:
        self.structure = structure
        inverse = structure.inverse[: structure.split].reshape(-1, 1, 12)
        self.Cs = _distance_rows(structure, z)
        weighted = self.Cs * inverse
        self.P = np.linalg.solve(weighted @ self.Cs.transpose(0, 2, 1), weighted)
        self.W = -weighted.transpose(0, 2, 1) @ self.P
        self.W[:, np.arange(12), np.arange(12)] += inverse[:, 0]

    def mobility(self, rows: Array) -> Array:
        """Return W C': accelerations (size, k) of solids and rotors for unit multipliers of the rows (k, size)."""
        s, k = self.structure, len(rows)
        result = np.empty((s.system.size, k))
        blocks = rows[:, : s.split].reshape(k, s.S, 12).transpose(1, 2, 0)
        np.matmul(self.W, blocks, out=result[: s.split].reshape(s.S, 12, k))
        result[s.split:] = rows[:, s.split:].T * s.inverse[s.split:, None]
        return result


def _distance_rows(structure: Structure, z: Array) -> Array:
    """Return the distance rows of each solid (S, 6, 12)."""
    edges = EDGE_MATRIX @ z[: structure.split].reshape(structure.S, 4, 3)
    return (structure.edge_pattern * edges[:, :, None, :]).reshape(structure.S, 6, 12)


def build(solids: Sequence[Solid], elements: Sequence[Element], places: ArrayLike, *, coordinates: Sequence[str] = (),
          rotors: Mapping[str, float] | None = None, gravity: ArrayLike = (0.0, 0.0, -9.81),
          extra_rows: Sequence[Row] = (), couplings: Sequence[Coupling] = (),
          near: ArrayLike | None = None, held: Sequence[str] = ()) -> tuple[System, Array]:
    """Return a system with independent rows, and degrees of freedom z (size,) at which all mechanisms are closed.

    solids: the first is the ground. places (S, 4, 3): approximate points of the moving solids. coordinates: names of
    the hinges and slides that are measured and driven. near (n,): approximate values of the coordinates, which
    determine the rotors' whole turns. rotors: inertia by name of the coordinate. held: coordinates that keep their
    value in `near` while the loops close, if possible. Raises Refused if the loops do not close.
    """
    system, z = lay_out(solids, elements, places, coordinates=coordinates, rotors=rotors, gravity=gravity,
                        extra_rows=extra_rows, couplings=couplings)
    return closed(system, z, near, held)


def lay_out(solids: Sequence[Solid], elements: Sequence[Element], places: ArrayLike, *, coordinates: Sequence[str] = (),
            rotors: Mapping[str, float] | None = None, gravity: ArrayLike = (0.0, 0.0, -9.81),
            extra_rows: Sequence[Row] = (), couplings: Sequence[Coupling] = ()) -> tuple[System, Array]:
    """Return the system with all rows, also dependent ones, and z (size,), whose loops may be open."""
    named = {element.name: element for element in elements}
    along = [named[name] for name in coordinates]
    every = [row for element in elements for row in rows(element, solids)] + list(extra_rows)
    inertia = {name: J for name, J in (rotors or {}).items() if J > 0.0}
    geared = [k for k, name in enumerate(coordinates) if name in inertia]
    system = System(
        solids=tuple(solids), rows=tuple(every),
        forms=Forms.of([(row.u, row.w) for row in every] + pairs(along, solids), len(solids)),
        coordinate_names=tuple(coordinates), coordinates=Coordinates.of(along),
        geared=np.array(geared, int), rotor_inertia=np.array([inertia[coordinates[k]] for k in geared]),
        gravity=np.asarray(gravity, float), couplings=tuple(couplings),
    )
    return system, np.concatenate([np.asarray(places, float).ravel(), np.zeros(len(geared))])


def closed(system: System, z: Array, near: ArrayLike | None = None, held: Sequence[str] = ()) -> tuple[System, Array]:
    """Return the system without dependent rows, and a z at which all loops are closed. near, held: the arguments of
    `build`. Raises Refused if the loop does not close."""
    z = _close_held(system, z, near, held, ROUNDED)
    system = _independent(system, z)
    if system.dropped:  # all rows can be satisfied exactly
        z = _close_held(system, z, near, held)
    values = system.coordinate_values(z)
    if near is not None:
        values = unwrap(values, np.asarray(near, float), system.coordinates.turning)
    z[12 * system.moving:] = values[system.geared]
    return system, z


def _close_held(system: System, z: Array, near: ArrayLike | None, held: Sequence[str], within: float = CLOSED) -> Array:
    """Return z closed, with the coordinates in `held` unchanged or changed as little as possible."""
    if held and near is not None:
        chosen = [system.coordinate_names.index(name) for name in held]
        try:
            return close(system, z, {k: float(np.asarray(near, float)[k]) for k in chosen}, within)
        except Refused:
            pass
    return close(system, z, within=within)


def close(system: System, z: Array, held: Mapping[int, float] | None = None, within: float = CLOSED) -> Array:
    """Return the degrees of freedom that satisfy all rows and are nearest in the mass-weighted norm. Dependent rows are
    allowed.

    held: numbers of the coordinates that keep their value. within: the maximum residual of a closed system, m.
    """
    structure = Structure(replace(system, geared=np.zeros(0, int), rotor_inertia=np.zeros(0)))
    moved = z[: structure.split].copy()
    root = np.sqrt(structure.inverse)
    numbers, values = list(held or {}), np.array(list((held or {}).values()))
    worst = np.inf
    for _ in range(50):
        distances, others = structure.residual(moved)
        _, at, _, gradient = structure.gradients(moved)
        off = unwrap(at[numbers], values, system.coordinates.turning[numbers]) - values
        residual = np.concatenate([distances.ravel(), others, off])
        last, worst = worst, float(np.abs(residual).max(initial=0.0))
        if worst < within and worst > 0.5 * last or worst == 0.0:
            break
        coupled = [c.across(gradient) for c in structure.couplings]
        step = np.linalg.lstsq(np.vstack([_all_rows(structure, moved), *coupled, gradient[numbers]]) * root, -residual,
                               rcond=DEPENDENT)[0]
        moved += root * step
    if worst >= within:
        open_at_start = np.abs(structure.residual(z[: structure.split])[1])
        name = system.row_names[int(open_at_start.argmax())]
        raise Refused(f"the mechanisms do not close: {name} is open by {open_at_start.max():.3g} at the start pose, "
                      f"and "
                      "no pose near it closes it")
    return np.concatenate([moved, z[structure.split:]])


def _all_rows(structure: Structure, z: Array) -> Array:
    """Return the distance rows and the mechanisms' rows as one dense matrix (6 S + m, 12 S)."""
    result = np.zeros((6 * structure.S + structure.m, structure.split))
    for s, own in enumerate(_distance_rows(structure, z)):
        result[6 * s: 6 * s + 6, 12 * s: 12 * s + 12] = own
    result[6 * structure.S:] = structure.row_gradient(z)
    return result


def _independent(system: System, z: Array) -> System:
    """Return the system without the rows that depend on other rows both at the start pose and at a pose near it.

    A row that is dependent only at the start pose (for example of a stretched linkage) is kept, because other poses
    need it.
    """
    bare = replace(system, geared=np.zeros(0, int), rotor_inertia=np.zeros(0))
    structure = Structure(bare)
    start = z[: structure.split]
    dependent = _dependent(structure, start)
    if dependent:
        beside = close(bare, start + NUDGE * _admissible(structure, start), within=ROUNDED)
        dependent &= _dependent(structure, beside)
    kept = [k for k in range(len(system.rows)) if k not in dependent]
    lines = kept + list(range(len(system.rows), len(system.forms)))
    return replace(
        system, rows=tuple(system.rows[k] for k in kept),
        forms=Forms(system.forms.U[lines], system.forms.W[lines]),
        dropped=tuple(system.row_names[k] for k in sorted(dependent)),
    )


def _dependent(structure: Structure, z: Array) -> set[int]:
    """Return the rows that are linear combinations of earlier rows, within the motions of rigid solids, by
    Gram-Schmidt. Masses are omitted here, because the rounding of light and thin solids would hide dependent rows.
    """
    free, m = FreeSolids(structure, z), structure.m
    rigid = np.linalg.svd(free.Cs)[2][:, 6:]  # (S, 6, 12): an orthonormal basis of each solid's rigid-body motions
    rows_at = structure.row_gradient(z).reshape(m, structure.S, 12)
    left = np.einsum("ksi,sji->ksj", rows_at, rigid).reshape(m, 6 * structure.S)
    basis = np.zeros_like(left)
    dependent = set()
    for k, row in enumerate(left):
        rest = row.copy()
        for _ in range(2):  # the second round removes the rounding errors of the first round
            rest -= basis[:k].T @ (basis[:k] @ rest)
        if rest @ rest <= DEPENDENT * (row @ row):
            dependent.add(k)
        else:
            basis[k] = rest / np.linalg.norm(rest)
    return dependent


def _admissible(structure: Structure, z: Array) -> Array:
    """Return a velocity (12 S,) that all rows allow, with maximum component 1, or zero if no motion is possible."""
    rows_at = _all_rows(structure, z)
    wish = np.random.default_rng(0).normal(size=structure.split)
    allowed = wish - np.linalg.lstsq(rows_at, rows_at @ wish, rcond=DEPENDENT)[0]
    largest = np.abs(allowed).max()
    return allowed / largest if largest > DEPENDENT else np.zeros_like(allowed)
