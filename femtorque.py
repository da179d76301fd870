"""femtorque: from the description of one robot mechanism to the firmware of its motor board, and to a moving arm.

The command line, one short function a verb; what a verb does lives in codegen, host and hil. Every verb returns an
Answer; `main` prints it, as words or as exactly one JSON object, and turns errors into one line and an exit status:
0 good, 1 the answer is no, 2 bad input. In Python: `from femtorque import Mechanism, Board` (all names: API below;
examples/three_link.py shows them at work).
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from codegen.errors import BadInput, Refused

UsageError = typer.BadParameter.__mro__[1]  # click's own or the one that newer versions of typer carry
EXTRA = ("unicorn", "capstone")  # what the extra `hil` installs
API = {"Mechanism": "codegen.mechanism", "Trajectory": "codegen.trajectory", "Board": "host.board",
       "plan_motion": "host.api", "report": "host.api", "virtual_board": "hil.virtual"}


def __getattr__(name: str) -> Any:
    """The names of the Python API, imported when they are asked for."""
    if name in API:
        return getattr(import_module(API[name]), name)
    raise AttributeError(f"module 'femtorque' has no attribute {name!r}")


@dataclass(frozen=True)
class Answer:
    """data: the JSON object; text: the same for people (anything rich can print); good: exit status 0, else 1."""

    data: dict[str, Any]
    text: Any = ""
    good: bool = field(default=True, kw_only=True)


app = typer.Typer(
    pretty_exceptions_enable=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]},
)

Mech = Annotated[Path, typer.Argument(metavar="MECH", help="mechanism file, TOML; or a URDF alone",
                                      show_default=False)]
Traj = Annotated[Path, typer.Argument(metavar="TRAJ", show_default=False,
                                      help="trajectory: CSV, NPZ, or JointTrajectory of ROS 2 as YAML, JSON, MCAP")]
def _ports(incomplete: str) -> list[str]:
    """What completes --port."""
    from host.ports import candidates

    return [port for port in ("auto", *(device for device, _ in candidates())) if port.startswith(incomplete)]


Port = Annotated[str, typer.Option("--port", "-p", metavar="PORT", show_default=False, envvar="FEMTORQUE_PORT",
                                   autocompletion=_ports, help="serial device, socket://host:port, or auto: the one "
                                   "whose board carries the mechanism")]
Web = Annotated[int | None, typer.Option("--web", metavar="PORT", min=0, max=65535, show_default=False,
                                         help="show a live page at http://127.0.0.1:PORT (0: any)")]
Udp = Annotated[str | None, typer.Option("--udp", metavar="HOST:PORT", show_default=False,
                                         help="send every STATUS as JSON, for PlotJuggler")]
Json = Annotated[bool, typer.Option("--json", help="print exactly one JSON object on standard output")]


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"femtorque {version('femtorque')}")
        raise typer.Exit


@app.callback()
def femtorque(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="print it and exit")
                       ] = False,
) -> None:
    """From one mechanism file to the firmware of its motor board, and to a moving arm."""


@app.command()
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="name of the mechanism")],
    urdf: Annotated[Path | None, typer.Option("--from", metavar="X.urdf", help="take links and joints from it")] = None,
    board: Annotated[str | None, typer.Option(metavar="BOARD", show_default=False,
                                              help="with --from: give every joint a motor that fits its limits")] = None,
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="MECH", show_default="NAME.toml",
                                             help="file to write")] = None,
    json: Json = False,
) -> Answer:
    """Write a commented mechanism file to start from."""
    from codegen.init_file import write

    path = write(name, out or Path(f"{name}.toml"), urdf, board)
    return Answer({"file": path}, f"{path}: edit it, then `femtorque check {path}`")


@app.command()
def check(
    mech: Mech,
    trajs: Annotated[list[Path] | None, typer.Argument(metavar="[TRAJ]...", show_default=False,
                                                       help="motions to be looked at too")] = None,
    json: Json = False,
) -> Answer:
    """Validate a mechanism file, print it as tables, warn; also of motions that come near singular poses."""
    from codegen.check import examine
    from codegen.mechanism import Mechanism
    from codegen.trajectory import Trajectory

    mechanism = Mechanism.load(mech)
    report = examine(mechanism, [Trajectory.load(t, mechanism) for t in trajs or ()])
    return Answer(report.data(), report.renderable())


def _in_mode(mechanism: Any, mode: str | None) -> Any:
    """The mechanism in the mode that an option names."""
    from codegen.errors import BadInput
    from codegen.modes import in_mode
    from codegen.nearest import hint

    names = [m.name for m in mechanism.modes]
    if mode is not None and mode not in names:
        raise BadInput("femtorque", "--mode", mode, "no such mode", hint(mode, names, "modes"))
    return mechanism if mode is None else in_mode(mechanism, mode)


@app.command()
def torque(
    mech: Mech,
    traj: Traj,
    out: Annotated[Path, typer.Option("--output", "-o", metavar="OUT.csv", show_default=False, help="file to write")],
    backend: Annotated[Literal["reference", "c", "chip"], typer.Option(
        help="NumPy in float64; the emitted C on this computer; or on the emulated chip")] = "reference",
    precision: Annotated[Literal["single", "double"] | None, typer.Option(
        show_default="single", help="of the emitted C; the reference is always double")] = None,
    total: Annotated[bool, typer.Option("--total", help="add the motor terms of Eq. 19")] = False,
    wrench: Annotated[tuple[str, float, float, float, float, float, float] | None, typer.Option(
        "--wrench", metavar="LINK FX FY FZ MX MY MZ", show_default=False,
        help="that the world exerts on a link: N and N m, global axes, at the origin of the link's frame")] = None,
    mode: Annotated[str | None, typer.Option(metavar="M", show_default="those the motion names",
                                             help="the mode to stay in")] = None,
    figure: Annotated[Path | None, typer.Option("--figure", metavar="OUT.png",
                                                help="draw the curves, beside those of Newton-Euler")] = None,
    json: Json = False,
) -> Answer:
    """Feed-forward torques of every control tick of a motion, stamped with the middle of the tick."""
    from codegen import torque
    from codegen.mechanism import Mechanism
    from codegen.trajectory import Trajectory
    from codegen.wrench import Wrench

    mechanism = _in_mode(Mechanism.load(mech), mode)
    external = None if wrench is None else Wrench.of(wrench[0], wrench[1:])
    step, held = _step(backend, precision)
    result = torque.torque(mechanism, Trajectory.load(traj, mechanism), step, total, external, held)
    result.write(out)
    if figure is not None:
        from codegen.figures import torque_curves

        torque_curves(figure, result, f"{mechanism.name}, {mechanism.scheme} at {mechanism.control.rate_hz} Hz")
    computed = "double" if backend == "reference" else precision or "single"
    figures = result.summary() | {"precision": computed, f"max_error_{computed}": result.error}
    return Answer({"file": out, **figures}, f"{out}: {len(result.t)} ticks by {backend}, in {computed} precision")


def _step(backend: str, precision: str | None) -> tuple[Any, Any]:
    """What computes the torques, None being the reference; and what those that hold against a wrench."""
    if backend == "reference" and precision == "single":
        raise BadInput("femtorque torque", "--precision", precision, "the reference always computes in double precision",
                       "take --backend c")
    if backend == "chip" and precision == "double":
        raise BadInput("femtorque torque", "--precision", precision, "the chip computes in single precision")
    if backend == "chip":
        from hil import chip_step, chip_wrench

        return chip_step.torque, chip_wrench.torque
    from codegen import compiled_wrench, wrench

    if backend == "c":
        from codegen.compiled import CompiledStep

        return (lambda model, positions: CompiledStep(model, precision or "single").torque(positions),
                lambda model, q, external: compiled_wrench.torque(model, q, external, precision or "single"))
    return None, wrench.torque


@app.command()
def generate(
    mech: Mech,
    out: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", show_default=False, help="folder to write")],
    json: Json = False,
) -> Answer:
    """Write the emitted C of the inverse dynamics and its README, self-contained, byte-reproducible."""
    from codegen import emit
    from codegen.mechanism import Mechanism

    files = emit.generate(Mechanism.load(mech), out)
    return Answer({"folder": out, "files": [p.name for p in files]}, "\n".join(map(str, files)))


@app.command()
def build(
    mech: Mech,
    out: Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", show_default="build/NAME",
                                             help="folder of the PlatformIO project")] = None,
    feedforward: Annotated[bool, typer.Option(help="the image without it measures what it is worth")] = True,
    pil: Annotated[bool, typer.Option("--pil", help="the image for `femtorque hil --board`: drives nothing real")] = False,
    json: Json = False,
) -> Answer:
    """Build the flash image through PlatformIO; report flash, RAM, stack and what a control tick costs."""
    from codegen.build import build as make
    from codegen.mechanism import Mechanism
    from host.display import build_bar

    mechanism = Mechanism.load(mech)
    with build_bar() as progress:
        folder = out or Path("build") / (mechanism.name + ("-pil" if pil else ""))
        result = make(mechanism, folder, progress, feedforward, pil)
    words = (
        f"{result.image}\nflash {result.flash_bytes} bytes, RAM {result.ram_bytes} bytes, stack at most "
        f"{result.stack_bytes} of {result.stack_reserved} bytes\ndigest {result.digest}\n"
    )
    if pil:
        return Answer(asdict(result), words + f"next: flash it, then `femtorque hil {mech} TRAJ --board PORT`")
    try:
        from hil.measure import measure
    except ModuleNotFoundError as missing:
        if missing.name not in EXTRA:
            raise
        return Answer(asdict(result), words + "instructions not counted: that takes pip install 'femtorque[hil]'")
    cost = measure(mechanism, result, feedforward)
    words += (
        f"worst tick {cost.instructions_tick} instructions, {cost.instructions_step} of them the step; by the cycle model "
        f"{cost.cycles_tick} cycles, with flash {cost.cycles_tick_flash} of {cost.cycles_budget}: margin {cost.margin:.1%}"
    )
    return Answer(asdict(result) | asdict(cost), words)


@app.command()
def flash(
    mech: Mech,
    via: Annotated[Literal["stlink", "dfu", "uart"], typer.Option(
        help="ST-LINK by openocd, USB by dfu-util, or the boot loader in ROM over a UART")] = "stlink",
    port: Annotated[str | None, typer.Option("--port", "-p", metavar="PORT", show_default=False,
                                             help="where the board's link is; for uart also the boot loader")] = None,
    loader: Annotated[str | None, typer.Option(metavar="PORT", show_default=False,
                                               help="the boot loader's port, where it is another one")] = None,
    baud: Annotated[int, typer.Option(help="of the boot loader in ROM", min=1200, max=115_200)] = 115_200,
    feedforward: Annotated[bool, typer.Option(help="the image without it measures what it is worth")] = True,
    json: Json = False,
) -> Answer:
    """Build, write the image to the board, compare, start it, and ask the board who it is now."""
    from codegen.build import build as make
    from codegen.mechanism import Mechanism
    from host.display import build_bar
    from host.flash import flash as write

    mechanism = Mechanism.load(mech)
    with build_bar() as progress:
        built = make(mechanism, Path("build") / mechanism.name, progress, feedforward)
        done = write(mechanism, built, via, loader or port, port, baud, progress)
    asked = f"the board reports digest {done.after[:16]}" if done.after else "the board was not asked (no --port)"
    return Answer(asdict(done), f"{done.bytes_written} bytes written to {done.chip} and compared; {asked}")


@app.command()
def verify(
    mech: Mech,
    trajs: Annotated[list[Path] | None, typer.Argument(metavar="[TRAJ]...", show_default=False,
                                                       help="motions of your own, CSV")] = None,
    report: Annotated[Path | None, typer.Option(metavar="R.html", show_default=False, help="page to write")] = None,
    motions: Annotated[int, typer.Option(metavar="N", min=1, help="random motions beside them")] = 3,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="of the random motions")] = 0,
    mode: Annotated[str | None, typer.Option(metavar="M", help="one of the mechanism's modes")] = None,
    json: Json = False,
) -> Answer:
    """Hold the emitted C against the theory and the chip against this computer, over whole motions."""
    from codegen import verify_report
    from codegen.mechanism import Mechanism
    from codegen.trajectory import Trajectory
    from codegen.verify import verify
    from hil import chip_step

    mechanism = _in_mode(Mechanism.load(mech), mode)
    result = verify(mechanism, [Trajectory.load(t, mechanism) for t in trajs or ()], chip_step.run, motions, seed)
    written = {} if report is None else {"report": verify_report.write(result, report)}
    return Answer(result.data() | written, verify_report.renderable(result), good=result.good)


@app.command()
def plan(
    mech: Mech,
    waypoints: Annotated[Path, typer.Argument(metavar="WAYPOINTS", show_default=False,
                                              help="where to go, TOML or CSV; joints or tip")],
    out: Annotated[Path, typer.Option("--output", "-o", metavar="TRAJ", show_default=False, help="file to write, .csv or .npz")],
    tip: Annotated[str | None, typer.Option(metavar="LINK[:x,y,z]", show_default="of the file",
                                            help="which point of which link goes to xyz, m in the link's frame")] = None,
    after: Annotated[Path | None, typer.Option(metavar="TRAJ", show_default="the start pose",
                                               help="begin where this motion ends")] = None,
    port: Annotated[str | None, typer.Option("--port", "-p", metavar="PORT", show_default=False,
                                             help="begin where the arm of this board stands")] = None,
    back: Annotated[bool, typer.Option("--back", help="return to the beginning at the end, to loop")] = False,
    speed: Annotated[float, typer.Option(metavar="SHARE", min=0.001, max=1.0, help="of the limits of rate")] = 1.0,
    reserve: Annotated[float, typer.Option(metavar="SHARE", min=0.0, max=0.9, help="share of the effort that is left to "
                                           "feedback")] = 0.1,
    ends: Annotated[Literal["free", "static"], typer.Option(
        help="a flexible arm's: moving before and after its tip does, or only with it, from and to the sag")] = "free",
    figure: Annotated[Path | None, typer.Option("--figure", metavar="OUT.png", show_default=False,
                                                help="draw a preview")] = None,
    json: Json = False,
) -> Answer:
    """Plan a jerk-limited motion through waypoints, within all limits.

    For an arm that ends in a flexible link: what its joints have to do for its tip to follow them, or to follow a path
    with times, a CSV file with the columns t, x, y and perhaps z, fx, fy, fz.
    """
    from codegen.mechanism import Mechanism
    from codegen.trajectory import Trajectory
    from host import flexible_plan, plan_figure
    from host import plan as planning
    from host import waypoints as files
    from host.board import Board

    mechanism = Mechanism.load(mech)
    if after and port:
        raise BadInput("command line", "--after", after, "does not go with --port", "a motion has one beginning")
    begin = Trajectory.load(after, mechanism).positions[-1] if after else None
    if port:
        with Board.connect(port, mechanism, look=True) as board:
            begin = board.positions
    if any(link.beam for link in mechanism.links):
        bent = flexible_plan.make(mechanism, waypoints, ends=ends, begin=begin, speed=speed, tip_point=tip)
        found, draw = bent, flexible_plan.draw
    else:
        found, draw = planning.plan(mechanism, files.load(waypoints, mechanism, tip), begin=begin, back=back, speed=speed,
                                    reserve=reserve), plan_figure.draw
    if figure is not None:
        draw(figure, mechanism, found)
    found.trajectory.save(out)
    drawn = {} if figure is None else {"figure": figure}
    return Answer({"file": out, **drawn, **found.data()}, f"{out}: {found.words()}")


@app.command()
def stream(
    mech: Mech,
    traj: Traj,
    port: Port,
    log: Annotated[Path | None, typer.Option(metavar="RUN.mcap", help="log to write; RUN.csv comes beside it")] = None,
    home: Annotated[bool, typer.Option("--home", help="the joints stand at their start pose now")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="acknowledge a latched fault first")] = False,
    speed: Annotated[float, typer.Option(metavar="TIMES", min=0.001, max=100.0, help="times as fast as the trajectory says")] = 1.0,
    loop: Annotated[int, typer.Option(metavar="N", min=0, help="how often to play it; 0: until Ctrl-C")] = 1,
    approach: Annotated[bool, typer.Option("--approach", help="go slowly to where the motion starts first")] = False,
    resume: Annotated[int, typer.Option(metavar="N", min=0, help="how often to go on after a stop because knots were late")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="look at everything, arm nothing")] = False,
    web: Web = None,
    udp: Udp = None,
    json: Json = False,
) -> Answer:
    """Play a trajectory on a board. Ctrl-C stops along the path and holds; then Enter goes on, Ctrl-C disarms."""
    from codegen.mechanism import Mechanism
    from host.board import Board
    from host.display import outcome_table, stream_bar
    from host.stream import Interrupts

    with Board.connect(port, Mechanism.load(mech)) as board, Interrupts().on_ctrl_c() as interrupts:
        configuration = board.session.configuration
        if clear:
            board.clear()
        if home:
            board.home()
        if dry_run:
            found = board.check(traj, speed=speed, loop=loop, approach=approach)
            return Answer({"ended": "dry run", "digest": configuration.digest, **found.data()},
                          f"ready to move: {found.words()}; nothing was armed")
        asks = sys.stdin.isatty()
        bar = stream_bar(on_hold=partial(interrupts.read_lines, 0) if asks else lambda: None)
        with _shown(board.session, web, udp), bar as on_progress:
            outcome = board.stream(
                traj, log=log, on_progress=on_progress, interrupts=interrupts, resume=resume, speed=speed, loop=loop,
                approach=approach, hold_after_stop=math.inf if asks else 0.0,
            )
    return Answer(outcome.report(configuration), outcome_table(outcome, configuration), good=outcome.ended == "done")


@app.command()
def home(
    mech: Mech,
    port: Port,
    at: Annotated[list[str] | None, typer.Option("--at", metavar="JOINT=POSITION", show_default=False,
                                                 help="where a joint stands, rad or m, as read from its scale")] = None,
    json: Json = False,
) -> Answer:
    """Give every joint its zero: told at its start pose, or sought at its index pulse or hard stop with low torque."""
    from codegen.mechanism import Mechanism
    from host import lab
    from host.board import Board

    mechanism, how = Mechanism.load(mech), {}
    with Board.connect(port, mechanism) as board:
        board.session.faulted()
        lab.home(board.session, mechanism, _told(at or ()), how.__setitem__)
        positions = dict(zip(how, board.positions.tolist(), strict=True))
    words = "\n".join(f"{name}: {how[name]}, now at {positions[name]:.4f}" for name in how)
    return Answer({"joints": how, "positions": positions}, words)


def _told(items: Iterable[str]) -> dict[str, float]:
    """{joint: position} of JOINT=POSITION."""
    told = {}
    for item in items:
        name, equals, value = item.partition("=")
        try:
            told[name] = float(value)
        except ValueError:
            raise BadInput("command line", "--at", item, "must be JOINT=POSITION, a number") from None
    return told


@app.command("float")
def float_(
    mech: Mech,
    port: Port,
    friction: Annotated[int, typer.Option(metavar="PERCENT", help="share of the Coulomb friction to carry too, 0 to 80"
                                          )] = 0,
    seconds: Annotated[float, typer.Option(min=0.0, show_default="until Ctrl-C", help="for so long")] = math.inf,
    home: Annotated[bool, typer.Option("--home", help="give the joints their zeros first")] = False,
    log: Annotated[Path | None, typer.Option(metavar="RUN.mcap", help="log to write; RUN.csv comes beside it")] = None,
    json: Json = False,
) -> Answer:
    """Carry the arm's weight so that it can be led by hand. Ctrl-C, or the time, holds it where it is, then disarms."""
    from codegen.mechanism import Mechanism
    from host.board import Board
    from host.stream import Interrupts

    with Board.connect(port, Mechanism.load(mech)) as board, Interrupts().on_ctrl_c() as interrupts:
        if home:
            board.home()
        end = board.session.clock.now() + seconds
        with board.logged(log):
            board.float(friction, lambda: interrupts.count > 0 or board.session.clock.now() >= end)
        positions = board.session.positions().tolist()
    return Answer({"positions": positions}, "held where it was led to; let go")


