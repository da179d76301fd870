"""A GPIO port (RM0090 section 8, RM0440 section 9)."""

from collections.abc import Callable
from functools import cache

from femtorque.hil.chip.peripheral_in_c import PeripheralInC
from femtorque.hil.chip.registers import Register
from femtorque.hil.clock import ChipState, Member


class Gpio(PeripheralInC):
    """Pins 0 to 15 of a port (`port` of parts.h). sources: for each pin, a function that returns an input whose changes
    are not announced by a call. steady: for each pin, a function that returns true if this input is constant until
    `forget`. asked: output pins, as bits, that are read only on demand, so that no call announces their changes."""

    asked = Member(int)

    KIND, MEMBER, IN_C = "A_PORT", "ports", (0x18,)

    REGISTERS = {
        0x00: Register("MODER"), 0x04: Register("OTYPER", 0, 0xFFFF), 0x08: Register("OSPEEDR"),
        0x0C: Register("PUPDR"), 0x10: Register("IDR", 0, 0), 0x14: Register("ODR", 0, 0xFFFF),
        0x18: Register("BSRR"), 0x20: Register("AFRL"), 0x24: Register("AFRH"),
    }

    def __init__(self, name: str, base: int, parts: ChipState) -> None:
        self._wired: dict[int, bool] = {}
        self.sources: dict[int, Callable[[], bool]] = {}
        self.steady: dict[int, Callable[[], bool]] = {}
        self._on_output: Callable[[], None] = lambda: None
        super().__init__(name, base, parts)

    def hear(self, pins: int, call: Callable[[], None]) -> None:
        """Call a function when these outputs, given as bits, may have changed."""
        self._on_output, self.state.heard = call, pins
        self.parts.hear("PORT_OUTPUTS", self.slot, lambda value: call())

    def attached(self) -> None:
        assert self._bus is not None
        self.state.inputs = self._bus.place(self.base + 0x10)
        super().attached()

    def reset(self) -> None:
        self.parts.announce()
        self.clear()
        self._outputs_changed()

    def _outputs_changed(self) -> None:
        self.state.outputs = _pins(self.value["MODER"], 1)
        self.touched()
        self._on_output()

    def drive(self, pin: int, level: bool | None) -> None:
        """Set the state of the signal that is wired to an input; None: only the pull resistor is connected."""
        self.forget("IDR")
        if level is None:
            self._wired.pop(pin, None)
        else:
            self._wired[pin] = level

    def mode(self, pin: int) -> int:
        """Return the mode of a pin: 0 input, 1 output, 2 alternate function, 3 analogue."""
        return self.value["MODER"] >> 2 * pin & 3

    def alternate(self, pin: int) -> int | None:
        """Return the number of the alternate function that a pin has, or None."""
        if self.mode(pin) != 2:
            return None
        return self.value["AFRH" if pin > 7 else "AFRL"] >> 4 * (pin % 8) & 15

    def level(self, pin: int) -> bool:
        """Return the bit of a pin in the input register."""
        if self.mode(pin) == 1:
            return bool(self.value["ODR"] >> pin & 1)
        if pin in self.sources:
            return self.sources[pin]()
        if pin in self._wired:
            return self._wired[pin]
        return (self.value["PUPDR"] >> 2 * pin & 3) == 1

    def driven(self, pin: int) -> bool:
        """Return the level of a pin for outside components. A resistor pulls a pin low that is no output."""
        return self.mode(pin) == 1 and bool(self.value["ODR"] >> pin & 1)

    def read_IDR(self) -> int:
        value = self.value
        outputs, analogue = _pins(value["MODER"], 1), _pins(value["MODER"], 3)
        levels = value["ODR"] & outputs | _pins(value["PUPDR"], 1) & ~outputs
        steady = True
        for pin in {**self._wired, **self.sources}:
            if not (outputs | analogue) >> pin & 1:
                levels = levels & ~(1 << pin) | self.level(pin) << pin
                steady = steady and (pin not in self.sources or pin in self.steady and self.steady[pin]())
        if steady:
            self.say("IDR", levels & ~analogue)
        return levels & ~analogue

    def write_ODR(self, value: int) -> None:
        self.parts.do("port_set", self.slot, value)

    def write_BSRR(self, value: int) -> None:
        self.tell_c(0x18, value)

    def write_MODER(self, value: int) -> None:
        self.parts.announce()
        self.value["MODER"] = value
        self._outputs_changed()


class GpioG4(Gpio):
    """A port with an additional register that clears pins (RM0440 section 9.4.11)."""

    REGISTERS = Gpio.REGISTERS | {0x28: Register("BRR", 0, 0xFFFF)}

    def write_BRR(self, value: int) -> None:
        self.write_ODR(self.value["ODR"] & ~value)


@cache
def _pins(register: int, code: int) -> int:
    """Return the pins, as bits, whose two-bit field in a register equals `code`."""
    return sum((register >> 2 * pin & 3 == code) << pin for pin in range(16))


Pin = tuple[Gpio, int, int]  # port, pin number, and the alternate function that connects the peripheral
