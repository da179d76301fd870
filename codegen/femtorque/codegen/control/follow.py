"""Limits of FOLLOW, for ft_config: one row per joint, and the timeouts.

The acceleration limits can be reached at every sampled pose. At the limits, all joints can accelerate at the same time,
against weight, friction, centrifugal and Coriolis torques. With these limits no joint exceeds the torque that its motor
has at the largest velocity. A velocity limit is at most the file's limit, and at most OF_NO_LOAD times the motor's
no-load speed. The effort that remains after weight and dry friction is available for motion. At most TURNING of this
remainder goes to centrifugal and Coriolis torques, viscous friction and the motor's loss of torque at speed. In
mechanisms with closed loops or mimic joints, the limits ignore centrifugal and Coriolis torques. Near singular poses
these torques would reduce the velocity limit to zero. The acceleration rises from zero to its limit in BUILD_UP."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from femtorque.codegen.common import Array, remembered
from femtorque.codegen.control.gains import three_digits
from femtorque.codegen.control.gravity_load import each_mode, torques_at_rest, weight_at_poses
from femtorque.codegen.control.motors import Motors
from femtorque.codegen.control.table import INT64, REAL, member
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.model import DrivenFriction, Model, assemble
from femtorque.codegen.reference import newton_euler
from femtorque.codegen.wire import position_unit

RISE = 0.05  # minimum time from rest to full velocity, s
BUILD_UP = 0.05  # time to full acceleration if the file gives no jerk limit, s
SPARE = 0.02  # minimum fraction of a joint's effort that remains for acceleration
TURNING = 0.5  # fraction for velocity; the base is the effort that remains after weight and friction
OF_NO_LOAD = 0.8  # fraction of the no-load speed; the margin allows for a low supply voltage
GIVES_WAY = 0.98  # factor by which the search lowers a joint's speed in each step
MANY = 40  # maximum number of driven joints; the search over all triples of more joints would take minutes
AT_ONCE = 100_000  # positions per call; with this number the arrays fit the processor's caches
INSIDE = 1e-5  # margin for rounding: rad or m inside the position limits, and a fraction of each motion limit
BOUNDLESS = 2**62  # wire steps

# Within a tick the jerk may change. Compared with a constant jerk, this change adds at most J dt^2/4 to v and 0.1283 J
# dt^3 to p. The factors are integrals of the absolute weights. Rounding adds more.
UNEVEN_V, UNEVEN_P = 0.25, 0.1283
ROUNDED = 2.0**-21  # tolerance relative to the limits of velocity and acceleration
ROUNDED_P = 6e-8  # rounding error of segment time, displacements and position steps, rad or m


@dataclass(frozen=True)
class Limits:
    """Limits of a joint in FOLLOW: velocity (rad/s or m/s) and its first two derivatives."""

    velocity: float
    acceleration: float
    jerk: float


@dataclass(frozen=True)
class FollowConstants:
    """The row of one joint in ft_follow_joint."""

    velocity: float = member(REAL, "rad/s, m/s")
    acceleration: float = member(REAL, "rad/s^2, m/s^2")
    jerk: float = member(REAL, "rad/s^3, m/s^3")
    per_jerk: float = member(REAL, "1 / jerk")
    per_acceleration: float = member(REAL, "1 / acceleration")
    build_up: float = member(REAL, "s to full acceleration and back to zero")
    near_a: float = member(REAL, "change of a in a tick by jerk and rounding")
    near_v: float = member(REAL, "change of v in a tick by uneven jerk")
    near_p: float = member(REAL, "change of p in a tick by uneven jerk")
    unit: float = member(REAL, "rad or m per wire step")
    per_unit: float = member(REAL, "wire steps per rad or m")
    lower: int = member(INT64, "least wire position")
    upper: int = member(INT64, "largest wire position")


def unfollowed(mechanism: Mechanism) -> str:
    """Return the reason why a mechanism cannot follow live targets; '' if FOLLOW is possible."""
    if mechanism.flexible:
        return "its flexible links would need a motion that is known beforehand"
    if len(mechanism.streamed) > MANY:
        return f"more than {MANY} of its joints are driven: limits for all of their motions would take minutes to find"
    if any(assemble(Model.of(one)).redundant for _, one in each_mode(mechanism)):
        return "more of its joints are driven than can move freely: each would go on alone"
    return ""


def follow_rows(mechanism: Mechanism, speeds: Sequence[float]) -> list[FollowConstants]:
    """Return the rows of all streamed joints. speeds: velocity limit of each joint."""
    limits = follow_limits(mechanism, tuple(speeds))
    dt = 1.0 / mechanism.control.rate_hz
    return [follow_row(joint, limit, dt) for joint, limit in zip(mechanism.streamed, limits, strict=True)]


def follow_row(joint: Joint, limits: Limits, dt: float) -> FollowConstants:
    """Return one joint's row for these limits. dt: duration of a tick, s."""
    v, a = (x * (1.0 - INSIDE) for x in (limits.velocity, limits.acceleration))
    near_a = limits.jerk * dt * (1.0 - INSIDE)
    j = max(near_a - ROUNDED * a, 0.5 * near_a) / dt
    lower, upper = _range(joint)
    return FollowConstants(
        velocity=v, acceleration=a, jerk=j, per_jerk=1.0 / j, per_acceleration=1.0 / a, build_up=2.0 * a / j,
        near_a=near_a,
        near_v=UNEVEN_V * j * dt**2 + ROUNDED * v,
        near_p=UNEVEN_P * j * dt**3 + ROUNDED_P,
        unit=position_unit(joint), per_unit=1.0 / position_unit(joint),
        lower=lower, upper=upper)