@app.command()
def jog(
    mech: Mech,
    joint: Annotated[str, typer.Argument(metavar="JOINT", help="its name", show_default=False)],
    port: Port,
    rate: Annotated[float, typer.Option(help="rad/s or m/s, with a sign; at most [safety] jog_speed of the limit",
                                        show_default="half of the most")] = math.nan,
    seconds: Annotated[float, typer.Option(min=0.0, help="for so long, or until Ctrl-C")] = 1.0,
    home: Annotated[bool, typer.Option("--home", help="give the joints their zeros first")] = False,
    json: Json = False,
) -> Answer:
    """Move one joint slowly for as long as the host keeps asking; if it stops asking, so does the joint."""
    from codegen.mechanism import Mechanism
    from host import lab
    from host.board import Board
    from host.stream import Interrupts

    mechanism = Mechanism.load(mech)
    number = lab.joint_number(mechanism, joint)
    if math.isnan(rate):
        rate = 0.5 * lab.jog_rate(mechanism, number)
    with Board.connect(port, mechanism) as board, Interrupts().on_ctrl_c() as interrupts:
        if home:
            board.home()
        before = board.positions[number]
        board.jog(joint, rate, seconds, lambda: interrupts.count > 0)
        after = board.positions[number]
    return Answer({"joint": joint, "from": before, "to": after}, f"{joint}: from {before:.4f} to {after:.4f}")


