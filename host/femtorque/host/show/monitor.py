"""Shows a live view of a board in the terminal: state, faults with remedies, joints, stream, tick cost."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from femtorque.codegen.wire import FELT_TOUCHED, Drives, fault_words, flag_words, from_wire, messages, state_name
from femtorque.codegen.wire.in_words import names
from femtorque.host.link import PERIOD, Session, crash, drives, external_torque, mode_name

REFRESH = 0.1  # s
_COLOURS = {"HOLD": "green", "TRACK": "green", "FOLLOW": "green", "FAULT": "red", "ESTOP": "red"}


def watch(session: Session, console: Console, until: Callable[[], bool]) -> None:
    """Show every STATUS until stopped. Raises Refused if the connection to the board breaks."""
    drawn = -np.inf
    with Live(view(session), console=console, auto_refresh=False) as live:
        while not until():
            session.pump()
            if session.clock.now() - drawn >= REFRESH:
                drawn = session.clock.now()
                live.update(view(session), refresh=True)
            session.clock.sleep(PERIOD)


def view(session: Session) -> RenderableType:
    """Return the last STATUS as tables."""
    of_drives = (_drives(session, session.drives),) if session.drives else ()
    of_feeling = (_felt(session),) if session.felt else ()
    return Group(_heading(session), _joints(session), *of_feeling, *of_drives, _numbers(session), _history(session))


def snapshot(session: Session) -> dict[str, Any]:
    """Return the last STATUS as plain data, positions and targets in rad or m."""
    s, joints = session.status, session.configuration.joints
    data = {f.name: getattr(s, f.name) for m in messages.MESSAGES if m.name == "STATUS" for f in m.fields}
    data["flags"], data["limits"] = names(messages.FLAGS, s.flags), names(messages.LIMITS, s.limits)
    data["state"] = state_name(s)
    data["position"], data["target"] = from_wire(s.position, joints), from_wire(s.target, joints)
    faults = [n for n, row in messages.FAULTS.items() if row[0] == s.fault and s.fault]
    return {"identity": session.identity(), "faults": faults, "joints": [j.name for j in joints], **data,
            **({"felt": external_torque.snapshot(session, session.felt)} if session.felt else {}),
            **(_of_drives(session, session.drives) if session.drives else {})}


def _of_drives(session: Session, report: Drives) -> dict[str, Any]:
    """Return the last DRIVES as plain data. rate: states per second, or null. age: age in ticks. says: text as in the
    view."""
    conf = session.configuration
    hz = drives.rates(session.drives_kept, conf.rate_hz)
    of_joints = [{
        "joint": joint.name, "type": joint.drive.type.name, "bus": joint.drive.bus, "id": joint.drive.id,
        "state": drives.state(report, j), "temperature": report.warmth[j], "rate": hz[j] if hz else None,
        "age": report.age[j], "answers": report.answers[j], "lost": report.lost[j], "late": report.late[j],
        "firmware": drives.firmware(report, conf.joints, j), "says": drives.unarmed(report, conf.joints, j),
    } for j, joint in enumerate(conf.joints) if joint.drive is not None]
    of_buses = [{"bus": name, **{key: getattr(report, key)[i] for key in (
        "off", "offs", "sending", "receiving", "stale", "overruns")}} for i, name in enumerate(_buses(session))]
    return {"drives": of_joints, "buses": of_buses, "foreign": report.foreign}


def _buses(session: Session) -> list[str]:
    """Return the buses in the board's order: CAN before servo buses, then by the first joint."""
    found = {j.drive.bus: j.drive.servo is not None for j in session.configuration.joints if j.drive}
    return sorted(found, key=found.__getitem__)


def _heading(session: Session) -> Text:
    s, who = session.status, session.configuration
    text = Text(f"{who.name} on {who.board}, {who.rate_hz} Hz, configuration {who.digest.hex()[:8]}, at ")
    text.append(f"{s.tick / who.rate_hz:.1f} s: ")
    text.append(state_name(s), style=f"bold {_COLOURS.get(state_name(s), 'yellow')}")
    limits = names(messages.LIMITS, s.limits)
    text.append(f"  {flag_words(s.flags)}")
    if limits:
        text.append(f"  limits: {' '.join(limits)}", style="yellow")
    if s.fault:
        report = drives.words(session.drives, session.configuration.joints, s.fault_joint)
        said = f" ({report})" if report else ""
        text.append(f"\nfault {fault_words(s, session.joint(s.fault_joint))}{said}", style="red")
    return text


