"""From a path of the tip of a planar arm with one or two driven joints to positions, rates and accelerations of its
chords: rigid kinematics (Tsujita et al., Eqs 13-14), Newton from sample to sample so that the elbow stays on its side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from codegen.discretisation import poses
from codegen.errors import Refused
from codegen.reference import Motion
from codegen.trajectory import Trajectory
from host.tip_motion import FlexibleArm, tip

Array = NDArray[np.float64]

CLOSE = 1e-10  # of the reach: a tip this near its path is on it
OFF_PATH = 1e-6  # of the reach: a path this far from what one joint, or the arm's plane, can follow is refused
ROUNDS = 30
STRAIGHT = 1e-3  # sine of the elbow's angle below which rates of the joints are not determined any more


def chord_motion(arm: FlexibleArm, path: Motion, duration: float, dt: float, start: Array) -> Trajectory:
    """Chord positions with the tip at path.at(t) (..., 3), m, global, sampled every dt s. start (J,): pose from which
    the beginning is looked for, rad; it decides the side of the elbow. Raises Refused, with the instant and the
    distance, where the path leaves what the arm reaches."""
    t = np.arange(int(round(duration / dt)) + 1) * dt
    x, xd, xdd = path.at(t)
    _check_reach(arm, t, x, start)
    q, qd, qdd = (np.zeros((len(t), arm.hub + 1)) for _ in range(3))
    at = np.asarray(start, float)
    for k in range(len(t)):
        at = _solve(arm, x[k], at, t[k])
        q[k] = at
        J, arms = _jacobian(arm, at)
        if arm.hub == 1 and np.linalg.svd(J, compute_uv=False)[-1] < STRAIGHT * arm.beam.reach:
            raise Refused(f"path: at t = {t[k]:.3f} s the arm is stretched or folded: its joints' rates are not determined")
        qd[k] = np.linalg.lstsq(J, _plane(arm, xd[k]), rcond=None)[0]
        w = np.cumsum(qd[k] * arm.signs)
        links = np.diff(arms, axis=0, append=np.zeros((1, 3)))
        qdd[k] = np.linalg.lstsq(J, _plane(arm, xdd[k] + w**2 @ links), rcond=None)[0]
    return Trajectory(arm.names, t, q, qd, qdd)


def _plane(arm: FlexibleArm, v: Array) -> Array:
    """Components in the arm's plane."""
    return _axes(arm) @ v


def _axes(arm: FlexibleArm) -> Array:
    """Two global unit vectors (2, 3) across the joints' axes."""
    first = np.eye(3)[np.argmin(np.abs(arm.normal))]
    first = first - (first @ arm.normal) * arm.normal
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(arm.normal, first)])


def _jacobian(arm: FlexibleArm, q: Array) -> tuple[Array, Array]:
    """How the tip moves in the plane per joint (2, J), and the vectors (J, 3) from each joint to the tip, negative."""
    end, placed = tip(arm, q), poses(arm.rigid, q)
    arms = np.array([placed[j][1] - end for j in range(arm.hub + 1)])
    columns = [_plane(arm, arm.signs[j] * np.cross(arm.normal, -arms[j])) for j in range(arm.hub + 1)]
    return np.stack(columns, axis=1), arms


def _solve(arm: FlexibleArm, x: Array, near: Array, t: float) -> Array:
    q = near.copy()
    for _ in range(ROUNDS):
        miss = _plane(arm, x - tip(arm, q))
        if np.linalg.norm(miss) < CLOSE * arm.beam.reach:
            return q
        step = np.linalg.lstsq(_jacobian(arm, q)[0], miss, rcond=None)[0]
        q = q + step * min(1.0, 0.5 / np.abs(step).max(initial=1e-9))
    if np.linalg.norm(_plane(arm, x - tip(arm, q))) < OFF_PATH * arm.beam.reach:
        return q
    raise Refused(f"path: at t = {t:.3f} s the tip does not get to it from the pose before")


def _check_reach(arm: FlexibleArm, t: Array, x: Array, start: Array) -> None:
    """Refuse a path out of the plane, or nearer or farther than the links reach."""
    if arm.hub > 1:
        raise Refused("path: a tip in the plane determines two joints; give the path in joints for an arm of more")
    placed = poses(arm.rigid, start)
    axes, lengths = _axes(arm), [arm.beam.reach]
    if arm.hub == 1:
        lengths.append(float(np.linalg.norm(axes @ (placed[1][1] - placed[0][1]))))
    off = np.abs((x - tip(arm, start)) @ arm.normal).max()
    if off > OFF_PATH * arm.beam.reach:
        raise Refused(f"path: leaves the plane of the arm by {off:.4g} m")
    away = np.linalg.norm((x - placed[0][1]) @ axes.T, axis=1)
    far, near = sum(lengths), abs(lengths[0] - lengths[-1]) if arm.hub == 1 else arm.beam.reach
    slack = OFF_PATH * arm.beam.reach
    for k in (int(np.argmax(away)), int(np.argmin(away))):
        if not near - slack <= away[k] <= far + slack:
            raise Refused(f"path: at t = {t[k]:.3f} s it is {away[k]:.3f} m from {arm.names[0]}, and the arm reaches "
                          + (f"from {near:.3f} to {far:.3f} m" if near < far else f"{far:.3f} m"))
