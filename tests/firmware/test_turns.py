"""Positions beyond half a turn, from homing to STATUS, and the ends of the board's counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from femtorque.codegen.mechanism import Home
from femtorque.codegen.motion import Knots
from femtorque.codegen.wire import Jog, Knot, Seek, from_wire, messages
from femtorque.codegen.wire.units import TURN_UNIT
from tests.firmware.app import App, in_hold, three_link
from tests.support import oracle

TURN = 2.0 * np.pi
COUNT = TURN / 8192  # resolution of the arm's encoders, rad
COUNTED = 2**20  # number of turns in each direction within 64 bits, with 11 fine digits: a count of this arm is 2^19
                 # wire steps


def arm(lower, upper, **what):
    """Return the three-link arm with these limits of the joints, (3,), rad."""
    mechanism = three_link()
    joints = [replace(j, limits=replace(j.limits, lower=float(a), upper=float(b)), **what)
              for j, a, b in zip(mechanism.joints, lower, upper, strict=True)]
    return replace(mechanism, joints=tuple(joints))


def endless():
    """Return the three-link arm whose joints have no limits."""
    return arm([-np.inf] * 3, [np.inf] * 3, type="continuous")


def way(app, start, end, seconds=1.0):
    """Return knots from rest to rest."""
    motion, t = oracle.quintic(start, end, seconds), np.arange(round(seconds * 250) + 1) / 250.0
    return Knots(wire(motion(t)), motion.rate(t).astype(np.float32), motion.acceleration(t).astype(np.float32))


def wire(q):
    """Return wire positions, also beyond the range that a host sends."""
    return np.rint(np.asarray(q) / TURN_UNIT).astype(np.int64)


def told(app):
    """Return the positions of the joints and of their targets, rad."""
    status = app.see()
    return from_wire(status.position, app.joints), from_wire(status.target, app.joints)


def play(app, knots):
    """Stream a motion, start it, and run to its end."""
    first = app.see().ack
    app.start(knots, most=200)
    for sent in range(200, len(knots), 20):
        app.run(80)
        rest = Knots(knots.position[sent:], knots.rate[sent:], knots.acceleration[sent:])
        app.stream(rest, first=first + sent, start=False, most=20)
    app.run(4 * len(knots))
    assert app.flags >= {"ENDED"}, app.status


@settings(max_examples=4, deadline=None)  # each example compiles a board
@given(data=st.data())
def test_that_limits_up_to_twenty_turns_are_kept_with_turns_counted(data):
    limits_are_kept(data)


@pytest.mark.bench
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_that_many_limits_up_to_twenty_turns_are_kept_with_turns_counted(data):
    limits_are_kept(data)


def limits_are_kept(data):
    """Home the joints at a random position within random limits, arm, and move to another one."""
    turns = st.floats(-20.0, 20.0)
    pairs = [sorted(data.draw(st.tuples(turns, turns).filter(lambda p: abs(p[0] - p[1]) > 0.05))) for _ in range(3)]
    lower, upper = TURN * np.array(pairs).T
    here, there = (lower + (upper - lower) * np.array(data.draw(st.tuples(*[st.floats(0.01, 0.99)] * 3)))
                   for _ in range(2))
    app = App(arm(lower, upper))
    assert app.home(here) == "NONE"
    np.testing.assert_allclose(told(app)[0], here, atol=1e-9)
    assert app.command("ARM") == "NONE"
    end = here + np.clip(there - here, -1.5, 1.5)
    play(app, way(app, here, end))
    measured, target = told(app)
    np.testing.assert_allclose(target, end, atol=1e-8)
    np.testing.assert_allclose(measured, end, atol=COUNT)

    joint, side = data.draw(st.integers(0, 2)), data.draw(st.sampled_from([lower, upper]))
    out = 0.03 if side is upper else -0.03
    assert app.command("DISARM") == "NONE"
    outside = end.copy()
    outside[joint] = side[joint] + out
    assert app.home(outside) == "NONE"
    assert app.command("ARM") == "OUTSIDE_LIMITS" and app.status.refusal_joint == joint
    at = end.copy()
    at[joint] = side[joint]
    assert app.home(at) == "NONE"
    assert app.command("ARM") == "NONE"


@pytest.mark.parametrize("joint", range(3))
def test_that_a_motion_in_another_turn_is_a_fault_before_it_is_played(joint):
    app = in_hold(arm([-7.0] * 3, [7.0] * 3))
    at = list(app.see().target)
    at[joint] -= 2**32  # a position within the limits, one turn from the joint
    app.send(Knot(messages.KNOT_START, at, [0.0] * 3, [0.0] * 3), seq=app.see().ack)
    app.run(2)
    assert app.fault == ("KNOT", joint)


def test_that_a_knot_in_another_turn_than_the_one_before_is_a_fault():
    app = in_hold(arm([-7.0] * 3, [7.0] * 3))
    knots = way(app, np.zeros(3), np.full(3, 0.5))
    knots.position[100:, 1] += 2**32
    app.stream(knots, most=99)
    app.run(2)
    assert app.fault[0] == "NONE"
    app.stream(Knots(*(x[99:] for x in (knots.position, knots.rate, knots.acceleration))), start=False, most=2)
    app.run(2)
    assert app.fault == ("KNOT", 1)


def test_that_a_motion_that_waits_is_forgotten_when_the_joints_are_homed():
    """The buffered motion was planned to begin at the joints' earlier positions. After HOME, the same knots would start
    one whole turn from the joints."""
    app = App(arm([-7.0] * 3, [7.0] * 3))
    assert app.home() == "NONE"
    app.stream(way(app, np.zeros(3), np.full(3, 0.5)), most=20, end=False)
    assert app.see().buffered == 19
    assert app.home(np.full(3, TURN)) == "NONE"
    assert app.see().buffered == 0
    assert app.command("ARM") == "NONE" and app.command("START") == "NOTHING_BUFFERED"


def test_that_a_zero_beyond_half_a_turn_is_found_and_a_motion_that_waits_is_forgotten():
    mechanism = arm([-7.0] * 3, [9.0] * 3, home=Home(at=7.5, direction=1, speed=0.4))
    app = App(replace(mechanism, joints=tuple(
        replace(j, encoder=replace(j.encoder, zero="index")) for j in mechanism.joints)))
    assert app.ask(Seek(app._next(), 0)) == "NONE"
    app.stream(way(app, told(app)[0], told(app)[0] + 0.5), most=20, end=False)
    assert app.see().buffered == 19
    app.chip.index = 1
    app.run(1)
    np.testing.assert_allclose(told(app)[0][0], 7.5, atol=0.01)
    assert app.status.buffered == 0


@pytest.mark.parametrize("turns", [127.9, -128.1, 32767.9, -32768.1, COUNTED - 0.1, 0.1 - COUNTED])
def test_that_endless_turning_goes_on_past_the_ends_of_what_is_counted(turns):
    """Coarse positions wrap at 128 turns, the count at 2^20 turns (with the finest encoder 2^15)."""
    app = App(endless())
    start = np.full(3, turns * TURN)
    assert app.ask(messages.Home(app._next(), wire(start).tolist())) == "NONE"
    assert app.command("ARM") == "NONE"
    end = start + np.copysign(1.5, start)
    play(app, way(app, start, end))
    for at in told(app):
        off = at - end
        np.testing.assert_allclose(off - 2 * COUNTED * TURN * np.round(off / (2 * COUNTED * TURN)), 0.0, atol=COUNT)
    assert app.state == "HOLD"


@pytest.mark.parametrize("rate", [1.0, -1.0])
def test_that_an_endless_joint_is_jogged_past_the_wrap_of_its_coarse_position(rate):
    app = App(endless())
    start = np.sign(rate) * 127.99 * TURN
    assert app.home([start] * 3) == "NONE"
    assert app.command("ARM") == "NONE"
    for _ in range(60):
        app.ask(Jog(app._next(), 0, rate * 0.5))
        app.run(20)
    assert (told(app)[0][0] - start) * np.sign(rate) > 0.3
    assert app.state == "JOG"
