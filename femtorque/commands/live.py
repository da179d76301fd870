"""Verbs that send live targets from programs, motions, a leader arm or keys."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import asdict
from pathlib import Path
from socket import SOCK_DGRAM
from typing import TYPE_CHECKING, Annotated, Any

import typer

from femtorque.codegen.common import BadInput, Refused
from femtorque.commands.answer import Answer
from femtorque.commands.keys import keys
from femtorque.commands.options import (
    Force, Home, Json, LogTo, Mech, Port, Rezero, Web, claim_log, load_mechanism, port_number)

if TYPE_CHECKING:
    from femtorque.codegen.mechanism import Mechanism
    from femtorque.host.board import Board
    from femtorque.host.link import Errors, Session
    from femtorque.host.live import Coupling, Following, FollowStatus, Hand, PadJog, TipJog

Delay = Annotated[float | None, typer.Option("--delay", metavar="S", min=0.0, max=2.0, show_default="as the file says",
                                             help="s from when a target is made until the joints are there")]
Frame = Annotated[float | None, typer.Option("--frame", metavar="S", min=0.001, max=0.25,
                                             show_default="as the file says", help="s from one target to the next")]
WORDS = {"tracking": "tracking error", "behind": "behind the leader"}
Seconds = Annotated[float, typer.Option("--seconds", metavar="S", min=0.0, show_default="until Ctrl-C",
                                         help="for so long")]


def follow(
    mech: Mech,
    port: Port,
    source: Annotated[str, typer.Option("--from", metavar="FILE|udp:PORT|unix:PATH|stdin", show_default=False,
                                        help="a motion whose positions are sent as targets; a UDP port of this "
                                        "machine; a Unix socket of datagrams, which only this user's programs can "
                                        "open; or standard input: a target a line, see docs/live.md")],
    hz: Annotated[float, typer.Option("--hz", metavar="HZ", min=1.0, max=500.0,
                                      help="targets a second, of a file")] = 50.0,
    delay: Delay = None,
    frame: Frame = None,
    seconds: Seconds = math.inf,
    home: Home = False,
    rezero: Rezero = False,
    log: LogTo = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Follow targets that another program sends.

    Targets may be late, irregular, lost or far away. The arm follows the targets within its limits. At Ctrl-C, after
    the time, or at the end of the source, the arm comes to rest at the last target, and its motors are switched off."""
    from femtorque.codegen.motion import Trajectory
    from femtorque.host.board import Board
    from femtorque.host.link import Bound, Tracked
    from femtorque.host.live import external_targets
    from femtorque.host.stream import Interrupts

    mechanism = load_mechanism(mech)
    motion: Trajectory | None = None
    opened: external_targets.Pipe | external_targets.Port | None = None
    if source == "stdin":
        opened = external_targets.Pipe(sys.stdin)
    elif source.startswith("udp:"):
        opened = external_targets.Port(external_targets.udp(port_number(source[4:], "--from", 1)))
    elif source.startswith("unix:"):
        opened = external_targets.Port(Bound(source, SOCK_DGRAM, "--from"))
    else:
        motion = Trajectory.load(Path(source), mechanism)
    claim_log(log, force)
    with (opened if isinstance(opened, external_targets.Port) else nullcontext(),
          Board.connect(port, mechanism) as board,
          Interrupts().on_ctrl_c() as interrupts):
        if home or rezero:
            board.home(rezero=rezero)
        end = board.session.clock.now() + seconds

        def over() -> bool:
            return interrupts.count > 0 or board.session.clock.now() >= end

        tracked = Tracked(board.session)
        board.session.listeners.append(tracked.take)
        with board.logged(log, {"targets": source}), board.follow(delay, frame) as f:
            if motion is not None:
                sent = external_targets.replay(f, motion, hz, over)
            else:
                assert opened is not None
                sent = external_targets.relay(f, opened, over, where=source)
            status = f.status
        data, said = _report(board.session, status, f, {"tracking": tracked})
    if sent.bad:
        print(f"{sent.bad} lines were no targets; the first: {sent.first}", file=sys.stderr)
    return Answer(external_targets.told(data, sent), f"{sent.targets} targets{said}",
                  good=sent.targets > 0 or not sent.bad)


