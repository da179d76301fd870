"""Closed mechanisms with an ideal board. Feed-forward with the loop's constraint force is compared with PD, and with PD
and the torques of Isobe's Eq. 16.

The inverse model and the plant share only the mechanism file.
"""

import numpy as np
import pytest

from femtorque.hil.scenarios.closed_loops import example
from femtorque.hil.scenarios.ideal_board import track

BETTER = 50.0  # minimum ratio of the rms errors of PD and of PD + lambda


@pytest.mark.parametrize("name", ["four_bar", "five_bar_3", "palletizer"])
def test_with_the_force_at_the_cut_an_ideal_board_is_fifty_times_better_than_pd(name: str) -> None:
    mechanism, motion = example(name, brief=True)
    assert motion.starts_at_rest and motion.ends_at_rest
    pd, forward = (track(mechanism, motion, how) for how in ("PD", "PD + lambda"))
    assert np.all(pd > BETTER * forward)
    assert np.all(forward < 2e-6)


def test_the_bare_partition_is_worse_than_no_feedforward_on_a_four_bar() -> None:
    mechanism, motion = example("four_bar", brief=True)
    pd, partition = (track(mechanism, motion, how) for how in ("PD", "PD + partition"))
    assert partition[0] > pd[0]
