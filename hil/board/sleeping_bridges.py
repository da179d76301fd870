"""Bridge modules whose enable input is a sleep input, all of a board together: asleep they let their motors float."""

from __future__ import annotations

import math

WAKE_S = 1e-3  # at most this passes until it may be driven: Pololu's example for its G2 drivers, page 0J72


class SleepingBridges:
    """wake_s: that they take to wake up. low_asleep: whether they pull their fault line low asleep, too; data sheets
    allow either (DRV8801: TI's forum, 476973), and on waking up a DRV81545 pulls it (SLVSHI4A)."""

    def __init__(self) -> None:
        self.wake_s, self.low_asleep = WAKE_S, True
        self._awake, self._since = False, -math.inf  # s: when the enable line last moved

    def enable(self, seconds: float, high: bool) -> bool:
        """Their enable line takes a level. Returns whether that is another one."""
        if high == self._awake:
            return False
        self._awake, self._since = high, seconds
        return True

    def settled(self, seconds: float) -> bool:
        """Whether time alone changes nothing any more."""
        return not self._awake or seconds - self._since >= self.wake_s

    def drives(self, seconds: float) -> bool:
        """Whether their outputs follow their inputs."""
        return self._awake and self.settled(seconds)

    def pulls_fault(self, seconds: float) -> bool:
        """Whether they pull their fault line low though nothing is wrong."""
        return self.low_asleep if not self._awake else not self.settled(seconds)