def teleop(
    mech: Mech,
    port: Port,
    leader: Annotated[Path | None, typer.Option("--leader", metavar="MECH", show_default="the keyboard",
                                                help="mechanism file of a leading arm, which its board lets "
                                                     "float")] = None,
    leader_port: Annotated[str | None, typer.Option("--leader-port", metavar="PORT", show_default=False,
                                                    help="port of the leader's board")] = None,
    lead: Annotated[list[str] | None, typer.Option("--lead", metavar="JOINT=LEADER", show_default="by name",
                                                   help="the leader's joint that leads one; repeatable")] = None,
    scale: Annotated[list[str] | None, typer.Option("--scale", metavar="JOINT=FACTOR", show_default="1",
                                                    help="times the leader's position; repeatable")] = None,
    offset: Annotated[list[str] | None, typer.Option("--offset", metavar="JOINT=VALUE", show_default="0",
                                                     help="rad or m more; repeatable")] = None,
    friction: Annotated[int, typer.Option(metavar="PERCENT", min=0, max=80,
                                          help="share of the leader's Coulomb friction to carry too, 0 to 80")] = 0,
    feel: Annotated[bool, typer.Option("--feel", help="with --leader: force feedback between both arms; both files "
                                                      "need a [feel] table")] = False,
    tip: Annotated[str | None, typer.Option("--tip", metavar="LINK[:x,y,z]", show_default="the end of the arm",
                                            help="which point the keys, the page or the gamepad move")] = None,
    speed: Annotated[float, typer.Option("--speed", metavar="V", min=0.001, max=1.0, help="of the tip, m/s")] = 0.05,
    gamepad: Annotated[bool, typer.Option("--gamepad", help="by a gamepad, while its left shoulder button is held"
                                          )] = False,
    web: Web = None,
    real: Annotated[bool, typer.Option("--real", help="with --web: the page may move a real board too, while its key "
                                       "is held")] = False,
    delay: Delay = None,
    seconds: Seconds = math.inf,
    home: Home = False,
    rezero: Rezero = False,
    log: LogTo = None,
    force: Force = False,
    json: Json = False,
) -> Answer:
    """Move an arm by another arm, by keys, by a gamepad, or by hand on a page.

    Held keys move the tip along the base frame: w and s along x, a and d along y, e and c along z. q ends. With --web
    the live page has a slider for each joint and a handle at the tip. With --leader or --gamepad the page only shows
    the arm."""
    from femtorque.host.board import Board
    from femtorque.host.link import Errors, Tracked
    from femtorque.host.live import TipJog, bilateral, gamepad as pads, page_control as hands, teleop as leading
    from femtorque.host.plan import ends, forward_kinematics, tip_option
    from femtorque.host.scene import scene
    from femtorque.host.stream import Interrupts

    mechanism = load_mechanism(mech)
    led = coupling = None
    by_page = web is not None and leader is None and not gamepad
    _check_leading(leader, leader_port, feel, gamepad, real and not by_page)
    if leader is not None:
        led = load_mechanism(leader)
        how = leading.Leading.of(led, mechanism, _values("--scale", scale), _values("--offset", offset),
                                 _pairs("--lead", lead))
        coupling = bilateral.Coupling.of(led, mechanism, how) if feel else None
    point = tip_option(tip or (ends(mechanism) or ["?"])[-1])
    if leader is None:  # refuse before the arm is armed
        forward_kinematics(mechanism, [joint.start for joint in mechanism.streamed], point.link, point.xyz)
        if not (by_page or gamepad or sys.stdin.isatty()):
            raise BadInput("command line", "teleop", None, "keys need a terminal", "or lead by an arm: --leader MECH")
    pad = pads.PadJog(pads.SdlPad(), speed) if gamepad else None
    arm = None if web is None else scene(mechanism)
    claim_log(log, force)
    with ExitStack() as stack:
        board = stack.enter_context(Board.connect(port, mechanism))
        hand = hands.Hand(mechanism, (point.link, point.xyz), key=not board.session.virtual) if by_page else None
        if hand is not None and hand.key and not real:
            raise Refused(f"{port}: is a real board, which a page moves only with --real, while its key is held")
        master = stack.enter_context(Board.connect(leader_port, led)) if led is not None and leader_port else None
        interrupts = stack.enter_context(Interrupts().on_ctrl_c())
        if home or rezero:
            for one in (board, *([master] if master else [])):
                one.home(rezero=rezero)
        end = board.session.clock.now() + seconds

        def over() -> bool:
            return interrupts.count > 0 or board.session.clock.now() >= end

        stack.enter_context(board.logged(log, {"leader": str(leader or "by hand")}))
        tracked, behind = Tracked(board.session), Errors(len(mechanism.streamed))
        board.session.listeners.append(tracked.take)
        if web is not None:
            from femtorque.host.show import serving

            print(stack.enter_context(serving(board.session, web, arm=arm, hand=hand)), file=sys.stderr, flush=True)
        with board.follow(delay) as f:
            sent = None
            if master is not None and led is not None:
                if coupling is not None:
                    sent = _coupled(coupling, (led, mechanism), master, f, delay, over, behind)
                if sent is None:
                    master.arm()
                    sent = leading.lead(master.session, f, how, friction, over, behind)
            else:
                jog = TipJog(mechanism, board.session.held(), point.link, point.xyz)
                sent = _jogged(f, jog, hand, pad, speed, over)
            status = f.status
        errors = {"tracking": tracked} | ({} if master is None else {"behind": behind})
        data, said = _report(board.session, status, f, errors)
    return Answer(data | {"targets": sent}, f"{sent} targets{said}")


