"""What `femtorque build` says an image costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codegen import build
from codegen.errors import Refused
from codegen.mechanism import Mechanism
from codegen.trajectory import check_limits, check_streamable
from hil.measure import measure, short_motion
from tests.hil import rig

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


def test_an_image_whose_tick_does_not_fit_is_refused_with_the_cycles_it_waits_for_flash(tmp_path):
    """At 60 kHz the worst tick fits into a period as long as flash is not counted."""
    mechanism = rig.three_link()
    mechanism = replace(mechanism, control=replace(mechanism.control, rate_hz=60_000, knot_hz=200),
                        board=replace(mechanism.board, pwm_hz=60_000))
    with pytest.raises(Refused, match=r"a control tick takes \d+ cycles, \d{3,4} of them waiting for flash, and a "
                                      r"control period has 2800"):
        measure(mechanism, build.build(mechanism, tmp_path))
