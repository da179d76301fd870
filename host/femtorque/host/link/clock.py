"""The host's only clock. The virtual board runs while the host calls `sleep`; a real board in real time."""

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
