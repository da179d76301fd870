"""FELT reports, and reactions to a contact in each state, in an application on this computer."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.control import follow_limits
from femtorque.codegen.control.park import parking
from femtorque.codegen.mechanism import Contact, load_mechanism
from femtorque.codegen.mechanism.description import Feel
from femtorque.codegen.wire import FELT_TOUCHED, STATES, Felt, Float
from femtorque.codegen.wire.messages import FAULTS, FLAGS
from tests.firmware.app import App, changed, three_link
from tests.firmware.following import TURN, Sent, follow, play, target
from tests.firmware.streaming import three_link_knots
from tests.firmware.test_park import PLACES, STRIKES, lie_down, lying
from tests.firmware.test_safety import EVENTS, JUMP, following, in_lab, jogging, run_away, tracking

COUNTS = 2**20  # counts per turn; so fine that a single count is not detected as a contact
LIMITS = {"lower": -2.5, "upper": 2.5, "velocity": 4.0, "acceleration": 20.0, "jerk": 400.0}
TOUCH = (0.3, 0.2, 0.1)  # N m
TOUCHED = max(EVENTS.values()) + 1
PERIOD = 20  # ticks from one FELT to the next
AT, BY, WHILE = 1, 0.06, 200  # the pushed joint, the displacement, rad, and its duration, ticks


def fine(mechanism=None, thresholds=TOUCH):
    """Return an arm with fine encoders and thresholds, N m."""
    arm = mechanism or changed(limits=LIMITS)
    return replace(arm, joints=tuple(
        replace(joint, contact=Contact(torque), encoder=replace(joint.encoder, counts=COUNTS))
        for joint, torque in zip(arm.joints, thresholds, strict=True)))


def feeling(reaction, mechanism=None):
    """Return an arm in HOLD after contact detection has settled, and its FELT reports from now on."""
    app = App(replace(fine(mechanism), feel=Feel(reaction, 20.0)))
    reports = reports_of(app)
    assert app.home([0.4, 0.3, 0.2]) == "NONE" and app.command("ARM") == "NONE"
    app.run(900)
    return app, reports


def reports_of(app):
    """Return a list to which the application's FELT reports are appended from now on."""
    reports, taken = [], app.take

    def take():
        found = taken()
        reports.extend(message for message in found if isinstance(message, Felt))
        return found

    app.take = take
    return reports


def now(app):
    """Return state, flags and fault. Unlike in `App.state`, the joints do not jump to their targets."""
    app.run(20, follow=False)
    return (App.name(STATES, app.status.state), {n for n, row in FLAGS.items() if app.status.flags & row[0]},
            App.name(FAULTS, app.status.fault))


def push(app, ticks=60, alive=True, by=BY):
    """Hold a joint `by` off its target, like a hand that is stronger than the pushing motor."""
    records = []
    way = np.round(0.5 * by * (1.0 - np.cos(np.linspace(0.0, np.pi, WHILE + 1))) / (2.0 * np.pi) * COUNTS)
    for counts in np.diff(way):
        app.chip.counts[AT] += int(counts)
        records.append(app.run(1, follow=False, alive=alive))
    return np.concatenate([*records, app.run(ticks, follow=False, alive=alive)])


def test_reports_say_what_is_felt():
    app, reports = feeling("none")
    held, before = reports[-1], len(reports)
    assert {b.tick - a.tick for a, b in zip(reports[:-1], reports[1:], strict=True)} == {PERIOD}
    assert held.touches == held.touched == held.touch_tick == 0
    assert np.abs(held.external).max() < 0.02 and np.array_equal(np.float32(held.threshold), np.float32(TOUCH))
    push(app, 200)
    pushed = reports[before:]
    stiff = app.joints[AT].gains.ku * BY  # the motor's torque, which the hand balances
    last = pushed[-1]
    assert last.external[AT] == pytest.approx(stiff, rel=0.1)
    assert np.abs(np.delete(last.external, AT)).max() < 0.2 * stiff
    assert (last.touched, last.joint, last.touches) == (1, AT, 1)
    assert held.tick < last.touch_tick <= held.tick + WHILE and last.tick > held.tick + WHILE + 180
    means = np.array([report.mean[AT] for report in pushed])
    assert np.all(np.diff(means[-8:]) > 0.0) and 0.2 * stiff < means[-1] < 0.5 * stiff
    assert now(app)[0] == "HOLD"
    app.run(3000, follow=False)
    assert reports[-1].touched == 0 and reports[-1].touches == 1, "its mean has come to it"
    app.post("DISARM")
    app.run(2 * PERIOD, follow=False)
    assert now(app)[0] == "DISARMED" and not np.any(reports[-1].external) and reports[-1].touched == 0
    app.run(400, follow=False)
    assert not np.any(reports[-1].external), "without torque nothing is felt, the weight neither"


def test_a_report_that_does_not_fit_into_the_line_is_sent_as_soon_as_it_does():
    app, reports = feeling("none")
    app.chip.deaf = 1
    app.run(2 * PERIOD)
    del reports[:]
    app.chip.deaf = 0
    app.run(1)
    assert len(reports) == 1


