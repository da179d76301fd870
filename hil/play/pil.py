"""Processor in the loop: a real board with the plant at the host; what `femtorque hil MECH TRAJ --board PORT` does.

The board carries the pil image: everything of the normal one, but counts come by SENSE and duties go by DRIVE. The
Relay here owns the port and stands where the virtual board stands: it lets the plant and the board move tick by tick,
in lock-step, and passes all other bytes between the port and the host's own session. Time is counted in ticks that the
board has answered. So a slow or bad line changes nothing of what is computed.

What the host says during a tick is executed in the tick after the next, as elsewhere. Tick k measures the plant at t_k;
its duty is held over [t_{k+1}, t_{k+2}], as the board's output timer takes it over; outputs go on and off at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codegen.board import channels
from codegen.board import reader as board_file
from codegen.common.errors import BadInput, Refused
from codegen.mechanism.description import Mechanism
from codegen.motion.trajectory import Trajectory, check_limits, check_streamable, knots
from codegen.wire.codec import BadFrame, Codec, Drive, Sense, Status
from hil.board.disturbance import Disturbance
from hil.board.encoder_fault import EncoderFault
from hil.board.faults import FAULTS
from hil.board.telemetry import LATE, Record, targets, telemetry_type
from hil.plant.choose import Plant, follow, plant_of, wired
from hil.play.run import Result, play
from host.link.clock import Clock, WallClock
from host.link.configuration import Configuration
from host.link.link import Device, Link, open_port
from host.link.session import Session
from host.stream.stream import Progress

Array = NDArray[np.float64]

POLL = 2e-4  # s between two looks at a silent line
REPEAT = 0.01  # s after which an unanswered SENSE is sent again
LOST = 2.0  # s without an answer after which the board is gone; it has then dropped its outputs


class Relay:
    """A board at the end of `device`, and the plant that it is made to believe in. A hil.board.virtual.PlayedBoard.

    For the host it is also the device of its link (read, write, close). wall: the time the line takes, which is
    nothing to the plant. encoder_faults, bus_voltage, and incoming, outgoing for what host and board tell each other:
    what faults act on, as on a virtual board; SENSE and DRIVE, which are no part of a board with motors, they spare.
    """

    def __init__(self, device: Device, mechanism: Mechanism, plant: Plant, tag: int, wall: Clock | None = None) -> None:
        assert mechanism.board is not None
        self.mechanism, self.plant = mechanism, wired(plant)
        self.board = board_file.load(mechanism.board.use)
        self.joints = channels.served(mechanism, self.board)
        self.dt = 1.0 / mechanism.control.rate_hz
        self.bus_voltage = mechanism.board.bus_voltage
        self.encoder_faults = [EncoderFault() for _ in self.joints]
        self.incoming, self.outgoing = Disturbance(seed=1), Disturbance(seed=2)
        self.listeners: list[Callable[[bytes], None]] = []
        self.name = getattr(device, "name", type(device).__name__)
        self.ticks = self.repeated = 0
        self._device, self._wall = device, wall or WallClock()
        self._codec, self._tag = Codec(len(self.joints)), tag
        self._top = self.board.chip.sysclk_hz // (2 * mechanism.board.pwm_hz)
        self._tick = 0  # the board's number of the next one; its answer corrects it
        self._drive: Any = None  # the last that has come, as the status
        self._status: Any = None
        self._outputs = 0  # as last heard
        self._held = np.zeros(len(self.joints), np.float32)  # duty of the tick before
        self._mode = self._held_mode = 0  # of the plant; of that duty
        self.switched: list[tuple[float, str, str]] = []  # (seconds, mode, why the plant did not follow or "")
        self._rest = b""  # of a frame from the board that is still coming
        self._written, self._to_board, self._to_host = bytearray(), bytearray(), bytearray()
        self._planned: list[tuple[float, Callable[[], None]]] = []
        self._samples: list[tuple[Any, Array, Array, float]] = []

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self._device.close()

    # -- the device of the host's link --------------------------------------

    def read(self, size: int) -> bytes:
        data = bytes(self._to_host[:size])
        del self._to_host[:size]
        return data

    def write(self, data: bytes) -> int:
        """The bytes are a tick on their way, as on a board whose main loop looks at the line after each tick."""
        self._written += data
        return len(data)

    def close(self) -> None:
        """The host hangs up; plant and board go on for whoever lets them."""

    def plug_in(self) -> Relay:
        """What the host's link is to open, as of a virtual board."""
        return self

    # -- time ---------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """The plant's time since it began."""
        return self.ticks * self.dt

    def run(self, seconds: float) -> None:
        """Let that much of the plant's time pass. Raises Refused if the board does not answer."""
        self.run_until(self.seconds + seconds)

    def run_until(self, seconds: float) -> None:
        while self.seconds < seconds - 0.5 * self.dt:
            while self._planned and self._planned[0][0] <= self.seconds:
                self._planned.pop(0)[1]()
            self._advance()

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something at that time (now, if it is past)."""
        self._planned.append((seconds, action))
        self._planned.sort(key=lambda planned: planned[0])

    def _advance(self) -> None:
        """One control tick of board and plant."""
        q, v = self.plant.q.copy(), self.plant.v.copy()
        drive, status = self._exchange(self._counts())
        self._samples.append((status, q, v, self.seconds))
        self._outputs = drive.outputs
        if self._outputs and self._held_mode != self._mode:
            self._mode = self._held_mode
            self.switched.append((self.seconds, *follow(self.plant, self.mechanism, self._mode)))
        self.plant.drive(self.dt, self._voltages())
        self._held, self._held_mode = np.array(drive.duty, np.float32), status.mode
        self._tick = (drive.tick + 1) & 0xFFFFFFFF
        self.ticks += 1
        self._to_board, self._written = self._written, bytearray()

    def _counts(self) -> list[int]:
        """What the encoders show, as the wire has it."""
        true = self.plant.counts()
        seen = [fault.seen(int(true[j])) if channel else 0
                for j, ((_, channel), fault) in enumerate(zip(self.joints, self.encoder_faults, strict=True))]
        return [(n + 2**31) % 2**32 - 2**31 for n in seen]

    def _voltages(self) -> Array:
        """What the drivers would put on the motors (n,) V, in steps of the output timer; NaN: they let them float."""
        volts = np.full(len(self.joints), np.nan)
        for j, (joint, channel) in enumerate(self.joints):
            if self._outputs and joint.motor and channel:
                duty = self._held[j]
                width = int(np.abs(duty) * np.float32(self._top) + np.float32(0.5))
                way = -1.0 if duty < 0.0 else 1.0
                volts[j] = joint.motor.sign * way * (width / self._top) * self.bus_voltage
        return volts

    # -- the line -----------------------------------------------------------

    def _exchange(self, counts: list[int]) -> tuple[Any, Any]:
        """What the board makes of these counts: DRIVE and STATUS of the tick. Raises Refused if it does not answer."""
        self._drive = self._status = None
        began = asked = self._ask(counts)
        while True:
            self._listen()
            drive, status, now = self._drive, self._status, self._wall.now()
            if drive is not None and drive.tick == self._tick and status is not None and status.tick == self._tick:
                return drive, status
            elsewhere = drive is not None and drive.tick not in (self._tick, (self._tick - 1) & 0xFFFFFFFF)
            if elsewhere:  # at the beginning, and when the board was reset
                self._tick, self._drive = (drive.tick + 1) & 0xFFFFFFFF, None
            if elsewhere or now - asked >= REPEAT:
                self.repeated += 1
                asked = self._ask(counts)
            if now - began >= LOST:
                raise Refused(f"{self.name}: the board has answered no SENSE for {LOST:g} s; check cable and power")
            self._wall.sleep(POLL)

    def _ask(self, counts: list[int]) -> float:
        """Send what the host had to say, then SENSE. Returns the time."""
        data = self.incoming(bytes(self._to_board)) + self._codec.encode(Sense(self._tick, counts), self._tag)
        self._to_board.clear()
        try:
            self._device.write(data)
        except OSError as error:
            raise Refused(f"{self.name}: the link broke ({error}); check cable and power, then start again") from error
        return self._wall.now()

    def _listen(self) -> None:
        """Keep what is for the plant, pass on all else, good or bad."""
        try:
            data = self._device.read(65536)
        except OSError as error:
            raise Refused(f"{self.name}: the link broke ({error}); check cable and power, then start again") from error
        for listener in self.listeners if data else ():
            listener(data)
        *frames, self._rest = (self._rest + data).split(b"\0")
        for stuffed in filter(None, frames):
            message = self._decoded(stuffed)
            if isinstance(message, Drive):
                self._drive = message
                continue
            if isinstance(message, Status):
                self._status = message
            self._to_host += self.outgoing(stuffed + b"\0")

    def _decoded(self, stuffed: bytes) -> Any:
        try:
            frame = self._codec.decode(stuffed)
        except BadFrame:
            return None
        return frame.message if frame.tag == self._tag else None

    # -- what was seen ------------------------------------------------------

    def outputs_safe(self) -> bool:
        """Whether the board had its outputs off when it was last heard."""
        return not self._outputs

    def record(self) -> Record:
        """Every tick; nobody counts the instructions of a real board."""
        statuses = [s[0] for s in self._samples]
        joints = len(self.joints)
        kinds = telemetry_type(joints)
        told: dict[str, Any] = {
            name: np.array([getattr(s, name) for s in statuses]).astype(kind.base).reshape(-1, *kind.shape)
            for name, kind in ((n, kinds[n]) for n in kinds.names or ())}  # positions without whole turns
        nothing = np.zeros(len(statuses), np.int64)
        return Record(**told, q=np.array([s[1] for s in self._samples]).reshape(-1, joints),
                      v=np.array([s[2] for s in self._samples]).reshape(-1, joints),
                      seconds=np.array([s[3] for s in self._samples]), instructions=nothing, step_instructions=nothing,
                      cycles=np.array([s.cycles for s in statuses], np.int64))

    def truth(self, tick: int) -> tuple[Array, Array]:
        """Positions and rates (J,) of the plant when a tick of late began; nan where it was not recorded."""
        found = next((s for s in self._samples[:-LATE:-1] if s[0].tick == tick), None)
        nothing = np.full(len(self.joints), np.nan)
        return (nothing, nothing) if found is None else (found[1], found[2])

    def target_positions(self, record: Record) -> Array:
        """Desired positions (T, J) in rad or m."""
        return targets(record, [joint for joint, _ in self.joints])


def run(port: str, mechanism: Mechanism, trajectory: Trajectory, *, feedforward: bool = True, fault: str | None = None,
        plant: Plant | None = None, out: Path | None = None, resume: int = 0, log: Path | None = None,
        on_progress: Callable[[Progress], None] | None = None, wall: Clock | None = None) -> Result:
    """What hil.play.run.run does, with the real board at `port` that carries the pil image. out is of no use here.

    wall: the clock by which the line is waited for. Raises BadInput and Refused, that too if the board carries
    another image; a motion that is broken off is a Result that says so.
    """
    if fault is not None and fault not in FAULTS:
        raise BadInput("command line", "--fault", fault, "no such fault", "faults: " + ", ".join(FAULTS))
    if fault is not None and FAULTS[fault].chip:
        possible = "with --board: " + ", ".join(name for name, f in FAULTS.items() if not f.chip)
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
        return play(relay, mechanism, knots(trajectory, mechanism), feedforward, fault, resume, on_progress, pil=True,
                    source=trajectory.source,
                    log=log)


def make_ready(device: Device, configuration: Configuration, wall: Clock | None = None) -> None:
    """See that this is the image, and disarmed, whatever the last run has left. Raises Refused."""
    session = Session(Link(device, clock=wall, baud=configuration.baud), configuration)
    session.connect()
    if session.in_state("HOLD", "TRACK"):
        session.disarm()
    if session.in_state("FAULT", "ESTOP"):
        session.clear()
