"""The boards' current sensors. The voltages on their pins come from the makers' documents and other firmware, not from
the board files, which the firmware uses. A positive current leaves the bridge at its first output."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from femtorque.hil.board.adjustable import Adjustable
from femtorque.hil.board.bridges import here
from femtorque.hil.board.coupled import library
from femtorque.hil.board.drv8301 import Drv8301
from femtorque.hil.chip import Stm32

Window = tuple[float, float]  # cycles at the beginning and end of the sampling window


@dataclass(frozen=True)
class InLine:
    """A Hall sensor in series with the motor: V, V/A. low, high: limits of its output, V."""

    zero_v: float
    volts_per_ampere: float
    low: float
    high: float


@dataclass(frozen=True)
class LowShunt:
    """A shunt in series with the low switch of a motor's second half bridge. timer, output: timer and output of this
    half bridge."""

    timer: str
    output: int
    driver: int  # number of the gate driver whose amplifier is used


# Allegro ACS725LLCTR-20AB-T at 3.3 V: 66 mV/A around half the supply, range +-20 A. The data sheet guarantees an output
# range of at least 0.33 to 2.97 V. No source states how close to the supply rails the output gets. This model takes 0.3
# V. The maximum commanded current (14.3 A) and the trip current (17.2 A) are within the +-20 A range of this part
# number.
_HALL = InLine(1.65, 0.066, 0.3, 3.0)

# ODrive v3.6: shunts of 0.5 mOhm (SHUNT_RESISTANCE in Board/v3/board.h) in series with the low switches of half bridges
# B and C. ODrive's firmware uses (count - middle) / gain / shunt as the current into the motor at that half bridge,
# without a minus sign (motor.cpp, phase_current_from_adcval; board.cpp, fetch_and_reset_adcs: Ia = -Ib - Ic). ODrive's
# current loop is stable only with this sign of the current. Therefore the pin is above the middle voltage while current
# flows out of the half bridge. The amplifier of the DRV8301 (SLOS719) is modelled: centred on half of the 3.3 V
# reference, gain 10 to 80 V/V, minimum output 0.3 V. The protection circuit of the converter limits the output to 3.3
# V.
_SHUNT_OHM, _MIDDLE_V, _AMPLIFIER_LOW_V, _AMPLIFIER_HIGH_V = 500e-6, 1.65, 0.3, 3.3

# by board and pin. M0_IB is PC0 and M1_IB is PC3 in ODrive's main.h. Half bridge B is at output 2 of TIM1 and of TIM8.
PARTS: dict[str, dict[str, InLine | LowShunt]] = {
    "f405rg-4": {pin: _HALL for pin in ("PC0", "PC1", "PC2", "PC3")},
    "nucleo-g474re-6": {pin: _HALL for pin in ("PB11", "PA6", "PA7", "PC4")},
    "odrive-v3.6": {"PC0": LowShunt("TIM1", 2, 0), "PC3": LowShunt("TIM8", 2, 1)},
}


class CurrentSensor(Adjustable):
    """A motor's sensor, in C (coupled.c). backwards: true if the sensor is mounted in reverse. gain: remaining fraction
    of the gain. noise: maximum error of a reading, V."""

    def __init__(self, board: str, pin: str, chip: Stm32, drivers: list[Drv8301], window: Callable[[], Window]) -> None:
        self._part, self._chip, self._drivers, self._window = PARTS[board][pin], chip, drivers, window
        self.backwards, self.gain = False, 1.0
        self.stuck: float | None = None  # constant voltage on the pin, V
        self.noise, self._random = 0.0, Random(1)

    def volts(self, amperes: float) -> float:
        """Return the voltage on the pin in the sampling window, V, at a current in A."""
        ffi, lib = library()
        state = ffi.new("sense *")
        self.describe(state, 1.0)
        return self.heard(float(lib.sense_volts(here(self._chip), state, amperes, *self._window())))

    def heard(self, volts: float) -> float:
        """Return a voltage with noise added, V."""
        return volts + self._random.uniform(-self.noise, self.noise) if self.noise else volts

    def describe(self, state: Any, sign: float) -> None:
        """Describe the sensor to C. sign: sign of the sensor's current relative to the motor's current."""
        part, kinds = self._part, library()[1]
        state.heard = bool(self.noise) and self.stuck is None
        if self.stuck is not None:
            state.kind, state.zero = kinds.STEADY, self.stuck
            return
        state.sign = sign * (-self.gain if self.backwards else self.gain)
        if isinstance(part, InLine):
            state.kind, state.zero, state.slope = kinds.IN_LINE, part.zero_v, part.volts_per_ampere
            state.low, state.high = part.low, part.high
            return
        timer = self._chip.timers[part.timer]
        state.kind = kinds.SHUNT if timer.halves_on(part.output) else kinds.STEADY
        state.zero, state.slope = _MIDDLE_V, -(self._drivers[part.driver].gain * _SHUNT_OHM)
        state.low, state.high = _AMPLIFIER_LOW_V, _AMPLIFIER_HIGH_V
        state.below.timer, state.below.channel = timer.slot, part.output - 1
