"""A board that follows targets which are sent now: TARGETs out, FOLLOWED and STATUS in.

At a real board a thread keeps the line alive beside the script, so that targets may come from any thread, at any time,
or not at all. At a virtual board time passes only where the script says so, by `wait`.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common.errors import BadInput, Refused
from femtorque.codegen.common.nearest import hint
from femtorque.codegen.mechanism.description import Mechanism
from femtorque.codegen.wire import messages
from femtorque.codegen.wire.messages import Follow, Followed, Status, Target
from femtorque.codegen.wire.names import flag, names, state_name
from femtorque.codegen.wire.units import from_wire, to_wire
from femtorque.host.link.clock import WallClock
from femtorque.host.link.session import PERIOD, Session

Array = NDArray[np.float64]

CHUNK = 50  # targets of a chunk at most: a board has room for 64 knots
CHUNKS = 255
LONGEST = 60.0  # s that a chunk may reach ahead
ENDING = 30.0  # s in which the joints are at rest after the last target
REPEAT = 0.05  # s after which the END is sent again
KEPT = 1000  # STATUS that `watch` keeps for a slow reader
DELAYS = 2.0  # s, the longest delay
FRAMES = (0.001, 0.25)  # s

_PHASE = {number: name for name, (number, _) in messages.FOLLOW_PHASES.items()}


@dataclass(frozen=True)
class FollowStatus:
    """Report of how targets are followed. phase: one of femtorque.codegen.wire.messages.FOLLOW_PHASES; delay, frame,
    ahead: s; targets taken, late, lost and refused since FOLLOW began; limits: by joint, those that kept it from the
    reference since the last report; behind (J,): rad or m from the reference to the joints' own targets."""

    phase: str
    delay: float
    frame: float
    ahead: float
    targets: int
    late: int
    lost: int
    refused: int
    limits: Mapping[str, tuple[str, ...]]
    behind: Array


@dataclass(frozen=True)
class BoardStatus:
    """One STATUS. tick: control ticks since reset; positions, targets rad or m, velocities rad/s or m/s, torques N m or
    N, each (J,); fault: its name, or empty; joint: that it names; flags: names of those that are set, such as HOMED
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
    """The newest STATUS of a board."""
    return _seen(session, session.status)


def _seen(session: Session, s: Status) -> BoardStatus:
    joints = session.configuration.joints
    fault = next((name for name, row in messages.FAULTS.items() if row[0] == s.fault and s.fault), "")
    return BoardStatus(s.tick, state_name(s), fault, session.joint(s.fault_joint) if fault else "",
                       from_wire(s.position, joints), from_wire(s.target, joints), np.array(s.rate, float),
                       np.array(s.torque, float), names(messages.FLAGS, s.flags))


class Watch:
    """STATUS after STATUS of a board: iterate over it, or `async for`. Reading it keeps an armed board alive."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: deque[Status] = deque(maxlen=KEPT)

    def __iter__(self) -> Iterator[BoardStatus]:
        self._session.listeners.append(self._waiting.append)
        try:
            while True:
                while not self._waiting:
                    self._session.pump()
                    if not self._waiting:
                        self._session.clock.sleep(PERIOD)
                yield _seen(self._session, self._waiting.popleft())
        finally:
            self._session.listeners.remove(self._waiting.append)

    async def __aiter__(self) -> AsyncIterator[BoardStatus]:
        real = isinstance(self._session.clock, WallClock)
        self._session.listeners.append(self._waiting.append)
        try:
            while True:
                while not self._waiting:
                    self._session.pump()
                    if not self._waiting and not real:
                        self._session.clock.sleep(PERIOD)
                    await asyncio.sleep(PERIOD if real else 0.0)
                yield _seen(self._session, self._waiting.popleft())
        finally:
            self._session.listeners.remove(self._waiting.append)


