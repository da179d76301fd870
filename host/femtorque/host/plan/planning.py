"""Turns waypoints into a jerk-limited motion within the limits of position, velocity, acceleration and effort.

Between two stops, all joints start and stop at the same times (ruckig: synchronised, in phase if possible). If the
motion passes through a waypoint, no joint reverses there. For a straight line of the tip, the planner first solves the
inverse kinematics along the line. The tip then moves along this line, and its speed is planned with limited jerk.
Sections that need too much torque are slowed by a factor k in time. Velocities then fall as 1/k, accelerations and
inertial torques as 1/k^2. A row of the result is a knot. The board plays quintics between the rows, and the quintics
keep the limits.

For a closed mechanism, the planner moves the independent joints. The other joints follow from the loop equations. These
joints stay within their limits and on the assembly branch of the start pose (host/plan/plan_coordinates.py). A mode is
entered at rest, in a pose that satisfies the loop equations of the mode.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.control import Motors
from femtorque.codegen.mechanism import Joint, Limits, Mechanism, refuse, unmoved
from femtorque.codegen.model import DrivenFriction
from femtorque.codegen.motion import Trajectory, check_limits, from_rows
from femtorque.host.plan import effort
from femtorque.host.plan.closed_tip import ClosedTip
from femtorque.host.plan.plan_coordinates import FITS, Space, begin_of
from femtorque.host.plan.tip import Goal, Tip
from femtorque.host.plan.waypoints import Waypoint, Waypoints

Array = NDArray[np.float64]
# maps path parameters s (N,) to q, dq/ds and d2q/ds2, each (N, J)
Curve = Callable[[Array], tuple[Array, Array, Array]]

RISE = 0.25  # time in which a joint without an acceleration limit reaches its full velocity, s
BUILD_UP = 0.1  # time in which a joint without a jerk limit builds up its full acceleration, s
SAME = 1e-7  # difference below which poses count as equal, rad or m
LINE_SAMPLES, LINE_MOST, LINE_ERROR = 33, 1025, 1e-5  # first and largest number of points on a line; largest error, m
LINE_STEP = 0.5  # step above which two points of a line are a jump, rad or m
SLOWEST = 1e3  # largest factor of time
ROUNDS = 30
BEGINNING = "the beginning"


@dataclass(frozen=True)
class Slowed:
    """A section that is played more slowly, since the motors cannot play the section at its planned speed."""

    section: int
    to: str
    factor: float  # new duration over planned duration
    because: str


@dataclass(frozen=True)
class Plan:
    """A plan through waypoints."""

    trajectory: Trajectory
    arrivals: tuple[tuple[float, str], ...]  # (time s, waypoint) of every reached waypoint
    slowed: tuple[Slowed, ...]
    # largest used fraction of each limit, by joint; None without a limit
    shares: dict[str, dict[str, float | None]]
    tip: Array | None  # tip positions (R, 3), m, if waypoints use a tip

    def __repr__(self) -> str:
        return f"<Plan: {self.words()}>"

    def words(self) -> str:
        """Return the duration and the slowed sections in words."""
        lines = [f"{self.trajectory.duration:.3f} s, {len(self.arrivals)} waypoint{'s' * (len(self.arrivals) != 1)}, "
                 f"every limit kept"]
        for s in self.slowed:
            lines.append(f"the way to {s.to} is {s.factor:.2f} times slower than the other limits allow: {s.because}")
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """Return the JSON object of `femtorque plan`."""
        return {
            "duration": self.trajectory.duration, "rows": len(self.trajectory.times),
            "waypoints": [{"t": t, "waypoint": name} for t, name in self.arrivals],
            "slowed": [vars(s) for s in self.slowed], "of_limit": self.shares,
        }


@dataclass(frozen=True)
class _Section:
    """A motion in one mode that begins and ends at rest."""

    space: Space
    begin: Array  # the first pose (n,)
    at: Curve  # function from times (N,) s to positions, velocities and accelerations of the coordinates, each (N, f)
    duration: float
    via: tuple[tuple[float, str], ...]  # (time, waypoint)
    to: str


def plan(mechanism: Mechanism, waypoints: Waypoints, *, begin: ArrayLike | None = None, back: bool = False,
         speed: float = 1.0, reserve: float = effort.RESERVE) -> Plan:
    """Return the motion through the waypoints, from rest at `begin` (streamed joints (J,), by default the start pose)
    to rest.

    back: return to the first pose at the end. speed: fraction of the limits of velocity, acceleration and jerk.
    reserve: fraction of the effort for the feedback. Raises Refused if a waypoint cannot be reached or held, or if the
    motion passes through a singular pose."""
    if mechanism.flexible:
        raise BadInput(mechanism.source or mechanism.name, "mechanism", None,
                       "has flexible links: waypoints are for rigid links only")
    way = _Way(mechanism, waypoints, speed, begin)
    for number, point in enumerate(waypoints.points):
        following = waypoints.points[number + 1].mode if number + 1 < len(waypoints.points) else None
        way.go(point, following)
    way.stop()
    if back:
        way.go_back()
    sections = [s for s in way.sections if s.duration > 0.0]
    if not sections:
        raise BadInput(waypoints.source, "waypoint", None, "all are at the start of the motion: nothing moves")
    return _joined(mechanism, sections, speed, reserve, waypoints)


class _Way:
    """Builds the sections of a plan, waypoint by waypoint."""

    def __init__(self, mechanism: Mechanism, waypoints: Waypoints, speed: float, begin: ArrayLike | None) -> None:
        self.source, self.speed, self.named = waypoints.source, speed, waypoints.tip
        self.space = Space.of(mechanism, waypoints.points[0].mode or "")
        self.here = begin_of(self.space, begin, self.source)
        self.first = self.space, self.here
        self.group: list[tuple[Waypoint, Array]] = []  # waypoints to pass through before the next rest
        self.sections: list[_Section] = []

    @property
    def tip(self) -> Tip | None:
        """Tip in the present mode."""
        if self.named is None:
            return None
        tip = Tip(self.space.mechanism, self.named.link, self.named.offset, self.source)
        led = any(tip.model.bodies[body].joint.mimic for body in tip.path)
        if led or self.space.assembly.cuts:
            return ClosedTip(self.space, self.named.link, self.named.offset, self.source)
        return tip

    def go(self, point: Waypoint, following: str | None) -> None:
        """Plan the motion to a waypoint. following: the mode of the waypoint after it."""
        if point.mode is not None and point.mode != self.space.mode:
            self._enter(point)
        if point.line:
            if self.group:
                raise BadInput(self.source, f"{point.where}.line", True, "must begin at rest",
                               "stop at the waypoint before it")
            assert point.goal is not None and self.tip is not None
            section, self.here = _line(self.space, self.tip, point, self.here, self.speed)
            self.sections.append(section)
        else:
            target = _target(self.space, point, self.group[-1][1] if self.group else self.here, self.tip)
            if following is not None and following != self.space.mode:
                target = self._fitted(target, following, point.where)
            self.group.append((point, target))
            if not point.stop:
                return
            self.stop()
        if point.pause:
            self.sections.append(_rest(self.space, self.here, point.pause, point.where))

    def stop(self) -> None:
        if self.group:
            self.sections.append(_move(self.space, self.here, self.group, self.speed))
            self.here, self.group = self.group[-1][1], []

    def go_back(self) -> None:
        """Return to the beginning of the motion."""
        space, first = self.first
        if space.mode != self.space.mode:
            raise BadInput(self.source, "--back", None, f"the motion ends in mode {self.space.mode!r} and begins in "
                           f"{space.mode!r}", "add a waypoint that goes back to it")
        if np.max(np.abs(self.space.coordinates(self.here - first))) > SAME:
            self.group = [(Waypoint(BEGINNING, None, None), first)]
            self.stop()

    def _enter(self, point: Waypoint) -> None:
        assert point.mode is not None
        if self.group:
            raise BadInput(self.source, f"{point.where}.mode", point.mode, "is entered at rest",
                           "stop at the waypoint before it")
        other, away, joint = self._close(point.mode, self.here, point.where)
        if away > 1e-6:
            raise Refused(self._open(point.mode, point.where, other, joint))
        self.space, self.here = other, other.start

    def _fitted(self, target: Array, mode: str, where: str) -> Array:
        """Return the nearest pose that also satisfies the loop equations of the next mode. The given pose may violate
        the loop equations by a small error."""
        other, away, joint = self._close(mode, target, where)
        if away > FITS:
            raise Refused(self._open(mode, where, other, joint))
        near = other.near(other.start)
        return np.array([near[name] for name in self.space.names])

    def _close(self, mode: str, pose: Array, where: str) -> tuple[Space, float, str]:
        try:
            return self.space.entered(mode, pose)
        except BadInput as reason:
            raise Refused(f"{where}: mode {mode!r} cannot be entered there: {reason.rule}") from None

    def _open(self, mode: str, where: str, other: Space, joint: str) -> str:
        nearest = ", ".join(f"{j.name} = {x:.6g}" for j, x in
                            zip(other.whole.streamed, other.streamed(other.start), strict=True))
        return (f"{where}: the loops of mode {mode!r} are open there, farthest at {joint}; the nearest pose that "
                f"closes them is {nearest}")


def straight(mechanism: Mechanism, here: ArrayLike, there: ArrayLike, speed: float) -> Trajectory:
    """Return a motion in which all joints move together, with rest at both ends. speed: fraction of the limits. Raises
    the same BadInput and Refused as `plan`."""
    joints = {joint.name: float(x) for joint, x in zip(mechanism.streamed, np.asarray(there), strict=True)}
    way = Waypoints(mechanism.source or Path(mechanism.name), (Waypoint("the start of the motion", joints, None),),
                    None)
    return plan(mechanism, way, begin=here, speed=speed).trajectory


def _target(space: Space, point: Waypoint, near: Array, tip: Tip | None) -> Array:
    """Return the pose (n,) that reaches a waypoint and is nearest to `near`. Raises Refused if the tip or the closed
    loops cannot reach the waypoint."""
    try:
        if point.goal is not None:
            assert tip is not None
            return tip.solve(point.goal, near)
        given = point.joints or {}
        target = space.to(near, given)
    except Refused as reason:
        raise Refused(f"{point.where}: {reason}") from None
    there = space.near(target)
    for name, value in given.items():
        if abs(there[name] - value) > FITS:
            others = ", ".join(other for other in given if other != name)
            raise Refused(f"{point.where}: {name} = {value:.6g} does not close the loops: with {others} there it goes "
                          f"to {there[name]:.6g}; leave it out")
    return target


def speeds(mechanism: Mechanism, joint: Joint, scale: float) -> tuple[float, float, float]:
    """Return a joint's limits of velocity, acceleration and jerk. Default acceleration: the velocity limit is reached
    in RISE. Default jerk: the acceleration limit is reached in BUILD_UP. Raises BadInput without a velocity limit."""
    limits: Limits = joint.limits
    if not np.isfinite(limits.velocity):
        refuse(mechanism, f"joint.{joint.name}.limits.velocity", None, "is needed to plan",
               "where a loop alone moves the joint, write actuated = false" if unmoved(mechanism, joint) else
               "how fast may the joint move?")
    acceleration = limits.acceleration if np.isfinite(limits.acceleration) else limits.velocity / RISE
    jerk = limits.jerk if np.isfinite(limits.jerk) else acceleration / BUILD_UP
    return limits.velocity * scale, acceleration * scale**2, jerk * scale**3


def _bounds(space: Space, scale: float) -> tuple[Array, Array, Array]:
    """Return `speeds` of all coordinates, each (f,)."""
    rate, acceleration, jerk = np.array([speeds(space.whole, joint, scale) for joint in space.joints]).T
    return rate, acceleration, jerk


# -- joints move together ---------------------------------------------------------------------------------------------


def _move(space: Space, here: Array, group: list[tuple[Waypoint, Array]], speed: float) -> _Section:
    """Return the section that begins at rest at `here` (n,), passes a group of waypoints and ends at rest at the last
    waypoint."""
    poses, to = [space.coordinates(here)], []
    for point, pose in group:
        q = space.coordinates(pose)
        if np.max(np.abs(q - poses[-1])) > SAME:  # else the arm is there
            poses.append(q)
            to.append(point)
    if not to:
        return _rest(space, here, 0.0, group[-1][0].where)
    bounds = [_bounds(space, speed * point.speed) for point in to]
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
    return _Section(space, here, at, float(starts[-1]), via, to[-1].where)


def _leg(a: Array, b: Array, rate_a: Array, rate_b: Array, bounds: tuple[Array, Array, Array]) -> Any:
    """Return ruckig's motion of all joints between two states without accelerations; None if impossible."""
    import ruckig  # noqa: PLC0415 (an extra)

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
    """Return velocities (waypoints - 1, J) at the inner waypoints: the harmonic mean of the mean velocities before and
    after the waypoint, zero for a reversing joint (Fritsch and Butland's rule for monotone curves)."""
    means = np.diff(poses, axis=0) / np.array(durations)[:, None]
    a, b = means[:-1], means[1:]
    same = a * b > 0.0
    return np.where(same, 2.0 * a * b / np.where(same, a + b, 1.0), 0.0)


