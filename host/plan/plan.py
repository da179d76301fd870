"""Waypoints to a jerk-limited motion within the limits of positions, rates, accelerations and efforts.

Between two rests the joints move together (ruckig, all arriving at once, in phase where they can); a waypoint passed
through gets rates that no joint has to turn back for. On a straight line the tip's path is first solved for the
joints, then travelled with a jerk-limited speed. What the motors cannot give is made slower, section by section, until
they can: by a factor k of time, rates fall as 1/k, accelerations and inertial torques as 1/k^2. A row of the result is
a knot: the quintics between the rows are what a board plays, and it is they that are held to the limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import ruckig
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Slerp

from codegen.common.errors import BadInput, Refused
from codegen.mechanism.description import Joint, Limits, Mechanism
from codegen.motion.trajectory import Trajectory, check_limits, from_rows
from host.plan import effort
from host.plan.tip import Goal, Tip
from host.plan.waypoints import Waypoint, Waypoints

Array = NDArray[np.float64]
Curve = Callable[[Array], tuple[Array, Array, Array]]  # s (N,) to q, dq/ds, d2q/ds2, each (N, J)

RISE = 0.25  # s to full rate where the file limits no acceleration
BUILD_UP = 0.1  # s to full acceleration where it limits no jerk
SAME = 1e-7  # rad or m: nearer than this is the same pose
RESERVE = 0.1  # of the effort is left to the feedback
LINE_SAMPLES, LINE_MOST, LINE_ERROR = 33, 1025, 1e-5  # of a straight line: points solved for, at most; m off it
LINE_STEP = 0.5  # rad or m: a joint that goes farther between two points of a line has jumped
SLOWEST = 1e3  # times slower than the limits of rate and acceleration alone: given up
ROUNDS = 30
BEGINNING = "the beginning"


@dataclass(frozen=True)
class Slowed:
    """A section that the motors cannot play as fast as the other limits allow. factor: times slower."""

    section: int
    to: str
    factor: float
    because: str


@dataclass(frozen=True)
class Plan:
    """arrivals: (time s, waypoint) of every one that is reached. tip: (R, 3) m, where the waypoints speak of one."""

    trajectory: Trajectory
    arrivals: tuple[tuple[float, str], ...]
    slowed: tuple[Slowed, ...]
    shares: dict[str, dict[str, float | None]]  # joint to the largest share of every limit; None: no such limit
    tip: Array | None

    def words(self) -> str:
        """How long it takes, and what had to be slower than asked for."""
        lines = [f"{self.trajectory.duration:.3f} s, {len(self.arrivals)} waypoint{'s' * (len(self.arrivals) != 1)}, "
                 f"every limit kept"]
        for s in self.slowed:
            lines.append(f"the way to {s.to} is {s.factor:.2f} times slower than the other limits allow: {s.because}")
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """As the JSON object of `femtorque plan`."""
        return {
            "duration": self.trajectory.duration, "rows": len(self.trajectory.times),
            "waypoints": [{"t": t, "waypoint": name} for t, name in self.arrivals],
            "slowed": [vars(s) for s in self.slowed], "of_limit": self.shares,
        }


@dataclass(frozen=True)
class _Section:
    """From rest to rest. at: t (N,) s to positions, rates, accelerations, each (N, J). via: (time, waypoint)."""

    at: Curve
    duration: float
    via: tuple[tuple[float, str], ...]
    to: str


def plan(mechanism: Mechanism, waypoints: Waypoints, *, begin: ArrayLike | None = None, back: bool = False,
         speed: float = 1.0, reserve: float = RESERVE) -> Plan:
    """The motion through the waypoints, from rest at `begin` (by default the start pose) to rest.

    back: return to the beginning at the end. speed: of the limits of rate, for the whole motion. reserve: share of
    the effort that is kept for the feedback. Raises Refused where a waypoint cannot be reached or held.
    """
    if not effort.known(mechanism):
        raise BadInput(mechanism.source or mechanism.name, "mechanism", None,
                       "has loops, modes or flexible links: waypoints are planned for trees of rigid links in one mode")
    here = np.array([j.start for j in mechanism.moving]) if begin is None else np.asarray(begin, float)
    first, sections = here, []
    group: list[tuple[Waypoint, Array]] = []  # passed through, up to the next rest
    for point in waypoints.points:
        pose = group[-1][1] if group else here
        if point.line:
            if group:
                raise BadInput(waypoints.source, f"{point.where}.line", True, "must begin at rest",
                               "stop at the waypoint before it")
            assert point.goal is not None and waypoints.tip is not None
            section, here = _line(mechanism, waypoints.tip, point, here, speed)
            sections.append(section)
        else:
            group.append((point, _target(mechanism, point, pose, waypoints.tip)))
            if not point.stop:
                continue
            sections.append(_move(mechanism, here, group, speed))
            here, group = group[-1][1], []
        if point.pause:
            sections.append(_rest(here, point.pause, point.where))
    if group:  # the last waypoint is always a rest
        sections.append(_move(mechanism, here, group, speed))
        here = group[-1][1]
    if back and np.max(np.abs(here - first)) > SAME:
        home = Waypoint(BEGINNING, None, None)
        sections.append(_move(mechanism, here, [(home, first)], speed))
    sections = [s for s in sections if s.duration > 0.0]
    if not sections:
        raise BadInput(waypoints.source, "waypoint", None, "every one is where the motion begins: nothing moves")
    return _joined(mechanism, sections, speed, reserve, waypoints)


def straight(mechanism: Mechanism, here: ArrayLike, there: ArrayLike, speed: float) -> Trajectory:
    """From rest to rest, all joints together, at a share of the limits of rate. Raises BadInput and Refused as
    `plan`."""
    joints = {joint.name: float(x) for joint, x in zip(mechanism.moving, np.asarray(there), strict=True)}
    way = Waypoints(mechanism.source or Path(mechanism.name), (Waypoint("the start of the motion", joints, None),),
                    None)
    return plan(mechanism, way, begin=here, speed=speed).trajectory


def _target(mechanism: Mechanism, point: Waypoint, near: Array, tip: Tip | None) -> Array:
    """Joint positions (J,) of a waypoint, coming from those at `near`. Raises Refused where the tip cannot get."""
    if point.goal is None:
        given = point.joints or {}
        return np.array([given.get(j.name, x) for j, x in zip(mechanism.moving, near, strict=True)])
    assert tip is not None
    try:
        return tip.solve(point.goal, near)
    except Refused as reason:
        raise Refused(f"{point.where}: {reason}") from None


def speeds(joint: Joint, scale: float) -> tuple[float, float, float]:
    """Rate, acceleration and jerk that a joint may have. Where the file limits none: RISE to full rate, BUILD_UP to
    full acceleration. Raises BadInput if it does not limit the rate."""
    limits: Limits = joint.limits
    if not np.isfinite(limits.velocity):
        raise BadInput("mechanism", f"joint.{joint.name}.limits.velocity", None, "is needed to plan",
                       "how fast may the joint move?")
    acceleration = limits.acceleration if np.isfinite(limits.acceleration) else limits.velocity / RISE
    jerk = limits.jerk if np.isfinite(limits.jerk) else acceleration / BUILD_UP
    return limits.velocity * scale, acceleration * scale**2, jerk * scale**3


def _bounds(mechanism: Mechanism, scale: float) -> tuple[Array, Array, Array]:
    """`speeds` of all joints, each (J,)."""
    rate, acceleration, jerk = np.array([speeds(joint, scale) for joint in mechanism.moving]).T
    return rate, acceleration, jerk


# -- joints move together ---------------------------------------------------------------------------------------------


def _move(mechanism: Mechanism, here: Array, group: list[tuple[Waypoint, Array]], speed: float) -> _Section:
    """From rest at `here` through the waypoints of a group to rest at its last."""
    poses, to = [here], []
    for point, q in group:
        if np.max(np.abs(q - poses[-1])) > SAME:  # else it is there already
            poses.append(q)
            to.append(point)
    if not to:
        return _rest(here, 0.0, group[-1][0].where)
    bounds = [_bounds(mechanism, speed * point.speed) for point in to]
    legs = [_leg(a, b, np.zeros_like(a), np.zeros_like(a), bound)
            for a, b, bound in zip(poses, poses[1:], bounds, strict=False)]
    assert all(leg is not None for leg in legs), "from rest to rest there is always a way"
    rates = _through(poses, [leg.duration for leg in legs if leg is not None], bounds)
    best = [leg for leg in legs if leg is not None]
    for share in (2.0, 1.7, 1.4, 1.2, 1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1) if len(to) > 1 else ():
        tried = _legs(poses, rates * share, bounds)
        if tried is not None and sum(x.duration for x in tried) < sum(x.duration for x in best):
            best = tried
    starts = np.concatenate([[0.0], np.cumsum([leg.duration for leg in best])])

    def at(t: Array) -> tuple[Array, Array, Array]:
        which = np.clip(np.searchsorted(starts, t, "right") - 1, 0, len(best) - 1)
        states = [best[i].at_time(float(x - starts[i])) for i, x in zip(which, t, strict=True)]
        q, qd, qdd = (np.array([state[n] for state in states]) for n in range(3))
        return q, qd, qdd

    via = tuple((float(t), point.where) for t, point in zip(starts[1:], to, strict=True))
    return _Section(at, float(starts[-1]), via, to[-1].where)


def _leg(a: Array, b: Array, rate_a: Array, rate_b: Array, bounds: tuple[Array, Array, Array]) -> Any:
    """ruckig's motion of all joints from one state to another, without accelerations at the ends; None if none is."""
    wanted = ruckig.InputParameter(len(a))
    wanted.current_position, wanted.target_position = a.tolist(), b.tolist()
    wanted.current_velocity, wanted.target_velocity = rate_a.tolist(), rate_b.tolist()
    wanted.max_velocity, wanted.max_acceleration, wanted.max_jerk = (x.tolist() for x in bounds)
    wanted.synchronization = ruckig.Synchronization.Phase
    leg = ruckig.Trajectory(len(a))
    try:
        ruckig.Ruckig(len(a)).calculate(wanted, leg)
    except ruckig.RuckigError:
        return None
    return leg


