"""Limits of what FOLLOW does of itself, for ft_config: a row per joint, and times.

Velocity is the joint's limit. Acceleration is the largest that every sampled pose allows: what all joints accelerating
together need of a joint, on top of its weight and friction, is no more than its effort. Coriolis torques are
left out. The jerk builds it up in BUILD_UP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common.memo import remembered
from femtorque.codegen.control.gains import sample_poses, three_digits
from femtorque.codegen.control.table import INT64, REAL, member
from femtorque.codegen.mechanism.description import Joint, Mechanism
from femtorque.codegen.model.bodies import Model
from femtorque.codegen.model.loop_assembly import Assembly, assemble
from femtorque.codegen.model.modes import has_modes, in_mode
from femtorque.codegen.reference.rigid import newton_euler
from femtorque.codegen.wire.units import position_unit

Array = NDArray[np.float64]

RISE = 0.05  # s to full velocity at least, where the motor could do it faster
BUILD_UP = 0.05  # s to full acceleration where the file limits no jerk
SPARE = 0.05  # of its effort is left to a joint to accelerate with where its weight takes more
LOOP_POSES = 8  # of closed loops, whose torques are found one by one
INSIDE = 1e-5  # rad or m within limits of position; of the others this share: what rounding adds stays inside
BOUNDLESS = 2**62  # wire steps

# An uneven jerk within its bound adds over a tick to the effect of an even one: J dt^2/4 to v, 0.1283 J dt^3 to p (the
# integrals of what they weight the jerk with, without sign); and what rounding adds.
UNEVEN_V, UNEVEN_P = 0.25, 0.1283
ROUNDED = 2.0**-21  # of limits of velocity and acceleration
ROUNDED_P = 6e-8  # rad or m: of the time in a segment, of displacements and of position steps


@dataclass(frozen=True)
class Limits:
    """Limits of a joint in FOLLOW: velocity (rad/s or m/s) and its first two derivatives."""

    velocity: float
    acceleration: float
    jerk: float


@dataclass(frozen=True)
class FollowConstants:
    """One joint's row of ft_follow_joint."""

    velocity: float = member(REAL, "rad/s, m/s: no more")
    acceleration: float = member(REAL, "rad/s^2, m/s^2")
    jerk: float = member(REAL, "rad/s^3, m/s^3")
    per_jerk: float = member(REAL, "1 / jerk")
    per_acceleration: float = member(REAL, "1 / acceleration")
    build_up: float = member(REAL, "s to full acceleration and back to none")
    near_a: float = member(REAL, "of a, in a tick: with what rounding adds, the jerk's")
    near_v: float = member(REAL, "what uneven jerk adds to v in a tick")
    near_p: float = member(REAL, "to p")
    unit: float = member(REAL, "rad or m per wire step")
    per_unit: float = member(REAL, "wire steps per rad or m")
    lower: int = member(INT64, "wire position, no less")
    upper: int = member(INT64, "no more")


def unfollowed(mechanism: Mechanism) -> str:
    """Why a mechanism cannot follow targets that are sent live; '' if it can."""
    if mechanism.flexible:
        return "its flexible links would need a motion that is known beforehand"
    if mechanism.control.trig == "knot":
        return "its sines and cosines are made exact at knots alone, and targets have no knots (control.trig)"
    modes = [mode.name for mode in mechanism.modes] if has_modes(mechanism) else [""]
    for mode in modes:
        if assemble(Model.of(in_mode(mechanism, mode) if mode else in_mode(mechanism))).redundant:
            return "more of its joints are driven than can move freely: each would go on alone"
    return ""


def follow_rows(mechanism: Mechanism, speeds: Sequence[float], efforts: Sequence[float]) -> list[FollowConstants]:
    """The rows of all streamed joints. speeds, efforts: the most that each may have."""
    limits = follow_limits(mechanism, tuple(speeds), tuple(efforts))
    dt = 1.0 / mechanism.control.rate_hz
    return [_row(joint, limit, dt) for joint, limit in zip(mechanism.streamed, limits, strict=True)]


