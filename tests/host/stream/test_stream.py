"""Tests streaming over reliable and unreliable lines, with stops, faults and boards that disconnect."""

import signal
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from femtorque.codegen.common import Refused
from femtorque.codegen.motion import Knots
from femtorque.codegen.wire import messages, to_wire
from femtorque.host.link import Sender, message
from femtorque.host.stream.streaming import Interrupts, stream
from tests.support.fake_board import ManualClock, a_session, configuration, unconnected


def a_motion(seconds=1.0, conf=None):
    """Return the knots of a smooth motion from rest to rest."""
    conf = conf or configuration()
    t = np.linspace(0.0, 1.0, int(round(seconds * conf.knot_hz)) + 1)[:, None]
    reach = np.linspace(0.5, 1.5, len(conf.joints))
    q = reach * (10 * t**3 - 15 * t**4 + 6 * t**5)
    qd = reach * (30 * t**2 - 60 * t**3 + 30 * t**4) / seconds
    qdd = reach * (60 * t - 180 * t**2 + 120 * t**3) / seconds**2
    return Knots(to_wire(q, conf.joints), qd.astype(np.float32), qdd.astype(np.float32))


def as_sent(motion):
    return [message(motion, i) for i in range(len(motion))]


def as_received(board):
    return [messages.Knot(m.flags, list(m.position), list(m.rate), list(m.acceleration)) for m in board.received]


# -- motions that arrive ---------------------------------------------------------------------------------------------


def test_a_motion_is_played_to_its_end():
    session, board = a_session(lag=0.01)
    motion, seen = a_motion(2.0), []
    outcome = stream(session, motion, on_progress=seen.append)
    assert outcome.ended == "done" and board.state == "HOLD"
    assert as_received(board) == as_sent(motion)
    assert outcome.frames == len(motion) and outcome.retransmissions == 0
    np.testing.assert_allclose(outcome.tracking_rms, 0.01, rtol=1e-6)
    np.testing.assert_allclose(outcome.tracking_max, 0.01, rtol=1e-6)
    assert seen[-1].left < 0.02 and max(p.buffered for p in seen) == board.ring_size
    assert [p.t for p in seen] == sorted(p.t for p in seen)


def test_the_ring_is_full_before_the_start():
    session, board = a_session()
    buffered_at_start = []
    begin = board._command
    board._command = lambda name: (buffered_at_start.append(len(board.ring)) if name == "START" else None, begin(name))
    stream(session, a_motion(3.0))
    assert buffered_at_start == [board.ring_size]


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_knot_arrives_in_order_over_a_bad_wire(seed):
    """10 % of frames are dropped and 10 % damaged in each direction. The motion does not stop."""
    session, board = a_session(seed=seed, drop=0.1, flip=0.1)
    motion = a_motion(3.0)
    outcome = stream(session, motion)
    assert outcome.ended == "done" and outcome.resumed == 0
    assert as_received(board) == as_sent(motion)
    assert outcome.retransmissions > 0
    assert outcome.least_buffered > 50


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), loss=st.floats(0.0, 0.35), ring=st.integers(40, 300))
def test_whatever_the_wire_no_knot_is_lost_doubled_or_swapped(seed, loss, ring):
    session, board = a_session(seed=seed, drop=loss, flip=loss / 2, ring=ring)
    motion = a_motion(1.0)
    try:
        stream(session, motion, resume=100)
    except Refused:
        pass
    received = as_received(board)
    assert received == as_sent(motion)[: len(received)]


@pytest.mark.parametrize("delay, most", [(0.03, 0.02), (0.1, 0.1), (0.15, 0.1), (0.3, 0.2)])
def test_a_line_that_becomes_slow_is_not_flooded(delay, most):
    """Knots on a slow line are late but not lost, so the sender repeats only few of them."""
    session, board = a_session()
    motion = a_motion(6.0)
    outcome = stream(session, motion, resume=3,
                     on_progress=lambda p: setattr(board, "delay", delay if p.t > 1.0 else 0.0))
    assert outcome.ended == "done" and as_received(board) == as_sent(motion)
    assert outcome.retransmissions <= most * len(motion)


