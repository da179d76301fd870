"""The march of flexible links in float64: its Lagrangian, its order, its energy, its stability, and chains of
springs."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.model import ModalLink, rotation_axis
from femtorque.codegen.reference import discrete, flexible as elastic_reference
from femtorque.codegen.reference.discrete_flexible import Flexible, ModalMotion, Moving, Tip
from femtorque.codegen.step import model_of
from tests.support import flexible_chain, oracle
from tests.support.flexible_chain import L, M


def positions(motion: oracle.Motion, rate_hz: int, ticks: int | None = None) -> np.ndarray:
    ticks = round(motion.duration * rate_hz) if ticks is None else ticks
    return motion.position((np.arange(ticks + 2) - 0.5) / rate_hz)


def middles(motion: oracle.Motion, rate_hz: int) -> np.ndarray:
    return (np.arange(round(motion.duration * rate_hz)) + 0.5) / rate_hz


def spatial(**options):
    return flexible_chain.beam_second(2, stiffness=(0.6, 0.75), axes=((0.1, -0.3, 1.0), (0.2, 1.0, 0.4)), **options)


def mass(step: Flexible, x: np.ndarray) -> np.ndarray:
    """Mass matrix of joints and modes at positions x, from the forces of unit accelerations."""
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
    """With T = x'M x'/2: F = M x'' + M' x' - dT/dx, M's changes by finite differences."""
    step, rng, h = Flexible(model_of(mechanism)), np.random.default_rng(1), 1e-6
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


def test_what_goes_round_the_axis_has_the_forces_of_its_lagrangian(monkeypatch):
    """linear (w_y y + w_z z) j - square j^2 / 2 + shorter (a_y y + a_z z) (y^2 + z^2), by finite differences where
    nothing that bends accelerates."""
    linear, square, shorter = 1.3, 2.1, 0.7
    step = Flexible(model_of(flexible_chain.single(1, 0.0, stiffness=(0.6, 0.75), axis=(0.3, -0.4, 0.8),
                                            gravity=(1.0, 2.0, 3.0))))
    rng, h, axis = np.random.default_rng(3), 1e-4, np.array([0.3, -0.4, 0.8]) / np.linalg.norm([0.3, -0.4, 0.8])
    xi, velocity, rate, change = 0.05 * rng.normal(size=4), rng.normal(size=4), 1.7, 4.0
    phi, g = step.dynamics.phi[[0, 2]], -rotation_axis(axis, 0.4).T @ step.tree.gravity

    def lagrangian(xi, velocity, t):
        w, (y, z), (dy, dz) = (rate + change * t) * axis, phi @ xi, phi @ velocity
        a, j = rotation_axis(axis, -rate * t - 0.5 * change * t * t) @ g, y * dz - z * dy + w[0] * (y * y + z * z)
        return (linear * (w[1] * y + w[2] * z) * j - 0.5 * square * j * j
                + shorter * (a[1] * y + a[2] * z) * (y * y + z * z))

    def slope(of):
        return np.array([(of(h * e) - of(-h * e)) / (2.0 * h) for e in np.eye(4)])

    def momentum(t):
        return slope(lambda e: lagrangian(xi + velocity * t, velocity + e, t))

    expected = (momentum(h) - momentum(-h)) / (2.0 * h) - slope(lambda e: lagrangian(xi + e, velocity, 0.0))
    x = ModalMotion(*(np.array([v]) for v in (0.4, rate, change)), xi, velocity, np.zeros(4))
    found = []
    for numbers in ((linear, square, shorter), (0.0, 0.0, 0.0)):
        monkeypatch.setattr(ModalLink, "curved", lambda link, mass, numbers=numbers: numbers)
        found.append(step.dynamics.drawn(x).modes)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found[0] - found[1], expected, rtol=1e-6, atol=1e-8)


