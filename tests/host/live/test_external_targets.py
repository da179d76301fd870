"""Tests targets of other programs, with valid and invalid lines."""

import io
import re
import socket

import numpy as np
import pytest

from femtorque import Board, Mechanism, Trajectory
from femtorque.codegen.common import BadInput
from femtorque.codegen.wire import from_wire, messages
from femtorque.host.link import Bound
from femtorque.host.live.external_targets import WAITING, Pipe, Port, relay, replay, udp
from tests.support.rig import ROOT
from tests.support.suite import until


class Given:
    """Lines, one at each poll."""

    def __init__(self, *lines: str) -> None:
        self.left = list(lines)

    def poll(self) -> list[str]:
        return [self.left.pop(0)] if self.left else []

    @property
    def ended(self) -> bool:
        return not self.left


@pytest.fixture
def arm():
    return Mechanism.load(ROOT / "mechanisms" / "three_link.toml")


@pytest.fixture
def following(fake, arm):
    with Board.connect("any", arm) as board:
        board.home([0.0, 0.0, 0.0])
        with board.follow() as f:
            yield f


def sent(fake) -> list[list[float]]:
    return [np.round(from_wire(m.position, fake.conf.joints), 6).tolist() for _, m in fake.targets
            if not m.flags & messages.TARGET_END]


def test_each_kind_of_line_is_a_target(fake, following) -> None:
    lines = ("0.1, 0.2, 0.3\n", "0.4 0.5 0.6", '{"q": [0.7, 0.8, 0.9], "v": [1, 2, 3], "t": 2.5}', "\n",
             '{"q": {"elbow": -0.1}}', '{"times": [0.0, 0.1], "Q": [[0, 0, 0], [0.1, 0.1, 0.1]]}')
    done = relay(following, Given(*lines), lambda: False)
    following.wait(0.01)
    assert (done.targets, done.bad) == (5, 0)
    assert sent(fake) == [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9], [0.7, -0.1, 0.9], [0.0, 0.0, 0.0],
                          [0.1, 0.1, 0.1]]
    assert fake.targets[2][1].stamp == 2_500_000 and tuple(fake.targets[2][1].rate) == (1.0, 2.0, 3.0)


BAD = {
    "0.1 0.2": r"must be \(3,\)", "up": "must be numbers", "{": "is not JSON", '{"p": 1}': "unknown key",
    '{"v": [1, 2, 3]}': "q is missing", '{"q": [NaN, 0, 0]}': "must be finite", '{"q": "abc"}': "are no numbers",
    '{"q": {"elbwo": 1}}': "did you mean 'elbow'", '{"times": [0.0]}': "Q is missing",
    '{"q": null}': "no numbers|must be", '{"q": [0, 0, 0], "v": [1e39, 0, 0]}': "of shoulder must be at most 3.4",
    '{"q": [0, 0, 0], "t": 1e308}': "must be a number of seconds", f'{{"q": [{"9" * 400}, 0, 0]}}': "are no numbers",
    f'{{"q": {{"elbow": {"9" * 400}}}}}': "are no numbers", '{"times": [0], "Q": [[0, 0, 0]], "V": [[1e300, 0, 0]]}':
    "of shoulder must be at most", f'{{"times": [{"9" * 400}], "Q": [[0, 0, 0]]}}': "are no numbers",
    "[" * 10_000: "must be numbers", '{"q": ' + "[" * 10_000: "is not JSON",
}


@pytest.mark.parametrize("line", BAD, ids=range(len(BAD)))
def test_a_line_that_is_no_target_is_counted_and_told_in_one_line(fake, following, line) -> None:
    done = relay(following, Given(line, "0.1 0.2 0.3", line), lambda: False)
    following.wait(0.01)
    assert (done.targets, done.bad) == (1, 2) and sent(fake) == [[0.1, 0.2, 0.3]]
    assert re.search(BAD[line], done.first) and "\n" not in done.first and len(done.first) < 400


class AtOnce(Given):
    """A source of lines that returns all lines at the first poll."""

    def poll(self) -> list[str]:
        found, self.left = self.left, []
        return found


def test_of_places_that_come_at_once_the_last_one_is_sent_and_those_with_a_time_all_are(fake, following) -> None:
    done = relay(following, AtOnce("1 0 0", '{"q": [0.2, 0, 0], "t": 1.0}', '{"q": {"elbow": 0.4}}', "0.1 0.2",
                                   "0.3 0 0", '{"q": [0.4, 0, 0], "t": 1.1}', '{"q": [0, 0, 0], "v": [1e39, 0, 0]}'),
                 lambda: False)
    following.wait(0.06)
    assert sent(fake) == [[0.2, 0.0, 0.0], [0.2, 0.4, 0.0], [0.3, 0.0, 0.0], [0.4, 0.0, 0.0]]
    assert (done.targets, done.bad, following.status.left_out) == (5, 2, 1)


def test_a_motion_is_sent_with_its_velocities_at_a_rate(fake, arm, following) -> None:
    motion = Trajectory.load(ROOT / "mechanisms" / "three_link.csv", arm)
    done = replay(following, motion, 20.0, lambda: False)
    following.wait(0.01)
    q, v, _ = motion.at(np.arange(done.targets) / 20.0)
    np.testing.assert_allclose(sent(fake), q, atol=1e-6)
    assert done.targets == round(20.0 * motion.duration) + 1
    np.testing.assert_allclose(fake.targets[5][1].rate, v[5], atol=1e-6)
    assert set(np.diff([m.stamp for _, m in fake.targets[:50]]).tolist()) <= {49_999, 50_000, 50_001}


def test_a_pipe_ends_with_its_stream() -> None:
    pipe, found = Pipe(io.StringIO("1\n2\n")), []
    while not pipe.ended or found[-1:] != ["2\n"]:
        found += pipe.poll()
    assert found == ["1\n", "2\n"]


@pytest.mark.parametrize("family", ["udp", "unix"])
def test_a_port_takes_datagrams_of_this_machine_and_never_waits(family, tmp_path) -> None:
    opened = udp(0) if family == "udp" else Bound(f"unix:{tmp_path}/targets", socket.SOCK_DGRAM, "--from")
    with Port(opened) as port, socket.socket(opened.family, socket.SOCK_DGRAM) as sender:
        sender.connect(opened.getsockname())
        assert port.poll() == [] and not port.ended
        for text in ("0.1 0.2", "\xff"):
            sender.send(text.encode("latin-1"))
        until(lambda: len(port._waiting) == 2)
        assert port.poll()[0] == "0.1 0.2"
        for k in range(3 * WAITING):  # while nobody polls
            sender.send(str(k).encode())
            if k % 100 == 99:  # a busy operating system may drop further datagrams
                until(lambda: port._waiting and port._waiting[-1] == str(k).encode())  # noqa: B023
        assert port.poll() == [str(k) for k in range(2 * WAITING, 3 * WAITING)]
        if family == "udp":
            with pytest.raises(BadInput, match="cannot be opened"):
                udp(opened.getsockname()[1])
    assert not any(tmp_path.iterdir())
