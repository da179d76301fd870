"""Tests control from the live page: which messages are accepted, and when the arm moves and stops."""

import json
import re
import time
import urllib.error
import urllib.request
from http import HTTPStatus

import numpy as np
import pytest

from femtorque import Board, Mechanism
from femtorque.codegen.wire import from_wire
from femtorque.host.live.jog import TipJog
from femtorque.host.live.page_control import GONE, WAITING, Hand, Held, Mover, by_hand
from femtorque.host.scene import scene
from femtorque.host.show import serving
from femtorque.host.show.pages import BODY
from tests.support.rig import ROOT
from tests.support.suite import HANG

START = np.array([0.3, 0.6, 0.5])
DT = 1.0 / 30.0


@pytest.fixture(scope="module")
def mechanism():
    return Mechanism.load(ROOT / "mechanisms" / "three_link.toml")


def hand_of(mechanism, key=False, clock=lambda: 0.0) -> Hand:
    return Hand(mechanism, ("hand", [0.2, 0.0, 0.0]), key, clock)


def jog_of(mechanism, q=START) -> TipJog:
    return TipJog(mechanism, q, "hand", [0.2, 0.0, 0.0])


def said(**keys) -> str:
    return json.dumps({"page": "one", "t": 1.0} | keys)


GOOD = said(joints={"elbow": 0.2})


@pytest.mark.parametrize("text, rule", [
    ("", "is not JSON"), ("[" * 100_000, "is not JSON"), ("[]", "must be a JSON object"),
    ("3", "must be a JSON object"),
    (said(joints={"elbow": 0.2}, velocity=3), "key = 'velocity': unknown key; page, t, held, joints, tip"),
    (said(), "joints: is needed, or tip"), (said(joints={"elbow": 0.1}, tip=[0, 0, 0]), "not both"),
    (said(joints=[0.1]), "joints: must be an object"), (said(joints={}), "joints: must be an object"),
    (said(joints={"elbwo": 0.1}), "no such joint; did you mean 'elbow'"),
    (said(joints={"elbow": "0.1"}), "joints.elbow: must be a number"),
    (said(joints={"elbow": True}), "joints.elbow: must be a number"),
    ('{"page": "one", "t": 1, "joints": {"elbow": NaN}}', "joints.elbow: must be a number"),
    ('{"page": "one", "t": 1, "joints": {"elbow": 1e999}}', "joints.elbow: must be a number"),
    ('{"page": "one", "t": 1, "joints": {"elbow": %s}}' % ("9" * 400), "joints.elbow: must be a number"),
    (said(tip=[0.1, 0.2]), "tip: must be x, y, z in m"), (said(tip=[0.1, 0.2, None]), "tip: must be a number"),
    (said(tip={"x": 1}), "tip: must be x, y, z in m"), (said(joints={"elbow": 0.1}, t=None), "t: must be a number"),
    (said(joints={"elbow": 0.1}, page=""), "page: must be a name"),
    (said(joints={"elbow": 0.1}, page=3), "page: must be"),
    (said(joints={"elbow": 0.1}, held=1), "held: must be true or false"),
])
def test_what_a_page_may_not_say_is_refused_by_its_name_and_moves_nothing(mechanism, text, rule) -> None:
    hand = hand_of(mechanism)
    status, why = hand.ask(hand.token, text)
    assert status == HTTPStatus.BAD_REQUEST and rule in why and "\n" not in why, why
    assert not hand.take()


def test_only_the_page_of_this_program_may_move_the_arm(mechanism) -> None:
    hand = hand_of(mechanism)
    for token in ("", hand.token[:-1], hand_of(mechanism).token, "ä"):
        assert hand.ask(token, GOOD) == (HTTPStatus.FORBIDDEN, "")
    assert not hand.take()
    assert hand.ask(hand.token, GOOD)[0] == HTTPStatus.NO_CONTENT and hand.take() == [Held("one", 1.0, {1: 0.2}, ())]


def test_a_real_board_moves_only_while_its_key_is_held(mechanism) -> None:
    hand = hand_of(mechanism, key=True)
    for text in (GOOD, said(joints={"elbow": 0.2}, held=False)):
        assert hand.ask(hand.token, text) == (HTTPStatus.CONFLICT, "a real board moves only while the key is held")
    assert not hand.take()
    assert hand.ask(hand.token, said(joints={"elbow": 0.2}, held=True))[0] == HTTPStatus.NO_CONTENT


def test_one_page_at_a_time_moves_the_arm(mechanism) -> None:
    now = [0.0]
    hand = hand_of(mechanism, clock=lambda: now[0])
    other = said(page="two", joints={"elbow": 0.2})
    assert hand.ask(hand.token, GOOD)[0] == HTTPStatus.NO_CONTENT
    assert hand.ask(hand.token, other) == (HTTPStatus.CONFLICT, "another page moves the arm")
    now[0] += GONE
    assert hand.ask(hand.token, other)[0] == HTTPStatus.NO_CONTENT


