"""What an image costs on the virtual board: instructions and cycles of the step and of the whole control tick.

The image homes, arms, plays a short motion of all its joints and disarms. Instructions are exact; cycles are those of
the emulator's model, and what waiting for flash adds to them that of another one (hil/timing.py). The worst tick is the
worst one seen in that run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from codegen import board as boards
from codegen.build import BuildResult
from codegen.errors import Refused
from codegen.mechanism import Mechanism
from codegen.trajectory import Trajectory, from_rows, knots
from hil.board import VirtualBoard
from hil.flash_watch import FlashWatch, TooLong
from hil.plants import plant_of
from hil.run import play

SECONDS = 0.2  # of motion
REACH = 0.05  # rad or m, where limits leave the room


@dataclass(frozen=True)
class Cost:
    """instructions_step: of ft_step, its worst tick; instructions_tick: of the whole tick, worst and mean;
    cycles_tick: worst, by the model; cycles_tick_flash: worst with the waiting for flash; cycles_budget: those of a
    control period."""

    instructions_step: int
    instructions_tick: int
    instructions_tick_mean: float
    cycles_tick: int
    cycles_tick_flash: int
    cycles_budget: int

    @property
    def margin(self) -> float:
        """The share of a control period that the worst tick leaves."""
        return 1.0 - self.cycles_tick_flash / self.cycles_budget


def measure(mechanism: Mechanism, built: BuildResult, feedforward: bool = True) -> Cost:
    """Run a built image for a moment. Raises Refused if it does not get through the motion, or if a tick takes longer
    than a control period."""
    budget = boards.load(mechanism.board.use).chip.sysclk_hz // mechanism.control.rate_hz
    with VirtualBoard(built.elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        watch = FlashWatch(board, budget)
        try:
            result = play(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward)
        except TooLong as tick:
            raise Refused(f"a control tick takes {tick.cycles} cycles, {tick.waiting} of them waiting for flash, and a "
                          f"control period has {budget}: lower control.rate_hz or simplify the mechanism") from None
    record = result.record
    if result.ended != "done":
        raise Refused(f"the image did not get through a motion of {SECONDS} s on the virtual board: {result.ended}")
    waiting = np.array(watch.stalls[-len(record.cycles):])
    return Cost(
        instructions_step=int(record.step_instructions.max()), instructions_tick=int(record.instructions.max()),
        instructions_tick_mean=result.instructions_tick_mean, cycles_tick=int(record.cycles.max()),
        cycles_tick_flash=int((record.cycles + waiting).max()),
        cycles_budget=budget,
    )


def short_motion(mechanism: Mechanism) -> Trajectory:
    """A quintic of every joint from its start pose to where limits and speed let it go, at most REACH."""
    joints = mechanism.streamed
    start = np.array([joint.start for joint in joints])
    lower, upper, speed = (np.array([getattr(j.limits, key) for j in joints]) for key in ("lower", "upper", "velocity"))
    fastest = 0.25 * speed * SECONDS  # a quintic's peak rate is 15/8 of its mean one
    up, down = (np.minimum(0.5 * room, np.minimum(fastest, REACH)) for room in (upper - start, start - lower))
    way = np.where(up >= down, up, -down)
    rest = np.zeros((2, len(joints)))
    return from_rows([j.name for j in joints], [0.0, SECONDS], [start, start + way], rest, rest)
