"""Bridge modules that their enable input puts to sleep, all together. The outputs of sleeping bridges float."""

import math

WAKE_S = 1e-3  # maximum wake-up time: Pololu's example for its G2 drivers, page 0J72


class SleepingBridges:
    """wake_s: wake-up time, s. low_asleep: sleeping bridges pull their fault line low. Data sheets allow both levels
    (DRV8801: TI's forum, 476973). A DRV81545 pulls it low while it wakes up (SLVSHI4A)."""

    def __init__(self) -> None:
        self.wake_s, self.low_asleep = WAKE_S, True
        self._awake, self._since = False, -math.inf  # time of the last change of the enable line, s

    def enable(self, seconds: float, high: bool) -> bool:
        """Set the enable line high or low. Returns true if the state has changed."""
        if high == self._awake:
            return False
        self._awake, self._since = high, seconds
        return True

    def settled(self, seconds: float) -> bool:
        """Return true if the state of the bridges does not change with time."""
        return not self._awake or seconds - self._since >= self.wake_s

    def drives(self, seconds: float) -> bool:
        """Return true if the bridges' outputs follow their inputs."""
        return self._awake and self.settled(seconds)

    def pulls_fault(self, seconds: float) -> bool:
        """Return true if the bridges pull their fault line low although they have no fault."""
        return self.low_asleep if not self._awake else not self.settled(seconds)
