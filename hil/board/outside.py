"""Things outside of the chip that may be changed by hand at any time: by faults, scenarios and tests. Who goes on by
what they were is called then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex


class Outside:
    """A thing whose attributes may be set, but for those with an underscore. on_change: called then."""

    on_change: Callable[[], None] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if not name.startswith("_") and self.on_change is not None:
            self.on_change()


class Values(list[float]):
    """Numbers of which each may be set, as many as there are. on_change: called then."""

    on_change: Callable[[], None] | None = None

    def __setitem__(self, place: SupportsIndex | slice, value: Any) -> None:
        super().__setitem__(place, value)
        if self.on_change is not None:
            self.on_change()
