"""Processor in the loop: a real board, with the plant simulated by the host, for `femtorque hil pil`.

The pil image equals the normal image, except that it receives counts in SENSE and sends duties in DRIVE. The Relay owns
the port, advances plant and board together, tick by tick (femtorque.hil.play.granted_ticks), and passes all other bytes
between port and session. Time is counted in ticks that the board has answered.

Like every board, this board executes a host's message in the second tick after its arrival. Tick k measures the plant
at t_k. The duty of the tick is applied during [t_{k+1}, t_{k+2}], as the output timer of a board does. The outputs are
enabled and disabled together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from femtorque.codegen.board import load_board, served
from femtorque.codegen.common import Array, BadInput
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.motion import Trajectory, check_limits, check_streamable, knots
from femtorque.hil.board import FAULTS, Agenda, EncoderFault, ModeFollower, Record, targets
from femtorque.hil.plant import plant_of, wired
from femtorque.hil.plant.selection import Plant
from femtorque.hil.play.closed_loop import Result, Watch, play_motion
from femtorque.hil.play.granted_ticks import GrantedTicks
from femtorque.hil.play.status_recorder import StatusRecorder
from femtorque.host.link import Clock, Configuration, Device, Link, Session, WallClock, open_port
from femtorque.host.stream import Progress


class Relay:
    """A femtorque.hil.board.under_test.BoardUnderTest: a real board, connected by `device`, and its simulated plant.
    For the host the Relay is also the device of the link (read, write, close). wall: the clock of the serial line,
    which the plant does not use. The attributes `encoder_faults`, `bus_voltage`, `incoming` and `outgoing` inject
    faults, as on a virtual board. `incoming` and `outgoing` disturb the bytes between host and board."""

    def __init__(self, device: Device, mechanism: Mechanism, plant: Plant, tag: int, wall: Clock | None = None) -> None:
        assert mechanism.board is not None
        self.mechanism, self.plant = mechanism, wired(plant)
        self.board = load_board(mechanism.board.use)
        self.joints = served(mechanism, self.board)
        self.dt = 1.0 / mechanism.control.rate_hz
        self.bus_voltage = mechanism.board.bus_voltage
        self.encoder_faults = [EncoderFault() for _ in self.joints]
        self._line = GrantedTicks(device, len(self.joints), tag, wall or WallClock())
        self.name, self.listeners = self._line.name, self._line.listeners
        self.read, self.write = self._line.read, self._line.write  # of the host's link
        self.incoming, self.outgoing = self._line.incoming, self._line.outgoing
        self.ticks = 0
        self._top = self.board.chip.sysclk_hz // (2 * mechanism.board.pwm_hz)
        self._outputs = 0  # as last reported
        self._held = np.zeros(len(self.joints), np.float32)  # duty of the tick before
        self._held_mode = 0  # the tick of that duty
        self._modes = ModeFollower(mechanism)
        self.switched = self._modes.switched
        self._agenda, self._recorder = Agenda(), StatusRecorder(len(self.joints))
        self.record, self.truth = self._recorder.record, self._recorder.truth

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    # -- the device of the host's link --------------------------------------

    def plug_in(self) -> Relay:
        """Return the device that the host's link opens."""
        return self

    def close(self) -> None:
        """Close the host's end. The plant and the board advance only while the caller runs them."""

    # -- time ---------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Return the plant's time since its start, s."""
        return self.ticks * self.dt

    def run(self, seconds: float) -> None:
        """Let plant time pass. Raises Refused if the board does not answer."""
        self.run_until(self.seconds + seconds)

    def run_until(self, seconds: float) -> None:
        while self.seconds < seconds - 0.5 * self.dt:
            self._agenda.run(self.seconds)
            self._advance()

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        """Call a function at a time, or immediately if the time has passed."""
        self._agenda.add(seconds, action)

    def _advance(self) -> None:
        q, v = self.plant.q.copy(), self.plant.v.copy()
        drive, status = self._line.grant(self._counts())
        self._recorder.take(status, q, v, self.seconds)
        self._outputs = drive.outputs
        if self._outputs:
            self._modes.computed(self._held_mode, self.seconds)
        self._modes.follow(self.plant, self.seconds + self.dt, self.seconds)
        self.plant.drive(self.dt, self._voltages())
        self._held, self._held_mode = np.array(drive.duty, np.float32), status.mode
        self.ticks += 1

    def _counts(self) -> list[int]:
        """Return the readings of the encoders in the format of the message."""
        true = self.plant.counts()
        seen = [fault.seen(int(true[j])) if channel else 0
                for j, ((_, channel), fault) in enumerate(zip(self.joints, self.encoder_faults, strict=True))]
        return [(n + 2**31) % 2**32 - 2**31 for n in seen]

    def _voltages(self) -> Array:
        """Return the drivers' voltages at the motors (n,), V, in steps of the output timer. NaN: the motor floats."""
        volts = np.full(len(self.joints), np.nan)
        for j, (joint, channel) in enumerate(self.joints):
            if self._outputs and joint.motor and channel:
                duty = self._held[j]
                width = int(np.abs(duty) * np.float32(self._top) + np.float32(0.5))
                sign = -1.0 if duty < 0.0 else 1.0
                volts[j] = joint.motor.sign * sign * (width / self._top) * self.bus_voltage
        return volts

    # -- what was seen ------------------------------------------------------

    def outputs_safe(self) -> bool:
        """Return True if the last message of the board reports that its outputs are off."""
        return not self._outputs

    def target_positions(self, record: Record) -> Array:
        """Return desired positions (T, J) in rad or m."""
        return targets(record, [joint for joint, _ in self.joints])


def run_in_the_loop(port: str, mechanism: Mechanism, trajectory: Trajectory, *, feedforward: bool = True,
                    fault: str | None = None, plant: Plant | None = None, out: Path | None = None, resume: int = 0,
                    log: Path | None = None, on_progress: Callable[[Progress], None] | None = None,
                    wall: Clock | None = None, watch: Watch | None = None) -> Result:
    """Run as femtorque.hil.play.run_closed_loop does, on the real board with the pil image at `port`. out: not used.
    wall: limits the wait for the line. Raises BadInput and Refused, also for a different image. The Result reports an
    aborted motion."""
    if fault is not None and fault not in FAULTS:
        raise BadInput("command line", "--fault", fault, "no such fault", "faults: " + ", ".join(FAULTS))
    if fault is not None and FAULTS[fault].chip:
        possible = "on a real one: " + ", ".join(name for name, f in FAULTS.items() if not f.chip)
        raise BadInput("command line", "--fault", fault, "happens to the virtual board only", possible)
    check_limits(trajectory, mechanism)
    check_streamable(trajectory, mechanism)
    configuration = Configuration.of(mechanism, feedforward, pil=True)
    device = open_port(port, configuration.baud)
    try:
        make_ready(device, configuration, wall)
    except BaseException:
        device.close()
        raise
    with Relay(device, mechanism, plant or plant_of(mechanism), configuration.tag, wall) as relay:
        return play_motion(relay, mechanism, knots(trajectory, mechanism), feedforward, fault, resume, on_progress,
                           pil=True,
                           source=trajectory.source, log=log, watch=watch)


def make_ready(device: Device, configuration: Configuration, wall: Clock | None = None) -> None:
    """Check that the board runs this image, and disarm it, in any state that the last run left. Raises Refused."""
    session = Session(Link(device, clock=wall, baud=configuration.baud), configuration)
    session.connect()
    if session.in_state("HOLD", "TRACK", "HELD"):
        session.disarm()
    if session.in_state("FAULT", "ESTOP"):
        session.clear()
