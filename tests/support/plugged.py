"""A virtual board at a simulated USB port, for the command line in this process. `--port auto` finds this board."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO, cast

import numpy as np
import pytest
from serial.tools import list_ports

from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.toolchain import platformio
from femtorque.hil.board import VirtualBoard, VirtualClock
from femtorque.hil.plant import plant_of
from femtorque.hil.plant.selection import Plant
from femtorque.host.link import link, ports
from tests.support.rig import ROOT


@contextmanager
def plugged_in(mechanism: Mechanism, plant: Plant | None = None, folder: Path | None = None,
               world: Mechanism | None = None) -> Iterator[VirtualBoard]:
    """Build an image and boot a virtual board with it. folder: folder of the image.

    By default all tests of this mechanism share an image. world: the real arm at the board, if it differs from the
    file. The host's clock is the board's clock. Bytes arrive immediately. There is no TCP port, whose timing would
    depend on the operating system. Every run therefore gives the same result."""
    opened = link.open_port
    elf = platformio.build_image(mechanism, folder or ROOT / "build" / mechanism.name).elf
    world = world or mechanism
    with VirtualBoard(elf, world, plant or plant_of(world)) as board, pytest.MonkeyPatch.context() as patch:
        board.brakes = True
        patch.setattr(link, "WallClock", lambda: VirtualClock(board))
        patch.setattr(link, "open_port", lambda port,
                      baud: board.plug_in() if port == board.url else opened(port, baud))
        patch.setattr(list_ports, "comports", lambda: [SimpleNamespace(device=board.url, description="board", vid=1)])
        patch.setattr(ports, "served_here", lambda: ())  # a second link would run the board in two threads
        patch.setattr(sys, "stderr", Terminal(sys.stderr))
        yield board


class Terminal:
    """A replacement for standard error that stores its last line for a reader."""

    def __init__(self, others: TextIO) -> None:
        self._others, self.text = others, ""

    def write(self, text: str) -> int:
        self.text = (self.text + text)[-1000:]
        return self._others.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._others, name)

    @property
    def last(self) -> str:
        return self.text.rstrip("\n").rpartition("\n")[2]


def ctrl_c(board: VirtualBoard, seconds: float) -> None:
    """Press Ctrl-C after the board has run for `seconds` more."""
    board.at(board.seconds + seconds, lambda: os.kill(os.getpid(), signal.SIGINT))


class Hand:
    """A simulated person at a terminal, in place of sys.stdin.

    The last line on the terminal asks the person to turn a joint or to move a joint to its start. The person releases
    the arm's brakes, moves the joint, and presses Enter. push: the largest torque of the hand, N m."""

    def __init__(self, board: VirtualBoard, push: float = 3.0) -> None:
        self.board, self.push = board, push

    def asked(self) -> tuple[int, float]:
        """Return the number of the joint that the person is asked to move, and the joint's new position."""
        line = cast(Terminal, sys.stderr).last
        found = re.match(r"(?:move|put) (\S+) by hand (?:where it stands at )?(\S+)", line)
        assert found, line
        j = next(k for k, joint in enumerate(self.board.plant.joints) if joint.name == found[1])
        to = float(found[2])
        return j, to if line.startswith("put") else float(self.board.plant.q[j]) + (-to if " back, " in line else to)

    def readline(self) -> str:
        plant, (j, to) = self.board.plant, self.asked()
        stand = plant.q.copy()
        stand[j] = to
        plant.hand = lambda p: np.clip(40.0 * (stand - p.q) - 2.0 * p.v, -self.push, self.push)
        self.board.brakes = False
        until = self.board.seconds + 0.8
        while self.board.seconds < until and np.max(np.abs([stand - plant.q, 0.1 * plant.v])) > 0.005:
            self.board.run(0.05)
        plant.hand, self.board.brakes = None, True
        return "\n"


class Steady(Hand):
    """A person who holds a joint at its new position until it is at rest. stiffness N m/rad, damping N m s/rad."""

    stiffness, damping, seconds = 100.0, 10.0, 0.8

    def readline(self) -> str:
        plant, (j, to) = self.board.plant, self.asked()
        stand = plant.q.copy()
        stand[j] = to
        plant.hand = lambda p: self.stiffness * (stand - p.q) - self.damping * p.v
        self.board.brakes = False
        self.board.run(self.seconds)
        plant.hand, self.board.brakes = None, True
        return "\n"
