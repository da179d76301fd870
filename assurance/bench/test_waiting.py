"""The speed of the virtual board as a multiple of emulated instructions (anchor.py), and the number of instructions of
its ticks.

The bench writes build/bench-board.md."""

from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from assurance.bench import table
from assurance.bench.anchor import Pace
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import knots
from femtorque.codegen.toolchain import platformio
from femtorque.hil.board import VirtualBoard
from femtorque.hil.chip.registers import Bus
from femtorque.hil.cost.measurement import short_motion
from femtorque.hil.plant import plant_of
from femtorque.hil.play import Result, play_motion, session_with
from femtorque.host.link import Session
from femtorque.host.stream import stream
from tests.support.boards import driven, image
from tests.support.suite import ROOT

pytestmark = pytest.mark.bench

# Instructions of a tick of the short motion, while joints move and in all ticks. All ticks include ARM and START. Of
# these, six instructions of three_link and eight of six_axis wait until motor bridges have left their sleep mode,
# before they are driven and checked.
MOVING = {"three_link": 890, "six_axis": 1860}
WORST = {"three_link": 905, "six_axis": 1860}
LINK_TIME = 0.95  # largest allowed fraction of the instructions without link-time optimisation
# Minimum speed as a multiple of real time on the reference computer: at rest under power, and while a host streams.
ARMED = {"three_link": 60.0, "six_axis": 22.0, "three_link, current": 6.0, "five_bar": 19.0, "delta": 4.0,
         "flexible_arm": 16.0, "so101_sts": 6.0, "aloha_like": 4.5, "openarm_like": 3.0, "three_link, ODrive": 1.5}
STREAMED = {"three_link": 16.0, "six_axis": 10.0, "three_link, current": 3.5, "five_bar": 10.0, "delta": 2.7,
            "flexible_arm": 5.4, "so101_sts": 4.0, "aloha_like": 3.2, "openarm_like": 2.2, "three_link, ODrive": 1.4}
WORK = 1.0  # minimum processor time of each measurement, s


def played(mechanism: Mechanism, elf: Path) -> tuple[Result, Pace]:
    """Play the short motion, including power-on. Return the result and the speed of board, plant and host."""
    with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        pace = Pace(board)
        return play_motion(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward=True), pace


def powered(board: VirtualBoard) -> Session:
    """Home the arm in its start pose and arm it. Return the session of the host."""
    board.brakes = True
    session = session_with(board)
    session.connect()
    session.home([joint.start for joint in board.mechanism.streamed])
    session.arm()
    return session


def armed(mechanism: Mechanism, elf: Path, in_c: bool = True) -> Pace:
    """Return the speed of board and plant under power without a host. in_c: register reads are answered in C."""
    with pytest.MonkeyPatch.context() as patch, VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        patch.setattr(Bus, "answers", in_c)
        session = powered(board)
        pace = Pace(board)
        while pace.work < WORK:
            board.run(0.02)
        session.link.close()
    return pace


def streamed(mechanism: Mechanism, elf: Path) -> Pace:
    """Return the speed of board, plant and host while the short motion is streamed forth and back."""
    there = knots(short_motion(mechanism), mechanism)
    back = replace(there, position=there.position[::-1], rate=-there.rate[::-1], acceleration=there.acceleration[::-1])
    with VirtualBoard(elf, mechanism, plant_of(mechanism)) as board:
        session = powered(board)
        assert stream(session, there).ended == "done"  # after this, all code has run once
        pace, motions = Pace(board), cycle((back, there))
        while pace.work < WORK:
            assert stream(session, next(motions)).ended == "done"
        session.link.close()
    return pace


def on_their_boards() -> dict[str, Mechanism]:
    arms = {name: load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
            for name in ("three_link", "six_axis", "five_bar", "delta", "flexible_arm", "so101_sts")}
    six = arms["six_axis"]
    assert six.board is not None
    return arms | {"six_axis": replace(six, board=replace(six.board, use="f405rg-6")),
                   "three_link, current": driven(arms["three_link"], "current")}


def apart(mechanism: Mechanism, folder: Path, monkeypatch) -> Path:
    """Build the image without link-time optimisation, and return the ELF file."""
    monkeypatch.setenv("PLATFORMIO_BUILD_FLAGS", "-fno-lto")
    platformio.run_pio(platformio.assemble(mechanism, folder), ["run", "-e", "firmware"])
    monkeypatch.delenv("PLATFORMIO_BUILD_FLAGS")
    return folder / ".pio" / "build" / "firmware" / "firmware.elf"


def test_virtual_boards_are_faster_than_real_ones(tmp_path):
    found: dict[str, Pace] = {}
    arms = on_their_boards() | {  # for speed alone: seven drives on CAN FD, six Dynamixel X, current loops
        "openarm_like": load_mechanism(ROOT / "mechanisms" / "openarm_like.toml"),
        "aloha_like": load_mechanism(ROOT / "mechanisms" / "aloha_like.toml"),
        "three_link, ODrive": image("odrive-v3.6", "current")[0]}
    for name, mechanism in arms.items():
        elf = platformio.build_image(mechanism, tmp_path / name).elf
        found[f"{name}, played"] = played(mechanism, elf)[1]
        found[f"{name}, streamed"] = streamed(mechanism, elf)
        found[f"{name}, armed"] = armed(mechanism, elf)
        found[f"{name}, armed, Python"] = armed(mechanism, elf, in_c=False)
    least = {f"{name}, {what}": least for what, leasts in (("armed", ARMED), ("streamed", STREAMED))
             for name, least in leasts.items()}
    rows = [[name, f"{pace.factor:.2f}", f"{pace.ratio:.1f} ms", f"{pace.at_reference:.2f}", least.get(name, "")]
            for name, pace in found.items()]
    table.keep("bench-board.md", table.show(
        "How fast virtual boards are: times real time",
        ("board", "here and now", "simulated in an emulation", "on the reference machine", "there, at least"), rows))
    speeds = {name: pace.at_reference for name, pace in found.items()}
    assert all(speeds[name] >= bound for name, bound in least.items()), speeds
    assert all(speeds[f"{name}, armed"] >= speeds[f"{name}, armed, Python"] for name in ARMED), speeds


def test_ticks_execute_few_instructions(tmp_path, monkeypatch):
    figures: dict[str, Any] = {}
    rows: list[list[object]] = []
    for name, mechanism in on_their_boards().items():
        whole, _ = played(mechanism, platformio.build_image(mechanism, tmp_path / name / "whole").elf)
        parts, _ = played(mechanism, apart(mechanism, tmp_path / name / "apart", monkeypatch))
        for what, result in (("", whole), (", compiled apart", parts)):
            figures[name + what] = int(result.record.instructions.max())
            figures[f"{name}{what}, moving"] = result.instructions_tick
            figures[f"{name}{what}, mean"] = round(result.instructions_tick_mean, 1)
        rows += [[f"{name}, {what}", figures[name + key], figures[f"{name}, compiled apart{key}"], most.get(name, "")]
                 for what, key, most in (("worst", "", WORST), ("worst that moves", ", moving", MOVING),
                                         ("mean", ", mean", {}))]
    table.keep("bench-ticks.md", table.show(
        "Instructions of a tick", ("tick", "executes", "sources compiled apart", "at most"), rows))
    assert all(figures[name] <= most for name, most in WORST.items()), figures
    assert all(figures[f"{name}, moving"] <= most for name, most in MOVING.items()), figures
    assert all(figures[name] <= LINK_TIME * figures[f"{name}, compiled apart"] for name in WORST), figures
