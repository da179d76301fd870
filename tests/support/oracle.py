"""References for the tests: Pinocchio, random mechanisms, smooth motions.

Pinocchio computes inverse and forward dynamics by algorithms that share no code with this project. Only the description
of the mechanism is shared. `pinocchio_model` uses the bodies of a Model. `pinocchio_of` in codegen uses the links and
joints of a Mechanism, so it also reveals errors in the fusion of links into bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, norm, product
from femtorque.codegen.mechanism import BASE, Control, Joint, Link, Mechanism
from femtorque.codegen.model import GROUND, Model, rotation_axis
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference.pinocchio import (  # mark for tests that need Pinocchio
    joint_model, pinocchio_of as pinocchio_of, solid)

GRAVITY = np.array([0.0, 0.0, -9.81])


# ---- Pinocchio ----------------------------------------------------------------------------------


def pinocchio_model(model: Model) -> pin.Model:
    """Return the bodies of a Model as a Pinocchio model with the same joint numbers. q: rad or m."""
    result = pin.Model()
    result.gravity.linear = np.asarray(model.gravity, float)
    ids: list[int] = []
    for body in model.bodies:
        parent = 0 if body.parent == GROUND else ids[body.parent]
        place = pin.SE3(np.asarray(body.R0, float), np.asarray(body.p0, float))
        ids.append(result.addJoint(parent, joint_model(body.joint), place, body.joint.name))
        result.appendBodyToJoint(ids[-1], solid(body.mass, body.com, body.inertia), pin.SE3.Identity())
    return result


def rnea(model: Model | pin.Model, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """Return joint torques (n,) or (samples, n), N m or N, for q, v and a of the same shape."""
    oracle = pinocchio_model(model) if isinstance(model, Model) else model
    data = oracle.createData()
    q, v, a = (np.asarray(x, float) for x in (q, v, a))
    rows = [pin.rnea(oracle, data, *row).copy() for row in zip(*(np.atleast_2d(x) for x in (q, v, a)), strict=True)]
    return np.array(rows).reshape(q.shape)


def aba(model: Model | pin.Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
    """Return the joint accelerations (n,), rad/s^2 or m/s^2, that the torques tau (n,) cause."""
    oracle = pinocchio_model(model) if isinstance(model, Model) else model
    return pin.aba(oracle, oracle.createData(), *(np.asarray(x, float) for x in (q, v, tau))).copy()


def torque_at(model: Model | pin.Model, motion: Motion | Trajectory, t: ArrayLike) -> Array:
    """Return rnea's torques along a motion at the times t (samples,), with shape (samples, n)."""
    t = np.asarray(t, float)
    return rnea(model, *motion.at(t))


# ---- mechanisms ---------------------------------------------------------------------------------


def random_rotation(rng: np.random.Generator) -> Array:
    axis = rng.normal(size=3)
    return rotation_axis(axis / norm(axis), rng.uniform(-np.pi, np.pi))


def random_inertia(rng: np.random.Generator, mass: float, size: float) -> Array:
    """Return an inertia tensor (3, 3) about the centre of gravity that a body of about this size, m, can have."""
    second = mass * (size * rng.uniform(0.1, 0.5, 3)) ** 2  # integrals of x^2 dm, y^2 dm and z^2 dm
    R = random_rotation(rng)
    return product(R, np.sum(second) * np.eye(3) - np.diag(second), R.T)


def random_chain(rng: np.random.Generator, n: int, *, rate_hz: int = 1000, gravity: ArrayLike = GRAVITY) -> Mechanism:
    """Return a serial chain of n revolute joints with random axes, offsets, centres of gravity and inertias."""
    return _random(rng, [i - 1 for i in range(n)], ["revolute"] * n, rate_hz, gravity)


def random_tree(rng: np.random.Generator, n: int, prismatic: bool = True, *, rate_hz: int = 1000,
                gravity: ArrayLike = GRAVITY) -> Mechanism:
    """Return a random tree of n moving joints. With `prismatic`, about a third of the joints are prismatic."""
    parents = [int(rng.integers(-1, i)) if i else GROUND for i in range(n)]
    types = ["prismatic" if prismatic and rng.random() < 1.0 / 3.0 else "revolute" for _ in range(n)]
    return _random(rng, parents, types, rate_hz, gravity)


