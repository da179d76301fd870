"""The time that a bus lives in: the virtual board's, or one of its own."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Protocol


class Handle(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """seconds: now. after: do something that many seconds later."""

    @property
    def seconds(self) -> float: ...

    def after(self, seconds: float, action: Callable[[], None]) -> Handle: ...


class _Entry:
    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class OwnClock:
    """Time that passes only on demand."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._queue: list[tuple[float, int, _Entry]] = []
        self._order = 0

    def after(self, seconds: float, action: Callable[[], None]) -> Handle:
        entry = _Entry(action)
        self._order += 1
        heapq.heappush(self._queue, (self.seconds + seconds, self._order, entry))
        return entry

    def run(self, seconds: float) -> None:
        """Let that much time pass."""
        until = self.seconds + seconds
        while self._queue and self._queue[0][0] <= until:
            self.seconds, _, entry = heapq.heappop(self._queue)
            if entry.action:
                entry.action()
        self.seconds = until
