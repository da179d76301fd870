"""A DRV8301 gate driver, modelled on its data sheet (SLOS719): SPI, supply, over-current and fault line.

Frames have 16 bits. The answer to a read comes in the next frame. While EN_GATE is low, the driver sleeps and its
registers lose their values. The driver also loses its registers while its supply PVDD is below the under-voltage
lock-out, whether EN_GATE is high or low (TI e2e 184722: "CR1 and CR2 are reseted to default values ... the gain factor
is reset to 10"). OCP mode 00 limits an over-current cycle by cycle and reports it only on nOCTW (TI e2e 624720). An
ODrive does not wire nOCTW to its processor (main.h). OCP mode 01 latches an over-current and pulls nFAULT low.
"""

from femtorque.hil.board.adjustable import Adjustable
from femtorque.hil.board.coupled import library
from femtorque.hil.clock import Member

CONTROL_1, CONTROL_2 = 2, 3
AFTER_RESET = {CONTROL_1: 0x400, CONTROL_2: 0x000}  # current limit at 0.358 V; 10 V/V
# status register 1
FAULT, GVDD_UV, PVDD_UV, OTSD, OTW = 1 << 10, 1 << 9, 1 << 8, 1 << 7, 1 << 6
FETHA_OC, FETLA_OC, FETHB_OC, FETLB_OC, FETHC_OC, FETLC_OC = (1 << bit for bit in (5, 4, 3, 2, 1, 0))
_OVER_CURRENT = 0x3F
CHOPPED, LATCHED, REPORTED, IGNORED = 0, 1, 2, 3  # OCP_MODE, bits 5:4 of control register 1
GAINS = (10.0, 20.0, 40.0, 80.0)  # gain of the shunt amplifiers, V/V, by bits 3:2 of control register 2
UNDER_VOLTAGE = 5.9  # maximum voltage of PVDD, V
_LIFE = 3.0  # minimum PVDD, V; with less, the driver has no 3.3 V supply and pulls no line low
_WAKE_S, _RESET_S = 10e-3, 20e-6


class Drv8301(Adjustable):
    """A gate driver. C (drv8301.c) has its state and answers its frames. enabled: EN_GATE is high. octw: nOCTW is low;
    no board reads it. deaf: the driver does not answer, like a broken chip."""

    enabled, octw, deaf = (Member(bool, "_state") for _ in range(3))

    def __init__(self) -> None:
        ffi, self._lib = library()
        self._state = ffi.new("drv8301 *", {"volts": 24.0})
        self.forget()

    @property
    def address(self) -> int:
        """Address of the state in C."""
        return int(library()[0].cast("uintptr_t", self._state))

    @property
    def registers(self) -> dict[int, int]:
        """Control registers 1 and 2."""
        return {number: int(self._state.registers[number]) for number in AFTER_RESET}

    @registers.setter
    def registers(self, values: dict[int, int]) -> None:
        for number, value in values.items():
            self._state.registers[number] = value

    # -- its pins -----------------------------------------------------------

    def enable(self, seconds: float, high: bool) -> None:
        """Set the level of EN_GATE. A short low pulse clears latched faults; a long low pulse resets all registers."""
        if high == self.enabled:
            return
        if high:
            self._lib.drv8301_let_go(self._state)
            if seconds - self._state.since >= _RESET_S:
                self._reset()
        self._state.enabled, self._state.since = high, seconds

    def supply(self, seconds: float, volts: float) -> None:
        """Set the voltage of PVDD."""
        was_low, self._state.volts = self._state.volts < UNDER_VOLTAGE, volts
        if volts < UNDER_VOLTAGE:
            self._reset()
            self._lib.drv8301_let_go(self._state)
            self._state.under = FAULT | GVDD_UV | PVDD_UV
        elif was_low and self.enabled:
            self._state.since = seconds  # it powers up again

    def over_current(self, fets: int) -> None:
        """Apply a drain-source voltage above the limit to some transistors. fets: bits of status register 1."""
        mode = self.registers[CONTROL_1] >> 4 & 3
        if mode == IGNORED:
            return
        self._state.over_current |= fets & _OVER_CURRENT
        self._state.shut |= mode == LATCHED
        self._state.octw |= mode != LATCHED

    @property
    def gain(self) -> float:
        """gain of its shunt amplifiers, V/V"""
        return GAINS[self.registers[CONTROL_2] >> 2 & 3]

    def settled(self, seconds: float) -> bool:
        """Return true if the state of the driver does not change with time."""
        return not self.enabled or seconds - self._state.since >= _WAKE_S

    def drives(self, seconds: float) -> bool:
        """Return true if the driver's outputs follow its inputs; otherwise the bridges float."""
        return bool(self._lib.drv8301_awake(self._state, seconds)) and not self._state.shut

    def pulls_fault(self, seconds: float) -> bool:
        """Return true if the driver pulls nFAULT low, for a fault or while it powers up with supply."""
        return self._state.volts >= _LIFE and self.enabled and not self.drives(seconds) and not self.deaf

    # -- its registers ------------------------------------------------------

    def forget(self) -> None:
        """Reset the control registers although the supply is good, as observed with a running motor (TI e2e 184722)."""
        for number, value in AFTER_RESET.items():
            self._state.registers[number] = value

    def _reset(self) -> None:
        self.forget()
        self._state.under = 0

    def exchange(self, seconds: float, word: int, mode: int) -> int:
        """Return the driver's answer in the frame that transfers `word`."""
        return int(self._lib.drv8301_exchange(self._state, seconds, word, mode))
