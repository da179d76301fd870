"""The virtual board: the exact flash image on a modelled chip, driving a plant, talking over a cable or a TCP port.

Time is the chip's. Whoever holds the board grants it time (`run`, `advance`, or through `VirtualClock`), and nothing
moves in between: outcomes do not depend on how fast the machine is, nor, on a cable, on its network. The plant is
brought up to date whenever the chip's outputs change or an encoder is read; moments closer than TOGETHER count as one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codegen.board import channels, description
from codegen.board import reader as board_file
from codegen.board.description import ADC_V
from codegen.mechanism.description import Mechanism
from hil.board.bridges import Bridge, pin_of
from hil.board.cable import Cable
from hil.board.current_sensors import CurrentSensor
from hil.board.disturbance import Disturbance
from hil.board.drv8301 import Drv8301
from hil.board.encoder_fault import EncoderFault
from hil.board.mode_follower import ModeFollower
from hil.board.played import PlayedBoard, VirtualClock
from hil.board.tcp_port import TcpPort
from hil.board.telemetry import Record, TickRecorder, targets, telemetry_type
from hil.chip import family as chips
from hil.chip.cpu import Handled
from hil.chip.elf import Image
from hil.chip.nvic import PENDSV, SYSTICK
from hil.chip.stm32.chip import FLASH_START
from hil.chip.stm32.gpio import Gpio
from hil.chip.stm32.serial import Serial
from hil.plant.choose import Driven, wired

Array = NDArray[np.float64]

TOGETHER = 20e-6  # s
GRIP = 0.05  # rad/s or m/s: brakes hold what is slower, and stop nothing that is faster
SLICE = 1e-3  # s between two looks at the link
CYCLE = 1e-7  # s, more than one clock cycle: as near as the chip comes to a moment


class VirtualBoard:
    """One board with its plant. `plug_in` is for a host in this process; `port` is the TCP port of the serial link,
    `url` what pyserial opens. number: of its chip, which tells equal boards apart; left out, the port that was asked
    for."""

    def __init__(self, elf: str | Path, mechanism: Mechanism, plant: Driven, port: int = 0,
                 number: int | None = None) -> None:
        assert mechanism.board is not None
        self.mechanism, self.plant = mechanism, wired(plant)
        self.board = board_file.load(mechanism.board.use)
        model = chips.model(self.board.chip)
        flash = model.REGIONS[0]
        self.image = Image.load(elf, flash.start, flash.size)
        self.chip = model(self.image.flash, self.board.hse_hz, port if number is None else number)
        self.gate_drivers = [Drv8301() for _ in (self.board.gate_driver.selects if self.board.gate_driver else ())]
        self.dt = 1.0 / mechanism.control.rate_hz
        self._fault_pulled = False
        self.bus_voltage = mechanism.board.bus_voltage
        sense = self.board.sense
        self.temperatures = [25.0 for _ in (sense.temperature.pins if sense.temperature else ())]  # deg C
        self.broken_wires: set[str] = set()  # pins at which nothing of the board's own senses arrives
        self.joints = channels.served(mechanism, self.board)
        self.encoder_faults = [EncoderFault() for _ in self.joints]
        self.current_sensors: dict[int, CurrentSensor] = {}  # by joint
        # share of a bridge's voltage at its motor; -1: the wrong way round
        self.motor_wires = [1.0 for _ in self.joints]
        self.incoming, self.outgoing = Disturbance(seed=1), Disturbance(seed=2)
        self._plant_at = self._changed_at = 0.0  # s: where the plant is; when outputs last seemed to change
        self._terminals: list[float | None] = [None for _ in self.joints]  # V on the motors, until _changed_at
        self._modes = ModeFollower(mechanism)
        self.switched = self._modes.switched
        self._wire()
        self._recorder = TickRecorder(self.chip.core, self.image, mechanism, len(self.joints))
        self.recording = True
        brake = mechanism.safety.brake
        self.brake_release_s, self.brake_engage_s = (brake.release_s, brake.engage_s) if brake else (0.0, 0.0)
        self._brake_level, self._brake_moved = False, -math.inf  # whether it is told to open, and since when
        self.brakes = False  # whether something holds an arm at rest up while its drivers are off
        split = "ft_boundary_interrupt" in self.image.symbols
        self.tick_exception = PENDSV if split else SYSTICK  # the exception in which the control tick runs
        self.chip.core.on_exception = self._exception_done
        self._line = TcpPort(port)
        self.port, self.url = self._line.port, self._line.url
        self.ticks = 0
        self.tick_cycles = self.worst_cycles = 0  # of the last tick, of the worst one
        self.listeners: list[Callable[[bytes], None]] = []  # get every byte the chip sends, before any disturbance
        self._planned: list[tuple[float, Callable[[], None]]] = []

    def plug_in(self) -> Cable:
        """A cable for the link of a host in this process, in the place of any other host."""
        return self._line.plug_in()

    @property
    def seconds(self) -> float:
        """Simulated time since power-on."""
        return self.chip.seconds

    def close(self) -> None:
        self._line.close()

    def __enter__(self) -> VirtualBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- wiring -------------------------------------------------------------

    def _wire(self) -> None:
        chip = self.chip
        self._bridges = [Bridge(self.board, chip, joint, channel) if channel else None for joint,
                         channel in self.joints]
        self._enable = self._pin(self.board.outputs.enable) if self.board.outputs else None
        chip.before_change, chip.before_read = self._before_change, self._bring_plant_up
        for j, (_, channel) in enumerate(self.joints):
            if channel:
                chip.timers[channel.encoder.timer].counts = self._counter(j, channel)
                if channel.encoder.index:
                    port, pin = self._pin(channel.encoder.index)
                    port.sources[pin] = partial(self._index, j)
        self._estop_open = False
        self.estop(False)
        for converter in chip.converters:
            converter.volts = partial(self._sensed, converter)
        self._wire_current_sensors()
        if self.board.outputs and self.board.outputs.fault:
            port, pin = self._pin(self.board.outputs.fault)
            port.sources[pin] = self._fault_line
        if self.gate_drivers and self.board.outputs:
            chip.spi.exchange = self._exchange
            chip.gpio[self.board.outputs.enable[1]].on_output = self._move_enable

    def _pin(self, name: str) -> tuple[Gpio, int]:
        return pin_of(self.chip, name)

    @property
    def bus_voltage(self) -> float:
        """V of the motors' supply."""
        return self._bus_voltage

    @bus_voltage.setter
    def bus_voltage(self, volts: float) -> None:
        self.chip.before_change()
        self._bus_voltage = volts
        for driver in self.gate_drivers:
            driver.supply(self.seconds, volts)

    def _fault_line(self) -> bool:
        """The level of the drivers' common fault line, which each of them can pull low."""
        return not (self._fault_pulled or any(driver.pulls_fault(self.seconds) for driver in self.gate_drivers))

    def gate_driver(self, j: int) -> Drv8301 | None:
        """The gate driver of a joint's motor."""
        motor = self.joints[j][0].motor
        return self.gate_drivers[motor.channel] if self.gate_drivers and motor else None

    def _counter(self, j: int, channel: description.Channel) -> Callable[[], int]:
        (port_a, a), (port_b, b) = self._pin(channel.encoder.a), self._pin(channel.encoder.b)
        a_function, b_function = (self.board.function(f"{channel.encoder.timer}_CH{n}", pin)
                                  for n, pin in ((1, channel.encoder.a), (2, channel.encoder.b)))
        plant, fault = self.plant, self.encoder_faults[j]

        def counts() -> int:
            if fault.stall:
                self.chip.core.stall(fault.stall)
                fault.stall = 0
            connected = port_a.alternate(a) == a_function and port_b.alternate(b) == b_function
            return fault.seen(int(plant.counts()[j])) if connected else 0

        return counts

    def _index(self, j: int) -> bool:
        """Whether an encoder's index pulse is there, if its plant has one."""
        self._bring_plant_up()
        pulse = getattr(self.plant, "index", None)
        return bool(pulse is not None and pulse(j))

    def _move_enable(self) -> None:
        """The line that wakes the gate drivers may have moved."""
        assert self.board.outputs is not None
        for driver in self.gate_drivers:
            driver.enable(self.seconds, self._high(self.board.outputs.enable))

    def _exchange(self, word: int, mode: int) -> int:
        """What the selected gate driver answers; two at once answer nothing sensible."""
        assert self.board.gate_driver is not None
        selected = [driver for driver, pin in zip(self.gate_drivers, self.board.gate_driver.selects, strict=True)
                    if self._pin(pin)[0].mode(int(pin[2:])) == 1 and not self._high(pin)]
        return selected[0].exchange(self.seconds, word, mode) if len(selected) == 1 else 0

    def _wire_current_sensors(self) -> None:
        """On a chip that has a converter for them."""
        self._sensor_channels: dict[int, int] = {}  # of the converter, to joints
        sampling = self.board.chip.sampling
        for j, (joint, channel) in enumerate(self.joints):
            if sampling and channel and channel.current and joint.motor:
                pin = channel.current.pin
                self.current_sensors[j] = CurrentSensor(self.board.name, pin, self.chip, self.gate_drivers,
                                                        lambda: self.chip.converters[0].window)
                self._sensor_channels[sampling.channels[pin]] = j

    def _sensed(self, converter: object, number: int) -> float:
        """V on an analogue pin of a converter: the first is that of the motors' currents, the last that of bus and
        temperatures."""
        if converter is self.chip.converters[-1]:
            for key, name in self.board.sense.pins:
                if self.board.chip.analogue[name] == number:
                    port, pin = self._pin(name)
                    return self._own_sense(key) if port.mode(pin) == 3 and name not in self.broken_wires else 0.0
        elif number in self._sensor_channels:
            return self._current_sense(self._sensor_channels[number])
        return 0.0

    def _current_sense(self, j: int) -> float:
        """V that a motor's current puts on its pin: the current at the bridge, whichever way round its motor is
        wired."""
        joint, channel = self.joints[j]
        assert joint.motor and channel and channel.current
        port, pin = self._pin(channel.current.pin)
        amperes = joint.motor.sign * math.copysign(1.0, self.motor_wires[j]) * float(self.plant.current[j])
        return self.current_sensors[j].volts(amperes) if port.mode(pin) == 3 else 0.0

    def _own_sense(self, key: str) -> float:
        """V that the board puts on a pin of its [sense]."""
        sense = self.board.sense
        if key == "sense.bus.pin":
            assert sense.bus is not None
            return self.bus_voltage / sense.bus.ratio
        assert sense.temperature is not None
        return ADC_V * sense.temperature.thermistor.share(self.temperatures[int(key.rpartition(".")[2])])

    def _high(self, pin: str) -> bool:
        port, number = self._pin(pin)
        return port.driven(number)

    def voltages(self) -> Array:
        """What the drivers put on the motors (n,) V; NaN where they let them float."""
        return _floating(self._driven())

    def _driven(self) -> list[float | None]:
        """The same; None where they float."""
        floating: list[float | None] = [None for _ in self._bridges]
        outputs = self.board.outputs
        if outputs is None or self._enable is None or not self._enable[0].driven(self._enable[1]):
            return floating
        if outputs.gated and self._estop_open:
            return floating
        shares = [bridge.share if bridge and self._let_through(j) else None for j, bridge in enumerate(self._bridges)]
        wires = zip(shares, self.motor_wires, strict=True)
        return [None if share is None else share * self.bus_voltage * wire for share, wire in wires]

    def _let_through(self, j: int) -> bool:
        """Whether a joint's gate driver, if there is one, drives its bridge."""
        driver = self.gate_driver(j)
        return driver is None or driver.drives(self.seconds)

    def outputs_safe(self) -> bool:
        """Whether no motor is driven: drivers off, or every PWM output low."""
        volts = self.voltages()
        return bool(np.all(np.isnan(volts) | (volts == 0.0)))

    def _before_change(self) -> None:
        """Outputs change, or seem to: only where the voltages did is there a step for the plant to take."""
        terminals = self._driven()
        if terminals != self._terminals:
            self._drive(self._changed_at)
            self._terminals = terminals
        self._changed_at = self.chip.seconds

    def _bring_plant_up(self) -> None:
        now = self.chip.seconds
        if now - self._plant_at > TOGETHER:
            self._before_change()
            self._drive(now)
        self._modes.follow(self.plant, now + TOGETHER, now)

    def _drive(self, until: float) -> None:
        if until - self._plant_at > TOGETHER:
            volts = _floating(self._terminals)
            if self.brake_closed(self._plant_at):
                self.plant.v[:] = 0.0  # without slip: how much torque they hold is not modelled
            elif not (self.brakes and np.all(np.isnan(volts)) and np.all(np.abs(self.plant.v) < GRIP)):
                self.plant.drive(until - self._plant_at, volts)
            self._plant_at = until

    def brake_closed(self, seconds: float) -> bool:
        """Whether the holding brakes hold. Their springs close them whenever nothing opens them, a chip in reset
        included."""
        brake = self.board.brake
        if brake is None or self.mechanism.safety.brake is None:
            return False
        port, pin = self._pin(brake.pin)
        level = port.mode(pin) == 1 and bool(port.value["ODR"] >> pin & 1) == (brake.release == "high")
        if level != self._brake_level:
            was_closed = self._closed_by(seconds)
            self._brake_level = level
            self._brake_moved = seconds if was_closed == level else -math.inf  # turned round on its way: it is there
        return self._closed_by(seconds)

    def _closed_by(self, seconds: float) -> bool:
        """Whether they are closed at a time, their output being as it was last seen."""
        since = seconds - self._brake_moved
        return since < self.brake_release_s if self._brake_level else since >= self.brake_engage_s

    # -- time ---------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let that much simulated time pass."""
        self.run_until(self.seconds + seconds)

    def run_until(self, seconds: float) -> None:
        """Let time pass until `seconds` after power-on."""
        while self.seconds < seconds - CYCLE:
            while self._planned and self._planned[0][0] <= self.seconds + CYCLE:
                self._planned.pop(0)[1]()
            self._listen()
            self.chip.run(min(seconds, self.seconds + SLICE, *(at for at, _ in self._planned[:1])))
            self._talk()
        self._bring_plant_up()

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something to the board at that time after power-on (now, if it is past)."""
        self._planned.append((max(seconds, self.seconds), action))
        self._planned.sort(key=lambda planned: planned[0])

    def advance(self, ticks: int) -> None:
        """Let that many control periods pass."""
        self.run(ticks * self.dt)

    def serve(self, speed: float = 1.0, until: Callable[[], bool] = lambda: False) -> None:
        """Run paced by the machine's clock, `speed` times real time, until interrupted or until() says so."""
        began, start = time.monotonic(), self.seconds
        while not until():
            behind = (time.monotonic() - began) * speed - (self.seconds - start)
            if behind > 0.0:
                self.run(min(behind, 0.05))
                if behind > 1.0:  # the machine is too slow: do not run after lost time
                    began, start = time.monotonic(), self.seconds
            else:
                time.sleep(min(-behind / speed, 0.005) + 1e-4)

    # -- link ---------------------------------------------------------------

    def _listen(self) -> None:
        """Bytes from the host onto the wire."""
        data = self._line.receive()
        if data is not None and (data := self.incoming(data)):
            self._usart.line_in(data)

    def _talk(self) -> None:
        """Bytes that have left the chip to the host."""
        sent = self._usart.line_out()
        for listener in self.listeners if sent else ():
            listener(sent)
        self._line.send(self.outgoing(sent))

    @property
    def _usart(self) -> Serial:
        return self.chip.usarts[self.board.link.usart]

    # -- faults -------------------------------------------------------------

    def estop(self, pressed: bool) -> None:
        """Open (True) or close the e-stop loop: its pins go low, and where it does so by itself, the enable line."""
        if not self.board.outputs:
            return
        self.chip.before_change()
        self._estop_open = pressed
        for loop in self.board.outputs.estop:
            port, pin = self._pin(loop.pin)
            port.drive(pin, not pressed)
            if loop.timer:
                self.chip.timers[loop.timer].set_break(pressed)

    def driver_fault(self, present: bool) -> None:
        """A motor driver pulls its fault line low, or lets go of it."""
        assert self.board.outputs is not None and self.board.outputs.fault is not None
        self._fault_pulled = present

    def over_current(self, j: int, fets: int) -> None:
        """Transistors of a joint's bridges (bits of status register 1) carry more than its gate driver lets them."""
        driver = self.gate_driver(j)
        assert driver is not None
        self.chip.before_change()
        driver.over_current(fets)

    def reset(self, cause: str = "pin") -> None:
        """Reset the chip in the middle of whatever it does: 'pin', 'brownout' or 'power'."""
        self.chip.reset(cause)

    def kill_crystal(self) -> None:
        """The external oscillator stops."""
        self.chip.rcc.fail_hse()

    # -- recording ----------------------------------------------------------

    def _exception_done(self, number: int, done: Handled) -> None:
        if number != self.tick_exception:
            return
        self.ticks += 1
        cycles = self.tick_cycles = self._recorder.count(number)
        self.worst_cycles = max(self.worst_cycles, cycles)
        self._look_at_mode(self.seconds - cycles / self.chip.rcc.hclk)
        if self.recording:
            self._recorder.take(self.plant, self.seconds)

    def _look_at_mode(self, began: float) -> None:
        if len(self.mechanism.modes) > 1 and not np.all(np.isnan(self.voltages())):
            self._modes.computed(self._recorder.telemetry.mode_now(), began + self.board.lead * self.dt)

    def telemetry(self) -> np.void:
        """What the image's last tick has left, as `telemetry_type` lays it out."""
        telemetry = self._recorder.telemetry
        return telemetry.taken(telemetry.read())[0]

    def record(self) -> Record:
        """All recorded ticks."""
        return self._recorder.record()

    def truth(self, tick: int) -> tuple[Array, Array]:
        """Positions and rates (J,) of the plant when a tick of late began; nan where it was not recorded."""
        return self._recorder.truth(tick)

    def target_positions(self, record: Record) -> Array:
        """Desired positions (T, J) in rad or m."""
        return targets(record, [joint for joint, _ in self.joints])


def _floating(terminals: list[float | None]) -> Array:
    """Voltages (n,) V, NaN where a terminal floats."""
    return np.array([np.nan if volts is None else volts for volts in terminals], float)


__all__ = ["Disturbance", "EncoderFault", "FLASH_START", "PlayedBoard", "Record", "VirtualBoard", "VirtualClock",
           "targets", "telemetry_type"]
