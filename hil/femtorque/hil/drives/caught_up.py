"""The common part of drives and servos: they bring the plant, and with it their motor, to now before they act."""

from collections.abc import Callable
from typing import Any

import cffi

from femtorque.hil.clock import ChipState


class CaughtUp:
    """A part whose struct in C has `catch_up`, and its argument `of`."""

    def _caught_up_in(self, struct: Any, ffi: cffi.FFI, parts: ChipState) -> None:
        """Name that struct, before anything else is set."""
        self._struct, self._of_struct, self._whose = struct, ffi, parts

    @property
    def catch_up(self) -> Callable[[], None]:
        """Bring the plant, and with it the motor, to now."""
        return self._catch_up

    @catch_up.setter
    def catch_up(self, call: Callable[[], None]) -> None:
        self._catch_up = call
        self._caught = self._of_struct.callback("void(void *)", lambda of: call(), onerror=self._whose.refuse)
        self._struct.catch_up = self._caught

    def catch_up_in_c(self, call: Callable[[], None], address: int, of: int) -> None:
        """Catch up by C, which does the same as `call`: addresses of a function and of its argument."""
        self._catch_up = call
        self._struct.catch_up = self._of_struct.cast("void (*)(void *)", address)
        self._struct.of = self._of_struct.cast("void *", of)
