"""Records of control ticks: results from the image's memory after each tick, with the state of the plant."""

import re
import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.wire import position_unit
from femtorque.hil.board.coupled import library
from femtorque.hil.board.coupler import PlantCoupler
from femtorque.hil.chip import CortexM4, Image
from femtorque.hil.plant import shapes_of, tips_of, world_of
from femtorque.host.scene import Moment

LATE = 256  # number of ticks whose plant state is kept for a STATUS message that arrives late
CHUNK = 1024  # capacity of the memory in C, ticks
STEPS = 8  # number of ticks before a motion for which the recorder keeps the state of ft_step
STEP = re.compile(
    r"(ft_step(_moded|_enter)?|ft_(m\d+_)?(tree|loop_solve)|ft_m\d+_(step|enter|tick)|ft_flexible_.*)(\.\w+)*")


@dataclass(frozen=True)
class Record:
    """All control ticks since the recording began. T ticks, J joints; rad, rad/s, N m (m, m/s, N if prismatic).

    tick (T,), torque_ff, torque, duty, rate, target_rate (T, J) float32, position, target (T, J): the image's values at
    the end of the tick; positions are in wire units without whole turns. q, v (T, J): state of the plant at the
    beginning of the tick, or at its end with drives or servos on buses. instructions, cycles (T,): of the whole tick
    interrupt. steps: by the number of a tick, the state of ft_step after the tick. Only mechanisms for which
    `remembers` is true have steps. Steps are kept only for ticks at rest just before a motion.
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
    step_instructions: NDArray[np.int64]  # instructions (T,) of ft_step in the interrupt
    steps: Mapping[int, bytes] = field(default_factory=dict)


def remembers(mechanism: Mechanism) -> bool:
    """Return true if ft_step's last bits depend on earlier poses, as with loops, modes or flexible links."""
    return bool(mechanism.constrained or mechanism.modes or mechanism.flexible)


def telemetry_type(joints: int) -> np.dtype:
    """Return the memory layout of a recorded tick."""
    floats = [(name, "<f4", (joints,)) for name in ("torque_ff", "torque", "duty", "rate", "target_rate")]
    return np.dtype([*floats, ("position", "<i4", (joints,)), ("target", "<i4", (joints,)), ("tick", "<u4")])


