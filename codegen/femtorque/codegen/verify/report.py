"""Results of `verify`, as tables for a terminal and as a self-contained HTML page."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from femtorque.codegen.common import BadInput, joint as joint_colour, joints as joint_colours, template, write_text
from femtorque.codegen.mechanism import Joint
from femtorque.codegen.model import Model
from femtorque.codegen.verify.verification import DOUBLE, SINGLE, Criterion, Trial, Verification, scheme_bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 (0.3 s)

CURVES = 8  # joints in a figure
VERDICT = {True: "yes", False: "NO", None: "shown"}


def verification_renderable(v: Verification) -> RenderableType:
    """Return tables for a terminal: criteria, joints, cost, and the reasons if the verification failed."""
    parts: list[RenderableType] = [_criteria(v), _joints(v)]
    parts += [Text(line) for line in _cost(v)]
    parts += [Text(f"no: {reason}", style="red") for reason in v.reasons]
    if v.good:
        parts.append(Text("yes: every criterion holds", style="green"))
    return Group(*parts)


def _criteria(v: Verification) -> Table:
    table = Table(title=f"{v.mechanism.name}: what was compared, over {len(v.trials)} "
                        f"motion{'s' if len(v.trials) > 1 else ''}", title_justify="left")
    for column in ("criterion", "allowed", "found", "of allowed", "where", ""):
        table.add_column(column, overflow="fold")
    for c in v.criteria:
        table.add_row(c.name, c.bound, c.found, share(c), c.where,
                      Text(VERDICT[c.verdict], style="red" if c.verdict is False else ""))
    return table


def share(c: Criterion) -> str:
    """Return the error divided by the allowed error, as a percentage; '' if no error limit applies."""
    return "" if c.share is None else f"{c.share:.1%}"


def _joints(v: Verification) -> Table:
    table = Table(title="worst error of the C in float32 at every joint", title_justify="left")
    for column in JOINT_COLUMNS:
        table.add_column(column)
    for row in joint_rows(v):
        table.add_row(*row)
    return table


JOINT_COLUMNS = ("joint", "own peak", "float32", "noise floor", "of peak", "of own peak", "where", "float64, of peak")


def joint_rows(v: Verification) -> list[tuple[str, ...]]:
    """Return a row per joint: its worst error in single precision, with that motion's peak and floor, and in double."""
    rows: list[tuple[str, ...]] = []
    for j, joint in enumerate(v.joints):
        single, double = v.worst("single", j), v.worst("double", j)
        trial = next(t for t in v.trials if t.name == single.motion)
        peak = float(np.max(np.abs(trial.rnea[:, j])))
        rows.append((joint.name, f"{peak:.3g} {_unit(joint)}", f"{single.error:.2g} {_unit(joint)}",
                     f"{trial.floor[j]:.2g} {_unit(joint)}", f"{single.of_peak:.2g}",
                     f"{single.error / peak:.2g}" if peak else "-",
                     f"t = {single.t:.4f} s of {single.motion}", f"{double.of_peak:.2g}"))
    return rows


def _unit(joint: Joint) -> str:
    return "N" if joint.type == "prismatic" else "N m"


def _cost(v: Verification) -> list[str]:
    counts, o = v.instructions, v.object
    lines = [] if counts is None else [f"step on the Cortex-M4F: {counts.mean():.1f} instructions in the mean, "
                                       f"{counts.max()} in the worst of {len(counts)} ticks"]
    lines.append(f"flash {o.flash_bytes} bytes, stack at most {o.stack_bytes} bytes ({' > '.join(o.stack_path)})")
    lines.append(f"Newton-Euler: "
                 f"{'Pinocchio ' + v.pinocchio if v.pinocchio else 'Pinocchio is not installed; ' + v.rnea}")
    lines.append(f"digest {v.digest}")
    return lines


# ---- the page


@dataclass(frozen=True)
class Figure:
    """The figure of a motion: name, PNG as a data URL, and joints in the figure."""

    name: str
    ticks: int
    url: str
    joints: str


def write_verification(v: Verification, path: Path) -> Path:
    """Write the page. Raise BadInput if the examination fails."""
    try:
        write_text(path, page(v))
    except OSError as error:
        raise BadInput(path, "report", None, f"cannot be written: {error.strerror}") from None
    return path


def page(v: Verification) -> str:
    """Return one HTML page with figures. Equal findings give bit-identical pages."""
    control, model = v.mechanism.control, Model.of(v.mechanism)
    return template("verify.html", "femtorque.codegen.verify", page=True).render(
        v=v, control=control, dt=model.dt, verdict=VERDICT, columns=JOINT_COLUMNS, rows=joint_rows(v), cost=_cost(v),
        figures=[_figure(v, trial) for trial in v.trials], bars=_bars(v), single=SINGLE, double=DOUBLE,
        scheme=scheme_bound(control.rate_hz), share=share,
    )


