"""An arm of Damiao drives that a PC commands without a board, on the virtual board's drives, bus and plant.

In each cycle the PC's loop wakes up, asks all drives for their state, computes the gravity torque in NumPy, and sends
each drive the motion's position and velocity, the gains and the torque. For comparison: OpenArm's stack reaches 125 Hz
(enactic/openarm_ros2 #82). The delays are assumed: see Jitter."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.reference import newton_euler
from femtorque.hil.board.buses import adapter_bits
from femtorque.hil.board.drives_alone import Bench
from femtorque.hil.bus import Adapter, Frame, OneWire, Wire
from femtorque.hil.drives import Drive, Ranges
from femtorque.hil.drives.families.damiao.drive import BROADCAST, ENABLE, ENABLED, STATE
from femtorque.hil.drives.fields import decode, encode
from femtorque.hil.drives.motor import Command
from femtorque.hil.plant import Driven, plant_of, wired

STEP = 100e-6  # time between two samples of the joints, s
HZ = 125.0


@dataclass(frozen=True)
class Jitter:
    """Delays of a Python loop on a PC without real-time priority, chosen within the range of published figures."""

    late: float = 0.5e-3  # mean of the exponentially distributed wake-up delay, s
    pause: float = 10e-3  # duration of an interruption, for example by garbage collection, s
    share: float = 0.01  # fraction of the cycles with an interruption
    work: float = 2e-3  # time from waking up to the commands, s: both directions of a USB adapter, and gravity in NumPy


class Desk(Bench):
    """A mechanism's drives on a bus with a host's adapter, and their plant. seconds: since power-on. q (J,): true,
    rad."""

    def __init__(self, mechanism: Mechanism, plant: Driven | None = None) -> None:
        super().__init__(mechanism, plant or wired(plant_of(mechanism)), self._plug)
        self.drives: list[Drive] = [*self.buses.drives.values()]
        self.signs = self.buses.signs
        self.watch: Callable[[float], None] = lambda seconds: None  # called after each step

    def _plug(self, name: str, wire: Wire | OneWire) -> None:
        assert isinstance(wire, Wire)
        self.wire, self.adapter = wire, Adapter(wire, *adapter_bits(self.mechanism, self._by_name[name]))

    @property
    def q(self) -> Array:
        return self.plant.q

    def run_until(self, seconds: float) -> None:
        while self.seconds < seconds - 1e-9:
            self.run(min(STEP, seconds - self.seconds))
            self.watch(self.seconds)

    def enable(self) -> None:
        self.tell([b"\xff" * 7 + bytes([ENABLE])] * len(self.drives))
        self.run_until(self.seconds + 2e-3)

    def tell(self, data: list[bytes]) -> None:
        """Send eight bytes to every drive, with the drive's identifier."""
        self.adapter.send([self._frame(drive.id, one) for drive, one in zip(self.drives, data, strict=True)])

    def ask(self) -> None:
        """Ask every drive for its state."""
        self.adapter.send([self._frame(BROADCAST, bytes([d.id & 255, d.id >> 8, STATE]) + bytes(5))
                           for d in self.drives])

    def _frame(self, number: int, data: bytes) -> Frame:
        fast = self.adapter.fast is not None
        return Frame(number, data, fd=fast, fast=fast)


def packed(r: Ranges, c: Command) -> bytes:
    """Return the eight bytes of a command, truncated as in the makers' code."""
    word = 0
    for value, low, high, bits in ((c.position, -r.position, r.position, 16), (c.velocity, -r.velocity, r.velocity, 12),
                                   (c.kp, 0.0, r.kp, 12), (c.kd, 0.0, r.kd, 12), (c.torque, -r.torque, r.torque, 12)):
        word = word << bits | encode(value, low, high, bits)
    return word.to_bytes(8, "big")


@dataclass(frozen=True)
class Ran:
    """Time series of a run, every millisecond. target, q (T, J): target and measured positions, rad."""

    seconds: Array  # (T,): since the beginning of the motion
    target: Array
    q: Array
    busy: float  # fraction of the time in which the bus is occupied


class HostLoop:
    """The PC's control loop. gravity: true if the loop adds the torque of the arm's weight."""

    def __init__(self, desk: Desk, motion: Trajectory, gravity: bool = True, jitter: Jitter | None = None,
                 seed: int = 1) -> None:
        self.desk, self.motion, self.gravity, self.jitter = desk, motion, gravity, jitter or Jitter()
        self._random = np.random.default_rng(seed)
        self._model = Model.of(desk.mechanism)
        self._known = np.array(desk.q, float)
        self._replies = {number: j for j, joint in enumerate(desk.mechanism.streamed)
                         if joint.drive and (number := joint.drive.reply) is not None}
        desk.adapter.hear(self._take)

    def _take(self, frame: Frame) -> None:
        """Process a drive's report of its position."""
        j = self._replies.get(frame.id)
        if j is not None and frame.data[0] >> 4 == ENABLED:
            reach = self.desk.drives[j].ranges.position
            place = decode(int.from_bytes(frame.data[1:3], "big"), -reach, reach, 16)
            self._known[j] = self.desk.signs[j] * place

    def packed(self, j: int, asked: Command) -> bytes:
        return packed(self.desk.drives[j].ranges, asked)

    def commands(self, t: float) -> list[bytes]:
        """Return the commands for all drives at t s of the motion."""
        q, v, _ = self.motion.at(min(t, self.motion.duration))
        none = np.zeros(len(q))
        weight = newton_euler(self._model, self._known, none, none) if self.gravity else none
        found = []
        for j, joint in enumerate(self.desk.mechanism.streamed):
            sign = self.desk.signs[j]
            asked = Command(float(sign * q[j]), float(sign * v[j]), joint.gains.ku, joint.gains.kv,
                            float(sign * weight[j]))
            found.append(self.packed(j, asked))
        return found

    def run(self, stall: tuple[float, float] = (np.inf, 0.0)) -> Ran:
        """Play the motion. stall: beginning and duration of the host's stall, s."""
        desk, rounds, stalled = self.desk, 0, False
        desk.tell(self.commands(0.0))
        desk.enable()
        began, busy = desk.seconds, desk.wire.busy_seconds
        seconds: list[float] = []
        places: list[Array] = []

        def look(at: float) -> None:
            if at - began >= len(seconds) * 1e-3 - 1e-9:
                seconds.append(at - began)
                places.append(np.array(desk.q, float))

        desk.watch = look
        while desk.seconds - began < self.motion.duration:
            t = desk.seconds - began
            if t >= stall[0] and not stalled:
                stalled = True
                desk.run_until(desk.seconds + stall[1])
                continue
            self._round(began)
            rounds = max(rounds + 1, int((desk.seconds - began) * HZ) + 1)  # missed cycles are skipped
            desk.run_until(max(began + rounds / HZ + self._lateness(), desk.seconds))
        target = self.motion.at(np.minimum(seconds, self.motion.duration))[0]
        return Ran(np.array(seconds), target, np.array(places),
                   (desk.wire.busy_seconds - busy) / (desk.seconds - began))

    def _round(self, began: float) -> None:
        woke = self.desk.seconds
        self.desk.ask()
        self.desk.run_until(woke + self.jitter.work)
        self.desk.tell(self.commands(woke - began))

    def _lateness(self) -> float:
        late = float(self._random.exponential(self.jitter.late))
        return late + (self.jitter.pause if self._random.random() < self.jitter.share else 0.0)