class Following:
    """Targets to a board that is in FOLLOW. Get one from `Board.follow`; as a context manager it ends the motion at
    rest at the last target, or stops it where something was raised inside."""

    def __init__(self, session: Session, mechanism: Mechanism, delay: float | None, frame: float | None) -> None:
        self.session, self.joints = session, mechanism.streamed
        self._ask = Follow(0, _delay(delay), _frame(frame))
        self.sent = 0  # targets since FOLLOW began, as the board counts them
        self._chunk = 0
        self._last: list[int] | None = None  # wire positions of the newest target
        self._done, self._failed = threading.Event(), list[Refused]()
        self._thread: threading.Thread | None = None

    # ---- targets
    def send(self, q: ArrayLike | Mapping[str, float], v: ArrayLike | None = None, t: float | None = None) -> None:
        """One target: positions q (J,) in rad or m, or by name those of some joints, the others staying; velocities v
        (J,) where they are known.

        t: s, of any clock of the sender's: when the target was made. By default it is made now. Returns at once.
        Raises BadInput for what is no number, Refused once the board follows no more and cannot be asked again.
        """
        position, velocity = self._position(q), self._velocity(v)
        with self.session.lock:
            self._looked(again=True)
            self._put(Target(messages.TARGET_RATES if v is not None else 0, 0, self._stamp(t), 0, position, velocity))
            self._last = position

    def chunk(self, times: ArrayLike, Q: ArrayLike, V: ArrayLike | None = None, t: float | None = None) -> None:
        """Targets ahead of time, which replace those that are due when the first of them is, or later: positions
        Q (N, J) at times (N,) s from now, velocities V (N, J) where they are known.

        At most 50 targets. t: s, of a clock of the sender's, from which the times count: now, as `send` has it. Raises
        as `send`.
        """
        ahead, rows = _times(times), np.asarray(Q, float)
        rates = None if V is None else np.asarray(V, float)
        if rows.shape != (len(ahead), len(self.joints)) or (rates is not None and rates.shape != rows.shape):
            raise BadInput("follow", "Q", f"shape {rows.shape}", f"must be ({len(ahead)}, {len(self.joints)})",
                           "a row for every time, a column for every joint")
        places = [self._position(row) for row in rows]
        speeds = [self._velocity(None if rates is None else row) for row in (rows if rates is None else rates)]
        with self.session.lock:
            self._looked(again=True)
            self._chunk, stamp = self._chunk % CHUNKS + 1, self._stamp(t)
            flags = 0 if rates is None else messages.TARGET_RATES
            for at, place, speed in zip(ahead, places, speeds, strict=True):
                self._put(Target(flags, self._chunk, stamp, round(1e6 * at), place, speed))
            self._last = places[-1]

    def wait(self, seconds: float) -> None:
        """Let time pass, keeping the board alive. At a virtual board only so does anything move."""
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
        """Come to rest at the last target and hold it. Raises Refused if that takes too long."""
        session = self.session
        with session.lock:
            self._looked()
            if not session.in_state("FOLLOW"):
                return
            if self._last is None:
                session.command("STOP")
            asked = -np.inf
            deadline = session.clock.now() + ENDING
            while session.in_state("FOLLOW"):
                now = session.clock.now()
                if self._last is not None and now - asked >= REPEAT:
                    asked = now
                    still = [0.0] * len(self.joints)
                    self._put(Target(messages.TARGET_END, 0, self._stamp(None), 0, self._last, still))
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
        if kind is None:
            self.end()
            return
        try:
            if self.session.in_state("FOLLOW"):
                self.session.command("STOP")
        except Refused:
            pass  # the error that was raised inside comes first

    # ---- the line
    def _begin(self) -> None:
        with self.session.lock:
            self.session.followed, self.sent = None, 0
            self.session.ask(self._ask, "FOLLOW")
            self.session.wait(lambda: not self.session.in_state("HOLD"), 1.0, "took FOLLOW but still holds")

    def _keep(self) -> None:
        """Keep the line alive, in a thread of its own."""
        while not self._done.is_set():
            try:
                with self.session.lock:
                    self.session.pump()
            except Refused as refused:
                self._failed.append(refused)
                return
            self._done.wait(PERIOD)

    def _looked(self, again: bool = False) -> None:
        """Look at the board. again: after a time-out, of targets or of this computer, it is asked to follow again."""
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
            raise Refused(f"{session.link.port}: the board follows no more; {session.describe()}")

    def _put(self, target: Target) -> None:
        self.session.link.send(target)
        self.sent += 1

    def _stamp(self, t: float | None) -> int:
        """us, which wrap."""
        now = self.session.clock.now() if t is None else float(t)
        if not np.isfinite(now):
            raise BadInput("follow", "t", t, "must be a number")
        return round(1e6 * now) % 2**32

    def _position(self, q: ArrayLike | Mapping[str, float]) -> list[int]:
        if isinstance(q, Mapping):
            known = [joint.name for joint in self.joints]
            for name in q:
                if name not in known:
                    raise BadInput("follow", "q", name, "no such joint", hint(name, known, "joints"))
            before = self._last if self._last is not None else self.session.status.target
            here = from_wire(before, self.joints)
            q = [float(q.get(name, here[k])) for k, name in enumerate(known)]
        return [int(x) for x in to_wire(self._row("q", q), self.joints)]

    def _velocity(self, v: ArrayLike | None) -> list[float]:
        return [0.0] * len(self.joints) if v is None else self._row("v", v).tolist()

    def _row(self, name: str, given: ArrayLike) -> Array:
        row = np.asarray(given, float)
        if row.shape != (len(self.joints),):
            raise BadInput("follow", name, f"shape {row.shape}", f"must be ({len(self.joints)},), one number per joint",
                           ", ".join(joint.name for joint in self.joints))
        if not np.all(np.isfinite(row)):
            k = int(np.flatnonzero(~np.isfinite(row))[0])
            raise BadInput("follow", name, float(row[k]), f"of {self.joints[k].name} must be finite")
        return row

    def _report(self, m: Followed) -> FollowStatus:
        limits = {joint.name: names(messages.FOLLOW_LIMITS, bits)
                  for joint, bits in zip(self.joints, m.limits, strict=True) if bits}
        return FollowStatus(_PHASE.get(m.phase, str(m.phase)), 1e-6 * m.delay, 1e-6 * m.frame, 1e-6 * m.ahead,
                            m.targets, m.late, m.lost, m.refused, limits, np.array(m.behind, float))


def _delay(delay: float | None) -> int:
    if delay is None:
        return messages.FOLLOW_AUTO
    if not 0.0 <= delay <= DELAYS:
        raise BadInput("follow", "delay", delay, f"must be 0 to {DELAYS:g} s", "None: as the mechanism file says")
    return round(1e6 * delay)


def _frame(frame: float | None) -> int:
    if frame is None:
        return 0
    if not FRAMES[0] <= frame <= FRAMES[1]:
        raise BadInput("follow", "frame", frame, f"must be {FRAMES[0]:g} to {FRAMES[1]:g} s",
                       "None: as the mechanism file says")
    return round(1e6 * frame)


def _times(times: ArrayLike) -> Array:
    found = np.asarray(times, float)
    if found.ndim != 1 or not 1 <= len(found) <= CHUNK:
        raise BadInput("follow", "times", f"shape {found.shape}", f"must be 1 to {CHUNK} times")
    if not (np.all(np.isfinite(found)) and found[0] >= 0.0 and found[-1] <= LONGEST and np.all(np.diff(found) > 0.0)):
        raise BadInput("follow", "times", None, f"must increase from 0 s or later, to {LONGEST:g} s at most")
    return found
