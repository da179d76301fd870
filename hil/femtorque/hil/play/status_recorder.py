"""Record of a real board's ticks, from its STATUS messages and the plant's true state."""

from typing import Any

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.wire import Status
from femtorque.hil.board import LATE, Record, telemetry_type


class StatusRecorder:
    """A recorder that stores the STATUS of each tick. joints: number of joints."""

    def __init__(self, joints: int) -> None:
        self._joints = joints
        self._samples: list[tuple[Any, Array, Array, float]] = []

    def take(self, status: Status, q: Array, v: Array, seconds: float) -> None:
        """Record a STATUS. q, v (J,): state of the plant when the tick began."""
        self._samples.append((status, q, v, seconds))

    def record(self) -> Record:
        """Return every tick. The instructions of a real board are not counted."""
        statuses = [s[0] for s in self._samples]
        kinds = telemetry_type(self._joints)
        told: dict[str, Any] = {
            name: np.array([getattr(s, name) for s in statuses]).astype(kind.base).reshape(-1, *kind.shape)
            for name, kind in ((n, kinds[n]) for n in kinds.names or ())}  # positions are without whole turns
        nothing = np.zeros(len(statuses), np.int64)
        return Record(**told, q=np.array([s[1] for s in self._samples]).reshape(-1, self._joints),
                      v=np.array([s[2] for s in self._samples]).reshape(-1, self._joints),
                      seconds=np.array([s[3] for s in self._samples]), instructions=nothing, step_instructions=nothing,
                      cycles=np.array([s.cycles for s in statuses], np.int64))

    def truth(self, tick: int) -> tuple[Array, Array]:
        """Return the plant's positions and velocities (J,) at the start of a recent tick; NaN if not recorded."""
        found = next((s for s in self._samples[:-LATE:-1] if s[0].tick == tick), None)
        nothing = np.full(self._joints, np.nan)
        return (nothing, nothing) if found is None else (found[1], found[2])
