"""Shows a motion and its outcome in the terminal. All output goes to standard error."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from femtorque.codegen.mechanism import Joint
from femtorque.host.link import Answer, Configuration
from femtorque.host.show.readable_units import ERROR, TRUE, readable
from femtorque.host.stream import streaming as stream


@contextmanager
def stream_bar(console: Console | None = None, on_hold: Callable[[], None] = lambda: None
               ) -> Iterator[Callable[[stream.Progress], None]]:
    """Show a progress line on a terminal. on_hold: called when the arm begins to wait on its path for the user."""
    console = console or Console(stderr=True)
    columns = (
        TextColumn("{task.fields[state]:<8}"), BarColumn(30), TextColumn("{task.fields[left]:5.1f} s left"),
        TextColumn("buffer {task.fields[buffered]:>3}/{task.fields[ring]}"),
        TextColumn("error {task.fields[error]:.1e}"), TextColumn("gap {task.fields[gap]:.0f} ms"),
        TextColumn("resent {task.fields[resent]}"), TextColumn("[yellow]{task.fields[limits]}"))
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=1.0, visible=False, state="", left=0.0, buffered=0, ring=0, error=0.0, gap=0.0,
                            resent=0, limits="")

        told = drawn = ""

        def show(p: stream.Progress) -> None:
            """Draw a new state immediately. Draw all other changes at the next refresh."""
            nonlocal told, drawn
            if p.holding and not told:
                console.print(f"{p.holding}, holding; Enter goes on, Ctrl-C disarms", markup=False)
                on_hold()
            told = p.holding
            bar.update(
                task, visible=True, total=p.duration, completed=p.t, state=p.state, left=p.left, ring=p.ring,
                buffered=p.buffered, error=float(np.max(np.abs(p.error))), gap=p.worst_gap * 1e3,
                resent=p.retransmissions, limits=" ".join(p.limits), refresh=p.state != drawn)
            drawn = p.state

        yield show


@contextmanager
def build_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress line with the built files and their number, on a terminal only."""
    console = Console(stderr=True)
    columns = (BarColumn(30), TextColumn("{task.completed:.0f}/{task.total:.0f} {task.description}"))
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=1)
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)


def tracking_table(title: str, joints: Sequence[Joint], rms: ArrayLike, worst: ArrayLike,
                   true: tuple[ArrayLike, ArrayLike] | None = None) -> RenderableType:
    """Return measured tracking errors (J,), one row per joint. true: rms and worst of a simulated plant."""
    over = "each STATUS in motion, as a report" if true is None else "every tick in motion; a report: each STATUS"
    table = Table(caption=f"{ERROR} {f'{TRUE} ' * (true is not None)}Over {over}.", caption_justify="left")
    heads = ("error rms", "error worst", *(("true rms", "true worst") if true else ()))
    for column in ("joint", *heads, "unit"):
        table.add_column(column, justify="left" if column in ("joint", "unit") else "right")
    numbers = np.column_stack([np.asarray(column) for column in (rms, worst, *(true or ()))])
    for joint, row in zip(joints, numbers, strict=True):
        factor, unit = readable(float(np.max(np.abs(row))), "m" if joint.type == "prismatic" else "rad")
        table.add_row(joint.name, *(f"{x * factor:.3g}" for x in row), unit)
    return Group(Text(title), table)


def ports_table(found: Sequence[Answer]) -> Table:
    table = Table()
    for column in ("port", "what", "who answers"):
        table.add_column(column, overflow="fold")
    for answer in found:
        who = str(answer).removeprefix(f"{answer.port}: ")
        table.add_row(answer.port, answer.what, who, style=None if answer.identity else "dim")
    return table


def outcome_table(outcome: stream.Outcome, configuration: Configuration) -> RenderableType:
    """Return a table of the tracking errors that the board measured during a motion."""
    return tracking_table(_headline(outcome), configuration.joints, outcome.tracking_rms, outcome.tracking_max)


def _headline(o: stream.Outcome) -> str:
    words = (
        f"{o.ended}: {o.duration:.3f} s, {o.knots} knots in {o.frames} frames ({o.retransmissions} resent), "
        f"least buffered {o.least_buffered}, worst gap {o.worst_gap * 1e3:.0f} ms, tick at most {o.cycles_max} cycles")
    if o.rounds > 1:
        words = f"{words}, {o.rounds} rounds"
    if o.resumed:
        words += f", resumed {o.resumed} time{'s' * (o.resumed > 1)}"
    acted = f", limits that acted: {', '.join(o.limits)}" if o.limits else ""
    return f"{words}{acted}; the motors are off now"
