"""Boards: a file of firmware/boards says which pins and timers serve which channel; here it is read and checked.

A board file holds `name`, `chip` (a folder of firmware/chip), `package` where it is a larger one, `hse_hz`, `lead`
(ticks from a tick to the interval in which its duty is held), `[link]`, and, where it drives motors, `[outputs]`,
`[encoders]` and one `[[channel]]` a motor: encoder timer with its two pins, PWM output, direction pin or the second
half bridge. `[can]` names buses for drives, `[half_duplex]` wires for servos; a board may have these alone, with
`[outputs]`. `[reserved]` names the pins that are wired to something else, `[led]` the light that shows the
state, `[headers]` what is printed on the board where pins come out.
Alternate functions are the chip's business (`femtorque.codegen.board.chip`).
"""

import tomllib
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from femtorque.codegen.board.checks import check
from femtorque.codegen.board.chip import Chip, family
from femtorque.codegen.board.description import Board, BoardFile
from femtorque.codegen.common import FIRMWARE, BadInput, hint, shown
from femtorque.codegen.mechanism import first_fault

BOARDS = FIRMWARE / "boards"
DEFAULT_BOARD = "f405rg-4"


def board_names() -> list[str]:
    """Every board there is."""
    return sorted(path.stem for path in BOARDS.glob("*.toml"))


@cache
def load_board(name: str, asked_by: object = "mechanism file") -> Board:
    """The board of that name. Raises BadInput, with the nearest name, if there is none or its file is wrong."""
    if name not in board_names():
        raise BadInput(asked_by, "board.use", name, "no such board", hint(name, board_names(), "boards"))
    return read(BOARDS / f"{name}.toml")


def read(path: Path) -> Board:
    """Read and check one board file. Raises BadInput."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(path.name, "file", None, f"is not TOML: {error}") from None
    try:
        file = BoardFile.model_validate(raw)
    except ValidationError as error:
        fault = first_fault(error, BoardFile)
        raise BadInput(path.name, ".".join(map(str, fault.where)), shown(fault.value), fault.rule, fault.hint) from None
    board = Board(file.name, _chip(path, file), file.hse_hz, file.lead, file.link, file.outputs, file.brake,
                  file.led, file.cutoff, file.encoders, file.gate_driver, file.sense, tuple(file.channel), file.can,
                  file.half_duplex, file.low, file.reserved, file.headers, path)
    if file.name != path.stem:
        raise BadInput(path.name, "name", file.name, "must be the file's name", f"write name = {path.stem!r}")
    check(board)
    if board.chip.pll(board.hse_hz) is None:
        raise BadInput(path.name, "hse_hz", board.hse_hz, f"cannot make {board.chip.sysclk_hz // 10**6} MHz",
                       board.chip.crystals)
    return board


def _chip(path: Path, file: BoardFile) -> Chip:
    """In its package."""
    chip = family(file.chip)
    if file.package is None:
        return chip
    if file.package not in chip.packages:
        raise BadInput(path.name, "package", file.package, f"{chip.part} is not known in it",
                       f"leave it out, or {' or '.join(chip.packages)}" if chip.packages else "leave it out")
    return chip.packed(file.package)
