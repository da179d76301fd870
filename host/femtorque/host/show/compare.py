"""Writes a page that compares several runs: each joint's tracking, and the errors of all runs on a common time axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femtorque.codegen.common import BadInput, claim, colours, output, template, write_text
from femtorque.host.record import Run
from femtorque.host.show.curves import Curve, Plot
from femtorque.host.show.findings import Findings, damage, measure
from femtorque.host.show.plot import origin
from femtorque.host.show.readable_units import ERROR, TRUE, readable

SAME = 0.05  # fraction of the rms: smaller differences between runs are ignored
FINE = 0.5  # encoder counts: rms errors below it differ by the place of the counts alone
MOST = 8  # maximum number of runs; each run needs a distinct colour


@dataclass(frozen=True)
class Compared:
    """One run of the comparison."""

    name: str
    found: Findings
    begin: float  # time of its last motion in the log, s; time 0 of the comparison


def compared_runs(runs: Sequence[tuple[Path, Run]]) -> list[Compared]:
    """Raise BadInput unless there are two to eight runs of arms with the same joints."""
    (first, like), *_ = runs
    if len(runs) > MOST:
        raise BadInput("command line", "RUN.mcap", len(runs), f"runs: at most {MOST} can be told apart")
    for path, run in runs:
        if run.joints != like.joints:
            others = f"{first} has {', '.join(like.joints)}"
            raise BadInput(path, "log", None, f"has joints {', '.join(run.joints)}; {others}",
                           "runs of one arm can be compared")
    names = [path.stem for path, _ in runs]
    if len(set(names)) < len(names):
        names = [str(path) for path, _ in runs]
    return [Compared(name, found := Findings(run), found.begin) for name, (_, run) in zip(names, runs, strict=True)]


def comparison_sentences(runs: Sequence[Compared]) -> list[str]:
    """Return sentences that name the run with the smallest measured error for each joint."""
    said = [f"{run.name}: {', '.join(origin(run.found.run)) or 'no date'}." for run in runs]
    said += [f"{run.name}: {damage(run.found.run)}" for run in runs if run.found.run.damage]
    for run in runs:
        if not run.found.tracking:
            said.append(f"{run.name}: nothing moved.")
    moved = [run for run in runs if run.found.tracking]
    if len(moved) < 2:
        return said
    for j, joint in enumerate(moved[0].found.run.joints):
        best, worst = (pick(moved, key=lambda run: run.found.tracking[j].rms) for pick in (min, max))
        low, high = best.found.tracking[j], worst.found.tracking[j]
        if high.rms <= (1.0 + SAME) * low.rms:
            said.append(f"{joint}: tracked alike, {measure(low.rms, low.unit)} rms.")
        elif not worst.found.true_tracking and high.rms < FINE * high.worst / max(high.counts, 1e-9):
            said.append(f"{joint}: tracked alike, {measure(low.rms, low.unit)} to {measure(high.rms, high.unit)} rms, "
                        "which is the encoder's resolution.")
        else:
            said.append(f"{joint}: {best.name} tracked best, {measure(low.rms, low.unit)} rms; {worst.name} was "
                        f"{high.rms / low.rms if low.rms else np.inf:.3g} times as far off, "
                        f"{measure(high.rms, high.unit)} rms.")
    return said


def write_comparison(runs: Sequence[Compared], path: Path, force: bool = False) -> None:
    """Write the page. Raises OSError if this fails, and BadInput if the file exists (force: replace a report)."""
    claim(path, output.page("plot"), force)
    write_text(path, page(runs))


def page(runs: Sequence[Compared]) -> str:
    """Return the page as HTML. Equal logs give equal text."""
    rows = [(joint, run.name, measure(t.rms, t.unit), measure(t.worst, t.unit), f"{t.at - run.begin:.2f} s",
             *(measure(true.rms, true.unit) for true in run.found.true_tracking[j:j + 1]))
            for j, joint in enumerate(runs[0].found.run.joints) for run in runs
            for t in run.found.tracking[j:j + 1]]
    truth = any(run.found.true_tracking for run in runs)
    return template("compare.html", "femtorque.host.show", page=True).render(
        title=" and ".join(run.name for run in runs), sentences=comparison_sentences(runs), rows=rows,
        plots_of=_plots(runs),
        truth=truth, errors=f"{ERROR} {TRUE * truth}")


def _plots(runs: Sequence[Compared]) -> list[Plot]:
    palette = colours.joints(len(runs))
    found = runs[0].found
    errors, torques = [], []
    for j, joint in enumerate(found.run.joints):
        largest = max(float(np.max(np.abs(run.found.run.error[:, j]), initial=0.0)) for run in runs)
        scale, unit = readable(largest, found.unit(j))
        errors.append(Plot(joint, "t, s", f"error, {unit}", tuple(
            Curve(run.name, colour, run.found.t - run.begin, run.found.run.error[:, j] * scale)
            for run, colour in zip(runs, palette, strict=True)), "t"))
        torques.append(Plot(joint, "t, s", f"asked for, {found.effort_unit(j)}", tuple(
            Curve(run.name, colour, run.found.t - run.begin, run.found.run.torque[:, j])
            for run, colour in zip(runs, palette, strict=True)), "t"))
    return [*errors, *torques]
