"""Tests of the motion: quintics between knots against float64, exact times, stops on the path."""

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from femtorque.codegen.model import Model
from femtorque.codegen.motion import Knots
from femtorque.codegen.toolchain import Turns
from femtorque.codegen.wire import Knot
from tests.firmware.app import in_hold, replace, three_link
from tests.firmware.motion import IDLE, PAUSED, RUNNING, Board, mechanism, random_motion
from tests.firmware.numpy_application import Path, play
from tests.firmware.streaming import three_link_knots

EPS = float(np.finfo(np.float32).eps)
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@cache
def board(rate_hz=1000, knot_hz=250, precision="single", patch=None):
    patches = {patch[0]: replace(*patch[1:])} if patch else None
    return Board(mechanism(rate_hz, knot_hz), precision, patches)


def wrapped(steps, bits):
    """Return differences of integers, wrapped to the shorter way round."""
    half = 2 ** (bits - 1)
    return (np.asarray(steps, object) + half) % (2 * half) - half


def played(b, motion, end=True):
    """Return all ticks of a motion that fits into the ring, from START to its END."""
    assert b.begin(motion, len(motion.position) - 1, end)
    records = [b.tick()]
    while records[-1]["phase"] == RUNNING:
        records.append(b.tick())
    return np.array(records)


def position_error(b, steps, q):
    """Return the largest error of integer positions against exact positions, rad."""
    bits = 8 * np.dtype(b.turns.integer).itemsize
    return np.max(np.abs(wrapped(steps.astype(object) - b.turns.of(q).astype(object), bits).astype(float) * b.units))


@pytest.mark.parametrize("rate_hz, knot_hz", [(1000, 250), (1000, 1000), (1000, 200), (100, 20), (2100, 100)])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_that_a_motion_is_sampled_at_middles_and_boundaries(rate_hz, knot_hz, precision):
    b = board(rate_hz, knot_hz, precision)
    motion = random_motion(np.random.default_rng(rate_hz + knot_hz), min(120, knot_hz), 2, knot_hz)
    records = played(b, motion)
    exact = play(motion, b.dt)
    assert len(records) == len(exact.u) + 1  # the first tick leads in
    records = records[1:]
    scale = {"single": EPS, "double": 2.0**-52}[precision]
    speed = np.max(np.abs(motion.rate))
    # each piece starts from an integer, so only the displacement since the last knot is rounded, to the wire's step
    reach = speed / knot_hz
    oracle = 2.0**-50  # rounding of the reference's positions
    wire = np.max(b.units) + oracle
    assert position_error(b, records["target"], exact.q) < 4.0 * scale * reach + 2.0 * wire
    # positions at middles advance by an even number of steps in each tick
    carried = 2.0 * wire * rate_hz / knot_hz
    assert position_error(b, records["q_next"], exact.q_next) < 4.0 * scale * reach + 2.0 * wire + carried
    # no cancellation: the error of u is relative to its size, plus the error from rounded knots
    knots = 4.0 * wire * knot_hz / rate_hz + oracle
    assert np.max(np.abs(records["u"] - exact.u)) < 3.0 * scale * speed * b.dt / 2.0 + knots
    assert np.max(np.abs(records["rate"] - exact.rate)) < 2.0 * (3.0 * scale * speed * b.dt / 2.0 + knots) / b.dt


def changed(motion, dt, ticks):
    """Return du (ticks, J): half the change of u at each tick, computed from float64 positions."""
    q = motion((np.arange(-1, ticks + 1) + 0.5) * dt)
    return 0.25 * (q[2:] - 2.0 * q[1:-1] + q[:-2])


