"""Tests live targets from scripts: the frames that are sent, and the objects that send them."""

import asyncio
import threading
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from femtorque import Board, Mechanism
from femtorque.codegen.common import BadInput, Refused, Stopped
from femtorque.codegen.wire import Target, from_wire, messages
from femtorque.host.live.following import Following
from femtorque.host.live.outbox import Outbox
from tests.support.rig import ROOT

Q = np.array([0.1, -0.2, 0.3])


@pytest.fixture
def board(fake):
    with Board.connect("any", Mechanism.load(ROOT / "mechanisms" / "three_link.toml")) as board:
        board.home([0.0, 0.0, 0.0])
        yield board


def positions(fake, message) -> np.ndarray:
    return from_wire(message.position, fake.conf.joints)


def test_targets_carry_stamps_positions_and_velocities_and_the_last_one_ends_it(fake, board) -> None:
    with board.follow(delay=0.05, frame=0.02) as f:
        assert board.state == "FOLLOW"
        for k in range(5):
            f.send(k * Q)
            f.wait(0.02)
        f.send(5.0 * Q, v=[1.0, 2.0, 3.0], t=7.5)
        f.wait(0.02)
    assert (fake.asked[0].delay, fake.asked[0].frame) == (50_000, 20_000)
    sent = [m for _, m in fake.targets]
    np.testing.assert_allclose([positions(fake, m) for m in sent[:6]], np.arange(6)[:, None] * Q, atol=1e-9)
    assert np.diff([m.stamp for m in sent[:5]]).tolist() == [20_000] * 4
    assert sent[5].stamp == 7_500_000 and tuple(sent[5].rate) == (1.0, 2.0, 3.0)
    assert [m.flags for m in sent[:7]] == [0] * 5 + [messages.TARGET_RATES, messages.TARGET_END]
    np.testing.assert_allclose(positions(fake, sent[6]), 5.0 * Q, atol=1e-9)
    assert board.state == "HOLD"


def test_joints_may_be_named_and_the_others_stay(fake, board) -> None:
    with board.follow() as f:
        f.send(Q)
        f.send({"elbow": 0.7})
        f.wait(0.01)
        np.testing.assert_allclose(positions(fake, fake.targets[1][1]), [0.1, 0.7, 0.3], atol=1e-9)
        with pytest.raises(BadInput, match="no such joint; did you mean 'elbow'"):
            f.send({"elbwo": 0.1})


def test_a_chunk_lies_ahead_under_one_stamp_and_the_next_has_another_number(fake, board) -> None:
    with board.follow(delay=0.0) as f:
        f.chunk([0.0, 0.1, 0.3], [Q, 2.0 * Q, 3.0 * Q])
        f.wait(0.05)
        f.chunk([0.1], [Q])
        f.wait(0.01)
        chunk = [m for _, m in fake.targets[:4]]
    assert [m.chunk for m in chunk] == [1, 1, 1, 2] and [m.ahead for m in chunk] == [0, 100_000, 300_000, 100_000]
    assert chunk[0].stamp == chunk[1].stamp == chunk[2].stamp == chunk[3].stamp - 50_000


