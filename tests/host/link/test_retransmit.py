"""Tests the measurement of knots' round trips (RFC 6298)."""

from types import SimpleNamespace

import numpy as np
import pytest

from femtorque.codegen.motion import Knots
from femtorque.host.link import retransmit
from femtorque.host.link.retransmit import Sender
from tests.support.fake_board import ManualClock


class Wire:
    """A line that accepts every frame immediately."""

    def __init__(self):
        self.clock, self.backlog, self.sent = ManualClock(), 0.0, []

    def send(self, message, seq):
        self.sent.append(seq)


def acknowledged(count):
    return SimpleNamespace(ack=count, credit=1, out_of_order=0)


@pytest.fixture
def sender():
    zero = np.zeros((9, 1))
    sender = Sender(Wire(), Knots(zero.astype(np.int64), zero.astype(np.float32), zero.astype(np.float32)), first=0)
    sender.take(acknowledged(0))
    sender.send()
    return sender


def test_a_knot_that_was_sent_twice_tells_nothing_of_the_round_trip(sender):
    """The acknowledgement may answer the first or the second copy (Karn's algorithm, RFC 6298, 3)."""
    sender.link.clock.sleep(2.0 * retransmit.TIMEOUT_START)
    sender.send()
    assert sender.link.sent == [0, 0] and sender.retransmissions == 1
    sender.link.clock.sleep(0.003)
    sender.take(acknowledged(1))
    assert sender.round_trip == 0.0 and sender._timeout == retransmit.TIMEOUT_START
    sender.send()
    sender.link.clock.sleep(0.007)
    sender.take(acknowledged(2))
    assert sender.link.sent == [0, 0, 1] and sender.round_trip == pytest.approx(0.007)


def test_round_trips_are_smoothed_as_the_rfc_does(sender):
    """RFC 6298, 2.2: SRTT = R, RTTVAR = R / 2. 2.3: RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|, SRTT = 7/8 SRTT + 1/8 R'."""
    for trip in (0.040, 0.080):
        sender.link.clock.sleep(trip)
        sender.take(acknowledged(sender.acked + 1))
        sender.send()
    assert sender.round_trip == pytest.approx(0.045) and sender._variation == pytest.approx(0.025)
    assert sender._timeout == pytest.approx(0.045 + 4.0 * 0.025)
