"""Comparison of the flexible link's modes with closed-form solutions of beams, and tests of refused files."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

from femtorque.codegen.common import BadInput
from femtorque.codegen.mechanism import Anchor, Joint, Link, Loop, Mode, Payload
from femtorque.codegen.model import Model
from femtorque.codegen.model.flexible_link import beam_elements, modal_link
from femtorque.codegen.model.limits_of_emission import supported
from femtorque.codegen.model.tree_of_pieces import flexible_tree
from femtorque.codegen.reference import Flexible, flexible_mass_matrix
from femtorque.codegen.verify import examine
from tests.support import flexible_chain, oracle, timoshenko
from tests.support.flexible_chain import EI, L, M, sheared

GA_s = 100.0  # shear stiffness, N; the shear is then a tenth of the static deflection under a force at the tip

CLAMPED = [brentq(lambda x: np.cos(x) * np.cosh(x) + 1.0, low, low + 2.0) for low in (1.0, 4.0, 7.0)]


def link_of(elements: int, GA_s: float | tuple[float, float] = np.inf, **options):
    mechanism = sheared(flexible_chain.single(elements, 0.0, **options), GA_s)
    return modal_link(mechanism, mechanism.links[0])


def test_frequencies_are_those_of_a_clamped_beam_to_fourth_order_in_the_elements_length():
    exact = np.array(CLAMPED) ** 2 * np.sqrt(EI / (M / L) / L**4)
    errors = np.array([np.sqrt(link_of(n).stiffness["y"][:2]) / exact[:2] - 1.0 for n in (3, 6, 12)])
    assert np.all(errors > 0.0)  # a Galerkin method always overestimates frequencies
    assert np.all(errors[1:] < 0.08 * errors[:-1])
    assert errors[2, 0] < 1e-6


@pytest.mark.parametrize("pinned", [False, True])
def test_frequencies_with_shear_are_timoshenkos_to_second_order_in_the_elements_length(pinned):
    exact = timoshenko.frequencies(2, length=L, mass=M, EI=EI, GA_s=GA_s, pinned=pinned)
    errors = []
    for n in (4, 8):
        if pinned:
            M_all, K, _ = flexible_mass_matrix(Model.of(sheared(flexible_chain.single(n, 0.0), GA_s)), [[0.3]])
            found = np.sqrt(eigh(K, M_all[0], eigvals_only=True)[1:3])
        else:
            found = np.sqrt(link_of(n, GA_s=GA_s).stiffness["y"][:2])
        errors.append(found / exact - 1.0)
    assert np.all(errors[1] > 0.0) and np.all(errors[1] < 0.03)
    np.testing.assert_allclose(errors[0] / errors[1], 4.0, rtol=0.15)
    assert np.all(exact < 0.99 * timoshenko.frequencies(2, length=L, mass=M, EI=EI, GA_s=1e9, pinned=pinned))


@pytest.mark.parametrize("GA_s", [GA_s, np.inf])
@pytest.mark.parametrize("elements", [1, 2, 5])
def test_static_deflection_is_exact(elements, GA_s):
    """Loads: a force and a moment at the tip (F L^3 / 3 EI + F L / GA_s for the force), and the link's weight."""
    link = link_of(elements, GA_s=GA_s)
    compliance = np.array([link.tip, link.slope]) / link.stiffness["y"] @ np.array([link.tip, link.slope]).T
    exact = np.array([[L**3 / 3.0 + EI / GA_s * L, L**2 / 2.0], [L**2 / 2.0, L]]) / EI
    np.testing.assert_allclose(compliance, exact, rtol=1e-10)
    sag = link.beta / link.stiffness["y"]
    assert link.tip @ sag == pytest.approx(M / L * (L**4 / (8.0 * EI) + L**2 / (2.0 * GA_s)), rel=1e-10)
    assert link.slope @ sag == pytest.approx(M / L * L**3 / (6.0 * EI), rel=1e-10)


def test_a_free_beam_has_the_momentum_of_a_rigid_one_and_no_elastic_force():
    parts = beam_elements(L, M, 4)
    rigid = np.zeros((2, 10))
    rigid[0, 0::2], rigid[1, 0::2], rigid[1, 1::2] = 1.0, np.linspace(0.0, L, 5), 1.0
    np.testing.assert_allclose(rigid @ parts.M @ rigid.T, [[M, M * L / 2.0], [M * L / 2.0, M * L**2 / 3.0]], rtol=1e-12)
    np.testing.assert_allclose(parts.K @ rigid.T, 0.0, atol=1e-9 * np.abs(parts.K).max())
    np.testing.assert_allclose([parts.first, parts.second], rigid @ parts.M, atol=1e-15)


def test_both_planes_have_the_same_shapes_and_their_own_stiffness():
    link = link_of(2, stiffness=(0.2, 0.6))
    np.testing.assert_allclose(link.stiffness["y"] / link.stiffness["z"], 3.0, rtol=1e-12)
    assert link.planes == ("y", "z")
    assert link_of(2, stiffness=(0.2, np.inf)).planes == ("z",)
    sheared = link_of(2, stiffness=(0.2, 0.6), GA_s=(100.0, 300.0))
    np.testing.assert_allclose(sheared.stiffness["y"] / sheared.stiffness["z"], 3.0, rtol=1e-12)
    assert np.all(sheared.stiffness["y"] < link.stiffness["y"])


