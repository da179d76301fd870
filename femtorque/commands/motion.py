"""Verbs that plan, play, watch and report a motion."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from femtorque.codegen.common import (
    MOTION, MOTION_NPZ, PARQUET, TABLE, BadInput, all_or_none, check_page, claim, picture)
from femtorque.codegen.common.output import page
from femtorque.commands.answer import Answer, warn_of_open_loop
from femtorque.commands.options import (
    PAGE_CLOSES, Force, Home, Json, LogTo, Mech, Port, Rezero, Traj, Udp, Web, claim_log, load_mechanism)

if TYPE_CHECKING:
    from femtorque.codegen.mechanism import Mechanism
    from femtorque.host.board import Board
    from femtorque.host.show import Again
    from femtorque.host.stream import Interrupts

RESERVE = 0.1  # fraction of the effort that plans reserve, as in femtorque.host.plan.effort


def plan(
    mech: Mech,
    waypoints: Annotated[Path, typer.Argument(metavar="WAYPOINTS", show_default=False,
                                              help="where to go, TOML or CSV; joints or tip; or the log of a run, "
                                              "MCAP, to be repeated")],
    out: Annotated[Path, typer.Option("--output", "-o", metavar="TRAJ", show_default=False,
                                      help="file to write, .csv or .npz")],
    tip: Annotated[str | None, typer.Option(
        metavar="LINK[:x,y,z]", show_default="of the file",
        help="link, and point of the link, m in its frame, that goes to xyz")] = None,
    after: Annotated[Path | None, typer.Option(metavar="TRAJ", show_default="the start pose",
                                               help="begin where this motion ends")] = None,
    port: Annotated[str | None, typer.Option("--port", "-p", metavar="PORT", show_default=False,
                                             help="begin at the pose of this board's arm")] = None,
    back: Annotated[bool, typer.Option("--back", help="return to the beginning at the end, to loop")] = False,
    speed: Annotated[float, typer.Option(metavar="SHARE", min=0.001, max=1.0, help="of the limits of rate")] = 1.0,
    reserve: Annotated[float,
                       typer.Option(metavar="SHARE", min=0.0, max=0.9, help="share of the effort for the "
                                                                            "feedback")] = RESERVE,
    ends: Annotated[Literal["free", "static"], typer.Option(
        help="of a flexible arm: free: the joints also move before and after the tip; static: from sag to sag, only "
             "with the tip")] = "free",
    figure: Annotated[Path | None, typer.Option("--figure", metavar="OUT.png", show_default=False,
                                                help="draw a preview")] = None,
    shown: Annotated[Path | None, typer.Option("--page", metavar="OUT.html", show_default=False,
                                               help="show the arm along the plan, with the limits")] = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Plan a jerk-limited motion through waypoints, within limits.

    From a log, `plan` makes a plan of the recorded motion. The recorded motion may be a motion of the board, or a
    motion of the arm by hand. The plan is smooth and within limits. If the motors are too weak, the plan is slower than
    the recording.

    For an arm that ends in a flexible link, `plan` computes the joint motion with which the tip passes the waypoints.
    The tip can also follow a timed path from a CSV file. The columns are t, x, y and optionally z, fx, fy, fz."""
    from femtorque.codegen.common import need
    from femtorque.codegen.motion import Trajectory
    from femtorque.codegen.verify import check_format
    need("ruckig")
    from femtorque.host.board import Board
    from femtorque.host.plan import (
        FlexiblePlan, draw_flexible, draw_plan, plan_flexible, planning as planning, repeat, timed_tip,
        waypoints as files)

    mechanism = load_mechanism(mech)
    if after and port:
        raise BadInput("command line", "--after", after, "does not go with --port", "a motion has one beginning")
    begin = Trajectory.load(after, mechanism).positions[-1] if after else None
    if port:
        with Board.connect(port, mechanism, look=True) as board:
            begin = board.positions
    claim(out, MOTION_NPZ if out.suffix.lower() == ".npz" else MOTION, force)
    if figure is not None:
        check_format(figure)
        claim(figure, picture("plan"), force)
    if shown is not None:
        check_page(shown)
        claim(shown, page("plan"), force)
    flexible = any(link.beam for link in mechanism.links)
    if flexible and (back or reserve != RESERVE):
        raise BadInput("command line", "--back" if back else "--reserve", None,
                       "is not for an arm with a flexible link")
    if flexible and speed != 1.0 and timed_tip(waypoints):
        raise BadInput("command line", "--speed", speed, f"{waypoints} has its own times")
    if not flexible and ends != "free":
        raise BadInput("command line", "--ends", ends, "is for an arm that ends in a flexible link")
    again = waypoints.suffix.lower() == ".mcap"
    for option, given in (("--tip", tip), ("--after", after), ("--port", port), ("--back", back)):
        if again and given:
            raise BadInput("command line", option, str(given) if given is not True else None,
                           f"does not go with {waypoints}", "a recording is repeated as it was; "
                           "`femtorque stream --approach` goes to where it begins")
    found: FlexiblePlan | planning.Plan
    draw: Callable[[Path], None]
    if again:
        led = repeat(mechanism, waypoints, speed, reserve)
        found, draw = led, lambda path: draw_plan(path, mechanism, led)
    elif flexible:
        bent = plan_flexible(mechanism, waypoints, ends=ends, begin=begin, speed=speed, tip_point=tip)
        found, draw = bent, lambda path: draw_flexible(path, mechanism, bent)
    else:
        rigid = planning.plan(mechanism, files.load_waypoints(waypoints, mechanism, tip), begin=begin, back=back,
                              speed=speed,
                              reserve=reserve)
        found, draw = rigid, lambda path: draw_plan(path, mechanism, rigid)
    with all_or_none(out, figure, shown):
        found.trajectory.save(out, force)
        if figure is not None:
            draw(figure)
        if shown is not None:
            from femtorque.host.show import write_planned

            write_planned(shown, mechanism, found, force)
    drawn = {name: file for name, file in (("figure", figure), ("page", shown)) if file is not None}
    return Answer({"file": out, **drawn, **found.data()}, f"{out}: {found.words()}")


