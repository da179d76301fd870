"""Nodes on a bus send in the standard's order, at its times, and errors have its effects on each node."""

import pytest

from femtorque.hil.bus.frame import INTERMISSION, Frame, image
from femtorque.hil.bus.intruder import Intruder
from femtorque.hil.bus.node import BitTiming, Error, Node
from femtorque.hil.bus.wire import Passed, Wire
from femtorque.hil.clock import OwnClock
from tests.support.can_bench import FIVE_MEGABITS, MEGABIT, Other

BIT = 1e-6


class Talker(Other):
    """A node that records the times of sent and received frames, and the events of the sent frames."""

    def __init__(self, wire: Wire, fd: bool = False, timing: BitTiming = MEGABIT,
                 fast: BitTiming = FIVE_MEGABITS) -> None:
        super().__init__(wire)
        self.timing, self.fast = timing, fast if fd else None
        self.came: list[float] = []
        self.done: list[float] = []
        self.events: list[str] = []

    def lost(self) -> None:
        self.events.append("lost")

    def sent(self) -> None:
        super().sent()
        self.done.append(self.wire.clock.seconds)

    def failed(self, error: Error) -> None:
        self.events.append(error.name)

    def heard(self, frame: Frame) -> None:
        super().heard(frame)
        self.came.append(self.wire.clock.seconds)


class Waits:
    """A wait until a node has received a number of sequences of recessive bits."""

    def __init__(self, wire: Wire, node: Node) -> None:
        self.wire, self.node, parts = wire, node, wire.clock.parts
        self.seen: list[float] = []  # times of these sequences, s
        self._act = parts.ffi.callback("void(void *)", lambda of: self.seen.append(wire.clock.seconds))
        self._state = parts.ffi.new("waiter *", {"act": self._act})

    def begin(self, sequences: int) -> None:
        self.wire.clock.parts.lib.wire_wait(self.wire.state, self._state, self.node.node, sequences)


@pytest.fixture
def clock() -> OwnClock:
    return OwnClock()


@pytest.fixture
def wire(clock) -> Wire:
    return Wire(clock)


def test_a_frame_takes_its_bits_is_heard_one_bit_before_its_end_and_the_next_follows_after_three_bits(clock, wire):
    a, b, frame = Talker(wire), Talker(wire), Frame(0x123, b"\x01\x02")
    a.send(frame, frame)
    clock.run(1e-3)
    length = image(frame).length(BIT, BIT)
    begins = [0.0, length + INTERMISSION * BIT]
    assert a.done == pytest.approx([begin + BIT + length for begin in begins]) and not a.got
    assert b.came == pytest.approx([begin + length for begin in begins]) and b.got == [frame, frame]


@pytest.mark.parametrize(("first", "second"), [
    (Frame(0x100), Frame(0x101)), (Frame(0x7F), Frame(0x80)), (Frame(0x123), Frame(0x123, remote=True)),
    (Frame(0x123), Frame(0x123 << 18, extended=True)), (Frame(0x122 << 18 | 5, extended=True), Frame(0x123)),
    (Frame(5, extended=True), Frame(6, extended=True)),
])
def test_the_dominant_identifier_goes_first(clock, wire, first, second):
    a, b, c = Talker(wire), Talker(wire), Talker(wire)
    a.send(second)
    b.send(first)
    clock.run(1e-3)
    assert c.got == [first, second]
    assert a.events == ["lost"] and b.events == []


def test_equal_frames_of_two_nodes_go_as_one_and_different_ones_of_one_identifier_collide(clock, wire):
    a, b, c = Talker(wire), Talker(wire), Talker(wire)
    a.send(Frame(5, b"\x01"))
    b.send(Frame(5, b"\x01"))
    clock.run(1e-3)
    assert len(c.got) == 1 and a.done == b.done
    a.send(Frame(5, b"\x01"))
    b.send(Frame(5, b"\x02"))
    clock.run(0.5e-3)
    assert not c.got[1:] and set(a.events) == {"RECESSIVE"} and a.counters.transmit == b.counters.transmit > 0