@pytest.mark.parametrize("bad, rule", [
    (lambda f: f.send([0.0, np.nan, 0.0]), "of elbow must be finite"),
    (lambda f: f.send([0.0, 0.0]), r"must be \(3,\)"),
    (lambda f: f.send(Q, v=[0.0, np.inf, 0.0]), "of elbow must be finite"),
    (lambda f: f.send([0.0, "x", 0.0]), "are no numbers"), (lambda f: f.send([Q]), r"must be \(3,\)"),
    (lambda f: f.send({"elbow": [0.1, 0.2]}), "must be"), (lambda f: f.send({"elbow": 10**400}), "no numbers that fit"),
    (lambda f: f.send([0, 10**400, 0]), "no numbers that fit"), (lambda f: f.chunk([10**400], [Q]), "no numbers"),
    (lambda f: f.send(Q, v=[0.0, 1e39, 0.0]), "of elbow must be at most 3.40282e[+]38 in size"),
    (lambda f: f.chunk([0.1], [Q], [[0.0, 0.0, 1e300]]), "of wrist must be at most"),
    (lambda f: f.send(Q, t=np.nan), "must be a number"), (lambda f: f.send(Q, t=1e308), "must be a number"),
    (lambda f: f.send(Q, t=[1.0]), "must be a number"),
    (lambda f: f.chunk([0.1, 0.1], [Q, Q]), "must increase"), (lambda f: f.chunk([-0.1], [Q]), "must increase"),
    (lambda f: f.chunk([0.0, 0.1], [Q]), r"must be \(2, 3\)"), (lambda f: f.chunk([], []), "must be 1 to 50 times"),
    (lambda f: f.chunk(np.arange(51.0), np.tile(Q, (51, 1))), "must be 1 to 50 times"),
])
def test_what_is_no_target_is_refused_before_it_is_sent(fake, board, bad, rule) -> None:
    with board.follow() as f:
        with pytest.raises(BadInput, match=rule) as refused:
            bad(f)
        assert "\n" not in str(refused.value)
        f.wait(0.01)
        assert not fake.targets
        f.send(Q)


@pytest.mark.parametrize("given, rule", [({"delay": -0.1}, "0 to 2 s"), ({"delay": np.nan}, "0 to 2 s"),
                                         ({"frame": 0.5}, "0.001 to 0.25 s")])
def test_delays_and_frames_that_cannot_be_are_refused_before_the_arm_is_armed(fake, board, given, rule) -> None:
    with pytest.raises(BadInput, match=rule):
        board.follow(**given)
    assert board.state == "DISARMED"


def test_a_pause_longer_than_the_timeout_ends_at_rest_and_the_next_target_goes_on(fake, board) -> None:
    with board.follow() as f:
        f.send(Q)
        f.session.clock.sleep(0.02)
        for _ in range(30):  # the script sends no further target and does not ask for the status
            f.session.clock.sleep(0.01)
            f.session.pump()
        assert board.state == "HOLD"
        f.send(2.0 * Q)
        f.wait(0.02)
        assert board.state == "FOLLOW" and len(fake.asked) == 2
    np.testing.assert_allclose(positions(fake, fake.targets[-1][1]), 2.0 * Q, atol=1e-9)


def test_a_fault_ends_it_with_its_name(fake, board) -> None:
    with pytest.raises(Refused, match="OVERSPEED"), board.follow() as f:
        f.send(Q)
        fake.fail("OVERSPEED", 1)
        f.wait(0.05)
        f.send(Q)


def unexpected(fake, board, kind: type[BaseException], state: str = "FOLLOW") -> str:
    """Raise an error in a context that follows targets, floats or holds. Returns the exception's notes."""
    with pytest.raises(kind) as raised, board, ExitStack() as inside:
        board.arm()
        if state == "FOLLOW":
            f = inside.enter_context(board.follow())
            f.send(Q)
            f.wait(0.02)
        elif state == "FLOAT":
            board.float(until=lambda: fake.state == "FLOAT" and 1 / 0)
        raise kind("policy")
    return " ".join(getattr(raised.value, "__notes__", []))


@pytest.mark.parametrize("state, kind", [("FOLLOW", KeyError), ("FOLLOW", Refused), ("HOLD", KeyError),
                                         ("FLOAT", ZeroDivisionError)])
def test_an_arm_is_held_after_an_error_inside_which_says_so(fake, board, state, kind) -> None:
    assert "any: the arm is held; the board does as [safety] says once" in unexpected(fake, board, kind, state)
    assert fake.state == "HOLD" and not any(m.flags & messages.TARGET_END for _, m in fake.targets)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, Stopped])
def test_ctrl_c_and_a_scripts_own_end_let_go_of_the_arm(fake, board, kind) -> None:
    assert unexpected(fake, board, kind) == "" and fake.state == "DISARMED"


