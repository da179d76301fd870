"""Moves a tip by hand. Damped least squares turn tip velocities into joint velocities. Near a singular pose the damping
grows, so joint velocities stay bounded, and the tip slows down in the blocked direction. Joints slow down and stop at
their limits; the other joints' velocities are then computed without them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array
from femtorque.codegen.control import follow_limits
from femtorque.codegen.mechanism import Mechanism
from femtorque.host.plan import forward_kinematics, jacobian

# fraction of the largest singular value below which singular values are damped; lengths are divided by the reach
NEAR = 0.03
DAMPING = 0.015  # damping of a singular value of 0, as a fraction of the largest singular value
ROOM = 0.05  # distance from a limit at which a joint begins to slow down, rad or m
SHARE = 0.5  # fraction of the velocity limits in FOLLOW
SOON = 0.1  # minimum time for the remaining distance to the goal, so that the tip slows down near the goal, s
HALVINGS = 6
TOWARD = 0.2  # fraction of a step's length by which the step must bring the tip nearer to the goal


class TipJog:
    """Converts tip velocities into joint positions."""

    def __init__(self, mechanism: Mechanism, q: ArrayLike, link: str, xyz: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Raises BadInput for an unknown link, Refused for flexible links."""
        self.mechanism, self.link, self.xyz = mechanism, link, np.asarray(xyz, float)
        self.q = np.array(q, float)  # (J,): present joint positions
        joints = mechanism.streamed
        self.lower = np.array([joint.limits.lower for joint in joints])
        self.upper = np.array([joint.limits.upper for joint in joints])
        self.most = SHARE * np.array([limits.velocity for limits in follow_limits(mechanism)])
        # an arm with fewer than six joints cannot set the tip's orientation independently
        self.turns = len(joints) >= 6
        place = forward_kinematics(mechanism, self.q, link, self.xyz)[0]
        self.reach = max(float(np.linalg.norm(place)), 1e-3)

    @property
    def place(self) -> Array:
        """Position of the tip (3,), m, base frame."""
        return forward_kinematics(self.mechanism, self.q, self.link, self.xyz)[0]

    def move(self, velocity: ArrayLike, dt: float, turn: ArrayLike = (0.0, 0.0, 0.0)) -> tuple[Array, Array]:
        """Move for dt s with a tip velocity (3,) m/s and angular velocity (3,) rad/s, base frame. Returns joint
        positions and velocities (J,), within their limits."""
        twist = np.concatenate([np.asarray(velocity, float), np.asarray(turn, float)])
        half_way = np.clip(self.q + 0.5 * dt * self.velocities(self.q, twist), self.lower, self.upper)
        v = self.velocities(half_way, twist)
        self.q = np.clip(self.q + dt * v, self.lower, self.upper)
        return self.q.copy(), v

    def toward(self, place: ArrayLike, dt: float, speed: float) -> Array:
        """Move for dt s toward a goal position (3,) m, base frame, at no more than `speed`, m/s. If the goal cannot be
        reached, the tip stops at the nearest position that it finds. Returns joint positions (J,)."""
        goal = np.asarray(place, float)
        away = goal - self.place
        distance = float(np.linalg.norm(away))
        if distance < 1e-9 or dt <= 0.0:
            return self.q.copy()
        begin, here, velocity = self.q.copy(), self.place, away / max(distance / speed, SOON)
        for k in range(HALVINGS):  # near the workspace's border a long step may overshoot the goal
            self.q = begin.copy()
            self.move(velocity * 0.5**k, dt)
            there = self.place
            nearer = distance - float(np.linalg.norm(goal - there))
            if nearer > TOWARD * float(np.linalg.norm(there - here)):
                return self.q.copy()
        self.q = begin
        return begin.copy()

    def joints_toward(self, places: Mapping[int, float], dt: float) -> Array:
        """Move the joints with these numbers for dt s toward positions, rad or m. Returns all positions (J,)."""
        for k, place in places.items():
            most = self.most[k] * dt
            self.q[k] = np.clip(self.q[k] + np.clip(place - self.q[k], -most, most), self.lower[k], self.upper[k])
        return self.q.copy()

    def velocities(self, q: Array, twist: Array) -> Array:
        """Return the joint velocities (J,) that give the tip a twist (6,) at joint positions q (J,)."""
        J = jacobian(self.mechanism, q, self.link, self.xyz)
        rows, units = (6, np.array([1.0, 1.0, 1.0, *[self.reach] * 3])) if self.turns else (3, np.ones(3))
        A, b = units[:, None] * J[:rows], units * twist[:rows]
        free = np.ones(len(q), bool)
        while True:
            v = np.zeros(len(q))
            v[free] = _damped(A[:, free], b)
            beyond = free & (((v > 0.0) & (q >= self.upper)) | ((v < 0.0) & (q <= self.lower)))
            if not np.any(beyond):
                break
            free &= ~beyond
        left = np.where(v > 0.0, self.upper - q, q - self.lower)
        most = self.most * np.clip(left / ROOM, 0.0, 1.0)
        moving = np.abs(v) > 0.0
        with np.errstate(divide="ignore"):
            slower = np.min(most[moving] / np.abs(v[moving]), initial=1.0)
        return v * min(1.0, float(slower))


def _damped(A: Array, b: Array) -> Array:
    """Return the damped least-squares solution of A x = b. Only small singular values are damped."""
    if A.size == 0:
        return np.zeros(A.shape[1])
    U, sizes, V = np.linalg.svd(A, full_matrices=False)
    largest = max(float(sizes[0]), 1e-12)
    near = np.clip(1.0 - sizes / (NEAR * largest), 0.0, 1.0)
    damping = (DAMPING * largest * near) ** 2
    return np.asarray(V.T @ (sizes / np.maximum(sizes**2 + damping, (1e-9 * largest) ** 2) * (U.T @ b)))
