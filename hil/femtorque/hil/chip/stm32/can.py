"""The families' CAN controllers: peripherals of a chip and nodes of a bus, in C (can.c)."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from femtorque.hil.bus import Counters, OnWire, Wire
from femtorque.hil.chip.peripheral_in_c import PeripheralInC
from femtorque.hil.chip.registers import Unmodelled
from femtorque.hil.chip.stm32.gpio import Pin
from femtorque.hil.clock import ChipState, Member


class CanController(PeripheralInC, OnWire):
    """hz: clock of its bits; cycles: processor cycles per clock of its registers. asserted: asserted interrupt
    requests, as bits. REFUSALS: messages, indexed by their numbers in C."""

    asserted = Member(int, "state.can")

    BEGIN: ClassVar[str]  # functions in C
    RESET: ClassVar[str]
    REFUSALS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str, base: int, parts: ChipState, hz: Callable[[], float],
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
        parts.do(self.BEGIN, self.slot)
        self.reset()

    def reset(self) -> None:
        self.clear()
        getattr(self.parts.lib, self.RESET)(self.parts.ffi.addressof(self.state))

    def plug(self, wire: Wire, *pins: Pin) -> None:
        """Connect the controller to a CAN bus. While a pin is not switched to the bus, the controller is off."""
        self.wire, can = wire, self.state.can
        can.wire, can.pins = wire.state, len(pins)
        can.pin[0:len(pins)] = [(port.slot, pin, function) for port, pin, function in pins]
        wire.attach(self)

    def interrupt(self, *numbers: int) -> None:
        """Connect the controller's interrupt requests to the processor."""
        self.state.can.lines[0:len(numbers)] = numbers

    def forget(self, *keys: str) -> None:
        super().forget(*keys)
        self.state.can.hz = -1.0

    def touched(self) -> None:
        """Keep the description of the board in C unchanged. These registers affect no output."""

    def _clock_switched(self) -> None:
        super()._clock_switched()
        self.state.can.clocked = self.clocked

    def _put(self, offset: int, value: int) -> None:
        if not self.tell_c(offset, value):
            self._left(self.REGISTERS[offset].name, value)

    @abstractmethod
    def _left(self, key: str, value: int) -> None:
        """Handle a write that C does not handle, or refuse it."""

    def _refuse(self, why: float) -> None:
        raise Unmodelled(self.name + self.REFUSALS[int(why)])
