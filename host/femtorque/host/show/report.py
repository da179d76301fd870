"""Writes one HTML page for a run. The page has the largest errors in words, their plots, and all numbers."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from femtorque.codegen.common import Array, claim, colours, output, template, write_text
from femtorque.host.record import FromOutside, Run
from femtorque.host.scene import Mark, Motion
from femtorque.host.show.curves import Curve, Plot, fitting
from femtorque.host.show.findings import Findings, measure, named_fault
from femtorque.host.show.readable_units import ERROR, TRUE, readable
from femtorque.host.show.scene.page import REPORT_KINDS, scripts

MOST = 12  # number of joints in a section; the joints with the largest errors are shown
ROUNDING = 1e-6  # fraction of the total torque that single-precision rounding may cause
POINTS = 45_000  # points in all curves of a page with the arm; this limits the page to 2 MB
NO_ARM = ("No arm is shown: the log holds no description of one. It is written when a log is closed, and is missing in "
          "logs of older versions and in those that were cut off.")


@dataclass(frozen=True)
class Section:
    """One section of the page: a heading, a sentence and plots."""

    title: str
    text: str
    plots: tuple[Plot, ...]


def write_report(run: Run, path: Path, force: bool = False) -> None:
    """Write the page. Raises OSError if this fails, and BadInput if the file exists (force: replace a report)."""
    claim(path, output.page("plot"), force)
    write_text(path, page(run))


def page(run: Run) -> str:
    """Return the page as HTML. Equal logs give equal text."""
    found = Findings(run)
    true = {t.joint: (measure(t.rms, t.unit), measure(t.worst, t.unit)) for t in found.true_tracking}
    rows = [(t.joint, measure(t.rms, t.unit), measure(t.worst, t.unit), f"{t.at:.2f} s",
             f"{t.counts:.1f}" if np.isfinite(t.counts) else "-", *true.get(t.joint, ()),
             *(measure(s[name] if s[name] > ROUNDING * s["all"] else 0.0, found.effort_unit(j))
               for name in ("feed-forward", "feedback", "friction, rotor")))
            for j, (t, s) in enumerate(zip(found.tracking, found.shares, strict=False))]
    scene = None if run.arm is None or len(run.t) < 2 else run.arm | {"motion": moved(found).data(_lengths(run.arm))}
    sections = _sections(found)
    if scene is not None:
        plots = iter(fitting([plot for section in sections for plot in section.plots], POINTS))
        sections = [replace(section, plots=tuple(next(plots) for _ in section.plots)) for section in sections]
    return template("report.html", "femtorque.host.show", page=True).render(
        run=run, found=found, duration=float(found.t[-1]), rows=rows, truth=bool(true), sections=sections,
        errors=f"{ERROR} {TRUE * bool(true)}",
        left=found.judged, scene=scene, kinds=REPORT_KINDS, scripts=scripts() if scene else "", no_arm=NO_ARM,
        stiff=scene is None or not any(link["beam"] for link in scene["links"]))


def _lengths(arm: dict[str, Any]) -> dict[str, float]:
    return {link["name"]: link["beam"] for link in arm["links"] if link["beam"]}


def moved(found: Findings) -> Motion:
    """Return the run's motion for the drawing of the arm beside the curves."""
    run = found.run
    limits = np.where(run.facts["effort"] > 0.0, run.facts["effort"], np.nan)
    return Motion(run.joints, found.t, run.target, run.target - run.error,
                  None if run.true is None else run.target - run.true_error,
                  run.torque / limits if np.isfinite(limits).any() else None, _modes(run, found.t), _marks(found),
                  true_bends={} if run.true is None else _true_bends(run),
                  around=[(found.t[0] + t - run.t[0], moment) for t, moment in run.around],
                  pushed=_unforeseen(found, limits))


def _unforeseen(found: Findings, limits: Array) -> Array | None:
    """Return disturbances at the joints, minus the feedback, as fractions of the limits; None without feed-forward."""
    if not np.any(found.run.torque_ff) or not np.isfinite(limits).any():
        return None
    return np.where(np.isfinite(found.run.facts["ku"]), -found.feedback / limits, np.nan)


def _true_bends(run: Run) -> dict[str, Array]:
    """Return the shapes of the simulated arm's flexible links (T, 4) at the samples."""
    return {link: np.column_stack([np.interp(run.t, t, column) for column in rows.T])
            for link, (t, rows) in run.shapes.items()}


def _modes(run: Run, t: Array) -> list[tuple[float, str]]:
    names, numbers = [mode["name"] for mode in (run.arm or {}).get("modes", ())], run.scalars["mode"].astype(int)
    first = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()]
    return [(float(t[i]), names[numbers[i]]) for i in first if numbers[i] < len(names)]


def _marks(found: Findings) -> list[Mark]:
    """Return the faults, each with the time until it was cleared."""
    run, marks = found.run, list[Mark]()
    faults, joints = (run.scalars[name].astype(int) for name in ("fault", "fault_joint"))
    edges = [0, *(np.flatnonzero(np.diff(faults)) + 1).tolist(), len(faults)]
    for first, last in zip(edges[:-1], edges[1:], strict=True):
        if faults[first]:
            joint = run.joints[joints[first]] if joints[first] < len(run.joints) else None
            words: str = named_fault(int(faults[first]), int(joints[first]), run).split(";")[0]
            marks.append(Mark(float(found.t[first]), float(found.t[last - 1]), joint, words))
    return marks