@app.command()
def bringup(
    mech: Mech,
    port: Port,
    hand: Annotated[bool, typer.Option("--hand/--no-hand", help="ask for each joint to be turned by hand, which tells "
                                       "counts and which of two signs is wrong")] = True,
    write: Annotated[bool, typer.Option("--write", help="mend signs and counts in MECH; all else of it stays")] = False,
    json: Json = False,
) -> Answer:
    """First power-up: try each joint alone with a small torque; find wrong signs, counts, swapped and loose wires."""
    from codegen.mechanism import Mechanism
    from host import bringup as first
    from host.board import Board

    def turn(joint: Any, angle: float) -> None:
        unit = "m" if joint.type == "prismatic" else "rad"
        print(f"move {joint.name} by hand {angle:g} {unit} in its positive direction, then press Enter", file=sys.stderr)
        sys.stdin.readline()

    with Board.connect(port, Mechanism.load(mech)) as board:
        board.session.faulted()
        findings = first.bring_up(board.session, board.mechanism, turn if hand else None, partial(print, file=sys.stderr))
    if write:
        first.write(mech, findings)
    words = "\n".join(f"{joint}: {what}" for joint, what in first.summary(findings).items())
    return Answer({"joints": [f.data() for f in findings], "written": write}, words,
                  good=not any(f.problem for f in findings))


