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
from hil.board.servo_steps import ServoSteps
from hil.board.virtual import VirtualBoard
from hil.chip.registers import Bus
from hil.cost.measure import short_motion
from hil.plant import play as play_of_gears
from hil.plant import rigid
from hil.plant.articulated import plant as articulated
from hil.plant.choose import plant_of
from hil.play.connect import session_with
from hil.play.run import Result, play
from host.link.session import Session
from host.stream.stream import stream
from tests.bench import table
from tests.conftest import ROOT
from tests.support.boards import driven

pytestmark = pytest.mark.bench

COMMAND = Path(sys.executable).with_name("femtorque")
MOST = {"--help": 0.15, "build --help": 0.15, "completion": 0.15, "check six_axis": 1.0, "check delta": 2.0,
        "build three_link, unchanged": 0.5, "build three_link, changed": 10.0}  # s of processor time
TYPED = "femtorque jog mechanisms/three_link.toml "  # what completion is asked to go on with
# instructions of a tick of the short motion, while joints move and in all ticks, with those of ARM and START, which do
# their own work beside
MOVING = {"three_link": 885, "six_axis": 1850}
WORST = {"three_link": 900, "six_axis": 1850}
REAL_TIME = {"three_link": 13.0, "six_axis": 8.0, "three_link, current": 2.5, "five_bar": 7.0,
             "so101_sts": 1.4}  # at least, at rest
STREAMED = {"three_link": 7.0, "six_axis": 5.0, "three_link, current": 1.9, "five_bar": 4.0,
            "so101_sts": 1.2}  # at least, while a host streams
SIMULATED = 0.5  # s
LINK_TIME = 0.95  # at most, of what ticks take whose sources are compiled apart


def spent(*command: object, runs: int = 4, **environment: str) -> float:
    """s of processor time of a command: the least of all runs but the first, which warms up, where there are more."""
    times = []
    for _ in range(runs):
        before = os.times()
        subprocess.run(list(map(str, command)), cwd=ROOT, check=True, capture_output=True,
                       env=os.environ | environment)
        after = os.times()
        times.append(after.children_user - before.children_user + after.children_system - before.children_system)
    return min(times[1:] or times)


def played(mechanism: Mechanism, elf: Path) -> tuple[Result, float]:
    """The short motion, and simulated time over processor time of board, plant and host, power-on included."""
    with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        began = time.process_time()
        result = play(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward=True)
        return result, board.seconds / (time.process_time() - began)


def powered(board: VirtualBoard) -> Session:
    """Its host's session, the arm homed where it starts and armed."""
    board.brakes = True
    session = session_with(board)
    session.connect()
    session.home([joint.start for joint in board.mechanism.streamed])
    session.arm()
    return session


def armed(mechanism: Mechanism, elf: Path, answers: bool, compiled: bool) -> float:
    """Simulated time over processor time of board and plant under power, nobody talking to it. answers: what models of
    registers say beforehand and what they lend is C's; compiled: the plant is stepped in C."""
    plant = plant_of(mechanism)
    assert isinstance(plant, rigid.Plant | articulated.Plant | play_of_gears.Plant)
    plant = type(plant)(mechanism, compiled=compiled)
    with pytest.MonkeyPatch.context() as patch, VirtualBoard(elf, mechanism, plant) as board:
        patch.setattr(Bus, "answers", answers)
        if not compiled:
            patch.setattr(ServoSteps, "could", lambda steps: False)
        session = powered(board)
        factors = []
        for _ in range(5):
            began = time.process_time()
            board.run(SIMULATED / 5)
            factors.append(SIMULATED / 5 / (time.process_time() - began))
        session.link.close()
    return max(factors)


def streamed(mechanism: Mechanism, elf: Path) -> float:
    """Simulated time over processor time of board, plant and host while the short motion is streamed to and fro."""
    there = knots(short_motion(mechanism), mechanism)
    back = replace(there, position=there.position[::-1], rate=-there.rate[::-1], acceleration=there.acceleration[::-1])
    with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        session = powered(board)
        factors = []
        for motion in (there, back) * 3:
            at, began = board.seconds, time.process_time()
            assert stream(session, motion).ended == "done"
            factors.append((board.seconds - at) / (time.process_time() - began))
        session.link.close()
    return max(factors)


