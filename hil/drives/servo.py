"""Interface of a virtual servo on a half-duplex wire to the board around it: wire, motor, supply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from femtorque.hil.bus import half_duplex


class Servo(half_duplex.Servo, Protocol):
    """catch_up: brings the plant, and with it the motor, to now. cut: its wire is off, its supply is not. supplied: its
    own branch of the supply is whole. late: s by which answers are late. volts: V of its supply, as C reads it. driven:
    s when it last gave its motor a voltage; -inf: never. least_supply: V below which it is off. hot_code: its error of
    a winding that is too hot. on_change: called when it is switched, and when its supply is cut or made whole."""

    catch_up: Callable[[], None]
    cut: bool
    supplied: bool
    late: float
    volts: float
    driven: float
    least_supply: float
    on_change: Callable[[], None]

    @property
    def powered(self) -> bool: ...

    @property
    def driving(self) -> bool:
        """True if its bridge is on."""

    @property
    def turning(self) -> bool:
        """True if it gives its motor a voltage."""

    @property
    def hot_code(self) -> int: ...

    @property
    def in_c(self) -> tuple[int, int, int] | None:
        """Addresses of functions in C that do the same as `terminal` and `driving`, and of its state (bus_steps.h);
        None without them."""

    def power_up(self, angle: float) -> None:
        """Switch it on while its output stands at an angle, rad."""

    def power_off(self) -> None: ...

    def fail(self, code: int) -> None:
        """Bring about one of its own errors."""

    def terminal(self, now: float, angle: float, velocity: float, current: float) -> float:
        """V at its motor from now on, NaN where it floats. angle, velocity: of its output; current: A of its motor."""
