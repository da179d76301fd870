"""Verbs that flash, find, bring up, measure and hand-guide a board and its arm."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from femtorque.codegen.common import BUILD, BadInput
from femtorque.commands import completion
from femtorque.commands.answer import Answer
from femtorque.commands.options import Force, Home, Json, LogTo, Mech, Port, Rezero

if TYPE_CHECKING:
    from femtorque.codegen.mechanism import Mechanism
    from femtorque.host.board import Board
    from femtorque.host.stream import Interrupts


def flash(
    mech: Mech,
    via: Annotated[Literal["stlink", "pyocd", "dfu", "uart"], typer.Option(
        help="ST-LINK by openocd, or by pyocd without it; ST-LINK by pyocd; USB by dfu-util; or the boot loader in ROM "
             "over a UART")] = "stlink",
    port: Annotated[str | None, typer.Option("--port", "-p", metavar="PORT", show_default=False,
                                             help="port of the board's link; for uart also of the boot loader")] = None,
    loader: Annotated[str | None, typer.Option(metavar="PORT", show_default=False,
                                               help="port of the boot loader, if it differs")] = None,
    baud: Annotated[int, typer.Option(metavar="RATE", help="of the boot loader in ROM", min=1200, max=115_200)
                    ] = 115_200,
    feedforward: Annotated[bool, typer.Option(help="feed-forward; without it the image has PD alone")] = True,
    bor: Annotated[bool, typer.Option("--bor",
                                      help="also write brown-out reset level 3 into the chip's option bytes (ST-LINK "
                                      "only)")] = False,
    json: Json = False,
) -> Answer:
    """Build, write to the board, compare, ask for the board's identity.

    If a board is running and disarmed, `flash` first starts the board's boot loader, if the board can do this safely.
    """
    from femtorque.codegen.mechanism import load_mechanism
    from femtorque.codegen.toolchain import build_image as make
    from femtorque.host.flash import flash as write
    from femtorque.host.show import build_bar

    mechanism = load_mechanism(mech)
    with build_bar() as progress:
        built = make(mechanism, BUILD / mechanism.name, progress, feedforward)
        done = write(mechanism, built, via, loader or port, port, baud, progress, bor)
    asked = f"the board reports digest {done.after[:16]}" if done.after else "the board was not asked (no --port)"
    chip = f"\nchip {done.unique}" if done.unique else ""
    level = f"\nbrown-out reset {done.brown_out}{done.advice}" if done.brown_out else ""
    return Answer(asdict(done), f"{done.bytes_written} bytes written to {done.chip} and compared; {asked}{chip}{level}")


def docs(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, autocompletion=completion.named,
                                        help="of a state, fault, refusal or limit, as the board reports it")],
    json: Json = False,
) -> Answer:
    """Look up what a board reports: a fault, refusal, state, limit.

    No network is needed. docs/faults.md has the same text.
    """
    from femtorque.codegen.wire import looked_up

    found = looked_up(name)
    return Answer({"found": [asdict(entry) for entry in found]}, "\n\n".join(map(str, found)))


def ports(
    also: Annotated[list[str] | None, typer.Argument(metavar="PORT", show_default=False,
                                                     help="ask these too: other devices, socket://host:port")] = None,
    buses: Annotated[bool, typer.Option("--buses", help="list the adapters for `femtorque board` instead")] = False,
    json: Json = False,
) -> Answer:
    """List the serial ports and the boards that answer."""
    from femtorque.host.link import adapters, survey
    from femtorque.host.show import ports_table

    if buses:
        plugged = adapters()
        return Answer({"adapters": [{"option": option, "what": what} for option, what in plugged]},
                      "\n".join(f"{option}: {what}" for option, what in plugged) or "no adapter is plugged in")
    found = survey(also or ())
    return Answer({"ports": [asdict(answer) for answer in found]},
                  ports_table(found) if found else "no USB serial port is plugged in")


def bringup(
    mech: Mech,
    port: Port,
    hand: Annotated[bool, typer.Option("--hand/--no-hand", help="ask you to turn each joint by hand, which shows "
                                                                "counts and signs")] = True,
    zero: Annotated[bool, typer.Option("--zero", help="ask you to put each joint with a drive or servo on a bus at its "
                                                      "start, which gives its zero")] = False,
    write: Annotated[bool, typer.Option("--write", help="correct signs, counts, and zeros of drives in MECH; other "
                                                        "keys stay")] = False,
    settings: Annotated[Path | None, typer.Option("--settings", metavar="FILE", show_default=False,
                                                  help="output of the makers' tool for drives with settings that the "
                                                       "board cannot read, to be compared with MECH before any "
                                                       "motion")] = None,
    json: Json = False,
) -> Answer:
    """First power-up: find wrong signs, counts, zeros and wires.

    You turn each joint by hand. Then the board drives only this joint, with a small torque.
    """
    from femtorque.codegen.board import levels
    from femtorque.codegen.mechanism import load_mechanism
    from femtorque.host.board import Board
    from femtorque.host.lab import (
        bring_up, bring_up_advice, bring_up_summary, compare_configured, configured_held, configured_tools,
        write_bring_up)

    def turn(joint: Any, angle: float) -> None:
        unit = "m" if joint.type == "prismatic" else "rad"
        way = "in its positive direction" if angle > 0.0 else "back, in its negative direction"
        print(f"move {joint.name} by hand {abs(angle):g} {unit} {way}, press Enter, and hold it there for a second",
              file=sys.stderr)
        sys.stdin.readline()

    def put(joint: Any) -> None:
        print(f"put {joint.name} by hand where it stands at {joint.start:g} rad, its start, then press Enter",
              file=sys.stderr)
        sys.stdin.readline()

    mechanism = load_mechanism(mech)
    compared = [] if settings is None else compare_configured(mechanism, settings)
    if wrong := {one.joint: list(one.problems) for one in compared if one.problems}:
        lines = [f"{joint}: {what}" for joint, problems in wrong.items() for what in problems]
        return Answer({"configured": wrong, "written": False}, "\n".join((*lines, "nothing was driven")), good=False)
    for line in levels(mechanism):
        print(f"before anything is connected: {line}", file=sys.stderr)
    with Board.connect(port, mechanism) as board:
        board.session.faulted()
        findings = bring_up(board.session, mechanism, turn if hand else None, partial(print, file=sys.stderr),
                            put if zero else None)
    findings = configured_held(findings, compared, mechanism)
    refused = write_bring_up(mech, findings) if write else {}
    lines = [f"{joint}: {what}" for joint, what in bring_up_summary(findings).items()]
    lines += [f"{joint}: nothing of it is written, since the file would be refused: {why}"
              for joint, why in refused.items()]
    unread = [f"not compared with what its owner has configured: {tool} > FILE, and --settings FILE"
              for tool in configured_tools(mechanism) if settings is None]
    words = "\n".join(filter(None, (*lines, bring_up_advice(mechanism, findings), *unread,
                                    _mended(mech, write, findings))))
    return Answer({"joints": [f.data() for f in findings], "written": write, "refused": refused}, words,
                  good=not any(f.problem for f in findings))


def _mended(mech: Path, written: bool, findings: list[Any]) -> str:
    """Return a sentence on the next step after `bringup` has corrected a file, or could correct it."""
    if not any(f.values for f in findings):
        return ""
    return f"{mech} is mended: flash it anew, then `bringup` once more" if written else "`--write` mends the file"


def home(
    mech: Mech,
    port: Port,
    at: Annotated[list[str] | None, typer.Option("--at", metavar="JOINT=POSITION", show_default=False,
                                                 help="where a joint stands, rad or m, as read from its scale")] = None,
    rezero: Rezero = False,
    json: Json = False,
) -> Answer:
    """Set every joint's zero, by a given position or by a search.

    Each joint gets its zero in one of these ways. You move the joint to the start pose. You read the joint's position
    from a scale. Or the board searches for the joint's index pulse or hard stop with low torque.
    """
    from femtorque.codegen.mechanism import load_mechanism
    from femtorque.host.board import Board
    from femtorque.host.link import requests as lab

    mechanism, declared, how = load_mechanism(mech), _told(at or ()), dict[str, str]()
    with Board.connect(port, mechanism) as board:
        board.session.faulted()
        if not rezero:
            lab.check_zeros(board.session, mechanism, declared)
        lab.home(board.session, mechanism, declared, how.__setitem__)
        positions = dict(zip(how, board.positions.tolist(), strict=True))
    unit = {joint.name: "m" if joint.type == "prismatic" else "rad" for joint in mechanism.joints}
    words = "\n".join(f"{name}: {how[name]}, now at {positions[name]:.4f} {unit[name]}" for name in how)
    return Answer({"joints": how, "positions": positions}, words)


def clear(mech: Mech, port: Port, json: Json = False) -> Answer:
    """Acknowledge a latched fault, once its cause is gone."""
    from femtorque.codegen.mechanism import load_mechanism
    from femtorque.host.board import Board

    with Board.connect(port, load_mechanism(mech)) as board:
        was = board.session.describe()
        board.session.clear()
        return Answer({"was": was, "state": board.state}, f"cleared: {was}; now {board.state}")


def _told(items: Iterable[str]) -> dict[str, float]:
    """Return {joint: position} from items JOINT=POSITION."""
    declared = {}
    for item in items:
        name, equals, value = item.partition("=")
        try:
            declared[name] = float(value)
        except ValueError:
            raise BadInput("command line", "--at", item, "must be JOINT=POSITION, a number in rad or m") from None
    return declared


def float_(
    mech: Mech,
    port: Port,
    friction: Annotated[int, typer.Option(metavar="PERCENT", min=0, max=80,
                                          help="share of the Coulomb friction to carry too, 0 to 80")] = 0,
    seconds: Annotated[float, typer.Option(metavar="S", min=0.0, show_default="until Ctrl-C", help="for so long")
                       ] = math.inf,
    home: Home = False,
    rezero: Rezero = False,
    log: LogTo = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Compensate gravity, so that you can move the arm by hand.

    At Ctrl-C, or after the time, the board holds the arm at its present pose and then disarms.
    """
    from femtorque.codegen.mechanism import load_mechanism
    from femtorque.host.board import Board
    from femtorque.host.record import claim_log
    from femtorque.host.stream import Interrupts

    if log is not None:
        claim_log(log, force)
    with Board.connect(port, load_mechanism(mech)) as board, Interrupts().on_ctrl_c() as interrupts:
        if home or rezero:
            board.home(rezero=rezero)
        end = board.session.clock.now() + seconds
        print(f"lead the arm by hand; {'Ctrl-C' if math.isinf(seconds) else f'Ctrl-C, or {seconds:g} s,'} holds the "
              "arm and then switches the motors off", file=sys.stderr)
        with board.logged(log):
            board.float(friction, lambda: interrupts.count > 0 or board.session.clock.now() >= end)
        positions = board.session.positions().tolist()
    again = f"\nto repeat it: `femtorque plan {mech} {log} -o {log.stem}-again.csv`" if log else ""
    return Answer({"positions": positions}, f"the arm was held where it was led to; the motors are off now{again}")


