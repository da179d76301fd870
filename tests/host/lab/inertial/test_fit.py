"""Tests the fit on Pinocchio's torques with noise. Bodies are physically possible, and data correct a wrong file."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.mechanism import load_mechanism
from femtorque.codegen.model import Model
from femtorque.host.lab.inertial import physical
from femtorque.host.lab.inertial.excitation import base_columns
from femtorque.host.lab.inertial.fitting import fit
from femtorque.host.lab.inertial.physical import Prior
from femtorque.host.lab.inertial.recording import every
from femtorque.host.lab.inertial.regressor import OF_JOINT, Unknowns, phi_of, solid_of
from tests.host.lab.inertial.conftest import recorded, smooth
from tests.support import rig
from tests.support.differing import differing
from tests.support.oracle import random_tree, rnea

NOISE = 0.01  # N m


def taught(gamma, seed=3, noise=NOISE, samples=400):
    """Return the found phi and the prior of a wrong file, and relative torque errors before and after."""
    rng = np.random.default_rng(seed)
    truth = random_tree(rng, 5, prismatic=False)
    wrong = differing(truth, seed)
    unknowns = Unknowns.of(wrong)
    states = rng.normal(size=(2, 3, samples, 5))
    rows = [unknowns.matrix(tuple(s))[:, :, :50].reshape(-1, 50) for s in states]
    sides = [rnea(Model.of(truth), *s).ravel() for s in states]
    told = sides[0] + noise * rng.normal(size=len(sides[0]))
    prior = Prior.of(unknowns.prior[:50], 5, np.zeros(0))
    found = physical.fit(rows[0].T @ rows[0] / NOISE**2, rows[0].T @ told / NOISE**2, prior, gamma)
    errors = [np.linalg.norm(rows[1] @ x - sides[1]) / np.linalg.norm(sides[1]) for x in (prior.row, found)]
    return found, prior, errors


@pytest.mark.parametrize("gamma", [1e-4, 1.0, 100.0])
def test_data_win_over_a_wrong_file(gamma):
    found, _, (before, after) = taught(gamma)
    assert before > 0.05 and after < before / 100.0
    assert all(physical.is_consistent(phi) for phi in found.reshape(5, 10))


@pytest.mark.parametrize("seed", range(3, 9))
def test_bodies_stay_possible_however_bad_the_data(seed):
    """Fitted bodies also stay physically possible after rounding to seven digits."""
    found, _, _ = taught(1e-4, seed, noise=30.0, samples=8)
    assert all(physical.is_consistent(phi) for phi in found.reshape(5, 10))
    for phi in found.reshape(5, 10):
        mass, _, inertia = solid_of(phi)
        moments = np.linalg.eigvalsh(inertia)
        assert mass > 0.0 and moments[0] > 0.0 and moments[2] < moments[0] + moments[1]
        moments = np.linalg.eigvalsh([[float(f"{x:.7g}") for x in row] for row in inertia])
        assert moments[2] < moments[0] + moments[1]


def test_what_no_data_show_stays_as_the_file_has_it():
    rng = np.random.default_rng(0)
    body = random_tree(rng, 1, prismatic=False)
    prior = Prior.of(Unknowns.of(body).prior[:10], 1, np.zeros(0))
    none = physical.fit(np.zeros((10, 10)), np.zeros(10), prior, 1.0)
    assert np.allclose(none, prior.row, rtol=1e-6, atol=1e-9)


def test_the_slopes_of_the_distance_are_those_of_its_values():
    rng = np.random.default_rng(4)
    mechanism = random_tree(rng, 2, prismatic=False)
    prior = Prior.of(np.concatenate([*(phi_of(x) for x in mechanism.links), [0.3, 2.0]]), 2, np.zeros(2))
    x, inverse = prior.row * 1.05, np.linalg.inv(physical.pseudo_inertia(prior.phi))
    A = rng.normal(size=(30, 22))
    given = (A.T @ A, A.T @ rng.normal(size=30), inverse, prior, 0.7)
    gradient, hessian = physical._slopes(x, *given)
    step = 1e-6 * np.eye(22)
    numeric = [(physical._value(x + s, *given) - physical._value(x - s, *given)) / 2e-6 for s in step]
    assert np.allclose(gradient, numeric, rtol=1e-5, atol=1e-5)
    numeric = [(physical._slopes(x + s, *given)[0] - physical._slopes(x - s, *given)[0]) / 2e-6 for s in step]
    assert np.allclose(hessian, numeric, rtol=1e-4, atol=1e-3)


def test_a_rod_without_thickness_becomes_a_body():
    """The distance is infinite at the file's pseudo-inertia."""
    rod = np.array([0.3, 0.03, 0.0, 0.0, 0.0, 4e-3, 4e-3, 0.0, 0.0, 0.0])
    assert not physical.is_consistent(rod) and physical.is_consistent(physical.believable(rod))
    assert np.allclose(physical.believable(rod)[:4], rod[:4])


