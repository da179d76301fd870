"""The lab modes on this computer: guide by hand, jog joints, seek zeros, probe motors, overlay gains, record."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.control import constants as control_source
from femtorque.codegen.mechanism import Home
from femtorque.codegen.model import Model
from femtorque.codegen.wire import Capture, Data, Float, Gains, Jog, Knot, Probe, Read, Seek, messages
from tests.firmware.app import App, changed, in_hold
from tests.firmware.test_safety import in_lab, in_state
from tests.support import oracle

TURN = 2.0 * np.pi / 2.0**32


def radians(wire):
    return np.asarray(wire, np.int32) * TURN


def next_token(app):
    return app.token % 255 + 1


def post(app, message):
    """Send a message that carries a token, and do not wait."""
    app.token = message.token
    app.send(message)


# ---- jog --------------------------------------------------------------------------------------------


def jog(app, joint, rate, times, follow=True):
    """Request a jog every 20 ms. Return the telemetry."""
    records = []
    for _ in range(times):
        post(app, Jog(next_token(app), joint, rate))
        records.append(app.run(20, follow=follow))
    return np.concatenate(records)


def test_that_a_joint_is_jogged_at_its_rate_and_stops_when_nobody_asks():
    app = in_hold()
    begin, before = radians(app.status.target), len(app.trace)
    moving = jog(app, 1, 0.5, 50)
    assert app.state == "JOG"
    np.testing.assert_allclose(moving["target_rate"][-200:, 1], 0.5, rtol=1e-5)
    after = app.run(500)
    assert app.state == "HOLD"
    rates = np.concatenate(app.trace[before:])["target_rate"]
    assert np.all(rates[:, [0, 2]] == 0.0)
    # a motion from rest to rest with bounded acceleration: jog_velocity in JOG_RAMP_S
    assert np.abs(np.diff(rates[:, 1])).max() <= 1.001 * (0.1 * 10.0 / 0.25) * 1e-3
    ran_on = np.count_nonzero(after["target_rate"][:, 1]) + 11
    assert 100 - 20 + 125 <= ran_on <= 100 + 125 + 5  # the time-out of the jog, then its deceleration ramp
    # the change of the target's position is the sum of its rates
    way = radians(app.see().target) - begin
    np.testing.assert_allclose(way, [0.0, rates[:, 1].sum() * 1e-3, 0.0], atol=1e-5)


def test_that_a_jog_the_other_way_and_of_another_joint_goes_through_rest():
    app = in_hold()
    record = np.concatenate([jog(app, 0, 0.5, 20), jog(app, 0, -0.5, 30), jog(app, 2, 0.5, 40), jog(app, 1, 0.5, 40)])
    rates, q = record["target_rate"], radians(record["target"])
    np.testing.assert_allclose(np.diff(q, axis=0), 0.5e-3 * (rates[1:] + rates[:-1]), atol=3e-8)
    record = record[:1800]
    rates = record["target_rate"]
    assert rates[:, 0].max() > 0.49 and rates[:, 0].min() < -0.49 and rates[-1, 2] > 0.49
    assert not np.any((rates[:, 0] != 0.0) & (rates[:, 2] != 0.0))
    stopping = np.count_nonzero(rates[1000:, 0])  # counted from the other joint's first request
    assert 155 <= stopping <= 163  # the ramp of 0.5 rad/s at 3.2 rad/s^2
    assert np.abs(np.diff(rates, axis=0)).max() < 0.006


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_that_a_joint_at_its_limit_is_jogged_away_from_it(side):
    app = App(changed(limits={"lower": -1.0, "upper": 1.0}))
    assert app.home([0.0, side, 0.0]) == "NONE" and app.command("ARM") == "NONE"
    assert not jog(app, 1, side * 0.5, 5)["target_rate"].any()
    assert jog(app, 1, side * -0.5, 20)["target_rate"][-1, 1] == pytest.approx(side * -0.5, rel=1e-4)


@pytest.mark.parametrize("first, second", [(0, 2), (2, 0), (1, 2)])
def test_that_a_joint_stays_where_its_jog_ended_however_soon_another_one_is_jogged(first, second):
    """The other joint is requested in every tick, so its jog starts in the first possible tick."""
    app = in_hold()
    jog(app, first, 0.5, 20)
    record = []
    for _ in range(600):
        post(app, Jog(next_token(app), second, 0.5))
        record.append(app.run(1))
    moving = np.concatenate(record)
    begun = int(np.flatnonzero(moving["target_rate"][:, second])[0])
    ended = int(np.flatnonzero(moving["target_rate"][:, first])[-1])
    assert 0 < begun - ended < 5
    assert len(set(moving["target"][ended + 1:, first])) == 1
    q, rates = radians(moving["target"]), moving["target_rate"]
    np.testing.assert_allclose(np.diff(q, axis=0), 0.5e-3 * (rates[1:] + rates[:-1]), atol=3e-8)


def test_that_a_jogged_joint_is_still_watched():
    app = in_hold()
    jog(app, 1, 1.0, 100, follow=False)
    assert app.fault[0] in ("FOLLOWING", "ENCODER_STUCK")


def test_that_a_jog_ended_by_an_e_stop_begins_anew_from_rest():
    app = in_hold()
    jog(app, 1, 0.5, 20)
    app.chip.estop = 1
    app.run(1)
    app.chip.estop = 0
    app.run(200)
    assert app.command("CLEAR") == "NONE"
    assert app.command("ARM") == "NONE"
    rates = jog(app, 1, 0.5, 20)["target_rate"][:, 1]
    assert rates.max() > 0.49 and np.abs(np.diff(rates, prepend=0.0)).max() < 0.006


@pytest.mark.parametrize("scheme", ["nodal", "printed"])
def test_that_a_jogged_joint_is_fed_forward_and_the_others_stand(scheme):
    """tau_ID during the jog matches the jog's rates and accelerations, also on its ramps."""
    app = in_hold(replace(changed(), control=replace(changed().control, scheme=scheme)))
    record = np.concatenate([jog(app, 1, 0.5, 20), app.run(400)])
    q = radians(record["target"])
    u = record["target_rate"].astype(float)
    model = Model.of(app.mechanism)
    lead = 2  # the torque of tick k belongs to the boundary that telemetry shows two ticks later
    for k in (50, 100, 250, 450, 550, 700):
        a = (u[k + lead + 1] - u[k + lead - 1]) / 2e-3
        expected = oracle.rnea(model, q[k + lead], u[k + lead], a)
        np.testing.assert_allclose(record["torque_ff"][k], expected, rtol=5e-3, atol=5e-3)
    assert not u[:, [0, 2]].any() and np.all(record["target"][:, [0, 2]] == record["target"][0, [0, 2]])
    # positions at boundaries are half a step behind the middles, so targets move by the mean of two rates
    np.testing.assert_allclose(np.diff(q[:, 1]), 0.5e-3 * (u[1:, 1] + u[:-1, 1]), atol=3e-8)


