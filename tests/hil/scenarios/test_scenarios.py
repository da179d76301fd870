"""The scenarios of hil/scenarios in their short form, and the theory for comparison."""

import shutil
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

from femtorque.codegen.common import BadInput
from femtorque.hil.play import Result
from femtorque.hil.scenarios import scenario, sensitivity, servo_arm, wall_arm
from tests.support import oracle
from tests.support.suite import ROOT

FOLDER = scenario.FOLDER


@pytest.fixture(scope="module")
def three_link() -> dict[str, Result]:
    s = scenario.load_scenario("three_link")
    return {case.name: scenario.play_scenario(s, case, short=True) for case in s.runs(short=True)}


def holds(checks: list[scenario.Check]) -> None:
    assert not [f"{c.what}: {c.found}; {c.allowed}" for c in checks if not c.good]


# ---- the scenarios themselves; three_axis and industrial_robot are in test_scenarios_arms.py


def test_three_link(three_link):
    checks = scenario.checks(scenario.load_scenario("three_link"), three_link, short=True)
    assert len(checks) == 12
    holds(checks)


def test_push():
    """The short form omits the runs without contact. `make bench` runs the long form with these runs."""
    s = scenario.load_scenario("push")
    results = {case.name: scenario.play_scenario(s, case, short=True) for case in s.runs(short=True)}
    checks = scenario.checks(s, results, short=True)
    assert len(checks) == 5
    holds(checks)
    errors = [results[name].tracking_max[2] for name in ("PD", "feed-forward + PD")]
    assert min(errors) > 2e-3, "what touches is felt in both"


def test_a_scene_that_contradicts_its_file_is_refused_by_name(tmp_path):
    text = (FOLDER / "push.toml").read_text().replace("../../mechanisms", str(ROOT / "mechanisms"))
    shutil.copytree(FOLDER / "plants", tmp_path / "plants")
    (tmp_path / "other.toml").write_text(text.replace('name = "PD"\n', 'name = "PD"\nmass_scale = 1.1\n'))
    with pytest.raises(BadInput, match="run.PD: changes the plant"):
        scenario.load_scenario(tmp_path / "other.toml")
    (tmp_path / "other.toml").write_text(text.replace('body = "box"', 'body = "bux"'))
    with pytest.raises(BadInput, match="body = 'bux': no such body; did you mean 'box'"):
        scenario.play_scenario(found := scenario.load_scenario(tmp_path / "other.toml"), found.run("PD"))


def test_wall_contact():
    checks = wall_arm.checks(scenario.load_scenario("wall_contact"), short=True)
    assert len(checks) == 2
    holds(checks)


@pytest.mark.parametrize("fault, state, named", [("encoder-jump", "FAULT", ("ENCODER",)), ("reset", "DISARMED", ())])
def test_any_fault_can_be_asked_for_in_any_run(fault, state, named):
    s = scenario.load_scenario("three_link")
    result = scenario.play_scenario(s, s.run("feed-forward + PD"), short=True, fault=fault)
    assert result.state == state and result.faults == named and result.outputs_safe


# ---- effects of a changed plant


def test_a_plant_that_changed_otherwise_than_said_fails_its_check(three_link):
    """Wrong predictions: 10 % more mass, 1.7 times the friction, and friction in place of mass."""
    s = scenario.load_scenario("three_link")
    for name, wrong in (("mass +20 %", {"mass_scale": 1.1}), ("friction x2", {"friction_scale": 1.7}),
                        ("mass +20 %", {"mass_scale": 1.0, "friction_scale": 2.0})):
        runs = [r.model_copy(update=wrong) if r.name == name else r for r in s.file.run]
        other = replace(s, file=s.file.model_copy(update={"run": runs}))
        bad = [c for c in scenario.checks(other, three_link, short=True) if not c.good]
        assert bad and all(c.what.startswith(name) for c in bad)


@pytest.mark.parametrize("mass, friction", [(1.2, 1.0), (1.0, 2.0)])
def test_the_predicted_change_solves_the_error_equation_with_pinocchios_matrices(mass, friction):
    s = scenario.load_scenario("three_axis")
    mechanism, motion, ticks = s.mechanism, s.trajectory(short=True), 300
    got = sensitivity.predict(mechanism, motion, ticks, mass, friction)
    model, joints = oracle.pinocchio_of(mechanism), mechanism.moving
    data = model.createData()
    rotors = np.diag([j.motor.gear**2 * j.motor.inertia for j in joints])
    D = np.array([j.friction.viscous for j in joints])
    emf = np.array([(j.motor.gear * j.motor.K) ** 2 / j.motor.R for j in joints])
    ku, kv = np.array([j.gains.ku for j in joints]), np.array([j.gains.kv for j in joints])

    def missing(t: float) -> np.ndarray:
        q, qd, qdd = motion.at(t)
        dry = np.array([j.friction.coulomb for j in joints]) * np.sign(qd)
        return (mass - 1.0) * pin.rnea(model, data, q, qd, qdd) + (friction - 1.0) * (D * qd + dry)

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        upper = np.triu(pin.crba(model, data, motion.at(t)[0]))
        M = mass * (upper + np.triu(upper, 1).T) + rotors
        return np.concatenate([y[3:], np.linalg.solve(M, missing(t) - (kv + emf + friction * D) * y[3:] - ku * y[:3])])

    t = np.arange(ticks) * 1e-3
    expected = solve_ivp(slope, (0.0, t[-1]), np.zeros(6), t_eval=t, rtol=1e-8, atol=1e-12, max_step=2e-3).y
    # Dry friction jumps within the first tick. An integration in steps of a tick shows the jump half a tick later.
    np.testing.assert_allclose(got.error, expected[:3].T, atol=1e-2 * np.abs(expected[:3]).max())
    torque = (ku[:, None] * expected[:3] + kv[:, None] * expected[3:]).T
    np.testing.assert_allclose(got.torque[5:], torque[5:], atol=2e-2 * np.abs(torque).max())
    np.testing.assert_allclose(got.missing[1:], [missing(x) for x in t[1:]], atol=1e-9 * np.abs(got.missing).max())