def jog(
    mech: Mech,
    joint: Annotated[str, typer.Argument(metavar="JOINT", help="its name", show_default=False,
                                          autocompletion=completion.joints)],
    port: Port,
    rate: Annotated[float | None, typer.Option(metavar="V", show_default="half of the most",
                                               help="rad/s or m/s, with a sign; at most [safety] jog_speed of the "
                                               "limit")] = None,
    seconds: Annotated[float, typer.Option(metavar="S", min=0.0, help="for so long, or until Ctrl-C")] = 1.0,
    home: Home = False,
    rezero: Rezero = False,
    json: Json = False,
) -> Answer:
    """Move one joint slowly, for as long as the host keeps asking.

    If the host stops asking, the joint stops.
    """
    from femtorque.codegen.mechanism import load_mechanism
    from femtorque.host.board import Board
    from femtorque.host.link import requests as lab
    from femtorque.host.stream import Interrupts

    mechanism = load_mechanism(mech)
    number = lab.joint_number(mechanism, joint)
    if rate is None:
        rate = 0.5 * lab.jog_rate(mechanism, number)
    lab.check_jog(mechanism, number, rate, seconds)
    with Board.connect(port, mechanism) as board, Interrupts().on_ctrl_c() as interrupts:
        if home or rezero:
            board.home(rezero=rezero)
        before = board.positions[number]
        board.jog(joint, rate, seconds, lambda: interrupts.count > 0)
        after = board.positions[number]
    return Answer({"joint": joint, "from": before, "to": after},
                  f"{joint}: from {before:.4f} to {after:.4f} {board.session.unit(number)}")


