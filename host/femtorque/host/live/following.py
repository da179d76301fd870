"""A board that follows live targets. The host sends TARGET and receives FOLLOWED and STATUS.

With a real board, a thread keeps the connection alive. So a caller may send targets from any thread and at any time,
and may also stop sending. A virtual board advances its time only during `wait`."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femtorque.codegen.common import Array, BadInput, Refused, hint
from femtorque.codegen.mechanism import Joint, Mechanism
from femtorque.codegen.wire import (
    Follow, Followed, Status, Target, farthest, flag, from_wire, messages, numbers, per_joint, state_name, to_float,
    to_wire)
from femtorque.codegen.wire.in_words import names
from femtorque.host.link import PERIOD, Session, WallClock
from femtorque.host.live.outbox import Outbox

WHERE = "follow"
CHUNK = 50  # targets per chunk at most; a board buffers 64 knots
CHUNKS = 255
LONGEST = 60.0  # time by which the last target of a chunk may be in the future, s
ENDING = 30.0  # maximum time from the last target until the joints are at rest, s
REPEAT = 0.12  # time after which END is sent again unless the board has begun to end, s: two reports of the board
EXACT = 2**53  # largest whole number of a double, us
KEPT = 1000  # number of STATUS that `watch` buffers for a slow reader
DELAYS = 2.0  # longest delay, s
FRAMES = (0.001, 0.25)  # s

_PHASE = {number: name for name, (number, _) in messages.FOLLOW_PHASES.items()}


@dataclass(frozen=True)
class FollowStatus:
    """State of FOLLOW. phase: a name in FOLLOW_PHASES. delay, frame, ahead: times, s. taken, late, lost, refused:
    numbers of targets since FOLLOW began. left_out: number of targets that were replaced before they were sent. limits:
    limits that acted since the last report, by joint. behind (J,): target minus reference, rad or m."""

    phase: str
    delay: float
    frame: float
    ahead: float
    targets: int
    late: int
    lost: int
    refused: int
    left_out: int
    limits: Mapping[str, tuple[str, ...]]
    behind: Array


@dataclass(frozen=True)
class BoardStatus:
    """Content of a STATUS. tick: ticks since reset. positions, targets (J,) are in rad or m, velocities (J,) in rad/s
    or m/s, torques (J,) in N m or N. fault, joint: names; empty without a fault. flags: names of the set flags
    (femtorque.codegen.wire.messages.FLAGS)."""

    tick: int
    state: str
    fault: str
    joint: str
    positions: Array
    targets: Array
    velocities: Array
    torques: Array
    flags: tuple[str, ...]


def board_status(session: Session) -> BoardStatus:
    return _seen(session, session.status)


def _seen(session: Session, s: Status) -> BoardStatus:
    joints = session.configuration.joints
    fault = next((name for name, row in messages.FAULTS.items() if row[0] == s.fault and s.fault), "")
    return BoardStatus(s.tick, state_name(s), fault, session.joint(s.fault_joint) if fault else "",
                       from_wire(s.position, joints), from_wire(s.target, joints), np.array(s.rate, float),
                       np.array(s.torque, float), names(messages.FLAGS, s.flags))


class Watch:
    """Every STATUS of a board, for loops with `for` or `async for`. Reading keeps an armed board alive."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: deque[Status] = deque(maxlen=KEPT)

    def __iter__(self) -> Iterator[BoardStatus]:
        with self._session.hearing(self._waiting.append):
            while True:
                while not self._waiting:
                    self._session.pump()
                    if not self._waiting:
                        self._session.clock.sleep(PERIOD)
                yield _seen(self._session, self._waiting.popleft())

    async def __aiter__(self) -> AsyncIterator[BoardStatus]:
        real = isinstance(self._session.clock, WallClock)
        with self._session.hearing(self._waiting.append):
            while True:
                while not self._waiting:
                    self._session.pump()
                    if not self._waiting and not real:
                        self._session.clock.sleep(PERIOD)
                    await asyncio.sleep(PERIOD if real else 0.0)
                yield _seen(self._session, self._waiting.popleft())


