"""Mechanisms with flexible links, and a reference for their dynamics: a chain of rigid segments connected by springs.
The reference does not use beam equations. Pinocchio computes the dynamics of a chain of short rigid segments. Springs
of stiffness EI / h connect the segments, and this module integrates the springs' positions. The chain is geometrically
exact: it includes rotations of any size, the tension of rotating links, and the weight along the links. The chain's
error falls with the square of the segments' length. If the link bends in two planes, the order of the springs about y
and z alternates from segment to segment. With a fixed order the chain would twist with an error of order h."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.linalg import cho_factor, cho_solve

from femtorque.codegen.common import Array, norm
from femtorque.codegen.mechanism import BASE, Beam, Friction, Joint, Link, Mechanism, Payload
from femtorque.codegen.model import GROUND, flexible_tree
from femtorque.codegen.reference.pinocchio import joint_model, solid
from tests.support import oracle

L, M, EI = 0.4, 0.24, 0.55  # the beam of Tsujita's manipulator
Z = np.array([0.0, 0.0, 1.0])


def beam_link(name: str, elements: int, stiffness: float | tuple[float, float] = EI, damping: float = 0.0) -> Link:
    """Return a uniform beam along x. A single number EI means bending only about z."""
    across = M * L**2 / 12.0
    pair = (np.inf, stiffness) if isinstance(stiffness, float) else stiffness
    return Link(name, M, np.array([L / 2.0, 0.0, 0.0]), np.diag([0.0, across, across]),
                beam=Beam(L, pair, elements, damping))


def single(elements: int, load: float = 0.05, *, rate_hz: int = 1000, gravity: ArrayLike = (0.0, 0.0, 0.0),
           stiffness: float | tuple[float, float] = EI, damping: float = 0.0, axis: ArrayLike = Z) -> Mechanism:
    """Return one flexible link with a point mass at its tip, which turns about `axis`."""
    loads = (Payload("load", "arm", load, np.array([L, 0.0, 0.0]), np.zeros((3, 3))),) if load else ()
    return _of([beam_link("arm", elements, stiffness, damping)], [_joint("shoulder", BASE, "arm", 0.0, axis)], loads,
               rate_hz, gravity)


def sheared(mechanism: Mechanism, GA_s: float | tuple[float, float]) -> Mechanism:
    """Return the mechanism with shear stiffness, N, of every flexible link. One number applies to bending about z."""
    pair = GA_s if isinstance(GA_s, tuple) else (np.inf, GA_s)
    return replace(mechanism, links=tuple(x if x.beam is None else replace(x, beam=replace(x.beam, GA_s=pair))
                                          for x in mechanism.links))


def by_chance(seed: int, payload: str, EI: float) -> Mechanism:
    """Return a link that bends in two planes, on two joints with random axes.

    Gravity is zero or has a random direction. payload: the load at the tip is a point mass, a long body along the link,
    or a body off the link's axis."""
    rng = np.random.default_rng(seed)
    gravity = rng.normal(size=3)
    gravity *= 9.81 * rng.integers(2) / norm(gravity)
    ratio = float(np.exp(rng.uniform(-0.7, 0.7)))
    loads = {"point": (0.1, (L, 0.0, 0.0), (0.0, 0.0, 0.0)), "long": (0.08, (L + 0.12, 0.0, 0.0), (1e-5, 4e-4, 4e-4)),
             "beside": (0.1, (L, 0.06, -0.04), (2e-4, 2e-4, 3e-4))}
    mass, com, inertia = loads[payload]
    one = beam_second(3, stiffness=(EI, ratio * EI), axes=tuple(rng.normal(size=(2, 3))), damping=1e-3, gravity=gravity)
    return replace(one, payloads=(Payload("hand", "arm", mass, np.array(com), np.diag(inertia)),))


