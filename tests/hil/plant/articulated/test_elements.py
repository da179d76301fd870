"""Mechanisms one by one: remaining freedoms of each, and laws and actuators in the frame of the mechanism."""

import numpy as np
import pytest

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


def pair(kind: str, **options) -> Cycle:
    """Two free bodies joined away from their centres of gravity, turning and drifting."""
    rng = np.random.default_rng(6)
    bodies = [body("a", rng), body("b", rng)]
    R, R2 = oracle.random_rotation(rng), oracle.random_rotation(rng)
    place = 0.2 * rng.normal(size=3)
    # body b lies rotated by R2 in the frame of body a, its own frame B at the same place as A
    a, b = Frame(1, place, R), Frame(2, np.array([0.1, 0.0, 0.05]), R2.T @ R)
    shift = place - R2 @ b.origin + (0.3 * R[:, 2] if kind in ("slide", "planar") else 0.0)
    places = np.array([bodies[0].points, bodies[1].points @ R2.T + shift])
    system, z = build([GROUND, *bodies], [Element("joint", kind, a, b)], places, gravity=(0.0, 0.0, 0.0), **options)
    structure = Structure(system)
    v = np.random.default_rng(7).normal(size=structure.split)
    return Cycle(structure, z, v, Loads(structure))


@pytest.mark.parametrize("kind", TYPES)
def test_a_mechanism_takes_as_many_freedoms_as_it_has_rows_and_holds_while_it_moves(kind):
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


@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_an_actuator_in_the_frame_of_its_mechanism_does_the_work_of_its_force_and_turns_nothing_else(kind):
    cycle = pair(kind, coordinates=["joint"])
    momentum, energy, start = cycle.momentum(), cycle.kinetic_energy(), cycle.q[0]
    cycle.torque = np.array([0.8])
    for _ in range(300):
        cycle.step(1e-3)
    assert abs(cycle.q[0] - start) > 0.05
    assert cycle.kinetic_energy() - energy == pytest.approx(0.8 * (cycle.q[0] - start), rel=5e-3)
    np.testing.assert_allclose(cycle.momentum()[0], momentum[0], atol=1e-11)
    np.testing.assert_allclose(cycle.momentum()[1], momentum[1], atol=1e-11)


@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_rates_and_accelerations_of_coordinates_are_their_derivatives(kind):
    cycle = pair(kind, coordinates=["joint"])
    system, z, v, d = cycle.structure.system, cycle.z, cycle.v, 1e-4
    values = [system.coordinate_values(z + k * d * v)[0] for k in (-1, 0, 1)]
    assert (values[2] - values[0]) / (2 * d) == pytest.approx(cycle.velocities[0], rel=1e-6)
    # along a straight motion of the points the coordinate's acceleration is its curvature; a hinge's sine and
    # cosine leave the unit circle on it, which adds a term that vanishes on the rows
    if kind != "hinge":
        bend = (values[2] - 2 * values[1] + values[0]) / d**2
        assert bend == pytest.approx(cycle.equations.turning(v)[0], rel=1e-4)


def test_eliminating_the_solids_first_solves_the_papers_equations():
    """lambda = H^-1 (S - C M^-1 F) with all rows in one H, against the solution in two steps."""
    cycle = pair("universal")
    s, equations = cycle.structure, cycle.equations
    C = np.zeros((6 * s.S + s.K, s.split))
    for k, block in enumerate(equations.free.Cs):
        C[6 * k: 6 * k + 6, 12 * k: 12 * k + 12] = block
    C[6 * s.S:] = equations.C
    rng = np.random.default_rng(0)
    F, S_solids, S_others = rng.normal(size=s.split), rng.normal(size=(s.S, 6)), rng.normal(size=s.K)
    H = C @ np.diag(s.inverse) @ C.T
    multipliers = np.linalg.solve(H, np.concatenate([S_solids.ravel(), S_others]) - C @ (s.inverse * F))
    gamma, others = equations.solve(F, S_solids, S_others)
    np.testing.assert_allclose(gamma, s.inverse * (F + C.T @ multipliers), rtol=1e-8)
    np.testing.assert_allclose(others, multipliers[6 * s.S:], rtol=1e-8)
