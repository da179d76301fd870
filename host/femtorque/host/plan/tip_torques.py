"""Computes the motion and torques with which the tip of a planar flexible arm follows a path with a contact force.

The arm has joints about parallel axes, rigid links, and at the end one flexible link. A rigid part at the end of the
flexible link may be fixed to the link or attached by a spring. The chord moves like a rigid link. So the tip's path
gives the joint positions of a rigid arm. The elastic coordinates along this motion are one linear boundary-value
problem (femtorque.host.plan.boundary_value). The flexible link's joint turns by the chord's angle plus the slope at the
link's root. The joint torques follow from the forces and moments on the links. The method needs no iteration (Tsujita
et al., Eqs 13-19).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, BadInput
from femtorque.codegen.mechanism import Beam, Mechanism
from femtorque.codegen.model import Model, Timed, joint_axes, placed_links, pose
from femtorque.codegen.reference import newton_euler
from femtorque.host.plan import boundary_value
from femtorque.host.plan.boundary_value import Ends, Problem, Solution
from femtorque.host.plan.chord_beam import ChordBeam, End

PARALLEL = 1e-9
ON_LINE = 1e-9  # fraction of the beam's length: allowed distance of the end part's centre of mass from the beam's axis


@dataclass(frozen=True)
class FlexibleArm:
    """A planar chain in which the last driven joint, number `hub`, carries the flexible link `beam`. bar, end: the
    link's beam and end part."""

    rigid: Model  # the chain of the driven joints up to the hub, with a massless flexible link
    hub: int
    normal: Array  # the common axis, global
    signs: Array  # (hub + 1,): +1 or -1, each joint's axis along `normal`
    beam: ChordBeam
    mass: float  # mass of the link, kg
    bar: Beam
    end: End

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(body.joint.name for body in self.rigid.bodies)


@dataclass(frozen=True)
class TipMotion:
    """Motion of the joints.

    q, qd, qdd (T, J): motion of the driven joints, rad.
    """

    times: Array  # times (T,) from 0, with pre-actuation, s
    path_start: float  # time at which the path begins, s
    q: Array
    qd: Array
    qdd: Array
    torque: Array  # torques (T, J) without friction and rotors, N m
    W: Array  # (T, n): elastic coordinates of femtorque.host.plan.chord_beam
    counts: tuple[int, int]  # number of conditions at the start and at the end


def flexible_arm(mechanism: Mechanism, point: float | None = None, elements: int | None = None) -> FlexibleArm:
    """Return the arm of a mechanism. point: the tip's x beyond the beam's end, m, by default the end of the
    last part. elements: replaces the file's number of elements. Raises BadInput unless the mechanism is a planar arm
    that ends in a beam."""
    # a planar arm does not twist
    links = tuple(x if x.beam is None else replace(x, beam=replace(x.beam, GJ=None)) for x in mechanism.links)
    mechanism = replace(mechanism, links=links)
    model = Model.of(mechanism)
    hub, name = _hub(mechanism, model)
    link = mechanism.link(name)
    assert link.beam is not None
    axes = joint_axes(model, pose(model, np.zeros(model.n)))
    normal = axes[hub]
    for j, (body, axis) in enumerate(zip(model.bodies, axes, strict=True)):
        if body.prismatic or np.linalg.norm(np.cross(axis, normal)) > PARALLEL or body.parent != j - 1:
            raise _wrong(mechanism, f"joint.{body.joint.name}", "a tip motion needs one chain of revolute joints with "
                                                                "parallel axes")
    if abs(abs(model.bodies[hub].axis[2]) - 1.0) > PARALLEL:
        raise _wrong(mechanism, f"joint.{model.bodies[hub].joint.name}.axis",
                     f"must be the z axis of {name}, about which the beam bends")
    bodies = list(model.bodies[: hub + 1])
    bodies[hub] = replace(bodies[hub], mass=0.0, com=np.zeros(3), inertia=np.zeros((3, 3)), children=())
    end = _end(mechanism, model, hub, name, point)
    beam = ChordBeam.of(link.beam.length, link.mass, link.beam.EI[1], elements or link.beam.elements,
                        link.beam.damping, end, link.beam.GA_s[1])
    return FlexibleArm(replace(model, bodies=tuple(bodies)), hub, normal,
                       np.array([float(np.round(a @ normal)) for a in axes[: hub + 1]]), beam,
                       link.mass, link.beam, end)


