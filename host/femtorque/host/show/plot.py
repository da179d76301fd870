"""Draws figures from a log: tracking, error, torques, buffer and tick cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from femtorque.codegen.common import Array, claim, colours, drawn_by, picture, replacing
from femtorque.codegen.verify import blank, check_format
from femtorque.host.record import Run
from femtorque.host.show.findings import Findings
from femtorque.host.show.readable_units import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ROOM = 0.03  # fraction of a plot's width: gap for a name along a line


def draw_run(run: Run, path: Path, force: bool = False) -> None:
    """Draw a figure with one column per joint (tracking, error, torque), and a row for the stream below the columns.
    force: replace an existing figure. Raises BadInput if the file exists or the suffix is unknown."""
    check_format(path, "output")
    claim(path, picture("plot"), force)
    t = run.t - run.t[0]
    n = len(run.joints)
    figure = blank(max(4.2 * n, 9.0), 11.0)
    head = [run.mechanism, f"{run.rate_hz} Hz", f"configuration {run.digest[:8]}"]
    figure.suptitle(", ".join([*head, *origin(run)]), fontsize="medium")
    tall, low = figure.subfigures(2, 1, squeeze=False, height_ratios=[3.0, 1.1])[:, 0]
    axes = tall.subplots(3, n, sharex=True, squeeze=False)
    error, found = run.error, Findings(run)
    for j, name in enumerate(run.joints):
        length, effort = ("m", "N") if run.prismatic[j] else ("rad", "N m")
        position, target = run.position[:, j], run.target[:, j]
        _lines(axes[0, j], t, (target, "desired", colours.DESIRED, "-"),
               (position, "measured", colours.MEASURED, "--"))
        axes[0, j].set_title(name)
        scale, shown = readable(float(np.max(np.abs(error[:, j]), initial=0.0)), length)
        _lines(axes[1, j], t, (error[:, j] * scale, "", colours.ERROR, "-"))
        axes[1, j].axhline(0.0, color=colours.MARK, linewidth=0.8)
        axes[1, j].set_title(_rms(error[found.moving, j], scale, shown), fontsize="medium")
        _lines(axes[2, j], t, (run.torque[:, j], "all", colours.ALL, "-"),
               (run.torque_ff[:, j], "feed-forward", colours.FEED_FORWARD, "-"),
               (found.feedback[:, j], "feedback", colours.FEEDBACK, "-"),
               (run.torque[:, j] - run.torque_ff[:, j] - found.feedback[:, j], "friction, rotor", colours.REST, "-"))
        axes[0, j].set_ylabel(f"position, {length}")
        axes[1, j].set_ylabel(f"error, {shown}")
        axes[2, j].set_ylabel(f"torque, {effort}" if effort == "N m" else f"force, {effort}")
        axes[2, j].set_xlabel("t, s")
    curves = {label: line for axis in (axes[0, 0], axes[2, 0]) for line, label in zip(
        *axis.get_legend_handles_labels(), strict=True)}
    tall.legend(list(curves.values()), list(curves), fontsize="small", ncols=len(curves), loc="outside lower center")
    left, right = low.subplots(1, 2)
    _lines(left, t, (run.scalars["buffered"], "", colours.MEASURED, "-"))
    left.set_ylabel("knots buffered")
    left.set_ylim(bottom=0.0)
    _lines(right, t, (run.scalars["cycles"], "", colours.MEASURED, "-"))
    right.set_ylabel("cycles of the control tick")
    right.set_ylim(bottom=0.0)
    for axis in (left, right):
        axis.set_xlabel("t, s")
        _mark_states(axis, t, run.state)
    with replacing(path) as part:
        figure.savefig(part, dpi=120, metadata=drawn_by(path, "plot"))


def run_summary(run: Run) -> dict[str, Any]:
    """Return a run's errors in motion, rad or m, for JSON. tracking_*: measured errors; true_*: true errors."""
    found, still = Findings(run), dict.fromkeys(run.joints, 0.0)
    true = found.true_tracking
    return {
        "mechanism": run.mechanism, "digest": run.digest, "samples": len(run.t),
        "duration": float(run.t[-1] - run.t[0]),
        "tracking_rms": {t.joint: t.rms for t in found.tracking} or still,
        "tracking_max": {t.joint: t.worst for t in found.tracking} or still,
        **({"true_rms": {t.joint: t.rms for t in true}, "true_max": {t.joint: t.worst for t in true}} if true else {}),
        "least_buffered": int(run.scalars["buffered"].min()), "cycles_max": int(run.scalars["cycles_max"].max()),
        "states": list(dict.fromkeys(run.state))}


def origin(run: Run) -> list[str]:
    date = run.begun.replace("T", " ")[:16]
    motion, port = (str(run.notes.get(name) or "") for name in ("trajectory", "port"))
    return [word for word in (date, Path(motion).name, port) if word]


def _lines(axis: Axes, t: Array, *curves: tuple[Array, str, str, str]) -> None:
    for values, label, colour, style in curves:
        axis.plot(t, values, style, color=colour, label=label or None, linewidth=1.2)
    axis.grid(alpha=0.3)
    axis.margins(x=0.0)


def _rms(error: Array, scale: float, unit: str) -> str:
    if not len(error):
        return "not in motion"
    rms, worst = np.sqrt(np.mean(error**2)) * scale, np.max(np.abs(error)) * scale
    return f"rms {rms:.3g}, worst {worst:.3g} {unit}"


def _mark_states(axis: Axes, t: Array, states: tuple[str, ...]) -> None:
    """Draw a line at each change of state, with its name if there is room."""
    named = -np.inf
    for i in range(1, len(states)):
        if states[i] != states[i - 1]:
            axis.axvline(t[i], color="0.6", linewidth=0.8)
            if t[i] - named < ROOM * t[-1]:
                continue
            named = t[i]
            axis.annotate(states[i], (t[i], 1.0), xycoords=("data", "axes fraction"), rotation=90, fontsize="x-small",
                          va="top", ha="right", color="0.4")
