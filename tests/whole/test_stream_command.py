"""Tests `femtorque stream` as a user runs it. Ctrl-C and terminals use a process and a socket."""

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from femtorque import Board
from femtorque.codegen.common import Refused
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import Trajectory, knots
from femtorque.codegen.wire import from_wire, messages, to_wire
from femtorque.host.link import Configuration, link
from femtorque.host.live import external_targets
from femtorque.host.record import log as logs
from tests.support.fake_board import FakeBoard, ManualClock
from tests.support.suite import HANG

ROOT = Path(__file__).resolve().parents[2]
MECHANISM = ROOT / "mechanisms" / "three_link.toml"


@pytest.fixture(scope="module")
def mechanism():
    return load_mechanism(MECHANISM)


@pytest.fixture
def short(mechanism, tmp_path):
    return there(tmp_path / "short.csv", mechanism, 0.4, 0.1)


PORT = "/dev/ttyUSB7"


def write_csv(path, mechanism, t, q):
    rows = [",".join(["t", *(j.name for j in mechanism.moving)])]
    rows += [",".join(f"{x:.9g}" for x in (a, *b)) for a, b in zip(t, q, strict=True)]
    path.write_text("\n".join(rows) + "\n")
    return path


def there(path, mechanism, seconds, reach, rows=11):
    """Write a quintic in time from the start pose to `reach` rad from the start."""
    starts, s = np.array([j.start for j in mechanism.moving]), np.linspace(0.0, 1.0, rows)[:, None]
    return write_csv(path, mechanism, seconds * s[:, 0], starts + reach * (10 * s**3 - 15 * s**4 + 6 * s**5))


def to_and_fro(path, mechanism, seconds):
    starts, s = np.array([j.start for j in mechanism.moving]), np.linspace(0.0, 1.0, 31)[:, None]
    return write_csv(path, mechanism, seconds * s[:, 0], starts + 0.02 * (1 - np.cos(2 * np.pi * s)) ** 2)


