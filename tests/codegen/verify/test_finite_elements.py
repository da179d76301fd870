"""Comparison of the elements that `femtorque elements` prints with independent computations and with the emitted C."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

from femtorque.codegen.common import BadInput
from femtorque.codegen.emit import step_sources
from femtorque.codegen.mechanism import Section, load_mechanism, mjcf
from femtorque.codegen.model import Model, joint_springs
from femtorque.codegen.motion import Trajectory
from femtorque.codegen.verify.finite_elements import elements_of, literals
from femtorque.codegen.verify.motion_torques import torque as torque_of
from femtorque.hil.plant.hinges import stiffnesses
from femtorque.hil.plant.rigid import Plant
from femtorque.host.show import finite_elements_page
from tests.support.oracle import planar_chain, random_chain
from tests.support.rig import ROOT

TUBE = Section(area=1.5e-4, radius=0.012, E=70e9, poisson=0.33)
SOME = ("three_link", "six_axis", "five_bar", "delta", "flexible_arm", "two_arm_grasp", "biped")


def file(name: str):
    return load_mechanism(ROOT / "mechanisms" / f"{name}.toml")


def energy(bar, u: np.ndarray) -> float:
    """Return the strain energy, J, of nodal displacements (12,).

    The displacement fields are linear along the element, and the energy uses the strains of the integration point.
    C_mot scales the springs."""
    z = bar.length * (1.0 + bar.s1) / 2.0

    def field(k: int) -> tuple[float, float]:
        slope = (u[k + 6] - u[k]) / bar.length
        return u[k] + slope * z, slope

    (_, du), (_, dv), (_, dw), (tx, dtx), (ty, dty), (_, dtz) = map(field, range(6))
    bent = bar.EI[0] * dtx**2 + bar.EI[1] * dty**2 + bar.GJ * dtz**2
    sheared = bar.GA_s * ((du - ty) ** 2 + (dv + tx) ** 2)
    return 0.5 * bar.length * (bar.EA * dw**2 + bar.c_mot * bent + sheared)


def hessian(bar) -> np.ndarray:
    one = np.eye(12)
    alone = [energy(bar, e) for e in one]
    return np.array([[energy(bar, one[i] + one[j]) - alone[i] - alone[j] for j in range(12)] for i in range(12)])


def hinged(c_mot: float):
    chain = random_chain(np.random.default_rng(5), 3)
    joints = tuple(replace(joint, c_mot=c_mot) for joint in chain.joints)
    return replace(chain, links=tuple(replace(link, section=TUBE) for link in chain.links), joints=joints)


@pytest.mark.parametrize("c_mot", [0.0, 0.3, 1.0])
def test_stiffness_is_the_hessian_of_the_strain_energy(c_mot):
    for link in elements_of(hinged(c_mot)).links:
        assert len(link.elements) == 2 and not link.nominal
        assert [(bar.s1, bar.r1, bar.c_mot) for bar in link.elements] == [(1.0, -1.0, c_mot), (-1.0, 1.0, 1.0)]
        for bar in link.elements:
            np.testing.assert_allclose(bar.stiffness, hessian(bar), rtol=0, atol=1e-12 * np.abs(bar.stiffness).max())
            np.testing.assert_allclose(bar.length * bar.B.T @ bar.D @ bar.B, bar.stiffness, rtol=1e-14, atol=1e-6)


def test_sections_are_those_of_a_tube():
    inner = np.sqrt(TUBE.radius**2 - TUBE.area / np.pi)
    I = np.pi / 4.0 * (TUBE.radius**4 - inner**4)
    G = TUBE.E / 2.66
    for link in elements_of(hinged(0.3)).links:
        for bar in link.elements:
            expected = [TUBE.E * TUBE.area, TUBE.E * I, TUBE.E * I, 2.0 * G * I]
            np.testing.assert_allclose([bar.EA, *bar.EI, bar.GJ], expected, rtol=1e-12)


def test_elements_begin_at_the_joint_meet_at_the_centre_of_gravity_and_end_at_the_next_joint():
    mechanism = hinged(0.3)
    links = elements_of(mechanism).links
    for link, after in zip(links, [*links[1:], None], strict=True):
        near, far = link.elements
        end = 2.0 * link.com if after is None else next(j.xyz for j in mechanism.joints if j.name == after.joint)
        np.testing.assert_allclose(near.axes[:, 2] * near.length, link.com)
        np.testing.assert_allclose(far.axes[:, 2] * far.length, end - link.com, atol=1e-15)
        for bar in link.elements:
            np.testing.assert_allclose(bar.axes.T @ bar.axes, np.eye(3), atol=1e-15)


def test_a_hinge_leaves_the_spring_that_the_torque_has():
    mechanism = hinged(0.3)
    springs = joint_springs(Model.of(mechanism)).stiffness
    for link, body, spring in zip(elements_of(mechanism).links, Model.of(mechanism).bodies, springs, strict=True):
        bar = link.elements[0]
        turn = np.concatenate([np.zeros(6), bar.axes.T @ np.cross(body.axis, link.com), bar.axes.T @ body.axis])
        assert turn @ bar.stiffness @ turn == pytest.approx(spring, rel=1e-9)


def test_lambda_gives_the_moments_of_forces_about_the_joint():
    rng = np.random.default_rng(2)
    mechanism = hinged(0.0)
    found = elements_of(mechanism)
    places = {joint.name: joint.xyz for joint in mechanism.joints}
    for link in found.links:
        F, Phi, *S = rng.standard_normal((2 + len(link.children), 3))
        moment = np.cross(link.com, F) + Phi
        for child, s in zip(link.children, S, strict=True):
            moment = moment + np.cross(places[child], s)
        np.testing.assert_allclose(link.matrix @ np.concatenate([F, *S, Phi]), moment, atol=1e-12)
    assert found.blocks == (9, 9, 6)
    np.testing.assert_array_equal(found.accumulation, np.triu(np.ones((3, 3), bool)))


def test_lumped_masses_are_those_of_the_file():
    found, mechanism = elements_of(file("three_link")), file("three_link")
    for link in found.links:
        masses = [mechanism.link(name).mass for name in link.names]
        masses += [p.mass for p in mechanism.payloads if p.link in link.names]
        assert link.mass == pytest.approx(sum(masses), rel=1e-15)
        assert link.nominal == (mechanism.link(link.name).section is None)


def test_modes_of_a_flexible_link_make_its_matrices_diagonal_and_their_factors_are_in_the_c():
    mechanism = file("flexible_arm")
    found = elements_of(mechanism)
    dt = 1.0 / mechanism.control.rate_hz
    (beam,) = found.beams
    damping = mechanism.link(beam.name).beam.damping
    np.testing.assert_allclose(beam.A, 4.0 / dt**2 * beam.M + 2.0 / dt * damping * beam.K + beam.K, rtol=1e-13)
    squares = eigh(beam.K, beam.M, eigvals_only=True)
    np.testing.assert_allclose(2.0 * np.pi * beam.hz, np.sqrt(squares), rtol=1e-9)
    np.testing.assert_allclose(beam.shapes.T @ beam.M @ beam.shapes, np.eye(len(beam.hz)), atol=1e-10)
    np.testing.assert_allclose(4.0 / dt**2 / np.diag(beam.shapes.T @ beam.A @ beam.shapes), beam.factor, rtol=1e-10)
    there = np.array(literals(step_sources(Model.of(mechanism))), float)
    assert all(np.abs(there / factor - 1.0).min() < 1e-9 for factor in beam.factor)


def test_loops_are_eliminated_in_the_order_that_the_c_names():
    loops = elements_of(file("five_bar")).loops
    assert loops.structure.shape == (len(loops.equations), len(loops.joints)) == (2, 4)
    assert set(loops.order) | set(loops.independent) == set(loops.joints)
    assert loops.order == ("left_elbow", "right_elbow")
    assert loops.structure.all()  # both sides of the cut move its point along both directions


@pytest.mark.parametrize("name", SOME)
def test_constants_are_those_of_the_emitted_step(name):
    found = elements_of(file(name))
    text = "".join(t for n, t in step_sources(Model.of(file(name))).items() if n.endswith(".c"))
    assert found.constants
    assert all(f"FT_C({number})" in text or f"FT_C(-{number})" in text for number in found.constants)
    assert not {"0.0", "1.5"} & {*found.constants}, "numbers of the method"


def test_the_command_gives_the_functions_results(here, tmp_path):
    out = tmp_path / "e.html"
    shown = here("elements", "mechanisms/three_link.toml", "--page", out, "--json")
    assert shown.returncode == 0 and json.loads(shown.stdout)["constants_on_chip"] > 3
    first = json.loads(shown.stdout)["links"][0]
    assert {"length", "s1", "r1", "c_mot", "stiffness"} <= first["elements"][0].keys()
    assert np.shape(first["elements"][0]["stiffness"]) == (12, 12) and np.shape(first["lambda"]) == (3, 9)
    assert first["section"]["nominal"] is True and np.shape(first["inertia"]) == (3, 3)
    html = out.read_text(encoding="utf-8")
    assert html.count("[K] of") == 6 and 'id="hand"' in html and 'id="view"' in html


def test_the_command_shows_matrices_of_one_link_and_patterns_of_all(here):
    one, every = here("elements", "mechanisms/five_bar.toml", "left_rod"), here("elements", "mechanisms/five_bar.toml")
    assert one.returncode == every.returncode == 0
    for matrix in ("[B(s1)] of", "[D(r1)] of", "[K] of"):
        assert one.stdout.count(matrix) == 2 and matrix not in every.stdout
    assert "eliminated in this order: left_elbow, right_elbow" in every.stdout and "[T_Λ]" in every.stdout


def test_the_page_of_a_mechanism_leads_to_that_of_its_elements(here, tmp_path):
    shown = here("check", "mechanisms/flexible_arm.toml", "--page", tmp_path / "arm.html", "--json")
    assert shown.returncode == 0 and json.loads(shown.stdout)["elements"] == str(tmp_path / "arm-elements.html")
    assert 'href="arm-elements.html"' in (tmp_path / "arm.html").read_text(encoding="utf-8")
    assert "bending along y" in (tmp_path / "arm-elements.html").read_text(encoding="utf-8")


def test_shades_tell_zeros_from_small_entries():
    matrix = np.array([[1e6, 0.0], [1.0, 1e5]])
    assert [finite_elements_page.shade(x, matrix) for x in matrix.ravel()] == [6, 0, 1, 5]


def test_one_link_is_shown_alone_by_any_name_that_it_has():
    mechanism = file("three_link")
    assert [link.name for link in elements_of(mechanism, "fore").links] == ["fore"]
    with pytest.raises(BadInput, match="no such link; did you mean 'fore'"):
        elements_of(mechanism, "forr")


def test_a_joint_in_the_centre_of_gravity_leaves_no_element_and_says_so():
    chain = planar_chain(1)
    centred = replace(chain, links=tuple(replace(link, com=np.zeros(3)) for link in chain.links))
    (link,) = elements_of(centred).links
    assert link.elements == () and link.missing == (f"{link.joint} lies in the centre of gravity",)


def test_the_flexures_of_the_example_show_in_its_torque_by_the_closed_form():
    """If a round rod of 3 mm is bent by the joint's angle over l, the torque of this joint rises by C_mot E pi r^4 / (4
    l) per radian. Torques of other joints do not change."""
    mechanism = file("flexure_arm")
    motion = Trajectory.load(ROOT / "mechanisms" / "flexure_arm.csv", mechanism)
    loose = replace(mechanism, joints=tuple(replace(joint, c_mot=0.0) for joint in mechanism.joints))
    spring = motion.at(1.0)[0] * [0.3, 0.15] * np.array(70e9 * np.pi * 1.5e-3**4 / (4.0 * 0.1))
    ticks = round(1.0 * mechanism.control.rate_hz)

    def torque(of):
        return torque_of(of, motion).tau

    held = torque(mechanism) - torque(loose)
    between = 0.5 * (held[ticks - 1] + held[ticks])  # middles of the ticks around 1 s
    np.testing.assert_allclose(between, spring, rtol=1e-5)
    assert np.abs(held).max() > 0.4 * np.abs(torque(mechanism)).max()


def test_the_simulated_arm_has_the_same_hinges_by_a_closed_form_of_its_own():
    mechanism = hinged(0.3)
    np.testing.assert_allclose(stiffnesses(mechanism), joint_springs(Model.of(mechanism)).stiffness, rtol=1e-9)
    assert Plant(file("flexure_arm")).stiffness == pytest.approx([0.8350, 0.4175], rel=1e-3)


def test_mjcf_refuses_a_hinge_that_it_cannot_say():
    with pytest.raises(BadInput, match=r"joint\.shoulder\.c_mot = 0\.3: MJCF knows no hinge"):
        mjcf(file("flexure_arm"))