def test_of_many_objects_that_wait_the_newest_stay(mechanism) -> None:
    hand = hand_of(mechanism)
    for k in range(3 * WAITING):
        hand.ask(hand.token, said(t=k, tip=[0.1, 0.2, 0.0]))
    assert [held.t for held in hand.take()] == list(range(2 * WAITING, 3 * WAITING))


def test_a_joint_goes_slowly_to_where_its_slider_is_and_the_others_stay(mechanism) -> None:
    mover, most = Mover(jog_of(mechanism), 0.05, lambda: START), 0.5 * mechanism.follow_limits()[1, 0]
    ways = [mover.move(Held("one", k * DT, {1: 2.0}, ()), 50.0 + k * DT) for k in range(40)]
    q, t = np.array([q for q, _ in ways]), np.array([t for _, t in ways])
    np.testing.assert_allclose(q[0], START)
    np.testing.assert_allclose(t, 50.0 + DT * np.arange(40), atol=1e-9)
    steps = np.diff(q[:, 1])
    assert steps.max() == pytest.approx(most * DT) and steps.min() >= 0.0 and q[-1, 1] == pytest.approx(2.0)
    assert np.all(q[:, [0, 2]] == START[[0, 2]])


def test_stamps_are_the_pages_own_however_late_its_objects_come(mechanism) -> None:
    mover, rng = Mover(jog_of(mechanism), 0.05, lambda: START), np.random.default_rng(1)
    stamps = [mover.move(Held("one", 900.0 + k * DT, {1: 2.0}, ()), 5.0 + k * DT + late)[1]
              for k, late in enumerate([0.0, *rng.uniform(0.0, 0.05, 30)])]
    np.testing.assert_allclose(np.diff(stamps), DT, atol=1e-9)


@pytest.mark.parametrize("t, off", [(-1e9, 0.0), (0.0, 0.0), (1e9, 0.0), (900.0 + DT + 0.51, 0.0),
                                    (900.0 + DT - 0.51, 0.0), (900.0 + DT + 0.49, 0.49), (900.0 + DT - 0.49, -0.49)])
def test_a_clock_that_jumps_moves_the_arm_no_further_and_stamps_stay_within_half_a_second(mechanism, t, off) -> None:
    mover = Mover(jog_of(mechanism), 0.05, lambda: START)
    mover.move(Held("one", 900.0, {1: 2.0}, ()), 5.0)
    q, stamp = mover.move(Held("one", t, {1: 2.0}, ()), 5.0 + DT)
    assert abs(q[1] - START[1]) <= 0.1 * 0.5 * mechanism.streamed[1].limits.velocity + 1e-12
    assert stamp == pytest.approx(5.0 + DT + off)


def test_who_takes_hold_again_begins_where_the_arm_is_held(mechanism) -> None:
    here = START.copy()
    mover = Mover(jog_of(mechanism), 0.05, lambda: here)
    for k in range(10):
        mover.move(Held("one", k * DT, {1: 2.0}, ()), k * DT)
    here = np.array([0.0, 0.1, 0.2])
    np.testing.assert_array_equal(mover.move(Held("one", 9.0, {1: 2.0}, ()), 9.0)[0], here)
    np.testing.assert_array_equal(mover.move(Held("two", 9.0 + DT, {1: 2.0}, ()), 9.0 + DT)[0], here)


def test_the_tip_goes_straight_to_its_handle_as_fast_as_it_may_and_rests_there(mechanism) -> None:
    jog = jog_of(mechanism)
    mover, begin = Mover(jog, 0.25, lambda: START), jog.place
    goal, places = begin + [-0.05, 0.03, 0.0], []
    for k in range(60):
        mover.move(Held("one", k * DT, {}, tuple(goal)), k * DT)
        places.append(jog.place)
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=1) / DT
    assert speeds.max() <= 0.25 * 1.01
    np.testing.assert_allclose(places[-1], goal, atol=1e-4)
    way = (goal - begin) / np.linalg.norm(goal - begin)
    beside = [np.linalg.norm(np.cross(place - begin, way)) for place in places]
    assert max(beside) < 5e-4


