"""Derivatives of torques: emitted C and Python against Pinocchio, complex steps, differences, and laws of mechanics."""

from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from femtorque import Mechanism, main
from femtorque.codegen.common import Refused
from femtorque.codegen.emit import sources
from femtorque.codegen.model import Model
from femtorque.codegen.reference.pinocchio import pinocchio_of
from femtorque.codegen.step import derivatives_at
from femtorque.codegen.step.base_parameters import arrange
from femtorque.codegen.step.graph import Const, Expr, Input, Place, Values
from femtorque.codegen.step.instant import InstantTorque
from tests.codegen.emit.test_rnea import closed_states, states
from tests.support.arms import from_urdf, robots
from tests.support.instant import CompiledDerivatives
from tests.support.mimic import GRIPPER
from tests.support.suite import ROOT

URDFS = {path.rpartition("/")[2].removesuffix(".urdf"): path for path in (
    "panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf", "z1_description/urdf/z1.urdf",
    "kinova_description/robots/kinova.urdf", "go2_description/urdf/go2.urdf", "so_arm_description/urdf/so101.urdf")}
FOLLOWER, MOTOR = 'mimic = { joint = "grip", ratio = -1.0 }', "gains = { ku = 60.0, kv = 2.0 }"
SNAPPED = 1e-10  # rad: files write pi with ten digits; frames take angles this near as equal (base_parameters.py)
RUBBING = "\nfriction = { viscous = 0.02, coulomb = 0.05 }\nstiffness = 0.7"
DRY = "\nfriction = { viscous = 0.1, coulomb = 0.2, stribeck = 0.3, stribeck_velocity = 0.5, load = 0.15 }"


@cache
def example(name: str) -> Mechanism:
    return Mechanism.load(ROOT / "mechanisms" / f"{name}.toml")


def rubbing(folder: Path) -> Mechanism:
    """Return a gripper whose follower has a spring and friction, and whose shoulder's motor has friction of all
    kinds."""
    path = folder / "gripper.toml"
    path.write_text(GRIPPER.replace(FOLLOWER, FOLLOWER + RUBBING).replace(MOTOR, MOTOR + DRY))
    return Mechanism.load(path)