def test_torsion_is_a_spring_at_the_tip():
    """A weight off the axis of the tip twists the link, and oscillates with the inertia at the tip."""
    GJ, weight = 2.0, 0.05 * 9.81 * 0.08
    mechanism = flexible_chain.single(2, 0.0, gravity=(0.0, 0.0, -9.81), stiffness=(1e6, 1e6))
    arm = replace(mechanism.links[0], beam=replace(mechanism.links[0].beam, GJ=GJ))
    side = Payload("side", "arm", 0.05, np.array([L, 0.08, 0.0]), np.diag([3e-4, 0.0, 3e-4]))
    model = Model.of(replace(mechanism, links=(arm,), payloads=(side,)))
    step = Flexible(model)
    assert [joint.name for joint in model.mechanism.moving] == ["shoulder", "arm's torsion"]
    assert [joint.name for joint in model.mechanism.streamed] == ["shoulder"]
    twist = step.sag(np.zeros(1))[0]
    assert twist == pytest.approx(-weight * np.cos(twist) * L / GJ, rel=1e-6)
    M, K, _ = flexible_mass_matrix(model, [[0.0, 0.0]])
    square = eigh(K[1:, 1:], M[0][1:, 1:], eigvals_only=True)
    assert np.sqrt(square[0]) == pytest.approx(np.sqrt(GJ / L / (3e-4 + 0.05 * 0.08**2)), rel=1e-3)


def test_parts_fixed_to_root_and_tip_become_pieces_of_hub_and_tip():
    mechanism = flexible_chain.single(2, 0.05)
    clamp = Link("clamp", 0.2, np.zeros(3), 1e-4 * np.eye(3))
    fixed = Joint("weld", "fixed", "arm", "clamp", np.zeros(3), np.zeros(3), flexible_chain.Z)
    tree = flexible_tree(replace(mechanism, links=(*mechanism.links, clamp), joints=(*mechanism.joints, fixed)))
    hub, tip = tree.pieces
    assert (hub.mass, hub.joint, hub.link) == (0.2, 0, None)
    assert (tip.mass, tip.joint, tip.parent) == (0.05, None, 0)
    np.testing.assert_allclose(tip.com, 0.0, atol=1e-15)


def refused(mechanism, pattern: str) -> None:
    with pytest.raises(BadInput, match=pattern):
        supported(mechanism)


def test_uncomputed_mechanisms_are_refused_by_name():
    one = flexible_chain.single(2)
    arm = one.links[0]

    def with_arm(**values):
        return replace(one, links=(replace(arm, **values),))

    refused(with_arm(com=np.array([0.3, 0.0, 0.0])), "link.arm.com.*uniform")
    refused(with_arm(inertia=np.diag([0.0, 0.01, 0.01])), "link.arm.inertia.*uniform")
    refused(with_arm(mass=0.0), "link.arm.mass")
    refused(with_arm(beam=replace(arm.beam, EI=(np.inf, np.inf))), "bends in no plane")
    refused(sheared(flexible_chain.single(2, stiffness=(0.2, 0.6)), (300.0, 300.0)),
            r"link.arm.beam.GA_s = .*both planes must have the same shapes.*GA_s = \[100, 300\]")
    refused(replace(one, control=replace(one.control, scheme="printed")), "control.scheme.*has no printed step")
    middle = Payload("load", "arm", 0.1, np.array([L / 2.0, 0.0, 0.0]), np.zeros((3, 3)))
    refused(replace(one, payloads=(middle,)), "payload.load.com.*root and at its tip")
    second = flexible_chain.beam_link("second", 2)
    hung = Joint("elbow", "revolute", "arm", "second", np.array([L / 2.0, 0.0, 0.0]), np.zeros(3), flexible_chain.Z)
    refused(replace(one, links=(arm, second), joints=(*one.joints, hung)), "joint.elbow.xyz.*root and at its tip")
    floor = Anchor("base", np.zeros(3), np.zeros(3))
    loop = Loop("coupler", "ball", Anchor("arm", np.array([L, 0.0, 0.0]), np.zeros(3)), floor)
    refused(replace(one, loops=(loop,)), "loop.coupler.*closed loops are not computed with what bends .arm")
    free, held = (Mode(name, (), payloads, (), "base", 0.0) for name, payloads in (("free", ()), ("held", ("load",))))
    refused(replace(one, modes=(free, held)), "mode.free.*modes are not computed with what bends")
    supported(one)
    supported(oracle.planar_chain(2))


def test_bends_too_far_for_the_theory_are_reported():
    def told(mechanism) -> str:
        return " ".join(examine(mechanism).warnings)

    # a chain of 48 segments gives 0.2512, and the model of small deflections 0.257
    assert "its tip hangs at a slope of 0.25" in told(flexible_chain.single(2, 0.1, gravity=(0.0, -9.81, 0.0)))
    assert "slope" not in told(flexible_chain.single(2, 0.1, gravity=(0.0, 0.0, -9.81)))
    arm = flexible_chain.flexible_joints()

    def with_spring(stiffness: float, rest: float):
        return replace(arm, joints=tuple(replace(j, stiffness=stiffness, rest=rest) if j.name == "elbow spring" else j
                                         for j in arm.joints))

    assert told(arm) == ""
    assert "find no rest" in told(with_spring(0.15, 0.2))
    assert "elbow spring: its spring deflects by -0.9" in told(with_spring(0.3, 1.2))
