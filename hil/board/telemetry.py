"""Results of control ticks, read from an image's memory after each tick, and recorded with the plant's state."""

from __future__ import annotations

import re
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.mechanism.description import Joint, Mechanism
from femtorque.codegen.wire.units import position_unit
from femtorque.hil.chip.cpu import CortexM4, Handled
from femtorque.hil.chip.elf import Image
from femtorque.hil.chip.nvic import SYSTICK
from femtorque.hil.plant import mujoco
from femtorque.hil.plant.choose import Driven
from femtorque.hil.plant.tips import shapes_of, tips_of
from femtorque.host.scene.surroundings import Moment

Array = NDArray[np.float64]

LATE = 256  # ticks of which the plant's state is kept for a STATUS that arrives late
STEPS = 8  # ticks before a motion shows in its target, for which the state of ft_step is kept
STEP = re.compile(
    r"(ft_step(_moded|_enter)?|ft_(m\d+_)?(tree|loop_solve)|ft_m\d+_(step|enter|tick)|ft_flexible_.*)(\.\w+)*")


@dataclass(frozen=True)
class Record:
    """Every control tick since recording began. T ticks, J joints; rad, rad/s, N m (m, m/s, N for prismatic joints).

    tick (T,), torque_ff, torque, duty, rate, target_rate (T, J) float32, position, target (T, J) in wire units without
    whole turns: as the image has them at the end of the tick. q, v (T, J): state of the plant at the beginning of the
    tick; with drives or servos on buses, at its end. instructions, cycles (T,): of the whole tick interrupt.
    step_instructions (T,): of ft_step within it. steps: by number of a tick, the state of ft_step after it, for ticks
    at rest just before a motion; only where `remembers`.
    """

    tick: NDArray[np.uint32]
    torque_ff: NDArray[np.float32]
    torque: NDArray[np.float32]
    duty: NDArray[np.float32]
    rate: NDArray[np.float32]
    target_rate: NDArray[np.float32]
    position: NDArray[np.int32]
    target: NDArray[np.int32]
    q: Array
    v: Array
    seconds: Array
    instructions: NDArray[np.int64]
    cycles: NDArray[np.int64]
    step_instructions: NDArray[np.int64]
    steps: Mapping[int, bytes] = field(default_factory=dict)


def remembers(mechanism: Mechanism) -> bool:
    """True if the last bits of ft_step's result depend on earlier poses: with loops, modes or flexible links."""
    return bool(mechanism.constrained or mechanism.modes or mechanism.flexible)


def telemetry_type(joints: int) -> np.dtype:
    """Layout of a recorded tick."""
    floats = [(name, "<f4", (joints,)) for name in ("torque_ff", "torque", "duty", "rate", "target_rate")]
    return np.dtype([*floats, ("position", "<i4", (joints,)), ("target", "<i4", (joints,)), ("tick", "<u4")])


class Telemetry:
    """Reader of the last tick's results in an image's memory, at the addresses in its `ft_telemetry`."""

    _WORDS = 10  # of ft_telemetry_map, ft_report.h

    def __init__(self, core: CortexM4, image: Image, joints: int, rate_hz: int) -> None:
        self.type, self._rate = telemetry_type(joints), np.float32(2 * rate_hz)
        self._core, self._bytes = core, 4 * joints
        at = image.symbol("ft_telemetry").address - image.start
        words = struct.unpack_from(f"<{self._WORDS}I", image.flash, at)
        ff, torque, duty, u, position, target, tick, self.mode, *self._step = words  # addresses
        self._fixed = [core.window(address, self._bytes) for address in (ff, torque, duty, u)]
        self._position, self._pointer, self._number = (
            core.window(address, size) for address, size in ((position, self._bytes), (target, 4), (tick, 4)))

    def read(self) -> bytes:
        """Read the finished tick as bytes, which `taken` lays out as `type`."""
        size, little = self._bytes, int.from_bytes
        target = self._core.memory(little(self._pointer, "little"), 2 * size)
        done = max(little(self._number, "little"), 1) - 1
        return b"".join([*self._fixed, target[size:], self._position, target[:size], done.to_bytes(4, "little")])

    def mode_now(self) -> int:
        """Mode for which the last tick has computed torques."""
        return int.from_bytes(self._core.memory(self.mode, 4), "little")

    def step(self) -> bytes:
        """State of ft_step in C, from which the next tick starts."""
        return self._core.memory(*self._step)

    def taken(self, raw: bytes) -> NDArray[np.void]:
        """Lay out bytes of ticks, with half increments as velocities."""
        rows = np.frombuffer(raw, self.type).copy()
        for name in ("rate", "target_rate"):
            rows[name] *= self._rate
        return rows


