"""Garbage collection put off where much is made that refers to itself, and little of it dropped."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def put_off() -> Iterator[None]:
    """Collect no cycles in the meantime: looking for them, again and again, would take 40 % of a search's time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
