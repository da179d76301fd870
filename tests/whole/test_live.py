"""The tour of docs/live.md. The tests type the page's commands into a terminal without changes."""

import io
import json
import re
import time
import urllib.request

import pytest

from tests.support.suite import HANG, ROOT, until
from tests.support.terminal import CTRL_C, PROMPT, Terminal, terminal

PAGE = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
WIDE = 300  # columns of the terminal; enough that typed lines are not wrapped
LINES = re.findall(r"^    (femtorque .*|python3 -c (?:.|\n)*?--from stdin)$", PAGE, re.MULTILINE)


@pytest.fixture
def folder(tmp_path):
    """Return a working folder with the checkout's examples and images."""
    (ROOT / "build").mkdir(exist_ok=True)
    for name in ("mechanisms", "build"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def served(board: Terminal, line: str) -> str:
    """Run a command of the page that serves a board, at any free port. Return the address at which hosts connect."""
    board.begin(re.sub(r" --port \S+", "", line) + " --port 0")
    board.until("socket://")
    return f"socket://{board.until(chr(10)).strip()}"


def held(url: str, token: str, t: float, joints: dict[str, float]) -> int:
    """Send a message of the page. Return its status."""
    request = urllib.request.Request(f"{url}hand", json.dumps({"page": "a", "t": t, "joints": joints}).encode(),
                                     {"Origin": url.rstrip("/"), "X-Femtorque-Token": token}, method="POST")
    with urllib.request.urlopen(request, timeout=HANG) as answer:
        return answer.status


@pytest.mark.bench
def test_the_tour_of_the_page_is_typed_with_served_boards(folder) -> None:
    serve, home, follow, pipe, by_keys, by_page, leader, its_home, led, _feel, taped, follow_taped, replay = LINES
    with terminal(folder, WIDE) as board, terminal(folder, WIDE) as host, terminal(folder, WIDE) as other:
        port = served(board, serve)
        for line in (home, follow):
            status, shown = host.type(line.replace("socket://localhost:5555", port))
            assert status == 0, shown
        assert re.search(r"91 targets; \d+ late, \d+ lost, \d+ refused, delay \d+ ms", shown), shown
        assert re.search(r"tracking error, rms \(most\): shoulder [\d.]+ \([\d.]+\) mrad, elbow ", shown), shown
        script = re.sub(r"^    ", "", pipe.replace("socket://localhost:5555", port), flags=re.MULTILINE)
        (folder / "pipe.sh").write_text(script + "\n", encoding="utf-8")
        status, shown = host.type("bash pipe.sh")
        assert status == 0 and "100 targets" in shown, shown

        host.begin(by_keys.replace("socket://localhost:5555", port))
        host.until("q ends")
        host.keys("w" * 5)
        time.sleep(1.0)
        host.keys("q")
        assert re.search(r"\d+ targets; ", host.until(PROMPT))

        host.begin(by_page.replace("socket://localhost:5555", port).replace("8420", "0"))
        host.until("http://")
        url = "http://" + host.until("\n").strip()
        with urllib.request.urlopen(url, timeout=HANG) as answer:
            token = re.search(r'"token": "([\w-]{40,})"', answer.read().decode())[1]
        for k in range(15):
            assert held(url, token, 0.05 * k, {"elbow": 0.3}) == 204
            time.sleep(0.05)
        host.keys(CTRL_C)
        assert re.search(r"15 targets; ", host.until(PROMPT))

        leads = served(other, leader)
        for line in (its_home, led):
            line = line.replace("socket://localhost:5555", port).replace("socket://localhost:5556", leads)
            status, shown = host.type(line)
            assert status == 0, shown
        assert re.search(r"\nbehind the leader, rms \(most\): shoulder ", shown), shown
        assert float(re.search(r"tracking error, rms \(most\): .* elbow ([\d.]+)", shown)[1]) < 20.0, shown
        for one in (board, other):
            one.keys(CTRL_C)
            one.until(PROMPT)

        board.begin(taped)
        until(lambda: (folder / "arm").is_socket())
        status, shown = host.type(follow_taped)
        assert status == 0, shown
        board.keys(CTRL_C)
        board.until(PROMPT)
        assert not (folder / "arm").exists()
        status, shown = host.type(replay)
        assert status == 0 and "the board sent the same, bit for bit" in shown, shown


@pytest.mark.parametrize("source", ["udp:", "udp:0", "udp:99999", "udp:x"])
def test_a_bad_port_is_refused(here, source) -> None:
    shown = here("follow", "mechanisms/three_link.toml", "--port", "any", "--from", source)
    assert shown.returncode == 2 and "must be a port's number, 1 to 65535, or unix:PATH" in shown.stderr


def test_a_file_is_followed_and_its_answer_counts(here, fake, tmp_path) -> None:
    fake.flags |= 1
    shown = here("follow", "mechanisms/three_link.toml", "--port", "any", "--from", "mechanisms/three_link.csv",
                 "--hz", "20", "--log", tmp_path / "run.mcap", "--json")
    assert shown.returncode == 0, shown.stderr
    data = json.loads(shown.stdout)
    assert data["targets"] == 61 and data["bad_lines"] == 0 and data["status"]["late"] == 1
    assert (tmp_path / "run.mcap").exists()


LEADER = ("--leader", "mechanisms/three_link.toml")


def test_targets_in_degrees_are_named_at_the_end(here, fake, monkeypatch) -> None:
    fake.flags |= 1
    monkeypatch.setattr("sys.stdin", io.StringIO("30 0 0\n"))
    shown = here("follow", "mechanisms/three_link.toml", "--port", "any", "--from", "stdin")
    assert "beyond the limits of shoulder: 30; angles are in rad: 30 degrees are 0.5236" in shown.stdout, shown.stdout
    assert shown.stdout.endswith("\nthe motors are off now\n")


@pytest.mark.parametrize("arguments, rule", [
    (LEADER, "--leader-port: is needed"), ((), "keys need a terminal"),
    ((*LEADER, "--leader-port", "any", "--scale", "elbow"), "JOINT=VALUE"),
    ((*LEADER, "--leader-port", "any", "--offset", "elbow=x"), "must be a number"),
    ((*LEADER, "--leader-port", "any", "--lead", "elbow=elbwo"), "no such joint of the leader"),
    (("--tip", "hnad"), "did you mean 'hand'"),
])
def test_an_impossible_leader_or_keys_are_refused_in_one_line(here, fake, arguments, rule) -> None:
    fake.flags |= 1
    shown = here("teleop", "mechanisms/three_link.toml", "--port", "any", *arguments)
    assert shown.returncode in (1, 2) and shown.stderr.count("\n") == 1 and rule in shown.stderr, shown.stderr
    assert fake.state == "DISARMED"
