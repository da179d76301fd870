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
from typing import Any, get_args

from pydantic import ValidationError

from femtorque.codegen.board.checks import check
from femtorque.codegen.board.chip import Chip, family
from femtorque.codegen.board.description import Board, BoardFile, Table
from femtorque.codegen.common import FIRMWARE, BadInput, hint, nearest

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
        raise _bad_key(path, error) from None
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


def _bad_key(path: Path, error: ValidationError) -> BadInput:
    """The finding to mend first, as one line."""
    findings = error.errors(include_url=False)
    finding = next((f for f in findings if f["type"] == "extra_forbidden"), findings[0])
    where = list(finding["loc"])
    key = ".".join(str(step) for step in where)
    if finding["type"] == "extra_forbidden":
        known = _keys_at(where[:-1])
        return BadInput(path.name, key, finding["input"], "unknown key", hint(str(where[-1]), known, "keys here"))
    if finding["type"] == "missing":
        return BadInput(path.name, key, None, "is required")
    rule = finding["msg"][0].lower() + finding["msg"][1:]
    near = ""
    if finding["type"] == "literal_error":
        choices = [c.strip(" '") for c in str(finding["ctx"]["expected"]).replace(" or ", ",").split(",")]
        found = nearest(str(finding["input"]), choices)
        near = f"did you mean {found!r}?" if found else ""
    if finding["type"] == "string_pattern_mismatch" and "P[A-I]" in finding["ctx"]["pattern"]:
        rule, near = "must be a pin", "such as 'PA0'"
    return BadInput(path.name, key, finding["input"], rule, near)


def _keys_at(where: list[str | int]) -> list[str]:
    """The keys of the table at that place of a board file."""
    table: type[Table] = BoardFile
    for step in where:
        table = _table(table.model_fields[step].annotation) if isinstance(step, str) else table
    return list(table.model_fields)


def _table(annotation: Any) -> type[Table]:
    """The one table in the annotation of a field: of `Channel`, `list[Channel]`, `Channel | None`."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    return next(_table(part) for part in get_args(annotation) if part is not type(None))
