"""Tables of `femtorque check` for a terminal."""

import math
from collections.abc import Sequence

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from femtorque.codegen.control import DAMPING, MARGIN
from femtorque.codegen.mechanism import BASE, Friction, Mechanism, Sold
from femtorque.codegen.model import Assembly
from femtorque.codegen.verify.check import Report

FEW = 6  # names in a line


def _assembly_table(mode: str, a: Assembly) -> RenderableType:
    title = (f"loops{f' of mode {mode}' if mode else ''}: mobility {a.mobility}, {len(a.actuated)} joints actuated, at "
             f"the start {a.margin(a.start):.2g} of the way from a singular pose (0) to the farthest (1)")
    table = _table("", "joint", "at the start", "is")
    for i, body in enumerate(a.model.bodies):
        kind = "passive" if i in a.passive else "actuated, redundant" if i in a.redundant else "actuated"
        table.add_row(body.joint.name, f"{a.start[i]:.6g}", kind)
    kept = ", ".join(a.row_name(row) for row in a.kept)
    dropped = ", ".join(a.row_name(row) for row in a.dropped)
    equations = f"equations: {kept}" + (f"; contained in them, dropped: {dropped}" if dropped else "")
    return Group(Text(f"\n{title}", style="italic"), table, Text(equations))


def check_renderable(report: Report) -> RenderableType:
    """Return the tables of a report for a terminal."""
    parts: list[RenderableType] = [_heading(report)]
    parts += [_joint_table(report.mechanism), _drive_table(report), _link_table(report.mechanism)]
    parts += [Text(line) for line in (*_ground(report.mechanism), *_frame_line(report.mechanism))]
    parts += [_beam_table(report)] if report.beams else []
    parts += [_bus_table(report)] if report.buses else []
    parts += [_assembly_table(name, a) for name, a in report.assemblies if a.cuts]
    if report.rule:
        parts += [_gain_table(report), _loop_line(report)]
    parts += [Text(line) for line in (*report.loads, *report.falls, *report.halt, *report.levels, *report.silence)]
    parts += [Text(f"warning: {w}", style="yellow") for w in report.warnings]
    return Group(*parts)


def _heading(report: Report) -> Text:
    m, c = report.mechanism, report.mechanism.control
    board = "no board" if m.board is None else f"board {m.board.use}, {m.board.bus_voltage:g} V"
    still = _standing(m)
    moved = sum(x.mass for x in m.links if x.name not in still)
    text = (f"{m.name}: {len(m.moving)} moving joints, {moved:.4g} kg moved, {m.control.scheme} at "
            f"{c.rate_hz} Hz, knots at {c.knot_hz} Hz, {board}")
    return Text(text, style="bold")


def _table(title: str, *columns: str) -> Table:
    """Return a table whose first column identifies a row. A narrow terminal wraps only the other columns."""
    table = Table(title=f"\n{title}" if title else None, title_justify="left", box=SIMPLE_HEAD, show_edge=False,
                  pad_edge=False, collapse_padding=True)
    for k, column in enumerate(columns):
        table.add_column(column, no_wrap=not k, overflow="fold")
    return table


def _joint_table(mechanism: Mechanism) -> Table:
    x, f = _units(mechanism)
    table = _table("joints", "joint", "type", "parent > child", f"range, {x}", f"velocity, {x}/s", f"effort, {f}")
    still = _left_out(mechanism) | _frames(mechanism)
    for j in (j for j in mechanism.joints if j.child not in still):
        kind = f"locked at {mechanism.lock[j.name]:g}" if j.name in mechanism.lock else j.type
        if j.mimic:
            kind += f", {j.mimic.ratio:g} {j.mimic.joint}"
            kind += f" {'-' if j.mimic.offset < 0.0 else '+'} {abs(j.mimic.offset):g}" if j.mimic.offset else ""
        where = f"{j.parent} > {j.child}"
        if j.type == "fixed":
            table.add_row(j.name, kind, where)
            continue
        span = "any" if math.isinf(j.limits.upper - j.limits.lower) else f"{j.limits.lower:.4g} .. {j.limits.upper:.4g}"
        most = ("any" if math.isinf(x) else f"{x:g}" for x in (j.limits.velocity, j.limits.effort))
        table.add_row(j.name, kind, where, span, *most)
    return table


