"""A DRV8301 gate driver, as its data sheet describes it (SLOS719): SPI, supply, over-current, fault line.

Frames have 16 bits; the answer to a read comes in the next frame. The interface sleeps, and loses its registers, while
EN_GATE is low. It loses them too while its supply PVDD is below the under-voltage lock-out, whatever EN_GATE is (TI e2e
184722: "CR1 and CR2 are reseted to default values ... the gain factor is reset to 10"). Over-current in mode 00 is
chopped, and reported on nOCTW alone (TI e2e 624720), which an ODrive does not wire to its processor (main.h); in mode
01 it is latched, and pulls nFAULT.
"""

from __future__ import annotations

from femtorque.hil.board.outside import Outside

STATUS_1, STATUS_2, CONTROL_1, CONTROL_2 = 0, 1, 2, 3
AFTER_RESET = {CONTROL_1: 0x400, CONTROL_2: 0x000}  # current limiting at 0.358 V; 10 V/V
DEVICE_ID = 0x01  # in status register 2
# status register 1
FAULT, GVDD_UV, PVDD_UV, OTSD, OTW = 1 << 10, 1 << 9, 1 << 8, 1 << 7, 1 << 6
FETHA_OC, FETLA_OC, FETHB_OC, FETLB_OC, FETHC_OC, FETLC_OC = (1 << bit for bit in (5, 4, 3, 2, 1, 0))
_OVER_CURRENT = 0x3F
GATE_RESET = 1 << 2  # of control register 1: clears latched faults
CHOPPED, LATCHED, REPORTED, IGNORED = 0, 1, 2, 3  # OCP_MODE, bits 5:4 of control register 1
GAINS = (10.0, 20.0, 40.0, 80.0)  # V/V, bits 3:2 of control register 2
UNDER_VOLTAGE = 5.9  # V of PVDD, at most
_LIFE = 3.0  # V of PVDD below which its 3.3 V regulator gives nothing: it pulls no line any more
_WAKE_S, _RESET_S = 10e-3, 20e-6
_MODE = 1  # data on the falling edge


class Drv8301(Outside):
    """registers: control 1 and 2. octw: true while nOCTW is pulled low, a line without a reader."""

    def __init__(self) -> None:
        self.registers = dict(AFTER_RESET)
        self.enabled, self._since = False, 0.0  # s: since when it wakes up, or has been asleep
        self._volts = 24.0
        self._under = 0  # of status 1, kept until it is read
        self._over_current = 0
        self._shut = False
        self.octw = False
        self._answer = 0
        self.deaf = False  # does not answer, as a broken chip

    # -- its pins -----------------------------------------------------------

    def enable(self, seconds: float, high: bool) -> None:
        """Set the level of EN_GATE. A short low pulse clears latched faults; a long one resets all registers."""
        if high == self.enabled:
            return
        if high:
            self._let_go()
            if seconds - self._since >= _RESET_S:
                self._reset()
        self.enabled, self._since = high, seconds

    def supply(self, seconds: float, volts: float) -> None:
        """Set the voltage of PVDD."""
        was_low, self._volts = self._volts < UNDER_VOLTAGE, volts
        if volts < UNDER_VOLTAGE:
            self._reset()
            self._let_go()
            self._under = FAULT | GVDD_UV | PVDD_UV
        elif was_low and self.enabled:
            self._since = seconds  # it powers up again

    def over_current(self, fets: int) -> None:
        """Report a drain-source voltage of these transistors (bits of status 1) above the set limit."""
        mode = self.registers[CONTROL_1] >> 4 & 3
        if mode == IGNORED:
            return
        self._over_current |= fets & _OVER_CURRENT
        self._shut = self._shut or mode == LATCHED
        self.octw = self.octw or mode != LATCHED

    @property
    def gain(self) -> float:
        """V/V of its shunt amplifiers."""
        return GAINS[self.registers[CONTROL_2] >> 2 & 3]

    def awake(self, seconds: float) -> bool:
        """True if its interface answers."""
        powered = self._volts >= UNDER_VOLTAGE and self.enabled
        return powered and seconds - self._since >= _WAKE_S and not self.deaf

    def settled(self, seconds: float) -> bool:
        """True if nothing changes any more with time alone."""
        return not self.enabled or seconds - self._since >= _WAKE_S

    def drives(self, seconds: float) -> bool:
        """True if its outputs follow its inputs; otherwise the bridges float."""
        return self.awake(seconds) and not self._shut

    def pulls_fault(self, seconds: float) -> bool:
        """True if it pulls nFAULT: with a fault, or while it powers up. Without any supply it cannot."""
        return self._volts >= _LIFE and self.enabled and not self.drives(seconds) and not self.deaf

    # -- its registers ------------------------------------------------------

    @property
    def effect(self) -> tuple[int, ...]:
        """Values that frames may change and that others depend on."""
        return int(self._shut), *self.registers.values()

    def forget(self) -> None:
        """Lose the control registers while the supply is good, as seen with a motor running (TI e2e 184722)."""
        self.registers = dict(AFTER_RESET)

    def _reset(self) -> None:
        self.registers, self._under = dict(AFTER_RESET), 0

    def _let_go(self) -> None:
        self._over_current, self._shut, self.octw = 0, False, False

    def _status_1(self) -> int:
        bits = self._under | self._over_current | (FAULT if self._shut else 0)
        self._under = 0
        if not self._shut:
            self._over_current = 0
        return bits

    def exchange(self, seconds: float, word: int, mode: int) -> int:
        """Answer of one frame in which `word` is received."""
        if not self.awake(seconds) or mode != _MODE:
            return 0
        answer, address, data = self._answer, word >> 11 & 15, word & 0x7FF
        self._answer = address << 11 | self._read(address) if word >> 15 else 0
        if not word >> 15 and address in self.registers:
            self.registers[address] = data & ~GATE_RESET if address == CONTROL_1 else data
            if address == CONTROL_1 and data & GATE_RESET:
                self._let_go()
        return answer

    def _read(self, address: int) -> int:
        if address == STATUS_1:
            return self._status_1()
        return DEVICE_ID if address == STATUS_2 else self.registers.get(address, 0)