@pytest.mark.parametrize("rate_hz, knot_hz", [(1000, 250), (1000, 1000), (1000, 500), (5000, 250)])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_that_the_change_of_the_increments_is_that_of_the_path(rate_hz, knot_hz, precision):
    """The change of the increments is also correct for steps across knots. A motion begins with its first increment and
    ends with its last increment."""
    b = board(rate_hz, knot_hz, precision)
    motion = random_motion(np.random.default_rng(rate_hz + knot_hz), 60, 2, knot_hz)
    records = played(b, motion)
    after = b.tick()
    du, u = records["du"], records["u"]
    assert np.array_equal(du[0], 0.5 * u[0]) and np.array_equal(after["du"], -0.5 * u[-1])
    assert not b.tick()["du"].any()
    exact = changed(motion, b.dt, len(records) - 1)
    scale, wire = {"single": EPS, "double": 2.0**-52}[precision], np.max(b.units)
    # effect of a rounded knot on the path between knots, and error of the reference's differences
    bump = (2.0 * scale * np.max(np.abs(motion.rate)) / knot_hz + 4.0 * wire) * (knot_hz / rate_hz) ** 2
    bound = bump + scale * np.max(np.abs(exact)) + 2.0**-50
    assert np.max(np.abs(du[2:-1] - exact[1:-1])) < bound
    if precision == "double":
        deaf = board(rate_hz, knot_hz, precision, ("ft_motion.c", " + m->bend[j]", ""))
        assert np.max(np.abs(played(deaf, motion)["du"][2:-1] - exact[1:-1])) > 10.0 * bound
    if rate_hz == 5000 and precision == "single":
        assert np.max(np.abs(0.5 * np.diff(u, axis=0)[1:-1] - exact[1:-1])) > 2.0 * bound


def test_that_the_change_of_the_increments_adds_up_over_a_stop():
    """At any pace the change of u equals du, up to rounding."""
    b = board()
    motion = random_motion(np.random.default_rng(4), 200, 2, 250)
    assert b.begin(motion, 199, True)
    records = []
    for tick in range(900):
        if tick == 203:
            b.lib.motion_brake()
        if tick == 520:
            b.lib.motion_resume()
        records.append(b.tick())
    u, du = (np.array([r[name] for r in records], float) for name in ("u", "du"))
    paused = [int(r["half"]) for r in records]
    assert 0 in paused[210:520] and 0 < min(h for h in paused[210:520] if h) < b.half_one
    assert np.max(np.abs(np.diff(u, axis=0) - 2.0 * du[1:])) < 8.0 * EPS * np.max(np.abs(u))


def test_that_path_time_does_not_drift_over_many_knots():
    """The test feeds an endless motion through the ring: after 40 000 ticks there is no drift."""
    b = board()
    hz, n = 250, 10_001
    t = np.arange(n) / hz
    w = np.array([1.3, 0.7])
    motion = Path(np.sin(np.outer(t, w)) + np.outer(t, [1.0, -2.0]),
                  w * np.cos(np.outer(t, w)) + np.array([1.0, -2.0]), -w**2 * np.sin(np.outer(t, w)), hz)
    assert b.begin(motion, 200, False)
    pushed, ticks = 200, 4 * (n - 1) - 1200
    for _ in range(-1, ticks):
        record = b.tick()
        if record["buffered"] < 200 and pushed < n - 1:
            b.load(motion, pushed + 1, pushed + 1, False)
            pushed += 1
    assert b.time(record["path"]) == pytest.approx(ticks * b.dt, abs=0.0)
    exact = motion(ticks * b.dt)
    assert position_error(b, record["target"], exact) < 4 * EPS * 3.3 / hz + 2 * b.units[0]


def test_that_wrapping_is_exact():
    """If a motion is shifted by one and a quarter turns, its increments are the same, and its positions are shifted."""
    b = board()
    motion = random_motion(np.random.default_rng(3), 60, 2, 250)
    quarter = np.pi / 2.0
    there = Path(motion.position + 5.0 * quarter, motion.rate, motion.acceleration, motion.hz)
    turns = Turns(Model.of(mechanism()), "single")
    assert np.all(wrapped(turns.of(there.position).astype(np.int64) - turns.of(motion.position), 32) == 2**30)
    one, two = played(b, motion), played(b, there)
    assert np.array_equal(one["u"], two["u"])
    assert np.all(wrapped(two["target"].astype(np.int64) - one["target"], 32) == 2**30)


