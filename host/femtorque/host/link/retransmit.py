"""Go-back-N: every knot arrives, once and in order, over a line that loses frames and flips bits.

The board accepts only the next knot, whose number is STATUS.ack, and can buffer STATUS.credit further knots. The sender
keeps a window of knots in flight. The sender repeats all knots from the next knot on if the board has reported a knot
out of order (a loss is known after one STATUS), or without acknowledgement for longer than a round trip (loss of the
last knot or of a STATUS)."""

from dataclasses import dataclass, field

import numpy as np

from femtorque.codegen.common import Refused
from femtorque.codegen.motion import Knots
from femtorque.codegen.wire import KNOT_END, KNOT_MODE, KNOT_START, STATUS_HZ, Knot, Status
from femtorque.host.link.link import Link

WINDOW = 64  # maximum number of knots in flight; after a loss, all of them are repeated
BACKLOG = 0.004  # time of the bytes queued at most, s; more bytes would delay a command
TIMEOUT_START, TIMEOUT_MAX = 0.06, 1.0  # s
PATIENCE_MAX = 4.0  # times a timeout
GRANULARITY = 2.0 / STATUS_HZ  # time within which two STATUS arrive, s; the second acknowledges a knot at the latest


def message(knots: Knots, i: int) -> Knot:
    flags = (KNOT_START if i == 0 else 0) | (KNOT_END if i == len(knots) - 1 else 0)
    if knots.mode is not None:
        flags |= int(knots.mode[i]) << KNOT_MODE
    return Knot(flags, knots.position[i].tolist(), knots.rate[i].tolist(), knots.acceleration[i].tolist())


@dataclass
class Sender:
    """Sender of one motion."""

    link: Link
    knots: Knots
    first: int  # sequence number of the first knot, which the board reports in STATUS.ack
    flight: float = 0.0  # round trip of a frame, s; the wait for the next STATUS is not counted
    acked: int = 0  # knots the board has
    next: int = 0  # the knot to be sent next
    highest: int = 0  # knots sent at least once
    credit: int = 0
    frames: int = 0
    retransmissions: int = 0
    round_trip: float = field(default=0.0, init=False)  # smoothed round trip, s
    _variation: float = field(default=0.0, init=False)
    # number of a knot that was sent once, and its send time
    _timed: tuple[int, float] | None = field(default=None, init=False)
    _progress_at: float = field(default=0.0, init=False)
    _back_at: float = field(default=-np.inf, init=False)
    # factor on the timeout; doubles after each timeout (RFC 6298, 5.5)
    _patience: float = field(default=1.0, init=False)
    _out_of_order: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._progress_at = self.link.clock.now()

    @property
    def done(self) -> bool:
        return self.acked == len(self.knots)

    def take(self, status: Status) -> None:
        """Read a STATUS. Raises Refused if the reported position is not on this motion."""
        now = self.link.clock.now()
        ahead = (status.ack - self.first - self.acked) & 0xFFFF
        if self.acked + ahead > self.highest:
            raise Refused(
                f"the board wants knot {status.ack}, which is not among those sent "
                f"({(self.first + self.acked) & 0xFFFF} to {(self.first + self.highest) & 0xFFFF}): "
                "it was reset or another host talks to it; start again")
        if ahead:
            self.acked += ahead
            self.next = max(self.next, self.acked)
            self._progress_at = now
            self._measure(now)
        self.credit = status.credit
        lost = self._out_of_order is not None and status.out_of_order != self._out_of_order
        self._out_of_order = status.out_of_order
        if lost and self.acked < self.next and now - self._back_at >= self.flight:
            self._go_back(now)

    def send(self) -> None:
        """Send as many knots as window, board and line allow; all again if acknowledgements are overdue."""
        now = self.link.clock.now()
        if self.acked < self.next and now - max(self._progress_at, self._back_at) > self._timeout * self._patience:
            self._go_back(now)
            self._patience = min(2.0 * self._patience, PATIENCE_MAX)
        end = min(len(self.knots), self.acked + min(WINDOW, self.credit))
        while self.next < end and self.link.backlog < BACKLOG:
            if self.acked == self.next:
                self._progress_at = now  # no knot was in flight, so the wait for an acknowledgement starts here
            self.link.send(message(self.knots, self.next), seq=self.first + self.next)
            self.frames += 1
            if self.next < self.highest:
                self.retransmissions += 1
            elif self._timed is None:
                self._timed = (self.next, now)
            self.next += 1
            self.highest = max(self.highest, self.next)

    @property
    def _timeout(self) -> float:
        if not self.round_trip:
            return TIMEOUT_START
        return min(self.round_trip + max(4.0 * self._variation, GRANULARITY), TIMEOUT_MAX)

    def _go_back(self, now: float) -> None:
        self.next = self.acked
        self._back_at = now
        self._timed = None  # a repeated knot is not used to measure the round trip (Karn's algorithm)

    def _measure(self, now: float) -> None:
        """Smooth the round trip and its variation (RFC 6298)."""
        if self._timed is None or self.acked <= self._timed[0]:
            return
        sample = now - self._timed[1]
        self._timed, self._patience = None, 1.0
        if not self.round_trip:
            self.round_trip, self._variation = sample, sample / 2.0
            return
        self._variation += 0.25 * (abs(sample - self.round_trip) - self._variation)
        self.round_trip += 0.125 * (sample - self.round_trip)
