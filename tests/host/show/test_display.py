"""Tests the terminal display of a run."""

import io

import numpy as np
import pytest
from rich.console import Console

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.wire import flag_words, messages
from femtorque.host.show.display import stream_bar, tracking_table
from femtorque.host.show.readable_units import readable
from femtorque.host.stream import Progress


@pytest.mark.parametrize("value, unit, shown", [
    (1.2, "rad", "1.2 rad"), (-0.4, "rad", "-400 mrad"), (1.51e-4, "rad", "151 µrad"), (3e-9, "m", "0.003 µm"),
    (0.0, "m", "0 m"), (0.0277, "N m", "0.0277 N m"),
])
def test_small_lengths_and_angles_are_shown_in_smaller_units(value, unit, shown):
    factor, smaller = readable(abs(value), unit)
    assert f"{value * factor:.3g} {smaller}" == shown


def test_the_table_of_errors_has_one_unit_a_joint():
    joints = load_mechanism(MECHANISMS / "three_link.toml").streamed
    file = io.StringIO()
    Console(file=file, width=100).print(tracking_table("x", joints, [1.5e-5, 2e-2, 0.0], [6e-5, 1.5, 0.0]))
    rows = {words[0]: words[1:] for words in (line.replace("│", " ").split() for line in file.getvalue().splitlines()
                                              if line.startswith("│"))}
    assert rows["shoulder"] == ["15", "60", "µrad"] and rows["elbow"] == ["0.02", "1.5", "rad"]
    assert rows["wrist"] == ["0", "0", "rad"]


def test_no_bar_is_left_of_a_motion_that_never_began():
    file = io.StringIO()
    with stream_bar(Console(file=file, force_terminal=True, width=100)):
        pass
    assert "buffer" not in file.getvalue()


def test_another_state_is_shown_at_once_and_waits_for_no_redrawing():
    file = io.StringIO()
    with stream_bar(Console(file=file, force_terminal=True, width=200)) as show:
        for state in ("TRACK", "HOLD", "TRACK"):
            before = len(file.getvalue())
            show(Progress(t=0.1, duration=2.0, state=state, buffered=40, ring=64, error=np.zeros(3), worst_gap=0.0,
                          retransmissions=0, limits=(), holding=""))
            assert state in file.getvalue()[before:] and "1.9 s left" in file.getvalue()[before:]


def test_every_flag_of_the_board_is_told_in_words():
    everything = sum(bit for bit, _ in messages.FLAGS.values())
    words = flag_words(everything).split(", ")
    assert len(words) == len(messages.FLAGS) and not any(word.isupper() for word in words)
    assert flag_words(messages.FLAGS["HOMED"][0] | messages.FLAGS["OUTPUTS"][0]) == "homed, outputs on"
