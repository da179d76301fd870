"""Joints far beyond half a turn on the virtual board: the planned motion is the one that moves, is reported and is
logged."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism.reader import load_mechanism
from femtorque.codegen.motion.trajectory import Trajectory
from femtorque.hil.play.run import Result, run
from femtorque.host.plan import plan
from femtorque.host.record import log as logs
from tests.support.suite import ROOT

START = np.array([4.0, -11.0, 3.5 * np.pi])  # rad: the first joint like a UR5's, the last one turns without end
END = np.array([-5.0, 12.5, 9.5 * np.pi])  # three whole turns further


def mechanism():
    """The three-link arm in the plane of its axes' normals, with limits of two turns, of four, and none."""
    arm = load_mechanism(ROOT / "mechanisms" / "three_link.toml")
    limits = (2.0 * np.pi, 8.0 * np.pi, np.inf)
    return replace(arm, name="three-link-turning", joints=tuple(
        replace(j, start=float(start), type="revolute" if np.isfinite(most) else "continuous",
                limits=replace(j.limits, lower=-most, upper=most, acceleration=20.0))
        for j, start, most in zip(arm.joints, START, limits, strict=True)))


@pytest.fixture(scope="module")
def turned(tmp_path_factory) -> tuple[Trajectory, Result, logs.Run, list[dict[str, str]]]:
    folder, arm = tmp_path_factory.mktemp("turns"), mechanism()
    motion = plan.straight(arm, START, END, 0.6)
    result = run(arm, motion, out=ROOT / "build" / arm.name, log=folder / "run.mcap")
    with (folder / "run.status.csv").open() as file:
        rows = list(csv.DictReader(file))
    return motion, result, logs.read(folder / "run.mcap"), rows


def test_a_motion_of_many_turns_is_played_to_its_end(turned):
    motion, result, _, _ = turned
    assert result.good, (result.ended, result.faults)
    assert result.bit_identical
    np.testing.assert_allclose(result.target_positions[result.moving][[0, -1]], [START, END], atol=2e-3)
    np.testing.assert_allclose(result.record.q[result.moving][-1], END, atol=5e-3)
    assert result.tracking_max.max() < 0.02


def test_what_is_told_and_logged_counts_turns(turned):
    motion, _, seen, rows = turned
    moving = np.array(seen.state) == "TRACK"
    t = seen.t[moving] - seen.t[moving][0]
    early, late = motion.at(np.maximum(t - 0.02, 0.0))[0], motion.at(np.minimum(t + 0.02, motion.duration))[0]
    assert np.all(seen.target[moving] >= np.minimum(early, late) - 1e-6)
    assert np.all(seen.target[moving] <= np.maximum(early, late) + 1e-6)
    assert np.abs(seen.error[moving]).max() < 0.02
    ends = {name: (float(rows[first][f"{name}.position"]), float(rows[-1][f"{name}.position"]))
            for first in [next(i for i, row in enumerate(rows) if row["state_name"] == "HOLD")] for name in seen.joints}
    np.testing.assert_allclose(np.array(list(ends.values())).T, [START, END], atol=5e-3)
