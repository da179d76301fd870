"""Bridge modules whose enable input is a sleep input, all modules of a board as one: asleep their outputs float."""

import math

WAKE_S = 1e-3  # time to wake up, at most: Pololu's example for its G2 drivers, page 0J72


class SleepingBridges:
    """wake_s: time to wake up. low_asleep: true if they pull their fault line low also while asleep; data sheets allow
    either (DRV8801: TI's forum, 476973), and on waking up a DRV81545 pulls it (SLVSHI4A)."""

    def __init__(self) -> None:
        self.wake_s, self.low_asleep = WAKE_S, True
        self._awake, self._since = False, -math.inf  # s: when the enable line last moved

    def enable(self, seconds: float, high: bool) -> bool:
        """Set the level of the enable line. Returns true if it has changed."""
        if high == self._awake:
            return False
        self._awake, self._since = high, seconds
        return True

    def settled(self, seconds: float) -> bool:
        """True if nothing changes any more with time alone."""
        return not self._awake or seconds - self._since >= self.wake_s

    def drives(self, seconds: float) -> bool:
        """True if their outputs follow their inputs."""
        return self._awake and self.settled(seconds)

    def pulls_fault(self, seconds: float) -> bool:
        """True if they pull their fault line low without a fault."""
        return self.low_asleep if not self._awake else not self.settled(seconds)
