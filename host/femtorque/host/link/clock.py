"""Time of the host. Host code uses the clock that it gets, and never reads the wall clock. A real board runs in real
time. The virtual board runs while the host calls `sleep`."""

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Return the seconds since a fixed moment; they never go backwards."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass. Host code waits only through this method."""
        ...


class WallClock:
    """Time of this machine."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
