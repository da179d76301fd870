"""Corrects a flexible tip's motion for the errors of the small-deflection model (femtorque.host.plan.chord_beam). This
model gives the plan. A simulation of the geometrically exact chain (femtorque.host.plan.exact_link) tests the plan.

The simulated chain shows the tip error that the linear inverse (femtorque.host.plan.tip_torques) leaves. The chord's
motion is then changed by this error in several rounds. Each round leaves about a hundredth of the error. Before and
after the path, the wanted tip motion extrapolates the tip's error. If the tip's motion is a vibration of the link with
its root at rest, the inverse leaves the root at rest. So the correction of the joint's motion decays before and after
the path like the linear inverse's motion."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from femtorque.codegen.common import Array
from femtorque.codegen.model import Timed, pose
from femtorque.host.plan.exact_link import Chain, Swung, swung
from femtorque.host.plan.tip_torques import FlexibleArm, TipMotion, hub_acceleration, taken, tip_motion

SEGMENTS, FINER = 24, 48  # number of segments of the chain for the correction, and of the chain for the final residual
NOTHING = 2e-6  # error below which nothing is corrected, rad
ROUNDS = 3  # number of rounds; for a slew of 60 degrees the errors after each round are 5 mrad, 60 urad and 2 urad
WORSE = 0.5  # fraction of the error: if a round leaves more, the iteration ends
MARGIN = 0.1  # time beyond pre- and post-actuation, for the solution's end effects, s
AFTER = 0.6  # time of simulation after the motion, to observe the remaining swing, s


@dataclass(frozen=True)
class Exact:
    """Corrected motion and its errors. off: maximum distance of the tip from the path. All swings and distances are in
    m and come from the finer chain."""

    motion: TipMotion  # corrected motion, with the torques of the geometrically exact chain
    left: float  # peak-to-peak swing of the tip after the motion
    linear: float  # this swing without the correction
    off: float


@dataclass(frozen=True)
class More:
    """The chord's motion plus a correction of the last joint."""

    chord: Timed
    start: float
    duration: float
    added: Array  # (T,): correction, rad, every dt s from `start` on
    dt: float

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        t = np.asarray(t, float) + self.start
        q, qd, qdd = (x.copy() for x in self.chord.at(np.clip(t, 0.0, self.duration)))
        outside = (t < 0.0) | (t > self.duration)
        qd[outside] = qdd[outside] = 0.0
        spline = make_interp_spline(self.start + np.arange(len(self.added)) * self.dt, self.added, k=5)
        for field, order in ((q, 0), (qd, 1), (qdd, 2)):
            field[:, -1] += spline(t, order)
        return q, qd, qdd


def corrected(arm: FlexibleArm, chord: Timed, duration: float, dt: float, lead: tuple[float, float],
              anchored: bool = False) -> Exact:
    """Return the motion of tip_motion with free ends, corrected for the geometrically exact chain. anchored: the joints
    begin as in the uncorrected plan, although the chain sags more. Raises the same Refused as tip_motion. Also raises
    Refused if the link folds."""
    m = round(MARGIN / dt)
    before, after = (round(s / dt) for s in lead)
    T = before + round(duration / dt) + after + 2 * m
    start, t = -(before + m) * dt, np.arange(T + 1, dtype=float) * dt
    added, best, sagged = np.zeros(T + 1), None, 0.0
    for _ in range(ROUNDS):
        whole = tip_motion(arm, More(chord, start, duration, added, dt), T * dt, dt)
        motion = _cut(whole, m, before * dt)
        asked = _angle(arm, chord.at(np.clip(t[m:] + start, 0.0, duration))[0])
        error = _apart(asked, _swing(arm, motion, SEGMENTS, m, dt))
        sagged = error[0] if anchored and best is None else sagged
        error = error - sagged
        size = float(np.abs(error).max())
        if best is not None and size > WORSE * best[0]:
            break
        best = size, motion, best[2] if best else motion
        if size < NOTHING:
            break
        added = added + arm.signs[-1] * np.concatenate([np.full(m, error[0]), error])
    assert best is not None
    rest = round(AFTER / dt)
    done, linear = (_swing(arm, motion, FINER, rest, dt) for motion in best[1:])
    motion, count = best[1], len(best[1].times)
    force = done.force[:count, :1] * _axes(arm)[0] + done.force[:count, 1:] * _axes(arm)[1]
    torque = taken(arm, motion.q, motion.qd, motion.qdd, done.moment[:count], force)
    asked = _angle(arm, chord.at(np.clip(t[m:m + count] + start, 0.0, duration))[0])
    wanted = arm.beam.reach * np.stack([np.cos(asked), np.sin(asked)], axis=1)
    off = float(np.linalg.norm(done.tip[:count] - wanted, axis=1).max())
    return Exact(replace(motion, torque=torque), _left(done, count), _left(linear, count), off)


def _cut(motion: TipMotion, m: int, path_start: float) -> TipMotion:
    """Remove the margins, and set velocity and acceleration at both ends to 0."""
    rows = slice(m, len(motion.times) - m)
    q, qd, qdd = (field[rows].copy() for field in (motion.q, motion.qd, motion.qdd))
    qd[[0, -1]] = qdd[[0, -1]] = 0.0  # by then all oscillation has decayed
    return replace(motion, times=motion.times[rows] - motion.times[m], path_start=path_start, q=q, qd=qd, qdd=qdd,
                   torque=motion.torque[rows], W=motion.W[rows])


def _swing(arm: FlexibleArm, motion: TipMotion, segments: int, after: int, dt: float) -> Swung:
    """Simulate the geometrically exact chain during a motion of the joints and some steps at rest afterwards."""
    q = np.concatenate([motion.q, np.repeat(motion.q[-1:], after, axis=0)])
    qd, qdd = (np.concatenate([field, np.zeros((after, field.shape[1]))]) for field in (motion.qd, motion.qdd))
    a, rate, turn = hub_acceleration(arm, q, qd, qdd)
    flat = np.stack([a @ axis for axis in _axes(arm)], axis=1)
    return swung(Chain.of(arm.mass, arm.bar, arm.end, segments), (_angle(arm, q), rate, turn), flat, dt)


def _axes(arm: FlexibleArm) -> tuple[Array, Array]:
    """Return two unit vectors along and across the flexible link, with all joints at 0."""
    along = pose(arm.rigid, np.zeros(len(arm.signs))).R[arm.hub, :, 0]
    return along, np.cross(arm.normal, along)


def _angle(arm: FlexibleArm, q: Array) -> Array:
    """Return the angle (T,) of the link, rad; 0 if all joints are at 0."""
    return q @ arm.signs


def _apart(asked: Array, done: Swung) -> Array:
    """Return the error (T,) of the direction from the joint to the tip, rad. The first error is between -pi and pi."""
    apart = asked - np.unwrap(np.arctan2(done.tip[:, 1], done.tip[:, 0]))
    return apart - 2.0 * np.pi * np.round(apart[0] / (2.0 * np.pi))


def _left(done: Swung, count: int) -> float:
    return float(np.hypot(*np.ptp(done.tip[count:], axis=0)))
