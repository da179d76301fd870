"""One board, for scripts and notebooks: connect, home, arm, stream, close."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femtorque.codegen.common import BadInput, Refused, Stopped
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory, from_rows, knots
from femtorque.codegen.reference import Wrench
from femtorque.codegen.wire import flag, state_name
from femtorque.host.link import (
    BAUD, DRIVEN, Clock, Configuration, Feeling, Link, Session, feeling, find, is_auto, requests, wrench_of)
from femtorque.host.live import BoardStatus, Following, Watch, board_status
from femtorque.host.plan import SAME, planning as plan
from femtorque.host.record import Log
from femtorque.host.stream import Interrupts, Outcome, Preflight, Progress, check_start, examine, stream

SPEEDS = (0.001, 100.0)  # range of factors on a motion's speed
APPROACH = 0.1  # fraction of the velocity limits, on the way to a start pose


class Board:
    """A connected board, as a context manager. Leaving the context disarms the board, and so does Ctrl-C. If an
    exception leaves the context, the joints stop and are held. Without a host the board then reacts as the file's
    [safety] says.

    >>> mechanism = Mechanism.load("mechanisms/three_link.toml")
    >>> with Board.connect("/dev/ttyACM0", mechanism) as board:
    ...     board.home()
    ...     board.stream("mechanisms/three_link.csv", log="run.mcap")
    """

    def __init__(self, session: Session, mechanism: Mechanism | None, shown: dict[str, Any] | None = None) -> None:
        """shown: truth, tips and surroundings of a simulated plant, which go into logs (host/record/log.py)."""
        self.session, self.mechanism, self._shown = session, mechanism, shown or {}
        # logs that are compressed after the board is disarmed, since compression is slow
        self._logs: dict[Path, Log] = {}

    @staticmethod
    def connect(
        port: str, mechanism: Mechanism | str | Path | None = None, clock: Clock | None = None, look: bool = False
    ) -> Board:
        """Open a port and ask for the board's identity. port: a device, or socket://host:port or unix:PATH of a virtual
        board. "auto" takes the board that carries this mechanism. "auto:ID" takes the board with a chip number that
        begins with ID.

        The board must have exactly the configuration of the mechanism file. With `look`, or without a mechanism, the
        host only listens. A host that only listens sends no commands and does not keep an armed board alive. Raises
        BadInput for an unusable port or mechanism, and Refused for another board."""
        if isinstance(mechanism, (str, Path)):
            mechanism = load_mechanism(mechanism)
        expected = Configuration.of(mechanism) if mechanism is not None else None
        if is_auto(port):
            port = find(expected, port)
        link = Link(port, clock=clock, baud=expected.baud if expected else BAUD)
        try:
            session = Session(link, expected, listen_only=look or expected is None)
            session.connect()
        except BaseException:
            link.close()
            raise
        return Board(session, mechanism)

    @property
    def state(self) -> str:
        """Name of the board's state (femtorque.codegen.wire.messages.STATES)."""
        self.session.pump()
        return state_name(self.session.status)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Measured positions (J,) now, rad or m."""
        self.session.pump()
        return self.session.positions()

    @property
    def status(self) -> BoardStatus:
        """The newest STATUS: state, fault, positions, targets, velocities, torques."""
        self.session.pump()
        return board_status(self.session)

    @property
    def feeling(self) -> Feeling:
        """External torques at the joints. Raises Refused if the mechanism file has no [feel]."""
        self.session.pump()
        return feeling(self.session)

    def wrench(self, link: str) -> Wrench:
        """Return the wrench on a link that explains the external torques: force (3,) N and moment (3,) N m in global
        axes, at the origin of the link's frame. Raises Refused if the torques of the joints do not determine all
        components of the wrench."""
        felt = self.feeling
        return wrench_of(self._known(), self.session.positions(), felt.external, link)

    def home(self, positions: ArrayLike | None = None, *, rezero: bool = False) -> None:
        """Set the zeros of the joints. positions (J,), rad or m: present positions of the joints. If no positions are
        given, each joint uses its `start`, its index pulse or its stop.

        If no positions are given, a board that has zeros keeps them. If the board keeps its zeros, the arm must be at
        its start pose; otherwise `home` raises Refused. rezero: set new zeros even if the board has zeros; the joints
        must be at their start positions. Raises BadInput for a position outside the limits."""
        self.session.pump()
        self.session.faulted()
        if positions is not None:
            self.session.home(requests.pose(self._known(), positions, "home"))
        elif rezero or not flag(self.session.status, "HOMED"):
            requests.home(self.session, self._known())
        else:
            requests.check_zeros(self.session, self._known())

    def jog(self, joint: str, rate: float, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Move one joint, rad/s or m/s, for some seconds or until another command. The board is armed if needed."""
        number = requests.joint_number(self._known(), joint)
        requests.check_jog(self._known(), number, rate, seconds)
        self.arm()
        requests.jog(self.session, number, rate, seconds, until)

    def overlay(self, joint: str, ku: float = 1.0, kv: float = 1.0, ki: float = 1.0) -> None:
        """Multiply one joint's gains, within the bounds of the file's [safety] gain_overlay."""
        requests.overlay(self.session, requests.joint_number(self._known(), joint), ku, kv, ki)

    def follow(self, delay: float | None = None, frame: float | None = None) -> Following:
        """Return a context manager for live targets, with `send`, `chunk`, `status` and `wait`. The board is armed if
        needed. When the context ends, the joints come to rest at the last target and are held.

        delay: time from the time stamp of a target until the joints reach the target, s. frame: time from one target to
        the next, s. None: use the mechanism file's value. By default the delay is 10 ms plus two frames, and the board
        measures the frame from the time stamps. Targets may be far from the present pose, late, irregular or missing.
        The board keeps its limits of position, velocity, acceleration and jerk, and the status names the limits that
        acted. If targets stop for longer than the file's timeout, the joints come to rest. The next target starts a
        motion from the pose in which the joints came to rest. The joints also come to rest if this computer is busy for
        longer than `host_timeout_s`. Raises BadInput, and Refused with the board's reason.

        >>> with Board.connect("auto", "my_arm.toml") as board, board.follow() as f:
        ...     for q in policy():
        ...         f.send(q)
        """
        mechanism = self._known()
        following = Following(self.session, mechanism, delay, frame)
        self.arm()
        return following

    def watch(self) -> Watch:
        """Iterate over every STATUS as it arrives: `for status in board.watch()`, or `async for`."""
        return Watch(self.session)

    def arm(self) -> None:
        """Switch the outputs on and hold the measured pose. If the board still holds the arm for an earlier host
        (HELD), this host takes over in the same pose. Raises Refused with the board's reason."""
        self._ready()
        if not self.session.in_state("HOLD"):
            self.session.arm()

    def disarm(self) -> None:
        """Switch the outputs off immediately."""
        self.session.disarm()

    def clear(self) -> None:
        """Acknowledge a latched fault. Without a fault, nothing changes."""
        self.session.pump()
        if self.session.in_state("FAULT", "ESTOP"):
            self.session.clear()

    def stream(self, trajectory: Trajectory | str | Path, *, log: str | Path | None = None, speed: float = 1.0,
               loop: int = 1, approach: bool = False, on_progress: Callable[[Progress], None] | None = None,
               interrupts: Interrupts | None = None, resume: int = 0, hold_after_stop: float = 0.0,
               notes: dict[str, Any] | None = None) -> Outcome:
        """Play a motion that begins and ends at rest. Hold the arm at its end. The board is armed if needed.

        log: RUN.mcap; RUN.status.csv is written to the same folder. speed: a factor on the trajectory's velocity. loop:
        the number of rounds; 0: until `interrupts` asks for a stop. approach: first move slowly to the start of the
        motion. resume: how often to resume after late knots or a late host. Raises BadInput for a motion that
        no board could play. Raises Refused for a motion that this board refuses or did not finish."""
        mechanism = self._known()
        motion, _ = self._prepared(trajectory, speed, loop != 1)
        ways = [motion] if not approach else [*self._approach(motion), motion]
        self._ready()
        check_start(self.session, knots(ways[0], mechanism))
        how = {"on_progress": on_progress, "interrupts": interrupts, "resume": resume,
               "hold_after_stop": hold_after_stop}
        with self.logged(log, {"trajectory": str(motion.source or ""), "speed": speed, **(notes or {})}):
            return self._play(ways, loop, how)

    def approach(self, position: ArrayLike, *, interrupts: Interrupts | None = None,
                 hold_after_stop: float = 0.0) -> bool:
        """Move slowly to a position (J,), rad or m. The board is armed if needed. Returns False if the user stopped the
        arm. Raises BadInput for a position outside the limits. Raises Refused in the same cases as `stream`."""
        there = np.tile(requests.pose(self._known(), position, "approach"), (2, 1))
        names = [joint.name for joint in self._known().streamed]
        ways = self._approach(from_rows(names, [0.0, 1.0], there))
        return all(self.stream(way, interrupts=interrupts, hold_after_stop=hold_after_stop).ended == "done"
                   for way in ways)

    @contextmanager
    def logged(self, log: str | Path | None, notes: dict[str, Any] | None = None) -> Iterator[None]:
        """Until the context ends, write every STATUS to RUN.mcap and RUN.status.csv. None writes nothing. Raises
        BadInput.

        Both files are complete at the end of the context. The MCAP is packed, and the arm's description added, only by
        `close`. Packing takes longer than an armed board waits for its host."""
        if log is None:
            yield
            return
        writer = Log(Path(log), self.session.configuration,
                     {"identity": self.session.identity(), "port": self.session.link.port, **(notes or {})},
                     mechanism=self.mechanism, **self._shown)
        try:
            with self.session.hearing(writer.write, writer.write_felt):
                yield
        finally:
            writer.finish()
            self._logs[writer.path.resolve()] = writer

    def check(self, trajectory: Trajectory | str | Path, *, speed: float = 1.0, loop: int = 1, approach: bool = False
              ) -> Preflight:
        """Run the checks that `stream` runs before it arms the board. Raises the same BadInput and Refused."""
        motion, findings = self._prepared(trajectory, speed, loop != 1)
        self._ready()
        if not approach:
            check_start(self.session, knots(motion, self._known()))
        return findings

    def __repr__(self) -> str:
        name = self.session.configuration.name if self.mechanism is None else self.mechanism.name
        return f"<Board {name!r} at {self.session.link.port}: {state_name(self.session.status)}>"

    def close(self, hold: bool = False) -> None:
        """Disarm the board, unless its outputs are off or the session is read-only. Close the port and pack the logs.

        hold: leave the outputs on, so that the board holds its joints. After ten times `host_timeout_s` the board
        reacts to HOST_LOST as the file's [safety] says. If the arm would fall when disarmed, the board holds the arm
        until a host connects again."""
        try:
            if not (hold or self.session.listen_only) and self.session.in_state(*DRIVEN):
                self.session.disarm()
        finally:
            self.session.close()
            while self._logs:
                self._logs.popitem()[1].pack()

    def __enter__(self) -> Board:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        failed = isinstance(error, Exception) and not isinstance(error, Stopped)
        if error is not None and failed and (left := self.session.leave()):
            error.add_note(f"{self.session.link.port}: {left}")
        try:
            self.close(hold=failed)
        except Refused:
            if kind is None:  # raise the exception of the context, not the Refused of close()
                raise

    def _prepared(self, trajectory: Trajectory | str | Path, speed: float, loop: bool) -> tuple[Trajectory, Preflight]:
        """Return the motion at the requested speed, after a check of all limits. Raises BadInput."""
        mechanism = self._known()
        if not isinstance(trajectory, Trajectory):
            trajectory = Trajectory.load(trajectory, mechanism)
        if not SPEEDS[0] <= speed <= SPEEDS[1]:
            raise BadInput("stream", "speed", speed, f"must be {SPEEDS[0]:g} to {SPEEDS[1]:g}")
        if speed != 1.0:
            trajectory = trajectory.faster(speed)
        return trajectory, examine(trajectory, mechanism, loop)

    def _approach(self, motion: Trajectory) -> list[Trajectory]:
        """Return a slow motion to the start of `motion`, or nothing if the arm is already there."""
        session, mechanism = self.session, self._known()
        session.pump()
        here = session.held() if session.in_state("HOLD", "HELD") else session.positions()
        turning = np.array([joint.type == "continuous" for joint in mechanism.streamed])
        here = np.where(turning, here + 2 * np.pi * np.round((motion.positions[0] - here) / (2 * np.pi)), here)
        if np.max(np.abs(here - motion.positions[0])) <= SAME:
            return []
        return [plan.straight(mechanism, self._inside(here), motion.positions[0], APPROACH)]

    def _inside(self, here: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return positions (J,) within the limits. A joint at a stop measures up to half a count beyond the stop.
        Raises Refused if a joint is farther outside than a motion's start may be."""
        limits = [joint.limits for joint in self._known().streamed]
        inside = np.clip(here, [one.lower for one in limits], [one.upper for one in limits])
        allowed = np.array(self.session.configuration.start_tolerance or SAME)
        for j in np.flatnonzero(np.abs(here - inside) > allowed).tolist():
            raise Refused(f"{self.session.link.port}: {self.session.joint(j)} is at {here[j]:.4g}, outside its limits "
                          f"{limits[j].lower:.4g} .. {limits[j].upper:.4g}; move the joint by hand, or start a "
                          "virtual board again")
        return inside

    def _play(self, ways: list[Trajectory], loop: int, how: dict[str, Any]) -> Outcome:
        """Play each motion once, but the last motion `loop` times. Raises Refused."""
        self.arm()
        *before, last = (knots(way, self._known()) for way in ways)
        for way in before:
            outcome = stream(self.session, way, **how)
            if outcome.ended != "done":
                return outcome
        outcome = stream(self.session, last, **how)
        while outcome.ended == "done" and outcome.rounds != loop:
            outcome = outcome.and_then(stream(self.session, last, **how))
        return outcome

    def _ready(self) -> None:
        """Raise Refused if a fault is latched or if the joints' zeros are unknown."""
        self.session.pump()
        self.session.faulted()
        if not flag(self.session.status, "HOMED"):
            raise Refused(f"{self.session.link.port}: the joints have no zero yet; put them at their start pose and "
                          "home them (`femtorque home`, or `--home`; in Python `board.home()`)")

    def _known(self) -> Mechanism:
        if self.mechanism is None:
            raise Refused(f"{self.session.link.port}: connected without a mechanism, to look only; "
                          "give Board.connect the mechanism file too")
        return self.mechanism

    # `float` is the last method: below its definition, the annotation `float` would mean the method
    def float(self, friction: int = 0, until: Callable[[], bool] = lambda: False) -> None:
        """Compensate gravity and `friction` per cent of Coulomb friction until the next command. Then hold the arm."""
        self.arm()
        requests.float_arm(self.session, friction, until)