def two_link(elements: int, *, rate_hz: int = 1000, gravity: ArrayLike = (0.0, -9.81, 0.0),
             stiffness: float | tuple[float, float] = EI, damping: float = 0.0, axis: ArrayLike = Z) -> Mechanism:
    """Return a flexible upper arm and a rigid forearm, with a skew elbow axis and an eccentric centre of gravity."""
    fore = Link("fore", 0.1, np.array([0.1, 0.01, 0.02]), np.diag([1e-4, 4e-4, 4e-4]))
    joints = [_joint("shoulder", BASE, "arm", 0.0, Z), _joint("elbow", "arm", "fore", L, axis)]
    return _of([beam_link("arm", elements, stiffness, damping), fore], joints, (), rate_hz, gravity)


def beam_second(elements: int, *, rate_hz: int = 1000, gravity: ArrayLike = (0.0, -9.81, 0.0),
                stiffness: float | tuple[float, float] = EI, damping: float = 0.0,
                axes: tuple[ArrayLike, ArrayLike] = (Z, Z), load: float = 0.05) -> Mechanism:
    """Return a rigid upper arm and a flexible link whose tip carries a body with rotary inertia."""
    upper = Link("upper", 0.5, np.array([0.1, 0.0, 0.01]), np.diag([2e-4, 2e-3, 2e-3]))
    joints = [_joint("shoulder", BASE, "upper", 0.0, axes[0]), _joint("elbow", "upper", "arm", 0.2, axes[1])]
    hand = Payload("hand", "arm", load, np.array([L + 0.02, 0.01, 0.015]), load * 4e-4 * np.eye(3))
    return _of([upper, beam_link("arm", elements, stiffness, damping)], joints, (hand,), rate_hz, gravity)


def flexible_joints(*, rate_hz: int = 1000, gravity: ArrayLike = (0.0, -9.81, 0.0), axis: ArrayLike = Z,
                    slides: bool = False) -> Mechanism:
    """Return two driven joints, each followed by a spring, as rotor and link of a flexible-joint arm. The axis of the
    second joint is skew.

    slides: true if the second spring acts along the link."""
    rotor = 1e-3 * np.eye(3)
    links = [Link("rotor1", 0.1, np.zeros(3), rotor), Link("upper", 0.6, np.array([0.15, 0.01, 0.0]), 4e-3 * np.eye(3)),
             Link("rotor2", 0.1, np.zeros(3), rotor), Link("fore", 0.3, np.array([0.1, 0.0, 0.02]), 2e-3 * np.eye(3))]
    joints = [_joint("shoulder", BASE, "rotor1", 0.0, Z),
              replace(_joint("shoulder spring", "rotor1", "upper", 0.0, Z), actuated=False, stiffness=80.0,
                      friction=Friction(viscous=0.05)),
              _joint("elbow", "upper", "rotor2", 0.3, axis),
              replace(_joint("elbow spring", "rotor2", "fore", 0.0, axis), actuated=False, stiffness=30.0, rest=0.2)]
    if slides:
        joints[3] = replace(joints[3], type="prismatic", axis=np.array([1.0, 0.0, 0.0]), stiffness=2000.0, rest=0.01)
    return _of(links, joints, (), rate_hz, gravity)


def wall_arm(elements: int, *, rate_hz: int = 1000, gravity: ArrayLike = (0.0, -9.81, 0.0), stiffness: float = EI,
             axis: ArrayLike = Z) -> Mechanism:
    """Return a rigid arm, a flexible arm, a hand on a spring at its end, and a driven joint after the hand."""
    one = beam_second(elements, rate_hz=rate_hz, gravity=gravity, stiffness=stiffness)
    hand = Link("hand", 0.05, np.array([0.05, 0.0, 0.01]), 1e-4 * np.eye(3))
    finger = Link("finger", 0.02, np.array([0.03, 0.01, 0.0]), 2e-5 * np.eye(3))
    wrist = replace(_joint("wrist", "arm", "hand", L, Z), actuated=False, stiffness=1.0,
                    friction=Friction(viscous=2e-3))
    return replace(one, links=(*one.links, hand, finger),
                   joints=(*one.joints, wrist, _joint("finger joint", "hand", "finger", 0.08, axis)))


