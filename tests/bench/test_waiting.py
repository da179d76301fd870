"""What people and arms wait for: commands, the virtual board, the tick, each beside an anchor of the same run.

Processor time, which a busy machine disturbs little. Writes build/bench-waiting.md and its part of build/bench.json.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.mechanism.description import Mechanism
from codegen.mechanism.reader import load_mechanism
from codegen.motion.trajectory import knots
from codegen.toolchain import platformio as build
from hil.board.virtual import VirtualBoard
from hil.cost.measure import short_motion
from hil.plant.choose import plant_of
from hil.play.run import Result, play
from tests.bench import table
from tests.conftest import ROOT
from tests.support.boards import driven

pytestmark = pytest.mark.bench

COMMAND = Path(sys.executable).with_name("femtorque")
MOST = {"--help": 0.15, "check six_axis": 1.0, "build three_link, unchanged": 0.5}  # s of processor time
WORST = {"three_link": 1100, "six_axis": 2250}  # instructions of a tick of the short motion
LINK_TIME = 0.95  # at most, of what ticks take whose sources are compiled apart


def spent(*command: object) -> float:
    """s of processor time of a command: the least of three runs after one that warms up."""
    times = []
    for _ in range(4):
        before = os.times()
        subprocess.run(list(map(str, command)), cwd=ROOT, check=True, capture_output=True)
        after = os.times()
        times.append(after.children_user - before.children_user + after.children_system - before.children_system)
    return min(times[1:])


def played(mechanism: Mechanism, elf: Path) -> tuple[Result, float]:
    """The short motion, and simulated time over processor time of board, plant and host, power-on included."""
    with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        began = time.process_time()
        result = play(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward=True)
        return result, board.seconds / (time.process_time() - began)


def on_their_boards() -> dict[str, Mechanism]:
    three, six = (load_mechanism(ROOT / "mechanisms" / f"{name}.toml") for name in ("three_link", "six_axis"))
    assert six.board is not None
    return {"three_link": three, "six_axis": replace(six, board=replace(six.board, use="f405rg-6")),
            "three_link, current": driven(three, "current")}


def apart(mechanism: Mechanism, folder: Path, monkeypatch) -> Path:
    """The ELF file without link-time optimisation: every source compiled by itself."""
    monkeypatch.setenv("PLATFORMIO_BUILD_FLAGS", "-fno-lto")
    build.run_pio(build.assemble(mechanism, folder), ["run", "-e", "firmware"])
    monkeypatch.delenv("PLATFORMIO_BUILD_FLAGS")
    return folder / ".pio" / "build" / "firmware" / "firmware.elf"


def test_what_is_waited_for(tmp_path, monkeypatch):
    figures: dict[str, dict[str, float]] = {"commands": {}, "virtual_board": {}, "tick": {}}
    mechanisms = ROOT / "mechanisms"
    python = spent(sys.executable, "-c", "import numpy")
    commands = {"--help": ("--help",), "check six_axis": ("check", mechanisms / "six_axis.toml"),
                "build three_link, unchanged": ("build", mechanisms / "three_link.toml", "--output", tmp_path / "same")}
    rows: list[list[object]] = []
    for name, arguments in commands.items():
        took = figures["commands"][name] = round(spent(COMMAND, *arguments), 3)
        rows.append([name, f"{took:.2f} s", f"{python:.2f} s: Python, which imports numpy"])
    for name, mechanism in on_their_boards().items():
        folder = tmp_path / name
        whole, factor = played(mechanism, build.build(mechanism, folder / "whole").elf)
        parts, _ = played(mechanism, apart(mechanism, folder / "apart", monkeypatch))
        figures["virtual_board"][name] = round(factor, 2)
        for what, result in (("", whole), (", compiled apart", parts)):
            figures["tick"][name + what] = int(result.record.instructions.max())
            figures["tick"][f"{name}{what}, mean"] = round(result.instructions_tick_mean, 1)
        rows.append([f"virtual board, {name}", f"{factor:.2f} of real time", "1: a real board"])
        rows += [[f"tick of {name}, {what}", f"{mine:.0f} instructions", f"{other:.0f}: sources compiled apart"]
                 for what, mine, other in (
                     ("worst", whole.record.instructions.max(), parts.record.instructions.max()),
                     ("mean", whole.instructions_tick_mean, parts.instructions_tick_mean))]
    table.keep("bench-waiting.md", table.show("What is waited for", ("what", "takes", "beside"), rows))
    table.note("waiting", figures)
    assert all(figures["commands"][name] <= most for name, most in MOST.items()), figures["commands"]
    assert all(figures["tick"][name] <= most for name, most in WORST.items()), figures["tick"]
    assert all(figures["tick"][name] <= LINK_TIME * figures["tick"][f"{name}, compiled apart"] for name in WORST)
