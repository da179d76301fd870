"""The holding brakes of an arm. Springs close the brakes. A pin opens the brakes, except while the chip is in reset."""

import math

from femtorque.codegen.board import Board
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.board.bridges import pin_of
from femtorque.hil.chip import Stm32


class HoldingBrakes:
    """The brakes. Without brakes in the board or the mechanism, the brakes are never closed."""

    def __init__(self, board: Board, chip: Stm32, mechanism: Mechanism) -> None:
        self._output, self._times = board.brake, mechanism.safety.brake
        self._pin = pin_of(chip, board.brake.pin) if board.brake else None
        self._commanded, self._moved = False, -math.inf  # the last command, true to open; its time, s

    @property
    def there(self) -> bool:
        return self._output is not None and self._pin is not None and self._times is not None

    def closed(self, seconds: float) -> bool:
        """Return true if the brakes hold the joints at a time, s."""
        if not self.there:
            return False
        commanded = self._is_commanded()
        if commanded != self._commanded:
            was_closed = self._closed_by(seconds)
            self._commanded = commanded
            self._moved = seconds if was_closed == commanded else -math.inf  # a reversed brake motion ends immediately
        return self._closed_by(seconds)

    def settled(self, seconds: float) -> bool:
        """Return true if the brakes have completed their last command, so that only a new command moves them."""
        if not self.there:
            return True
        assert self._times is not None
        takes = self._times.release_s if self._commanded else self._times.engage_s
        return self._is_commanded() == self._commanded and seconds - self._moved >= takes

    def _is_commanded(self) -> bool:
        """Return true if the output pin commands the brakes to open."""
        assert self._output is not None and self._pin is not None
        port, pin = self._pin
        return port.mode(pin) == 1 and port.driven(pin) == (self._output.release == "high")

    def _closed_by(self, seconds: float) -> bool:
        """Return true if the brakes are closed at a time, s, according to the last command."""
        assert self._times is not None
        since = seconds - self._moved
        return since < self._times.release_s if self._commanded else since >= self._times.engage_s
