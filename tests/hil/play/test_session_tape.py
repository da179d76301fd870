"""Recordings of the bytes that hosts sent, including FOLLOW. A replay sends the same bits as the recorded run."""

import os

import numpy as np
import pytest

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.wire import Follow, Target, messages, to_wire
from femtorque.hil.plant import plant_of
from femtorque.hil.play import session_tape
from femtorque.hil.play.connect import session_with
from femtorque.host.board import Board
from tests.support import rig
from tests.support.rig import ROOT, three_link

FRAME = 20_000  # us


def powered():
    return session_tape.Sliced(rig.image(), three_link(), plant_of(three_link()))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return the recording and the ticks of a run in FOLLOW with late, missing and repeated targets."""
    path, mechanism, rng = tmp_path_factory.mktemp("tape") / "run.tape", three_link(), np.random.default_rng(4)
    start = np.array([joint.start for joint in mechanism.streamed])
    with powered() as board, session_tape.taped(board, path):
        board.brakes = True
        session = session_with(board)
        session.connect()
        with Board(session, mechanism) as host:
            host.home(start)
            host.arm()
            session.ask(Follow(0, messages.FOLLOW_AUTO, FRAME), "FOLLOW")
            begun, clock = session.clock.now(), session.clock
            sent = sorted((0.02 * k + rng.uniform(0.0, 0.03), k) for k in range(75) for _ in range(rng.integers(0, 3)))
            for at, k in sent:
                clock.sleep(max(begun + at - clock.now(), 1e-4))
                t = 0.02 * k
                q = start + [0.3 * np.sin(2.0 * t), -0.2 * t * np.sin(3.0 * t), 0.1 * np.cos(5.0 * t) - 0.1]
                session.link.send(Target(0, 0, FRAME * k, 0, to_wire(q, mechanism.streamed).tolist(), [0.0] * 3))
                session.pump()
            clock.sleep(0.5)
            session.pump()
            assert session.followed.targets > 50 and session.followed.lost > 0 and session.followed.refused > 0
        return path, board.record()


def test_targets_torques_and_all_that_the_board_says_are_the_same_in_a_replay(recorded, tmp_path):
    path, before = recorded
    again = session_tape.replay_tape(three_link(), session_tape.read_tape(path), log=tmp_path / "run.mcap",
                                     out=rig.place(),
                                     recording=True)
    after = again.record
    assert np.ptp(before.target, axis=0).min() > 1e6 and np.abs(before.torque_ff).max() > 0.1
    for name in ("tick", "target", "target_rate", "torque_ff", "torque", "position", "duty", "q", "cycles"):
        assert getattr(after, name).tobytes() == getattr(before, name).tobytes(), name
    assert again.same is True
    assert ",FOLLOW," in (tmp_path / "run.status.csv").read_text()


def test_a_target_that_comes_some_ticks_later_is_noticed(recorded, tmp_path):
    """The recording must contain the time of each target. If a target arrives later, the motion changes."""
    path, before = recorded
    head, *sent, end, _ = path.read_text().split("\n")
    told = [line.partition(" ")[2] for line in sent]
    k = next(k for k in range(len(sent) // 2, len(sent)) if told[k] not in (told[k - 1], told[k + 1]))  # comes once
    at, later = (float(line.partition(" ")[0]) for line in sent[k:k + 2])
    moved = f"{0.5 * (at + later)!r} {sent[k].partition(' ')[2]}"
    for name, lines in (("late", [*sent[:k], moved, *sent[k + 1:]]), ("lost", [*sent[:k], *sent[k + 5:]])):
        (tmp_path / name).write_text("\n".join([head, *lines, end, ""]))
        again = session_tape.replay_tape(three_link(), session_tape.read_tape(tmp_path / name), out=rig.place(),
                                         recording=True)
        assert again.same is False, name
    assert again.record.target.tobytes() != before.target.tobytes()


def test_a_recording_that_was_broken_off_is_replayed_as_far_as_it_goes(recorded, tmp_path):
    path, _ = recorded
    whole = path.read_text()
    (tmp_path / "half.tape").write_text(whole[:len(whole) // 2])
    half = session_tape.read_tape(tmp_path / "half.tape")
    assert half.answers is None and 0 < len(half.sent) < len(session_tape.read_tape(path).sent)


@pytest.mark.parametrize("text, rule", [
    ("", "is no tape"), ("hello\n", "is no tape"), (f"{session_tape.HEAD} {'0' * 63} 0\n", "is no tape"),
    (f"{session_tape.HEAD} {'0' * 64} 0\n1.0 zz\n", "line 2 = '1.0 zz': must be a time"),
    (f"{session_tape.HEAD} {'0' * 64} 0\n1.0 00\n0.5 00\n", "line 3 = '0.5 00': must be a time"),
    (f"{session_tape.HEAD} {'0' * 64} 0\nnan 00\n", "line 2"),
    (f"{session_tape.HEAD} {'0' * 64} 0\n1e9 00\n", "line 2 .* within 86400 s"),
    (f"{session_tape.HEAD} {'0' * 64} 0\nend 1e9 {'0' * 64}\n", "line 2"),
    (f"{session_tape.HEAD} {'0' * 64} 0\nend\n", "line 2"),
])
def test_a_file_that_is_no_recording_is_refused_with_its_line(tmp_path, text, rule):
    (tmp_path / "a.tape").write_text(text)
    with pytest.raises(BadInput, match=rule) as refused:
        session_tape.read_tape(tmp_path / "a.tape")
    assert "\n" not in str(refused.value)


def test_a_recording_is_a_file_of_bounded_size(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.tape")
    with pytest.raises(BadInput, match="is a pipe or a device"):
        session_tape.read_tape(tmp_path / "pipe.tape")
    (tmp_path / "a.tape").write_text("0" * 1000)
    monkeypatch.setattr(session_tape, "LARGEST", 999)
    with pytest.raises(BadInput, match="is too large"):
        session_tape.read_tape(tmp_path / "a.tape")


def test_a_recording_of_another_arm_is_refused_and_no_recording_is_overwritten(recorded, tmp_path):
    (tmp_path / "a.tape").write_text(f"{session_tape.HEAD} {'0' * 64} 0\nend 1.0 {'0' * 64}\n")
    with pytest.raises(Refused, match="is of another configuration, digest 0000000000000000"):
        session_tape.replay_tape(three_link(), session_tape.read_tape(tmp_path / "a.tape"),
                                 out=ROOT / "build" / "never")
    with powered() as board, pytest.raises(BadInput, match="cannot be written"), session_tape.taped(
            board, tmp_path / "a.tape"):
        pass
