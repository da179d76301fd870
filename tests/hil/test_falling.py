"""An arm that gravity loads: what falls and what does not when cables are pulled and motors let go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from codegen import build
from codegen.mechanism import Mechanism, Safety
from codegen.messages import FAULTS, STATES
from hil.board import VirtualBoard, VirtualClock
from hil.plant import Plant
from host.configuration import Configuration
from host.link import Link
from host.session import Session
from tests.hil import rig

FALLEN = 0.2  # rad


def upright(safety: Safety) -> Mechanism:
    """The three-link arm with its axes level, so that it hangs on its motors."""
    return replace(rig.three_link(), name="upright", gravity=np.array([0.0, -9.81, 0.0]), safety=safety)


@contextmanager
def holding(mechanism: Mechanism, folder: str) -> Iterator[tuple[VirtualBoard, Session]]:
    """A board in HOLD, its arm at rest."""
    built = build.build(mechanism, rig.ROOT / "build" / folder)
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        board.brakes = True  # somebody holds the arm until it is armed
        session = Session(Link(board.plug_in(), clock=VirtualClock(board)), Configuration.of(mechanism))
        session.connect()
        session.home(np.array([joint.start for joint in mechanism.moving]))
        session.arm()
        board.brakes = False
        for _ in range(20):
            board.run(0.01)
            session.pump()
        yield board, session
        session.link.close()


def look(board: VirtualBoard, session: Session) -> tuple[int, int]:
    """State and fault, the cable plugged in again."""
    board.incoming.cut = False
    for _ in range(3):
        board.run(0.01)
        session.pump()
    return session.status.state, session.status.fault


@pytest.mark.parametrize(("host", "falls"), [("auto", False), ("hold", False), ("coast", True)])
def test_a_loaded_arm_falls_when_the_cable_is_pulled_only_where_its_file_says_so(host, falls):
    with holding(upright(Safety(host=host)), f"upright-{'coast' if host == 'coast' else 'hold'}") as (board, session):
        before = board.plant.q.copy()
        board.incoming.cut = True
        board.run(2.0)
        assert (float(np.max(np.abs(board.plant.q - before))) > FALLEN) == falls
        assert look(board, session) == (STATES["FAULT"][0], FAULTS["HOST_LOST"][0])


def test_an_arm_that_is_held_without_a_host_lets_go_at_the_next_fault():
    with holding(upright(Safety()), "upright-hold") as (board, session):
        board.incoming.cut = True
        board.run(1.5)
        assert not np.isnan(board.voltages()).any()
        board.encoder_faults[1].offset += 2000
        board.run(0.01)
        assert board.outputs_safe()
