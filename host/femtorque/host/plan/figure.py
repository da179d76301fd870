"""Draws a plan: positions, fractions of the limits, and the tip's path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from femtorque.codegen.common import colours, drawn_by, replacing
from femtorque.codegen.control import Motors
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.verify import blank, check_format
from femtorque.host.plan import effort
from femtorque.host.plan.planning import BEGINNING, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_plan(path: Path, mechanism: Mechanism, plan: Plan) -> None:
    """Write the figure. Raises BadInput for a wrong suffix."""
    check_format(path)
    motion = plan.trajectory
    t = np.linspace(0.0, motion.duration, 1200)
    q, qd, _ = motion.at(t)
    tau = effort.wanted(mechanism, t, motion)
    there = Motors.of(mechanism).torque(qd, tau)
    fastest = np.array([joint.limits.velocity for joint in mechanism.streamed])
    figure = blank(13.0 if plan.tip is not None else 9.0, 8.0)
    figure.suptitle(f"{mechanism.name}: {motion.duration:.3f} s" + (f", {len(plan.arrivals)} "
                    f"waypoint{'s' * (len(plan.arrivals) != 1)}" if plan.arrivals else ", as recorded"))
    left, right = figure.subfigures(1, 2, squeeze=False,
                                    width_ratios=[2.0, 1.0])[0] if plan.tip is not None else (figure, None)
    position, rate, torque = left.subplots(3, 1, sharex=True)
    palette = colours.joints(len(mechanism.streamed))
    sliding = all(joint.type == "prismatic" for joint in mechanism.streamed)
    for j, (joint, colour) in enumerate(zip(mechanism.streamed, palette, strict=True)):
        position.plot(t, q[:, j], color=colour, label=joint.name)
        rate.plot(t, 100.0 * qd[:, j] / fastest[j], color=colour)
        with np.errstate(divide="ignore", invalid="ignore"):
            torque.plot(t, 100.0 * tau[:, j] / there[:, j], color=colour)
    position.set_ylabel("position, m" if sliding else "position, rad")
    rate.set_ylabel("rate, % of limit")
    torque.set_ylabel("torque, % of available")
    torque.set_xlabel("t, s")
    left.legend(*position.get_legend_handles_labels(), fontsize=8, ncols=min(len(mechanism.streamed), 8),
                loc="outside lower center")
    for axes in (position, rate, torque):
        axes.grid(alpha=0.3)
        axes.margins(x=0.0)
        for when, _ in plan.arrivals:
            axes.axvline(when, color="0.6", linewidth=0.8)
    for axes in (rate, torque):
        axes.set_ylim(-108.0, 108.0)
        for limit in (-100.0, 100.0):
            axes.axhline(limit, color=colours.LIMIT, linewidth=0.9, linestyle="--")
    for when, name in plan.arrivals:
        position.annotate(_label(name), (when, 1.0), xycoords=("data", "axes fraction"), fontsize=8,
                          ha="center", va="bottom", color="0.35")
    if right is not None and plan.tip is not None:
        above, beside = right.subplots(2, 1)
        _way(above, plan, 0, 1, "tip from above")
        _way(beside, plan, 0, 2, "tip from the side")
    with replacing(path) as part:
        figure.savefig(part, dpi=110, metadata=drawn_by(path, "plan"))


def _way(axes: Axes, plan: Plan, across: int, up: int, title: str) -> None:
    tip = plan.tip
    assert tip is not None
    axes.plot(tip[:, across], tip[:, up], color=colours.DESIRED, linewidth=1.2)
    places: dict[tuple[float, float], list[str]] = {}  # waypoints at the same position get one common label
    for when, name in [(0.0, "start"), *(arrival for arrival in plan.arrivals if arrival[1] != BEGINNING)]:
        point = tip[int(np.argmin(np.abs(plan.trajectory.times - when)))].round(5)
        places.setdefault((float(point[across]), float(point[up])), []).append(_label(name))
    for (x, y), labels in places.items():
        axes.plot(x, y, "o", color=colours.LIMIT, markersize=4)
        axes.annotate(", ".join(labels), (x, y), xytext=(4, 4), fontsize=8,
                      textcoords="offset points", color="0.35", clip_on=True)
    axes.set(title=title, xlabel=f"{'xyz'[across]}, m", ylabel=f"{'xyz'[up]}, m")
    axes.set_aspect("equal", "datalim")
    axes.margins(0.2)
    axes.locator_params(nbins=5)
    axes.grid(alpha=0.3)


def _label(name: str) -> str:
    return "back" if name == BEGINNING else name.removeprefix("waypoint.")