def _legs(poses: list[Array], rates: Array, bounds: list[tuple[Array, Array, Array]]) -> list[Any] | None:
    """Return the sections of a motion for these velocities at the inner waypoints. Return None if a section has no
    solution or if a joint reverses."""
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


def _rest(space: Space, here: Array, duration: float, to: str) -> _Section:
    x = space.coordinates(here)

    def at(t: Array) -> tuple[Array, Array, Array]:
        still = np.zeros((len(t), len(x)))
        return still + x, still, still

    return _Section(space, here, at, duration, (), to)


# -- the tip on a straight line ---------------------------------------------------------------------------------------


def _line(space: Space, tip: Tip, point: Waypoint, here: Array, speed: float) -> tuple[_Section, Array]:
    """Plan a straight line of the tip that begins and ends at rest. Returns the section and its last pose (n,)."""
    path, end = _path(space, tip, point, here)
    s = np.linspace(0.0, 1.0, 4 * LINE_SAMPLES)
    steepest = np.max(np.abs(path(s)[1]), axis=0)
    if np.max(steepest) < SAME:
        return _rest(space, here, 0.0, point.where), here
    with np.errstate(divide="ignore"):
        rate, acceleration, jerk = (np.array([np.min(x / steepest)]) for x in _bounds(space, speed * point.speed))
    along = _leg(np.zeros(1), np.ones(1), np.zeros(1), np.zeros(1), (rate, acceleration, jerk))

    def at(t: Array) -> tuple[Array, Array, Array]:
        x, xd, xdd = (np.array([along.at_time(float(a))[n][0] for a in t])[:, None] for n in range(3))
        q, slope, bend = path(np.clip(x[:, 0], 0.0, 1.0))
        return q, slope * xd, slope * xdd + bend * xd**2

    duration = float(along.duration)
    return _Section(space, here, at, duration, ((duration, point.where),), point.where), end


