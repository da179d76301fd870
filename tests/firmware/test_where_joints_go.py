"""FOLLOW on this computer: motions of joints whose targets jump or end. test_follow tests the limits of speed."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from ruckig import InputParameter, Result, Ruckig, Trajectory

from femtorque.codegen.common import Array
from femtorque.codegen.mechanism import Mechanism, load_mechanism
from femtorque.codegen.wire import position_unit
from tests.firmware.app import App, changed
from tests.firmware.following import Sent, follow, play
from tests.support.suite import ROOT

V, A, J = 4.0, 20.0, 400.0
SHARE = 0.94  # fraction of these limits that FOLLOW uses
SIZES = (2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
RATES = (20, 30, 50, 60, 100, 250)
AT = 0.5  # time of the jump, s
MOST = 0.05  # largest overshoot, relative to the jump
FAULTY = {"plain": {}, "one lost": {"lost": 1}, "jitter": {"jitter": 0.02}, "both": {"jitter": 0.02, "lost": 1}}


def arm() -> Mechanism:
    mechanism = changed(limits={"lower": -2.5, "upper": 2.5, "velocity": V, "acceleration": A, "jerk": J})
    return replace(mechanism, follow=replace(mechanism.follow, timeout=1.0))


def sliding() -> Mechanism:
    """Return this arm with a prismatic last joint."""
    mechanism = arm()
    *others, last = mechanism.joints
    return replace(mechanism, joints=(*others, replace(last, type="prismatic")))


def stream(hz: int, way: Callable[[float], Sequence[float]], seconds: float, jitter: float = 0.0, lost: int = 0,
           velocity: Callable[[float], Sequence[float]] | None = None) -> list[Sent]:
    """Return targets along way(t). lost: number of targets that are lost directly after AT."""
    rng, there, found = np.random.default_rng(3), 0.0, []
    gone = range(round(AT * hz) + 1, round(AT * hz) + 1 + lost)
    for k in (k for k in range(round(seconds * hz)) if k not in gone):
        there = max(there + 1e-4, k / hz + 0.002 + jitter * rng.uniform())
        found.append(Sent(k / hz, there, [float(q) for q in way(k / hz)],
                          None if velocity is None else list(velocity(k / hz))))
    return found


def chunks(hz: int, way: Callable[[float], Sequence[float]], seconds: float) -> list[Sent]:
    """Return targets along way(t). Each chunk covers the next 0.25 s and more, and its targets are sent in a row."""
    return [Sent(0.25 * i, 0.25 * i + 0.003 + 2e-4 * k, [float(q) for q in way(0.25 * i + k / hz)], ahead=k / hz,
                 chunk=i % 250 + 1) for i in range(round(4 * seconds)) for k in range(round(0.5 * hz))]


def moved(mechanism: Mechanism, start: Sequence[float], targets: Sequence[Sent], seconds: float,
          delay: int | None = None) -> Array:
    """Return the joints' positions (T, J) relative to `start`, rad or m."""
    app = App(mechanism)
    assert app.home(list(start)) == "NONE" and app.command("ARM") == "NONE"
    assert (follow(app) if delay is None else follow(app, delay=delay)) == "NONE"
    record = play(app, targets, round(1e3 * seconds)).record["target"].astype(np.int64)
    steps = np.cumsum(np.diff(record, axis=0, prepend=record[:1]).astype(np.int32), axis=0)
    return steps * np.array([position_unit(joint) for joint in mechanism.streamed])


def jump(sizes: Sequence[float], hz: int) -> Callable[[float], Array]:
    return lambda t: np.array(sizes) * (round(t * hz) >= round(AT * hz))


def beyond(q: Array, sizes: Sequence[float]) -> Array:
    """Return the largest overshoot of each jump (J,), at either end, relative to the jump."""
    size = np.array(sizes)
    return np.maximum((q / size).max(axis=0) - 1.0, -(q / size).min(axis=0))


def optimum(size: float) -> float:
    """Return the duration, s, of the time-optimal motion from rest to rest within FOLLOW's limits."""
    wanted, found = InputParameter(1), Trajectory(1)
    wanted.current_position, wanted.target_position = [0.0], [size]
    wanted.max_velocity, wanted.max_acceleration, wanted.max_jerk = [SHARE * V], [SHARE * A], [SHARE * J]
    assert Ruckig(1).calculate(wanted, found) in (Result.Working, Result.Finished)
    return float(found.duration)