def test_that_a_paused_motion_forgotten_leaves_the_joints_where_they_are():
    b = board()
    motion = random_motion(np.random.default_rng(5), 150, 2, 250)
    assert b.begin(motion, 149, True)
    for _ in range(100):
        b.tick()
    b.lib.motion_brake()
    while (record := b.tick())["phase"] == RUNNING:
        pass
    b.lib.motion_forget()
    after = b.tick()
    assert after["phase"] == IDLE
    assert np.array_equal(after["target"], record["target"])
    assert not after["u"].any()


# ---- stops on the path ------------------------------------------------------------------------------


def check_on_path(b, motion, records):
    """Check that every target is on the path at the board's path time."""
    records = np.array(records)
    t = np.minimum(b.time(records["path"]), motion.duration)
    error = position_error(b, records["target"], motion(t))
    assert error < 4 * EPS * np.max(np.abs(motion.rate)) / motion.hz + 2 * b.units[0]


def check_calm(b, motion, records):
    """Check that the velocity does not jump: the path's acceleration and the pace's slope are limited."""
    speed, acceleration = np.max(np.abs(motion.rate)), 1.5 * np.max(np.abs(motion.acceleration)) + 1.0
    ramp = np.sqrt(b.half_one)
    slope = 1.0 / ramp  # change of the pace in one tick
    # between knots of a finely sampled path, speed and acceleration may slightly exceed their values at the knots
    most = 1.05 * (acceleration * b.dt + speed * slope) + 1e-5
    rate = np.array([r["rate"] for r in records], float)
    assert np.max(np.abs(np.diff(rate, axis=0))) <= most
    slopes = np.array([r["slope"] for r in records])
    moving = np.array([r["half"] for r in records]) > 0
    assert np.max(np.abs(np.diff(slopes)[moving[1:]]), initial=0) <= 1


@QUICK
@given(seed=st.integers(0, 2**32 - 1), pushed=st.integers(40, 250), stop_at=st.integers(0, 900),
       shape=st.sampled_from([(1000, 250), (500, 250), (250, 250)]))
def test_that_a_stop_ends_at_rest_on_the_path_and_resume_completes_it(seed, pushed, stop_at, shape):
    b = board(*shape)
    motion = random_motion(np.random.default_rng(seed), 251, 2, shape[1])
    if not b.begin(motion, pushed, True):
        assert pushed < 250
        return
    last = pushed / motion.hz
    records = []
    for k in range(4000):
        if k == stop_at:
            b.lib.motion_brake()
        records.append(b.tick())
        assert b.time(records[-1]["path"]) <= last + 1e-12 or pushed == 250
        if records[-1]["phase"] != RUNNING:
            break
    check_on_path(b, motion, records)
    end = records[-1]
    assert end["phase"] in (PAUSED, IDLE)
    rest = b.tick()
    assert not rest["u"].any() and not rest["rate"].any()
    assert np.array_equal(rest["target"], b.tick()["target"])
    check_calm(b, motion, [*records, rest])
    if end["phase"] == IDLE:
        assert pushed == 250
        return
    if pushed == 250 or len(records) <= stop_at:
        assert bool(end["underrun"]) == (pushed < 250)
    # push the missing knots, and play the motion to its end
    b.load(motion, pushed + 1, 250, True)
    b.lib.motion_resume()
    records = []
    while (record := b.tick())["phase"] == RUNNING:
        records.append(record)
    check_on_path(b, motion, records)
    assert record["phase"] == IDLE
    assert np.max(np.abs(wrapped(record["target"].astype(object) - b.turns.of(motion.position[-1]).astype(object),
                                 32))) <= 2
    check_calm(b, motion, [rest, *records, record, b.tick()])


