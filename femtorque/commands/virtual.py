"""Verbs for the virtual board, and for the papers' experiments on it."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from femtorque.codegen.common.errors import BadInput
from femtorque.commands import completion
from femtorque.commands.answer import Answer, warn_of_open_loop
from femtorque.commands.options import Force, Json, Web

if TYPE_CHECKING:
    from femtorque.codegen.mechanism.description import Mechanism
    from femtorque.hil.plant.choose import Plant
    from femtorque.hil.play.run import Watch
    from femtorque.host.link.session import Session
    from femtorque.host.record.log import Truth


def hil(
    mech: Annotated[Path | None, typer.Argument(metavar="MECH", help="mechanism file, TOML; none with --scenario",
                                                show_default=False)] = None,
    traj: Annotated[Path | None, typer.Argument(metavar="TRAJ", show_default=False,
                                                help="trajectory; none with --serve")] = None,
    feedforward: Annotated[bool, typer.Option("--feedforward/--no-feedforward", help="or PD alone")] = True,
    fault: Annotated[str | None, typer.Option(metavar="F", autocompletion=completion.faults,
                                              help="what goes wrong in mid-motion; a wrong name lists all"
                                              )] = None,
    resume: Annotated[int, typer.Option(metavar="N", min=0,
                                        help="how often to go on after a stop because knots were late")] = 0,
    log: Annotated[Path | None, typer.Option(metavar="RUN.mcap", show_default=False,
                                             help="log to write, as `stream` does")] = None,
    serve: Annotated[int | None, typer.Option(metavar="PORT", min=0, max=65535, show_default=False,
                                              help="only run the board, at this TCP port (0: any)")] = None,
    buses: Annotated[int | None, typer.Option(metavar="PORT", min=0, max=65535, show_default=False,
                                              help="only run the drives on buses, without a board: each bus a terminal "
                                              "and a TCP port, this one the first (0: any), as a serial adapter for "
                                              "CAN (slcan)")] = None,
    board: Annotated[str | None, typer.Option("--board", "-b", metavar="PORT", show_default=False,
                                              help="a real board with the pil image in the place of the virtual one: "
                                              "serial device, or socket://host:port")] = None,
    pil: Annotated[bool, typer.Option("--pil", help="with --serve: the pil image, for --board")] = False,
    scenario: Annotated[str | None, typer.Option(
        "--scenario", metavar="NAME", show_default=False, autocompletion=completion.scenarios,
        help="play an experiment of hil/scenarios; a wrong name lists them")] = None,
    only: Annotated[str | None, typer.Option("--run", metavar="RUN", show_default=False,
                                             help="with --scenario: only this run of it")] = None,
    plant: Annotated[str, typer.Option(metavar="auto|mujoco", help="what the board moves")] = "auto",
    scene: Annotated[Path | None, typer.Option(metavar="SCENE.xml", show_default=False,
                                               help="with --plant mujoco: an MJCF file with what the arm may touch"
                                               )] = None,
    short: Annotated[bool, typer.Option("--short", help="with --scenario: its short form")] = False,
    web: Web = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Play a motion on the virtual board, which runs the image.

    The exact flash image, a plant and this host together.

    With --board the plant moves a real board's image (`femtorque build --pil`), and nothing else. With --serve the
    board waits for `femtorque stream --port socket://...` instead. With --buses other people's programs talk to the
    drives alone: in python-can interface="slcan", channel="/dev/pts/...". With --scenario the runs of an experiment
    are played and judged.
    """
    from rich.console import Group
    from rich.text import Text

    from femtorque.codegen.common.extras import need
    from femtorque.codegen.mechanism.reader import load_mechanism
    from femtorque.codegen.motion.trajectory import Trajectory

    need("unicorn")
    from femtorque.hil.plant.choose import plant_of
    from femtorque.hil.play import run as virtual
    from femtorque.host.record.log import claim_log
    from femtorque.host.show.display import stream_bar, tracking_table
    from femtorque.host.stream.stream import Interrupts

    if web is not None and (scenario is not None or serve is not None):
        raise BadInput("command line", "--web", web, "goes with MECH and TRAJ",
                       "of a board that is served the page is that of `femtorque stream --web`")
    if (serve is not None or scenario is not None) and (plant != "auto" or scene is not None):
        raise BadInput("command line", "--plant", plant, "goes with MECH and TRAJ")
    if scenario is not None:
        from femtorque.hil.scenarios.performance import perform

        if mech or traj or serve is not None:
            raise BadInput("command line", "--scenario", scenario, "takes neither MECH nor TRAJ nor --serve")
        performance = perform(scenario, only, short=short, fault=fault, board=board)
        return Answer(performance.report(), "\n".join(performance.lines()), good=performance.good)
    if mech is None:
        raise BadInput("command line", "MECH", None, "is missing", "give a mechanism file, or --scenario NAME")
    mechanism = load_mechanism(mech)
    rotorless = _warn_of_rotors(mechanism) if board is None and not pil else []
    if serve is not None and (board or traj):
        raise BadInput("command line", "--serve", serve, "takes neither TRAJ nor --board")
    if buses is not None:
        if serve is not None or board or traj or fault:
            raise BadInput("command line", "--buses", buses, "takes neither TRAJ nor --serve, --board or --fault")
        return _drives_alone(mechanism, buses)
    if serve is not None:
        with Interrupts().on_ctrl_c() as interrupts:
            ticks = virtual.serve(mechanism, serve, partial(print, file=sys.stderr, flush=True),
                                  lambda: interrupts.count > 0, feedforward=feedforward, pil=pil)
        return Answer({"ticks": ticks}, f"{ticks} ticks")
    if traj is None:
        raise BadInput("command line", "TRAJ", None, "is missing", "give a trajectory, or --serve 0")
    if pil:
        raise BadInput("command line", "--pil", True, "goes with --serve", "a board is played on with --board PORT")
    if log is not None:
        claim_log(log, force)
    run = virtual.run if board is None else partial(import_module("femtorque.hil.play.pil").run, board)
    world = None if plant == "auto" and scene is None else plant_of(mechanism, plant, scene)
    with stream_bar() as on_progress:
        result = run(mechanism, Trajectory.load(traj, mechanism), feedforward=feedforward, fault=fault, resume=resume,
                     plant=world, log=log, on_progress=on_progress,
                     watch=None if web is None else _page(mechanism, web, world))
    unmeasured = warn_of_open_loop(mechanism)
    cost = f"{result.instructions_tick} instructions" if result.instructions_tick else f"{result.cycles_tick} cycles"
    title = f"{result.ended}; the board is in {result.state}; at most {cost} per tick"
    table = tracking_table(title, mechanism.streamed, result.measured_rms, result.measured_max,
                           (result.tracking_rms, result.tracking_max))
    text = Group(table, *(Text(line, style="bold red") for line in result.dangers))
    return Answer(result.report() | {"open_loop": unmeasured, "rotors_unknown": rotorless}, text, good=result.good)


