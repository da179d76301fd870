"""The shifted-integration element: what Eqs 1-4 must give."""

from dataclasses import replace

import numpy as np
import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Section
from femtorque.codegen.model import beam_element
from femtorque.codegen.model.bodies import Model, skew
from tests.support.oracle import planar_chain, random_rotation

ELEMENT = beam_element.Element(length=0.1, EA=7e6, EI=(40.0, 55.0), GJ=30.0, GA_s=2e6, s1=1.0)


def rigid_body_displacements(length: float) -> np.ndarray:
    """Three shifts and three turns about the first node, as columns (12, 6)."""
    shift = np.vstack([np.eye(3), np.zeros((3, 3)), np.eye(3), np.zeros((3, 3))])
    turn = np.vstack([np.zeros((3, 3)), np.eye(3), -skew(np.array([0.0, 0.0, length])), np.eye(3)])
    return np.hstack([shift, turn])


@pytest.mark.parametrize("s1", [-1.0, -0.4, 0.0, 1.0])
@pytest.mark.parametrize("c_mot", [0.0, 0.3, 1.0])
def test_rigid_motion_costs_no_energy(s1, c_mot):
    K = beam_element.stiffness(replace(ELEMENT, s1=s1, c_mot=c_mot))
    scale = np.abs(K).max()
    assert np.abs(K @ rigid_body_displacements(ELEMENT.length)).max() <= 1e-12 * scale
    assert np.array_equal(K, K.T)
    # no other zero-energy motion than these six, and one more a released rotation
    assert np.linalg.matrix_rank(K, tol=1e-9 * scale) == (3 if c_mot == 0.0 else 6)


@pytest.mark.parametrize("s1, hinged", [(1.0, 0), (-1.0, 6)])
def test_shifted_point_makes_the_other_end_a_hinge(s1, hinged):
    pin = beam_element.stiffness(replace(ELEMENT, s1=s1, c_mot=0.0))
    rotations = slice(hinged + 3, hinged + 6)
    assert not pin[rotations].any()  # the hinged node's rotation is free
    other = slice(9 - hinged, 12 - hinged)
    assert np.diag(pin)[other][:2].min() > 0.0  # that of the other node is not: the bar turns with it


def test_centred_point_makes_no_hinge():
    middle = beam_element.stiffness(replace(ELEMENT, s1=0.0, c_mot=0.0))
    assert np.diag(middle)[3:5].min() > 0.0


def test_springs_sit_opposite_to_the_integration_point():
    for s1 in (-1.0, 0.25, 1.0):
        assert replace(ELEMENT, s1=s1).r1 == -s1


def test_bending_at_the_hinge_follows_c_mot_from_pin_to_rigid():
    rigid = beam_element.stiffness(ELEMENT)
    bend = beam_element.rigid_turn(ELEMENT.length, np.array([1.0, 0.0, 0.0]))
    for c_mot in (0.0, 0.25, 0.5, 1.0):
        K = beam_element.stiffness(replace(ELEMENT, c_mot=c_mot))
        assert bend @ K @ bend == pytest.approx(c_mot * ELEMENT.EI[0] / ELEMENT.length, rel=1e-12, abs=1e-9)
        assert bend @ K @ bend == pytest.approx(c_mot * (bend @ rigid @ bend), rel=1e-12, abs=1e-9)


def test_cantilever_converges_to_the_beam_theory_deflection():
    """Many elements with centred points: tip deflection P L^3 / 3 EI + P L / GA of a clamped beam."""
    length, elements, load = 1.0, 40, 5.0
    K = np.zeros((6 * (elements + 1),) * 2)
    e = replace(ELEMENT, length=length / elements, s1=0.0)
    for i in range(elements):
        part = slice(6 * i, 6 * i + 12)
        K[part, part] += beam_element.stiffness(e)
    force = np.zeros(len(K))
    force[-6] = load  # along x, bending about y
    tip = np.linalg.solve(K[6:, 6:], force[6:])[-6]
    exact = load * length**3 / (3.0 * e.EI[1]) + load * length / e.GA_s
    assert tip == pytest.approx(exact, rel=2e-4)


def with_section(mechanism, **joint):
    section = Section(area=1e-4, radius=8e-3)
    links = tuple(replace(link, section=section) for link in mechanism.links)
    return replace(mechanism, links=links, joints=tuple(replace(j, **joint) for j in mechanism.joints))


def test_hinge_is_that_of_the_element_from_the_joint_to_the_centre_of_gravity():
    near = beam_element.joint_element(Model.of(with_section(planar_chain(2), c_mot=0.25)), 0)
    assert (near.s1, near.r1, near.c_mot) == (1.0, -1.0, 0.25)
    assert near.length == pytest.approx(0.1)


def test_joint_spring_is_the_elements_hinge_whatever_its_direction():
    """EI / l across the element, GJ / l along it, and both in proportion in between."""
    mechanism = with_section(planar_chain(1), c_mot=0.5)
    E, A, r = 70e9, 1e-4, 8e-3
    I = A * (2.0 * r**2 - A / np.pi) / 4.0
    G = E / 2.66
    for angle in (0.0, 0.3, np.pi / 2.0):
        axis = np.array([np.sin(angle), 0.0, np.cos(angle)])
        joints = (replace(mechanism.joints[0], axis=axis),)
        k = beam_element.joint_springs(Model.of(replace(mechanism, joints=joints))).stiffness[0]
        assert k == pytest.approx(0.5 * (E * I * axis[2] ** 2 + G * 2.0 * I * axis[0] ** 2) / 0.1, rel=1e-12)


def test_joint_spring_does_not_depend_on_the_choice_of_link_axes():
    mechanism = with_section(planar_chain(1), c_mot=0.5)
    before = beam_element.joint_springs(Model.of(mechanism)).stiffness
    R = random_rotation(np.random.default_rng(4))
    link = replace(mechanism.links[0], com=R @ mechanism.links[0].com, inertia=R @ mechanism.links[0].inertia @ R.T)
    joint = replace(mechanism.joints[0], axis=R @ mechanism.joints[0].axis)
    after = beam_element.joint_springs(Model.of(replace(mechanism, links=(link,), joints=(joint,)))).stiffness
    assert after == pytest.approx(before, rel=1e-12)


def test_given_stiffness_is_the_spring():
    springs = beam_element.joint_springs(Model.of(with_section(planar_chain(2), stiffness=3.0, rest=0.4)))
    assert springs.stiffness.tolist() == [3.0, 3.0]
    assert springs.rest.tolist() == [0.4, 0.4]


def test_c_mot_without_a_section_is_bad_input():
    mechanism = planar_chain(1)
    mechanism = replace(mechanism, joints=(replace(mechanism.joints[0], c_mot=0.5),))
    with pytest.raises(BadInput, match=r"joint\.joint1\.c_mot = 0\.5: .*section"):
        beam_element.joint_springs(Model.of(mechanism))


def test_c_mot_of_a_sliding_joint_is_bad_input():
    mechanism = with_section(planar_chain(1), c_mot=0.5, type="prismatic")
    with pytest.raises(BadInput, match=r"c_mot = 0\.5: .*slides"):
        beam_element.joint_springs(Model.of(mechanism))
