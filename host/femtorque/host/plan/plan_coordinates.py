"""Coordinates of a plan: the independent joints of a mechanism in one mode. All other joints follow from the loop
equations.

A pose has all moving joints (n,), in the order of the mode's model. The coordinates of a pose are the positions of the
independent joints. In a mechanism without loops, all joints are independent. Poses are solved in small steps along the
motion, so that the plan does not change its assembly branch. If the path meets a singular pose, the plan is refused.
The error message contains the pose, the undetermined joints and the condition number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, BadInput, Refused
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.model import Assembly, Model, assemble, in_mode
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import closed_form, newton_euler, recursion

FITS = 2e-3  # maximum gap of a loop at entry into a mode, as on the board, rad or m
PACE = 0.05  # distance of two poses on the path to a goal that is given by dependent joints, rad or m
EXACT = 3  # number of Newton steps at the end of the path to a goal
SAME_WAY = 0.05  # fraction of a joint's velocities: a joint with a smaller fraction is determined by the other joints


@dataclass(frozen=True)
class Space:
    """The free coordinates of a mechanism in one mode."""

    whole: Mechanism  # the mechanism with all its modes
    mode: str  # the mode's name; empty if the mechanism has no modes
    assembly: Assembly

    @staticmethod
    def of(whole: Mechanism, mode: str = "", near: dict[str, float] | None = None) -> Space:
        """Return the space of a mode, by default the first. near: joint positions from which the loop equations are
        solved, by default the file's start. Raises BadInput if the loops do not close."""
        mode = mode or (whole.modes[0].name if whole.modes else "")
        return Space(whole, mode, assemble(Model.of(in_mode(whole, mode or None)), near))

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism in this mode, without the other modes."""
        return self.assembly.model.mechanism

    @property
    def start(self) -> Array:
        """The assembled pose (n,)."""
        return self.assembly.start

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The independent joints, whose positions are the coordinates."""
        return tuple(self.assembly.model.bodies[i].joint for i in self.assembly.independent)

    @property
    def names(self) -> list[str]:
        """Names of all joints of a pose."""
        return [body.joint.name for body in self.assembly.model.bodies]

    def coordinates(self, poses: ArrayLike) -> Array:
        """Return coordinates (..., f) of poses (..., n)."""
        return np.asarray(poses, float)[..., list(self.assembly.independent)]

    def streamed(self, poses: ArrayLike) -> Array:
        """Return the positions (..., J) of the mechanism's streamed joints, from poses. The function also selects
        velocities and accelerations in this way."""
        return np.asarray(poses, float)[..., [self.names.index(joint.name) for joint in self.whole.streamed]]

    def unstreamed(self, positions: ArrayLike) -> Array:
        """Return the coordinates (..., f) that belong to positions (..., J) of the streamed joints."""
        names = [joint.name for joint in self.whole.streamed]
        return np.asarray(positions, float)[..., [names.index(joint.name) for joint in self.joints]]

    # ---- motion
    def follow(self, here: Array, x: ArrayLike) -> Array:
        """Return poses (N, n) for coordinates (N, f), by continuation from the pose `here` (n,). Raises Refused."""
        return replace(self.assembly, start=here).follow(self._actuated(np.atleast_2d(np.asarray(x, float))))

    def to(self, here: Array, wanted: dict[str, float]) -> Array:
        """Return the pose (n,) with driven joints at `wanted` (name to rad or m). The pose is reached from `here` on a
        straight line in the given joints. All other coordinates stay. Values of dependent joints may be missing. Given
        values of dependent joints are ignored. Raises Refused if the path meets a singular pose."""
        free = list(self.assembly.independent)
        given = [self.names.index(name) for name in wanted]
        chosen = self._deciding(here, [*given, *(i for i in free if i not in given)])
        goal = here.copy()
        goal[given] = list(wanted.values())
        pose = here
        if set(chosen) != set(free):
            steps = max(1, int(np.ceil(np.max(np.abs(goal - here)[chosen]) / PACE)))
            for part in [*(np.arange(1, steps + 1) / steps), *[1.0] * EXACT]:
                away = here[chosen] + part * (goal - here)[chosen] - pose[chosen]
                G = self.assembly.velocity_matrix(pose)[chosen]
                pose = self.follow(pose, pose[free] + np.linalg.lstsq(G, away, rcond=1e-6)[0])[0]
            goal[free] = pose[free]
        return self.follow(here, goal[free])[0]

    def _deciding(self, pose: Array, joints: list[int]) -> list[int]:
        """Return the first joints of the list that together determine a pose."""
        if set(self.assembly.independent) <= set(joints) and not self.assembly.dependent:
            return list(self.assembly.independent)
        G, chosen = self.assembly.velocity_matrix(pose), list[int]()
        left = G.copy()
        for i in joints:
            size = float(np.linalg.norm(left[i]))
            if len(chosen) < G.shape[1] and size > SAME_WAY * max(1.0, float(np.linalg.norm(G[i]))):
                chosen.append(i)
                direction = left[i] / size
                left = left - np.outer(left @ direction, direction)
        return chosen

    def motion(self, here: Array, x: Array, xd: Array, xdd: Array) -> tuple[Array, Array, Array]:
        """Return the motion of all joints, each (N, n), from the motion of the coordinates, each (N, f)."""
        full = self.follow(here, x)
        velocities = self.assembly.velocities(full, xd)
        return full, velocities, self.assembly.accelerations(full, velocities, xdd)

    def _actuated(self, x: Array) -> Array:
        """Return coordinates in which the positions of redundantly driven joints are undetermined."""
        rows = np.full((len(x), len(self.assembly.actuated)), np.nan)
        rows[:, [self.assembly.actuated.index(i) for i in self.assembly.independent]] = x
        return rows

    def torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the streamed joints' torques (N, J), N m or N, for a motion (N, n) of all joints. The method is
        Newton-Euler with the constraint forces of loops and coupled joints. Joints without a drive in this mode get
        zero."""
        model = self.assembly.model
        convert = closed_form(self.assembly, recursion) if self.mechanism.constrained else recursion
        return self.streamed(newton_euler(model, q, qd, qdd, convert)) * self.driven

    @property
    def driven(self) -> Array:
        """Return (J,): 1 for streamed joints that are actuated in this mode, else 0."""
        own = {self.names[i] for i in self.assembly.actuated}
        return np.array([float(joint.name in own) for joint in self.whole.streamed])

    # ---- modes
    def near(self, pose: Array) -> dict[str, float]:
        """Return a pose as a table from joint names to positions."""
        return dict(zip(self.names, pose.tolist(), strict=True))

    def entered(self, mode: str, pose: Array) -> tuple[Space, float, str]:
        """Return the space of another mode, with its loops closed from a pose of this mode. Also return the largest
        change of a streamed joint, and this joint's name."""
        other = Space.of(self.whole, mode, self.near(pose))
        away = np.abs(other.streamed(other.start) - self.streamed(pose))
        farthest = int(np.argmax(away))
        return other, float(away[farthest]), self.whole.streamed[farthest].name

    def check(self, poses: Array, to: str) -> None:
        """Raise Refused if a dependent joint exceeds its limits in a pose of `poses` (N, n)."""
        for i in self.assembly.dependent:
            joint = self.assembly.model.bodies[i].joint
            outside = np.maximum(poses[:, i] - joint.limits.upper, joint.limits.lower - poses[:, i])
            worst = int(np.argmax(outside))
            if outside[worst] > 1e-9:
                raise Refused(f"on the way to {to}, the loops move {joint.name} to {poses[worst, i]:.4g}, its limits "
                              f"are {joint.limits.lower:g} .. {joint.limits.upper:g}")


