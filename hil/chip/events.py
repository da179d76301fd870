"""Simulated time: what happens at which processor cycle."""

from __future__ import annotations

import heapq
from collections.abc import Callable

NEVER = 1 << 62


class Event:
    """One thing to happen. Cancelling it leaves it in the queue without effect."""

    __slots__ = ("at", "action")

    def __init__(self, at: int, action: Callable[[], None]) -> None:
        self.at = at
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class Events:
    """The queue. `deadline` is the cycle at which execution must look at it again: the next event or the horizon.

    done: everything up to this cycle has happened; what is due later waits for the end of the block that runs.
    """

    def __init__(self) -> None:
        self._queue: list[tuple[int, int, Event]] = []
        self._order = 0
        self.now = self.done = 0  # kept by whoever runs the clock
        self.deadline = NEVER

    def at(self, cycle: int, action: Callable[[], None]) -> Event:
        """Do `action` at `cycle` (never before now)."""
        event = Event(max(int(cycle), self.now), action)
        self._order += 1
        heapq.heappush(self._queue, (event.at, self._order, event))
        self.deadline = min(self.deadline, event.at)
        return event

    def after(self, cycles: int, action: Callable[[], None]) -> Event:
        return self.at(self.now + cycles, action)

    def attend(self) -> None:
        """Make execution stop at the next block, because something changed that it must look at."""
        self.deadline = 0

    def next(self) -> int:
        """Cycle of the earliest event that is not cancelled."""
        while self._queue and self._queue[0][2].action is None:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else NEVER

    def fire(self) -> None:
        """Do everything that is due."""
        while self.next() <= self.now:
            action = heapq.heappop(self._queue)[2].action
            if action:
                action()
        self.done = self.now

    def rescale(self, old_hz: int, new_hz: int) -> None:
        """The processor clock changed: what is pending keeps its time in seconds."""
        for entry in self._queue:
            entry[2].at = self.now + round((entry[0] - self.now) * new_hz / old_hz)
        self._queue = [(event.at, order, event) for _, order, event in self._queue]
        heapq.heapify(self._queue)
        self.attend()


class EventClock:
    """The queue in seconds, for what hangs on the chip. hz: of its cycles; seconds: now, since power-on."""

    def __init__(self, events: Events, hz: Callable[[], float], seconds: Callable[[], float]) -> None:
        self._events, self._hz, self._seconds = events, hz, seconds

    @property
    def seconds(self) -> float:
        return self._seconds()

    def after(self, seconds: float, action: Callable[[], None]) -> Event:
        return self._events.after(round(seconds * self._hz()), action)
