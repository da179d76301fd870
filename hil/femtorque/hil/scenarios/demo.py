"""`femtorque demo`: the three-link experiment of Isobe's Figs 6 to 8 on the virtual board. One motion is played without
and with feed-forward, with the same PD gains, friction and encoders. `sweep` adds half and quarter gains and the
paper's period of 10 ms, and draws a figure like Fig. 8."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group
from rich.table import Table
from rich.text import Text

from femtorque.codegen.common import BUILD, MECHANISMS, BadInput, colours, output
from femtorque.codegen.mechanism import Gains, Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.verify import blank, check_format
from femtorque.hil.play import run_closed_loop
from femtorque.host.record import claim_log, read_log
from femtorque.host.show import compared_runs, write_comparison, write_report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXAMPLE, TRAJECTORY = MECHANISMS / "three_link.toml", MECHANISMS / "three_link.csv"
PAGE, ARM, FIGURE = "demo.html", "demo-arm.html", "demo.png"
LOGS = {False: "demo-pd.mcap", True: "demo-feed-forward.mcap"}
RATES = {"three_link.toml": "1 kHz", "three_link_10ms.toml": "10 ms"}
FACTORS = (1.0, 0.5, 0.25)  # fraction of the gains in the file, which follow the rule of codegen/control/gains.py
FLOOR = 1.0 / np.sqrt(12.0)  # rms error that rounding a position to whole counts causes, counts


@dataclass(frozen=True)
class Case:
    """One run: its mechanism, the fraction of the gains, and the feed-forward."""

    file: str
    factor: float
    feedforward: bool

    @property
    def mechanism(self) -> Mechanism:
        mechanism = load_mechanism(MECHANISMS / self.file)
        return replace(mechanism,
                       joints=tuple(replace(j, gains=scaled(j.gains, self.factor)) for j in mechanism.joints))

    @property
    def folder(self) -> Path:
        mode = "ff" if self.feedforward else "pd"
        return BUILD / f"demo-{Path(self.file).stem}-{self.factor:g}-{mode}"


@dataclass(frozen=True)
class DemoRun:
    """Values of a Result, which is too large for the transfer between processes, for table and figure. target, actual
    (T, J): target angles and the plant's true angles, rad."""

    case: Case
    result: dict[str, Any]
    joints: tuple[str, ...]
    good: bool
    rms: NDArray[np.float64]
    worst: NDArray[np.float64]
    t: NDArray[np.float64]  # time from the start of the motion, s
    target: NDArray[np.float64]
    actual: NDArray[np.float64]


def scaled(gains: Gains, factor: float) -> Gains:
    return Gains(gains.ku * factor, gains.kv * factor, gains.ki * factor)


def measure(case: Case, log: Path | None = None) -> DemoRun:
    """Build, run and evaluate one case. log: RUN.mcap to write."""
    mechanism = case.mechanism
    result = run_closed_loop(mechanism, Trajectory.load(TRAJECTORY, mechanism), feedforward=case.feedforward,
                             out=case.folder, log=log)
    t, actual, gap = result.tracked
    return DemoRun(case, result.report(), tuple(j.name for j in mechanism.moving), result.good, result.tracking_rms,
                   result.tracking_max, t, actual + gap, actual)


def cases(sweep: bool) -> list[Case]:
    """Return PD and feed-forward + PD at 1 kHz with full gains. sweep: at all rates and gains."""
    rates, factors = (list(RATES), FACTORS) if sweep else ([EXAMPLE.name], FACTORS[:1])
    return [Case(file, factor, ff) for file in rates for factor in factors for ff in (False, True)]


@dataclass(frozen=True)
class Demonstration:
    """All runs, and the files that were written."""

    outcomes: list[DemoRun]
    files: list[Path]

    @property
    def good(self) -> bool:
        return all(outcome.good for outcome in self.outcomes)

    def data(self) -> dict[str, Any]:
        """Return the JSON object of `femtorque demo`."""
        return {"files": self.files, "runs": [
            {"tick": RATES[o.case.file], "gains": o.case.factor} | o.result for o in self.outcomes]}

    def renderable(self) -> Group:
        words = [*summary(self.outcomes), "", *map(str, self.files)]
        return Group(tracking_table(self.outcomes), run_table(self.outcomes), *map(Text, words))