def identify(
    mech: Mech,
    port: Port,
    joint: Annotated[list[str] | None, typer.Option("--joint", "-j", metavar="JOINT", show_default="every driven one",
                                                    autocompletion=completion.joints,
                                                    help="may be given more than once")] = None,
    home: Home = False,
    rezero: Rezero = False,
    write: Annotated[bool, typer.Option("--write", help="write the results into MECH; other keys stay")] = False,
    entire: Annotated[bool, typer.Option(
        "--whole", help="masses, centres of gravity, inertias, friction and rotors of all links and joints, by motions "
        "of the whole arm")] = False,
    payload: Annotated[str | None, typer.Option(
        "--payload", metavar="NAME", show_default=False, help="mass, centre and inertia of the load; errors of the "
                                                              "arm in the file widen the intervals")] = None,
    without: Annotated[bool, typer.Option(
        "--without", help="play the motion first without the payload of --payload, then with it, so that errors of the "
        "arm in the file cancel")] = False,
    on: Annotated[str | None, typer.Option("--on", metavar="LINK", show_default="the last one",
                                           help="that a new payload is fixed to")] = None,
    weighed: Annotated[float | None, typer.Option(
        "--weighed", metavar="KG", show_default=False, help="mass of the payload, from a scale: find R or K of the "
                                                            "motors, by one motion without and with the "
                                                            "payload")] = None,
    within: Annotated[list[str] | None, typer.Option(
        "--range", metavar="JOINT=LOW:HIGH", show_default="1 rad either way from the start",
        help="range in which --whole or --payload may move a joint, rad or m; may be given more than once")] = None,
    shown: Annotated[Path | None, typer.Option(
        "--page", metavar="OUT.html", show_default="NAME.identified.html",
        help="page of --whole or --payload; before any motion, NAME.motion-1.html and further pages show the motions")
        ] = None,
    json: Json = False,
) -> Answer:
    """Measure friction and inertia of joints by experiment.

    Each joint moves at constant speeds in both directions, and with accelerations. Every number has a 95 % confidence
    interval. With --whole or --payload the whole arm plays motions that determine its masses. The first motion is slow.
    """
    from femtorque.codegen.mechanism import load_mechanism, set_joint
    from femtorque.host.board import Board
    from femtorque.host.lab import beside, identify as measure, measured
    from femtorque.host.link import joint_number

    mechanism = load_mechanism(mech)
    for option, given in (("--on", on and not payload), ("--joint", joint and (entire or payload)),
                          ("--whole", entire and payload), ("--range", within and not (entire or payload)),
                          ("--page", shown and not (entire or payload)),
                          ("--weighed", weighed is not None and not payload),
                          ("--without", without and (not payload or weighed is not None))):
        if given:
            raise BadInput("command line", option, None, "does not go with the other options",
                           "--range, --page and --on are for --whole or --payload, of which there is one, and "
                           "--weighed or --without for --payload")
    if entire or payload:
        return _whole(mech, mechanism, port, home or rezero, rezero, payload, on, weighed, without,
                      within or [], shown or Path(f"{mechanism.name}.identified.html"), write)
    names = joint or [j.name for j in mechanism.moving if j.drive or (j.motor is not None and j.encoder is not None)]
    for name in names:
        measured(mechanism, joint_number(mechanism, name))
    with Board.connect(port, mechanism) as board:
        if home or rezero:
            board.home(rezero=rezero)
        found = [measure(board, mechanism, name, partial(print, f"{name}:", file=sys.stderr)) for name in names]
    for result in found if write else ():
        set_joint(mech, result.joint, result.values(), result.comment(), beside(mechanism, result.joint))
    slides = {j.name for j in mechanism.moving if j.type == "prismatic"}
    words = "\n".join(r.words(r.joint in slides) for r in found)
    return Answer({"joints": [r.data() for r in found], "written": write}, words)