def test_a_tip_that_turns_by_slopes_is_without_torsion():
    """Along a beam bent both ways as by a force and by a moment, no section turns about its own x: the frame at the tip
    that this leaves, integrated along the beam, is the tip's but for third order."""
    step = Flexible(model_of(spatial()))
    (i,), link = step.tree.beams, step.tree.pieces[step.tree.beams[0]].tip
    assert step.tree.twists(i)
    errors = []
    for size in (0.1, 0.05):
        (y, sy), (z, sz) = size * L * np.array([0.66, 1.0 / L]), size * L * np.array([-0.25, -0.5 / L])
        at = flat(link.length, y, sy), flat(link.length, z, sz)
        R, steps = np.eye(3), 2000
        for s in (np.arange(steps) + 0.5) * link.length / steps:  # curvatures about y and z of the section's own frame
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
    """The second derivative of the cubic with that deflection and slope at its end, none at its root."""
    b, c = np.linalg.solve([[length**2, length**3], [2.0 * length, 3.0 * length**2]], [at, slope])
    return lambda x: 2.0 * b + 6.0 * c * x


def test_kinetic_energy_of_a_link_is_the_integral_over_its_mass():
    """Velocities of points of the bent link by the rules of a moving frame, and Gauss points along it."""
    mechanism = flexible_chain.single(1, 0.0, stiffness=(0.6, 0.75), axis=(0.3, -0.4, 0.8))
    step = Flexible(model_of(mechanism))
    link, rng = step.tree.pieces[1].tip, np.random.default_rng(2)
    xi, xi_velocities, rate = 0.05 * rng.normal(size=4), rng.normal(size=4), 1.7
    s, weights = np.polynomial.legendre.leggauss(8)
    energy = 0.0
    shape = np.linalg.inv([[L**2, L**3], [2.0 * L, 3.0 * L**2]])  # of x^2 and x^3, from deflection and slope at the tip
    w = rate * np.array([0.3, -0.4, 0.8]) / np.linalg.norm([0.3, -0.4, 0.8])
    for x, weight in zip(0.5 * L * (1.0 + s), weights, strict=True):
        phi = np.array([x**2, x**3]) @ shape @ np.array([link.tip, link.slope])
        point = np.array([x, phi @ xi[:2], phi @ xi[2:]])
        velocity = np.cross(w, point) + [0.0, phi @ xi_velocities[:2], phi @ xi_velocities[2:]]
        energy += 0.5 * M * 0.5 * weight * velocity @ velocity
    velocities = np.concatenate([[rate], xi_velocities])
    assert 0.5 * velocities @ mass(step, np.concatenate([[0.0], xi])) @ velocities == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("build", [flexible_chain.single, flexible_chain.two_link, flexible_chain.beam_second])
def test_a_stiff_link_takes_the_torques_of_a_rigid_one(build):
    motion = oracle.septic([0.2, 0.1], [0.5, -0.3], 0.2)
    mechanism = build(2, stiffness=1e5, gravity=(0.0, -9.81, 0.0), damping=1e-5)
    n = len(mechanism.moving)
    motion = oracle.septic([0.2, 0.1][:n], [0.5, -0.3][:n], 0.2)
    model = model_of(mechanism)
    tau = Flexible(model).torque(positions(motion, 1000))
    rigid = oracle.torque_at(model, motion, middles(motion, 1000))
    assert np.abs(tau - rigid).max() < 1e-3 * np.abs(rigid).max()


@pytest.mark.parametrize(("build", "options"), [
    (flexible_chain.two_link, {"stiffness": 20.0}),
    (flexible_chain.beam_second, {"stiffness": (15.0, 20.0), "axes": ((0.0, 0.0, 1.0), (0.2, 1.0, 0.4))}),
    (flexible_chain.double, {"stiffness": 40.0}),
    (flexible_chain.double, {"stiffness": (30.0, 40.0), "axis": (0.2, 1.0, 0.4)}),
], ids=["planar, two links", "spatial, two axes and two planes", "both links bend", "both bend in two planes"])
def test_chains_of_springs_converge_to_the_flexible_link(build, options):
    """Pinocchio, rigid segments: the difference falls with the square of their length, for small deflections."""
    rate_hz, motion = 4000, oracle.septic([0.2, 0.1], [0.215, 0.07], 0.06)
    mechanism = build(3, rate_hz=rate_hz, **options)
    model = model_of(mechanism)
    tau = Flexible(model).torque(positions(motion, rate_hz))[::8]
    t = middles(motion, rate_hz)[::8]
    elastic_part = np.abs(tau - oracle.torque_at(model, motion, t)).max()
    errors = [np.abs(flexible_chain.Chain.of(mechanism, n).torque(motion, t) - tau).max() for n in (4, 8)]
    assert errors[0] < 0.06 * elastic_part
    assert errors[1] < 0.35 * errors[0]


