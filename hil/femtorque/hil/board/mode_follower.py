"""Switches the mode of a plant when the board computes torques for another mode."""

from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.plant import Driven, follow


class ModeFollower:
    """switched: (seconds, mode, reason) of each mode change so far. The reason explains why the plant did not follow
    the mode. If the plant followed the mode, the reason is empty."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self._mode = 0  # its number
        self._coming: list[tuple[float, int]] = []  # (seconds, mode)
        self.switched: list[tuple[float, str, str]] = []

    @property
    def many(self) -> bool:
        """True if the mechanism has several modes."""
        return len(self._mechanism.modes) > 1

    def computed(self, mode: int, held: float) -> None:
        """Record the mode whose torques a tick of the armed board has computed. held: time from which these torques
        act, s. A board without power stays in its mode. When the board is armed again, it returns to the first mode."""
        if mode != self._mode:
            self._mode = mode
            self._coming.append((held, mode))

    def follow(self, plant: Driven, seconds: float, now: float) -> None:
        """Switch the plant to the modes whose torques act before a time, s."""
        while self._coming and seconds > self._coming[0][0]:
            self.switched.append((now, *follow(plant, self._mechanism, self._coming.pop(0)[1])))