class TickRecorder:
    """Record of ticks. joints: number of the image's."""

    def __init__(self, core: CortexM4, image: Image, mechanism: Mechanism, joints: int) -> None:
        self.telemetry = Telemetry(core, image, joints, mechanism.control.rate_hz)
        self._core, self._joints = core, joints
        self._keeps_steps = remembers(mechanism)
        self._steps: dict[int, bytes] = {}
        self._resting: deque[tuple[int, bytes]] = deque(maxlen=STEPS)
        self._samples: list[tuple[bytes, Array, Array, float, int, int, int]] = []
        self._bends = any(link.beam for link in mechanism.links)
        self._tips: deque[tuple[bytes, dict[str, tuple[float, ...]]]] = deque(maxlen=LATE)
        self._moments: deque[tuple[bytes, Moment]] = deque(maxlen=LATE)
        self._handled = Handled()
        self._cost = (0, 0, 0)  # of the last tick: instructions, cycles, instructions of its step
        self._step_parts = [(symbol.address, symbol.end) for name, symbol in image.symbols.items()
                            if STEP.fullmatch(name)]
        self._step_blocks = np.zeros(0, np.uint32)  # slots of those blocks
        self._step_in_c = core.blocks.chosen(self._step_blocks)
        self._known_blocks = self._step_before = 0

    def count(self, exception: int) -> int:
        """Count the costs of a tick that ended in that exception. Returns its cycles."""
        both = [self._core.handled(n) for n in {exception, SYSTICK}]  # SYSTICK has the boundary, where that is separate
        before = self._handled
        self._handled = Handled(0, sum(h.instructions for h in both), sum(h.cycles for h in both))
        cycles = self._handled.cycles - before.cycles
        self._cost = (self._handled.instructions - before.instructions, cycles, self._step_executed())
        return cycles

    def take(self, plant: Driven, seconds: float) -> None:
        """Record the results of the last counted tick, and the plant's state."""
        left = self.telemetry.read()
        if self._keeps_steps:
            self._keep_step(left)
        self._samples.append((left, plant.q, plant.v, seconds, *self._cost))
        if self._bends:
            shapes = shapes_of(plant)
            self._tips.append((left[-4:], {link: (bent, *shapes[link]) for link, bent in tips_of(plant).items()}))

    def look_round(self, world: mujoco.Plant) -> None:
        """Record the things around the arm, for the last recorded tick."""
        self._moments.append((self._samples[-1][0][-4:], world.moment()))

    def _keep_step(self, left: bytes) -> None:
        """Keep ft_step's state after the ticks just before a motion: it depends on earlier poses where joints depend
        on others."""
        rates = slice(4 * 4 * self._joints, 5 * 4 * self._joints)  # velocities of the target
        if any(left[rates]):
            self._steps |= dict(self._resting)
            self._resting.clear()
        else:
            self._resting.append((len(self._samples), self.telemetry.step()))

    def _step_executed(self) -> int:
        """Instructions of ft_step since the last call, with those of flexible links, loops and modes."""
        core = self._core
        if core.known_blocks != self._known_blocks:
            more = core.blocks.slots(self._known_blocks, self._step_parts)
            self._step_blocks = np.append(self._step_blocks, np.array(more, np.uint32))
            self._step_in_c = core.blocks.chosen(self._step_blocks)
            self._known_blocks = core.known_blocks
        total = core.blocks.executed(self._step_in_c)
        done, self._step_before = total - self._step_before, total
        return done

    def record(self) -> Record:
        """All recorded ticks."""
        raw = self.telemetry.taken(b"".join(s[0] for s in self._samples))
        truth = np.array([[s[1], s[2]] for s in self._samples]).reshape(-1, 2, self._joints)
        numbers = np.array([s[4:] for s in self._samples], np.int64).reshape(-1, 3)
        return Record(**{name: raw[name].copy() for name in self.telemetry.type.names or ()}, q=truth[:, 0],
                      v=truth[:, 1], seconds=np.array([s[3] for s in self._samples]), instructions=numbers[:, 0],
                      cycles=numbers[:, 1], step_instructions=numbers[:, 2], steps=dict(self._steps))

    def truth(self, tick: int) -> tuple[Array, Array]:
        """Positions and velocities (J,) of the plant at the beginning of a recent tick; nan if it was not recorded."""
        number = (tick & 0xFFFFFFFF).to_bytes(4, "little")
        found = next((s for s in self._samples[:-LATE:-1] if s[0].endswith(number)), None)
        nothing = np.full(self._joints, np.nan)
        return (nothing, nothing) if found is None else (found[1], found[2])

    def tips(self, tick: int) -> dict[str, tuple[float, ...]]:
        """Bend of flexible links at the beginning of a recent tick, as `tips_of` and `shapes_of` have it; empty if the
        tick was not recorded."""
        number = (tick & 0xFFFFFFFF).to_bytes(4, "little")
        return next((bent for left, bent in reversed(self._tips) if left == number), {})

    def moment(self, tick: int) -> Moment | None:
        """Things around the arm at the beginning of a recent tick; None if it was not recorded."""
        number = (tick & 0xFFFFFFFF).to_bytes(4, "little")
        return next((moment for left, moment in reversed(self._moments) if left == number), None)


def targets(record: Record, joints: Sequence[Joint]) -> Array:
    """Desired positions (T, J) in rad or m. The image's targets lack whole turns; these are the ones nearest to the
    plant's positions."""
    units = np.array([position_unit(joint) for joint in joints])
    away = record.target.astype(np.int64) - np.rint(record.q / units).astype(np.int64)
    return record.q + ((away + 2**31) % 2**32 - 2**31) * units
