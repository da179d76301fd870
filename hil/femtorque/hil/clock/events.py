"""Simulated time: a queue of events, ordered by processor cycle."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from femtorque.hil.clock.chip_state import ChipState, Member

NEVER = 1 << 62


class Event:
    """A planned action. A cancelled event stays in the queue without effect."""

    __slots__ = ("at", "order", "action")

    def __init__(self, at: int, order: int, action: Callable[[], None]) -> None:
        self.at, self.order = at, order
        self.action: Callable[[], None] | None = action

    def __lt__(self, other: Event) -> bool:
        """Return true if the event is cancelled. Events with equal keys replace each other, so one is cancelled."""
        return self.action is None

    def cancel(self) -> None:
        self.action = None


class Events:
    """Python's queue of events. C has the queue of the peripherals' events. One sequence of numbers in both queues
    orders events at the same cycle. deadline: cycle at which execution must stop. now: the present cycle, which the
    queue's owner advances. done: all events up to this cycle are handled; later events wait until the block ends."""

    now, deadline = Member(int, "_count"), Member(int, "_count")
    done = Member(int, "_count", "began")

    def __init__(self, parts: ChipState | None = None) -> None:
        self._queue: list[tuple[int, int, Event]] = []
        self.parts = ChipState() if parts is None else parts
        self._count, self._state = self.parts.count, self.parts.state
        self._count.deadline = NEVER

    def at(self, cycle: int, action: Callable[[], None]) -> Event:
        """Schedule an action at a cycle, or now if the cycle is in the past."""
        self._state.order += 1
        event = Event(max(int(cycle), self.now), self._state.order, action)
        heapq.heappush(self._queue, (event.at, event.order, event))
        self._stop(event.at)
        return event

    def _stop(self, cycle: int) -> None:
        self._count.deadline, self._state.attend = min(self._count.deadline, cycle), 1

    def after(self, cycles: int, action: Callable[[], None]) -> Event:
        return self.at(self.now + cycles, action)

    def attend(self) -> None:
        """Stop execution at the next block, because a condition outside of the queue has changed."""
        self._stop(0)

    def next(self) -> int:
        """Return the cycle of the earliest event."""
        return min(self.next_here(), self.parts.lib.parts_next(self._state))

    def next_here(self) -> int:
        """Return the cycle of the earliest event in Python's queue."""
        while self._queue and self._queue[0][2].action is None:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else NEVER

    @property
    def next_order(self) -> int:
        """Number of the earliest event in the Python queue."""
        return self._queue[0][1] if self._queue else 0

    def fire(self) -> None:
        """Do all due actions."""
        while True:
            at = self.next_here()
            if self.parts.do("parts_fire", at, self.next_order):
                continue
            if at > self.now:
                break
            action = heapq.heappop(self._queue)[2].action
            if action:
                action()
        self._count.began = self.now

    def rescale(self, old_hz: int, new_hz: int) -> None:
        """Convert the cycles of pending events to another processor clock. The events keep their times in seconds."""
        for entry in self._queue:
            entry[2].at = self._rescaled(entry[0], old_hz, new_hz)
        for due in self.parts.due():
            due.at = self._rescaled(due.at, old_hz, new_hz) if due.armed else due.at
        self.parts.do("task_sort")
        self._queue = [(event.at, order, event) for _, order, event in self._queue]
        heapq.heapify(self._queue)
        self.attend()

    def _rescaled(self, at: int, old_hz: int, new_hz: int) -> int:
        return self.now + round((at - self.now) * new_hz / old_hz)


class EventClock:
    """The event queue in seconds, for components outside of the chip. seconds: time since power-on."""

    def __init__(self, events: Events) -> None:
        self._events, self.parts = events, events.parts

    @property
    def seconds(self) -> float:
        return float(self.parts.lib.parts_seconds(self.parts.state))

    def after(self, seconds: float, action: Callable[[], None]) -> Event:
        return self._events.after(round(seconds * self.parts.state.hz), action)


class OwnClock(EventClock):
    """A clock for buses without a chip, in steps of 1e-12 s. Time passes only in `run`."""

    def __init__(self) -> None:
        super().__init__(Events())
        self.parts.state.hz, self.parts.stop = 1e12, self._events.attend

    def run(self, seconds: float) -> None:
        """Let a number of seconds pass."""
        until = self._events.now + round(seconds * self.parts.state.hz)
        self._act(until)
        self._events.now = until

    def settle(self, most: float) -> None:
        """Let time pass until nothing is planned, or for `most` seconds at most."""
        self._act(self._events.now + round(most * self.parts.state.hz))

    def _act(self, until: int) -> None:
        """Do all actions up to a cycle."""
        events = self._events
        while True:
            at = events.next_here()
            if self.parts.do("parts_run", until, at):
                continue
            if at > until:
                break
            events.now = at
            events.fire()