class Following:
    """Sender of live targets for a board in FOLLOW. Call `Board.follow` to get a sender. When the context ends, the
    joints come to rest at the last target. If an exception leaves the context, the joints stop immediately."""

    def __init__(self, session: Session, mechanism: Mechanism, delay: float | None, frame: float | None) -> None:
        self.session, self.joints = session, mechanism.streamed
        self._ask = Follow(0, _delay(delay), _frame(frame))
        self._outbox = Outbox(session.link, len(self.joints))
        self._chunk = 0
        self._last: list[int] | None = None  # encoded positions of the newest target
        self.beyond: dict[str, float] = {}  # first target of each joint beyond its limits, rad or m
        self._done, self._failed = threading.Event(), list[Exception]()
        self._thread: threading.Thread | None = None

    @property
    def sent(self) -> int:
        """Number of targets since FOLLOW began."""
        return self._outbox.sent

    def leave_out(self, count: int) -> None:
        """Count targets that newer targets replaced before they were sent."""
        self._outbox.left_out += count

    @property
    def carries(self) -> float:
        """Targets per second that the line can carry. If a script sends more targets, older targets are discarded."""
        return self._outbox.carries

    # ---- targets
    def send(self, q: ArrayLike | Mapping[str, float], v: ArrayLike | None = None, t: float | None = None) -> None:
        """Send one target and return immediately. q: positions (J,), rad or m, or by joint name; other joints stay. v:
        velocities (J,). t: the target's time on the sender's clock, s; by default now. Joints stay within their limits.
        Raises BadInput for NaN, infinity and too large numbers, and Refused if the board does not enter FOLLOW
        again."""
        position, velocity = self._position(q), self._velocity(v)
        with self.session.lock:
            self._looked(again=True)
            flags = 0 if v is None else messages.TARGET_RATES
            self._outbox.put([Target(flags, 0, self._stamp(t), 0, position, velocity)])
            self._last = position

    def chunk(self, times: ArrayLike, Q: ArrayLike, V: ArrayLike | None = None, t: float | None = None) -> None:
        """Send up to 50 targets ahead: positions Q (N, J) at times (N,) s from `t`, velocities V (N, J) if known. The
        new targets replace queued targets from their first time on. For t and the errors see `send`."""
        ahead, rows = _times(times), numbers(Q, WHERE, "Q")
        rates = None if V is None else numbers(V, WHERE, "V")
        if rows.shape != (len(ahead), len(self.joints)) or (rates is not None and rates.shape != rows.shape):
            raise BadInput(WHERE, "Q", f"shape {rows.shape}", f"must be ({len(ahead)}, {len(self.joints)})",
                           "a row for every time, a column for every joint")
        places = _wire(per_joint(rows, self.joints, WHERE, "Q"), self.joints, "Q", self.beyond)
        speeds = (np.zeros(rows.shape) if rates is None else to_float(rates, self.joints, WHERE, "V")).tolist()
        with self.session.lock:
            self._looked(again=True)
            self._chunk, stamp = self._chunk % CHUNKS + 1, self._stamp(t)
            flags = 0 if rates is None else messages.TARGET_RATES
            self._outbox.put([Target(flags, self._chunk, stamp, round(1e6 * at), place, speed)
                              for at, place, speed in zip(ahead, places, speeds, strict=True)])
            self._last = places[-1]

    def wait(self, seconds: float) -> None:
        """Wait, and keep the connection alive. The virtual board's time advances only in this method."""
        until = self.session.clock.now() + seconds
        while (left := until - self.session.clock.now()) > 1e-9:
            with self.session.lock:
                self._looked()
            self.session.clock.sleep(min(PERIOD, left))

    @property
    def status(self) -> FollowStatus | None:
        """The board's last report, None before the first."""
        with self.session.lock:
            self._looked()
            told = self.session.followed
        return None if told is None else self._report(told)

    def end(self) -> None:
        """Bring the joints to rest at the last target and hold them. Raises Refused if this takes too long."""
        session = self.session
        with session.lock:
            self._looked()
            if not session.in_state("FOLLOW"):
                return
            if self._last is None:
                session.command("STOP")
            asked, ends = -np.inf, messages.FOLLOW_PHASES["ENDING"][0]
            deadline = session.clock.now() + ENDING
            while session.in_state("FOLLOW"):
                now = session.clock.now()
                heard = session.followed is not None and session.followed.phase == ends
                if self._last is not None and now - asked >= REPEAT and not heard:
                    asked = now
                    still = [0.0] * len(self.joints)
                    self._outbox.end(Target(messages.TARGET_END, 0, self._stamp(None), 0, self._last, still))
                if now >= deadline:
                    raise Refused(f"{session.link.port}: the board is not at rest {ENDING:g} s after the last target; "
                                  f"{session.describe()}")
                session.pump()
                session.clock.sleep(PERIOD)
            session.faulted()

    # ---- a context
    def __enter__(self) -> Following:
        self._begin()
        if isinstance(self.session.clock, WallClock):
            self._thread = threading.Thread(target=self._keep, name="femtorque follow", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join(2.0)
        try:
            if kind is None:
                self.end()
            elif self.session.in_state("FOLLOW"):
                self.session.sender = None
                self.session.command("STOP")
        except Exception:
            if kind is None:
                raise  # an error inside the context takes precedence over an error at its end
        finally:
            self.session.sender = None

    # ---- the line
    def _begin(self) -> None:
        with self.session.lock:
            self._outbox = Outbox(self.session.link, len(self.joints))
            self.session.ask(self._ask, "FOLLOW")
            self.session.wait(lambda: not self.session.in_state("HOLD"), 1.0, "took FOLLOW but still holds")
            self.session.followed, self.session.sender = None, self._outbox

    def _keep(self) -> None:
        """Exchange frames until the context ends. Runs in a thread."""
        while not self._done.is_set():
            try:
                with self.session.lock:
                    self.session.pump()
            except Exception as error:  # an error of the board or of a listener
                self._failed.append(error)
                return
            self._done.wait(PERIOD)

    def _looked(self, again: bool = False) -> None:
        """Check the board's state. again: if targets or host timed out, ask the board to follow again."""
        if self._failed:
            raise self._failed[0]
        session = self.session
        session.pump()
        session.faulted()
        if session.in_state("FOLLOW") or self._done.is_set():
            return
        if session.in_state("HOLD") and (flag(session.status, "UNDERRUN") or flag(session.status, "HOST_SILENT")):
            if again:
                self._begin()
        else:
            raise Refused(f"{session.link.port}: the board no longer follows; {session.describe()}")

    def _stamp(self, t: object) -> int:
        """Return a time in us, which wraps."""
        now = numbers(self.session.clock.now() if t is None else t, WHERE, "t")
        if now.shape or not abs(now) < 1e-6 * EXACT:
            raise BadInput(WHERE, "t", None, f"must be a number of seconds, less than {1e-6 * EXACT:.4g}")
        return round(1e6 * float(now)) % 2**32

    def _position(self, q: object) -> list[int]:
        """Return a target's positions (J,) as encoded in messages."""
        if not isinstance(q, Mapping):
            return _wire(per_joint(q, self.joints, WHERE, "q", alone=True), self.joints, "q", self.beyond)
        known = [joint.name for joint in self.joints]
        found = list(self._last if self._last is not None else self.session.status.target)
        for name, value in q.items():
            if name not in known:
                raise BadInput(WHERE, "q", name, "no such joint", hint(name, known, "joints"))
            k = known.index(name)
            one = [self.joints[k]]
            found[k], = _wire(per_joint([value], one, WHERE, "q", alone=True), one, "q", self.beyond)
        return found

    def _velocity(self, v: object) -> list[float]:
        if v is None:
            return [0.0] * len(self.joints)
        return to_float(per_joint(v, self.joints, WHERE, "v", alone=True), self.joints, WHERE, "v").tolist()

    def _report(self, m: Followed) -> FollowStatus:
        limits = {joint.name: names(messages.FOLLOW_LIMITS, bits)
                  for joint, bits in zip(self.joints, m.limits, strict=True) if bits}
        return FollowStatus(_PHASE.get(m.phase, str(m.phase)), 1e-6 * m.delay, 1e-6 * m.frame, 1e-6 * m.ahead,
                            m.targets, m.late, m.lost, m.refused, self._outbox.left_out, limits,
                            np.array(m.behind, float))


def _wire(q: Array, joints: Sequence[Joint], key: str, beyond: dict[str, float]) -> Any:
    """Encode positions (..., J) as lists, within the encoded range of joints with limits, which the board enforces.
    Add the first position beyond each joint's limits to `beyond`, by more than an interpolation's rounding."""
    for joint, column in zip(joints, q.reshape(-1, len(joints)).T, strict=True):
        for x in column[(column < joint.limits.lower - 1e-6) | (column > joint.limits.upper + 1e-6)][:1].tolist():
            beyond.setdefault(joint.name, x)
    far, ends = farthest(joints), [isfinite(j.limits.lower) and isfinite(j.limits.upper) for j in joints]
    return to_wire(np.where(ends, np.clip(q, -far, far), q), joints, WHERE, key).tolist()


def _delay(delay: float | None) -> int:
    if delay is None:
        return messages.FOLLOW_AUTO
    if not 0.0 <= delay <= DELAYS:
        raise BadInput(WHERE, "delay", delay, f"must be 0 to {DELAYS:g} s", "None: as the mechanism file says")
    return round(1e6 * delay)


def _frame(frame: float | None) -> int:
    if frame is None:
        return 0
    if not FRAMES[0] <= frame <= FRAMES[1]:
        raise BadInput(WHERE, "frame", frame, f"must be {FRAMES[0]:g} to {FRAMES[1]:g} s",
                       "None: as the mechanism file says")
    return round(1e6 * frame)


def _times(times: ArrayLike) -> Array:
    found = numbers(times, WHERE, "times")
    if found.ndim != 1 or not 1 <= len(found) <= CHUNK:
        raise BadInput(WHERE, "times", f"shape {found.shape}", f"must be 1 to {CHUNK} times")
    if not (np.all(np.isfinite(found)) and found[0] >= 0.0 and found[-1] <= LONGEST and np.all(np.diff(found) > 0.0)):
        raise BadInput(WHERE, "times", None, f"must increase from 0 s or later, to {LONGEST:g} s at most")
    return found
