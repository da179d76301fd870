"""`femtorque plan` for a mechanism that ends in a flexible link: the tip's motion, the joints' motion that makes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from codegen.errors import BadInput, Refused
from codegen.mechanism import Mechanism
from codegen.reference import Motion
from codegen.trajectory import Trajectory, check_limits
from host import boundary_value, plan, tip_file, waypoints
from host.boundary_value import Ends
from host.plot import FORMATS
from host.tip_motion import FlexibleArm, TipMotion, elastic_problem, flexible_arm, tip, tip_motion
from host.tip_path import chord_motion

Array = NDArray[np.float64]

STEPS = 4  # of the boundary-value problem a control tick of 1 kHz; fewer where ticks are shorter
SMALL = 1e-4  # of what the deflection is at the ends: pre- and post-actuation last until it is that
LARGE = 0.1  # of the link's length: a linear beam is not right beyond it


@dataclass(frozen=True)
class FlexiblePlan:
    """trajectory: of the driven joints, at every knot; path (T, 3): of the tip, m, at `motion`'s times."""

    trajectory: Trajectory
    motion: TipMotion
    path: Array
    pressing: float  # largest force of the tip on what it touches, N
    deflection: float  # largest angle between joint and chord, rad

    def words(self) -> str:
        first, last = self.motion.counts
        lines = [f"{self.trajectory.duration:.3f} s, of which the tip moves from {abs(self.motion.path_start):.3f} s on; "
                 f"{first} conditions at the start, {last} at the end"]
        peaks = ", ".join(f"{name} {peak:.4g}" for name, peak in self.peaks().items())
        lines.append(f"peak torque {peaks} N m; the root turns up to {self.deflection:.3g} rad against the chord")
        if self.pressing:
            lines.append(f"warning: the {self.pressing:.3g} N that the tip presses with are in these torques and in how far the "
                         "links bend, not in what the board adds to its own: there feedback has to bring them up")
        if self.deflection > LARGE:
            lines.append(f"warning: more than {LARGE:g} of the length is no small deflection: strains and statics are "
                         "those of a linear beam")
        return "\n".join(lines)

    def peaks(self) -> dict[str, float]:
        return dict(zip(self.trajectory.joints, np.abs(self.motion.torque).max(axis=0).tolist(), strict=True))

    def data(self) -> dict[str, Any]:
        """As the JSON object of `femtorque plan`."""
        return {"duration": self.trajectory.duration, "rows": len(self.trajectory.times),
                "path_start": self.motion.path_start, "conditions": list(self.motion.counts),
                "peak_torque": self.peaks(), "pressing": self.pressing, "deflection": self.deflection}


def make(mechanism: Mechanism, source: Path, *, ends: Ends = "free", begin: Array | None = None,
         speed: float = 1.0, tip_point: str | None = None) -> FlexiblePlan:
    """Plan for a path of the tip with times (CSV with a column t), or for waypoints of the arm as if it were rigid.

    begin (J,): pose near the path's start, or start of the waypoints; by default the mechanism's. Raises Refused where
    the path is out of reach, the problem ill-posed, or a limit broken.
    """
    arm = flexible_arm(mechanism)
    hz = mechanism.control.knot_hz
    every = int(np.ceil(STEPS * 1000 / hz))  # steps a knot
    dt = 1.0 / (hz * every)
    start = np.array([body.joint.start for body in arm.rigid.bodies]) if begin is None else begin
    if tip_file.timed(source):
        asked = tip_file.load(source)
        press: Motion | None = asked.press
        duration = np.ceil(asked.place.duration * hz - 1e-6) / hz
        chord: Trajectory = chord_motion(arm, asked.place, duration, dt, start)
    else:
        press, chord = None, _as_if_rigid(mechanism, arm, source, start, speed, tip_point)
        duration = np.ceil(chord.duration * hz - 1e-6) / hz
    lead = (0.0, 0.0)
    if ends == "free":
        problem = elastic_problem(arm, chord, np.array([0.0, chord.duration]), dt, press)
        lead = tuple(np.ceil(s * hz) / hz for s in boundary_value.settling(problem, SMALL))
    motion = tip_motion(arm, chord, duration, dt, ends=ends, press=press, lead=lead)
    rows = slice(None, None, every)
    q, qd, qdd = motion.q[rows], motion.qd[rows].copy(), motion.qdd[rows].copy()
    if ends == "free":  # what is left there is smaller than SMALL
        qd[[0, -1]] = qdd[[0, -1]] = 0.0
    trajectory = Trajectory(arm.names, motion.times[rows], q, qd, qdd, source)
    _check(mechanism, arm, trajectory, motion)
    on_path = np.clip(motion.times - motion.path_start, 0.0, chord.duration)
    pressing = 0.0 if press is None else float(np.linalg.norm(press.at(on_path)[0], axis=1).max())
    return FlexiblePlan(trajectory, motion, tip(arm, chord.at(on_path)[0]), pressing,
                        float(np.abs(motion.W @ arm.beam.hub).max()))


def draw(path: Path, mechanism: Mechanism, found: FlexiblePlan) -> None:
    """Positions, torques, and what bending adds. Raises BadInput for a suffix that is none of a picture."""
    if path.suffix.lower() not in FORMATS:
        raise BadInput(path, "figure", None, f"must end in one of {', '.join(FORMATS)}")
    motion = found.motion
    figure = Figure(figsize=(9.0, 8.0), layout="constrained")
    figure.suptitle(f"{mechanism.name}: the tip moves from {motion.path_start:.3f} s on")
    position, torque, bent = figure.subplots(3, 1, sharex=True)
    for j, name in enumerate(found.trajectory.joints):
        position.plot(motion.times, motion.q[:, j], label=name)
        torque.plot(motion.times, motion.torque[:, j])
    bent.plot(motion.times, motion.W, linewidth=0.9)
    position.set_ylabel("joint, rad")
    torque.set_ylabel("torque, N m")
    bent.set_ylabel("elastic coordinates, m, rad")
    bent.set_xlabel("t, s")
    position.legend(fontsize=8)
    for axes in (position, torque, bent):
        axes.grid(alpha=0.3)
        axes.margins(x=0.0)
        axes.axvline(motion.path_start, color="0.6", linewidth=0.8)
    figure.savefig(path, dpi=110)


def _as_if_rigid(mechanism: Mechanism, arm: FlexibleArm, source: Path, start: Array, speed: float,
                 tip_point: str | None) -> Trajectory:
    """The waypoints' motion with every link rigid and the passive joint locked: of the chord."""
    passive = {joint.name: 0.0 for joint in mechanism.moving if joint.name not in arm.names}
    rigid = replace(mechanism, links=tuple(replace(link, beam=None) for link in mechanism.links),
                    lock=mechanism.lock | passive)
    return plan.plan(rigid, waypoints.load(source, rigid, tip_point), begin=start, speed=speed).trajectory


def _check(mechanism: Mechanism, arm: FlexibleArm, trajectory: Trajectory, motion: TipMotion) -> None:
    passive = {joint.name: 0.0 for joint in mechanism.moving if joint.name not in arm.names}
    check_limits(trajectory, replace(mechanism, lock=mechanism.lock | passive))
    for j, body in enumerate(arm.rigid.bodies):
        k = int(np.argmax(np.abs(motion.torque[:, j])))
        peak, limit = abs(motion.torque[k, j]), body.joint.limits.effort
        if peak > limit:
            raise Refused(f"{body.joint.name}: needs {peak:.4g} N m at t = {motion.times[k]:.3f} s, its limit is "
                          f"{limit:g} N m; give the motion more time")
