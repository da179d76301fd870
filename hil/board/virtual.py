"""The virtual board: the exact flash image on a modelled chip, driving a plant, talking over a cable or a TCP port.

Time is the chip's. Whoever holds the board grants it time (`run`, `advance`, or through `VirtualClock`), and nothing
moves in between: outcomes do not depend on how fast the machine is, nor, on a cable, on its network. The plant is
brought up to date whenever the chip's outputs change or an encoder is read; moments closer than TOGETHER count as one.
"""

from __future__ import annotations

import math
import re
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from codegen.board import channels, description
from codegen.board import reader as board_file
from codegen.board.description import ADC_V
from codegen.mechanism.description import Joint, Mechanism
from codegen.wire.units import position_unit
from hil.board.bridges import Bridge, pin_of
from hil.board.cable import Cable
from hil.board.current_sensors import CurrentSensor
from hil.board.disturbance import Disturbance
from hil.board.drv8301 import Drv8301
from hil.chip import family as chips
from hil.chip.cpu import CortexM4, Handled
from hil.chip.elf import Image
from hil.chip.nvic import PENDSV, SYSTICK
from hil.chip.stm32.chip import FLASH_START
from hil.chip.stm32.gpio import Gpio
from hil.chip.stm32.serial import Serial
from hil.plant.choose import Driven, follow, wired
from host.link.link import Device

Array = NDArray[np.float64]

TOGETHER = 20e-6  # s
LATE = 256  # ticks that a STATUS may be on its way and still be told the truth of
STEPS = 8  # ticks before a motion shows in its target, of which the step's state is kept
STEP = re.compile(
    r"(ft_step(_moded|_enter)?|ft_(m\d+_)?(tree|loop_solve)|ft_m\d+_(step|enter|tick)|ft_flexible_.*)(\.\w+)*")
GRIP = 0.05  # rad/s or m/s: brakes hold what is slower, and stop nothing that is faster
SLICE = 1e-3  # s between two looks at the link
CYCLE = 1e-7  # s, more than one clock cycle: as near as the chip comes to a moment
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Record:
    """Every control tick since recording began. T ticks, J joints; rad, rad/s, N m (m, m/s, N for prismatic joints).

    tick (T,), torque_ff, torque, duty, rate, target_rate (T, J) float32, position, target (T, J) in wire units without
    whole turns: as the image left them at the end of the tick. q, v (T, J): the plant's truth at its beginning.
    instructions, cycles (T,): of the whole tick interrupt; step_instructions (T,): of ft_step within it. steps: by
    number of a tick with closed loops or modes, what its step has left to go on from, of those at rest just before a
    motion.
    """

    tick: NDArray[np.uint32]
    torque_ff: NDArray[np.float32]
    torque: NDArray[np.float32]
    duty: NDArray[np.float32]
    rate: NDArray[np.float32]
    target_rate: NDArray[np.float32]
    position: NDArray[np.int32]
    target: NDArray[np.int32]
    q: Array
    v: Array
    seconds: Array
    instructions: NDArray[np.int64]
    cycles: NDArray[np.int64]
    step_instructions: NDArray[np.int64]
    steps: Mapping[int, bytes] = field(default_factory=dict)


def telemetry_type(joints: int) -> np.dtype:
    """What a tick leaves, as it is kept here."""
    floats = [(name, "<f4", (joints,)) for name in ("torque_ff", "torque", "duty", "rate", "target_rate")]
    return np.dtype([*floats, ("position", "<i4", (joints,)), ("target", "<i4", (joints,)), ("tick", "<u4")])


