"""The functions that all drives have in common: a node on the bus, and a motor. A drive answers a frame after a delay,
with the state that it had before the frame. drive.c models the node and the motor. The families' C handles the frames
of each control cycle, and Python handles all other frames."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any

from femtorque.hil.bus import Counters, Frame, OnWire, Wire, give, taken
from femtorque.hil.clock import Member
from femtorque.hil.drives.caught_up import CaughtUp
from femtorque.hil.drives.fields import Ranges
from femtorque.hil.drives.library import library
from femtorque.hil.drives.maker import Maker
from femtorque.hil.drives.motor import Motor

WORD = 0xFFFFFFFF


class Drive(CaughtUp, OnWire, ABC):
    """A virtual drive on CAN.

    ranges: ranges of its fields. late: additional delay of its answers, s. cut: true if its bus cable is disconnected
    while it has power. supplied: true if its branch of the supply is intact. boot: time from power-up until it is on
    the bus, s, from `maker`. least_supply: voltage below which it is off, V. Damiao's register UV_Value is higher.
    kind: name of its C struct `own`, and prefix of the C function that executes frames.
    """

    kind = "drive"
    maker: Maker  # parameters of the family
    hot_code: int  # code of the fault for an overheated winding
    least_supply = 10.0
    late, boot = Member(float), Member(float)
    cut, powered = Member(bool), Member(bool)

    def __init__(self, wire: Wire, number: int, motor: Motor, ranges: Ranges, bitrate: float = 1e6,
                 data_bitrate: float | None = None) -> None:
        self.wire, self.motor, self._parts = wire, motor, wire.clock.parts
        ffi, self._lib = library()
        self._tells = ffi.callback("int32_t(int32_t)", self._tell, onerror=self._parts.refuse)
        self.own: Any = ffi.new(f"{self.kind} *")
        self.state: Any = ffi.cast("drive *", self.own)  # the members of `own` that all drives have
        self._caught_up_in(self.state, ffi, self._parts)
        self.state.motor, self.state.tell = motor.state, self._tells
        self.state.powered = self.state.supplied = True
        self.boot, self.state.answers_in = self.maker.boot.number, self.maker.answers.number
        self.commanded, self.state.timeout = None, math.inf
        self.on_change: Callable[[], None] = lambda: None  # called when the supply branch is cut or repaired
        self._lib.drive_begin(self.state, wire.state)
        self.state.obey = getattr(self._lib, f"{self.kind}_obey")
        self.node = ffi.addressof(self.state.node)
        self.counters = Counters(self.node)
        self.node.timing = self.maker.timing(bitrate).state[0]
        if data_bitrate:
            self.node.fd, self.node.fast = True, self.maker.data_timing(data_bitrate).state[0]
        self.id, self.ranges = number, ranges
        wire.attach(self)

    # -- parts of a family --------------------------------------------------

    def handle(self, frame: Frame) -> Frame | None:
        """Execute a frame that C leaves to Python. Return the answer, with the state before the frame."""
        raise NotImplementedError

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        """Filters of the frames that are passed to `handle`: an identifier, and a mask of the bits that must match.
        Without filters all frames are passed to `handle`."""
        return ()

    @property
    @abstractmethod
    def timeout(self) -> float:
        """Time without a command after which `left_alone` is called, s; infinite if it is never called."""

    @abstractmethod
    def left_alone(self) -> None:
        """React to the timeout."""

    @abstractmethod
    def fail(self, code: int) -> None:
        """Inject a fault into the drive."""

    @abstractmethod
    def report(self, data: bytes) -> Frame:
        """Return the report of an enabled drive. `data` becomes seven bytes of the report."""

    def rescale(self, share: float) -> None:
        """Scale the drive's range of velocity."""
        self.ranges = replace(self.ranges, velocity=share * self.ranges.velocity)

    def calm(self) -> None:
        """Called when the torque has fallen below `calm_below` of the C struct."""

    # -- the node -----------------------------------------------------------

    @property
    def id(self) -> int:
        return int(self.state.id)

    @id.setter
    def id(self, number: int) -> None:
        self.state.id = number
        filters = self.filters
        self.state.filters, self.state.filter[0:len(filters)] = len(filters), [(n, mask) for n, mask in filters]

    @property
    def ranges(self) -> Ranges:
        return self._ranges

    @ranges.setter
    def ranges(self, ranges: Ranges) -> None:
        self._ranges, self.state.ranges = ranges, astuple(ranges)

    @property
    def supplied(self) -> bool:
        return bool(self.state.supplied)

    @supplied.setter
    def supplied(self, supplied: bool) -> None:
        self.state.supplied = supplied
        self.on_change()

    def _tell(self, what: int) -> int:
        """Call the method of the family for an event in C. Return 1 if there is an answer."""
        lib, answer = self._lib, None
        if what == lib.HANDLE:
            answer = self.handle(taken(self.state.heard))
            self.state.timeout = self.timeout
        elif what == lib.LEFT_ALONE:
            self.left_alone()
        elif what == lib.HOT:
            self.fail(self.hot_code)
        else:
            self.calm()
        if answer is not None:
            give(answer, self.state.reply)
        return answer is not None

    def send(self, frame: Frame) -> None:
        place = self._parts.ffi.new("can_frame *")
        give(frame, place)
        self._lib.drive_send(self.state, place)
        self._parts.check()

    # -- the motor ----------------------------------------------------------

    def watch(self, each: Callable[[float, float, float, float], None]) -> None:
        """Call a function after each step with torque, N m, duration, s, start, s, and velocity, rad/s."""
        self._watched = self._parts.ffi.callback("void(double, double, double, double)", each,
                                                 onerror=self._parts.refuse)
        self.state.stepped = self._watched

    def power_up(self, angle: float) -> None:
        """Switch the power on while the output is at this angle, rad."""
        self.powered = True
        self.state.listens_from = self.wire.clock.seconds + self.boot
        self.motor.power_up(angle)
        self.counters.clear()
        self.commanded, self.state.timeout = None, self.timeout
        self.state.queued = 0

    def power_off(self) -> None:
        self.motor.stop()
        self.motor.torque = 0.0
        self.powered = False

    @property
    def commanded(self) -> float | None:
        """Time of the last command, s, or None."""
        at = float(self.state.commanded)
        return None if math.isnan(at) else at

    @commanded.setter
    def commanded(self, seconds: float | None) -> None:
        self.state.commanded = math.nan if seconds is None else seconds

    def feed(self) -> None:
        self._lib.drive_feed(self.state)
        self.state.timeout = self.timeout

    def step(self, seconds: float, now: float, angle: float, velocity: float) -> float:
        """Return the mean torque at the output over the next `seconds`, N m."""
        torque = float(self._lib.drive_step(self.state, seconds, now, angle, velocity))
        self._parts.check()
        return torque

    def in_c(self) -> dict[str, int]:
        """Return the addresses of the C functions `step` and `limp`, and of the drive's C struct (bus_steps.h)."""
        ffi, lib = self._parts.ffi, self._lib
        found = {"step": lib.drive_step, "limp": lib.drive_limp, "drive": self.state}
        return {name: int(ffi.cast("uintptr_t", at)) for name, at in found.items()}

    def known(self) -> tuple[float, float, float]:
        """Return the reported position, velocity and torque."""
        return self.motor.position, self.motor.velocity, self.motor.torque

    @property
    def driving(self) -> bool:
        """True if the drive applies current to its motor."""
        return self.powered and self.motor.active

    @property
    def brakes_alone(self) -> bool:
        """True if the drive has lost the host's commands and only damps the motion."""
        return False

    @property
    def limp(self) -> bool:
        """True if the output turns freely: the drive is off, or has no position loop and a command with zero gains and
        at most one step of torque. The torque's field has no code for exactly zero."""
        return bool(self._lib.drive_limp(self.state))