def _path(space: Space, tip: Tip, point: Waypoint, here: Array) -> tuple[Curve, Array]:
    """Return the coordinates along the line as a quintic spline over s = 0..1, with the tip within LINE_ERROR of the
    line."""
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415 (an extra)

    assert point.goal is not None
    begin, count = tip.at(here), LINE_SAMPLES
    while True:
        s = np.linspace(0.0, 1.0, count)
        q, jump = _followed(tip, _goals(begin, point.goal, s), point, here)
        spline = make_interp_spline(s, space.coordinates(q), k=5)
        middles = (s[1:] + s[:-1]) / 2.0
        wanted = begin.xyz + middles[:, None] * (point.goal.xyz - begin.xyz)
        off = float(np.max(np.linalg.norm(tip.points(space.follow(here, spline(middles))) - wanted, axis=1)))
        if off <= LINE_ERROR and jump <= LINE_STEP:
            slope, bend = spline.derivative(1), spline.derivative(2)
            return partial(_curve, spline, slope, bend), q[-1]
        if count >= LINE_MOST:
            raise Refused(f"{point.where}: the straight line to it passes so near a singular pose that a joint jumps "
                          f"by {jump:.2g}; go there without line, or by another way")
        count = 2 * count - 1


def _curve(*splines_and_s: Any) -> tuple[Array, Array, Array]:
    *splines, s = splines_and_s
    q, slope, bend = (spline(s) for spline in splines)
    return q, slope, bend


