"""A PC as the board, in lock-step with virtual drives. The real program of the PC runs in simulated time.

The program asks for the time of its next tick. The bench lets the drives run until this time, passes their answers on,
and grants the time. So results do not depend on this computer's speed. A CAN frame is a record of the kernel's `struct
canfd_frame` (linux/can.h).
"""

from __future__ import annotations

import os
import random
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from femtorque.codegen.board import Times
from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import Mechanism
from femtorque.hil.board.buses import adapter_bits
from femtorque.hil.board.drives_alone import Bench
from femtorque.hil.board.terminal_port import TerminalPort
from femtorque.hil.bus import Adapter, Frame, Gateway, OneWire, Tap, Wire
from femtorque.hil.plant import Driven

EXTENDED, REMOTE, FAST = 1 << 31, 1 << 30, 1  # CAN_EFF_FLAG, CAN_RTR_FLAG, CANFD_BRS
CLASSIC, FD = struct.Struct("=IB3x8s"), struct.Struct("=IBBxx64s")  # struct can_frame and canfd_frame
TIME = struct.Struct("=Q")  # ns
MARK = bytes.fromhex("7d1c9e55b04a63f28e2f90c6417ba8d3")  # bytes that no adapter sends
NO_TIME = Times()
SPACE = 1e-9  # least time between two frames that leave an adapter, s
HANG = 20.0  # s in which the program must answer


def to_record(frame: Frame) -> bytes:
    """Return the kernel's record of a frame."""
    number = frame.id | EXTENDED * frame.extended | REMOTE * frame.remote
    if frame.fd:
        return FD.pack(number, len(frame.data), FAST * frame.fast, frame.data)
    return CLASSIC.pack(number, len(frame.data), frame.data)


def of_record(record: bytes) -> Frame:
    """Return the frame of a kernel's record."""
    fd = len(record) == FD.size
    number, size, *rest = (FD if fd else CLASSIC).unpack(record)
    extended = bool(number & EXTENDED)
    return Frame(number & (0x1FFFFFFF if extended else 0x7FF), rest[-1][:size], extended, bool(number & REMOTE), fd,
                 fd and bool(rest[0] & FAST))


class HostEnd:
    """The host's end of the program's port. It is a femtorque.host.link.Device."""

    name = "the program's port"

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def read(self, size: int) -> bytes:
        try:
            return self._end.recv(size)
        except BlockingIOError:
            return b""

    def write(self, data: bytes) -> int:
        self._end.setblocking(True)
        self._end.sendall(data)
        self._end.setblocking(False)
        return len(data)

    def close(self) -> None:
        self._end.close()


class Terminal(TerminalPort):
    """A serial adapter between program and bus, with the interface of a socket. The system takes a short time to pass
    bytes of a terminal on. Each call waits for the system. Meanwhile the program waits for its next tick, and does not
    use the terminal."""

    def recv(self, size: int) -> bytes:
        """Write a mark behind the program's bytes, and return the bytes before this mark."""
        os.write(self._theirs, MARK)
        data = b""
        while not data.endswith(MARK):
            self._await(select.select([self._ours], [], [], HANG)[0])
            data += self.receive()
        if data == MARK:
            raise BlockingIOError
        return data.removesuffix(MARK)

    def send(self, data: bytes) -> None:
        """Send bytes, and wait until the program could read all of them."""
        end, there = time.monotonic() + HANG, self._waiting() + len(data)
        super().send(data)
        while self._waiting() < there:
            self._await(time.monotonic() < end)

    def _waiting(self) -> int:
        """Return the number of bytes that the program has not read."""
        import fcntl  # noqa: PLC0415 (Windows has none)
        import termios  # noqa: PLC0415

        return int.from_bytes(fcntl.ioctl(self._theirs, termios.FIONREAD, bytes(4)), sys.byteorder)

    @staticmethod
    def _await(passed: object) -> None:
        if not passed:
            raise Refused(f"the system has not passed bytes of a terminal on for {HANG:g} s")