def _row(joint: Joint, limits: Limits, dt: float) -> FollowConstants:
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
    """The range of the joint, wire steps."""
    ends = []
    for limit, way in ((joint.limits.lower, 1.0), (joint.limits.upper, -1.0)):
        endless = joint.type == "continuous" or not np.isfinite(limit)
        steps = -way * BOUNDLESS if endless else (limit + way * INSIDE) / position_unit(joint)
        ends.append(round(min(max(steps, -BOUNDLESS), BOUNDLESS)))
    lower, upper = ends
    return (lower, upper) if lower <= upper else ((lower + upper) // 2,) * 2


@remembered
def follow_limits(mechanism: Mechanism, speeds: tuple[float, ...], efforts: tuple[float, ...]) -> tuple[Limits, ...]:
    """Velocity, acceleration and jerk of each streamed joint, all that every pose of every mode allows."""
    joints = mechanism.streamed
    base = [min(j.limits.acceleration, speed / RISE) for j, speed in zip(joints, speeds, strict=True)]
    accelerations = np.array(base) if mechanism.flexible else _allowed(mechanism, np.array(base), np.array(efforts))
    return tuple(
        Limits(speed, three_digits(a), three_digits(min(j.limits.jerk, a / BUILD_UP)))
        for j, speed, a in zip(joints, speeds, accelerations.tolist(), strict=True))


def _allowed(mechanism: Mechanism, base: Array, efforts: Array) -> Array:
    """Accelerations (J,) of at most `base`: each first what its joint can alone, then all what they can together."""
    asked = [_asked(mechanism, mode) for mode in
             ([m.name for m in mechanism.modes] if has_modes(mechanism) else [""])]
    alone = base.copy()
    for bias, moves in asked:
        room = np.maximum(efforts - bias, SPARE * efforts)
        own = np.abs(np.diagonal(moves, axis1=-2, axis2=-1))
        with np.errstate(divide="ignore"):
            alone = np.minimum(alone, np.min(np.where(own > 0.0, room / own, np.inf), axis=0))
    share = 1.0
    for bias, moves in asked:
        room = np.maximum(efforts - bias, SPARE * efforts)
        together = np.sum(np.abs(moves) * alone, axis=-1)
        share = min(share, float(np.min(room[together > 0.0] / together[together > 0.0], initial=1.0)))
    return alone * share


def _asked(mechanism: Mechanism, mode: str) -> tuple[Array, Array]:
    """The most that weight and friction ask of each streamed joint at each pose (P, J), N m or N, and the torques that
    an acceleration of 1 of each streamed joint adds (P, J, J)."""
    model = Model.of(in_mode(mechanism, mode) if mode else in_mode(mechanism))
    assembly = assemble(model)
    poses = sample_poses(model)[:LOOP_POSES if assembly.dependent else None]
    still = np.zeros_like(poses)
    weight = _torques(model, assembly, poses, still)
    places = {body.joint.name: i for i, body in enumerate(model.bodies)}
    streamed = [places.get(joint.name) for joint in mechanism.streamed]
    rotors = np.array([body.joint.rotor for body in model.bodies])
    bias, moves = np.zeros((len(poses), len(streamed))), np.zeros((len(poses), len(streamed), len(streamed)))
    for k, moved in enumerate(streamed):
        if moved is None:
            continue
        bias[:, k] = np.abs(weight[:, moved]) + mechanism.streamed[k].friction.coulomb
        if moved not in assembly.independent:
            continue
        unit = np.zeros((len(poses), len(assembly.independent)))
        unit[:, assembly.independent.index(moved)] = 1.0
        qdd = assembly.accelerations(poses, still, unit)
        added = _torques(model, assembly, poses, qdd) - weight + rotors * qdd
        for j, other in enumerate(streamed):
            if other is not None:
                moves[:, j, k] = added[:, other]
    return bias, moves


def _torques(model: Model, assembly: Assembly, q: Array, qdd: Array) -> Array:
    """(P, n) at rest."""
    tau = newton_euler(model, q, np.zeros_like(q), qdd)
    if not assembly.dependent:
        return tau
    return np.array([assembly.allocate(at, t) for at, t in zip(q, tau, strict=True)])

