"""The verb `board`, in a process of its own, and its port."""

import fcntl
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import load_mechanism
from femtorque.command_line import main
from femtorque.commands.answer import warn_of_open_loop
from femtorque.hil.board.terminal_port import TerminalPort
from tests.support.bus_arm import ARM
from tests.support.suite import HANG

# The board's second process waits for 7 s instead of 20 ms, since a busy computer delays ticks. Its pause is an eighth
# of this time, and must be less than a second.
BOARD = """
import sys
from femtorque.codegen.emit import pc_header
from femtorque import main
pc_header.GUARD_S = 7.0
main(["board", *sys.argv[1:]])
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    text = ARM.read_text(encoding="utf-8")
    for was, becomes in (('use = "f405rg-4"', 'use = "pc"'), ("rate_hz = 1000", "rate_hz = 200"),
                         ("knot_hz = 100", "knot_hz = 50"),
                         ('kind = "can"', 'kind = "can"\ndelay = 1e-3\njitter = 1e-3')):
        assert was in text
        text = text.replace(was, becomes)
    path = tmp_path / "arm.toml"
    path.write_text(text, encoding="utf-8")
    return path


def started(file: Path, *options: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", BOARD, str(file), *options], cwd=file.parent, stderr=subprocess.PIPE,
                            text=True)


def test_the_board_says_what_it_cannot_promise_serves_its_user_and_ends_with_ctrl_c(file, monkeypatch, here, patient):
    (runtime := file.parent / "run").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    terminal = TerminalPort()
    bus = f"can1=slcan:{terminal.url}"
    with started(file, "--bus", bus) as board:
        lines = []
        while not lines or not lines[-1].endswith("ready\n"):
            lines.append(board.stderr.readline())
            assert lines[-1], "".join(lines)
        told = "".join(lines)
        assert "no watchdog in hardware" in lines[0] and "their own time limit" in told and bus[5:] in told
        assert "real-time class" in told
        port = runtime / "femtorque" / "damiao_arm.board"
        assert stat.S_IMODE(port.stat().st_mode) == 0o600
        with started(file, "--bus", bus) as second:
            assert second.wait(HANG) == 1 and "another board serves this port" in second.stderr.read()
        for _ in range(2):  # one host after the other
            asked = here("ports", "--json")
            assert f'"port": "unix:{port}"' in asked.stdout and '"board": "pc"' in asked.stdout
        board.send_signal(signal.SIGINT)
        assert board.wait(HANG) == 0 and "missed" in board.stderr.read() and not port.exists()
    terminal.close()


@pytest.mark.parametrize("options, said", [
    ((), "--bus: does not say where can1 is"),
    (("--bus", "can2=can0"), "--bus = 'can2=can0': must be NAME=ADAPTER of can1; did you mean 'can1'?"),
    (("--wire", "can1=can0"), "--wire = 'can1=can0': fits no bus of the file; use --bus"),
    (("--bus", "can1=can0", "--port", "5555"), "--port = '5555': must be unix:PATH"),
    (("--bus", "can1=slcan:/dev/nope"), "there is no /dev/nope; `femtorque ports --buses` lists"),
    (("--bus", "can1=can7"), "there is no can7; `femtorque ports"),
    (("--bus", "can1=slcan:/dev/null"), "the serial port cannot be used (Inappropriate ioctl for device): /dev/null"),
])
def test_wrong_adapters_and_ports_are_refused_in_one_line(file, options, said):
    with started(file, *options) as board:
        assert board.wait(HANG) in (1, 2) and said in board.stderr.read()


def test_a_board_leaves_an_adapter_alone_that_another_board_uses(file):
    terminal = TerminalPort()
    with socket.socket(socket.AF_UNIX) as other, open(terminal.url, "rb") as theirs:
        other.bind(b"\0femtorque lo".ljust(108, b"\0"))
        fcntl.flock(theirs, fcntl.LOCK_EX)
        for adapter, said in (("lo", "another board uses the CAN interface: lo"),
                              (f"slcan:{terminal.url}", f"another program uses the serial port: {terminal.url}")):
            with started(file, "--bus", f"can1={adapter}") as board:
                assert board.wait(HANG) == 1 and said in board.stderr.read()
    terminal.close()


def test_a_latency_without_an_adapter_is_refused(file, capsys):
    with pytest.raises(SystemExit, match="1"):
        main(["bus", "latency", str(file), "--bus", "can1=slcan:/dev/null", "--write"])
    assert "could not be opened" in capsys.readouterr().err and "delay = 1e-3" in file.read_text(encoding="utf-8")


def test_only_a_board_without_outputs_says_that_no_joint_moves(file, capsys):
    assert warn_of_open_loop(load_mechanism(file)) == [] and capsys.readouterr().err == ""
    with pytest.raises(SystemExit, match="0"):
        main(["hil", "run", *(str(MECHANISMS / f"two_link.{suffix}") for suffix in ("toml", "csv"))])
    said = capsys.readouterr()
    assert "board compute has no outputs: it computes torques, and no joint moves" in said.err and "rms" not in said.out
