"""Streams one motion to an armed board, and returns when the arm is at rest: check the pose, fill the ring, START,
refill, watch. The board times the motion by its own ticks, so only the host's reaction to Ctrl-C must be quick."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femtorque.codegen.common import Refused
from femtorque.codegen.motion import Knots
from femtorque.codegen.wire import FELT_TOUCHED, Status, flag, messages, state_name
from femtorque.codegen.wire.in_words import names
from femtorque.host.link import PERIOD, Configuration, Errors, Sender, Session, way

PREFILL = 5.0  # maximum wait for an acknowledgement while the ring is being filled, s
BEGIN = 1.0  # time from START's acknowledgement to TRACK, s
GRACE = 2.0  # time by which a motion may end later than planned, s of the board's clock
STOPPING = 5.0  # maximum duration of a controlled stop, s of the board's clock
FELT_LATE = 0.1  # maximum wait for the FELT message that explains why the arm left its path, s
TURN = 2**32  # wire steps


@dataclass(frozen=True)
class Progress:
    """Progress of a motion. Arrays (J,) in rad or m."""

    t: float  # time along the path, s
    duration: float  # s
    state: str
    buffered: int  # knots
    ring: int  # knots the ring can hold
    error: NDArray[np.float64]
    worst_gap: float  # s
    retransmissions: int
    limits: tuple[str, ...]  # limits that the board applied since the last report
    holding: str  # why the arm waits on its path for the user; empty if the arm is not waiting

    @property
    def left(self) -> float:
        """Remaining time, s."""
        return max(0.0, self.duration - self.t)


@dataclass(frozen=True)
class Outcome:
    """Result of a motion. Errors (J,): desired minus measured position, rad or m, over every STATUS of the motion."""

    ended: str  # done | stopped | disarmed
    duration: float
    tracking_rms: NDArray[np.float64]
    tracking_max: NDArray[np.float64]
    knots: int
    frames: int  # KNOT frames sent
    retransmissions: int
    resumed: int  # number of resumes
    worst_gap: float  # s
    least_buffered: int  # minimum number of knots in the ring before the last knot was sent
    limits: tuple[str, ...]
    cycles_max: int
    rounds: int = 1  # number of starts

    def __repr__(self) -> str:
        return f"<Outcome: {self.ended}, {self.duration:g} s, {self.knots} knots>"

    def report(self, configuration: Configuration) -> dict[str, Any]:
        """Return the JSON object of `femtorque stream`."""
        joints = [j.name for j in configuration.joints]
        return {
            "ended": self.ended, "duration": self.duration, "digest": configuration.digest.hex(),
            "tracking_rms": dict(zip(joints, self.tracking_rms.tolist(), strict=True)),
            "tracking_max": dict(zip(joints, self.tracking_max.tolist(), strict=True)),
            "knots": self.knots, "frames": self.frames, "retransmissions": self.retransmissions,
            "resumed": self.resumed, "worst_gap": self.worst_gap, "least_buffered": self.least_buffered,
            "limits": list(self.limits), "cycles_max": self.cycles_max, "rounds": self.rounds, "faults": []}

    def and_then(self, other: Outcome) -> Outcome:
        """Return the combined outcome of this round and another round of the motion."""
        rounds = self.rounds + other.rounds
        squares = self.rounds * self.tracking_rms**2 + other.rounds * other.tracking_rms**2
        return Outcome(
            other.ended, self.duration, np.sqrt(squares / rounds), np.maximum(self.tracking_max, other.tracking_max),
            self.knots + other.knots, self.frames + other.frames, self.retransmissions + other.retransmissions,
            self.resumed + other.resumed, max(self.worst_gap, other.worst_gap),
            min(self.least_buffered, other.least_buffered), tuple(sorted({*self.limits, *other.limits})),
            max(self.cycles_max, other.cycles_max), rounds)


class Interrupts:
    """Requests during a motion. count: 1 asks for a controlled stop, 2 for disarming. go_on: number of resumes."""

    def __init__(self) -> None:
        self.count = self.go_on = 0
        self._reading = False

    def went_on(self) -> bool:
        """Return True once after each request to resume, and clear the stop."""
        if self.go_on == 0:
            return False
        self.go_on = self.count = 0
        return True

    def read_lines(self, descriptor: int) -> None:
        """Read lines from a terminal in a thread. Each line is a request to resume. This needs no terminal modes."""
        if self._reading:
            return
        self._reading = True

        def read() -> None:
            with suppress(OSError):
                while typed := os.read(descriptor, 1024):  # `os.read` holds no lock that could block Python's exit
                    self.go_on += typed.count(b"\n")

        threading.Thread(target=read, daemon=True).start()

    @contextmanager
    def on_ctrl_c(self) -> Iterator[Interrupts]:
        """Count Ctrl-C instead of raising KeyboardInterrupt."""

        def more(*_: object) -> None:
            self.count += 1

        before = signal.signal(signal.SIGINT, more)
        try:
            yield self
        finally:
            signal.signal(signal.SIGINT, before)


def _here(session: Session) -> NDArray[np.int64]:
    """Return the encoded start positions (J,): hold positions, or measured ones of a disarmed board."""
    status = session.status
    return np.array(status.target if session.in_state("HOLD", "HELD") else status.position, np.int64)


def in_its_turn(session: Session, motion: Knots) -> Knots:
    """Shift continuous joints of a motion by the whole turns that they have made."""
    turning = [joint.type == "continuous" for joint in session.configuration.joints]
    turns = np.where(turning, (_here(session) - motion.position[0] + TURN // 2) // TURN, 0)
    return replace(motion, position=motion.position + turns * TURN)


def check_start(session: Session, motion: Knots) -> None:
    """Raise Refused if the joints (measured, if disarmed) are not at the start of the motion."""
    away = np.abs(session.difference(in_its_turn(session, motion).position[0], _here(session)))
    allowed = session.configuration.start_tolerance
    for j in np.flatnonzero(away > allowed).tolist() if allowed else ():
        raise Refused(
            f"{session.link.port}: {session.joint(j)} stands {away[j]:.4g} {session.unit(j)} from where the motion "
            f"starts, {allowed[j]:.2g} is allowed; move it there first (`--approach`), or plan from here "
            "(`femtorque plan --port`)")


def stream(
    session: Session,
    motion: Knots,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    interrupts: Interrupts | None = None,
    resume: int = 0,
    hold_after_stop: float = 0.0,
) -> Outcome:
    """Play a motion on a board in HOLD, and return when the arm is at rest.

    resume: number of times to resume after late knots or a late host. hold_after_stop: time to wait for `interrupts`
    after a stop, s. Raises Refused with the reason. On return, the board is in HOLD or its outputs are off."""
    run = _Run(session, in_its_turn(session, motion), on_progress, interrupts or Interrupts(), resume, hold_after_stop)
    if not session.in_state("HOLD"):
        session.faulted()
        raise Refused(f"{session.link.port}: a motion starts from HOLD, but {session.describe()}; arm first")
    check_start(session, motion)
    try:
        with session.hearing(run.observe):
            return run.play()
    finally:
        session.sender = None


class _Run:
    def __init__(self, session: Session, motion: Knots, on_progress: Callable[[Progress], None] | None,
                 interrupts: Interrupts, resume: int, hold_after_stop: float) -> None:
        self.session, self.motion, self.clock = session, motion, session.clock
        self.on_progress, self.interrupts = on_progress, interrupts
        self.resumes_left, self.resumed, self.hold_after_stop = resume, 0, hold_after_stop
        self.ring = session.ident.ring
        self.knot_hz = session.configuration.knot_hz
        self.duration = (len(motion) - 1) / self.knot_hz  # s
        self.started, self.holding = False, ""
        self.errors = Errors(len(session.configuration.joints))
        self.least_buffered = self.ring
        self.limits: set[str] = set()
        self.cycles_max = 0
        self.seen = 0  # STATUS messages
        self.tick = session.status.tick
        self.board_time = 0.0  # time since this began, s
        self.left_at: float | None = None  # time at which the arm yielded to a contact, s; None: no contact

    # -- the motion, in order -----------------------------------------------------------------------------------------

    def play(self) -> Outcome:
        session = self.session
        if session.status.buffered:
            session.flush()
        session.link.worst_gap = 0.0
        self.sender = session.sender = Sender(session.link, self.motion, session.status.ack, session.flight)
        self.sender.credit = session.status.credit
        if not self._fill():
            session.flush()
            return self._outcome("stopped")
        self.started = True
        session.start()
        self._moving("START")
        return self._outcome(self._follow())

    def _moving(self, command: str) -> None:
        """Wait until the board has left HOLD, or is back in HOLD."""
        session = self.session
        session.wait(lambda: not session.in_state("HOLD") or flag(session.status, "ENDED"), BEGIN,
                     f"took {command} but did not begin to move")

    def _fill(self) -> bool:
        """Fill the ring before the start. Returns False if the user asked for a stop."""
        wanted = min(len(self.motion), self.ring)
        acked, since = 0, self.clock.now()
        while self.sender.acked < wanted:
            self._round()
            if self.interrupts.count:
                return False
            if self.sender.acked > acked:
                acked, since = self.sender.acked, self.clock.now()
            elif self.clock.now() - since > PREFILL:
                raise Refused(
                    f"{self.session.link.port}: the board took {acked} of {wanted} knots and then none for "
                    f"{PREFILL:g} s; the line is too bad or the knots are refused; {self.session.describe()}")
        return True

    def _follow(self) -> str:
        """Wait until the arm is at rest, with deadlines in the board's time. Returns why the motion ended."""
        session, deadline = self.session, self.board_time + self.duration + GRACE
        stop_by = np.inf
        stop_asked = False
        while True:
            self._round()
            if self.interrupts.count >= 2:
                session.disarm()
                return "disarmed"
            if self.interrupts.count == 1 and not stop_asked:
                session.post("STOP")
                stop_asked, stop_by = True, self.board_time + STOPPING
            if session.in_state("HOLD") and not session.posted:
                if flag(session.status, "ENDED"):
                    return "done"
                ended = self._hold("stopped") if stop_asked else self._go_on_or_refuse()
                if ended:
                    return ended
                stop_asked, stop_by = False, np.inf
                deadline = self.board_time + self._time_left() + GRACE
            elif self._pushed_away():
                deadline = self.board_time + self._time_left() + GRACE
            elif not session.in_state("HOLD", "TRACK"):
                raise Refused(f"{session.link.port}: the motion was broken off{self._touch()}; {session.describe()}")
            if self.board_time > min(deadline, stop_by):
                session.disarm()
                late = "did not stop" if stop_asked else "did not come to the end of the motion"
                raise Refused(f"{session.link.port}: the board {late} in time and was disarmed; it was at "
                              f"{self._path_time():.3f} s of {self.duration:.3f} s")

    def _pushed_away(self) -> bool:
        """Return True if the arm yields to a contact and will return, or the board may still report this."""
        session = self.session
        if session.felt is None or not session.in_state("FLOAT", "FOLLOW"):
            self.left_at = None
            return False
        if self.left_at is None:
            self.left_at = self.board_time
        return way(session.felt) in ("AWAY", "BACK") or self.board_time - self.left_at < FELT_LATE

    def _touch(self) -> str:
        """Return a description of the contact that made the arm yield; '' if there was no contact."""
        felt = self.session.felt
        if felt is None or not felt.touches or not self.session.in_state("FLOAT"):
            return ""
        stays = f" too often: {FELT_TOUCHED['STAYS'][1]}" if way(felt) == "STAYS" else ""
        return f", joint {self.session.joint(felt.joint)} felt a touch{stays}"

    def _why_stopped(self) -> str:
        session = self.session
        if flag(session.status, "HOST_SILENT"):
            return "the host was silent"
        if session.felt is not None and flag(session.status, "STOPPED"):
            return f"joint {session.joint(session.felt.joint)} felt a touch"
        return "knots ran out"

    def _go_on_or_refuse(self) -> str:
        """After a stop on the path, resume if allowed, else wait for the user. Returns how the motion ended, or ''."""
        session = self.session
        why = self._why_stopped()
        told = (f"stopped on the path at {self._path_time():.3f} s of {self.duration:.3f} s because {why} (worst gap "
                f"{session.link.worst_gap * 1e3:.0f} ms, {self.sender.retransmissions} retransmissions)")
        if self.resumes_left > 0:
            self.resumes_left -= 1
            self._resume()
            return ""
        if self.hold_after_stop <= 0.0:
            raise Refused(f"{session.link.port}: {told}; check the link, or use --resume to continue automatically")
        return self._hold(told)

    def _resume(self) -> None:
        session = self.session
        self.resumed += 1
        full = min(len(self.motion) - self.sender.acked, self.ring // 2)
        target = self.sender.acked + max(full - session.status.buffered, 0)
        session.wait(lambda: self.sender.acked >= target or self.interrupts.count > 0, PREFILL, "took no knots")
        if not self.interrupts.count:
            session.resume()
            self._moving("RESUME")

    def _hold(self, why: str) -> str:
        """Hold on the path until the user goes on or the time is over. Returns how the motion ended, or ''."""
        self.holding = why
        stops = self.interrupts.count
        until = self.clock.now() + self.hold_after_stop
        try:
            while self.clock.now() < until:
                self._round()
                self.session.faulted()
                if self.interrupts.count > stops:
                    self.session.disarm()
                    return "disarmed"
                if self.interrupts.went_on():
                    self._resume()
                    return ""
            return "stopped"
        finally:
            self.holding = ""

    def _round(self) -> None:
        """Handle messages once, raise Faulted on a fault, report the progress, and wait."""
        seen = self.seen
        self.session.pump()
        self.session.faulted()
        if self.on_progress is not None and self.seen != seen:
            self.on_progress(self._progress())
        self.clock.sleep(PERIOD)

    # -- what is seen -------------------------------------------------------------------------------------------------

    def observe(self, status: Status) -> None:
        """Collect figures from every STATUS."""
        self.seen += 1
        self.board_time += ((status.tick - self.tick) & 0xFFFFFFFF) / self.session.configuration.rate_hz
        self.tick = status.tick
        self.cycles_max = max(self.cycles_max, status.cycles_max)
        if not self.started or state_name(status) != "TRACK":
            return
        self.errors.add(self.session.tracking_error())
        self.limits.update(names(messages.LIMITS, status.limits))
        if not self.sender.done:
            self.least_buffered = min(self.least_buffered, status.buffered)

    def _path_time(self) -> float:
        return min(self.session.status.knots_played / self.knot_hz, self.duration) if self.started else 0.0

    def _time_left(self) -> float:
        return self.duration - self._path_time()

    def _progress(self) -> Progress:
        s = self.session.status
        return Progress(
            self._path_time(), self.duration, state_name(s), s.buffered, self.ring,
            self.session.tracking_error(), self.session.link.worst_gap, self.sender.retransmissions,
            names(messages.LIMITS, s.limits), self.holding)

    def _outcome(self, ended: str) -> Outcome:
        return Outcome(
            ended, self.duration, self.errors.rms, self.errors.largest,
            len(self.motion), self.sender.frames, self.sender.retransmissions, self.resumed,
            self.session.link.worst_gap, self.least_buffered, tuple(sorted(self.limits)), self.cycles_max)