@pytest.mark.parametrize("pushed", range(70, 100))
def test_that_a_motion_whose_knots_run_out_slows_down_at_the_last_boundary_that_is_sure_to_do(pushed):
    """If the motion continues, the path contains the next boundary and a stop from there. If it did not slow down in
    this tick, the path would be too short for a stop. The test covers pace 1 and a rising pace."""
    b = board(250, 250)
    motion = random_motion(np.random.default_rng(1), 251, 2, 250)
    rising = 0
    for resumed_at in (10, 35):
        assert b.begin(motion, 50, False)
        for k in range(400):
            if k == resumed_at:
                b.lib.motion_brake()
            if (record := b.tick())["phase"] != RUNNING:
                break
        b.load(motion, 51, pushed, False)
        b.lib.motion_resume()
        end, pace = pushed * 2 * b.half_one, (0, 0)
        while True:
            on = [b.ffi.new("int32_t *", x) for x in pace]
            b.lib.pace_run(*on)
            half, slope = on[0][0], on[1][0]
            record = b.tick()
            sure = record["path"] + 2 * half + b.lib.pace_stop_length(half, slope) <= end
            assert bool(record["underrun"]) != sure
            rising += slope > 0 and not sure
            if not sure:
                break
            pace = (int(record["half"]), int(record["slope"]))
    assert pushed > 90 or rising


@pytest.mark.parametrize("rate_hz, knot_hz, last", [(100, 20, 20), (1000, 500, 250), (1000, 250, 250)])
def test_that_a_motion_is_sampled_exactly_at_any_pace(rate_hz, knot_hz, last):
    """The motion is stopped and resumed often. In double precision, boundaries and half increments between middles are
    exact. The knots are far apart, so segments have clearly different polynomials."""
    b = board(rate_hz, knot_hz, "double")
    motion = random_motion(np.random.default_rng(11), last + 1, 2, knot_hz)
    assert b.begin(motion, last, True)
    records, orders = [b.tick()], np.random.default_rng(12)
    while records[-1]["phase"] != IDLE and len(records) < 20_000:
        if orders.random() < 0.02:
            b.lib.motion_brake()
        if records[-1]["phase"] == PAUSED:
            b.lib.motion_resume()
        records.append(b.tick())
    assert records[-1]["phase"] == IDLE and sum(r["phase"] == PAUSED for r in records) > 2
    records = np.array(records)
    path, half = records["path"].astype(float), records["half"].astype(float)
    whole = b.time(path + half) <= motion.duration  # after the END the last polynomial is used for half a tick more
    whole[:1] = whole[-1:] = False
    here, there = (motion(np.clip(b.time(x), 0.0, motion.duration))
                   for x in (path[1:] - half[:-1], path[1:] + half[1:]))
    wire = np.max(b.units) + 2.0**-50
    assert position_error(b, records["target"][whole], motion(b.time(path[whole]))) < 4.0 * wire
    assert position_error(b, records["q_next"][whole], motion(b.time((path + half)[whole]))) < 4.0 * wire
    assert np.max(np.abs(records["u"][1:] - 0.5 * (there - here))[whole[1:]]) < 4.0 * wire


# Patch the sources so that they count the numbers that the tick must compute itself. The counter is kept in a variable
# that is otherwise used only at the start.
def counting(text):
    for old, new in (('#include "ft_motion.h"\n', '#include "ft_motion.h"\n#include "fake_chip.h"\n'),
                     ("        ft_path_across(m->newest", "        fake.errors++, ft_path_across(m->newest"),
                     ("    ft_queue_prepare_entry(&m->queue);\n    m->phase",
                      "    fake.errors += m->queue.entered != m->queue.tail + 1u;\n"
                      "    ft_queue_prepare_entry(&m->queue);\n    m->phase")):
        assert old in text
        text = text.replace(old, new)
    return text


COUNTED = {"ft_motion.c": counting}


def arm():
    """Return an application in HOLD that counts the numbers that a tick must compute itself."""
    return in_hold(three_link(), patches=COUNTED)