def moving(app):
    """Make the first joint follow live targets."""
    assert follow(app) == "NONE"
    play(app, [Sent(0.02 * k, 0.02 * k + 0.002, [0.4 + 0.01 * k, 0.3, 0.2]) for k in range(50)], 900)
    assert app.state == "FOLLOW"


@pytest.mark.parametrize("state", ["HOLD", "TRACK", "JOG", "FOLLOW"])
@pytest.mark.parametrize("reaction", ["none", "stop", "float", "return"])
def test_every_reaction_in_every_state(reaction, state):
    mechanism = in_lab()
    deaf = tuple(replace(joint, contact=Contact(1e6)) for joint in mechanism.joints)
    app = App(replace(mechanism, joints=deaf, feel=Feel(reaction)))
    {"HOLD": App.ready, "TRACK": tracking, "JOG": jogging, "FOLLOW": following}[state](app)
    app.run(10)
    begun = app.see()
    app.lib.fake_event(TOUCHED)
    where = App.name(STATES, app.lib.fake_state_now())
    assert where == ("FLOAT" if reaction in ("float", "return") else state)
    app.run(1)
    buffered = app.see().buffered
    record = app.run(40)
    rates = np.abs(record["target_rate"]).max(axis=1)
    if reaction in ("float", "return"):
        assert np.allclose(record["torque"], record["torque_ff"], atol=0.05)
        assert np.abs(record["torque"][:, 0]).min() > 0.5, "its weight"
        assert (buffered == 0) == (reaction == "float" or state != "TRACK") and app.flags == {"HOMED", "OUTPUTS"}
    elif state == "JOG":
        assert (rates[-1] < rates[0]) == (reaction == "stop") and rates[0] > 0.0
    elif state != "HOLD":
        assert begun.buffered >= buffered and rates[0] > 0.0
        app.run(300)
        assert ("STOPPED" in app.flags) == (reaction == "stop")
    else:
        assert app.state == "HOLD" and "STOPPED" not in app.flags


def test_an_arm_that_gives_way_has_forgotten_how_its_last_motion_ended():
    app, _ = feeling("float")
    assert follow(app) == "NONE"
    play(app, [Sent(0.02 * k, 0.02 * k + 0.002, [0.4, 0.3, 0.2], end=k == 30) for k in range(31)], 900)
    assert app.state == "HOLD" and "ENDED" in app.flags
    push(app)
    where, flags, _ = now(app)
    assert where == "FLOAT" and flags == {"HOMED", "OUTPUTS"}


def test_an_arm_that_gives_way_carries_no_friction_as_one_that_is_led_does():
    app, _ = feeling("float")
    assert app.ask(Float(app.token % 255 + 1, 80)) == app.command("STOP") == "NONE"
    app.lib.fake_event(TOUCHED)
    difference = []
    for _ in range(100):
        app.chip.counts[0] += COUNTS // 20_000  # 0.3 rad/s
        record = app.run(1, follow=False)
        difference.append(record["torque"][-1] - record["torque_ff"][-1])
    assert np.abs(difference).max() < 1e-6 and app.lib.fake_state_now() == STATES["FLOAT"][0]


def test_a_touch_on_the_way_to_a_fault_changes_nothing_of_it():
    app, reports = feeling("float", lying(supply_v=None))
    moving(app)
    app.send(target(app, Sent(1.0, 1.0, [1.2, 0.3, 0.2])))
    app.chip.temperature = 99.0
    app.run(3)
    assert app.lib.fake_state_now() == STATES["FOLLOW"][0], "it comes to rest first"
    for _ in range(20):
        app.run(1, follow=False)  # held fast
        assert app.lib.fake_state_now() != STATES["FLOAT"][0]
    assert reports[-1].touches >= 1
    app.run(100, follow=False)
    assert now(app)[0::2] == ("FAULT", "OVER_TEMPERATURE")


def held_fast(app, ticks, alive=True):
    """Hold every joint at its position. Return the largest torques (J,) of the motors against this hold, N m."""
    record = app.run(ticks, follow=False, alive=alive)
    return np.abs(record["torque"] - record["torque_ff"]).max(axis=0)


@pytest.mark.parametrize("reaction", ["stop", "float", "return"])
@pytest.mark.parametrize("cause", STRIKES)
def test_an_arm_that_lies_down_waits_while_it_is_touched_and_goes_on_when_it_is_free(reaction, cause):
    """Against a hand, the arm tries again after each second without contact. Its push grows until the filter detects
    the contact, at about four thresholds. Without waiting it would reach twenty."""
    alive = cause != "HOST_LOST"
    app, reports = feeling(reaction, lying())
    STRIKES[cause](app)
    app.run(200, alive=alive)
    assert app.lib.fake_state_now() == STATES["FAULT"][0] and app.chip.outputs
    assert np.all(held_fast(app, 3000, alive) < 4.0 * np.array(TOUCH)) and app.chip.outputs
    assert 2 <= reports[-1].touches <= 4
    _, end = lie_down(app, alive)
    assert np.allclose(end, PLACES, atol=1e-6) and app.fault[0] == cause