def test_the_theory_of_the_servo_arm_agrees_with_ritzs_method_without_damping():
    s = scenario.load_scenario("flexible_arm")
    link, joint = s.mechanism.links[0], s.mechanism.moving[0]
    undamped = replace(s.mechanism, links=(replace(link, beam=replace(link.beam, damping=0.0)),))
    L, EI, rho = link.beam.length, link.beam.EI[1], link.mass / link.beam.length
    tip, J = s.mechanism.payloads[0].mass, joint.motor.inertia
    powers = np.arange(1, 9)  # w = sum a_k (x/L)^k
    a, b = powers[:, None], powers[None, :]
    first = np.outer(powers == 1, powers == 1)
    M = rho * L / (a + b + 1) + tip + J / L**2 * first
    with np.errstate(divide="ignore", invalid="ignore"):
        bending = np.nan_to_num(a * (a - 1) * b * (b - 1) / np.where(a + b > 3, a + b - 3, 1.0)) * EI / L**3
    for kp in (4.0, 20.0, 200.0):
        expected = np.sqrt(eigh(bending + kp / L**2 * first, M, eigvals_only=True)[0])
        assert abs(servo_arm.roots(undamped, kp, 0.5 * kp * servo_arm.TICK).imag) == pytest.approx(expected, rel=1e-4)
    keep = slice(1, None)  # a clamped root has no slope
    clamped = np.sqrt(eigh(bending[keep, keep], M[keep, keep], eigvals_only=True)[0])
    assert abs(servo_arm.roots(undamped, np.inf, 0.0).imag) == pytest.approx(clamped, rel=1e-6)


def test_the_fit_finds_frequency_and_decay():
    t = np.linspace(0.0, 1.0, 1000)
    signal = 0.3 * np.exp(-0.4 * t) * np.sin(2.0 * np.pi * 2.2 * t + 0.7) + 0.05
    assert servo_arm.fitted(t, signal, complex(-0.3, 13.0)) == pytest.approx((2.2, 0.4), rel=1e-6)


# ---- the files


@pytest.mark.parametrize("old, new, line", [
    ('fault = "host-gone"', 'fault = "host-gon"',
     r"run\.cable pulled\.fault = 'host-gon': no such fault; did you mean"),
    ('compared_with = "PD"', 'compared_with = "P"', r"compared_with = 'P': no such run before this one"),
    ('name = "PD"', 'name = "PD"\nbrief = false',
     r"compared_with = 'PD': is left out of the short form, in which this run is"),
    ('predicted_from = "feed-forward + PD"', 'predicted_from = "mass +20 %"',
     r"predicted_from = 'mass \+20 %': no such run before this one"),
    ("at_most = 0.1  ", "", r"compared_with and at_most belong together"),
    ("mass_scale = 1.2", "mass_scale = 0.0", r"run\.2\.mass_scale"),
    ("mass_scale = 1.2", "mas_scale = 1.2", r"run\.2\.mas_scale"),
    ("seconds = 0.6", "seconds = 0.6 0.7", r"is not TOML"),
    ("to = [-0.3, 0.1, 0.8]", "to = [-0.3, 0.1]", r"short\.to.*shoulder, elbow, wrist"),
    ("mass_scale = 1.2", "design = true", r"needs a table \[design\]"),
    ("short =", 'solid = [{ link = "uper", shape = "box", density = 1.0 }]\nshort =', r"solid\.0\.link.*upper"),
    ("short =", 'solid = [{ link = "upper", shape = "box", density = 1.0 }]\nshort =',
     r"solid\.0\.extents: is required"),
    ('compared_with = "0.5 s"', 'compared_with = "0.5"',
     r"contact\.run\.0\.5 s, force feedback\.compared_with = '0\.5': no such run before this one; "
     r"did you mean '0\.5 s'"),
    ('compared_with = "0.5 s"', 'compared_with = "0.3 s"',
     r"compared_with = '0\.3 s': is left out of the short form, in which this run is"),
])
def test_a_bad_scenario_is_refused_in_one_line(tmp_path, old, new, line):
    file = FOLDER / ("wall_contact.toml" if "0.5 s" in old else "three_link.toml")
    text = file.read_text().replace("../../mechanisms", str(ROOT / "mechanisms"))
    assert old in text
    if "at_most" in old:
        text = "\n".join(row for row in text.splitlines() if not row.startswith("at_most"))
    (tmp_path / "bad.toml").write_text(text.replace(old, new))
    with pytest.raises(BadInput, match=line) as caught:
        scenario.load_scenario(tmp_path / "bad.toml")
    assert "\n" not in str(caught.value) and "bad.toml" in str(caught.value)


def test_a_name_that_no_scenario_has_gets_a_hint(tmp_path):
    with pytest.raises(BadInput, match="no such scenario; did you mean 'three_link'"):
        scenario.load_scenario("three_lnk")
    shutil.copy(FOLDER / "flexible_arm.toml", tmp_path / "lost.toml")
    with pytest.raises(BadInput, match="does not exist"):
        scenario.load_scenario(tmp_path / "lost.toml")
