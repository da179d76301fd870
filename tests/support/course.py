"""Course of a board under a host that plans motions: commands refused and accepted, motions longer than its buffer,
stops on the path and going on, a host that stalls or is gone, knots that run out, a bad knot, outputs off in
mid-motion."""

from __future__ import annotations

import numpy as np
import pytest

from femtorque.codegen.common.errors import Refused
from femtorque.codegen.mechanism.description import Mechanism
from femtorque.codegen.motion.trajectory import Knots, from_rows, knots
from femtorque.codegen.wire.messages import Knot
from femtorque.codegen.wire.names import flag
from femtorque.hil.board.virtual import VirtualBoard, VirtualClock
from femtorque.hil.play.connect import session_with
from femtorque.host.link.retransmit import message
from femtorque.host.stream.stream import Interrupts, stream

REACH = 0.3  # rad
BEFORE = 0.1  # s, about, that stream takes to fill the buffer


class Course:
    """A board with its host, and the instructions of the worst tick of each part of what it goes through."""

    def __init__(self, board: VirtualBoard, mechanism: Mechanism) -> None:
        self.board, self.mechanism, self.clock = board, mechanism, VirtualClock(board)
        self.session = session_with(board, clock=self.clock)
        self.names = [joint.name for joint in mechanism.moving]
        self.start = np.array([joint.start for joint in mechanism.moving])
        self.there = self.start - REACH * np.sign(self.start)
        self.worst: dict[str, int] = {}
        self.seen: list[str] = []  # states and faults
        self.session.listeners.append(lambda status: self.seen.append(self.session.describe()))

    def motion(self, there: np.ndarray, back: np.ndarray, seconds: float) -> Knots:
        rest = np.zeros((2, len(self.names)))
        return knots(from_rows(self.names, [0.0, seconds], [there, back], rest, rest), self.mechanism)

    def buffer(self, motion: Knots, count: int) -> None:
        """The first knots of a motion, without going on from there."""
        first = self.session.status.ack
        for i in range(count):
            self.session.link.send(message(motion, i), seq=first + i)
            self.session.pump()
            self.clock.sleep(0.002)

    def ready(self) -> None:
        """At the start pose, holding, nothing buffered."""
        self.session.flush()
        self.session.home(self.start)
        self.session.arm()

    def until(self, *states: str, which: str | None = None, seconds: float = 3.0) -> None:
        session = self.session
        session.wait(lambda: session.in_state(*states) and (which is None or flag(session.status, which)),
                     seconds, "hangs")

    # -- what a board goes through; each part leaves it disarmed ----------------------------------------------------

    def refuses_to_start(self) -> None:
        self.session.connect()
        self.session.home(self.start)
        self.session.arm()
        with pytest.raises(Refused, match="NOTHING_BUFFERED"):
            self.session.start()
        self.buffer(self.motion(self.there, self.start, 0.4), 60)
        with pytest.raises(Refused, match="START_POSE"):
            self.session.start()
        self.session.disarm()

    def stops_and_goes_on(self) -> None:
        self.ready()
        interrupts = Interrupts()
        self.board.at(self.board.seconds + BEFORE + 0.8, lambda: setattr(interrupts, "count", 1))
        assert stream(self.session, self.motion(self.start, self.there, 1.6), interrupts=interrupts).ended == "stopped"
        self.session.resume()
        self.until("HOLD", which="ENDED")
        self.session.disarm()

    def outlasts_a_host_that_stalls(self) -> None:
        self.ready()
        self.board.at(self.board.seconds + BEFORE + 0.35, lambda: self.clock.stall(0.2))
        outcome = stream(self.session, self.motion(self.start, self.there, 0.8), resume=2)
        assert outcome.ended == "done" and outcome.resumed == 1
        self.session.disarm()

    def runs_out_of_knots(self) -> None:
        self.ready()
        self.buffer(self.motion(self.start, self.there, 1.0), 150)
        self.session.start()
        self.until("HOLD", which="UNDERRUN")
        self.session.disarm()

    def is_disarmed_in_motion(self) -> None:
        self.ready()
        self.buffer(self.motion(self.start, self.there, 1.0), 150)
        self.session.start()
        self.clock.sleep(0.4)
        assert self.session.in_state("TRACK")
        self.session.disarm()

    def is_sent_a_bad_knot(self) -> None:
        self.ready()
        first = self.session.status.ack
        self.buffer(self.motion(self.start, self.there, 1.0), 150)
        self.session.start()
        self.clock.sleep(0.2)
        nothing = [0.0] * len(self.names)
        self.session.link.send(Knot(0, [2**30] * len(self.names), nothing, nothing), seq=first + 150)
        self.until("FAULT")
        self.session.clear()

    def loses_its_host(self) -> None:
        self.ready()
        self.buffer(self.motion(self.start, self.there, 1.0), 251)
        self.session.start()
        self.clock.sleep(1.4)
        self.session.link.receive()  # not to take what has piled up for silence
        self.until("HELD")
        self.session.disarm()

    PARTS = (refuses_to_start, stops_and_goes_on, outlasts_a_host_that_stalls, runs_out_of_knots,
             is_disarmed_in_motion, is_sent_a_bad_knot, loses_its_host)

    def run(self) -> None:
        for part in self.PARTS:
            before = self.board.ticks
            part(self)
            self.worst[part.__name__] = int(self.board.record().instructions[before:].max())