def double(elements: int, *, rate_hz: int = 1000, gravity: ArrayLike = (0.0, -9.81, 0.0),
           stiffness: float | tuple[float, float] = EI, damping: float = 0.0, axis: ArrayLike = Z,
           load: float = 0.05) -> Mechanism:
    """Return two flexible links. The elbow's motor is at the first tip, and a body or no load at the second."""
    links = [beam_link(name, elements, stiffness, damping) for name in ("arm", "fore")]
    joints = [_joint("shoulder", BASE, "arm", 0.0, Z), _joint("elbow", "arm", "fore", L, axis)]
    loads = [Payload("motor", "arm", 0.3, np.array([L, 0.0, 0.0]), 1e-4 * np.eye(3))]
    if load:
        loads.append(Payload("load", "fore", load, np.array([L + 0.02, 0.01, 0.0]), 1e-5 * np.eye(3)))
    return _of(links, joints, tuple(loads), rate_hz, gravity)


def twisted(elements: int, GJ: float | None, *, rate_hz: int = 1000, gravity: ArrayLike = (0.0, -9.81, 0.0),
            stiffness: float | tuple[float, float] = (3.0, 4.0)) -> Mechanism:
    """Return a link that rotates about two axes and carries a mass off its axis.

    The mass twists the link, unless GJ is None."""
    one = beam_second(elements, rate_hz=rate_hz, gravity=gravity, stiffness=stiffness, axes=(Z, (0.2, 1.0, 0.4)))
    links = tuple(x if x.beam is None else replace(x, inertia=x.inertia + np.diag([2e-5, 1e-5, 1e-5]),
                                                   beam=replace(x.beam, GJ=GJ)) for x in one.links)
    side = Payload("side", "arm", 0.05, np.array([L, 0.08, 0.05]), 1e-5 * np.eye(3))
    return replace(one, links=links, payloads=(*one.payloads, side))


def springs_between(elements: int, *, stiffness: float | tuple[float, float] = EI, axis: ArrayLike = Z,
                    gravity: ArrayLike = (1.0, -5.0, -2.0)) -> Mechanism:
    """Return springs in series: after the motor, a flexible link, a driven hand, a flexible link on a spring."""
    links = [Link("rotor", 0.1, np.zeros(3), 1e-3 * np.eye(3)), beam_link("arm", elements, stiffness),
             Link("hand", 0.1, np.array([0.1, 0.01, 0.02]), np.diag([1e-4, 4e-4, 4e-4])),
             beam_link("tail", elements, stiffness)]
    joints = [_joint("shoulder", BASE, "rotor", 0.0, Z),
              replace(_joint("gear", "rotor", "arm", 0.0, Z), actuated=False, stiffness=40.0,
                      friction=Friction(viscous=0.02)),
              _joint("elbow", "arm", "hand", L, axis),
              replace(_joint("root", "hand", "tail", 0.2, axis), actuated=False, stiffness=20.0)]
    return _of(links, joints, (), 1000, gravity)


def _joint(name: str, parent: str, child: str, x: float, axis: ArrayLike) -> Joint:
    axis = np.asarray(axis, float)
    return Joint(name, "revolute", parent, child, np.array([x, 0.0, 0.0]), np.zeros(3), axis / norm(axis))


def _of(links: list[Link], joints: list[Joint], loads: tuple[Payload, ...], rate_hz: int,
        gravity: ArrayLike) -> Mechanism:
    base = oracle.planar_chain(1, rate_hz=rate_hz, gravity=gravity)
    return replace(base, name="flexible", links=tuple(links),
                   joints=tuple(joints), payloads=loads)


# ---- the chain


