"""State that links lend to C (link.c), which does their repeated work while nobody looks.

A model lends its state before the processor runs, if it is in a usual condition. Python code that reads or changes the
state takes it back first (`recall`); later it is lent again. So a model need not know what C does, and tests compare
both: with `Bus.answers` off nothing is ever lent.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, Protocol

from femtorque.hil.chip.events import NEVER, Event, Events
from femtorque.hil.chip.registers import Bus, Peripheral


class Lender(Protocol):
    """lend: fills in the C's state; returns true if it did. again: else, the cycle from which to ask again."""

    again: int

    def lend(self, lending: Lending) -> bool: ...

    def recall(self) -> None: ...


class Lending:
    """state: in C."""

    def __init__(self, bus: Bus, events: Events) -> None:
        self._bus, self._events, self._parts = bus, events, events.parts
        self._lib = self._parts.lib
        self.state = self._parts.state
        self._lenders: list[Lender] = []
        self._out: list[Lender] = []
        self._again = 0
        self._parts.hear("LINK_FULL", 0, lambda value: self.recall())

    def add(self, lender: Lender) -> None:
        self._lenders.append(lender)

    def lend(self) -> None:
        """Have models lend before the processor runs."""
        now = self._events.now
        if not self._bus.answers:
            return
        while self._again <= now:  # one that lends may enable another to
            for lender in self._lenders:
                if lender not in self._out and lender.again <= now and lender.lend(self):
                    self._out.append(lender)
            self._again = min((lender.again for lender in self._lenders if lender not in self._out), default=NEVER)

    def returned(self, lender: Lender) -> None:
        """Note that a lender has taken back its state."""
        self._out.remove(lender)
        self.state.attend = True
        self.ask(lender)

    def ask(self, lender: Lender) -> None:
        """Ask a lender again before the processor runs."""
        lender.again = self._again = 0

    def recall(self) -> None:
        """Let all lenders take back their state."""
        for lender in tuple(self._out):
            lender.recall()

    # -- what is due ----------------------------------------------------------

    def give(self, due: Any, event: Event | None) -> None:
        """Pass a planned event on to C."""
        due.armed = event is not None
        if event is not None:
            due.at, due.order = event.at, event.order
            event.cancel()

    def take(self, due: Any, action: Callable[[], None]) -> Event | None:
        """Plan an event here that C had."""
        event = self._events.restore(due.at, due.order, action) if due.armed else None
        due.armed = 0
        return event

    # -- the link -------------------------------------------------------------

    def line_in(self, data: bytes) -> bool:
        """Pass bytes on to the lent link; False if there is no room for them."""
        return bool(self._lib.link_line_in(self.state, data, len(data)))

    def line_out(self) -> bool:
        """Collect the lent link's sent bytes in `out`; False if there is no room for them."""
        return bool(self._lib.link_line_out(self.state))

    def memory(self, address: int, size: int, writable: bool) -> Any:
        """Pointer to a range of memory in C; NULL if there is none."""
        return self._lib.core_memory(self.state.core, address, size, writable)

    # -- registers ------------------------------------------------------------

    def place(self, peripheral: Peripheral, offset: int, what: int | None = None, index: int = 0) -> Any:
        """A register's place in the bus; what, index: the link's register, and the stream that it belongs to."""
        place = self._bus.place(peripheral.base + offset)
        if what is not None:
            place.kind = self._lib.OF_A_PART
            place.value = self._lib.THE_LINK << self._lib.KIND | index << self._lib.NUMBER | what
        return place

    def what(self, name: str) -> int:
        """A constant of the C by name."""
        return int(getattr(self._lib, name))


class Lendable(Peripheral):
    """A peripheral that lends. `_value` has its registers as they stand in Python; `value` takes them back first."""

    lending: Lending | None = None
    again = 0
    out = False

    @property
    def value(self) -> MutableMapping[str, int]:
        if self.out:
            self.recall()
        return self._value

    @value.setter
    def value(self, value: MutableMapping[str, int]) -> None:
        self._value = value

    def lend(self, lending: Lending) -> bool:
        self.forget()
        self._places: list[Any] = []
        self.out = self._lend(lending)
        self.again = 0 if self.out else NEVER  # a write asks again
        return self.out

    def _lend(self, lending: Lending) -> bool:
        raise NotImplementedError

    def _take_back(self, lending: Lending) -> None:
        raise NotImplementedError

    def recall(self) -> None:
        """Take back what is lent."""
        if not self.out:
            return
        assert self.lending is not None
        self.out = False
        for place in self._places:
            place.kind = 0
        self._take_back(self.lending)
        self.lending.returned(self)

    def forget(self, *keys: str) -> None:
        self.recall()
        super().forget(*keys)

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        self.touched()

    def touched(self) -> None:
        """Ask to lend again."""
        if self.lending is not None and not self.out:
            self.lending.ask(self)
