"""Tests of the integration of flexible links in float64: Lagrangian, order, torsion, stability, and spring chains."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.model import Model, rotation_axis
from femtorque.codegen.reference import discrete, flexible as elastic_reference
from femtorque.codegen.reference.discrete_flexible import Flexible, ModalMotion, Moving, Tip
from tests.support import flexible_chain, oracle
from tests.support.flexible_chain import L


def positions(motion: oracle.Motion, rate_hz: int, ticks: int | None = None) -> np.ndarray:
    ticks = round(motion.duration * rate_hz) if ticks is None else ticks
    return motion.position((np.arange(ticks + 2) - 0.5) / rate_hz)


def middles(motion: oracle.Motion, rate_hz: int) -> np.ndarray:
    return (np.arange(round(motion.duration * rate_hz)) + 0.5) / rate_hz


def spatial(**options):
    return flexible_chain.beam_second(2, stiffness=(0.6, 0.75), axes=((0.1, -0.3, 1.0), (0.2, 1.0, 0.4)), **options)


def mass(step: Flexible, x: np.ndarray) -> np.ndarray:
    """Return the mass matrix of joints and modes at positions x, computed from the forces of unit accelerations."""
    n, size = step.tree.n, len(x)
    at, unit, still = np.broadcast_to(x, (size, size)), np.eye(size), np.zeros((size, size))
    motion = ModalMotion(at[:, :n], still[:, :n], unit[:, :n], at[:, n:], still[:, n:], unit[:, n:])
    found = step.dynamics.at(motion, 0.0)
    return np.concatenate([found.joints, found.modes], axis=-1)


@pytest.mark.parametrize("mechanism", [
    spatial(gravity=(1.0, -5.0, -3.0)),
    flexible_chain.two_link(2, stiffness=(0.6, 0.75), axis=(0.3, 0.5, 0.8), gravity=(1.0, -5.0, -3.0)),
], ids=["body at the tip", "joint at the tip"])
def test_forces_are_those_of_one_lagrangian(mechanism):
    """With T = x'M x'/2, F = M x'' + M' x' - dT/dx. The test computes the changes of M by finite differences."""
    step, rng, h = Flexible(Model.of(mechanism)), np.random.default_rng(1), 1e-6
    n, size = step.tree.n, step.tree.n + step.layout.size
    x = np.concatenate([rng.normal(size=n), 3e-3 * rng.normal(size=size - n)])
    velocities, changes = rng.normal(size=(2, size)) * np.where(np.arange(size) < n, 1.0, 0.03)
    M = mass(step, x)
    np.testing.assert_allclose(M, M.T, atol=1e-12)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    slopes = np.array([(mass(step, x + h * e) - mass(step, x - h * e)) / (2.0 * h) for e in np.eye(size)])
    expected = (M @ changes + np.einsum("kij,k,j->i", slopes, velocities, velocities)
                - 0.5 * np.einsum("kij,i,j->k", slopes, velocities, velocities))
    parts = [part for v in (x, velocities, changes) for part in (v[:n], v[n:])]
    found = step.dynamics.at(ModalMotion(*parts[0::2], *parts[1::2]), 0.0)
    np.testing.assert_allclose(np.concatenate([found.joints, found.modes]), expected, atol=1e-7)
    still = np.zeros(size)
    weight = step.dynamics.at(ModalMotion(x[:n], still[:n], still[:n], x[n:], still[n:], still[n:]))
    assert np.abs(weight.modes).max() > 1.0


def test_a_tip_that_turns_by_slopes_is_without_torsion():
    """A force and a moment bend the beam in two planes, and no section turns about its own x.

    The section's frame is integrated along the beam. At the tip it must equal the tip's frame up to third order."""
    step = Flexible(Model.of(spatial()))
    (i,), link = step.tree.beams, step.tree.pieces[step.tree.beams[0]].tip
    assert step.tree.twists(i)
    errors = []
    for size in (0.1, 0.05):
        (y, sy), (z, sz) = size * L * np.array([0.66, 1.0 / L]), size * L * np.array([-0.25, -0.5 / L])
        at = flat(link.length, y, sy), flat(link.length, z, sz)
        R, steps = np.eye(3), 2000
        for s in (np.arange(steps) + 0.5) * link.length / steps:  # curvatures about y and z of the section's frame
            k = np.array([0.0, -at[1](s), at[0](s)]) * link.length / steps
            R = R @ rotation_axis(k / np.linalg.norm(k), np.linalg.norm(k))
        none = [np.array(0.0)] * 4
        root = Moving(np.eye(3), *np.zeros((4, 3)))
        bend = [np.array(v) for v in (y, sy, z, sz)]
        found = Tip.at(link, root, bend, none, none, twists=True).moving.R
        plain = Tip.at(link, root, bend, none, none, twists=False).moving.R
        errors.append([np.abs(A - R)[1:, 1:].max() for A in (found, plain)])
    (found, plain), (half, _) = errors
    assert found < 0.1 * plain
    assert half < 0.2 * found


def flat(length: float, at: float, slope: float):
    """Return the second derivative of a cubic that has this deflection and slope at its end, and zero at its root."""
    b, c = np.linalg.solve([[length**2, length**3], [2.0 * length, 3.0 * length**2]], [at, slope])
    return lambda x: 2.0 * b + 6.0 * c * x


def test_chains_that_twist_converge_to_torsion():
    """Compare the torques by torsion of a chain with springs about x and of a link with one spring at its tip."""
    rate_hz, motion, GJ = 4000, oracle.septic([0.2, 0.1], [0.215, 0.07], 0.06), 4.0
    t = middles(motion, rate_hz)[::8]
    stiff, soft = (flexible_chain.twisted(2, G, rate_hz=rate_hz, stiffness=(30.0, 40.0)) for G in (None, GJ))
    added = np.subtract(*(Flexible(Model.of(m)).torque(positions(motion, rate_hz))[::8] for m in (soft, stiff)))
    errors = []
    for n in (4, 8):
        chains = [flexible_chain.Chain.of(stiff, n, G).torque(motion, t) for G in (GJ, None)]
        errors.append(np.abs(np.subtract(*chains) - added).max() / np.abs(added).max())
    assert np.abs(added).max() > 0.1
    assert errors[0] < 0.06
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize(("mechanism", "duration"), [
    (flexible_chain.flexible_joints(axis=(0.3, 0.5, 0.8), gravity=(1.0, -5.0, -6.0)), 0.3),
    (flexible_chain.flexible_joints(axis=(0.3, 0.5, 0.8), slides=True), 0.3),
], ids=["turning", "sliding"])
def test_joints_held_by_springs_are_those_of_pinocchio(mechanism, duration):
    """Without flexible links Pinocchio's chain is exact, in large motions too. The error is of second order in dt."""
    motion, errors = oracle.septic([0.2, 0.1], [0.8, -0.5], duration), []
    for rate_hz in (1000, 2000):
        model = Model.of(replace(mechanism, control=replace(mechanism.control, rate_hz=rate_hz)))
        t = middles(motion, rate_hz)
        tau = Flexible(model).torque(positions(motion, rate_hz))
        exact = flexible_chain.Chain.of(mechanism, 1).torque(motion, t)
        errors.append(np.abs(tau - exact).max() / np.abs(exact).max())
    assert errors[0] < 5e-3
    assert errors[1] < 0.3 * errors[0]


