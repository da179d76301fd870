"""Tests that interval arithmetic over C bounds all results, and refuses code that it cannot bound."""

import random

import numpy as np
import pytest

from assurance.proofs.intervals import Interval, Program, Unbounded, about, carried

TURN = """
typedef float ft_real;
typedef struct { ft_real c, s; } ft_pair;
static ft_pair turned(const ft_pair *p, ft_real w)
{
    ft_pair next = *p;
    unsigned int i;

    for (i = 0; i < 3u; i++) {
        next.s = next.s + w * next.c;
        next.c = next.c - w * next.s / 3.0f;
    }
    return next;
}
"""


def _turned(c: np.float32, s: np.float32, w: np.float32) -> tuple[np.float32, np.float32]:
    for _ in range(3):
        s = s + w * c
        c = c - w * s / np.float32(3.0)
    return c, s


def test_that_intervals_bound_the_single_precision_results_of_their_numbers():
    rng = random.Random(1)
    given = [Interval(-1.0, 0.5), Interval(0.25, 2.0), Interval(-0.125, 0.375)]
    bounds = Program(TURN).call("turned", {"c": given[0], "s": given[1]}, given[2])
    for _ in range(2000):
        c, s = _turned(*(np.float32(rng.uniform(x.low, x.high)) for x in given))
        assert bounds["c"].low <= c <= bounds["c"].high
        assert bounds["s"].low <= s <= bounds["s"].high


def test_that_a_carried_sum_is_the_new_value_but_for_two_roundings():
    """The step updates {P} as P + (now - P)."""
    rng = random.Random(2)
    for _ in range(20000):
        was, now = (np.float32(rng.uniform(-1.0, 1.0) * 10.0 ** rng.randint(-20, 20)) for _ in range(2))
        if rng.random() < 0.5:
            was = np.float32(now * np.float32(rng.uniform(0.3, 3.0)))
        bound = carried(about(abs(float(was))), Interval(float(now), float(now)))
        assert bound.low <= was + (now - was) <= bound.high


@pytest.mark.parametrize(("low", "high", "bounds"), [
    (-7.0, 3.0, (-1.0, 1.0)), (-0.5, 0.25, (-0.5, 0.25)), (2.0, 3.0, (1.0, 1.0)), (-0.5, 4.0, (-0.5, 1.0))])
def test_that_a_compared_real_keeps_the_bounds_of_both_branches(low, high, bounds):
    clipped = Program("static float clipped(float x)\n{\n    if (x > 1.0f)\n        return 1.0f;\n"
                      "    return x < -1.0f ? -1.0f : x;\n}\n")
    found = clipped.call("clipped", Interval(low, high))
    assert (found.low, found.high) == bounds


def test_that_an_interval_of_one_number_gives_the_chips_number():
    c, s, w = (np.float32(x) for x in (0.8, -0.3, 0.0123))
    points = [Interval(float(x), float(x)) for x in (c, s, w)]
    found = Program(TURN).call("turned", {"c": points[0], "s": points[1]}, points[2])
    assert [found[name] for name in "cs"] == [Interval(float(x), float(x)) for x in _turned(c, s, w)]


def test_that_a_divisor_of_both_signs_needs_a_distance_from_zero():
    apart = Interval(-2.0, 3.0, 0.5)
    quotient = Interval(1.0, 3.0) / apart
    for divisor in (-2.0, -0.5, 0.5, 3.0):
        assert quotient.low <= 1.0 / divisor <= quotient.high and quotient.low <= 3.0 / divisor <= quotient.high
    with pytest.raises(Unbounded, match="divisor may be nothing"):
        Interval(1.0, 3.0) / Interval(-2.0, 3.0)


@pytest.mark.parametrize("body, why", [
    ("return 1.0f / x;", "divisor may be nothing"),
    ("return x * 3e38f * 10.0f;", "may be too large"),
    ("float y; return x + y;", "read before it has a value"),
    ("if (x == 0.0f) return x; return -x;", "compared"), ("if (x > 0.0f) x = 2.0f; return x;", "depends on a real"),
    ("return (float)(int)x;", "converted to a whole number"),
    ("float y[2]; y[0] = x; return y[1];", "read before it has a value"),
], ids=["division", "overflow", "no value", "comparison", "branch", "conversion", "entry without value"])
def test_that_a_value_without_bounds_is_refused(body, why):
    with pytest.raises(Unbounded, match=why):
        Program(f"float f(float x) {{ {body} }}").call("f", about(1.0))