def _through(poses: list[Array], durations: list[float], bounds: list[tuple[Array, Array, Array]]) -> Array:
    """Rates (waypoints - 1, J) to pass the inner waypoints with: the harmonic mean of the mean rates on both sides,
    zero where a joint turns back (Fritsch and Butland's rule for monotone curves)."""
    means = np.diff(poses, axis=0) / np.array(durations)[:, None]
    a, b = means[:-1], means[1:]
    same = a * b > 0.0
    return np.where(same, 2.0 * a * b / np.where(same, a + b, 1.0), 0.0)


def _legs(poses: list[Array], rates: Array, bounds: list[tuple[Array, Array, Array]]) -> list[Any] | None:
    """The legs with these rates at the inner waypoints; None if one is not possible or a joint has to turn back."""
    rest = np.zeros_like(poses[0])
    ends = [rest, *rates, rest]
    legs = []
    for i, bound in enumerate(bounds):
        leg = _leg(poses[i], poses[i + 1], ends[i], ends[i + 1], bound)
        if leg is None:
            return None
        low, high = np.minimum(poses[i], poses[i + 1]) - SAME, np.maximum(poses[i], poses[i + 1]) + SAME
        extremes = leg.position_extrema
        if any(e.min < a or e.max > b for e, a, b in zip(extremes, low, high, strict=True)):
            return None
        legs.append(leg)
    return legs


