"""Plans for `femtorque plan` the joint motion that moves the tip of a flexible link along a path."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from femtorque.codegen.common import Array, BadInput, Refused, colours, drawn_by, replacing
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.model import Timed
from femtorque.codegen.motion import Trajectory, check_limits
from femtorque.codegen.verify import blank, check_format
from femtorque.host.plan import boundary_value, planning as plan, tip_file, waypoints
from femtorque.host.plan.boundary_value import Ends
from femtorque.host.plan.tip import Tip
from femtorque.host.plan.tip_exact import Exact, corrected
from femtorque.host.plan.tip_path import chord_motion
from femtorque.host.plan.tip_torques import (
    ON_LINE, FlexibleArm, TipMotion, elastic_problem, flexible_arm, tip, tip_motion)

STEPS = 4  # steps of the boundary-value problem per control tick of 1 kHz; fewer for shorter ticks
SMALL = 1e-4  # fraction of the deflection at the ends of the path: where less remains, pre- and post-actuation end
LARGE = 0.1  # largest valid deflection, as a fraction of the link's length: the beam's model assumes small deflections
BENT = np.pi / 4.0  # largest valid angle between joint and chord, rad; the model assumes small deflections
NEAR = 0.01  # maximum distance of the path's first point from the start pose, rad
REST_ROUNDS = 12  # iterations for the chord's angle: this angle plus the sag gives the wanted joint angle
SOFT = 0.1  # time in which a joint without a jerk limit builds up its full acceleration, s


@dataclass(frozen=True)
class FlexiblePlan:
    """Result of the plan."""

    trajectory: Trajectory  # motion of the driven joints, at every knot
    motion: TipMotion
    path: Array  # (T, 3): positions of the tip at `motion`'s times, m
    pressing: float  # largest contact force of the tip, N
    deflection: float  # maximum angle between joint and chord, rad
    exact: Exact | None  # corrected motion; None with contact or with static ends

    def words(self) -> str:
        lines = [f"{self.trajectory.duration:.3f} s, of which the tip moves from {abs(self.motion.path_start):.3f} s "
                 f"on"]
        peaks = ", ".join(f"{name} {peak:.4g}" for name, peak in self.peaks().items())
        lines.append(f"peak torque {peaks} N m; the root turns up to {self.deflection:.3g} rad against the chord")
        if self.exact:
            lines.append(f"the exact link swings by {1e3 * self.exact.left:.2g} mm after the motion "
                         f"({1e3 * self.exact.linear:.2g} mm if planned as a linear beam); its tip leaves the path by "
                         f"up to {1e3 * self.exact.off:.2g} mm")
        if self.pressing:
            lines.append(f"warning: these torques and the bending include the contact force of {self.pressing:.3g} N, "
                         "but the board's feed-forward does not: the feedback must supply this force")
        if self.deflection > LARGE:
            held = ("the plan is the exact link's, but the board's march is right to second order in it only"
                    if self.exact else "strains and statics are those of a linear beam")
            lines.append(f"warning: {self.deflection:.2g} rad, more than {LARGE:g}, is no small deflection: {held}")
        return "\n".join(lines)

    def peaks(self) -> dict[str, float]:
        return dict(zip(self.trajectory.joints, np.abs(self.motion.torque).max(axis=0).tolist(), strict=True))

    def data(self) -> dict[str, Any]:
        """Return the JSON object of `femtorque plan`."""
        return {"duration": self.trajectory.duration, "rows": len(self.trajectory.times),
                "path_start": self.motion.path_start, "conditions": list(self.motion.counts),
                "peak_torque": self.peaks(), "pressing": self.pressing, "deflection": self.deflection,
                "left": None if self.exact is None else {"exact": self.exact.left, "linear": self.exact.linear,
                                                         "off_path": self.exact.off}}


def plan_flexible(mechanism: Mechanism, source: Path, *, ends: Ends = "free", begin: Array | None = None,
                  speed: float = 1.0, tip_point: str | None = None) -> FlexiblePlan:
    """Plan for a timed path of the tip (CSV with a column t), or for waypoints of the arm with rigid links.

    begin (J,): the joints' positions, by default the mechanism's start. A motion through waypoints starts from `begin`.
    A path must start at `begin`. If `begin` is not given, the path must start near the mechanism's start pose.
    tip_point: LINK or LINK:x,y,z, by default the end of the arm. Raises Refused if the path is out of reach, the
    problem is ill-posed, or a limit is broken.
    """
    arm = flexible_arm(mechanism)
    hz = mechanism.control.knot_hz
    every = int(np.ceil(STEPS * 1000 / hz))  # steps per knot
    dt = 1.0 / (hz * every)
    longest = boundary_value.most_steps(arm.beam.n) * dt
    start = np.array([body.joint.start for body in arm.rigid.bodies]) if begin is None else begin
    timed = tip_file.timed_tip(source)
    if timed:
        asked = tip_file.load(source)
        if asked.place.duration > longest:
            raise BadInput(source, "t", f"0 .. {asked.place.duration:g}",
                           f"with {arm.beam.n} elastic coordinates at most "
                           f"{longest:.2g} s are solved at once", "times are in s; fewer elements take more of them")
        if tip_point is not None:
            arm = _to_point(mechanism, arm, tip_point)
        press: Timed | None = asked.press
        duration = np.ceil(asked.place.duration * hz - 1e-6) / hz
        chord: Trajectory = chord_motion(arm, asked.place, duration, dt, start)
        _check_press(arm, source, asked)
    else:
        rigid, press = _as_if_rigid(mechanism, arm), None
        way = waypoints.load_waypoints(source, rigid, tip_point)
        if point := way.tip or tip_point:
            arm = _to_point(mechanism, arm, point)
        chord = plan.plan(rigid, way, begin=_chord_at(arm, start, dt), speed=speed).trajectory
        duration = np.ceil(chord.duration * hz - 1e-6) / hz
    lead = (0.0, 0.0)
    if ends == "free":
        problem = elastic_problem(arm, chord, np.array([0.0, chord.duration]), dt, press)
        lead = tuple(np.ceil(s * hz) / hz for s in boundary_value.settling(problem, SMALL))
    if max(duration, *lead) > longest:
        raise Refused(f"the motion takes {duration:.0f} s, the joints move for {lead[0]:.0f} s before the tip does and "
                      f"for {lead[1]:.0f} s after it; at most {longest:.0f} s of each are solved at once")
    motion = tip_motion(arm, chord, duration, dt, ends=ends, press=press, lead=lead)
    exact = None
    bent = float(np.abs(motion.W @ arm.beam.hub).max())
    if bent > BENT:
        raise Refused(f"the root would turn by {bent:.3g} rad against the chord, which no linear beam does: a slower "
                      "motion, less force, or a stiffer link")
    if ends == "free" and press is None:
        exact = corrected(arm, chord, duration, dt, (lead[0], lead[1]), anchored=not timed)
        motion = exact.motion
    if timed and begin is not None and (off := np.abs(motion.q[0] - begin)).max() > NEAR:
        j = int(np.argmax(off))
        raise BadInput(source, "t = 0", None,
                       f"begins with {arm.names[j]} at {motion.q[0, j]:.4g} rad, and the arm is at "
                       f"{begin[j]:.4g} rad", "plan a motion there first")
    rows = slice(None, None, every)
    q, qd, qdd = motion.q[rows], motion.qd[rows].copy(), motion.qdd[rows].copy()
    if ends == "free":  # outside this motion, the elastic motion is smaller than SMALL
        qd[[0, -1]] = qdd[[0, -1]] = 0.0
    trajectory = Trajectory(arm.names, motion.times[rows], q, qd, qdd, source)
    _check(mechanism, arm, trajectory, motion)
    on_path = np.clip(motion.times - motion.path_start, 0.0, chord.duration)
    pressing = 0.0 if press is None else float(np.linalg.norm(press.at(on_path)[0], axis=1).max())
    return FlexiblePlan(trajectory, motion, tip(arm, chord.at(on_path)[0]), pressing, bent, exact)


def draw_flexible(path: Path, mechanism: Mechanism, found: FlexiblePlan) -> None:
    """Draw the positions, the torques, and the differences that the link's flexibility makes. Raises BadInput for a
    wrong suffix."""
    check_format(path)
    motion = found.motion
    figure = blank(9.0, 8.0)
    figure.suptitle(f"{mechanism.name}: the tip moves from {motion.path_start:.3f} s on")
    position, torque, bent = figure.subplots(3, 1, sharex=True)
    for j, name in enumerate(found.trajectory.joints):
        position.plot(motion.times, motion.q[:, j], color=colours.joint(j), label=name)
        torque.plot(motion.times, motion.torque[:, j], color=colours.joint(j))
    for k, coordinate in enumerate(motion.W.T):
        bent.plot(motion.times, coordinate, color=colours.joint(k), linewidth=0.9)
    position.set_ylabel("joint, rad")
    torque.set_ylabel("torque, N m")
    bent.set_ylabel("elastic coordinates, m, rad")
    bent.set_xlabel("t, s")
    position.legend(fontsize=8)
    for axes in (position, torque, bent):
        axes.grid(alpha=0.3)
        axes.margins(x=0.0)
        axes.axvline(motion.path_start, color="0.6", linewidth=0.8)
    with replacing(path) as part:
        figure.savefig(part, dpi=110, metadata=drawn_by(path, "plan"))


def _as_if_rigid(mechanism: Mechanism, arm: FlexibleArm) -> Mechanism:
    """Return a copy of the mechanism in which links are rigid and the passive joint is locked. The copy moves like the
    chord. Joints without limits of acceleration and jerk move gently, because the efforts of the rigid copy are not
    those of the flexible arm."""
    passive = {joint.name: 0.0 for joint in mechanism.moving if joint.name not in arm.names}
    return replace(mechanism, links=tuple(replace(link, beam=None) for link in mechanism.links),
                   joints=tuple(_gently(joint) for joint in mechanism.joints), lock=mechanism.lock | passive)


def _gently(joint: Joint) -> Joint:
    most = joint.limits
    acceleration = most.acceleration if np.isfinite(most.acceleration) else most.velocity / plan.GENTLE
    jerk = most.jerk if np.isfinite(most.jerk) else acceleration / SOFT
    return replace(joint, limits=replace(most, acceleration=acceleration, jerk=jerk))


def _to_point(mechanism: Mechanism, arm: FlexibleArm, point: Tip | str) -> FlexibleArm:
    """Return the arm with a chord that ends at the tip point. Raises BadInput if the point is not beyond the flexible
    link, on its axis."""
    if isinstance(point, str):
        table = waypoints.tip_option(point)
        point = Tip(_as_if_rigid(mechanism, arm), table.link, table.xyz, "command line")
    link = next(link for link in mechanism.links if link.beam is not None)
    assert link.beam is not None
    length = link.beam.length
    beyond = point.place - [length, 0.0, 0.0]
    if point.body != arm.hub or np.abs(beyond[1:]).max() > ON_LINE * length or beyond[0] < -ON_LINE * length:
        raise BadInput(point.source, "tip", point.link,
                       f"the point that follows a path must be the end of {link.name} or beyond, on its axis",
                       f"{link.name}:{length:g},0,0")
    return flexible_arm(mechanism, point=max(float(beyond[0]), 0.0))


def _chord_at(arm: FlexibleArm, joints: Array, dt: float) -> Array:
    """Return the chord's pose (J,) for joints at rest at `joints`. The sag turns the beam's root relative to the
    chord."""
    chord = joints
    for _ in range(REST_ROUNDS):
        rows = np.stack([chord, chord])
        still = Trajectory(arm.names, np.array([0.0, 1.0]), rows, 0.0 * rows, 0.0 * rows)
        sag = boundary_value.static(elastic_problem(arm, still, np.zeros(1), dt), 0)
        chord = joints.copy()
        chord[arm.hub] -= sag @ arm.beam.hub
    return chord


def _check_press(arm: FlexibleArm, source: Path, asked: tip_file.TipPath) -> None:
    if asked.press is not None and (aside := np.abs(asked.press.values @ arm.normal).max()) > ON_LINE:
        raise BadInput(source, "fx, fy, fz", None, f"press out of the plane of the arm by {aside:.3g} N",
                       "leave that component out")


def _check(mechanism: Mechanism, arm: FlexibleArm, trajectory: Trajectory, motion: TipMotion) -> None:
    passive = {joint.name: 0.0 for joint in mechanism.moving if joint.name not in arm.names}
    check_limits(trajectory, replace(mechanism, lock=mechanism.lock | passive))
    for j, body in enumerate(arm.rigid.bodies):
        k = int(np.argmax(np.abs(motion.torque[:, j])))
        peak, limit = abs(motion.torque[k, j]), body.joint.limits.effort
        if peak > limit:
            raise Refused(f"{body.joint.name}: needs {peak:.4g} N m at t = {motion.times[k]:.3f} s, its limit is "
                          f"{limit:g} N m; give the motion more time")
