"""Tests that an arm gives way to a contact and returns, in an application on this computer."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.control import constants, follow_limits
from femtorque.codegen.control.contact import QUIET_S, RETURN_SPEED, RETURN_TRIES
from femtorque.codegen.control.park import wayless
from femtorque.codegen.mechanism import Contact, Park, Safety, load_mechanism
from femtorque.codegen.mechanism.description import Feel
from femtorque.codegen.motion import Knots
from femtorque.codegen.wire import FELT_TOUCHED, STATES, Felt, Float, Follow, to_wire
from tests.firmware.app import App, changed, three_link
from tests.firmware.following import TURN, Sent, follow, target
from tests.firmware.test_safety import in_lab, jogging, tracking
from tests.firmware.test_touches import AT, BY, LIMITS, TOUCH, TOUCHED, fine, push

WAITS = round(QUIET_S * 1000.0)  # ticks
PERIOD = 20  # ticks from one FELT to the next
START = (0.4, 0.3, 0.2)


class Arm(App):
    """Application in which an arm yields to a contact and returns. It collects the arm's FELT reports."""

    def __init__(self, mechanism=None, **how):
        self.reports = []
        arm = mechanism or changed(limits=LIMITS)
        super().__init__(replace(arm, feel=Feel("return", 20.0)), **how)

    def take(self):
        found = super().take()
        self.reports.extend(message for message in found if isinstance(message, Felt))
        return found

    @property
    def way(self):
        """Return the flags of contact and reaction in the last FELT report."""
        self.run(PERIOD)
        return {name for name, (bit, _) in FELT_TOUCHED.items() if self.reports[-1].touched & bit}

    def now(self):
        """Return the name of the state in this tick."""
        return self.name(STATES, self.lib.fake_state_now())

    def touched(self):
        """Trigger the event of a contact in this tick."""
        self.lib.fake_event(TOUCHED)

    def until(self, state, most=20_000, alive=True):
        """Return the telemetry until this state. Fail if the state does not come."""
        records = []
        for _ in range(most):
            records.append(self.run(1, alive=alive))
            if self.now() == state:
                return np.concatenate(records)
        raise AssertionError(f"not {state} but {self.now()} after {most} ticks")

    def back(self):
        """Wait until the arm has gone back."""
        self.until("FOLLOW")
        self.until("HOLD")

    def at(self):
        """Return the positions at which the joints are held, rad."""
        return self.run(1)["target"][-1] * TURN


def feeling(thresholds=TOUCH):
    """Return an arm in HOLD after contact detection has settled."""
    app = Arm(fine(thresholds=thresholds))
    assert app.home(list(START)) == "NONE" and app.command("ARM") == "NONE"
    app.run(900)
    return app


def led(app, joint, way, ticks=WAITS):
    """Move a joint smoothly by a displacement, rad, as a hand does."""
    count = 2.0 * np.pi / app.joints[joint].encoder.counts
    steps = np.round(0.5 * way * (1.0 - np.cos(np.linspace(0.0, np.pi, ticks + 1))) / count)
    for counts in np.diff(steps):
        app.chip.counts[joint] += int(counts)
        app.run(1, follow=False)


def deaf(mechanism):
    """Return the mechanism with thresholds that no contact exceeds."""
    return replace(mechanism, joints=tuple(replace(joint, contact=Contact(1e6)) for joint in mechanism.joints))


def test_a_push_makes_the_arm_give_way_and_go_back_slowly_once_it_is_over():
    app = feeling()
    before = app.at()
    push(app, 1)
    assert app.now() == "FLOAT" and app.way >= {"AWAY"} and np.array_equal(app.at(), app.at())
    assert app.at()[AT] - before[AT] == pytest.approx(BY, abs=1e-5)
    back = app.until("FOLLOW")
    assert WAITS - 2 <= len(back) + 2 * PERIOD and app.way == {"BACK"} and app.flags == {"HOMED", "OUTPUTS"}
    record = app.until("HOLD")
    assert np.allclose(app.at(), before, atol=1e-7) and app.way == set() and app.flags == {"HOMED", "OUTPUTS"}
    limits = np.array([[x.velocity, x.acceleration] for x in follow_limits(app.mechanism)]) * RETURN_SPEED
    rates = record["target_rate"].astype(float)
    assert np.all(np.abs(rates) <= limits[:, 0]) and np.abs(rates[:, AT]).max() > 0.1 * limits[AT, 0]
    assert np.all(np.abs(np.diff(rates, axis=0)).max(axis=0) * 1e3 <= limits[:, 1] * 1.01 + 0.01)
    assert app.reports[-1].touches == 1