def _rest(here: Array, duration: float, to: str) -> _Section:
    def at(t: Array) -> tuple[Array, Array, Array]:
        still = np.zeros((len(t), len(here)))
        return still + here, still, still

    return _Section(at, duration, (), to)


# -- the tip on a straight line ---------------------------------------------------------------------------------------


def _line(mechanism: Mechanism, tip: Tip, point: Waypoint, here: Array, speed: float) -> tuple[_Section, Array]:
    """The tip goes straight, from rest to rest. Returns the joint positions at its end too."""
    path, end = _path(mechanism, tip, point, here)
    s = np.linspace(0.0, 1.0, 4 * LINE_SAMPLES)
    steepest = np.max(np.abs(path(s)[1]), axis=0)
    if np.max(steepest) < SAME:
        return _rest(here, 0.0, point.where), here
    with np.errstate(divide="ignore"):
        rate, acceleration, jerk = (np.array([np.min(x / steepest)]) for x in _bounds(mechanism, speed * point.speed))
    along = _leg(np.zeros(1), np.ones(1), np.zeros(1), np.zeros(1), (rate, acceleration, jerk))

    def at(t: Array) -> tuple[Array, Array, Array]:
        x, xd, xdd = (np.array([along.at_time(float(a))[n][0] for a in t])[:, None] for n in range(3))
        q, slope, bend = path(np.clip(x[:, 0], 0.0, 1.0))
        return q, slope * xd, slope * xdd + bend * xd**2

    return _Section(at, float(along.duration), ((float(along.duration), point.where),), point.where), end


