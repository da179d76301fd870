"""Drives and servos simulate the plant and their motor up to the present time before they act."""

from collections.abc import Callable
from typing import Any

import cffi

from femtorque.hil.clock import ChipState


class CaughtUp:
    """A component with a C struct. The struct has a function pointer `catch_up` and this function's argument `of`."""

    def _caught_up_in(self, struct: Any, ffi: cffi.FFI, parts: ChipState) -> None:
        """Set the C struct. Call this function before any other member is set."""
        self._struct, self._of_struct, self._whose = struct, ffi, parts

    @property
    def catch_up(self) -> Callable[[], None]:
        """Simulate the plant and the motor up to the present time."""
        return self._catch_up

    @catch_up.setter
    def catch_up(self, call: Callable[[], None]) -> None:
        self._catch_up = call
        self._caught = self._of_struct.callback("void(void *)", lambda of: call(), onerror=self._whose.refuse)
        self._struct.catch_up = self._caught

    def catch_up_in_c(self, call: Callable[[], None], address: int, of: int) -> None:
        """Register a C function that does the same as `call`. address, of: of the function and its argument."""
        self._catch_up = call
        self._struct.catch_up = self._of_struct.cast("void (*)(void *)", address)
        self._struct.of = self._of_struct.cast("void *", of)
