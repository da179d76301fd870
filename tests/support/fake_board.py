"""A simulated board in Python for tests of the host: ring buffer, credit, states, faults, and a lossy line. The board
moves in whole ticks, and only while the host's clock sleeps. Therefore every test is deterministic and takes no real
time. The board plays knots without interpolation or dynamics, because these tests concern the messages and not the
motion."""

from __future__ import annotations

from collections import deque

import numpy as np

from femtorque.codegen.mechanism import Joint, Limits
from femtorque.codegen.wire import Codec, FrameReader, messages
from femtorque.host.link import Configuration, Link, Session

RAMP = 0.05  # time from full pace to a stop, s
HOST_TIMEOUT = 0.1  # s


class ManualClock:
    """A clock that advances only while a host sleeps. During a sleep the `boards` run through every tick."""

    def __init__(self) -> None:
        self.time = 0.0
        self.boards: list[FakeBoard] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        assert 0.0 < seconds < 10.0
        self.time += seconds
        for board in self.boards:
            board.run_until(self.time)


class Wire:
    """One direction of the line: frames take a tick, and some are lost or have flipped bits."""

    def __init__(self, rng: np.random.Generator, drop: float = 0.0, flip: float = 0.0) -> None:
        self.rng, self.drop, self.flip = rng, drop, flip
        self.queue: deque[tuple[float, bytes]] = deque()

    def put(self, frame: bytes, at: float) -> None:
        chance = self.rng.random()
        if chance < self.drop:
            return
        if chance < self.drop + self.flip:
            damaged = bytearray(frame)
            for _ in range(int(self.rng.integers(1, 5))):
                damaged[self.rng.integers(len(frame))] ^= 1 << int(self.rng.integers(8))
            frame = bytes(damaged)
        self.queue.append((at, frame))

    def take(self, now: float) -> bytes:
        data = b""
        while self.queue and self.queue[0][0] <= now + 1e-12:
            data += self.queue.popleft()[1]
        return data


def configuration(joints: int = 3, digest: bytes = bytes(range(1, 33)), **keys) -> Configuration:
    zero, z = np.zeros(3), np.array([0.0, 0.0, 1.0])
    limits = Limits(-3.0, 3.0, 10.0, 1.0)
    return Configuration(
        "three-link", "f405rg-4", digest,
        tuple(Joint(f"j{i + 1}", "revolute", "base", f"l{i}", zero, zero, z, limits=limits) for i in range(joints)),
        rate_hz=1000, knot_hz=250, source="arm.toml", start_tolerance=(0.01,) * joints, **keys,
    )


