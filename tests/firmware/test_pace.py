"""The pace of path time is counted in integers. The slope of the pace is bounded, and the pace can always stop."""

from functools import cache

import numpy as np
import pytest

from tests.firmware.motion import Board, mechanism


@cache
def board(rate_hz):
    return Board(mechanism(rate_hz=rate_hz, knot_hz=rate_hz // 4))


def step(board, rule, half, slope):
    h, s = board.ffi.new("int32_t *", half), board.ffi.new("int32_t *", slope)
    getattr(board.lib, rule)(h, s)
    return h[0], s[0]


@pytest.mark.parametrize("rate_hz", [100, 1000, 4000, 10000])
def test_that_a_stop_from_full_pace_takes_its_time_and_no_longer(rate_hz):
    b = board(rate_hz)
    h, s, length, slopes = b.half_one, 0, 0, []
    while (h, s) != (0, 0):
        h, s = step(b, "pace_brake", h, s)
        slopes.append(s)
        length += 2 * h
    ticks = len(slopes)
    assert b.lib.pace_stop_length(b.half_one, 0) == length + 2 * b.half_one  # one tick to spare
    ramp = round(np.sqrt(b.half_one))
    assert ramp**2 == b.half_one
    assert ticks == 2 * ramp
    assert min(slopes) == -ramp
    assert 0.19 <= ticks / rate_hz <= 0.26


def test_that_a_stop_length_fits_its_32_bits_at_the_fastest_tick():
    b = board(10000)
    ramp = round(np.sqrt(b.half_one))
    assert b.lib.pace_stop_length(b.half_one - ramp**2 // 2, ramp) == 4 * b.half_one * ramp < 2**32