@app.command()
def identify(
    mech: Mech,
    port: Port,
    joint: Annotated[list[str] | None, typer.Option("--joint", "-j", show_default="every driven one",
                                                    help="may be given more than once")] = None,
    home: Annotated[bool, typer.Option("--home", help="give the joints their zeros first")] = False,
    write: Annotated[bool, typer.Option("--write", help="write what is found into MECH; all else of it stays")] = False,
    json: Json = False,
) -> Answer:
    """Measure friction and apparent inertia by constant speeds both ways and accelerations, with 95 % intervals."""
    from codegen.mechanism import Mechanism
    from codegen.mechanism_edit import set_joint
    from host.board import Board
    from host.identify import identify as measure

    mechanism = Mechanism.load(mech)
    names = joint or [j.name for j in mechanism.moving if j.motor is not None and j.encoder is not None]
    with Board.connect(port, mechanism) as board:
        if home:
            board.home()
        found = [measure(board, mechanism, name, partial(print, f"{name}:", file=sys.stderr)) for name in names]
    for result in found if write else ():
        set_joint(mech, result.joint, result.values(), result.comment())
    words = "\n".join(f"{r.joint}: viscous {r.viscous}, coulomb {r.coulomb}, apparent inertia {r.apparent}, "
                      f"motor.inertia {r.inertia}" for r in found)
    return Answer({"joints": [r.data() for r in found], "written": write}, words)


