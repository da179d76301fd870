"""Machines and programs for the tests of the virtual chips."""

from collections.abc import Callable

import pytest

from tests.firmware.test_chip import ARMED, Machine
from tests.hil.images import Program


@pytest.fixture
def program(tmp_path) -> Callable[..., Program]:
    return lambda source, **options: Program(tmp_path, source, **options)


@pytest.fixture
def running(tmp_path) -> Callable[[str], Machine]:
    """Return a function that creates a board by its name. The board is armed and drives its first motor."""
    def run(name: str) -> Machine:
        board = Machine(tmp_path, ARMED, name).run(0.01)
        board.poke("arm", 1)
        board.run(0.005)
        assert board.outputs[0] == 0.5
        return board

    return run
