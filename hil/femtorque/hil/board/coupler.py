"""The coupler brings a plant up to the chip's time each time the chip's outputs change or an encoder is read. Times
that differ by less than TOGETHER count as equal."""

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Array, Refused
from femtorque.hil.board.bridges import here
from femtorque.hil.board.coupled import library
from femtorque.hil.board.mode_follower import ModeFollower
from femtorque.hil.board.wiring import Wiring
from femtorque.hil.chip import Injected, Stm32
from femtorque.hil.clock import Member
from femtorque.hil.plant import MOST, Driven, Stepped, Wired

TOGETHER = 20e-6  # s
GRIP = 0.05  # velocity below which a brake holds a joint, rad/s or m/s; a brake does not stop a faster joint


class PlantCoupler:
    """The coupler in C (coupled.c). Python moves plants in Python, and handles closing brakes, drives on buses, and
    modes. After each change except of duties, Python describes bridges, sensors and encoders again. held: an external
    support holds the arm while it is at rest and no motor is driven."""

    held = Member(bool)

    def __init__(self, chip: Stm32, plant: Driven, wiring: Wiring, modes: ModeFollower) -> None:
        self._chip, self.plant, self._wiring, self._modes = chip, plant, wiring, modes
        self._inner, self._places = _inside(plant)
        self._parts = chip.parts
        self._ffi, self._lib = library()
        self._joints = len(wiring.joints)
        if self._joints > MOST:
            raise Refused(f"{self._joints} joints: a virtual board has room for {MOST}")
        self._rows = np.zeros((4, self._joints))  # q, v, current and volts, if the plant is in Python
        self._in_python = self._ffi.new("plant_steps *", {name: self._ffi.from_buffer("double[]", row)
                                                          for name, row in zip(_ROWS, self._rows, strict=True)})
        failed = {"onerror": self._parts.refuse}
        self._calls = {"stuck": self._ffi.callback("void(void)", self._stuck, **failed),
                       "pass": self._ffi.callback("void(double, int32_t)", self._pass, **failed),
                       "follow": self._ffi.callback("void(void)", self._follow, **failed),
                       "switched": self._ffi.callback("void(void)", wiring.power.changed, **failed),
                       "hear": self._ffi.callback("double(int32_t, double)", wiring.senses.heard, **failed)}
        self.state = self._ffi.new("coupled *", {
            "chip": here(chip), "joints": self._joints, "together": TOGETHER, "grip": GRIP, "many": modes.many,
            "terminals": [math.nan] * self._joints, **self._calls})
        self._plug_plant()
        wiring.power.plug(self.state)
        self._description = self._ffi.callback("void(void *)", lambda board: self._describe(), **failed)
        ways = {name: _address(self._ffi, getattr(self._lib, f"coupled_{way}")) for name, way in _WAYS.items()}
        self._parts.connect(_address(self._ffi, self.state), describe=_address(self._ffi, self._description), **ways)
        self._volts = {converter: partial(self._volts_on, converter) for converter in chip.converters}
        for converter, volts in self._volts.items():
            converter.volts = volts
        self._hear_changes()

    def _hear_changes(self) -> None:
        """Mark the description of the board as stale when a component outside of the chip changes."""
        wiring = self._wiring
        senses, power = wiring.senses, wiring.power
        power.on_change = self._changed
        for part in (*wiring.encoders.faults, *senses.current_sensors.values(), *power.gate_drivers):
            part.on_change = power.changed
        power.motor_wires.on_change = senses.temperatures.on_change = power.changed
        wiring.buses.on_change = power.changed
        for one in wiring.buses.all.values():
            one.catch_up_in_c(self.bring_up, _address(self._ffi, self._lib.coupled_bring_up),
                              _address(self._ffi, self.state))
            one.on_change = power.changed
        self._changed()

    def _changed(self) -> None:
        self._parts.state.stale = True

    def _plug_plant(self) -> None:
        state, J, plant = self.state, self._joints, self._inner
        if plant is None:
            state.plant, state.place[0:J] = self._in_python, list(range(J))
            return
        state.plant = self._ffi.cast("plant_steps *", int(_address(self._ffi, plant.handle)))
        state.place[0:J] = self._places.tolist()
        state.origin[0:J], state.per_unit[0:J] = (x[self._places].tolist() for x in plant.encoders.line)

    @property
    def on_buses(self) -> bool:
        """True if drives on buses move joints."""
        return bool(self._wiring.buses.all)

    def look(self) -> None:
        """Read the state of a plant in Python. Code outside of this module may have changed the state."""
        plant = self.plant
        if self._inner is None:
            self._rows[:3] = plant.q, plant.v, plant.current
            self.state.counted[0:self._joints] = plant.counts().tolist()

    def bring_up(self) -> None:
        """Simulate the plant up to the chip's time."""
        self._lib.coupled_bring_up(self.state)
        self._parts.check()

    def terminals(self) -> Array:
        """Return the motor voltages (J,) that the drivers produce, V. NaN: the terminals of the motor float."""
        found = np.empty(self._joints)
        self._lib.coupled_terminals(self.state, self._ffi.from_buffer("double[]", found))
        self._parts.check()
        return found

    def _volts_on(self, converter: Injected, channel: int) -> float:
        return float(self._lib.coupled_volts(self.state, converter.slot, channel, *converter.window))

    # -- called by C ----------------------------------------------------------

    def _describe(self) -> None:
        """Describe bridges, brakes, sensors and encoders to C. C asks again while outputs change with time."""
        state, wiring = self.state, self._wiring
        wiring.power.describe(state)
        wiring.senses.describe(state.senses)
        wiring.encoders.describe()
        for converter, volts in self._volts.items():
            converter.state.outside = converter.volts is volts
        closed = wiring.brakes.closed(state.plant_at)
        state.stopped = closed and self._at_rest()
        settled = wiring.power.settled() and wiring.brakes.settled(state.plant_at)
        line = wiring.buses.describe() if wiring.relay.settled else None
        state.line = line or self._ffi.NULL
        state.by_hand = bool(wiring.buses.all) and line is None or closed and not state.stopped
        awaited = wiring.buses.in_c and line is None
        self._parts.state.stale = not settled or awaited or closed and not state.stopped

    def _at_rest(self) -> bool:
        """Return true if no joint moves and the terminals of all motors float."""
        joints = range(self._joints)
        return all(self.state.bridges[j].kind == self._lib.FLOATS and math.isnan(self.state.terminals[j])
                   for j in joints) and not np.any(self.plant.v)

    def _stuck(self) -> None:
        plant = self._inner or self._wiring.buses.steps.plant
        assert plant is not None
        raise plant.refusal()

    def _pass(self, until: float, let_be: int) -> None:
        """Simulate the plant up to a time, s. let_be: a support holds the arm at rest and no motor is driven."""
        since, wiring = self.state.plant_at, self._wiring
        volts = np.array(list(self.state.terminals[0:self._joints]))
        if wiring.brakes.closed(since):
            self.plant.stop()  # the maximum torque of the brakes is not modelled
            self.plant.hold(until - since, volts)
        elif let_be and wiring.buses.limp:
            wiring.buses.idle(since, until)
            self.plant.hold(until - since, volts)
        elif wiring.buses.all:
            wiring.buses.move(since, until, volts)
        else:
            self.plant.drive(until - since, volts)
        self.look()

    def _follow(self) -> None:
        now = self._chip.seconds
        self._modes.follow(self.plant, now + TOGETHER, now)


_ROWS = ("q", "v", "current", "volts")
_WAYS = {"before_change": "change", "before_read": "bring_up", "volts": "volts", "counts": "counts",
         "exchange": "exchange"}


def _address(ffi: Any, pointer: Any) -> Any:
    return int(ffi.cast("uintptr_t", pointer))


def _inside(plant: Driven) -> tuple[Stepped | None, NDArray[np.intp]]:
    """Return the plant if it is in C, or None, and the numbers of the board's joints in the plant."""
    whole = plant.plant if isinstance(plant, Wired) else plant
    if not isinstance(whole, Stepped):
        return None, np.zeros(0, int)
    return whole, plant.places if isinstance(plant, Wired) else np.arange(whole.n)