@pytest.mark.parametrize("goal", [[2.0, 0.0, 0.0], [0.3, 1.5, 0.0], [-1.0, -1.0, 3.0]])
def test_a_handle_that_is_out_of_reach_leaves_the_arm_at_rest(mechanism, goal) -> None:
    jog = jog_of(mechanism)
    mover, q, away = Mover(jog, 0.25, lambda: START), [], []
    for k in range(600):
        q.append(mover.move(Held("one", k * DT, {}, tuple(goal)), k * DT)[0])
        away.append(np.linalg.norm(np.array(goal) - jog.place))
    assert np.all(np.diff(away) <= 1e-12), "never away from it"
    assert np.abs(np.diff(q[-30:], axis=0)).max() < 1e-9, "no trembling"


def following(fake, mechanism, objects, until):
    """Send timed objects of a page to a simulated board. Returns the times and positions of its targets."""
    fake.flags |= 1
    with Board.connect("any", mechanism) as board:
        board.home(START)
        clock = board.session.clock
        hand = hand_of(mechanism, clock=clock.now)
        with board.follow() as f:
            begun, waiting = clock.now(), list(objects)

            def over() -> bool:
                while waiting and begun + waiting[0][0] <= clock.now():
                    t, keys = waiting.pop(0)
                    assert hand.ask(hand.token, said(t=t, **keys))[0] == HTTPStatus.NO_CONTENT
                return clock.now() - begun > until

            sent = by_hand(f, hand, jog_of(mechanism), 0.25, over)
        return sent, [(t - begun, from_wire(m.position, fake.conf.joints)) for t, m in fake.targets[:sent]]


def test_targets_stop_when_the_page_lets_go_and_go_on_with_the_next_hold(fake, mechanism) -> None:
    held = [*np.arange(0.1, 0.5, DT), *np.arange(2.0, 2.4, DT)]
    sent, targets = following(fake, mechanism, [(t, {"joints": {"wrist": 2.0}}) for t in held], 3.0)
    assert sent == len(held) == len(targets)
    times = np.array([t for t, _ in targets])
    np.testing.assert_allclose(times, held, atol=0.02)
    assert len(fake.asked) == 2, "once more after the time-out, when there was a target again"


def test_the_protocol_of_the_page_without_a_browser(fake, mechanism) -> None:
    """Objects are sent by HTTP, as the page does. Valid objects are queued, and all others are refused."""
    fake.flags |= 1
    hand = hand_of(mechanism, clock=time.monotonic)
    with Board.connect("any", mechanism, look=True) as board, \
            serving(board.session, 0, arm=scene(mechanism), hand=hand) as url:
        own = url.rstrip("/")

        def asked(text, path="hand", **other):
            headers = {"Origin": own, "X-Femtorque-Token": hand.token} | other
            request = urllib.request.Request(f"{url}{path}", text.encode(), headers, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=HANG) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()

        with urllib.request.urlopen(url, timeout=HANG) as answer:
            page = answer.read().decode()
        assert hand.token in page and len(re.findall('<input type="range" step="any" data-joint=', page)) == 3
        assert 'id="hand-key"' not in page
        for other in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "evil.example:80"},
                      {"Sec-Fetch-Site": "cross-site"}, {"X-Femtorque-Token": hand.token[:-1] + "_"},
                      {"X-Femtorque-Token": ""}):
            assert asked(GOOD, **other)[0] == 403, other
        assert asked(GOOD, path="again")[0] == 403
        assert asked(" " * (BODY + 1))[0] == 413
        status, why = asked(said(joints={"elbwo": 0.2}))
        assert status == 400 and why.startswith("page: joints = 'elbwo': no such joint; did you mean 'elbow'"), why
        assert asked('{"\\ud800": 1}')[1].startswith("page: key = '\\ud800': unknown key")
        assert not hand.take()
        assert asked(GOOD) == (204, "") and [held.joints for held in hand.take()] == [{1: 0.2}]


def test_the_page_of_a_real_board_has_a_key_and_an_address_that_others_do_not_know(fake, mechanism) -> None:
    fake.flags |= 1
    with Board.connect("any", mechanism, look=True) as board, \
            serving(board.session, 0, arm=scene(mechanism), hand=hand_of(mechanism, key=True)) as url, \
            urllib.request.urlopen(url, timeout=HANG) as answer:
        assert 'id="hand-key"' in answer.read().decode()
        for other in (url.rpartition("/")[0] + "/", url[:-1]):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(other, timeout=HANG)


def test_a_real_board_is_moved_by_a_page_only_where_that_was_asked_for(here, fake) -> None:
    fake.flags |= 1
    shown = here("teleop", "mechanisms/three_link.toml", "--port", "any", "--web", "0")
    assert shown.returncode == 1 and shown.stderr.count("\n") == 1 and "only with --real" in shown.stderr, shown.stderr
    assert fake.state == "DISARMED"
    shown = here("teleop", "mechanisms/three_link.toml", "--port", "any", "--real")
    assert shown.returncode == 2 and "goes with --web" in shown.stderr, shown.stderr