def test_chains_that_twist_converge_to_torsion():
    """Torque that torsion adds, of a chain with springs about x between its segments, and of the tip's one spring."""
    rate_hz, motion, GJ = 4000, oracle.septic([0.2, 0.1], [0.215, 0.07], 0.06), 4.0
    t = middles(motion, rate_hz)[::8]
    stiff, soft = (flexible_chain.twisted(2, G, rate_hz=rate_hz, stiffness=(30.0, 40.0)) for G in (None, GJ))
    added = np.subtract(*(Flexible(model_of(m)).torque(positions(motion, rate_hz))[::8] for m in (soft, stiff)))
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
    """No elements, so the chain is exact: large motions, and an error of the tick's square alone."""
    motion, errors = oracle.septic([0.2, 0.1], [0.8, -0.5], duration), []
    for rate_hz in (1000, 2000):
        model = model_of(replace(mechanism, control=replace(mechanism.control, rate_hz=rate_hz)))
        t = middles(motion, rate_hz)
        tau = Flexible(model).torque(positions(motion, rate_hz))
        exact = flexible_chain.Chain.of(mechanism, 1).torque(motion, t)
        errors.append(np.abs(tau - exact).max() / np.abs(exact).max())
    assert errors[0] < 5e-3
    assert errors[1] < 0.3 * errors[0]