def _units(mechanism: Mechanism) -> tuple[str, str]:
    """Return the units of positions and torques, for a column heading."""
    slides = {joint.type == "prismatic" for joint in mechanism.joints if joint.type != "fixed"}
    return {frozenset({True}): ("m", "N"), frozenset({False, True}): ("rad (m)", "N m (N)")}.get(
        frozenset(slides), ("rad", "N m"))


def _drive_table(report: Report) -> Table:
    gains = () if report.rule else ("ku", "kv")  # if there are gains, a separate table shows them
    x, f = _units(report.mechanism)
    table = _table("drives", "joint", "motor", "encoder", f"viscous, {f} s/{x}", f"coulomb, {f}", *gains)
    for j in report.mechanism.moving:
        motor = "-" if j.motor is None else (
            f"ch {j.motor.channel}, gear {j.motor.gear:g}, {j.motor.R:g} ohm, {j.motor.K:g} N m/A")
        if j.drive:
            motor = j.drive.type.name + ("" if j.drive.gear == 1.0 else f", gear {j.drive.gear:g}")
        encoder = "-" if j.encoder is None else f"{j.encoder.counts} at {j.encoder.at}"
        table.add_row(j.name, motor, encoder, f"{j.friction.viscous:g}", _dry(j.friction),
                      *(f"{getattr(j.gains, name):g}" for name in gains))
    return table


def _dry(friction: Friction) -> str:
    """Return Coulomb friction, and the further friction terms that the file gives."""
    more = [f"{friction.stribeck:g} at rest, half of it at {friction.stribeck_velocity:g}"] if friction.stribeck else []
    more += [f"{friction.load:g} of the load"] if friction.load else []
    return " + ".join([f"{friction.coulomb:g}", *more])


def _bus_table(report: Report) -> Table:
    table = _table("buses", "bus", "kind", "drives", "one round, mean and worst", "at worst busy", "fastest",
                   "commands there after")
    rate = report.mechanism.control.rate_hz
    for one in report.buses:
        bitrate = f"{one.bus.bitrate / 1e6:g}" + (f" / {one.bus.data_bitrate / 1e6:g}" if one.bus.data_bitrate else "")
        drives = ", ".join(f"{j.name} {j.drive.id}: {j.drive.type.name}" for j in one.joints if j.drive)
        table.add_row(one.bus.name, f"{one.bus.kind} {bitrate} Mbit/s", drives,
                      f"{1e6 * one.load.mean:.0f}, {1e6 * one.load.worst:.0f} us", f"{one.load.share(rate):.0%}",
                      f"{one.fastest:.0f} Hz", "{:.2f} to {:.2f} ms".format(*(1e3 * t for t in one.command_after)))
    return table


def motor_table(motors: Sequence[Sold]) -> Table:
    """Return the catalogue of motors, with their torque and speed at the nominal voltage."""
    table = _table("motors", "name", "V", "R, ohm", "L, mH", "K, N m/A", "rotor, kg m^2", "gear", "stall, N m",
                   "no load, rad/s", "continuous, A", "source")
    for sold in motors:
        table.add_row(sold.name, f"{sold.volts:g}", f"{sold.R:.3g}", f"{1e3 * sold.L:.3g}", f"{sold.K:.3g}",
                      "unknown" if sold.inertia is None else f"{sold.inertia:.3g}", f"{sold.gear:g}",
                      f"{sold.stall(sold.volts):.3g}", f"{sold.no_load(sold.volts):.3g}",
                      "unknown" if sold.continuous is None else f"{sold.continuous:.3g}", sold.source)
    return table


def _link_table(mechanism: Mechanism) -> Table:
    table = _table("links", "link", "mass, kg", "centre of gravity, m", "ixx, iyy, izz, kg m^2",
                   "ixy, ixz, iyz, kg m^2")
    still = _left_out(mechanism) | _frames(mechanism)
    bodies = [(x.name, x.mass, x.com, x.inertia) for x in mechanism.links if x.name not in still]
    bodies += [(f"{p.name} (on {p.link})", p.mass, p.com, p.inertia) for p in mechanism.payloads
               if p.link not in still]
    for name, mass, com, J in bodies:
        table.add_row(name, f"{mass:.4g}", ", ".join(f"{x:.4g}" for x in com),
                      ", ".join(f"{x:.3g}" for x in np.diag(J)),
                      ", ".join(f"{x:.3g}" for x in (J[0, 1], J[0, 2], J[1, 2])))
    return table