def tip_motion(arm: FlexibleArm, chord: Timed, duration: float, dt: float, *, ends: Ends = "free",
               press: Timed | None = None, lead: tuple[float, float] = (0.0, 0.0)) -> TipMotion:
    """Return the motion for chord positions chord.at(t) (.., hub + 1), rad, at rest before 0 and after `duration` s.

    press: the tip's force on its surroundings, press.at(t)[0] (..., 3), N, global. lead: time of pre-actuation before
    and post-actuation after the path, s. Raises Refused, with the count of roots, if the ends do not determine the
    motion.
    """
    T = int(round(duration / dt)) + 1
    t = np.arange(T, dtype=float) * dt
    held = _Rest(chord, duration)
    problem = elastic_problem(arm, held, t, dt, press)
    solution = boundary_value.solved(problem, ends)
    before = boundary_value.lead_in(problem, solution, lead[0])
    after = boundary_value.lead_out(problem, solution, lead[1])
    whole = Solution(*(np.concatenate(rows) for rows in zip(
        (before.w, before.rate, before.acceleration), (solution.w, solution.rate, solution.acceleration),
        (after.w, after.rate, after.acceleration), strict=True)))
    t = (np.arange(len(whole.w), dtype=float) - len(before.w)) * dt
    q, qd, qdd = held.at(t)
    torque = _torques(arm, q, qd, qdd, whole, _press(press, held, t))
    slope = [field @ arm.beam.hub for field in (whole.w, whole.rate, whole.acceleration)]
    moved = [field.copy() for field in (q, qd, qdd)]
    for field, add in zip(moved, slope, strict=True):
        field[:, arm.hub] += add
    q, qd, qdd = moved
    return TipMotion(t - t[0], float(-t[0]), q, qd, qdd, torque, whole.w, boundary_value.count(problem))


def elastic_problem(arm: FlexibleArm, chord: Timed, t: Array, dt: float, press: Timed | None = None) -> Problem:
    """Return the linear problem of the elastic coordinates along a motion of the chord (corrected Eq. 15).

    < (B - e x) a > + e < w a_1 > + C W' + K W = - e reach f_2, with e the hub's slope. Both the equation of the link's
    root and the moment balance of the whole link contain the joint's torque. The difference of the two equations does
    not contain this torque.
    """
    beam, e = arm.beam, arm.beam.hub
    A, Om, turn = _hub_motion(arm, *chord.at(t))
    f = _across(arm, chord, t, _press(press, chord, t))
    K = beam.K - Om[:, None, None] ** 2 * beam.BB + A[:, 0, None, None] * np.outer(e, beam.B)
    F = (e * (beam.reach * f[:, 1, None]) - A[:, 1, None] * (beam.B - e * beam.first)
         - turn[:, None] * (beam.Bx - e * beam.second))
    return Problem(beam.BB - np.outer(e, beam.Bx), beam.C, K, F, dt)


# ---- forces ----------------------------------------------------------------------------------------


def _torques(arm: FlexibleArm, q: Array, qd: Array, qdd: Array, w: Solution, press: Array) -> Array:
    """Return the joint torques (T, J) of the rigid links and of the force and moment at the flexible link's root."""
    beam = arm.beam
    A, Om, turn = _hub_motion(arm, q, qd, qdd)
    e1, e2 = _chord_axes(arm, q)
    f = np.stack([np.sum(press * e1, 1), np.sum(press * e2, 1)], 1)
    B_w, B_rate, B_change = w.w @ beam.B, w.rate @ beam.B, w.acceleration @ beam.B
    along = beam.mass * A[:, 0] - Om**2 * beam.first - turn * B_w - 2.0 * Om * B_rate + f[:, 0]
    across = beam.mass * A[:, 1] + turn * beam.first - Om**2 * B_w + B_change + f[:, 1]
    moment = (beam.first * A[:, 1] + beam.second * turn + w.acceleration @ beam.Bx - A[:, 0] * B_w
              + beam.reach * f[:, 1])
    return taken(arm, q, qd, qdd, moment, along[:, None] * e1 + across[:, None] * e2)


def taken(arm: FlexibleArm, q: Array, qd: Array, qdd: Array, moment: Array, force: Array) -> Array:
    """Return torques (T, J) of the rigid links, and of a moment (T,) about the normal and a force (T, 3) at the
    flexible root."""
    torque = newton_euler(arm.rigid, q, qd, qdd)
    origin = pose(arm.rigid, q).origin
    for j in range(arm.hub + 1):
        arm_of_force = origin[:, arm.hub] - origin[:, j]
        torque[:, j] += arm.signs[j] * (moment + np.cross(arm_of_force, force) @ arm.normal)
    return torque


def _press(press: Timed | None, chord: Timed, t: Array) -> Array:
    return np.zeros((len(t), 3)) if press is None else press.at(t)[0]


def _across(arm: FlexibleArm, chord: Timed, t: Array, press: Array) -> Array:
    """Return the contact force along and across the chord, (T, 2)."""
    e1, e2 = _chord_axes(arm, chord.at(t)[0])
    return np.stack([np.sum(press * e1, 1), np.sum(press * e2, 1)], 1)


# ---- kinematics of the chord -----------------------------------------------------------------------


def tip(arm: FlexibleArm, q: Array) -> Array:
    """Return the tip's position (T, 3), m, for chord angles q (T, J)."""
    return pose(arm.rigid, q).origin[..., arm.hub, :] + arm.beam.reach * _chord_axes(arm, q)[0]


