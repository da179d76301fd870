"""The tour of docs/live.md, typed into a terminal: its lines as they stand there."""

from __future__ import annotations

import json
import re

import pytest

from femtorque.codegen.common.errors import BadInput
from femtorque.commands import live
from tests.conftest import ROOT
from tests.support.terminal import CTRL_C, terminal

PAGE = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
LINES = re.findall(r"^    (femtorque .*|python3 -c (?:.|\n)*?--from stdin)$", PAGE, re.MULTILINE)


@pytest.mark.bench
def test_the_tour_of_the_page_is_typed_beside_a_board_that_is_served(tmp_path) -> None:
    (ROOT / "build").mkdir(exist_ok=True)
    for name in ("mechanisms", "build"):
        (tmp_path / name).symlink_to(ROOT / name)
    serve, home, follow, pipe, *_ = LINES
    with terminal(tmp_path) as board, terminal(tmp_path) as host:
        board.begin(serve.replace("5555", "0"))
        board.until("socket://")
        port = f"socket://{board.until(chr(10)).strip()}"
        for line in (home, follow):
            status, shown = host.type(line.replace("socket://localhost:5555", port))
            assert status == 0, shown
        assert re.search(r"91 targets; \d+ late, \d+ lost, 0 refused, delay \d+ ms", shown), shown
        script = re.sub(r"^    ", "", pipe.replace("socket://localhost:5555", port), flags=re.MULTILINE)
        (tmp_path / "pipe.sh").write_text(script + "\n", encoding="utf-8")
        status, shown = host.type("bash pipe.sh")
        assert status == 0 and "100 targets" in shown, shown
        board.keys(CTRL_C)


@pytest.mark.parametrize("source", ["udp:", "udp:0", "udp:99999", "udp:x"])
def test_a_port_that_is_none_is_refused(source) -> None:
    with pytest.raises(BadInput, match="must be udp:PORT"):
        live._number(source)


def test_a_file_is_followed_and_its_answer_counts(here, fake, tmp_path) -> None:
    fake.flags |= 1
    shown = here("follow", "mechanisms/three_link.toml", "--port", "any", "--from", "mechanisms/three_link.csv",
                 "--hz", "20", "--log", tmp_path / "run.mcap", "--json")
    assert shown.returncode == 0, shown.stderr
    data = json.loads(shown.stdout)
    assert data["targets"] == 61 and data["bad_lines"] == 0 and data["status"]["late"] == 1
    assert (tmp_path / "run.mcap").exists()


LEADER = ("--leader", "mechanisms/three_link.toml")


@pytest.mark.parametrize("arguments, rule", [
    (LEADER, "--leader-port: is needed"), ((), "keys need a terminal"),
    ((*LEADER, "--leader-port", "any", "--scale", "elbow"), "JOINT=VALUE"),
    ((*LEADER, "--leader-port", "any", "--offset", "elbow=x"), "must be a number"),
    ((*LEADER, "--leader-port", "any", "--lead", "elbow=elbwo"), "no such joint of the arm that leads"),
    (("--tip", "hnad"), "did you mean 'hand'"),
])
def test_a_leader_or_keys_that_cannot_be_are_refused_in_one_line(here, fake, arguments, rule) -> None:
    fake.flags |= 1
    shown = here("teleop", "mechanisms/three_link.toml", "--port", "any", *arguments)
    assert shown.returncode in (1, 2) and shown.stderr.count("\n") == 1 and rule in shown.stderr, shown.stderr
