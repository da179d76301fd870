"""Holding brakes open once the joints are held, and close before the outputs go off, in their set times."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.mechanism import Home
from femtorque.codegen.mechanism.description import Brake
from femtorque.codegen.model import Model
from femtorque.codegen.wire import FOLLOW_AUTO, STATES, Float, Follow, Jog, Knot, Probe, Seek
from femtorque.codegen.wire.units import TURN_UNIT
from tests.firmware.app import App, changed, in_hold
from tests.firmware.streaming import three_link_knots
from tests.support import oracle

OPENS, CLOSES = 201, 301  # times of 0.2 s and 0.3 s, plus the tick in which the output changes, ticks


def braked(engage_s=0.3, **safety):
    mechanism = changed(encoder={"zero": "stop"}, home=Home(at=-1.57))
    return replace(mechanism, safety=replace(mechanism.safety, brake=Brake(0.2, engage_s), **safety))


def held(**safety) -> App:
    """Return an arm in HOLD whose brakes have opened."""
    app = in_hold(braked(**safety))
    app.run(OPENS)
    return app


def token(app: App) -> int:
    return app.token % 255 + 1


def test_that_nothing_moves_until_the_brakes_are_open():
    app = App(braked())
    app.home()
    app.stream(three_link_knots(), most=100)
    app.command("ARM")
    for request in (lambda: app.command("START"), lambda: app.ask(Jog(token(app), 0, 0.1)),
                    lambda: app.ask(Float(token(app), 0)), lambda: app.ask(Follow(token(app), FOLLOW_AUTO, 0))):
        assert request() == "BRAKE"
    app.run(OPENS)
    assert app.command("START") == "NONE"


def test_that_brakes_open_anew_each_time_that_it_is_armed():
    app = held()
    app.command("DISARM")
    app.run(CLOSES + 10)
    assert (app.state, app.chip.brake, app.chip.outputs) == ("DISARMED", 0, 0)
    app.command("ARM")
    assert (app.chip.brake, app.chip.outputs) == (1, 1)
    assert app.ask(Float(token(app), 0)) == "BRAKE"
    app.run(OPENS)
    assert app.ask(Float(token(app), 0)) == "NONE"


def test_that_a_disarmed_arm_is_held_until_its_brakes_have_closed():
    app = held()
    app.command("DISARM")
    assert (app.state, app.chip.brake, app.chip.outputs) == ("CLOSING", 0, 1)
    app.run(CLOSES - 50)
    assert (app.state, app.chip.outputs) == ("CLOSING", 1)
    app.run(60)
    assert (app.state, app.chip.outputs) == ("DISARMED", 0)


@pytest.mark.parametrize("cause, state", [("estop", "ESTOP"), ("driver_fault", "FAULT")])
@pytest.mark.parametrize("closing", [False, True])
def test_that_brakes_and_outputs_go_at_once_where_nothing_can_be_trusted_to_hold(cause, state, closing):
    app = held()
    if closing:
        app.command("DISARM")
    setattr(app.chip, cause, 1)
    app.run(2)
    assert (app.state, app.chip.brake, app.chip.outputs) == (state, 0, 0)


@pytest.mark.parametrize("host", ["coast", "hold"])
def test_that_a_lost_host_closes_the_brakes_and_then_lets_the_motors_go(host):
    app = held(host=host)
    app.run(1002, alive=False)
    assert (app.lib.fake_state_now(), app.chip.brake, app.chip.outputs) == (5, 0, 1)
    assert app.command("CLEAR") == "BRAKE"
    app.run(CLOSES + 2, alive=False)
    assert (app.state, app.chip.brake, app.chip.outputs) == ("FAULT", 0, 0)
    assert app.command("CLEAR") == "NONE"


def test_that_a_bad_knot_in_mid_motion_stops_the_arm_before_its_brakes_close():
    app = in_hold(braked(host="coast"))
    app.run(OPENS)
    app.stream(three_link_knots(), most=100)
    app.command("START")
    app.run(50)
    app.send(Knot(0, [0] * 3, [9e9] * 3, [0.0] * 3), seq=app.see().ack)
    app.run(10)
    assert (app.state, app.chip.brake) == ("TRACK", 1)
    app.run(260 + CLOSES)
    assert (app.state, app.fault[0], app.chip.brake, app.chip.outputs) == ("FAULT", "KNOT", 0, 0)


def test_that_motors_that_brake_are_not_held_against_brakes_that_close():
    app = held(host="brake")
    app.run(1002, alive=False)
    assert (app.state, app.chip.brake, app.chip.outputs) == ("FAULT", 0, 1)
    app.run(2 * CLOSES, alive=False)
    assert app.chip.outputs == 1  # with zero duty, the outputs short-circuit the motors


def test_that_a_held_fault_closes_the_brakes():
    app = held(motion="hold")
    app.lib.fake_shift(1, 3 * 2**29)
    app.run(2, follow=False)
    assert (app.state, app.chip.brake, app.chip.outputs) == ("FAULT", 0, 1)


def test_that_a_zero_is_sought_once_the_brakes_are_open():
    """While the brakes hold a joint, the joint is not at its stop."""
    app = App(braked())
    assert app.ask(Seek(token(app), 0)) == "NONE"
    assert app.chip.brake == 1
    app.run(OPENS - 60)
    still = app.see().target
    assert app.state == "HOMING" and abs(still[0] - app.see().position[0]) < 2**16
    app.run(100)
    assert app.see().target[0] != still[0]
    app.command("ARM")
    assert app.state == "HOLD" or app.status.refusal


def test_that_a_probe_is_refused_where_brakes_hold_the_joints():
    """A probe holds no joint, but the brakes of all joints open together."""
    app = App(braked())
    app.home()
    assert app.ask(Probe(token(app), 0, 0.0)) == "BRAKE"
    assert (app.state, app.chip.brake, app.chip.outputs) == ("DISARMED", 0, 0)


def test_that_brakes_that_are_open_are_not_waited_for_again():
    """The brakes were already open while the zero was sought."""
    app = App(braked())
    assert app.home() == "NONE" and app.ask(Seek(token(app), 0)) == "NONE"
    app.run(1200 + OPENS, follow=False)
    assert app.state == "HOMING" and app.command("ARM") == "NONE"
    assert app.ask(Jog(token(app), 0, 0.1)) == "NONE"


def test_that_a_fault_does_not_keep_brakes_from_closing():
    app = held(engage_s=1.5)
    app.command("DISARM")
    app.run(1200, alive=False)
    assert (app.lib.fake_state_now(), app.chip.outputs) == (STATES["FAULT"][0], 1)
    app.run(350, alive=False)
    assert app.chip.outputs == 0


def test_that_a_moving_arm_is_stopped_while_its_brakes_close():
    app = held()
    app.stream(three_link_knots(), most=250)
    app.command("START")
    app.run(100)
    assert app.state == "TRACK" and abs(app.run(1)["target_rate"]).max() > 0.0
    app.command("DISARM")
    assert app.state == "CLOSING" and not app.run(1)["target_rate"].any()


def test_that_a_fault_that_was_waited_with_leaves_the_next_one_as_urgent_as_it_is():
    app = held(host="coast")
    app.run(1010 + CLOSES, alive=False)
    assert app.command("CLEAR") == "NONE" and app.command("ARM") == "NONE"
    app.run(OPENS)
    app.chip.driver_fault = 1
    app.run(2)
    assert (app.state, app.chip.outputs) == ("FAULT", 0)


def test_that_ticks_at_the_limit_are_counted_anew_for_joints_that_are_held_while_brakes_close():
    """The joints are too heavy for their torque limit, a fault after 100 ticks. The brakes close in 60 ticks."""
    mechanism = braked(engage_s=0.06)
    weak = replace(mechanism, joints=tuple(replace(j, limits=replace(j.limits, effort=0.1)) for j in mechanism.joints))
    app = in_hold(weak)
    app.run(70, follow=False)
    assert app.command("DISARM") == "NONE" and app.state == "CLOSING"
    app.run(60, follow=False)
    assert (app.state, app.fault[0]) == ("DISARMED", "NONE")


@pytest.mark.parametrize("tick", range(4))
def test_that_an_arm_stopped_in_mid_motion_and_turned_by_hand_is_carried_as_it_stands_while_its_brakes_open(tick):
    """The board does not use the next knot's numbers that the main loop had computed for the stopped motion."""
    mechanism = braked()
    app = in_hold(mechanism)
    app.run(OPENS)
    app.stream(three_link_knots(), most=100)
    app.command("START")
    app.run(100 + tick)
    app.chip.estop = 1
    app.run(1)
    app.chip.estop = 0
    for _ in range(100):
        app.chip.counts[0] += 3
        app.chip.counts[1] -= 3
        app.run(1)
    app.run(200)
    assert app.command("CLEAR") == "NONE"
    assert app.ask(Seek(token(app), 0)) == "NONE"
    app.run(20, follow=False)
    record, still = app.run(50, follow=False), np.zeros(3)
    expected = oracle.rnea(Model.of(mechanism), record["position"][-1] * TURN_UNIT, still, still)
    assert app.lib.fake_state_now() == STATES["HOMING"][0]
    np.testing.assert_allclose(record["torque_ff"], np.tile(expected, (50, 1)), rtol=1e-4, atol=1e-4)