def _joints(session: Session) -> Table:
    s = session.status
    # narrow columns, so that six joints fit into 80 characters
    table = Table(box=SIMPLE_HEAD, padding=0, pad_edge=False, collapse_padding=True)
    table.add_column("joint", overflow="fold")
    for column in ("position", "desired", "error", "rate", "torque", "feedfwd", "duty"):
        table.add_column(column, justify="right", min_width=7, no_wrap=True)
    joints = session.configuration.joints
    measured, desired, error = from_wire(s.position, joints), from_wire(s.target, joints), session.tracking_error()
    for j, joint in enumerate(joints):
        table.add_row(
            f"{joint.name}, {session.unit(j)}", f"{measured[j]:+.4f}", f"{desired[j]:+.4f}", f"{error[j]:+.1e}",
            f"{s.rate[j]:+.3f}", f"{s.torque[j]:+.3f}", f"{s.torque_ff[j]:+.3f}", f"{s.duty[j]:+.3f}")
    return table


def _felt(session: Session) -> Text:
    """Return the external torques by joint, and the last contact."""
    now, joints = external_torque.feeling(session), session.configuration.joints
    text = Text("from outside, N m or N: ")
    text.append(", ".join(f"{joint.name} {torque:+.3f}" for joint, torque in zip(joints, now.external, strict=True)))
    if now.touches:
        text.append(f"  {now.touches} touches, the last at {now.joint}", style="yellow" if now.touched else "")
    if now.way:
        text.append(f"; {FELT_TOUCHED[now.way][1]}", style="yellow")
    return text


def _drives(session: Session, report: Drives) -> Table:
    """Return a table of drives. Hz: states per second. age: ticks since a state. The rest counts since reset."""
    table = Table(box=SIMPLE_HEAD, padding=0, pad_edge=False, collapse_padding=True)
    table.add_column("drive", overflow="fold")
    for column in ("state", "°C", "Hz", "age", "answers", "lost", "late"):
        table.add_column(column, justify="right", min_width=4, no_wrap=True)
    table.add_column("says", overflow="fold")
    joints, hz = session.configuration.joints, drives.rates(session.drives_kept, session.configuration.rate_hz)
    for j, joint in enumerate(joints):
        if joint.drive is not None:
            version = drives.firmware(report, joints, j)
            says = drives.unarmed(report, joints, j) or (f"firmware {version}" if version else "")
            table.add_row(f"{joint.name}, {joint.drive.type.name}", drives.state(report, j), str(report.warmth[j]),
                          f"{hz[j]:.0f}" if hz else "", str(report.age[j]), str(report.answers[j]), str(report.lost[j]),
                          str(report.late[j]), says)
    for i, name in enumerate(_buses(session)):
        off = "off" if report.off[i] else "on"
        table.add_row(name, off, "", "", "", "", "", "", f"errors {report.sending[i]} out, {report.receiving[i]} in; "
                      f"left {report.offs[i]} times, dropped {report.stale[i]}, overrun {report.overruns[i]}")
    return table


def _numbers(session: Session) -> Text:
    s, link, name = session.status, session.link, mode_name(session)
    mode = f"mode {name}, " if name else ""
    return Text(
        f"{mode}buffer {s.buffered}/{session.ident.ring} knots, pace {s.pace:.2f}, tick {s.cycles} cycles (most "
        f"{s.cycles_max}), bus {s.bus_mv / 1e3:.1f} V\n"
        f"board: {s.frames} frames, {s.bad_frames} bad, {s.out_of_order} out of order, {s.wrong_tag} of another "
        f"configuration; host: {link.bad} bad, worst gap {link.worst_gap * 1e3:.0f} ms")


def _history(session: Session) -> Text:
    """Return the chip's number and the board's history."""
    who = session.identity()
    level = f", brown-out reset {who['brown_out']}" if who["brown_out"] else ""
    text = Text(f"chip {who['unique']}, femtorque {who['version']}, up {who['uptime_s']} s when asked, {who['resets']} "
                f"resets since power-on (last: {who['reset_cause']}){level}")
    if who["faults"]:
        text.append("\nfaults since reset: " + ", ".join(f"{name} {count}" for name, count in who["faults"].items()))
    if last := crash(session.about):
        text.append(f"\nlast crash: {last}", style="red")
    return text
