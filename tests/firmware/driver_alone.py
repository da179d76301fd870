"""One driver of a chip, compiled alone, on variables instead of registers."""

from pathlib import Path

from femtorque.codegen.board import load_board
from femtorque.codegen.common import FIRMWARE
from femtorque.codegen.drive import application
from femtorque.codegen.emit import sources as emit
from femtorque.codegen.mechanism import Mechanism

HEADER = Path(__file__).with_name("driver_alone.h")


def files_of(mechanism: Mechanism) -> tuple[dict[str, str], dict[str, str]]:
    """Return {name: text} of a mechanism's headers, driver_alone.h, and the image's files with the chip's."""
    board = load_board(mechanism.board.use)
    files = {name: path.read_text() for name, path in application().items()} | emit.sources(mechanism, board)
    for folder in board.chip.folders:
        files |= {path.name: path.read_text() for path in (FIRMWARE / "chip" / folder).glob("*.[ch]")}
    headers = {name: text for name, text in files.items() if name.endswith(".h")}
    return headers | {HEADER.name: HEADER.read_text()}, files
