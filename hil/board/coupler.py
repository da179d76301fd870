"""Exchange between the time of a chip and the steps of a plant.

The plant is brought up to date whenever the chip's outputs change or an encoder is read; moments closer than TOGETHER
count as one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hil.board.mode_follower import ModeFollower
from hil.board.wiring import Wiring
from hil.chip.stm32.chip import Stm32
from hil.plant.choose import Driven

Array = NDArray[np.float64]

TOGETHER = 20e-6  # s
GRIP = 0.05  # rad/s or m/s: brakes hold what is slower, and stop nothing that is faster


class PlantCoupler:
    """held: whether something holds an arm at rest up while its drivers are off."""

    def __init__(self, chip: Stm32, plant: Driven, wiring: Wiring, modes: ModeFollower) -> None:
        self._chip, self._plant, self._wiring, self._modes = chip, plant, wiring, modes
        self.held = False
        self._plant_at = self._changed_at = 0.0  # s: where the plant is; when outputs last seemed to change
        self._terminals: list[float | None] = [None for _ in wiring.joints]  # V on the motors, until _changed_at
        for drive in wiring.buses.all:
            drive.catch_up = self.bring_up
        chip.before_change, chip.before_read = self._before_change, self.bring_up

    def _before_change(self) -> None:
        """Outputs change, or seem to: only where the voltages did is there a step for the plant to take."""
        terminals = self._wiring.power.terminals()
        if terminals != self._terminals:
            self._drive(self._changed_at)
            self._terminals = terminals
        self._changed_at = self._chip.seconds

    def bring_up(self) -> None:
        """Let the plant's time be the chip's."""
        now = self._chip.seconds
        if now - self._plant_at > TOGETHER:
            self._before_change()
            self._drive(now)
        self._modes.follow(self._plant, now + TOGETHER, now)

    def _drive(self, until: float) -> None:
        if until - self._plant_at > TOGETHER:
            volts = floating(self._terminals)
            if self._wiring.brakes.closed(self._plant_at):
                self._plant.v[:] = 0.0  # without slip: how much torque they hold is not modelled
                self._plant.hold(until - self._plant_at, volts)
            elif self._let_be(volts) and np.all(np.abs(self._plant.v) < GRIP):
                self._plant.hold(until - self._plant_at, volts)
            else:
                self._move(until, volts)
            self._plant_at = until

    def _let_be(self, volts: Array) -> bool:
        """Whether an arm at rest is held up from outside, nothing driving it."""
        return self.held and bool(np.all(np.isnan(volts))) and not self._wiring.buses.driving

    def _move(self, until: float, volts: Array) -> None:
        if self._wiring.buses.drives or self._wiring.buses.servos:
            self._wiring.buses.move(self._plant_at, until, volts)
        else:
            self._plant.drive(until - self._plant_at, volts)


def floating(terminals: list[float | None]) -> Array:
    """Voltages (J,) V, NaN where a terminal floats."""
    return np.array([np.nan if volts is None else volts for volts in terminals], float)