def test_that_a_jog_in_the_other_direction_looks_at_the_way_that_it_still_goes():
    """A joint that moves up near its upper limit is commanded down. Then all directions are reversed."""
    app = in_hold(changed(limits={"lower": -1.0, "upper": 1.0}))
    for sign in (1.0, -1.0):
        record = jog(app, 1, sign * 1.0, 120)
        at = radians(record["target"])[:, 1]
        assert 0.85 < sign * at[-1] <= 1.0 and np.max(np.abs(at)) <= 1.0
        assert app.lib.fake_state_now() == messages.STATES["JOG"][0]  # at rest at the limit; the host repeats the jog
        back = jog(app, 1, -sign * 0.5, 10)
        assert -sign * back["target_rate"][-1, 1] > 0.4


def test_that_stop_ends_a_jog_at_once():
    app = in_hold()
    jog(app, 1, 0.5, 20)
    app.post("STOP")
    rates = app.run(200)["target_rate"][:, 1]
    assert 125 - 5 <= np.count_nonzero(rates) <= 125 + 5  # ramp from 0.5 rad/s to 0; no time-out


# ---- float ------------------------------------------------------------------------------------------


def floating(per_cent=0, mechanism=None):
    app = in_hold(mechanism)
    assert app.ask(Float(next_token(app), per_cent)) == "NONE"
    assert app.state == "FLOAT"
    return app


def gravity(app, q):
    """Return the torque that holds the arm at q, by Pinocchio."""
    still = np.zeros(app.J)
    return oracle.rnea(Model.of(app.mechanism), q, still, still)


