"""Verbs for the virtual board, and for the papers' experiments on it."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from femtorque.codegen.common import BadInput, need
from femtorque.commands import completion
from femtorque.commands.answer import Answer, warn_of_open_loop
from femtorque.commands.options import (
    PAGE_CLOSES, Force, Json, LogTo, Mech, Traj, Web, claim_log, load_mechanism, port_number)

if TYPE_CHECKING:
    from femtorque.codegen.mechanism import Mechanism
    from femtorque.hil.plant.selection import Plant
    from femtorque.hil.play import Result, Watch
    from femtorque.host.link import Session
    from femtorque.host.record import Truth


Fault = Annotated[str | None, typer.Option(metavar="F", autocompletion=completion.faults,
                                           help="fault in mid-motion; a wrong name lists all faults")]
Resume = Annotated[int, typer.Option(metavar="N", min=0,
                                     help="how often to go on after a stop because knots were late")]
Feedforward = Annotated[bool, typer.Option("--feedforward/--no-feedforward", help="or PD alone")]
Tcp = Annotated[int, typer.Option("--port", "-p", metavar="PORT", min=0, max=65535,
                                  help="TCP port of this machine; 0: any that is free")]
PORT = "5555"
Served = Annotated[str, typer.Option("--port", "-p", metavar="PORT|unix:PATH",
                                     help="TCP port of this machine, 0 for any that is free; or a Unix socket, which "
                                     "only this user's programs can open")]
RealBoard = Annotated[str, typer.Option("--port", "-p", metavar="PORT", show_default=False,
                                        autocompletion=completion.ports,
                                        help="of a real board with the image of `femtorque build --pil`: serial "
                                        "device, or socket://host:port")]


def run(
    mech: Mech,
    traj: Traj,
    feedforward: Feedforward = True,
    fault: Fault = None,
    resume: Resume = 0,
    log: LogTo = None,
    plant: Annotated[str, typer.Option(metavar="auto|mujoco", help="what the board moves")] = "auto",
    scene: Annotated[Path | None, typer.Option(metavar="SCENE.xml", show_default=False,
                                               help="with --plant mujoco: an MJCF file with what the arm may touch"
                                               )] = None,
    web: Web = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Play a motion on the virtual board, which runs the image.

    The exact flash image, a simulated arm and this host run together in simulated time. The result has two tracking
    errors: measured by the encoders, and true."""
    need("unicorn")
    from femtorque.codegen.board import CHIP, on_chip
    from femtorque.hil.plant import plant_of
    from femtorque.hil.play import run_closed_loop as play

    given = load_mechanism(mech)
    mechanism = on_chip(given)
    if mechanism is not given:
        print(f"{mech}: a PC is the board, and this run is on the image for {CHIP}: the torques are equal bit for bit, "
              "and the adapter's delay is left out; `femtorque hil serve` runs the PC's program", file=sys.stderr)
    rotorless = _warn_of_rotors(mechanism)
    world = None if plant == "auto" and scene is None else plant_of(mechanism, plant, scene)
    return _played(play, mechanism, traj, feedforward, fault, resume, log, web, force, world, rotorless)


