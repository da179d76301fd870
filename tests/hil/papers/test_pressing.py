"""The flash image that makes the flexible arm press on a floor."""

import numpy as np
import pytest

from femtorque.hil.papers import pressing
from femtorque.hil.papers.pressing import CHANGE, STEP, Pressing, Touch
from femtorque.hil.scenarios import scenario


@pytest.fixture(scope="module")
def slide() -> Pressing:
    wall = scenario.load_scenario("wall_contact")
    assert wall.file.contact is not None
    return Pressing.of(wall.mechanism, Touch(wall.file.contact, 0.5))


def test_path_and_force_are_smooth_and_touch_when_they_should(slide):
    touch = slide.touch
    t = np.arange(0.0, touch.duration, STEP)
    x, v, a = touch.at(t)
    force, rate, change = touch.force(t)
    for value, slope in ((x, v), (v, a), (force, rate), (rate, change)):
        assert np.abs(np.gradient(value, STEP, axis=0) - slope)[1:-1].max() < 1e-3 * np.abs(slope).max()
    begin, end = touch.sliding
    on = (t >= CHANGE) & (t <= end + CHANGE)
    assert np.ptp(x[on, 1]) < 1e-12 and x[0, 1] - x[on, 1][0] == pytest.approx(pressing.ABOVE)
    assert np.all(force[~on] == 0.0) and np.all(force[(t >= begin) & (t <= end)] == pytest.approx(touch.wall.press))