def _figure(v: Verification, trial: Trial) -> Figure:
    """Draw over time: torque, rounding error and noise floor, errors of scheme and double precision, instructions."""
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 (0.3 s)

    error = v.comparison("single").error(trial)
    nearness = np.max(error, axis=0) / np.maximum(SINGLE * trial.peak, trial.floor)
    shown = sorted(np.argsort(-nearness, kind="stable")[:CURVES].tolist())
    colours = joint_colours(len(shown))
    canvas = Canvas(figsize=(12.0, 7.2), layout="constrained")
    (torque, rounding), (envelope, cost) = canvas.subplots(2, 2, sharex=True)
    few = slice(None, None, max(1, len(trial.t) // 60))
    for j, colour in zip(shown, colours, strict=True):
        torque.plot(trial.t, trial.rnea[:, j], color=colour, linewidth=1.2, label=v.joints[j].name)
        torque.plot(trial.t[few], trial.single[few, j], ".", color=colour, markersize=3.5)
        rounding.plot(trial.t, _positive(error[:, j]), color=colour, linewidth=0.6)
        rounding.axhline(trial.floor[j], color=colour, linestyle="--", linewidth=1.2)
    rounding.axhline(SINGLE * trial.peak, color="black", linestyle=":", linewidth=1.2)
    for k, (key, label) in enumerate((("reference", "matrix form - rnea"), ("discretisation", "emitted form - rnea"),
                                      ("double", "C in float64 - emitted form"))):
        worst = np.max(v.comparison(key).error(trial), axis=1) / (trial.peak or 1.0)
        envelope.plot(trial.t, _positive(worst), color=joint_colour(k), linewidth=0.8,
                      label=label.replace("rnea", v.rnea))
    envelope.axhline(scheme_bound(v.mechanism.control.rate_hz), color="black", linestyle=":", linewidth=1.2)
    envelope.axhline(DOUBLE, color="black", linestyle=":", linewidth=1.2)
    if trial.chip is not None:
        cost.step(trial.t, trial.chip.instructions, where="mid", linewidth=0.8)
        cost.set_ylim(0.0, 1.15 * trial.chip.instructions.max())
    for axes, title, label in (
        (torque, f"torque: {v.rnea} (lines), C in float32 (dots)", "N m or N"),
        (rounding, f"|C in float32 - emitted form|; dashed: its noise floor; dotted: {SINGLE:g} of peak", "N m or N"),
        (envelope, "worst joint's error over peak torque; dotted: the allowed error", "of peak"),
        (cost, "instructions of the step on the chip", "instructions per tick"),
    ):
        axes.set_title(title, fontsize=9)
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    for axes in (rounding, envelope):
        axes.set_yscale("log")
    envelope.set_xlabel("t, s")
    cost.set_xlabel("t, s")
    torque.legend(fontsize=7, ncols=2)
    envelope.legend(fontsize=7)
    named = "" if len(v.joints) <= CURVES else f"{CURVES} of {len(v.joints)} joints, those nearest to the allowed error"
    return Figure(trial.name, len(trial.t), _data_url(canvas), named)


def _bars(v: Verification) -> str:
    """For each joint, draw the worst float32 error and its noise floor, both divided by the motion's peak torque."""
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415 (0.3 s)

    canvas = Canvas(figsize=(12.0, 3.2), layout="constrained")
    axes = canvas.subplots()
    x = np.arange(len(v.joints))
    error = [v.worst("single", j).of_peak for j in range(len(x))]
    floor = [max(t.floor[j] / (t.peak or 1.0) for t in v.trials) for j in x]
    axes.bar(x - 0.2, error, 0.4, color=joint_colour(0), label="worst error, C in float32")
    axes.bar(x + 0.2, floor, 0.4, color="0.8", label="noise floor")
    axes.axhline(SINGLE, color="black", linestyle=":", linewidth=1.2)
    axes.set_yscale("log")
    axes.set_ylabel("of peak")
    names = [j.name for j in v.joints]
    axes.set_xticks(x, names, rotation=0 if sum(map(len, names)) < 90 else 90, fontsize=7)
    axes.legend(fontsize=7)
    return _data_url(canvas)


def _positive(values: np.ndarray) -> np.ndarray:
    """Return values for a logarithmic axis. Exact zeros leave a gap."""
    return np.where(values > 0.0, values, np.nan)


def _data_url(canvas: Canvas) -> str:
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