def test_alone_a_node_repeats_for_ever_and_becomes_passive_but_never_off(clock, wire):
    a, passed = Talker(wire), []
    wire.log = passed.append
    a.send(Frame(5, b"\x01"))
    clock.run(0.1)
    # after the ACK slot: 6 bits of error flag and 8 bits of error delimiter replace the last 8 bits of the frame (ISO
    # 11898-1:2015, 10.4.4)
    again = image(Frame(5, b"\x01")).length(BIT, BIT) + (6 + 8 - 8 + INTERMISSION) * BIT
    assert passed[1].seconds - passed[0].seconds == pytest.approx(again)
    assert a.counters.transmit == 128 and a.counters.passive and not a.counters.off
    assert len(a.events) > 500 and set(a.events) == {"ACK"} and not a.done
    b = Talker(wire)
    clock.run(1e-3)
    assert len(a.done) == 1 and len(b.got) == 1 and a.counters.transmit == 127


def test_a_node_of_another_bit_rate_disturbs_until_it_is_passive_itself(clock, wire):
    a, b = Talker(wire), Talker(wire)
    wrong = Talker(wire, timing=BitTiming(100e-9, 15, 5, 4))
    a.send(Frame(5, b"\x01"))
    clock.run(5e-3)
    assert wrong.counters.passive and len(b.got) == 1 and "RECESSIVE" in a.events and not a.counters.off


def test_nodes_whose_clocks_differ_by_more_than_they_resynchronise_do_not_agree():
    """A jump of 4 of 20 quanta and sampling at 75 % tolerate 5 / (2 (13 20 - 5)) = 0.98 % for each node."""
    assert MEGABIT.tolerance == pytest.approx(5 / (2 * (13 * 20 - 5)))
    assert MEGABIT.agrees(BitTiming(50e-9 * 1.015, 15, 5, 4))
    assert not MEGABIT.agrees(BitTiming(50e-9 * 1.025, 15, 5, 4))


def test_a_node_that_knows_no_fd_destroys_fd_frames(clock, wire):
    a, b, old = Talker(wire, fd=True), Talker(wire, fd=True), Talker(wire)
    a.send(Frame(5, bytes(16), fd=True, fast=True))
    clock.run(0.2e-3)
    assert not b.got and a.events and old.counters.receive > 0


MOTEUS = BitTiming(1 / 85e6, 57, 28, 16), BitTiming(1 / 85e6, 12, 5, 5)  # fw/fdcan.cc, MakeTime of 85 MHz
LATE = BitTiming(1 / 170e6, 128, 42, 42), BitTiming(1 / 170e6, 26, 8, 8)  # 75.3 and 76.5 % of 170 MHz
EARLY = BitTiming(1 / 170e6, 114, 56, 56), BitTiming(1 / 170e6, 24, 10, 10)


@pytest.mark.parametrize("sender, hearer, come", [
    (MOTEUS, LATE, 0),  # the BRS bit of a moteus lasts 670.6 + 58.8 ns; the node samples it at 752.9 ns
    (LATE, MOTEUS, 300), (MOTEUS, EARLY, 300), (EARLY, MOTEUS, 300),
    ((MEGABIT, FIVE_MEGABITS), LATE, 300)])
def test_a_node_hears_a_change_of_rate_if_it_samples_brs_while_that_lasts(clock, wire, sender, hearer, come):
    """come: frames, of 300 with a change of rate, that an independent bit-level receiver after ISO 11898-1 receives
    with random phases and 100 ppm. Frames of one rate always come."""
    a, b = Talker(wire, True, *sender), Talker(wire, True, *hearer)
    a.send(*(Frame(5, bytes(16), fd=True, fast=k > 0) for k in range(301)))
    clock.run(0.1)
    assert len(b.got) == 1 + come and bool(b.counters.receive) == (not come)


