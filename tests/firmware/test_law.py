"""Observer, control law and motor inversion in C against NumPy, through the whole application."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from femtorque.codegen.control import constants as control_source, feedback_age
from femtorque.codegen.control.feedback_age import AgeConstants
from femtorque.codegen.mechanism import COULOMB_VELOCITY
from femtorque.codegen.wire import messages, position_unit
from femtorque.codegen.wire.units import TURN_UNIT
from tests.firmware.app import App, changed, in_hold, replace as swap, three_link
from tests.firmware.numpy_application import Law, Observer
from tests.firmware.streaming import three_link_knots

DT = 1e-3


def push(app, counts):
    """Run one tick with these encoder counts. Return its telemetry."""
    for j, n in enumerate(counts):
        app.chip.counts[j] += int(n)
    return app.run(1, follow=False)[0]


def rad(steps):
    return np.asarray(steps, np.int32).astype(float) * TURN_UNIT


# ---- observer ---------------------------------------------------------------------------------------


def test_that_the_observer_is_the_one_the_loop_was_designed_with():
    rng = np.random.default_rng(1)
    app = App()
    assert app.home() == "NONE"
    start = app.run(1)[0]
    position = rad(start["position"])
    observer = Observer(app.mechanism.control.observer_hz, DT, position.copy(), np.zeros(3))
    counts = rng.integers(-12, 13, (400, 3))
    one = 2.0 * np.pi / 8192
    for n in counts:
        record = push(app, n)
        position = position + n * one
        rate = observer.tick(position)
        assert rad(record["position"]) == pytest.approx((position + np.pi) % (2 * np.pi) - np.pi, abs=1e-8)
        assert record["rate"] == pytest.approx(rate, abs=2e-5)


def test_that_the_observer_follows_a_constant_rate_without_error_anywhere():
    """After a million counts, far from the start, the rate is as exact as at the start."""
    app = App()
    assert app.home() == "NONE"
    for _ in range(40):
        app.chip.counts[0] += 25_000
        app.run(1, follow=False)
    for _ in range(300):
        record = push(app, [3, -1, 0])
    one = 2.0 * np.pi / 8192 / DT
    assert record["rate"] == pytest.approx([3 * one, -one, 0.0], rel=1e-6, abs=1e-6)


def lag(app):
    """Return the delay of the observed rate, s, while the target accelerates."""
    app.ready()
    app.start(three_link_knots(), most=250)
    log = app.run(900)
    acceleration = np.gradient(log["target_rate"].astype(float), DT, axis=0)
    late = (log["target_rate"] - log["rate"]).astype(float)
    return np.sum(late * acceleration) / np.sum(acceleration**2)


def test_that_a_followed_motion_is_observed_without_lag():
    """In this application the joints reach their targets one tick late. The observed lag consists only of this tick.
    The observer alone has a lag of 3.5 ms."""
    assert lag(App()) == pytest.approx(DT, abs=0.2 * DT)
    deaf = {"ft_observer.c": swap("track(o, j, n, to[j] - from[j]);", "track(o, j, n, 0.0f * (to[j] - from[j]));")}
    assert lag(App(patches=deaf)) > 3.0 * DT


def test_that_any_count_a_turn_stays_exact_over_many_turns():
    mechanism = changed(encoder={"counts": 10_007, "at": "motor"}, motor={"gear": -37.3})
    app = App(mechanism)
    assert app.home([0.0, 0.0, 0.0]) == "NONE"
    counts = 123_456_789
    for _ in range(9):
        app.chip.counts[0] += counts // 9
        record = app.run(1, follow=False)[0]
    turns = (counts // 9 * 9) / 10_007 / -37.3
    assert rad(record["position"][0]) == pytest.approx((turns + 0.5) % 1.0 * 2 * np.pi - np.pi, abs=1e-5)


def test_that_encoder_and_motor_signs_and_gears_turn_the_right_way():
    mechanism = changed(encoder={"at": "motor", "sign": -1}, motor={"gear": 5.0, "sign": -1})
    app = App(mechanism)
    assert app.home() == "NONE"
    before = push(app, [0, 0, 0])
    after = push(app, [8, 8, 8])
    moved = rad(after["position"] - before["position"])
    assert moved == pytest.approx(-8 * 2 * np.pi / 8192 / 5.0, abs=1e-8)
    assert app.command("ARM") == "NONE" or app.run(400) is not None and app.command("ARM") == "NONE"
    app.run(50)
    for _ in range(3):
        record = push(app, [4, 4, 4])  # the joints move back: PD pushes forward, and the motor's sign reverses the duty
    assert np.all(record["torque"] > 0.0)
    assert np.all(record["duty"] < 0.0)


# ---- law --------------------------------------------------------------------------------------------


def law_of(mechanism):
    law = Law(mechanism, np.full(3, COULOMB_VELOCITY[False]))
    return law


@cache
def motion_log():
    """Return the telemetry of a disturbed motion, and the results of the NumPy law for the same inputs."""
    return compare(three_link())


def compare(mechanism, bus=24.0, kick=3, ticks=400, old=0.0):
    """Compare the application's motion with the NumPy law. old: age of the positions, ticks, (3,)."""
    app = App(mechanism)
    app.chip.bus_voltage = bus
    app.ready()
    app.stream(three_link_knots(), most=200)
    law = law_of(mechanism)
    hold = app.run(1, follow=False)[0]
    tau = hold["torque_ff"].astype(float)
    law.start(tau)
    law.tick(np.zeros(3), tau, np.zeros(3), np.zeros(3), bus)
    rng = np.random.default_rng(2)
    app.post("START")
    log = []
    lead = 2  # the target's rate is that of the half increments two ticks earlier: FT_LEAD + 1
    for _ in range(ticks):
        n = rng.integers(-kick, kick + 1, 3)
        follow = np.rint(rad(app.trace[-1][-1]["target"] - app.trace[-1][-1]["position"]) / (2 * np.pi / 8192))
        log.append(push(app, (follow + n).astype(int)))
    log = np.array(log)
    u = log["target_rate"].astype(float) * DT / 2.0
    rows = []
    for k in range(ticks - lead):
        error = rad(log["target"][k] - log["position"][k]) - old * DT * log["target_rate"][k]
        gone = old * (u[k + lead] - u[k + lead - 1]) * 2.0 / DT
        rate_error = (log["target_rate"][k] - log["rate"][k]).astype(float) - gone
        rows.append(law.tick(u[k + lead], log["torque_ff"][k].astype(float), error, rate_error, bus))
    torque, duty = (np.array(x) for x in zip(*rows, strict=True))
    return app, log[: ticks - lead], torque, duty