def test_error_falls_with_the_square_of_the_tick():
    motion, found = oracle.septic([0.0], [1.0], 0.3), {}
    for rate_hz in (500, 1500, 4500):
        model = model_of(flexible_chain.single(3, rate_hz=rate_hz, damping=1e-3))
        tau = Flexible(model).torque(positions(motion, rate_hz))
        found[rate_hz] = tau[rate_hz // 1000::rate_hz // 500]
    coarse, fine = (np.abs(found[hz] - found[4500]).max() for hz in (500, 1500))
    assert coarse / fine == pytest.approx((81.0 - 1.0) / (9.0 - 1.0), rel=0.2)


def test_one_solution_a_tick_is_the_rule_to_second_order():
    motion, left = oracle.septic([0.0, 0.0], [0.4, -0.3], 0.1), []
    for rate_hz in (1000, 2000):
        model = model_of(flexible_chain.two_link(2, rate_hz=rate_hz, stiffness=5.0))
        once = Flexible(model).torque(positions(motion, rate_hz))
        left.append(np.abs(once - Flexible(model, 4).torque(positions(motion, rate_hz))).max() / np.abs(once).max())
    assert left[0] < 3e-4
    assert left[1] < 0.3 * left[0]


def test_work_of_the_torque_is_the_energy_left_in_the_vibration():
    rate_hz, motion = 4000, oracle.septic([0.0], [1.0], 0.2)
    step = Flexible(model_of(flexible_chain.single(3, rate_hz=rate_hz)), 3)
    at = positions(motion, rate_hz, 900)
    tau = step.torque(at)[:, 0]
    centred = 0.5 * (at[2:, 0] - at[:-2, 0])
    work = tau @ centred
    velocities, xi = 2.0 * step.u * rate_hz, step.z - step.u  # half-way between the last two samples
    tip = step.dynamics.phi @ velocities
    kinetic = 0.5 * (velocities @ velocities + 0.05 * tip[0] ** 2)
    assert work == pytest.approx(kinetic + 0.5 * step.K @ xi**2, rel=1e-3)
    assert work > 1e-3


def test_it_starts_in_its_static_sag_and_stays_there():
    mechanism = flexible_chain.two_link(3, axis=(0.3, 0.5, 0.8), stiffness=(2.0, 3.0), gravity=(1.0, -5.0, -3.0))
    model = model_of(mechanism)
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


def test_static_torque_is_that_of_the_chain_of_springs_at_rest():
    mechanism = flexible_chain.single(4, gravity=(0.0, -9.81, 0.0), stiffness=5.0)
    model = model_of(mechanism)
    step, q = Flexible(model), np.array([0.3])
    step.start(q)
    still = oracle.quintic(q, q, 0.01)
    chain = flexible_chain.Chain.of(mechanism, 24).torque(still, [0.0, 0.001])[0]
    rigid = oracle.rnea(model, q, 0 * q, 0 * q)
    assert abs(chain - rigid) > 1e-3
    # the chain keeps its length, the linear link moves its tip across only: of second order in the deflection
    np.testing.assert_allclose(step.step(q, 0 * q), chain, rtol=5e-3)


@pytest.mark.parametrize("mechanism", [*(flexible_chain.single(3, load) for load in (0.02, 0.2, 1.0)),
                                       flexible_chain.double(2, load=1.0, gravity=(0.0, 0.0, 0.0))],
                         ids=["20 g", "200 g", "1 kg", "1 kg on two flexible links"])
def test_masses_at_the_tip_up_to_a_kilogram_are_stable(mechanism):
    """No damping, a jump of the hub, then a second at rest: the vibration neither grows nor dies."""
    step, none = Flexible(model_of(mechanism)), np.zeros(len(mechanism.streamed))
    step.start(none)
    jump = none + 2e-3
    step.step(jump, 0.5 * jump)
    tau = np.abs([step.step(jump, none)[0] for _ in range(1000)])
    assert tau[500:].max() < 2.0 * tau[2:500].max()
    assert tau[500:].max() > 0.2 * tau[2:500].max()


def lagged(load: float) -> float:
    """Growth of a tip mass's vibration if its inertia acts as a load of the tick before, not in the matrix."""
    step = Flexible(model_of(flexible_chain.single(3, 0.0)))
    dt, phi = step.dt, step.tree.pieces[1].tip.tip
    march = 4.0 / dt**2 + step.K
    xi, rate, acceleration = np.zeros(6), np.full(6, 1e-6), np.zeros(6)
    for _ in range(60):
        force = -load * phi * (phi @ acceleration)
        predicted = xi + dt * rate + 0.25 * dt**2 * acceleration
        new = np.linalg.solve(np.diag(march), force + 4.0 / dt**2 * predicted)
        new_acceleration = 4.0 / dt**2 * (new - predicted)
        rate = rate + 0.5 * dt * (acceleration + new_acceleration)
        xi, acceleration = new, new_acceleration
    return float(np.abs(xi).max() / 1e-6)


def test_the_same_masses_as_a_lagged_load_diverge():
    assert lagged(0.0) < 1.0
    assert lagged(0.05) > 1e6
    assert lagged(1.0) > 1e6


def test_reference_and_discretisation_of_a_mechanism_are_the_march():
    mechanism = flexible_chain.single(2, gravity=(0.0, -9.81, 0.0), stiffness=5.0)
    model, motion = model_of(mechanism), oracle.septic([0.1], [0.4], 0.1)
    t, reference = elastic_reference.torque(model, motion, 100)
    np.testing.assert_allclose(t, middles(motion, 1000))
    emitted = discrete.midpoint_torque(model, positions(motion, 1000))
    np.testing.assert_allclose(emitted, reference, atol=1e-5 * np.abs(reference).max(), rtol=0.0)
    exact = elastic_reference.exact(model, motion, 100)
    assert 1e-6 < np.abs(exact - reference).max() / np.abs(exact).max() < 2e-2
