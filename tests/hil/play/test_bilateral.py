"""Two virtual arms with force feedback between them. A hand moves one arm, and a wall stops the other arm."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.mechanism import Contact, Gains, Mechanism
from femtorque.codegen.mechanism.description import Feel
from femtorque.codegen.toolchain import platformio
from femtorque.commands import live
from femtorque.hil.board import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play.connect import session_with
from femtorque.host.board import Board
from femtorque.host.link import Errors
from femtorque.host.live import Coupling
from femtorque.host.live.bilateral import HZ, Pair, couple
from femtorque.host.live.teleop import Leading
from tests.support.rig import ROOT, arm, three_link

FILE = ROOT / "mechanisms" / "three_link.toml"
SOFT = 0.25  # fraction of the stiffness in the file
CONTACTS = (0.13, 0.054, 0.012)  # N m
WALL = 0.25  # angle from the start pose, at the follower's shoulder, rad
HAND = 20.0 * np.array([1.0, 0.2, 0.05])  # N m/rad
SHOULDER = 0
COUPLING = Coupling(Leading((0,), np.ones(1), np.zeros(1)), *np.zeros((6, 1)))


def feels(share: float = SOFT, reaction: str = "none") -> Mechanism:
    """Return the three-link arm with [feel] and a fraction of its stiffness. The chosen thresholds are sometimes below
    the encoders' noise; a hand would notice little of the default ones, at six times the noise."""
    it = three_link()
    joints = tuple(replace(j, gains=Gains(j.gains.ku * share, j.gains.kv * share**0.5, j.gains.ki), contact=Contact(c))
                   for j, c in zip(it.joints, CONTACTS, strict=True))
    return replace(it, name=f"three_link_pair_{100 * share:.0f}", joints=joints, feel=Feel(reaction, 8.0))


class Together:
    """A host's clock that runs several virtual boards."""

    def __init__(self, boards: list[VirtualBoard]) -> None:
        self.boards = boards

    def now(self) -> float:
        return self.boards[0].seconds

    def sleep(self, seconds: float) -> None:
        for board in self.boards:
            board.run(seconds)


@contextmanager
def two(mechanism: Mechanism) -> Iterator[list[Board]]:
    """Yield a leader and a follower in HOLD, at rest at their start poses."""
    elf = platformio.build_image(mechanism, ROOT / "build" / mechanism.name).elf
    with VirtualBoard(elf, mechanism, Plant(mechanism)) as one, VirtualBoard(elf, mechanism, Plant(mechanism)) as other:
        clock = Together([one, other])
        sessions = [session_with(board, clock=clock) for board in clock.boards]
        try:
            for board, session in zip(clock.boards, sessions, strict=True):
                board.brakes = True
                session.connect()
                arm(board, session)
                board.brakes = False
            for _ in range(100):
                clock.sleep(0.01)
                for session in sessions:
                    session.pump()
            yield [Board(session, mechanism) for session in sessions]
        finally:
            for session in sessions:
                session.link.close()


def plants(boards: list[Board]) -> list[Plant]:
    return [board.plant for board in boards[0].session.clock.boards]


def same(mechanism: Mechanism) -> Leading:
    return Leading.of(mechanism, mechanism, {}, {}, {})


def test_the_loop_is_stable_at_every_delay_and_gain() -> None:
    """Nyquist's criterion at all frequencies, for several delays, with one arm or no arm held."""
    rng = np.random.default_rng(4)
    w = np.geomspace(1e-3, 1e4, 4000)
    for _ in range(200):
        k, kv, d = 10.0 ** rng.uniform([0.0, -3.0, -2.5], [4.0, 2.0, 0.0])
        share, sooner = rng.uniform(0.0, 1.0, 2)
        b = replace(COUPLING, stiffness=np.array([k]), damping=np.array([kv])).drag(d)[0]
        late = share * np.exp(-1j * w * d) + (1.0 - share) * np.exp(-1j * w * d * sooner)
        loop = (k + 1j * w * kv) / (1j * w * b) * late
        assert np.abs(1.0 + loop).min() > 0.4  # distance from -1
        assert np.ptp(np.unwrap(np.angle(1.0 + loop))) < np.pi, "the curve goes round -1"




