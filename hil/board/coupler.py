"""Exchange between the time of a chip and the steps of a plant.

The plant is brought up to date whenever the chip's outputs change or an encoder is read; moments closer than TOGETHER
count as one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.hil.board.coupled import library
from femtorque.hil.board.mode_follower import ModeFollower
from femtorque.hil.board.wiring import Wiring
from femtorque.hil.chip.lending import Lending
from femtorque.hil.chip.registers import Unmodelled
from femtorque.hil.chip.stm32.chip import Stm32
from femtorque.hil.plant.choose import Driven, Wired
from femtorque.hil.plant.driven import Stepped
from femtorque.hil.plant.plant_library import MOST

Array = NDArray[np.float64]

TOGETHER = 20e-6  # s
GRIP = 0.05  # rad/s or m/s: brakes hold a slower joint, and do not stop a faster one


class PlantCoupler:
    """held: true if an arm at rest is held up from outside while nothing drives it."""

    def __init__(self, chip: Stm32, plant: Driven, wiring: Wiring, modes: ModeFollower) -> None:
        self._chip, self._plant, self._wiring, self._modes = chip, plant, wiring, modes
        self._borrowed = Borrowed(self, chip, plant, wiring) if could_lend(wiring, modes) else None
        self._held = False
        self._plant_at = self._changed_at = 0.0  # s: time of the plant; time of the last possible change of outputs
        self._terminals: list[float | None] = [None for _ in wiring.joints]  # V on the motors, until _changed_at
        for drive in wiring.buses.all.values():
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
        """Take back the state that is lent to C."""
        if self._borrowed is not None:
            self._borrowed.recall()

    def look(self) -> None:
        """Read a plant that somebody else may have moved."""
        if self._borrowed is not None:
            self._borrowed.copy_plant()

    def _before_change(self) -> None:
        """Step the plant before outputs may change; without a change of voltages there is no step."""
        self.recall()
        terminals = self._wiring.power.terminals()
        if terminals != self._terminals:
            self._drive(self._changed_at)
            self._terminals = terminals
        self._changed_at = self._chip.seconds

    def bring_up(self) -> None:
        """Bring the plant to the chip's time."""
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
                self._plant.stop()  # without slip: the brakes' largest torque is not modelled
                self._plant.hold(until - self._plant_at, volts)
            elif self._let_be() and np.all(np.abs(self._plant.v) < GRIP):
                self._wiring.buses.idle(self._plant_at, until)
                self._plant.hold(until - self._plant_at, volts)
            else:
                self._move(until, volts)
            self._plant_at = until

    def _let_be(self) -> bool:
        """True if an arm at rest is held up from outside and nothing drives it."""
        return self.held and all(volts is None for volts in self._terminals) and self._wiring.buses.limp

    def _move(self, until: float, volts: Array) -> None:
        if self._wiring.buses.all:
            self._wiring.buses.move(self._plant_at, until, volts)
        else:
            self._plant.drive(until - self._plant_at, volts)

    # -- lent (femtorque.hil.chip.lending) ----------------------------------------------

    def give(self, state: Any) -> None:
        """Copy times, voltages and `held` to C."""
        state.held, state.plant_at, state.changed_at = self._held, self._plant_at, self._changed_at
        state.terminals[0:len(self._terminals)] = floating(self._terminals).tolist()

    def lend_brakes(self, state: Any) -> bool:
        """Store for C whether the brakes are closed. False: they are about to move, or a joint has not stopped."""
        brakes, kinds = self._wiring.brakes, library()[1]
        if not brakes.settled(self._plant_at):
            return False
        state.stopped = brakes.closed(self._plant_at)
        floats = all(state.bridges[j].kind == kinds.FLOATS for j in range(len(self._terminals)))
        return not state.stopped or floats and self._terminals.count(None) == len(self._terminals) and not np.any(
            self._plant.v)

    def take(self, state: Any) -> None:
        """Copy times and voltages back from C."""
        self._plant_at, self._changed_at = state.plant_at, state.changed_at
        self._terminals = [None if math.isnan(volts) else volts for volts in state.terminals[0:len(self._terminals)]]


