"""An arm repeats a motion along which a hand has guided it, and a motion that it has played."""

import json

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import Trajectory, recorded
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play.api import virtual_board
from femtorque.host.record import log as logs
from tests.support.suite import ROOT

ARM = ROOT / "mechanisms" / "three_link.toml"
SHOWN = np.array([0.5, -0.4, 0.3])  # rad


def pull(mechanism, seconds):
    """Return a hand that guides the arm by springs along SHOWN, there and back, with a tremor of 12 Hz."""
    start = np.array([joint.start for joint in mechanism.moving])

    def hand(plant):
        s = 0.5 - 0.5 * np.cos(2.0 * np.pi * min(max(hand.time(plant), 0.0) / seconds, 1.0))
        tremble = 0.004 * np.sin(2.0 * np.pi * 12.0 * plant.time)
        return np.array([20.0, 12.0, 4.0]) * (start + s * SHOWN + tremble
                                              - plant.q) - np.array([1.0, 0.5, 0.1]) * plant.v

    return hand


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """Return the arm, the logs of the guided arm and of two repetitions, and the result."""
    arm, folder = load_mechanism(ARM), tmp_path_factory.mktemp("taught")
    plant = Plant(arm)
    with virtual_board(arm, plant) as board:
        board.home()
        hand = pull(arm, 2.0)
        with board.logged(folder / "led.mcap"):
            board.arm()
            begun = plant.time
            hand.time = lambda p: p.time - begun - 0.4
            plant.hand = hand
            end = board.session.clock.now() + 3.0
            board.float(50, lambda: board.session.clock.now() >= end)
            plant.hand = None
        outcome = board.stream(folder / "led.mcap", approach=True, log=folder / "repeated.mcap")
        again = board.stream(folder / "repeated.mcap", approach=True, log=folder / "third.mcap")
    assert outcome.ended == again.ended == "done"
    return arm, folder, outcome


def test_a_motion_led_by_hand_is_played_again(taught):
    arm, folder, outcome = taught
    led, repeated = logs.read_log(folder / "led.mcap"), logs.read_log(folder / "repeated.mcap")
    hand, arms = (run.position[np.array(run.state) == state] for run, state in ((led, "FLOAT"), (repeated, "TRACK")))
    reach = hand[np.argmax(np.abs(hand[:, 0] - hand[0, 0]))] - hand[0]
    assert np.linalg.norm(reach) > 0.4, "it was led somewhere"
    repeat = arms[np.argmax(np.abs(arms[:, 0] - hand[0, 0]))] - hand[0]
    np.testing.assert_allclose(repeat, reach, atol=0.03)
    assert np.max(outcome.tracking_max) < 5e-3, "smooth enough to be followed"


def test_the_trembling_of_a_hand_is_not_repeated(taught):
    arm, folder, _ = taught
    motion = Trajectory.load(folder / "led.mcap", arm)
    t = np.arange(0.0, motion.duration, 0.002)
    amplitude = np.abs(np.fft.rfft(np.hanning(len(t)) * motion.at(t)[2][:, 0]))
    hz = np.fft.rfftfreq(len(t), 0.002)
    assert amplitude[(hz > 10.0) & (hz < 14.0)].max() < 0.05 * amplitude.max()


def test_a_run_repeats_the_motion_that_it_played_last(taught):
    """The repeated motion omits the path to its start. The arm repeats the desired motion, not the measured motion."""
    arm, folder, _ = taught
    first, second = (Trajectory.load(folder / f"{name}.mcap", arm) for name in ("led", "repeated"))
    assert second.duration == pytest.approx(first.duration, abs=0.6)
    np.testing.assert_allclose(np.ptp(second.positions, axis=0), np.ptp(first.positions, axis=0), atol=0.02)


def test_plan_makes_a_file_of_a_recording_at_half_its_speed(taught, here, tmp_path):
    arm, folder, _ = taught
    motion = Trajectory.load(folder / "led.mcap", arm)
    slow = here("plan", ARM, folder / "led.mcap", "-o", tmp_path / "slow.csv", "--speed", "0.5", "--json")
    assert json.loads(slow.stdout)["duration"] == pytest.approx(2.0 * motion.duration)
    assert Trajectory.load(tmp_path / "slow.csv", arm).duration == pytest.approx(2.0 * motion.duration)
    refused = here("plan", ARM, folder / "led.mcap", "-o", tmp_path / "x.csv", "--back")
    assert refused.returncode == 2 and "femtorque stream --approach" in refused.stderr


def test_a_recording_that_is_too_fast_is_played_slower(taught):
    """The motion respects the limits for any motion of the hand."""
    arm, *_ = taught
    t = np.arange(0.0, 2.0, 0.01)
    q = np.array([j.start for j in arm.moving]) + np.outer(np.sin(2.0 * np.pi * 4.0 * t), [1.0, 1.0, 1.0])
    record = recorded.Recording(t, q, q, ("FLOAT",) * len(t))
    times, position, rate, acceleration = recorded.motion(ARM, record, arm.streamed)
    assert times[-1] > 2.2
    for j, joint in enumerate(arm.streamed):
        assert np.abs(rate[:, j]).max() <= joint.limits.velocity
        assert np.abs(acceleration[:, j]).max() <= joint.limits.acceleration
        assert position[:, j].max() < joint.limits.upper and position[:, j].min() > joint.limits.lower


@pytest.mark.parametrize("states, says", [
    (("HOLD",) * 100, "neither led by hand nor did it play one"), (("FLOAT",) * 100, "no joint went further than"),
])
def test_a_log_without_a_motion_is_refused_by_name(states, says):
    arm = load_mechanism(ARM)
    q = np.zeros((100, 3))
    with pytest.raises(BadInput, match=says):
        recorded.motion(ARM, recorded.Recording(np.arange(100) * 0.01, q, q, states), arm.streamed)
