"""Changes of a plant into the modes for which a board computes its torques."""

from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.plant import Driven, follow


class ModeFollower:
    """switched: (seconds, mode, reason why the plant did not follow or ""), one of each change so far."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self._mode = 0  # its number
        self._coming: list[tuple[float, int]] = []  # (seconds, mode)
        self.switched: list[tuple[float, str, str]] = []

    @property
    def many(self) -> bool:
        """True if the mechanism has modes."""
        return len(self._mechanism.modes) > 1

    def computed(self, mode: int, held: float) -> None:
        """Note the mode of the torques that are held from a time on, s, as a tick under power has computed them. A
        board without power keeps its mode: it returns to the first one only when it is armed again."""
        if mode != self._mode:
            self._mode = mode
            self._coming.append((held, mode))

    def follow(self, plant: Driven, seconds: float, now: float) -> None:
        """Let the plant change to the modes that are held before a time, s."""
        while self._coming and seconds > self._coming[0][0]:
            self.switched.append((now, *follow(plant, self._mechanism, self._coming.pop(0)[1])))