def on_their_boards() -> dict[str, Mechanism]:
    three, six = (load_mechanism(ROOT / "mechanisms" / f"{name}.toml") for name in ("three_link", "six_axis"))
    assert six.board is not None
    return {"three_link": three, "six_axis": replace(six, board=replace(six.board, use="f405rg-6")),
            "three_link, current": driven(three, "current"),
            **{name: load_mechanism(ROOT / "mechanisms" / f"{name}.toml") for name in ("five_bar", "so101_sts")}}


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
    changed = tmp_path / "changed.toml"  # by a mass that nothing was ever built for
    text = (mechanisms / "three_link.toml").read_text(encoding="utf-8")
    changed.write_text(text.replace("mass = 0.3575", f"mass = 0.3575{time.time_ns()}", 1), encoding="utf-8")
    assert changed.read_text(encoding="utf-8") != text
    commands = {"--help": ("--help",), "build --help": ("build", "--help"),
                "check six_axis": ("check", mechanisms / "six_axis.toml"),
                "check delta": ("check", mechanisms / "delta.toml"),
                "build three_link, unchanged": ("build", mechanisms / "three_link.toml", "--output", tmp_path / "same")}
    rows: list[list[object]] = []
    for name, arguments in commands.items():
        figures["commands"][name] = spent(COMMAND, *arguments)
    figures["commands"]["completion"] = spent(COMMAND, _FEMTORQUE_COMPLETE="complete_bash", COMP_WORDS=TYPED,
                                              COMP_CWORD=str(len(TYPED.split())))
    figures["commands"]["build three_link, changed"] = spent(COMMAND, "build", changed, "--output", tmp_path / "new",
                                                             runs=1)
    figures["commands"] = {name: round(took, 3) for name, took in figures["commands"].items()}
    rows += [[name, f"{took:.2f} s", f"{python:.2f} s: Python, which imports numpy"]
             for name, took in figures["commands"].items()]
    for name, mechanism in on_their_boards().items():
        folder = tmp_path / name
        elf = build.build(mechanism, folder / "whole").elf
        whole, factor = played(mechanism, elf)
        parts, _ = played(mechanism, apart(mechanism, folder / "apart", monkeypatch))
        figures["virtual_board"][name] = round(factor, 2)
        for what, result in (("", whole), (", compiled apart", parts)):
            figures["tick"][name + what] = int(result.record.instructions.max())
            figures["tick"][f"{name}{what}, moving"] = result.instructions_tick
            figures["tick"][f"{name}{what}, mean"] = round(result.instructions_tick_mean, 1)
        streaming = figures["virtual_board"][f"{name}, streamed"] = round(streamed(mechanism, elf), 2)
        rows += [[f"virtual board, {name}", f"{factor:.2f} of real time", "1: a real board"],
                 [f"virtual board, {name}, streamed to", f"{streaming:.2f} of real time", "1: a real board"]]
        aim = f"; aimed at: {WORST[name]}" if name in WORST else ""
        rows += [[f"tick of {name}, {what}", f"{mine:.0f} instructions",
                  f"{other:.0f}: sources compiled apart" + (aim if what == "worst" else "")]
                 for what, mine, other in (
                     ("worst", whole.record.instructions.max(), parts.record.instructions.max()),
                     ("worst that moves", whole.instructions_tick, parts.instructions_tick),
                     ("mean", whole.instructions_tick_mean, parts.instructions_tick_mean))]
        in_c, in_python = armed(mechanism, elf, True, True), armed(mechanism, elf, False, False)
        figures["virtual_board"] |= {f"{name}, armed": round(in_c, 2), f"{name}, armed, Python": round(in_python, 2)}
        rows.append([f"virtual board, {name}, armed without a host", f"{in_c:.2f} of real time",
                     f"{in_python:.2f}: models asked every time, plant in NumPy"])
    table.keep("bench-waiting.md", table.show("What is waited for", ("what", "takes", "beside"), rows))
    table.note("waiting", figures)
    assert all(figures["commands"][name] <= most for name, most in MOST.items()), figures["commands"]
    assert all(figures["tick"][name] <= most for name, most in WORST.items()), figures["tick"]
    assert all(figures["tick"][f"{name}, moving"] <= most for name, most in MOVING.items()), figures["tick"]
    board = figures["virtual_board"]
    assert all(board[f"{name}, armed"] >= least for name, least in REAL_TIME.items()), board
    assert all(board[f"{name}, streamed"] >= least for name, least in STREAMED.items()), board
    assert all(board[f"{name}, armed"] >= board[f"{name}, armed, Python"] for name in REAL_TIME), board
    assert all(figures["tick"][name] <= LINK_TIME * figures["tick"][f"{name}, compiled apart"] for name in WORST)
