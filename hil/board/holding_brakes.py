"""The holding brakes of an arm at a pin of its board. Their springs close them whenever nothing opens them, a chip in
reset included."""

from __future__ import annotations

import math

from femtorque.codegen.board import description
from femtorque.codegen.mechanism.description import Mechanism
from femtorque.hil.board.bridges import pin_of
from femtorque.hil.chip.stm32.chip import Stm32


class HoldingBrakes:
    """They are never closed where board or mechanism has none."""

    def __init__(self, board: description.Board, chip: Stm32, mechanism: Mechanism) -> None:
        self._output, self._times = board.brake, mechanism.safety.brake
        self._pin = pin_of(chip, board.brake.pin) if board.brake else None
        self._commanded, self._moved = False, -math.inf  # whether they are told to open, and since when

    @property
    def there(self) -> bool:
        return self._output is not None and self._pin is not None and self._times is not None

    def closed(self, seconds: float) -> bool:
        """Whether they hold."""
        if not self.there:
            return False
        commanded = self._is_commanded()
        if commanded != self._commanded:
            was_closed = self._closed_by(seconds)
            self._commanded = commanded
            self._moved = seconds if was_closed == commanded else -math.inf  # turned round on its way: it is there
        return self._closed_by(seconds)

    def settled(self, seconds: float) -> bool:
        """Whether they are where they were told to be, and stay there until they are told otherwise."""
        if not self.there:
            return True
        assert self._times is not None
        takes = self._times.release_s if self._commanded else self._times.engage_s
        return self._is_commanded() == self._commanded and seconds - self._moved >= takes

    def _is_commanded(self) -> bool:
        """Whether their output tells them to open."""
        assert self._output is not None and self._pin is not None
        port, pin = self._pin
        return port.mode(pin) == 1 and port.driven(pin) == (self._output.release == "high")

    def _closed_by(self, seconds: float) -> bool:
        """Whether they are closed at a time, their output being as it was last seen."""
        assert self._times is not None
        since = seconds - self._moved
        return since < self._times.release_s if self._commanded else since >= self._times.engage_s
