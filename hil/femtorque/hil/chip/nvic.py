"""Exceptions of an ARMv7-M processor: which are pending, enabled and active. The rules are in nvic.c."""

from collections.abc import Iterable
from typing import Any

from femtorque.hil.clock import Member, library

RESET, NMI, HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT, SVCALL, PENDSV, SYSTICK = 1, 2, 3, 4, 5, 6, 11, 14, 15
FIRST_IRQ = 16
_FAULTS = (MEM_MANAGE, BUS_FAULT, USAGE_FAULT)


class Nvic:
    """The interrupt controller, whose state is in C. pending, enabled, priority: states by exception number. lines:
    interrupt requests that peripherals assert, by exception number. The chip implements the upper four of a priority's
    8 bits. group_shift: AIRCR.PRIGROUP."""

    group_shift = Member(int, "_state")

    def __init__(self, state: Any) -> None:
        self._ffi, self._lib = library()
        self._state, self._at = state, self._ffi.addressof(state)
        self.pending, self.enabled, self.lines, self.priority = (
            self._ffi.buffer(part) for part in (state.pending, state.enabled, state.lines, state.priority))
        self.reset()

    def reset(self) -> None:
        self._ffi.memmove(self._at, bytes(self._ffi.sizeof("nvic")), self._ffi.sizeof("nvic"))
        for number in (NMI, HARD_FAULT, SVCALL, PENDSV, SYSTICK):
            self._state.enabled[number] = 1

    @property
    def active(self) -> list[int]:
        """Active exceptions; the innermost is last."""
        return list(self._state.active[0:self._state.depth])

    def pend(self, number: int, pending: bool = True) -> None:
        self._state.pending[number] = pending

    def enable(self, number: int, enabled: bool = True) -> None:
        self._state.enabled[number] = enabled

    def prioritise(self, number: int, priority: int) -> None:
        self._state.priority[number] = priority & 0xF0  # four bits are implemented

    def unpend(self, numbers: Iterable[int]) -> None:
        """Clear pending exceptions. An asserted request whose exception is not active stays pending."""
        active = self.active
        for number in numbers:
            self._state.pending[number] = self._state.lines[number] and number not in active

    def line(self, irq: int, asserted: bool) -> None:
        """Assert or clear the interrupt request of a peripheral."""
        self._lib.nvic_line(self._at, irq, asserted)

    def group(self, number: int) -> int:
        """Return the preemption part of a priority."""
        return int(self._lib.nvic_group(self._at, number))

    @property
    def control(self) -> int:
        """The register ICSR."""
        return int(self._lib.nvic_control(self._at))

    @control.setter
    def control(self, value: int) -> None:
        self._lib.nvic_set(self._at, value)

    def escalate(self, fault: int, level: int) -> int:
        """Return the exception that a synchronous fault raises at the execution priority `level`."""
        if fault in _FAULTS and (not self._state.enabled[fault] or self.group(fault) >= level):
            return HARD_FAULT
        return fault
