"""`femtorque hil scenario`: experiments by their names, on the virtual board and on a board at a serial port."""

import json

import pytest

import femtorque
from femtorque.codegen.common import BadInput
from femtorque.hil.board import VirtualClock
from femtorque.hil.scenarios.performance import perform
from tests.hil.play.test_pil import real_board


def femtorque_hil(*arguments: str) -> int:
    """Return the exit status."""
    with pytest.raises(SystemExit) as ended:
        femtorque.main(["hil", "scenario", *arguments])
    return ended.value.code


def test_one_run_of_a_scenario_is_played_by_name(capfd):
    assert femtorque_hil("three_link", "--run", "feed-forward + PD", "--short", "--json") == 0
    said = json.loads(capfd.readouterr().out)
    assert said["scenario"] == "three_link" and said["good"] and list(said["runs"]) == ["feed-forward + PD"]
    assert said["runs"]["feed-forward + PD"]["ended"] == "done"
    assert [check["good"] for check in said["checks"]] == [True]
    assert said["left_out"] == {"feed-forward + PD against PD": "that was not played"}


def test_the_same_run_is_played_on_a_real_board():
    with real_board() as board:
        shown = perform("three_link", "feed-forward + PD", short=True, board=board.url, wall=VirtualClock(board))
    assert shown.good and len(shown.checks) == 1 and shown.results["feed-forward + PD"].bit_identical
    assert shown.lines()[1:] == ["left out  feed-forward + PD against PD: that was not played"]


def test_runs_that_a_board_cannot_play_are_named_with_the_reason():
    with pytest.raises(BadInput, match="PD.*needs an image without feed-forward"):
        perform("three_link", "PD", board="/dev/null")


@pytest.mark.parametrize(("arguments", "said"), [
    (["three_lnk"], "did you mean 'three_link'"),
    (["???"],
     "known: flexible_arm, four_bar, industrial_robot, push, three_axis, three_link, wall_contact"),
    (["three_link", "--run", "PID"], "no such run of three_link"),
    (["wall_contact"], "has nothing that can be played"),
    ([], "Missing argument 'NAME'"),
])
def test_bad_input_of_hil_scenario_gets_one_line(capfd, arguments, said):
    assert femtorque_hil(*arguments) == 2
    lines = capfd.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and said in lines[0]
