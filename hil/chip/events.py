"""Simulated time: events at processor cycles."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Protocol

from femtorque.hil.chip.core_library import library

NEVER = 1 << 62


class Event:
    """One planned action. A cancelled event stays in the queue without effect."""

    __slots__ = ("at", "order", "action")

    def __init__(self, at: int, order: int, action: Callable[[], None]) -> None:
        self.at, self.order = at, order
        self.action: Callable[[], None] | None = action

    def __lt__(self, other: Event) -> bool:
        """True if the event is cancelled: of two with equal keys, one replaces the other."""
        return self.action is None

    def cancel(self) -> None:
        self.action = None


class Lent(Protocol):
    """Events that C has (femtorque.hil.chip.lending)."""

    def fire(self, next_at: int, order: int) -> bool: ...

    def recall(self) -> None: ...


class Events:
    """The queue. `deadline` is the cycle at which execution must stop for it: the next event or the horizon.

    done: all events up to this cycle have happened; later ones wait for the end of the running block. order: number of
    the last planned event, here or in C; of events at one cycle the lower number is first.
    """

    def __init__(self) -> None:
        self._queue: list[tuple[int, int, Event]] = []
        self.order = library()[0].new("uint64_t *")
        self.lent: Lent | None = None
        self.now = self.done = 0  # kept by the owner of the clock
        self.deadline = NEVER

    def at(self, cycle: int, action: Callable[[], None]) -> Event:
        """Do `action` at `cycle` (never before now)."""
        self.order[0] += 1
        event = self.restore(max(int(cycle), self.now), self.order[0], action)
        self.deadline = min(self.deadline, event.at)
        return event

    def restore(self, at: int, order: int, action: Callable[[], None]) -> Event:
        """Plan an event again with its number."""
        event = Event(at, order, action)
        heapq.heappush(self._queue, (at, order, event))
        return event

    def after(self, cycles: int, action: Callable[[], None]) -> Event:
        return self.at(self.now + cycles, action)

    def attend(self) -> None:
        """Make execution stop at the next block for a change outside of the queue."""
        self.deadline = 0

    def next(self) -> int:
        """Cycle of the earliest event that is not cancelled."""
        while self._queue and self._queue[0][2].action is None:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else NEVER

    @property
    def next_order(self) -> int:
        """Number of that event."""
        return self._queue[0][1] if self._queue else 0

    def fire(self) -> None:
        """Do all actions that are due."""
        while True:
            at = self.next()
            if self.lent is not None and not self.lent.fire(at, self.next_order):
                continue
            if at > self.now:
                break
            action = heapq.heappop(self._queue)[2].action
            if action:
                action()
        self.done = self.now

    def rescale(self, old_hz: int, new_hz: int) -> None:
        """Scale pending events to another processor clock: their times in seconds stay."""
        if self.lent is not None:
            self.lent.recall()
        for entry in self._queue:
            entry[2].at = self.now + round((entry[0] - self.now) * new_hz / old_hz)
        self._queue = [(event.at, order, event) for _, order, event in self._queue]
        heapq.heapify(self._queue)
        self.attend()


class EventClock:
    """The queue in seconds, for parts outside of the chip. hz: of its cycles; seconds: now, since power-on."""

    def __init__(self, events: Events, hz: Callable[[], float], seconds: Callable[[], float]) -> None:
        self._events, self._hz, self._seconds = events, hz, seconds

    @property
    def seconds(self) -> float:
        return self._seconds()

    def after(self, seconds: float, action: Callable[[], None]) -> Event:
        return self._events.after(round(seconds * self._hz()), action)
