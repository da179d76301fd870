"""What `femtorque build` says an image costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from codegen import build
from codegen.mechanism import Mechanism
from codegen.trajectory import check_limits, check_streamable
from hil.measure import measure, short_motion

MECHANISMS = Path(__file__).parents[2] / "mechanisms"


def test_the_cost_of_an_image_is_that_of_its_worst_tick(tmp_path):
    mechanism = Mechanism.load(MECHANISMS / "three_link.toml")
    cost = measure(mechanism, build.build(mechanism, tmp_path))
    assert 100 < cost.instructions_step < cost.instructions_tick
    assert cost.instructions_tick_mean < cost.instructions_tick < cost.cycles_tick < cost.cycles_budget == 168_000


def test_the_short_motion_stays_within_the_limits_of_every_example():
    for path in sorted(MECHANISMS.glob("*.toml")):
        mechanism = Mechanism.load(path)
        if mechanism.loops:
            continue  # any pose of its joints is not a pose of it
        motion = short_motion(mechanism)
        check_limits(motion, mechanism)
        check_streamable(motion, mechanism)
        assert np.all(motion.positions[1] != motion.positions[0])