def demonstrate(folder: Path, *, sweep: bool = False, page: bool = False, force: bool = False,
                on_progress: Callable[[int, int, str], None] = lambda done, total, what: None) -> Demonstration:
    """Copy the example into a folder, play its motion, and write the requested files. sweep: add rates and gains, and
    their figure. page: add logs and pages of both runs. First raises BadInput for an existing file, and Refused for a
    build."""
    copies = [_copied(path, folder) for path in (EXAMPLE, TRAJECTORY)]
    written = [folder / name for name in (*([FIGURE] if sweep else []), *([PAGE, ARM, *LOGS.values()] if page else []))]
    kinds = {".png": output.picture("demo"), ".html": output.page("plot")}
    for path in written:
        if path.suffix == ".mcap":
            claim_log(path, force)
        else:
            output.claim(path, kinds[path.suffix], force)
    if sweep:
        check_format(folder / FIGURE)
    wanted = cases(sweep)
    logged = [folder / LOGS[case.feedforward] if page and case in cases(False) else None for case in wanted]
    outcomes: list[DemoRun] = []
    on_progress(0, len(wanted), "runs")
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for outcome in pool.map(measure, wanted, logged):
            outcomes.append(outcome)
            on_progress(len(outcomes), len(wanted), "runs")
    if sweep:
        draw(outcomes, folder / FIGURE)
    if page:
        both = [(folder / name, read_log(folder / name)) for name in LOGS.values()]
        write_comparison(compared_runs(both), folder / PAGE, force)
        write_report(both[-1][1], folder / ARM, force)
    return Demonstration(outcomes, copies + written)


def _copied(example: Path, folder: Path) -> Path:
    """Copy an example into a folder and return its path. Raises BadInput for a different file of this name."""
    copy = folder / example.name
    if copy.exists() and copy.read_bytes() != example.read_bytes():
        raise BadInput(copy, "file", None, "is there already and is not the example, so it is never replaced",
                       "run the demo in another folder")
    if not copy.exists():
        output.write_text(copy, example.read_text(encoding="utf-8"))
    return copy


def pairs(outcomes: Iterable[DemoRun]) -> list[tuple[DemoRun, DemoRun]]:
    """Return pairs (PD, feed-forward + PD) for each mechanism and gain."""
    found = {outcome.case: outcome for outcome in outcomes}
    return [(found[case], found[replace(case, feedforward=True)]) for case in found if not case.feedforward]


def tracking_table(outcomes: list[DemoRun]) -> Table:
    """Return the table of errors with one row per joint and gain, for PD and for feed-forward + PD."""
    shown = Table(title="target minus the plant's true angle, mrad (FF: feed-forward + PD)", title_justify="left")
    for name in ("tick", "gains", "joint", "rms PD", "rms FF", "FF/PD", "worst PD", "worst FF"):
        shown.add_column(name, justify="left" if name in ("tick", "joint") else "right")
    for pd, ff in pairs(outcomes):
        for j, joint in enumerate(pd.joints):
            label = (RATES[pd.case.file], f"{pd.case.factor:g}") if j == 0 else ("", "")
            mrad = [f"{value * 1e3:.3f}" for value in (pd.rms[j], ff.rms[j], pd.worst[j], ff.worst[j])]
            shown.add_row(*label, joint, *mrad[:2], f"{ff.rms[j] / pd.rms[j]:.3f}", *mrad[2:],
                          end_section=j == len(pd.joints) - 1)
    return shown


def run_table(outcomes: list[DemoRun]) -> Table:
    """Return the table of the processor load and link load of the runs."""
    shown = Table(title="instructions of a whole control tick; link; image against host", title_justify="left")
    for name in ("tick", "gains", "control", "mean", "worst", "frames", "sent again", "bit for bit"):
        shown.add_column(name, justify="left" if name in ("tick", "control") else "right")
    for pair in pairs(outcomes):
        for o in pair:
            r = o.result
            same = {True: "equal", False: "DIFFERS", None: "-"}[r["bit_identical"]]
            shown.add_row(RATES[o.case.file], f"{o.case.factor:g}", "FF" if o.case.feedforward else "PD",
                          f"{r['instructions_tick_mean']:.0f}", f"{r['instructions_tick']}", f"{r['frames']}",
                          f"{r['retransmissions']}", same)
    return shown