@app.command()
def monitor(
    port: Port,
    mech: Annotated[Path | None, typer.Argument(metavar="[MECH]", show_default=False,
                                                help="mechanism file, for the names and gains of the joints")] = None,
    web: Web = None,
    udp: Udp = None,
    json: Json = False,
) -> Answer:
    """Live view of a board, until Ctrl-C. With --json: one look."""
    from rich.console import Console

    from codegen.mechanism import Mechanism
    from host.board import Board
    from host.monitor import snapshot, watch
    from host.stream import Interrupts

    mechanism = Mechanism.load(mech) if mech else None
    with Board.connect(port, mechanism, look=True) as board, Interrupts().on_ctrl_c() as interrupts:
        if json:
            return Answer(snapshot(board.session))
        with _shown(board.session, web, udp):
            watch(board.session, Console(), lambda: interrupts.count > 0)
        return Answer(snapshot(board.session))


@contextmanager
def _shown(session: Any, web: int | None, udp: str | None) -> Iterator[None]:
    """While this lasts, what the board says goes to a page and as datagrams too."""
    with ExitStack() as also:
        if udp is not None:
            from host.udp import sending

            also.enter_context(sending(session, udp))
        if web is not None:
            from host.web import serving

            print(also.enter_context(serving(session, web)), file=sys.stderr, flush=True)
        yield