class Telemetry:
    """Reads what an image's last tick has left, where its `ft_telemetry` says that it lies."""

    _WORDS = 10  # of ft_telemetry_map, ft_report.h

    def __init__(self, core: CortexM4, image: Image, joints: int, rate_hz: int) -> None:
        self.type, self._rate = telemetry_type(joints), np.float32(2 * rate_hz)
        self._core, self._bytes = core, 4 * joints
        at = image.symbol("ft_telemetry").address - image.start
        words = struct.unpack_from(f"<{self._WORDS}I", image.flash, at)
        ff, torque, duty, u, position, self._target, self._tick, self.mode, *self._step = words  # addresses
        self._fixed, self._position = (ff, torque, duty, u), position

    def read(self) -> bytes:
        """As `type` lays it out, for `taken` to take in; the tick is the one that is done."""
        read, size = self._core.memory, self._bytes
        target = read(int.from_bytes(read(self._target, 4), "little"), 2 * size)
        done = max(int.from_bytes(read(self._tick, 4), "little"), 1) - 1
        return b"".join([*(read(at, size) for at in self._fixed), target[size:], read(self._position, size),
                         target[:size], done.to_bytes(4, "little")])

    def step(self) -> bytes:
        """What the next tick's step goes on from, as the C has it."""
        return self._core.memory(*self._step)

    def taken(self, raw: bytes) -> NDArray[np.void]:
        """What was read: half increments are made rates."""
        rows = np.frombuffer(raw, self.type).copy()
        for name in ("rate", "target_rate"):
            rows[name] *= self._rate
        return rows


@dataclass
class EncoderFault:
    """What is wrong with one encoder: frozen at a count, off by some counts, turned round, up to `noise` counts off
    each time it is read. stall: cycles that the next reading of it costs."""

    frozen: int | None = None
    offset: int = 0
    sign: int = 1
    noise: int = 0
    stall: int = 0
    random: Random = field(default_factory=lambda: Random(1))

    def seen(self, counts: int) -> int:
        off = self.random.randint(-self.noise, self.noise) if self.noise else 0
        return (self.sign * counts if self.frozen is None else self.frozen) + self.offset + off

    def reverse(self, counts: int) -> None:
        """Count the other way from here on."""
        self.offset, self.sign = self.seen(counts) + self.sign * counts, -self.sign


