"""Exceptions of an ARMv7-M processor: which are pending, enabled, active, and which one comes next."""

from __future__ import annotations

RESET, NMI, HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT, SVCALL, PENDSV, SYSTICK = 1, 2, 3, 4, 5, 6, 11, 14, 15
FIRST_IRQ = 16
EXCEPTIONS = FIRST_IRQ + 128
_FIXED = {RESET: -3, NMI: -2, HARD_FAULT: -1}
_FAULTS = (MEM_MANAGE, BUS_FAULT, USAGE_FAULT)
THREAD = 256  # execution priority of thread mode: lower than any exception


class Nvic:
    """The state and the rules. Priorities are the 8-bit fields; the chip implements their upper four bits."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.pending: set[int] = set()
        self.lines: set[int] = set()  # interrupt requests that peripherals hold asserted
        self.active: list[int] = []  # innermost last
        self.enabled = {NMI, HARD_FAULT, SVCALL, PENDSV, SYSTICK}
        self.priority = [0] * EXCEPTIONS
        self.group_shift = 0  # AIRCR.PRIGROUP

    def pend(self, number: int) -> None:
        self.pending.add(number)

    def line(self, irq: int, asserted: bool) -> None:
        """A peripheral drives its interrupt request."""
        number = FIRST_IRQ + irq
        if not asserted:
            self.lines.discard(number)
        elif number not in self.lines:
            self.lines.add(number)
            if number not in self.active:
                self.pending.add(number)

    def group(self, number: int) -> int:
        """The part of the priority that decides preemption."""
        if number in _FIXED:
            return _FIXED[number]
        return self.priority[number] >> (self.group_shift + 1) << (self.group_shift + 1)

    def running(self, primask: int = 0, basepri: int = 0, faultmask: int = 0) -> int:
        """Execution priority: only an exception with a smaller group priority preempts."""
        level = min((self.group(number) for number in self.active), default=THREAD)
        if basepri:
            level = min(level, basepri >> (self.group_shift + 1) << (self.group_shift + 1))
        if primask:
            level = min(level, 0)
        return min(level, -1) if faultmask else level

    def candidate(self) -> int | None:
        """The pending, enabled exception that would be taken first."""
        ready = self.pending & self.enabled
        if not ready:
            return None
        return min(ready, key=lambda n: (_FIXED.get(n, self.priority[n]), n))

    def enter(self, number: int) -> None:
        self.pending.discard(number)
        self.active.append(number)

    def leave(self) -> int:
        number = self.active.pop()
        if number in self.lines:
            self.pending.add(number)
        return number

    def escalate(self, fault: int, level: int) -> int:
        """The exception that a synchronous fault raises at execution priority `level`."""
        if fault in _FAULTS and (fault not in self.enabled or self.group(fault) >= level):
            return HARD_FAULT
        return fault
