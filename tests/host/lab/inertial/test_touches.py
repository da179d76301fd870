"""Tests contact thresholds on simulated reports of an arm without contact."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from femtorque.codegen.mechanism import COULOMB_VELOCITY
from femtorque.codegen.mechanism.description import Feel
from femtorque.codegen.model import Model
from femtorque.codegen.wire import to_wire
from femtorque.host.lab.inertial.regressor import Unknowns
from femtorque.host.lab.inertial.touches import MARGIN, Watched, propose, threshold
from tests.support import rig
from tests.support.differing import differing
from tests.support.oracle import rnea

HZ, SECONDS, RESTS = 1000, 16.0, 4.0
SLOW = 0.3  # cutoff frequency of the mean (docs/lab.md, Hz: half a second)


def needed(mechanism, q, qd, qdd):
    """Return the board's torque (N, J) of a motion, by Pinocchio and Isobe's Eq. 19."""
    joints = mechanism.streamed
    friction = [j.friction for j in joints]
    return (rnea(Model.of(mechanism), q, qd, qdd) + [j.rotor for j in joints] * qdd + [f.viscous for f in friction] * qd
            + [f.coulomb for f in friction] * np.clip(qd / COULOMB_VELOCITY[False], -1.0, 1.0))


def low(x, hz):
    gain, out = 1.0 - np.exp(-2.0 * np.pi * hz / HZ), [x[0]]
    for row in x[1:]:
        out.append(out[-1] + gain * (row - out[-1]))
    return np.array(out)


def reports(mechanism, truth, noise=0.0, first=2**32 - 4000):
    """Return reports of an arm at rest that then moves as planned, with true torques and wrapping ticks."""
    t = np.arange(round(SECONDS * HZ)) / HZ
    count, start = len(mechanism.streamed), np.array([j.start for j in mechanism.streamed])
    size, w, on = 0.4 + 0.1 * np.arange(count), 2.0 + 0.7 * np.arange(count), np.maximum(t - RESTS, 0.0)[:, None]
    q = start + size * np.sin(on * w) * (1.0 - np.exp(-(on / 0.5) ** 3))
    qd = np.gradient(q, 1.0 / HZ, axis=0)
    qdd = np.gradient(qd, 1.0 / HZ, axis=0)
    r = low(needed(mechanism, q, qd, qdd) - needed(truth, q, qd, qdd), mechanism.feel.bandwidth_hz)
    mean = low(r, SLOW)
    r = r + noise * np.random.default_rng(2).normal(size=r.shape)
    tick = (first + np.arange(len(t))) % 2**32
    return Watched([SimpleNamespace(tick=int(tick[k]), position=to_wire(q[k], mechanism.streamed), target_rate=qd[k])
                    for k in range(0, len(t), 10)],
                   [SimpleNamespace(tick=int(tick[k]), external=r[k], mean=mean[k]) for k in range(5, len(t), 20)])


def falling(x):
    """Return x every 10 ms, with immediate rises, and falls as slow as the mean (docs/lab.md)."""
    out = [x[0]]
    for now in x[1:]:
        out.append(max(now, now + np.exp(-2.0 * np.pi * SLOW * 0.01) * (out[-1] - now)))
    return np.array(out)


@pytest.fixture(scope="module")
def arm():
    return replace(rig.three_link(), feel=Feel())


def test_of_a_joint_whose_file_limits_no_effort_the_motor_is_taken(arm):
    """Stall torques at 24 V: 24 x 0.35 / 1.6 = 5.25, 24 x 0.2 / 2.4 = 2 and 24 x 0.06 / 3 = 0.48 N m."""
    def thresholds(*efforts):
        file = replace(arm, joints=tuple(replace(j, limits=replace(j.limits, effort=effort))
                                         for j, effort in zip(arm.joints, efforts, strict=True)))
        unknowns = Unknowns.of(file)
        return [x.contact for x in propose(unknowns, unknowns.prior, reports(file, file))]

    assert thresholds(np.inf, np.inf, np.inf) == thresholds(5.25, 2.0, 0.48)


def test_what_the_board_would_feel_with_the_numbers_found_is_foretold(arm):
    """If the numbers are the true numbers, the predicted torque is small, except where a joint reverses. STATUS arrives
    every 10 ms. In this time a filter of 8 ms settles by a fraction of 0.71."""
    truth = differing(arm, 5)
    unknowns, values = Unknowns.of(arm), Unknowns.of(truth).prior
    seen = reports(arm, truth)
    for touch, joint, was in zip(propose(unknowns, values, seen), truth.streamed, arm.streamed, strict=True):
        print(touch)
        assert touch.after < 0.71 * (joint.friction.coulomb - was.friction.coulomb) + 0.02 * touch.before
        assert 2.0 * joint.friction.coulomb <= touch.contact.torque < 2.0 * joint.friction.coulomb + 0.4 * touch.before


def test_numbers_that_stay_change_nothing_of_what_was_felt(arm):
    truth = differing(arm, 5)
    unknowns = Unknowns.of(arm)
    seen = reports(arm, truth)
    off = np.abs([report.external - report.mean for report in seen.felt[:-1]])
    for j, touch in enumerate(propose(unknowns, unknowns.prior, seen)):
        assert touch.before == touch.after == pytest.approx(off[:, j].max(), rel=1e-6)


def test_noise_alone_gives_a_torque_that_is_a_margin_above_it_and_twice_dry_friction(arm):
    unknowns, seen = Unknowns.of(arm), reports(arm, arm, 0.01)
    for j, (touch, joint) in enumerate(zip(propose(unknowns, unknowns.prior, seen), arm.streamed, strict=True)):
        most = max(abs(report.external[j] - report.mean[j]) for report in seen.felt)
        dry = 2.0 * joint.friction.coulomb
        assert dry + most < touch.contact.torque < dry + 1.01 * MARGIN * most


def test_an_arm_that_does_not_feel_gets_no_thresholds(arm):
    unknowns, seen = Unknowns.of(replace(arm, feel=None)), reports(arm, arm)
    assert propose(unknowns, unknowns.prior, seen) == ()
    assert propose(Unknowns.of(arm), unknowns.prior, Watched(seen.statuses, [])) == ()


def test_shares_of_velocity_and_acceleration_are_told_apart():
    t = np.arange(0.0, 20.0, 0.01)
    moves = np.abs([np.sin(0.9 * t), np.where(t > 10.0, 3.0 * np.cos(2.0 * t), 0.0)])
    contact = threshold(t, falling(0.5 + 0.2 * moves[0] + 0.1 * moves[1]), t, moves)
    assert (contact.torque, contact.velocity, contact.acceleration) == pytest.approx((0.5, 0.2, 0.1), rel=0.15)


def test_no_torque_is_above_its_threshold():
    rng = np.random.default_rng(1)
    t = np.arange(0.0, 5.0, 0.01)
    for _ in range(20):
        moves, wanted = np.abs(rng.normal(size=(2, len(t))).cumsum(axis=1)), rng.exponential(size=len(t))
        contact = threshold(t, wanted, t, moves)
        all_of_it = contact.torque + contact.velocity * moves[0] + contact.acceleration * moves[1]
        assert np.all(falling(all_of_it) >= wanted * (1.0 - 1e-6))
