"""The plant follows the modes that a board's ticks compute its torques for."""

from __future__ import annotations

from femtorque.codegen.mechanism.description import Mechanism
from femtorque.hil.plant.choose import Driven, follow


class ModeFollower:
    """switched: (seconds, mode, why the plant did not follow or ""), of every change that has come."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self._mode = 0  # by its number
        self._coming: list[tuple[float, int]] = []  # (seconds, mode)
        self.switched: list[tuple[float, str, str]] = []

    @property
    def many(self) -> bool:
        """Whether there are modes at all."""
        return len(self._mechanism.modes) > 1

    def computed(self, mode: int, held: float) -> None:
        """What a tick under power has computed for a mode is held from that time on, s. A board without power holds
        what it has: it goes back to its first mode only when it is armed again."""
        if mode != self._mode:
            self._mode = mode
            self._coming.append((held, mode))

    def follow(self, plant: Driven, seconds: float, now: float) -> None:
        """Let the plant change to what is held before a time, s."""
        while self._coming and seconds > self._coming[0][0]:
            self.switched.append((now, *follow(plant, self._mechanism, self._coming.pop(0)[1])))
