"""The chip's peripherals in C (parts.h): timers, converters, ports, SysTick, watchdog, links with DMA, CAN. Their state
exists only in C. C handles frequent accesses. Python configures the peripherals and handles rare accesses."""

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Generic, TypeVar

from femtorque.hil.clock.model_library import library

Kind = TypeVar("Kind")


class Member(Generic[Kind]):
    """A descriptor that forwards reads and writes to an attribute of a member, for example of a struct in C. part: path
    to the member. name: the attribute's name in the member, if it differs."""

    def __init__(self, kind: Callable[[Any], Kind], part: str = "state", name: str = "") -> None:
        self._kind, self._part, self._name, self._path = kind, attrgetter(part), name, part

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name
        self._get = attrgetter(f"{self._path}.{self._name}")

    def __get__(self, thing: Any, owner: type) -> Kind:
        return self._kind(self._get(thing))

    def __set__(self, thing: Any, value: Kind) -> None:
        setattr(self._part(thing), self._name, value)


class ChipState:
    """state: `parts` of parts.h. count: the processor's clock and counts, or a counter without a processor. placed:
    adds the place in the image to an error. stop: ends a run of C after an error."""

    def __init__(self, count: Any = None) -> None:
        self.ffi, self.lib = library()
        self.count = self.ffi.new("counter *") if count is None else count
        self._kept: dict[str, Any] = {"ask": self._callback("double(int32_t, int32_t, double)", self._answer)}
        self.state = self.ffi.new("parts *", {"count": self.count, "ask": self._kept["ask"]})
        self._answers: dict[tuple[int, int], Callable[[float], float | None]] = {}
        self._used: dict[str, int] = {}
        self.failure: BaseException | None = None
        self.placed: Callable[[BaseException], BaseException] = lambda error: error
        self.stop: Callable[[], None] = lambda: None

    # -- C asks Python --------------------------------------------------------

    def hear(self, what: str, which: int, answer: Callable[[float], float | None]) -> None:
        """Register a Python function that answers a question of C (parts.h) about the peripheral with this number."""
        self._answers[getattr(self.lib, what), which] = answer

    def _answer(self, what: int, which: int, value: float) -> float:
        return self._answers[what, which](value) or 0.0

    def _callback(self, kind: str, call: Callable[..., Any]) -> Any:
        return self.ffi.callback(kind, call, onerror=self.refuse)

    def refuse(self, kind: type[BaseException], error: BaseException, traceback: object) -> None:
        """Note an error of a Python function that C has called, and end the run of C."""
        if self.failure is None:
            self.failure = self.placed(error)
        self.stop()

    def check(self) -> None:
        """Raise the noted error, if there is one."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure

    def do(self, name: str, *rest: Any) -> Any:
        """Call a function of C on the state. Raises the exception of a Python function that C has called."""
        result = getattr(self.lib, name)(self.state, *rest)
        if self.failure is not None:
            self.check()
        return result

    # -- the board around the chip --------------------------------------------

    def connect(self, board: Any, **ways: Any) -> None:
        """Connect the board's C functions, given as addresses by their names in parts.h."""
        self.state.board = self.ffi.cast("void *", board)
        for name, address in ways.items():
            setattr(self.state, name, self.ffi.cast(self.ffi.typeof(getattr(self.state, name)), address))

    def call(self, name: str, function: Callable[[], None]) -> None:
        """Replace a C function of the board by a Python function."""
        self._kept[name] = self._callback("void(void *)", lambda board: function())
        setattr(self.state, name, self._kept[name])

    def announce(self) -> None:
        """Announce to the board that outputs are about to change."""
        self.do("parts_announce")

    def announce_read(self) -> None:
        """Announce to the board that an external signal is about to be read."""
        if self.state.before_read:
            self.state.before_read(self.state.board)
            self.check()

    # -- its parts ------------------------------------------------------------

    def member(self, name: str) -> tuple[int, Any]:
        """Return the number and the state of the next unused struct in a member of `parts`."""
        number = self._used.get(name, 0)
        self._used[name] = number + 1
        return number, getattr(self.state, name)[number]

    def due(self) -> list[Any]:
        """Return all events in C, whether they are scheduled or not."""
        state = self.state
        return [state.systick.expire, state.watchdog.bite, *(k.quiet for k in state.links),
                *(c.end for c in state.converters), *(t.update for t in state.timers), *self._tasks()]

    def _tasks(self) -> Iterator[Any]:
        task = self.state.tasks
        while task:
            yield task.due
            task = task.next