def test_that_the_tick_finds_what_it_needs_at_knots():
    """The main loop has computed these numbers before every tick: at pace 1, before a stop and after a stop."""
    app = arm()
    app.stream(three_link_knots(), most=250)
    begin = len(app.trace)
    assert app.command("START") == "NONE"
    for _ in range(3):
        app.run(113)
        assert app.command("STOP") == "NONE"
        app.run(500)
        assert app.state == "HOLD"
        assert app.command("RESUME") == "NONE"
    app.run(1000)
    assert "UNDERRUN" in app.flags
    assert app.chip.errors == 0
    assert np.abs(np.concatenate(app.trace[begin:])["torque_ff"]).max() > 1.0


def test_that_nothing_is_left_of_a_motion_that_was_flushed():
    """Numbers that the main loop formed for the flushed motion are not used for the next motion at the same knots."""
    knots, logs = three_link_knots(), []
    for flushed in (False, True):
        app = arm()
        if flushed:
            app.stream(Knots(2 * knots.position[:1] - knots.position, -knots.rate, -knots.acceleration),
                       most=100, end=False)
            app.run(20)
            assert app.command("FLUSH") == "NONE"
        else:
            app.run(42)
        app.stream(knots, most=250)
        begin = len(app.trace)
        assert app.command("START") == "NONE"
        app.run(300)
        logs.append(np.concatenate(app.trace[begin:]))
    for name in ("target", "torque_ff", "target_rate"):
        assert np.array_equal(logs[0][name], logs[1][name])


def test_that_nothing_follows_the_end_of_a_motion_but_another_one():
    app = arm()
    knots = three_link_knots()
    still = Knots(knots.position[[0] * 20], np.zeros_like(knots.rate[:20]), np.zeros_like(knots.acceleration[:20]))
    app.stream(still)
    ack = app.see().ack
    assert ack == 20
    app.send(Knot(0, still.position[0].tolist(), [0.0] * 3, [0.0] * 3), seq=ack)
    app.run(3)
    assert (app.see().ack, app.state) == (ack, "HOLD")


@QUICK
@given(seed=st.integers(0, 2**32 - 1), rhythm=st.lists(st.integers(0, 60), min_size=5, max_size=60),
       orders=st.lists(st.tuples(st.integers(0, 120), st.booleans()), max_size=20))
def test_that_no_rhythm_of_knots_stops_and_resumes_leaves_the_path(seed, rhythm, orders):
    """Knots arrive at random intervals, and STOP and RESUME come at any time. At every tick the target is on the path,
    does not jump and stays before the last knot. In the end the motion comes to rest."""
    b = board()
    motion = random_motion(np.random.default_rng(seed), 1200, 2, 250)
    assert b.begin(motion, 80, False)
    pushed, records = 80, []
    waits = {sum(w for w, _ in orders[: i + 1]): stop for i, (_, stop) in enumerate(orders)}
    for k in range(2500):
        if k % 10 == 0 and k // 10 < len(rhythm):
            count = min(rhythm[k // 10], 250 - (pushed - (records[-1]["path"] // (8 * b.half_one) if records else 0)))
            b.load(motion, pushed + 1, pushed + max(int(count), 0), False)
            pushed += max(int(count), 0)
        if k in waits and records:
            if waits[k]:
                b.lib.motion_brake()
            elif records[-1]["phase"] == PAUSED:
                b.lib.motion_resume()
        records.append(b.tick())
        assert b.time(records[-1]["path"]) <= pushed / 250 + 1e-12
    check_on_path(b, motion, records)
    assert records[-1]["phase"] == PAUSED
    check_calm(b, motion, records)


@pytest.mark.parametrize("knot_hz", [250, 1000])
def test_that_a_motion_too_short_to_stop_in_is_not_started_without_its_end(knot_hz):
    b = board(1000, knot_hz)
    motion = random_motion(np.random.default_rng(2), 60 if knot_hz == 250 else 200, 2, knot_hz)
    ramp = round(np.sqrt(b.half_one))
    least = int(np.ceil(ramp * knot_hz / 1000))  # knots that a stop from pace 1 needs: ramp ticks of path
    for knots, end, starts in ((least - 1, False, False), (least, False, True), (len(motion.position) - 1, True, True)):
        assert b.begin(motion, knots, end) is starts