def _path(mechanism: Mechanism, tip: Tip, point: Waypoint, here: Array) -> tuple[Curve, Array]:
    """Joint positions along the line as a quintic spline over s = 0..1, its tip within LINE_ERROR of the line."""
    assert point.goal is not None
    begin, count = tip.at(here), LINE_SAMPLES
    while True:
        s = np.linspace(0.0, 1.0, count)
        q, jump = _followed(tip, _goals(begin, point.goal, s), point, here)
        spline = make_interp_spline(s, q, k=5)
        middles = (s[1:] + s[:-1]) / 2.0
        wanted = begin.xyz + middles[:, None] * (point.goal.xyz - begin.xyz)
        off = float(np.max(np.linalg.norm(tip.points(spline(middles)) - wanted, axis=1)))
        if off <= LINE_ERROR and jump <= LINE_STEP:
            slope, bend = spline.derivative(1), spline.derivative(2)
            return partial(_curve, spline, slope, bend), q[-1]
        if count >= LINE_MOST:
            raise Refused(f"{point.where}: the straight line to it passes so near a singular pose that a joint jumps "
                          f"by "
                          f"{jump:.2g}; go there without line, or by another way")
        count = 2 * count - 1


def _curve(*splines_and_s: Any) -> tuple[Array, Array, Array]:
    *splines, s = splines_and_s
    q, slope, bend = (spline(s) for spline in splines)
    return q, slope, bend


def _goals(begin: Goal, end: Goal, s: Array) -> list[Goal]:
    """Along the line: positions in proportion, orientations about one axis (slerp)."""
    xyz = begin.xyz + s[:, None] * (end.xyz - begin.xyz)
    if end.rotation is None:
        return [Goal(x) for x in xyz]
    assert begin.rotation is not None
    turn = Slerp([0.0, 1.0], type(end.rotation).concatenate([begin.rotation, end.rotation]))
    return [Goal(x, rotation) for x, rotation in zip(xyz, turn(s), strict=True)]


def _followed(tip: Tip, goals: list[Goal], point: Waypoint, here: Array) -> tuple[Array, float]:
    """Joint positions (N, J) from goal to goal, each from the one before, and the farthest that a joint went at
    once."""
    q = [tip.solve(goals[0], here, starts=0)]
    for i, goal in enumerate(goals[1:], 1):
        try:
            q.append(tip.solve(goal, q[-1], starts=0))
        except Refused as reason:
            raise Refused(f"{point.where}: the straight line to it cannot be followed beyond "
                          f"{(i - 1) / (len(goals) - 1):.0%} of the way: {reason}") from None
    return np.array(q), float(np.max(np.abs(np.diff(q, axis=0))))


