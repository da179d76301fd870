"""Tests of the printed step in float64: increments are compared with positions, momenta with point masses, torques with
rnea."""


import numpy as np
import pytest

from femtorque.codegen.model import Model, levers, pose, skew
from femtorque.codegen.reference.discrete import nodal_torque
from femtorque.codegen.reference.printed import between, node_increments, printed_torque, tick_momenta
from femtorque.codegen.reference.rigid import incremental_torque, matrix_form
from tests.support.oracle import peak, planar_chain, random_chain, random_tree, rnea, septic, torque_at
from tests.support.sampling import asking, middles, random_travel, slides


def of(mechanism, rate_hz: int = 1000) -> Model:
    return Model.of(asking(mechanism, scheme="printed", rate_hz=rate_hz, knot_hz=rate_hz))


def septics(model: Model, seed: int = 0):
    return random_travel(model, seed, curve=septic)


def halves(positions: np.ndarray) -> np.ndarray:
    return 0.5 * np.diff(positions, axis=0)


def tree(seed: int, n: int = 6):
    return random_tree(np.random.default_rng(seed), n)


@pytest.mark.parametrize("seed", range(4))
def test_increments_of_the_nodes_are_the_differences_of_their_places_and_axes(seed):
    model, rng = of(tree(seed)), np.random.default_rng(seed)
    q, u = rng.uniform(-1, 1, model.n), rng.uniform(-0.4, 0.4, model.n)
    old, new = pose(model, q), pose(model, q + 2.0 * u)
    shift, r = node_increments(model, old, u)
    assert np.allclose(shift, new.origin + levers(model, new).com - old.origin - levers(model, old).com, atol=1e-13)
    for i in range(model.n):
        assert np.allclose((np.eye(3) - skew(r[i])) @ new.R[i], (np.eye(3) + skew(r[i])) @ old.R[i], atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_the_moment_of_momentum_of_a_node_is_that_of_the_points_of_its_link_along_their_chords(seed):
    model, rng = of(tree(seed)), np.random.default_rng(seed)
    q, u = rng.uniform(-1, 1, model.n), rng.uniform(-0.4, 0.4, model.n)
    old, new = pose(model, q), pose(model, q + 2.0 * u)
    _, h = tick_momenta(model, old, u)
    for i, body in enumerate(model.bodies):
        J, axes = np.linalg.eigh(body.inertia)
        # unit masses at both ends of each principal axis
        points = np.sqrt(np.maximum((np.sum(J) / 2.0 - J) / 2.0, 0.0)) * axes
        chords = 2.0 * np.cross((old.R[i] @ points).T, (new.R[i] @ points).T).sum(axis=0)
        assert np.allclose(h[i], chords / model.dt, atol=1e-12 * np.abs(h).max())


@pytest.mark.parametrize("make", [lambda: tree(1), lambda: tree(2, 9), lambda: planar_chain(5)],
                         ids=["tree", "larger tree", "planar"])
def test_the_sum_is_that_of_one_instant_and_the_matrices_agree_with_the_pass(make):
    model = of(make())
    q = septics(model)(middles(model, 1.0))
    u = halves(q)
    summed = printed_torque(model, q, u, matrix_form)
    for other in (printed_torque(model, q, u), between(model, q[1:-1], u[:-1], u[1:])):
        assert peak(other - summed) <= 1e-12 * peak(summed)


@pytest.mark.parametrize("make", [lambda: random_chain(np.random.default_rng(3), 6), lambda: tree(3),
                                  lambda: planar_chain(4)], ids=["chain", "tree with slides", "planar"])
def test_it_is_second_order_and_newton_euler_its_limit_for_small_ticks(make):
    errors = []
    for rate_hz in (500, 1000, 2000):
        model = of(make(), rate_hz)
        s, motion = middles(model, 1.0), septics(model)
        truth = torque_at(model, motion, s[1:-1])
        errors.append(peak(printed_torque(model, motion(s), halves(motion(s))) - truth) / peak(truth))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.05)
    assert errors[1] < 1e-5


@pytest.mark.parametrize("make", [lambda: tree(0), lambda: tree(1), lambda: planar_chain(3)],
                         ids=["tree", "another tree", "planar"])
def test_nodal_and_momenta_at_the_boundaries_are_the_same_sum_to_second_order(make):
    apart = []
    for rate_hz in (500, 1000):
        model = of(make(), rate_hz)
        s, motion = middles(model, 1.0), septics(model)
        q = motion(s)
        printed = printed_torque(model, q, halves(q))
        exact, velocities, _ = motion.at(s[1:] - 0.5 * model.dt)
        boundaries = incremental_torque(model, exact, velocities)
        nodal = nodal_torque(model, q, halves(q))
        apart.append([peak(other - printed) / peak(printed) for other in (nodal, boundaries)])
    assert np.log2(np.divide(*apart)) == pytest.approx([2.0, 2.0], abs=0.1)


def test_at_rest_the_nodes_carry_their_weight():
    model = of(tree(4))
    q, still = np.linspace(-0.4, 0.5, 6) * slides(model), np.zeros((2, model.n))
    assert np.allclose(printed_torque(model, np.tile(q, (3, 1)), still), rnea(model, q, still[0], still[0]), atol=1e-13)
