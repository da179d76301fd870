"""Servos on a PC as the board, in lock-step: on a plain wire, with late answers, and with their own position loops."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.board import adapter_times
from femtorque.codegen.common import Refused
from femtorque.codegen.control.drives import loop_gain
from femtorque.codegen.drive import family_of
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.motion import knots
from femtorque.codegen.verify.known_arms import ARMS
from femtorque.codegen.verify.without_hardware import run_on
from femtorque.codegen.wire import messages as m
from femtorque.hil.board import SteppedPc
from femtorque.hil.board.drives_alone import Bench
from femtorque.hil.drives.families.dynamixel import servo as x
from femtorque.hil.drives.families.feetech.servo import ENABLE, LIMIT, D, P
from femtorque.host.link import Session
from femtorque.host.link.session import Faulted
from femtorque.host.stream import stream
from tests.support.pc import STS, aloha, armed, drives_of, motion_of, played, settle, so101, state, stepped

FAULT = {number: name for name, (number, *_) in m.FAULTS.items()}
KOCH = "koch"  # of `init --arm`: XL430 at the shoulder, and XL330 behind a converter of 5 V
XL330, XM430, XC330 = "dynamixel-xl330-m288", "dynamixel-xm430-w350", "dynamixel-xc330-t288"


@pytest.mark.parametrize("mechanism", [so101(), pytest.param(aloha(), marks=pytest.mark.assure)],
                         ids=lambda m: m.name)
def test_servos_are_moved_over_a_plain_wire(mechanism):
    """STS servos have 17 mrad of play. Dynamixel servos are asked one by one at first: many ticks have no answer."""
    with stepped(mechanism) as (board, session):
        board.run(3.0)
        armed(board, session)
        settle(board, session, 0.2)
        lost = session.drives.lost
        assert np.all(played(board, session) < 0.5 * 17e-3)
        assert state(session) == "HOLD" and session.drives.lost == lost


@contextmanager
def holding(rate: int, servo: str = STS) -> Iterator[tuple[SteppedPc, Session]]:
    """Arm an SO-101 or a Koch whose servos close their loops. A soft arm sinks before the board commands its weight."""
    koch = replace(load_mechanism(ARMS / "koch.toml"), name="pc_koch")
    with stepped(koch if servo == KOCH else so101(rate, holds=True, servo=servo)) as (board, session):
        board.run(0.0 if servo == STS else 3.0)  # Dynamixel servos are asked one by one at first
        armed(board, session)
        assert settle(board, session, 0.2 if servo == STS else 1.0) == "HOLD"
        yield board, session


@pytest.mark.parametrize("rate, servo", [
    (100, STS), (200, STS), (200, XL330),
    *(pytest.param(*row, marks=pytest.mark.assure) for row in ((100, XL330), (100, XM430), (200, XC330), (200, KOCH)))])
def test_servos_with_their_own_loops_follow_a_motion_and_keep_their_stored_gains(rate, servo):
    """The gears have 1 degree of play, or a quarter of it. The virtual XM430 divides P by 128, and the board by 144."""
    with holding(rate, servo) as (board, session):
        way = 0.4 if servo == KOCH else 0.5  # the gripper of the Koch ends there
        assert np.all(played(board, session, motion_of(board.mechanism, 1.0, (way, 0.0, way))) < 5e-3)
        for d, joint in zip(drives_of(board), board.mechanism.streamed, strict=True):
            if servo == STS:
                assert d.get(D) == 0 and d.stored[D] == 32
            else:
                assert d.get(x.D_GAIN, 4) == 0 and d.get(x.P_GAIN, 2) == loop_gain(joint)


def test_an_adapter_whose_delay_varies_keeps_the_order_of_the_servos_bytes():
    """A Dynamixel's answer comes in several parts. The times are those of an adapter that nobody has measured."""
    koch = replace(load_mechanism(ARMS / "koch.toml"), name="pc_koch")
    with stepped(koch, *adapter_times(koch).values()) as (board, session):
        board.run(3.0)
        session.pump()
        lost = session.drives.lost
        board.run(1.0)
        session.pump()
        assert session.drives.lost == lost
        armed(board, session)
        assert settle(board, session, 1.0) == "HOLD"


@pytest.mark.parametrize("after, servo", [
    (0.5, STS), (0.9, STS), (1.2, STS), (0.5, XL330), pytest.param(0.7, XM430, marks=pytest.mark.assure)])
def test_servos_with_their_own_loops_hold_the_arm_near_its_limits_after_a_kill(after, servo):
    """The kill comes in a motion that ends 20 mrad before a limit."""
    with holding(200, servo) as (board, session):
        joints = board.mechanism.streamed
        play = family_of(joints[0].drive.type).wire.play
        way = min(j.limits.upper - j.start for j in joints) - 0.02
        board.clock.after(after, board.process.kill)
        with pytest.raises(Refused, match="the program has ended"):
            stream(session, knots(motion_of(board.mechanism, 1.4, (way,)), board.mechanism))
        began, speed = np.array(board.plant.q), np.abs(board.plant.v)
        rows = []
        for _ in range(400):
            Bench.run(board, 0.005)
            rows.append(np.array(board.plant.q))
        farthest, last = np.max(rows, axis=0), np.ptp(rows[-100:], axis=0)
        assert np.all(farthest - began <= np.array([*run_on(board.mechanism).values()]) * speed + play)
        assert all(d.driving for d in drives_of(board))
        assert np.all(last < play + 2 * math.tau / 4096)
        assert np.all(board.plant.q <= np.array([j.limits.upper for j in joints]) + 0.52 * play)


@pytest.mark.parametrize("servo, wrong", [
    (STS, (P, 40)), (STS, (LIMIT, 5, 2)), (STS, (ENABLE, 0)),
    (XL330, (x.P_GAIN, 1000, 2)), (XL330, (x.GOAL_PWM, 20, 2))])
def test_a_servo_that_does_not_do_what_its_loop_must_is_a_fault(servo, wrong):
    with holding(200, servo) as (board, session):
        lift = drives_of(board)[1]
        board.clock.after(0.2, lambda: lift.put(*wrong))
        with pytest.raises(Faulted, match="DRIVE_FAULT at joint shoulder_lift"):
            stream(session, knots(motion_of(board.mechanism, 1.0, (0.5, 0.0)), board.mechanism))
        settle(board, session, 0.1)
        words = family_of(board.mechanism.streamed[1].drive.type).errors.words(session.drives.error[1])
        assert words == ("load differs from the position loop" if wrong[0] in (LIMIT, x.GOAL_PWM) else "")