def summary(outcomes: list[DemoRun]) -> list[str]:
    """Return a summary of the table in words, with the encoder's resolution."""
    lines = []
    for pd, ff in pairs(outcomes):
        if pd.case.factor == 1.0:
            counts = max(joint.encoder.counts for joint in pd.case.mechanism.moving if joint.encoder)
            lines.append(f"{RATES[pd.case.file]}, full gains: feed-forward + PD has at most "
                         f"{np.max(ff.rms / pd.rms):.3f} of PD's rms error; rounding to {counts} counts alone is "
                         f"{FLOOR * 2e3 * np.pi / counts:.3f} mrad rms")
    bad = [f"{o.case.folder.name}: {o.result['ended']}" for o in outcomes if not o.good]
    return lines + bad


def draw(outcomes: list[DemoRun], path: Path) -> None:
    """Draw the figure. Left and middle: target, PD and feed-forward + PD of the first joint at each rate, with the
    errors below. On the right: rms error and ratio, as functions of the gain."""
    figure = blank(14.0, 7.5)
    grid = figure.subplots(2, 3)
    for column, (file, label) in enumerate(RATES.items()):
        pd, ff = next(p for p in pairs(outcomes) if p[0].case.file == file and p[0].case.factor == 1.0)
        upper, lower = grid[0, column], grid[1, column]
        upper.plot(pd.t, pd.target[:, 0], color=colours.DESIRED, linewidth=4.0, label="target")
        upper.plot(pd.t, pd.actual[:, 0], color=colours.FEEDBACK, linewidth=1.2, label="PD")
        upper.plot(ff.t, ff.actual[:, 0], color=colours.FEED_FORWARD, linewidth=1.2, linestyle="--",
                   label="feed-forward + PD")
        upper.set(title=f"{pd.joints[0]}, tick {label}", ylabel="angle, rad")
        upper.legend()
        lower.plot(pd.t, (pd.target - pd.actual)[:, 0] * 1e3, color=colours.FEEDBACK, linewidth=1.2, label="PD")
        lower.plot(ff.t, (ff.target - ff.actual)[:, 0] * 1e3, color=colours.FEED_FORWARD, linewidth=1.2,
                   label="feed-forward + PD")
        lower.set(xlabel="t, s", ylabel="target - true angle, mrad")
        lower.grid(alpha=0.3)
        upper.grid(alpha=0.3)
    _sweep(grid[0, 2], grid[1, 2], outcomes)
    figure.suptitle("Three-link arm on the virtual board: PD against feed-forward + PD, same gains, friction on")
    with output.replacing(path) as part:
        figure.savefig(part, dpi=110, metadata=output.drawn_by(path, "demo"))


def _sweep(errors: Axes, ratios: Axes, outcomes: list[DemoRun]) -> None:
    for file, label in RATES.items():
        chosen = [p for p in pairs(outcomes) if p[0].case.file == file]
        factors = [pd.case.factor for pd, _ in chosen]
        line = "-" if file == next(iter(RATES)) else ":"
        for j, joint in enumerate(chosen[0][0].joints):
            style: dict[str, Any] = {"linestyle": line, "marker": "o", "markersize": 4}
            errors.loglog(factors, [pd.rms[j] * 1e3 for pd, _ in chosen], color=colours.joint(j), alpha=0.5, **style)
            errors.loglog(factors, [ff.rms[j] * 1e3 for _, ff in chosen], color=colours.joint(j), **style,
                          label=f"{joint}, {label}")
            ratios.loglog(factors, [ff.rms[j] / pd.rms[j] for pd, ff in chosen], color=colours.joint(j), **style)
    ratios.axhline(0.1, color="0.5", linewidth=0.8)
    errors.set(title="rms error: PD pale, feed-forward + PD full", ylabel="mrad")
    ratios.set(xlabel="gains, share of the stiffest", ylabel="rms (FF + PD) / rms (PD)")
    errors.set_ylim(top=20.0 * errors.get_ylim()[1])  # room for the legend
    errors.legend(fontsize=7, ncols=2, loc="upper center")
    for axes in (errors, ratios):
        axes.set_xticks(FACTORS, [f"{factor:g}" for factor in FACTORS])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
