"""Tip of a closed mechanism. The tip moves with the independent joints, and with the joints that follow from the loop
equations.

The search follows one assembly branch in small steps from the present pose. So the arm can reach every pose that the
search returns.
"""

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, Refused
from femtorque.host.plan.plan_coordinates import Space
from femtorque.host.plan.tip import Goal, Tip

STARTS = 6  # number of start poses of the search; few, since the loop equations must be solved up to each start pose


class ClosedTip(Tip):
    """A tip point in a link that belongs to a closed loop, or to a chain of coupled joints. Joint positions are poses
    (n,) of the tip's space."""

    def __init__(self, space: Space, link: str, offset: ArrayLike, source: object) -> None:
        super().__init__(space.mechanism, link, offset, source)
        self.space = space
        self.chain = list(space.assembly.independent)

    def solve(self, goal: Goal, near: ArrayLike, starts: int = STARTS) -> Array:
        """Return a pose (n,) that brings the tip to the goal, like Tip.solve. The independent joints move to the pose
        on a straight line in joint space. Also raises Refused, with the condition number, if the Jacobian of the tip or
        of the loops becomes singular."""
        return super().solve(goal, near, min(starts, STARTS))

    def moved(self, q: Array, x: Array) -> Array | None:
        try:
            return self.space.follow(q, x)[0]
        except Refused:
            return None

    def slope(self, q: Array) -> Array:
        return self.jacobian(q)[:, self.path] @ self.space.assembly.velocity_matrix(q)[self.path]

    def _why(self, goal: Goal, tried: list[Array], near: Array) -> str:
        """Append two condition numbers at the nearest pose to the reason: of the tip's Jacobian and of the loop
        equations."""
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
