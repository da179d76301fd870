"""Answers of verbs, for people and as JSON."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from femtorque.codegen.mechanism import Mechanism


@dataclass(frozen=True)
class Answer:
    data: dict[str, Any]  # the JSON object
    text: Any = ""  # the answer for people, in any form that rich can print
    good: bool = field(default=True, kw_only=True)  # exit status 0, else 1


def show(answer: Answer) -> None:
    """Print an answer for people."""
    from rich.console import Console

    if answer.text == "":
        return
    # A file or a pipe gets lines that are not wrapped to a terminal's width.
    terminal = sys.stdout.isatty()
    console = Console(soft_wrap=not terminal, highlight=False, width=None if terminal else 160)
    console.print(answer.text, markup=False)  # markup is off, since rich would take keys such as [safety] for markup


def warn_of_open_loop(mechanism: Mechanism) -> list[str]:
    """Warn of joints that are driven by feed-forward without feedback, since their tracking errors mean nothing. Return
    their names."""
    from femtorque.codegen.board import load_board, open_loop

    names = open_loop(mechanism)
    without = mechanism.board is not None and load_board(mechanism.board.use).outputs is None
    if mechanism.board and without and not any(joint.drive for joint in mechanism.streamed):
        print(f"board {mechanism.board.use} has no outputs: it computes torques, and no joint moves", file=sys.stderr)
    elif names:
        print(f"open loop, feed-forward alone: {', '.join(names)} (the board reads no encoder of theirs)",
              file=sys.stderr)
    loose = [joint.name for joint in mechanism.streamed
             if joint.actuated and joint.motor and joint.gains.ku == joint.gains.kv == 0.0]
    if loose:
        print(f"no gains, feed-forward alone: {', '.join(loose)} (`femtorque check` tells the stiffest that are "
              "stable)", file=sys.stderr)
    return names


@contextmanager
def only_json() -> Iterator[Callable[[Answer], None]]:
    """Reserve standard output for the answers, which are JSON. Send other output, also of libraries and child
    processes, to stderr."""
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    try:
        yield lambda answer: _write_all(real, dump(answer))
    finally:
        sys.stdout.flush()
        os.dup2(real, 1)
        os.close(real)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def dump(answer: Answer) -> bytes:
    """Return an answer as one line of JSON."""
    return (json.dumps(_plain(answer.data), allow_nan=False) + "\n").encode()


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: paths and bytes as text, arrays as lists, NaN and infinity as null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Path):
        return str(value)
    return _plain(value.tolist()) if hasattr(value, "tolist") else value
