"""One page of a run: what was worst, in words, and the figures that show it. A single HTML file, pictures inside."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from codegen.common import output
from codegen.common.output import claim, write_text
from codegen.common.templating import template
from host.record.log import Run
from host.show.findings import Findings, measure

Array = NDArray[np.float64]

MOST = 12  # joints in a figure: those with the largest errors
GREY, BLUE, GREEN, ORANGE, PURPLE, RED, BLACK = "0.6", "#1b6ec2", "#2a8a57", "#d9822b", "#8a63b8", "#c2362b", "0.15"


@dataclass(frozen=True)
class Picture:
    """One figure with the sentence under its heading. url: PNG as a data URL."""

    title: str
    text: str
    url: str


def write(run: Run, path: Path, force: bool = False) -> None:
    """Write the page. Raises OSError if it cannot be written there, BadInput if a file is there already: force replaces
    such a page."""
    claim(path, output.page("plot"), force)
    write_text(path, page(run))


def page(run: Run) -> str:
    """The HTML; the same log gives the same text."""
    found = Findings(run)
    true = {t.joint: (measure(t.rms, t.unit), measure(t.worst, t.unit)) for t in found.true_tracking}
    rows = [(t.joint, measure(t.rms, t.unit), measure(t.worst, t.unit), f"{t.at:.2f} s",
             f"{t.counts:.1f}" if np.isfinite(t.counts) else "-", *true.get(t.joint, ()),
             *(measure(s[name], found.effort_unit(j)) for name in ("feed-forward", "feedback", "friction, rotor")))
            for j, (t, s) in enumerate(zip(found.tracking, found.shares, strict=False))]
    return template("report.html", "host.show", page=True).render(
        run=run, found=found, duration=float(found.t[-1]), rows=rows, true=bool(true), pictures=_pictures(found),
        left=found.left,
    )


def _pictures(found: Findings) -> list[Picture]:
    shown = _shown(found)
    few = "" if len(shown) == len(found.run.joints) else f" The {MOST} joints with the largest errors are shown."
    return [
        Picture("Tracking", "Desired and measured positions, and the difference below them." + few,
                _grid(found, shown, 2, (_position, _error), (1.4, 1.0))),
        Picture("Torque shares",
                "What was asked of every joint, and which part of the law asked for it: feed-forward knew it "
                "in advance, the feedback found it out." + few, _grid(found, shown, 1, (_torque,), (1.0,))),
        Picture("Model against measurement",
                "What the feedback had to add, over the rate of the target. Were the model exact, "
                "it would be noise about zero: a step at zero rate is Coulomb friction, a slope viscous friction."
                + few,
                _grid(found, shown, 1, (_model,), (1.0,))),
        Picture("Spectrum of the error",
                "Amplitude over frequency, Hann window, longest motion. STATUS is sampled: what is "
                "faster than half its rate appears folded." + few, _grid(found, shown, 1, (_spectrum,), (1.0,))),
        Picture("Tick and stream",
                "Cycles of the control tick, and knots that wait at the board; lines mark changes of state.",
                _tick_and_stream(found)),
    ]


def _shown(found: Findings) -> list[int]:
    worst = np.max(np.abs(found.run.error), axis=0)
    return sorted(np.argsort(-worst, kind="stable")[:MOST].tolist())


def _grid(found: Findings, shown: Sequence[int], rows: int, drawers: Sequence[Callable[[Findings, int, Axes], None]],
          heights: Sequence[float]) -> str:
    """One column per joint, at most four beside each other."""
    across = min(len(shown), 4)
    down = -(-len(shown) // across)
    figure = _figure(max(4.0 * across, 6.0), (0.8 + 2.1 * sum(heights)) * down)
    axes = figure.subplots(down * rows, across, squeeze=False, height_ratios=list(heights) * down)
    for place, j in enumerate(shown):
        block, column = divmod(place, across)
        for row, draw in enumerate(drawers):
            axis = axes[block * rows + row, column]
            draw(found, j, axis)
            axis.grid(alpha=0.3)
            if row == 0:
                axis.set_title(found.run.joints[j], fontsize=10)
            if place == 0 and axis.get_legend_handles_labels()[1]:
                axis.legend(fontsize=8)
    for place in range(len(shown), down * across):
        for row in range(rows):
            axes[place // across * rows + row, place % across].set_visible(False)
    return _url(figure)


def _figure(width: float, height: float) -> Figure:
    """In inches, with room for labels: laying out by what is drawn would draw everything twice."""
    figure = Figure(figsize=(width, height))
    figure.subplots_adjust(left=0.9 / width, right=1.0 - 0.1 / width, top=1.0 - 0.3 / height, bottom=0.5 / height,
                           wspace=0.3, hspace=0.32)
    return figure


def _position(found: Findings, j: int, axis: Axes) -> None:
    position, target = found.run.position[:, j], found.run.target[:, j]
    axis.plot(found.t, target, color=GREY, linewidth=2.5, label="desired")
    axis.plot(found.t, position, color=BLUE, linewidth=1.0, label="measured")
    axis.set_ylabel(f"position, {found.unit(j)}")
    axis.margins(x=0.0)


def _error(found: Findings, j: int, axis: Axes) -> None:
    error = found.run.error[:, j]
    scale, prefix = next(((s, p) for s, p in ((1.0, ""), (1e3, "m")) if np.max(np.abs(error)) * s >= 0.5), (1e6, "µ"))
    axis.plot(found.t, error * scale, color=RED, linewidth=0.7)
    axis.set_ylabel(f"error, {prefix}{found.unit(j)}")
    axis.set_xlabel("t, s")
    axis.margins(x=0.0)


def _torque(found: Findings, j: int, axis: Axes) -> None:
    run, feedback = found.run, found.feedback[:, j]
    axis.plot(found.t, run.torque_ff[:, j], color=GREEN, linewidth=2.2, label="feed-forward")
    axis.plot(found.t, feedback, color=ORANGE, linewidth=0.7, label="feedback")
    axis.plot(found.t, run.torque[:, j] - run.torque_ff[:, j] - feedback, color=PURPLE, linewidth=1.0,
              label="friction, rotor")
    axis.plot(found.t, run.torque[:, j], color=BLACK, linewidth=0.6, label="all")
    axis.set_ylabel(("force" if run.prismatic[j] else "torque") + f", {found.effort_unit(j)}")
    axis.set_xlabel("t, s")
    axis.margins(x=0.0)


def _model(found: Findings, j: int, axis: Axes) -> None:
    rows = found.moving
    axis.plot(found.run.target_rate[rows, j], found.feedback[rows, j], ".", color=ORANGE, markersize=2.5, alpha=0.6)
    axis.axhline(0.0, color=BLACK, linewidth=0.8)
    axis.set_ylabel(f"feedback, {found.effort_unit(j)}")
    axis.set_xlabel(f"rate, {found.unit(j)}/s")


def _spectrum(found: Findings, j: int, axis: Axes) -> None:
    hz, amplitude = found.spectrum(j)
    if not len(hz):
        axis.text(0.5, 0.5, "too short a motion", transform=axis.transAxes, ha="center", color=GREY)
        return
    axis.semilogy(hz, np.maximum(amplitude, 1e-12), color=RED, linewidth=0.9)
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set_ylabel(f"amplitude, {found.unit(j)}")
    axis.set_xlabel("frequency, Hz")
    axis.margins(x=0.0)


def _tick_and_stream(found: Findings) -> str:
    run = found.run
    figure = _figure(12.0, 3.0)
    cycles, buffered = figure.subplots(1, 2)
    cycles.plot(found.t, run.scalars["cycles"], color=BLUE, linewidth=0.9)
    cycles.axhline(float(run.scalars["cycles_max"].max()), color=GREY, linestyle="--", linewidth=0.9,
                   label="worst tick")
    cycles.set_ylabel("cycles of the control tick")
    share = "" if run.budget is None else f", {run.scalars['cycles_max'].max() / run.budget:.1%} of the tick's budget"
    cycles.set_title(f"worst {int(run.scalars['cycles_max'].max())} cycles{share}", fontsize=10)
    buffered.plot(found.t, run.scalars["buffered"], color=BLUE, linewidth=0.9)
    buffered.set_ylabel("knots buffered")
    for axis in (cycles, buffered):
        axis.set_ylim(bottom=0.0)
        axis.set_xlabel("t, s")
        axis.grid(alpha=0.3)
        axis.margins(x=0.0)
        for event in found.events:
            axis.axvline(event.t, color=RED if event.bad else GREY, linewidth=0.8)
    cycles.legend(fontsize=7, loc="lower right")
    return _url(figure)


def _url(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