def pil(
    mech: Mech,
    traj: Traj,
    port: RealBoard,
    feedforward: Feedforward = True,
    fault: Fault = None,
    resume: Resume = 0,
    log: LogTo = None,
    web: Web = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Play a motion on a real board whose arm is simulated here.

    This is processor in the loop. The image of `femtorque build --pil` receives encoder counts over the line and sends
    its duties back. This image drives no real motor."""
    need("unicorn")
    from femtorque.hil.play import run_in_the_loop as play

    return _played(partial(play, port), load_mechanism(mech), traj, feedforward, fault, resume, log, web, force)


def _played(play: Callable[..., Result], mechanism: Mechanism, traj: Path, feedforward: bool, fault: str | None,
            resume: int, log: Path | None, web: int | None, force: bool, world: Plant | None = None,
            rotorless: Sequence[str] = ()) -> Answer:
    """Run a motion on a virtual or real board with a simulated arm, and return the result."""
    from rich.console import Group
    from rich.text import Text

    from femtorque.codegen.motion import Trajectory
    from femtorque.host.show import stream_bar, tracking_table

    claim_log(log, force)
    with stream_bar() as on_progress:
        result = play(mechanism, Trajectory.load(traj, mechanism), feedforward=feedforward, fault=fault, resume=resume,
                      plant=world, log=log, on_progress=on_progress,
                      watch=None if web is None else _page(mechanism, web, world))
    unmeasured = warn_of_open_loop(mechanism)
    title = f"{result.ended}; the board is in {result.state}; a tick took at most {result.cycles_tick} cycles"
    table = tracking_table(title, mechanism.streamed, result.measured_rms, result.measured_max,
                           (result.tracking_rms, result.tracking_max))
    text = Group(title if unmeasured else table, *(Text(line, style="bold red") for line in result.dangers))
    return Answer(result.report() | {"open_loop": unmeasured, "rotors_unknown": list(rotorless)}, text,
                  good=result.good)


def _on_pc(mech: Path, mechanism: Mechanism, port: str, options: dict[str, bool]) -> Answer:
    """Serve a PC's program with virtual drives. options: those that need a chip, and True if they are given."""
    from femtorque.hil.play import serve_pc
    from femtorque.host.link import SCHEME, path_of, served_folder
    from femtorque.host.stream import Interrupts

    for option, given in options.items():
        if given:
            raise BadInput("command line", option, None, "needs a chip", f"another [board] use in {mech}")
    if port != PORT and not port.startswith(SCHEME):
        raise BadInput("command line", "--port", port, "must be unix:PATH, since the board is a PC", "leave it out")
    path = path_of(port) if port.startswith(SCHEME) else served_folder() / f"{mechanism.name}.board"
    with Interrupts().on_ctrl_c() as interrupts:
        seconds = serve_pc(mechanism, path, partial(print, file=sys.stderr, flush=True), lambda: interrupts.count > 0)
    return Answer({"seconds": seconds}, f"{seconds:.3f} s")


def serve(
    mech: Mech,
    port: Served = PORT,
    feedforward: Feedforward = True,
    pil: Annotated[bool, typer.Option("--pil", help="the image for `femtorque hil pil`, which simulates the "
                                                    "arm")] = False,
    tape: Annotated[Path | None, typer.Option("--tape", metavar="RUN.tape", show_default=False,
                                              help="file that records all bytes of hosts, for `femtorque hil replay`"
                                              )] = None,
    json: Json = False,
) -> Answer:
    """Run the virtual board at a TCP port or a Unix socket, in real time, until Ctrl-C.

    Every verb with --port accepts this board as --port socket://localhost:PORT or --port unix:PATH. If a PC is the
    board, its program runs with virtual drives at a Unix socket, which --port auto finds."""
    if sys.stderr.isatty():  # before the imports, which take a second
        print(f"building the board of {mech}", file=sys.stderr, flush=True)
    need("unicorn")
    from femtorque.codegen.board import on_pc
    from femtorque.hil.play import Sliced, serve_board, taped
    from femtorque.host.stream import Interrupts

    mechanism = load_mechanism(mech)
    if on_pc(mechanism):
        return _on_pc(mech, mechanism, port, {"--pil": pil, "--tape": tape is not None,
                                              "--no-feedforward": not feedforward})
    at = port if port.startswith("unix:") else port_number(port, "--port")
    if not pil:
        _warn_of_rotors(mechanism)
    elif tape is not None:
        raise BadInput("command line", "--tape", str(tape), "goes without --pil", "there the arm is elsewhere")
    run = serve_board if tape is None else partial(
        serve_board, kind=Sliced, around=partial(taped, path=tape, feedforward=feedforward))

    def tell(address: str) -> None:
        print(address, file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            print(f"In another terminal: femtorque home {mech} --port {address}", file=sys.stderr)

    with Interrupts().on_ctrl_c() as interrupts:
        ticks = run(mechanism, at, tell, lambda: interrupts.count > 0, feedforward=feedforward, pil=pil)
    return Answer({"ticks": ticks}, f"{ticks} ticks")


def replay(
    mech: Mech,
    tape: Annotated[Path, typer.Argument(metavar="RUN.tape", show_default=False,
                                         help="recording of `femtorque hil serve --tape`")],
    log: LogTo = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Replay what hosts sent to a virtual board, bit for bit.

    Each byte arrives at the cycle of the chip at which it arrived in the recording. So live targets and late targets
    cause the recorded motion again. The answer says if the board sent the recorded bytes."""
    need("unicorn")
    from femtorque.hil.play import read_tape, replay_tape

    claim_log(log, force)
    done = replay_tape(load_mechanism(mech), read_tape(tape), log=log)
    said = {True: "the board sent the same, bit for bit", False: "the board sent something else than when it was "
            "recorded", None: "the recording was broken off, so nobody knows whether the board sent the same"}
    return Answer({"seconds": done.seconds, "same": done.same}, f"{done.seconds:.3f} s; {said[done.same]}",
                  good=done.same is not False)


def drives(
    mech: Mech,
    port: Tcp = 0,
    json: Json = False,
) -> Answer:
    """Run only the simulated drives and their buses, for other programs.

    The drives run in real time until Ctrl-C, without a board. Each CAN bus is a terminal and a TCP port, like a serial
    adapter for CAN (slcan). The first TCP port is PORT. In python-can: interface="slcan", channel="/dev/pts/...". A bus
    of servos carries plain bytes, as through the makers' adapters."""
    need("unicorn")
    from femtorque.hil.board import DrivesAlone
    from femtorque.hil.plant import plant_of
    from femtorque.host.stream import Interrupts

    mechanism = load_mechanism(mech)
    _warn_of_rotors(mechanism)
    try:
        served = DrivesAlone(mechanism, plant_of(mechanism), port)
    except OSError as error:
        raise BadInput("command line", "--port", port, f"cannot be listened at: {error.strerror}",
                       "0 takes any") from error
    with served, Interrupts().on_ctrl_c() as interrupts:
        for name, terminal in served.terminals.items():
            print(f"{name}: {terminal} or {served.urls[name]}", file=sys.stderr, flush=True)
        served.serve(lambda: interrupts.count > 0)
        return Answer({"seconds": served.clock.seconds, "buses": served.urls, "terminals": served.terminals},
                      f"{served.clock.seconds:.3f} s")


def scenario(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, autocompletion=completion.scenarios,
                                        help="experiment of hil/scenarios; a wrong name lists them")],
    only: Annotated[str | None, typer.Option("--run", metavar="RUN", show_default=False,
                                             help="only this run of it")] = None,
    short: Annotated[bool, typer.Option("--short", help="its short form")] = False,
    fault: Fault = None,
    port: Annotated[str | None, typer.Option("--port", "-p", metavar="PORT", show_default="the virtual board",
                                             help="of a real board with the pil image")] = None,
    json: Json = False,
) -> Answer:
    """Simulate the runs of an experiment, and check the results.

    The file of an experiment has the mechanism, the motion, the changes and faults of each run, and the required
    results."""
    need("unicorn")
    from femtorque.hil.scenarios import perform

    performance = perform(name, only, short=short, fault=fault, board=port)
    return Answer(performance.report(), "\n".join(performance.lines()), good=performance.good)


def demo(
    page: Annotated[bool, typer.Option("--page", help="log both runs, write pages of them, and open one on a terminal"
                                       )] = False,
    sweep: Annotated[bool, typer.Option("--sweep", help="also at half and quarter gains, and at the 10 ms of the "
                                        "paper, with a figure")] = False,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Run an example arm with and without feed-forward.

    The demo copies a three-link arm and its motion into this folder. The virtual board plays the motion twice with
    equal gains: with PD control only, and with feed-forward and PD control."""
    from femtorque.hil.scenarios import PAGE, demonstrate
    from femtorque.host.show import build_bar

    with build_bar() as progress:
        done = demonstrate(Path(), sweep=sweep, page=page, force=force, on_progress=progress)
    if page and not json and sys.stdout.isatty():
        webbrowser.open_new_tab(Path(PAGE).absolute().as_uri())
    return Answer(done.data(), done.renderable(), good=done.good)


def _warn_of_rotors(mechanism: Mechanism) -> list[str]:
    """Warn of drives with unknown rotor inertia, which the virtual drives take as 0. Return the lines."""
    from femtorque.hil.plant import unknown

    lines = unknown(mechanism.streamed)
    for line in lines:
        print(f"warning: {line}", file=sys.stderr)
    return lines


def _page(mechanism: Mechanism, web: int, plant: Plant | None) -> Watch:
    """Return a context with a live page of the arm. On a terminal the page stays open until Ctrl-C."""
    from femtorque.hil.plant import world_of
    from femtorque.host.scene import scene
    from femtorque.host.show import serving

    world = None if plant is None else world_of(plant)
    around = None if world is None else world.moment
    arm = scene(mechanism, () if world is None else world.things)

    @contextmanager
    def watch(session: Session, truth: Truth) -> Iterator[None]:
        with serving(session, web, arm=arm, truth=truth, around=around) as url:
            print(url, file=sys.stderr, flush=True)
            if not sys.stdin.isatty():
                print(PAGE_CLOSES, file=sys.stderr, flush=True)
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
    """Reproduce the figures and tables of the papers on one page.

    Each figure states its source and its reference result."""
    from femtorque.hil.papers import reproduce

    report = reproduce.reproduce(name, out, short=short, force=force,
                                on_progress=partial(print, file=sys.stderr, flush=True))
    return Answer(report.data(), report.renderable(), good=report.good)
