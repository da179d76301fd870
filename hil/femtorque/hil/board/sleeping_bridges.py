"""Bridge modules whose enable input is a sleep input. The outputs of sleeping bridges float. All modules of a board
wake and sleep together."""

import math

WAKE_S = 1e-3  # longest time to wake up: Pololu's example for its G2 drivers, page 0J72


class SleepingBridges:
    """wake_s: time to wake up. low_asleep: true if sleeping bridges pull their fault line low. Data sheets allow both
    levels of the line (DRV8801: TI's forum, 476973). A DRV81545 pulls the line while it wakes up (SLVSHI4A)."""

    def __init__(self) -> None:
        self.wake_s, self.low_asleep = WAKE_S, True
        self._awake, self._since = False, -math.inf  # time of the last change of the enable line, s

    def enable(self, seconds: float, high: bool) -> bool:
        """Set the level of the enable line. Returns true if it has changed."""
        if high == self._awake:
            return False
        self._awake, self._since = high, seconds
        return True

    def settled(self, seconds: float) -> bool:
        """Return true if the bridges will not change with time."""
        return not self._awake or seconds - self._since >= self.wake_s

    def drives(self, seconds: float) -> bool:
        """Return true if the bridges' outputs follow their inputs."""
        return self._awake and self.settled(seconds)

    def pulls_fault(self, seconds: float) -> bool:
        """Return true if the bridges pull their fault line low without a fault."""
        return self.low_asleep if not self._awake else not self.settled(seconds)