# -- within the limits ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Played:
    """A section as a board plays it: rows at knots. factor: time over the section's own; slowed: the part of it that
    the efforts asked for."""

    rows: tuple[Array, Array, Array]
    factor: float
    slowed: float
    because: str


def _joined(mechanism: Mechanism, sections: list[_Section], speed: float, reserve: float, waypoints: Waypoints) -> Plan:
    """The sections one after the other, each slowed as far as it takes."""
    period = 1.0 / mechanism.control.knot_hz
    parts: list[tuple[Array, Array, Array]] = []
    arrivals: list[tuple[float, str]] = []
    slowed: list[Slowed] = []
    knots = 0
    for number, section in enumerate(sections, 1):
        played = _played(mechanism, section, speed, reserve)
        arrivals += [(knots * period + t * played.factor, where) for t, where in section.via]
        if played.because:
            slowed.append(Slowed(number, section.to, played.slowed, played.because))
        keep = slice(None) if not parts else slice(1, None)
        q, qd, qdd = played.rows
        parts.append((q[keep], qd[keep], qdd[keep]))
        knots += len(played.rows[0]) - 1
    q, qd, qdd = (np.concatenate([part[n] for part in parts]) for n in range(3))
    names = [joint.name for joint in mechanism.moving]
    trajectory = from_rows(names, np.arange(len(q)) * period, q, qd, qdd)
    check_limits(trajectory, mechanism)
    tip = waypoints.tip.points(q) if waypoints.tip is not None else None
    return Plan(trajectory, tuple(arrivals), tuple(slowed), shares(mechanism, trajectory), tip)


def _played(mechanism: Mechanism, section: _Section, speed: float, reserve: float) -> _Played:
    """Raises Refused if no speed is slow enough."""
    hz, own = mechanism.control.knot_hz, section.duration
    factor, kinematic, because = 1.0, 1.0, ""
    for _ in range(ROUNDS):
        knots = max(1, int(np.ceil(own * factor * hz - 1e-6)))
        whole = knots / (hz * own)  # to whole knots
        rows = _rows(section, knots, whole)
        t, q, qd, qdd = _samples(mechanism, rows)
        jerk = np.diff(rows[2], axis=0) * hz  # from knot to knot
        slower = _too_fast(mechanism, qd, qdd, jerk, speed)
        if slower > 1.0:
            factor = whole * slower
            kinematic = factor
            continue
        slower, why = _too_heavy(mechanism, t, q, qd, qdd, reserve, section.to)
        if slower <= 1.0:
            return _Played(rows, whole, whole / max(kinematic, 1.0), because)
        factor, because = whole * slower, because or why
        if factor > SLOWEST:
            break
    raise Refused(f"the way to {section.to} is too heavy at any speed: {because}")


def _rows(section: _Section, knots: int, factor: float) -> tuple[Array, Array, Array]:
    """Positions, rates, accelerations (knots + 1, J), at rest at both ends."""
    t = np.linspace(0.0, section.duration, knots + 1)
    q, qd, qdd = section.at(t)
    qd, qdd = qd / factor, qdd / factor**2
    for end in (0, -1):
        qd[end] = qdd[end] = 0.0
    return q, qd, qdd