def stream(
    mech: Mech,
    traj: Traj,
    port: Port,
    log: LogTo = None,
    home: Home = False,
    rezero: Rezero = False,
    clear: Annotated[bool, typer.Option("--clear", help="acknowledge a latched fault first")] = False,
    speed: Annotated[float, typer.Option(metavar="TIMES", min=0.001, max=100.0,
                                         help="times as fast as the trajectory says")] = 1.0,
    loop: Annotated[int, typer.Option(metavar="N", min=0, help="how often to play it; 0: until Ctrl-C")] = 1,
    approach: Annotated[bool, typer.Option("--approach", help="go slowly to where the motion starts first")] = False,
    resume: Annotated[int, typer.Option(metavar="N", min=0,
                                        help="how often to go on after a stop because knots were late")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="look at everything, arm nothing")] = False,
    web: Web = None,
    udp: Udp = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Play a motion on a board.

    At the end the motors are switched off. Ctrl-C stops the arm along its path and holds it. Then Enter resumes and
    Ctrl-C disarms. On a terminal the live page of --web stays open after the arm is disarmed, until Ctrl-C. With a
    virtual board, the page has a button that repeats the motion."""
    from femtorque.host.board import Board
    from femtorque.host.show import Again, outcome_table, stream_bar
    from femtorque.host.stream import Interrupts, Outcome

    mechanism = load_mechanism(mech)
    claim_log(log, force)
    arm = _drawn(mechanism, web)
    with Board.connect(port, mechanism) as board, _packing(board, log), Interrupts().on_ctrl_c() as interrupts:
        configuration = board.session.configuration
        if clear:
            board.clear()
        if home or rezero:
            board.home(rezero=rezero)
        if dry_run:
            found = board.check(traj, speed=speed, loop=loop, approach=approach)
            return Answer({"ended": "dry run", "digest": configuration.digest, **found.data()},
                          f"ready to move: {found.words()}; nothing was armed")
        if web is not None:  # check first, so that no address of a page is printed for a motion that is refused
            board.check(traj, speed=speed, loop=loop, approach=approach)
        asks = sys.stdin.isatty()
        stays = web is not None and asks and not json
        again = Again() if stays and board.session.virtual else None

        def play(log: Path | None, approach: bool) -> Outcome:
            with stream_bar(on_hold=partial(interrupts.read_lines, 0) if asks else lambda: None) as on_progress:
                return board.stream(
                    traj, log=log, on_progress=on_progress, interrupts=interrupts, resume=resume, speed=speed,
                    loop=loop, approach=approach, hold_after_stop=math.inf if asks else 0.0)

        with _shown(board.session, web, udp, arm, again):
            if web is not None and not stays:
                print(PAGE_CLOSES, file=sys.stderr, flush=True)
            outcome = play(log, approach)
            while stays and outcome.ended == "done" and _stay(board, interrupts, again):
                outcome = play(log and _next(log), True)
    return Answer(outcome.report(configuration) | {"open_loop": warn_of_open_loop(mechanism)},
                  outcome_table(outcome, configuration), good=outcome.ended == "done")


@contextmanager
def _packing(board: Board, log: Path | None) -> Iterator[None]:
    """Compress the log at the end of the context. After Ctrl-C the log is complete but not compressed."""
    yield
    if log is not None:
        if sys.stdin.isatty():
            print(f"packing {log} (Ctrl-C leaves it unpacked)", file=sys.stderr, flush=True)
        try:
            board.close()
        except KeyboardInterrupt:
            print(f"{log} is whole, but not packed, and without the arm", file=sys.stderr, flush=True)


def monitor(
    port: Port,
    mech: Annotated[Path | None, typer.Argument(metavar="MECH", show_default=False,
                                                help="mechanism file, for the names and gains of the joints")] = None,
    web: Web = None,
    udp: Udp = None,
    json: Json = False,
) -> Answer:
    """Live view of a board, until Ctrl-C. With --json: one look."""
    from rich.console import Console

    from femtorque.host.board import Board
    from femtorque.host.show import snapshot, watch
    from femtorque.host.stream import Interrupts

    mechanism = load_mechanism(mech) if mech else None
    arm = _drawn(mechanism, web)
    with Board.connect(port, mechanism, look=True) as board, Interrupts().on_ctrl_c() as interrupts:
        if json:
            if any(joint.drive for joint in board.session.configuration.joints):
                board.session.hear_of_drives(2)
            return Answer(snapshot(board.session))
        with _shown(board.session, web, udp, arm):
            watch(board.session, Console(), lambda: interrupts.count > 0)
        return Answer(snapshot(board.session))


def _stay(board: Board, interrupts: Interrupts, again: Again | None) -> bool:
    """Disarm the arm and keep the page open. Return True for a repeated motion, and False after Ctrl-C."""
    from femtorque.host.link import PERIOD

    board.disarm()
    interrupts.count = 0
    print("the motion is over, the outputs are off; the page stays until Ctrl-C"
          + (", and can play it again" if again else ""), file=sys.stderr, flush=True)
    if again is not None:
        again.open = True
    while interrupts.count == 0:
        board.session.pump()
        if again is not None and again.taken():
            return True
        board.session.clock.sleep(PERIOD)
    return False


def _next(log: Path) -> Path:
    """Return the first of RUN-2.mcap, RUN-3.mcap ... that does not exist."""
    from femtorque.host.record import table_of

    stem = log.stem
    return next(path for path in (log.with_stem(f"{stem}-{n}") for n in count(2))
                if not path.exists() and not table_of(path).exists())


def _drawn(mechanism: Mechanism | None, web: int | None) -> dict[str, Any] | None:
    """Return the arm's scene for a live page. Call before a board is connected, since reading meshes takes a while."""
    if mechanism is None or web is None:
        return None
    from femtorque.host.scene import scene

    return scene(mechanism)


