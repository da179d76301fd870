"""What is to be done to a board at some time to come."""

from __future__ import annotations

import math
from collections.abc import Callable


class Agenda:
    """Actions in the order of their times; of equal ones, in that in which they were planned."""

    def __init__(self) -> None:
        self._planned: list[tuple[float, Callable[[], None]]] = []

    def add(self, seconds: float, action: Callable[[], None]) -> None:
        self._planned.append((seconds, action))
        self._planned.sort(key=lambda planned: planned[0])

    def run(self, seconds: float) -> None:
        """Do all that is due by then, what is added meanwhile included."""
        while self.next <= seconds:
            self._planned.pop(0)[1]()

    @property
    def next(self) -> float:
        """When the first of them is due; infinity without any."""
        return self._planned[0][0] if self._planned else math.inf
