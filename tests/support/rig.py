"""The three-link arm on the virtual board, for tests: image, short motion, and where a stop left it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codegen.mechanism.description import Mechanism
from codegen.mechanism.reader import load_mechanism
from codegen.motion.trajectory import Trajectory, from_rows
from codegen.toolchain import platformio as build
from hil.plant.rigid import Plant
from hil.play.run import Result, folder, run

ROOT = Path(__file__).resolve().parent.parent.parent
REACH = np.array([0.4, -0.3, 0.3])  # rad from the start pose
DURATION = 0.6  # s


@cache
def three_link() -> Mechanism:
    return load_mechanism(ROOT / "mechanisms" / "three_link.toml")


@cache
def image(feedforward: bool = True) -> Path:
    """The ELF file, built where the command line builds it."""
    return build.build(three_link(), place(feedforward), feedforward=feedforward).elf


def place(feedforward: bool = True) -> Path:
    return ROOT / folder(three_link(), feedforward)


def start() -> NDArray[np.float64]:
    return np.array([joint.start for joint in three_link().moving])


def short_motion() -> Trajectory:
    """A straight line in joint space, a quintic in time."""
    names = [joint.name for joint in three_link().moving]
    return from_rows(names, [0.0, DURATION], np.array([start(), start() + REACH]))


def long_motion() -> Trajectory:
    """The 3 s of the experiment: more than the board's ring can hold."""
    return Trajectory.load(ROOT / "mechanisms" / "three_link.csv", three_link())


def play(fault: str | None = None, *, motion: Trajectory | None = None, feedforward: bool = True,
         plant: Plant | None = None, resume: int = 0) -> Result:
    return run(three_link(), motion or short_motion(), feedforward=feedforward, fault=fault, plant=plant, resume=resume,
               out=place(feedforward))


def along_path(positions: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Share of the way (T,) that positions (T, 3) have gone, and how far the worst is off the straight line, rad."""
    share = (positions - start()) @ REACH / (REACH @ REACH)
    return share, float(np.abs(positions - start() - share[:, None] * REACH).max())