def _sections(found: Findings) -> list[Section]:
    shown = _shown(found)
    few = "" if len(shown) == len(found.run.joints) else f" The {MOST} joints with the largest errors are shown."
    felt = [] if found.run.outside is None else [Section(
        "Torque from outside", "What the board felt from the arm's momentum, its mean, and the threshold: a touch is "
        "farther from the mean." + few, tuple(_felt(found, found.run.outside, j) for j in shown))]
    sections = [
        Section("Tracking", "Desired and measured positions, and below them the errors." + few,
                (*(_position(found, j) for j in shown), *(_error(found, j) for j in shown))),
        Section("Torque shares",
                "Torque of every joint, by the part of the law that gives it: the model calculates the feed-forward "
                "in advance, the feedback corrects errors." + few, tuple(_torque(found, j) for j in shown)),
        *felt,
        Section("Model against measurement",
                "Torque of the feedback over the velocity of the target. With an exact model it would be noise "
                "about zero: a step at zero velocity is Coulomb friction, a slope viscous friction."
                + few, tuple(_model(found, j) for j in shown)),
        Section("Spectrum of the error",
                "Amplitude over frequency, Hann window, longest motion. STATUS is sampled: frequencies "
                "above half its rate appear folded." + few, tuple(_spectrum(found, j) for j in shown)),
        Section("Tick and stream",
                "Cycles of the control tick, and knots that wait at the board; lines mark changes of state.",
                _tick_and_stream(found))]
    drawn = [replace(section, plots=tuple(p for p in section.plots if not p.empty)) for section in sections]
    return [section for section in drawn if section.plots]


def _shown(found: Findings) -> list[int]:
    worst = np.max(np.abs(found.run.error), axis=0)
    return sorted(np.argsort(-worst, kind="stable")[:MOST].tolist())


def _position(found: Findings, j: int) -> Plot:
    run = found.run
    measured = Curve("measured", colours.MEASURED, found.t, run.target[:, j] - run.error[:, j])
    where = Curve("true", colours.TRUE, found.t, run.target[:, j] - run.true_error[:, j], 2.2)
    true = [where] if run.true is not None else []
    desired = Curve("desired", colours.DESIRED, found.t, run.target[:, j], 3.2)
    return Plot(run.joints[j], "t, s", f"position, {found.unit(j)}", (desired, *true, measured), "t")


def _error(found: Findings, j: int) -> Plot:
    run, error = found.run, found.run.error[:, j]
    scale, unit = readable(float(np.max(np.abs(error), initial=0.0)), found.unit(j))
    measured = Curve("desired - measured", colours.ERROR, found.t, error * scale)
    where = Curve("desired - true", colours.TRUE, found.t, run.true_error[:, j] * scale, 2.2)
    true = [where] if run.true is not None else []
    return Plot(run.joints[j], "t, s", f"error, {unit}", (*true, measured), "t")


def _torque(found: Findings, j: int) -> Plot:
    run, feedback = found.run, found.feedback[:, j]
    curves = (Curve("feed-forward", colours.FEED_FORWARD, found.t, run.torque_ff[:, j], 2.2),
              Curve("feedback", colours.FEEDBACK, found.t, feedback),
              Curve("friction, rotor", colours.REST, found.t, run.torque[:, j] - run.torque_ff[:, j] - feedback),
              Curve("all", colours.ALL, found.t, run.torque[:, j], 0.8))
    what = "force" if run.prismatic[j] else "torque"
    return Plot(run.joints[j], "t, s", f"{what}, {found.effort_unit(j)}", curves, "t")


def _felt(found: Findings, felt: FromOutside, j: int) -> Plot:
    t, mean, most = felt.t - found.run.t[0], felt.mean[:, j], felt.threshold[:, j]
    curves = (Curve("a touch", colours.LIMIT, t, mean + most, 0.8), Curve("", colours.LIMIT, t, mean - most, 0.8),
              Curve("mean", colours.DESIRED, t, mean), Curve("felt", colours.MEASURED, t, felt.external[:, j]))
    what = "force" if found.run.prismatic[j] else "torque"
    return Plot(found.run.joints[j], "t, s", f"{what}, {found.effort_unit(j)}", curves, "t")


def _model(found: Findings, j: int) -> Plot:
    rows = found.moving
    curve = Curve("", colours.FEEDBACK, found.run.target_rate[rows, j], found.feedback[rows, j], dots=True)
    return Plot(found.run.joints[j], f"rate, {found.unit(j)}/s", f"feedback, {found.effort_unit(j)}", (curve,))


def _spectrum(found: Findings, j: int) -> Plot:
    hz, amplitude = found.spectrum(j)
    return Plot(found.run.joints[j], "frequency, Hz", f"amplitude, {found.unit(j)}",
                (Curve("", colours.ERROR, hz, np.maximum(amplitude, 1e-12)),), "hz", log=True)


def _tick_and_stream(found: Findings) -> tuple[Plot, ...]:
    run = found.run
    marks = tuple((event.t, event.what, event.bad) for event in found.events)

    def plot(title: str, y: str, values: Array) -> Plot:
        return Plot(title, "t, s", y, (Curve("", colours.MEASURED, found.t, values),), "t", marks=marks, zero=True)

    return plot("tick", "cycles", run.scalars["cycles"]), plot("buffer", "knots", run.scalars["buffered"])