def _range(joint: Joint) -> tuple[int, int]:
    """Return the joint's range, wire steps."""
    ends = []
    for limit, way in ((joint.limits.lower, 1.0), (joint.limits.upper, -1.0)):
        endless = joint.type == "continuous" or not np.isfinite(limit)
        steps = -way * BOUNDLESS if endless else (limit + way * INSIDE) / position_unit(joint)
        ends.append(round(min(max(steps, -BOUNDLESS), BOUNDLESS)))
    lower, upper = ends
    return (lower, upper) if lower <= upper else ((lower + upper) // 2,) * 2


@remembered
def follow_limits(mechanism: Mechanism, speeds: tuple[float, ...]) -> tuple[Limits, ...]:
    """Return velocity, acceleration and jerk limits of each streamed joint that suit every pose of every mode."""
    joints, motors = mechanism.streamed, Motors.of(mechanism)
    top = np.minimum(speeds, OF_NO_LOAD * motors.no_load)
    base = np.minimum([j.limits.acceleration for j in joints], top / RISE)
    if not mechanism.flexible and len(joints) <= MANY:
        asked = [_asked(mechanism, one) for _, one in each_mode(mechanism)]
        top = _speeds(asked, top)
        base = _accelerations(asked, base, top)
    return tuple(
        Limits(three_digits(v) if v < speed else speed, three_digits(a), three_digits(min(j.limits.jerk, a / BUILD_UP)))
        for j, speed, v, a in zip(joints, speeds, top.tolist(), base.tolist(), strict=True))


@dataclass(frozen=True)
class _Asked:
    """Torques that a motion in one mode needs at each streamed joint, N m or N, with load-dependent friction. turning
    (P, J, J, J): largest torque per product of two joints' velocities; each pair of joints has one entry."""

    motors: Motors  # the available torques
    rest: Array  # (P, J): weight and dry friction
    viscous: Array  # (J,): friction at a velocity of 1
    turning: Array
    moves: Array  # (P, J, J): torque per acceleration of each joint

    def shares(self, speeds: Array) -> Array:
        """Return the largest torque (P, J, J) of these speeds at each joint, divided among the joints that move."""
        pairs = self.turning * speeds[:, None] * speeds
        own = self.viscous * speeds + self.motors.lost(speeds)
        return 0.5 * np.asarray(pairs.sum(axis=-1) + pairs.sum(axis=-2)) + np.diag(own)

    def left(self) -> Array:
        """Return the effort (P, J) that remains after weight and friction."""
        return np.maximum(self.motors.effort - self.rest, SPARE * self.motors.effort)

    def room(self, speeds: Array) -> Array:
        """Return the effort (P, J) that remains for acceleration at these speeds. speeds: the result of _speeds."""
        return self.left() - self.shares(speeds).sum(axis=-1)


def _speeds(asked: Sequence[_Asked], speeds: Array) -> Array:
    """Return speeds (J,), at most `speeds`. The torques that these speeds cause take at most TURNING of the effort that
    remains after weight and friction. In each step the search finds the joint and pose with the largest excess. The
    search then slows the joint that causes the largest fraction of this excess."""
    found = speeds.copy()
    for one in asked:
        room = TURNING * one.left()
        while True:
            shares = one.shares(found)
            excess = shares.sum(axis=-1) / room
            worst = np.unravel_index(np.argmax(excess), excess.shape)
            if excess[worst] <= 1.0:
                break
            found[np.argmax(shares[worst])] *= GIVES_WAY
    return found


def _accelerations(asked: Sequence[_Asked], base: Array, speeds: Array) -> Array:
    """Return accelerations (J,), at most `base`, for which the torques of all joints suffice.

    The first step limits each joint as if it moved alone. One factor then scales all joints together."""
    alone = base.copy()
    for one in asked:
        own = np.diagonal(one.moves, axis1=-2, axis2=-1)
        with np.errstate(divide="ignore"):
            alone = np.minimum(alone, np.min(np.where(own > 0.0, one.room(speeds) / own, np.inf), axis=0))
    share = 1.0
    for one in asked:
        room, together = one.room(speeds), np.sum(one.moves * alone, axis=-1)
        share = min(share, float(np.min(room[together > 0.0] / together[together > 0.0], initial=1.0)))
    return alone * share


def _asked(mechanism: Mechanism, in_mode: Mechanism) -> _Asked:
    model = Model.of(in_mode)
    assembly, (poses, weight) = assemble(model), weight_at_poses(model)
    still = np.zeros_like(poses)
    places = {body.joint.name: i for i, body in enumerate(model.bodies)}
    streamed = [places.get(joint.name) for joint in mechanism.streamed]
    rotors, friction = np.array([body.joint.rotor for body in model.bodies]), DrivenFriction.of(mechanism.streamed)
    rest, moves = np.zeros((len(poses), len(streamed))), np.zeros((len(poses), len(streamed), len(streamed)))
    for k, moved in enumerate(streamed):
        if moved is None:
            continue
        rest[:, k] = np.abs(weight[:, moved])
        if moved not in assembly.independent:
            continue
        unit = np.zeros((len(poses), len(assembly.independent)))
        unit[:, assembly.independent.index(moved)] = 1.0
        qdd = assembly.accelerations(poses, still, unit)
        added = torques_at_rest(model, poses, qdd) - weight
        for j, other in enumerate(streamed):
            if other is not None:
                of_links = np.abs(added[:, other]) * (1.0 + friction.load[j])
                moves[:, j, k] = of_links + rotors[other] * np.abs(qdd[:, other])
    turning = np.zeros((*rest.shape, len(streamed), len(streamed)))
    if not assembly.dependent:
        own = [(k, place) for k, place in enumerate(streamed) if place is not None]
        _turn(turning, model, poses, weight, own)
    return _Asked(Motors.of(mechanism), rest + friction.at_rest(rest), friction.viscous,
                  turning * (1.0 + friction.load[:, None, None]), moves)


def _turn(turning: Array, model: Model, poses: Array, weight: Array, moving: Sequence[tuple[int, int]]) -> None:
    """Fill in `turning` for a mechanism without closed loops. moving: (streamed joint, body).

    The centrifugal and Coriolis torque of a joint is a quadratic form of the velocities. The sum of the magnitudes of
    the form's coefficients is an upper bound of this torque for all signs of the velocities."""
    rows, bodies = [k for k, _ in moving], [body for _, body in moving]

    def torques(sets: Sequence[tuple[int, ...]]) -> Array:
        """Return torques (sets, P, J). The bodies of a set turn at a velocity of 1; all other bodies are at rest."""
        v = np.zeros((len(sets), *poses.shape))
        for row, turned in zip(v, sets, strict=True):
            row[:, list(turned)] = 1.0
        tau = newton_euler(model, np.broadcast_to(poses, v.shape), v, np.zeros_like(v))
        return (tau - weight)[..., bodies]

    alone = dict(zip(rows, torques([(body,) for body in bodies]), strict=True)) if moving else {}
    for k in rows:
        turning[:, rows, k, k] = np.abs(alone[k])
    pairs = list(combinations(moving, 2))
    at_once = max(1, AT_ONCE // poses.size)
    for some in (pairs[first:first + at_once] for first in range(0, len(pairs), at_once)):
        together = torques([(one, other) for (_, one), (_, other) in some])
        for ((i, _), (j, _)), both in zip(some, together, strict=True):
            turning[:, rows, i, j] = np.abs(both - alone[i] - alone[j])