@pytest.mark.parametrize("hz", RATES)
@pytest.mark.parametrize("line", FAULTY)
def test_no_joint_goes_beyond_a_target_that_jumps_and_stands(hz, line):
    worst, late = 0.0, {}
    for sizes in (SIZES[:3], SIZES[3:6], SIZES[6:]):
        q = moved(arm(), (0.0, 0.0, 0.0), stream(hz, jump(sizes, hz), AT + 1.0, **FAULTY[line]), AT + 1.1)
        worst = max(worst, beyond(q, sizes).max())
        away = np.abs(q - sizes) > np.maximum(1e-4, 0.02 * np.array(sizes))
        late |= {s: (np.flatnonzero(away[:, j])[-1] + 1) / 1e3 - AT - optimum(s) for j, s in enumerate(sizes)}
    print(f"{hz} Hz, {line}: {100 * worst:.1f} % beyond; settled {1e3 * max(late.values()):.0f} ms after the optimum")
    assert worst <= MOST
    delay = (2.0 * max(1.0 / hz, 0.02) + 0.02 if hz > 50 else 2.0 / hz + 0.01) + 0.002
    spare = 2.0 * max(1.0 / hz, 0.02) + FAULTY[line].get("jitter", 0.0) + FAULTY[line].get("lost", 0) / hz
    assert max(late.values()) <= delay + spare


@pytest.mark.parametrize("hz", RATES)
def test_no_joint_goes_beyond_a_target_that_turns_a_motion_round(hz):
    """The target rises at half of V, then jumps lower, or to the other side every 0.3 s."""
    sizes = (0.02, 0.1, 0.3)
    end = 0.5 * V * AT
    q = moved(arm(), (-1.0,) * 3, stream(hz, lambda t: -1.0 + np.where(t < AT, 0.5 * V * t, end - np.array(sizes)),
                                         AT + 1.0), AT + 1.1)
    below = np.array([end - size - q[q[:, j].argmax():, j].min() for j, size in enumerate(sizes)])
    print(f"{hz} Hz: {1e3 * below.max():.1f} mrad beyond")
    assert (below <= MOST * np.array(sizes) + 1e-4).all()
    q = moved(arm(), (0.0,) * 3, stream(hz, lambda t: np.array(sizes) * (int(t / 0.3) % 2), 2.0), 2.0)
    assert beyond(q, sizes).max() <= MOST


@pytest.mark.parametrize("hz", RATES)
def test_no_joint_goes_beyond_the_end_of_a_ramp(hz):
    worst = 0.0
    for seconds in (0.1, 0.3, 0.8):
        for speeds in ((0.25, 0.5, 1.0), (1.5, 1.75, 2.0)):
            way = np.array(speeds) * seconds
            q = moved(arm(), (-1.0,) * 3, stream(hz, lambda t, s=seconds, v=speeds: -1.0 + np.clip(t - 0.3, 0.0, s)
                                                 * np.array(v), 0.9 + seconds), 0.9 + seconds)
            worst = max(worst, float((q - way).max()))
            assert np.abs(q[-1] - way).max() < 1e-5
    print(f"{hz} Hz: {1e3 * worst:.2f} mrad beyond")
    assert worst <= 5e-3


@pytest.mark.parametrize("hz", [30, 100])
def test_chunks_and_targets_with_velocities_lead_no_joint_beyond_a_jump(hz):
    for sizes in (SIZES[1:4], SIZES[4:7]):
        way = jump(sizes, hz)
        for targets, delay in ((chunks(hz, way, AT + 1.0), None),
                               (stream(hz, way, AT + 1.0, velocity=lambda t: [0.0] * 3), 0)):
            q = moved(arm(), (0.0,) * 3, targets, AT + 1.0, delay)
            assert beyond(q, sizes).max() <= MOST, (sizes, delay)
            assert np.abs(q[-1] - sizes).max() < 1e-5


@pytest.mark.parametrize("name", ["three_link", "six_axis", "a joint that slides"])
def test_each_joint_with_its_own_limits_stays_within_a_jump(name):
    """FOLLOW derives each joint's limits from the mechanism file."""
    mechanism = sliding() if name.startswith("a ") else load_mechanism(ROOT / "mechanisms" / f"{name}.toml")
    start = np.array([joint.start for joint in mechanism.streamed])
    worst = np.zeros(len(start))
    for hz in (30, 100):
        for size in (0.005, 0.02, 0.1, 0.3):
            sizes = np.array([size if joint.limits.upper - joint.start > 1.2 * size else -size
                              for joint in mechanism.streamed])
            q = moved(mechanism, start, stream(hz, lambda t, h=hz, s=sizes: start + jump(s, h)(t), AT + 1.5), AT + 1.6)
            worst = np.maximum(worst, beyond(q, sizes))
            assert np.abs(q[-1] - sizes).max() < 1e-4
    print(f"{name}: {np.round(100 * worst, 1)} % beyond")
    assert worst.max() <= MOST
