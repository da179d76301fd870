"""Tests of every scenario in full, and of every figure of the papers that `femtorque reproduce` can reproduce."""

import os
from pathlib import Path

import numpy as np
import pytest

from femtorque.codegen.toolchain import platformio
from femtorque.hil.board import VirtualBoard, VirtualClock
from femtorque.hil.papers import reproduce
from femtorque.hil.play import folder
from femtorque.hil.play.closed_loop import Idle
from femtorque.hil.scenarios import perform, scenario
from tests.hil.papers.test_reproduce import looked_at
from tests.support.browser import chromium

pytestmark = pytest.mark.bench

OUT = Path("build") / "reproduce"
MADE = [subject.name for subject in reproduce.SUBJECTS if subject.make is not None]


@pytest.fixture(scope="module")
def report() -> reproduce.Reproduction:
    return reproduce.reproduce(out=OUT, on_progress=lambda name: print(f"{os.linesep}{name}", end="", flush=True))


@pytest.mark.parametrize("name", MADE)
def test_reproduced(report, name):
    part = next(part for part in report.parts if part.subject.name == name)
    print(f"\n{name}: {part.status} in {part.seconds:.1f} s")
    for number in part.finding.numbers:
        print(f"  {number.what}: {number.found} | {number.against}")
    for table in part.finding.tables:
        print(f"  {table.title}", *("  " + "  ".join(row) for row in (table.columns, *table.rows)), sep="\n  ")
    assert not [f"{n.what}: {n.found}; {n.against}" for n in part.finding.numbers if n.good is False]


def test_the_whole_page_in_a_browser(report):
    with chromium() as browser:
        looked_at(browser, report, OUT / "reproduce.png")
    assert (OUT / "reproduce.png").stat().st_size > 300_000


@pytest.mark.parametrize("name, run", [
    ("three_axis", "feed-forward + PD"), ("four_bar", "feed-forward + PD"), ("flexible_arm", "feed-forward + PD"),
    ("industrial_robot", "start, feed-forward + PD"),
])
def test_a_scenario_is_played_on_a_real_board(name, run):
    """The port leads to a virtual board with the pil image. tests/hil/scenarios has three_link."""
    mechanism = scenario.load_scenario(name).mechanism
    elf = platformio.build_image(mechanism, folder(mechanism, True, pil=True), pil=True).elf
    with VirtualBoard(elf, mechanism, Idle(len(mechanism.streamed))) as board:
        board.recording = False
        shown = perform(name, run, short=True, board=board.url, wall=VirtualClock(board))
    assert shown.good and shown.checks


def test_feed_forward_wins_most_where_nothing_is_in_the_way():
    shown = perform("push")
    assert shown.good and len(shown.checks) == 8
    free, pushing = (shown.results[name].tracking_rms / shown.results[against].tracking_rms for name, against in (
        ("nothing in the way, feed-forward + PD", "nothing in the way, PD"), ("feed-forward + PD", "PD")))
    assert np.all(10.0 * free < pushing)
