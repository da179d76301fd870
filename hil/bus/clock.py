"""The time that a bus lives in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Handle(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """seconds: now. after: do something that many seconds later."""

    @property
    def seconds(self) -> float: ...

    def after(self, seconds: float, action: Callable[[], None]) -> Handle: ...