def test_it_goes_back_once_it_has_been_at_rest_for_the_whole_time():
    app = Arm(deaf(changed(limits=LIMITS)))
    app.ready()
    app.touched()
    assert len(app.until("FOLLOW")) == WAITS
    app.until("HOLD")
    app.touched()
    for joint in range(3):
        led(app, joint, 0.3, WAITS // 2)
        app.run(WAITS // 2 - 2, follow=False)
    assert app.now() == "FLOAT"
    assert len(app.until("FOLLOW")) < WAITS // 2 + 20


def test_an_arm_that_is_held_feels_what_leaves_its_mean_as_others_do():
    app = feeling((1e6, 1e6, 1e6))
    push(app, 400)
    stiff = app.joints[AT].gains.ku * BY
    assert app.now() == "HOLD" and 0.2 * stiff < app.reports[-1].mean[AT] < app.reports[-1].external[AT]


def test_what_presses_on_is_a_touch_for_as_long():
    """While a hand moves a joint, the torque against its motion is a contact. The mean does not follow this torque."""
    app = feeling((0.008, 0.008, 0.008))  # at 6 mrad/s the joint's friction is 0.006 N m
    push(app, 1)
    turns = 0
    while turns < 3:  # the hand moves the joint to and fro, more slowly than the velocity that counts as motion
        for _ in range(2000):
            app.chip.counts[AT] += 1 if turns % 2 == 0 else -1
            app.run(1, follow=False)
        turns += 1
        assert app.now() == "FLOAT"
        assert app.reports[-1].touched & FELT_TOUCHED["TOUCH"][0] and not any(app.reports[-1].mean)
    app.until("FOLLOW")


def playing(app):
    """Play a motion of 0.8 s to its end. Return on the way."""
    hz = app.mechanism.control.knot_hz
    s = np.linspace(0.0, 1.0, round(0.8 * hz) + 1)[:, None]
    at = np.array([joint.start for joint in app.joints])
    way, t = np.array([0.5, -0.4, 0.3]), 0.8
    rows = (at + way * s**3 * (10.0 - 15.0 * s + 6.0 * s**2), way * 30.0 * (s * (1.0 - s))**2 / t,
            way * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / t**2)
    app.ready()
    app.start(Knots(to_wire(rows[0], app.joints), rows[1].astype(np.float32), rows[2].astype(np.float32)))
    app.run(400)
    assert app.now() == "TRACK"


def test_a_path_goes_on_where_it_was_left():
    app, whole = Arm(deaf(three_link())), Arm(deaf(three_link()))
    playing(app)
    playing(whole)
    played = whole.until("HOLD")
    app.touched()
    assert app.now() == "FLOAT"
    led(app, 0, 0.3)
    led(app, 1, -0.2)
    app.back()
    assert app.flags == {"HOMED", "OUTPUTS", "STOPPED"} and app.see().buffered > 0
    left = app.run(1)["target"][-1]
    between = np.sign(played["target"][:6].astype(int) - left)
    assert any(np.all(b == -a) for a, b in zip(between[:-1], between[1:], strict=True)), "half a tick from a sample"
    assert app.command("RESUME") == "NONE"
    record = app.until("HOLD")
    assert app.flags == {"HOMED", "OUTPUTS", "ENDED"} and app.see().buffered == 0
    away = app.run(1)["target"][-1].astype(int) - whole.run(1)["target"][-1]
    assert np.abs(away).max() <= 8, "to the rounding of another pace"
    jumps = np.abs(np.diff(record["target_rate"].astype(float), axis=0)).max(axis=0)
    assert np.all(jumps <= np.abs(played["target_rate"][0]) / constants.ramp(1000)), "it is taken up as after a stop"
    app.touched()
    app.back()
    assert app.flags == {"HOMED", "OUTPUTS"}, "the end of the last motion is forgotten"


def test_a_motion_that_has_stopped_and_one_that_waits_stay_so():
    app = Arm(deaf(three_link()))
    tracking(app)
    assert app.command("STOP") == "NONE"
    app.until("HOLD")
    app.touched()
    app.back()
    assert app.flags >= {"STOPPED"} and app.command("RESUME") == "NONE"


def test_a_touch_on_the_way_back_makes_it_give_way_again_and_too_many_for_good():
    app = Arm(deaf(changed(limits=LIMITS)))
    app.ready()
    place = app.at()
    for _ in range(2):  # after a successful return, the attempts are counted from zero again
        app.touched()
        for _ in range(RETURN_TRIES - 1):
            led(app, 0, 0.1)
            app.until("FOLLOW")
            app.run(50)
            app.touched()
            assert app.now() == "FLOAT" and "AWAY" in app.way
        app.back()
        assert np.allclose(app.at(), place, atol=1e-6), "where it was at the first touch"
    app.touched()
    for _ in range(RETURN_TRIES):
        led(app, 0, 0.1)
        app.until("FOLLOW")
        app.touched()
    assert app.now() == "FLOAT" and app.way == {"STAYS"}
    app.run(3 * WAITS)
    assert app.now() == "FLOAT" and app.way == {"STAYS"}
    assert app.command("STOP") == "NONE" and app.state == "HOLD" and app.way == set()
    app.touched()
    assert app.way == {"AWAY"}


def moved(app):
    """Let the arm give way on its path, move it away by hand, and let it return."""
    tracking(app)
    app.touched()
    led(app, 0, 0.3)
    app.until("FOLLOW")
    app.run(300)
    assert app.now() == "FOLLOW"


def test_a_stop_on_the_way_back_ends_there_and_nothing_can_be_resumed():
    app = Arm(deaf(three_link()))
    moved(app)
    app.post("STOP")
    rates = app.until("HOLD")["target_rate"]
    assert abs(rates[0, 0]) > 0.1 and np.abs(rates[-1]).max() < 1e-3
    assert "STOPPED" in app.flags and app.way == set() and app.command("RESUME") == "NOTHING_BUFFERED"
    app.touched()
    app.back()
    assert app.command("RESUME") == "NOTHING_BUFFERED"


def test_a_stop_while_it_floats_holds_it_there_and_nothing_can_be_resumed():
    app = Arm(deaf(three_link()))
    tracking(app)
    app.touched()
    led(app, 0, 0.3)
    assert app.command("STOP") == "NONE" and app.state == "HOLD" and app.way == set()
    assert app.command("RESUME") == "NOTHING_BUFFERED"
    app.run(2 * WAITS)
    assert app.state == "HOLD"


def test_without_a_host_it_holds_where_it_is():
    app = Arm(deaf(three_link()))
    tracking(app)
    app.touched()
    led(app, 0, 0.3)
    app.run(120, alive=False)
    assert app.now() == "HOLD"
    assert app.command("RESUME") == "NOTHING_BUFFERED"
    other = Arm(deaf(three_link()))
    moved(other)
    record = other.until("HOLD", alive=False)
    assert len(record) < 1000 and "HOST_SILENT" in other.flags
    assert other.command("RESUME") == "NOTHING_BUFFERED"


def test_who_leads_it_from_then_on_leads_it():
    app = Arm(deaf(three_link()))
    tracking(app)
    app.touched()
    assert app.ask(Float(app.token % 255 + 1, 20)) == "NONE"
    app.run(2 * WAITS)
    assert app.state == "FLOAT" and app.way == set() and app.see().buffered == 0
    assert app.command("STOP") == "NONE" and app.command("RESUME") == "NOTHING_BUFFERED"


def test_it_gives_way_with_no_more_than_its_weight():
    """Friction compensation from an earlier FLOAT has no effect here."""
    torques = []
    for led_before in (False, True):
        app = Arm(deaf(three_link()))
        app.ready()
        if led_before:
            assert app.ask(Float(app.token % 255 + 1, 80)) == "NONE"
            assert app.command("STOP") == "NONE" and app.state == "HOLD"
        app.touched()
        led(app, 0, 0.3)
        torques.append(np.concatenate([record["torque"] for record in app.trace[-WAITS:]]))
    np.testing.assert_allclose(torques[0], torques[1], atol=1e-6)
    assert np.ptp(torques[0][:, 0]) > 0.0


def test_targets_that_go_on_coming_do_not_lead_it_astray():
    app = Arm(deaf(changed(limits=LIMITS)))
    assert app.home(list(START)) == "NONE" and app.command("ARM") == "NONE"
    assert follow(app) == "NONE"

    def go(k):
        app.send(target(app, Sent(0.02 * k, 0.02 * k + 0.002, [0.4 + 0.01 * k, 0.3, 0.2])))
        app.run(20)

    for k in range(30):
        go(k)
    here = app.run(1)["target"][-1]
    app.touched()
    led(app, 1, 0.2)
    k = 30
    while app.now() != "HOLD":
        go(k := k + 1)
        assert k < 1000
    assert np.abs(app.run(1)["target"][-1] - here).max() * TURN < 2e-3 and "ENDED" not in app.flags
    assert app.ask(Follow(app.token % 255 + 1, 0xFFFFFFFF, 20_000)) == "NONE"


def test_a_joint_that_is_jogged_gives_way_and_returns():
    mechanism = in_lab()
    app = Arm(deaf(mechanism))
    jogging(app)
    app.run(50)
    here = app.run(1)["target"][-1]
    app.touched()
    led(app, 0, 0.1)
    app.back()
    assert np.abs(app.run(1)["target"][-1] - here).max() * TURN < 2e-3


def test_a_place_beyond_a_limit_is_left_for_the_limit():
    """A hand has moved the arm outside its limits, but not far enough for a fault. STOP holds the arm there."""
    app = Arm(deaf(changed(limits=LIMITS)))
    assert app.home([2.49, -2.49, 0.0]) == "NONE" and app.command("ARM") == "NONE"
    assert app.ask(Float(app.token % 255 + 1, 0)) == "NONE"
    led(app, 0, 0.03)
    led(app, 1, -0.03)
    assert app.command("STOP") == "NONE" and app.at()[0] > 2.505
    app.touched()
    app.back()
    assert np.allclose(app.at(), [2.5, -2.5, 0.0], atol=1e-4)


def test_it_goes_as_slowly_as_it_lies_down_where_the_file_says_how():
    arm = deaf(changed(limits=LIMITS))
    pose = {joint.name: 0.1 for joint in arm.streamed}
    speeds = []
    for speed in (0.05, 0.2):
        app = Arm(replace(arm, safety=Safety(park=Park(pose, speed))))
        app.ready()
        app.touched()
        led(app, 0, 0.5)
        app.until("FOLLOW")
        speeds.append(np.abs(app.until("HOLD")["target_rate"]).max())
    top = follow_limits(arm)[0].velocity
    assert speeds == pytest.approx([0.05 * top, 0.2 * top], rel=0.02)


def test_what_cannot_go_by_itself_is_refused_by_name():
    arm = load_mechanism(MECHANISMS / "three_link.toml")
    assert not wayless(arm)
    loops = load_mechanism(MECHANISMS / "five_bar.toml")
    assert "closed loops do not close everywhere" in wayless(loops)
    emitted = constants.render(replace(arm, feel=Feel("return")), None)["ft_config.h"]
    assert "#define FT_CONTACT_REACTION 3 " in emitted and f"#define FT_RETURN_TRIES {RETURN_TRIES}u" in emitted
    assert "#define FT_RETURN 0 " in constants.render(replace(arm, feel=Feel("float")), None)["ft_config.h"]
