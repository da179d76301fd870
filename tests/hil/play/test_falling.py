"""Joints that fall under gravity when cables are disconnected or motors are switched off."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.board import reader as boards
from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.emit import board_header
from femtorque.codegen.mechanism import Mechanism, Safety
from femtorque.codegen.mechanism.description import Brake
from femtorque.codegen.motion import from_rows
from femtorque.codegen.toolchain import platformio as build
from femtorque.codegen.wire import STATES, Jog, Probe
from femtorque.codegen.wire.messages import FAULTS
from femtorque.hil.board import VirtualBoard
from femtorque.hil.play.connect import session_with
from femtorque.host.board import Board
from femtorque.host.lab import bring_up
from femtorque.host.link import Session
from tests.support import rig
from tests.support.boards import DRIVING, three_link

FALLEN = 0.2  # rad


def upright(safety: Safety) -> Mechanism:
    """Return the three-link arm with horizontal axes, so that its motors carry its weight."""
    return replace(rig.three_link(), name="upright", gravity=np.array([0.0, -9.81, 0.0]), safety=safety)


@contextmanager
def holding(mechanism: Mechanism, folder: str | None = None) -> Iterator[tuple[VirtualBoard, Session]]:
    """Connect a board in HOLD with its arm at rest. folder: folder of the image, by default the mechanism's name."""
    elf = build.build_image(mechanism, rig.ROOT / "build" / (folder or mechanism.name)).elf
    with rig.connected(mechanism, elf, armed=True) as (board, session):
        rig.pump(board, session, 20)
        yield board, session


def look(board: VirtualBoard, session: Session) -> tuple[int, int]:
    board.incoming.cut = False
    for _ in range(3):
        board.run(0.01)
        session.pump()
    return session.status.state, session.status.fault


@pytest.mark.parametrize(("host", "falls"), [("auto", False), ("hold", False), ("coast", True)])
def test_a_loaded_arm_falls_when_the_cable_is_pulled_only_where_its_file_says_so(host, falls):
    with holding(upright(Safety(host=host)), f"upright-{'coast' if host == 'coast' else 'hold'}") as (board, session):
        before = board.plant.q.copy()
        board.incoming.cut = True
        board.run(2.0)
        assert (float(np.max(np.abs(board.plant.q - before))) > FALLEN) == falls
        assert look(board, session) == (STATES["FAULT" if falls else "HELD"][0], FAULTS["HOST_LOST"][0])


@pytest.mark.parametrize("fails", [False, True])
def test_the_next_host_takes_over_an_arm_that_is_held_and_never_lets_go_of_it(fails):
    """fails: an unexpected error disconnected the last host while the arm followed targets."""
    arm = upright(Safety())
    names, ends = [j.name for j in arm.streamed], rig.start() + np.array([[0.0] * 3, [0.3] * 3])
    with holding(arm, "upright-hold") as (board, first):
        host = Board(first, arm)
        host.stream(from_rows(names, [0.0, 1.0], ends))
        driven, run = [bool(board.driven())], board.run

        def looked(seconds: float) -> None:
            run(seconds)
            driven.append(bool(board.driven()))

        board.run = looked  # type: ignore[method-assign]
        if fails:
            with pytest.raises(ZeroDivisionError), host, host.follow() as f:
                f.send(ends[1])
                f.wait(0.1)
                raise ZeroDivisionError
        for _ in range(15):
            board.run(0.1)  # no host sends anything
        with closing(session_with(board)) as second:
            second.connect()
            assert second.in_state("HELD")
            with pytest.raises(Refused, match="refused CLEAR: .*its state is HELD, fault HOST_LOST"):
                second.clear()
            host = Board(second, arm)
            assert host.stream(from_rows(names, [0.0, 1.0], ends[::-1])).ended == "done"
            assert all(driven) and second.in_state("HOLD") and not second.status.fault
        assert np.abs(board.plant.q - rig.start()).max() < 0.01


# ---- holding brakes ---------------------------------------------------------------------------------

BRAKE = Brake(release_s=0.03, engage_s=0.06)


def braked(name: str, tmp_path: Path) -> Mechanism:
    """Return the upright arm on any board, with brakes that need time to act."""
    flat = three_link(name, tmp_path)
    return replace(flat, name=f"braked-{name}", gravity=np.array([0.0, -9.81, 0.0]), safety=Safety(brake=BRAKE))


def sag(board: VirtualBoard, before: np.ndarray) -> float:
    return float(np.max(np.abs(board.plant.q - before)))


@pytest.mark.parametrize("name", DRIVING)
def test_an_arm_with_brakes_stays_where_it_is_through_disarming_a_lost_host_and_a_reset(name, tmp_path):
    mechanism = braked(name, tmp_path)
    with holding(mechanism) as (board, session):
        before = board.plant.q.copy()
        assert not board.brake_closed(board.seconds)
        session.disarm()
        assert np.isnan(board.voltages()).all() and board.brake_closed(board.seconds)
        board.run(0.5)
        assert sag(board, before) < 1e-3
        session.arm()
        board.incoming.cut = True
        board.run(2.0)
        assert board.outputs_safe() and board.brake_closed(board.seconds) and sag(board, before) < 1e-3
    with holding(mechanism) as (board, session):
        before = board.plant.q.copy()
        board.reset("pin")  # a resistor closes the brakes; the arm falls until the brakes hold
        board.run(0.5)
        assert board.brake_closed(board.seconds) and 0.0 < sag(board, before) < FALLEN


def test_a_joint_with_a_brake_moves_as_soon_as_the_arm_is_armed(tmp_path):
    """Jogging, identification and playback arm the board first and wait until the brakes are open."""
    with holding(braked("f405rg-4", tmp_path)) as (board, session):
        session.disarm()
        before = board.plant.q.copy()
        session.arm()
        session.ask(Jog(0, 1, 0.3), "JOG")
        for _ in range(30):
            session.tell(Jog(0, 1, 0.3))
            board.run(0.01)
            session.pump()
        assert 0.05 < board.plant.q[1] - before[1] < 0.15


def test_a_bringup_is_refused_where_all_brakes_would_open_with_nothing_holding_the_joints(tmp_path):
    mechanism = braked("f405rg-4", tmp_path)
    with holding(mechanism) as (board, session):
        session.disarm()
        with pytest.raises(BadInput,
                           match=r"safety.brake: a probe holds no joint, and all brakes open at once; support the arm"):
            bring_up(session, mechanism)
        with pytest.raises(Refused, match="BRAKE"):
            session.ask(Probe(0, 0, 0.0), "PROBE")
        assert board.brake_closed(board.seconds) and np.isnan(board.voltages()).all()


def test_a_board_without_an_output_for_brakes_is_refused(tmp_path):
    text = (boards.BOARDS / "f405rg-4.toml").read_text()
    bare = re.sub(r"\[brake\].*?\n\n", "", text, flags=re.S)
    path = tmp_path / "f405rg-4.toml"
    path.write_text(bare)
    with pytest.raises(BadInput, match=r"safety\.brake.*has no output for brakes"):
        board_header.render(braked("f405rg-4", tmp_path), boards.read(path))