@app.command()
def ports(
    also: Annotated[list[str] | None, typer.Argument(metavar="[PORT]...", show_default=False,
                                                     help="ask these too: other devices, socket://host:port")] = None,
    json: Json = False,
) -> Answer:
    """List the serial ports and who answers there."""
    from host.display import ports_table
    from host.ports import survey

    found = survey(also or ())
    return Answer({"ports": [asdict(answer) for answer in found]},
                  ports_table(found) if found else "no USB serial port is plugged in")


@app.command()
def plot(
    run: Annotated[Path, typer.Argument(metavar="RUN.mcap", help="log of a run", show_default=False)],
    out: Annotated[list[Path] | None, typer.Option("--output", "-o", metavar="FILE", show_default="RUN.html, RUN.png",
                                                   help="report .html; figure .png, .svg, .pdf; table .csv, .parquet; "
                                                   "may be given again")] = None,
    json: Json = False,
) -> Answer:
    """Report on a run: what was worst, in words, with figures; or export it as a table."""
    from host import export, log, plot, report
    from host.findings import Findings

    what, files = log.read(run), out or [run.with_suffix(".html"), run.with_suffix(".png")]
    writers = {".html": report.write, ".csv": export.write, ".parquet": export.write} | dict.fromkeys(plot.FORMATS, plot.draw)
    for file in files:
        if file.suffix not in writers:
            raise BadInput(file, "output", None, f"must end in one of {', '.join(writers)}")
    for file in files:
        writers[file.suffix](what, file)
    said = Findings(what).sentences
    figure = next((file for file in files if file.suffix in plot.FORMATS), None)
    return Answer({"files": files, "figure": figure, "sentences": said, **plot.summary(what)},
                  "\n".join([*said, "", *map(str, files)]))


def _faults(incomplete: str) -> list[str]:
    """What completes --fault."""
    from hil.faults import FAULTS

    return [name for name in FAULTS if name.startswith(incomplete)]