def test_that_a_floating_arm_is_given_what_carries_it_at_any_pose():
    app = floating()
    rng = np.random.default_rng(4)
    for _ in range(5):
        for j in range(3):
            app.chip.counts[j] += int(rng.integers(-3, 4))
        for _ in range(300):
            for j in range(3):
                app.chip.counts[j] += int(rng.integers(-1, 3) > 1)
            app.run(1, follow=False)
        record = app.run(300, follow=False)
        q = radians(record["position"][-1])
        np.testing.assert_allclose(record["torque"][-1], gravity(app, q), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(record["target"][-1], record["position"][-1])
    assert app.state == "FLOAT"


def led_by(app, joint, rate, ticks, follow=False):
    """Move one joint at this rate by hand."""
    count = 2.0 * np.pi / 8192
    done, records = 0, []
    for k in range(ticks):
        whole = int(np.floor((k + 1) * rate * 1e-3 / count))
        app.chip.counts[joint] += whole - done
        done = whole
        records.append(app.run(1, follow=follow))
    return np.concatenate(records)


def test_that_friction_is_carried_only_as_far_as_asked():
    torques = {}
    for share in (0, 50, 80):
        app = floating(share)
        record = led_by(app, 1, 0.5, 300)
        q = radians(record["position"][-1])
        torques[share] = np.mean(record["torque"][-50:, 1]) - np.mean([
            gravity(app, radians(p))[1] for p in record["position"][-50::10]])
        assert np.all(np.isfinite(q))
    coulomb = app.mechanism.moving[1].friction.coulomb
    np.testing.assert_allclose([torques[50], torques[80]], [0.5 * coulomb, 0.8 * coulomb], atol=2e-4)
    assert abs(torques[0]) < 2e-4


@pytest.mark.parametrize("host", [True, False])
def test_that_an_arm_that_is_caught_has_forgotten_the_errors_of_before(host):
    app = in_hold(changed(gains={"ki": 150.0}))
    app.chip.counts[1] += 10
    app.run(200, follow=False)  # the integral grows
    post(app, Float(next_token(app), 0))
    app.run(50, follow=False)
    if host:
        app.post("STOP")
        record = app.run(3, follow=False)
    else:
        record = app.run(150, alive=False, follow=False)
    assert app.lib.fake_state_now() == messages.STATES["HOLD"][0]
    np.testing.assert_allclose(record["torque"][-1], record["torque_ff"][-1], atol=1e-4)


def test_that_a_floating_joint_is_damped_above_its_rate():
    app = floating()
    joint = app.mechanism.moving[1]
    record = led_by(app, 1, 4.0, 300)  # the joint's float velocity is 2.5 rad/s
    extra = [record["torque"][i, 1] - gravity(app, radians(record["position"][i]))[1] for i in range(-50, 0, 10)]
    np.testing.assert_allclose(np.mean(extra), -joint.gains.kv * (4.0 - 2.5), rtol=0.1)


def test_that_a_floating_joint_beyond_its_limit_is_pushed_back_and_far_beyond_a_fault():
    app = in_hold(changed(limits={"lower": -1.0, "upper": 0.6}))
    assert app.ask(Float(next_token(app), 0)) == "NONE"
    record = led_by(app, 1, 1.0, 120)
    q = radians(record["position"][-1])
    assert q[1] > 0.6
    push = record["torque"][-1, 1] - gravity(app, q)[1]
    np.testing.assert_allclose(push, -app.mechanism.moving[1].gains.ku * (q[1] - 0.6), rtol=0.05)
    led_by(app, 1, 1.0, 60)
    assert app.fault == ("POSITION", 1)


@pytest.mark.parametrize("side", [-1, 1])
def test_that_a_floating_joint_is_free_up_to_its_limit_and_watched_to_its_margin(side):
    mechanism = changed(limits={"lower": -1.7, "upper": 1.7})
    app = floating(mechanism=mechanism)
    row = control_source.joint_constants(mechanism, app.joints[1])
    limit = row.upper if side > 0 else row.lower

    def put(coarse):
        app.lib.fake_shift(1, int(coarse) * control_source.COARSE - int(app.run(1, follow=False)["position"][0, 1]))
        record = app.run(2, follow=False)
        return record["torque"][-1, 1] - gravity(app, radians(record["position"][-1]))[1]

    assert abs(put(limit)) < 1e-3
    beyond = row.margin * control_source.COARSE * TURN
    np.testing.assert_allclose(put(limit + side * row.margin), -side * app.joints[1].gains.ku * beyond, rtol=0.02)
    assert app.lib.fake_state_now() == messages.STATES["FLOAT"][0]
    put(limit + side * (row.margin + 1))
    assert app.fault == ("POSITION", 1)


# ---- homing -----------------------------------------------------------------------------------------


def seeking(mechanism=None, joint=0):
    app = App(mechanism or in_lab())
    assert app.ask(Seek(next_token(app), joint)) == "NONE"
    return app


def test_that_a_stop_is_found_pressed_gently_and_left_again():
    home = Home(at=-3.15, direction=-1, speed=0.4, effort=1.2)
    app = seeking(replace(in_lab(), joints=tuple(replace(j, home=home if i == 0 else j.home) for i, j in
                                                  enumerate(in_lab().joints))))
    records = []
    for _ in range(25):  # free at first
        records.append(app.run(20))
    assert np.all(np.concatenate(records)["target_rate"][-100:, 0] == pytest.approx(-0.4, rel=1e-4))
    ticks = [app.run(1, follow=False)]
    while ticks[-1]["position"][0, 0] == ticks[0]["position"][0, 0] and len(ticks) < 300:
        ticks.append(app.run(1, follow=False))
    assert radians(ticks[-1]["position"])[0, 0] == pytest.approx(-3.15 + 2.0 * np.pi, abs=1e-6)
    stopped = np.concatenate(ticks[:-1])
    assert np.abs(stopped["torque"][:, 0]).max() <= np.float32(1.2)
    pressed = np.count_nonzero(np.abs(stopped["torque"][:, 0]) == np.float32(1.2))
    assert pressed == 51  # more than 0.05 s, and one tick to detect it
    record = app.run(600)
    status = app.see()
    assert app.state == "HOMING" and "SEEKING" not in app.flags
    assert status.unhomed == 1
    inside = radians(status.position)[0]  # way from -3.15 to 0.02 inside the limit of -3.1, plus the braking distance
    assert -3.08 - 1e-3 <= inside <= -3.08 + 0.4**2 / (2 * 0.8 / 0.25) + 0.01
    assert np.all(record["target_rate"][:, 1:] == 0.0)


def at_its_place():
    """Return an application after a search for the first joint's zero, and the telemetry of the tick that sets the
    joint's position. In this tick the joint is at its stop, just outside its limits."""
    first, *others = in_lab().joints
    home = Home(at=-3.15, direction=-1, speed=0.4, effort=0.2)
    app = seeking(replace(in_lab(), joints=(replace(first, home=home), *others)))
    app.run(300)
    for _ in range(300):
        tick = app.run(1, follow=False)[0]
        if abs(radians(tick["position"])[0] - (2.0 * np.pi - 3.15)) < 1e-6:
            return app, tick
    pytest.fail("no place was given")


def test_that_a_joint_is_at_rest_in_the_tick_that_gives_it_its_place_and_leaves_the_stop_from_there():
    app, given = at_its_place()
    after = app.run(3)
    assert given["target_rate"][0] == 0.0 and given["target"][0] == given["position"][0]
    assert after["target"][0, 0] == given["position"][0]
    assert np.array_equal(after["target_rate"][:, 0] > 0.0, [False, False, True])  # the target is due two ticks later


def test_that_a_joint_no_longer_sought_for_may_use_its_whole_effort():
    app, _ = at_its_place()
    app.run(1500)
    assert "SEEKING" not in app.flags
    for _ in range(40):
        app.chip.counts[0] -= 5
        record = app.run(1, follow=False)
    assert app.lib.fake_state_now() == messages.STATES["HOMING"][0]
    assert record["torque"][-1, 0] > 2.0 * 0.2


def test_that_a_search_is_not_over_before_its_joint_stands():
    app, _ = at_its_place()
    app.status, rates = None, []
    while app.status is None or app.status.flags & messages.FLAGS["SEEKING"][0]:
        rates.append(app.run(1)["target_rate"][0, 0])
        assert len(rates) < 3000
    assert max(rates) == pytest.approx(0.4, rel=1e-3)
    assert max(rates[-10:]) < 0.02  # STATUS comes every 10 ms, and a target lags by two ticks


def test_that_only_the_joint_sought_for_is_pressed_gently():
    """The other joints get the torques that hold the arm."""
    app = seeking(changed(encoder={"zero": "stop"}, home=Home(at=-1.57, effort=0.2)))
    record = app.run(40, follow=False)
    assert np.abs(record["torque"][-1, 0]) == np.float32(0.2) and record["torque"][-1, 1] > 0.4
    assert app.see().limits & messages.LIMITS["TORQUE"][0]


@pytest.mark.parametrize("state", ["HOMING", "PROBE"])
def test_that_a_bad_knot_is_a_fault_while_joints_stand_in_a_lab_mode(state):
    app = in_state(state)
    app.run(20)
    app.send(Knot(messages.KNOT_START, [0, 0, 0], [1.0] * 3, [0.0] * 3), seq=app.see().ack)
    app.run(5)
    assert app.lib.fake_state_now() == messages.STATES["FAULT"][0]


def test_that_a_search_for_an_arm_gone_wild_is_a_fault():
    app = seeking()
    app.lib.fake_poison(1, float("nan"))
    for _ in range(3):
        app.run(1, follow=False)
        assert np.all(np.isfinite(list(app.chip.duty))) and np.all(np.isfinite(app.trace[-1]["torque"]))
    assert app.fault == ("NOT_FINITE", 1)
    assert not any(app.chip.duty)


def test_that_the_travel_of_a_search_is_exact():
    mechanism = changed(encoder={"zero": "stop"}, home=Home(at=0.0, speed=1.0, travel=0.5))
    app = App(mechanism)
    most = control_source.lab_row(mechanism, app.joints[1]).seek_counts
    post(app, Seek(next_token(app), 1))
    app.run(3, follow=False)
    for n in [-6] * (most // 6) + [-(most % 6)]:
        app.chip.counts[1] += n
        app.run(1, follow=False)
    assert app.lib.fake_state_now() == messages.STATES["HOMING"][0]
    app.chip.counts[1] -= 1
    app.run(1, follow=False)
    assert app.fault == ("HOMING", 1) and app.chip.outputs == 0


def test_that_an_index_is_the_zero_and_only_its_beginning_counts():
    app = seeking(changed(encoder={"zero": "index"}, home=Home(at=0.25, direction=1, speed=0.4)))
    app.run(400)
    assert "SEEKING" in app.flags
    app.chip.index = 0b110  # of other joints
    app.run(20)
    assert "SEEKING" in app.flags
    app.chip.index = 0b001
    record = app.run(1)
    assert radians(record["position"])[0, 0] == pytest.approx(0.25, abs=1e-3)
    app.run(400)
    assert app.status.unhomed == 1
    assert app.state == "HOMING" and "SEEKING" not in app.flags


def test_that_an_index_that_is_there_at_first_must_go_and_come_again():
    app = App(changed(encoder={"zero": "index"}, home=Home(at=0.25, direction=1, speed=0.4)))
    app.chip.index = 1
    assert app.ask(Seek(next_token(app), 0)) == "NONE"
    app.run(300)
    assert "SEEKING" in app.flags
    app.chip.index = 0
    app.run(10)
    app.chip.index = 1
    app.run(600)
    assert "SEEKING" not in app.flags and app.status.unhomed == 1


def test_that_an_index_that_does_not_come_in_time_is_a_fault():
    app = App(changed(encoder={"zero": "index"}, home=Home(at=0.0, speed=0.75, travel=0.5)))
    assert app.ask(Seek(next_token(app), 1)) == "NONE"
    record = app.run(2200, follow=False)  # blocked: it never moves
    assert app.fault == ("HOMING", 1)
    on = np.flatnonzero(np.any(record["torque"] != 0.0, axis=1))
    assert 1950 <= on[-1] <= 2010  # 1.5 times the travel divided by the speed, plus a second


def test_that_each_joint_sought_for_has_its_whole_travel_and_begins_at_rest():
    app = App(changed(encoder={"zero": "stop"}, home=Home(at=0.0, speed=0.4, travel=0.5)))
    for joint in range(2):
        post(app, Seek(next_token(app), joint))
        rates = app.run(900)["target_rate"]  # 0.3 rad
        assert np.abs(np.diff(rates[:, joint], prepend=0.0)).max() < 0.006
        app.run(700, follow=False)
        app.run(300)
        assert app.fault[0] == "NONE" and "SEEKING" not in app.flags
        app.run(200)
    assert app.status.unhomed == 2


def test_that_another_joint_is_sought_for_without_moving_the_targets_of_the_rest():
    app = seeking()
    app.run(1200, follow=False)
    assert app.state == "HOMING" and app.status.unhomed == 1
    app.chip.counts[2] += 3
    before = app.run(300, follow=False)[-1]
    assert before["position"][2] != before["target"][2]
    post(app, Seek(next_token(app), 1))
    after = app.run(20, follow=False)
    assert app.flags >= {"SEEKING"}
    assert np.all(after["target"][:, 2] == before["target"][2])


def test_that_the_joint_found_is_the_one_sought_for_whatever_was_asked_for_meanwhile():
    app = seeking()
    app.run(300)
    post(app, Jog(next_token(app), 2, 0.1))
    app.run(900, follow=False)
    assert app.state == "HOMING" and app.see().refusal != 0
    assert app.status.unhomed == 1


# ---- probe ------------------------------------------------------------------------------------------


def test_that_a_probe_gives_one_joint_its_torque_and_ends_by_itself():
    app = App()
    assert app.ask(Probe(next_token(app), 1, 0.0)) == "NONE"
    assert app.ask(Probe(next_token(app), 1, -0.3)) == "NONE"
    record = app.run(200, follow=False)
    torque = record["torque"]
    assert np.all(torque[:, [0, 2]] == 0.0)
    assert np.all(torque[:80, 1] == np.float32(-0.3))
    assert np.all(torque[101:] == 0.0)
    assert app.state == "DISARMED" and app.chip.outputs == 0


@pytest.mark.parametrize("sign", [-1, 1])
def test_that_the_way_of_a_probe_is_exact_in_either_direction(sign):
    app = App()
    most = control_source.lab_row(app.mechanism, app.joints[1]).probe_counts
    app.ask(Probe(next_token(app), 1, 0.0))
    app.ask(Probe(next_token(app), 1, 0.3 * sign))

    def push(counts):
        post(app, Probe(next_token(app), 1, 0.3 * sign))
        app.chip.counts[1] += sign * counts
        return app.run(3, follow=False)["torque"][-1, 1]

    for n in [20] * (most // 20) + [most % 20]:
        assert push(n) == np.float32(0.3 * sign)
    assert push(1) == 0.0


def test_that_another_joint_probed_has_its_own_way():
    app = App()
    app.ask(Probe(next_token(app), 1, 0.0))
    for joint in (1, 2):
        for _ in range(20):  # 0.31 rad of 0.35
            post(app, Probe(next_token(app), joint, 0.05))
            app.chip.counts[joint] += 20
            record = app.run(5, follow=False)
        assert record["torque"][-1, joint] == np.float32(0.05)


def test_that_a_search_says_when_the_bus_limits_it():
    app = seeking(changed(encoder={"zero": "stop"}, motor={"R": 600.0}))
    record = app.run(30, follow=False)
    app.see()
    assert app.limits & messages.LIMITS["VOLTAGE"][0]
    assert np.abs(record["duty"]).max() == 1.0


@pytest.mark.parametrize("mode", ["PROBE", "FLOAT"])
def test_that_duties_in_the_lab_modes_make_up_for_the_back_emf_but_of_a_probe(mode):
    mechanism = changed(motor={"R": 0.5})
    app = App(mechanism)
    assert app.home() == "NONE"
    if mode == "FLOAT":
        assert app.command("ARM") == "NONE"
        assert app.ask(Float(next_token(app), 0)) == "NONE"
    else:
        app.ask(Probe(next_token(app), 1, 0.0))
        app.ask(Probe(next_token(app), 1, 0.3))
    record = led_by(app, 1, 1.0, 80)[-1]
    rows = [control_source.joint_constants(mechanism, joint) for joint in app.joints]
    volts = [row.resistance * record["torque"][j] + row.back_emf * (mode == "FLOAT") * record["rate"][j] * 1e-3
             for j, row in enumerate(rows)]
    assert abs(rows[1].back_emf * record["rate"][1] * 1e-3) > 0.01
    np.testing.assert_allclose(record["duty"], np.array(volts) / 24.0, rtol=1e-4, atol=1e-6)
    assert record["duty"][1] != 0.0
    app.see()
    assert app.limits == 0


def test_that_each_probe_has_its_whole_way_and_none_of_the_torque_before():
    app = App()
    for _ in range(2):
        app.ask(Probe(next_token(app), 1, 0.0))
        assert not app.run(5, follow=False)["torque"].any()
        app.ask(Probe(next_token(app), 1, 0.3))
        app.chip.counts[1] += 30
        app.run(20, follow=False)
        for _ in range(12):
            app.chip.counts[1] += 30
            post(app, Probe(next_token(app), 1, 0.3))
            record = app.run(10, follow=False)
        assert record["torque"][-1, 1] == np.float32(0.3)  # 0.3 rad of 0.35
        assert app.command("DISARM") == "NONE"
        app.run(200)


# ---- gain overlay -----------------------------------------------------------------------------------


@pytest.mark.parametrize("armed", [True, False])
def test_that_overlaid_gains_act_and_are_told(armed):
    app = App(in_lab())
    assert app.home() == "NONE"
    if armed:
        assert app.command("ARM") == "NONE"
    assert app.ask(Gains(next_token(app), 1, 128, 32, 64)) == "NONE"
    assert "OVERLAY" in app.flags
    assert (list(app.status.ku), list(app.status.kv), list(app.status.ki)) == ([64, 128, 64], [64, 32, 64], [64] * 3)
    assert armed or app.command("ARM") == "NONE"

    def stiffness(j):
        before = app.run(50, follow=False)["torque"][-1, j]
        app.chip.counts[j] += 10
        app.run(1, follow=False)
        after = app.run(300, follow=False)["torque"][-1, j]
        return (before - after) / (10 * 2 * np.pi / 8192)

    ku = [j.gains.ku for j in app.mechanism.moving]
    np.testing.assert_allclose([stiffness(0), stiffness(1)], [ku[0], 2.0 * ku[1]], rtol=1e-3)
    assert app.ask(Gains(next_token(app), 1, 64, 64, 64)) == "NONE"
    assert "OVERLAY" not in app.flags


def test_that_overlaid_gains_are_those_of_a_file_in_every_bit():
    """The last joint has twice or half the gains, by overlay and in the file, under the same disturbance."""
    mechanism = in_lab()
    joints = [replace(j, gains=replace(j.gains, ki=40.0)) for j in mechanism.joints]
    overlaid = replace(mechanism, joints=tuple(joints))
    g = joints[-1].gains
    joints[-1] = replace(joints[-1], gains=replace(g, ku=2.0 * g.ku, kv=0.5 * g.kv, ki=2.0 * g.ki))
    told = replace(mechanism, joints=tuple(joints), safety=replace(mechanism.safety, gain_overlay=(1.0, 1.0)))
    torques = []
    for mechanism, shares in ((overlaid, (128, 32, 128)), (told, None)):
        app, rng = App(mechanism), np.random.default_rng(4)
        app.ready()
        if shares:
            assert app.ask(Gains(next_token(app), 2, *shares)) == "NONE"
        else:
            app.see()
        for _ in range(60):
            for j, n in enumerate(rng.integers(-2, 3, 3)):
                app.chip.counts[j] += int(n)
            torques.append(app.run(1, follow=False)["torque"][0])
    assert np.array_equal(torques[:60], torques[60:])
    assert np.ptp(torques[:60], axis=0).min() > 0.01


def test_that_the_smallest_change_of_any_gain_is_told():
    app = in_hold(in_lab())
    for joint in range(3):
        for which in range(3):
            shares = [64, 64, 64]
            shares[which] += 1
            assert app.ask(Gains(next_token(app), joint, *shares)) == "NONE"
            assert "OVERLAY" in app.flags
            assert [app.status.ku[joint], app.status.kv[joint], app.status.ki[joint]] == shares
            assert app.ask(Gains(next_token(app), joint, 64, 64, 64)) == "NONE"
            assert "OVERLAY" not in app.flags


# ---- recording --------------------------------------------------------------------------------------


def recorded(app, first=0):
    app.send(Read(first))
    app.lib.ft_app_idle()
    return next(m for m in app.take() if isinstance(m, Data))


def read_out(app, count):
    """Return all samples (count, 4) as unsigned words."""
    rows = []
    while len(rows) < count:
        data = recorded(app, len(rows))
        assert data.first == len(rows)
        rows += np.array(data.words, np.uint32).reshape(8, 4)[:count - len(rows)].tolist()
    return np.array(rows, np.uint32), data


def words(app, *columns):
    return tuple(messages.CAPTURED.index(signal) * app.J + joint for signal, joint in columns)


@pytest.mark.parametrize("columns", [
    (("torque", 0), ("rate", 2), ("position", 1), ("target", 1)),
    (("torque_ff", 2), ("duty", 1), ("target_rate", 1), ("position", 0)),
])
def test_that_a_recording_holds_every_tick_of_what_was_chosen(columns):
    app = in_hold()
    app.send(Capture(1, messages.CAPTURES["ONCE"][0], 1, words(app, *columns)))
    app.run(1)
    record = np.concatenate([jog(app, 1, 0.5, 30), app.run(600)])
    rows, data = read_out(app, 1024)
    assert (data.id, data.running, data.count) == (1, 0, 1024)
    assert data.last_tick == record["tick"][1023]
    for row, (signal, joint) in zip(rows.T, columns, strict=True):
        recorded = record[signal][:1024, joint]
        assert np.array_equal(row.astype(np.uint32).view(recorded.dtype), recorded)


@pytest.mark.parametrize("end", ["FAULT", "ESTOP"])
def test_that_a_ring_keeps_what_was_before_the_board_let_go(end):
    app = in_hold()
    app.send(Capture(7, messages.CAPTURES["RING"][0], 2, words(app, *[("target", 1)] * 4)))
    record = jog(app, 1, 0.3, 150)
    if end == "FAULT":
        app.lib.ft_app_missed()
    else:
        app.chip.estop = 1
    record = np.concatenate([record, app.run(100)])
    assert app.state == end
    rows, data = read_out(app, 1024)
    assert (data.running, data.count) == (0, 1024)
    last = int(np.flatnonzero(record["tick"] == data.last_tick)[0])
    assert 2999 <= last <= 3001
    assert np.array_equal(rows[:, 0].astype(np.uint32).view(np.int32), record["target"][last - 2046:last + 1:2, 1])


def test_that_a_recording_begins_once_for_each_id_and_ends_when_told():
    app = in_hold()

    def record(number, mode="ONCE"):
        app.send(Capture(number, messages.CAPTURES[mode][0], 1, words(app, *[("position", 0)] * 4)))
        app.lib.ft_app_idle()

    record(1)
    app.run(100)
    record(1)  # repeated
    record(0)  # no id
    app.run(100)
    data = recorded(app)
    assert (data.id, data.running, data.count) == (1, 1, 200)
    record(2)
    app.run(50)
    data = recorded(app)
    assert (data.id, data.running, data.count) == (2, 1, 50)
    record(9, "OFF")
    app.run(50)
    data = recorded(app)
    assert (data.id, data.running, data.count) == (2, 0, 50)


def test_that_what_is_read_beyond_the_last_sample_is_zero():
    app = in_hold()
    app.send(Capture(1, messages.CAPTURES["ONCE"][0], 1, words(app, *[("target", 2)] * 4)))
    app.run(1100)
    assert all(recorded(app).words) and recorded(app).count == 1024
    ends = recorded(app, 1020).words
    assert all(ends[:16]) and not any(ends[16:])


def test_that_a_recording_that_cannot_be_is_not_begun():
    app = App()
    for bad in (Capture(1, 3, 1, (0,) * 4), Capture(1, 1, 0, (0,) * 4), Capture(0, 1, 1, (0,) * 4),
                Capture(1, 1, 1, (0, 0, 0, 22)), Capture(1, 1, 1, (65535, 0, 0, 0))):
        app.send(bad)
        app.run(2)
        data = recorded(app)
        assert (data.id, data.count, data.running) == (0, 0, 0)
    assert not any(recorded(app, 65535).words)
