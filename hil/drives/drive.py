"""The common part of the drives: a node with a motor, which answers a moment later with its state before the frame."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from femtorque.hil.bus.frame import Frame
from femtorque.hil.bus.node import BitTiming, Error, TimedNode
from femtorque.hil.bus.wire import Wire
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.motor import Command, Motor

TURNAROUND = 20e-6  # s from the end of a frame to its answer: an interrupt and a packing; chosen
MAILBOXES = 3  # answers that wait at most; the drives' chips are STM32 or similar
RECOVERY = 128  # sequences of recessive bits after which a drive returns to the bus by itself; chosen
TORQUE_STEPS = 2047  # of the coarsest field, 12 bits, on either side of zero
OVER_TEMPERATURE = 100.0  # deg C of the winding; Damiao's register OT_Value is at least 80


@cache
def timing(bitrate: float, sample: float = 0.75) -> BitTiming:
    """Bits of 20 quanta; openarm_can sets 0.75 for Damiao's drives."""
    before = round(20 * sample)
    return BitTiming(1.0 / (20 * bitrate), before, 20 - before, min(20 - before, 4))


class Drive(TimedNode):
    """ranges: of its fields. catch_up: brings the plant, and with it the motor, to now. late: s by which answers are
    late. cut: its cable to the bus is off, its supply is not. supplied: its own branch of the supply is whole. boot: s
    from power-up until it is on the bus; no maker publishes it, and 0 is the hardest to notice. least_supply: V below
    which it is off; Damiao's register UV_Value is above."""

    least_supply = 10.0

    def __init__(self, wire: Wire, number: int, motor: Motor, ranges: Ranges, bitrate: float = 1e6,
                 data_bitrate: float | None = None) -> None:
        super().__init__(timing(bitrate), timing(data_bitrate) if data_bitrate else None)
        self.wire, self.id, self.motor, self.ranges = wire, number, motor, ranges
        self.catch_up: Callable[[], None] = lambda: None
        self.late, self.cut, self.powered, self.supplied = 0.0, False, True, True
        self.boot, self._listens_from = 0.0, 0.0
        self.commanded: float | None = None  # s, time of the last command
        self._queue: list[Frame] = []
        wire.attach(self)

    # -- parts of a family --------------------------------------------------

    @abstractmethod
    def handle(self, frame: Frame) -> Frame | None:
        """Obey a frame. Returns its answer, with the state before the frame."""

    @property
    @abstractmethod
    def timeout(self) -> float:
        """s without a command after which it acts by itself; infinite if it never does."""

    @abstractmethod
    def left_alone(self) -> None:
        """Act as a drive does after its timeout."""

    @abstractmethod
    def fail(self, code: int) -> None:
        """Bring about one of its own faults."""

    @abstractmethod
    def report(self, data: bytes) -> Frame:
        """A report as of a driving drive, with seven other bytes of state."""

    def rescale(self, share: float) -> None:
        """Set it to another range of velocity."""
        self.ranges = replace(self.ranges, velocity=share * self.ranges.velocity)

    @property
    @abstractmethod
    def hot_code(self) -> int:
        """Fault of a winding that is too hot."""

    # -- the node -----------------------------------------------------------

    @property
    def listening(self) -> bool:
        if not self.powered or self.cut or self.counters.off:
            return False
        return not self.boot or self.wire.clock.seconds >= self._listens_from

    def offer(self) -> Frame | None:
        return self._queue[0] if self._queue and self.listening else None

    def sent(self) -> None:
        if self._queue:
            self._queue.pop(0)

    def failed(self, error: Error) -> None:
        if self.counters.off:
            self.wire.after_recessive(self, RECOVERY, self._recover)

    def _recover(self) -> None:
        self.counters.clear()
        self.wire.ask(self)

    def heard(self, frame: Frame) -> None:
        self.catch_up()
        answer = self.handle(frame) if self.powered else None  # its supply may have failed on the way to now
        if answer is not None:
            self.wire.clock.after(TURNAROUND + self.late, lambda: self.send(answer))

    def send(self, frame: Frame) -> None:
        if len(self._queue) < MAILBOXES and self.powered:
            self._queue.append(frame)
            self.wire.ask(self)

    # -- the motor ----------------------------------------------------------

    def power_up(self, angle: float) -> None:
        """Switch it on while its output stands at an angle, rad."""
        self.powered = True
        self._listens_from = self.wire.clock.seconds + self.boot
        self.motor.power_up(angle)
        self.counters.clear()
        self.commanded = None
        self._queue.clear()

    def power_off(self) -> None:
        self.motor.stop()
        self.motor.torque = 0.0
        self.powered = False

    def obey(self, command: Command) -> None:
        self.motor.command = command
        self.feed()

    def feed(self) -> None:
        self.commanded = self.wire.clock.seconds

    def step(self, seconds: float, now: float, angle: float, velocity: float) -> float:
        """The mean torque, N m, at the output, over the next `seconds`."""
        if not self.powered:
            self.motor.torque = 0.0
        elif self.commanded is not None and now - self.commanded > self.timeout:
            self.commanded = None
            self.left_alone()
        if self.motor.temperature > OVER_TEMPERATURE and self.motor.active:
            self.fail(self.hot_code)
        return self.motor.step(seconds, angle, velocity)

    def state(self) -> tuple[float, float, float]:
        """Reported position, velocity and torque."""
        return self.motor.position, self.motor.velocity, self.motor.torque

    @property
    def driving(self) -> bool:
        """True if it puts current into its motor."""
        return self.powered and self.motor.active

    @property
    def brakes_alone(self) -> bool:
        """True if nobody commands it any more, and it resists motion without a torque of its own."""
        return False

    @property
    def limp(self) -> bool:
        """True if its output turns as freely as if it were off: it is off, or is commanded no gain and no more than one
        step of the torque's field, in which there is no zero."""
        asked = self.motor.command
        return not self.driving or self.motor.standing is None and asked.kp == asked.kd == 0.0 and (
            abs(asked.torque) <= self.ranges.torque / TORQUE_STEPS)
