"""The common part of the drives: a node with a motor, which answers a moment later with its state before the frame. C
(drive.c) has the node and the motor, and the families' C what comes in every control cycle; all else is Python's."""

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
    """ranges: of its fields. late: s by which answers are late. cut: its cable to the bus is off, its supply is not.
    supplied: its own branch of the supply is whole. maker: numbers of its family; boot: s from power-up until it is on
    the bus, by them. least_supply: V below which it is off; Damiao's register UV_Value is above.
    on_change: called when its branch is cut or made whole. kind: of its struct in C, `own`, and of the function
    that obeys frames there. state: the part of `own` that all drives have."""

    kind = "drive"
    maker: Maker
    least_supply = 10.0
    late, boot = Member(float), Member(float)
    cut, powered = Member(bool), Member(bool)

    def __init__(self, wire: Wire, number: int, motor: Motor, ranges: Ranges, bitrate: float = 1e6,
                 data_bitrate: float | None = None) -> None:
        self.wire, self.motor, self._parts = wire, motor, wire.clock.parts
        ffi, self._lib = library()
        self._tells = ffi.callback("int32_t(int32_t)", self._tell, onerror=self._parts.refuse)
        self.own: Any = ffi.new(f"{self.kind} *")
        self.state: Any = ffi.cast("drive *", self.own)
        self._caught_up_in(self.state, ffi, self._parts)
        self.state.motor, self.state.tell = motor.state, self._tells
        self.state.powered = self.state.supplied = True
        self.boot, self.state.answers_in = self.maker.boot.number, self.maker.answers.number
        self.commanded, self.state.timeout = None, math.inf
        self.on_change: Callable[[], None] = lambda: None
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
        """Obey a frame that C leaves to Python. Returns its answer, with the state before the frame."""
        raise NotImplementedError

    @property
    def filters(self) -> tuple[tuple[int, int], ...]:
        """Identifiers of the frames that `handle` sees, each a number and the bits that must be those of the number;
        without any it sees all."""
        return ()

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

    def calm(self) -> None:
        """Act when its torque is as small as it has asked C to watch for."""

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
        """Do what only the family knows. Returns 1 if there is an answer."""
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
        """Call a function after each step, with its torque, s, when it began, s, and the velocity."""
        self._watched = self._parts.ffi.callback("void(double, double, double, double)", each,
                                                 onerror=self._parts.refuse)
        self.state.stepped = self._watched

    def power_up(self, angle: float) -> None:
        """Switch it on while its output stands at an angle, rad."""
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
        """s, time of the last command."""
        at = float(self.state.commanded)
        return None if math.isnan(at) else at

    @commanded.setter
    def commanded(self, seconds: float | None) -> None:
        self.state.commanded = math.nan if seconds is None else seconds

    def feed(self) -> None:
        self._lib.drive_feed(self.state)
        self.state.timeout = self.timeout

    def step(self, seconds: float, now: float, angle: float, velocity: float) -> float:
        """The mean torque, N m, at the output, over the next `seconds`."""
        torque = float(self._lib.drive_step(self.state, seconds, now, angle, velocity))
        self._parts.check()
        return torque

    def in_c(self) -> dict[str, int]:
        """Addresses of functions in C that step it and say whether it is limp, and of its state (bus_steps.h)."""
        ffi, lib = self._parts.ffi, self._lib
        found = {"step": lib.drive_step, "limp": lib.drive_limp, "drive": self.state}
        return {name: int(ffi.cast("uintptr_t", at)) for name, at in found.items()}

    def known(self) -> tuple[float, float, float]:
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
        return bool(self._lib.drive_limp(self.state))
