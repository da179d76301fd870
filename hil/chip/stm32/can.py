"""The common part of the families' CAN controllers: nodes of a bus that are peripherals of a chip, in C (can.c)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from femtorque.hil.bus.node import Counters, Node, OnWire
from femtorque.hil.bus.wire import Wire
from femtorque.hil.chip.part import Part
from femtorque.hil.chip.registers import Peripheral, Unmodelled
from femtorque.hil.chip.stm32.gpio import Gpio
from femtorque.hil.clock.parts import Parts

Pin = tuple[Gpio, int, int]  # port, number, and the alternate function that makes it the controller's


class CanController(Part, OnWire):
    """hz: of the clock of its bits; cycles: of the processor, for one clock of its registers. REFUSALS: what C comes
    upon, by its numbers there."""

    REFUSALS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str, base: int, parts: Parts, hz: Callable[[], float],
                 cycles: Callable[[], float]) -> None:
        self.IN_C = self.REGISTERS
        super().__init__(name, base, parts)
        self.wire: Wire | None = None
        self.node = parts.ffi.addressof(self.state.can.node)
        self.counters = Counters(self.node)
        parts.hear("CAN_HZ", self.slot, lambda value: hz())
        parts.hear("CAN_CYCLES", self.slot, lambda value: cycles())
        parts.hear("CAN_REFUSES", self.slot, self._refuse)
        for offset, register in self.REGISTERS.items():
            self._read[offset] = partial(self.ask_c, offset)
            self._write[offset] = partial(self._put, offset), register.writable
            self.state.writable[offset >> 2] = register.writable

    def plug(self, wire: Wire, *pins: Pin) -> None:
        """Put it on a wire, from which it is off while one of these pins is not switched to it."""
        self.wire, can = wire, self.state.can
        can.wire, can.pins = wire.state, len(pins)
        can.pin[0:len(pins)] = [(port.slot, pin, function) for port, pin, function in pins]
        wire.attach(self)

    def interrupt(self, *numbers: int) -> None:
        """Connect its interrupt requests to these of the processor's."""
        self.state.can.lines[0:len(numbers)] = numbers

    @property
    def asserted(self) -> int:
        """Interrupt requests that it asserts, as bits."""
        return int(self.state.can.asserted)

    def forget(self, *keys: str) -> None:
        super().forget(*keys)
        self.state.can.hz = -1.0

    def touched(self) -> None:
        """Leave the board's description: no output follows from these registers."""

    def _clock_switched(self) -> None:
        super()._clock_switched()
        self.state.can.clocked = self.clocked

    def _put(self, offset: int, value: int) -> None:
        if not self.tell_c(offset, value):
            raise Unmodelled(f"{self.name}.{self.REGISTERS[offset].name} = {value}: {self._wrong(offset)}")

    def _refuse(self, why: float) -> None:
        raise Unmodelled(self.name + self.REFUSALS[int(why)])

    def _wrong(self, offset: int) -> str:
        """Say why C does not take a value of a register."""
        raise NotImplementedError


class PythonController(Peripheral, Node):
    """One in Python. wire: at its transceiver. connected: true if its pins are switched to the transceiver."""

    wire: Wire | None
    _off: bool
    connected: Callable[[], bool]

    def __init__(self, name: str, base: int) -> None:
        Node.__init__(self)
        self.wire, self.connected = None, lambda: True
        Peripheral.__init__(self, name, base)

    def plug(self, wire: Wire, *pins: Pin) -> None:
        self.wire = wire
        self.connected = lambda: all(port.alternate(pin) == function for port, pin, function in pins)
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
