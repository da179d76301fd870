"""Closed mechanisms under an ideal board: feed-forward with the cut's force against PD alone and the bare partition.

Inverse model and plant meet here and nowhere else; their only common part is the mechanism file.
"""

import numpy as np
import pytest

from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.motion import Trajectory, from_rows
from femtorque.hil.scenarios.ideal_board import FEEDFORWARDS, track
from tests.support.closed_motions import MECHANISMS

CLOSED = {"four_bar": 0.7, "five_bar": 0.8, "five_bar_3": 0.8, "five_bar_4": 0.8, "three_rrr": 0.65,
          "palletizer": 0.9, "delta": 0.5}
BETTER = 50.0  # rms error of PD over that of PD + lambda, at least


def example(name: str, until: float | None = None) -> tuple[Mechanism, Trajectory]:
    """An example and its motion, or the motion's part up to the first pose at rest, `until` s."""
    mechanism = load_mechanism(MECHANISMS / f"{name}.toml")
    motion = Trajectory.load(MECHANISMS / f"{name}.csv", mechanism)
    if until is None:
        return mechanism, motion
    last = int(np.searchsorted(motion.times, until - 1e-9)) + 1
    parts = (part[:last] for part in (motion.times, motion.positions, motion.velocities, motion.accelerations))
    return mechanism, from_rows(motion.joints, *parts)


@pytest.mark.parametrize("name", ["four_bar", "five_bar_3", "palletizer"])
def test_with_the_force_at_the_cut_an_ideal_board_is_fifty_times_better_than_pd(name: str) -> None:
    mechanism, motion = example(name, CLOSED[name])
    assert motion.starts_at_rest and motion.ends_at_rest
    pd, forward = (track(mechanism, motion, how) for how in ("PD", "PD + lambda"))
    assert np.all(pd.rms > BETTER * forward.rms)
    assert np.all(forward.rms < 2e-6)


def test_the_bare_partition_is_worse_than_no_feedforward_on_a_four_bar() -> None:
    mechanism, motion = example("four_bar", CLOSED["four_bar"])
    pd, partition = (track(mechanism, motion, how) for how in ("PD", "PD + partition"))
    assert partition.rms[0] > pd.rms[0]


@pytest.mark.bench
def test_tracking_of_every_closed_example_under_an_ideal_board() -> None:
    print(f"\n{'rms error, rad':16}" + "".join(f"{how:>42}" for how in FEEDFORWARDS))
    for name in CLOSED:
        mechanism, motion = example(name)
        rms = {how: track(mechanism, motion, how).rms for how in FEEDFORWARDS}
        print(f"{name:16}" + "".join(f"{' '.join(f'{x:.1e}' for x in rms[how]):>42}" for how in FEEDFORWARDS))
        assert np.all(rms["PD"] > BETTER * rms["PD + lambda"])
