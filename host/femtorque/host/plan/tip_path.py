"""Computes the motion of the chords from a tip's path, for planar arms with one or two driven joints. The motion
consists of positions, velocities and accelerations. The kinematics are rigid (Tsujita et al., Eqs 13-14). Newton's
method solves the samples in order, so that the elbow stays on the side of the start pose."""

import numpy as np

from femtorque.codegen.common import Array, Refused
from femtorque.codegen.model import Timed, pose
from femtorque.codegen.motion import Trajectory
from femtorque.host.plan.tip_torques import FlexibleArm, tip

CLOSE = 1e-10  # fraction of the reach: tolerance for the distance of the tip from its path
OFF_PATH = 1e-6  # fraction of the reach: allowed distance from the arc of a single joint, or from the arm's plane
ROUNDS = 30
# number of samples that are solved in sequence; their solutions are the first guesses for the samples between them
COARSE = 65
# sine of the elbow's angle; for smaller values the arm is stretched and the joint velocities are undefined
STRAIGHT = 1e-3


def chord_motion(arm: FlexibleArm, path: Timed, duration: float, dt: float, start: Array) -> Trajectory:
    """Return the chords' motion, sampled every dt s, for the tip path path.at(t) (..., 3), m, base frame. start (J,): a
    pose near the first point, rad, which selects the elbow's side. Raises Refused, with time and distance, if the path
    leaves the reach."""
    t = np.arange(int(round(duration / dt)) + 1, dtype=float) * dt
    x, xd, xdd = path.at(t)
    _check_reach(arm, t, x, start)
    coarse = np.unique(np.linspace(0, len(t) - 1, COARSE).astype(int))
    poses_there = []
    at = np.asarray(start, float)[None]
    for k in coarse:
        at = _solve(arm, x[k : k + 1], at, t[k : k + 1])
        poses_there.append(at[0])
    guess = np.stack([np.interp(t, t[coarse], column) for column in np.array(poses_there).T], axis=1)
    q = _solve(arm, x, guess, t)
    J, links = _jacobian(arm, q)
    if arm.hub == 1:
        lean = np.linalg.svd(J, compute_uv=False)[:, -1]
        if lean.min() < STRAIGHT * arm.beam.reach:
            raise Refused(f"path: at t = {t[np.argmin(lean)]:.3f} s the arm is stretched or folded: its joints' rates "
                          "are not determined")
    inverse = np.linalg.pinv(J)
    qd = np.einsum("tjk,tk->tj", inverse, _plane(arm, xd))
    w = np.cumsum(qd * arm.signs, axis=1)
    inward = np.einsum("tj,tjk->tk", w**2, links)
    qdd = np.einsum("tjk,tk->tj", inverse, _plane(arm, xdd + inward))
    return Trajectory(arm.names, t, q, qd, qdd)


def _plane(arm: FlexibleArm, v: Array) -> Array:
    """Return components (..., 2) in the arm's plane."""
    return v @ _axes(arm).T


def _axes(arm: FlexibleArm) -> Array:
    """Return two unit vectors (2, 3) perpendicular to the joints' axes, base frame."""
    first = np.eye(3)[np.argmin(np.abs(arm.normal))]
    first = first - (first @ arm.normal) * arm.normal
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(arm.normal, first)])


def _jacobian(arm: FlexibleArm, q: Array) -> tuple[Array, Array]:
    """Return the tip's Jacobian in the plane (T, 2, J), and the vectors (T, J, 3) from each joint to the next joint or
    to the tip."""
    end = tip(arm, q)
    origins = np.concatenate([pose(arm.rigid, q).origin[:, :arm.hub + 1], end[:, None]], axis=1)
    columns = [_plane(arm, arm.signs[j] * np.cross(arm.normal, end - origins[:, j])) for j in range(arm.hub + 1)]
    return np.stack(columns, axis=2), np.diff(origins, axis=1)


def _solve(arm: FlexibleArm, x: Array, near: Array, t: Array) -> Array:
    """Return poses (T, J) that put the tip at x (T, 3). near: first guesses of the poses."""
    q, reach = near.copy(), arm.beam.reach
    for _ in range(ROUNDS):
        miss = _plane(arm, x - tip(arm, q))
        if np.abs(miss).max() < CLOSE * reach:
            return q
        step = np.einsum("tjk,tk->tj", np.linalg.pinv(_jacobian(arm, q)[0]), miss)
        q = q + step * np.minimum(1.0, 0.5 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-9))
    off = np.linalg.norm(_plane(arm, x - tip(arm, q)), axis=1)
    if off.max() < OFF_PATH * reach:
        return q
    raise Refused(f"path: at t = {t[np.argmax(off)]:.3f} s the tip does not get to it from the pose before")


def _check_reach(arm: FlexibleArm, t: Array, x: Array, start: Array) -> None:
    """Raise Refused if a path leaves the arm's plane, or is too near or too far for the links' lengths."""
    if arm.hub > 1:
        raise Refused("path: a tip in the plane determines two joints; give the path in joints for an arm of more")
    origin = pose(arm.rigid, start).origin
    axes, lengths = _axes(arm), [arm.beam.reach]
    if arm.hub == 1:
        lengths.append(float(np.linalg.norm(axes @ (origin[1] - origin[0]))))
    off = np.abs((x - tip(arm, start)) @ arm.normal).max()
    if off > OFF_PATH * arm.beam.reach:
        raise Refused(f"path: leaves the plane of the arm by {off:.4g} m")
    away = np.linalg.norm((x - origin[0]) @ axes.T, axis=1)
    far, near = sum(lengths), abs(lengths[0] - lengths[-1]) if arm.hub == 1 else arm.beam.reach
    slack = OFF_PATH * arm.beam.reach
    for k in (int(np.argmax(away)), int(np.argmin(away))):
        if not near - slack <= away[k] <= far + slack:
            raise Refused(f"path: at t = {t[k]:.3f} s it is {away[k]:.3f} m from {arm.names[0]}, and the arm reaches "
                          + (f"from {near:.3f} to {far:.3f} m" if near < far else f"{far:.3f} m"))
