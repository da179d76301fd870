"""Exchange between the chip's time and the plant's: what C leaves to Python, and plants that are Python's."""

from __future__ import annotations

import numpy as np
import pytest

from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.toolchain import platformio as build
from femtorque.hil.board.holding_brakes import HoldingBrakes
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.chip.registers import Bus
from femtorque.hil.plant.choose import plant_of
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play.connect import session_with
from tests.conftest import ROOT
from tests.support.boards import IMAGES, image


def armed(board: VirtualBoard, seconds: float = 0.02) -> None:
    """An arm that is held under power for a while."""
    board.brakes = True
    session = session_with(board)
    session.connect()
    session.home([joint.start for joint in board.mechanism.streamed])
    session.arm()
    board.run(seconds)


def test_steps_that_do_not_settle_in_c_are_taken_in_python():
    mechanism, built = image("f405rg-4")
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        armed(board)
        borrowed, plant = board.coupler._borrowed, board.plant
        assert borrowed is not None and borrowed.out and isinstance(plant, Plant)
        volts = [3.0, -2.0, 1.0]
        borrowed.state.terminals[0:3] = volts
        reference = Plant(mechanism, compiled=False)
        (reference.q, reference.v), time = plant.glance, borrowed.state.plant.time
        reference.motors.current = np.array(list(borrowed.state.plant.current[0:3]))
        borrowed._steps_left(4e-4, 3)
        assert borrowed.out
        reference._take_steps(4e-4, 3, np.array(volts), np.zeros(3))
        np.testing.assert_allclose([plant.q, plant.v, plant.current],
                                   [reference.q, reference.v, reference.current], rtol=0, atol=1e-9)
        assert plant.time == pytest.approx(time + 1.2e-3) and not borrowed.out


def test_a_closed_mechanism_moves_the_same_where_c_has_the_rest(monkeypatch):
    mechanism = load_mechanism(ROOT / "mechanisms" / "five_bar.toml")
    elf = build.build(mechanism, IMAGES / "five_bar").elf
    seen = []
    for answers in (True, False):
        monkeypatch.setattr(Bus, "answers", answers)
        with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
            armed(board, 0.1)
            borrowed = board.coupler._borrowed
            assert borrowed is not None and borrowed.out == (borrowed._lent is not None) == answers
            record = board.record()
            seen.append((record.q.tobytes(), record.v.tobytes(), record.duty.tobytes(), record.cycles.tobytes()))
    assert seen[0] == seen[1]


def test_what_a_plant_in_python_cannot_do_leaves_the_run(monkeypatch):
    mechanism = load_mechanism(ROOT / "mechanisms" / "five_bar.toml")
    elf = build.build(mechanism, IMAGES / "five_bar").elf
    with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        armed(board)

        def refuse(seconds: float, voltage: np.ndarray) -> None:
            raise RuntimeError("it cannot be closed")

        monkeypatch.setattr(board.plant, "drive", refuse)
        with pytest.raises(RuntimeError, match="it cannot be closed"):
            board.run(0.01)


def test_holding_brakes_stop_a_closed_mechanism_too(monkeypatch):
    mechanism = load_mechanism(ROOT / "mechanisms" / "five_bar.toml")
    elf = build.build(mechanism, IMAGES / "five_bar").elf
    monkeypatch.setattr(HoldingBrakes, "settled", lambda self, seconds: False)
    plant = plant_of(mechanism)
    with VirtualBoard(elf, mechanism, plant) as board:
        plant.push(0.02, 0.5 * np.ones(plant.n))
        assert np.abs(plant.v).max() > 0.1
        board.run(0.005)
        monkeypatch.setattr(HoldingBrakes, "closed", lambda self, seconds: True)
        board.run(0.005)
        assert np.abs(plant.v).max() < 1e-12
        q = plant.q.copy()
        board.run(0.005)
        np.testing.assert_array_equal(plant.q, q)