def test_an_arm_is_held_although_what_listens_to_it_fails_at_every_report(fake, board) -> None:
    def full(_) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full") as raised, board, board.follow() as f:
        f.send(Q)
        board.session.listeners.append(full)
        f.wait(0.1)
    assert fake.state == "HOLD" and "the arm is held" in raised.value.__notes__[0]


def test_a_board_that_is_gone_is_not_said_to_hold_its_arm(fake, board) -> None:
    with pytest.raises(Refused, match="link broke") as raised, board:
        board.arm()
        fake.gone = True
        board.clear()
    assert raised.value.__notes__[0].startswith("any: the board does as [safety] says without a host (any: the link")
    fake.gone = False


def test_a_listener_that_fails_beside_the_script_is_an_error_of_the_script(fake, board, monkeypatch) -> None:
    """The listener runs in the thread that keeps the connection to a real board alive."""
    with board.follow() as f:
        f._done.clear()
        monkeypatch.setattr(f.session, "pump", lambda: 1 / 0)
        f._keep()
        monkeypatch.undo()
        with pytest.raises(ZeroDivisionError):
            f.send(Q)
        f._failed.clear()


def test_without_any_target_it_ends_by_a_stop(fake, board) -> None:
    with board.follow():
        pass
    assert board.state == "HOLD" and not fake.targets


def test_the_status_says_how_it_is_followed_and_by_default_the_file_says_how(fake, board) -> None:
    with board.follow() as f:
        f.send(Q)
        f.wait(0.1)
        told = f.status
    assert (fake.asked[0].delay, fake.asked[0].frame) == (messages.FOLLOW_AUTO, 0)
    assert (told.phase, told.delay, told.frame, told.ahead) == ("FOLLOWING", *map(pytest.approx, (0.05, 0.02, -0.003)))
    assert (told.targets, told.late, told.lost, told.refused) == (1, 1, 2, 3)
    assert told.limits == {"shoulder": ("POSITION", "ACCELERATION")} and told.behind.tolist() == [0.25, 0.0, 0.0]


def test_a_target_beyond_what_is_counted_is_the_farthest_on_its_own_side(fake, board) -> None:
    with board.follow() as f:
        for far in (1e9, 1e11, 1e300):
            f.send([far, -far, 0.3])
            f.wait(0.02)
            assert fake.targets[-1][1].position[:2] == (2**47, -(2**47))
        f.send({"shoulder": -1e300})
        f.wait(0.02)
        assert fake.targets[-1][1].position[:2] == (-(2**47), -(2**47))


def test_the_first_target_beyond_each_joints_limits_is_kept(fake, board) -> None:
    with board.follow() as f:
        f.send([30.0, 0.1, 0.0])
        f.send([40.0, 0.1, 3.0])
        f.chunk([0.0, 0.1], [[0.0, -2.6, 0.0], [0.0, -2.7, 0.0]])
    assert f.beyond == {"shoulder": 30.0, "wrist": 3.0, "elbow": -2.7}


def endless(fake) -> Mechanism:
    mechanism = Mechanism.load(ROOT / "mechanisms" / "three_link.toml")
    free = [replace(j, type="continuous", limits=replace(j.limits, lower=-np.inf, upper=np.inf)) if not k else j
            for k, j in enumerate(mechanism.joints)]
    return replace(mechanism, joints=tuple(free))


def test_a_joint_without_limits_is_asked_for_no_more_than_is_counted(fake, board) -> None:
    board.arm()
    with Following(board.session, endless(fake), None, None) as f:
        with pytest.raises(BadInput, match="q = 1000000000.0: of shoulder must be at most 205887 in size"):
            f.send([1e9, 0.0, 0.0])
        f.send([2e5, 0.0, 0.0])