class TickRecorder:
    """The recorder of ticks, in C (ticks.c). It reads the image's memory at the addresses in `ft_telemetry`. state: its
    struct. look: called after each tick if the plant has several modes."""

    _WORDS = 10  # the layout of ft_telemetry_map in ft_port.h

    def __init__(self, core: CortexM4, image: Image, mechanism: Mechanism, coupler: PlantCoupler, exception: int,
                 look: Callable[[], None]) -> None:
        self._core, self._plant, self._world = core, coupler.plant, world_of(coupler.plant)
        self._ffi, self._lib = library()
        joints = int(coupler.state.joints)
        self._type, self._rate = telemetry_type(joints), np.float32(2 * mechanism.control.rate_hz)
        self._row = np.dtype([*((name, "<f8", (joints,)) for name in ("q", "v")), ("seconds", "<f8"),
                              *((name, "<i8") for name in ("instructions", "cycles", "step_instructions")),
                              ("left", self._type)])
        self._chunks: list[bytes] = []
        self._steps: dict[int, bytes] = {}
        self._bends = any(link.beam for link in mechanism.links)
        self._tips: deque[tuple[int, dict[str, tuple[float, ...]]]] = deque(maxlen=LATE)
        self._moments: deque[tuple[int, Moment]] = deque(maxlen=LATE)
        at = image.symbol("ft_telemetry").address - image.start
        words = struct.unpack_from(f"<{self._WORDS}I", image.flash, at)
        size, (*fixed, position, target, tick, self._mode, step, step_bytes) = 4 * joints, words
        there = partial(self._ffi.from_buffer, "uint8_t[]")
        failed = {"onerror": core.parts.refuse}
        self._held = {
            "fixed": [there(core.window(address, size)) for address in fixed],
            "position": there(core.window(position, size)), "target": there(core.window(target, 4)),
            "number": there(core.window(tick, 4)), "step": there(core.window(step, step_bytes)),
            "resting": self._ffi.new("uint8_t[]", max(STEPS * step_bytes, 1)),
            "rows": self._ffi.new("uint8_t[]", CHUNK * self._row.itemsize),
            "look": self._ffi.callback("void(void)", look, **failed),
            "keep": self._ffi.callback("void(void)", self._keep, **failed), "board": coupler.state}
        parts = [symbol for name, symbol in image.symbols.items() if STEP.fullmatch(name)]
        self.state = self._ffi.new("ticks *", {
            **self._held, "exception": exception, "recording": True, "on_buses": coupler.on_buses,
            "many": coupler.state.many, "watched": self._bends or self._world is not None, "bytes": size,
            "step_bytes": step_bytes if remembers(mechanism) else 0, "rooms": STEPS, "row_bytes": self._row.itemsize,
            "room": CHUNK, "parts": len(parts), "from": [part.address for part in parts],
            "to": [part.end for part in parts]})
        core.report_ends(self._ffi.cast("uintptr_t", self._lib.ticks_end), self._ffi.cast("uintptr_t", self.state))

    def read(self) -> np.void:
        """Return the results of the last finished tick, laid out as `telemetry_type`."""
        into = self._ffi.new("uint8_t[]", self._type.itemsize)
        self._lib.ticks_read(self.state, into)
        return self._laid_out(np.frombuffer(bytes(into), self._type))[0]

    def mode_now(self) -> int:
        """Return the mode for which the last tick has computed torques."""
        return int.from_bytes(self._core.memory(self._mode, 4), "little")

    def _laid_out(self, left: NDArray[np.void]) -> NDArray[np.void]:
        """Return results in which velocities replace the half-increments."""
        rows = left.copy()
        for name in ("rate", "target_rate"):
            rows[name] *= self._rate
        return rows

    def _keep(self) -> None:
        """Save the rows in Python when C's memory is full. After a tick, record the data that only Python has."""
        state = self.state
        last = np.frombuffer(self._bytes()[-self._row.itemsize:], self._row)[0]
        number = int(last["left"]["tick"])
        if state.rests and np.any(last["left"]["target_rate"].view("<u4")):
            size, end = state.step_bytes, state.before + state.count - 1
            for n in range(end - state.rests, end):
                at = n % STEPS * size
                self._steps[n] = bytes(state.resting[at:at + size])
            state.rests = 0
        if self._bends:
            shapes = shapes_of(self._plant)
            self._tips.append((number, {link: (bent, *shapes[link]) for link, bent in tips_of(self._plant).items()}))
        if self._world is not None:
            self._moments.append((number, self._world.moment()))
        if state.count == CHUNK:
            self._chunks.append(self._bytes())
            state.before += CHUNK
            state.count = 0

    def _bytes(self) -> bytes:
        """Return the rows in C."""
        return bytes(self._ffi.buffer(self._held["rows"], self.state.count * self._row.itemsize))

    def record(self) -> Record:
        """Return all recorded ticks."""
        rows = np.frombuffer(b"".join([*self._chunks, self._bytes()]), self._row)
        left = self._laid_out(rows["left"])
        return Record(**{name: left[name].copy() for name in self._type.names or ()}, steps=dict(self._steps),
                      **{name: rows[name].copy() for name in self._row.names or () if name != "left"})

    def truth(self, tick: int) -> tuple[Array, Array]:
        """Return the plant's q and v (J,) at the beginning of a recent tick; NaN if it was not recorded."""
        rows = np.frombuffer(b"".join([*self._chunks[-1:], self._bytes()]), self._row)[-LATE:]
        found = rows[rows["left"]["tick"] == tick & 0xFFFFFFFF]
        if not len(found):
            nothing = np.full(self._row["q"].shape, np.nan)
            return nothing, nothing
        return found[-1]["q"], found[-1]["v"]

    def tips(self, tick: int) -> dict[str, tuple[float, ...]]:
        """Return the bend of flexible links at the beginning of a recent tick: for each link the deflection, m, then
        the shape. Empty if the tick was not recorded."""
        return next((bent for number, bent in reversed(self._tips) if number == tick & 0xFFFFFFFF), {})

    def moment(self, tick: int) -> Moment | None:
        """Return the objects around the arm at the beginning of a recent tick, or None if the tick was not recorded."""
        return next((moment for number, moment in reversed(self._moments) if number == tick & 0xFFFFFFFF), None)


def targets(record: Record, joints: Sequence[Joint]) -> Array:
    """Return desired positions (T, J) in rad or m. The image's targets do not count whole turns, so this function takes
    the turn that is nearest to the plant's position."""
    units = np.array([position_unit(joint) for joint in joints])
    away = record.target.astype(np.int64) - np.rint(record.q / units).astype(np.int64)
    return record.q + ((away + 2**31) % 2**32 - 2**31) * units
