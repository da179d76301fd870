"""Measures an image on the virtual board: instructions and cycles of the step and of the whole control tick.

The image homes, arms, plays a short motion of all joints, disarms, and runs worst_tick_tour.py. Instructions are exact;
models give the cycles and flash waits (hil/chip/timing.py). Unexecuted code counts with its longest path
(hil/cost/longest_path.py), and the current loops with each interruption of the tick."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.board import load_board
from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import Trajectory, from_rows, knots
from femtorque.codegen.toolchain import BuildResult
from femtorque.hil.board import VirtualBoard
from femtorque.hil.chip import FLASH_MEMORIES
from femtorque.hil.cost import control_flow
from femtorque.hil.cost.cost import Cost
from femtorque.hil.cost.flash_watch import FlashWatch, TooLong
from femtorque.hil.cost.longest_path import Seen, longest
from femtorque.hil.cost.worst_tick_tour import PARTS, Life
from femtorque.hil.plant import plant_of
from femtorque.hil.play import Result, play_motion

SECONDS = 0.2  # of motion
REACH = 0.05  # amplitude if the limits allow this distance, rad or m
# cycles before the next tick in which the firmware does not update duties (firmware/chip/stm32/ft_outputs.c)
LATE = 128

TURNS = 4  # minimum number of iterations that are assumed for a loop that has never run

Progress = Callable[[int, int, str], None]  # done, total, what


def measure(mechanism: Mechanism, built: BuildResult, feedforward: bool = True,
            on_progress: Progress = lambda done, total, what: None) -> Cost:
    """Measure a built image. Raises Refused if its motion does not finish or a tick may exceed its period."""
    assert mechanism.board is not None
    board_file = load_board(mechanism.board.use)
    budget = board_file.chip.sysclk_hz // mechanism.control.rate_hz
    with VirtualBoard(built.elf, mechanism, plant_of(mechanism)) as board:
        board.brakes = True
        watch = FlashWatch(board, budget)
        try:
            result, left_out = _played(board, mechanism, feedforward, on_progress)
        except TooLong as tick:
            raise Refused(f"a control tick takes {tick.cycles} cycles, {tick.waiting} of them waiting for flash, and a "
                          f"control period has {budget}: lower control.rate_hz or simplify the mechanism") from None
        unseen, current = _unseen(board, max(TURNS, len(mechanism.streamed)))
    own = sum(watch.worst) + unseen
    period = board_file.chip.sysclk_hz // mechanism.board.pwm_hz
    worst = response(own, watch.current + current if watch.current else 0, period, budget)
    cost = Cost(
        instructions_step=result.instructions_step, instructions_tick=int(result.record.instructions.max()),
        instructions_tick_mean=result.instructions_tick_mean, cycles_tick=watch.worst[0],
        cycles_tick_flash=sum(watch.worst), cycles_unseen=unseen, cycles_above=worst - own, cycles_worst=worst,
        cycles_budget=budget, most_hz=board_file.chip.sysclk_hz // (worst + LATE), left_out=left_out,
    )
    if worst > budget - LATE:
        raise Refused(f"a control tick may take {worst} cycles: {sum(watch.worst)} seen, {watch.worst[1]} of them "
                      f"waiting "
                      f"for flash, {unseen} in code that was not come to, {worst - own} for interrupts above it; a "
                      f"control "
                      f"period has {budget}, the last {LATE} of them too late: lower control.rate_hz or simplify the "
                      "mechanism")
    return cost


def _played(board: VirtualBoard, mechanism: Mechanism, feedforward: bool,
            on_progress: Progress) -> tuple[Result, tuple[str, ...]]:
    """Play the short motion and the tour. Returns the result, and the omitted parts of the tour."""
    total = 1 + len(PARTS)
    on_progress(0, total, "a short motion")
    result = play_motion(board, mechanism, knots(short_motion(mechanism), mechanism), feedforward)
    if result.ended != "done":
        raise Refused(f"the image did not get through a motion of {SECONDS} s on the virtual board: {result.ended}")
    board.recording = False
    life = Life(board, mechanism, lambda pose: knots(short_motion(mechanism, pose), mechanism), feedforward)
    return result, life.live(lambda done, what: on_progress(1 + done, total, what))


def _unseen(board: VirtualBoard, turns: int) -> tuple[int, int]:
    """Return the cycles of the longest paths through unexecuted code, for a tick and for the current loops."""
    image, memory, seen = board.image, FLASH_MEMORIES[board.board.chip.name], Seen()
    seen.add(board.chip.core, control_flow.functions(image, control_flow.HANDLERS).values())
    tick = longest(image, control_flow.TICK, seen, memory, turns, unseen=True)
    return tick, longest(image, [control_flow.CURRENT], seen, memory, turns, unseen=True)


def response(own: int, above: int, period: int, most: int) -> int:
    """Return the cycles until a tick of `own` cycles is finished, if interrupts take `above` cycles in each period of
    `period` cycles. A result above `most` is not exact (Joseph and Pandya, 1986)."""
    total = own
    while total <= most and (longer := own + math.ceil(total / period) * above) != total:
        total = longer
    return total


def short_motion(mechanism: Mechanism, start: ArrayLike | None = None) -> Trajectory:
    """Return a quintic for each joint from its start pose, or from a given pose (J,). The distance is REACH, or less if
    the position limits or the speed require it."""
    joints = mechanism.streamed
    start = np.array([joint.start for joint in joints]) if start is None else np.asarray(start, float)
    lower, upper, speed = (np.array([getattr(j.limits, key) for j in joints]) for key in ("lower", "upper", "velocity"))
    fastest = 0.25 * speed * SECONDS  # the maximum velocity of a quintic is 15/8 of its mean velocity
    up, down = (np.minimum(0.5 * room, np.minimum(fastest, REACH)) for room in (upper - start, start - lower))
    way = np.where(up >= down, up, -down)
    rest = np.zeros((2, len(joints)))
    return from_rows([j.name for j in joints], [0.0, SECONDS], [start, start + way], rest, rest)
