"""A drive with an inertia on its output, and a host on the same bus. Clients from makers use this host as their bus."""

import math
from collections.abc import Callable
from typing import Any

import can

from femtorque.hil.bus import Frame, OneWire, Wire
from femtorque.hil.bus.half_duplex import Framing
from femtorque.hil.clock import OwnClock
from femtorque.hil.drives import Drive
from tests.support.can_bench import Other

STEP = 100e-6


class DriveBench:
    """A drive on a test bench. inertia: inertia at the output, kg m^2. load: function from the output's angle, rad, to
    the torque on it, N m."""

    def __init__(self, make: Callable[[Wire], Drive], inertia: float = 0.05,
                 load: Callable[[float], float] = lambda q: 0.0) -> None:
        self.clock = OwnClock()
        self.wire = Wire(self.clock)
        self.host = Other(self.wire)
        self.drive = make(self.wire)
        self.host.timing, self.host.fast = self.drive.timing, self.drive.fast or self.host.fast
        self.inertia, self.load = inertia, load
        self.q = self.v = 0.0
        self.at = 0.0
        self.drive.catch_up = self.catch_up
        self.trace: list[tuple[float, float]] = []

    def catch_up(self) -> None:
        while self.clock.seconds - self.at > 1e-9:
            h = min(STEP, self.clock.seconds - self.at)
            torque = self.drive.step(h, self.at, self.q, self.v) + self.load(self.q)
            v = self.v + h * torque / self.inertia
            self.q, self.v = self.q + 0.5 * h * (self.v + v), v
            self.at += h
            self.trace.append((self.at, self.q))

    def run(self, seconds: float) -> None:
        end = self.clock.seconds + seconds
        while (left := end - self.clock.seconds) > 1e-9:
            self.clock.run(min(left, 1e-3))
            self.catch_up()

    def ask(self, number: int, data: bytes, extended: bool = False, fd: bool = False) -> Frame | None:
        """Send a frame, and return an answer within a millisecond. fd: CAN FD with a faster data phase."""
        self.host.got.clear()
        self.host.send(Frame(number, data, extended, fd=fd, fast=fd))
        self.run(1e-3)
        return self.host.got[0] if self.host.got else None

    # -- as a python-can bus, in simulated time -----------------------------

    def send(self, message: can.Message) -> None:
        self.host.got.clear()
        self.host.send(Frame(message.arbitration_id, bytes(message.data), message.is_extended_id))

    def recv(self, timeout: float = 0.01) -> can.Message | None:
        self.run(min(timeout, 0.01))
        if not self.host.got:
            return None
        frame = self.host.got.pop(0)
        return can.Message(arbitration_id=frame.id, data=frame.data, is_extended_id=frame.extended)


def damped(t: float, inertia: float, kp: float, kd: float, target: float) -> float:
    """Return the exact step response of inertia, spring and damper from rest (underdamped)."""
    a, w = kd / (2 * inertia), math.sqrt(kp / inertia - (kd / (2 * inertia)) ** 2)
    return target * (1 - math.exp(-a * t) * (math.cos(w * t) + a / w * math.sin(w * t)))


class ServoBench:
    """Servos on a half-duplex bus, as a maker's serial port. Each write takes its transmission time."""

    is_using = False
    wait = 0.01  # pause after a write, s
    writes: Any = None  # the client's class for writes to several servos

    def __init__(self, rate: float, framing: Framing, volts: float, handler: Any) -> None:
        self.clock, self.volts, self.handler = OwnClock(), volts, handler
        self.line, self.came = OneWire(self.clock, rate, framing), b""
        self.servos: list[Any] = []
        self.line.arrive = lambda data, disturbed: setattr(self, "came", self.came + data)

    def clearPort(self) -> None:
        self.came = b""

    def setPacketTimeout(self, size: int) -> None: ...

    def isPacketTimeout(self) -> bool:
        return not self.came

    def writePort(self, packet: Any) -> int:
        self.line.sent(bytes(packet), self.line.byte)
        self.clock.run(self.wait)
        return len(packet)

    def readPort(self, size: int) -> list[int]:
        data, self.came = self.came[:size], self.came[size:]
        return list(data)

    def write(self, register: int, size: int, value: int) -> None:
        group = self.writes(self, self.handler, register, size)
        for servo in self.servos:
            group.addParam(servo.id, list((value & (1 << 8 * size) - 1).to_bytes(size, "little")))
        assert group.txPacket() == 0  # success