def _goals(begin: Goal, end: Goal, s: Array) -> list[Goal]:
    """Return goals along the line: positions in proportion, orientations about one axis (slerp)."""
    from scipy.spatial.transform import Slerp  # noqa: PLC0415 (an extra)

    xyz = begin.xyz + s[:, None] * (end.xyz - begin.xyz)
    if end.rotation is None:
        return [Goal(x) for x in xyz]
    assert begin.rotation is not None
    turn = Slerp([0.0, 1.0], type(end.rotation).concatenate([begin.rotation, end.rotation]))
    return [Goal(x, rotation) for x, rotation in zip(xyz, turn(s), strict=True)]


def _followed(tip: Tip, goals: list[Goal], point: Waypoint, here: Array) -> tuple[Array, float]:
    """Return poses (N, n) from goal to goal, and the largest change of a joint between two poses."""
    q = [tip.solve(goals[0], here, starts=0)]
    for i, goal in enumerate(goals[1:], 1):
        try:
            q.append(tip.solve(goal, q[-1], starts=0))
        except Refused as reason:
            raise Refused(f"{point.where}: the straight line to it cannot be followed beyond "
                          f"{(i - 1) / (len(goals) - 1):.0%} of the way: {reason}") from None
    return np.array(q), float(np.max(np.abs(np.diff(q, axis=0))))


