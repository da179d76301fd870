"""Exchange between the time of a chip and the steps of a plant.

The plant is brought up to date whenever the chip's outputs change or an encoder is read; moments closer than TOGETHER
count as one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.board.coupled import MOST, library
from hil.board.mode_follower import ModeFollower
from hil.board.wiring import Wiring
from hil.chip.lending import Lending
from hil.chip.registers import Unmodelled
from hil.chip.stm32.chip import Stm32
from hil.plant import rigid
from hil.plant.choose import Driven

Array = NDArray[np.float64]

TOGETHER = 20e-6  # s
GRIP = 0.05  # rad/s or m/s: brakes hold what is slower, and stop nothing that is faster


class PlantCoupler:
    """held: whether something holds an arm at rest up while its drivers are off."""

    def __init__(self, chip: Stm32, plant: Driven, wiring: Wiring, modes: ModeFollower) -> None:
        self._chip, self._plant, self._wiring, self._modes = chip, plant, wiring, modes
        self._borrowed = (Borrowed(self, chip, plant, wiring)
                          if isinstance(plant, rigid.Plant) and could_lend(plant, wiring, modes) else None)
        self._held = False
        self._plant_at = self._changed_at = 0.0  # s: where the plant is; when outputs last seemed to change
        self._terminals: list[float | None] = [None for _ in wiring.joints]  # V on the motors, until _changed_at
        for drive in wiring.buses.all:
            drive.catch_up = self.bring_up
        chip.before_change, chip.before_read = self._before_change, self.bring_up

    @property
    def held(self) -> bool:
        return self._held

    @held.setter
    def held(self, held: bool) -> None:
        self.recall()
        self._held = held

    def recall(self) -> None:
        """Have back what is lent to C."""
        if self._borrowed is not None:
            self._borrowed.recall()

    def look(self) -> None:
        """Somebody may have changed what is outside of the chip."""
        if self._borrowed is not None:
            self._borrowed.look()

    def glance(self) -> tuple[Array, Array]:
        """Where the plant's joints are and how fast (J,), for somebody who changes nothing."""
        return self._plant.glance if isinstance(self._plant, rigid.Plant) else (self._plant.q, self._plant.v)

    def _before_change(self) -> None:
        """Outputs change, or seem to: only where the voltages did is there a step for the plant to take."""
        self.recall()
        terminals = self._wiring.power.terminals()
        if terminals != self._terminals:
            self._drive(self._changed_at)
            self._terminals = terminals
        self._changed_at = self._chip.seconds

    def bring_up(self) -> None:
        """Let the plant's time be the chip's."""
        if self._borrowed is not None and self._borrowed.bring_up():
            return
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

    # -- lent (hil.chip.lending) ----------------------------------------------

    def give(self, state: Any) -> None:
        """Tell C when the plant is where."""
        state.held, state.plant_at, state.changed_at = self._held, self._plant_at, self._changed_at
        state.terminals[0:len(self._terminals)] = floating(self._terminals).tolist()

    def take(self, state: Any) -> None:
        """Have that back."""
        self._plant_at, self._changed_at = state.plant_at, state.changed_at
        self._terminals = [None if math.isnan(volts) else volts for volts in state.terminals[0:len(self._terminals)]]