def _chord_axes(arm: FlexibleArm, q: Array) -> tuple[Array, Array]:
    e1 = pose(arm.rigid, q).R[..., arm.hub, :, 0]
    return e1, np.cross(arm.normal, e1)


def _hub_motion(arm: FlexibleArm, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
    """Return the acceleration of the flexible link's joint minus gravity, along and across the chord (T, 2), and the
    chord's angular velocity and acceleration (T,)."""
    a, w, turn = hub_acceleration(arm, q, qd, qdd)
    e1, e2 = _chord_axes(arm, q)
    return np.stack([np.sum(a * e1, 1), np.sum(a * e2, 1)], 1), w, turn


def hub_acceleration(arm: FlexibleArm, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array]:
    """Return the acceleration of the flexible link's joint minus gravity (T, 3), and the link's angular velocity and
    acceleration (T,)."""
    origin = pose(arm.rigid, q).origin
    w, turn = np.cumsum(qd * arm.signs, axis=1), np.cumsum(qdd * arm.signs, axis=1)
    a = np.broadcast_to(-arm.rigid.gravity, (len(q), 3)).copy()
    for j in range(arm.hub):
        d = origin[:, j + 1] - origin[:, j]
        d = d - np.outer(d @ arm.normal, arm.normal)
        a += turn[:, j, None] * np.cross(arm.normal, d) - w[:, j, None] ** 2 * d
    return a, w[:, -1], turn[:, -1]


@dataclass(frozen=True)
class _Rest:
    """A motion at rest, from its first point."""

    motion: Timed
    duration: float

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        t = np.asarray(t, float)
        q, qd, qdd = self.motion.at(np.clip(t, 0.0, self.duration))
        outside = ((t < 0.0) | (t > self.duration))[:, None]
        return q, np.where(outside, 0.0, qd), np.where(outside, 0.0, qdd)


# ---- the arm of a file -----------------------------------------------------------------------------


def _hub(mechanism: Mechanism, model: Model) -> tuple[int, str]:
    """Return the number of the joint that carries the flexible link, and the link's name."""
    flexible = [link.name for link in mechanism.links if link.beam is not None]
    if len(flexible) != 1:
        raise _wrong(mechanism, "link", f"a tip motion needs one flexible link (beam = ...); there are {len(flexible)}")
    body = placed_links(mechanism)[flexible[0]][0]
    if body < 0 or model.bodies[body].joint.child != flexible[0]:
        raise _wrong(mechanism, f"link.{flexible[0]}", "must hang directly on a joint that moves")
    return body, flexible[0]


def _end(mechanism: Mechanism, model: Model, hub: int, name: str, point: float | None) -> End:
    """Return the end part of the flexible link. The part is fixed to the link or hangs on a passive spring."""
    link = mechanism.link(name)
    beam = link.beam
    assert isinstance(beam, Beam)
    body = model.bodies[hub]
    outer = model.bodies[hub + 1 :]
    mass = body.mass - link.mass
    if outer:
        joint = outer[0].joint
        if len(outer) > 1 or joint.actuated or joint.stiffness <= 0.0 or joint.rest != 0.0 or mass > 0.0:
            raise _wrong(mechanism, f"joint.{joint.name}",
                         f"beyond {name} there may be one joint with actuated = false, a stiffness and rest = 0")
        at = outer[0].p0 - [beam.length, 0.0, 0.0]
        turned = outer[0].R0 - np.eye(3)
        if np.abs(at).max() > ON_LINE * beam.length or np.abs(turned).max() > ON_LINE or abs(outer[0].com[1]) > ON_LINE:
            raise _wrong(mechanism, f"joint.{joint.name}.xyz", f"must be the end of {name}, its link along the beam")
        com, inertia = outer[0].com[0], outer[0].inertia[2, 2]
        return End(outer[0].mass, com, inertia, 2.0 * com if point is None else point, joint.stiffness)
    if mass <= 0.0:
        return End(point=point or 0.0)
    first = body.mass * body.com - link.mass * link.com
    com = first / mass
    d_link, d_end = link.com - body.com, com - body.com
    about_own = (body.inertia[2, 2] - link.inertia[2, 2] - link.mass * (d_link[0] ** 2 + d_link[1] ** 2)
                 - mass * (d_end[0] ** 2 + d_end[1] ** 2))
    if abs(com[1]) > ON_LINE * beam.length or com[0] < beam.length * (1.0 - ON_LINE):
        raise _wrong(mechanism, f"link.{name}.beam", "what the flexible link carries must sit at its end, on its axis")
    return End(mass, com[0] - beam.length, max(about_own, 0.0), point or 0.0)


def _wrong(mechanism: Mechanism, key: str, rule: str) -> BadInput:
    return BadInput(str(mechanism.source or mechanism.name), key, None, rule)