def off(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the worst error over the largest entry."""
    return float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))


def following(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Return G (n, J) and offsets (n,) of all joints by the streamed joints, from the file's mimic joints."""
    joints, streamed = list(mechanism.moving), [joint.name for joint in mechanism.streamed]
    G, offsets = np.zeros((len(joints), len(streamed))), np.zeros(len(joints))
    names = [joint.name for joint in joints]
    for i, joint in enumerate(joints):
        if joint.mimic is None:
            G[i, streamed.index(joint.name)] = 1.0
        else:
            leader = names.index(joint.mimic.joint)
            G[i], offsets[i] = joint.mimic.ratio * G[leader], joint.mimic.ratio * offsets[leader] + joint.mimic.offset
    return G, offsets


def by_pinocchio(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> list[np.ndarray]:
    """Return dtau/dq, dtau/dv and M (N, J, J) by computeRNEADerivatives and crba, with viscous friction of
    followers."""
    model = pinocchio_of(mechanism)
    data, (G, offsets), found = model.createData(), following(mechanism), []
    viscous = np.diag([joint.friction.viscous if joint.mimic else 0.0 for joint in mechanism.moving])
    for row in zip(q, v, a, strict=True):
        at = G @ row[0] + offsets, G @ row[1], G @ row[2]
        slopes = pin.computeRNEADerivatives(model, data, *at)
        M = np.triu(pin.crba(model, data, at[0]))
        found.append([G.T @ x @ G for x in (slopes[0], slopes[1] + viscous, M + np.triu(M, 1).T)])
    return [np.array(x) for x in zip(*found, strict=True)]


@pytest.mark.parametrize("name", URDFS)
def test_derivatives_are_those_of_pinocchio_in_both_precisions(name):
    mechanism = from_urdf(robots() / URDFS[name])
    given = states(mechanism)
    wanted = by_pinocchio(mechanism, *given)
    double, single = (CompiledDerivatives(Model.of(mechanism), precision) for precision in ("double", "single"))
    torque, *python = derivatives_at(mechanism, *given)
    tau, *found = double.slopes(*given)
    close = SNAPPED if name in ("ur5_robot", "so101") else 1e-11
    assert off(tau, torque) < SNAPPED
    assert max(off(x, y) for x, y in zip((*python, *found), (*wanted, *wanted), strict=True)) < close
    assert max(off(x, y) for x, y in zip(single.slopes(*given)[1:], wanted, strict=True)) < 2e-5
    assert off(double.mass(given[0]), wanted[2]) < close
    assert off(single.mass(given[0]), wanted[2]) < 2e-5
    assert np.all(np.linalg.eigvalsh(found[2]) > 0.0)
    assert np.array_equal(found[2], np.swapaxes(found[2], -1, -2))


def by_complex_step(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> list[np.ndarray]:
    """Return dtau/dq, dtau/dv, M (J, J) at one state: imaginary parts of the undifferentiated graph's torques."""
    model = Model.of(mechanism)
    step, h, found = InstantTorque(model, arrange(model)), 1e-100, []
    for place in range(3):
        columns = []
        for k in range(model.n):
            at = [x.astype(complex) for x in (q, v, a)]
            at[place][k] += 1j * h

            def leaf(e: Expr, at: list[np.ndarray] = at) -> complex:
                if isinstance(e, Const):
                    return e.value
                assert isinstance(e, Input)
                if e.place.array != "turn":
                    return at[("q", "qd", "qdd").index(e.place.array)][e.place.index]
                bodies, j = step.tree.bodies, e.place.index
                angle = bodies[j].turn + sum(bodies[i].sign * at[0][i] for i in step.tree.members(j))
                return np.cos(angle) if e.place.part == "c" else np.sin(angle)

            values = Values(leaf)
            columns.append([values.of(step.graph.stored()[Place("tau", j)]).imag / h for j in range(model.n)])
        found.append(np.array(columns).T)
    return found


@pytest.mark.parametrize("name", ["six_axis", "three_axis", "ur5_robot", "so101"])
def test_derivatives_are_those_of_a_complex_step(name):
    mechanism = from_urdf(robots() / URDFS[name]) if name in URDFS else example(name)
    given = [x[0] for x in states(mechanism)]
    _, *found = derivatives_at(mechanism, *given)
    assert max(off(x, y) for x, y in zip(found, by_complex_step(mechanism, *given), strict=True)) < 1e-13


@pytest.mark.parametrize("total", [False, True])
def test_springs_friction_and_mimic_joints_are_in_the_derivatives(total, tmp_path):
    """The oracle is central differences of the float64 reference. No state is near a jump of friction."""
    mechanism, rng, h = rubbing(tmp_path), np.random.default_rng(0), 1e-5
    given = [*rng.uniform(0.1, 0.8, (2, 20, 2)), rng.uniform(-9.0, 9.0, (20, 2))]
    given[1][:10] *= -0.02  # the follower's dry friction is not saturated
    tau, *found = mechanism.derivatives(*given, total=total)
    assert off(tau, mechanism.inverse_dynamics(*given, total=total)) < 1e-12
    for place, matrix in enumerate(found):
        for k, step in enumerate(h * np.eye(2)):
            up, down = (mechanism.inverse_dynamics(*(x + sign * step * (i == place) for i, x in enumerate(given)),
                                                   total=total) for sign in (1.0, -1.0))
            assert off(matrix[..., k], (up - down) / (2.0 * h)) < 1e-7
    emitted = CompiledDerivatives(Model.of(mechanism)).slopes(*given, motors=total)[1:]
    assert max(off(x, y) for x, y in zip(emitted, found, strict=True)) < 1e-11


def test_velocity_forces_do_the_work_that_the_changing_mass_takes():
    """At q'' = 0 the velocity terms are of second degree: Jv v = 2 (tau - g), and v' Jv v = v' dM/dt v."""
    mechanism, h = example("six_axis"), 1e-6
    q, v, _ = states(mechanism)
    tau, _, dv, _ = mechanism.derivatives(q, v, np.zeros(6))
    forces = np.einsum("nij,nj->ni", dv, v)
    assert off(forces, 2.0 * (tau - mechanism.gravity_torque(q))) < 1e-12
    change = (mechanism.mass_matrix(q + h * v, rotors=False) - mechanism.mass_matrix(q - h * v, rotors=False)) / (2 * h)
    assert off(np.einsum("ni,ni->n", v, forces), np.einsum("ni,nij,nj->n", v, change, v)) < 1e-9


def test_the_linear_system_is_that_of_the_motion_nearby(tmp_path):
    """Accelerations of A and B are compared with differences of accelerations that the reference confirms."""
    mechanism, rng, h = rubbing(tmp_path), np.random.default_rng(1), 1e-6
    q, v = rng.uniform(0.1, 0.8, (2, 2))
    tau = mechanism.inverse_dynamics(q, v, [3.0, -2.0], total=True)
    A, B = mechanism.linear(q, v, tau, total=True)
    assert np.array_equal(A[:2], np.eye(4)[2:]) and np.all(B[:2] == 0.0)
    for x, at in zip(h * np.eye(6), np.hstack([A, B])[2:].T, strict=True):
        a = np.array([3.0, -2.0]) + h * at
        missed = mechanism.inverse_dynamics(q + x[:2], v + x[2:4], a, total=True) - tau - x[4:]
        assert np.max(np.abs(missed)) < 1e-4 * h * np.max(np.abs(tau))


@pytest.mark.parametrize("name", ["five_bar", "delta"])
def test_closed_loops_have_a_mass_matrix_and_refuse_the_rest_by_name(name):
    mechanism = example(name)
    (q, v, a), *_ = closed_states(mechanism)
    emitted = CompiledDerivatives(Model.of(mechanism))
    assert off(emitted.mass(q), mechanism.mass_matrix(q, rotors=False)) < 1e-10
    assert off(emitted.mass(q, motors=True), mechanism.mass_matrix(q)) < 1e-10
    with pytest.raises(Refused, match=f"{mechanism.name}: derivatives by positions and velocities are not formed for "
                                      f"closed loops .{mechanism.loops[0].name}"):
        mechanism.derivatives(q, v, a)


@pytest.mark.parametrize("name, words", [
    ("flexible_arm", "flexible links depend on how they swing"), ("two_arm_grasp", "mechanisms without modes"),
    ("five_bar_3", "joints are driven and .* so that a mass matrix of all of them is not determined")])
def test_other_mechanisms_are_refused_by_name_before_a_file_is_written(name, words, tmp_path):
    with pytest.raises(Refused, match=words):
        sources.generate(example(name), tmp_path, derivatives=True)
    assert not any(tmp_path.iterdir())


def test_a_mode_has_its_derivatives_in_the_files_order_of_joints():
    """The biped's mode "right" begins at the other foot."""
    mechanism = example("biped")
    given = [x[:4] for x in states(mechanism)]
    for mode in ("left", "right"):
        tau, *_, M = mechanism.derivatives(*given, mode=mode)
        assert off(tau, mechanism.inverse_dynamics(*given, mode=mode)) < SNAPPED
        assert off(M, mechanism.mass_matrix(given[0], mode, rotors=False)) < SNAPPED


def test_the_folder_has_derivatives_only_where_they_are_asked_for(tmp_path):
    plain, asked = tmp_path / "plain", tmp_path / "asked"
    sources.generate(example("six_axis"), plain)
    with pytest.raises(SystemExit, match="0"):
        main(["generate", str(ROOT / "mechanisms" / "six_axis.toml"), "-o", str(asked), "--derivatives", "--library"])
    assert "ft_mass" not in "".join(path.read_text() for path in plain.iterdir())
    readme = (asked / "README.md").read_text()
    assert "`ft_rnea_derivatives(q, qd, qdd, tau, jq, jv, m)`" in readme and "| `ft_mass` |" in readme
    assert "bool ft_mass(const ft_real q[FT_JOINTS]," in (asked / "src" / "ft_rnea.h").read_text()
    instant = (asked / "src" / "ft_rnea.c").read_text()
    assert "{P}" not in instant and '/* Link 2, "upper_arm": w, e, a, f and n. */' in instant