@app.command()
def hil(
    mech: Annotated[Path | None, typer.Argument(metavar="MECH", help="mechanism file, TOML; none with --scenario",
                                                show_default=False)] = None,
    traj: Annotated[Path | None, typer.Argument(metavar="TRAJ", show_default=False,
                                                help="trajectory, CSV; none with --serve")] = None,
    feedforward: Annotated[bool, typer.Option("--feedforward/--no-feedforward", help="or PD alone")] = True,
    fault: Annotated[str | None, typer.Option(metavar="F", autocompletion=_faults, help="what goes wrong in mid-motion; a wrong name lists all"
                                              )] = None,
    resume: Annotated[int, typer.Option(metavar="N", min=0, help="how often to go on after a stop because knots were late")] = 0,
    log: Annotated[Path | None, typer.Option(metavar="RUN.mcap", show_default=False,
                                             help="log to write, as `stream` does")] = None,
    serve: Annotated[int | None, typer.Option(metavar="PORT", min=0, max=65535, show_default=False,
                                              help="only run the board, at this TCP port (0: any)")] = None,
    board: Annotated[str | None, typer.Option("--board", "-b", metavar="PORT", show_default=False,
                                              help="a real board with the pil image in the place of the virtual one: "
                                              "serial device, or socket://host:port")] = None,
    pil: Annotated[bool, typer.Option("--pil", help="with --serve: the pil image, for --board")] = False,
    scenario: Annotated[str | None, typer.Option("--scenario", metavar="NAME", show_default=False,
                                                 help="play an experiment of hil/scenarios; a wrong name lists them")] = None,
    only: Annotated[str | None, typer.Option("--run", metavar="RUN", show_default=False,
                                             help="with --scenario: only this run of it")] = None,
    short: Annotated[bool, typer.Option("--short", help="with --scenario: its short form")] = False,
    json: Json = False,
) -> Answer:
    """Play a motion on the virtual board: the exact flash image, a plant, and this host together.

    With --board the plant moves a real board's image (`femtorque build --pil`), and nothing else. With --serve the
    board waits for `femtorque stream --port socket://...` instead. With --scenario the runs of an experiment are played
    and judged.
    """
    from codegen.board import open_loop
    from codegen.mechanism import Mechanism
    from codegen.trajectory import Trajectory
    from hil import run as virtual
    from host.display import stream_bar, tracking_table
    from host.stream import Interrupts

    if scenario is not None:
        from hil.performance import perform

        if mech or traj or serve is not None:
            raise BadInput("command line", "--scenario", scenario, "takes neither MECH nor TRAJ nor --serve")
        performance = perform(scenario, only, short=short, fault=fault, board=board)
        return Answer(performance.report(), "\n".join(performance.lines()), good=performance.good)
    if mech is None:
        raise BadInput("command line", "MECH", None, "is missing", "give a mechanism file, or --scenario NAME")
    mechanism = Mechanism.load(mech)
    if serve is not None and (board or traj):
        raise BadInput("command line", "--serve", serve, "takes neither TRAJ nor --board")
    if serve is not None:
        with Interrupts().on_ctrl_c() as interrupts:
            ticks = virtual.serve(mechanism, serve, partial(print, file=sys.stderr, flush=True),
                                  lambda: interrupts.count > 0, feedforward=feedforward, pil=pil)
        return Answer({"ticks": ticks}, f"{ticks} ticks")
    if traj is None:
        raise BadInput("command line", "TRAJ", None, "is missing", "give a trajectory, or --serve 0")
    if pil:
        raise BadInput("command line", "--pil", True, "goes with --serve", "a board is played on with --board PORT")
    run = virtual.run if board is None else partial(import_module("hil.pil").run, board)
    with stream_bar() as on_progress:
        result = run(mechanism, Trajectory.load(traj, mechanism), feedforward=feedforward, fault=fault, resume=resume,
                     log=log, on_progress=on_progress)
    unmeasured = open_loop(mechanism)
    if unmeasured:
        print(f"open loop, feed-forward alone: {', '.join(unmeasured)} (the board reads no encoder of theirs)", file=sys.stderr)
    cost = f"{result.instructions_tick} instructions" if result.instructions_tick else f"{result.cycles_tick} cycles"
    title = f"{result.ended}; the board is in {result.state}; at most {cost} a tick"
    table = tracking_table(title, mechanism.streamed, result.tracking_rms, result.tracking_max)
    return Answer(result.report() | {"open_loop": unmeasured}, table, good=result.good)


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", show_default="all",
                                               help="a figure, or a paper; a wrong name lists them")] = None,
    out: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="folder of the page")] = Path("build/reproduce"),
    short: Annotated[bool, typer.Option("--short", help="brief motions and few trials, for a quick look")] = False,
    json: Json = False,
) -> Answer:
    """Make the figures and tables of the four papers anew; write them, beside their oracles, on one HTML page."""
    from hil import reproduce

    report = reproduce.reproduce(name, out, short=short, on_progress=partial(print, file=sys.stderr, flush=True))
    return Answer(report.data(), report.renderable(), good=report.good)


# -- examples, at the end of every --help ------------------------------------------------------------------------------

