"""The mechanisms whose sources are proved about."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from codegen.board import reader as boards
from codegen.emit import sources as emit
from codegen.mechanism.description import Mechanism
from codegen.mechanism.reader import load_mechanism

MECHANISMS = Path(__file__).resolve().parents[3] / "mechanisms"


def mechanism(name: str) -> Mechanism:
    """One of mechanisms/."""
    return load_mechanism(MECHANISMS / f"{name}.toml")


@cache
def sources(name: str) -> dict[str, str]:
    """All that is emitted for it: {file name: text}."""
    it = mechanism(name)
    return emit.sources(it, boards.load(it.board.use) if it.board else None)