class PlayedBoard(Protocol):
    """A board with its plant, as those see it who play motions on it and let faults strike: virtual, or a real one with
    hil.play.pil.Relay before it."""

    mechanism: Mechanism
    board: description.Board
    joints: list[tuple[Joint, description.Channel | None]]
    dt: float
    ticks: int
    bus_voltage: float
    encoder_faults: list[EncoderFault]
    incoming: Disturbance
    outgoing: Disturbance
    listeners: list[Callable[[bytes], None]]
    switched: list[tuple[float, str, str]]

    @property
    def plant(self) -> Driven: ...

    @property
    def seconds(self) -> float: ...

    def plug_in(self) -> Device:
        """What the host's link is to open."""

    def run(self, seconds: float) -> None: ...

    def run_until(self, seconds: float) -> None: ...

    def at(self, seconds: float, action: Callable[[], None]) -> None: ...

    def outputs_safe(self) -> bool: ...

    def record(self) -> Record: ...

    def truth(self, tick: int) -> tuple[Array, Array]: ...

    def target_positions(self, record: Record) -> Array: ...


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
        self._steps: dict[int, bytes] = {}
        self._resting: deque[tuple[int, bytes]] = deque(maxlen=STEPS)
        self._mode = 0  # of the plant, by its number
        self._switches: list[tuple[float, int]] = []  # (seconds, mode) to come
        self.switched: list[tuple[float, str, str]] = []  # (seconds, mode, why the plant did not follow or "")
        self._wire()
        self._telemetry = Telemetry(self.chip.core, self.image, len(self.joints), mechanism.control.rate_hz)
        self._samples: list[tuple[bytes, Array, Array, float, int, int, int]] = []
        self.recording = True
        brake = mechanism.safety.brake
        self.brake_release_s, self.brake_engage_s = (brake.release_s, brake.engage_s) if brake else (0.0, 0.0)
        self._brake_level, self._brake_moved = False, -math.inf  # whether it is told to open, and since when
        self.brakes = False  # whether something holds an arm at rest up while its drivers are off
        self._handled = Handled()
        split = "ft_boundary_interrupt" in self.image.symbols
        self.tick_exception = PENDSV if split else SYSTICK  # the exception in which the control tick runs
        self._step_blocks: list[Any] = []
        self._known_blocks = self._step_before = 0
        self.chip.core.on_exception = self._exception_done
        self._server = socket.create_server((HOST, port))
        self._server.setblocking(False)
        self._host: socket.socket | Cable | None = None
        self.port = self._server.getsockname()[1]
        self.ticks = 0
        self.tick_cycles = self.worst_cycles = 0  # of the last tick, of the worst one
        self.listeners: list[Callable[[bytes], None]] = []  # get every byte the chip sends, before any disturbance
        self._planned: list[tuple[float, Callable[[], None]]] = []

    @property
    def url(self) -> str:
        return f"socket://{HOST}:{self.port}"

    def plug_in(self) -> Cable:
        """A cable for the link of a host in this process, in the place of any other host."""
        self._hang_up()
        self._host = Cable(self.url)
        return self._host

    @property
    def seconds(self) -> float:
        """Simulated time since power-on."""
        return self.chip.seconds

    def close(self) -> None:
        if self._host:
            self._host.close()
        self._server.close()

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
        while self._switches and now > self._switches[0][0] - TOGETHER:
            self.switched.append((self.seconds, *follow(self.plant, self.mechanism, self._switches.pop(0)[1])))

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
        if self._host is None:
            try:
                self._host, _ = self._server.accept()
                self._host.setblocking(False)
                self._host.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except BlockingIOError:
                return
        try:
            data = self._host.recv(65536)
            if not data:
                self._hang_up()
                return
        except BlockingIOError:
            data = b""
        except OSError:
            self._hang_up()
            return
        data = self.incoming(data)
        if data:
            self._usart.line_in(data)

    def _talk(self) -> None:
        """Bytes that have left the chip to the host."""
        sent = self._usart.line_out()
        for listener in self.listeners if sent else ():
            listener(sent)
        data = self.outgoing(sent)
        if not data or self._host is None:
            return
        try:
            self._host.sendall(data)
        except OSError:  # a host that does not read loses bytes, as on a wire
            pass

    def _hang_up(self) -> None:
        if self._host:
            self._host.close()
        self._host = None

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
        handled = self.chip.core.handled
        both = [handled[n] for n in {number, SYSTICK} if n in handled]  # where the boundary has its own, that too
        total = Handled(done.entries, sum(h.instructions for h in both), sum(h.cycles for h in both))
        instructions = total.instructions - self._handled.instructions
        cycles = self.tick_cycles = total.cycles - self._handled.cycles
        self.worst_cycles = max(self.worst_cycles, cycles)
        self._handled = total
        step = self._step_executed()
        self._look_at_mode(self.seconds - cycles / self.chip.rcc.hclk)
        if self.recording:
            plant, left = self.plant, self._telemetry.read()
            self._keep_step(left)
            self._samples.append((left, plant.q, plant.v, self.seconds, instructions, cycles, step))

    def _keep_step(self, left: bytes) -> None:
        """Of the ticks before a motion keep what their steps have left: where dependent joints are comes from
        before."""
        if not (self.mechanism.loops or self.mechanism.modes):
            return
        rates = slice(4 * 4 * len(self.joints), 5 * 4 * len(self.joints))  # of the target
        if any(left[rates]):
            self._steps |= dict(self._resting)
            self._resting.clear()
        else:
            self._resting.append((len(self._samples), self._telemetry.step()))

    def _look_at_mode(self, began: float) -> None:
        """What a tick that began then has computed for another mode is held from the start of a later tick on.

        A board without power holds what it has: it goes back to its first mode only when it is armed again.
        """
        if len(self.mechanism.modes) < 2:
            return
        raw = self.chip.core.memory(self._telemetry.mode, 4)
        mode = int.from_bytes(raw, "little")
        if mode != self._mode and not np.all(np.isnan(self.voltages())):
            self._mode = mode
            self._switches.append((began + self.board.lead * self.dt, mode))

    def _step_executed(self) -> int:
        """Instructions of ft_step, with those of flexible links, loops and modes, since last asked."""
        core = self.chip.core
        if core.known_blocks != self._known_blocks:
            self._known_blocks = core.known_blocks
            parts = [symbol for name, symbol in self.image.symbols.items() if STEP.fullmatch(name)]
            self._step_blocks = [block for part in parts for block in core.blocks_in(part.address, part.end)]
        total = sum(b.runs * b.instructions for b in self._step_blocks)
        done, self._step_before = total - self._step_before, total
        return done

    def telemetry(self) -> np.void:
        """What the image's last tick has left, as `telemetry_type` lays it out."""
        return self._telemetry.taken(self._telemetry.read())[0]

    def record(self) -> Record:
        """All recorded ticks."""
        raw = self._telemetry.taken(b"".join(s[0] for s in self._samples))
        joints = len(self.joints)
        truth = np.array([[s[1], s[2]] for s in self._samples]).reshape(-1, 2, joints)
        numbers = np.array([s[4:] for s in self._samples], np.int64).reshape(-1, 3)
        return Record(**{name: raw[name].copy() for name in self._telemetry.type.names or ()}, q=truth[:, 0],
                      v=truth[:, 1],
                      seconds=np.array([s[3] for s in self._samples]), instructions=numbers[:, 0],
                      cycles=numbers[:, 1], step_instructions=numbers[:, 2], steps=dict(self._steps))

    def truth(self, tick: int) -> tuple[Array, Array]:
        """Positions and rates (J,) of the plant when a tick of late began; nan where it was not recorded."""
        number = (tick & 0xFFFFFFFF).to_bytes(4, "little")
        found = next((s for s in self._samples[:-LATE:-1] if s[0].endswith(number)), None)
        nothing = np.full(len(self.joints), np.nan)
        return (nothing, nothing) if found is None else (found[1], found[2])

    def target_positions(self, record: Record) -> Array:
        """Desired positions (T, J) in rad or m."""
        return targets(record, [joint for joint, _ in self.joints])