EXAMPLES = {
    "init": ["init my_arm", "init my_robot --from robot.urdf --board f405rg-6"],
    "check": ["check my_arm.toml", "check my_arm.toml --json"],
    "torque": ["torque my_arm.toml motion.csv -o torque.csv --figure torque.png",
               "torque my_arm.toml motion.csv -o torque.csv --backend chip"],
    "generate": ["generate my_arm.toml -o my_arm_c"],
    "build": ["build my_arm.toml"],
    "verify": ["verify my_arm.toml motion.csv --report verify.html"],
    "plan": ["plan my_arm.toml waypoints.toml -o motion.csv --figure motion.png",
             "plan my_arm.toml points.csv -o motion.csv --tip hand:0.2,0,0 --back --speed 0.5"],
    "stream": ["stream my_arm.toml motion.csv --port auto --home --log run.mcap",
               "stream my_arm.toml motion.csv --port /dev/ttyACM0 --loop 0 --speed 0.5 --web 8420",
               "stream my_arm.toml motion.csv --port socket://localhost:5555 --dry-run"],
    "monitor": ["monitor my_arm.toml --port auto", "monitor --port /dev/ttyACM0 --web 8420 --udp localhost:9870"],
    "flash": ["flash my_arm.toml"],
    "home": ["home my_arm.toml --port auto", "home my_arm.toml --port auto --at elbow=0.3"],
    "float": ["float my_arm.toml --port auto --seconds 30"],
    "jog": ["jog my_arm.toml elbow --rate 0.1 --seconds 2 --port auto"],
    "bringup": ["bringup my_arm.toml --port auto", "bringup my_arm.toml --port auto --no-hand"],
    "identify": ["identify my_arm.toml --port auto --home", "identify my_arm.toml --port auto --joint elbow --write"],
    "ports": ["ports", "ports socket://localhost:5555"],
    "plot": ["plot run.mcap", "plot run.mcap -o run.html -o run.parquet"],
    "hil": ["hil my_arm.toml motion.csv --log run.mcap", "hil my_arm.toml motion.csv --fault encoder-stuck",
            "hil my_arm.toml --serve 5555", "hil --scenario three_link --short"],
    "reproduce": ["reproduce -o papers"],
}
for _command in app.registered_commands:
    if _lines := EXAMPLES.get(_command.name or getattr(_command.callback, "__name__", "")):
        _command.epilog = "\b\nExamples:\n" + "\n".join(f"  femtorque {line}" for line in _lines)


# -- answers and errors -----------------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> None:
    """Run one verb and exit with its status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if "--json" not in arguments:
        sys.exit(_run(arguments, _print))
    with _standard_output_for(_dump) as write:
        status = _run(arguments, write)
    sys.exit(status)


def _run(arguments: list[str], write: Callable[[Answer], None]) -> int:
    try:
        answer = app(arguments or ["--help"], prog_name="femtorque", standalone_mode=False)
        if not answer:  # --help, --version
            return 0
        if not isinstance(answer, Answer):  # the status that click gives Ctrl-C
            raise KeyboardInterrupt
        write(answer)
        return 0 if answer.good else 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whoever read has gone; say nothing at exit either
        return 1
    except (Exception, KeyboardInterrupt) as error:
        line, status = _explain(error)
        line = " ".join(line.split())
        print(f"femtorque: {line}", file=sys.stderr)
        if write is not _print:
            fault = getattr(error, "fault", None)
            write(Answer({"error": line, "faults": [fault] if fault else []}))
        return status


def _explain(error: BaseException) -> tuple[str, int]:
    """One line for an error, and the exit status."""
    if isinstance(error, BadInput):
        return str(error), 2
    if isinstance(error, UsageError):
        return f"{error.format_message().rstrip('.')}; try `{error.ctx.command_path} --help`", 2
    if isinstance(error, OSError) and error.filename:  # a path that cannot be read or written
        return f"{error.filename}: {error.strerror}", 2
    if isinstance(error, Refused):
        return str(error), 1
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return "interrupted", 1
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRA:
        return f"{error.name} is not installed: pip install 'femtorque[hil]'", 1
    with tempfile.NamedTemporaryFile("w", prefix="femtorque-", suffix=".log", delete=False) as file:
        traceback.print_exception(error, file=file)
    return f"unexpected {type(error).__name__}: {error}; the traceback is in {file.name}", 1


def _print(answer: Answer) -> None:
    from rich.console import Console

    if answer.text == "":
        return
    # tables that go to a file or a pipe are not squeezed to the width of a terminal
    Console(soft_wrap=True, highlight=False, width=None if sys.stdout.isatty() else 160).print(answer.text)


@contextmanager
def _standard_output_for(dump: Callable[[Answer], bytes]) -> Iterator[Callable[[Answer], None]]:
    """Keep standard output for what is written here; all else, of libraries and child processes too, goes to stderr."""
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    try:
        yield lambda answer: _write_all(real, dump(answer))
    finally:
        sys.stdout.flush()
        os.dup2(real, 1)
        os.close(real)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _dump(answer: Answer) -> bytes:
    return (json.dumps(_plain(answer.data), allow_nan=False) + "\n").encode()


def _plain(value: Any) -> Any:
    """What JSON can hold: paths and bytes as text, arrays as lists, numbers that are not finite as null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Path):
        return str(value)
    return _plain(value.tolist()) if hasattr(value, "tolist") else value


if __name__ == "__main__":
    main()
