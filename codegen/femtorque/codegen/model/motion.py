"""Motions and forces as functions of time."""

from typing import Protocol

from numpy.typing import ArrayLike

from femtorque.codegen.common import Array


class Timed(Protocol):
    """A motion or a force as a function of time, with its first two derivatives."""

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return value, velocity, acceleration, (..., n) each, at times t (...) s, in rad or m, per s, per s^2."""
        ...


class Motion(Timed, Protocol):
    """A motion that is known at every time, for example a Trajectory."""

    def middles(self, ticks: int, dt: float) -> Array:
        """Return positions (ticks + 2, n) at the middles of the ticks, and of one tick before and one after them."""
        ...
