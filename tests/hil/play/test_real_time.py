"""The simulation speed of a six-joint arm with board, plant and host, and the calls in a tick."""

import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import from_rows, knots
from femtorque.codegen.toolchain import platformio as build
from femtorque.hil.board import VirtualBoard
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant import plant_of
from femtorque.hil.play.closed_loop import folder, play_motion
from femtorque.hil.play.connect import session_with
from femtorque.host.stream import stream
from tests.support.boards import image
from tests.support.suite import ROOT


def real_time_factor(seconds: float) -> float:
    """Return simulated over processor time for a motion with image, peripherals, plant and streaming host."""
    arm = load_mechanism(ROOT / "mechanisms" / "six_axis.toml")
    mechanism = replace(arm, name="six-axis-driven", board=replace(arm.board, use="f405rg-6"))
    start = np.array([joint.start for joint in mechanism.moving])
    there = start + [0.6, -0.4, 0.5, -0.7, 0.5, 0.8]
    motion = from_rows([joint.name for joint in mechanism.moving], [0.0, 0.5 * seconds, seconds],
                       np.array([start, there, start]))
    image = build.build_image(mechanism, ROOT / folder(mechanism, True)).elf
    with VirtualBoard(image, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        session = session_with(board)
        session.connect()
        session.home(start)
        session.arm()
        began, simulated = time.process_time(), board.seconds
        outcome = stream(session, knots(motion, mechanism))
        factor = (board.seconds - simulated) / (time.process_time() - began)
        session.disarm()
        session.link.close()
        record = board.record()
        errors = board.target_positions(record) - record.q
    assert outcome.ended == "done" and board.ticks > 1000 * seconds
    assert np.all(np.ptp(record.q, axis=0) > 0.9 * np.abs(there - start)) and np.abs(errors).max() < 0.02
    return factor


@pytest.mark.bench
def test_six_joints_run_in_real_time():
    factor = real_time_factor(10.0)
    print(f"real-time factor of board, plant and host, six joints, 1 kHz, 10 s: {factor:.2f}")
    assert factor >= 1.0


def test_a_tick_is_little_work():
    """Count Python calls per tick, including connecting and homing. There were 1200 when this test was written."""
    mechanism, built = image("f405rg-6")
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    with VirtualBoard(built.elf, mechanism, plant_of(mechanism)) as board:
        motion = knots(short_motion(mechanism), mechanism)
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            result = play_motion(board, mechanism, motion, feedforward=True)
        finally:
            sys.setprofile(before)
        assert result.ended == "done" and calls < 1500 * board.ticks