def test_that_torque_and_duty_are_those_of_the_plain_law():
    app, log, torque, duty = motion_log()
    assert np.max(np.abs(log["target_rate"])) > 1.0
    assert np.max(np.abs(log["torque"] - torque)) < 2e-5
    assert np.max(np.abs(log["duty"] - duty)) < 1e-5
    assert app.state == "TRACK"
    # each neglected term changes the torque by more than the tolerance
    quiet = changed(friction={"viscous": 0.0, "coulomb": 0.0}, motor={"inertia": 0.0})
    without = compare(quiet)[2]
    assert np.max(np.abs(without - torque)) > 1e-2


def test_that_old_positions_are_compared_with_the_target_of_their_time(monkeypatch):
    """The integral also uses the target at the time of measurement, so a joint that is on its target adds no error."""
    old, mechanism = np.array([0.7, 0.0, -0.7]), replace(changed(gains={"ki": 20.0}), name="aged")
    unit = position_unit(mechanism.streamed[0])
    monkeypatch.setattr(feedback_age, "aging", lambda _: [AgeConstants(2.0 * n / unit, n) for n in old])
    app, log, torque, duty = compare(mechanism, old=old)
    assert np.max(np.abs(log["torque"] - torque)) < 1e-4 and np.max(np.abs(log["duty"] - duty)) < 1e-4
    assert app.state == "TRACK"
    without = compare(mechanism)[2]
    assert np.all((np.max(np.abs(without - torque), axis=0) > 1e-3) == (old != 0.0))


def test_that_friction_that_falls_with_velocity_and_rises_with_load_is_fed_forward():
    rubbing = changed(friction={"stribeck": 0.3, "stribeck_velocity": 0.5, "load": 0.2})
    app, log, torque, duty = compare(rubbing)
    assert np.max(np.abs(log["torque"] - torque)) < 2e-5
    assert np.max(np.abs(log["duty"] - duty)) < 1e-5
    assert app.state == "TRACK"
    without = motion_log()[2]
    assert np.max(np.abs(without - torque)) > 0.2


def test_that_the_integrator_sums_the_error_and_stops_at_limits():
    mechanism = changed(gains={"ki": 150.0}, limits={"effort": 0.5})
    app, log, torque, duty = compare(mechanism, kick=8)
    assert np.max(np.abs(log["torque"] - torque)) < 1e-4
    assert np.max(np.abs(log["duty"] - duty)) < 1e-4
    assert np.max(np.abs(log["torque"])) == pytest.approx(0.5)
    app.see()
    assert app.limits & messages.LIMITS["INTEGRAL"][0]
    without = compare(changed(limits={"effort": 0.5}), kick=8)[2]
    assert np.max(np.abs(without - torque)) > 1e-2


def test_that_the_integrator_stops_where_the_bus_gives_no_more():
    mechanism = changed(gains={"ki": 150.0}, motor={"R": 6.0})
    app, log, torque, duty = compare(mechanism, bus=17.0, kick=7)
    assert np.max(np.abs(log["torque"] - torque)) < 1e-4
    assert np.max(np.abs(log["duty"] - duty)) < 1e-4
    assert np.max(np.abs(log["duty"])) == 1.0
    assert app.limits & messages.LIMITS["VOLTAGE"][0]


