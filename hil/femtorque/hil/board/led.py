"""The LED of a board, which shows the board's state."""

from femtorque.codegen.board import Board
from femtorque.hil.board.bridges import pin_of
from femtorque.hil.chip import Stm32


class Led:
    """The LED. The LED is dark if the board has no LED, or while its pin is not an output."""

    def __init__(self, board: Board, chip: Stm32) -> None:
        self._wired = (*pin_of(chip, board.led.pin), board.led.on == "high") if board.led else None
        if self._wired:
            self._wired[0].asked |= 1 << self._wired[1]

    @property
    def lit(self) -> bool:
        if self._wired is None:
            return False
        port, pin, on = self._wired
        return port.mode(pin) == 1 and port.driven(pin) == on