def test_a_recording_has_no_factor_in_common_with_status():
    assert every(1000, 10.0) % 2 == 1 and every(1000, 10.0) * 1024 > 10_000
    assert all(np.gcd(every(rate, 10.0), 2 * -(-rate // 100)) == 1 for rate in (200, 400, 500, 1000, 2000))


def played(unknowns, truth, seconds, seed, noise=1e-4):
    """Return a recording of the three-link arm's smooth motion."""
    mechanism, rng = unknowns.space.whole, np.random.default_rng(seed)
    t, q, qd, qdd = smooth([j.start for j in mechanism.streamed], seconds, rng, 0.12)
    tau = rnea(Model.of(truth), q, qd, qdd)
    for j, joint in enumerate(truth.streamed):
        friction = joint.friction
        tau[:, j] += joint.rotor * qdd[:, j] + friction.viscous * qd[:, j] + friction.coulomb * np.sign(qd[:, j])
    return recorded(mechanism, t, q, qd, tau, noise, rng)


def test_an_arm_is_found_from_its_recordings_and_judged_by_another():
    """Planar motions determine only some of the numbers."""
    truth = rig.three_link()
    wrong = differing(truth, 2, friction=0.5)
    unknowns = Unknowns.of(wrong)
    within = np.array([(j.start - 1.0, j.start + 1.0) for j in wrong.streamed])
    takes = [played(unknowns, truth, 10.0, seed) for seed in (1, 2)]
    found = fit(unknowns, takes, *base_columns(unknowns, within))
    judged = found.left([played(unknowns, truth, 10.0, 3)])
    assert np.all(judged.after < judged.before / 20.0)
    true = Unknowns.of(truth).prior
    first = 10 * len(unknowns.solids)
    for k, joint in enumerate(truth.streamed):
        coulomb = first + len(OF_JOINT) * k + OF_JOINT.index("coulomb")
        assert found.values[coulomb] == pytest.approx(joint.friction.coulomb, rel=0.03)
        assert found.seen[coulomb]
    base = found.base @ (found.values - true)
    assert np.linalg.norm(base) < 0.02 * np.linalg.norm(found.base @ true)
    # moment of inertia about an axis in the plane of motion
    assert not found.seen[unknowns.names.index(f"{unknowns.solids[0].name}.ixx")]


@pytest.mark.parametrize("right", [True, False])
def test_intervals_hold_the_truth_where_duties_swing_by_the_counts_of_encoders(right):
    """Noise of 1 % duty leaves most numbers undetermined, for a correct file and for one with large errors."""
    within = np.array([(j.start - 1.0, j.start + 1.0) for j in rig.three_link().streamed])
    outside, count, left = 0, 0, 0.0
    for seed in range(12):
        truth = rig.three_link()
        unknowns = Unknowns.of(truth if right else differing(truth, seed, friction=0.5))
        takes = [played(unknowns, truth, 10.0, 3 * seed + k, 0.013) for k in range(2)]
        found = fit(unknowns, takes, *base_columns(unknowns, within))
        own = slice(10 * len(unknowns.solids), None)  # friction and rotors
        off = np.abs(found.values - Unknowns.of(truth).prior)[own] / (1.96 * found.deviation[own])
        outside, count = outside + int(np.sum(off > 1.0)), count + len(off)
        judged = found.left([played(unknowns, truth, 10.0, 3 * seed + 2, 0.013)])
        left += float(np.mean(judged.after / judged.before)) / 12.0
    print(f"{outside} of {count} outside; {left:.3f} left")
    assert outside <= 0.1 * count
    assert left < (1.01 if right else 0.8)


def pulled(unknowns, truth, seed, joint, more):
    """Return a recording of the arm with a torque more(position, direction) at one joint, as a fraction of its
    effort."""
    take = played(unknowns, truth, 10.0, seed, 1e-3)
    t, duty = take.given[joint]
    (t, duty), q = take.given[joint], take.positions[:, joint]
    motor, effort = truth.streamed[joint].motor, truth.streamed[joint].limits.effort
    added = effort * more(q, np.sign(np.gradient(q))) * motor.sign * motor.R / (motor.K * motor.gear * take.volts[0])
    return replace(take, given=take.given | {joint: (t, duty + added)})


@pytest.mark.parametrize("cause, more", [
    ("", lambda q, way: 0.0 * q), ("a load", lambda q, way: 0.05 * np.sin(3.0 * q)),
    ("cogging", lambda q, way: 0.05 * np.sin(42.0 * q)),
    ("play", lambda q, way: 0.05 * way * (1.0 + np.sin(3.0 * q)))])
def test_a_joint_whose_model_lacks_a_torque_is_named_with_the_cause_and_no_other(cause, more):
    truth = rig.three_link()
    unknowns = Unknowns.of(truth)
    given = base_columns(unknowns, np.array([(j.start - 1.0, j.start + 1.0) for j in truth.streamed]))
    for joint in range(3):
        found = fit(unknowns, [pulled(unknowns, truth, 10 * joint + k, joint, more) for k in range(2)], *given)
        assert [one.cause != "" for one in found.misfits] == [bool(cause) and j == joint for j in range(3)]
        one = found.misfits[joint]
        assert one.cause.startswith(cause) and (one.factor > 1.5 if cause else one.factor == 1.0)


def test_masses_of_a_file_are_replaced_by_those_found():
    unknowns = Unknowns.of(load_mechanism(MECHANISMS / "six_axis.toml"))
    values = unknowns.prior * 1.1
    changed = unknowns.mechanism(values)
    assert [x.mass for x in changed.links] == pytest.approx([1.1 * x.mass for x in unknowns.space.whole.links])
    assert np.allclose(Unknowns.of(changed).prior, values)
    assert replace(changed, links=(), joints=()) == replace(unknowns.space.whole, links=(), joints=())