def _whole(mech: Path, mechanism: Mechanism, port: str, home: bool, rezero: bool, payload: str | None, on: str | None,
           weighed: float | None, without: bool, within: list[str], shown: Path, write: bool) -> Answer:
    """Identify the numbers of a whole arm or of a payload. Show the planned motions before the arm moves."""
    from femtorque.codegen.common import check_page, claim
    from femtorque.codegen.common.output import page
    from femtorque.host.board import Board
    from femtorque.host.lab import Stops, write_inertial_page, write_inertias, write_motors
    from femtorque.host.lab.inertial import experiment
    from femtorque.host.show import write_planned
    from femtorque.host.stream import Interrupts

    check_page(shown)
    claim(shown, page("identify"), True)
    given = dict(_range(text) for text in within)
    asks = sys.stdin is not None and sys.stdin.isatty()
    if weighed is not None and not weighed > 0.0:
        raise BadInput("command line", "--weighed", weighed, "must be positive", "the payload's mass, kg")
    if (weighed or without) and not asks:
        raise BadInput("command line", "--weighed" if weighed else "--without", weighed,
                       "asks for the payload to be fixed on", "run it at a terminal")
    if payload:
        programme = experiment.payload(mechanism, payload, on, given, weighed or 0.0)
    else:
        programme = experiment.whole(mechanism, given)
    motions = [*programme.motions, *programme.unseen]
    for number, motion in enumerate(motions, 1):
        path = shown.with_name(f"{mechanism.name}.motion-{number}.html")
        write_planned(path, mechanism, motion, True)
        print(f"motion {number}: {path}", file=sys.stderr)
    with Board.connect(port, mechanism) as board:
        if home:
            board.home(rezero=rezero)
        if asks:
            print("Look at these pages; keep the arm's space free; press Enter to begin, Ctrl-C to leave",
                  file=sys.stderr)
            sys.stdin.readline()
        with Interrupts().on_ctrl_c() as interrupts:
            stops, on_step = Stops(interrupts, math.inf if asks else 0.0), partial(print, file=sys.stderr)
            fix = partial(_fixed, board, interrupts, f"{payload}, {weighed:g} kg" if weighed else payload or "")
            if weighed:
                told = experiment.weigh(board, mechanism, programme, fix, on_step, stops)
                if write:
                    write_motors(mech, told)
                return Answer(told.data() | {"written": write}, told.words())
            found = (experiment.compare(board, mechanism, programme, fix, on_step, stops) if without else
                     experiment.identify(board, mechanism, programme, on_step, stops))
    write_inertial_page(shown, found)
    write &= found.better or bool(found.touches)
    if write:
        write_inertias(mech, found)
    return Answer(found.data() | {"written": write, "page": str(shown)}, f"{found.words()}\n{shown}")


def _fixed(board: Board, interrupts: Interrupts, what: str) -> None:
    """Ask the user to attach a payload while the board holds the arm. Raises Stopped if the user presses Ctrl-C."""
    from femtorque.codegen.common import Stopped
    from femtorque.host.link import PERIOD

    print(f"The arm holds itself, under power: fix {what}, so that it stays; press Enter to go on, Ctrl-C to leave",
          file=sys.stderr)
    interrupts.go_on = 0
    interrupts.read_lines(sys.stdin.fileno())
    while not interrupts.went_on():
        if interrupts.count:
            raise Stopped("nothing was fixed on, and nothing identified")
        board.session.pump()
        board.session.clock.sleep(PERIOD)


def _range(text: str) -> tuple[str, tuple[float, float]]:
    """Return the joint and its range from JOINT=LOW:HIGH. Raises BadInput."""
    try:
        name, numbers = text.split("=")
        low, high = map(float, numbers.split(":"))
    except ValueError:
        raise BadInput("command line", "--range", text, "must be JOINT=LOW:HIGH, as elbow=-1:0.5") from None
    return name, (low, high)
