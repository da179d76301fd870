"""The interface of a board with its plant, for code that plays motions, and the board's time as a host's clock."""

from collections.abc import Callable
from typing import Protocol

from femtorque.codegen.board import Board, Channel
from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.hil.board.disturbance import Disturbance
from femtorque.hil.board.encoder_fault import EncoderFault
from femtorque.hil.board.telemetry import Record
from femtorque.hil.plant import Driven
from femtorque.host.link import Device


class BoardUnderTest(Protocol):
    """A board and its plant: virtual, or real and connected by femtorque.hil.play.pil.Relay."""

    mechanism: Mechanism
    board: Board
    joints: list[tuple[Joint, Channel | None]]
    dt: float
    bus_voltage: float
    encoder_faults: list[EncoderFault]
    incoming: Disturbance
    outgoing: Disturbance
    listeners: list[Callable[[bytes], None]]
    switched: list[tuple[float, str, str]]

    @property
    def plant(self) -> Driven: ...

    @property
    def ticks(self) -> int: ...

    @property
    def seconds(self) -> float: ...

    def plug_in(self) -> Device:
        """Return the device that the host's link opens."""

    def run(self, seconds: float) -> None: ...

    def run_until(self, seconds: float) -> None: ...

    def at(self, seconds: float, action: Callable[[], None]) -> None: ...

    def outputs_safe(self) -> bool: ...

    def record(self) -> Record: ...

    def truth(self, tick: int) -> tuple[Array, Array]: ...

    def target_positions(self, record: Record) -> Array: ...


class VirtualClock:
    """The board's time as the clock of a host. While the host is in `sleep`, the board runs."""

    def __init__(self, board: BoardUnderTest) -> None:
        self._board = board
        self._asked = board.seconds
        self._overslept = 0.0

    def now(self) -> float:
        return self._board.seconds

    def sleep(self, seconds: float) -> None:
        self._asked = max(self._asked, self._board.seconds) + seconds
        self._board.run_until(self._asked)
        if self._overslept:
            late, self._overslept = self._overslept, 0.0
            self._board.run(late)

    def stall(self, seconds: float) -> None:
        """Extend the current sleep by a number of seconds, as a busy computer does."""
        self._overslept += seconds