def test_error_falls_with_the_square_of_the_tick():
    motion, found = oracle.septic([0.0], [1.0], 0.3), {}
    for rate_hz in (500, 1500, 4500):
        model = Model.of(flexible_chain.single(3, rate_hz=rate_hz, damping=1e-3))
        tau = Flexible(model).torque(positions(motion, rate_hz))
        found[rate_hz] = tau[rate_hz // 1000::rate_hz // 500]
    coarse, fine = (np.abs(found[hz] - found[4500]).max() for hz in (500, 1500))
    assert coarse / fine == pytest.approx((81.0 - 1.0) / (9.0 - 1.0), rel=0.2)


def test_it_starts_in_its_static_sag_and_stays_there():
    mechanism = flexible_chain.two_link(3, axis=(0.3, 0.5, 0.8), stiffness=(2.0, 3.0), gravity=(1.0, -5.0, -3.0))
    model = Model.of(mechanism)
    step = Flexible(model)
    q = np.array([0.3, -0.5])
    step.start(q)
    before = step.z.copy()
    first = step.step(q, np.zeros(2))
    for _ in range(50):
        last = step.step(q, np.zeros(2))
    assert np.abs(before).max() > 1e-3
    np.testing.assert_allclose(step.z, before, atol=1e-12)
    np.testing.assert_allclose(last, first, atol=1e-10)


@pytest.mark.parametrize("mechanism", [*(flexible_chain.single(3, load) for load in (0.02, 0.2, 1.0)),
                                       flexible_chain.double(2, load=1.0, gravity=(0.0, 0.0, 0.0))],
                         ids=["20 g", "200 g", "1 kg", "1 kg on two flexible links"])
def test_masses_at_the_tip_up_to_a_kilogram_are_stable(mechanism):
    """The undamped hub makes a jump. A second later, the vibration has neither grown nor decayed."""
    step, none = Flexible(Model.of(mechanism)), np.zeros(len(mechanism.streamed))
    step.start(none)
    jump = none + 2e-3
    step.step(jump, 0.5 * jump)
    tau = np.abs([step.step(jump, none)[0] for _ in range(1000)])
    assert tau[500:].max() < 2.0 * tau[2:500].max()
    assert tau[500:].max() > 0.2 * tau[2:500].max()


def test_reference_and_discretisation_of_a_mechanism_are_the_march():
    mechanism = flexible_chain.single(2, gravity=(0.0, -9.81, 0.0), stiffness=5.0)
    model, motion = Model.of(mechanism), oracle.septic([0.1], [0.4], 0.1)
    t, reference = elastic_reference.torque(model, motion, 100)
    np.testing.assert_allclose(t, middles(motion, 1000))
    emitted = discrete.emitted_torque(model, positions(motion, 1000))
    np.testing.assert_allclose(emitted, reference, atol=1e-5 * np.abs(reference).max(), rtol=0.0)
    exact = elastic_reference.exact(model, motion, 100)
    assert 1e-6 < np.abs(exact - reference).max() / np.abs(exact).max() < 2e-2
