"""Measures the share of answers within their tick, and the processor time, of seven virtual drives in real time.

A program repeats the frames of one tick of an armed PC. In every twentieth tick the program sends nothing. Answers that
are missing at the end of this tick are lost. The bench writes build/bench-hil-drives-*.md."""

import multiprocessing
import os
import resource
import select
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from assurance.bench import table
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.hil.board import DrivesAlone
from femtorque.hil.bus import Frame
from femtorque.hil.bus.gateway import line_of
from femtorque.hil.plant import plant_of
from tests.support.bus_arm import PLACE, openarm_text
from tests.support.pc import armed, on_pc, stepped

pytestmark = pytest.mark.bench

SECONDS, PAUSE = 4.0, 20  # of a run; ticks between two pauses
RATES = (1000, 500, 200)
MOST = 0.5  # largest share of a processor at 1 kHz
Ends = dict[str, int]  # descriptors by bus
Bursts = dict[str, bytes]


def seven(kind: str) -> Mechanism:
    """Return an arm with four drives on one bus of CAN FD and three on another. Seven moteus on one bus would need more
    than 1 ms."""
    PLACE.mkdir(parents=True, exist_ok=True)
    file = PLACE / f"seven_{kind}.toml"
    file.write_text(openarm_text(f"seven_{kind}", kind == "moteus"), encoding="utf-8")
    mechanism = on_pc(load_mechanism(file))
    (bus,) = mechanism.buses
    joints = tuple(replace(j, drive=replace(j.drive, bus="can2")) if j.drive and j.drive.id > 4 else j
                   for j in mechanism.joints)
    return replace(mechanism, buses=(bus, replace(bus, name="can2")), joints=joints)


def burst_of(mechanism: Mechanism) -> Bursts:
    """Return the lines that the armed program sends in a tick, by bus."""
    with stepped(mechanism) as (board, session):
        armed(board, session)
        board.run(0.1)
        board.step()
        return {name: b"".join(map(line_of, frames)) for name, frames in board.step().items()}


def opened(drives: DrivesAlone, terminal: bool) -> Ends:
    if terminal:
        return {name: os.open(place, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)
                for name, place in drives.terminals.items()}
    ends = {}
    for name, url in drives.urls.items():
        end = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ends[name] = end.detach()
    return ends


def answered(ends: Ends, bursts: Bursts, rate: int) -> float:
    """Send the bursts in each tick. Return the share of answers within their tick."""
    each, due, sent, got, good = sum(b.count(b"\r") for b in bursts.values()), time.monotonic(), 0, 0, 0
    for tick in range(round(SECONDS * rate)):
        pause, missing, here = tick % PAUSE == PAUSE - 1, sent - got, 0
        for name, end in ends.items():
            sent += 0 if pause else os.write(end, bursts[name]) and bursts[name].count(b"\r")
        due = max(due + 1.0 / rate, time.monotonic())  # a tick that this program misses is left out
        while (left := due - time.monotonic()) > 0.0:
            here += sum(os.read(end, 65536).count(b"\r") for end in select.select([*ends.values()], [], [], left)[0])
        got = sent if pause else got + here
        good += 0 if pause else min(max(here - missing, 0), each)
    return good / sent


@pytest.fixture
def prompt() -> Iterator[None]:
    """Ask the system for the class and the priority of a PC's board."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))
    yield
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@pytest.mark.parametrize("kind", ["damiao", "moteus"])
def test_seven_drives_answer_in_real_time(kind, prompt):
    mechanism = seven(kind)
    bursts, rows = burst_of(mechanism), []
    for rate in RATES:
        for terminal in (False, True):
            with DrivesAlone(mechanism, plant_of(mechanism)) as drives:
                ends = opened(drives, terminal)
                before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
                served = multiprocessing.get_context("fork").Process(target=drives.serve, args=(lambda: False,))
                served.start()
                began = time.monotonic()
                for name, end in ends.items():  # enable; moteus ignores these frames
                    own = [j.drive.id for j in mechanism.streamed if j.drive and j.drive.bus == name]
                    os.write(end, b"".join(line_of(Frame(k, b"\xff" * 7 + b"\xfc", fd=True, fast=True)) for k in own))
                share = answered(ends, bursts, rate)
                served.terminate()
                served.join()
                used = (sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before) / (time.monotonic() - began)
            rows.append([rate, "terminal" if terminal else "TCP port", f"{share:.2%}", f"{used:.2f}"])
            assert rate < RATES[0] or used < MOST
    table.keep(f"bench-hil-drives-{kind}.md", table.show(
        f"Seven {kind} drives in real time", ["rate, Hz", "port", "answers in their tick", "processors"], rows,
        [f"load of this computer: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"]))