def demo(
    page: Annotated[bool, typer.Option("--page", help="log both runs, write pages of them, and open one on a terminal"
                                       )] = False,
    sweep: Annotated[bool, typer.Option("--sweep", help="also at half and quarter gains, and at the 10 ms of the "
                                        "paper, with a figure")] = False,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """See it work: an example arm, with and without feed-forward.

    Copies a three-link arm and its motion into this folder and plays them on the virtual board, with PD alone and with
    feed-forward + PD, at the same gains.
    """
    from femtorque.hil.scenarios.demo import PAGE, demonstrate
    from femtorque.host.show.display import build_bar

    with build_bar() as progress:
        done = demonstrate(Path(), sweep=sweep, page=page, force=force, on_progress=progress)
    if page and not json and sys.stdout.isatty():
        webbrowser.open_new_tab(Path(PAGE).absolute().as_uri())
    return Answer(done.data(), done.renderable(), good=done.good)


def _warn_of_rotors(mechanism: Mechanism) -> list[str]:
    """Say of which drives nobody knows the rotor, so that the virtual ones have none. Returns these lines."""
    from femtorque.hil.plant.drive_rotors import unknown

    lines = unknown(mechanism.streamed)
    for line in lines:
        print(f"warning: {line}", file=sys.stderr)
    return lines


def _drives_alone(mechanism: Mechanism, port: int) -> Answer:
    """Until Ctrl-C, in real time."""
    from femtorque.hil.board.drives_alone import DrivesAlone
    from femtorque.hil.plant.choose import plant_of
    from femtorque.host.stream.stream import Interrupts

    try:
        served = DrivesAlone(mechanism, plant_of(mechanism), port)
    except OSError as error:
        raise BadInput("command line", "--buses", port, f"cannot be listened at: {error.strerror}",
                       "0 takes any") from error
    with served, Interrupts().on_ctrl_c() as interrupts:
        for name, terminal in served.terminals.items():
            print(f"{name}: {terminal} or {served.urls[name]}", file=sys.stderr, flush=True)
        served.serve(lambda: interrupts.count > 0)
        return Answer({"seconds": served.clock.seconds, "buses": served.urls, "terminals": served.terminals},
                      f"{served.clock.seconds:.3f} s")


def _page(mechanism: Mechanism, web: int, plant: Plant | None) -> Watch:
    """A live page with the arm, where it truly is too; on a terminal it stays until Ctrl-C."""
    from femtorque.hil.plant.choose import world_of
    from femtorque.host.scene.description import scene
    from femtorque.host.show.web import serving

    world = None if plant is None else world_of(plant)
    around = None if world is None else world.moment
    arm = scene(mechanism, () if world is None else world.things)

    @contextmanager
    def watch(session: Session, truth: Truth) -> Iterator[None]:
        with serving(session, web, arm=arm, truth=truth, around=around) as url:
            print(url, file=sys.stderr, flush=True)
            yield
            if sys.stdin.isatty():
                print("the motion is over; the page stays until Ctrl-C", file=sys.stderr, flush=True)
                with suppress(KeyboardInterrupt):
                    while True:
                        sleep(1.0)

    return watch


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="NAME", show_default="all", autocompletion=completion.figures,
                                               help="a figure, or a paper; a wrong name lists them")] = None,
    out: Annotated[Path,
                   typer.Option("--output", "-o", metavar="DIR", help="folder of the page")] = Path("build/reproduce"),
    short: Annotated[bool, typer.Option("--short", help="brief motions and few trials, for a quick look")] = False,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Make the figures and tables of the papers anew, on one page.

    Each with its number beside its oracle.
    """
    from femtorque.hil.papers import reproduce

    report = reproduce.reproduce(name, out, short=short, force=force,
                                on_progress=partial(print, file=sys.stderr, flush=True))
    return Answer(report.data(), report.renderable(), good=report.good)
