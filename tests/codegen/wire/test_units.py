"""Tests of numbers in messages. A number that does not fit is refused with the name of its joint, and no number wraps
around."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.wire.codec import Codec
from femtorque.codegen.wire.messages import Jog, Target
from femtorque.codegen.wire.units import COUNTED, METRE_UNIT, TURN_UNIT, from_wire, to_float, to_wire
from tests.support.rig import three_link

MOST = COUNTED // 2


def joints():
    """Return a revolute, a prismatic and a revolute joint."""
    a, b, c = three_link().streamed
    return a, replace(b, type="prismatic"), c


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, 10**30, 1.01 * MOST * TURN_UNIT])
def test_a_position_that_is_no_number_or_does_not_fit_is_refused_with_joint_and_value(bad):
    with pytest.raises(BadInput, match="of wrist must be (finite|at most 205887 in size)") as refused:
        to_wire([[0.0, 0.0, 0.0], [0.0, 0.0, bad]], joints())
    assert f"{float(bad)!r}" in str(refused.value)


@pytest.mark.parametrize("bad, rule", [
    ([0.0, 0.0], r"shape \(2,\)'?: must be \(3,\)"), (0.0, "must be"), ("abc", "are no numbers"),
    ([0, 10**400, 0], "are no numbers that fit"), ([None, 0, 0], "must be finite"), ([{}, 0, 0], "are no numbers"),
    ([[0], [0, 0], 0], "are no numbers")])
def test_what_is_not_one_number_per_joint_is_refused_in_one_line(bad, rule):
    with pytest.raises(BadInput, match=rule) as refused:
        to_wire(bad, joints())
    assert "\n" not in str(refused.value)


def test_all_that_fits_is_carried_exactly():
    ends = np.array([MOST * TURN_UNIT, MOST * METRE_UNIT, -MOST * TURN_UNIT])
    assert to_wire(ends, joints()).tolist() == [MOST, MOST, -MOST]
    steps = np.random.default_rng(5).integers(-MOST, MOST, (1000, 3))
    np.testing.assert_array_equal(to_wire(from_wire(steps, joints()), joints()), steps)


def test_velocities_fit_a_float_of_the_wire():
    assert to_float([3.4e38, -1.0, 0.1], joints(), "x", "v").dtype == np.float32
    for bad in (3.5e38, -1e300, np.nan):
        with pytest.raises(BadInput, match="of shoulder must be"):
            to_float([bad, 0.0, 0.0], joints(), "x", "v")


@pytest.mark.parametrize("message", [
    Jog(0, 300, 0.1), Jog(0, -1, 0.1), Jog(0, 1, 1e39), Jog(0, 1, "x"), Jog(0, 0.5, 0.0),
    Target(0, 0, 2**32, 0, [0], [0.0]), Target(0, 0, 0, 0, [2**63], [0.0]), Target(0, 0, 0, 0, [0, 0], [0.0])])
def test_a_message_with_a_value_that_does_not_fit_its_field_is_bad_input(message):
    with pytest.raises(BadInput, match=f"{message.NAME}"):
        Codec(1).encode(message, 0)