@contextmanager
def _shown(session: Any, web: int | None, udp: str | None, arm: dict[str, Any] | None,
           again: Again | None = None) -> Iterator[None]:
    """Show the board's messages on a page and send them as datagrams until the context ends."""
    with ExitStack() as also:
        if udp is not None:
            from femtorque.host.show import sending

            also.enter_context(sending(session, udp))
        if web is not None:
            from femtorque.host.show import serving

            print(also.enter_context(serving(session, web, again, arm)), file=sys.stderr, flush=True)
        yield


def plot(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN.mcap", help="log of a run; of several, to compare them",
                                               show_default=False)],
    out: Annotated[list[Path] | None, typer.Option("--output", "-o", metavar="FILE", show_default="RUN.report.html",
                                                   help="report .html; figure .png, .svg, .pdf; table .csv, .parquet; "
                                                   "may be given again")] = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Report on a run in words and figures, or export the run as a table.

    Several runs of one arm are compared on one page, by the tracking errors of each joint."""
    from femtorque.codegen.verify import FORMATS
    from femtorque.host.record import log, write_export
    from femtorque.host.show import Findings, draw_run, run_summary, write_report

    if len(runs) > 1:
        return _compare(runs, out, force)
    run, = runs
    what, files = log.read_log(run), out or [run.with_suffix(".report.html")]
    writers = {".html": write_report, ".csv": write_export, ".parquet": write_export} | dict.fromkeys(FORMATS,
                                                                                                      draw_run)
    for file in files:
        if file.suffix not in writers:
            raise BadInput(file, "output", None, f"must end in one of {', '.join(writers)}")
    kinds = {".html": page("plot"), ".csv": TABLE, ".parquet": PARQUET}
    for file in files:
        claim(file, kinds.get(file.suffix, picture("plot")), force)
    for file in files:
        writers[file.suffix](what, file, force)
    said = Findings(what).sentences
    figure = next((file for file in files if file.suffix in FORMATS), None)
    return Answer({"files": files, "figure": figure, "sentences": said, **run_summary(what)},
                  "\n".join([*said, "", *map(str, files)]))


def _compare(runs: list[Path], out: list[Path] | None, force: bool) -> Answer:
    from femtorque.host.record import log
    from femtorque.host.show import compared_runs, comparison_sentences, run_summary, write_comparison

    file = out[0] if out else runs[0].with_name("-".join(run.stem for run in runs) + ".html")
    if len(out or ()) > 1 or file.suffix != ".html":
        raise BadInput(file, "output", None, "of several runs must be one page, .html")
    logs = [(run, log.read_log(run)) for run in runs]
    found = compared_runs(logs)
    write_comparison(found, file, force)
    said = comparison_sentences(found)
    return Answer({"files": [file], "sentences": said, "runs": {str(path): run_summary(run) for path, run in logs}},
                  "\n".join([*said, "", str(file)]))