def bad_knot(app):
    app.stream(three_link_knots(), most=100, end=False)
    app.send(JUMP, seq=100)
    app.run(300)


def leaning(reaction="stop", strike=lambda app: app.run(1300, alive=False), before=None):
    """Return an arm that parks after the loss of its host. A strong hand has moved one joint aside and holds it there.
    before: an application to use instead of a new one."""
    app, reports = before or feeling(reaction, lying())
    strike(app)
    push(app, 1, alive=False)
    assert reports[-1].touched
    return app, reports


@pytest.mark.parametrize("strike", [lambda app: app.run(1300, alive=False), bad_knot], ids=["HOST_LOST", "KNOT"])
def test_for_want_of_a_host_an_arm_that_lies_down_waits_for_as_long_as_it_is_touched(strike):
    """Before this test, the arm parked because of heat. At that time the arm did not wait for the hand."""
    app, reports = feeling("stop", lying())
    app.chip.temperature = 99.0
    app.run(300)
    app.chip.temperature = 25.0
    app.run(1)
    assert app.command("DISARM") == app.command("CLEAR") == app.command("ARM") == "NONE"
    app.run(900)
    touches = reports[-1].touches
    leaning(strike=strike, before=(app, reports))
    record = app.run(20_000, alive=False, follow=False)
    assert app.chip.outputs and np.all(record["target"] == record["target"][0])
    assert reports[-1].touches == touches + 1
    assert {"TOUCH", "AWAY"} == {n for n, (bit, _) in FELT_TOUCHED.items() if reports[-1].touched & bit}
    push(app, 1, alive=False, by=-BY)
    assert np.allclose(lie_down(app, alive=False)[1], PLACES, atol=1e-6)


@pytest.mark.parametrize("cause", ["OVER_TEMPERATURE", "LOW_SUPPLY"])
def test_heat_and_a_low_supply_let_it_wait_no_longer_than_lying_down_may_take(cause):
    """The fault occurs while the arm waits after the loss of its host."""
    app, _ = leaning()
    STRIKES[cause](app)
    app.run(parking(app.mechanism, None, follow_limits(app.mechanism), (0.0, 100.0)).ticks, alive=False, follow=False)
    assert not app.chip.outputs and app.fault[0] == "HOST_LOST"


def test_an_arm_that_a_fault_holds_does_not_begin_to_lie_down_at_a_touch():
    mechanism = lying()
    app, _ = feeling("stop", replace(mechanism, safety=replace(mechanism.safety, motion="hold")))
    run_away(app, COUNTS // 1000)
    assert app.lib.fake_state_now() == STATES["FAULT"][0] and app.chip.outputs
    app.lib.fake_event(TOUCHED)
    assert not app.run(500, follow=False)["target_rate"].any() and app.chip.outputs


@pytest.mark.parametrize("reaction, gives", [("stop", False), ("float", True), ("return", True)])
def test_a_hand_moves_an_arm_that_lies_down_aside_where_its_file_lets_it_give_way(reaction, gives):
    app, _ = leaning(reaction)
    record = app.run(1, alive=False, follow=False)
    off = np.abs(record["target"] - record["position"])[0, AT] * TURN
    assert (off < 0.25 * BY) == gives and (off > 0.9 * BY) != gives


def test_a_hand_that_is_there_already_keeps_an_arm_from_lying_down():
    app, _ = feeling("stop", lying())
    push(app, 1)
    app.chip.temperature = 99.0
    record = app.run(500, follow=False)
    assert app.lib.fake_state_now() == STATES["FAULT"][0] and app.chip.outputs
    assert np.all(np.abs(record["target_rate"]) < 0.01)


def test_that_the_last_joint_s_torque_is_told_too():
    app = App(replace(three_link(), feel=Feel("none", 20.0)))
    reports = reports_of(app)
    app.ready()
    for _ in range(200):
        app.chip.counts[2] += 1
        app.run(1, follow=False)
    assert reports[-1].external[2] != 0.0


def test_that_closed_loops_say_while_they_do_not_close_that_nothing_is_felt():
    """A hand pushes the cranks of a five-bar away from their targets until a fault occurs."""
    blind, arm = FELT_TOUCHED["BLIND"][0], load_mechanism(MECHANISMS / "five_bar.toml")
    app = App(replace(arm, feel=Feel("none", 20.0)))
    reports = reports_of(app)
    app.ready()
    app.run(600)
    way = np.round(2.2 / (2.0 * np.pi) * app.joints[0].encoder.counts * np.linspace(0.0, 1.0, 401)).astype(int)
    for step in np.diff(way).tolist():
        app.chip.counts[0] += step
        app.chip.counts[1] -= step
        app.run(1, follow=False)
        if app.lib.fake_state_now() == STATES["FAULT"][0]:
            break
    told = [bool(report.touched & blind) for report in reports]
    assert app.fault == ("FOLLOWING", 0) and any(told) and not told[0]
    assert all(not any(report.external) for report in reports if report.touched & blind)
    assert any(any(report.external) for report in reports if not report.touched & blind)
    app.run(40)
    assert not reports[-1].touched & blind, "without power it begins anew"
