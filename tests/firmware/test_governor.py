"""The governor of FOLLOW: the limits that it guarantees, and the time in which a joint reaches a target."""

import numpy as np
import pytest
from ruckig import InputParameter, Result, Ruckig, Trajectory

from tests.firmware.governor import STATE, Governor

LIMITS = [(-2.0, 2.0, 3.0, 20.0, 400.0), (-2.0, 2.0, 1.0, 2.0, 20.0), (-2.0, 2.0, 10.0, 200.0, 20000.0),
          (-2.0, 2.0, 0.2, 1.0, 5.0), (-2.0, 2.0, 3.0, 20.0, 4000.0), (-0.01, 0.01, 3.0, 20.0, 400.0)]
RATES = {1000: LIMITS, 100: LIMITS[:2], 4000: LIMITS[:1]}


@pytest.mark.parametrize("rate_hz, limits", [(rate, limits) for rate, rows in RATES.items() for limits in rows])
@pytest.mark.parametrize("sane", [0.8, 0.2])
def test_no_limit_is_ever_exceeded_whatever_the_reference_says_and_silence_ends_in_rest(rate_hz, limits, sane):
    """References jump, creep, exceed all limits, or are not finite: sixteen cases of a sixteenth of 10^6 ticks."""
    used = Governor(rate_hz).limits(*limits).storm(62_500, seed=rate_hz, sane=sane)
    assert used.p < 0.0 and max(used.v, used.a, used.j, used.uneven) <= 1.0
    assert used.restless == 0


@pytest.mark.bench
def test_no_limit_is_exceeded_in_ten_million_ticks():
    for row, limits in enumerate(LIMITS):
        used = Governor().limits(*limits).storm(1_700_000, seed=row, sane=0.5)
        print(f"{limits}: {used}")
        assert used.p < 0.0 and max(used.v, used.a, used.j, used.uneven) <= 1.0 and used.restless == 0


def standing(position, ticks):
    aims = np.zeros(ticks, STATE)
    aims["p"] = position
    return aims


def settled(states, position, within):
    """Return the time, s, from which the joint stays this near to the position, below 1e-3 rad/s."""
    away = np.abs(states["p"] - position) > within
    return 1e-3 * (np.flatnonzero(away)[-1] + 2 if away.any() else 0)


def fastest(position, velocity, acceleration, goal, limits):
    """Return the time, s, of the time-optimal motion."""
    wanted, found = InputParameter(1), Trajectory(1)
    wanted.current_position, wanted.current_velocity = [position], [velocity]
    wanted.current_acceleration, wanted.target_position = [acceleration], [goal]
    wanted.max_velocity, wanted.max_acceleration, wanted.max_jerk = ([x] for x in limits[2:])
    assert Ruckig(1).calculate(wanted, found) in (Result.Working, Result.Finished)
    inside = np.array([abs(found.at_time(t)[0][0] - goal) < 1e-4 for t in np.arange(0.0, found.duration, 1e-3)])
    return 1e-3 * (np.flatnonzero(~inside)[-1] + 1 if not inside.all() else 0)


def test_a_standing_target_is_reached_as_soon_as_by_a_time_optimal_motion():
    """The joint starts at rest or from any state of a motion. The precision is 0.1 mrad, and the mean excess is 1 %."""
    rng, governor = np.random.default_rng(5), Governor().limits(*LIMITS[0])
    ratios = []
    for _ in range(150):
        on_the_way, goal = rng.uniform(-1.8, 1.8, 2)
        states, _ = governor.run(standing(on_the_way, 40 + int(rng.integers(400))))
        now = states[-1]
        states, _ = governor.run(standing(goal, 3000), (now["p"], now["v"], now["a"]))
        ratios.append(settled(states, goal, 1e-4) / fastest(now["p"], now["v"], now["a"], goal, LIMITS[0]))
    print(f"time to a standing target, of the optimum: mean {np.mean(ratios):.4f}, worst {np.max(ratios):.3f}")
    assert np.mean(ratios) < 1.01


def wave(ticks, dt=1e-3):
    t = dt * np.arange(1, ticks + 1)
    aims = np.zeros(ticks, STATE)
    aims["p"], aims["v"], aims["a"] = 0.5 * np.sin(3.0 * t), 1.5 * np.cos(3.0 * t), -4.5 * np.sin(3.0 * t)
    return aims


def test_a_reference_that_can_be_followed_is_followed_exactly():
    aims = wave(3000)
    start = 0.0, 1.5, 0.0
    states, why = Governor().limits(*LIMITS[0]).run(aims, start)
    assert not why.any() and np.abs(states["p"] - aims["p"]).max() < 1e-9


def test_a_moving_reference_is_joined_and_stays_joined():
    aims = wave(3000)
    states, why = Governor().limits(*LIMITS[0]).run(aims, (-1.5, 0.0, 0.0))
    joined = np.flatnonzero(why)[-1]
    assert joined < 1200 and np.abs(states["p"] - aims["p"])[joined + 1:].max() < 1e-9


@pytest.mark.parametrize("what, bit", [
    ({"p": 2.5}, "POSITION"), ({"v": 3.5}, "VELOCITY"), ({"a": 25.0}, "ACCELERATION"), ({"p": 0.5}, "JERK")])
def test_the_limit_that_acts_is_named(what, bit):
    from femtorque.codegen.wire.messages import FOLLOW_LIMITS

    aims = np.zeros(2, STATE)
    for name, value in what.items():
        aims[name] = value
    _, why = Governor().limits(*LIMITS[0]).run(aims)
    assert int(why[0]) | FOLLOW_LIMITS["JERK"][0] == FOLLOW_LIMITS[bit][0] | FOLLOW_LIMITS["JERK"][0]


def test_a_joint_that_rests_by_a_rounding_beyond_its_limit_comes_back():
    governor = Governor().limits(*LIMITS[0])
    states, _ = governor.run(standing(0.0, 2000), (2.0 - 5e-6, 0.0, 0.0))
    assert states["p"][-1] == pytest.approx(0.0, abs=1e-9)
