"""Writes one HTML page for a plan. The page has the moving arm, curves with their limits, and all numbers."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from femtorque.codegen.common import Array, claim, colours, output, template, write_text
from femtorque.codegen.control import Motors
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.host.plan import BEGINNING, FlexiblePlan, Plan, effort
from femtorque.host.scene import Motion, planned
from femtorque.host.show.curves import Curve, Plot, fitting
from femtorque.host.show.report import POINTS, Section
from femtorque.host.show.scene.page import KINDS, of_motion, scripts

SAMPLES = 600
LINE = 1.4  # width of a curve, px


def write_planned(path: Path, mechanism: Mechanism, found: Plan | FlexiblePlan, force: bool = False) -> None:
    """Write the page. Raises OSError if this fails, and BadInput if the file exists (force: replace a plan page)."""
    claim(path, output.page("plan"), force)
    write_text(path, page(mechanism, found))


def page(mechanism: Mechanism, found: Plan | FlexiblePlan) -> str:
    """Return the HTML of a plan. Equal plans give equal text."""
    t = np.linspace(0.0, found.trajectory.duration, SAMPLES)
    q, qd, _ = found.trajectory.at(t)
    share, what = shares(mechanism, found, t, qd)
    arrivals = [(when, _named(name)) for when, name in getattr(found, "arrivals", ())]
    sections = _sections(mechanism, t, q, qd, share, what, arrivals) + _acting(mechanism, found, t)
    plots = iter(fitting([plot for section in sections for plot in section.plots], POINTS))
    sections = [replace(section, plots=tuple(next(plots) for _ in section.plots)) for section in sections]
    return template("plan.html", "femtorque.host.show", page=True).render(
        scene=of_motion(mechanism, _motion(mechanism, found, t, share, arrivals)), name=mechanism.name,
        duration=found.trajectory.duration, said=found.words().splitlines(), arrivals=arrivals, sections=sections,
        kinds=KINDS, scripts=scripts())


def shares(mechanism: Mechanism, found: Plan | FlexiblePlan, t: Array, qd: Array) -> tuple[Array, str]:
    """Return torques divided by their limits (T, J), NaN without a limit, and the name of the limit."""
    if isinstance(found, FlexiblePlan):
        names = found.trajectory.joints
        limits = {joint.name: joint.limits.effort for joint in mechanism.streamed}
        tau = np.column_stack([np.interp(t, found.motion.times, column) for column in found.motion.torque.T])
        there, what = np.broadcast_to([limits[name] for name in names], tau.shape), "limits.effort"
    else:
        tau = effort.wanted(mechanism, t, found.trajectory)
        there, what = Motors.of(mechanism).torque(qd, tau), "what motor and limits.effort leave at that rate"
    return np.where(np.isfinite(there), tau / np.where(there > 0.0, there, np.nan), np.nan), what


def _motion(mechanism: Mechanism, found: Plan | FlexiblePlan, t: Array, share: Array,
            arrivals: list[tuple[float, str]]) -> Motion:
    motion = planned(mechanism, found.trajectory)
    at = motion.t
    tones = np.full((len(at), len(motion.joints)), np.nan)
    tones[:, :share.shape[1]] = np.column_stack([np.interp(at, t, column) for column in share.T])
    way, when = (found.path, found.motion.times) if isinstance(found, FlexiblePlan) else (found.tip,
                                                                                        found.trajectory.times)
    path = None if way is None else np.column_stack([np.interp(at, when, column) for column in way.T])
    return replace(motion, shares=None if np.isnan(tones).all() else tones, path=path, waypoints=arrivals)


def _sections(mechanism: Mechanism, t: Array, q: Array, qd: Array, share: Array, what: str,
              arrivals: list[tuple[float, str]]) -> list[Section]:
    marks = tuple((when, name, False) for when, name in arrivals)
    joints = list(enumerate(mechanism.streamed))
    return [
        Section("Positions", "Dark red: the range of the joint. Lines across mark waypoints.",
                tuple(_plot(t, q[:, j], joint, f"position, {_unit(joint)}", joint.limits.lower, joint.limits.upper,
                            marks) for j, joint in joints)),
        Section("Rates", "Dark red: limits.velocity.",
                tuple(_plot(t, qd[:, j], joint, f"rate, {_unit(joint)}/s", -joint.limits.velocity,
                            joint.limits.velocity, marks) for j, joint in joints)),
        Section("Torques", f"In per cent of {what}; dark red: all of it.",
                tuple(_plot(t, 100.0 * share[:, j], joint, "torque, % of available", -100.0, 100.0, marks)
                      for j, joint in joints))]


def _acting(mechanism: Mechanism, found: Plan | FlexiblePlan, t: Array) -> list[Section]:
    """Return a strip over time: the joint that is at a limit, with one colour for each limit."""
    if isinstance(found, FlexiblePlan) or not found.acts:
        return []
    names, limits = [joint.name for joint in mechanism.streamed], list(dict.fromkeys(act.limit for act in found.acts))
    rows = np.full((len(limits) + 1, len(t)), np.nan)
    rows[-1] = 0.0
    for act in found.acts:
        during = (act.begin <= t) & (t <= act.end)
        rows[limits.index(act.limit), during], rows[-1, during] = names.index(act.joint) + 1.0, np.nan
    curves = tuple(Curve(limit, colour, t, row, dots=True) for limit, colour, row in
                   zip([*limits, "change of acceleration"], colours.joints(len(rows)), rows, strict=True))
    joints = ", ".join(f"{number}: {name}" for number, name in enumerate(names, 1))
    return [Section("Limits that act", f"Each row is a joint at a limit; row 0: the acceleration changes. {joints}.",
                    (Plot("limits", "t, s", "joint", curves, "t", zero=True),))]


def _plot(t: Array, y: Array, joint: Joint, what: str, low: float, high: float,
          marks: tuple[tuple[float, str, bool], ...]) -> Plot:
    ends = t[[0, -1]]
    limits = tuple(Curve("limit" if limit == high else "", colours.LIMIT, ends, np.full(2, limit))
                   for limit in (low, high) if np.isfinite(limit))
    return Plot(joint.name, "t, s", what, (Curve("planned", colours.MEASURED, t, y, LINE), *limits), "t", marks=marks)


def _unit(joint: Joint) -> str:
    return "m" if joint.type == "prismatic" else "rad"


def _named(name: str) -> str:
    return "back" if name == BEGINNING else name.removeprefix("waypoint.")
