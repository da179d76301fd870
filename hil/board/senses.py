"""Voltages on the analogue pins of a board: motor currents, bus voltage and temperatures."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from femtorque.codegen.board import description
from femtorque.codegen.board.description import ADC_V
from femtorque.hil.board.bridges import Served, pin_of
from femtorque.hil.board.coupled import library
from femtorque.hil.board.current_sensors import CurrentSensor
from femtorque.hil.board.outside import Values
from femtorque.hil.board.power_stage import PowerStage
from femtorque.hil.chip.stm32.chip import Stm32
from femtorque.hil.plant.choose import Driven


class Senses:
    """temperatures: deg C, in the order of [sense]. current_sensors: by joint, if the chip has a converter for them."""

    def __init__(self, board: description.Board, chip: Stm32, joints: Served,
                 plant: Driven, power: PowerStage) -> None:
        self._board, self._chip, self._joints, self._plant, self._power = board, chip, joints, plant, power
        sense = board.sense
        self.temperatures = Values(25.0 for _ in (sense.temperature.pins if sense.temperature else ()))
        self.current_sensors: dict[int, CurrentSensor] = {}
        self._sensor_channels: dict[int, int] = {}  # joints by channel of the converter
        sampling = board.chip.sampling
        for j, (joint, channel) in enumerate(joints):
            if sampling and channel and channel.current and joint.motor:
                pin = channel.current.pin
                self.current_sensors[j] = CurrentSensor(board.name, pin, chip, power.gate_drivers,
                                                        lambda: chip.converters[0].window)
                self._sensor_channels[sampling.channels[pin]] = j
        for converter in chip.converters:
            converter.volts = partial(self._volts, converter)

    def _volts(self, converter: object, number: int) -> float:
        """V on an analogue pin of a converter: the first converter samples motor currents, the last one bus voltage and
        temperatures."""
        if converter is self._chip.converters[-1]:
            for key, name in self._board.sense.pins:
                if self._board.chip.analogue[name] == number:
                    return self._own(key) if self._is_analogue(name) else 0.0
        elif number in self._sensor_channels:
            return self._current(self._sensor_channels[number])
        return 0.0

    def lend(self, states: Any, converter: int, channels: list[int]) -> bool:
        """Describe to C the voltages on channels of a converter; states: by channel. False: one of them is random."""
        return all(self._lend(states[number], converter, number) for number in channels)

    def _lend(self, state: Any, converter: int, number: int) -> bool:
        j = None if self._chip.converters[converter] is self._chip.converters[-1] else self._sensor_channels.get(number)
        if j is not None:
            joint, channel = self._joints[j]
            assert joint.motor and channel and channel.current
            if self._is_analogue(channel.current.pin):
                state.joint = j
                return self.current_sensors[j].lend(state, self._sign(j))
        state.kind, state.zero = library()[1].STEADY, self._volts(self._chip.converters[converter], number)
        return True

    def _is_analogue(self, name: str) -> bool:
        port, pin = pin_of(self._chip, name)
        return port.mode(pin) == 3

    def _current(self, j: int) -> float:
        """V that a motor's current puts on its pin, by the current at the bridge, which has the opposite sign where the
        motor is wired the wrong way round."""
        joint, channel = self._joints[j]
        assert joint.motor and channel and channel.current
        amperes = self._sign(j) * float(self._plant.current[j])
        return self.current_sensors[j].volts(amperes) if self._is_analogue(channel.current.pin) else 0.0

    def _sign(self, j: int) -> float:
        """Sign of a joint's current at the bridge relative to the motor's."""
        motor = self._joints[j][0].motor
        assert motor is not None
        return motor.sign * math.copysign(1.0, self._power.motor_wires[j])

    def _own(self, key: str) -> float:
        """V that the board puts on a pin of its [sense]."""
        sense = self._board.sense
        if key == "sense.bus.pin":
            assert sense.bus is not None
            return self._power.bus_voltage / sense.bus.ratio
        assert sense.temperature is not None
        return ADC_V * sense.temperature.thermistor.share(self.temperatures[int(key.rpartition(".")[2])])
