"""Voltages on the analogue pins of a board: motor currents, bus voltage and temperatures."""

import math
from typing import Any

from femtorque.codegen.board import ADC_V, Board
from femtorque.hil.board.adjustable import Values
from femtorque.hil.board.bridges import Served, pin_of
from femtorque.hil.board.coupled import library
from femtorque.hil.board.current_sensors import CurrentSensor
from femtorque.hil.board.power_stage import PowerStage
from femtorque.hil.chip import Stm32, Unmodelled
from femtorque.hil.plant import Driven


class Senses:
    """Voltages on analogue pins. temperatures: deg C each, in the order of [sense]."""

    def __init__(self, board: Board, chip: Stm32, joints: Served,
                 plant: Driven, power: PowerStage) -> None:
        self._board, self._chip, self._joints, self._plant, self._power = board, chip, joints, plant, power
        sense = board.sense
        self.temperatures = Values(25.0 for _ in (sense.temperature.pins if sense.temperature else ()))
        self.current_sensors: dict[int, CurrentSensor] = {}  # sensors by joint
        self._sensor_channels: dict[int, int] = {}  # joints by the channel of the converter
        sampling = board.chip.sampling
        for j, (joint, channel) in enumerate(joints):
            if sampling and channel and channel.current and joint.motor:
                pin = channel.current.pin
                self.current_sensors[j] = CurrentSensor(board.name, pin, chip, power.gate_drivers,
                                                        lambda: chip.converters[0].window)
                self._sensor_channels[sampling.channels[pin]] = j

    def describe(self, states: Any) -> None:
        """Describe the voltages on analogue pins to C. states: states of the converters, by converter and channel. The
        first converter samples motor currents. The last converter samples the bus voltage and the temperatures."""
        first, last = self._chip.converters[0], self._chip.converters[-1]
        for number, j in self._sensor_channels.items():
            self._describe_sensor(states[first.slot][number], j)
        for key, name in self._board.sense.pins:
            state = states[last.slot][self._board.chip.analogue[name]]
            state.kind, state.heard = library()[1].STEADY, False
            state.zero = self._own(key) if self._is_analogue(name) else 0.0

    def _describe_sensor(self, state: Any, j: int) -> None:
        _, channel = self._joints[j]
        assert channel and channel.current
        state.kind, state.joint, state.zero, state.heard = library()[1].STEADY, j, 0.0, False
        if self._is_analogue(channel.current.pin):
            try:
                self.current_sensors[j].describe(state, self._sign(j))
            except Unmodelled:  # refused at the time at which the converter samples it
                state.heard = True

    def heard(self, j: int, volts: float) -> float:
        """Add the noise of a joint's current sensor to the voltage on the sensor's pin, V."""
        self.current_sensors[j].describe(library()[0].new("sense *"), 1.0)
        return self.current_sensors[j].heard(volts)

    def _is_analogue(self, name: str) -> bool:
        port, pin = pin_of(self._chip, name)
        return port.mode(pin) == 3

    def _sign(self, j: int) -> float:
        """Return the sign of a joint's current at the bridge relative to the current in the motor."""
        motor = self._joints[j][0].motor
        assert motor is not None
        return motor.sign * math.copysign(1.0, self._power.motor_wires[j])

    def _own(self, key: str) -> float:
        """Return the voltage that the board applies to a pin of its [sense], V."""
        sense = self._board.sense
        if key == "sense.bus.pin":
            assert sense.bus is not None
            return self._power.bus_voltage / sense.bus.ratio
        assert sense.temperature is not None
        return ADC_V * sense.temperature.thermistor.share(self.temperatures[int(key.rpartition(".")[2])])
