"""Reader of the board files in firmware/boards. A board file assigns pins and timers to channels.

A board file holds `name`, `chip` (a folder of firmware/chip), `package` for a larger package, `hse_hz`, `lead` (ticks
from a tick to the interval that holds its duty) and `[link]`. A board with motors also has `[outputs]`, `[encoders]`
and one `[[channel]]` per motor. A channel names the encoder timer with its two pins, the PWM output, and the direction
pin or the second half bridge. `[can]` names CAN buses with drives, `[half_duplex]` serial buses with servos. A board
may have buses and `[outputs]` without channels. `[reserved]` names the pins with another use, `[led]` the status LED,
`[headers]` the printed names of the pins. `femtorque.codegen.board.chip` has the alternate functions of pins."""

import tomllib
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from femtorque.codegen.board.checks import check
from femtorque.codegen.board.chip import PC, Chip, family
from femtorque.codegen.board.description import Board, BoardFile, PcFile, Sense
from femtorque.codegen.common import FIRMWARE, BadInput, hint, shown
from femtorque.codegen.mechanism import first_fault

BOARDS = FIRMWARE / "boards"
DEFAULT_BOARD, PC_BOARD = "f405rg-4", "pc"


def board_names() -> list[str]:
    """Return the names of all boards with a chip."""
    return sorted(path.stem for path in BOARDS.glob("*.toml") if path.stem != PC_BOARD)


@cache
def load_board(name: str, asked_by: object = "mechanism file", key: str = "board.use") -> Board:
    """Return the board with this name.

    Raise BadInput for an invalid board file. For an unknown board the error names the most similar board."""
    if name not in (known := [*board_names(), PC_BOARD]):
        raise BadInput(asked_by, key, name, "no such board", hint(name, known, "boards"))
    return read(BOARDS / f"{name}.toml")


def read(path: Path) -> Board:
    """Read and check one board file. Raise BadInput."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(path.name, "file", None, f"is not TOML: {error}") from None
    kind = PcFile if raw.get("chip") == PC else BoardFile
    try:
        file = kind.model_validate(raw)
    except ValidationError as error:
        fault = first_fault(error, kind)
        raise BadInput(path.name, ".".join(map(str, fault.where)), shown(fault.value), fault.rule, fault.hint) from None
    if isinstance(file, PcFile):
        return _pc(path, file)
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


def _pc(path: Path, file: PcFile) -> Board:
    """Return the board of a PC. A command leaves at the begin of the next tick, so that it leads by one tick."""
    return Board(file.name, family(file.chip), 0, 1, None, None, None, None, None, None, None, Sense(), (), {}, {}, {},
                 {}, {}, path, file.adapter)


def _chip(path: Path, file: BoardFile) -> Chip:
    """Return the chip in its package."""
    chip = family(file.chip)
    if file.package is None:
        return chip
    if file.package not in chip.packages:
        raise BadInput(path.name, "package", file.package, f"{chip.part} is not known in it",
                       f"leave it out, or {' or '.join(chip.packages)}" if chip.packages else "leave it out")
    return chip.packed(file.package)