@pytest.mark.parametrize("flood", ["chunks", "single"])
def test_stop_overtakes_a_flood_of_targets_and_the_newest_of_them_have_gone(fake, board, flood) -> None:
    """For 4 s a script sends more than the line carries: 50 chunks of 50, or 4000 single targets per second."""
    fake.paced = True
    with pytest.raises(KeyError), board.follow() as f:
        assert 1700 < f.carries < 1800
        clock, n = f.session.clock, 0
        begin = clock.now()
        while clock.now() < begin + 4.0:
            t = clock.now()
            if flood == "chunks":
                f.chunk(0.02 * np.arange(50), np.outer(t + 0.02 * np.arange(50), Q))
                n += 50
            for k in range(80 if flood == "single" else 0):
                f.send((t + k * 2.5e-4) * Q, t=t + k * 2.5e-4)
                n += 1
            f.wait(0.02)
        late = [now - 1e-6 * m.stamp for now, m in fake.targets]
        assert max(late) < 0.05 and f.session.link.backlog < 0.025
        assert 0.5 * 4.0 * f.carries < f.sent <= 1.01 * 4.0 * f.carries and f.status.left_out >= n - f.sent - 50
        asked, sent = clock.now(), f.sent
        raise KeyError("stop")
    assert fake.state == "HOLD" and clock.now() - asked < 0.1 and f.sent == sent


@pytest.mark.parametrize("begin", [0, 2**32 - 100_000])
def test_a_target_that_waits_makes_way_for_one_that_is_due_no_later(begin) -> None:
    """begin: the sender's clock, us, which wraps."""
    gone: list[tuple[int, int]] = []
    link = SimpleNamespace(backlog=1.0, send=lambda m: gone.append((m.chunk, (m.stamp + m.ahead - begin) % 2**32)))
    box = Outbox(link, 1)

    def put(chunk: int, *due: int) -> int:
        box.put([Target(0, chunk, (begin + due[0]) % 2**32, at - due[0], [0], [0.0]) for at in due])
        return box.left_out

    assert put(0, 10_000) == 0 and put(1, 20_000, 120_000, 220_000) == 0 and put(2, 70_000, 170_000) == 2
    assert put(0, 80_000) == 4 and put(0, 90_000) == 5  # one single target, and one of chunk 2
    link.backlog = 0.0
    box.send()
    assert gone == [(1, 20_000), (2, 70_000), (0, 90_000)] and box.sent == 3


@pytest.mark.parametrize("lost", [0.0, 0.1])
def test_the_end_is_sent_once_unless_it_is_lost(fake, board, lost) -> None:
    fake.ends_in = 0.5
    with board.follow() as f:
        f.send(Q)
        f.wait(0.02)
        fake.to_board.drop, until = float(lost > 0.0), f.session.clock.now() + lost
        f.session.listeners.append(
            lambda _: setattr(fake.to_board, "drop", float(f.session.clock.now() < until)))
    assert sum(m.flags & messages.TARGET_END for _, m in fake.targets) == 1


def test_threads_may_send_while_another_one_waits(fake, board) -> None:
    failed: list[BaseException] = []

    def sender(f, k: int) -> None:
        try:
            for _ in range(50):
                f.send(k * Q)
        except BaseException as error:
            failed.append(error)

    with board.follow() as f:
        threads = [threading.Thread(target=sender, args=(f, k)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30.0)
        f.wait(0.05)
        assert not failed and fake.reader.bad == 0
        assert len(fake.targets) == f.sent and f.sent + f.status.left_out == 200


def test_a_watch_yields_every_status_in_a_loop_and_in_asyncio(fake, board) -> None:
    seen = []
    for status in board.watch():
        seen.append(status)
        if len(seen) == 5:
            break
    assert np.all(np.diff([s.tick for s in seen]) > 0) and seen[0].state == "DISARMED" and seen[0].fault == ""

    async def some() -> list:
        found = []
        async for status in board.watch():
            found.append(status)
            if len(found) == 3:
                return found

    assert len(asyncio.run(some())) == 3 and not board.session.listeners