# -- within the limits ------------------------------------------------------------------------------------------------


Moves = tuple[Array, Array, Array]  # positions, velocities, accelerations of all joints, each (N, n)


@dataclass(frozen=True)
class _Played:
    """A section as played by the board: positions of all joints at the knots."""

    rows: Moves
    factor: float  # duration over the duration of the unslowed section
    slowed: float  # the part of the factor that the effort limits cause
    because: str


def _joined(mechanism: Mechanism, sections: list[_Section], speed: float, reserve: float, waypoints: Waypoints) -> Plan:
    """Return the sections in order, slowed where needed."""
    period = 1.0 / mechanism.control.knot_hz
    parts: list[tuple[Array, Array, Array]] = []
    arrivals: list[tuple[float, str]] = []
    slowed: list[Slowed] = []
    modes: list[tuple[float, str]] = []
    tips: list[Array] = []
    knots = 0
    for number, section in enumerate(sections, 1):
        played = _played(section, speed, reserve)
        arrivals += [(knots * period + t * played.factor, where) for t, where in section.via]
        if played.because:
            slowed.append(Slowed(number, section.to, played.slowed, played.because))
        if section.space.mode and (not modes or modes[-1][1] != section.space.mode):
            modes.append((knots * period, section.space.mode))
        keep = slice(None) if not parts else slice(1, None)
        q, qd, qdd = (section.space.streamed(x)[keep] for x in played.rows)
        parts.append((q, qd, qdd))
        if waypoints.tip is not None:
            tip = Tip(section.space.mechanism, waypoints.tip.link, waypoints.tip.offset)
            tips.append(tip.points(played.rows[0][keep]))
        knots += len(played.rows[0]) - 1
    q, qd, qdd = (np.concatenate([part[n] for part in parts]) for n in range(3))
    names = [joint.name for joint in mechanism.streamed]
    trajectory = replace(from_rows(names, np.arange(len(q)) * period, q, qd, qdd), modes=tuple(modes))
    check_limits(trajectory, mechanism)
    return Plan(trajectory, tuple(arrivals), tuple(slowed), shares(mechanism, trajectory),
                np.concatenate(tips) if tips else None)


def _played(section: _Section, speed: float, reserve: float) -> _Played:
    """Slow a section until its torques fit. Raise Refused if no speed is slow enough, or if the loop equations cannot
    be solved along the section."""
    hz, own = section.space.whole.control.knot_hz, section.duration
    factor, kinematic, because = 1.0, 1.0, ""
    for _ in range(ROUNDS):
        knots = max(1, int(np.ceil(own * factor * hz - 1e-6)))
        whole = knots / (hz * own)  # to whole knots
        try:
            rows = _rows(section, knots, whole)
            t, moves = _samples(section, rows)
        except Refused as reason:
            raise Refused(f"on the way to {section.to}: {reason}") from None
        section.space.check(moves[0], section.to)
        jerk = np.diff(rows[2], axis=0) * hz  # from knot to knot
        slower = _too_fast(section.space, moves[1], moves[2], jerk, speed)
        if slower > 1.0:
            factor = whole * slower
            kinematic = factor
            continue
        slower, why = _too_heavy(section.space, moves, reserve, section.to)
        if slower <= 1.0:
            return _Played(rows, whole, whole / max(kinematic, 1.0), because)
        factor, because = whole * slower, because or why
        if factor > SLOWEST:
            break
    raise Refused(f"the way to {section.to} is too heavy at any speed: {because}")


def _rows(section: _Section, knots: int, factor: float) -> Moves:
    """Return rows of all joints at the knots, (knots + 1, n), at rest at both ends."""
    t = np.linspace(0.0, section.duration, knots + 1)
    x, xd, xdd = section.at(t)
    xd, xdd = xd / factor, xdd / factor**2
    for end in (0, -1):
        xd[end] = xdd[end] = 0.0
    return section.space.motion(section.begin, x, xd, xdd)


def _samples(section: _Section, rows: Moves) -> tuple[Array, Moves]:
    """Return times t (N,) and the motion of all joints as the board plays it, at the knots and between them."""
    space, period = section.space, 1.0 / section.space.whole.control.knot_hz
    names = [joint.name for joint in space.joints]
    q, qd, qdd = map(space.coordinates, rows)
    played = from_rows(names, np.arange(len(q)) * period, q, qd, qdd)
    t = np.arange((len(rows[0]) - 1) * effort.SAMPLES + 1, dtype=float) * (period / effort.SAMPLES)
    return t, space.motion(section.begin, *played.at(t))


