"""A DRV8301 gate driver as its data sheet describes its SPI (SLOS719): 16-bit frames, the answer to a read comes in the
frame after it; the interface sleeps, and forgets, while EN_GATE is low."""

from __future__ import annotations

CONTROL_1, CONTROL_2 = 2, 3
DEVICE_ID = 0x01  # status register 2
_WAKE_S, _RESET_S = 10e-3, 20e-6
_MODE = 1  # data on the falling edge


class Drv8301:
    """registers: control 1 and 2. tell(s, enabled): how EN_GATE moves."""

    def __init__(self) -> None:
        self.registers = {CONTROL_1: 0, CONTROL_2: 0}
        self.enabled, self._since = False, 0.0
        self._answer = 0
        self.deaf = False  # does not answer: a broken one

    def enable(self, seconds: float, high: bool) -> None:
        """EN_GATE takes a level."""
        if high == self.enabled:
            return
        if high and seconds - self._since >= _RESET_S:
            self.registers = {CONTROL_1: 0, CONTROL_2: 0}
        self.enabled, self._since = high, seconds

    def awake(self, seconds: float) -> bool:
        return self.enabled and seconds - self._since >= _WAKE_S and not self.deaf

    def exchange(self, seconds: float, word: int, mode: int) -> int:
        """One frame: what comes back while `word` goes in."""
        if not self.awake(seconds) or mode != _MODE:
            return 0
        answer, address, data = self._answer, word >> 11 & 15, word & 0x7FF
        if word >> 15:
            self._answer = address << 11 | {0: 0, 1: DEVICE_ID}.get(address, self.registers.get(address, 0))
        else:
            if address in self.registers:
                self.registers[address] = data
            self._answer = 0
        return answer
