"""Closed loops and mimic joints: their mobility, and the assembled pose.

Some equations of opened loops and couplings (`femtorque.codegen.model.loop_constraint`) follow from the remaining
equations. The rank of the Jacobian at the assembled pose and near this pose shows which equations follow from other
equations. The equations that follow from other equations are dropped. The mobility is the number of *independent*
joints. All independent joints are actuated. All remaining joints, passive or redundantly actuated, *depend* on the
independent joints: J_d dq_d = -J_i dq_i."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import (
    Array, BadInput, Refused, basis, distances, least_squares, norm, product, rank, remembered, solve)
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model.bodies import Model
from femtorque.codegen.model.kinematics import Conversion, Levers, pose, rotate, rotate_back
from femtorque.codegen.model.loop_constraint import Cut, Equations, frames, load_torques, residual, unit_loads
from femtorque.codegen.model.motion import Motion

CLOSED = 1e-11  # maximum residual of a converged assembly, m or rad
CLOSING = 1e-8  # residual, m or rad, whose square is below rounding error: one more Newton step closes the loops
ITERATIONS = 60  # maximum number of damped Newton steps of the assembly
FARTHEST = 0.5  # longest step of a joint in one iteration, rad or m
CLEAR = 3.0  # factor on SINGULAR; a margin of this size is safe
RANK = 1e-7  # a row of J_c is independent if its distance from the earlier rows exceeds RANK times the longest row
DEFICIENT = 1e-10  # the same threshold for columns in a least-squares solution with dependent equations
BESIDE, STEP = 4, 0.05  # poses of the rank test: their number, and their distance from the assembled pose, rad or m
SINGULAR = 0.03  # a smaller `margin` is a fault
HALVINGS = 16  # number of halvings of the last step, to locate a singular pose
PACE = 0.05  # maximum displacement of an independent joint between two poses, rad or m


@dataclass(frozen=True)
class Assembly:
    """Constraints that loops and mimic joints impose on a model. start (n,): the closed pose that was found from the
    joints' `start`. Joint numbers are indices of the model's bodies, in tree order."""

    model: Model
    equations: Equations
    kept: tuple[tuple[int, int], ...]  # numbers (`Equations.rows`) of the independent equations
    dropped: tuple[tuple[int, int], ...]  # numbers of the equations that follow from the independent equations
    start: Array
    actuated: tuple[int, ...]  # streamed, driven and measured joints
    passive: tuple[int, ...]
    independent: tuple[int, ...]  # the actuated joints that serve as coordinates
    redundant: tuple[int, ...]  # the remaining actuated joints
    dependent: tuple[int, ...]  # passive and redundant joints, in the order of elimination
    length: float  # the mechanism's size, m
    scale: Array  # norms of the dependent joints' columns of J_c at the start, with lengths in units of `length`

    @property
    def mobility(self) -> int:
        return len(self.independent)

    @property
    def cuts(self) -> tuple[Cut, ...]:
        return self.equations.cuts

    def row_name(self, row: tuple[int, int]) -> str:
        return self.equations.name(row)

    # ---- the constraint: independent equations only
    def residual(self, q: ArrayLike) -> Array:
        """Return the residual (..., m) at positions q (..., n)."""
        return self._kept(self.equations.residual(q), -1)

    def bias(self, q: ArrayLike, velocities: ArrayLike) -> Array:
        """Return dJ_c/dt qd (..., m) at positions and velocities (..., n) of all joints."""
        q, velocities = np.asarray(q, float), np.asarray(velocities, float)
        return self._kept(self.equations.bias(q, velocities), -1)

    def jacobian(self, q: ArrayLike) -> Array:
        """Return J_c (..., m, n)."""
        return self._kept(self.equations.jacobian(q), -2)

    def linearised(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return the values of `residual` and `jacobian`."""
        at = pose(self.model, q) if self.cuts else None
        return self._kept(self.equations.residual(q, at), -1), self._kept(self.equations.jacobian(q, at), -2)

    def _kept(self, rows: Array, axis: int) -> Array:
        return np.take(rows, self._places, axis=axis)

    @cached_property
    def _places(self) -> list[int]:
        """Return the indices of the independent equations among all equations."""
        return [self.equations.rows.index(row) for row in self.kept]

    def velocity_matrix(self, q: ArrayLike) -> Array:
        """Return G (..., n, mobility): dq = G dq_i for every motion that keeps the loops closed."""
        return self._velocity_matrix(self.jacobian(q))

    def _velocity_matrix(self, J: Array) -> Array:
        G = np.zeros((*J.shape[:-2], self.model.n, self.mobility))
        G[..., list(self.independent), list(range(self.mobility))] = 1.0
        G[..., list(self.dependent), :] = -solve(J[..., list(self.dependent)], J[..., list(self.independent)])
        return G

    def margin(self, q: ArrayLike) -> Array:
        """Return the distance (...) from a singular pose, at most 1.

        A margin of SINGULAR or less is a fault. q (..., n). This distance is the smallest sine between the J_c column
        of a dependent joint and the columns that are eliminated before it. The constraint forces grow as the inverse of
        this distance."""
        return self._margin(self.jacobian(q)) if self.dependent else np.ones(np.shape(q)[:-1])

    def _margin(self, J: Array) -> Array:
        return np.asarray(np.min(distances(self._columns(J)) / self.scale, axis=-1))

    def condition(self, q: ArrayLike) -> tuple[float, tuple[int, ...]]:
        """Return the condition number of the loop equations for the dependent joints at a pose q (n,), and the loose
        joints. Each joint's column is divided by its norm at the start. If the condition number becomes infinite, the
        loose joints are the joints that can move most."""
        if not self.dependent:
            return 1.0, ()
        _, sizes, V = np.linalg.svd(self._columns(self.jacobian(q)) / self.scale)
        loose = np.abs(V[-1]) > 0.5 * np.max(np.abs(V[-1]))
        number = float(sizes[0] / sizes[-1]) if sizes[-1] > 0.0 else np.inf
        return number, tuple(i for i, moves in zip(self.dependent, loose, strict=True) if moves)

    def _columns(self, J: Array) -> Array:
        """Return the columns of J_c (..., m, n) that belong to dependent joints, with lengths in units of `length`."""
        rows = np.array([1.0 if self.equations.is_angle(row) else 1.0 / self.length for row in self.kept])
        return rows[:, None] * J[..., list(self.dependent)]

    # ---- motion
    def close(self, q: ArrayLike, iterations: int = 20) -> Array:
        """Return closed positions (..., n). Newton's method solves for the dependent joints, with the independent
        joints fixed. q (..., n): near a closed pose. Raise numpy.linalg.LinAlgError if Newton does not converge."""
        q = np.array(q, float)
        for _ in range(iterations):
            away = self.residual(q)
            if not np.all(np.isfinite(away)):
                break
            J = self.jacobian(q)[..., list(self.dependent)]
            q[..., list(self.dependent)] -= solve(J, away[..., None])[..., 0]
            if np.max(np.abs(away), initial=0.0) < CLOSING:
                return q
        raise np.linalg.LinAlgError("the loops do not close")

    def follow(self, streamed: ArrayLike) -> Array:
        """Return all positions (N, n) of a motion of the actuated joints (N, actuated). The motion continues from the
        assembled pose. The path from the assembled pose to the first row is a straight line. The function solves the
        poses of a sequence one after the other, about PACE apart. Between these poses, Newton's method starts from
        interpolated positions. Redundantly actuated joints follow the independent joints, and their columns in
        `streamed` have no effect. Raise Refused if the motion reaches a singular pose."""
        streamed = np.atleast_2d(np.asarray(streamed, float))
        places = [self.actuated.index(i) for i in self.independent]
        wanted = streamed[:, places]
        if not self.dependent:
            return wanted
        far = np.cumsum([0.0, *np.max(np.abs(np.diff(wanted, axis=0)), axis=1)])
        nodes = np.unique(np.append(np.flatnonzero(np.diff(np.floor(far / PACE), prepend=-1.0)), len(far) - 1))
        q, found = self.start, np.empty((len(nodes), self.model.n))
        for k, node in enumerate(nodes):
            for target in _between(q[list(self.independent)], wanted[node]):
                x = self._closed_at(q, target)
                if x is None:
                    raise self._singular(target, q)
                q = x
            found[k] = q
        full = np.empty((len(wanted), self.model.n))
        for i in self.dependent:
            full[:, i] = np.interp(far, far[nodes], found[:, i])
        full[:, list(self.independent)] = wanted
        try:
            full = self.close(full)
        except np.linalg.LinAlgError:
            raise self._singular(wanted[-1], q) from None
        for k in np.flatnonzero(~(self.margin(full) >= SINGULAR))[:1]:
            raise self._singular(wanted[k], full[k])
        return full

    def _singular(self, target: Array, q: Array) -> Refused:
        """Return the exception for a path of independent joints to `target` that ends at its last pose q (n,)."""
        free, step = list(self.independent), target - q[list(self.independent)]
        for _ in range(HALVINGS):
            step = 0.5 * step
            x = self._closed_at(q, q[free] + step)
            q = q if x is None else x
        place = ", ".join(f"{self.model.bodies[i].joint.name} = {q[i]:.4g}" for i in free)
        number, loose = self.condition(q)
        return Refused(f"{self.model.mechanism.name}: the motion leads through a singular pose, near {place}: there "
                       f"{_names(self.model, loose)} could move while the driven joints stand still (condition number "
                       f"{number:.0f} where it was left)")

    def _closed_at(self, q: Array, target: Array) -> Array | None:
        """Return the closed pose with the independent joints at `target`. q: the pose from which the path starts.

        Return None for a singular or unreachable pose."""
        free, bound = list(self.independent), list(self.dependent)
        x = q.copy()
        x[free] = target
        try:
            x[bound] += product(self.velocity_matrix(q)[bound], target - q[free])
            x = self.close(x)
        except np.linalg.LinAlgError:
            return None
        return x if self.margin(x) >= SINGULAR else None

    def reach(self, wanted: ArrayLike) -> Array:
        """Return poses (P, n) with the independent joints at `wanted` (P, mobility), or as near to these positions as
        possible.

        The path from the assembled pose to each target is a straight line. The path ends before it comes
        near a singular pose."""
        free, bound, wanted = list(self.independent), list(self.dependent), np.atleast_2d(np.asarray(wanted, float))
        q = np.tile(self.start, (len(wanted), 1))
        if not bound:
            q[:, free] = wanted
            return q
        J = self.jacobian(q)
        going = self._margin(J) > CLEAR * SINGULAR
        for part in _between(np.zeros_like(wanted), wanted - self.start[free]):
            x, step = q.copy(), self.start[free] + part - q[:, free]
            x[:, free] += step
            x[:, bound] += rotate(self._velocity_matrix(J)[:, bound], step)
            for _ in range(5):
                away, J_x = self.linearised(x)
                closed = np.max(np.abs(away), axis=-1) < CLOSING
                if np.all(closed[going]):
                    break
                x[:, bound] -= solve(J_x[..., bound], away[..., None], True)[..., 0]
            going &= closed & (self._margin(J_x) > CLEAR * SINGULAR)
            q[going], J[going] = x[going], J_x[going]
        return self.close(q)

    def velocities(self, q: ArrayLike, velocities: ArrayLike) -> Array:
        """Return velocities (..., n) of all joints from the velocities of the independent joints (..., mobility)."""
        return rotate(self.velocity_matrix(q), np.asarray(velocities, float))

    def accelerations(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the accelerations (..., n) of all joints. qd (..., n): velocities of all joints. qdd: accelerations of
        the independent joints. J_c qdd = -dJ_c/dt qd."""
        q, qd = np.asarray(q, float), np.asarray(qd, float)
        full = rotate(self.velocity_matrix(q), np.asarray(qdd, float))
        if self.dependent:
            J = self.jacobian(q)[..., list(self.dependent)]
            full[..., list(self.dependent)] -= solve(J, self.bias(q, qd)[..., None])[..., 0]
        return full

    def whole(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array, Array]:
        """Return positions, velocities, accelerations (N, n) of all joints from a motion (N, actuated): `follow`."""
        places = [self.actuated.index(i) for i in self.independent]
        full = self.follow(q)
        velocities = self.velocities(full, np.asarray(qd, float)[..., places])
        return full, velocities, self.accelerations(full, velocities, np.asarray(qdd, float)[..., places])

    # ---- the force that keeps them closed
    def weights(self) -> Array:
        """Return the weights with which redundant joints share torques: 1 / effort^2 of each, or all equal."""
        effort = np.array([self.model.bodies[i].joint.limits.effort for i in self.actuated])
        return 1.0 / effort**2 if np.all(np.isfinite(effort)) else np.ones(len(effort))

    def multipliers(self, J: Array, tau: ArrayLike) -> Array:
        """Return lambda (..., m), the constraint forces of the opened loops. tau (..., n): torques of the open tree. J
        (..., m, n). The rows of passive joints require J_cp' lambda = -tau_p. With redundant actuation, the torques
        minimise tau_a' W tau_a. One symmetric system of linear equations (KKT) combines both conditions. Raise
        numpy.linalg.LinAlgError at a singular pose."""
        tau = np.asarray(tau, float)
        p, a, m = list(self.passive), list(self.actuated), len(self.kept)
        Ja, W = J[..., a], np.diag(self.weights())
        system = np.zeros((*J.shape[:-2], m + len(p), m + len(p)))
        system[..., :m, :m] = product(Ja, W, np.swapaxes(Ja, -1, -2))
        system[..., :m, m:] = J[..., p]
        system[..., m:, :m] = np.swapaxes(J[..., p], -1, -2)
        right = np.concatenate([-rotate(product(Ja, W), tau[..., a]), -tau[..., p]], axis=-1)
        return solve(system, right[..., None])[..., :m, 0]

    def allocate(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return the torques (..., n) of the closed mechanism: tau + J_c' lambda, which is zero at passive joints."""
        J = self.jacobian(q)
        return np.asarray(tau, float) + rotate_back(J, self.multipliers(J, tau))

    def conversion(self, convert: Conversion) -> Conversion:
        """Return a conversion from nodal forces to joint torques for closed loops. convert: the conversion of the tree.
        The function first computes the constraint forces from the tree's torques. The function adds the constraint
        forces to {P} and converts the sum. Couplings transmit torques directly from joint to joint."""
        coupled = self.equations.coupled

        def closed(model: Model, R: Array, arms: Levers, F: Array, Phi: Array) -> Array:
            none = np.zeros((*R.shape[:-3], len(coupled), model.n, 3))  # a coupling loads no node
            loads = [*(unit_loads(model, cut, R) for cut in self.cuts), (none, none)]
            every_F, every_Phi = (np.concatenate(parts, axis=-3) for parts in zip(*loads, strict=True))
            J = load_torques(model, R, arms, every_F, every_Phi)
            J[..., J.shape[-2] - len(coupled):, :] = coupled
            J, unit_F, unit_Phi = self._kept(J, -2), self._kept(every_F, -3), self._kept(every_Phi, -3)
            lam = self.multipliers(J, convert(model, R, arms, F, Phi))
            add_F, add_Phi = (np.einsum("...r,...rij->...ij", lam, unit) for unit in (unit_F, unit_Phi))
            passed = [k for k, row in enumerate(self.kept) if row[0] >= len(self.cuts)]
            return (convert(model, R, arms, F + add_F, Phi + add_Phi)
                    + np.einsum("...ji,...j->...i", J[..., passed, :], lam[..., passed]))

        return closed


@dataclass(frozen=True)
class ClosedMotion:
    """The motion of all joints that results from a motion of the actuated joints."""

    assembly: Assembly
    motion: Motion

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return position, velocity, acceleration, (N, n) each, at increasing times t (N,).

        Raise Refused at a singular pose."""
        return self.assembly.whole(*self.motion.at(t))

    def middles(self, ticks: int, dt: float) -> Array:
        """Return `Trajectory.middles` for all joints."""
        return self.assembly.follow(self.motion.middles(ticks, dt))


def _between(a: Array, b: Array) -> Array:
    """Return points (parts, ...) from a (excluded) to b (...) that are at most PACE apart in every coordinate."""
    parts = max(1, int(np.ceil(np.max(np.abs(b - a), initial=0.0) / PACE)))
    return a + np.multiply.outer(np.arange(1, parts + 1) / parts, b - a)


# ---- assembly


def assemble(model: Model, near: Mapping[str, float] | None = None) -> Assembly:
    """Close the loops, beginning from the joints' `start`, and find the independent joints. near: positions of some
    joints that replace `start`. Raise BadInput that gives the residual or another reason."""
    return _assemble(model, near) if near else _from_the_start(model)


@remembered
def _from_the_start(model: Model) -> Assembly:
    return _assemble(model, {})


def _assemble(model: Model, near: Mapping[str, float]) -> Assembly:
    found = Equations.of(model)
    guess = np.array([near.get(body.joint.name, body.joint.start) for body in model.bodies])
    q = _assembled(model, found, guess)
    kept, dropped = _independent_rows(model, found, q)
    actuated = tuple(i for i, body in enumerate(model.bodies) if body.joint.actuated or not found.rows)
    passive = tuple(i for i in range(model.n) if i not in actuated)
    J = found.jacobian(q)[[found.rows.index(row) for row in kept]]
    redundant = _redundant(model, J, actuated, passive)
    dependent = _elimination_order(J, (*passive, *redundant))
    independent = tuple(i for i in actuated if i not in redundant)
    # the independent joints stay exactly at the file's positions
    placed = guess.copy()
    placed[list(dependent)] = q[list(dependent)]
    assembly = Assembly(model, found, kept, dropped, placed, actuated, passive, independent, redundant, dependent,
                        _length(model), np.ones(len(dependent)))
    rows = np.array([1.0 if found.is_angle(row) else 1.0 / assembly.length for row in kept])
    scale = norm(rows[:, None] * J[:, list(dependent)], axis=0)
    try:
        closed = assembly.close(placed) if dependent else placed
    except np.linalg.LinAlgError:
        if model.mechanism.modes:  # the loops of a later mode need not close here, but where the motion enters the mode
            closed = q
            closed.setflags(write=False)
            return replace(assembly, start=closed, scale=scale)
        _refuse(model.mechanism, f"loop.{found.cuts[0].loop.name}",
                f"does not close with {_names(model, independent)} at their start",
                "give starts nearer to a closed pose")
    closed.setflags(write=False)
    return replace(assembly, start=closed, scale=scale)


def _refuse(mechanism: Mechanism, key: str, rule: str, hint: str = "") -> NoReturn:
    raise BadInput(mechanism.source or mechanism.name, key, None, rule, hint)


def _names(model: Model, joints: ArrayLike) -> str:
    return ", ".join(model.bodies[i].joint.name for i in np.atleast_1d(np.asarray(joints, int)))


def _assembled(model: Model, found: Equations, guess: Array) -> Array:
    """Return a closed pose near the guess.

    The order begins with the passive joints. Raise BadInput that gives the residual if no closed pose is found."""
    moves = np.array([1.0 if not body.joint.actuated else 1e-2 for body in model.bodies])
    q = guess.copy()
    for _ in range(ITERATIONS):
        away = found.residual(q)
        if np.max(np.abs(away), initial=0.0) < CLOSED:
            break
        J = found.jacobian(q) * moves
        step = -moves * least_squares(J, away, DEFICIENT)
        q += step * min(1.0, FARTHEST / np.max(np.abs(step), initial=1e-300))
    at = pose(model, q)
    for cut in found.cuts:
        away, f = residual(model, cut, at), frames(at, cut)
        worst = float(np.max(np.abs(away)))
        if not worst < 1e3 * CLOSED:
            _refuse(model.mechanism, f"loop.{cut.loop.name}",
                    f"does not close from the joints' start: {worst:.3g} m (or rad) is left",
                    "check lengths and anchors, or give `start`s nearer to a closed pose")
        against = [x for x, axis in (("z", 2), ("x", 0)) if product(f.A[..., axis], f.B[..., axis]) < 0.0]
        if cut.loop.type in ("revolute", "rigid") and (cut.loop.type == "rigid" or "z" in against) and against:
            _refuse(model.mechanism, f"loop.{cut.loop.name}.b.rpy", f"its {against[0]} axis closes against that of a",
                    "turn it round by pi")
    return q


def _length(model: Model) -> float:
    """Return the mechanism's size, m: the longest offset between two joints."""
    return max([1e-3, *(float(norm(body.p0)) for body in model.bodies)])


def _elimination_order(J: Array, joints: tuple[int, ...]) -> tuple[int, ...]:
    """Return an order of the joints for which the elimination keeps J_d (m, n) sparse.

    Each step chooses the joint that occurs in the fewest remaining equations."""
    rows = [set(np.flatnonzero(np.abs(row) > RANK * np.max(np.abs(J))).tolist()) & set(joints) for row in J]
    order: list[int] = []
    while len(order) < len(joints):
        fill = {j: [row for row in rows if j in row] for j in sorted(joints) if j not in order}
        best = min(fill, key=lambda j: (len(fill[j]), len(set().union(*fill[j]))))  # noqa: B023
        union = set().union(*fill[best]) - {best}
        rows = [row for row in rows if best not in row] + [set(union) for _ in fill[best][1:]]
        order.append(best)
    return tuple(order)


def _scaled(model: Model, J: Array) -> Array:
    """Return J_c with all lengths, including those of prismatic joints, in units of the mechanism's size."""
    size = _length(model)
    columns = np.array([size if body.prismatic else 1.0 for body in model.bodies])
    scaled = J * columns
    return scaled / np.maximum(np.max(np.abs(scaled), axis=-1, keepdims=True), size)


def _independent_rows(model: Model, found: Equations,
                      q: Array) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Return the numbers of the independent equations and of the dropped equations. The rank at the assembled pose q
    (n,) and near it decides which equations are dropped. Raise BadInput."""
    rows = found.rows
    if not rows:
        return (), ()
    J = _scaled(model, found.jacobian(q))
    beside = [_scaled(model, found.jacobian(x)) for x in _poses_beside(found, q)]
    here, generic = rank(J, RANK), max(rank(x, RANK) for x in (J, *beside))
    if here < generic:
        _refuse(model.mechanism, "joint.start",
                f"is a singular pose: the loops hold {here} ways there, {generic} beside it",
                "start somewhere else")
    kept: list[int] = []
    left = J.copy()
    for _ in range(generic):  # Gram-Schmidt; each step chooses the row with the largest remainder
        sizes = norm(left)
        sizes[kept] = 0.0
        best = int(np.argmax(sizes > 0.999999 * sizes.max()))
        kept.append(best)
        direction = left[best] / sizes[best]
        left = left - np.outer(product(left, direction), direction)
    return (tuple(rows[i] for i in sorted(kept)), tuple(row for i, row in enumerate(rows) if i not in kept))


def _poses_beside(found: Equations, q: Array) -> list[Array]:
    """Return closed poses near one pose, displaced in random directions that the loops allow."""
    rng = np.random.default_rng(0)
    poses: list[Array] = []
    held = basis(found.jacobian(q), RANK)
    for _ in range(BESIDE):
        if len(held) == len(q):
            return poses
        step = rng.standard_normal(len(q))
        x = q + STEP * (step - product(product(held, step), held))
        for _ in range(10):
            away = found.residual(x)
            x = x - least_squares(found.jacobian(x), away, DEFICIENT)
            if np.max(np.abs(away)) < CLOSING:
                poses.append(x)
                break
    return poses


def _redundant(model: Model, J: Array, actuated: tuple[int, ...], passive: tuple[int, ...]) -> tuple[int, ...]:
    """Return the redundant actuated joints. This choice gives J_d the best condition number.

    Raise BadInput if the actuated joints do not determine the motion of the mechanism."""
    m, mobility = len(J), model.n - len(J)
    if len(actuated) < mobility:
        _refuse(model.mechanism, "joint", f"the loops leave {mobility} ways to move, and {len(actuated)} joints are "
                "actuated", "actuate more joints or close more loops")
    scaled = _scaled(model, J)
    columns, left = scaled[:, list(passive)], scaled.copy()
    if passive and rank(columns, RANK) < len(passive):
        _, _, V = np.linalg.svd(columns)
        loose = np.array(passive)[np.abs(V[-1]) > 1e-3]
        _refuse(model.mechanism, f"joint.{_names(model, loose[:1])}",
                "can move while every actuated joint stands still: "
                f"{_names(model, loose)}", "actuate one of them, or start from a pose that is not singular")
    if passive:
        Q = basis(columns.T, 0.0)
        left = left - product(Q.T, product(Q, left))
    chosen: list[int] = []
    for _ in range(m - len(passive)):
        sizes = np.array([norm(left[:, i]) if i in actuated and i not in chosen else 0.0
                          for i in range(model.n)])
        best = int(np.flatnonzero(sizes > 0.999999 * sizes.max())[-1])  # of equally good joints take the last, so that
                                                                        # the first joints become coordinates
        if sizes[best] < RANK:
            _refuse(model.mechanism, "joint", "the actuated joints do not determine the pose")
        chosen.append(best)
        direction = left[:, best] / sizes[best]
        left = left - np.outer(direction, product(direction, left))
    return tuple(sorted(chosen))