def _random(rng: np.random.Generator, parents: list[int], types: list[str], rate_hz: int,
            gravity: ArrayLike) -> Mechanism:
    links, joints = [], []
    for i, (parent, kind) in enumerate(zip(parents, types, strict=True)):
        size, mass = rng.uniform(0.1, 0.4), rng.uniform(0.1, 2.0)
        com = size * rng.uniform(-0.5, 0.5, 3)
        links.append(Link(f"link{i + 1}", mass, com, random_inertia(rng, mass, size)))
        axis = rng.normal(size=3)
        joints.append(Joint(
            name=f"joint{i + 1}", type=kind,
            parent=BASE if parent == GROUND else f"link{parent + 1}", child=f"link{i + 1}",
            xyz=rng.uniform(-0.3, 0.3, 3), rpy=rng.uniform(-np.pi, np.pi, 3), axis=axis / norm(axis),
        ))
    return _mechanism("random", links, joints, rate_hz, gravity)


def planar_chain(n: int, *, length: float = 0.2, mass: float = 0.1075, rate_hz: int = 1000,
                 gravity: ArrayLike = (0.0, -9.81, 0.0)) -> Mechanism:
    """Return n uniform slender links along x with joints about z.

    With the defaults and n = 8 this is the chain of Isobe's Fig. 4."""
    across = mass * length**2 / 12.0
    links, joints = [], []
    for i in range(n):
        links.append(Link(f"link{i + 1}", mass, np.array([length / 2.0, 0.0, 0.0]), np.diag([0.0, across, across])))
        joints.append(Joint(
            name=f"joint{i + 1}", type="revolute", parent=f"link{i}" if i else BASE, child=f"link{i + 1}",
            xyz=np.array([length if i else 0.0, 0.0, 0.0]), rpy=np.zeros(3), axis=np.array([0.0, 0.0, 1.0]),
        ))
    return _mechanism(f"planar-{n}", links, joints, rate_hz, gravity)


def _mechanism(name: str, links: list[Link], joints: list[Joint], rate_hz: int, gravity: ArrayLike) -> Mechanism:
    return Mechanism(name=name, gravity=np.asarray(gravity, float), control=Control(rate_hz=rate_hz), board=None,
                     links=tuple(links), joints=tuple(joints))


# ---- motions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Motion:
    """A motion as functions of time. Each function takes t () or (samples,), s, and returns (n,) or (samples, n)."""

    position: Callable[[ArrayLike], Array]
    rate: Callable[[ArrayLike], Array]
    acceleration: Callable[[ArrayLike], Array]
    duration: float

    def __call__(self, t: ArrayLike) -> Array:
        return self.position(t)

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration as Trajectory.at does."""
        return self.position(t), self.rate(t), self.acceleration(t)


def quintic(start: ArrayLike, end: ArrayLike, duration: float = 1.0) -> Motion:
    """Return a motion from rest to rest with zero acceleration at both ends.

    Outside [0, duration] the motion is at rest. The jerk jumps at 0."""
    return _rest_to_rest(start, end, duration, [0, 0, 0, 10, -15, 6])


def septic(start: ArrayLike, end: ArrayLike, duration: float = 1.0) -> Motion:
    """Return a motion of seventh order from rest to rest. Acceleration and jerk are zero at both ends."""
    return _rest_to_rest(start, end, duration, [0, 0, 0, 0, 35, -84, 70, -20])


def _rest_to_rest(start: ArrayLike, end: ArrayLike, duration: float, coefficients: list[float]) -> Motion:
    start, end = np.asarray(start, float), np.asarray(end, float)
    s = np.polynomial.Polynomial(coefficients)

    def part(order: int) -> Callable[[ArrayLike], Array]:
        polynomial = s.deriv(order) if order else s

        def at(t: ArrayLike) -> Array:
            x = np.clip(np.asarray(t, float) / duration, 0.0, 1.0)[..., None]
            return (end - start) * polynomial(x) / duration**order + (0.0 if order else start)

        return at

    return Motion(part(0), part(1), part(2), duration)


def sines(amplitude: ArrayLike, frequency: ArrayLike, phase: ArrayLike, offset: ArrayLike = 0.0,
          duration: float = 1.0) -> Motion:
    """Return offset + amplitude sin(frequency t + phase), one value per joint, which does not start from rest."""
    A, w, p, o = (np.asarray(x, float) for x in (amplitude, frequency, phase, offset))

    def angle(t: ArrayLike) -> Array:
        return np.asarray(t, float)[..., None] * w + p

    return Motion(lambda t: o + A * np.sin(angle(t)), lambda t: A * w * np.cos(angle(t)),
                  lambda t: -A * w**2 * np.sin(angle(t)), duration)


def random_quintic(rng: np.random.Generator, n: int, duration: float = 1.0, travel: float = 1.5) -> Motion:
    """Return a quintic between random poses up to `travel` apart, rad or m."""
    start = rng.uniform(-np.pi, np.pi, n)
    return quintic(start, start + rng.uniform(-travel, travel, n), duration)


def peak(tau: Array) -> float:
    """Return the largest torque of a motion, by which tests divide errors."""
    return float(np.max(np.abs(tau)))
