"""FOLLOW beside what teams do without it: error, delay, jerk and torque noise of one joint that follows a hand."""

import pytest

from tests.bench.following import COLOURS, FOLLOW, LINES_OF, RATES, compared, table

MOST = {30: 1.3, 50: 0.7, 100: 0.4, 250: 0.8}  # mrad rms, where nothing is lost
OWN = 45.0  # rad/s^3 rms: the signal's own jerk is 40.8


@pytest.mark.bench
def test_live_targets_are_followed_with_a_tenth_of_the_torque_noise_of_others():
    print("\n" + table())
    for line in ("steady", "jitter to 20 ms"):
        for hz in RATES:
            ways = compared(line, hz)
            ours = ways[FOLLOW]
            assert ours.error < 1e-3 * MOST[hz] and ours.jerk < OWN, (line, hz)
            assert all(10.0 * ours.noise < ways[name].noise for name in COLOURS if name != FOLLOW), (line, hz)
    for line in LINES_OF:
        for hz in RATES:
            ways = compared(line, hz)
            assert ways[FOLLOW].jerk < 400.0 and ways[FOLLOW].noise < ways["lines on the host"].noise, (line, hz)
