"""The pace of path time: whole numbers, bounded slope, always able to stop."""

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


def reachable(board):
    """Every (half, slope) that some sequence of braking and running leads to from full pace."""
    start = (board.half_one, 0)
    seen, front = {start}, [start]
    while front:
        here = front.pop()
        for rule in ("pace_brake", "pace_run"):
            there = step(board, rule, *here)
            if there not in seen:
                seen.add(there)
                front.append(there)
    return seen


@pytest.mark.parametrize("rate_hz", [16, 32, 100])
def test_that_every_reachable_pace_stops_and_runs_smoothly_within_its_bounds(rate_hz):
    b = board(rate_hz)
    states = reachable(b)
    assert len(states) > b.half_one
    for half, slope in states:
        assert 0 <= half <= b.half_one
        for rule, goal in (("pace_brake", 0), ("pace_run", b.half_one)):
            h, s, ticks = half, slope, 0
            while (h, s) != (goal, 0):
                before = s
                h, s = step(b, rule, h, s)
                assert abs(s - before) <= 1
                assert 0 <= h <= b.half_one
                ticks += 1
                assert ticks <= 4 * rate_hz


@pytest.mark.parametrize("rate_hz", [16, 32, 100])
def test_that_the_stop_length_is_never_too_short_and_not_wasteful(rate_hz):
    b = board(rate_hz)
    for half, slope in reachable(b):
        bound = b.lib.pace_stop_length(half, slope)
        length, h, s = 0, half, slope
        while (h, s) != (0, 0):
            h, s = step(b, "pace_brake", h, s)
            length += 2 * h
        assert length <= bound
        if (half, slope) == (b.half_one, 0):
            assert bound == length + 2 * b.half_one  # one tick to spare


@pytest.mark.parametrize("rate_hz", [100, 1000, 4000, 10000])
def test_that_a_stop_from_full_pace_takes_its_time_and_no_longer(rate_hz):
    b = board(rate_hz)
    h, s, ticks, slopes = b.half_one, 0, 0, []
    while (h, s) != (0, 0):
        h, s = step(b, "pace_brake", h, s)
        slopes.append(s)
        ticks += 1
    ramp = round(np.sqrt(b.half_one))
    assert ramp**2 == b.half_one
    assert ticks == 2 * ramp
    assert min(slopes) == -ramp
    assert 0.19 <= ticks / rate_hz <= 0.26


def test_that_a_stop_length_fits_its_32_bits_at_the_fastest_tick():
    b = board(10000)
    ramp = round(np.sqrt(b.half_one))
    assert b.lib.pace_stop_length(b.half_one - ramp**2 // 2, ramp) == 4 * b.half_one * ramp < 2**32