def test_noise_on_the_line_does_no_harm():
    session, board = a_session()
    rng, put = np.random.default_rng(5), board.to_host.put
    board.to_host.put = lambda frame, at: put(rng.bytes(int(rng.integers(0, 200))) + b"\0" + frame, at)
    board.to_board.queue.append((0.0, rng.bytes(20_000) + b"\0"))
    assert stream(session, a_motion(1.0)).ended == "done"
    assert session.link.bad > 50


def test_sequence_numbers_wrap():
    session, board = a_session()
    board.wanted = 65_500
    motion = a_motion(1.0)
    session.clock.sleep(0.02)
    session.pump()
    assert stream(session, motion).ended == "done"
    assert as_received(board) == as_sent(motion)


def test_a_second_motion_follows_the_first():
    session, board = a_session()
    motion = a_motion(0.4)
    assert stream(session, motion).ended == "done"
    back = Knots(motion.position[::-1], -motion.rate[::-1], motion.acceleration[::-1])
    assert stream(session, back).ended == "done"
    assert as_received(board) == as_sent(motion) + as_sent(back)


def test_what_an_earlier_host_left_in_the_ring_is_flushed():
    session, board = a_session()
    board.ring.extend(as_sent(a_motion(0.1)))
    session.clock.sleep(0.02)
    session.pump()
    motion = a_motion(0.4)
    assert stream(session, motion).ended == "done"
    assert messages.COMMANDS["FLUSH"][0] in board.commands
    assert as_received(board) == as_sent(motion)


# -- stalls and stops ------------------------------------------------------------------------------------------------


def stall(clock, board, at, seconds):
    """Make the host pause once, as a busy machine does."""
    step = clock.sleep

    def sleep(dt):
        step(dt)
        if board.state == "TRACK" and board.played >= at and not stalled:
            stalled.append(clock.time)
            step(seconds)

    stalled = []
    clock.sleep = sleep
    return stalled


def test_a_stall_shorter_than_the_boards_patience_is_not_noticed():
    clock = ManualClock()
    session, board = a_session(clock)
    stalled = stall(clock, board, 100, 0.09)
    outcome = stream(session, a_motion(2.0))
    assert stalled and outcome.ended == "done" and outcome.worst_gap >= 0.09


def test_after_a_long_stall_the_board_holds_on_its_path_and_says_why():
    clock = ManualClock()
    session, board = a_session(clock)
    stall(clock, board, 100, 0.4)
    with pytest.raises(Refused, match="stopped on the path at .* because the host was silent .*--resume"):
        stream(session, a_motion(2.0))
    assert board.state == "HOLD"


def test_a_stopped_motion_goes_on_when_asked_to():
    clock = ManualClock()
    session, board = a_session(clock)
    stall(clock, board, 100, 0.4)
    motion = a_motion(2.0)
    outcome = stream(session, motion, resume=3)
    assert outcome.ended == "done" and outcome.resumed == 1
    assert as_received(board) == as_sent(motion)


def test_running_out_of_knots_is_told_from_silence(monkeypatch):
    session, board = a_session()
    send = Sender.send
    monkeypatch.setattr(Sender, "send", lambda sender: send(sender) if sender.highest < 300 else None)
    with pytest.raises(Refused, match="knots ran out"):
        stream(session, a_motion(3.0))
    assert board.state == "HOLD"


def interrupted(session, board, motion, at, **keys):
    """Stream a motion, and press Ctrl-C when these numbers of knots have been sent."""
    interrupts, presses = Interrupts(), list(at)

    def press(_):
        if presses and board.played >= presses[0]:
            presses.pop(0)
            interrupts.count += 1

    return stream(session, motion, on_progress=press, interrupts=interrupts, **keys)


