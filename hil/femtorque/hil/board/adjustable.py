"""Components outside of the chip that faults, scenarios and tests may change. Each calls a function after a change."""

from collections.abc import Callable
from typing import Any, SupportsIndex


class Adjustable:
    """An object whose public attributes may be set."""

    on_change: Callable[[], None] | None = None  # called after each change

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if not name.startswith("_") and self.on_change is not None:
            self.on_change()


class Values(list[float]):
    """A list of numbers whose elements may be set. The list's length is fixed."""

    on_change: Callable[[], None] | None = None  # called after each change

    def __setitem__(self, place: SupportsIndex | slice, value: Any) -> None:
        super().__setitem__(place, value)
        if self.on_change is not None:
            self.on_change()