class Speaks(Protocol):
    """An adapter that exchanges bytes with the program."""

    def take(self, data: bytes) -> int: ...


class Unplugged:
    """A pulled adapter."""

    def take(self, data: bytes) -> int:
        return 0


# name of a serial adapter's protocol as in --bus, and a function that makes the adapter
Dialect = tuple[str, Callable[[Adapter, Callable[[bytes], None]], Speaks]]
SLCAN: Dialect = ("slcan", Gateway)


class SteppedPc(Bench):
    """The program of a PC, its drives and the arm. times: times of every adapter. In each direction a frame takes half
    of the delay plus a random time of up to half of the jitter. An adapter keeps the order of its frames. late: delay
    of the next granted time, s. serial: the protocol of serial adapters, whose bytes pass terminals of this computer.
    path: Unix socket of the program's port for other programs. Without a path, `plug_in` returns the host's end."""

    def __init__(self, program: Path, mechanism: Mechanism, plant: Driven, times: Times = NO_TIME,
                 serial: Dialect | None = None, path: Path | None = None) -> None:
        self.times, self.late, self._serial = times, 0.0, serial
        self._random = random.Random(1)
        self._leaves: dict[tuple[str, str], float] = {}  # time of the last frame of each adapter and direction, s
        self._ends: dict[str, socket.socket | Terminal] = {}
        self._theirs: dict[str, socket.socket] = {}
        self._nodes: dict[str, Adapter | Speaks] = {}
        self._words: list[str] = []
        self._asked: int | None = None
        self._paused: set[str] = set()
        super().__init__(mechanism, plant, self._plug)
        self._clock = self._pair("clock", socket.SOCK_SEQPACKET)
        self._clock.settimeout(HANG)
        self._port = [self._pair("port", socket.SOCK_STREAM)] if path is None else []
        self._words += [] if path is None else [f"port={path}"]
        self._words += [f"{name}=fd:{end.fileno()}" for name, end in self._theirs.items()]
        self.process = subprocess.Popen([program, *self._words], pass_fds=[e.fileno() for e in self._theirs.values()],
                                        stderr=subprocess.PIPE)
        for end in self._theirs.values():
            end.close()

    def __enter__(self) -> SteppedPc:
        return self

    def __exit__(self, *how: object) -> None:
        for end in (self._clock, *self._port, *self._ends.values()):
            end.close()  # the program ends, as its time is gone
        self.process.wait(HANG)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _pair(self, name: str, kind: int) -> socket.socket:
        ours, self._theirs[name] = socket.socketpair(socket.AF_UNIX, kind)
        ours.setblocking(False)
        return ours

    def _plug(self, name: str, wire: Wire | OneWire) -> None:
        """Put an adapter between a wire and the program."""
        back, half_duplex = partial(self._back, name), isinstance(wire, OneWire)
        if self._serial:
            self._ends[name] = terminal = Terminal()
            self._words.append(f"{name}={'' if half_duplex else f'{self._serial[0]}:'}{terminal.url}")
        else:
            self._ends[name] = self._pair(name, socket.SOCK_STREAM if half_duplex else socket.SOCK_SEQPACKET)
        if isinstance(wire, OneWire):
            self._nodes[name] = Tap(wire, back)
            return
        adapter = Adapter(wire, *adapter_bits(self.mechanism, self._by_name[name]))
        if self._serial:
            self._nodes[name] = self._serial[1](adapter, back)
        else:
            self._nodes[name] = adapter
            adapter.hear(lambda frame: back(to_record(frame)))

    def _after(self, name: str, way: str) -> float:
        """Return the time from now until a frame leaves an adapter, s. The frame does not overtake the last frame."""
        now = self.clock.seconds
        leaves = now + 0.5 * (self.times.delay + self._random.random() * self.times.jitter)
        self._leaves[name, way] = max(leaves, self._leaves.get((name, way), 0.0) + SPACE)
        return self._leaves[name, way] - now

    def _back(self, name: str, data: bytes) -> None:
        """Pass bytes or a record to the program, when the adapter has them."""
        end = None if name in self._paused else self._ends.get(name)
        if self.times == NO_TIME:
            self._give(end, data)
        else:
            self.clock.after(self._after(name, "back"), partial(self._give, end, data))

    @staticmethod
    def _give(end: socket.socket | Terminal | None, data: bytes) -> None:
        """Send to the program. Ignore an error, since the next question finds that the program has ended."""
        with suppress(OSError):
            if end is not None:
                end.send(data)

    def _out(self, name: str, data: bytes) -> None:
        """Pass bytes or a record of the program to the wire."""
        node = self._nodes[name]

        def act() -> None:
            if isinstance(node, Adapter):
                node.send([of_record(data)])
            else:
                node.take(data)

        if self.times == NO_TIME:
            act()
        else:
            self.clock.after(self._after(name, "out"), act)

    def _collect(self) -> None:
        for name in self._ends:
            for data in self._waiting(name):
                self._out(name, data)

    def _waiting(self, name: str) -> Iterator[bytes]:
        """Yield the records or bytes that the program has sent to a bus."""
        with suppress(BlockingIOError):
            while data := self._ends[name].recv(4096):
                yield data

    def unplug(self, name: str) -> None:
        """Pull an adapter."""
        self._ends.pop(name).close()
        self._nodes[name] = Unplugged()

    def step(self) -> dict[str, list[Frame]]:
        """Let one tick pass without drives and arm. Return the frames that the program has sent, by bus."""
        at = self._question() if self._asked is None else self._asked
        self._give(self._clock, TIME.pack(at))
        self._asked = self._question()
        return {name: self.collected(name) for name in self._ends}

    def deliver(self, name: str, frames: Iterable[Frame]) -> None:
        """Pass frames to the program at once."""
        for frame in frames:
            self.give(name, to_record(frame))

    def give(self, name: str, record: bytes) -> None:
        """Pass a record to the program at once."""
        self._give(self._ends[name], record)

    def pause(self, name: str, paused: bool = True) -> None:
        """Let no answers pass, or let them pass again."""
        self._paused = self._paused | {name} if paused else self._paused - {name}

    def collected(self, name: str) -> list[Frame]:
        """Return the frames for a bus since the last call. The frames do not reach the bus."""
        return [of_record(data) for data in self._waiting(name)]

    def said_at_the_end(self) -> bytes:
        """Wait for the end of the program and of its second process, and return their lines."""
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def plug_in(self) -> HostEnd:
        return HostEnd(self._port[0])

    def run_until(self, seconds: float) -> None:
        """Let time pass for program, drives and arm."""
        while True:
            if self._asked is None:
                self._asked = self._question()
                self._collect()
            at = 1e-9 * self._asked + self.late
            if at > seconds + 1e-9:
                break
            self._pass(at)
            self._give(self._clock, TIME.pack(round(1e9 * at)))
            self._asked, self.late = None, 0.0
        self._pass(seconds)

    def _question(self) -> int:
        """Return the time that the program asks for, ns."""
        try:
            data = self._clock.recv(TIME.size)
        except TimeoutError:
            raise Refused(f"the program has not asked for its next tick for {HANG:g} s") from None
        except ConnectionResetError:
            data = b""
        if not data:
            raise Refused("the program has ended")
        return int(TIME.unpack(data)[0])

    def _pass(self, until: float) -> None:
        if (left := until - self.seconds) > 1e-12:
            super().run(left)
            for node in self._nodes.values():
                if isinstance(node, Gateway):
                    node.flush()

    def run(self, seconds: float) -> None:
        self.run_until(self.seconds + seconds)