def _check_leading(leader: Path | None, leader_port: str | None, feel: bool, gamepad: bool, unreal: bool) -> None:
    """Raise BadInput for options that exclude each other. unreal: --real without a page that moves the arm."""
    if feel and leader is None:
        raise BadInput("command line", "--feel", None, "goes with --leader: the arm at which a hand feels")
    if leader is not None and gamepad:
        raise BadInput("command line", "--gamepad", None, "leads the arm, and so does --leader", "one of the two")
    if unreal:
        raise BadInput("command line", "--real", None, "goes with --web, where the page moves the arm")
    if leader is not None and leader_port is None:
        raise BadInput("command line", "--leader-port", None, "is needed: where the leader's board is")


def _coupled(coupling: Coupling, arms: tuple[Mechanism, Mechanism], master: Board, f: Following, delay: float | None,
             over: Callable[[], bool], behind: Errors) -> int | None:
    """Couple the arms by forces. Return the number of targets; None if an arm measures no external torques."""
    from femtorque.host.live import bilateral

    with master.follow(delay) as first:
        pair = bilateral.Pair(coupling, first, f, arms)
        felt = pair.measure()
        print(pair.words() if felt else f"without force feedback: {pair.words()}", file=sys.stderr)
        return bilateral.couple(pair, over, behind) if felt else None


def _jogged(f: Following, jog: TipJog, hand: Hand | None, pad: PadJog | None, speed: float,
            over: Callable[[], bool]) -> int:
    """Move the tip by commands of a page, a gamepad or the keys. Return the number of targets sent."""
    from femtorque.host.live import page_control as hands, teleop as leading

    if hand is not None:
        return hands.by_hand(f, hand, jog, speed, over)
    if pad is not None:
        return leading.jog_tip(f, jog, pad, over)
    with keys() as pressed:
        return leading.jog_tip(f, jog, leading.Keys(pressed, speed), over)


def _report(session: Session, status: FollowStatus | None, f: Following, errors: dict[str, Errors]
            ) -> tuple[dict[str, Any], str]:
    """Return the report as data and as text, after the last target of f."""
    from femtorque.codegen.mechanism import in_radians

    joints = [joint.name for joint in session.configuration.joints]
    data: dict[str, Any] = {"positions": session.positions().tolist(),
                            "status": asdict(status) if status is not None else None}
    said = "" if status is None else (f"; {status.late} late, {status.lost} lost, {status.refused} refused, delay "
                                      f"{1e3 * status.delay:.0f} ms")
    if status is not None and status.refused:
        said += "; refused targets are not finite, older than the newest one, or due too far ahead"
    if status is not None and status.left_out:
        said += f"; {status.left_out} left out for newer ones (the line carries {f.carries:.0f} a second)"
    for joint in f.joints:
        if (far := f.beyond.get(joint.name)) is not None:
            degrees = in_radians(far, joint.limits.lower, joint.limits.upper) if joint.type != "prismatic" else ""
            said += f"\ntargets were beyond the limits of {joint.name}: {far:g}" + (degrees and f"; {degrees}")
    for name, found in errors.items():
        data |= {f"{name}_rms": dict(zip(joints, found.rms.tolist(), strict=True)),
                 f"{name}_max": dict(zip(joints, found.largest.tolist(), strict=True))}
        values = ", ".join(f"{joint} {1e3 * rms:.2f} ({1e3 * most:.2f}) m{session.unit(j)}" for j, (joint, rms, most)
                           in enumerate(zip(joints, found.rms, found.largest, strict=True)))
        said += f"\n{WORDS[name]}, rms (most): {values}"
    return data, said + "\nthe motors are off now"


def _pairs(option: str, items: list[str] | None) -> dict[str, str]:
    found = {}
    for item in items or []:
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise BadInput("command line", option, item, "must be JOINT=VALUE")
        found[name] = value
    return found


def _values(option: str, items: list[str] | None) -> dict[str, float]:
    found = {}
    for name, text in _pairs(option, items).items():
        try:
            found[name] = float(text)
        except ValueError:
            raise BadInput("command line", option, f"{name}={text}", "must be a number") from None
        if not math.isfinite(found[name]):
            raise BadInput("command line", option, f"{name}={text}", "must be finite")
    return found