class Borrowed:
    """The C's side (coupled.c), lent while timers are and nothing outside of the chip is out of the ordinary."""

    def __init__(self, coupler: PlantCoupler, chip: Stm32, plant: rigid.Plant, wiring: Wiring) -> None:
        self._coupler, self._chip, self._plant, self._wiring = coupler, chip, plant, wiring
        self._ffi, self._lib = library()
        self._lending = chip.core.lending
        self.again, self.out = 0, False
        self._outside: object = None
        self._sequences: dict[int, list[int]] = {}  # of the converters
        assert plant.steps is not None
        tree, arm = plant.steps.pointers
        self.state = self._ffi.new("coupled *", {
            "chip": self._ffi.cast("lent *", self._address(self._lending.state)), "joints": plant.n,
            "together": TOGETHER, "grip": GRIP, "tree": self._ffi.cast("rigid_tree *", tree),
            "arm": self._ffi.cast("rigid_arm *", arm), "max_step": plant.max_step})
        self._finish = self._ffi.callback("void(double, int64_t)", self._steps_left)
        self.state.finish = self._finish
        count = self._ffi.typeof(self.state.count)
        self.state.count = self._ffi.cast(count, self._lending.function("lent_count"))
        self.state.origin[0:plant.n], self.state.per_unit[0:plant.n] = (x.tolist() for x in plant.encoders.line)
        self._lending.whole = True
        self._lending.add(self)
        for converter in chip.converters:
            converter.sources = self._sources
        wiring.power.on_change = self.recall

    def _address(self, pointer: Any) -> int:
        return int(self._ffi.cast("uintptr_t", pointer))

    def lend(self, lending: Lending) -> bool:
        """See hil.chip.lending.Lender."""
        wiring, plant = self._wiring, self._plant
        self.again = lending.now + _ASK_AGAIN
        if not plant.lendable or not wiring.power.settled() or not self._timers_lent():
            return False
        try:
            wiring.power.lend(self.state)
            if not all(self._sense(slot) for slot in self._sequences):
                return False
        except Unmodelled:  # the model will say so when it is used
            return False
        self.out, self.state.max_step = True, plant.max_step
        self._coupler.give(self.state)
        self.state.seconds_before, self.state.cycles_then, self.state.hz = self._chip.time_base
        plant.lend(self.state, self.recall)
        lending.lend_board(self._address(self.state), {name: self._address(getattr(self._lib, f"coupled_{way}"))
                                                       for name, way in _WAYS.items()})
        self._outside = self._seen()
        for converter in self._chip.converters:
            converter.touched()
        return True

    def recall(self) -> None:
        if not self.out:
            return
        self.out = False
        self._lending.lend_board(0, {})
        self._plant.taken(self.state)
        self._coupler.take(self.state)
        self._lending.returned(self)

    def bring_up(self) -> bool:
        """By the C, if it is lent."""
        if self.out:
            self._lib.coupled_bring_up(self.state)
        return self.out

    def look(self) -> None:
        """What is not told when it changes: what tests and people set."""
        if (seen := self._seen()) == self._outside:
            if self.out:
                self._plant.tell_parameters()
        else:
            self._outside = seen
            self._wiring.power.settle()
            self._lending.recall()
            for timer in self._chip.timers.values():
                timer.touched()

    def _seen(self) -> object:
        wiring = self._wiring
        drivers = [(driver.deaf, driver.enabled, *driver.registers.values()) for driver in wiring.power.gate_drivers]
        sensors = [(s.backwards, s.stuck, s.noise) for s in wiring.senses.current_sensors.values()]
        faults = [fault.none for fault in wiring.encoders.faults]
        return (*wiring.senses.temperatures, *wiring.power.motor_wires, drivers, sensors, faults, self._plant.lendable,
                self._plant.max_step)

    def _timers_lent(self) -> bool:
        """All that drive bridges."""
        return all(timer.out for timer in self._wiring.power.timers)

    def _sources(self, lending: Lending, slot: int, channels: list[int]) -> bool:
        """A converter is about to be lent, which samples these."""
        self._sequences[slot] = channels
        return self.out and self._sense(slot)

    def _sense(self, slot: int) -> bool:
        return self._wiring.senses.lend(self.state.senses[slot], slot, self._sequences[slot])

    def _steps_left(self, h: float, count: int) -> None:
        volts = np.array(self.state.terminals[0:self._plant.n])
        self._plant.finish(h, count, volts, self.state)


_ASK_AGAIN = 50_000  # cycles
_WAYS = {"before_change": "change", "before_read": "bring_up", "volts": "volts", "counts": "counts"}


def could_lend(plant: rigid.Plant, wiring: Wiring, modes: ModeFollower) -> bool:
    """Whether there is but what the C knows: a rigid plant behind bridges."""
    buses = wiring.buses
    return plant.steps is not None and plant.n <= MOST and not (modes.many or buses.all or wiring.brakes.there)


def floating(terminals: list[float | None]) -> Array:
    """Voltages (J,) V, NaN where a terminal floats."""
    return np.array([np.nan if volts is None else volts for volts in terminals], float)
