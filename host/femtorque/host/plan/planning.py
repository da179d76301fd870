"""Turns waypoints into a jerk-limited motion within the limits of position, velocity, acceleration and effort.

Between two stops, all joints start and stop at the same times (ruckig: synchronised, in phase if possible). If the
motion passes through a waypoint, no joint reverses there. For a straight line of the tip, the planner first solves the
inverse kinematics along the line. Each section then has two candidates on the same path: ruckig's motion within the
limits of velocity, acceleration and jerk, and the motion that uses the efforts fully (host/plan/path_timing.py). A
search finds the least number of knots in which a candidate keeps all limits, and the planner takes the quicker one. A
row of the result is a knot. The board plays quintics between the rows, and the quintics keep the limits.

For a closed mechanism, the planner moves the independent joints. The other joints follow from the loop equations. These
joints stay within their limits and on the assembly branch of the start pose (host/plan/plan_coordinates.py). A mode is
entered at rest, in a pose that satisfies the loop equations of the mode.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, BadInput, Refused
from femtorque.codegen.control import BUILD_UP, RISE, Motors
from femtorque.codegen.mechanism import Joint, Limits, Mechanism, refuse, unmoved
from femtorque.codegen.motion import Trajectory, check_limits, from_rows
from femtorque.host.plan import effort
from femtorque.host.plan.closed_tip import ClosedTip
from femtorque.host.plan.path_timing import Curve, Path as Along, averaged, fastest
from femtorque.host.plan.plan_coordinates import FITS, Space, begin_of
from femtorque.host.plan.tip import Goal, Tip
from femtorque.host.plan.waypoints import Waypoint, Waypoints

GENTLE = 0.25  # time in which a joint without limits of acceleration and effort reaches its full velocity, s
# factors on limits of velocity, acceleration and jerk; ruckig does not find some motions that just reach a limit
TRIALS = (1.0, 1.0, 1.0), (1.0 - 1e-8, 1.0 - 3e-8, 1.0)
SAME = 1e-7  # difference below which poses count as equal, rad or m
PATH_SAMPLES = 400  # number of points along a path through waypoints
LINE_SAMPLES, LINE_MOST, LINE_ERROR = 33, 1025, 1e-5  # first and largest number of points on a line; largest error, m
LINE_STEP = 0.5  # step above which two points of a line are a jump, rad or m
SLOWEST = 1e3  # largest factor of time
QUICKER = 0.8  # least factor of time: the average of a motion may need less than the motion
ACTS = 0.97  # fraction of a limit from which the limit acts
WEIGHTS = 33  # points of a section at which the search computes the torques at rest
LONGER = 1.2  # factor between two durations in the search for one that the efforts allow
WIDER = 1.25  # factor between two windows
BEGINNING = "the beginning"


@dataclass(frozen=True)
class Slowed:
    """A section that is played more slowly, since the motors cannot play the section at its planned speed."""

    section: int
    to: str
    factor: float  # new duration over planned duration
    because: str


@dataclass(frozen=True)
class Acts:
    """A stretch of a motion, s, in which a joint is at one of its limits."""

    begin: float
    end: float
    joint: str
    limit: str


@dataclass(frozen=True)
class Plan:
    """A plan through waypoints."""

    trajectory: Trajectory
    arrivals: tuple[tuple[float, str], ...]  # (time s, waypoint) of every reached waypoint
    slowed: tuple[Slowed, ...]
    # largest used fraction of each limit, by joint; None without a limit
    shares: dict[str, dict[str, float | None]]
    tip: Array | None  # tip positions (R, 3), m, if waypoints use a tip
    acts: tuple[Acts, ...]

    def __repr__(self) -> str:
        return f"<Plan: {self.words().splitlines()[0]}>"

    def words(self) -> str:
        """Return the duration and the slowed sections in words."""
        lines = [f"{self.trajectory.duration:.3f} s, {len(self.arrivals)} waypoint{'s' * (len(self.arrivals) != 1)}, "
                 f"every limit kept"]
        for s in self.slowed:
            lines.append(f"the way to {s.to} is {s.factor:.2f} times slower than the other limits allow: {s.because}")
        if self.acts:
            lines.append(f"at a limit for {self._share(self.acts):.0%} of the time: " + ", ".join(
                f"{limit} of {joint} {share:.0%}" for (joint, limit), share in self._acting()))
        return "\n".join(lines)

    def _acting(self) -> list[tuple[tuple[str, str], float]]:
        """Return the fraction of the time at each joint's limits, the largest first."""
        keys = dict.fromkeys((act.joint, act.limit) for act in self.acts)
        each = {key: self._share(act for act in self.acts if (act.joint, act.limit) == key) for key in keys}
        return sorted(each.items(), key=lambda pair: -pair[1])

    def _share(self, acts: Iterable[Acts]) -> float:
        return sum(act.end - act.begin for act in acts) / self.trajectory.duration

    def data(self) -> dict[str, Any]:
        """Return the JSON object of `femtorque plan`."""
        return {
            "duration": self.trajectory.duration, "rows": len(self.trajectory.times),
            "waypoints": [{"t": t, "waypoint": name} for t, name in self.arrivals],
            "slowed": [vars(s) for s in self.slowed], "of_limit": self.shares, "acts": [vars(act) for act in self.acts],
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
    path: Along | None = None  # the same motion without times
    marks: tuple[float, ...] = ()  # path parameters of `via`


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
            self.sections += _moves(self.space, self.here, self.group, self.speed)
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
    """Return the pose (n,) that reaches a waypoint and is nearest to `near`. Raises BadInput if the tip cannot reach
    the waypoint, and Refused if the closed loops cannot."""
    try:
        if point.goal is not None:
            assert tip is not None
            return _reaching(tip, point, near)
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


def _bounds(space: Space, scale: float) -> tuple[Array, Array, Array]:
    """Return the limits of velocity, acceleration and jerk of all coordinates, each (f,), at a fraction of full speed.

    Default acceleration: a joint reaches its full velocity in RISE, and the efforts limit the acceleration further. A
    joint without an effort limit takes GENTLE. Default jerk: the full acceleration is reached in BUILD_UP. Raises
    BadInput without a velocity limit."""
    efforts = dict(zip((j.name for j in space.whole.streamed), Motors.of(space.whole).effort, strict=True))
    rows = []
    for joint in space.joints:
        limits: Limits = joint.limits
        if not np.isfinite(limits.velocity):
            refuse(space.whole, f"joint.{joint.name}.limits.velocity", None, "is needed to plan",
                   "where a loop alone moves the joint, write actuated = false" if unmoved(space.whole, joint) else
                   "how fast may the joint move?")
        rise = RISE if np.isfinite(efforts.get(joint.name, np.inf)) else GENTLE
        acceleration = limits.acceleration if np.isfinite(limits.acceleration) else limits.velocity / rise
        jerk = limits.jerk if np.isfinite(limits.jerk) else acceleration / BUILD_UP
        rows.append((limits.velocity * scale, acceleration * scale**2, jerk * scale**3))
    rate, acceleration, jerk = np.array(rows).T
    return rate, acceleration, jerk


# -- joints move together ---------------------------------------------------------------------------------------------


def _moves(space: Space, here: Array, group: list[tuple[Waypoint, Array]], speed: float) -> list[_Section]:
    """Return the sections that begin at rest at `here` (n,), pass a group of waypoints and end at rest at the last
    waypoint. A new section begins at a waypoint where no joint can go on."""
    places, poses, to = [here], [space.coordinates(here)], []
    for point, pose in group:
        q = space.coordinates(pose)
        if np.max(np.abs(q - poses[-1])) > SAME:  # else the arm is there
            places.append(pose)
            poses.append(q)
            to.append(point)
    if not to:
        return [_rest(space, here, 0.0, group[-1][0].where)]
    bounds = [_bounds(space, speed * point.speed) for point in to]
    legs = [_leg(a, b, np.zeros_like(a), np.zeros_like(a), bound)
            for a, b, bound in zip(poses, poses[1:], bounds, strict=False)]
    assert all(leg is not None for leg in legs), "from rest to rest there is always a way"
    rates = _through(poses, [leg.duration for leg in legs if leg is not None], bounds)
    best, passes = [leg for leg in legs if leg is not None], np.zeros(len(rates), bool)
    for share in (2.0, 1.7, 1.4, 1.2, 1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1) if len(to) > 1 else ():
        tried = _legs(poses, rates * share, bounds)
        if tried is not None and sum(x.duration for x in tried) < sum(x.duration for x in best):
            best, passes = tried, np.any(rates != 0.0, axis=1)
    ends = [*(np.flatnonzero(~passes) + 1), len(to)]
    return [_move(space, places[a], poses[a:b + 1], best[a:b], to[a:b], speed)
            for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def _move(space: Space, here: Array, poses: list[Array], legs: list[Any], to: list[Waypoint], speed: float) -> _Section:
    """Return the section of ruckig's legs, which pass all waypoints but the last."""
    starts = np.concatenate([[0.0], np.cumsum([leg.duration for leg in legs])])

    def at(t: Array) -> tuple[Array, Array, Array]:
        which = np.clip(np.searchsorted(starts, t, "right") - 1, 0, len(legs) - 1)
        states = [legs[i].at_time(float(x - starts[i])) for i, x in zip(which, t, strict=True)]
        q, qd, qdd = (np.array([state[n] for state in states]) for n in range(3))
        return q, qd, qdd

    curve, marks = _straight(poses[0], poses[1]), np.array([0.0, 1.0])
    if len(to) > 1:
        curve, marks = _bent(at, starts, np.max(np.abs(np.diff(poses, axis=0)), axis=0))
    shares = speed * np.array([point.speed for point in to])
    via = tuple((float(t), point.where) for t, point in zip(starts[1:], to, strict=True))
    path = _along(space, here, curve, lambda s: shares[np.clip(np.searchsorted(marks, s) - 1, 0, len(to) - 1)])
    return _Section(space, here, at, float(starts[-1]), via, to[-1].where, path, tuple(marks[1:].tolist()))


def _straight(a: Array, b: Array) -> Curve:
    """Return the straight path from a to b (f,)."""
    def curve(s: Array) -> tuple[Array, Array, Array]:
        still = np.zeros((len(s), len(a)))
        return a + s[:, None] * (b - a), still + b - a, still

    return curve


def _bent(at: Curve, starts: Array, size: Array) -> tuple[Curve, Array]:
    """Return the path of a motion, by its length, and the path parameters at the times `starts`. size (f,): unit of
    each coordinate's length."""
    from scipy.interpolate import CubicHermiteSpline  # noqa: PLC0415 (an extra)

    weight = 1.0 / np.maximum(size, SAME) ** 2
    t = np.unique(np.concatenate([starts, np.linspace(0.0, starts[-1], PATH_SAMPLES)]))

    def rates(t: Array) -> tuple[Array, Array, Array, Array]:
        q, qd, qdd = at(t)
        return q, qd, qdd, np.sqrt(np.sum(weight * qd**2, axis=1))

    speed, middle = rates(t)[3], rates((t[1:] + t[:-1]) / 2.0)[3]
    length = np.concatenate([[0.0], np.cumsum(np.diff(t) * (speed[1:] + 4.0 * middle + speed[:-1]) / 6.0)])
    total, of_time = float(length[-1]), CubicHermiteSpline(t, length, speed)

    def curve(s: Array) -> tuple[Array, Array, Array]:
        when = np.interp(s * total, length, t)
        for _ in range(3):
            away = of_time(when) - s * total
            when = np.clip(when - away / np.maximum(rates(when)[3], 1e-3 * speed.max()), 0.0, t[-1])
        q = at(when)[0]
        _, qd, qdd, rate = rates(np.clip(when, t[1], t[-2]))  # at rest the direction is that of the next sample
        slope = qd / rate[:, None]
        bend = (qdd - slope * np.sum(weight * slope * qdd, axis=1)[:, None]) / rate[:, None] ** 2
        return q, slope * total, bend * total**2

    return curve, of_time(starts) / total


def _along(space: Space, here: Array, curve: Curve, share: Callable[[Array], Array]) -> Along:
    """Return a path with the accelerations of all joints (n,) at full speed; infinite without a limit."""
    most = np.array([body.joint.limits.acceleration for body in space.assembly.model.bodies])
    most[list(space.assembly.independent)] = _bounds(space, 1.0)[1]
    return Along(space, here, curve, share, most)


def _leg(a: Array, b: Array, rate_a: Array, rate_b: Array, bounds: tuple[Array, Array, Array]) -> Any:
    """Return ruckig's motion of all joints between two states without accelerations; None if impossible."""
    import ruckig  # noqa: PLC0415 (an extra)

    wanted = ruckig.InputParameter(len(a))
    wanted.current_position, wanted.target_position = a.tolist(), b.tolist()
    wanted.current_velocity, wanted.target_velocity = rate_a.tolist(), rate_b.tolist()
    wanted.synchronization = ruckig.Synchronization.Phase
    for factors in TRIALS:
        leg = ruckig.Trajectory(len(a))
        wanted.max_velocity, wanted.max_acceleration, wanted.max_jerk = (
            (factor * x).tolist() for factor, x in zip(factors, bounds, strict=True))
        with suppress(ruckig.RuckigError):
            ruckig.Ruckig(len(a)).calculate(wanted, leg)
            return leg
    return None


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
    whole = _along(space, here, path, lambda s: np.full(len(s), speed * point.speed))
    return _Section(space, here, at, duration, ((duration, point.where),), point.where, whole, (1.0,)), end


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


def _reaching(tip: Tip, point: Waypoint, near: Array) -> Array:
    """Return the pose (n,) with the tip at the waypoint's goal. Raises BadInput with the obstacle."""
    assert point.goal is not None
    try:
        return tip.solve(point.goal, near)
    except Refused as reason:
        raise BadInput(tip.source, point.where, None, str(reason)) from None


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
class _Try:
    """A section as the board plays the section in a number of knots."""

    space: Space
    knots: int
    moves: Moves  # at the knots and between the knots
    tau: Array  # torques of the bodies (N, J)
    weight: Array  # torques of the bodies at rest (N, J)
    fast: float  # time factor at which the motion reaches a limit of velocity, acceleration or jerk

    @property
    def rows(self) -> Moves:
        """Positions, velocities and accelerations of all joints at the knots, each (knots + 1, n)."""
        q, qd, qdd = (x[::effort.SAMPLES] for x in self.moves)
        return q, qd, qdd

    def needed(self, factor: float) -> tuple[Array, Array]:
        """Return the torques (N, J) in the motion that is slower by a factor, and the torques of the motors there."""
        qd, qdd = self.space.streamed(self.moves[1]) / factor, self.space.streamed(self.moves[2]) / factor**2
        tau = effort.with_motors(self.space, qd, qdd, self.weight + (self.tau - self.weight) / factor**2)
        return tau, Motors.of(self.space.whole).torque(qd, tau)

    def over(self, factor: float, reserve: float) -> Array:
        """Return the torques (N, J) that are missing in the motion that is slower by a factor."""
        tau, there = self.needed(factor)
        over = np.abs(tau) - there * (1.0 - reserve)
        return np.where(np.isfinite(over), over, -np.inf)

    def heavy(self, knots: int, reserve: float) -> bool:
        """Return True if the efforts are too small in this number of knots."""
        return bool(np.max(self.over(knots / self.knots, reserve), initial=-np.inf) > 1e-9)

    def least(self, reserve: float) -> int:
        """Return the least number of knots that keep all limits on the same path. SLOWEST limits the search."""
        least = max(1, int(np.ceil(self.knots * self.fast * (1.0 - 1e-7))))
        low, high = least - 1, least
        while self.heavy(high, reserve) and high < SLOWEST * self.knots:
            low, high = high, int(np.ceil(high * LONGER))
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (middle, high) if self.heavy(middle, reserve) else (low, middle)
        return high


@dataclass(frozen=True)
class _Played:
    """A section as played by the board."""

    motion: _Try
    via: tuple[tuple[float, str], ...]  # (time, waypoint)
    slowed: float  # duration over the duration without effort limits
    because: str


def _joined(mechanism: Mechanism, sections: list[_Section], speed: float, reserve: float, waypoints: Waypoints) -> Plan:
    """Return the sections in order, slowed where needed."""
    period = 1.0 / mechanism.control.knot_hz
    parts: list[tuple[Array, Array, Array]] = []
    arrivals: list[tuple[float, str]] = []
    slowed: list[Slowed] = []
    modes: list[tuple[float, str]] = []
    tips: list[Array] = []
    tau: list[Array] = []
    knots = 0
    for number, section in enumerate(sections, 1):
        played = _played(section, speed, reserve)
        arrivals += [(knots * period + t, where) for t, where in played.via]
        if played.because and played.slowed > 1.0:
            slowed.append(Slowed(number, section.to, played.slowed, played.because))
        if section.space.mode and (not modes or modes[-1][1] != section.space.mode):
            modes.append((knots * period, section.space.mode))
        keep = slice(None) if not parts else slice(1, None)
        rows = played.motion.rows
        q, qd, qdd = (section.space.streamed(x)[keep] for x in rows)
        parts.append((q, qd, qdd))
        tau.append(played.motion.needed(1.0)[0][keep])
        if waypoints.tip is not None:
            tip = Tip(section.space.mechanism, waypoints.tip.link, waypoints.tip.offset)
            tips.append(tip.points(rows[0][keep]))
        knots += played.motion.knots
    q, qd, qdd = (np.concatenate([part[n] for part in parts]) for n in range(3))
    names = [joint.name for joint in mechanism.streamed]
    trajectory = replace(from_rows(names, np.arange(len(q)) * period, q, qd, qdd), modes=tuple(modes))
    check_limits(trajectory, mechanism)
    t, used = used_limits(mechanism, trajectory, np.concatenate(tau))
    return Plan(trajectory, tuple(arrivals), tuple(slowed), _largest(mechanism, used),
                np.concatenate(tips) if tips else None, _acting(mechanism, t, used, speed, reserve))


def _played(section: _Section, speed: float, reserve: float) -> _Played:
    """Return the quicker of two motions: ruckig's, whose jerk is best, and the one at the limits along the path. Raise
    Refused if no speed is slow enough, or if the loop equations cannot be solved along the section."""
    try:
        ahead = _at_limits(section, speed, reserve)
        if ahead is None:
            return _slowed(section, speed, reserve)
        quick = _slowed(ahead, speed, reserve)
        less, own = quick.motion.knots - 1, section.duration * section.space.whole.control.knot_hz
        tried = _try(section, speed, less) if less >= own else None
        if tried is None or tried.fast > 1.0 or tried.heavy(less, reserve):
            return replace(quick, slowed=(less + 1) / own, because=_missing(tried, reserve) if tried else "")
        return _slowed(section, speed, reserve, less)
    except Refused as reason:
        if str(reason).startswith("on the way"):
            raise
        raise Refused(f"on the way to {section.to}: {reason}") from None


def _at_limits(section: _Section, speed: float, reserve: float) -> _Section | None:
    """Return the section at the limits of velocity, acceleration and effort, averaged to keep the jerk limits. None
    without this motion."""
    path = section.path
    found = fastest(path, reserve) if path is not None else None
    if path is None or found is None:
        return None
    hz, jerk = section.space.whole.control.knot_hz, np.array([j.limits.jerk for j in section.space.joints])
    least = float(np.min(path.share(np.linspace(0.0, 1.0, 9))))
    window = 1.0 / hz if np.isfinite(jerk).all() else BUILD_UP / least
    while True:
        along, duration = averaged(*found, window)

        def at(t: Array, along: Curve = along) -> tuple[Array, Array, Array]:
            s, rate, change = along(t)
            q, slope, bend = path.curve(s)
            return q, slope * rate[:, None], slope * change[:, None] + bend * rate[:, None] ** 2

        t = np.arange(0.0, duration, 1.0 / hz)
        s = along(t)[0]
        if np.all(np.abs(np.diff(at(t)[2], axis=0)) * hz <= jerk * path.share(s[1:])[:, None] ** 3):
            break
        window *= WIDER
        if window > section.duration:
            return None
    t = np.linspace(0.0, duration, PATH_SAMPLES)
    times = [*np.interp(section.marks[:-1], along(t)[0], t), duration]
    via = tuple((float(when), where) for when, (_, where) in zip(times, section.via, strict=True))
    return replace(section, at=at, duration=duration, via=via)


def _slowed(section: _Section, speed: float, reserve: float, first: int = 0) -> _Played:
    """Play a section with the fewest knots that keep all limits. first: knots of the first try. Each try computes the
    number of knots of the next one. Raises Refused if a joint is too weak to hold the arm."""
    own = section.duration * section.space.whole.control.knot_hz
    knots, low = first or max(1, int(np.ceil(own - 1e-6))), int(np.ceil(own * (QUICKER if section.path else 1.0))) - 1
    best, because = None, ""
    while best is None or knots < best.knots:
        tried = _try(section, speed, knots)
        missing = _missing(tried, reserve)
        if missing:
            _check_held(tried, reserve, section.to)
        because = because or missing
        if tried.fast > 1.0 or tried.heavy(knots, reserve):
            low = knots
        else:
            best = tried
        knots = max(tried.least(reserve), low + 1)
        if knots > SLOWEST * own:
            raise Refused(f"the way to {section.to} is too heavy at any speed: {because}")
    via = tuple((t * best.knots / own, where) for t, where in section.via)
    return _Played(best, via, best.knots / own / max(best.knots / own * best.fast, 1.0), because)


def _try(section: _Section, speed: float, knots: int) -> _Try:
    """Return the motion of all joints in a section that the board plays in a number of knots, at rest at both ends."""
    space, period = section.space, 1.0 / section.space.whole.control.knot_hz
    x, xd, xdd = section.at(np.linspace(0.0, section.duration, knots + 1))
    factor = knots * period / section.duration
    xd, xdd = xd / factor, xdd / factor**2
    for end in (0, -1):
        xd[end] = xdd[end] = 0.0
    times = np.arange(knots + 1) * period
    t = np.append((times[:-1, None] + np.arange(effort.SAMPLES) * (period / effort.SAMPLES)).ravel(), times[-1])
    moves = space.motion(section.begin, *from_rows([j.name for j in space.joints], times, x, xd, xdd).at(t))
    space.check(moves[0], section.to)
    some = np.linspace(0, len(t) - 1, WEIGHTS).astype(int)
    tau, weights = np.split(space.torque(*(np.vstack([x, x[some] * still]) for x, still in
                                           zip(moves, (1.0, 0.0, 0.0), strict=True))), [len(t)])
    weight = np.column_stack([np.interp(np.arange(len(t)), some, column) for column in weights.T])
    jerk = np.diff(moves[2][::effort.SAMPLES], axis=0) / period
    return _Try(space, knots, moves, tau, weight, _fast(space, moves[1], moves[2], jerk, speed))


def _fast(space: Space, qd: Array, qdd: Array, jerk: Array, speed: float) -> float:
    """Return the time factor at which a motion reaches a limit of velocity, acceleration or jerk. At most 1: the motion
    keeps these limits."""
    limits = [body.joint.limits for body in space.assembly.model.bodies]
    bounds = ([x.velocity for x in limits], [x.acceleration for x in limits], [x.jerk for x in limits])
    fast = max(float(np.max(np.abs(values) / bound)) ** (1.0 / order) / speed
               for order, (values, bound) in enumerate(zip((qd, qdd, jerk), bounds, strict=True), 1))
    return fast if fast > 1.0 + 1e-7 else min(fast, 1.0)


def _missing(tried: _Try, reserve: float) -> str:
    """Return words about the largest missing torque of a motion; empty if the motors suffice or if another limit acts.
    """
    over = tried.over(1.0, reserve)
    i, j = np.unravel_index(int(np.argmax(over)), over.shape)
    if tried.fast > 1.0 or not over[i, j] > 1e-9:
        return ""
    (tau, there), joint = tried.needed(1.0), tried.space.whole.streamed[j]
    return (f"{joint.name} would need {abs(tau[i, j]):.3g} {_unit(joint)}, {there[i, j] * (1.0 - reserve):.3g} "
            f"{_unit(joint)} is there ({reserve:.0%} kept for the feedback)")


def _check_held(tried: _Try, reserve: float, to: str) -> None:
    """Raise Refused if a joint is too weak to hold the arm."""
    for i, j in np.argwhere(tried.over(SLOWEST, reserve) > 0.0)[:1]:
        joint, (held, there) = tried.space.whole.streamed[j], tried.needed(SLOWEST)
        raise Refused(
            f"on the way to {to}, {joint.name} needs {abs(held[i, j]):.3g} {_unit(joint)} to hold the arm up at "
            f"{joint.name} = {tried.space.streamed(tried.moves[0])[i, j]:.3g}, and {there[i, j] * (1.0 - reserve):.3g} "
            f"{_unit(joint)} is there ({reserve:.0%} kept for the feedback): no speed is slow enough; go another way, "
            "or take a stronger motor")


def _unit(joint: Joint) -> str:
    return "N" if joint.type == "prismatic" else "N m"


def shares(mechanism: Mechanism, trajectory: Trajectory) -> dict[str, dict[str, float | None]]:
    """Return the largest fraction of each limit that each joint reaches. For a mechanism with flexible links, the
    fraction of the effort is None."""
    t = _sampled(mechanism, trajectory)
    tau = np.full((len(t), len(mechanism.streamed)), np.nan)
    tau = tau if mechanism.flexible else effort.wanted(mechanism, t, trajectory)
    return _largest(mechanism, used_limits(mechanism, trajectory, tau)[1])


def _largest(mechanism: Mechanism, used: dict[str, Array]) -> dict[str, dict[str, float | None]]:
    return {joint.name: {k: float(v[:, j].max()) if np.isfinite(v[:, j]).all() else None for k, v in used.items()
                         if k != "jerk"}
            for j, joint in enumerate(mechanism.streamed)}


def _sampled(mechanism: Mechanism, trajectory: Trajectory) -> Array:
    """Return the times (T,), s, of the knots and between them."""
    period = 1.0 / (effort.SAMPLES * mechanism.control.knot_hz)
    return np.arange(int(np.ceil(trajectory.duration / period - 1e-6)) + 1, dtype=float) * period


def used_limits(mechanism: Mechanism, trajectory: Trajectory, tau: Array) -> tuple[Array, dict[str, Array]]:
    """Return times t (T,), s, and the fraction of each limit that each joint uses at these times, each (T, J), NaN
    without a limit. tau (T, J): torques, NaN if unknown. The jerk is the mean between two knots."""
    t = _sampled(mechanism, trajectory)
    _, qd, qdd = trajectory.at(t)
    there = tau if mechanism.flexible else Motors.of(mechanism).torque(qd, tau)
    knot = np.minimum(np.arange(len(t)) // effort.SAMPLES, (len(t) - 2) // effort.SAMPLES) * effort.SAMPLES
    after = np.minimum(knot + effort.SAMPLES, len(t) - 1)
    jerk = (qdd[after] - qdd[knot]) * mechanism.control.knot_hz
    limits = [joint.limits for joint in mechanism.streamed]
    most: dict[str, Any] = {"velocity": [x.velocity for x in limits], "jerk": [x.jerk for x in limits],
                            "acceleration": [x.acceleration for x in limits], "effort": there}
    with np.errstate(divide="ignore", invalid="ignore"):
        return t, {name: np.where(np.isfinite(bound), np.abs(value) / bound, np.nan) for (name, bound), value in
                   zip(most.items(), (qd, jerk, qdd, tau), strict=True)}


def _acting(mechanism: Mechanism, t: Array, used: dict[str, Array], speed: float, reserve: float) -> tuple[Acts, ...]:
    """Return the intervals in which the motion reaches a limit, with joint and limit. t, used: of `used_limits`. speed,
    reserve: as in `plan`."""
    kept = {"velocity": speed, "acceleration": speed**2, "jerk": speed**3, "effort": 1.0 - reserve}
    all_of = np.nan_to_num(np.stack([used[name] / kept[name] for name in kept], axis=1))
    largest = all_of.reshape(len(t), -1)
    which = np.where(largest.max(axis=1) >= ACTS, largest.argmax(axis=1), -1)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(which)) + 1, [len(t)]])
    names, joints = list(kept), [joint.name for joint in mechanism.streamed]
    return tuple(Acts(float(t[a]), float(t[min(b, len(t) - 1)]), joints[which[a] % len(joints)],
                      names[which[a] // len(joints)]) for a, b in zip(edges, edges[1:], strict=False) if which[a] >= 0)
