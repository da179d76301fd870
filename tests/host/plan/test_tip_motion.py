"""Compares flexible arms with rigid dynamics at high stiffness, and with a plant in other coordinates."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

from femtorque.codegen.common import BadInput, Refused
from femtorque.codegen.model import Model
from femtorque.hil.plant import FlexiblePlant, run_flexible
from femtorque.hil.scenarios import Slew
from femtorque.host.plan.boundary_value import count, roots
from femtorque.host.plan.chord_beam import ChordBeam, End
from femtorque.host.plan.tip_torques import elastic_problem, flexible_arm, tip, tip_motion
from tests.support import oracle, timoshenko
from tests.support.flexible import EI, LENGTH, MASS, hinge, one_link, rod, two_link
from tests.support.flexible_chain import sheared

DT = 5e-4
GA_S = 100.0  # at this stiffness, shear causes a tenth of the deflection under a force at the tip, N


def test_chord_pinned_at_both_ends_has_its_analytic_frequencies():
    beam = ChordBeam.of(LENGTH, MASS, EI, 24)
    found = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(beam.BB, beam.K)).real))[:3]
    pace = np.sqrt(EI / (MASS / LENGTH)) / LENGTH**2
    assert found == pytest.approx(pace * (np.pi * np.arange(1, 4)) ** 2, rel=1e-4)


def test_plant_that_shears_is_timoshenkos_beam():
    """A clamped element with a tip mass is compared by its deflection under a force and by its frequencies."""
    for elements, rel in ((2, 2e-3), (4, 5e-4)):
        plant = FlexiblePlant(sheared(one_link(), GA_S), elements)
        assert plant.tip_N @ np.linalg.solve(plant.K, plant.tip_N) == pytest.approx(
            LENGTH**3 / (3 * EI) + LENGTH / GA_S, rel=1e-9)
        M = plant.system(np.zeros(2 * (1 + plant.n)))[0][1:, 1:]
        exact = timoshenko.frequencies(1, length=LENGTH, mass=MASS, EI=EI, GA_s=GA_S, load=0.05)[0]
        assert np.sqrt(eigh(plant.K, M, eigvals_only=True)[0]) == pytest.approx(exact, rel=rel)


def test_tip_of_a_link_is_of_non_minimum_phase():
    arm = flexible_arm(one_link(4))
    problem = elastic_problem(arm, Slew((0.0,), (0.0,), 1.0), np.zeros(1), DT)
    found = roots(problem.M, problem.C, problem.K[0])
    assert np.sum(found.real > 1.0) == np.sum(found.real < -1.0) == problem.n  # all real, in pairs
    assert np.abs(found.imag).max() < 1e-6 * np.abs(found).max()


@pytest.mark.parametrize("mechanism", [one_link(gravity=(0.0, -9.81, 0.0), stiffness=5e4), two_link(stiffness=5e4)])
def test_stiff_arm_needs_the_torques_of_a_rigid_one(mechanism):
    arm = flexible_arm(mechanism)
    J = arm.hub + 1
    motion = Slew((0.2,) * J, (-0.9, 1.1)[:J], 0.8)
    found = tip_motion(arm, motion, 0.8, DT)
    rigid = oracle.torque_at(Model.of(mechanism), motion, found.times)
    assert np.abs(found.torque - rigid).max() < 2e-4 * np.abs(rigid).max()
    assert np.abs(found.q - motion.at(found.times)[0]).max() < 1e-5


def test_stiff_arm_that_presses_needs_the_torques_of_a_rigid_one_that_does():
    mechanism, motion = two_link(stiffness=5e4), Slew((0.4, 0.5), (0.9, -0.4), 0.8)

    class Press:
        def at(self, t):
            grown = np.stack([0.3 * t, 2.0 * np.ones_like(t), 0.0 * t], 1)
            return grown, 0.0 * grown, 0.0 * grown

    arm = flexible_arm(mechanism)
    t = tip_motion(arm, motion, 0.8, DT, press=Press()).times
    added = tip_motion(arm, motion, 0.8, DT, press=Press()).torque - tip_motion(arm, motion, 0.8, DT).torque
    q = motion.at(t)[0]
    step = 1e-6
    # virtual work: the joint's torque is the force times the tip's displacement per displacement of the joint
    for j in range(2):
        moved = (tip(arm, q + step * np.eye(2)[j]) - tip(arm, q - step * np.eye(2)[j])) / (2 * step)
        assert added[:, j] == pytest.approx(np.sum(moved * Press().at(t)[0], axis=1), abs=2e-4)


@pytest.mark.parametrize(("spring", "GA_s"), [(None, GA_S), (1.0, np.inf)], ids=["shear", "spring"])
def test_plant_in_other_coordinates_driven_by_the_torques_alone_follows_the_path(spring, GA_s):
    """Torques without feedback drive the plant along a small motion. The error is of second order."""
    mechanism = sheared(two_link(4, spring=spring, gravity=(0.0, 0.0, 0.0)), GA_s)
    arm, plant = flexible_arm(mechanism), FlexiblePlant(mechanism, 4)
    errors, ways = [], []
    for size in (0.04, 0.08):
        motion = Slew((0.3, 0.8), (0.3 + size, 0.8 - 2 * size), 0.4)
        found = tip_motion(arm, motion, 0.4, DT, lead=(0.25, 0.25))
        start = np.concatenate([found.q[0], np.zeros(plant.n), np.zeros(2 + plant.n)])
        rows = np.arange(len(found.times))
        driven = run_flexible(plant, start, found.times[-1], DT, lambda t, y, f, found=found, rows=rows: (
            found.torque[min(int(t / DT + 0.5), rows[-1])], 0.0))
        wanted = tip(arm, motion.at(found.times - found.path_start)[0])
        errors.append(np.abs(driven.tip - wanted).max())
        ways.append(np.abs(wanted - wanted[0]).max())
    assert errors[0] < 2e-4 * ways[0]
    assert 3.0 < errors[1] / errors[0] < 9.0  # second order and above; an error of first order would give 2


def test_sag_is_that_of_a_cantilever():
    """If the link is horizontal and at rest, the motor's angle exceeds the chord's angle by the slope at the root."""
    mechanism = one_link(6, gravity=(0.0, -9.81, 0.0))
    found = tip_motion(flexible_arm(mechanism), Slew((0.0,), (0.0,), 0.1), 0.1, DT)
    weight, load = MASS / LENGTH * 9.81, 0.05 * 9.81
    sag = weight * LENGTH**4 / (8 * EI) + load * LENGTH**3 / (3 * EI)
    assert np.ptp(found.q) < 1e-9
    assert found.q[0, 0] == pytest.approx(sag / LENGTH, rel=1e-6)
    assert found.torque == pytest.approx(9.81 * (MASS * LENGTH / 2 + 0.05 * LENGTH), rel=1e-9)


def test_elements_that_double_precision_cannot_tell_apart_are_refused():
    """Each further element costs over a digit of the inverse mass matrix: 16 would err by a sixth of the torque."""

    def counted(elements: int) -> tuple[int, int]:
        return count(elastic_problem(flexible_arm(one_link(elements)), Slew((0.0,), (0.0,), 0.5), np.zeros(1), DT))

    assert counted(10) == (20, 20)
    with pytest.raises(Refused, match="too many for double precision"):
        counted(16)


@pytest.mark.parametrize(("change", "words"), [
    (lambda m: replace(m, links=tuple(replace(link, beam=None) for link in m.links)), "needs one flexible link"),
    (lambda m: replace(m, joints=(*m.joints[:1], replace(m.joints[1], axis=np.array([0.0, 1.0, 0.0])))), "parallel"),
    (lambda m: replace(m, links=(*m.links, rod("extra", 0.1, 0.1)),
                       joints=(*m.joints, hinge("last", "beam", "extra", LENGTH))), "actuated = false"),
])
def test_arms_of_another_kind_are_refused(change, words):
    with pytest.raises(BadInput, match=words):
        flexible_arm(change(two_link()))


def test_end_part_may_be_fixed_with_its_inertia():
    """A rod of 0.1 m with the beam's section at its end gives the inertia of one longer rod."""
    beam = ChordBeam.of(LENGTH, MASS, EI, 3, end=End(0.06, 0.05, 0.06 * 0.1**2 / 12, 0.1))
    assert beam.mass == pytest.approx(0.3)
    assert beam.second == pytest.approx(0.3 * 0.5**2 / 3)
    assert beam.first == pytest.approx(0.3 * 0.25)
    assert beam.reach == 0.5
