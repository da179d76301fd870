"""Exchange between the chip's time and the plant's."""

import numpy as np
import pytest

from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.toolchain import platformio as build
from femtorque.hil.board.holding_brakes import HoldingBrakes
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.plant import plant_of
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import session_with
from tests.support.boards import IMAGES, image
from tests.support.suite import ROOT


def armed(board: VirtualBoard, seconds: float = 0.02) -> None:
    """An arm that is held under power for a while."""
    board.brakes = True
    session = session_with(board)
    session.connect()
    session.home([joint.start for joint in board.mechanism.streamed])
    session.arm()
    board.run(seconds)


def test_what_a_plant_cannot_do_ends_the_run():
    mechanism, built = image("f405rg-4")
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        armed(board)

        def refuse() -> None:
            raise RuntimeError("it cannot be closed")

        board.plant.watch(refuse)
        with pytest.raises(RuntimeError, match="it cannot be closed"):
            board.run(0.01)


def test_holding_brakes_stop_a_closed_mechanism_too(monkeypatch):
    mechanism = load_mechanism(ROOT / "mechanisms" / "five_bar.toml")
    elf = build.build_image(mechanism, IMAGES / "five_bar").elf
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
