"""Voltages that a board's bridges put on its motors, from the pins and timers of the chip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from femtorque.codegen.board import description
from femtorque.codegen.mechanism.description import Joint
from femtorque.hil.board.coupled import library
from femtorque.hil.chip.stm32.chip import Stm32
from femtorque.hil.chip.stm32.gpio import Gpio
from femtorque.hil.chip.stm32.timer import Timer

Served = Sequence[tuple[Joint, description.Channel | None]]  # joints, and the board's channel of each that has one

class Bridge:
    """The bridge of one motor. share: of the bus voltage (-1..1), with the motor's sign; None while it is off.

    The share is computed again only after a possible change at the bridge's timers or ports.
    """

    def __init__(self, board: description.Board, chip: Stm32, joint: Joint, channel: description.Channel) -> None:
        assert joint.motor is not None
        self._motor, self._channel = joint.motor, channel
        self._timers = {pwm.timer: chip.timers[pwm.timer] for _, pwm in channel.switches}
        self._direction = pin_of(chip, channel.direction) if channel.direction else None
        self._wires: dict[str, list[tuple[Gpio, int, int]]] = {}  # by switch: port, pin, alternate function
        for name, pwm in channel.switches:
            signal = f"{pwm.timer}_CH{pwm.output}"
            pins = [(signal, pwm.pin)] + ([(f"{signal}N", pwm.low)] if pwm.low else [])
            self._wires[name] = [(*pin_of(chip, pin), board.function(signal, pin)) for signal, pin in pins]
        ports = [port for wires in self._wires.values() for port, _, _ in wires]
        ports += [self._direction[0]] if self._direction else []
        self._parts = list(dict.fromkeys([*self._timers.values(), *ports]))
        self._changes = -1  # counters of changes of all parts, summed, when the share was computed
        self._share: float | None = None

    @property
    def share(self) -> float | None:
        changes = sum([part.changes for part in self._parts])
        if changes != self._changes:
            share = self._of_halves() if self._channel.opposite else self._of_bridge()
            self._share = None if share is None else self._motor.sign * share
            self._changes = changes
        return self._share

    def _connected(self, switch: str) -> bool:
        """True if the timer's signals are on the pins of an output."""
        return all(port.alternate(pin) == function for port, pin, function in self._wires[switch])

    @property
    def timers(self) -> list[Timer]:
        """Timers that switch the bridge."""
        return list(self._timers.values())

    # -- lent (hil/board/coupled.c) -------------------------------------------

    def lend(self, state: Any) -> None:
        """Describe to C how the bridge's voltage follows from compare values of its timers."""
        kinds, switches = library()[1], self._channel.switches
        state.sign = self._motor.sign
        if self._channel.opposite:
            timers = [self._timers[pwm.timer] for _, pwm in switches]
            live = all(self._connected(name) and timer.halves_on(pwm.output)
                       for timer, (name, pwm) in zip(timers, switches, strict=True))
            state.kind = kinds.HALVES if live else kinds.FLOATS
            for pin, timer, (_, pwm) in zip((state.one, state.other), timers, switches, strict=True):
                lend_pin(pin, timer, pwm.output, True)
            return
        assert self._direction is not None
        port, number = self._direction
        pwm = self._channel.pwm
        state.kind = kinds.ANTIPHASE if self._motor.drive == "antiphase" else kinds.SIGNED
        state.port, state.pin = (port.steer(number) if port.mode(number) == 1 else -1), number
        lend_pin(state.one, self._timers[pwm.timer], pwm.output, self._connected("pwm"))

    def _of_bridge(self) -> float | None:
        """Share of an H-bridge with PWM and direction (or enable)."""
        assert self._direction is not None
        pwm, (port, pin) = self._channel.pwm, self._direction
        high = self._timers[pwm.timer].duty(pwm.output) if self._connected("pwm") else 0.0
        if self._motor.drive == "antiphase":
            return 2.0 * high - 1.0 if port.driven(pin) else None
        return -high if port.driven(pin) else high

    def _of_halves(self) -> float | None:
        """Share of two half bridges: the difference of their duties."""
        one, other = (self._timers[pwm.timer].half_bridge(pwm.output) if self._connected(name) else None
                      for name, pwm in self._channel.switches)
        return None if one is None or other is None else one - other


def pin_of(chip: Stm32, name: str) -> tuple[Gpio, int]:
    """Port and number of a pin, 'PA3'."""
    return chip.gpio[name[1]], int(name[2:])


def lend_pin(state: Any, timer: Timer, channel: int, connected: bool) -> None:
    """Describe to C how a pin follows the compare value of a timer's channel."""
    follows = timer.follows_compare(channel) if connected else None
    state.timer, state.channel, state.follows = timer.slot, channel - 1, follows is not None
    state.top, state.inverted = follows or (0, False)