def _ground(mechanism: Mechanism) -> list[str]:
    """Return a line about the links that are fixed to the ground. A locked limb of a legged robot has many links."""
    still = _left_out(mechanism)
    if not still:
        return []
    locked = [j.name for j in mechanism.joints if j.child in still and j.name in mechanism.lock]
    mass = sum(link.mass for link in mechanism.links if link.name in still)
    held = f"; locked: {_some(locked)}" if locked else ""
    links = _some([link.name for link in mechanism.links if link.name in still])
    return [f"on the ground, in no torque ({mass:.4g} kg): {links}{held}"]


def _standing(mechanism: Mechanism) -> set[str]:
    """Return the links that no joint can move. With modes the ground link may change, so the result is empty."""
    if mechanism.modes:
        return set()
    moving, still = {joint.name for joint in mechanism.moving}, {BASE}
    for _ in mechanism.joints:  # at most one pass per level of the tree
        still |= {j.child for j in mechanism.joints if j.parent in still and j.name not in moving}
    return still - {BASE}


def _left_out(mechanism: Mechanism) -> set[str]:
    """Return the links on the ground if they are too many for one row each. Return an empty set for fewer links."""
    still = _standing(mechanism)
    return still if len(still) > FEW else set()


def _frames(mechanism: Mechanism) -> set[str]:
    """Return the links at the ends that are fixed and carry nothing, as a camera's frames do."""
    used = {p.link for p in mechanism.payloads} | {side.link for loop in mechanism.loops for side in (loop.a, loop.b)}
    used |= {link.name for link in mechanism.links if link.mass or np.any(link.inertia) or link.beam is not None}
    found: set[str] = set()
    for joint in reversed(mechanism.joints):
        if joint.type == "fixed" and joint.child not in used:
            found.add(joint.child)
        else:
            used.add(joint.parent)
    return found


def _frame_line(mechanism: Mechanism) -> list[str]:
    found = _frames(mechanism) - _left_out(mechanism)
    return [f"without mass: {_some([link.name for link in mechanism.links if link.name in found])}"] if found else []


def _some(names: Sequence[str]) -> str:
    """Return the first names, and how many further names there are."""
    more = len(names) - FEW
    return ", ".join(names[:FEW]) + (f" and {more} more" if more > 0 else "")


def _beam_table(report: Report) -> Table:
    """Return the table of flexible links. The frequencies are the mechanism's at its start, with locked motors."""
    table = _table("flexible links", "link", "length, m", "EI about y, z, N m^2", "GJ, N m^2", "elements", "damping, s")
    for link in report.mechanism.links:
        if beam := link.beam:
            EI = ", ".join("rigid" if math.isinf(x) else f"{x:.4g}" for x in beam.EI)
            GJ = "rigid" if beam.GJ is None else f"{beam.GJ:.4g}"
            table.add_row(link.name, f"{beam.length:g}", EI, GJ, str(beam.elements), f"{beam.damping:g}")
    table.caption = "; ".join(f"mode {k + 1} {mode}" for k, mode in enumerate(report.beams))
    table.caption_justify = "left"
    return table


def _gain_table(report: Report) -> Table:
    x, f = _units(report.mechanism)
    table = _table("gains", "joint", f"ku, {f}/{x}", f"kv, {f} s/{x}", "stiffest ku", "stiffest kv")
    for j in report.mechanism.streamed:
        fit = report.rule[j.name]
        table.add_row(j.name, f"{j.gains.ku:g}", f"{j.gains.kv:g}", f"{fit.ku:g}", f"{fit.kv:g}")
    return table


def _loop_line(report: Report) -> Text:
    text = (f"stiffest: stable at every pose with all gains times {MARGIN:g}, damping ratio {DAMPING:g}, "
            f"lead {report.lead}")
    if report.stability is not None:
        text += (f"\nthe file's gains: spectral radius {report.stability.radius:.5f} (stable below 1), "
                 f"Kv M^-1 dt at most {report.stability.rate_gain:.3f}")
    return Text(text)