def test_the_hand_feels_the_wall_that_the_other_arm_touches() -> None:
    mechanism = feels()
    with two(mechanism) as boards:
        leader, follower = plants(boards)
        begin = leader.q.copy()
        goal = begin.copy()
        leader.hand = lambda plant: HAND * (goal - plant.q)
        with boards[0].follow() as first, boards[1].follow() as second:
            pair = Pair(Coupling.of(mechanism, mechanism, same(mechanism)), first, second, (mechanism, mechanism))
            assert pair.measure()
            assert "shoulder" in pair.words() and "too much" not in pair.words()

            def wall(plant: Plant) -> np.ndarray:
                inside = plant.q[SHOULDER] - begin[SHOULDER] - WALL
                return np.array([-2000.0 * inside - 20.0 * plant.v[SHOULDER] if inside > 0.0 else 0.0, 0.0, 0.0])

            follower.hand = wall
            start, seen, behind = first.session.clock.now(), [], Errors(3)

            def over() -> bool:
                t = first.session.clock.now() - start
                goal[SHOULDER] = begin[SHOULDER] + 0.5 * min(t / 2.0, 1.0)
                seen.append((t, *(plant.q[SHOULDER] - begin[SHOULDER] for plant in (leader, follower)),
                             (HAND * (goal - leader.q))[SHOULDER], wall(follower)[SHOULDER]))
                return t > 5.0

            sent = couple(pair, over, behind)
    t, led, own, hand, wall = np.array(seen).T
    free, pressed = t < 1.0, t > 3.5
    print(f"free: {np.abs(led - own)[free].max():.3f} rad apart; pressed: {led[-1]:.3f} and {own[-1]:.3f} rad, hand "
          f"{hand[pressed].mean():.3f}, wall {wall[pressed].mean():.3f} N m, "
          f"swing {1e3 * np.ptp(led[pressed]):.1f} mrad")
    assert sent == pytest.approx(HZ * 6.0, rel=0.02)
    assert own.max() < WALL + 0.003, "the wall holds it"
    assert np.ptp(led[pressed]) < 0.01, "no oscillation at the wall"
    assert -wall[pressed].mean() == pytest.approx(hand[pressed].mean(), rel=0.25) and hand[pressed].min() > 0.5
    assert np.all(np.diff(led[pressed]) < 0.002), "the leader does not go on"


def test_the_measured_delay_is_no_shorter_than_the_true_delay() -> None:
    mechanism = feels()
    with two(mechanism) as boards:
        leader, follower = plants(boards)
        with boards[0].follow() as first, boards[1].follow() as second:
            pair = Pair(Coupling.of(mechanism, mechanism, same(mechanism)), first, second, (mechanism, mechanism))
            assert pair.measure()
            measured, begin = pair.delay, follower.q[SHOULDER]
            leader.hand = lambda plant: np.array([1.5, 0.0, 0.0])
            since = first.session.clock.now()
            while abs(follower.q[SHOULDER] - begin) < 1e-3:  # the other arm responds to the push
                pair.step()
            took = first.session.clock.now() - since
            leader.hand = lambda plant: np.zeros(3)
            for _ in range(20):  # no targets come until both arms are at rest; the arms follow the next targets again
                for f in (first, second):
                    f.wait(0.05)
            assert not any(f.session.in_state("FOLLOW") for f in (first, second))
            for _ in range(200):
                pair.step()
            assert pair.delay == pytest.approx(measured, rel=0.2)
    print(f"measured {1e3 * measured:.0f} ms, took {1e3 * took:.0f} ms")
    assert 0.5 * measured < took < 1.2 * measured  # the follower moves by 1 mrad only after some of this time


@pytest.mark.parametrize("share, said", [(SOFT, "delay "), (1.0, "without force feedback: delay ")])
def test_the_command_line_couples_two_arms_or_says_why_not(share, said, monkeypatch, capsys) -> None:
    """Guiding a stiff arm by its forces needs too much force. The command then guides it as without --feel."""
    mechanism = feels(share)
    with two(mechanism) as boards:
        monkeypatch.setattr("femtorque.codegen.mechanism.load_mechanism", lambda path: mechanism)
        monkeypatch.setattr(Board, "connect", lambda port, mechanism: boards[int(port)])
        leader, follower = plants(boards)
        begin = leader.q.copy()
        leader.hand = lambda plant: HAND * (begin + 0.1 - plant.q)
        answer = live.teleop(FILE, "1", leader=FILE, leader_port="0", feel=True, seconds=3.0)
        assert capsys.readouterr().err.startswith(said)
        assert answer.data["targets"] > 100
        assert np.abs(follower.q - begin)[SHOULDER] > 0.02, "the follower was led"
        assert [board.session.in_state("DISARMED") for board in boards] == [True, True]


def test_an_arm_that_feels_nothing_or_reacts_by_itself_is_refused() -> None:
    mechanism = feels()
    for other in (three_link(), feels(reaction="stop")):
        for arms in ((mechanism, other), (other, mechanism)):
            with pytest.raises(Refused, match="needs a \\[feel\\] table with reaction"):
                Coupling.of(*arms, same(mechanism))
    twice = Leading.of(mechanism, mechanism, {}, {}, {"wrist": "elbow"})
    with pytest.raises(Refused, match="elbow leads elbow and wrist: where arms feel each other, a joint leads one"):
        Coupling.of(mechanism, mechanism, twice)
    with pytest.raises(BadInput, match="--feel.*goes with --leader"):
        live.teleop(FILE, "1", feel=True)
