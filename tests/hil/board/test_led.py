"""The LED of a board and the board's state, as in docs/boards.md: the image on the virtual board."""

import pytest

from femtorque.codegen.emit.blink import PATTERNS, WORDS
from femtorque.codegen.wire import STATES
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import session_with
from femtorque.host.link import Session
from tests.support import rig
from tests.support.boards import image

ONCE, TWICE, THRICE = "#" + 15 * ".", "#.#" + 13 * ".", "#.#.#" + 11 * "."


def shown(board: VirtualBoard, session: Session) -> str:
    """The LED over two seconds in eighths, from the beginning of a pattern on."""
    rig.pump(board, session, 1)
    ticks = (2000 - session.status.tick) % 2000 + 60  # into the first step of a pattern
    rig.pump(board, session, ticks // 10)
    seen = ""
    for _ in range(16):
        seen += "#" if board.lit else "."
        rig.pump(board, session, 12)
        board.run(0.005)
    return seen


def test_every_state_has_a_pattern_and_those_that_a_person_must_tell_apart_differ():
    assert list(PATTERNS) != [] and set(PATTERNS) == set(STATES) and {len(p) for p in PATTERNS.values()} == {16}
    told = [PATTERNS[name] for name in ("BOOT", "DISARMED", "HOLD", "TRACK", "FAULT", "ESTOP", "JOG")]
    assert len(set(told)) == 7 and set(PATTERNS.values()) == set(WORDS)


@pytest.mark.parametrize("name", ["f405rg-4", "nucleo-g474re-6"])
def test_the_led_shows_disarmed_hold_fault_and_estop(name):
    mechanism, built = image(name)
    with VirtualBoard(built.elf, mechanism, Plant(mechanism)) as board:
        session = session_with(board)
        session.connect()
        assert shown(board, session) == ONCE
        rig.arm(board, session)
        assert shown(board, session) == 16 * "#" and session.status.state == STATES["HOLD"][0]
        board.driver_fault(True)
        board.run(0.05)
        assert shown(board, session) == THRICE
        board.driver_fault(False)
        session.clear()
        board.estop(True)
        board.run(0.05)
        assert shown(board, session) == TWICE
        session.link.close()
