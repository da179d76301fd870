"""State that models lend to C (lent.c), which does their repeated work while nobody looks.

A model lends its state before the processor runs, if it is in a usual condition. Python code that reads or changes the
state takes it back first (`recall`); later it is lent again. So a model need not know what C does, and tests compare
both: with `Bus.answers` off nothing is ever lent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from femtorque.hil.chip.core_library import library
from femtorque.hil.chip.events import NEVER, Event, Events
from femtorque.hil.chip.registers import Bus, Peripheral

_WHAT = 8  # LENT_WHAT of lent.h


class Lender(Protocol):
    """lend: fills in the C's state; returns true if it did. again: else, the cycle from which to ask again."""

    again: int

    def lend(self, lending: Lending) -> bool: ...

    def recall(self) -> None: ...


class Lending:
    """state: in C. whole: true if the board around the chip lends, too; otherwise timers and converters keep their
    state, because the plant waits for them in Python."""

    def __init__(self, core: Any, bus: Bus, events: Events, check: Callable[[], None]) -> None:
        self._ffi, self._lib = library()
        self._core, self._bus, self._events, self._check = core, bus, events, check
        self.state = self._ffi.new("lent *", {"core": core, "order": events.order})
        self.whole = False
        self._lenders: list[Lender] = []
        self._out: list[Lender] = []
        self._again = 0
        core.lent = self.state
        events.lent = self

    def add(self, lender: Lender) -> None:
        self._lenders.append(lender)

    @property
    def now(self) -> int:
        return self._events.now

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
        self._core.attend = True
        self.ask(lender)

    def ask(self, lender: Lender) -> None:
        """Ask a lender again before the processor runs."""
        lender.again = self._again = 0

    def recall(self) -> None:
        """Let all lenders take back their state."""
        for lender in tuple(self._out):
            lender.recall()

    # -- what is due ----------------------------------------------------------

    def function(self, name: str) -> int:
        """Address of a function in C."""
        return int(self._ffi.cast("uintptr_t", getattr(self._lib, name)))

    def lend_board(self, board: int, ways: dict[str, int]) -> None:
        """Connect the board's side in C, at an address, through these functions; 0: it is not in C."""
        self.state.board = self._ffi.cast("void *", board)
        for name, address in ways.items():
            setattr(self.state, name, self._ffi.cast(self._ffi.typeof(getattr(self.state, name)), address))

    def fire(self, next_at: int, order: int) -> bool:
        """Do in C what is due before a cycle; False: Python must, and has all state back."""
        done = self._lib.lent_fire(self.state, next_at, order)
        if self._core.refused:
            self._check()
        if done:
            return True
        self.recall()
        return False

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

    @property
    def present(self) -> bool:
        """True if the time here is the C's, too."""
        return bool(self._core.count.now == self._events.now)

    def line_in(self, data: bytes) -> bool:
        """Pass bytes on to the lent link; False if there is no room for them."""
        return bool(self._lib.link_line_in(self.state, data, len(data)))

    def line_out(self) -> bool:
        """Collect the lent link's sent bytes in `out`; False if there is no room for them."""
        return bool(self._lib.link_line_out(self.state))

    def memory(self, address: int, size: int, writable: bool) -> Any:
        """Pointer to a range of memory in C; NULL if there is none."""
        return self._lib.core_memory(self._core, address, size, writable)

    # -- registers ------------------------------------------------------------

    def place(self, peripheral: Peripheral, offset: int, what: int | None = None, index: int = 0) -> Any:
        """A register's place in the bus; what, index: the lent object that it belongs to."""
        place = self._bus.place(peripheral.base + offset)
        if what is not None:
            place.kind, place.value = self._lib.LENT, what << _WHAT | index
        return place

    def what(self, name: str) -> int:
        """A constant of the C by name."""
        return int(getattr(self._lib, name))


class Lendable(Peripheral):
    """A peripheral that lends. `_value` has its registers as they stand in Python; `value` takes them back first."""

    lending: Lending | None = None
    again = 0
    out = False
    alone = False  # true if it lends without the board around the chip
    slot = 0  # number among peripherals of its kind

    @property
    def value(self) -> dict[str, int]:
        if self.out:
            self.recall()
        return self._value

    @value.setter
    def value(self, value: dict[str, int]) -> None:
        self._value = value

    def lend(self, lending: Lending) -> bool:
        self.forget()
        self._places: list[Any] = []
        self.out = self._lend(lending)
        self.again = 0 if self.out else NEVER  # a write asks again
        self.changes += 1  # from here on its outputs may differ from those last read
        return self.out

    def _lend(self, lending: Lending) -> bool:
        raise NotImplementedError

    def _take_back(self, lending: Lending) -> None:
        raise NotImplementedError

    def _give(self, lending: Lending, offset: int, what: str, index: int | None = None) -> None:
        """Let C answer reads of a register, as a member of a lent object."""
        self._places.append(lending.place(self, offset, lending.what(what), self.slot if index is None else index))

    def _hold(self, lending: Lending, offset: int) -> None:
        """Let C answer reads of a register that does not change while it is lent."""
        place = lending.place(self, offset)
        place.kind, place.value, place.until = lending.what("HELD"), self._value[self.REGISTERS[offset].name], NEVER
        self._places.append(place)

    def recall(self) -> None:
        """Take back what is lent."""
        if not self.out:
            return
        assert self.lending is not None
        self.out = False
        for place in self._places:
            place.kind = 0
        self._take_back(self.lending)
        self.changes += 1
        self.lending.returned(self)

    def forget(self, *keys: str) -> None:
        self.recall()
        super().forget(*keys)

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        self.touched()

    def touched(self) -> None:
        """Ask to lend again."""
        if self.lending is not None and not self.out and (self.alone or self.lending.whole):
            self.lending.ask(self)
