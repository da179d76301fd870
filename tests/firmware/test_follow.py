"""FOLLOW on this computer, with live targets from correct and from faulty senders."""

from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest

from femtorque.codegen.wire import STATES, Command, Follow, messages
from tests.firmware.app import App, changed
from tests.firmware.following import Sent, follow, hostile, play, wave
from tests.firmware.test_safety import paused

V, A, J = 4.0, 20.0, 400.0
LOWER, UPPER = -2.5, 2.5
PERIOD = 50  # ticks from one FOLLOWED to the next
PHASES = {name: row[0] for name, row in messages.FOLLOW_PHASES.items()}


def limited(**safety):
    """Return the three-link arm with the limits of this file."""
    mechanism = changed(limits={"lower": LOWER, "upper": UPPER, "velocity": V, "acceleration": A, "jerk": J})
    return replace(mechanism, safety=replace(mechanism.safety, **safety))


def arm(start=0.0, safety=None, rate_hz=1000, **follow_table):
    """Return the arm of this file in HOLD, with its first joint at `start`."""
    mechanism = limited(**safety or {})
    mechanism = replace(mechanism, control=replace(mechanism.control, rate_hz=rate_hz, knot_hz=rate_hz // 4))
    if follow_table:
        mechanism = replace(mechanism, follow=replace(mechanism.follow, **follow_table))
    app = App(mechanism)
    assert app.home([start, 0.0, 0.0]) == "NONE" and app.command("ARM") == "NONE"
    return app


def led(start=0.0, how=None, **follow_table):
    """Return this arm in FOLLOW. how: delay and frame, us."""
    app = arm(start, **follow_table)
    assert follow(app, **how or {}) == "NONE"
    return app


def stream(hz, seconds, *, latency=0.002, jitter=0.0, noise=0.0, lost=0.0, signal=wave, seed=3):
    """Return targets of the first joint, in their order of arrival."""
    rng = np.random.default_rng(seed)
    sent, there = [], 0.0
    for t in np.arange(0.0, seconds, 1.0 / hz):
        if rng.random() < lost:
            continue
        there = max(there + 1e-4, t + latency + jitter * rng.uniform())
        sent.append(Sent(t, there, [float(signal(t)[0]) + noise * rng.standard_normal(), 0.0, 0.0]))
    return sent


def within_limits(run, joint=0):
    """Check position, velocity and acceleration, to telemetry's precision. Return the jerk."""
    q, v = run.positions(joint), run.record["target_rate"][:, joint].astype(float)
    assert LOWER <= q.min() and q.max() <= UPPER
    assert np.abs(v).max() <= V and np.abs(np.diff(v)).max() * 1e3 <= A * 1.0001 + 2.0
    return np.diff(v, 2) * 1e6


def error(run, seconds, skip=3000):
    """Return the rms error against the signal, mrad, and the delay for which this error is smallest, s."""
    q = run.positions()
    t = np.arange(len(q)) * 1e-3
    part = slice(skip, None)

    def at(delay):
        return 1e3 * float(np.sqrt(np.mean((q[part] - wave(t[part] - delay)[0]) ** 2)))

    about = min(np.arange(0.0, seconds, 2e-3), key=at)
    lag = min(np.arange(about - 2e-3, about + 2e-3, 5e-5), key=at)
    return at(lag), float(lag)


# ---- signals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("hz, most, delay", [(30, 1.2, 76.7), (50, 0.4, 50.0), (100, 0.15, 55.0), (250, 0.05, 58.0)])
def test_a_hand_is_followed_with_its_own_jerk(hz, most, delay):
    """The motion is compared with the signal, later by FOLLOWED's delay and a tick of sampling and sending."""
    app = led(float(wave(0.0)[0]))
    run = play(app, stream(hz, 7.0), 7000)
    found, lag = error(run, 0.12)
    jerk = np.sqrt(np.mean(within_limits(run)[3000:] ** 2))
    print(f"{hz} Hz: {found:.3f} mrad rms, {1e3 * lag:.1f} ms late, jerk {jerk:.1f} rad/s^3 rms")
    assert found <= most and jerk < 50.0
    assert run.reports[-1].delay == pytest.approx(1e3 * delay, abs=100)
    assert 1e3 * lag == pytest.approx(delay + 3.0, abs=2.0)
    assert all(r.phase == PHASES["FOLLOWING"] and not any(r.limits) for r in run.reports[40:])


@pytest.mark.parametrize("clock", [0, 2**31 - 20_000, 2**31 + 10**6, 2**32 - 1])
def test_the_time_of_the_senders_clock_changes_nothing(clock):
    targets = stream(50, 1.0)
    begin = arm(float(wave(0.0)[0])), arm(float(wave(0.0)[0]))
    assert all(follow(app) == "NONE" for app in begin)
    known, other = (play(app, [replace(t, stamp=(since + round(1e6 * t.sent)) % 2**32) for t in targets], 1000)
                    for app, since in zip(begin, (10**6, clock), strict=True))
    assert np.array_equal(other.record["target"], known.record["target"])
    assert [(r.ahead, r.refused, r.late) for r in other.reports] == [(r.ahead, 0, 0) for r in known.reports]


@pytest.mark.parametrize("hz", [30, 250])
def test_jitter_within_the_delay_changes_nothing(hz):
    app = led(float(wave(0.0)[0]), how={"delay": 100_000, "frame": round(1e6 / hz)})
    run = play(app, stream(hz, 7.0, jitter=0.02), 7000)
    found, _ = error(run, 0.15)
    assert found < {30: 1.2, 250: 0.15}[hz] and run.reports[-1].late == 0
    assert np.sqrt(np.mean(within_limits(run)[3000:] ** 2)) < 50.0


def test_the_delay_grows_with_what_comes_late():
    app = led(float(wave(0.0)[0]))
    run = play(app, stream(50, 9.0, jitter=0.02), 9000)
    assert 57_000 < run.reports[-1].delay < 66_000
    found, _ = error(run, 0.15, skip=6000)
    assert found < 0.6


def test_noise_of_fast_targets_is_averaged():
    app = led(float(wave(0.0)[0]))
    run = play(app, stream(250, 6.0, noise=5e-4), 6000)
    found, _ = error(run, 0.12)
    assert found < 0.3 and np.sqrt(np.mean(within_limits(run)[3000:] ** 2)) < 150.0


def test_lost_targets_are_filled_in():
    app = led(float(wave(0.0)[0]), how={"delay": 80_000, "frame": 20_000})
    run = play(app, stream(50, 7.0, lost=0.01), 7000)
    found, _ = error(run, 0.12)
    within_limits(run)
    assert found < 1.5 and run.reports[-1].lost > 0


def test_a_stall_ends_in_rest_and_what_comes_after_it_is_joined_without_a_jump():
    app = led(float(wave(0.0)[0]), timeout=1.0)
    sent = [t for t in stream(50, 7.0) if not 2.0 < t.sent < 2.4]
    run = play(app, sent, 7000)
    within_limits(run)
    rates = run.record["target_rate"][:, 0]
    assert np.abs(rates[2250:2380]).max() < 1e-6
    found, _ = error(run, 0.12, skip=4000)
    assert found < 0.5 and run.reports[-1].phase == PHASES["FOLLOWING"]


# ---- beginnings and ends -----------------------------------------------------------------------------


def standing(q, seconds, hz=50, **how):
    return [Sent(t, t + 0.002, [q, 0.0, 0.0], **how) for t in np.arange(0.0, seconds, 1.0 / hz)]


def test_a_far_target_is_gone_to_within_the_limits():
    app = led(-2.0)
    run = play(app, standing(2.0, 3.0), 3000)
    jerk = within_limits(run)
    assert run.positions()[-1] == pytest.approx(2.0, abs=1e-6) and np.abs(jerk).max() < 1.1 * J
    assert any(r.limits[0] & messages.FOLLOW_LIMITS["JERK"][0] for r in run.reports)


def test_a_target_beyond_a_limit_is_gone_to_as_far_as_may_be():
    app = led()
    run = play(app, standing(3.0, 3.0), 3000)
    within_limits(run)
    assert run.positions()[-1] == pytest.approx(UPPER, abs=2e-5)
    assert run.reports[-1].limits[0] & messages.FOLLOW_LIMITS["POSITION"][0]


@pytest.mark.parametrize("after", [None, 1e-3, 9e-3, 0.03])
def test_the_last_target_is_come_to_rest_at_and_held(after):
    """after: time from the last target to a repeated target with the END mark, s."""
    app = led()
    sent = standing(0.5, 1.0)
    if after is None:
        sent[-1].end = True
    else:
        sent.append(replace(sent[-1], sent=sent[-1].sent + after, there=sent[-1].there + after, end=True))
    run = play(app, sent, 2500)
    assert app.state == "HOLD" and "ENDED" in app.flags
    assert run.positions()[-1] == pytest.approx(0.5, abs=1e-6)


def test_silence_of_the_sender_ends_in_rest_within_two_frames_and_then_in_hold():
    app = led(float(wave(0.0)[0]))
    run = play(app, stream(50, 2.0), 2600)
    rates = np.abs(run.record["target_rate"][:, 0])
    rest = np.flatnonzero(rates)[-1]
    # the target of 1.98 s is played 53 ms late; two frames and the braking time follow
    braking = rates[1980:].max() / A + 2.0 * A / J
    assert rest <= 1980 + 53 + 40 + round(1e3 * braking)
    assert app.state == "HOLD" and "UNDERRUN" in app.flags
    assert follow(app) == "NONE"  # FOLLOW can be started again from the held positions
    within_limits(play(app, standing(0.0, 1.0), 1000))


@pytest.mark.parametrize("hz", [20, 30, 50])
@pytest.mark.parametrize("latency", [0.0, 2e-3, 4e-3])
def test_slow_ticks_follow_as_long_as_targets_come(hz, latency):
    """latency: s. In ticks of 5 ms, each knot is used in the tick after its arrival or one tick later."""
    app = led(rate_hz=200)
    play(app, [replace(t, there=t.sent + latency) for t in standing(0.5, 2.0, hz)], 400)
    assert app.state == "FOLLOW"
    app.run(100)
    assert app.state == "HOLD" and "UNDERRUN" in app.flags


def test_a_stop_brakes_at_once():
    app = led()
    play(app, standing(2.0, 0.4), 400)
    app.send(Command(app._next(), messages.COMMANDS["STOP"][0]))
    record = app.run(400)
    rates = record["target_rate"][:, 0].astype(float)
    assert app.state == "HOLD" and "STOPPED" in app.flags
    assert np.flatnonzero(rates)[-1] < 1e3 * (V / A + A / J) + 20
    assert np.abs(np.diff(rates)).max() * 1e3 <= A * 1.001


def test_links_that_bend_are_refused_by_name():
    from femtorque.codegen.common import MECHANISMS
    from femtorque.codegen.mechanism import load_mechanism

    app = App(load_mechanism(MECHANISMS / "flexible_link.toml"))
    assert app.home() == "NONE" and app.command("ARM") == "NONE"
    assert follow(app) == "NO_FOLLOWING"


# ---- what is reported ---------------------------------------------------------------------------------


def test_reports_are_of_follow_alone_and_say_what_there_is():
    app = arm()
    assert play(app, [], 300).reports == []
    assert follow(app) == "NONE"
    waits = play(app, [Sent(-5.0, 0.2, [0.1, 0.0, 0.0], v=[float("nan")] * 3)], 300).reports
    assert {b.tick - a.tick for a, b in pairwise(waits)} == {PERIOD}
    assert all((r.phase, r.targets, r.frame, r.ahead) == (PHASES["WAITING"], 0, 0, 0) for r in waits)
    assert waits[0].refused == 0 and waits[-1].refused == 1
    last = 49
    sent = [Sent(0.02 * k, 0.02 * k + 0.002, [0.5, 0.0, 3.0]) for k in range(last + 1)]
    sent += [replace(sent[-1], there=0.99), Sent(1.0, 1.1, [0.5, 0.0, 3.0])]  # a repeated target and a late target
    run = play(app, sent, 1600)
    r = next(report for report in run.reports if report.tick > run.record["tick"][800])
    t = 1e-3 * (r.tick - run.record["tick"][0]) - 0.002  # time of the sender's clock, according to the fastest message
    assert r.frame == 20_000 and r.ahead == pytest.approx(1e6 * (0.02 * (r.targets - 1) - t) + r.delay, abs=2100)
    assert (run.reports[-1].targets, run.reports[-1].late, run.reports[-1].refused) == (last + 2, 1, 2)
    assert max(abs(r.behind[0]) for r in run.reports) > 0.1 and max(abs(r.behind[2]) for r in run.reports) > 0.1
    assert any(r.limits[2] & messages.FOLLOW_LIMITS["POSITION"][0] for r in run.reports)
    assert {r.limits[1] for r in run.reports} == {0} and {r.behind[1] for r in run.reports} == {0.0}
    play(app, [], 700)
    assert app.state == "HOLD" and play(app, [Sent(9.0, 0.01, [1.0, 0.0, 0.0])], 100).reports == []
    app.send(Follow(app._next(), messages.FOLLOW_AUTO, 0))
    again = play(app, [], 100).reports
    assert again and {(r.frame, r.ahead, r.delay, r.targets, r.late, r.lost, r.refused) for r in again} == {(0,) * 7}


# ---- reasons to stop ----------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [False, True])
def test_a_host_that_falls_silent_is_the_reason_whatever_lies_ahead_and_whatever_stops_it_too(stop):
    app = led(float(wave(0.0)[0]))
    play(app, chunk(1, 0.0, 30, 90), 400)
    brakes = app.run(110, alive=False)
    assert np.abs(brakes["target_rate"][-1, 0]) > 0.05 and app.lib.fake_state_now() == STATES["FOLLOW"][0]
    if stop:
        app.post("STOP")
    rests = app.run(300, alive=stop)
    assert not rests["target_rate"][-20:].any()
    assert app.state == "HOLD" and app.flags & {"HOST_SILENT", "STOPPED", "UNDERRUN"} == {"HOST_SILENT"}


def test_what_waits_to_be_played_is_forgotten_and_so_is_how_the_last_motion_ended():
    app = App()
    paused(app)
    assert app.status.buffered > 0 and "STOPPED" in app.flags
    assert follow(app) == "NONE"
    assert app.see().buffered == 0 and app.flags == {"HOMED", "OUTPUTS"}


# ---- chunks, velocities ------------------------------------------------------------------------------


def chunk(number, start, hz, count, signal=wave, latency=0.003):
    """Return one chunk from `start` on, with targets for these times, sent in a row."""
    return [Sent(start, start + latency + 2e-4 * i, [float(signal(start + i / hz)[0]), 0.0, 0.0], ahead=i / hz,
                 chunk=number) for i in range(count)]


def test_chunks_that_lie_ahead_are_followed_without_a_delay():
    app = led(float(wave(0.0)[0]))
    sent = [t for i in range(12) for t in chunk(i % 2 + 1, 0.5 * i, 30, 30)]
    run = play(app, sent, 6000)
    found, lag = error(run, 0.05)
    within_limits(run)
    print(f"chunks at 30 Hz: {found:.3f} mrad rms, {1e3 * lag:.1f} ms late")
    assert found < 2.0 and lag < 0.007 and run.reports[-1].delay == 0


def test_a_new_chunk_replaces_what_the_last_one_said_of_later_times():
    app = led()
    far = lambda t: (0.0 * t + 1.5, None)  # noqa: E731
    near = lambda t: (0.0 * t + 0.2, None)  # noqa: E731
    leaves = lambda t: far(t) if t > 0.6 else near(t)  # noqa: E731
    run = play(app, chunk(1, 0.0, 30, 40, leaves) + chunk(2, 0.3, 30, 30, near), 1500)
    assert run.positions().max() < 0.25 and run.positions()[-1] == pytest.approx(0.2, abs=1e-3)


def test_targets_with_velocities_are_followed_without_a_delay():
    app = led(float(wave(0.0)[0]), how={"delay": 0})
    sent = stream(100, 6.0)
    for t in sent:
        t.v = [float(wave(t.sent)[1]), 0.0, 0.0]
    run = play(app, sent, 6000)
    found, lag = error(run, 0.03)
    within_limits(run)
    print(f"velocities at 100 Hz: {found:.3f} mrad rms, {1e3 * lag:.1f} ms late")
    assert found < 6.0 and lag < 0.012 and run.reports[-1].delay == 0


# ---- inputs that no sender would send ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_no_limit_is_exceeded_and_nothing_faults_whatever_is_sent(seed):
    rng = np.random.default_rng(seed)
    app = arm()
    records = []
    assert follow(app, delay=int(rng.choice([0, 20_000, messages.FOLLOW_AUTO])),
                  frame=int(rng.choice([0, 1, 5_000, 20_000, 4_000_000]))) == "NONE"
    for wanted, ticks in islice(hostile(rng, 3), 1200):
        app.send(wanted)
        records.append(app.run(ticks))
        if app.lib.fake_state_now() == messages.STATES["HOLD"][0]:
            assert follow(app) == "NONE"
    record = np.concatenate(records)
    assert app.state in ("FOLLOW", "HOLD") and app.fault[0] == "NONE"
    for joint in range(3):
        v = record["target_rate"][:, joint].astype(float)
        q = record["target"][:, joint] * 2.0 * np.pi / 2.0**32
        assert np.abs(v).max() <= V and LOWER <= q.min() and q.max() <= UPPER
    assert np.abs(record["torque_ff"]).max() < 50.0
