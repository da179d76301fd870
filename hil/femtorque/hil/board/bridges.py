"""Motor voltages that the bridges of a board produce, computed from the pins and timers of the chip."""

import math
from collections.abc import Sequence
from typing import Any

from femtorque.codegen.board import Board, Channel
from femtorque.codegen.mechanism import Joint
from femtorque.hil.board.coupled import library
from femtorque.hil.chip import Gpio, Stm32

Served = Sequence[tuple[Joint, Channel | None]]  # joints with their board channels, or None


class Bridge:
    """The bridge of one motor, whose voltage C computes (coupled.c)."""

    def __init__(self, board: Board, chip: Stm32, joint: Joint, channel: Channel) -> None:
        assert joint.motor is not None
        self._chip, self._motor, self._channel = chip, joint.motor, channel
        self._direction = pin_of(chip, channel.direction) if channel.direction else None
        self._wires: dict[str, list[tuple[Gpio, int, int]]] = {}  # port, pin and alternate function of each switch
        for name, pwm in channel.switches:
            signal = f"{pwm.timer}_CH{pwm.output}"
            pins = [(signal, pwm.pin)] + ([(f"{signal}N", pwm.low)] if pwm.low else [])
            self._wires[name] = [(*pin_of(chip, pin), board.function(signal, pin)) for signal, pin in pins]

    @property
    def share(self) -> float | None:
        """Fraction of the bus voltage, -1 to 1, with the motor's sign; None while the bridge is off."""
        ffi, lib = library()
        state = ffi.new("bridge *")
        self.describe(state)
        share = float(lib.bridge_share(here(self._chip), state))
        return None if math.isnan(share) else share

    def _connected(self, switch: str) -> bool:
        """Return true if the timer's signals are connected to the pins of a switch."""
        return all(port.alternate(pin) == function for port, pin, function in self._wires[switch])

    def describe(self, state: Any) -> None:
        """Describe to C how pins and compare values determine the bridge's voltage."""
        kinds, timers = library()[1], self._chip.timers
        state.sign = self._motor.sign
        if self._channel.opposite:
            live = all([self._connected(name) and timers[pwm.timer].halves_on(pwm.output)
                        for name, pwm in self._channel.switches])
            state.kind = kinds.HALVES if live else kinds.FLOATS
            for pin, (_, pwm) in zip((state.one, state.other), self._channel.switches, strict=True):
                timers[pwm.timer].describe(pin, pwm.output, live)
            return
        assert self._direction is not None
        port, number = self._direction
        pwm = self._channel.pwm
        state.kind = kinds.ANTIPHASE if self._motor.drive == "antiphase" else kinds.SIGNED
        state.port, state.pin = -1, number
        if port.mode(number) == 1:
            port.state.steered |= 1 << number
            state.port = port.slot
        timers[pwm.timer].describe(state.one, pwm.output, self._connected("pwm"))


def pin_of(chip: Stm32, name: str) -> tuple[Gpio, int]:
    """Return the port letter and the number of a pin, for example of 'PA3'."""
    return chip.gpio[name[1]], int(name[2:])


def here(chip: Stm32) -> Any:
    """Return the chip's peripherals, for the C code of the board."""
    ffi, _ = library()
    return ffi.cast("parts *", int(chip.parts.ffi.cast("uintptr_t", chip.parts.state)))
