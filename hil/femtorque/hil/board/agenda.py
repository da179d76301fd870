"""Actions on a board that are scheduled for a later time."""

import math
from collections.abc import Callable


class Agenda:
    """Actions in the order of their times. Actions for equal times run in the order in which they were added."""

    def __init__(self) -> None:
        self._planned: list[tuple[float, Callable[[], None]]] = []

    def add(self, seconds: float, action: Callable[[], None]) -> None:
        self._planned.append((seconds, action))
        self._planned.sort(key=lambda planned: planned[0])

    def run(self, seconds: float) -> None:
        """Perform all actions that are due at a time, s, including actions that are added meanwhile."""
        while self.next <= seconds:
            self._planned.pop(0)[1]()

    @property
    def next(self) -> float:
        """Time of the first action, s; infinity without an action."""
        return self._planned[0][0] if self._planned else math.inf
