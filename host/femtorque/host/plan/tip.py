"""Computes the position of a tip, and joint positions for a tip position (numerical inverse kinematics). Each refusal
has a reason."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, BadInput, Refused, hint
from femtorque.codegen.mechanism import BASE, Mechanism
from femtorque.codegen.model import GROUND, Model, placed_links, pose

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation


POSITION, ORIENTATION = 1e-6, 1e-5  # tolerances of a goal, m and rad
NEWTON, FAR = 12, 0.5  # maximum number of steps; maximum step, rad or m
STARTS = 24  # number of further start poses of the search
FEW = 3  # number of start poses for a goal that is farther away than the arm is long
LEVEL = 1e-5  # relative change of the cost at which a search that does not reach the goal ends
NOWHERE = 100.0  # distance that stands for an unreachable pose, divided by the reach
UNLIMITED = 2.0 * np.pi  # range on either side of the start, for a joint without limits, rad or m


@dataclass(frozen=True)
class Goal:
    """Goal of a tip."""

    xyz: Array  # position (3,) in the base frame, m
    rotation: Rotation | None = None  # orientation of the tip's link; None if any orientation is allowed

    def __str__(self) -> str:
        words = f"xyz = {_listed(self.xyz)}"
        return words if self.rotation is None else f"{words}, rpy = {_listed(self.rotation.as_euler('xyz'))}"


def _listed(values: Array) -> str:
    return "[" + ", ".join(f"{round(float(x), 6) + 0.0:.4g}" for x in values) + "]"


class Tip:
    """A point of the arm that is fixed in a link. offset (3,): the point in the link's frame, m."""

    def __init__(self, mechanism: Mechanism, link: str, offset: ArrayLike = (0.0, 0.0, 0.0),
                 source: object = "") -> None:
        """Raises BadInput for an unknown or fixed link."""
        places, source = placed_links(mechanism), source or mechanism.source or mechanism.name
        if link not in places or link == BASE:
            raise BadInput(source, "tip", link, "no such link", hint(link, [n for n in places if n != BASE], "links"))
        self.body, R, p = places[link]
        if self.body == GROUND:
            raise BadInput(source, "tip", link, "does not move", f"ends of the arm: {', '.join(ends(mechanism))}")
        self.mechanism, self.model, self.link, self.source = mechanism, Model.of(mechanism), link, source
        self._R, self.offset = R, np.asarray(offset, float)
        self.place = p + R @ self.offset  # (3,): the point in the frame of the link's body, m
        self.path = _chain(self.model, self.body)  # the bodies that carry the tip
        self.chain = self.path  # the joints that move the tip point

    def at(self, q: ArrayLike) -> Goal:
        """Return the tip's pose at joint positions q (J,)."""
        from scipy.spatial.transform import Rotation  # noqa: PLC0415 (an extra)

        point, R = self.frame(q)
        return Goal(point, Rotation.from_matrix(R))

    def frame(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return the tip's positions (..., 3) m and its link's orientations (..., 3, 3) at joint positions (..., J)."""
        frames = pose(self.model, q)
        R = frames.R[..., self.body, :, :]
        return frames.origin[..., self.body, :] + R @ self.place, R @ self._R

    def points(self, q: ArrayLike) -> Array:
        """Return the tip's positions (..., 3) m at joint positions (..., J)."""
        return self.frame(q)[0]

    def jacobian(self, q: ArrayLike) -> Array:
        """Return (..., 6, J): velocity and angular velocity of the tip, global axes, per joint velocity."""
        frames = pose(self.model, q)
        J = np.zeros((*frames.origin.shape[:-2], 6, self.model.n))
        point = frames.origin[..., self.body, :] + frames.R[..., self.body, :, :] @ self.place
        for i in self.path:
            axis = frames.R[..., i, :, :] @ self.model.bodies[i].axis
            if self.model.bodies[i].prismatic:
                J[..., :3, i] = axis
            else:
                J[..., :3, i], J[..., 3:, i] = np.cross(axis, point - frames.origin[..., i, :]), axis
        return J

    def miss(self, q: Array, goal: Goal) -> tuple[float, float]:
        """Return the position error, m, and the orientation error, rad, of a pose."""
        here = self.at(q)
        turn = 0.0 if goal.rotation is None or here.rotation is None else (goal.rotation
                                                                           * here.rotation.inv()).magnitude()
        return float(np.linalg.norm(goal.xyz - here.xyz)), float(turn)

    def solve(self, goal: Goal, near: ArrayLike, starts: int = STARTS) -> Array:
        """Return the joint positions (J,) nearest to `near` that bring the tip to the goal within the limits. The
        message of Refused names the obstacle: distance, orientation or a joint's limit."""
        near = np.asarray(near, float)
        lower, upper = self._bounds(near)
        q = self._newton(goal, near)
        straight = self.reached(near, q)
        if straight is not None and self._there(straight, goal) and np.all((lower <= q) & (q <= upper)):
            return straight
        q = self._descend(goal, near, lower, upper)
        straight = self.reached(near, q)
        if straight is not None and self._there(straight, goal):
            return straight
        tried, rng = [q], np.random.default_rng(0)
        for _ in range(min(starts, FEW) if self._beyond(goal) else starts):
            begin = self.moved(near, rng.uniform(lower, upper)[self.chain])
            if begin is not None:
                tried.append(self._descend(goal, begin, lower, upper))
        found = [x for x in map(partial(self.reached, near), tried) if x is not None and self._there(x, goal)]
        if not found:
            raise Refused(self._why(goal, tried, near))
        return min(found, key=lambda x: float(np.max(np.abs(x - near))))

    def reached(self, near: Array, q: Array) -> Array | None:
        """Return the pose after all joints have moved in a straight line from `near` to q."""
        return self.moved(near, q[self.chain])

    def _newton(self, goal: Goal, near: Array) -> Array:
        """Try to solve a near goal by a few minimum-norm Newton steps, without the joints' limits."""
        q = near
        for _ in range(NEWTON):
            here, J = self.at(q), self.slope(q)
            away = goal.xyz - here.xyz
            if goal.rotation is None or here.rotation is None:
                J = J[:3]
            else:
                away = np.concatenate([away, (goal.rotation * here.rotation.inv()).as_rotvec()])
            step = np.linalg.lstsq(J, away, rcond=1e-6)[0]
            moved = self.moved(q, q[self.chain] + step)
            if moved is None:
                break
            q = moved
            if not 1e-10 <= np.max(np.abs(step)) <= FAR:
                break
        return q

    def moved(self, q: Array, x: Array) -> Array | None:
        """Return the pose (J,) that continues q with the chain's joints at x. None if no path leads to it."""
        q = q.copy()
        q[self.chain] = x
        return q

    def slope(self, q: Array) -> Array:
        """Return the Jacobian (6, chain) by the chain's joints."""
        return self.jacobian(q)[:, self.chain]

    def _there(self, q: Array, goal: Goal) -> bool:
        away, turn = self.miss(q, goal)
        return away <= POSITION and turn <= ORIENTATION

    def _bounds(self, near: Array) -> tuple[Array, Array]:
        limits = [joint.limits for joint in self.mechanism.moving]
        lower = [a.lower if np.isfinite(a.lower) else x - UNLIMITED for a, x in zip(limits, near, strict=True)]
        upper = [a.upper if np.isfinite(a.upper) else x + UNLIMITED for a, x in zip(limits, near, strict=True)]
        return np.array(lower), np.array(upper)

    def _descend(self, goal: Goal, begin: Array, lower: Array, upper: Array) -> Array:
        """Return the nearest least-squares solution: positions in m, orientation in rad times the arm's reach."""
        free, reach = np.array(self.chain), self._reach()
        last = begin  # the last tried pose; the search for the next pose starts here

        def full(x: Array) -> Array | None:
            nonlocal last
            found = self.moved(last, x)
            last = last if found is None else found
            return found

        def residual(x: Array) -> Array:
            q = full(x)
            if q is None:
                return np.full(3 if goal.rotation is None else 6, NOWHERE * reach)
            here = self.at(q)
            away = here.xyz - goal.xyz
            if goal.rotation is None or here.rotation is None:
                return away
            return np.concatenate([away, reach * (here.rotation * goal.rotation.inv()).as_rotvec()])

        def slope(x: Array) -> Array:
            q = full(x)
            J = self.slope(last if q is None else q)
            return J[:3] if goal.rotation is None else np.vstack([J[:3], reach * J[3:]])

        inside = np.clip(begin[free], lower[free] + 1e-9, upper[free] - 1e-9)
        from scipy.optimize import least_squares  # noqa: PLC0415 (an extra)

        found = least_squares(residual, inside, slope, bounds=(lower[free], upper[free]), xtol=1e-15, ftol=LEVEL,
                              gtol=1e-15, max_nfev=200)
        q = full(found.x)
        return last if q is None else q

    def _beyond(self, goal: Goal) -> bool:
        """Return True if the goal is farther from the first joint than the arm is long."""
        limits = [self.model.bodies[i].joint.limits for i in self.path if self.model.bodies[i].prismatic]
        slides = sum(max(-limit.lower, limit.upper) for limit in limits)
        return bool(np.linalg.norm(goal.xyz - self.model.bodies[self.path[0]].p0) > self._reach() + slides + POSITION)

    def _reach(self) -> float:
        """Return the length of the chain to the tip, m. Orientation errors in rad are multiplied by this length."""
        along = sum(float(np.linalg.norm(self.model.bodies[i].p0)) for i in self.path[1:])
        return max(along + float(np.linalg.norm(self.place)), 1e-3)

    def _why(self, goal: Goal, tried: list[Array], near: Array) -> str:
        reach = self._reach()
        closest = min(tried, key=lambda q: np.hypot(self.miss(q, goal)[0], reach * self.miss(q, goal)[1]))
        away, turn = self.miss(closest, goal)
        if goal.rotation is not None:
            try:
                self.solve(Goal(goal.xyz), near)
            except Refused:
                pass
            else:
                return (f"{goal} is not reached by {self.link}: the point is, but not with this orientation (nearest: "
                        f"{away:.2g} m and {turn:.2g} rad away); leave rpy out or turn it")
        wide = np.full(len(near), 1e3)
        loose = self._descend(goal, near, near - wide, near + wide)
        if self._there(loose, goal):
            beyond = [(j.name, x, j.limits) for j, x in zip(self.mechanism.moving, loose, strict=True)
                      if not j.limits.lower <= x <= j.limits.upper]
            name, x, limits = beyond[0]
            return (f"{goal} is not reached by {self.link} within the limits: {name} would have to be at {x:.3g}, its "
                    f"limits are {limits.lower:g} .. {limits.upper:g} (nearest within them: {away:.2g} m away)")
        there = np.round(self.at(closest).xyz, 4)  # the search ends before the last digits
        return (f"{goal} is out of reach of {self.link}: the nearest it gets is {away:.2g} m away, at {_listed(there)}")


def ends(mechanism: Mechanism) -> list[str]:
    """Return the moving links without children, in tree order."""
    parents = {joint.parent for joint in mechanism.joints}
    places = placed_links(mechanism)
    return [link.name for link in mechanism.links if link.name not in parents and places[link.name][0] != GROUND]


def _chain(model: Model, body: int) -> list[int]:
    """Return the bodies between the ground and this body, including this body."""
    chain = []
    while body != GROUND:
        chain.append(body)
        body = model.bodies[body].parent
    return chain[::-1]
