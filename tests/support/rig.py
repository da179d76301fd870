"""A virtual board with its host for tests, and variants, image and motions of the three-link arm."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.codegen.toolchain import platformio
from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import Result, folder, run_closed_loop, session_with
from femtorque.host.link import Session

ROOT = Path(__file__).resolve().parent.parent.parent
REACH = np.array([0.4, -0.3, 0.3])  # angle from the start pose, rad
DURATION = 0.6  # s


@cache
def three_link() -> Mechanism:
    return load_mechanism(ROOT / "mechanisms" / "three_link.toml")


@cache
def image(feedforward: bool = True) -> Path:
    """Return the ELF file, built in the same folder as the command line uses."""
    return platformio.build_image(three_link(), place(feedforward), feedforward=feedforward).elf


def changed(name: str, joints: dict[str, dict[str, Any]] | None = None, **parts: Any) -> Mechanism:
    """Return three_link with another name. joints: changed fields of all joints. parts: changed fields of the arm."""
    mechanism = three_link()
    new = []
    for joint in mechanism.joints:
        changes = {}
        for field, value in (joints or {}).get(joint.name, {}).items():
            part = getattr(joint, field)
            changes[field] = replace(part, **value) if isinstance(value, dict) and part is not None else value
        new.append(replace(joint, **changes))
    return replace(mechanism, name=name, joints=tuple(new), **parts)


def place(feedforward: bool = True) -> Path:
    return ROOT / folder(three_link(), feedforward)


def start() -> NDArray[np.float64]:
    return np.array([joint.start for joint in three_link().moving])


def short_motion() -> Trajectory:
    """Return a straight line in joint space, a quintic in time."""
    names = [joint.name for joint in three_link().moving]
    return from_rows(names, [0.0, DURATION], np.array([start(), start() + REACH]))


def long_motion() -> Trajectory:
    """Return the experiment's motion of 3 s, which does not fit into the board's ring buffer."""
    return Trajectory.load(ROOT / "mechanisms" / "three_link.csv", three_link())


def play(fault: str | None = None, *, motion: Trajectory | None = None, feedforward: bool = True,
         plant: Plant | None = None, resume: int = 0) -> Result:
    return run_closed_loop(three_link(), motion or short_motion(), feedforward=feedforward, fault=fault, plant=plant,
                           resume=resume, out=place(feedforward))


@contextmanager
def connected(mechanism: Mechanism | None = None, elf: Path | None = None, plant: Plant | None = None, *,
              armed: bool = False) -> Iterator[tuple[VirtualBoard, Session]]:
    """Connect a host to a virtual board. elf: the image, by default the image that all tests of this mechanism share.
    plant: by default a rigid plant. armed: bring the board to HOLD in its start pose. Brakes hold the arm until the
    board is armed."""
    mechanism = mechanism or three_link()
    elf = elf or platformio.build_image(mechanism, ROOT / "build" / mechanism.name).elf
    with VirtualBoard(elf, mechanism, plant or Plant(mechanism)) as board:
        session = session_with(board)
        try:
            board.brakes = armed
            session.connect()
            if armed:
                arm(board, session)
            board.brakes = False
            yield board, session
        finally:
            session.link.close()


def arm(board: VirtualBoard, session: Session) -> None:
    """Home the joints at their start pose, and arm the board."""
    session.home([joint.start for joint in board.mechanism.streamed])
    session.arm()


def pump(board: VirtualBoard, session: Session, times: int) -> None:
    """Run board and host for `times` hundredths of a second."""
    for _ in range(times):
        board.run(0.01)
        session.pump()


def along_path(positions: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the fraction (T,) of the straight line at positions (T, 3), and the largest distance from the line, rad.
    """
    share = (positions - start()) @ REACH / (REACH @ REACH)
    return share, float(np.abs(positions - start() - share[:, None] * REACH).max())
