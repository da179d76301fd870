"""The virtual board: the exact flash image on a modelled chip that drives a plant, linked by a cable or a socket.

Time is the chip's and passes only in `run` or in a sleep of `VirtualClock`, so results do not depend on the computer's
speed, nor, with a cable, on its network. femtorque.hil.board.wiring has the components at the pins, and
femtorque.hil.board.coupler keeps the plant at the chip's time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import numpy as np

from femtorque.codegen.board import load_board
from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.board.agenda import Agenda
from femtorque.hil.board.coupler import PlantCoupler
from femtorque.hil.board.disturbance import Disturbance
from femtorque.hil.board.encoder_fault import EncoderFault
from femtorque.hil.board.mode_follower import ModeFollower
from femtorque.hil.board.served_port import ServedPort
from femtorque.hil.board.telemetry import Record, TickRecorder, targets, telemetry_type
from femtorque.hil.board.under_test import BoardUnderTest, VirtualClock
from femtorque.hil.board.wiring import Wiring
from femtorque.hil.chip import FLASH_START, PENDSV, SYSTICK, Image, Serial, chip_model
from femtorque.hil.clock import Member
from femtorque.hil.plant import Driven, wired, world_of
from femtorque.host.scene import Surroundings

SLICE = 1e-3  # time between two reads of the link, s
UNHEARD = 5e-3  # time between reads without a host or reader, s; limit: the chip's buffers
GRANT = 1e-3  # minimum duration of a run in real time, s; the process sleeps between runs
STALL = 0.05  # maximum delay behind the computer's clock that the board catches up on, s
LATE = 0.75  # fraction of the host's time-out after which the board waits for a silent host
PATIENCE = 0.7  # maximum wait for a silent host, s, once per silence; a host that only listens gives up after 1 s
CYCLE = 1e-7  # tolerance of a time, s; longer than a clock cycle


def number_of(port: int | str) -> int:
    """Return a number for the chip that distinguishes the board at this port."""
    return crc32(port.encode()) if isinstance(port, str) else port


class VirtualBoard:
    """A board with its plant. port: port of the link, a TCP port number or unix:PATH. url: address for hosts. number:
    number of its chip; None to derive a number from the port.

    bus_voltage: voltage of the motors' supply, V. brakes: true if an external support holds the arm at rest while its
    drivers are off. lit: true if the LED of the state is lit. recording: true while ticks are recorded. ticks: number
    of ticks so far. worst_cycles: cycles of the longest tick. tips, truth, record: members of `TickRecorder`.
    telemetry: returns the last tick's results. All other members belong to components."""

    bus_voltage, brakes = Member(float, "power"), Member(bool, "coupler", "held")
    lit, recording = Member(bool, "wiring.led"), Member(bool, "_recorder.state")
    ticks, worst_cycles = Member(int, "_recorder.state"), Member(int, "_recorder.state")

    def __init__(self, elf: str | Path, mechanism: Mechanism, plant: Driven, port: int | str = 0,
                 number: int | None = None) -> None:
        assert mechanism.board is not None
        self.mechanism, self.plant, self._world = mechanism, wired(plant), world_of(plant)
        self.board = load_board(mechanism.board.use)
        model = chip_model(self.board.chip)
        flash = model.REGIONS[0]
        self.image = Image.load(elf, flash.start, flash.size)
        self.number = number_of(port) if number is None else number
        self.chip = model(self.image.flash, self.board.hse_hz, self.number)
        self.dt = 1.0 / mechanism.control.rate_hz
        self.wiring = Wiring(self.board, self.chip, mechanism, self.plant)
        self.power, self.joints = self.wiring.power, self.wiring.joints
        self.gate_drivers, self.motor_wires = self.power.gate_drivers, self.power.motor_wires
        self.estop, self.driver_fault = self.power.estop, self.power.driver_fault
        self.over_current, self.brake_closed = self.power.over_current, self.wiring.brakes.closed
        self.reset, self.kill_crystal = self.chip.reset, self.chip.rcc.fail_hse
        self.encoder_faults = self.wiring.encoders.faults
        self.temperatures = self.wiring.senses.temperatures  # deg C
        self.current_sensors = self.wiring.senses.current_sensors  # by joint
        self._modes = ModeFollower(mechanism)
        self.switched = self._modes.switched
        self.coupler = PlantCoupler(self.chip, self.plant, self.wiring, self._modes)
        self.voltages = self.coupler.terminals
        self.incoming, self.outgoing = Disturbance(seed=1), Disturbance(seed=2)
        split = "ft_boundary_interrupt" in self.image.symbols
        self.tick_exception = PENDSV if split else SYSTICK  # the exception in which the control tick runs
        self.chip.core.hear([])
        self._recorder = TickRecorder(self.chip.core, self.image, mechanism, self.coupler, self.tick_exception,
                                      self._look_at_mode)
        self.telemetry, self.record = self._recorder.read, self._recorder.record
        self.truth, self.tips = self._recorder.truth, self._recorder.tips
        self._line = ServedPort(port)
        self.url, self.plug_in, self.close = self._line.url, self._line.plug_in, self._line.close
        self.listeners: list[Callable[[bytes], None]] = []  # called with each byte of the chip, before any disturbance
        self._agenda = Agenda()
        self._heard, self._patience = 0.0, 0.0  # time of the host's last bytes, and remaining time to wait, s

    @property
    def seconds(self) -> float:
        """Simulated time since power-on, s."""
        return self.chip.seconds

    def __enter__(self) -> VirtualBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the plant and its wires --------------------------------------------

    def outputs_safe(self) -> bool:
        """Return true if no motor is driven: bridges off or PWM low, and drives on a bus off or braking."""
        return not self.driven()

    def driven(self) -> list[int]:
        """Return the numbers of the joints whose motors are driven."""
        volts = self.voltages()
        return sorted({*np.flatnonzero(~(np.isnan(volts) | (volts == 0.0))).tolist(), *self.wiring.buses.at_work})

    # -- time ---------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let a number of seconds of simulated time pass."""
        self.run_until(self.seconds + seconds)

    def run_until(self, seconds: float) -> None:
        """Run until a time after power-on, s."""
        self.coupler.look()
        most = SLICE if self.listeners or self._line.live else UNHEARD
        while (now := self.seconds) < seconds - CYCLE:
            if self._agenda.next <= now + CYCLE:
                self._agenda.run(now + CYCLE)
                now = self.seconds
            self._listen()
            self.chip.run(min(seconds, now + most, self._agenda.next))
            self._talk()
        self.coupler.bring_up()

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        """Schedule an action at a time after power-on, s. A time in the past means the next step."""
        self._agenda.add(max(seconds, self.seconds), action)

    def serve(self, speed: float = 1.0, until: Callable[[], bool] = lambda: False) -> None:
        """Run at `speed` times real time until interrupted, or until until() returns true. A busy computer delays the
        host too, so the board does not catch up lost time. The board waits for late bytes of a connected host. A real
        board never waits."""
        began, start = time.monotonic(), self.seconds
        while not until():
            looked = time.monotonic()
            if self.host_late():
                time.sleep(GRANT)
                began, start = time.monotonic(), self.seconds
                self._patience -= began - looked
                continue
            behind = (time.monotonic() - began) * speed - (self.seconds - start)
            if behind >= GRANT:
                self.run(min(behind, STALL))
                if behind > STALL:
                    began, start = time.monotonic(), self.seconds
            else:
                time.sleep((GRANT - behind) / speed)

    def host_late(self) -> bool:
        """Return true if the board waits for its host now."""
        if self._patience <= 0.0 or self.seconds - self._heard < LATE * self.mechanism.control.host_timeout_s:
            return False
        self._listen()
        return self.seconds > self._heard

    # -- link ---------------------------------------------------------------

    def _listen(self) -> None:
        """Pass bytes from the host to the bus."""
        data = self._line.receive()
        if data is None:
            self._patience = 0.0
        elif data:
            self._heard, self._patience = self.seconds, PATIENCE
        if data is not None and (data := self.incoming(data)):
            self._usart.line_in(data)

    def _talk(self) -> None:
        """Pass bytes that the chip has sent to the host."""
        sent = self._usart.line_out()
        if sent and self.listeners:
            for listener in self.listeners:
                listener(sent)
        self._line.send(self.outgoing(sent))

    @property
    def _usart(self) -> Serial:
        return self.chip.usarts[self.board.link.usart]

    # -- recording ----------------------------------------------------------

    def _look_at_mode(self) -> None:
        if not np.all(np.isnan(self.voltages())):
            began = self.seconds - self.tick_cycles / self.chip.rcc.hclk
            self._modes.computed(self._recorder.mode_now(), began + self.board.lead * self.dt)

    @property
    def tick_cycles(self) -> int:
        """Cycles of the last tick."""
        return int(self._recorder.state.tick[1])

    @property
    def surroundings(self) -> Surroundings | None:
        """The objects around the arm and their motion, or None without objects."""
        return None if self._world is None else Surroundings(self._world.things, self._recorder.moment)

    def target_positions(self, record: Record) -> Array:
        """Return the desired positions (T, J) of a record, in rad or m."""
        return targets(record, [joint for joint, _ in self.joints])


__all__ = ["Disturbance", "EncoderFault", "FLASH_START", "BoardUnderTest", "Record", "VirtualBoard", "VirtualClock",
           "targets", "telemetry_type"]
