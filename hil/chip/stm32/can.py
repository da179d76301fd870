"""The common part of the families' CAN controllers: a node of a bus that is a peripheral of a chip."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from femtorque.hil.bus.node import Node
from femtorque.hil.bus.wire import Wire
from femtorque.hil.chip.registers import Peripheral


class CanController(Peripheral, Node):
    """wire: at its transceiver. connected: true if its pins are switched to the transceiver."""

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
        """Set the flags of the error state; raise the interrupts of a new one."""

    def _take_part(self) -> None:
        """Join the bus; after bus off with new counters."""
        if self._off:
            self._off = False
            self.counters.clear()
        self._note_errors()
        self._wake()

    def _wake(self) -> None:
        """Let a waiting frame go."""
        if self.wire and self.wire.idle and self.offer() is not None:
            self.wire.ask(self)

    def _offset(self, key: str) -> int:
        """Offset of a register."""
        return next(at for at, register in self.REGISTERS.items() if register.name == key)

    def _on_write(self, key: str, write: Callable[[int], None]) -> None:
        at = self._offset(key)
        self._write[at] = (write, self._write[at][1])
