"""Motors whose torque exceeds the continuous torque: the time until the fault, and the time to cool down."""

import math
from dataclasses import replace

import pytest

from femtorque.codegen.mechanism import Home, Motor
from femtorque.codegen.mechanism.description import Brake
from femtorque.codegen.wire import Probe, Seek
from tests.firmware.app import App, changed, in_hold

T = 0.4  # s
WARM, COOL = 1.02, 0.9
SHOULDER = 0


def holding(times: float, thermal_s: float = T, **safety) -> App:
    """Return an arm in HOLD. Holding the weight needs `times` x the continuous torque of the first joint's motor."""
    weight = abs(float(held(1e3, {}).see().torque[SHOULDER]))
    return held(weight / times, safety, thermal_s)


def held(continuous: float, safety: dict, thermal_s: float = T) -> App:
    """Return an arm in HOLD. continuous: continuous torque at the first joint, N m; all other joints have no limit."""
    mechanism = changed(encoder={"zero": "stop"}, home=Home(at=-1.57))
    joints = [replace(j, motor=rated(j.motor, continuous if i == SHOULDER else 1e6, thermal_s))
              for i, j in enumerate(mechanism.joints)]
    app = in_hold(replace(mechanism, joints=tuple(joints), safety=replace(mechanism.safety, **safety)))
    app.run(5)
    return app


def rated(motor: Motor, torque: float, thermal_s: float) -> Motor:
    return replace(motor, continuous=torque / (motor.K * abs(motor.gear)), thermal_s=thermal_s)


def until_fault(app: App, most: int) -> int:
    for ticks in range(0, most, 5):
        if app.lib.fake_state_now() == 5:
            return ticks
        app.run(5)
    return most


def test_that_what_is_continuous_may_be_carried_for_ever():
    assert until_fault(holding(0.999), 8000) == 8000


def test_that_what_warms_up_within_a_round_is_as_warm_as_its_current_makes_it():
    assert until_fault(holding(0.5, thermal_s=1e-4), 1000) == 1000


@pytest.mark.parametrize("times", [1.5, 3.0])
def test_that_twice_the_current_makes_a_motor_four_times_as_warm(times):
    app = holding(times)
    ticks = until_fault(app, 4000)
    lasts = -T * math.log(1.0 - WARM / times**2) * 1000.0
    assert ticks == pytest.approx(lasts, abs=25)  # the ticks in HOLD before
    assert (app.state, app.fault[0], app.status.fault_joint) == ("FAULT", "OVERLOAD", SHOULDER)
    assert app.chip.outputs == 0


def test_that_an_overloaded_motor_cools_before_it_is_armed_again():
    app = holding(1.5)
    until_fault(app, 4000)
    assert app.command("CLEAR") == "NONE"
    assert app.command("ARM") == "OVERLOAD" and app.status.refusal_joint == SHOULDER
    assert app.ask(Seek(app.token % 255 + 1, 0)) == "OVERLOAD"
    assert app.ask(Probe(app.token % 255 + 1, 0, 0.0)) == "OVERLOAD"
    app.run(round(1000 * T * math.log(WARM / COOL)))
    assert app.command("ARM") == "NONE"


def test_that_an_overloaded_arm_is_held_until_its_brakes_have_closed():
    app = holding(1.5, brake=Brake(0.02, 0.2))
    until_fault(app, 4000)
    assert (app.state, app.chip.brake, app.chip.outputs) == ("FAULT", 0, 1)
    app.run(210)
    assert app.chip.outputs == 0


def test_that_a_motor_without_a_rating_never_gets_warm():
    app = in_hold(changed())
    assert until_fault(app, 2000) == 2000
