"""The arm parks before its motors are switched off after a lost host, at a high temperature, or with a low supply. A
fault of the arm's sensors switches the motors off immediately."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.control import follow_limits, park_words
from femtorque.codegen.control.park import checked, parking
from femtorque.codegen.mechanism import Park, Safety
from femtorque.codegen.mechanism.description import Brake
from tests.firmware.app import App, changed
from tests.firmware.following import TURN, Sent, follow, target

VOLTS, SPEED = 20.0, 0.25
LOWER, UPPER = -2.5, 2.5
PLACES = (-0.5, 1.0, 0.25)
SAGS = 20  # ticks
STARTS = ((0.9, -0.7, 0.6), (2.4, -2.4, 2.4), (-2.4, 2.4, 0.25))


def lying(places=PLACES, limits=None, brake=None, **what):
    """Return the three-link arm with a parking pose. The arm parks after each of the configured faults."""
    kept = {"lower": LOWER, "upper": UPPER, "velocity": 4.0, "acceleration": 20.0, "jerk": 400.0}
    arm = changed(limits=kept | (limits or {}))
    pose = {joint.name: at for joint, at in zip(arm.streamed, places, strict=True)}
    park = Park(**{"pose": pose, "speed": SPEED, "heat": True, "supply_v": VOLTS} | what)
    return replace(arm, safety=Safety(park=park, brake=brake))


def held(mechanism, at=STARTS[0]):
    app = App(mechanism)
    assert app.home(list(at)) == "NONE" and app.command("ARM") == "NONE"
    app.run(400)
    return app


STRIKES = {
    "HOST_LOST": lambda app: app.run(1050, alive=False),
    "OVER_TEMPERATURE": lambda app: setattr(app.chip, "temperature", 99.0),
    "LOW_SUPPLY": lambda app: setattr(app.chip, "bus_voltage", VOLTS - 0.1),
}


def lie_down(app, alive=True):
    """Return the telemetry of all ticks with driven motors, and the targets in the last of these ticks. Fail if parking
    takes longer than the image allows."""
    limits = follow_limits(app.mechanism)
    most = parking(app.mechanism, None, limits, (0.0, 100.0)).ticks
    records = []
    for _ in range(0, most + 200, 20):
        records.append(app.run(20, alive=alive))
        if not app.chip.outputs:
            break
    assert not app.chip.outputs
    whole = np.concatenate(records)
    driven = whole[np.any(whole["torque"] != 0.0, axis=1)]
    return driven, driven["target"][-1] * TURN


@pytest.mark.parametrize("fault", STRIKES)
@pytest.mark.parametrize("start", STARTS)
def test_the_arm_lies_down_within_its_limits_and_is_then_let_go(fault, start):
    mechanism = lying()
    app = held(mechanism, start)
    STRIKES[fault](app)
    record, end = lie_down(app, alive=fault != "HOST_LOST")
    assert app.state == "FAULT" and app.fault[0] == fault
    q, v = record["target"] * TURN, record["target_rate"].astype(float)
    assert np.allclose(end, PLACES, atol=1e-6)
    limits = np.array([[x.velocity, x.acceleration, x.jerk] for x in follow_limits(mechanism)]) * SPEED
    low, high = np.minimum(start, PLACES), np.maximum(start, PLACES)
    assert np.all(q >= low - 1e-3) and np.all(q <= high + 1e-3)  # between start and parking pose, to within a count
    assert np.all(np.abs(v).max(axis=0) <= limits[:, 0])
    assert np.all(np.abs(np.diff(v, axis=0)).max(axis=0) * 1e3 <= limits[:, 1] * 1.01 + 0.01)
    assert app.command("CLEAR") == "NONE"


def test_the_longest_way_is_done_in_the_time_that_is_foretold_for_it_and_the_board_waits_half_as_long_again():
    """The ways are 2 mrad shorter than the ranges. The arm waits in its pose until the encoders confirm it."""
    app = held(lying(places=(LOWER + 1e-3,) * 3), (UPPER - 1e-3,) * 3)
    app.chip.temperature = 99.0
    took = len(lie_down(app)[0]) / 1e3
    plan = parking(app.mechanism, None, follow_limits(app.mechanism), (0.0, 100.0))
    assert plan.seconds - 0.01 < took < plan.seconds + 0.02 and plan.ticks / 1e3 > 1.5 * took + 0.3


def test_an_arm_that_follows_stops_first():
    app = held(lying(), (0.0, 0.0, 0.0))
    assert follow(app) == "NONE"
    for k in range(40):
        app.send(target(app, Sent(k * 0.02, k * 0.02, [0.03 * k, 0.0, 0.0])))
        app.run(20)
    app.chip.temperature = 99.0
    record, end = lie_down(app)
    v = record["target_rate"][:, 0].astype(float)
    assert v[0] > 0.5 and np.abs(np.diff(v)).max() * 1e3 <= 21.0  # the velocity does not jump at the reversal
    assert np.allclose(end, PLACES, atol=1e-6)


def test_a_short_dip_of_the_supply_is_none():
    app = held(lying())
    for _ in range(5):
        app.chip.bus_voltage = VOLTS - 1.0
        app.run(15)
        app.chip.bus_voltage = 24.0
        app.run(5)
    assert app.state == "HOLD"
    assert app.command("DISARM") == "NONE"
    app.chip.bus_voltage = VOLTS - 0.1
    assert app.command("ARM") == "BUS_VOLTAGE"


def test_the_supply_is_low_below_its_bound_for_longer_than_a_start_takes():
    app = held(lying())
    app.chip.bus_voltage = VOLTS
    app.run(100)
    assert app.state == "HOLD" and app.command("DISARM") == app.command("ARM") == "NONE"
    for ticks, fault in ((SAGS, "NONE"), (SAGS + 1, "LOW_SUPPLY")):
        app.run(10)
        app.chip.bus_voltage = VOLTS - 0.1
        app.run(ticks)
        app.chip.bus_voltage = VOLTS
        assert app.fault[0] == fault


def test_a_fault_while_targets_go_on_stops_the_arm_at_once_and_that_is_no_lack_of_targets():
    app = held(lying(), (0.0, 0.0, 0.0))
    assert follow(app) == "NONE"
    for k in range(70):
        if k == 40:
            app.chip.temperature = 99.0
        app.send(target(app, Sent(k * 0.02, k * 0.02, [0.03 * k, 0.0, 0.0])))
        app.run(20)
    assert app.state == "FAULT" and app.chip.outputs and not app.flags & {"UNDERRUN", "STOPPED", "ENDED"}


def test_a_fault_while_brakes_open_leaves_the_arm_to_them():
    app = App(lying(brake=Brake(0.5, 0.1)))
    assert app.home(list(STARTS[0])) == "NONE" and app.command("ARM") == "NONE"
    app.chip.temperature = 99.0
    record = app.run(300)
    assert app.fault[0] == "OVER_TEMPERATURE" and not app.chip.outputs and not app.chip.brake
    assert not record["target_rate"].any(), "it has not gone to where it lies"


def test_time_that_was_left_to_lie_down_is_over_with_it():
    app = held(lying())
    app.run(1200, alive=False)
    assert app.command("DISARM") == app.command("CLEAR") == app.command("ARM") == "NONE"
    limits = follow_limits(app.mechanism)
    assert follow(app) == "NONE"
    for k in range(parking(app.mechanism, None, limits, (0.0, 100.0)).ticks // 20):
        app.send(target(app, Sent(k * 0.02, k * 0.02, [float(x) for x in STARTS[0]])))
        app.run(20)
    assert app.state == "FOLLOW"


def test_on_the_way_nothing_but_to_be_let_go_can_be_asked_for():
    app = held(lying())
    app.run(1200, alive=False)
    assert app.state == "FAULT" and app.chip.outputs
    assert app.command("CLEAR") == "PARKING"
    assert app.command("ARM") == app.command("START") == "FAULT_LATCHED"
    assert app.chip.outputs
    assert app.command("DISARM") == "NONE"
    assert not app.chip.outputs


def test_brakes_close_before_the_motors_are_let_go():
    app = held(lying(brake=Brake(0.05, 0.1)))
    app.run(1050, alive=False)
    closed = None
    for tick in range(20_000):
        app.run(1, alive=tick % 20 == 0)
        if closed is None and not app.chip.brake:
            closed = tick
            assert app.chip.outputs
        if not app.chip.outputs:
            break
    assert closed is not None and 100 <= tick - closed <= 103
    assert np.allclose([x * TURN for x in app.see().target], PLACES, atol=2e-3)


def test_a_joint_that_is_blocked_on_the_way_is_let_go():
    app = held(lying())
    app.run(1050, alive=False)
    app.run(2000, alive=False, follow=False)
    assert not app.chip.outputs


def test_only_what_is_asked_for_lays_the_arm_down():
    app = held(lying(heat=False, supply_v=None))
    app.chip.temperature = 99.0
    app.run(20, follow=False)
    assert not app.chip.outputs and app.fault[0] == "OVER_TEMPERATURE"
    app = held(lying(heat=False, supply_v=None))
    app.chip.bus_voltage = VOLTS - 1.0
    app.run(100)
    assert app.state == "HOLD"


@pytest.mark.parametrize("change, key", [
    ({"places": (2.6, 0.0, 0.0)}, "safety.park.pose."),
    ({"pose": {}}, "safety.park.pose"),
])
def test_a_pose_that_cannot_be_is_refused_by_its_key(change, key):
    with pytest.raises(BadInput, match=key):
        checked(lying(**change))


def test_check_says_where_the_arm_lies_and_what_falls_from_there():
    said = park_words(lying(places=(0.0, 0.0, 0.0)))
    assert "lies down at" in said[0] and "gravity still loads" in said[1]
    assert len(park_words(lying(places=(-np.pi / 2.0, 0.0, 0.0)))) == 1  # it hangs
    assert len(park_words(lying(places=(0.0, 0.0, 0.0), brake=Brake(0.05, 0.1)))) == 1