@pytest.mark.parametrize("presses, ended, state", [([100], "stopped", "HOLD"), ([100, 101], "disarmed", "DISARMED")])
def test_ctrl_c_is_a_controlled_stop_and_a_second_one_disarms(presses, ended, state):
    session, board = a_session()
    outcome = interrupted(session, board, a_motion(2.0), presses)
    assert outcome.ended == ended and board.state == state and 100 < board.played < 125


def test_a_second_ctrl_c_disarms_while_holding_too():
    clock = ManualClock()
    session, board = a_session(clock)
    interrupts = Interrupts()
    clock_sleep = clock.sleep

    def sleep(dt):
        clock_sleep(dt)
        if clock.time > 1.0:
            interrupts.count = 1
        if clock.time > 4.0:
            interrupts.count = 2

    clock.sleep = sleep
    outcome = stream(session, a_motion(3.0), interrupts=interrupts, hold_after_stop=60.0)
    assert outcome.ended == "disarmed" and board.state == "DISARMED" and 4.0 < clock.time < 4.2


def test_ctrl_c_before_the_start_moves_nothing():
    session, board = a_session()
    interrupts = Interrupts()
    interrupts.count = 1
    assert stream(session, a_motion(2.0), interrupts=interrupts).ended == "stopped"
    assert board.played == 0 and messages.COMMANDS["START"][0] not in board.commands


def test_a_stop_is_repeated_until_it_is_heard():
    session, board = a_session(seed=3)
    interrupts, deaf = Interrupts(), {messages.COMMANDS["STOP"][0]}

    def press(_):
        if board.played >= 100 and not interrupts.count:
            board.deaf_to = deaf
            interrupts.count = 1
        if board.played > 130:
            board.deaf_to = set()

    outcome = stream(session, a_motion(3.0), on_progress=press, interrupts=interrupts)
    assert outcome.ended == "stopped" and 130 < board.played < 160


def test_a_stop_nobody_obeys_ends_disarmed():
    clock = ManualClock()
    session, board = a_session(clock, ring=4000)
    board.deaf_to = {messages.COMMANDS["STOP"][0]}
    with pytest.raises(Refused, match="did not stop in time and was disarmed"):
        interrupted(session, board, a_motion(12.0), [100])
    assert board.state == "DISARMED"


def test_ctrl_c_is_counted_and_the_old_handler_comes_back():
    before = signal.getsignal(signal.SIGINT)
    with Interrupts().on_ctrl_c() as interrupts:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert interrupts.count == 2 and signal.getsignal(signal.SIGINT) is before


# -- boards that fail or go away -------------------------------------------------------------------------------------


def at_knot(board, knot, action):
    """Call `action` when the board has got this number of knots."""
    move, done = board._move, []

    def moved(now):
        move(now)
        if board.played >= knot and not done:
            done.append(now)
            action()

    board._move = moved


@pytest.mark.parametrize("name", [n for n in messages.FAULTS if n != "NONE"])
def test_every_fault_is_told_with_its_joint_and_its_mend(name):
    session, board = a_session()
    at_knot(board, 50, lambda: board.fail(name, joint=1))
    with pytest.raises(Refused) as refused:
        stream(session, a_motion(2.0))
    _, meaning, mend = messages.FAULTS[name]
    assert f"fault {name} at joint j2: {meaning}; {mend.removesuffix(', then clear')}; then clear" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("action, words", [
    (lambda board: setattr(board, "state", "ESTOP"), "e-stop dropped the outputs; release it, then clear"),
    (lambda board: setattr(board, "gone", True), "the link broke .*device disconnected.*check cable"),
    (lambda board: board.reset("WATCHDOG", messages.FAULTS["HARD_FAULT"][0]),
     "was reset .cause WATCHDOG., latched before it: HARD_FAULT: the processor"),
    (lambda board: setattr(board, "state", "DISARMED"), "was broken off; its state is DISARMED"),
], ids=["e-stop", "cable", "reset", "disarmed"])
def test_what_ends_a_motion_from_outside_is_named(action, words):
    session, board = a_session()
    at_knot(board, 100, lambda: action(board))
    with pytest.raises(Refused, match=words):
        stream(session, a_motion(3.0))