def targets(record: Record, joints: Sequence[Joint]) -> Array:
    """Desired positions (T, J) in rad or m. An image's tick leaves them without whole turns: they are in the turn that
    brings them nearest to the plant's truth."""
    units = np.array([position_unit(joint) for joint in joints])
    away = record.target.astype(np.int64) - np.rint(record.q / units).astype(np.int64)
    return record.q + ((away + 2**31) % 2**32 - 2**31) * units


def _floating(terminals: list[float | None]) -> Array:
    """Voltages (n,) V, NaN where a terminal floats."""
    return np.array([np.nan if volts is None else volts for volts in terminals], float)


class VirtualClock:
    """The board's time as a host's clock: sleeping lets the board run."""

    def __init__(self, board: PlayedBoard) -> None:
        self._board = board
        self._asked = board.seconds
        self._overslept = 0.0

    def now(self) -> float:
        return self._board.seconds

    def sleep(self, seconds: float) -> None:
        self._asked = max(self._asked, self._board.seconds) + seconds
        self._board.run_until(self._asked)
        if self._overslept:
            late, self._overslept = self._overslept, 0.0
            self._board.run(late)

    def stall(self, seconds: float) -> None:
        """The host's computer has other things to do: the sleep under way takes that much longer."""
        self._overslept += seconds


__all__ = ["Disturbance", "EncoderFault", "FLASH_START", "PlayedBoard", "Record", "VirtualBoard", "VirtualClock",
           "targets", "telemetry_type"]