def stretches(mechanism: Mechanism, trajectory: Trajectory,
              t: Array) -> Iterator[tuple[Space, slice, tuple[Array, Array, Array]]]:
    """Split a motion, with increasing times t (N,), into its modes. Yield for each mode its space, the slice of its
    samples, and the motion of all joints, each (samples, n). Raises BadInput or Refused if loops do not close."""
    switches = list(trajectory.modes) or [(0.0, "")]
    bounds = [*(int(np.searchsorted(t, begin - 1e-9)) for begin, _ in switches), len(t)]
    before: dict[str, float] = {}
    for (begin, name), first, last in zip(switches, bounds[:-1], bounds[1:], strict=True):
        if last <= first:
            continue
        here = dict(zip(trajectory.joints, trajectory.at(begin)[0].tolist(), strict=True))
        space = Space.of(mechanism, name, before | here if before else None)
        q, qd, qdd = (space.unstreamed(x) for x in trajectory.at(t[first:last]))
        moves = space.motion(space.start, q, qd, qdd)
        before = space.near(moves[0][-1])
        yield space, slice(first, last), moves


def begin_of(space: Space, begin: ArrayLike | None, source: object) -> Array:
    """Return the pose (n,) in which the streamed joints are at `begin` (J,), by default the start. The pose is on the
    assembly branch of the start pose. Raises BadInput if positions of redundantly driven joints contradict the loop
    equations. Raises Refused if every path from the start pose is singular."""
    if begin is None:
        return space.start
    positions = np.asarray(begin, float)
    pose = space.follow(space.start, space.unstreamed(positions))[0]
    away = np.abs(space.streamed(pose) - positions)
    worst = int(np.argmax(away))
    if away[worst] > FITS:
        raise BadInput(source, "the beginning", None, f"does not close the loops: with the others where they are, "
                       f"{space.whole.streamed[worst].name} belongs at {space.streamed(pose)[worst]:.4g}, not at "
                       f"{positions[worst]:.4g}", "home again, or move it there")
    return pose