class FakeBoard:
    """A simulated board, which is also the device that a Link opens: read, write, close."""

    def __init__(
        self, clock: ManualClock, conf: Configuration | None = None, ring: int = 256, seed: int = 0,
        drop: float = 0.0, flip: float = 0.0, lag: float = 0.0, host_timeout: float = HOST_TIMEOUT,
        unique: bytes = bytes(range(0x31, 0x3D)),
    ) -> None:
        self.clock, self.conf, self.ring_size, self.lag = clock, conf or configuration(), ring, lag
        self.joints, self.host_timeout = len(self.conf.joints), host_timeout
        rng = np.random.default_rng(seed)
        self.to_board, self.to_host = Wire(rng, drop, flip), Wire(rng, drop, flip)
        self.codec = Codec(self.joints)
        self.delay = 0.0  # delay of every frame to the board, s
        self.paced, self.free_at = False, 0.0  # true if frames to the board take the transmission time of the baud rate
        self.silent = False  # true if the board neither receives nor sends
        self.gone = False  # true if the cable is unplugged, so that reads and writes fail
        self.refuse_with: dict[int, tuple[str, int]] = {}  # {command: (refusal, joint) for the next use of the command}
        self.deaf_to: set[int] = set()  # commands that are lost on their way to the board
        self.unique, self.crash = unique, {}
        self.position0 = np.zeros(self.joints)
        self.received: list = []  # every accepted knot, in order
        self.commands: list[int] = []  # every executed command
        self.targets: list = []  # each FOLLOW target with its time
        self.asked: list = []  # every accepted FOLLOW command
        self.timeout, self.ending, self.starved_at = 0.25, False, 0.0  # time without targets after which FOLLOW ends, s
        self.ends_in = self.ends_at = 0.0  # time from the END command until the joints are at rest, s
        self.reset("POWER")
        clock.boards.append(self)

    def reset(self, cause: str, last_fault: int = 0) -> None:
        self.cause, self.last_fault = cause, last_fault
        self.resets = 0 if cause == "POWER" else self.resets + 1
        self.reader = FrameReader(self.codec)
        self.tick, self.state, self.fault, self.fault_joint = 0, "DISARMED", 0, 255
        self.refusal = self.refusal_joint = 255
        self.refusal, self.token, self.flags, self.limits = 0, 0, 0, 0
        self.wanted, self.ring = 0, deque()
        self.path, self.played, self.pace, self.pace_wanted = 0.0, 0, 0.0, 0.0
        self.mode = 0
        self.bad = self.wrong_tag = self.out_of_order = 0
        self.heard_at = self.started_at = self.clock.now()
        self.target = np.zeros(self.joints, np.int64)

    # -- device -------------------------------------------------------------------------------------------------------

    def read(self, size: int) -> bytes:
        if self.gone:
            raise OSError("device disconnected")
        return self.to_host.take(self.clock.now())[:size]

    def write(self, data: bytes) -> int:
        if self.gone:
            raise OSError("device disconnected")
        now = self.clock.now()
        if self.paced:
            now = self.free_at = max(now, self.free_at) + 10 * len(data) / self.conf.baud
        self.to_board.put(data, now + 1.0 / self.conf.rate_hz + self.delay)
        return len(data)

    def close(self) -> None:
        pass

    # -- board --------------------------------------------------------------------------------------------------------

    def run_until(self, time: float) -> None:
        while self.started_at + (self.tick + 1) / self.conf.rate_hz <= time + 1e-9:
            self.tick += 1
            now = self.started_at + self.tick / self.conf.rate_hz
            data = self.to_board.take(now)
            if self.silent:
                continue
            for frame in self.reader.feed(data):
                self._frame(frame, now)
            self._move(now)
            if self.tick * messages.STATUS_HZ % self.conf.rate_hz < messages.STATUS_HZ:
                self._send(self.status(), now)
                if self.state == "FOLLOW":
                    self._send(self.followed(), now)

    def _send(self, message, now: float) -> None:
        self.to_host.put(self.codec.encode(message, self.conf.tag), now)

    def _frame(self, frame, now: float) -> None:
        m = frame.message
        if isinstance(m, messages.Hello):
            self._send(self.ident(), now)
            self._send(self.about(), now)
            return
        if frame.tag != self.conf.tag:
            self.wrong_tag += 1
            return
        self.heard_at = now
        if isinstance(m, messages.Knot):
            if frame.seq != self.wanted or len(self.ring) >= self.ring_size:
                if (frame.seq - self.wanted) & 0xFFFF < 0x8000:
                    self.out_of_order = (self.out_of_order + 1) & 0xFFFF
                return
            self.wanted = (self.wanted + 1) & 0xFFFF
            self.ring.append(m)
            self.received.append(m)
        elif isinstance(m, messages.Target):
            if self.state == "FOLLOW":
                self.targets.append((now, m))
                self.target, self.starved_at = np.array(m.position, np.int64), now + self.timeout
                self.ends_at = self.ends_at if self.ending else now + self.ends_in
                self.ending = bool(m.flags & messages.TARGET_END)
        elif isinstance(m, (messages.Command, messages.Home, messages.Follow, messages.Float)):
            number = (m.command if isinstance(m, messages.Command) else 0 if isinstance(m, messages.Home)
                      else -1 if isinstance(m, messages.Follow) else -2)
            if m.token == self.token or number in self.deaf_to:
                return
            self.token, self.refusal, self.refusal_joint = m.token, 0, 255
            if number in self.refuse_with:
                name, self.refusal_joint = self.refuse_with.pop(number)
                self.refusal = messages.REFUSALS[name][0]
                return
            self.commands.append(number)
            if isinstance(m, messages.Follow):
                self._follow(m, now)
            elif isinstance(m, messages.Float):
                self.state = "FLOAT"
            elif number == 0:
                self.target = np.array(m.position, np.int64)
                self.flags |= messages.FLAGS["HOMED"][0]
            else:
                self._command(next(n for n, row in messages.COMMANDS.items() if row[0] == number))

    def _command(self, name: str) -> None:
        if name == "STOP" and self.state in ("FOLLOW", "FLOAT"):
            self.state = "HOLD"
            self._flag(STOPPED=True)
            return
        allowed = {"ARM": "DISARMED", "START": "HOLD", "STOP": "TRACK", "RESUME": "HOLD", "FLUSH": "HOLD",
                   "CLEAR": "FAULT"}
        if name in allowed and self.state != allowed[name]:
            self.refusal = messages.REFUSALS["WRONG_STATE"][0]
        elif name == "ARM":
            if self.flags & messages.FLAGS["HOMED"][0]:
                self.state = "HOLD"
            else:
                self.refusal, self.refusal_joint = messages.REFUSALS["NOT_HOMED"][0], 0
        elif name in ("DISARM", "CLEAR"):
            self.state, self.fault, self.fault_joint, self.pace = "DISARMED", 0, 255, 0.0
            self.ring.clear()
        elif name == "START":
            if not self.ring or not self.ring[0].flags & messages.KNOT_START:
                self.refusal = messages.REFUSALS["NOTHING_BUFFERED"][0]
                return
            self.state, self.pace, self.pace_wanted, self.path, self.played = "TRACK", 1.0, 1.0, 0.0, 0
            self._flag(ENDED=False, UNDERRUN=False, STOPPED=False, HOST_SILENT=False)
        elif name == "STOP":
            self.pace_wanted = 0.0
            self._flag(STOPPED=True)
        elif name == "RESUME":
            self.state, self.pace_wanted, self.pace = "TRACK", 1.0, 0.01
            self._flag(UNDERRUN=False, STOPPED=False, HOST_SILENT=False)
        elif name == "FLUSH":
            self.ring.clear()

    def _follow(self, m, now: float) -> None:
        if self.state != "HOLD":
            self.refusal = messages.REFUSALS["WRONG_STATE"][0]
            return
        self.asked.append(m)
        self.state, self.ending, self.starved_at = "FOLLOW", False, now + self.timeout
        self._flag(UNDERRUN=False, STOPPED=False, ENDED=False)

    def followed(self):
        return messages.Followed(
            tick=self.tick, phase=messages.FOLLOW_PHASES["ENDING" if self.ending else "FOLLOWING"][0], delay=50_000,
            frame=20_000, ahead=-3000, targets=len(self.targets), late=1, lost=2, refused=3,
            limits=bytes([5] + [0] * (self.joints - 1)), behind=(0.25,) + (0.0,) * (self.joints - 1))

    def _flag(self, **flags: bool) -> None:
        for name, on in flags.items():
            bit = messages.FLAGS[name][0]
            self.flags = self.flags | bit if on else self.flags & ~bit

    def _move(self, now: float) -> None:
        armed = self.state in ("HOLD", "TRACK")
        if armed and now - self.heard_at > 5 * self.host_timeout:
            self.fail("HOST_LOST")
            return
        if self.state == "FOLLOW":
            if self.ending and now >= self.ends_at:
                self.state = "HOLD"
                self._flag(ENDED=True)
            elif not self.ending and now > self.starved_at:
                self.state = "HOLD"
                self._flag(UNDERRUN=True)
            return
        if self.state != "TRACK":
            return
        if now - self.heard_at > self.host_timeout and self.pace_wanted:
            self.pace_wanted = 0.0
            self._flag(HOST_SILENT=True)
        left = (len(self.ring) - 1) / self.conf.knot_hz
        if left <= RAMP and not self.ring[-1].flags & messages.KNOT_END and self.pace_wanted:
            self.pace_wanted = 0.0
            self._flag(UNDERRUN=True)
        step = 1.0 / (RAMP * self.conf.rate_hz)
        self.pace += float(np.clip(self.pace_wanted - self.pace, -step, step))
        self.path += self.pace * self.conf.knot_hz / self.conf.rate_hz
        while self.path >= self.played + 1 and len(self.ring) > 1:
            self.ring.popleft()
            self.played += 1
        self.target = np.array(self.ring[0].position, np.int64)
        if len(self.ring) == 1 and self.ring[0].flags & messages.KNOT_END:
            self.ring.clear()
            self.state = "HOLD"
            self._flag(ENDED=True)
        elif self.pace <= 0.0 and not self.pace_wanted:
            self.state, self.pace = "HOLD", 0.0

    def fail(self, name: str, joint: int = 255) -> None:
        self.state, self.fault, self.fault_joint = "FAULT", messages.FAULTS[name][0], joint
        self.ring.clear()

    def ident(self):
        return messages.Ident(
            messages.PROTOCOL, self.conf.digest, self.conf.name.encode().ljust(32, b"\0"),
            self.conf.board.encode().ljust(16, b"\0"), self.joints, self.conf.rate_hz, self.conf.knot_hz,
            self.ring_size, messages.RESETS[self.cause], self.last_fault,
        )

    def about(self):
        return messages.About(unique=self.unique, version=b"0.1.0".ljust(16, b"\0"),
                              uptime=self.tick // self.conf.rate_hz, resets=self.resets, options=0x0FFFAAED,
                              **self.crash)

    def status(self):
        zero = (0.0,) * self.joints
        measured = self.target - int(self.lag * 2**32 / (2 * np.pi))
        return messages.Status(
            tick=self.tick, state=messages.STATES[self.state][0], fault=self.fault, fault_joint=self.fault_joint,
            refusal=self.refusal, refusal_joint=self.refusal_joint, command_token=self.token, flags=self.flags,
            mode=self.mode, limits=self.limits, ack=self.wanted, credit=self.ring_size - len(self.ring),
            buffered=len(self.ring),
            knots_played=self.played, pace=self.pace, frames=self.reader.good, bad_frames=self.reader.bad & 0xFFFF,
            wrong_tag=self.wrong_tag, out_of_order=self.out_of_order, line_errors=0, bus_mv=24000, cycles=50_000,
            cycles_max=60_000,
            position=measured.tolist(), target=self.target.tolist(), rate=zero, target_rate=zero,
            torque_ff=(0.1,) * self.joints, torque=(0.3,) * self.joints, duty=zero,
        )


def unconnected(clock=None, expected=None, listen_only=False, **keys) -> tuple[Session, FakeBoard]:
    """Return a session and its board, not yet connected. keys: options of the board."""
    clock = clock or ManualClock()
    board = FakeBoard(clock, **keys)
    return Session(Link(board, clock=clock), expected or configuration(), listen_only=listen_only), board


def a_session(clock=None, **keys) -> tuple[Session, FakeBoard]:
    """Return a session that is connected to a board. The board is homed at zero and armed."""
    session, board = unconnected(clock, **keys)
    session.connect()
    session.home(np.zeros(board.joints))
    session.arm()
    return session, board
