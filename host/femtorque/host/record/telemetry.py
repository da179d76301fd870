"""Converts a STATUS to plain numbers in SI units, for pages, PlotJuggler and other programs."""

from dataclasses import asdict
from typing import Any

import numpy as np

from femtorque.codegen.board import load_board
from femtorque.codegen.common import Array, BadInput
from femtorque.codegen.wire import fault_name, fault_words, flag, flag_words, from_wire, messages, state_name
from femtorque.codegen.wire.in_words import names
from femtorque.host.link import Configuration, Session, mode_name

SINCE = 0.1  # largest time between neighbouring samples, s


def feedback(configuration: Configuration, error: Array, rate_error: Array) -> Array:
    """Return the torque (..., J) of the PD law, N m or N: Ku error + Kv rate error (THEORY.md)."""
    ku, kv = (np.array([getattr(joint.gains, name) for joint in configuration.joints]) for name in ("ku", "kv"))
    return ku * error + kv * rate_error


def tick_budget(configuration: Configuration) -> int | None:
    """Return the cycles of a control tick; None for a board unknown to this version."""
    try:
        board = load_board(configuration.board.removesuffix("-pil"))
    except BadInput:
        return None
    return board.core_hz // configuration.rate_hz


def about(session: Session) -> dict[str, Any]:
    """Return the constant data: the board's identity, its joints with limits and units, the tick's budget."""
    c = session.configuration
    joints = [{"name": joint.name, "unit": session.unit(j), "effort_unit": "N" if joint.type == "prismatic" else "N m",
               "gains": bool(joint.gains.ku or joint.gains.kv),
               "limits": {k: v if np.isfinite(v) else None for k, v in asdict(joint.limits).items()}}
              for j, joint in enumerate(c.joints)]
    return {"name": c.name, "board": c.board, "digest": c.digest.hex(), "rate_hz": c.rate_hz, "knot_hz": c.knot_hz,
            "ring": session.ident.ring, "budget": tick_budget(c), "port": session.link.port, "joints": joints,
            "status_hz": messages.STATUS_HZ, "modes": list(c.modes)}


def sample(session: Session, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the last STATUS as plain data by joint, in rad or m, rad/s or m/s, and N m or N.

    `pd` is the torque of the file's gains. `rest` is the torque beyond pd and feed-forward: friction, rotor, integral
    and limits. Without gains, `rest` is all torque beyond the feed-forward. before: the last sample. Positions from a
    bus are older than the STATUS, so the rate error of a bus joint is the difference quotient of the errors."""
    s, c, link = session.status, session.configuration, session.link
    error = session.tracking_error()
    ff, torque = np.array(s.torque_ff, float), np.array(s.torque, float)
    slow = np.array(s.target_rate, float) - np.array(s.rate, float)
    if before and 0.0 < (step := s.tick / c.rate_hz - before["t"]) < SINCE:
        slow = np.where(np.array(c.ages or 0.0) > 0.0, (error - np.array(before["error"], float)) / step, slow)
    pd = feedback(c, error, slow)
    pd = np.where(flag(s, "OUTPUTS") and c.outputs, pd, 0.0)
    fault = fault_words(s, session.joint(s.fault_joint)) if s.fault else ""
    return {
        "t": s.tick / c.rate_hz, "state": state_name(s), "fault": fault_name(s.fault) if s.fault else "",
        "fault_text": fault, "fault_joint": session.joint(s.fault_joint) if s.fault else "",
        "flags": list(names(messages.FLAGS, s.flags)),
        "flag_words": flag_words(s.flags),
        "limits": list(names(messages.LIMITS, s.limits)),
        "buffered": s.buffered, "cycles": s.cycles, "cycles_max": s.cycles_max, "bus": s.bus_mv / 1e3,
        "pace": float(s.pace), "mode": mode_name(session), "frames": s.frames, "bad_frames": s.bad_frames,
        "out_of_order": s.out_of_order,
        "host_bad": link.bad, "worst_gap": link.worst_gap,
        "position": plain(from_wire(s.position, c.joints)), "target": plain(from_wire(s.target, c.joints)),
        "error": plain(error), "rate": plain(s.rate), "target_rate": plain(s.target_rate), "feedforward": plain(ff),
        "pd": plain(pd), "rest": plain(torque - ff - pd), "torque": plain(torque), "duty": plain(s.duty)}


def plain(values: Any) -> list[float | None]:
    """Return the numbers for JSON, with None for NaN, which JSON does not have."""
    return [float(f"{x:.9g}") if np.isfinite(x) else None for x in values]


def named(session: Session, values: dict[str, Any]) -> dict[str, Any]:
    """Return a sample as a tree for PlotJuggler: /shoulder/error, /tick/cycles, ... `timestamp` is in s."""
    per_joint = [key for key, value in values.items() if isinstance(value, list) and key not in ("flags", "limits")]
    tree: dict[str, Any] = {"timestamp": values["t"], "state": session.status.state, "fault": session.status.fault}
    for j, joint in enumerate(session.configuration.joints):
        tree[joint.name] = {key: values[key][j] for key in per_joint}
    tree["tick"] = {key: values[key] for key in ("cycles", "cycles_max")}
    tree["link"] = {key: values[key]
                    for key in ("buffered", "frames", "bad_frames", "out_of_order", "host_bad", "worst_gap")}
    return tree | {"bus": values["bus"], "pace": values["pace"], "mode": session.status.mode}