def test_noise_disturbs_its_share_and_every_frame_comes_in_the_end(clock, wire):
    wire.error_rate = 0.1
    a, b = Talker(wire), Talker(wire)
    passed: list[Passed] = []
    wire.log = passed.append
    frames = [Frame(k, bytes([k])) for k in range(200)]
    a.send(*frames)
    clock.run(0.1)
    assert b.got == frames
    share = sum(1 for p in passed if p.error) / len(passed)
    assert 0.05 < share < 0.16 and len(a.events) == len(passed) - 200


def test_a_short_brings_the_sender_off_and_nobody_else(clock, wire):
    wire.shorted = True
    a, b = Talker(wire), Talker(wire)
    a.send(Frame(5))
    clock.run(2e-3)
    assert a.counters.off and a.events == ["DOMINANT"] * 32 and b.counters.receive == 0


def test_a_sender_goes_off_on_a_wire_that_is_held_and_hearers_become_passive(clock, wire):
    """Each sequence of eight bits after the error flag counts as eight errors. Therefore the error counter is 256 after
    6 + 14 + 30 x 8 bits. A receiver never becomes bus off."""
    a, b, c = Talker(wire), Talker(wire), Talker(wire)
    a.send(Frame(5, bytes(8)))
    clock.run(30e-6)
    wire.hold()
    clock.run((6 + 14 + 29 * 8 + 4) * BIT)
    assert a.counters.transmit == 31 * 8 and not a.counters.off
    clock.run(8 * BIT)
    assert a.counters.off and b.counters.passive and a.events == ["RECESSIVE"] + ["FORM"] * 31
    clock.run(5e-3)
    assert (a.counters.transmit, b.counters.receive, c.counters.receive) == (256, 255, 255)
    b.send(Frame(6))
    clock.run(1e-3)
    assert not c.got
    wire.release()
    clock.run(11 * BIT + image(Frame(6)).length(BIT, BIT) + 1e-9)
    assert c.got == [Frame(6)] and not a.got


def test_what_waits_for_recessive_bits_waits_for_the_wire_to_be_released(clock, wire):
    a = Talker(wire)
    waits = Waits(wire, a)
    wire.hold()
    waits.begin(10)
    clock.run(1e-3)
    wire.release()
    clock.run(50e-6)
    wire.hold()
    clock.run(1e-3)
    assert not waits.seen and a.counters.transmit == 0
    wire.release()
    clock.run(1e-3)
    assert waits.seen == [pytest.approx(2.05e-3 + 6 * 11 * BIT)]  # four of the ten sequences were received before


def test_an_open_end_disturbs_some_frames_and_two_disturb_all(clock, wire):
    a, b = Talker(wire), Talker(wire)
    wire.terminators = 1
    a.send(*[Frame(k) for k in range(50)])
    clock.run(0.05)
    assert len(b.got) == 50 and a.events
    wire.terminators = 0
    a.send(Frame(5))
    clock.run(0.05)
    assert len(b.got) == 50 and a.counters.off


def test_sequences_of_recessive_bits_are_counted_through_idle_time_and_frames(clock, wire):
    a, b = Talker(wire), Talker(wire)
    waits = Waits(wire, a)
    waits.begin(10)
    clock.run(1e-3)
    assert waits.seen == [pytest.approx(110e-6)]
    busy = [Frame(0x100 + k, bytes(8)) for k in range(20)]
    b.send(*busy)
    began = clock.seconds
    waits.begin(10)
    clock.run(10e-3)
    assert waits.seen[1] > began + 9 * 111e-6


def test_an_intruder_sends_its_frame_in_its_time_or_without_a_pause(clock, wire):
    a = Talker(wire)
    Intruder(wire, Frame(7), 1e-3, MEGABIT)
    clock.run(10.5e-3)
    assert 9 <= len(a.got) <= 11
    Intruder(wire, Frame(0, bytes(8)), 0.0, MEGABIT)
    clock.run(10e-3)
    assert sum(frame.id == 0 for frame in a.got) > 70