def _samples(mechanism: Mechanism, rows: tuple[Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
    """Between the rows too: t (N,), and what the board plays there, each (N, J)."""
    period = 1.0 / mechanism.control.knot_hz
    played = from_rows([j.name for j in mechanism.moving], np.arange(len(rows[0])) * period, *rows)
    t = np.arange((len(rows[0]) - 1) * effort.SAMPLES + 1, dtype=float) * (period / effort.SAMPLES)
    return (t, *played.at(t))


def _too_fast(mechanism: Mechanism, qd: Array, qdd: Array, jerk: Array, speed: float) -> float:
    """How many times slower the limits of rate, acceleration and jerk want it; at most 1 if they are kept."""
    slower = 1.0
    for j, joint in enumerate(mechanism.moving):
        bounds = (joint.limits.velocity, joint.limits.acceleration, joint.limits.jerk)
        for order, (values, bound) in enumerate(zip((qd, qdd, jerk), bounds, strict=True), 1):
            slower = max(slower, (float(np.max(np.abs(values[:, j]))) / bound) ** (1.0 / order) / speed)
    return slower * (1.0 + 1e-4) if slower > 1.0 + 1e-7 else 1.0


def _too_heavy(mechanism: Mechanism, t: Array, q: Array, qd: Array, qdd: Array, reserve: float, to: str
               ) -> tuple[float, str]:
    """How many times slower the efforts want it, and why. Raises Refused where a joint cannot even hold."""
    tau = effort.wanted(mechanism, q, qd, qdd)
    there = effort.available(mechanism, qd, tau) * (1.0 - reserve)
    over = np.abs(tau) - there
    i, j = np.unravel_index(int(np.argmax(np.where(np.isfinite(over), over, -np.inf))), over.shape)
    if not over[i, j] > 1e-9:
        return 1.0, ""
    still = np.zeros_like(q)
    coulomb = np.array([joint.friction.coulomb for joint in mechanism.moving])
    held = effort.wanted(mechanism, q, still, still) + coulomb * np.sign(qd)
    most = effort.available(mechanism, still, held) * (1.0 - reserve)
    for a, b in np.argwhere(np.abs(held) > most)[:1]:
        joint = mechanism.moving[b]
        raise Refused(
            f"on the way to {to}, {joint.name} needs {abs(held[a, b]):.3g} {_unit(joint)} to hold the arm up at "
            f"{joint.name} = {q[a, b]:.3g}, and {most[a, b]:.3g} {_unit(joint)} is there ({reserve:.0%} kept for the "
            "feedback): no speed is slow enough; go another way, or take a stronger motor"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = np.where(over > 0.0, (tau - held) * np.sign(tau) / (there - held * np.sign(tau)), 1.0)
    slower = float(np.sqrt(np.clip(np.nan_to_num(squared, nan=4.0, posinf=4.0), 1.0, 4.0).max()))
    joint = mechanism.moving[j]
    return max(slower,
               1.001) * 1.0005, (f"{joint.name} would need {abs(tau[i, j]):.3g} {_unit(joint)}, {there[i, j]:.3g} "
                                         f"{_unit(joint)} is there ({reserve:.0%} kept for the feedback)")


def _unit(joint: Joint) -> str:
    return "N" if joint.type == "prismatic" else "N m"


def shares(mechanism: Mechanism, trajectory: Trajectory) -> dict[str, dict[str, float | None]]:
    """Of every joint's limits, the largest share the motion takes."""
    _, q, qd, qdd = _samples(mechanism, (trajectory.positions, trajectory.velocities, trajectory.accelerations))
    tau = effort.wanted(mechanism, q, qd, qdd)
    there = effort.available(mechanism, qd, tau)
    found: dict[str, dict[str, float | None]] = {}
    for j, joint in enumerate(mechanism.moving):
        with np.errstate(divide="ignore", invalid="ignore"):
            values = {"velocity": np.abs(qd[:, j]) / joint.limits.velocity,
                      "acceleration": np.abs(qdd[:, j]) / joint.limits.acceleration,
                      "effort": np.abs(tau[:, j]) / there[:, j]}
        found[joint.name] = {k: float(v.max()) if k == "effort" and np.isfinite(there[:, j]).all()
                             or k != "effort" and np.isfinite(getattr(joint.limits, k)) else None
                             for k, v in values.items()}
    return found