def test_that_the_current_of_holding_still_induces_nothing_however_often_it_begins():
    """The arm begins at several poses. ARM's step of the torque is no change of the current."""
    app = App(changed(motor={"L": 2e-3}))
    assert app.home() == "NONE"
    for turned in ([0, 0, 0], [120, -90, 60], [-200, 60, 90]):
        push(app, turned), app.run(300)
        app.post("ARM")
        record = app.run(3, follow=False)
        on = np.flatnonzero(np.any(record["torque"] != 0.0, axis=1))[0]
        volts = [m.motor.sign * m.motor.R * t / (m.motor.K * m.motor.gear)
                 for m, t in zip(app.joints, record["torque"][on], strict=True)]
        assert record["duty"][on] == pytest.approx(np.array(volts) / 24.0, abs=1e-6)
        assert app.command("DISARM") == "NONE"
        assert not app.run(1)["duty"].any()


@pytest.mark.parametrize("side", [-1, 1])
def test_that_a_joint_may_be_beyond_its_limit_by_its_margin_and_no_further(side):
    mechanism = changed(limits={"lower": -1.7, "upper": 1.7})
    app = in_hold(mechanism)
    row = control_source.joint_constants(mechanism, app.joints[1])
    edge = (row.upper + row.margin) if side > 0 else (row.lower - row.margin)

    def put(coarse):
        app.lib.fake_shift(1, coarse * control_source.COARSE - int(app.run(1, follow=False)["position"][0, 1]))
        app.run(2, follow=False)

    put(edge)
    assert app.lib.fake_state_now() == messages.STATES["HOLD"][0]
    put(edge + side)
    assert app.fault == ("POSITION", 1)


def test_that_a_joint_may_be_as_far_from_its_target_as_told_and_no_further():
    mechanism = three_link()
    app = in_hold(replace(mechanism, safety=replace(mechanism.safety, stuck_s=10.0)))
    most = control_source.joint_constants(app.mechanism, app.joints[2]).following

    def put(away):
        at = app.run(1, follow=False)[0]
        app.lib.fake_shift(2, int(at["target"][2]) - int(at["position"][2]) - away)
        app.run(200, follow=False)

    put(most)
    assert app.lib.fake_state_now() == messages.STATES["HOLD"][0]
    put(most + 1)
    assert app.fault == ("FOLLOWING", 2)


@pytest.mark.parametrize("side", [-1, 1])
def test_that_an_encoder_may_count_as_much_as_told_and_no_more(side):
    mechanism = changed(limits={"velocity": 400.0}, motor={"R": 0.01})
    app = in_hold(mechanism)
    most = control_source.joint_constants(app.mechanism, app.joints[0]).counts
    push(app, [side * most, 0, 0])
    assert app.fault[0] != "ENCODER"
    app = in_hold(mechanism)
    push(app, [side * (most + 1), 0, 0])
    assert app.fault == ("ENCODER", 0)


@pytest.mark.parametrize("side", [-1, 1])
def test_that_a_joint_beyond_its_limit_gets_torque_back_only(side):
    mechanism = changed(limits={"lower": -1.0, "upper": 3.0} if side < 0 else {"lower": -3.0, "upper": 1.0})
    app = App(replace(mechanism, gravity=np.array([0.0, side * 9.81, 0.0])))
    assert app.home([side * 0.999, 0.0, 0.0]) == "NONE"
    assert app.command("ARM") == "NONE"
    inside = push(app, [0, 0, 0])
    assert side * inside["torque"][0] < 0.0  # gravity pushes outwards: holding needs torque towards the range
    mirrored = App(replace(mechanism, gravity=np.array([0.0, side * -9.81, 0.0])))
    assert mirrored.home([side * 0.999, 0.0, 0.0]) == "NONE"
    assert mirrored.command("ARM") == "NONE"
    assert side * push(mirrored, [0, 0, 0])["torque"][0] > 0.5
    for a in (app, mirrored):
        push(a, [side * 6, 0, 0])  # moves the joint by 0.0046 rad, to 0.0036 rad beyond the limit
    back, out = (a.run(60, follow=False)[-1] for a in (app, mirrored))
    assert side * back["torque"][0] < 0.0
    assert out["torque"][0] == 0.0 and out["duty"][0] == 0.0
    app.see(), mirrored.see()
    assert not app.limits & messages.LIMITS["POSITION"][0]
    assert mirrored.limits & messages.LIMITS["POSITION"][0]


def test_that_holding_carries_gravity_and_without_feedforward_only_the_error_makes_torque():
    for feedforward in (True, False):
        app = App(feedforward=feedforward)
        assert app.home([0.0, 0.0, 0.0]) == "NONE"
        assert app.command("ARM") == "NONE"
        record = app.run(30)[-1]
        assert record["torque_ff"][0] > 0.5  # of the outstretched arm
        expected = record["torque_ff"] if feedforward else np.zeros(3)
        assert record["torque"] == pytest.approx(expected, abs=1e-6)