class Borrowed:
    """The coupler in C (coupled.c), in use while the chip's timers are lent to C and no part outside of the chip is in
    an unusual state. C calls back into Python to step a plant that is not in C."""

    def __init__(self, coupler: PlantCoupler, chip: Stm32, plant: Driven, wiring: Wiring) -> None:
        self._coupler, self._chip, self._plant, self._wiring = coupler, chip, plant, wiring
        self._inner, self._places = _inside(plant)
        self._ffi, self._lib = library()
        self._lending = chip.core.lending
        self.again, self.out = 0, False
        self._sequences: dict[int, list[int]] = {}  # channels that a converter samples, by the converter's number
        self._joints = len(wiring.joints)
        self._rows = np.zeros((4, self._joints))  # of a plant in Python: q, v, current, volts
        self._in_python = self._ffi.new("plant_steps *", {name: self._ffi.from_buffer("double[]", row)
                                                          for name, row in zip(_ROWS, self._rows, strict=True)})
        failed = {"onerror": chip.core.refuse}
        self._calls = (self._ffi.callback("void(void)", self._stuck, **failed),
                       self._ffi.callback("void(double, int32_t)", self._pass, **failed))
        self.state = self._ffi.new("coupled *", {
            "chip": self._ffi.cast("lent *", self._address(self._lending.state)), "joints": self._joints,
            "together": TOGETHER, "grip": GRIP, "stuck": self._calls[0], "pass": self._calls[1]})
        count = self._ffi.typeof(self.state.count)
        self.state.count = self._ffi.cast(count, self._lending.function("lent_count"))
        self._plug_plant()
        self._lending.whole = True
        self._lending.add(self)
        for converter in chip.converters:
            converter.sources = self._sources
        wiring.power.on_change = self.recall
        senses, power = wiring.senses, wiring.power
        for part in (*wiring.encoders.faults, *senses.current_sensors.values(), *power.gate_drivers):
            part.on_change = self._changed
        power.motor_wires.on_change = senses.temperatures.on_change = self._changed

    def _address(self, pointer: Any) -> int:
        return int(self._ffi.cast("uintptr_t", pointer))

    # -- lending --------------------------------------------------------------

    def lend(self, lending: Lending) -> bool:
        """Lend bridges, brakes, senses and plant; see femtorque.hil.chip.lending.Lender."""
        wiring = self._wiring
        self.again = lending.now + _ASK_AGAIN
        if not wiring.power.settled() or not all(t.out for t in wiring.power.timers):
            return False
        try:
            wiring.power.lend(self.state)
            if not all(self._sense(slot) for slot in self._sequences) or not self._coupler.lend_brakes(self.state):
                return False
        except Unmodelled:  # the model itself refuses when it is used
            return False
        self.out = True
        self._coupler.give(self.state)
        self.state.seconds_before, self.state.cycles_then, self.state.hz = self._chip.time_base
        self.copy_plant()
        lending.lend_board(self._address(self.state), {name: self._address(getattr(self._lib, f"coupled_{way}"))
                                                       for name, way in _WAYS.items()})
        for part in (*self._chip.converters, *self._chip.gpio.values()):
            part.touched()
        return True

    def _plug_plant(self) -> None:
        state, J, plant = self.state, self._joints, self._inner
        if plant is None:
            state.plant, state.place[0:J] = self._in_python, list(range(J))
            return
        state.plant = self._ffi.cast("plant_steps *", self._address(plant.handle))
        state.place[0:J] = self._places.tolist()
        state.origin[0:J], state.per_unit[0:J] = (x[self._places].tolist() for x in plant.encoders.line)

    def recall(self) -> None:
        """Take back what is lent."""
        if not self.out:
            return
        self.out = False
        self._lending.lend_board(0, {})
        self._coupler.take(self.state)
        self._lending.returned(self)

    def bring_up(self) -> bool:
        """Bring the plant to the chip's time in C. False: the coupler is not lent."""
        if self.out:
            self._lib.coupled_bring_up(self.state)
            self._chip.core.check()
            return True
        return False

    def _changed(self) -> None:
        """Take back everything after a change outside of the chip."""
        self._wiring.power.settle()
        self._lending.recall()
        for timer in self._chip.timers.values():
            timer.touched()

    # -- called by C and by converters ------------------------------------------

    def _sources(self, lending: Lending, slot: int, channels: list[int]) -> bool:
        """Lend the senses of these channels before their converter is lent."""
        self._sequences[slot] = channels
        return self.out and self._sense(slot)

    def _sense(self, slot: int) -> bool:
        return self._wiring.senses.lend(self.state.senses[slot], slot, self._sequences[slot])

    @property
    def _volts(self) -> Array:
        return np.array(list(self.state.terminals[0:self._joints]))

    def _stuck(self) -> None:
        assert self._inner is not None
        raise self._inner.refusal()

    def _pass(self, seconds: float, held: int) -> None:
        if self.state.stopped:
            self._plant.stop()
        (self._plant.hold if held else self._plant.drive)(seconds, self._volts)
        self.copy_plant()

    def copy_plant(self) -> None:
        """Copy the joint state of a plant in Python to C."""
        plant = self._plant
        if self._inner is not None:
            return
        self._rows[:3] = plant.q, plant.v, plant.current
        self.state.counted[0:self._joints] = plant.counts().tolist()


_ASK_AGAIN = 50_000  # cycles
_ROWS = ("q", "v", "current", "volts")
_WAYS = {"before_change": "change", "before_read": "bring_up", "volts": "volts", "counts": "counts"}


def _inside(plant: Driven) -> tuple[Stepped | None, NDArray[np.intp]]:
    """The plant itself if C moves it, and the numbers of the board's joints among the plant's."""
    whole = plant.plant if isinstance(plant, Wired) else plant
    if not isinstance(whole, Stepped):
        return None, np.zeros(0, int)
    return whole, plant.places if isinstance(plant, Wired) else np.arange(whole.n)


def could_lend(wiring: Wiring, modes: ModeFollower) -> bool:
    """True if the C covers all parts: motors behind bridges, in one mode."""
    return len(wiring.joints) <= MOST and not (modes.many or wiring.buses.all)


def floating(terminals: list[float | None]) -> Array:
    """Voltages (J,) V, NaN where a terminal floats."""
    return np.array([np.nan if volts is None else volts for volts in terminals], float)
