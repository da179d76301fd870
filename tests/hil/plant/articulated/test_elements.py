"""A free solid, and two solids with each type of mechanism: degrees of freedom, momentum, energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from femtorque.hil.plant.articulated import solids
from femtorque.hil.plant.articulated.cycle import Cycle
from femtorque.hil.plant.articulated.elements import TYPES, Element, Frame
from femtorque.hil.plant.articulated.loads import Loads
from femtorque.hil.plant.articulated.solids import GROUND
from femtorque.hil.plant.articulated.system import Structure, build
from tests.support import oracle

ROWS = {"fixed": 6, "hinge": 5, "slide": 5, "ball": 3, "universal": 4, "planar": 2}


def body(name: str, rng: np.random.Generator) -> solids.Solid:
    return solids.reduce(name, 1.0, 0.1 * rng.normal(size=3), oracle.random_inertia(rng, 1.0, 0.3))


def pair(kind: str) -> Cycle:
    """Join two free bodies at points away from their centres of gravity. Both bodies rotate and drift."""
    rng = np.random.default_rng(6)
    bodies = [body("a", rng), body("b", rng)]
    R, R2 = oracle.random_rotation(rng), oracle.random_rotation(rng)
    place = 0.2 * rng.normal(size=3)
    # Body b is rotated by R2 in the frame of body a. Body b's frame B coincides with frame A.
    a, b = Frame(1, place, R), Frame(2, np.array([0.1, 0.0, 0.05]), R2.T @ R)
    shift = place - R2 @ b.origin + (0.3 * R[:, 2] if kind in ("slide", "planar") else 0.0)
    places = np.array([bodies[0].points, bodies[1].points @ R2.T + shift])
    system, z = build([GROUND, *bodies], [Element("joint", kind, a, b)], places, gravity=(0.0, 0.0, 0.0))
    structure = Structure(system)
    v = np.random.default_rng(7).normal(size=structure.split)
    return Cycle(structure, z, v, Loads(structure))


@pytest.mark.parametrize("kind", TYPES)
def test_each_row_of_a_mechanism_takes_one_freedom_and_holds_in_motion(kind):
    cycle = pair(kind)
    assert len(cycle.structure.system.rows) == ROWS[kind]
    assert cycle.structure.system.dropped == ()
    momentum, energy = cycle.momentum(), cycle.kinetic_energy()
    for _ in range(300):
        cycle.step(1e-3)
    assert cycle.closure() < 3e-12
    np.testing.assert_allclose(cycle.momentum()[0], momentum[0], atol=1e-11)
    np.testing.assert_allclose(cycle.momentum()[1], momentum[1], atol=1e-11)
    assert cycle.kinetic_energy() == pytest.approx(energy, rel=2e-3)


def test_a_free_solid_turns_as_euler_and_poinsot_say():
    J, spin = np.diag([0.010, 0.016, 0.022]), np.array([0.3, 6.0, 0.3])  # about the middle axis: the solid tumbles
    body = solids.reduce("free", 1.0, np.zeros(3), J)
    system, z = build([GROUND, body], [], body.points[None], gravity=(0.0, 0.0, 0.0))
    structure = Structure(system)
    cycle = Cycle(structure, z, np.cross(spin, z.reshape(-1, 3)).ravel(), Loads(structure))

    def euler(_, y):
        R, w = y[:9].reshape(3, 3), y[9:]
        turn = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
        return np.concatenate([(R @ turn).ravel(), np.linalg.solve(J, np.cross(J @ w, w))])

    exact = solve_ivp(euler, (0.0, 3.0), np.concatenate([np.eye(3).ravel(), spin]), rtol=1e-11, atol=1e-12)
    assert np.abs(exact.y[10]).max() > 5.0 and exact.y[10].min() < -5.0  # the solid tumbles over
    for _ in range(6000):
        cycle.step(5e-4)
    np.testing.assert_allclose(cycle.momentum()[0], 0.0, atol=1e-11)
    np.testing.assert_allclose(cycle.momentum()[1], J @ spin, atol=1e-12)
    assert cycle.kinetic_energy() == pytest.approx(0.5 * spin @ J @ spin, rel=1e-6)
    attitude = np.array([body.along(axis) @ cycle.z.reshape(4, 3) for axis in np.eye(3)]).T
    np.testing.assert_allclose(attitude, exact.y[:9, -1].reshape(3, 3), atol=2e-4)
