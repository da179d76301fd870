"""Time as the host sees it. Host code never reads the wall clock itself: it is given a clock.

For a real board that is the wall clock; for the virtual board `sleep` is what lets the emulated board run.
"""

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since some fixed moment; never goes backwards."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let that much time pass. The only way the host ever waits."""
        ...


class WallClock:
    """The time of the machine this runs on."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
