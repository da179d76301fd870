"""Tests of the joint springs of the shifted-integration element. test_finite_elements.py compares the element's
stiffness with a strain energy."""

from dataclasses import replace

import pytest

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Section
from femtorque.codegen.model import beam_element
from femtorque.codegen.model.bodies import Model
from tests.support.oracle import planar_chain


def with_section(mechanism, **joint):
    section = Section(area=1e-4, radius=8e-3)
    links = tuple(replace(link, section=section) for link in mechanism.links)
    return replace(mechanism, links=links, joints=tuple(replace(j, **joint) for j in mechanism.joints))


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
