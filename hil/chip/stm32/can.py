"""What the families' CAN controllers have in common: a node that sits in a chip."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from femtorque.hil.bus.node import Node
from femtorque.hil.bus.wire import Wire
from femtorque.hil.chip.registers import Peripheral


class CanController(Peripheral, Node):
    """wire: what its transceiver is on. connected: whether its pins are those of the transceiver."""

    wire: Wire | None
    _off: bool
    connected: Callable[[], bool]

    def __init__(self, name: str, base: int) -> None:
        Node.__init__(self)
        self.wire, self.connected = None, lambda: True
        Peripheral.__init__(self, name, base)

    def plug(self, wire: Wire, connected: Callable[[], bool]) -> None:
        self.wire, self.connected = wire, connected
        wire.attach(self)

    @abstractmethod
    def _note_errors(self) -> None:
        """Flags of the error state, and what comes with a new one."""

    def _take_part(self) -> None:
        """In step with the bus; after bus off with new counters."""
        if self._off:
            self._off = False
            self.counters.clear()
        self._note_errors()
        self._wake()

    def _wake(self) -> None:
        """What waits may go."""
        if self.wire and self.offer() is not None:
            self.wire.ask(self)

    def _offset(self, key: str) -> int:
        """Of a register."""
        return next(at for at, register in self.REGISTERS.items() if register.name == key)

    def _on_write(self, key: str, write: Callable[[int], None]) -> None:
        at = self._offset(key)
        self._write[at] = (write, self._write[at][1])