def test_a_board_that_falls_silent_is_given_up_in_bounded_time():
    clock = ManualClock()
    session, board = a_session(clock)
    silent_at = []
    at_knot(board, 100, lambda: (setattr(board, "silent", True), silent_at.append(clock.time)))
    with pytest.raises(Refused, match="silent for 1.0 s; check cable and power"):
        stream(session, a_motion(3.0))
    assert clock.time - silent_at[0] < 1.1


def test_a_board_that_never_finishes_is_disarmed():
    clock = ManualClock()
    session, board = a_session(clock)
    at_knot(board, 100, lambda: setattr(board, "_move", lambda now: None))
    began = clock.time
    with pytest.raises(Refused, match="did not come to the end of the motion in time and was disarmed"):
        stream(session, a_motion(1.0))
    assert board.state == "DISARMED" and clock.time - began < 6.0


def test_a_board_that_takes_no_knots_is_given_up():
    clock = ManualClock()
    session, board = a_session(clock)
    put = board.to_board.put
    board.to_board.put = lambda frame, at: None if len(frame) > 40 else put(frame, at)
    began = clock.time
    with pytest.raises(Refused, match="took 0 of 251 knots and then none for 5 s"):
        stream(session, a_motion(1.0))
    assert clock.time - began < 6.0


# -- looking before moving -------------------------------------------------------------------------------------------


def test_a_motion_that_starts_elsewhere_is_refused_before_anything_is_sent():
    session, board = a_session()
    motion = a_motion()
    motion.position[:] += int(0.2 / (2 * np.pi) * 2**32)
    with pytest.raises(Refused, match="j1 stands 0.2 rad from where the motion starts.*move it there first"):
        stream(session, motion)
    assert not board.received


def endless(conf):
    return replace(conf, joints=tuple(replace(joint, type="continuous") for joint in conf.joints))


def test_a_joint_a_whole_turn_away_is_not_where_the_motion_starts():
    session, board = a_session()
    board.target += 2**32
    session.wait(lambda: session.status.position[0] > 2**31, 1.0, "does not tell")
    with pytest.raises(Refused, match="j1 stands 6.283 rad from where the motion starts"):
        stream(session, a_motion())
    assert not board.received


@pytest.mark.parametrize("turns", [1, -3, 30_000])
def test_a_joint_that_turns_without_end_begins_in_the_turn_that_it_is_in(turns):
    conf = endless(configuration())
    session, board = a_session(conf=conf, expected=conf)
    board.target += turns * 2**32
    session.wait(lambda: session.status.position[0] != 0, 1.0, "does not tell")
    motion = a_motion()
    assert stream(session, motion).ended == "done"
    assert np.array_equal([knot.position for knot in board.received], motion.position + turns * 2**32)


def test_turns_go_on_being_counted_where_the_boards_own_count_begins_anew():
    """The board counts turns with 15 bits in each direction. 24 h at ten turns per second wrap 26 times."""
    session, board = a_session()
    whole, seen, status = board.target, [], board.status

    def wrapping():
        told = status()
        ends = {name: tuple((x + 2**47) % 2**48 - 2**47 for x in getattr(told, name))
                for name in ("position", "target")}
        return replace(told, **ends)

    board.status = wrapping
    for day in np.linspace(0.0, 864_000.0, 200):
        board.target = whole + int(day * 2**32)
        session.wait(lambda: session.status.target[0] % 2**48 == board.target[0] % 2**48, 1.0, "does not tell")
        seen.append(session.positions() / (2 * np.pi))
    np.testing.assert_allclose(seen, np.linspace(0.0, 864_000.0, 200)[:, None] * np.ones(3), rtol=1e-12, atol=1e-8)
    session.disarm()
    session.home(np.zeros(3))
    session.wait(lambda: not any(session.status.position), 1.0, "counts on from where it was before it was homed")


def test_a_motion_wants_an_armed_board():
    session, board = unconnected()
    session.connect()
    with pytest.raises(Refused, match="starts from HOLD, but its state is DISARMED; arm first"):
        stream(session, a_motion())