def _too_fast(space: Space, qd: Array, qdd: Array, jerk: Array, speed: float) -> float:
    """Return the time factor by which the motion must be slowed for all joints' limits of velocity, acceleration and
    jerk. At most 1: the motion keeps all limits."""
    slower = 1.0
    for j, body in enumerate(space.assembly.model.bodies):
        joint = body.joint
        bounds = (joint.limits.velocity, joint.limits.acceleration, joint.limits.jerk)
        for order, (values, bound) in enumerate(zip((qd, qdd, jerk), bounds, strict=True), 1):
            slower = max(slower, (float(np.max(np.abs(values[:, j]))) / bound) ** (1.0 / order) / speed)
    return slower * (1.0 + 1e-4) if slower > 1.0 + 1e-7 else 1.0


def _too_heavy(space: Space, moves: Moves, reserve: float, to: str) -> tuple[float, str]:
    """Return the time factor by which the motion must be slowed for the effort limits, and the reason. Raises Refused
    if a joint is too weak to hold the arm."""
    whole, joints, (q, qd, _) = space.whole, space.whole.streamed, moves
    tau = effort.of_space(space, *moves)
    velocities = space.streamed(qd)
    there = Motors.of(whole).torque(velocities, tau) * (1.0 - reserve)
    over = np.abs(tau) - there
    i, j = np.unravel_index(int(np.argmax(np.where(np.isfinite(over), over, -np.inf))), over.shape)
    if not over[i, j] > 1e-9:
        return 1.0, ""
    still = np.zeros_like(q)
    weight = effort.of_space(space, q, still, still)
    held = weight + DrivenFriction.of(joints).at_rest(weight) * np.sign(velocities) * space.driven
    most = Motors.of(whole).torque(np.zeros_like(velocities), held) * (1.0 - reserve)
    for a, b in np.argwhere(np.abs(held) > most)[:1]:
        joint = joints[b]
        raise Refused(
            f"on the way to {to}, {joint.name} needs {abs(held[a, b]):.3g} {_unit(joint)} to hold the arm up at "
            f"{joint.name} = {space.streamed(q)[a, b]:.3g}, and {most[a, b]:.3g} {_unit(joint)} is there "
            f"({reserve:.0%} kept for the feedback): no speed is slow enough; go another way, or take a stronger motor"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = np.where(over > 0.0, (tau - held) * np.sign(tau) / (there - held * np.sign(tau)), 1.0)
    slower = float(np.sqrt(np.clip(np.nan_to_num(squared, nan=4.0, posinf=4.0), 1.0, 4.0).max()))
    joint = joints[j]
    return max(slower,
               1.001) * 1.0005, (f"{joint.name} would need {abs(tau[i, j]):.3g} {_unit(joint)}, {there[i, j]:.3g} "
                                         f"{_unit(joint)} is there ({reserve:.0%} kept for the feedback)")


def _unit(joint: Joint) -> str:
    return "N" if joint.type == "prismatic" else "N m"


def shares(mechanism: Mechanism, trajectory: Trajectory) -> dict[str, dict[str, float | None]]:
    """Return the largest fraction of each limit that each joint reaches. For a mechanism with flexible links, the
    fraction of the effort is None."""
    period = 1.0 / (effort.SAMPLES * mechanism.control.knot_hz)
    t = np.arange(int(np.ceil(trajectory.duration / period - 1e-6)) + 1, dtype=float) * period
    _, qd, qdd = trajectory.at(t)
    tau = np.full_like(qd, np.nan) if mechanism.flexible else effort.wanted(mechanism, t, trajectory)
    there = tau if mechanism.flexible else Motors.of(mechanism).torque(qd, tau)
    found: dict[str, dict[str, float | None]] = {}
    for j, joint in enumerate(mechanism.streamed):
        with np.errstate(divide="ignore", invalid="ignore"):
            values = {"velocity": np.abs(qd[:, j]) / joint.limits.velocity,
                      "acceleration": np.abs(qdd[:, j]) / joint.limits.acceleration,
                      "effort": np.abs(tau[:, j]) / there[:, j]}
        found[joint.name] = {k: float(v.max()) if k == "effort" and np.isfinite(there[:, j]).all()
                             or k != "effort" and np.isfinite(getattr(joint.limits, k)) else None
                             for k, v in values.items()}
    return found
