"""A virtual board for scripts and notebooks. Use `with virtual_board(mechanism) as board:` as with a real board."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.toolchain import build_image
from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant import plant_of
from femtorque.hil.plant.selection import Plant
from femtorque.hil.play.closed_loop import folder
from femtorque.hil.play.connect import session_with
from femtorque.host.board import Board


@contextmanager
def virtual_board(mechanism: Mechanism | str | Path, plant: Plant | None = None) -> Iterator[Board]:
    """Build the image, boot it on the emulated chip with a simulated arm, and connect a host to the board in simulated
    time.

    Between two calls the plant does not move. A motion takes as long as this computer needs to simulate it. plant: an
    arm that differs from the mechanism file, to test how feedback corrects the difference. Logs also contain the true
    motion. Raises the BadInput and Refused of a build.

    >>> with virtual_board("mechanisms/three_link.toml") as board:
    ...     board.home()
    ...     board.stream("mechanisms/three_link.csv")
    """
    if not isinstance(mechanism, Mechanism):
        mechanism = load_mechanism(mechanism)
    built = build_image(mechanism, folder(mechanism, feedforward=True))
    with VirtualBoard(built.elf, mechanism, plant or plant_of(mechanism)) as chip:
        chip.brakes = True
        session = session_with(chip)
        session.connect()
        shown = {"truth": chip.truth, "tips": chip.tips, "surroundings": chip.surroundings}
        with Board(session, mechanism, shown) as board:
            yield board
