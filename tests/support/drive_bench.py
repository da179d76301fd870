"""A drive with an inertia on its output, on a wire with a host. Clients of makers use this host as a bus."""

import math
from collections.abc import Callable

import can

from femtorque.hil.bus import Frame, Wire
from femtorque.hil.clock import OwnClock
from femtorque.hil.drives import Drive
from tests.support.can_bench import Other

STEP = 100e-6


class DriveBench:
    """A drive on a bench. inertia: kg m^2. load: function from an angle to the torque on the inertia, N m."""

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
        """Send a frame and return the answer within a millisecond. fd: true for CAN FD with a faster data phase."""
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
