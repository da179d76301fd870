"""What emission costs, counted in calls of Python functions: how fast or busy a machine is does not show in it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codegen.board import reader as boards
from codegen.emit.sources import sources
from codegen.mechanism.reader import load_mechanism
from codegen.step import scheme

SIX_AXIS = Path(__file__).resolve().parents[3] / "mechanisms" / "six_axis.toml"
MOST = 1_200_000  # calls, of which a core of 2020 makes some two million a second


def calls(work: Callable[[], object]) -> int:
    """Functions called meanwhile."""
    count, before = 0, sys.getprofile()

    def called(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def emitted() -> dict[str, str]:
    mechanism = load_mechanism(SIX_AXIS)
    assert mechanism.board is not None
    return sources(mechanism, boards.load(mechanism.board.use))


def test_six_axis_is_read_and_emitted_in_less_than_a_second_s_work(tmp_path, monkeypatch):
    """Nothing is known of it, so that its scheme has to be chosen by random motions; a second time it is looked up."""
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path))
    monkeypatch.setattr(scheme, "_here", {})
    anew = calls(emitted)
    kept = calls(emitted)
    assert kept < anew < MOST
