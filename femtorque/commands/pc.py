"""Verbs for a PC as the board."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from femtorque.codegen.common import BadInput, hint
from femtorque.commands.answer import Answer
from femtorque.commands.mechanism import program_for_pc
from femtorque.commands.options import Json, Mech

if TYPE_CHECKING:
    from femtorque.codegen.mechanism import Mechanism

PATIENCE = 2  # number of Ctrl-C before the program is killed, after which its second process switches the drives off
KINDS = "an interface of SocketCAN, or slcan:, fdcanusb:, damiao: or robstride: and a serial device"
Buses = Annotated[list[str] | None, typer.Option("--bus", metavar="BUS=ADAPTER", show_default=False,
                                                 help=f"adapter of a CAN bus: {KINDS}")]
Wires = Annotated[list[str] | None, typer.Option("--wire", metavar="WIRE=DEVICE", show_default=False,
                                                 help="serial device of a half-duplex wire of servos")]


def board(
    mech: Mech,
    bus: Buses = None,
    wire: Wires = None,
    port: Annotated[str, typer.Option("--port", "-p", metavar="unix:PATH", show_default="found by --port auto",
                                      help="the board's port: a Unix socket, which only this user's programs can open")
                    ] = "",
    json: Json = False,
) -> Answer:
    """Make this PC the board, until Ctrl-C.

    The verb builds a program and runs it. Nothing is flashed. The drives are on adapters of this PC. Every verb that
    takes --port finds this board.
    """
    from femtorque.codegen.mechanism import load_mechanism
    from femtorque.codegen.verify import bus_loads, pc_words
    from femtorque.host.link import SCHEME, path_of, served_folder
    from femtorque.host.stream import Interrupts

    mechanism = load_mechanism(mech)
    if port and not port.startswith(SCHEME):
        raise BadInput("command line", "--port", port, "must be unix:PATH: whoever opens it can move the arm",
                       "leave it out")
    places = _places(mechanism, bus or (), wire or ())
    bus_loads(mechanism)  # refuses a rate that an adapter cannot carry
    program = program_for_pc(mechanism)
    path = path_of(port) if port else served_folder() / f"{mechanism.name}.board"
    for line in pc_words(mechanism):
        print(line, file=sys.stderr, flush=True)
    with Interrupts().on_ctrl_c() as interrupts:
        running, passed_on = subprocess.Popen([program, f"port={path}", *places]), 0
        while not _ended(running):
            if interrupts.count > passed_on:
                passed_on = interrupts.count
                running.send_signal(signal.SIGKILL if passed_on > PATIENCE else signal.SIGINT)
    return Answer({"status": running.returncode}, "", good=running.returncode == 0)


def _ended(running: subprocess.Popen[bytes]) -> bool:
    try:
        running.wait(0.1)
    except subprocess.TimeoutExpired:
        return False
    return True


def _places(mechanism: Mechanism, bus: Iterable[str], wire: Iterable[str]) -> list[str]:
    """Return NAME=WHERE of every bus with drives. Raises BadInput."""
    from femtorque.codegen.board import used_buses
    from femtorque.codegen.drive import WIRES

    used, found = used_buses(mechanism), {}
    for option, items, wires in (("--bus", bus, False), ("--wire", wire, True)):
        own = [name for name, one in used.items() if (one.kind in WIRES) == wires]
        for item in items:
            name, _, where = item.partition("=")
            if name not in own or not where:
                if not own:
                    raise BadInput("command line", option, item, "fits no bus of the file",
                                   f"use {'--bus' if wires else '--wire'}" if used else "")
                raise BadInput("command line", option, item, f"must be NAME=ADAPTER of {', '.join(own)}",
                               hint(name, own, "buses"))
            device = where.rpartition(":")[2]
            if not (device.isdecimal() or Path("/sys/class/net", device).exists()):
                raise BadInput("command line", option, item, f"there is no {device}",
                               "`femtorque ports --buses` lists the adapters that are plugged in")
            found[name] = where
    if missing := [name for name in used if name not in found]:
        option = "--wire" if used[missing[0]].kind in WIRES else "--bus"
        raise BadInput("command line", option, None, f"does not say where {', '.join(missing)} is",
                       f"{option} {missing[0]}={'/dev/ttyACM0' if option == '--wire' else 'can0'}")
    return [f"{name}={where}" for name, where in found.items()]


def latency(
    mech: Mech,
    bus: Buses = None,
    wire: Wires = None,
    rounds: Annotated[int, typer.Option(metavar="N", min=10, max=10_000, help="round trips to measure on each bus")
                      ] = 1000,
    write: Annotated[bool, typer.Option("--write", help="write delay and jitter of each bus into MECH; all else of "
                                        "it stays")] = False,
    json: Json = False,
) -> Answer:
    """Measure the round trip of each adapter.

    Frames that switch the drives off are sent, and the answers are timed. So nothing moves, and the arm must lie down
    or be held. No other program may use the adapters.
    """
    from femtorque.codegen.board import used_buses
    from femtorque.codegen.common import Refused
    from femtorque.codegen.mechanism import load_mechanism, set_bus
    from femtorque.codegen.verify import bus_loads

    mechanism = load_mechanism(mech)
    places = _places(mechanism, bus or (), wire or ())
    done = subprocess.run([program_for_pc(mechanism), f"latency={rounds}", *places], stdout=subprocess.PIPE, text=True)
    if done.returncode or not done.stdout:
        raise Refused("the adapters could not be opened, see above; `femtorque ports --buses` lists them")
    names, loads = list(used_buses(mechanism)), {one.bus.name: one.load for one in bus_loads(mechanism, refused=False)}
    found, words = {}, []
    for line in done.stdout.splitlines():
        number, asked, answered, median, most = map(int, line.split())
        name = names[number]
        if 2 * answered < asked:
            raise Refused(f"bus {name!r}: the drives answered {answered} of {asked} times: are all switched on?")
        delay = max(1e-9 * median - loads[name].mean, 0.0)
        found[name] = {"rounds": asked, "answered": answered, "delay_s": delay, "jitter_s": 1e-9 * (most - median)}
        words.append(f"{name}: delay {1e3 * delay:.3g} ms, jitter {1e-6 * (most - median):.3g} ms, and "
                     f"{1e3 * loads[name].mean:.3g} ms on the bus; {answered} of {asked} answered")
        if write:
            set_bus(mech, name, {"delay": delay, "jitter": 1e-9 * (most - median)})
    return Answer({"buses": found, "written": write}, "\n".join(words))
