"""The application with closed loops: streaming the actuated joints, singular poses, arming where loops are closed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from codegen import messages
from codegen.codec import Knot
from codegen.compiled import CompiledStep
from codegen.loops import assemble
from codegen.mechanism import Mechanism
from codegen.model import Model
from codegen.trajectory import Trajectory, knots
from tests.firmware.app import App, replace

MECHANISMS = Path(__file__).parents[2] / "mechanisms"


@cache
def four_bar() -> Mechanism:
    return Mechanism.load(MECHANISMS / "four_bar.toml")


def motion(name: str = "four_bar") -> Trajectory:
    return Trajectory.load(MECHANISMS / f"{name}.csv", four_bar())


def play(app: App, name: str) -> np.ndarray:
    """Stream a motion from HOLD and play it to its end, or to a fault. Returns the telemetry."""
    trajectory = motion(name)
    all_knots, records = knots(trajectory, app.mechanism), []
    sent, first = 0, app.see().ack

    def fill(sent: int) -> int:
        room = min(app.see().credit, len(all_knots) - sent, 60)
        for i in range(sent, sent + room):
            flags = messages.KNOT_START * (i == 0) | messages.KNOT_END * (i == len(all_knots) - 1)
            app.send(Knot(flags, *(x[i].tolist() for x in (all_knots.position, all_knots.rate, all_knots.acceleration))),
                     seq=first + i)
            if i % 16 == 15:
                app.lib.ft_app_idle()
        for _ in range(4):
            app.lib.ft_app_idle()
        return sent + room

    while sent < min(120, len(all_knots)):
        sent = fill(sent)
    begin = len(app.trace)
    assert app.command("START") == "NONE"
    for _ in range(round(trajectory.duration * 10) + 3):
        sent = fill(sent)
        app.run(80)
    records = app.trace[begin:]
    return np.concatenate(records)


def test_that_the_actuated_joint_alone_is_streamed_and_fed_forward() -> None:
    app, played = App(four_bar()), motion()
    assert app.J == 1
    app.ready()
    record = play(app, "four_bar")
    assert app.status.fault == 0 and app.status.flags & messages.FLAGS["ENDED"][0]
    model = Model.of(four_bar())
    expected = CompiledStep(model).torque(played.middles(round(played.duration * 1000), model.dt))[:, 0]
    found = record["torque_ff"][:, 0]
    # the motion somewhere in the record, tick for tick
    shifts = [np.abs(found[k:k + len(expected)] - expected).max() for k in range(len(found) - len(expected) + 1)]
    assert min(shifts) < 2e-4 * np.abs(expected).max()


def test_that_a_singular_pose_is_a_fault_with_outputs_off() -> None:
    app = App(four_bar())
    app.ready()
    record = play(app, "four_bar_singular")
    status = app.see()
    assert app.name(messages.FAULTS, status.fault) == "LOOPS_SINGULAR" and status.fault_joint == 255
    assert app.name(messages.STATES, status.state) == "FAULT" and app.chip.outputs == 0 and app.chip.duty[0] == 0.0
    # torque stays that of regular poses to the end
    assert np.isfinite(record["torque_ff"]).all() and np.abs(record["torque"]).max() <= 1.7


def test_that_arming_waits_for_the_loops() -> None:
    """Told to be half a radian from the start, the loops need some ticks to follow, a small step in each."""
    app = App(four_bar())
    start = assemble(Model.of(four_bar())).start[0]
    app.home([start + 0.3])
    app.run(40)
    assert app.command("ARM") == "NONE"


def test_that_arming_where_the_loops_cannot_close_is_refused() -> None:
    app = App(four_bar())
    end = motion("four_bar_singular").positions[-1, 0]
    app.home([end])
    app.run(400)
    assert app.command("ARM") in ("LOOPS_OPEN", "OUTSIDE_LIMITS")


def test_that_removing_the_fault_turns_its_test_red() -> None:
    broken = {"ft_app.c": replace("ft_found(&ft.found, &ft.found.parted, FT_NO_JOINT);", "(void)0;")}
    app = App(four_bar(), patches=broken)
    app.ready()
    play(app, "four_bar_singular")
    with pytest.raises(AssertionError):
        assert app.name(messages.FAULTS, app.see().fault) == "LOOPS_SINGULAR"
