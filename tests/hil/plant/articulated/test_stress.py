"""Member forces and stresses, compared with Newton-Euler's joint forces and closed formulas."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Beam, Joint, Link, Payload, Section
from femtorque.codegen.model import Model
from femtorque.hil.plant.articulated.plant import Plant
from tests.support import oracle

RADIUS = 0.01
ROUND = Section(np.pi * RADIUS**2, RADIUS)


def with_sections(mechanism, section=ROUND):
    return replace(mechanism, links=tuple(replace(link, section=section) for link in mechanism.links))


@pytest.mark.parametrize("make", [oracle.random_chain, oracle.random_tree])
def test_the_wrench_at_the_root_of_every_link_is_that_of_newton_and_euler(make):
    rng = np.random.default_rng(11)
    n = 5
    mechanism = with_sections(make(rng, n))
    q, v, tau = rng.uniform(-2, 2, n), rng.uniform(-2, 2, n), rng.uniform(-1, 1, n)
    plant = Plant(mechanism, start=q, velocities=v, max_step=1e-3)
    plant.push(5e-3, tau)
    model = oracle.pinocchio_model(Model.of(mechanism))
    data = model.createData()
    pin.rnea(model, data, plant.q, plant.v, oracle.aba(model, plant.q, plant.v, tau))
    roots = [k for k, s in enumerate(plant.members.stations) if s.s == 0.0]
    assert len(roots) == n
    for k in roots:
        station = plant.members.stations[k]
        joint = 1 + [j.child for j in mechanism.joints].index(plant.members.links[station.link].name)
        axis = station.frame[0] @ plant.system.solids[station.solid].points
        force, moment = data.f[joint].linear, data.f[joint].angular
        axial, shear, torsion, bending = plant.members.values[k, :4]
        expected = [force @ axis, np.linalg.norm(force - force @ axis * axis),
                    moment @ axis, np.linalg.norm(moment - moment @ axis * axis)]
        np.testing.assert_allclose([axial, shear, torsion, bending], expected, atol=1e-7)


def test_a_falling_chimney_bends_most_at_a_third_of_its_height():
    m, L = 1.0, 1.0
    mechanism = with_sections(oracle.planar_chain(1, length=L, mass=m))
    angle = 0.5  # from the horizontal
    plant = Plant(mechanism, start=[angle], max_step=1e-3)
    plant.push(1e-2, [0.0])
    turning = -1.5 * 9.81 * np.cos(plant.q[0]) / L
    for x, values in zip(plant.members.along, plant.members.values, strict=True):
        inertia = turning * (L**3 / 3.0 - x * L**2 / 2.0 + x**3 / 6.0)
        weight = 9.81 * np.cos(plant.q[0]) * (L - x) ** 2 / 2.0
        assert values[3] == pytest.approx(abs(m / L * (inertia + weight)), abs=1e-5)
        pushed = turning * (L**2 - x**2) / 2.0 + 9.81 * np.cos(plant.q[0]) * (L - x)
        assert values[1] == pytest.approx(abs(m / L * pushed), abs=1e-5)
    largest = plant.members.along[np.argmax(plant.members.values[:, 3])]
    assert largest == 0.25 * L  # the station nearest to L/3


def test_a_spinning_rod_is_pulled_by_its_centrifugal_force():
    m, L, rate = 0.4, 0.5, 20.0
    mechanism = with_sections(oracle.planar_chain(1, length=L, mass=m, gravity=(0.0, 0.0, 0.0)))
    plant = Plant(mechanism, velocities=[rate])
    plant.push(0.1, [0.0])
    for x, values in zip(plant.members.along, plant.members.values, strict=True):
        assert abs(values[0]) == pytest.approx(m / L * rate**2 * (L**2 - x**2) / 2.0, rel=1e-3, abs=1e-6)
    report = plant.members.report()[0]
    assert report.stress.value == pytest.approx(m * rate**2 * L / 2.0 / ROUND.area, rel=1e-3)


def test_maxima_are_kept_over_the_motion():
    mechanism = with_sections(oracle.planar_chain(2, length=0.3, mass=0.3))
    plant = Plant(mechanism)
    stresses = []
    for _ in range(100):
        plant.push(5e-3, np.zeros(2))
        stresses.append(plant.members.values[:, 4].max())
    report = plant.members.report()
    assert max(member.stress.value for member in report) >= max(stresses) > stresses[-1]
    assert 0.0 < report[0].stress.time <= plant.time


def test_a_section_with_more_area_than_its_circle_is_refused():
    mechanism = with_sections(oracle.planar_chain(1), Section(1e-3, 0.01))
    with pytest.raises(BadInput, match="link1.*area <= "):
        Plant(mechanism)


def test_sections_of_links_carry_all_bodies_beyond_them():
    """The held chain consists of a link, a second link fixed to the first, a flexible link fixed to the second, and a
    payload. Statics determines the moment at each root."""
    base = oracle.planar_chain(1, length=0.3, mass=0.3)
    first = replace(base.links[0], section=ROUND)
    second = replace(first, name="second")
    third = Link("third", 0.1, np.array([0.1, 0.0, 0.0]), np.diag([0.0, 1.0, 1.0]) * 0.1 * 0.2**2 / 12.0, ROUND,
                 Beam(0.2, (50.0, 50.0), 3))
    z = np.array([0.0, 0.0, 1.0])
    glue = [Joint(f"glue{child}", "fixed", parent, child, np.array([0.3, 0.0, 0.0]), np.zeros(3), z)
            for parent, child in (("link1", "second"), ("second", "third"))]
    load = Payload("load", "second", 0.2, np.array([0.15, 0.0, 0.0]), 1e-5 * np.eye(3))
    mechanism = replace(base, links=(first, second, third), joints=(*base.joints, *glue), payloads=(load,))
    plant = Plant(mechanism, max_step=1e-5)
    # The test releases the arm for one short step. Except for the free part of the beam, the arm accelerates like a
    # rigid body on its hinge.
    plant.push(1e-5, [0.0])
    gamma = plant.cycle.consistent()[0]
    points = plant.cycle.z[: plant.structure.split].reshape(-1, 3)
    masses = plant.structure.mass[: plant.structure.split].reshape(-1, 3)[:, :1]
    forces = masses * (gamma[: plant.structure.split].reshape(-1, 3) - mechanism.gravity)

    def beyond(x: float, mass_before: float) -> tuple[float, float]:
        """Return shear and bending at x, computed by hand from all points except the first link's points before x."""
        force, moment = forces.sum(axis=0), np.cross(points - [x, 0.0, 0.0], forces).sum(axis=0)
        if mass_before:
            alpha = (plant.cycle.equations.G @ gamma)[0]  # at rest the points of the first link move around the hinge
            before = mass_before * np.array([0.0, alpha * 0.15 + 9.81, 0.0])
            spin = mass_before * 0.3**2 / 12.0 * alpha
            force = force - before
            moment = moment - np.cross([0.15 - x, 0.0, 0.0], before) - [0.0, 0.0, spin]
        return float(np.hypot(force[1], force[2])), float(np.hypot(moment[1], moment[2]))

    roots = {plant.members.links[plant.members.owner[k]].name: plant.members.values[k]
             for k in reversed(range(len(plant.members.owner))) if plant.members.along[k] == 0.0}
    np.testing.assert_allclose(roots["link1"][[1, 3]], beyond(0.0, 0.0), atol=1e-6)
    np.testing.assert_allclose(roots["second"][[1, 3]], beyond(0.3, 0.3), atol=1e-4)


def test_a_heavier_plant_carries_its_own_weight():
    mechanism = with_sections(oracle.planar_chain(1, length=0.5, mass=0.4))
    plant = Plant(mechanism, mass_scale=1.2)
    plant.push(1e-3, [1.2 * 0.4 * 9.81 * 0.25])
    assert plant.members.report()[0].bending.value == pytest.approx(1.2 * 0.4 * 9.81 * 0.25, rel=1e-6)
