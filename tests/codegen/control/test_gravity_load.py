"""Tests of gravity loads, of the reaction to a lost host, and of the lines that `check` prints about loads and
reaction."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.control import constants
from femtorque.codegen.control.gravity_load import heaviest, loaded, resolved, weights
from femtorque.codegen.control.lab_constants import reactions
from femtorque.codegen.mechanism import Friction, Mechanism, Safety, load_mechanism
from femtorque.codegen.model import Model
from femtorque.codegen.reference import newton_euler
from femtorque.codegen.verify import examine
from tests.support.rig import ROOT

G = 9.81


def arm(name: str = "three_link") -> Mechanism:
    return load_mechanism(ROOT / "mechanisms" / f"{name}.toml")


def upright(**safety: str) -> Mechanism:
    """Return the three-link arm with horizontal axes: gravity loads all joints."""
    return replace(arm(), gravity=np.array([0.0, -G, 0.0]), safety=Safety(**safety))


def test_an_arm_with_upright_axes_has_no_weight_and_coasts():
    assert set(weights(arm()).values()) == {0.0}
    assert loaded(arm()) == {} and resolved(arm()).host == "coast"
    assert examine(arm()).falls == ()


def test_the_weight_of_an_arm_is_that_of_its_links_stretched_out():
    """In the worst pose all centres of gravity are level with the joints.

    One sampled pose comes near this worst torque, and no sampled pose exceeds it."""
    mechanism = upright()
    joints = {joint.child: joint for joint in mechanism.moving}
    most, out = 0.0, 0.0
    for link in mechanism.links:
        out += float(np.linalg.norm(joints[link.name].xyz))
        most += link.mass * G * (out + float(np.linalg.norm(link.com)))
    shoulder = weights(mechanism)["shoulder"]
    assert 0.8 * most < shoulder <= most * (1.0 + 1e-12)


def test_friction_that_holds_the_weight_leaves_nothing_to_fall():
    mechanism = upright()
    stiff = replace(mechanism, joints=tuple(replace(j, friction=Friction(coulomb=1.01 * weights(mechanism)[j.name]))
                                            for j in mechanism.joints))
    assert loaded(stiff) == {} and resolved(stiff).host == "coast"


def test_a_torque_of_less_than_a_thousandth_of_the_effort_loads_no_joint():
    """An axis in a URDF is upright except for its last digit, and gravity gives a torque of 1e-6 N m."""
    mechanism = upright()
    loose = replace(mechanism, joints=tuple(replace(j, friction=Friction()) for j in mechanism.joints))
    tilted = replace(loose, gravity=1e-6 * loose.gravity)
    assert max(weights(tilted).values()) > 1e-7 and loaded(tilted) == {} and resolved(tilted).host == "coast"
    assert set(loaded(loose)) == {"shoulder", "elbow", "wrist"}


def test_closed_loops_load_their_actuated_joints():
    assert list(loaded(arm("four_bar"))) == ["crank"] and loaded(arm("three_rrr")) == {}


@pytest.mark.parametrize(("mechanism", "host"),
                         [(arm(), "coast"), (upright(), "hold"), (upright(host="brake"), "brake")])
def test_the_image_reacts_as_resolved(mechanism, host):
    told = dict(reactions(mechanism))
    assert (told["HOST_LOST"], told["KNOT"]) == (host, host)
    assert {told[name]
            for name in ("DRIVER", "ENCODER", "NOT_FINITE", "FOLLOWING", "UNDER_VOLTAGE", "CHIP")} == {"coast"}
    emitted = constants.render(mechanism, None)["ft_config.c"]
    assert f"[FT_FAULT_HOST_LOST] = FT_REACTION_{host.upper()}," in emitted


def test_check_says_what_falls_when():
    held, dropped = examine(upright()), examine(upright(host="coast"))
    assert held.falls[0].startswith("gravity loads shoulder (up to ")
    assert held.falls[1] == 'shoulder, elbow and wrist stay up when the cable is pulled: safety.host = "hold"'
    assert dropped.falls[1] == 'shoulder, elbow and wrist fall when the cable is pulled: safety.host = "coast"'
    assert held.falls[2].startswith("shoulder, elbow and wrist fall when the motors are let go: e-stop, DISARM, a "
                                    "supply that is cut")
    assert "faults of class sensing (coast)" in held.falls[2] and "host" not in held.falls[2]
    assert held.data()["safety"]["host"] == "hold" and held.data()["falls"] == list(held.falls)


def weak(**limits: float) -> Mechanism:
    """Return an arm with a lower effort limit at the shoulder."""
    mechanism = upright()
    return replace(mechanism, joints=tuple(replace(j, limits=replace(j.limits, **limits)) if j.name == "shoulder" else j
                                           for j in mechanism.joints))


def test_check_says_where_effort_does_not_hold_the_arm():
    """`check` names a pose. The test computes the gravity torque in this pose separately."""
    mechanism = weak(effort=0.2)
    said = [w for w in examine(mechanism).warnings if "does not hold it" in w]
    load = heaviest(mechanism)["shoulder"]
    q = np.array([[load.pose[j.name] for j in mechanism.moving]])
    assert abs(newton_euler(Model.of(mechanism), q, 0.0 * q, 0.0 * q)[0, 0]) == pytest.approx(load.torque)
    pose = ", ".join(f"{name} {at:.2f}" for name, at in load.pose.items())
    assert said == [f"joint.shoulder.limits.effort = 0.2 does not hold it everywhere in the ranges: gravity asks for "
                    f"{load.torque:.3g} N m at {pose}; take a stronger motor, or narrower limits"]
    assert all(j.limits.lower <= at <= j.limits.upper
               for j, at in zip(mechanism.moving, load.pose.values(), strict=True))


def test_what_cannot_be_held_does_not_stay_up():
    how = 'when the cable is pulled: safety.host = "hold"'
    assert examine(weak(effort=0.2)).falls[1] == (
        f"elbow and wrist stay up, and shoulder sinks where gravity asks for more than its effort {how}")
    enough = weak(effort=1.01 * weights(upright())["shoulder"])
    assert examine(enough).falls[1] == f"shoulder, elbow and wrist stay up {how}"
    assert not [w for w in examine(enough).warnings if "does not hold it" in w]


def test_a_motor_that_is_weaker_than_the_limit_is_named_itself():
    mechanism = upright()
    motors = replace(mechanism, joints=tuple(replace(j, motor=replace(j.motor, K=0.02), limits=replace(
        j.limits, effort=np.inf)) if j.name == "shoulder" else j for j in mechanism.joints))
    assert any(w.startswith("joint.shoulder.motor: 0.3 N m at most does not hold it") for w in examine(motors).warnings)