def test_ctrl_c_during_packing_leaves_a_whole_log_and_no_litter(here, fake, short, tmp_path, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    run = tmp_path / "run.mcap"
    monkeypatch.setattr(logs, "_copy", pressed)
    shown = here("stream", MECHANISM, short, "--port", PORT, "--home", "--log", run)
    assert shown.returncode == 0 and "shoulder" in shown.stdout, "what the motion was is shown all the same"
    assert shown.stderr.endswith(f"{run} is whole, but not packed, and without the arm\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.mcap", "run.status.csv", "short.csv"]
    assert len(logs.read_log(run).t) > 30 and not logs.read_log(run).damage


def test_a_log_is_packed_only_when_the_arm_is_let_go(fake, short, tmp_path, monkeypatch):
    """Compressing takes longer than an armed board waits. Before, the log is complete without the arm's description."""
    run, states = tmp_path / "run.mcap", []
    pack = logs.Log.pack
    monkeypatch.setattr(logs.Log, "pack", lambda log: (states.append(fake.state), pack(log)))
    with Board.connect(PORT, MECHANISM) as board:
        board.home()
        board.stream(short, log=run)
        assert states == [] and board.state == "HOLD"
        assert len(logs.read_log(run).t) > 40 and logs.read_log(run).arm is None
        board.stream(short, approach=True, log=run)
    assert states == ["DISARMED"], "once, though it was written twice"
    assert logs.read_log(run).arm["name"] == "three-link" and len(logs.read_log(run).t) > 40


def test_a_dry_run_arms_nothing(here, fake, short):
    shown = here("stream", MECHANISM, short, "--port", PORT, "--home", "--dry-run", "--json")
    assert shown.returncode == 0 and json.loads(shown.stdout)["ended"] == "dry run"
    assert fake.commands == [0], "only HOME"
    assert 0.0 < json.loads(shown.stdout)["effort"]["torque"] < json.loads(shown.stdout)["effort"]["available"]


def test_a_fault_in_the_json_has_its_name(here, fake, short):
    fake.fail("FOLLOWING", 2)
    shown = here("stream", MECHANISM, short, "--port", PORT, "--json")
    assert json.loads(shown.stdout)["faults"] == ["FOLLOWING"]
    shown = here("stream", MECHANISM, short, "--port", PORT, "--clear", "--home", "--json")
    assert shown.returncode == 0, shown.stderr


CTRL_C, ENTER = b"\x03", b"\n"


def in_terminal(arguments, presses, tcp, seen=b""):
    """Run in a pseudo-terminal. When a condition of `presses` is true, the board's time stops. After the output has
    `seen`, Ctrl-C or the given key is pressed. Return the exit status and the output."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["COLUMNS"] = "160"
        os.chdir(ROOT)
        os.execv(sys.executable, [*tcp.command, *map(str, arguments)])
    os.set_blocking(terminal, False)
    shown, left, deadline = b"", [press if isinstance(press, tuple) else (press, CTRL_C)
                                  for press in presses], time.monotonic() + HANG
    tcp.hold = lambda: bool(left) and left[0][0](tcp.board, shown)
    while time.monotonic() < deadline:
        try:
            shown += os.read(terminal, 65536)
        except BlockingIOError:
            pass
        except OSError:
            break
        if tcp.hold() and seen in shown:
            os.write(terminal, left[0][1])
            left.pop(0)
        time.sleep(0.02)
    else:
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace")


def interrupted(tcp, arguments, when):
    """Run without a terminal. When a condition becomes true, press Ctrl-C. Return the exit status and the output."""
    pressed = threading.Event()
    tcp.hold = lambda: when() and not pressed.is_set()
    process = subprocess.Popen([*tcp.command, *map(str, arguments), "--json"], cwd=ROOT, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not when() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    pressed.set()
    output, errors = process.communicate(timeout=HANG)
    assert output, errors
    return process.returncode, json.loads(output)


def commanded(board):
    return [name for number in board.commands for name, row in messages.COMMANDS.items() if row[0] == number]


@pytest.fixture
def long(mechanism, tmp_path):
    return there(tmp_path / "long.csv", mechanism, 20.0, 1.0, rows=101)


def test_in_a_terminal_ctrl_c_holds_and_a_second_one_disarms(tcp_board, long):
    held = []

    def holding(board, shown):
        if b"holding; Enter goes on, Ctrl-C disarms" in shown and not held:
            held.append(tcp_board.clock.now())
        return held and tcp_board.clock.now() - held[0] > 0.7 and board.state == "HOLD"

    status, shown = in_terminal(
        ["stream", MECHANISM, long, "--port", tcp_board.port, "--home"],
        [lambda board, _: board.played > 20, holding], tcp_board, seen=b"TRACK")
    assert status == 1 and tcp_board.board.state == "DISARMED", shown
    assert "TRACK" in shown and "s left" in shown and "disarmed:" in shown


def test_in_a_terminal_enter_goes_on_from_a_stop(tcp_board, mechanism, tmp_path):
    motion = there(tmp_path / "m.csv", mechanism, 2.0, 0.3, rows=51)
    begins = b"holding; Enter goes on"
    status, shown = in_terminal(
        ["stream", MECHANISM, motion, "--port", tcp_board.port, "--home"],
        [lambda board, _: board.played > 50, (lambda board, shown: begins in shown and board.state == "HOLD", ENTER),
         lambda board, _: board.played > 200, (lambda board, shown: shown.count(begins) == 2, ENTER)], tcp_board)
    assert status == 0 and "done: 2.000 s" in shown and "resumed 2 times" in shown, shown[-2000:]
    assert commanded(tcp_board.board) == ["ARM", "START", "STOP", "RESUME", "STOP", "RESUME", "DISARM"]
    sent = knots(Trajectory.load(motion, mechanism), mechanism)
    np.testing.assert_array_equal([m.position for m in tcp_board.board.received], sent.position)


def test_a_loop_plays_as_often_as_asked_and_at_its_speed(here, fake, mechanism, tmp_path):
    motion = to_and_fro(tmp_path / "m.csv", mechanism, 0.6)
    shown = here("stream", MECHANISM, motion, "--port", PORT, "--home", "--loop", "3", "--speed", "2", "--json")
    assert shown.returncode == 0, shown.stderr
    told = json.loads(shown.stdout)
    assert told["rounds"] == 3 and told["duration"] == pytest.approx(0.3) and told["knots"] == 3 * 76
    sent = knots(Trajectory.load(motion, mechanism).faster(2.0), mechanism)
    np.testing.assert_array_equal([m.position for m in fake.received], np.tile(sent.position, (3, 1)))


@pytest.fixture
def endless(tmp_path, monkeypatch):
    """Return a mechanism file with a continuous wrist joint, its mechanism, and its board at any port."""
    arm = tmp_path / "endless.toml"
    text = MECHANISM.read_text()
    head, wrist = text.split('name = "wrist"\n')
    wrist = re.sub(r"lower = \S+, upper = \S+, ", "", wrist.replace('"revolute"', '"continuous"', 1), count=1)
    arm.write_text(f'{head}name = "wrist"\n{wrist}')
    made, clock = load_mechanism(arm), ManualClock()
    assert [joint.type for joint in made.streamed] == ["revolute", "revolute", "continuous"]
    board = FakeBoard(clock, Configuration.of(made))
    monkeypatch.setattr(link, "WallClock", lambda: clock)
    monkeypatch.setattr(link, "open_port", lambda port, baud: board)
    return arm, made, board


@pytest.mark.parametrize("turns", [1, -2])
def test_a_loop_of_whole_turns_turns_on(here, endless, tmp_path, turns):
    """Each round starts where the previous round ended. Between two knots there is no jump."""
    arm, made, board = endless
    motion = there(tmp_path / "m.csv", made, 2.0 * abs(turns), [0.0, 0.0, 2.0 * np.pi * turns], rows=101)
    shown = here("stream", arm, motion, "--port", PORT, "--home", "--loop", "3", "--json")
    assert shown.returncode == 0, shown.stderr
    sent = np.array([from_wire(m.position, made.streamed) for m in board.received])
    assert json.loads(shown.stdout)["rounds"] == 3
    once = sent[: len(sent) // 3]
    for number in range(3):
        own = sent[number * len(once):(number + 1) * len(once)]
        np.testing.assert_allclose(own - once, [0.0, 0.0, 2.0 * np.pi * turns * number] * np.ones_like(once),
                                   atol=1e-8)
    assert np.max(np.abs(np.diff(sent, axis=0))) < 0.05


def test_a_loop_that_lacks_a_little_of_a_turn_is_refused(here, endless, tmp_path):
    arm, made, board = endless
    way = np.zeros((2, 3)) + np.array([joint.start for joint in made.streamed])
    way[1, 2] += 2.0 * np.pi - 0.01
    motion = write_csv(tmp_path / "m.csv", made, [0.0, 4.0], way)
    shown = here("stream", arm, motion, "--port", PORT, "--home", "--loop", "2")
    assert shown.returncode == 2 and "wrist ends -0.01 from where it begins" in shown.stderr and not board.received


def test_an_endless_loop_ends_with_ctrl_c(tcp_board, mechanism, tmp_path):
    motion = to_and_fro(tmp_path / "m.csv", mechanism, 0.4)
    status, told = interrupted(tcp_board,
                               ["stream", MECHANISM, motion, "--port", tcp_board.port, "--home", "--loop", "0"],
                               lambda: len(tcp_board.board.received) >= 220)
    assert status == 1 and told["ended"] == "stopped" and told["rounds"] >= 2
    assert tcp_board.board.state == "DISARMED"


def test_a_loop_that_does_not_close_is_refused(here, fake, short):
    shown = here("stream", MECHANISM, short, "--port", PORT, "--home", "--loop", "2")
    assert shown.returncode == 2 and "shoulder ends +0.1 from where it begins; " in shown.stderr
    assert "femtorque plan --back" in shown.stderr and not fake.received


def test_the_start_is_approached_when_asked(here, fake, short, mechanism):
    away = np.array([j.start for j in mechanism.moving]) + [0.1, -0.2, 0.05]
    fake.target = to_wire(away, mechanism.moving).astype(np.int64)
    fake._flag(HOMED=True)
    shown = here("stream", MECHANISM, short, "--port", PORT)
    assert shown.returncode == 1 and "(`--approach`)" in shown.stderr and "femtorque plan --port" in shown.stderr
    assert not fake.received
    shown = here("stream", MECHANISM, short, "--port", PORT, "--approach", "--json")
    assert shown.returncode == 0, shown.stderr
    first, last = fake.received[0], fake.received[-1]
    np.testing.assert_allclose(from_wire(first.position, mechanism.moving), away, atol=1e-6)
    np.testing.assert_array_equal(last.position, knots(Trajectory.load(short, mechanism), mechanism).position[-1])
    assert max(np.max(np.abs(m.rate)) for m in fake.received[:-102]) < 1.2, "slowly"


@pytest.mark.parametrize("beyond, status", [(2e-4, 0), (0.1, 1)])
def test_an_approach_may_begin_at_a_stop_but_not_far_outside_the_limits(here, fake, short, mechanism, beyond, status):
    away = np.array([j.start for j in mechanism.moving])
    away[1] = mechanism.moving[1].limits.upper + beyond
    fake.target = to_wire(away, mechanism.moving).astype(np.int64)
    fake._flag(HOMED=True)
    shown = here("stream", MECHANISM, short, "--port", PORT, "--approach")
    assert shown.returncode == status, shown.stderr
    assert ("outside its limits" in shown.stderr) == bool(status)


def test_a_plan_begins_where_the_arm_of_a_board_stands(here, fake, mechanism, tmp_path):
    away = np.array([j.start for j in mechanism.moving]) + [0.1, -0.2, 0.05]
    fake.target = to_wire(away, mechanism.moving).astype(np.int64)
    (tmp_path / "w.csv").write_text("shoulder\n0.5\n")
    shown = here("plan", MECHANISM, tmp_path / "w.csv", "-o", tmp_path / "m.csv", "--port", PORT)
    assert shown.returncode == 0, shown.stderr
    motion = Trajectory.load(tmp_path / "m.csv", mechanism)
    np.testing.assert_allclose(motion.positions[[0, -1]], [away, [0.5, *away[1:]]], atol=1e-6)


def test_without_a_terminal_ctrl_c_stops_and_then_disarms(tcp_board, long):
    status, told = interrupted(tcp_board, ["stream", MECHANISM, long, "--port", tcp_board.port, "--home"],
                               lambda: tcp_board.board.played >= 20)
    assert status == 1 and told["ended"] == "stopped" and tcp_board.board.state == "DISARMED"
    assert commanded(tcp_board.board) == ["ARM", "START", "STOP", "DISARM"]


def test_a_verb_that_fails_unexpectedly_leaves_the_arm_held_and_says_where_its_trace_is(fake, here, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(external_targets, "relay", lambda *_, **__: 1 / 0)
    shown = here("follow", MECHANISM, "--port", PORT, "--home", "--from", "stdin")
    assert shown.returncode == 1 and fake.state == "HOLD"
    assert re.search(r"unexpected ZeroDivisionError.*the traceback is in /\S+; \S+: the arm is held", shown.stderr)
    assert shown.stderr.count("\n") == 1


def test_without_a_mechanism_a_board_can_only_be_looked_at(fake):
    with Board.connect(PORT) as board:
        assert board.session.configuration.name == "three-link" and len(board.positions) == 3
        with pytest.raises(Refused, match="connected without a mechanism, to look only"):
            board.stream(ROOT / "mechanisms" / "three_link.csv")
