"""One board, for scripts and notebooks: connect, home, arm, stream, close."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codegen.errors import Refused
from codegen.mechanism import Mechanism
from codegen.trajectory import Trajectory, check_limits, check_streamable, knots
from host.clock import Clock
from host.configuration import Configuration
from host.link import BAUD, Link
from host.log import Log
from host.session import Session, flag
from host.stream import Interrupts, Outcome, Progress, check_start, stream


class Board:
    """A board that answers. Use as a context manager: leaving it disarms, whatever happened inside.

    >>> mechanism = Mechanism.load("mechanisms/three_link.toml")
    >>> with Board.connect("/dev/ttyACM0", mechanism) as board:
    ...     board.home()
    ...     board.stream("mechanisms/three_link.csv", log="run.mcap")
    """

    def __init__(self, session: Session, mechanism: Mechanism | None) -> None:
        self.session, self.mechanism = session, mechanism

    @staticmethod
    def connect(
        port: str, mechanism: Mechanism | str | Path | None = None, clock: Clock | None = None, look: bool = False
    ) -> Board:
        """Open a port (a device, or socket://host:port for a virtual board) and ask who is there.

        With a mechanism the board must carry exactly its configuration. look, or no mechanism: only listen, keep
        nothing alive, change nothing. Raises BadInput if the port or the mechanism cannot be used, Refused if the
        board is not the one.
        """
        if isinstance(mechanism, (str, Path)):
            mechanism = Mechanism.load(mechanism)
        expected = Configuration.of(mechanism) if mechanism is not None else None
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
        """Name of the board's state (codegen.messages.STATES)."""
        from host.session import state_name

        self.session.pump()
        return state_name(self.session.status)

    @property
    def positions(self) -> NDArray[np.float64]:
        """(J,) measured now, rad or m."""
        self.session.pump()
        return self.session.positions()

    def home(self, positions: ArrayLike | None = None) -> None:
        """The joints stand at these positions, (J,) rad or m; by default at `start` of the mechanism file."""
        self.session.pump()
        self.session.faulted()
        if positions is None:
            positions = [joint.start for joint in self._known().moving]
        self.session.home(positions)

    def arm(self) -> None:
        """Outputs on, hold the pose measured now. Raises Refused with the board's reason."""
        self._ready()
        if not self.session.in_state("HOLD"):
            self.session.arm()

    def disarm(self) -> None:
        """Outputs off at once."""
        self.session.disarm()

    def clear(self) -> None:
        """Acknowledge a latched fault, if there is one."""
        self.session.pump()
        if self.session.in_state("FAULT", "ESTOP"):
            self.session.clear()

    def stream(
        self,
        trajectory: Trajectory | str | Path,
        *,
        log: str | Path | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        interrupts: Interrupts | None = None,
        resume: int = 0,
        hold_after_stop: float = 0.0,
        dry_run: bool = False,
        notes: dict[str, Any] | None = None,
    ) -> Outcome | None:
        """Play a motion from rest to rest, arming first if need be; the board holds at its end.

        log: RUN.mcap, with RUN.csv beside it. resume: how often to go on after a stop because knots or host were late.
        dry_run: look at everything, move nothing, return None. Raises BadInput for a motion that no board could play,
        Refused for one that this board refuses or did not finish.
        """
        mechanism = self._known()
        if not isinstance(trajectory, Trajectory):
            trajectory = Trajectory.load(trajectory, mechanism)
        check_limits(trajectory, mechanism)
        check_streamable(trajectory, mechanism)
        motion = knots(trajectory, mechanism)
        self._ready()
        check_start(self.session, motion)
        if dry_run:
            return None
        if log is None:
            return self._play(motion, on_progress, interrupts, resume, hold_after_stop)
        about = {"trajectory": str(trajectory.source or ""), "identity": self.session.identity(), **(notes or {})}
        with Log(Path(log), self.session.configuration, about) as writer:
            self.session.listeners.append(writer.write)
            try:
                return self._play(motion, on_progress, interrupts, resume, hold_after_stop)
            finally:
                self.session.listeners.remove(writer.write)

    def close(self) -> None:
        """Disarm if the outputs are on (unless this was only to look), and close the port."""
        try:
            if not self.session.listen_only and self.session.in_state("HOLD", "TRACK"):
                self.session.disarm()
        finally:
            self.session.close()

    def __enter__(self) -> Board:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except Refused:
            if kind is None:  # a failure inside tells more than that of the farewell
                raise

    def _play(
        self,
        motion: Any,
        on_progress: Callable[[Progress], None] | None,
        interrupts: Interrupts | None,
        resume: int,
        hold_after_stop: float,
    ) -> Outcome:
        self.arm()
        return stream(self.session, motion, on_progress=on_progress, interrupts=interrupts, resume=resume,
                      hold_after_stop=hold_after_stop)

    def _ready(self) -> None:
        """Raises Refused if a fault is latched or the joints have no zero."""
        self.session.pump()
        self.session.faulted()
        if not flag(self.session.status, "HOMED"):
            raise Refused(f"{self.session.link.port}: the joints have no zero yet; put them at their start pose and "
                          "home (`--home` on the command line)")

    def _known(self) -> Mechanism:
        if self.mechanism is None:
            raise Refused(f"{self.session.link.port}: connected without a mechanism, to look only; "
                          "give Board.connect the mechanism file too")
        return self.mechanism
