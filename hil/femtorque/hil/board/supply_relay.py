"""The relay in the servos' supply. A pin of the board closes it, except in reset or without power. Omron's G5LE-1 takes
at most 10 ms to operate and 5 ms to release (data sheet K100). The servos' capacitors are not modelled, so the servos
are off at once."""

from femtorque.codegen.board import Board
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.board.bridges import pin_of
from femtorque.hil.chip import Stm32

OPERATE_S, RELEASE_S = 10e-3, 5e-3


class SupplyRelay:
    """The relay. If the board has no relay, servos and motors share one supply, and it is always closed."""

    def __init__(self, board: Board, chip: Stm32, mechanism: Mechanism) -> None:
        there = board.cutoff is not None and mechanism.safety.cutoff is not None
        self._pin = pin_of(chip, board.cutoff.pin) if there and board.cutoff else None
        self._chip = chip
        # the last command, true to close; its time, s; and true if the relay was closed then
        self._commanded, self._since, self._was = False, 0.0, False

    @property
    def closed(self) -> bool:
        """True if the relay conducts now."""
        if self._pin is None:
            return True
        now, (port, pin) = self._chip.seconds, self._pin
        commanded = port.driven(pin)
        if commanded != self._commanded:
            begin = now if self._chip.powered else self._chip.unpowered_at  # the pin is read after the power loss
            self._was = self._at(begin)
            self._commanded, self._since = commanded, begin
        return self._at(now)

    @property
    def settled(self) -> bool:
        """True if the relay has had time to follow its pin."""
        if self._pin is None:
            return True
        port, pin = self._pin
        commanded, since = port.driven(pin), self._chip.seconds - self._since
        return commanded == self._commanded and since >= max(OPERATE_S, RELEASE_S)

    def _at(self, seconds: float) -> bool:
        """Return true if the relay conducts at a time, s, according to the last command."""
        return self._commanded if seconds - self._since >= (OPERATE_S if self._commanded else RELEASE_S) else self._was
