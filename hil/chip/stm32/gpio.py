"""A GPIO port (RM0090 section 8, RM0440 section 9)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from femtorque.hil.chip.lending import Lendable, Lending
from femtorque.hil.chip.registers import Register


class Gpio(Lendable):
    """Pins 0 to 15. `drive(pin, level)`: the source that is wired to an input; None: its pull resistor alone."""

    REGISTERS = {
        0x00: Register("MODER"), 0x04: Register("OTYPER", 0, 0xFFFF), 0x08: Register("OSPEEDR"),
        0x0C: Register("PUPDR"), 0x10: Register("IDR", 0, 0), 0x14: Register("ODR", 0, 0xFFFF),
        0x18: Register("BSRR"), 0x20: Register("AFRL"), 0x24: Register("AFRH"),
    }

    def __init__(self, name: str, base: int) -> None:
        self._wired: dict[int, bool] = {}
        self.sources: dict[int, Callable[[], bool]] = {}  # sources of inputs that change by themselves
        self.steady: dict[int, Callable[[], bool]] = {}  # true while a source stays the same until `forget`
        self.before_change: Callable[[], None] = lambda: None  # called before outputs change
        self.on_output: Callable[[], None] = lambda: None  # called after outputs changed
        self.asked = 0  # output pins, as bits, that are read when needed: no call announces their changes
        self._lent: Any = None  # the port's state in C
        super().__init__(name, base)

    def reset(self) -> None:
        self.before_change()
        self.clear()
        self.on_output()

    def drive(self, pin: int, level: bool | None) -> None:
        self.forget("IDR")
        if level is None:
            self._wired.pop(pin, None)
        else:
            self._wired[pin] = level

    def mode(self, pin: int) -> int:
        """0 input, 1 output, 2 alternate function, 3 analogue."""
        return self._value["MODER"] >> 2 * pin & 3

    def alternate(self, pin: int) -> int | None:
        """Number of the alternate function to which a pin is switched; None without one."""
        if self.mode(pin) != 2:
            return None
        return self._value["AFRH" if pin > 7 else "AFRL"] >> 4 * (pin % 8) & 15

    def open_drain(self, pin: int) -> bool:
        """True if an output pulls low only."""
        return bool(self._value["OTYPER"] >> pin & 1)

    def level(self, pin: int) -> bool:
        """Level on a pin, as its input register shows it."""
        if self.mode(pin) == 1:
            return bool(self._levels >> pin & 1)
        if pin in self.sources:
            return self.sources[pin]()
        if pin in self._wired:
            return self._wired[pin]
        return (self._value["PUPDR"] >> 2 * pin & 3) == 1

    def driven(self, pin: int) -> bool:
        """Level of an output pin as seen outside, where a resistor pulls it low while the pin is no output."""
        return self.mode(pin) == 1 and bool(self._levels >> pin & 1)

    @property
    def _levels(self) -> int:
        """Levels of the output register, lent or not."""
        return int(self._lent.levels) if self.out else self._value["ODR"]

    def read_IDR(self) -> int:
        value = self._value
        outputs, analogue = _pins(value["MODER"], 1), _pins(value["MODER"], 3)
        levels = self._levels & outputs | _pins(value["PUPDR"], 1) & ~outputs
        steady = True
        for pin in {**self._wired, **self.sources}:
            if not (outputs | analogue) >> pin & 1:
                levels = levels & ~(1 << pin) | self.level(pin) << pin
                steady = steady and (pin not in self.sources or pin in self.steady and self.steady[pin]())
        if steady:
            self.say("IDR", levels & ~analogue)
        return levels & ~analogue

    def _output(self, value: int) -> None:
        changed = value ^ self.value["ODR"]
        if changed & ~self.asked:
            self.before_change()
        self.value["ODR"] = value
        if changed & ~self.asked:
            self.on_output()

    def write_ODR(self, value: int) -> None:
        self._output(value)

    def write_BSRR(self, value: int) -> None:
        self._output(self.value["ODR"] & ~(value >> 16) | value & 0xFFFF)
        self.say_pins("BSRR", self.value["ODR"])

    def read_BSRR(self) -> int:
        return 0

    # -- lent (femtorque.hil.chip.lending) ----------------------------------------------

    def steer_none(self) -> None:
        """Note in C that no output pin belongs to a bridge."""
        assert self.lending is not None
        self.lending.state.ports[self.slot].steered = 0

    def steer(self, pin: int) -> int:
        """Note in C that an output pin belongs to a bridge alone. Returns the port's slot there."""
        assert self.lending is not None
        state = self.lending.state.ports[self.slot]
        state.steered, state.levels = state.steered | 1 << pin, self._levels
        return self.slot

    def _lend(self, lending: Lending) -> bool:
        if not lending.state.board or not self.clocked:
            return False
        self._lent = lending.state.ports[self.slot]
        self._lent.levels, self._lent.outputs = self._value["ODR"], _pins(self._value["MODER"], 1)
        self._lent.asked = self.asked
        self._lent.inputs = lending.place(self, 0x10)
        self._give(lending, 0x18, "PORT_LEVELS")
        return True

    def _take_back(self, lending: Lending) -> None:
        self._value["ODR"] = self._lent.levels

    def write_MODER(self, value: int) -> None:
        self.before_change()
        self.value["MODER"] = value
        self.on_output()


class GpioG4(Gpio):
    """A port with a register of its own that clears pins (RM0440 section 9.4.11)."""

    REGISTERS = Gpio.REGISTERS | {0x28: Register("BRR", 0, 0xFFFF)}

    def write_BRR(self, value: int) -> None:
        self._output(self.value["ODR"] & ~value)

    def read_BRR(self) -> int:
        return 0


@cache
def _pins(register: int, code: int) -> int:
    """Pins, as bits, whose two bits in a register are `code`."""
    return sum((register >> 2 * pin & 3 == code) << pin for pin in range(16))