class Moving(Protocol):
    """A motion of driven joints."""

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Return positions, rates and accelerations (J,) at t, s."""
        ...


@dataclass(frozen=True)
class Chain:
    """A chain of rigid segments. active (J,): velocity indices of driven joints. The other arrays (k,): springs."""

    model: pin.Model
    active: Array
    passive: Array
    stiffness: Array
    damping: Array
    rest: Array

    @staticmethod
    def of(mechanism: Mechanism, segments: int, GJ: float | None = None) -> Chain:
        """Return the chain of a mechanism, with this number of segments for each flexible link.

        If GJ is given, the links can twist. The rigid bodies and their frames come from
        femtorque.codegen.model.tree_of_pieces."""
        tree = flexible_tree(mechanism)
        model = pin.Model()
        model.gravity.linear = tree.gravity
        at: dict[int, tuple[int, pin.SE3]] = {GROUND: (0, pin.SE3.Identity())}
        active, passive, stiffness, damping, rest = [], [], [], [], []
        for i, piece in enumerate(tree.pieces):
            parent, place = at[piece.parent]
            place = place * pin.SE3(piece.R0, piece.p0)
            if piece.link is None:
                joint = mechanism.moving[piece.joint]
                index = model.addJoint(parent, joint_model(joint), place, piece.name)
                at_v = model.joints[index].idx_v
                if joint.elastic:
                    passive.append(at_v)
                    stiffness.append(joint.stiffness)
                    damping.append(joint.friction.viscous)
                    rest.append(joint.rest)
                else:
                    active.append(at_v)
                at[i] = index, pin.SE3.Identity()
            else:
                beam = mechanism.link(piece.tip.name).beam
                h, m = beam.length / segments, piece.tip.mass / segments
                bending = [(a, EI) for a, EI in zip("yz", beam.EI, strict=True) if np.isfinite(EI)]
                twisting = [("x", GJ)] if GJ else []
                for k in range(segments + 1):  # the first and the last segment are half as long
                    long = h if 0 < k < segments else 0.5 * h
                    mass = m * long / h
                    model.appendBodyToJoint(parent, solid(mass, np.array([0.5 * long, 0.0, 0.0]), np.diag(
                        [piece.tip.section[0] * mass / piece.tip.mass, *[mass * long**2 / 12.0] * 2])), place)
                    place = place * pin.SE3(np.eye(3), np.array([long, 0.0, 0.0]))
                    for a, EI_a in (*bending[::-1 if k % 2 else 1], *twisting) if k < segments else ():
                        kind = {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ}[a]()
                        parent = model.addJoint(parent, kind, place, f"{piece.name}{k}{a}")
                        place = pin.SE3.Identity()
                        passive.append(model.joints[parent].idx_v)
                        stiffness.append(EI_a / h)
                        damping.append(beam.damping * EI_a / h)
                        rest.append(0.0)
                at[i] = parent, place
            index, place = at[i]
            if piece.mass:
                model.appendBodyToJoint(index, solid(piece.mass, piece.com, piece.inertia), place)
        return Chain(model, *map(np.array, (active, passive, stiffness, damping, rest)))

    def slopes(self, bent: Array) -> Array:
        """Return the slope (...) at the tip of a single flexible link, to first order, computed from the springs'
        positions (..., k). The result is the root of the sum of squares of the slopes about y and z."""
        names = {self.model.joints[i].idx_v: name for i, name in enumerate(self.model.names) if i}
        return np.hypot(*(bent[..., [names[at][-1] == a for at in self.passive]].sum(axis=-1) for a in "yz"))

    def torque(self, motion: oracle.Motion, t: ArrayLike) -> Array:
        """Return the torques (len(t), n) of the driven joints for a motion that starts in the chain's static sag."""
        data, size, k = self.model.createData(), self.model.nv, len(self.passive)

        def solve(now: float, x: Array) -> tuple[Array, Array]:
            q, v, a = np.zeros(size), np.zeros(size), np.zeros(size)
            q[self.active], v[self.active], a[self.active] = motion.at(now)
            q[self.passive], v[self.passive] = x[:k], x[k:]
            mass = pin.crba(self.model, data, q).copy()
            mass = np.triu(mass) + np.triu(mass, 1).T
            bias = pin.nonLinearEffects(self.model, data, q, v) + mass @ a
            spring = self.stiffness * (x[:k] - self.rest) + self.damping * x[k:]
            theta = -np.linalg.solve(mass[np.ix_(self.passive, self.passive)], bias[self.passive] + spring)
            return theta, bias[self.active] + mass[np.ix_(self.active, self.passive)] @ theta

        rest = np.concatenate([self.sag(motion.at(0.0)[0]), np.zeros(k)])
        run = solve_ivp(lambda now, x: np.concatenate([x[k:], solve(now, x)[0]]), (0.0, float(np.max(t))), rest,
                        method="DOP853", t_eval=np.asarray(t), rtol=1e-7, atol=1e-9)
        assert run.success
        return np.array([solve(now, x)[1] for now, x in zip(run.t, run.y.T, strict=True)])

    def sag(self, at: Array) -> Array:
        """Return the springs' positions (k,) at rest with driven joints at `at` (J,), by Newton's method on forces."""
        data, q, k = self.model.createData(), np.zeros(self.model.nv), len(self.passive)
        q[self.active], q[self.passive] = at, self.rest
        for _ in range(30):
            left = pin.computeGeneralizedGravity(self.model, data,
                                                 q)[self.passive] + self.stiffness * (q[self.passive] - self.rest)
            slope = pin.computeStaticTorqueDerivatives(self.model, data, q, [pin.Force.Zero()] * self.model.njoints)
            step = np.linalg.solve(slope[np.ix_(self.passive, self.passive)] + np.diag(self.stiffness), left)
            q[self.passive] -= step
            if np.abs(step).max() < 1e-13:
                break
        assert np.abs(step).max() < 1e-9
        return q[self.passive].reshape(k)

    def marched(self, motion: Moving, start: float, ticks: int, dt: float) -> tuple[Array, Array]:
        """Return the torques (ticks + 1, n) of the driven joints at start + k dt, and the springs' positions (ticks +
        1, k). The motion starts in the static sag. Each step of Newmark's method with constant average acceleration is
        solved to rounding. The method is of second order in dt, and is faster than `torque` for many segments."""
        data, size, k = self.model.createData(), self.model.nv, len(self.passive)
        q, v, a = np.zeros(size), np.zeros(size), np.zeros(size)
        x, rate, change = self.sag(motion.at(start)[0]), np.zeros(k), np.zeros(k)
        soft = np.diag(0.25 * dt * dt * self.stiffness + 0.5 * dt * self.damping)
        tau, bent = [], []
        for tick in range(ticks + 1):
            q[self.active], v[self.active], a[self.active] = motion.at(start + tick * dt)
            predicted, rate_predicted = x + dt * rate + 0.25 * dt * dt * change, rate + 0.5 * dt * change
            for turn in range(20):
                if tick:
                    x, rate = predicted + 0.25 * dt * dt * change, rate_predicted + 0.5 * dt * change
                q[self.passive], v[self.passive], a[self.passive] = x, rate, change
                if not turn:
                    mass = pin.crba(self.model, data, q)
                    mass = np.triu(mass) + np.triu(mass, 1).T
                    factor = cho_factor(mass[np.ix_(self.passive, self.passive)] + (soft if tick else 0.0))
                forces = pin.rnea(self.model, data, q, v, a)
                left = forces[self.passive] + self.stiffness * (x - self.rest) + self.damping * rate
                step = cho_solve(factor, left)
                change = change - step
                if np.abs(step).max() < 1e-9 * (1.0 + np.abs(change).max()):
                    break
            assert np.abs(step).max() < 1e-6 * (1.0 + np.abs(change).max())
            tau.append(forces[self.active])
            bent.append(x)
        return np.array(tau), np.array(bent)
