"""What models lend to C (lent.c): whatever they would do again and again without anybody looking.

A model lends its state before the processor runs, where nothing is going on but the usual; whoever looks at it in
Python, or changes it, has it back first (`recall`), and it is lent again later. So a model knows nothing of the other
way, and what C does is held against it: with `Bus.answers` off nothing is ever lent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from femtorque.hil.chip.core_library import library
from femtorque.hil.chip.events import NEVER, Event, Events
from femtorque.hil.chip.registers import Bus, Peripheral

_WHAT = 8  # LENT_WHAT of lent.h


class Lender(Protocol):
    """lend: fills in the C's state; says whether it did, else the cycle from which to ask again."""

    again: int

    def lend(self, lending: Lending) -> bool: ...

    def recall(self) -> None: ...


class Lending:
    """state: the C's. whole: whether the board around the chip lends, too; without it timers and converters keep what
    they have, because the plant waits for them in Python."""

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
        """The processor is about to run."""
        now = self._events.now
        if not self._bus.answers:
            return
        while self._again <= now:  # one that lends may let another
            for lender in self._lenders:
                if lender not in self._out and lender.again <= now and lender.lend(self):
                    self._out.append(lender)
            self._again = min((lender.again for lender in self._lenders if lender not in self._out), default=NEVER)

    def returned(self, lender: Lender) -> None:
        """One has taken back what it had lent."""
        self._out.remove(lender)
        self._core.attend = True
        self.ask(lender)

    def ask(self, lender: Lender) -> None:
        """One may lend again."""
        lender.again = self._again = 0

    def recall(self) -> None:
        """Everybody takes back what they have lent."""
        for lender in tuple(self._out):
            lender.recall()

    # -- what is due ----------------------------------------------------------

    def function(self, name: str) -> int:
        """Address of one of the C's."""
        return int(self._ffi.cast("uintptr_t", getattr(self._lib, name)))

    def lend_board(self, board: int, ways: dict[str, int]) -> None:
        """What is outside of the chip is C's, at that address, and asked through these functions; 0: it is not."""
        self.state.board = self._ffi.cast("void *", board)
        for name, address in ways.items():
            setattr(self.state, name, self._ffi.cast(self._ffi.typeof(getattr(self.state, name)), address))

    def fire(self, next_at: int, order: int) -> bool:
        """C does what is due before that; False where Python must, who has everything back then."""
        done = self._lib.lent_fire(self.state, next_at, order)
        if self._core.refused:
            self._check()
        if done:
            return True
        self.recall()
        return False

    def give(self, due: Any, event: Event | None) -> None:
        """An event that is planned is C's from now on."""
        due.armed = event is not None
        if event is not None:
            due.at, due.order = event.at, event.order
            event.cancel()

    def take(self, due: Any, action: Callable[[], None]) -> Event | None:
        """What is planned is an event again."""
        event = self._events.restore(due.at, due.order, action) if due.armed else None
        due.armed = 0
        return event

    # -- the link -------------------------------------------------------------

    @property
    def present(self) -> bool:
        """Whether it is now where C has come to, too."""
        return bool(self._core.count.now == self._events.now)

    def line_in(self, data: bytes) -> bool:
        """Bytes that come to the link that is lent; False if there is no room for them."""
        return bool(self._lib.link_line_in(self.state, data, len(data)))

    def line_out(self) -> bool:
        """Let there be in `out` what has left it; False if there is no room for it."""
        return bool(self._lib.link_line_out(self.state))

    def memory(self, address: int, size: int, writable: bool) -> Any:
        """Where the C has a stretch of memory; NULL if there is none."""
        return self._lib.core_memory(self._core, address, size, writable)

    # -- registers ------------------------------------------------------------

    def place(self, peripheral: Peripheral, offset: int, what: int | None = None, index: int = 0) -> Any:
        """A register's place in the bus; what, index: it is lent as that."""
        place = self._bus.place(peripheral.base + offset)
        if what is not None:
            place.kind, place.value = self._lib.LENT, what << _WHAT | index
        return place

    def what(self, name: str) -> int:
        """The C's number."""
        return int(getattr(self._lib, name))


class Lendable(Peripheral):
    """A peripheral that lends. `_value` are its registers as they stand here; `value` has them back first."""

    lending: Lending | None = None
    again = 0
    out = False
    alone = False  # whether it lends without the board around the chip
    slot = 0  # which of its kind

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
        self.changes += 1  # from here on what it puts out may be another than was last seen
        return self.out

    def _lend(self, lending: Lending) -> bool:
        raise NotImplementedError

    def _take_back(self, lending: Lending) -> None:
        raise NotImplementedError

    def _give(self, lending: Lending, offset: int, what: str, index: int | None = None) -> None:
        """A register answers as what it is to the C."""
        self._places.append(lending.place(self, offset, lending.what(what), self.slot if index is None else index))

    def _hold(self, lending: Lending, offset: int) -> None:
        """A register stays what it is as long as all is lent."""
        place = lending.place(self, offset)
        place.kind, place.value, place.until = lending.what("HELD"), self._value[self.REGISTERS[offset].name], NEVER
        self._places.append(place)

    def recall(self) -> None:
        """Have back what is lent."""
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
        """It may lend again."""
        if self.lending is not None and not self.out and (self.alone or self.lending.whole):
            self.lending.ask(self)
