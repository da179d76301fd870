"""Tip of a closed mechanism. The independent joints and the loops move the tip.

Each pose is followed from the last pose on one branch. So the arm can drive to every found pose.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import Refused
from femtorque.host.plan.plan_coordinates import Space
from femtorque.host.plan.tip import Goal, Tip

Array = NDArray[np.float64]

STARTS = 6  # start poses of the search; following the loops to a start pose takes time


class ClosedTip(Tip):
    """A point fixed in a link of loops or a leader. Joint positions are poses (n,) of its space."""

    def __init__(self, space: Space, link: str, offset: ArrayLike, source: object) -> None:
        super().__init__(space.mechanism, link, offset, source)
        self.space = space
        self.chain = list(space.assembly.independent)

    def solve(self, goal: Goal, near: ArrayLike, starts: int = STARTS) -> Array:
        """Return a pose (n,) as Tip.solve does. The independent joints reach the pose on a straight line. Also raises
        Refused, with the condition number, if the tip or the loops become singular."""
        return super().solve(goal, near, min(starts, STARTS))

    def moved(self, q: Array, x: Array) -> Array | None:
        try:
            return self.space.follow(q, x)[0]
        except Refused:
            return None

    def slope(self, q: Array) -> Array:
        return self.jacobian(q)[:, self.path] @ self.space.assembly.velocity_matrix(q)[self.path]

    def _why(self, goal: Goal, tried: list[Array], near: Array) -> str:
        """Add the condition numbers of the tip's Jacobian and of the loops at the nearest pose."""
        said = super()._why(goal, tried, near)
        closest = min(tried, key=lambda q: self.miss(q, goal)[0])
        J = self.slope(closest)[: 3 if goal.rotation is None else 6]
        sizes = np.linalg.svd(J, compute_uv=False)
        ways = int(np.sum(sizes > 1e-9 * sizes[0]))
        tip = float(sizes[0] / sizes[min(ways, len(self.chain)) - 1])
        at = ", ".join(f"{joint.name} = {x:.4g}"
                       for joint, x in zip(self.space.joints, closest[self.chain], strict=True))
        loops, _ = self.space.assembly.condition(closest)
        return f"{said}; at {at} the condition number of the tip is {tip:.0f}, that of the loops {loops:.0f}"
